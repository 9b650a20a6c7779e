/* asked.c: what a plan file says of its graph and scenario, and whether the plan keeps the scenario's memory cap. */
#include <inttypes.h>
#include <stdlib.h>

#include "src/base/files.h"
#include "src/base/streams.h"
#include "src/plan/verdict.h"
#include "src/read/card.h"
#include "src/scenario/own_device.h"
#include "state.h"

/* verdict: what a plan file says of its device's memory. */

/* Groups of devices that a device talks with: degrees above 1, as the file's own mesh and pipeline have them. */
static int64_t count_groups(const struct check *check)
{
	json_t *mesh = json_object_get(json_object_get(check->plan, "shard"), "mesh"), *size;
	const char *name;
	int64_t groups = 0;
	json_object_foreach(mesh, name, size) {
		groups += json_integer_value(size) > 1;
	}
	return groups + (scenario_pipelines(&check->asked) && check->asked.value[K_pp] > 1);
}

static enum status check_verdict_expect(struct check *check, const char *key, int64_t expected)
{
	return check_expect(check, "memory", key, expected);
}

/* The words follow from the numbers. */
static enum status check_verdict_check_words(struct check *check, const struct verdict *verdict)
{
	char text[VERDICT_TEXT];
	const char *stated = json_string_value(check_member(check, "memory", "verdict"));
	verdict_text(verdict, text, sizeof text);
	return stated && strcmp(stated, text) == 0 ? OK : check_wrong(check, "memory.verdict is not \"%s\"", text);
}

static enum status check_fits(struct check *check, struct verdict *verdict)
{
	const json_t *stated = check_member(check, "memory", "fits"), *cap = check_member(check, "memory", "cap_bytes");
	int64_t bound = json_integer_value(check_member(check, "order", "bound_bytes"));
	check->over = verdict->cap < 0 ? -1 : verdict->needed - verdict->cap;
	if (verdict->cap < 0)
		return stated || cap ? check_wrong(check, "memory.fits is said of a scenario without a memory cap") : OK;
	verdict->fits = check->over <= 0 ? FITS_YES
		: bound + verdict->buffers + verdict->reserve > verdict->cap ? FITS_NO
		: FITS_UNKNOWN;
	const char *word = verdict->fits == FITS_YES ? "yes" : verdict->fits == FITS_NO ? "no" : "unknown";
	enum status status = check_verdict_expect(check, "cap_bytes", verdict->cap);
	if (status == OK && (!json_is_string(stated) || strcmp(json_string_value(stated), word) != 0))
		status = check_wrong(check,
			"memory.fits must be \"%s\": so says the sum of the plan, what is gathered ahead, buffers and reserve, "
			"beside the bound",
			word);
	return status;
}

/* After lifetimes, layout and time are checked: all that stands beside the plan is added up anew, from the scenario,
 * the mesh and the simulated allocator, and held against memory.fits and its numbers. Sets check->over. INFEASIBLE says
 * what is wrong. */
static enum status check_verdict(struct check *check)
{
	int64_t arena = json_integer_value(check_member(check, "layout", "arena_bytes")), groups = count_groups(check);
	struct device_preset preset = scenario_preset(&check->asked);
	struct verdict verdict = { .plan = arena, .reserve = scenario_reserve(&check->asked),
		.buffers = groups * scenario_group_buffers(&check->asked) };
	const json_t *note;
	size_t i;
	if (check->as_planned) /* the step isn't simulated */
		check->ahead = json_integer_value(check_member(check, "shard", "gathered_ahead_bytes"));
	verdict.ahead = check->ahead;
	json_array_foreach(json_object_get(check->plan, "notes"), i, note) {
		verdict.guess |= json_is_string(note) && strncmp(json_string_value(note), NOTE_GUESS, strlen(NOTE_GUESS)) == 0;
	}
	verdict.cap = check->asked.value[K_memory] >= 0 ? check->asked.value[K_memory] : preset.machine.memory;
	verdict.needed = verdict.plan + verdict.ahead + verdict.buffers + verdict.reserve;
	verdict.caching = check->reserved[0] + verdict.needed - verdict.plan;
	verdict.expandable = check->reserved[1] + verdict.needed - verdict.plan;
	TRY(check_verdict_expect(check, "buffers_bytes", verdict.buffers));
	TRY(check_verdict_expect(check, "reserve_bytes", verdict.reserve));
	TRY(check_verdict_expect(check, "needed_bytes", verdict.needed));
	TRY(check_verdict_expect(check, "caching_allocator_needed_bytes", verdict.caching));
	TRY(check_verdict_expect(check, "expandable_segments_needed_bytes", verdict.expandable));
	TRY(check_fits(check, &verdict));
	TRY(check_verdict_check_words(check, &verdict));
	check_passed(check,
		verdict.cap < 0 ? "what the plan needs, with parameters gathered ahead, buffers and reserve"
		: "whether the plan fits its device, with parameters gathered ahead, buffers and reserve");
	return OK;
}

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
	TRY(check_fingerprint(check, "fingerprint", input->fingerprint));
	TRY(check_expect(check, "graph", "ops", input->ops));
	TRY(check_expect(check, "graph", "tensors", input->tensors));
	TRY(check_expect(check, "graph", "storages", input->storages));
	if (!name || strcmp(name, input->name) != 0)
		return check_wrong(check, "graph.name is not \"%.100s\"", input->name);
	return check_card(check);
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
	if (!json_is_object(scenario))
		return fail(check->error, BAD_INPUT, "not a plan file: it has no scenario");
	for (int id = 0; id < KNOB_COUNT; id++) {
		const json_t *value = json_object_get(scenario, knobs[id].name);
		TRY(value ? read_knob(check, (enum knob_id)id, value)
				  : fail(check->error, BAD_INPUT, "not a plan file: the scenario lacks %s", knobs[id].name));
	}
	if (json_object_size(scenario) != KNOB_COUNT + 1)
		return fail(check->error, BAD_INPUT, "not a plan file: the scenario has a knob that is not known");
	TRY(asked_read_pins(check, json_object_get(scenario, "pins")));
	if (scenario_copy(&check->asked, &check->scenario) != OK)
		return fail_memory(check->error);
	return !check->as_planned ? check_pins(check->input, &check->scenario, check->error) : OK;
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
