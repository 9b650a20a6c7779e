/* flow.c: which ops a pipeline rank runs, and what goes between ranks. */

#include "rank.h"

/* What is left of a sum of gradients on a rank: operands that are found elsewhere are left out. */
static void reduce_sum(const struct pipeline_cut *cut, uint32_t op, uint32_t rank, bool *runs, uint32_t *stands)
{
	const struct graph *graph = cut->graph;
	uint32_t here = 0, result = graph_result(graph, op, 0), last = NONE;
	FOR_ITEMS(tensor, &graph->reads, op) {
		uint32_t writer = graph->tensor[tensor].writer;
		bool part = cut->sums[writer] ? stands[tensor] != NONE : cut_rank(cut, writer) == rank;
		here += part;
		last = part ? stands[tensor] : last;
	}
	runs[op] = here == 2;
	stands[result] = here == 2 ? result : last;
}

static bool flow_needs(const struct pipeline_cut *cut, const struct csr *readers, uint32_t op)
{
	FOR_ITEMS(written, &cut->graph->writes, op)
		if (csr_length(readers, written) > 0)
			return true;
	return false;
}

/* The pass in which a rank runs an op: its own, or for what it makes for itself, that of the first op there that reads
 * it. */
static uint8_t first_use(const struct pipeline_cut *cut, uint32_t op, const bool *runs, const uint8_t *side)
{
	uint8_t first = SIDE_UPDATE;
	bool used = false;
	FOR_ITEMS(written, &cut->graph->writes, op)
		FOR_ITEMS(reader, &cut->readers, written) {
			if (!runs[op] || !cut->anywhere[op] || !runs[reader])
				continue;
			used = true;
			first = SMALLER(side[reader], first);
		}
	bool view = graph_results(cut->graph, op) == 1 &&
		cut->graph->tensor[graph_result(cut->graph, op, 0)].alias != NONE;
	if (!view && first == SIDE_UPDATE)    /* a gradient of constants is one for every microbatch */
		first = SIDE_BACKWARD;
	return used && first > cut->side[op] ? first : cut->side[op];
}

void pipeline_rank_ops(const struct pipeline_cut *cut, uint32_t rank, bool *runs, uint8_t *side, uint32_t *stands)
{
	const struct graph *graph = cut->graph;
	const struct csr *readers = &cut->readers;
	FOR(t, graph->tensors)
		stands[t] = t;
	FOR(op, graph->ops) {
		bool own = cut_rank(cut, op) == rank;
		if (cut->sums[op])
			reduce_sum(cut, op, rank, runs, stands);
		else if (cut->of_tied[op] != NONE)
			runs[op] = tied_on(cut, cut->of_tied[op], rank);
		else
			runs[op] = own && (!cut->anywhere[op] || !flow_needs(cut, readers, op));
	}
	FOR_DOWN(op, graph->ops)
		FOR_ITEMS(read, &graph->reads, op) {
			uint32_t tensor = runs[op] ? stands[read] : NONE,
					 writer = tensor == NONE ? NONE : graph->tensor[tensor].writer;
			if (writer != NONE && cut->anywhere[writer] && cut->of_tied[writer] == NONE)
				runs[writer] = true;
		}
	FOR_DOWN(op, graph->ops)
		side[op] = first_use(cut, op, runs, side);
}

struct flowing {
	const struct pipeline_cut *cut;
	struct pipeline_flow *flow;
	size_t room;
	bool *runs;                /* [ops] of the rank that is looked at */
	uint8_t *side;             /* [ops] */
	uint32_t *stands;          /* [tensors] */
	uint32_t *seen;            /* [tensors] a transfer to this rank; NONE */
	bool *touched;             /* [storages] on this rank */
	uint32_t *latest;          /* [storages] the op that has written it in place; NONE */
	struct error *error;
};

static enum status add_transfer(struct flowing *flowing, const struct transfer *transfer)
{
	struct pipeline_flow *flow = flowing->flow;
	NEED(GROWN(flow->transfer, flowing->room, flow->transfers + 1));
	flow->transfer[flow->transfers++] = *transfer;
	return OK;
}

/* A number that ops of several ranks write: every rank has its own, and they are reduced. */
static bool flow_own_number(const struct pipeline_cut *cut, uint32_t tensor)
{
	return cut->joint[cut->graph->tensor[tensor].storage];
}

/* Under an older name an op reads what another rank has overwritten since. */
static enum status flow_check_version(const struct flowing *flowing, uint32_t op, uint32_t tensor)
{
	const struct graph *graph = flowing->cut->graph;
	uint32_t s = graph->tensor[tensor].storage, latest = flowing->latest[s], writer = graph->tensor[tensor].writer;
	bool received = writer != NONE && !flowing->runs[writer], own = false;
	if (latest == NONE || graph->storage[s].persistent || flowing->cut->joint[s] || (writer != NONE && writer >= latest))
		return OK;
	FOR_SPAN(i, graph->inplace_start, latest)
		own |= graph->inplace[i].in == tensor;
	if (flowing->runs[latest] && (!received || own))    /* else it is another copy that was overwritten here */
		return OK;
	return refuse(flowing->error,
		"\"%.100s\" reads \"%.100s\", which \"%.100s\" overwrites on another pipeline rank", graph->op[op].name,
		graph->tensor[tensor].name, graph->op[latest].name);
}

static void flow_note_writes(struct flowing *flowing, uint32_t op)
{
	const struct graph *graph = flowing->cut->graph;
	if (flowing->cut->sums[op] &&
		!flowing->runs[op])    /* a part of the sum stands for it here, and nobody writes to that */
		return;
	FOR_SPAN(i, graph->inplace_start, op) {
		flowing->latest[graph->tensor[graph->inplace[i].in].storage] = op;
		if (flowing->runs[op] && graph->inplace[i].out == NONE)
			flowing->touched[graph->tensor[graph->inplace[i].in].storage] = true;
	}
}

/* What a rank's op reads of other ranks. */
static enum status flow_receive(struct flowing *flowing, uint32_t rank, uint32_t op)
{
	const struct pipeline_cut *cut = flowing->cut;
	const struct graph *graph = cut->graph;
	enum status status = OK;
	FOR_ITEMS(read, &graph->reads, op) {
		uint32_t tensor = flowing->stands[read], writer = graph->tensor[tensor].writer;
		status = status == OK ? flow_check_version(flowing, op, tensor) : status;
		if (writer == NONE || flowing->runs[writer] || flow_own_number(cut, tensor)) {
			flowing->touched[graph->tensor[tensor].storage] = true;
			continue;
		}
		uint32_t known = flowing->seen[tensor];
		if (known != NONE) {
			struct transfer *before = &flowing->flow->transfer[known];
			before->side = SMALLER(flowing->side[op], before->side);
			continue;
		}
		flowing->seen[tensor] = flowing->flow->transfers;
		struct transfer transfer = {
			.tensor = tensor, .from = cut_rank(cut, writer), .to = rank, .reader = op, .side = flowing->side[op]
		};
		status = status == OK ? add_transfer(flowing, &transfer) : status;
	}
	return status;
}

/* What is kept from step to step, read here and written by another rank: it comes after the update. Anything else that
 * one rank writes in place without a name for the result and another one touches later can't be told from what it was.
 */
static enum status receive_state(struct flowing *flowing, uint32_t rank, uint32_t storage)
{
	const struct pipeline_cut *cut = flowing->cut;
	const struct graph *graph = cut->graph;
	uint32_t writer = NONE;
	bool here = false, unnamed = false;
	FOR_ITEMS(op, &graph->users, storage) {
		FOR_SPAN(j, graph->inplace_start, op)
			if (graph->tensor[graph->inplace[j].in].storage == storage) {
				here |= flowing->runs[op];
				unnamed |= !flowing->runs[op] && graph->inplace[j].out == NONE;
				writer = flowing->runs[op] ? writer : op;
			}
	}
	bool state = graph->storage[storage].persistent;
	if (writer == NONE || cut->joint[storage] || (!state && !unnamed))
		return OK;
	if (here || !state || cut->side[writer] != SIDE_UPDATE)
		return refuse(flowing->error,
			"\"%.100s\" is written in place by \"%.100s\" on one pipeline rank and used on another",
			graph->tensor[graph->storage[storage].root].name, graph->op[writer].name);
	struct transfer transfer = { .tensor = graph->storage[storage].root,
		.from = cut_rank(cut, writer),
		.to = rank,
		.reader = NONE,
		.side = SIDE_UPDATE,
		.state = true };
	return add_transfer(flowing, &transfer);
}

static enum status flow_look_at(struct flowing *flowing, uint32_t rank)
{
	const struct graph *graph = flowing->cut->graph;
	enum status status = OK;
	FILL_NONE(flowing->seen, graph->tensors);
	FILL_NONE(flowing->latest, graph->storages);
	CLEAR(flowing->touched, graph->storages);
	pipeline_rank_ops(flowing->cut, rank, flowing->runs, flowing->side, flowing->stands);
	FOR_WHILE(op, graph->ops, status == OK) {
		if (flowing->runs[op])
			status = flow_receive(flowing, rank, op);
		flow_note_writes(flowing, op);
	}
	FOR_WHILE(s, graph->storages, status == OK)
		if (flowing->touched[s])
			status = receive_state(flowing, rank, s);
	return status;
}

/* Transfers by tensor; of a tensor they are by rank already. */
static enum status sort(struct flowing *flowing)
{
	struct pipeline_flow *flow = flowing->flow;
	uint32_t tensors = flowing->cut->graph->tensors;
	struct transfer *MAKE(sorted, flow->transfers);
	if (!(ROOM(&flow->arena, flow->sent_start, tensors + (size_t)2) && sorted)) {
		mem_free(sorted);
		return NO_MEMORY;
	}
	FOR(i, flow->transfers)
		flow->sent_start[flow->transfer[i].tensor + 2]++;
	FOR(t, tensors)
		flow->sent_start[t + 2] += flow->sent_start[t + 1];
	FOR(i, flow->transfers)
		sorted[flow->sent_start[flow->transfer[i].tensor + 1]++] = flow->transfer[i];
	mem_free(flow->transfer);
	flow->transfer = sorted;
	return OK;
}

/* Microbatches all run before the update: a step whose passes read what an update gives has none. OK or BAD_INPUT. */
static enum status updates_once(const struct pipeline_cut *cut, struct error *error)
{
	const struct graph *graph = cut->graph;
	FOR(op, graph->ops)
		FOR_ITEMS(before, &graph->pred, op) {
			bool second = graph->op[op].phase == PHASE_BACKWARD || cut->side[op] == SIDE_BACKWARD;
			if (second && graph->op[op].phase != PHASE_COMMUNICATION && cut->side[before] == SIDE_UPDATE)
				return refuse(error,
					"the step has several updates: the backward op \"%.100s\" comes behind one; such a step can't be cut "
					"into microbatches or pipeline ranks", graph->op[op].name);
		}
	return OK;
}

enum status pipeline_flow_find(const struct pipeline_cut *cut, struct pipeline_flow *flow, struct error *error)
{
	const struct graph *graph = cut->graph;
	struct arena arena = { 0 };
	*flow = (struct pipeline_flow) { 0 };
	TRY(updates_once(cut, error));
	struct flowing flowing = { .cut = cut, .flow = flow, .error = error };
	enum status status = ROOMS(&arena, graph->ops, flowing.runs, flowing.side) &&
		ROOMS(&arena, graph->tensors, flowing.stands, flowing.seen) &&
		ROOMS(&arena, graph->storages, flowing.touched, flowing.latest) ? OK : NO_MEMORY;
	FOR_WHILE(rank, cut->ranks, status == OK)
		status = flow_look_at(&flowing, rank);
	THEN(status, sort(&flowing));
	arena_free(&arena);
	if (status == NO_MEMORY)
		fail_memory(error);
	if (status != OK)
		pipeline_flow_free(flow);
	return status;
}

void pipeline_flow_free(struct pipeline_flow *flow)
{
	mem_free(flow->transfer);
	arena_free(&flow->arena);
	*flow = (struct pipeline_flow) { 0 };
}
