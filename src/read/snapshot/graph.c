/* graph.c: a memory snapshot as a graph, and what holds its peak.
 *
 * Memory only grows where something is allocated. So an op for each allocation is enough: a buffer lives from its own
 * op to the last one before the event that gives it back. The ops' order is the trace's, which control dependencies
 * fix. */
#include <inttypes.h>
#include <stdlib.h>

#include "snapshot.h"
#include "src/base/words.h"

/* ---- what holds the peak ---- */

static int snapshot_graph_larger(const void *a, const void *b)
{
	const struct snapshot_holder *left = a, *right = b;
	if (left->bytes != right->bytes)
		return left->bytes > right->bytes ? -1 : 1;
	return left->frame < right->frame ? -1 : left->frame > right->frame;
}

uint32_t snapshot_holders(const struct snapshot *snapshot, const struct buffers_csv *csv,
	const struct snapshot_facts *facts, struct snapshot_holder *holder, uint32_t most)
{
	const struct stacks *stacks = &snapshot->stacks;
	struct snapshot_holder *MAKE(all, (size_t)stacks->frames + 1);
	uint32_t count = 0;
	if (!all)
		return NONE;
	FOR(i, csv->buffers.n)
		if (csv->buffers.lower[i] <= facts->peak_event && facts->peak_event < csv->buffers.upper[i]) {
			uint32_t frame = stacks_place(stacks, facts->origin[i].stack);
			all[frame].bytes += csv->buffers.size[i];
			all[frame].buffers++;
		}
	for (uint32_t i = 0; i <= stacks->frames; i++)
		if (all[i].bytes) {
			all[count] = all[i];
			all[count++].frame = i;
		}
	qsort(all, count, sizeof *all, snapshot_graph_larger);
	count = SMALLER(count, most);
	memcpy(holder, all, count * sizeof *all);
	mem_free(all);
	return count;
}

/* ---- the graph ---- */

/* What a stack trace says of an op. */
struct stack_says { const char *function, *module, *src; uint8_t phase; bool known; };

struct making {
	const struct snapshot *snapshot;
	const struct buffers_csv *csv;
	const struct snapshot_facts *facts;
	const struct snapshot_groups *groups;
	int64_t caching[2]; /* of joined buffers: what the allocator reserves, see struct intake */
	struct draft *draft;
	struct error *error;
	int64_t *event; /* of each op */
	uint32_t ops;
	struct stack_says *says; /* [stacks + 1] */
	struct arena arena;      /* their texts */
};

enum phase snapshot_phase(const struct stacks *stacks, uint32_t stack)
{
	return stacks_within(stacks, stack, "torch/optim/") || stacks_within(stacks, stack, "Optimizer.step#") ? PHASE_UPDATE
		: stacks_within(stacks, stack, "torch/autograd/") || stacks_within(stacks, stack, "autograd::engine::") ||
			stacks_within(stacks, stack, "torch/_tensor.py") ||
			stacks_within(stacks, stack, "torch::autograd::Engine")
		? PHASE_BACKWARD
		: PHASE_FORWARD;
}

/* Of each stack trace once: there are few, of many allocations. NULL when out of memory. */
static const struct stack_says *ask(struct making *making, uint32_t stack)
{
	const struct stacks *stacks = &making->snapshot->stacks;
	struct stack_says *says = &making->says[stack];
	if (says->known)
		return says;
	char src[600], module[400];
	uint32_t place = stacks_place(stacks, stack);
	const char *text = stacks_path(stacks, stack, module, sizeof module);
	*says = (struct stack_says){ .function = stacks_function(stacks, place),
		.phase = (uint8_t)snapshot_phase(stacks, stack),
		.known = true };
	says->module = arena_text(&making->arena, text, strlen(text));
	text = stacks_frame_text(stacks, place, src, sizeof src);
	says->src = place ? arena_text(&making->arena, text, strlen(text)) : NULL;
	return says->module && (says->src || !place) ? says : NULL;
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
	uint32_t buffer = largest_of(making, group), stack = making->facts->origin[buffer].stack;
	const struct stack_says *says = ask(making, stack);
	char name[120];
	if (!says)
		return NONE;
	PRINT_TO(name, "%.80s.%" PRIu32, *says->function ? says->function : "alloc", buffer);
	struct op op = { .name = name,
		.type = "alloc",
		.module = says->module,
		.has_module = *says->module,
		.flops = -1,
		.src = says->src,
		.has_phase = stack != 0,
		.phase = says->phase,
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
	return upper == making->facts->events ? NONE : last_before(making, op == NONE ? 0 : op, upper);
}

/* So many buffers that live from one op to another, NONE: before the first and behind the last. */
static enum status snapshot_graph_add_tensor(
	struct making *making, const uint32_t *buffer, uint32_t count, uint32_t op, uint32_t last)
{
	const struct buffers *buffers = &making->csv->buffers;
	char name[40];
	int64_t bytes = count == 1 ? buffers->size[*buffer] : 0,
			address = count == 1 && buffers->hint ? buffers->hint[*buffer] : -1;
	for (uint32_t i = 0; i < count && count > 1; i++)
		bytes += align_up(buffers->size[buffer[i]], SNAPSHOT_ALIGNMENT);
	count == 1 ? PRINT_TO(name, "b%" PRIu32, *buffer)
		: PRINT_TO(name, "b%" PRIu32 "+%" PRIu32, *buffer, count - 1);
	struct tensor tensor = { .name = name,
		.bytes = bytes,
		.has_bytes = true,
		.alias = NONE,
		.dtype = DTYPE_OPAQUE,
		.address = address,
		.has_address = address >= 0 && making->groups->groups == making->groups->allocs,
		.kind = last == NONE ? op == NONE ? KIND_BUFFER : KIND_OUTPUT : KIND_TEMPORARY };
	uint32_t id = draft_tensor(making->draft, &tensor);
	if (id == NONE || (op != NONE && draft_write(making->draft, op, id) != OK) ||
		(last != NONE && last != op && draft_read(making->draft, last, id) != OK))
		return fail_memory(making->error);
	return OK;
}

static int snapshot_graph_by_number(const void *a, const void *b)
{
	const uint64_t *left = a, *right = b;
	return *left < *right ? -1 : *left > *right;
}

/* Of several buffers that an op asks for, those that go together, but for those alive at the peak. item: each one's
 * last op and number. */
static enum status add_together(struct making *making, uint64_t *item, uint32_t count, uint32_t op)
{
	const struct buffers *buffers = &making->csv->buffers;
	int64_t peak = making->facts->peak_event;
	uint32_t *MAKE(together, count), held = 0;
	enum status status = together ? OK : fail_memory(making->error);
	qsort(item, count, sizeof *item, snapshot_graph_by_number);
	for (uint32_t i = 0; i < count && status == OK; i++) {
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
	int64_t end = op == NONE ? 0 : op + 1 < making->ops ? making->event[op + 1] : making->facts->events;
	uint64_t *MAKE(item, count);
	uint32_t kept = 0;
	if (!item)
		return fail_memory(making->error);
	FOR(i, count)
		if (op == NONE || !snapshot_within(&making->csv->buffers, making->facts, buffer[i], end))
			item[kept++] = (uint64_t)snapshot_graph_last_of(making, buffer[i], op) << 32 | buffer[i];
	enum status status = add_together(making, item, kept, op);
	mem_free(item);
	return status;
}

static enum status add_before(struct making *making)
{
	uint32_t *MAKE(buffer, making->csv->buffers.n), count = 0;
	for (uint32_t i = 0; buffer && i < making->csv->buffers.n; i++)
		if (making->facts->origin[i].before)
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
		uint32_t op = making->facts->origin[i].before ? NONE : next++;
		TRY(snapshot_graph_add_tensor(making, &i, 1, op, snapshot_graph_last_of(making, i, op)));
	}
	return OK;
}

/* A line on each device that has events; "" for one alone. */
static void list_devices(const struct snapshot *snapshot, char *text, size_t size)
{
	struct words words = { text, size, 0 };
	*text = '\0';
	for (uint32_t i = 0; i < snapshot->traces && snapshot->traces > 1; i++)
		words_add(&words, "%sdevice %" PRIu32 ", %" PRIu32 " events", i ? "\n" : "", snapshot->trace[i].device,
			snapshot->trace[i].events);
}

static enum status snapshot_graph_describe(struct making *making, uint32_t wanted)
{
	const struct snapshot_facts *facts = making->facts;
	char text[2][32], ops[700] = "an op is an allocation", assumed[1000], version[120], peak_by[200], graphs[4000];
	uint32_t trace = 0;
	int64_t lost = facts->reserved > facts->rounded_peak ? facts->reserved - facts->rounded_peak : 0;
	PRINT_TO(version, "device %" PRIu32 "%s, %" PRIu32 " events", facts->device,
		facts->devices > 1 ? " (--graph N takes another)" : "", facts->events);
	if (making->groups->groups < making->groups->allocs)
		PRINT_TO(ops,
			"%" PRIu32 " allocations are %" PRIu32 " ops: one each near the peak, many where memory is far below it; "
												   "what comes and goes within an op is its workspace, "
			"what goes together is one tensor\nsuch tensors are larger than the trace's own buffers: the arena here is "
			"above what these need, and tidemark layout FILE lays each out; "
			"the caching allocator is simulated with each",
			making->groups->allocs, making->groups->groups);
	PRINT_TO(assumed,
		"%s; the trace's order is the only one\n%" PRIu32 " buffers were there before the first event, %" PRIu32
		" are behind the last",
		ops, facts->before, facts->after);
	PRINT_TO(peak_by, "sizes rounded up to 512; reserved at most %s, %s of it fragmentation",
		bytes_text(facts->reserved, text[0], sizeof text[0]), bytes_text(lost, text[1], sizeof text[1]));
	while (trace < making->snapshot->traces && making->snapshot->trace[trace].device != facts->device)
		trace++;
	list_devices(making->snapshot, graphs, sizeof graphs);
	struct about about = { .intake = { .said = true,
							   .graphs = *graphs ? graphs : NULL,
							   .graph = trace + 1,
							   .graph_asked = wanted > 0,
							   .version = version,
							   .assumed = assumed,
							   .peak = facts->rounded_peak,
							   .peak_by = peak_by,
							   .grows = *facts->grows ? facts->grows : NULL,
							   .segments = facts->segments,
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
		if (!layout_holds(&making->csv->buffers, expandable, -1, &allocated))
			return fail_memory(making->error);
		making->caching[expandable] = allocated.reserved;
	}
	return OK;
}

static int64_t device_of(const struct snapshot *snapshot, uint32_t wanted)
{
	return wanted == 0 ? -1 : wanted <= snapshot->traces ? (int64_t)snapshot->trace[wanted - 1].device : INT64_MAX;
}

struct graph *snapshot_graph(const struct snapshot *snapshot, uint32_t wanted, uint32_t most, struct error *error)
{
	struct snapshot_groups groups = { 0 };
	OWN(buffers_csv) csv;
	struct snapshot_facts facts;
	struct graph *graph = NULL;
	struct making making = { .snapshot = snapshot, .csv = &csv, .facts = &facts, .groups = &groups, .error = error };
	enum status status = snapshot_buffers(snapshot, device_of(snapshot, wanted), &csv, &facts, error);
	if (status == BAD_INPUT && wanted > snapshot->traces)
		status = refuse(error, "--graph %" PRIu32 ": it has events of %" PRIu32 " device%s", wanted,
			snapshot->traces, snapshot->traces == 1 ? "" : "s");
	if (status == OK && csv.buffers.n <= most)
		status = snapshot_addresses(snapshot, &facts, &csv, error);
	if (status == OK && snapshot_group(&csv.buffers, &facts, most, &groups) != OK)
		status = fail_memory(making.error);
	if (status == OK)
		status = simulate_allocator(&making);
	if (status == OK) {
		making.draft = draft_new();
		MAKE(making.event, (size_t)groups.groups + 1);
		MAKE(making.says, (size_t)snapshot->stacks.stack_count + 1);
		status = making.draft && making.event && making.says ? snapshot_graph_make(&making) : fail_memory(making.error);
	}
	if (status == OK)
		status = snapshot_graph_describe(&making, wanted);
	buffers_csv_free(&csv); /* a hundred megabytes of a long trace */
	if (status == OK)
		graph = graph_build(making.draft, error);
	draft_free(making.draft);
	mem_free(making.event);
	mem_free(making.says);
	arena_free(&making.arena);
	snapshot_groups_free(&groups);
	return graph;
}
