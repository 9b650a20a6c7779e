/* asked.c: what a plan file says of its graph and scenario, and whether the plan keeps the scenario's memory cap. */
#include <inttypes.h>

#include "src/base/streams.h"
#include "src/plan/fsdp.h"
#include "src/plan/verdict.h"
#include "src/read/card.h"
#include "src/scenario/knobs.h"
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
static enum status asked_words(struct check *check, const char *key, const char *text)
{
	return check_words(check, PRINTED(40, "memory.%s", key), json_string_value(check_member(check, "memory", key)),
		text);
}

/* -1: no whole number is there. */
static int64_t asked_whole(const json_t *object, const char *key)
{
	const json_t *value = json_object_get(object, key);
	return json_is_integer(value) ? json_integer_value(value) : -1;
}

/* What the allocator comes to within a limit (< 0: none is looked at); said > 0: what it reserves by the graph's file.
 * False: no memory. */
static bool allocations_at(
	const struct buffers *buffers, bool expandable, int64_t said, int64_t limit, struct allocated *at)
{
	*at = (struct allocated){ .reserved = said, .breaks = said > 0 && limit >= 0 && said > limit ? 0 : -1 };
	return said > 0 || limit < 0 || check_allocator(buffers, expandable, limit, at);
}

/* What is said of PyTorch's allocator: reserved without a limit, the least one that holds, what becomes of it at the
 * cap. */
static enum status check_allocated(
	struct check *check, const struct buffers *buffers, bool expandable, int64_t limit, struct allocated *stated)
{
	static const char *const keys[] = { "pytorch", "expandable" };
	const json_t *object = check_member(check, "memory", keys[expandable]);
	const char *name = json_text_in(object, "breaks_at");
	int64_t said = check->graph->about.intake.caching[expandable], ops = check->graph->ops,
			retries = asked_whole(object, "retries"), least = asked_whole(object, "least_bytes");
	struct allocated free, at, held;
	if (!allocations_at(buffers, expandable, said, limit, &at) ||
		!allocations_at(buffers, expandable, said, INT64_MAX, &free) ||
		!allocations_at(buffers, expandable, said, larger_of(least, 0), &held))
		return fail_memory(check->error);
	bool breaks = at.breaks >= 0, fine = least > 0 && (held.breaks < 0 || least == 1) && at.retries == retries &&
		free.reserved == asked_whole(object, "reserved_bytes") && (limit < 0 || breaks == (least > larger_of(limit, 1)));
	if (breaks && ops > 0)
		fine = fine && text_is(name, check->graph->op[check->order[at.breaks % ops]].name) &&
			asked_whole(object, "breaks_in_step") == 1 + at.breaks / ops;
	else
		fine = fine && !json_object_get(object, "breaks_in_step") && !json_object_get(object, "breaks_at");
	*stated = (struct allocated){ .least = least, .retries = at.retries };
	return fine && (said == 0 || least == said) ? OK
		: check_wrong(check, "memory.%s is not what its allocator comes to", keys[expandable]);
}

static enum status check_fits(struct check *check, struct verdict *verdict)
{
	const json_t *stated = check_member(check, "memory", "fits"), *cap = check_member(check, "memory", "cap_bytes");
	int64_t bound = json_integer_value(check_member(check, "order", "bound_bytes"));
	check->over = verdict->cap < 0 ? -1 : verdict->needed - verdict->cap;
	if (verdict->cap < 0)
		return stated || cap ? check_wrong(check, "memory.fits is said of a scenario without a memory cap") : OK;
	verdict->fits = check->over <= 0 ? FITS_YES
		: bound + verdict->part[PART_BUFFERS] + verdict->part[PART_CONTEXT] > verdict->cap ? FITS_NO
		: verdict->allocator == ALLOCATOR_PYTORCH && verdict->by[ALLOCATOR_EXPANDABLE] <= verdict->cap ? FITS_EXPANDABLE
		: verdict->by[ALLOCATOR_PLAN] <= verdict->cap ? FITS_PLANNED
		: FITS_UNKNOWN;
	TRY(check_verdict_expect(check, "cap_bytes", verdict->cap));
	return asked_words(check, "fits", fits_text[verdict->fits]);
}

/* The parts of what is needed. */
static enum status check_ledger(struct check *check, struct verdict *verdict)
{
	const json_t *parts = check_member(check, "memory", "ledger");
	int64_t *part = verdict->part, sum = 0;
	uint32_t peak = check->peak_position, storages = check->graph->storages;
	FOR_WHILE(item, check->items, check->graph->ops > 0)
		if (check->first[item] != NONE && check->first[item] <= peak && peak <= check->last[item])
			part[item < storages ? ledger_part_of(check->graph->storage[item].kind) : PART_OTHER] += check->bytes[item];
	FOR_INT(p, LEDGER_PARTS)
		sum += part[p];
	part[PART_HOLES] = verdict->needed - sum;
	FOR_INT(p, LEDGER_PARTS)
		if (asked_whole(parts, ledger[p].key) != part[p])
			return check_wrong(check, "memory.ledger's %s must be %" PRId64, ledger[p].key, part[p]);
	return OK;
}

/* Whether fully_shard runs the step, and its buffers of two steps, or those of three. */
static enum status verdict_buffers_of(
	struct check *check, bool state_first, struct arena *arena, struct buffers *buffers, bool *fully_shard)
{
	struct fsdp_step step = { check->graph, &check->scenario, check->position, check->first, check->last, check->bytes };
	if ((check->sharded || check->as_planned) && !check->pipelined && !scenario_pipelines(&check->scenario))
		TRY(fsdp_buffers(&step, arena, buffers));
	*fully_shard = buffers->n > 0;
	return *fully_shard ? OK : check_three_steps(check, state_first, arena, buffers);
}

static enum status check_verdict(struct check *check)
{
	int64_t arena = json_integer_value(check_member(check, "layout", "arena_bytes")), groups = count_groups(check),
			budget = scenario_budget(&check->asked);
	struct verdict verdict = { .allocator = scenario_allocator(&check->asked, check->input),
		.state_first = json_is_true(check_member(check, "memory", "state_first")) };
	struct allocated stated = { 0 };
	struct buffers buffers = { 0 };
	OWN(arena) room = { 0 };
	const json_t *note;
	size_t i;
	bool fully_shard = false;
	if (check->as_planned)   /* the step isn't simulated */
		check->ahead = json_integer_value(check_member(check, "shard", "gathered_ahead_bytes"));
	if (verdict_buffers_of(check, verdict.state_first, &room, &buffers, &fully_shard) != OK)
		return fail_memory(check->error);
	json_array_foreach(json_object_get(check->plan, "notes"), i, note) {
		verdict.guess |= json_is_string(note) && note_is_guess(json_string_value(note));
	}
	verdict.cap = check->asked.value[K_memory] >= 0 ? check->asked.value[K_memory] : check->asked.device.machine.memory;
	verdict.part[PART_BUFFERS] = groups * scenario_group_buffers(&check->asked);
	verdict.part[PART_CONTEXT] = scenario_reserve(&check->asked);
	int64_t beside = verdict.part[PART_BUFFERS] + verdict.part[PART_CONTEXT];
	verdict.by[ALLOCATOR_PLAN] = arena + check->ahead + beside;
	FOR_INT(expandable, 2) {
		int64_t ahead = fully_shard ? 0 : check->ahead,
				limit = budget < 0 ? -1 : larger_of(budget - ahead - verdict.part[PART_BUFFERS], 0);
		TRY(check_allocated(check, &buffers, expandable, limit, &stated));
		verdict.by[ALLOCATOR_PYTORCH + expandable] = larger_of(stated.least, check->peak) + ahead + beside;
		if ((int)verdict.allocator == ALLOCATOR_PYTORCH + expandable)
			verdict.retries = stated.retries;
	}
	verdict.part[PART_AHEAD] = fully_shard && verdict.allocator != ALLOCATOR_PLAN ? 0 : check->ahead;
	verdict.needed = verdict.by[verdict.allocator];
	TRY(check_ledger(check, &verdict));
	TRY(check_verdict_expect(check, "needed_bytes", verdict.needed));
	TRY(check_fits(check, &verdict));
	TRY(asked_words(check, "allocator", knob_text(K_allocator, verdict.allocator, TEXT(VERDICT_TEXT))));
	TRY(asked_words(check, "verdict", verdict_text(&verdict, TEXT(VERDICT_TEXT))));
	check_passed(check, "what the plan needs in each allocator over three steps, part by part, and whether that fits");
	return OK;
}

/* ---- the graph ---- */

static enum status check_fingerprint(struct check *check, const char *key, uint64_t expected)
{
	char text[17];
	const char *stated = json_string_value(check_member(check, "graph", key));
	PRINT_TO(text, "%016" PRIx64, expected);
	if (!stated)
		return refuse(check->error, "not a plan file: graph.%s is not text", key);
	return text_is(stated, text)
		? OK
		: check_wrong(
			  check, "the plan is of another graph: graph.%s is %.40s, but that graph's is %s", key, stated, text);
}

bool check_given_as_planned(struct check *check)
{
	char text[17];
	const char *input = json_string_value(check_member(check, "graph", "fingerprint"));
	const char *planned = json_string_value(check_member(check, "graph", "planned_fingerprint"));
	PRINT_TO(text, "%016" PRIx64, check->input->fingerprint);
	return input && text_is(planned, text) && !text_is(input, text);
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
	if (!text_is(name, input->name))
		return check_wrong(check, "graph.name is not \"%.100s\"", input->name);
	return check_card(check);
}

enum status check_planned_graph(struct check *check)
{
	TRY(check_fingerprint(check, "planned_fingerprint", check->graph->fingerprint));
	if (check->as_planned)
		check_skipped(check,
			"how the scenario made this graph, which input, notes, recompute and shard say: the graph as planned was "
			"given, not the one that was read");
	else
		check_passed(check, "the graph that the scenario makes of the input: name, counts and fingerprints");
	return OK;
}

/* ---- the scenario ---- */

/* A knob's value as it is written: a number, or a word of the knob's. */
static enum status read_knob(struct check *check, enum knob_id id, const json_t *value)
{
	const struct knob *knob = &knobs[id];
	const char *text = json_string_value(value);
	int64_t number = json_integer_value(value);
	bool words = knob->type == KNOB_CHOICE || knob->type == KNOB_SWITCH;
	if (json_is_integer(value) && !words && number >= knob->minimum && number <= knob->maximum) {
		scenario_put(&check->scenario, id, number);
		return OK;
	}
	if (text && knob_parse(id, text, &number, NULL) == OK && (words || number == KNOB_GIVEN)
	    && text_is(knob_text(id, number, TEXT(64)), text)) {
		scenario_put(&check->scenario, id, number);
		return OK;
	}
	return refuse(check->error, "not a plan file: the scenario's %s has a value that this knob can't have",
		knob->name);
}

/* The schedule that the file holds is planned, not the file that it came from: nothing else is opened. */
static enum status asked_take_schedule(struct check *check, struct pin *pin)
{
	const json_t *pipeline = json_object_get(json_object_get(check->plan, "shard"), "pipeline");
	const json_t *rows = json_object_get(pipeline, "order"), *row;
	size_t i, size;
	FILE *stream = text_stream(&pin->b, &size);
	NEEDED(check->error, stream);
	json_array_foreach(rows, i, row) {
		fprintf(stream, "%s\n", json_is_string(row) ? json_string_value(row) : "?");
	}
	return fclose(stream) == 0 ? OK : fail_memory(check->error);
}

static enum status asked_read_pins(struct check *check, const json_t *pins)
{
	const json_t *pin;
	size_t i;
	if (!json_is_array(pins))
		return refuse(check->error, "not a plan file: scenario.pins is not a list");
	json_array_foreach(pins, i, pin) {
		TRY(json_is_string(pin) ? scenario_pin(&check->scenario, json_string_value(pin), check->error)
			: refuse(check->error, "the plan's pins must be strings"));
		if (!text_is(pin_text(&check->scenario.pin[i], TEXT(512)), json_string_value(pin)))
			return refuse(check->error, "not a plan file: pin %zu is not written as pins are", i + 1);
		if (check->scenario.pin[i].kind == PIN_SCHEDULE)
			TRY(asked_take_schedule(check, &check->scenario.pin[i]));
	}
	return OK;
}

enum status check_scenario(struct check *check)
{
	const json_t *scenario = json_object_get(check->plan, "scenario");
	if (!json_is_object(scenario))
		return refuse(check->error, "not a plan file: it has no scenario");
	FOR_INT(id, KNOB_COUNT) {
		const json_t *value = json_object_get(scenario, knobs[id].name);
		TRY(value ? read_knob(check, (enum knob_id)id, value)
				  : refuse(check->error, "not a plan file: the scenario lacks %s", knobs[id].name));
	}
	const char *name;
	const json_t *value;
	json_object_foreach((json_t *)(uintptr_t)scenario, name, value) {
		enum knob_id id = knob_find(name);
		if ((id == KNOB_COUNT || !text_is(knobs[id].name, name)) && !text_is(name, "pins"))
			return refuse(check->error, "not a plan file of this version, which has no knob %.40s; plan it again", name);
	}
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
	if (!text_is(order, knob_text(K_order, check->asked.value[K_order], TEXT(64))))
		return check_wrong(check, "order.strategy is not the scenario's");
	if (!text_is(layout, knob_text(K_layout, check->asked.value[K_layout], TEXT(64))))
		return check_wrong(check, "layout.strategy is not the scenario's");
	const char *split = json_string_value(check_member(check, "shard", "strategy"));
	if (!text_is(split, knob_text(K_strategy, check->asked.value[K_strategy], TEXT(64))))
		return check_wrong(check, "shard.strategy is not the scenario's");
	return check_verdict(check);
}
