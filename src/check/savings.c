/* savings.c: what a plan is compared with, computed anew. */
#include <inttypes.h>

#include "src/plan/plan.h"
#include "state.h"

/* ---- peaks ---- */

/* The highest live bytes when op position[i] runs at step i; by hand of the lifetimes' definition, once more. -1: out
 * of memory. */
static int64_t savings_peak_of(struct check *check, const uint32_t *position, bool workspace)
{
	const struct graph *graph = check->graph;
	int64_t alignment = scenario_memory_rules(&check->scenario).alignment, peak = 0, bytes = 0;
	HELD int64_t *MAKE(change, (size_t)graph->ops + 2), *MAKE(scratch, (size_t)graph->ops + 1);
	if (!change || !scratch)
		return -1;
	FOR(op, graph->ops)
		scratch[position[op]] = workspace ? align_up(graph->op[op].workspace, alignment) : 0;
	FOR(s, graph->storages) {
		const struct storage *storage = &graph->storage[s];
		bool there = storage->bytes > 0 && (storage->live_out || csr_length(&graph->users, s) > 0);
		uint32_t first = storage->allocator == NONE || storage->persistent ? 0 : position[storage->allocator], last = first;
		if (storage->live_out)
			last = graph->ops ? graph->ops - 1 : 0;
		FOR_ITEMS(user, &graph->users, s)
			last = LARGER(position[user], last);
		change[first] += there ? align_up(storage->bytes, alignment) : 0;
		change[last + 1] -= there ? align_up(storage->bytes, alignment) : 0;
	}
	for (uint32_t step = 0; step == 0 || step < graph->ops; step++) {
		bytes += change[step];
		peak = LARGER(bytes + scratch[step], peak);
	}
	return peak;
}

bool check_program_keeps_pins(const struct check *check)
{
	FOR(p, check->scenario.pins) {
		const struct pin *pin = &check->scenario.pin[p];
		uint32_t a = pin->kind == PIN_ORDER ? graph_find_op(check->graph, pin->a) : NONE,
				 b = pin->kind == PIN_ORDER ? graph_find_op(check->graph, pin->b) : NONE;
		if (a != NONE && b != NONE && a > b)
			return false;
	}
	return true;
}

static enum status check_peaks(struct check *check)
{
	uint32_t *program = arena_alloc(&check->arena, check->graph->ops, sizeof *program);
	for (uint32_t op = 0; program && op < check->graph->ops; op++)
		program[op] = op;
	int64_t before = program ? savings_peak_of(check, program, scenario_memory_rules(&check->scenario).workspace) : -1,
			bare = savings_peak_of(check, check->position, false);
	if (before < 0 || bare < 0)
		return fail_memory(check->error);
	TRY(check_expect(check, "memory", "peak_without_workspace_bytes", bare));
	if (check_program_keeps_pins(check))
		return check_expect(check, "memory", "program_peak_bytes", before);
	check_skipped(check, "memory.program_peak_bytes by itself: the program's own order breaks a pin");
	return OK;
}

/* ---- routing, parts ---- */

static enum status check_routing(struct check *check)
{
	struct part_peak part[PARTS_MOST];
	const json_t *said = check_member(check, "memory", "parts"),
				 *routed = check_member(check, "memory", "worst_routing_bytes");
	bool split = check->sharded || (check->as_planned && !routed); /* the device's own graph doesn't tell */
	int64_t load[2], worst = split ? -1
		: routing_peak(check->graph, check->rules, check->position, check->load, load);
	uint32_t parts = parts_find(check->graph, check->order, check->load, part);
	TRY(worst >= 0 ? check_expect(check, "memory", "worst_routing_bytes", worst) : OK);
	if ((worst < 0 && routed) || json_array_size(said) != parts || (parts == 0 && said))
		return check_wrong(check, "memory: worst routing or parts are said of a step that has none, or has others");
	FOR(p, parts) {
		const json_t *one = json_array_get(said, p), *name = json_object_get(one, "name");
		if (json_integer_in(one, "peak_bytes") != part[p].bytes || !json_is_string(name) ||
			!text_is(json_string_value(name), part[p].name))
			return check_wrong(check, "memory.parts[%u] must be \"%.60s\", %" PRId64, p, part[p].name, part[p].bytes);
	}
	return OK;
}

/* ---- kinds, notes ---- */

static enum status expect_in(struct check *check, const json_t *object, const char *key, int64_t expected)
{
	const json_t *value = json_object_get(object, key);
	if (!json_is_integer(value))
		return refuse(check->error, "not a plan file: shard.stages: the planned rank's %s is not an integer", key);
	return json_integer_value(value) == expected
		? OK
		: check_wrong(check, "shard.stages: the planned rank's %s is %" PRId64 ", but it must be %" PRId64, key,
			  (int64_t)json_integer_value(value), expected);
}

/* The stage that is planned: the peak by kinds. A step on one rank has no other. */
static enum status check_kinds(struct check *check)
{
	const struct graph *graph = check->graph;
	const json_t *stages = json_object_get(json_object_get(check->plan, "shard"), "stages");
	int64_t rank = check->pipelined ? scenario_rank(&check->scenario) : 0;
	const json_t *stage = json_array_get(stages, rank > 0 ? (size_t)rank : 0);
	int64_t bytes[KIND_COUNT] = { 0 }, workspace = graph->ops
		? check->bytes[graph->storages + check->order[check->peak_position]] : 0;
	if (check->as_planned && scenario_pipelines(&check->scenario))
		return OK;
	if (!check->pipelined && json_array_size(stages) != 1)
		return check_wrong(check, "shard.stages must have one entry: the step runs on one pipeline rank");
	for (uint32_t s = 0; graph->ops && s < graph->storages; s++)
		if (check->first[s] != NONE && check->first[s] <= check->peak_position && check->peak_position <= check->last[s])
			bytes[graph->storage[s].kind] += check->bytes[s];
	TRY(expect_in(check, stage, "rank", rank));
	if (check->pipelined && json_integer_value(check_member(check, "layout", "arena_bytes")) > 0)
		TRY(expect_in(check, stage, "arena_bytes", json_integer_value(check_member(check, "layout", "arena_bytes"))));
	TRY(expect_in(check, stage, "peak_bytes", check->peak));
	FOR_INT(kind, KIND_COUNT)
		TRY(expect_in(check, stage, kind_names[kind], bytes[kind]));
	return expect_in(check, stage, "workspace", workspace);
}

/* The next note from i on that is compared: what a search says on the way isn't said again for a decision that is made,
 * and isn't in a plan that was cut short. */
static size_t check_next_note(const struct check *check, const json_t *notes, size_t i)
{
	bool skips = check->sharded && !json_true_in(check->plan, "limited");
	for (const char *text; skips && (text = json_string_value(json_array_get(notes, i))) && !note_is_guess(text);)
		i++;
	return i;
}

/* The sentences that the stages wrote. */
static enum status check_notes(struct check *check)
{
	const json_t *notes = json_object_get(check->plan, "notes");
	char what[40], text[1901];    /* long ones are cut off where they are written */
	size_t i = 0, compared = 0;
	if (!check->notes)
		return OK;
	for (const char *at = check->notes; *at; at += strcspn(at, "\n") + 1) {
		PRINT_TO(text, "%.*s", (int)strcspn(at, "\n"), at);
		if (check->sharded && !note_is_guess(text))
			continue;
		i = check_next_note(check, notes, i);
		PRINT_TO(what, "notes[%zu]", i);
		TRY(check_words(check, what, json_string_value(json_array_get(notes, i++)), text));
		compared++;
	}
	return json_is_array(notes) && json_array_size(notes) == check_next_note(check, notes, i)
		? OK
		: check_wrong(check, "there are not the %zu notes of the stages", compared);
}

enum status check_savings(struct check *check)
{
	TRY(check_peaks(check));
	TRY(check_routing(check));
	TRY(check_kinds(check));
	TRY(check_notes(check));
	check_passed(check, "what the plan is compared with: the program's own order; the peak by kinds");
	return OK;
}
