/* asked.c: what a plan file says of its graph and scenario, and whether the plan keeps the scenario's memory cap. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "asked.h"
#include "src/base/json.h"
#include "src/base/named_file.h"
#include "src/base/text_stream.h"
#include "src/read/card.h"
#include "src/read/schedule_csv.h"
#include "verdict.h"

/* ---- the graph ---- */

static enum status check_fingerprint(struct check *check, const char *key, uint64_t expected)
{
	char text[17];
	const char *stated = json_string_value(check_member(check, "graph", key));
	snprintf(text, sizeof text, "%016" PRIx64, expected);
	if (!stated)
		return fail(check->error, BAD_INPUT, "not a plan file: graph.%s is no text", key);
	return strcmp(stated, text) == 0
		? OK
		: check_wrong(
			  check, "the plan is of another graph: graph.%s is %.40s, but that graph's is %s", key, stated, text);
}

bool check_given_as_planned(struct check *check)
{
	char text[17];
	const char *input = json_string_value(check_member(check, "graph", "fingerprint"));
	const char *planned = json_string_value(check_member(check, "graph", "planned_fingerprint"));
	snprintf(text, sizeof text, "%016" PRIx64, check->input->fingerprint);
	return input && planned && strcmp(planned, text) == 0 && strcmp(input, text) != 0;
}

/* What was got of the file: the same words of the graph that is given now. Files from before the card have none. */
static enum status check_card(struct check *check)
{
	const json_t *said = json_object_get(check->plan, "input");
	char *text = NULL;
	size_t size = 0;
	FILE *stream = said ? text_stream(&text, &size) : NULL;
	if (!stream)
		return said ? fail_memory(check->error) : OK;
	struct json json = { .stream = stream };
	json_open_object(&json, NULL);
	card_json(check->input, &json);
	json_end(&json);
	if (fclose(stream) != 0) {
		free(text);
		return fail_memory(check->error);
	}
	json_t *read = json_loads(text, 0, NULL);
	bool same = read && json_equal(said, json_object_get(read, "input"));
	json_decref(read);
	free(text);
	return same ? OK : check_wrong(check, "input does not say what was got of this graph");
}

enum status check_input_graph(struct check *check)
{
	const struct graph *input = check->input;
	const char *name = json_string_value(check_member(check, "graph", "name"));
	if (check->as_planned)
		return OK;
	enum status status = check_fingerprint(check, "fingerprint", input->fingerprint);
	THEN(status, check_expect(check, "graph", "ops", input->ops));
	THEN(status, check_expect(check, "graph", "tensors", input->tensors));
	THEN(status, check_expect(check, "graph", "storages", input->storages));
	if (status == OK && (!name || strcmp(name, input->name) != 0))
		status = check_wrong(check, "graph.name is not \"%.100s\"", input->name);
	THEN(status, check_card(check));
	return status;
}

enum status check_planned_graph(struct check *check)
{
	enum status status = check_fingerprint(check, "planned_fingerprint", check->graph->fingerprint);
	if (status == OK && check->as_planned)
		check_skipped(check,
			"how the scenario made this graph, which input, notes, recompute and shard say: the graph as planned was "
			"given, not the one that was read");
	else if (status == OK)
		check_passed(check, "the graph that the scenario makes of the input: name, counts and fingerprints");
	return status;
}

/* ---- the scenario ---- */

/* A knob's value as it is written: a number, or a word of the knob's. */
static enum status read_knob(struct check *check, enum knob_id id, const json_t *value)
{
	const struct knob *knob = &knobs[id];
	const char *text = json_string_value(value);
	int64_t number = json_integer_value(value);
	bool words = knob->type == KNOB_CHOICE || knob->type == KNOB_SWITCH;
	char canonical[64];
	if (json_is_integer(value) && !words && number >= knob->minimum && number <= knob->maximum) {
		check->scenario.value[id] = number;
		return OK;
	}
	if (text && knob_parse(id, text, &number, NULL) == OK && (words || number == KNOB_GIVEN)
	    && strcmp(knob_text(id, number, canonical, sizeof canonical), text) == 0) {
		check->scenario.value[id] = number;
		return OK;
	}
	return fail(check->error, BAD_INPUT, "not a plan file: the scenario's %s has a value that this knob can't have",
		knob->name);
}

/* A plan of somebody else must not choose what is opened, nor what is shown of it. */
static enum status check_schedule_file(const struct check *check, const char *name)
{
	char folder[4096];
	struct schedule_csv csv;
	struct error why = { 0 };
	named_file_folder(check->path, folder);
	if (!named_file_within(name, ".", false) && !named_file_within(name, folder, false))
		return fail(check->error, BAD_INPUT,
			"the plan's schedule is in %.200s: check opens no file outside of this folder and the plan's", name);
	enum status status = schedule_csv_open(name, &csv, &why);
	schedule_csv_free(&csv);
	return status == BAD_INPUT
		? fail(check->error, BAD_INPUT, "the plan's schedule is in %.200s, which is no schedule CSV", name)
		: error_set(check->error, status);
}

static enum status asked_read_pins(struct check *check, const json_t *pins)
{
	const json_t *pin;
	size_t i;
	char text[512];
	if (!json_is_array(pins))
		return fail(check->error, BAD_INPUT, "not a plan file: scenario.pins is no list");
	json_array_foreach(pins, i, pin) {
		TRY(json_is_string(pin) ? scenario_pin(&check->scenario, json_string_value(pin), check->error)
			: fail(check->error, BAD_INPUT, "the plan's pins must be strings"));
		if (strcmp(pin_text(&check->scenario.pin[i], text, sizeof text), json_string_value(pin)) != 0)
			return fail(check->error, BAD_INPUT, "not a plan file: pin %zu is not written as pins are", i + 1);
		if (check->scenario.pin[i].kind == PIN_SCHEDULE && check->scenario.value[K_schedule] == SCHEDULE_FILE &&
			!check->as_planned)
			TRY(check_schedule_file(check, check->scenario.pin[i].a));
	}
	return OK;
}

enum status check_scenario(struct check *check)
{
	const json_t *scenario = json_object_get(check->plan, "scenario");
	enum status status = OK;
	if (!json_is_object(scenario))
		return fail(check->error, BAD_INPUT, "not a plan file: it has no scenario");
	for (int id = 0; id < KNOB_COUNT && status == OK; id++) {
		const json_t *value = json_object_get(scenario, knobs[id].name);
		status = value ? read_knob(check, (enum knob_id)id, value)
			: fail(check->error, BAD_INPUT, "not a plan file: the scenario lacks %s", knobs[id].name);
	}
	if (status == OK && json_object_size(scenario) != KNOB_COUNT + 1)
		status = fail(check->error, BAD_INPUT, "not a plan file: the scenario has a knob that is not known");
	THEN(status, asked_read_pins(check, json_object_get(scenario, "pins")));
	THEN(status, scenario_copy(&check->asked, &check->scenario) == OK ? OK : fail_memory(check->error));
	return status == OK && !check->as_planned ? check_pins(check->input, &check->scenario, check->error) : status;
}

/* ---- the memory cap ---- */

enum status check_fit(struct check *check)
{
	const char *order = json_string_value(check_member(check, "order", "strategy")),
			   *layout = json_string_value(check_member(check, "layout", "strategy"));
	char word[64];
	if (!order || strcmp(order, knob_text(K_order, check->asked.value[K_order], word, sizeof word)) != 0)
		return check_wrong(check, "order.strategy is not the scenario's");
	if (!layout || strcmp(layout, knob_text(K_layout, check->asked.value[K_layout], word, sizeof word)) != 0)
		return check_wrong(check, "layout.strategy is not the scenario's");
	const char *split = json_string_value(check_member(check, "shard", "strategy"));
	if (!split || strcmp(split, knob_text(K_strategy, check->asked.value[K_strategy], word, sizeof word)) != 0)
		return check_wrong(check, "shard.strategy is not the scenario's");
	return check_verdict(check);
}
