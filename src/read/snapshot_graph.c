/* snapshot_graph.c: a memory snapshot as a graph.
 *
 * Memory only grows where something is allocated. So an op for each allocation is enough: a buffer lives from its own
 * op to the last one before the event that gives it back. The ops' order is the trace's, which control dependencies
 * fix. */
#include <inttypes.h>

#include "snapshot.h"

struct making {
	const struct snapshot *snapshot;
	const struct buffers_csv *csv;
	const struct snapshot_groups *groups;
	const json_t *says;
	bool placed; /* the real addresses are taken */
	int64_t caching[2]; /* of joined buffers: what the allocator reserves, see struct intake */
	struct draft *draft;
	struct error *error;
	int64_t *event; /* of each op */
	uint32_t ops;
};

/* The text at a place of what a stack trace says: function, module, source, phase; "" without. */
static const char *snapshot_graph_says(const json_t *says, size_t place)
{
	const char *text = json_string_value(json_array_get(says, place));
	return text ? text : "";
}

/* Autograd's thread on a GPU has no Python frames: what comes without a trace behind a forward pass and before an
 * update is the backward pass. */
static void guess_backward(struct draft *draft, uint32_t ops)
{
	uint8_t next = PHASE_FORWARD;
	bool before = false;
	FOR(op, ops)
		before |= draft_op_at(draft, op)->has_phase;
	for (uint32_t op = ops; op-- > 1 && before; ) {
		struct op *it = draft_op_at(draft, op);
		if (it->has_phase)
			next = it->phase;
		else if (next == PHASE_UPDATE || next == PHASE_BACKWARD) {
			it->has_phase = true;
			it->phase = PHASE_BACKWARD;
		}
	}
}

/* The largest buffer of a group. */
static uint32_t largest_of(const struct making *making, uint32_t group)
{
	const struct snapshot_groups *groups = making->groups;
	uint32_t largest = groups->alloc[groups->first[group]];
	FOR_FROM(i, groups->first[group] + 1, groups->first[group + 1])
		if (making->csv->buffers.size[groups->alloc[i]] > making->csv->buffers.size[largest])
			largest = groups->alloc[i];
	return largest;
}

/* The op that asks for a group's buffers. */
static uint32_t snapshot_graph_add_op(struct making *making, uint32_t group)
{
	uint32_t buffer = largest_of(making, group);
	int64_t which = making->snapshot->says[buffer];
	const json_t *says = which > 0 ? json_array_get(making->says, (size_t)which - 1) : NULL;
	const char *function = snapshot_graph_says(says, 0), *module = snapshot_graph_says(says, 1);
	int phase = name_index(phase_names, PHASE_COUNT, snapshot_graph_says(says, 3));
	char name[120];
	PRINT_TO(name, "%.80s.%" PRIu32, *function ? function : "alloc", buffer);
	struct op op = { .name = name,
		.type = "alloc",
		.module = module,
		.has_module = *module,
		.flops = -1,
		.src = says ? snapshot_graph_says(says, 2) : NULL,
		.has_phase = phase >= 0,
		.phase = (uint8_t)LARGER(phase, 0),
		.workspace = making->groups->workspace[group],
		.has_workspace = making->groups->workspace[group] > 0 };
	uint32_t id = draft_op(making->draft, &op);
	if (id == NONE || (id > 0 && draft_after(making->draft, id, id - 1) != OK))
		return NONE;
	making->event[making->ops++] = making->csv->buffers.lower[making->groups->alloc[making->groups->first[group]]];
	return id;
}

/* One that stands for what came before: it holds what is given back before anything is allocated. */
static enum status add_start(struct making *making)
{
	struct op op = { .name = "before", .type = "alloc", .module = "", .flops = -1 };
	making->event[making->ops++] = -1;
	return draft_op(making->draft, &op) == NONE ? fail_memory(making->error) : OK;
}

/* The last op before an event, which is `from` or behind it: mostly not far, as lives are short. */
static uint32_t last_before(const struct making *making, uint32_t from, int64_t event)
{
	uint32_t low = from, step = 1;
	while (step < making->ops - low && making->event[low + step] < event) {
		low += step;
		step *= 2;
	}
	uint32_t high = step < making->ops - low ? low + step : making->ops;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		*(making->event[middle] < event ? &low : &high) = middle;
	}
	return low;
}

/* Of a buffer that an op asks for, NONE: that was there before. */
static uint32_t snapshot_graph_last_of(const struct making *making, uint32_t buffer, uint32_t op)
{
	int64_t upper = making->csv->buffers.upper[buffer];
	return upper == making->snapshot->events ? NONE : last_before(making, op == NONE ? 0 : op, upper);
}

/* So many buffers that live from one op to another, NONE: before the first and behind the last. */
static enum status snapshot_graph_add_tensor(
	struct making *making, const uint32_t *buffer, uint32_t count, uint32_t op, uint32_t last)
{
	const struct buffers *buffers = &making->csv->buffers;
	char name[40];
	int64_t bytes = count == 1 ? buffers->size[*buffer] : 0,
			address = count == 1 && making->placed ? buffers->hint[*buffer] : -1;
	FOR_WHILE(i, count, count > 1)
		bytes += align_up(buffers->size[buffer[i]], SNAPSHOT_ALIGNMENT);
	count == 1 ? PRINT_TO(name, "b%" PRIu32, *buffer)
		: PRINT_TO(name, "b%" PRIu32 "+%" PRIu32, *buffer, count - 1);
	struct tensor tensor = { .name = name,
		.bytes = bytes,
		.has_bytes = true,
		.alias = NONE,
		.dtype = DTYPE_OPAQUE,
		.address = address,
		.has_address = address >= 0,
		.kind = last == NONE ? op == NONE ? KIND_BUFFER : KIND_OUTPUT : KIND_TEMPORARY };
	uint32_t id = draft_tensor(making->draft, &tensor);
	if (id == NONE || (op != NONE && draft_write(making->draft, op, id) != OK) ||
		(last != NONE && last != op && draft_read(making->draft, last, id) != OK))
		return fail_memory(making->error);
	return OK;
}

COMPARATOR(snapshot_graph_by_number, uint64_t, COMPARE(*a, *b, 0))

/* Of several buffers that an op asks for, those that go together, but for those alive at the peak. item: each one's
 * last op and number. */
static enum status add_together(struct making *making, uint64_t *item, uint32_t count, uint32_t op)
{
	const struct buffers *buffers = &making->csv->buffers;
	int64_t peak = making->snapshot->peak_event;
	uint32_t *MAKE(together, count), held = 0;
	enum status status = together ? OK : fail_memory(making->error);
	qsort(item, count, sizeof *item, snapshot_graph_by_number);
	FOR_WHILE(i, count, status == OK) {
		uint32_t buffer = (uint32_t)item[i], last = (uint32_t)(item[i] >> 32);
		if (buffers->lower[buffer] <= peak && peak < buffers->upper[buffer])
			status = snapshot_graph_add_tensor(making, &buffer, 1, op, last);
		else
			together[held++] = buffer;
		if (status == OK && held && (i + 1 == count || item[i + 1] >> 32 != last)) {
			status = snapshot_graph_add_tensor(making, together, held, op, last);
			held = 0;
		}
	}
	mem_free(together);
	return status;
}

/* The tensors of a group, whose op is one behind, as the first op is of none; of those from before the trace: op NONE.
 */
static enum status snapshot_graph_add_group(struct making *making, const uint32_t *buffer, uint32_t count, uint32_t op)
{
	int64_t end = op == NONE ? 0 : op + 1 < making->ops ? making->event[op + 1] : making->snapshot->events;
	uint64_t *MAKE(item, count);
	uint32_t kept = 0;
	NEEDED(making->error, item);
	FOR(i, count)
		if (op == NONE || !snapshot_within(&making->csv->buffers, making->snapshot, buffer[i], end))
			item[kept++] = (uint64_t)snapshot_graph_last_of(making, buffer[i], op) << 32 | buffer[i];
	enum status status = add_together(making, item, kept, op);
	mem_free(item);
	return status;
}

static enum status add_before(struct making *making)
{
	uint32_t *MAKE(buffer, making->csv->buffers.n), count = 0;
	for (uint32_t i = 0; buffer && i < making->csv->buffers.n; i++)
		if (making->snapshot->says[i] < 0)
			buffer[count++] = i;
	enum status status = buffer ? snapshot_graph_add_group(making, buffer, count, NONE) : fail_memory(making->error);
	mem_free(buffer);
	return status;
}

static enum status snapshot_graph_add_groups(struct making *making)
{
	const struct snapshot_groups *groups = making->groups;
	TRY(add_before(making));
	FOR(i, groups->groups) {
		uint32_t count = groups->first[i + 1] - groups->first[i], *buffer = groups->alloc + groups->first[i];
		TRY(count == 1
			? snapshot_graph_add_tensor(making, buffer, 1, i + 1, snapshot_graph_last_of(making, *buffer, i + 1))
			: snapshot_graph_add_group(making, buffer, count, i + 1));
	}
	return OK;
}

static enum status snapshot_graph_make(struct making *making)
{
	const struct snapshot_groups *groups = making->groups;
	uint32_t buffers = making->csv->buffers.n;
	TRY(add_start(making));
	FOR(i, groups->groups)
		TRY(snapshot_graph_add_op(making, i) == NONE ? fail_memory(making->error) : OK);
	guess_backward(making->draft, making->ops);
	if (groups->groups < groups->allocs)
		return snapshot_graph_add_groups(making);
	for (uint32_t i = 0, next = 1; i < buffers; i++) {
		uint32_t op = making->snapshot->says[i] < 0 ? NONE : next++;
		TRY(snapshot_graph_add_tensor(making, &i, 1, op, snapshot_graph_last_of(making, i, op)));
	}
	return OK;
}

static const char *snapshot_graph_text(const struct making *making, const char *key)
{
	return json_text_in(making->snapshot->head, key);
}

static enum status snapshot_graph_describe(struct making *making)
{
	char ops[700] = "an op is an allocation", assumed[1000];
	if (making->groups->groups < making->groups->allocs)
		PRINT_TO(ops,
			"%" PRIu32 " allocations are %" PRIu32 " ops: one each near the peak, many where memory is far below it; "
			"what comes and goes within an op is its workspace, what goes together is one tensor\nsuch tensors are larger "
			"than the trace's own buffers: the arena here is above what these need, and tidemark layout FILE lays each "
			"out; the caching allocator is simulated with each",
			making->groups->allocs, making->groups->groups);
	const json_t *said = json_object_get(making->snapshot->head, "said");
	const char *further = snapshot_graph_text(making, "assumed");
	PRINT_TO(assumed, "%s%s", ops, further ? further : "");
	struct about about = { .intake = { .said = true,
							   .version = snapshot_graph_text(making, "version"),
							   .assumed = assumed,
							   .peak = making->snapshot->peak,
							   .peak_by = snapshot_graph_text(making, "peak_by"),
							   .grows = json_text_in(said, "grows"),
							   .segments = snapshot_graph_text(making, "segments"),
							   .caching = { making->caching[0], making->caching[1] },
							   .advice = "tidemark layout FILE plans the same buffers alone and names the places in "
										 "the source that hold the peak" } };
	return draft_describe(making->draft, "snapshot", NULL, NULL, &about) == OK ? OK : fail_memory(making->error);
}

/* Of joined buffers the allocator would seem to take much more than it does. */
static enum status simulate_allocator(struct making *making)
{
	bool joined = making->groups->groups < making->groups->allocs;
	struct allocated allocated;
	for (int expandable = 0; expandable < 2 && joined; expandable++) {
		NEEDED(making->error, layout_holds(&making->csv->buffers, expandable, -1, &allocated));
		making->caching[expandable] = allocated.reserved;
	}
	return OK;
}

static enum status snapshot_graph_draft(struct making *making)
{
	making->draft = draft_new();
	MAKE(making->event, (size_t)making->groups->groups + 1);
	NEEDED(making->error, making->draft && making->event);
	TRY(simulate_allocator(making));
	TRY(snapshot_graph_make(making));
	return snapshot_graph_describe(making);
}

struct graph *snapshot_graph(const struct snapshot *snapshot, const struct buffers_csv *csv, uint32_t most, bool asked,
	struct error *error)
{
	struct snapshot_groups groups = { 0 };
	struct graph *graph = NULL;
	struct making making = { .snapshot = snapshot,
		.csv = csv,
		.groups = &groups,
		.says = json_object_get(snapshot->head, "says"),
		.placed = csv->buffers.n <= most,
		.error = error };
	enum status status = snapshot_group(&csv->buffers, snapshot, most, &groups) == OK ? OK : fail_memory(error);
	if (status == OK && snapshot_graph_draft(&making) == OK)
		graph = graph_build(making.draft, error);
	draft_free(making.draft);
	mem_free(making.event);
	snapshot_groups_free(&groups);
	return graph ? graph_of_several(graph, snapshot->number, asked, snapshot->devices, error) : NULL;
}
