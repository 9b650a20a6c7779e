/* layout.c: buffers of a plan file overlap nowhere, pins hold, the arena's bound is one; what waits in host memory. */
#include <inttypes.h>

#include "state.h"
#include "src/base/words.h"

/* ---- layout ---- */

static enum status read_buffer(struct check *check, const json_t *buffer)
{
	const struct graph *graph = check->graph;
	const char *name, *kind;
	json_int_t offset, bytes, first, last;
	if (json_unpack((json_t *)(uintptr_t)buffer, "{s:s,s:I,s:I,s:I,s:I,s:s}", "tensor", &name, "offset", &offset,
			"bytes", &bytes, "first", &first, "last", &last, "kind", &kind) != 0)
		return refuse(check->error, "not a plan file: a buffer lacks tensor, offset, bytes, first, last or kind");
	uint32_t tensor = graph_find_tensor(graph, name);
	if (tensor == NONE)
		return check_wrong(check, "there is a buffer for \"%.100s\", which is not a tensor of the graph", name);
	uint32_t s = graph->tensor[tensor].storage;
	if (graph->storage[s].root != tensor)
		return check_wrong(check, "the buffer \"%.100s\" is named by a view: its root is \"%.100s\"", name,
			graph->tensor[graph->storage[s].root].name);
	if (check->offset[s] >= 0)
		return check_wrong(check, "there are two buffers for \"%.100s\"", name);
	if (check->first[s] == NONE)
		return check_wrong(check, "there is a buffer for \"%.100s\", which occupies no memory", name);
	if (bytes != check->bytes[s] || first != check->first[s] || last != check->last[s])
		return check_wrong(check,
			"buffer \"%.100s\" has %" PRId64 " bytes from %" PRId64 " to %" PRId64 ", but needs %" PRId64
			" from %u to %u",
			name, (int64_t)bytes, (int64_t)first, (int64_t)last, check->bytes[s], check->first[s], check->last[s]);
	if (!text_is(kind, kind_names[graph->storage[s].kind]))
		return check_wrong(
			check, "buffer \"%.100s\" is of another kind: %s", name, kind_names[graph->storage[s].kind]);
	if (offset < 0 || offset > BYTES_MAX)
		return check_wrong(check, "buffer \"%.100s\" has an offset that no arena has", name);
	check->offset[s] = offset;
	return OK;
}

/* The workspace of an op lies somewhere while that runs. */
static enum status check_layout_read_workspace(struct check *check, const json_t *workspace)
{
	const char *name;
	json_int_t offset, bytes;
	if (json_unpack((json_t *)(uintptr_t)workspace, "{s:s,s:I,s:I}", "op", &name, "offset", &offset, "bytes",
		&bytes) != 0)
		return refuse(check->error, "not a plan file: a workspace lacks op, offset or bytes");
	uint32_t op = graph_find_op(check->graph, name);
	uint32_t item = op == NONE ? NONE : check->graph->storages + op;
	if (op == NONE || check->first[item] == NONE)
		return check_wrong(check, "there is a workspace for \"%.100s\", which %s", name, op == NONE
			? "is not an op of the graph" : "needs none");
	if (check->offset[item] >= 0)
		return check_wrong(check, "there are two workspaces for \"%.100s\"", name);
	if (bytes != check->bytes[item])
		return check_wrong(check, "the workspace of \"%.100s\" has %" PRId64 " bytes, but needs %" PRId64, name,
			(int64_t)bytes, check->bytes[item]);
	if (offset < 0 || offset > BYTES_MAX)
		return check_wrong(check, "the workspace of \"%.100s\" has an offset that no arena has", name);
	check->offset[item] = offset;
	return OK;
}

static const char *check_layout_name_of(const struct check *check, uint32_t item)
{
	const struct graph *graph = check->graph;
	return item < graph->storages ? graph->tensor[graph->storage[item].root].name
		: graph->op[item - graph->storages].name;
}

/* fixed offsets of the pins, for searches. */
static enum status pin_buffers(struct check *check, struct buffers *buffers, const uint32_t *storage)
{
	NEEDED(check->error, ROOM(&check->arena, buffers->fixed, buffers->n));
	FOR(i, buffers->n) {
		buffers->fixed[i] = -1;
		FOR(p, check->scenario.pins) {
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
	FOR(p, check->scenario.pins) {
		const struct pin *pin = &check->scenario.pin[p];
		if (pin->kind != PIN_OFFSET)
			continue;
		uint32_t tensor = graph_find_tensor(check->graph, pin->a);
		if (tensor == NONE) /* on another pipeline rank */
			continue;
		uint32_t s = check->graph->tensor[tensor].storage;
		if (check->offset[s] != pin->number)
			return check_wrong(check, "tensor \"%.100s\" is pinned at %" PRId64 " but is at %" PRId64, pin->a,
				pin->number, check->offset[s]);
	}
	return OK;
}

/* Tensors that are pinned behind others; those on other pipeline ranks are left out. */
static enum status check_neighbours(struct check *check)
{
	FOR(p, check->scenario.pins) {
		const struct pin *pin = &check->scenario.pin[p];
		uint32_t a = pin->kind == PIN_BEHIND ? graph_find_tensor(check->graph, pin->a) : NONE;
		uint32_t b = a != NONE ? graph_find_tensor(check->graph, pin->b) : NONE;
		if (b == NONE)
			continue;
		uint32_t after = check->graph->tensor[a].storage, before = check->graph->tensor[b].storage;
		if (check->offset[after] != check->offset[before] + check->bytes[before])
			return check_wrong(check,
				"tensor \"%.100s\" is pinned behind \"%.100s\", but starts at %" PRId64 ", not at %" PRId64, pin->a,
				pin->b, check->offset[after], check->offset[before] + check->bytes[before]);
	}
	return OK;
}

/* Bytes alive at a position. */
static int64_t load_at(const struct check *check, int64_t position)
{
	int64_t load = 0;
	FOR(i, check->items)
		if (check->first[i] != NONE && check->first[i] <= position && position <= check->last[i])
			load += check->bytes[i];
	return load;
}

static enum status check_load(struct check *check, int64_t bound)
{
	const json_t *moment = json_object_get(check_member(check, "layout", "certificate"), "moment");
	if (!json_is_integer(moment))
		return refuse(check->error, "not a plan file: layout.certificate has no moment");
	int64_t load = load_at(check, json_integer_value(moment));
	if (load < bound)
		return check_wrong(check,
			"the layout's bound is %" PRId64 ", but at its moment only %" PRId64 " bytes are alive", bound, load);
	check_passed(check, "the layout's bound, by load at its moment");
	return OK;
}

/* The buffers that are wanted (NULL: all that are there), for the solver's own checker and searches. item[i]: of buffer
 * i. */
static enum status make_buffers(struct check *check, const bool *wanted, struct buffers *buffers, uint32_t **item,
	int64_t **offset)
{
	uint32_t items = check->items;
	buffers->lower = arena_alloc(&check->arena, items, sizeof(int64_t));
	buffers->upper = arena_alloc(&check->arena, items, sizeof(int64_t));
	buffers->size = arena_alloc(&check->arena, items, sizeof(int64_t));
	*item = arena_alloc(&check->arena, items, sizeof(uint32_t));
	*offset = arena_alloc(&check->arena, items, sizeof(int64_t));
	if (!(buffers->lower && buffers->upper && buffers->size && *item && *offset))
		return fail_memory(check->error);
	FOR(s, items) {
		if (check->first[s] == NONE || (wanted && !wanted[s]))
			continue;
		uint32_t i = buffers->n++;
		buffers->lower[i] = check->first[s];
		buffers->upper[i] = (int64_t)check->last[s] + 1;
		buffers->size[i] = check->bytes[s];
		(*item)[i] = s;
		(*offset)[i] = check->offset[s];
	}
	return OK;
}

/* Names the two buffers that overlap: quadratic, and only for layouts that are known to be wrong. */
static enum status name_overlap(struct check *check)
{
	FOR(a, check->items)
		for (uint32_t b = 0; check->first[a] != NONE && b < a; b++)
			if (check->first[b] != NONE && check->first[a] <= check->last[b] && check->first[b] <= check->last[a] &&
			    check->offset[a] < check->offset[b] + check->bytes[b] && check->offset[b] < check->offset[a] + check->bytes[a])
				return check_wrong(check, "%s \"%.100s\" and \"%.100s\" are live together and overlap",
					a < check->graph->storages ? "buffers" : "the workspace of", check_layout_name_of(check, a),
					check_layout_name_of(check, b));
	return check_wrong(check, "the layout is wrong");
}

static enum status check_overlap(struct check *check, int64_t arena)
{
	struct buffers buffers = { 0 };
	uint32_t *item;
	struct layout layout = { .arena = arena };
	TRY(make_buffers(check, NULL, &buffers, &item, &layout.offset));
	layout.load = layout.proof.bound = load_at(check, 0);
	layout.proof.value = arena;
	struct error why = { 0 };
	enum status status = layout_check(&buffers, scenario_memory_rules(&check->scenario).alignment, &layout, &why);
	if (status == NO_MEMORY)
		return fail_memory(check->error);
	return status == OK ? OK : name_overlap(check);
}

#define CORE_NODES 2000000 /* about a second */

/* Whether a plain search, none of the solver's, finds that nothing smaller than the bound holds the buffers. */
static enum status refute_core(struct check *check, const struct buffers *buffers, int64_t bound)
{
	uint32_t *core = arena_alloc(&check->arena, buffers->n, sizeof *core);
	for (uint32_t i = 0; core && i < buffers->n; i++)
		core[i] = i;
	return core
		? layout_check_core(buffers, core, buffers->n,
			  scenario_memory_rules(&check->scenario).alignment, bound - 1, CORE_NODES)
		: NO_MEMORY;
}

/* Nothing smaller than the bound holds the core: by the plain search, or where that takes too long by the solver's. */
static enum status search_layout_again(struct check *check, int64_t bound)
{
	const json_t *core = json_object_get(check_member(check, "layout", "certificate"), "core"), *name;
	bool *wanted = arena_alloc(&check->arena, check->items, sizeof *wanted);
	struct buffers buffers = { 0 };
	uint32_t *item;
	int64_t *offset;
	size_t i;
	NEEDED(check->error, wanted);
	json_array_foreach(core, i, name) {
		const char *op_name = json_text_in(name, "op");
		uint32_t tensor = json_is_string(name) ? graph_find_tensor(check->graph, json_string_value(name)) : NONE,
			op = op_name ? graph_find_op(check->graph, op_name) : NONE;
		if (tensor == NONE && op == NONE)
			return check_wrong(check, "the core of the layout's bound names no tensor or op of the graph");
		wanted[op != NONE ? check->graph->storages + op : check->graph->tensor[tensor].storage] = true;
	}
	TRY(make_buffers(check, json_array_size(core) ? wanted : NULL, &buffers, &item, &offset));
	TRY(pin_buffers(check, &buffers, item));
	enum status status = refute_core(check, &buffers, bound);
	if (status == INFEASIBLE) {
		check_passed(check, "the layout's bound, by a plain search on its core");
		return OK;
	}
	if (status == NO_MEMORY)
		return fail_memory(check->error);
	struct control control = { 0 };
	OWN(layout) again = { 0 };
	struct layout_options options = { .strategy = LAYOUT_BEST,
		.alignment = scenario_memory_rules(&check->scenario).alignment,
		.capacity = bound - 1,
		.effort = LAYOUT_EFFORT_DEFAULT * 16 };
	struct error why;
	if (layout_solve(&buffers, &options, &control, &again, &why) != INFEASIBLE)
		return check_wrong(check, "the layout's bound %" PRId64 " could not be confirmed by searching again", bound);
	check_passed(check, "the layout's bound, searched again");
	return OK;
}

/* What is alive at one moment, among its pins. */
static enum status check_layout_moment(struct check *check, int64_t bound)
{
	struct buffers buffers = { 0 };
	uint32_t *item;
	int64_t *offset, moment = json_integer_in(check_member(check, "layout", "certificate"), "moment");
	TRY(make_buffers(check, NULL, &buffers, &item, &offset));
	TRY(pin_buffers(check, &buffers, item));
	int64_t needed = layout_check_moment(&buffers, scenario_memory_rules(&check->scenario).alignment, moment);
	if (needed < bound)
		return needed < 0
			? fail_memory(check->error)
			: check_wrong(check,
				  "what is alive at step %" PRId64 " needs %" PRId64 " bytes, not the layout's bound %" PRId64, moment,
				  needed, bound);
	check_passed(check, "the layout's bound, by what is alive at one moment");
	return OK;
}

static enum status check_layout_bound(struct check *check, int64_t arena)
{
	int64_t bound;
	TRY(check_integer(check, "layout", "bound_bytes", &bound));
	if (bound < 0 || bound > arena || !json_is_boolean(check_member(check, "layout", "proved"))
	    || json_is_true(check_member(check, "layout", "proved")) != (bound == arena))
		return check_wrong(check, "layout.proved or layout.bound_bytes contradicts the arena");
	const char *by = json_text_in(check_member(check, "layout", "certificate"), "by");
	if (text_is(by, layout_proof_names[LAYOUT_PROOF_LOAD]))
		return check_load(check, bound);
	if (text_is(by, layout_proof_names[LAYOUT_PROOF_MOMENT]))
		return check_layout_moment(check, bound);
	if (by && bound == 0 && text_is(by, layout_proof_names[LAYOUT_PROOF_CONTRADICTED]))
		return OK;
	if (!by || name_index(layout_proof_names, LAYOUT_PROOF_COUNT, by) < 0)
		return refuse(check->error, "not a plan file: layout.certificate.by is unknown");
	return search_layout_again(check, bound);
}

enum status check_layout(struct check *check)
{
	const json_t *list = check_member(check, "layout", "buffers"), *workspaces = check_member(check, "layout",
		"workspaces"), *buffer;
	size_t i;
	int64_t arena = 0;
	if (!json_is_array(list) || (workspaces && !json_is_array(workspaces)))
		return refuse(check->error, "not a plan file: layout.buffers or layout.workspaces is not a list");
	json_array_foreach(list, i, buffer)
		TRY(read_buffer(check, buffer));
	json_array_foreach(workspaces, i, buffer)
		TRY(check_layout_read_workspace(check, buffer));
	FOR(s, check->items) {
		if (check->first[s] == NONE)
			continue;
		if (check->offset[s] < 0)
			return check_wrong(check, "there is no %s for \"%.100s\"", s < check->graph->storages ? "buffer"
				: "workspace", check_layout_name_of(check, s));
		if (check->offset[s] + check->bytes[s] > arena)
			arena = check->offset[s] + check->bytes[s];
	}
	TRY(check_expect(check, "layout", "arena_bytes", arena));
	TRY(check_pinned_offsets(check));
	TRY(check_neighbours(check));
	TRY(check_overlap(check, arena));
	check_passed(check, "no two buffers that are alive together overlap; arena and pins are right");
	return check_layout_bound(check, arena);
}

/* ---- host memory ---- */

struct waiting { int64_t offset, bytes; uint32_t first, last, tensor, others; };

/* What the op sends to the host, and until when it is fetched. */
static struct waiting check_layout_sent_by(const struct check *check, uint32_t op)
{
	const struct graph *graph = check->graph;
	uint32_t tensor = graph_operand(graph, op, 0), copy = graph_result(graph, op, 0);
	struct waiting waiting = { 0, check->bytes[graph->tensor[tensor].storage], check->position[op], check->position[op],
		tensor, 0 };
	if (graph->tensor[copy].kind == KIND_OUTPUT) {   /* there in the step before, and in the next */
		waiting.first = 0;
		waiting.last = graph->ops - 1;
	}
	FOR(reader, graph->ops)
		FOR_ITEMS(read, &graph->reads, reader)
			if (read == copy && check->position[reader] > waiting.last)
				waiting.last = check->position[reader];
	return waiting;
}

static enum status check_layout_check_waiting(struct check *check, const struct waiting *waiting, uint32_t count)
{
	int64_t arena = 0, load = 0, stated = json_integer_value(check_member(check, "host", "arena_bytes"));
	FOR(a, count) {
		int64_t top = waiting[a].offset + waiting[a].bytes;
		arena = LARGER(top, arena);
		FOR(b, a)
			if (waiting[a].first <= waiting[b].last && waiting[b].first <= waiting[a].last &&
				waiting[a].offset < waiting[b].offset + waiting[b].bytes && waiting[b].offset < top)
				return check_wrong(check, "host buffers %u and %u wait together and overlap", b, a);
	}
	/* a load is highest where something begins to wait */
	FOR(a, count) {
		int64_t bytes = 0;
		FOR(b, count)
			bytes += waiting[b].first <= waiting[a].first && waiting[a].first <= waiting[b].last ? waiting[b].bytes : 0;
		load = LARGER(bytes, load);
	}
	if (arena != stated)
		return check_wrong(check, "host.arena_bytes is %" PRId64 ", but it must be %" PRId64, stated, arena);
	TRY(check_expect(check, "host", "load_bytes", load));
	check_passed(check, "what waits in the host, and no two of it overlap");
	return OK;
}

/* What the other microbatches in flight have there of it; no bytes: nothing. */
static struct waiting check_layout_others_of(const struct check *check, uint32_t op, int64_t bytes)
{
	uint32_t flush = check->graph->flush, held = check->graph->op[op].in_flight;
	struct waiting waiting = { 0, 0, 0, flush == NONE ? 0 : check->position[flush],
		graph_operand(check->graph, op, 0), held > 0 ? held - 1 : 0 };
	if (flush == NONE || held < 2 || __builtin_mul_overflow(held - 1, bytes, &waiting.bytes) || waiting.bytes > BYTES_MAX)
		waiting.bytes = 0;
	return waiting;
}

/* Compares a file's buffer with what is needed, and takes its offset. */
static enum status check_layout_take_buffer(
	struct check *check, const json_t *buffer, uint32_t op, struct waiting *needed)
{
	const char *name = check->graph->op[op].name;
	json_int_t offset, bytes, first, last;
	if (json_unpack((json_t *)(uintptr_t)buffer, "{s:I,s:I,s:I,s:I}", "offset", &offset, "bytes", &bytes, "first",
			&first, "last", &last) != 0 ||
		offset < 0 || offset > BYTES_MAX * 4)
		return check_wrong(check, "host memory lacks a buffer for op \"%.100s\"", name);
	const char *tensor = json_text_in(buffer, "tensor");
	const json_t *others = json_object_get(buffer, "other_microbatches");
	if (!text_is(tensor, check->graph->tensor[needed->tensor].name) ||
		(needed->others ? !json_is_integer(others) || json_integer_value(others) != needed->others : others != NULL))
		return check_wrong(check,
			"a host buffer of op \"%.100s\" is not called \"%.100s\", or is of other microbatches", name,
			check->graph->tensor[needed->tensor].name);
	if (bytes != needed->bytes || first != needed->first || last != needed->last)
		return check_wrong(check, "the host buffer of op \"%.100s\" has other bytes or another life than it needs", name);
	needed->offset = offset;
	return OK;
}

/* Every offload has its buffer in the host, in order of the ops, and one behind it for other microbatches. */
enum status check_host(struct check *check)
{
	const struct graph *graph = check->graph;
	const json_t *buffers = json_object_get(json_object_get(check->plan, "host"), "buffers");
	struct waiting *waiting = NULL;
	uint32_t count = 0;
	NEEDED(check->error, ROOM(&check->arena, waiting, 2 * (size_t)graph->ops));
	FOR(op, graph->ops) {
		if (graph->op[op].added != ADDED_OFFLOAD || csr_length(&graph->reads, op) != 1 || csr_length(&graph->writes, op) != 1)
			continue;
		struct waiting needed = check_layout_sent_by(check, op), others = check_layout_others_of(check, op, needed.bytes);
		TRY(check_layout_take_buffer(check, json_array_get(buffers, count), op, &needed));
		waiting[count++] = needed;
		if (others.bytes == 0)
			continue;
		TRY(check_layout_take_buffer(check, json_array_get(buffers, count), op, &others));
		waiting[count++] = others;
	}
	if (json_array_size(buffers) != count)
		return check_wrong(check, "host memory has %zu buffers, but %u are needed", json_array_size(buffers), count);
	check->waiting = count;
	return count ? check_layout_check_waiting(check, waiting, count) : OK;
}
