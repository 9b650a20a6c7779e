/* plan_check.c: verifies plan files with code that shares nothing with the solvers. */
#include <inttypes.h>
#include <jansson.h>
#include <string.h>

#include "group_pins.h"
#include "solver/layout_links.h"
#include "input.h"
#include "plan_check.h"
#include "plan_check_pipeline.h"
#include "plan_check_shard.h"
#include "rules_file.h"
#include "scenario.h"
#include "solver/device_graph.h"
#include "transform.h"

#define PLAN_BYTES_MAX ((size_t)1 << 30)

struct check {
	const struct graph *input;
	struct graph *graph;          /* as planned */
	struct pipelined *pipelined;  /* NULL where the step is not cut into microbatches or ranks, or the graph given is a rank's */
	struct sharded *sharded;      /* NULL where the step is not split, or the graph given is a device's */
	const char *rules_file;
	struct rules *rules;
	const json_t *plan;
	struct scenario scenario;
	FILE *report;
	struct error *error;
	uint32_t *position;           /* [ops] */
	uint32_t *order;              /* [ops] */
	uint32_t *first, *last;       /* [storages], NONE: never there */
	int64_t *bytes, *offset;      /* [storages] */
	int64_t peak;
	struct arena arena;
};

static enum status wrong(struct check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));

static enum status wrong(struct check *check, const char *format, ...)
{
	va_list arguments;
	char text[400];
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	return fail(check->error, INFEASIBLE, "%s", text);
}

static void passed(const struct check *check, const char *what)
{
	if (check->report)
		fprintf(check->report, "ok  %s\n", what);
}

/* The member at a path of two keys. */
static const json_t *member(const struct check *check, const char *part, const char *key)
{
	return json_object_get(json_object_get(check->plan, part), key);
}

static enum status integer(struct check *check, const char *part, const char *key, int64_t *value)
{
	const json_t *number = member(check, part, key);
	if (!json_is_integer(number))
		return fail(check->error, BAD_INPUT, "not a plan file: \"%s\".\"%s\" is no integer", part, key);
	*value = json_integer_value(number);
	return OK;
}

/* Compares a number of the file with what it must be. */
static enum status expect(struct check *check, const char *part, const char *key, int64_t expected)
{
	int64_t value;
	enum status status = integer(check, part, key, &value);
	if (status == OK && value != expected)
		return wrong(check, "%s.%s is %" PRId64 ", but it must be %" PRId64, part, key, value, expected);
	return status;
}

/* ---- scenario and graph -------------------------------------------------------------------- */

static enum status read_knob(struct check *check, enum knob_id id, const json_t *value)
{
	if (json_is_integer(value)) {
		check->scenario.value[id] = json_integer_value(value);
		return OK;
	}
	const char *text = json_string_value(value);
	return text ? knob_parse(id, text, &check->scenario.value[id], check->error)
		: fail(check->error, BAD_INPUT, "the plan's scenario has a bad value for %s", knobs[id].name);
}

static enum status read_scenario(struct check *check)
{
	const json_t *scenario = json_object_get(check->plan, "scenario"), *value, *pin;
	const char *key;
	size_t i;
	enum status status = OK;
	if (!json_is_object(scenario))
		return fail(check->error, BAD_INPUT, "not a plan file: it has no scenario");
	json_object_foreach((json_t *)(uintptr_t)scenario, key, value) {
		enum knob_id id = knob_find(key);
		if (id < KNOB_COUNT && (status = read_knob(check, id, value)) != OK)
			return status;
	}
	json_array_foreach(json_object_get(scenario, "pins"), i, pin) {
		if (!json_is_string(pin))
			return fail(check->error, BAD_INPUT, "the plan's pins must be strings");
		if ((status = scenario_pin(&check->scenario, json_string_value(pin), check->error)) != OK)
			return status;
	}
	return check_pins(check->input, &check->scenario, check->error);
}

static enum status check_shard(struct check *check, struct stage_context *stage, const struct sharded *sharded)
{
	const json_t *shard = json_object_get(check->plan, "shard");
	const char *how = NULL;
	enum status status = shard_check(shard, sharded, check->error);
	if (status != OK)
		return status;
	passed(check, "every op's split and every tensor's placement is possible; redundancy and communication, summed anew");
	status = device_graph_check(&sharded->shared->units, &sharded->sharding, check->rules, sharded->device, check->error);
	if (status != OK)
		return status;
	passed(check, "the device's graph: operands in the placements that their ops need, collectives, latest versions");
	status = shard_check_bound(shard, stage, sharded, &check->scenario, &how, check->error);
	if (status == OK && how)
		passed(check, how);
	return status;
}

/* The pipeline rank that the plan is of: the scenario's, or the one that had the largest arena. */
static enum status read_rank(struct check *check)
{
	const json_t *rank = json_object_get(json_object_get(json_object_get(check->plan, "shard"), "pipeline"), "rank");
	if (!scenario_pipelines(&check->scenario))
		return OK;
	if (!json_is_integer(rank) || json_integer_value(rank) < 0 || json_integer_value(rank) > knobs[K_rank].maximum)
		return fail(check->error, BAD_INPUT, "not a plan file: shard.pipeline.rank is no rank");
	if (check->scenario.value[K_rank] != KNOB_GIVEN && check->scenario.value[K_rank] != json_integer_value(rank))
		return wrong(check, "the plan is of another pipeline rank than the scenario asks for");
	check->scenario.value[K_rank] = json_integer_value(rank);
	return OK;
}

/* The graph that the plan is of: the one given, if it is that already, or what the scenario makes of it. */
static enum status transform_graph(struct check *check)
{
	struct graph *input = (struct graph *)(uintptr_t)check->input;
	char fingerprint[17];
	const char *planned = json_string_value(member(check, "graph", "planned_fingerprint"));
	snprintf(fingerprint, sizeof fingerprint, "%016" PRIx64, input->fingerprint);
	if (planned && strcmp(planned, fingerprint) == 0) {
		check->graph = graph_retain(input);
		return OK;
	}
	enum status status = NO_MEMORY;
	struct control control = { 0 };
	check->rules = rules_load(check->rules_file, check->error, &status);
	if (!check->rules)
		return status;
	enum status rank = read_rank(check);
	if (rank != OK)
		return rank;
	int64_t margin = json_integer_value(member(check, "memory", "fit_margin_bytes"));
	if (margin < -BYTES_MAX || margin > BYTES_MAX)
		return fail(check->error, BAD_INPUT, "fit_margin_bytes is out of range");
	struct shard_claim claim = { json_object_get(check->plan, "shard"), &check->scenario };
	struct stage_context stage = { .store = store_new(), .control = &control, .rules = check->rules, .fit_margin = margin,
		.shard_decider = shard_decision, .shard_context = &claim };
	status = NO_MEMORY;
	struct transformed *transformed = NULL;
	if (stage.store)
		transformed = stage_transform(&stage, input, &check->scenario, false, check->error, &status);
	if (transformed)
		check->graph = graph_retain(transformed->graph);
	if (transformed && transformed->sharded) {
		check->sharded = sharded_retain(transformed->sharded);
		check->pipelined = transformed->pipelined ? pipelined_retain(transformed->pipelined) : NULL;
		status = check_shard(check, &stage, transformed->sharded);
		if (status == OK && check->pipelined)
			status = pipeline_check_claims(json_object_get(check->plan, "shard"), check->pipelined, check->error);
		if (status == OK && check->pipelined)
			passed(check, "every pipeline rank's graph; the schedule played anew, and the step's time; what ranks hold");
	}
	transformed_release(transformed);
	store_free(stage.store);
	return status;
}

static enum status prepare_graph(struct check *check)
{
	enum status status = transform_graph(check);
	if (status != OK)
		return status;
	const struct graph *graph = check->graph;
	check->position = arena_alloc(&check->arena, graph->ops, sizeof *check->position);
	check->order = arena_alloc(&check->arena, graph->ops, sizeof *check->order);
	check->first = arena_alloc(&check->arena, graph->storages, sizeof *check->first);
	check->last = arena_alloc(&check->arena, graph->storages, sizeof *check->last);
	check->bytes = arena_alloc(&check->arena, graph->storages, sizeof *check->bytes);
	check->offset = arena_alloc(&check->arena, graph->storages, sizeof *check->offset);
	if (!check->position || !check->order || !check->first || !check->last || !check->bytes || !check->offset)
		return fail(check->error, NO_MEMORY, "out of memory");
	return OK;
}

/* ---- order ---------------------------------------------------------------------------------- */

static enum status check_order(struct check *check)
{
	const struct graph *graph = check->graph;
	const json_t *ops = member(check, "order", "ops"), *name;
	size_t i;
	if (!json_is_array(ops))
		return fail(check->error, BAD_INPUT, "not a plan file: it has no order.ops");
	if (json_array_size(ops) != graph->ops)
		return wrong(check, "the order has %zu ops, the graph has %u", json_array_size(ops), graph->ops);
	for (uint32_t op = 0; op < graph->ops; op++)
		check->position[op] = NONE;
	json_array_foreach(ops, i, name) {
		uint32_t op = json_is_string(name) ? graph_find_op(graph, json_string_value(name)) : NONE;
		if (op == NONE)
			return wrong(check, "position %zu of the order is no op of the graph", i);
		if (check->position[op] != NONE)
			return wrong(check, "op \"%.100s\" stands in the order twice", graph->op[op].name);
		check->position[op] = (uint32_t)i;
		check->order[i] = op;
	}
	for (uint32_t op = 0; op < graph->ops; op++)
		FOR_ROW(d, &graph->pred, op)
			if (check->position[graph->pred.item[d]] > check->position[op])
				return wrong(check, "op \"%.100s\" runs before \"%.100s\", which it depends on", graph->op[op].name,
					graph->op[graph->pred.item[d]].name);
	for (uint32_t p = 0; p < check->scenario.pins; p++) {
		const struct pin *pin = &check->scenario.pin[p];
		uint32_t a = pin->kind == PIN_ORDER ? graph_find_op(graph, pin->a) : NONE, b = pin->kind == PIN_ORDER ? graph_find_op(graph, pin->b) : NONE;
		if (a != NONE && b != NONE && check->position[a] > check->position[b])
			return wrong(check, "the pin \"%.100s before %.100s\" is not kept", pin->a, pin->b);
	}
	passed(check, "the order runs every op once and keeps every dependency and pin");
	return OK;
}

/* The step simulated in the file's order. */
static enum status check_time(struct check *check)
{
	if (!check->sharded || check->pipelined)
		return OK;
	struct plan_time *time = plan_time_of(check->graph, check->order, check->sharded, &check->scenario, check->rules);
	if (!time)
		return fail(check->error, NO_MEMORY, "out of memory");
	enum status status = shard_check_time(json_object_get(check->plan, "shard"), time, check->error);
	plan_time_free(time);
	if (status == OK)
		passed(check, "the time of a step: computation and collectives run event by event");
	return status;
}

/* ---- memory: lifetimes first, then a sum of differences ----------------------------------------- */

static void find_lifetime(struct check *check, uint32_t s)
{
	const struct graph *graph = check->graph;
	const struct storage *storage = &graph->storage[s];
	uint32_t end = graph->ops ? graph->ops - 1 : 0;
	check->bytes[s] = align_up(storage->bytes, check->scenario.value[K_alignment]);
	check->offset[s] = -1;
	check->first[s] = check->last[s] = NONE;
	if (storage->bytes == 0 || (!storage->live_out && csr_length(&graph->users, s) == 0))
		return;
	check->first[s] = storage->allocator == NONE || storage->persistent ? 0 : check->position[storage->allocator];
	check->last[s] = storage->live_out ? end : check->first[s];
	FOR_ROW(i, &graph->users, s) {
		uint32_t position = check->position[graph->users.item[i]];
		if (position > check->last[s])
			check->last[s] = position;
	}
}

static enum status check_memory(struct check *check)
{
	const struct graph *graph = check->graph;
	int64_t persistent = 0, bytes = 0;
	uint32_t peak_position = 0;
	int64_t *change = arena_alloc(&check->arena, (size_t)graph->ops + 2, sizeof *change);
	if (!change)
		return fail(check->error, NO_MEMORY, "out of memory");
	for (uint32_t s = 0; s < graph->storages; s++) {
		find_lifetime(check, s);
		persistent += graph->storage[s].persistent ? check->bytes[s] : 0;
		if (check->first[s] == NONE)
			continue;
		change[check->first[s]] += check->bytes[s];
		change[check->last[s] + 1] -= check->bytes[s];
	}
	check->peak = graph->ops ? -1 : change[0];
	for (uint32_t position = 0; position < graph->ops; position++) {
		bytes += change[position];
		int64_t workspace = graph->op[check->order[position]].workspace;
		int64_t live = bytes + (check->scenario.value[K_workspace] ? align_up(workspace, check->scenario.value[K_alignment]) : 0);
		if (live > check->peak) {
			check->peak = live;
			peak_position = position;
		}
	}
	enum status status = expect(check, "memory", "persistent_bytes", persistent);
	if (status == OK)
		status = expect(check, "memory", "peak_bytes", check->peak);
	if (status == OK)
		status = expect(check, "order", "peak_bytes", check->peak);
	const char *op = json_string_value(member(check, "memory", "peak_op"));
	if (status == OK && graph->ops && (!op || strcmp(op, graph->op[check->order[peak_position]].name) != 0))
		status = wrong(check, "memory.peak_op is not \"%.100s\"", graph->op[check->order[peak_position]].name);
	if (status == OK)
		passed(check, "peak and persistent bytes, computed anew");
	return status;
}

/* ---- layout --------------------------------------------------------------------------------------- */

static enum status read_buffer(struct check *check, const json_t *buffer)
{
	const struct graph *graph = check->graph;
	const char *name;
	json_int_t offset, bytes, first, last;
	if (json_unpack((json_t *)(uintptr_t)buffer, "{s:s,s:I,s:I,s:I,s:I}", "tensor", &name, "offset", &offset, "bytes", &bytes,
	    "first", &first, "last", &last) != 0)
		return fail(check->error, BAD_INPUT, "not a plan file: a buffer lacks tensor, offset, bytes, first or last");
	uint32_t tensor = graph_find_tensor(graph, name);
	if (tensor == NONE)
		return wrong(check, "there is a buffer for \"%.100s\", which is no tensor of the graph", name);
	uint32_t s = graph->tensor[tensor].storage;
	if (graph->storage[s].root != tensor)
		return wrong(check, "the buffer \"%.100s\" is named by a view: its root is \"%.100s\"", name,
			graph->tensor[graph->storage[s].root].name);
	if (check->offset[s] >= 0)
		return wrong(check, "there are two buffers for \"%.100s\"", name);
	if (check->first[s] == NONE)
		return wrong(check, "there is a buffer for \"%.100s\", which occupies no memory", name);
	if (bytes != check->bytes[s] || first != check->first[s] || last != check->last[s])
		return wrong(check, "buffer \"%.100s\" has %" PRId64 " bytes from %" PRId64 " to %" PRId64 ", but needs %" PRId64 " from %u to %u",
			name, (int64_t)bytes, (int64_t)first, (int64_t)last, check->bytes[s], check->first[s], check->last[s]);
	if (offset < 0)
		return wrong(check, "buffer \"%.100s\" has a negative offset", name);
	check->offset[s] = offset;
	return OK;
}

/* fixed offsets of the pins, for searches. */
static enum status pin_buffers(struct check *check, struct buffers *buffers, const uint32_t *storage)
{
	buffers->fixed = arena_alloc(&check->arena, buffers->n, sizeof *buffers->fixed);
	if (!buffers->fixed)
		return fail(check->error, NO_MEMORY, "out of memory");
	for (uint32_t i = 0; i < buffers->n; i++) {
		buffers->fixed[i] = -1;
		for (uint32_t p = 0; p < check->scenario.pins; p++) {
			const struct pin *pin = &check->scenario.pin[p];
			uint32_t tensor = pin->kind == PIN_OFFSET ? graph_find_tensor(check->graph, pin->a) : NONE;
			if (tensor != NONE && check->graph->tensor[tensor].storage == storage[i])
				buffers->fixed[i] = pin->number;
		}
	}
	return OK;
}

static enum status check_pinned_offsets(struct check *check)
{
	for (uint32_t p = 0; p < check->scenario.pins; p++) {
		const struct pin *pin = &check->scenario.pin[p];
		if (pin->kind != PIN_OFFSET)
			continue;
		uint32_t tensor = graph_find_tensor(check->graph, pin->a);
		if (tensor == NONE)    /* on another pipeline rank */
			continue;
		uint32_t s = check->graph->tensor[tensor].storage;
		if (check->offset[s] != pin->number)
			return wrong(check, "tensor \"%.100s\" is pinned at %" PRId64 " but lies at %" PRId64, pin->a, pin->number, check->offset[s]);
	}
	return OK;
}

/* Tensors that are pinned behind others; those on other pipeline ranks are left out. */
static enum status check_neighbours(struct check *check)
{
	for (uint32_t p = 0; p < check->scenario.pins; p++) {
		const struct pin *pin = &check->scenario.pin[p];
		uint32_t a = pin->kind == PIN_BEHIND ? graph_find_tensor(check->graph, pin->a) : NONE;
		uint32_t b = a != NONE ? graph_find_tensor(check->graph, pin->b) : NONE;
		if (b == NONE)
			continue;
		uint32_t after = check->graph->tensor[a].storage, before = check->graph->tensor[b].storage;
		if (check->offset[after] != check->offset[before] + check->bytes[before])
			return wrong(check, "tensor \"%.100s\" is pinned behind \"%.100s\", but starts at %" PRId64 ", not at %" PRId64, pin->a, pin->b,
				check->offset[after], check->offset[before] + check->bytes[before]);
	}
	return OK;
}

/* Bytes alive at a position. */
static int64_t load_at(const struct check *check, int64_t position)
{
	int64_t load = 0;
	for (uint32_t s = 0; s < check->graph->storages; s++)
		if (check->first[s] != NONE && check->first[s] <= position && position <= check->last[s])
			load += check->bytes[s];
	return load;
}

static enum status check_load(struct check *check, int64_t bound)
{
	const json_t *moment = json_object_get(member(check, "layout", "certificate"), "moment");
	if (!json_is_integer(moment))
		return fail(check->error, BAD_INPUT, "not a plan file: layout.certificate has no moment");
	int64_t load = load_at(check, json_integer_value(moment));
	if (load < bound)
		return wrong(check, "the layout's bound is %" PRId64 ", but at its moment only %" PRId64 " bytes are alive", bound, load);
	passed(check, "the layout's bound, by load at its moment");
	return OK;
}

/* The buffers that are wanted (NULL: all that are there), for the solver's own checker and searches. storage[i]: of buffer i. */
static enum status make_buffers(struct check *check, const bool *wanted, struct buffers *buffers, uint32_t **storage, int64_t **offset)
{
	uint32_t storages = check->graph->storages;
	buffers->lower = arena_alloc(&check->arena, storages, sizeof(int64_t));
	buffers->upper = arena_alloc(&check->arena, storages, sizeof(int64_t));
	buffers->size = arena_alloc(&check->arena, storages, sizeof(int64_t));
	*storage = arena_alloc(&check->arena, storages, sizeof(uint32_t));
	*offset = arena_alloc(&check->arena, storages, sizeof(int64_t));
	if (!buffers->lower || !buffers->upper || !buffers->size || !*storage || !*offset)
		return fail(check->error, NO_MEMORY, "out of memory");
	for (uint32_t s = 0; s < storages; s++) {
		if (check->first[s] == NONE || (wanted && !wanted[s]))
			continue;
		uint32_t i = buffers->n++;
		buffers->lower[i] = check->first[s];
		buffers->upper[i] = (int64_t)check->last[s] + 1;
		buffers->size[i] = check->bytes[s];
		(*storage)[i] = s;
		(*offset)[i] = check->offset[s];
	}
	return OK;
}

/* Names the two buffers that overlap: quadratic, and only for layouts that are known to be wrong. */
static enum status name_overlap(struct check *check)
{
	const struct graph *graph = check->graph;
	for (uint32_t a = 0; a < graph->storages; a++)
		for (uint32_t b = 0; check->first[a] != NONE && b < a; b++)
			if (check->first[b] != NONE && check->first[a] <= check->last[b] && check->first[b] <= check->last[a] &&
			    check->offset[a] < check->offset[b] + check->bytes[b] && check->offset[b] < check->offset[a] + check->bytes[a])
				return wrong(check, "buffers \"%.100s\" and \"%.100s\" are alive together and overlap",
					graph->tensor[graph->storage[a].root].name, graph->tensor[graph->storage[b].root].name);
	return wrong(check, "the layout is wrong");
}

static enum status check_overlap(struct check *check, int64_t arena)
{
	struct buffers buffers = { 0 };
	uint32_t *storage;
	struct layout layout = { .arena = arena };
	enum status status = make_buffers(check, NULL, &buffers, &storage, &layout.offset);
	if (status != OK)
		return status;
	layout.load = layout.bound = load_at(check, 0);
	struct error why = { 0 };
	int64_t alignment = check->scenario.value[K_layout] == LAYOUT_CACHING || check->scenario.value[K_layout] == LAYOUT_EXPANDABLE
		? 1 : check->scenario.value[K_alignment];
	status = layout_check(&buffers, alignment, &layout, &why);
	if (status == NO_MEMORY)
		return fail(check->error, NO_MEMORY, "out of memory");
	return status == OK ? OK : name_overlap(check);
}

#define CORE_NODES 2000000 /* about a second */

/* Whether a plain search, none of the solver's, finds that nothing smaller than the bound holds the buffers. */
static enum status refute_core(struct check *check, const struct buffers *buffers, int64_t bound)
{
	uint32_t *core = arena_alloc(&check->arena, buffers->n, sizeof *core);
	for (uint32_t i = 0; core && i < buffers->n; i++)
		core[i] = i;
	return core ? layout_check_core(buffers, core, buffers->n, check->scenario.value[K_alignment], bound - 1, CORE_NODES) : NO_MEMORY;
}

/* Nothing smaller than the bound holds the core: by the plain search, or where that takes too long by the solver's. */
static enum status search_layout_again(struct check *check, int64_t bound)
{
	const json_t *core = json_object_get(member(check, "layout", "certificate"), "core"), *name;
	bool *wanted = arena_alloc(&check->arena, check->graph->storages, sizeof *wanted);
	struct buffers buffers = { 0 };
	uint32_t *storage;
	int64_t *offset;
	size_t i;
	if (!wanted)
		return fail(check->error, NO_MEMORY, "out of memory");
	json_array_foreach(core, i, name) {
		uint32_t tensor = json_is_string(name) ? graph_find_tensor(check->graph, json_string_value(name)) : NONE;
		if (tensor == NONE)
			return wrong(check, "the core of the layout's bound names no tensor of the graph");
		wanted[check->graph->tensor[tensor].storage] = true;
	}
	enum status status = make_buffers(check, json_array_size(core) ? wanted : NULL, &buffers, &storage, &offset);
	if (status == OK)
		status = pin_buffers(check, &buffers, storage);
	if (status != OK)
		return status;
	status = refute_core(check, &buffers, bound);
	if (status == INFEASIBLE) {
		passed(check, "the layout's bound, by a plain search on its core");
		return OK;
	}
	if (status == NO_MEMORY)
		return fail(check->error, NO_MEMORY, "out of memory");
	struct control control = { 0 };
	struct linked_layout linked = { 0 };
	struct layout_links links = { 0 };
	struct layout_options options = { .strategy = LAYOUT_BEST, .alignment = check->scenario.value[K_alignment], .capacity = bound - 1,
		.effort = LAYOUT_EFFORT_DEFAULT * 16 };
	struct error why;
	uint32_t *buffer = arena_alloc(&check->arena, check->graph->storages, sizeof *buffer);
	if (!buffer)
		return fail(check->error, NO_MEMORY, "out of memory");
	for (uint32_t s = 0; s < check->graph->storages; s++)
		buffer[s] = NONE;
	for (uint32_t b = 0; b < buffers.n; b++)
		buffer[storage[b]] = b;
	status = group_pins(check->graph, &check->scenario, buffer, buffers.n, &check->arena, &links.behind, check->error);
	if (status != OK)
		return status;
	status = layout_solve_linked(&buffers, &links, &options, &control, &linked, &why);
	linked_layout_free(&linked);
	if (status != INFEASIBLE)
		return wrong(check, "the layout's bound %" PRId64 " could not be confirmed by searching again", bound);
	passed(check, "the layout's bound, searched again");
	return OK;
}

/* What is alive at one moment, among its pins. */
static enum status check_layout_moment(struct check *check, int64_t bound)
{
	struct buffers buffers = { 0 };
	uint32_t *storage;
	int64_t *offset, moment = json_integer_value(json_object_get(member(check, "layout", "certificate"), "moment"));
	enum status status = make_buffers(check, NULL, &buffers, &storage, &offset);
	if (status == OK)
		status = pin_buffers(check, &buffers, storage);
	if (status != OK)
		return status;
	int64_t needed = layout_check_moment(&buffers, check->scenario.value[K_alignment], moment);
	if (needed < bound)
		return needed < 0 ? fail(check->error, NO_MEMORY, "out of memory")
			: wrong(check, "what is alive at step %" PRId64 " needs %" PRId64 " bytes, not the layout's bound %" PRId64, moment, needed, bound);
	passed(check, "the layout's bound, by what is alive at one moment");
	return OK;
}

static enum status check_layout_bound(struct check *check, int64_t arena)
{
	int64_t bound;
	enum status status = integer(check, "layout", "bound_bytes", &bound);
	if (status != OK)
		return status;
	if (bound > arena || json_is_true(member(check, "layout", "proved")) != (bound == arena))
		return wrong(check, "layout.proved or layout.bound_bytes contradicts the arena");
	const char *by = json_string_value(json_object_get(member(check, "layout", "certificate"), "by"));
	if (by && strcmp(by, layout_proof_names[LAYOUT_PROOF_LOAD]) == 0)
		return check_load(check, bound);
	if (by && strcmp(by, layout_proof_names[LAYOUT_PROOF_MOMENT]) == 0)
		return check_layout_moment(check, bound);
	return search_layout_again(check, bound);
}

static enum status check_layout_part(struct check *check)
{
	const json_t *list = member(check, "layout", "buffers"), *buffer;
	size_t i;
	int64_t arena = 0;
	enum status status = OK;
	if (!json_is_array(list))
		return fail(check->error, BAD_INPUT, "not a plan file: it has no layout.buffers");
	json_array_foreach(list, i, buffer)
		if ((status = read_buffer(check, buffer)) != OK)
			return status;
	for (uint32_t s = 0; s < check->graph->storages; s++) {
		if (check->first[s] == NONE)
			continue;
		if (check->offset[s] < 0)
			return wrong(check, "there is no buffer for \"%.100s\"", check->graph->tensor[check->graph->storage[s].root].name);
		if (check->offset[s] + check->bytes[s] > arena)
			arena = check->offset[s] + check->bytes[s];
	}
	/* The caching allocator reserves whole segments: its arena may reach above the highest buffer. */
	if (check->scenario.value[K_layout] == LAYOUT_CACHING || check->scenario.value[K_layout] == LAYOUT_EXPANDABLE) {
		int64_t reserved;
		status = integer(check, "layout", "arena_bytes", &reserved);
		if (status == OK && reserved < arena)
			return wrong(check, "the allocator's %" PRId64 " bytes do not hold its buffers", reserved);
		arena = reserved;
	}
	if (status == OK)
		status = expect(check, "layout", "arena_bytes", arena);
	if (status == OK)
		status = check_pinned_offsets(check);
	if (status == OK)
		status = check_neighbours(check);
	if (status == OK)
		status = check_overlap(check, arena);
	if (status == OK) {
		passed(check, "no two buffers that are alive together overlap; arena and pins are right");
		status = check_layout_bound(check, arena);
	}
	return status;
}

/* ---- host memory ------------------------------------------------------------------------------------ */

struct waiting { int64_t offset, bytes; uint32_t first, last; };

/* What the op sends to the host, and until when it is fetched. */
static struct waiting sent_by(const struct check *check, uint32_t op)
{
	const struct graph *graph = check->graph;
	uint32_t tensor = graph->reads.item[graph->reads.start[op]], copy = graph->writes.item[graph->writes.start[op]];
	struct waiting waiting = { 0, check->bytes[graph->tensor[tensor].storage], check->position[op], check->position[op] };
	for (uint32_t reader = 0; reader < graph->ops; reader++)
		FOR_ROW(i, &graph->reads, reader)
			if (graph->reads.item[i] == copy && check->position[reader] > waiting.last)
				waiting.last = check->position[reader];
	return waiting;
}

static enum status check_waiting(struct check *check, const struct waiting *waiting, uint32_t count)
{
	int64_t arena = 0, stated = json_integer_value(member(check, "host", "arena_bytes"));
	for (uint32_t a = 0; a < count; a++) {
		int64_t top = waiting[a].offset + waiting[a].bytes;
		arena = top > arena ? top : arena;
		for (uint32_t b = 0; b < a; b++)
			if (waiting[a].first <= waiting[b].last && waiting[b].first <= waiting[a].last && waiting[a].offset < waiting[b].offset
			    + waiting[b].bytes && waiting[b].offset < top)
				return wrong(check, "host buffers %u and %u wait together and overlap", b, a);
	}
	if (arena != stated)
		return wrong(check, "host.arena_bytes is %" PRId64 ", but it must be %" PRId64, stated, arena);
	passed(check, "what waits in the host, and no two of it overlap");
	return OK;
}

/* Every offload has its buffer in the host, in order of the ops. */
static enum status check_host(struct check *check)
{
	const struct graph *graph = check->graph;
	const json_t *buffers = json_object_get(json_object_get(check->plan, "host"), "buffers");
	struct waiting *waiting = arena_alloc(&check->arena, graph->ops, sizeof *waiting);
	uint32_t count = 0;
	if (!waiting)
		return fail(check->error, NO_MEMORY, "out of memory");
	for (uint32_t op = 0; op < graph->ops; op++) {
		if (strcmp(graph->op[op].type, "tidemark.offload") || csr_length(&graph->reads, op) != 1 || csr_length(&graph->writes, op) != 1)
			continue;
		struct waiting needed = sent_by(check, op);
		json_int_t offset, bytes, first, last;
		if (json_unpack(json_array_get(buffers, count), "{s:I,s:I,s:I,s:I}", "offset", &offset, "bytes", &bytes, "first", &first, "last",
		    &last) != 0 || offset < 0)
			return wrong(check, "host memory lacks a buffer for op \"%.100s\"", graph->op[op].name);
		if (bytes != needed.bytes || first != needed.first || last != needed.last)
			return wrong(check, "the host buffer of op \"%.100s\" has other bytes or another life than it needs", graph->op[op].name);
		needed.offset = offset;
		waiting[count++] = needed;
	}
	if (json_array_size(buffers) != count)
		return wrong(check, "host memory has %zu buffers, but %u are offloaded", json_array_size(buffers), count);
	return count ? check_waiting(check, waiting, count) : OK;
}

/* ---- the order's bound --------------------------------------------------------------------------------- */

static uint32_t op_named(const struct check *check, const json_t *name)
{
	return json_is_string(name) ? graph_find_op(check->graph, json_string_value(name)) : NONE;
}

static enum status read_flow(struct check *check, const struct problem *problem, struct order_certificate *certificate, const json_t *flow)
{
	const struct graph *graph = check->graph;
	uint32_t *item = arena_alloc(&check->arena, graph->storages, sizeof *item);
	certificate->arc = arena_alloc(&check->arena, json_array_size(flow), sizeof *certificate->arc);
	if (!item || !certificate->arc)
		return fail(check->error, NO_MEMORY, "out of memory");
	for (uint32_t s = 0; s < graph->storages; s++)
		item[s] = NONE;
	for (uint32_t i = 0; i < problem->items; i++)
		item[problem->storage[i]] = i;
	const json_t *arc;
	size_t i;
	json_array_foreach(flow, i, arc) {
		const json_t *name = json_array_get(arc, 0), *bytes = json_array_get(arc, 3);
		uint32_t tensor = json_is_string(name) ? graph_find_tensor(graph, json_string_value(name)) : NONE;
		if (json_array_size(arc) != 4 || !json_is_integer(bytes) || (json_is_string(name) && tensor == NONE))
			return fail(check->error, BAD_INPUT, "not a plan file: arc %zu of the order's certificate is malformed", i);
		certificate->arc[certificate->arcs++] = (struct order_arc){
			.item = tensor == NONE ? NONE : item[graph->tensor[tensor].storage],
			.from = op_named(check, json_array_get(arc, 1)),
			.to = op_named(check, json_array_get(arc, 2)),
			.flow = json_integer_value(bytes),
		};
	}
	return OK;
}

static enum status search_order_again(struct check *check, const struct problem *problem, int64_t bound)
{
	struct order_result result = { 0 };
	struct control control = { 0 };
	struct order_options options = { .strategy = ORDER_BEST, .ticks = ORDER_EFFORT_DEFAULT * 16 };
	order_solve(problem, &options, &control, &result);
	bool confirmed = result.order && result.bound >= bound;
	order_result_free(&result);
	if (!confirmed)
		return wrong(check, "the order's bound %" PRId64 " could not be confirmed by searching again", bound);
	passed(check, "the order's bound, searched again");
	return OK;
}

static enum status verify_certificate(struct check *check, const struct problem *problem, int64_t bound)
{
	const json_t *json = member(check, "order", "certificate");
	const char *by = json_string_value(json_object_get(json, "by"));
	int proof = by ? name_index(order_proof_names, ORDER_PROOF_COUNT, by) : -1;
	struct order_certificate certificate = { .proof = (enum order_proof)proof, .op = op_named(check, json_object_get(json, "op")) };
	if (proof < 0)
		return fail(check->error, BAD_INPUT, "not a plan file: order.certificate.by is unknown");
	if (proof == ORDER_PROOF_SEARCH)
		return search_order_again(check, problem, bound);
	enum status status = OK;
	if (proof == ORDER_PROOF_CUT)
		status = read_flow(check, problem, &certificate, json_object_get(json, "flow"));
	struct error why = { 0 };
	if (status == OK && order_check_certificate(problem, &certificate, bound, &why) != OK)
		return wrong(check, "the order's bound does not hold: %s", why.text);
	if (status == OK)
		passed(check, "the order's bound, from its certificate");
	return status;
}

static enum status check_order_bound(struct check *check)
{
	int64_t bound;
	enum status status = integer(check, "order", "bound_bytes", &bound);
	if (status != OK)
		return status;
	if (bound > check->peak || json_is_true(member(check, "order", "proved")) != (bound == check->peak))
		return wrong(check, "order.proved or order.bound_bytes contradicts the peak");
	struct problem problem;
	status = scenario_problem(check->graph, &check->scenario, &problem, check->error);
	if (status != OK)
		return status;
	status = verify_certificate(check, &problem, bound);
	problem_free(&problem);
	return status;
}

/* ---- all of it -------------------------------------------------------------------------------------------- */

static enum status check_counts(struct check *check)
{
	int64_t ops;
	enum status status = integer(check, "graph", "ops", &ops);
	if (status != OK)
		return status;
	const json_t *version = json_object_get(check->plan, "tidemark");
	if (!json_is_integer(version) || json_integer_value(version) != 1)
		return fail(check->error, BAD_INPUT, "not a plan file of version 1");
	return OK;
}

enum status plan_check(const struct graph *graph, const char *path, const char *rules_file, FILE *report, struct error *error)
{
	static enum status (*const steps[])(struct check *) = {
		check_counts, read_scenario, prepare_graph, check_order, check_time, check_memory, check_layout_part, check_host, check_order_bound,
	};
	struct input *input = input_open(path, error);
	if (!input)
		return BAD_INPUT;
	size_t size;
	char *text = input_all(input, PLAN_BYTES_MAX, &size, error);
	input_close(input);
	if (!text)
		return BAD_INPUT;
	json_error_t problem;
	json_t *plan = json_loadb(text, size, JSON_REJECT_DUPLICATES, &problem);
	mem_free(text);
	if (!plan) {
		error->line = problem.line > 0 ? (unsigned)problem.line : 0;
		return fail(error, BAD_INPUT, "not a plan file: %s", problem.text);
	}
	struct check check = { .input = graph, .plan = plan, .rules_file = rules_file, .report = report, .error = error };
	scenario_init(&check.scenario);
	enum status status = OK;
	for (size_t i = 0; i < sizeof steps / sizeof *steps && status == OK; i++)
		status = steps[i](&check);
	json_decref(plan);
	graph_release(check.graph);
	sharded_release(check.sharded);
	pipelined_release(check.pipelined);
	rules_free(check.rules);
	scenario_done(&check.scenario);
	arena_free(&check.arena);
	return status;
}
