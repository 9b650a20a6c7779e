/* waiting.c: what a rank holds between passes: activations of other microbatches, gradients that wait, sums. */
#include "making.h"

/* ---- what the rank needs ---- */

static bool is_float(const struct tensor *tensor)
{
	switch (tensor->dtype) {
	case DTYPE_F64: case DTYPE_F32: case DTYPE_F16: case DTYPE_BF16: case DTYPE_F8E4M3: case DTYPE_F8E5M2: return true;
	default: return false;
	}
}

/* A storage is filled in the first part of the backward pass: what reads it in the second has it waiting. */
static bool made_between(const struct making *making, uint32_t s)
{
	const struct graph *graph = making->graph;
	uint32_t maker = graph->storage[s].allocator;
	if (maker == NONE)
		return false;
	if (making->runs[maker])
		return making->side[maker] == SIDE_BACKWARD && !making->cut->weight[maker];
	FOR_ITEMS(member, &graph->members, s) {
		const struct transfer *transfer = transfer_here(making, member);
		if (transfer && transfer->side == SIDE_FORWARD)
			return false;
	}
	return true;
}

/* The backward pass of a piece reads a storage, for the gradients of weights or for others. */
static void waiting_hold(struct making *making, uint32_t s, uint32_t piece, bool weight)
{
	const struct in_flight *in_flight = &making->in_flight[piece];
	bool between = made_between(making, s);
	uint32_t count = between ? (weight ? in_flight->between : 0) : weight ? in_flight->weight : in_flight->input;
	if (count == 0 && (!between || weight))
		count = 1;
	if (count > 0 && weight && (making->held[s] == 0 || making->until[s] == UNTIL_INPUT))
		making->until[s] = between ? BETWEEN : UNTIL_WEIGHT;
	if (count <= making->held[s])
		return;
	making->held[s] = count;
	making->holder[s] = piece;
}

/* Gradients of several microbatches: made before the update, read there. */
static void waiting_note_gradient(struct making *making, uint32_t tensor)
{
	const struct graph *graph = making->graph;
	uint32_t s = storage_of(making, tensor), writer = graph->tensor[tensor].writer, maker = graph->storage[s].allocator;
	bool before = maker != NONE && making->side[maker] != SIDE_UPDATE &&
		(writer == NONE || making->side[writer] != SIDE_UPDATE);
	if (making->microbatches > 1 && before && making->added[s] == NONE && is_float(&graph->tensor[tensor]) &&
		!making->cut->joint[s])
		making->added[s] = tensor;
}

/* The op gives a storage just another name. */
static bool waiting_views(const struct graph *graph, uint32_t op, uint32_t s)
{
	bool all = graph_results(graph, op) > 0 && graph_pairs(graph, op) == 0;
	FOR_ITEMS(written, &graph->writes, op)
		all &= graph->tensor[written].storage == s;
	return all;
}

void waiting_note_uses(struct making *making, uint32_t op)
{
	const struct graph *graph = making->graph;
	const struct pipeline_cut *cut = making->cut;
	FOR_ITEMS(touched, &graph->touches, op)
		if (making->side[op] != SIDE_UPDATE)
			making->last[touched] = op;
	FOR_ITEMS(read, &graph->reads, op) {
		uint32_t tensor = making->stands[read], s = tensor == NONE ? 0 : storage_of(making, tensor);
		if (tensor == NONE)
			continue;
		if (making->side[op] == SIDE_UPDATE)
			waiting_note_gradient(making, tensor);
		else
			making->last[s] = op;
		if (making->side[op] == SIDE_BACKWARD && !waiting_views(graph, op, s))
			waiting_hold(making, s, cut_rank(cut, op) == making->rank ? cut->piece[op] : making->rank, cut->weight[op]);
	}
	FOR_SPAN(i, graph->inplace_start, op)
		if (cut->joint[storage_of(making, graph->inplace[i].in)])
			making->alone[storage_of(making, graph->inplace[i].in)] = op;
}

void waiting_note_sends(struct making *making)
{
	const struct pipeline_flow *flow = making->flow;
	FOR(i, flow->transfers) {
		const struct transfer *transfer = &flow->transfer[i];
		if (transfer->from != making->rank || transfer->state)
			continue;
		uint32_t s = storage_of(making, transfer->tensor);
		if (transfer->side == SIDE_UPDATE)
			waiting_note_gradient(making, transfer->tensor);
		else if (transfer->side == SIDE_BACKWARD)
			waiting_hold(making, s, making->cut->piece[making->graph->tensor[transfer->tensor].writer], false);
	}
}

/* ---- what lasts longer than a microbatch ---- */

/* Adds a microbatch's gradient to the sum. */
void waiting_accumulate(struct making *making, uint32_t s)
{
	const struct graph *graph = making->graph;
	uint32_t tensor = making->added[s];
	struct tensor sum = graph->tensor[tensor], summed;
	if (making->local[tensor] == NONE)
		return;
	sum.of = graph->tensor[graph->storage[s].root].name;
	sum.relation = RELATION_SUM;
	sum.name = joined(making, sum.of, ".sum");
	sum.bytes = graph->storage[s].bytes;
	if (sum.bytes != graph->tensor[tensor].bytes)
		sum.shape = NULL;
	sum.alias = NONE;
	sum.kind = KIND_GRADIENT;
	summed = graph->tensor[tensor];
	summed.of = summed.name;
	summed.relation = RELATION_SUM;
	summed.name = joined(making, summed.of, ".summed");
	summed.kind = KIND_GRADIENT;
	summed.alias = making->sum[s] = made(making, draft_tensor(making->draft, &sum));
	making->summed[s] = made(making, draft_tensor(making->draft, &summed));
	uint32_t writer = graph->tensor[tensor].writer != NONE ? graph->tensor[tensor].writer : graph->storage[s].allocator;
	struct op op = { .name = joined(making, graph->tensor[tensor].name, ".accumulate"),
		.of = graph->op[writer].name,
		.type = "aten.add_.Tensor",
		.module = graph->op[writer].module,
		.flops = summed.shape ? summed.bytes * 8 / dtype_bits[summed.dtype] : -1,
		.phase = PHASE_BACKWARD,
		.has_phase = true,
		.has_module = true };
	uint32_t id = making->status == OK ? made(making, draft_op(making->draft, &op)) : NONE;
	if (id == NONE)
		return;
	making->ends[making->ended++] = id;
	stop(making, draft_read(making->draft, id, making->sum[s]));
	stop(making, draft_read(making->draft, id, making->local[tensor]));
	stop(making, draft_write(making->draft, id, making->summed[s]));
	stop(making, draft_inplace(making->draft, id, making->summed[s], making->sum[s]));
}

/* The copies of an activation that other microbatches hold. */
static uint32_t other_copies(struct making *making, uint32_t tensor, int64_t others)
{
	const struct graph *graph = making->graph;
	struct tensor copies = graph->tensor[tensor];
	int64_t shape[DIMS_MAX], bytes = copies.bytes;
	copies.of = copies.name;
	copies.relation = RELATION_COPIES;
	copies.name = joined(making, copies.of, ".in_flight");
	tensor_forget(&copies);
	copies.places = NULL;
	copies.alias = NONE;
	copies.kind = KIND_ACTIVATION;
	if (__builtin_mul_overflow(others, bytes, &copies.bytes) || copies.bytes > BYTES_MAX) {
		stop(making,
			refuse(making->error, "%lld copies of \"%.100s\" are more than 2^60 bytes", (long long)others,
				graph->tensor[tensor].name));
		return NONE;
	}
	if (copies.shape && copies.dims < DIMS_MAX) {
		shape[0] = others;
		COPY(shape + 1, copies.shape, copies.dims);
		copies.shape = shape;
		copies.dims++;
	} else {
		copies.shape = NULL;
	}
	return making->status == OK ? made(making, draft_tensor(making->draft, &copies)) : NONE;
}

/* The i-th tensor whose memory is filled in the forward pass and waits for the backward pass: a storage's root, where
 * an op of this rank or the input fills it; else every name under which it was sent here. NONE: there are no more. */
uint32_t waiting_tensor(const struct making *making, uint32_t s, uint32_t *i)
{
	const struct graph *graph = making->graph;
	uint32_t maker = graph->storage[s].allocator, root = graph->storage[s].root;
	if (making->held[s] == 0 || graph->storage[s].bytes == 0)
		return NONE;
	if (maker == NONE || making->runs[maker]) {
		bool fills = maker == NONE ? graph->storage[s].kind == KIND_INPUT && making->local[root] != NONE
			: making->side[maker] == SIDE_FORWARD || making->until[s] == BETWEEN;
		return (*i)++ == 0 && fills ? root : NONE;
	}
	while (*i < csr_length(&graph->members, s)) {
		uint32_t member = csr_at(&graph->members, s, (*i)++);
		const struct transfer *transfer = transfer_here(making, member);
		if (transfer && (transfer->side == SIDE_FORWARD || (making->until[s] == BETWEEN && transfer->side == SIDE_BACKWARD)))
			return member;
	}
	return NONE;
}

/* The end of the backward pass: the copies are gone, sums are complete. */
void waiting_end(struct making *making)
{
	const struct graph *graph = making->graph;
	uint32_t ops = 0;
	FOR(op, graph->ops)
		ops += making->runs[op] && making->side[op] != SIDE_UPDATE;
	if (making->microbatches < 2 || ops == 0)
		return;
	struct op flush = { .name = added_types[ADDED_FLUSH],
		.type = added_types[ADDED_FLUSH],
		.module = "",
		.flops = 0,
		.phase = PHASE_COMMUNICATION,
		.has_phase = true,
		.has_module = true };
	making->flush = made(making, draft_op(making->draft, &flush));
	FOR_WHILE(i, making->ended, making->status == OK)
		stop(making, draft_after(making->draft, making->flush, making->ends[i]));
	FOR_WHILE(s, graph->storages, making->status == OK)
		for (uint32_t i = 0, tensor;
			making->held[s] > 1 && making->status == OK && (tensor = waiting_tensor(making, s, &i)) != NONE;) {
			uint32_t copies = other_copies(making, tensor, (int64_t)making->held[s] - 1);
			if (copies != NONE)
				stop(making, draft_read(making->draft, making->flush, copies));
		}
}
