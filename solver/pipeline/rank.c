/* rank.c: the graph of one pipeline rank. */
#include "making.h"

/* Which pass an op belongs to: the pieces forward, then back. */
static uint32_t pass_of(const struct making *making, uint32_t op)
{
	const struct pipeline_cut *cut = making->cut;
	return making->side[op] == SIDE_FORWARD ? cut->piece[op]
		: making->side[op] == SIDE_BACKWARD ? 2 * cut->pieces - cut->piece[op]
		: 2 * cut->pieces + 1;
}

/* ---- tensors ---- */

/* A tensor that is there from the start. */
static uint32_t rank_leaf(struct making *making, uint32_t tensor)
{
	struct tensor copy = making->graph->tensor[tensor];
	if (making->local[tensor] != NONE || making->status != OK)
		return making->local[tensor];
	if (copy.alias != NONE)
		copy.alias = rank_leaf(making, copy.alias);
	return making->local[tensor] = made(making, draft_tensor(making->draft, &copy));
}

/* What an op of this rank reads under a name; in the update sums take the place of a microbatch's gradients. */
static uint32_t rank_named(struct making *making, uint32_t tensor)
{
	const struct graph *graph = making->graph;
	uint32_t s = storage_of(making, tensor), writer = graph->tensor[tensor].writer;
	if (making->updating && making->added[s] != NONE && making->summed[s] != NONE &&
		(writer == NONE || making->side[writer] != SIDE_UPDATE)) {
		if (tensor == making->added[s])
			return making->summed[s];
		struct tensor alias = graph->tensor[tensor];   /* another name of the same memory */
		alias.of = alias.name;
		alias.relation = RELATION_SUM;
		alias.name = joined(making, alias.name, ".sum");
		alias.alias = making->sum[s];
		uint32_t known = draft_find_tensor(making->draft, alias.name);
		return known != NONE ? known : made(making, draft_tensor(making->draft, &alias));
	}
	if (writer == NONE)
		return rank_leaf(making, tensor);
	if (making->local[tensor] == NONE && making->cut->joint[s])
		return making->local[graph->storage[s].root];
	return making->local[tensor];
}

/* What an op that works in place writes over on this rank: of a tied gradient's sum the part that is made here. */
static uint32_t rank_written_over(struct making *making, uint32_t tensor)
{
	return rank_named(making, making->stands[tensor] == NONE ? tensor : making->stands[tensor]);
}

/* The local tensor that a result shares its memory with. */
static uint32_t alias_here(struct making *making, uint32_t op, uint32_t tensor)
{
	const struct graph *graph = making->graph;
	uint32_t s = storage_of(making, tensor);
	FOR_SPAN(i, graph->inplace_start, op)
		if (graph->inplace[i].out == tensor)
			return rank_written_over(making, graph->inplace[i].in);
	FOR_ITEMS(read, &graph->reads, op)
		if (graph->tensor[read].storage == s && making->stands[read] != NONE)
			return rank_named(making, making->stands[read]);
	return rank_named(making, graph->tensor[tensor].alias);
}

static uint32_t result(struct making *making, uint32_t op, uint32_t tensor)
{
	struct tensor copy = making->graph->tensor[tensor];
	if (copy.alias != NONE && (copy.alias = alias_here(making, op, tensor)) == NONE && making->status == OK)
		stop(making, refuse(making->error, "\"%.100s\" is a view of what another pipeline rank holds", copy.name));
	return making->status == OK ? making->local[tensor] = made(making, draft_tensor(making->draft, &copy)) : NONE;
}

/* ---- between ranks ---- */

/* Of a tensor, called by its name and an ending; rank: the other end, or of a sum this one. */
static uint32_t communication(struct making *making, const char *tensor, const char *ending, enum collective_kind kind,
	const char *module, int64_t bytes, uint32_t rank)
{
	struct collective said = { .axis = "pp", .size = making->cut->ranks, .group = NONE, .rank = rank, .moved = bytes };
	struct op op = { .name = joined(making, tensor, ending),
		.of = tensor,
		.type = collective_types[kind],
		.module = module,
		.collective = &said,
		.flops = 0,
		.phase = PHASE_COMMUNICATION,
		.has_phase = true,
		.has_module = true };
	return making->status == OK ? made(making, draft_op(making->draft, &op)) : NONE;
}

/* Sends of an earlier pass come before what a later one waits for: else two ranks could wait for each other. */
static void after_sends(struct making *making, uint32_t op, uint32_t pass)
{
	uint32_t before = pass > making->pass ? making->pass_send : making->before_send;
	if (before != NONE && op != NONE)
		stop(making, draft_after(making->draft, op, before));
}

static void note_send(struct making *making, uint32_t op, uint32_t pass)
{
	if (pass > making->pass) {
		making->before_send = making->pass_send;
		making->pass = pass;
	}
	making->pass_send = op;
}

static void rank_send(struct making *making, uint32_t number)
{
	const struct transfer *transfer = &making->flow->transfer[number];
	const struct tensor *tensor = &making->graph->tensor[transfer->tensor];
	char suffix[32];
	if (making->sent[number])
		return;
	making->sent[number] = true;
	uint32_t from = rank_named(making, transfer->tensor);
	PRINT_TO(suffix, ".send.%u", transfer->to);
	uint32_t writer = tensor->writer, allocator = making->graph->storage[tensor->storage].allocator;
	const char *module = writer != NONE ? making->graph->op[writer].module
		: allocator != NONE ? making->graph->op[allocator].module
		: "";
	uint32_t op = communication(making, tensor->name, suffix, COLLECTIVE_SEND, module, tensor->bytes, transfer->to);
	if (op == NONE || from == NONE)
		return;
	stop(making, draft_read(making->draft, op, from));
	making->ends[making->ended++] = op;
	if (transfer->side == SIDE_BACKWARD && writer != NONE && making->side[writer] == SIDE_BACKWARD &&
		!making->cut->weight[writer])
		making->sink[making->sinks++] = (struct sink) { op, making->cut->piece[writer] };
	if (transfer->side == SIDE_UPDATE && making->flush != NONE)
		stop(making, draft_after(making->draft, op, making->flush));
	note_send(making, op, transfer->reader == NONE ? 2 * making->cut->pieces + 1 : pass_of(making, transfer->reader));
}

/* Sends of a tensor whose time has come; limit: of those that wait for a reader, only up to that op. */
static void send_all(struct making *making, uint32_t tensor, uint8_t side)
{
	const struct pipeline_flow *flow = making->flow;
	FOR_SPAN(i, flow->sent_start, tensor)
		if (flow->transfer[i].from == making->rank && flow->transfer[i].side <= side && !flow->transfer[i].state)
			rank_send(making, i);
}

static void rank_receive(struct making *making, uint32_t tensor, uint32_t reader)
{
	const struct transfer *transfer = transfer_here(making, tensor);
	struct tensor copy = making->graph->tensor[tensor];
	if (!transfer) {
		stop(making,
			refuse(making->error, "nothing brings \"%.100s\" to pipeline rank %u", copy.name, making->rank));
		return;
	}
	copy.alias = NONE;
	copy.kind = copy.kind == KIND_OUTPUT || kind_persistent(copy.kind) ? KIND_ACTIVATION : copy.kind;
	uint32_t to = making->local[tensor] = made(making, draft_tensor(making->draft, &copy));
	uint32_t op = communication(
		making, copy.name, ".recv", COLLECTIVE_RECEIVE, making->graph->op[reader].module, 0, transfer->from);
	if (op == NONE || to == NONE)
		return;
	stop(making, draft_write(making->draft, op, to));
	after_sends(making, op, pass_of(making, reader));
}

/* ---- ops ---- */

/* Reduces over the ranks: sums of tied gradients, and numbers that are everybody's. */
static void rank_reduce(struct making *making, uint32_t tensor, const char *name, const char *module, int64_t bytes)
{
	uint32_t op = communication(making, name, ".all_reduce.pp", COLLECTIVE_ALL_REDUCE, module, bytes, making->rank);
	if (op == NONE)
		return;
	stop(making, draft_read(making->draft, op, tensor));
	stop(making, draft_inplace(making->draft, op, NONE, tensor));
	if (making->flush != NONE)
		stop(making, draft_after(making->draft, op, making->flush));
}

/* A tied parameter's sums, before anything of the update reads them. */
static void reduce_tied(struct making *making)
{
	const struct graph *graph = making->graph;
	const struct pipeline_cut *cut = making->cut;
	bool *done;
	if (!ROOM(&making->arena, done, graph->tensors))
		stop(making, NO_MEMORY);
	FOR_WHILE(op, graph->ops, making->status == OK)
		FOR_ITEMS(tensor, &graph->reads, op) {
			uint32_t writer = graph->tensor[tensor].writer;
			bool sum = making->runs[op] && making->side[op] == SIDE_UPDATE && writer != NONE &&
				making->side[writer] == SIDE_BACKWARD && cut->of_tied[writer] != NONE &&
				cut->of_tied[op] == cut->of_tied[writer];
			if (!sum || making->stands[tensor] == NONE || done[tensor])
				continue;
			done[tensor] = true;
			rank_reduce(making, rank_named(making, making->stands[tensor]), graph->tensor[tensor].name,
				graph->op[op].module, graph->tensor[tensor].bytes);
		}
}

/* An offload says of how many microbatches the host holds what it moves. */
static struct op op_here(struct making *making, uint32_t id)
{
	const struct graph *graph = making->graph;
	struct op op = graph->op[id];
	uint32_t to = graph_results(graph, id) == 1 ? graph_result(graph, id, 0) : NONE;
	uint32_t held = to != NONE && graph_in_host(graph, to) && graph_operands(graph, id) == 1
		? making->held[storage_of(making, to)]
		: 0;
	int64_t bytes;
	if (held < 2)
		return op;
	bool large = __builtin_mul_overflow(
		held, graph->storage[storage_of(making, graph_operand(graph, id, 0))].bytes, &bytes);
	if (large || bytes > BYTES_MAX - making->in_host)
		stop(making,
			refuse(
				making->error, "%u microbatches offload more than 2^60 bytes at \"%.100s\"", held, op.name));
	else
		making->in_host += bytes;
	op.in_flight = held;
	return op;
}

/* Something else of the first part of its piece's backward pass follows an op here, perhaps behind views. */
static bool leads_on(const struct making *making, uint32_t id)
{
	const struct graph *graph = making->graph;
	const struct pipeline_cut *cut = making->cut;
	FOR_ITEMS(next, &graph->succ, id) {
		bool same = making->runs[next] && making->side[next] == SIDE_BACKWARD && !cut->weight[next] &&
			cut->piece[next] == cut->piece[id];
		if (same && (!cut->anywhere[next] || leads_on(making, next)))
			return true;
	}
	return false;
}

/* An op of the first part of a piece's backward pass, in which nothing follows it here. */
static bool ends_input(const struct making *making, uint32_t id)
{
	const struct pipeline_cut *cut = making->cut;
	return !making->updating && making->side[id] == SIDE_BACKWARD && !cut->weight[id] && !cut->anywhere[id] &&
		!leads_on(making, id);
}

/* Gradients of a piece's weights come behind the first part of its backward pass: those that read no others of them say
 * so. */
static void rank_hold_back(struct making *making, uint32_t id, uint32_t op)
{
	const struct graph *graph = making->graph;
	bool first = making->later[id];
	if (ends_input(making, id))
		making->sink[making->sinks++] = (struct sink) { op, making->cut->piece[id] };
	FOR_ITEMS(before, &graph->pred, id)
		first &= !making->later[before];
	FOR_WHILE(i, making->sinks, first)
		if (making->sink[i].piece == making->cut->piece[id])
			stop(making, draft_after(making->draft, op, making->sink[i].op));
}

/* Whether passes of this rank read what the op writes. */
static bool rank_is_read(const struct making *making, uint32_t id)
{
	FOR_ITEMS(written, &making->graph->writes, id)
		FOR_ITEMS(reader, &making->cut->readers, written)
			if (making->runs[reader] && making->side[reader] != SIDE_UPDATE)
				return true;
	return false;
}

/* Brings what it reads from other ranks here. Whether it waits for the copies in flight: an update that follows no
 * other. */
static bool rank_receive_operands(struct making *making, uint32_t id)
{
	const struct graph *graph = making->graph;
	bool waits = making->updating && making->flush != NONE;
	FOR_ITEMS(item, &graph->reads, id) {
		uint32_t tensor = making->stands[item], writer = tensor == NONE ? NONE : graph->tensor[tensor].writer;
		if (tensor != NONE && writer != NONE && !making->runs[writer] && making->local[tensor] == NONE &&
			!making->cut->joint[storage_of(making, tensor)])
			rank_receive(making, tensor, id);
		waits = waits && (writer == NONE || making->side[writer] != SIDE_UPDATE);
	}
	return waits;
}

static void rank_copy_reads(struct making *making, uint32_t id, uint32_t op)
{
	const struct graph *graph = making->graph;
	FOR_ITEMS(each, &graph->reads, id) {
		uint32_t tensor = making->stands[each], local = tensor == NONE ? NONE : rank_named(making, tensor);
		if (local == NONE)
			stop(making,
				refuse(making->error, "\"%.100s\" can't read \"%.100s\" on pipeline rank %u",
					graph->op[id].name, graph->tensor[each].name, making->rank));
		if (making->status != OK)
			return;
		stop(making, draft_read(making->draft, op, local));
	}
}

static void rank_copy_inplace(struct making *making, uint32_t id, uint32_t op)
{
	const struct graph *graph = making->graph;
	for (uint32_t i = graph->inplace_start[id]; i < graph->inplace_start[id + 1] && making->status == OK; i++) {
		const struct inplace *pair = &graph->inplace[i];
		uint32_t into = rank_written_over(making, pair->in);
		if (into == NONE)
			stop(making,
				refuse(making->error, "\"%.100s\" writes into what another pipeline rank holds",
					graph->op[id].name));
		else
			stop(making, draft_inplace(making->draft, op, pair->out == NONE ? NONE : making->local[pair->out], into));
	}
}

static void rank_copy_op(struct making *making, uint32_t id)
{
	const struct graph *graph = making->graph;
	bool waits = rank_receive_operands(making, id);
	struct op record = op_here(making, id);
	uint32_t op = making->status == OK ? made(making, draft_op(making->draft, &record)) : NONE;
	if (op == NONE)
		return;
	rank_copy_reads(making, id, op);
	if (making->status != OK)
		return;
	FOR_ITEMS(written, &graph->writes, id)
		if (making->status == OK && result(making, id, written) != NONE)
			stop(making, draft_write(making->draft, op, making->local[written]));
	rank_copy_inplace(making, id, op);
	if (waits)
		stop(making, draft_after(making->draft, op, making->flush));
	rank_hold_back(making, id, op);
	if (!making->updating && !rank_is_read(making, id))
		making->ends[making->ended++] = op;
}

/* What follows an op: transfers of its results, sums of gradients that are complete, numbers that are reduced. */
static void follow_op(struct making *making, uint32_t id)
{
	const struct graph *graph = making->graph;
	FOR_ITEMS(written, &graph->writes, id)
		send_all(making, written, making->side[id]);
	FOR_ITEMS(s, &graph->touches, id) {
		if (!making->updating && making->added[s] != NONE && making->last[s] == id && making->summed[s] == NONE)
			waiting_accumulate(making, s);
		if (making->alone[s] == id && making->status == OK)
			rank_reduce(making, making->local[graph->storage[s].root], graph->tensor[graph->storage[s].root].name,
				graph->op[id].module, graph->storage[s].bytes);
	}
}

/* What another rank's backward pass reads of this rank's forward pass leaves before that op's turn. */
static void send_late(struct making *making, uint32_t op)
{
	const struct pipeline_flow *flow = making->flow;
	FOR(i, flow->transfers) {
		const struct transfer *transfer = &flow->transfer[i];
		if (transfer->from == making->rank && !transfer->state && transfer->side < SIDE_UPDATE &&
			transfer->reader == op && making->local[transfer->tensor] != NONE)
			rank_send(making, i);
	}
}

static void forward_and_backward(struct making *making)
{
	const struct graph *graph = making->graph;
	bool *late;
	if (!ROOM(&making->arena, late, graph->ops))
		stop(making, NO_MEMORY);
	FOR_WHILE(i, making->flow->transfers, making->status == OK) {
		const struct transfer *transfer = &making->flow->transfer[i];
		uint32_t writer = transfer->state ? NONE : graph->tensor[transfer->tensor].writer;
		if (writer != NONE && transfer->from == making->rank && transfer->side > making->side[writer])
			late[transfer->reader] = true;
	}
	FOR_WHILE(i, graph->ops, making->status == OK) {
		uint32_t op = making->sequence[i];
		if (late[op])
			send_late(making, op);
		if (!making->runs[op] || making->side[op] == SIDE_UPDATE)
			continue;
		rank_copy_op(making, op);
		follow_op(making, op);
	}
}

/* Parameters that another rank updates, or that this one does for others. */
static void exchange_state(struct making *making)
{
	const struct pipeline_flow *flow = making->flow;
	FOR_WHILE(i, flow->transfers, making->status == OK) {
		const struct transfer *transfer = &flow->transfer[i];
		const struct tensor *tensor = &making->graph->tensor[transfer->tensor];
		if (!transfer->state)
			continue;
		if (transfer->from == making->rank)
			rank_send(making, i);
		if (transfer->to != making->rank || making->local[transfer->tensor] == NONE)
			continue;
		uint32_t op = communication(making, tensor->name, ".recv", COLLECTIVE_RECEIVE, "", 0, transfer->from);
		if (op != NONE)
			stop(making, draft_inplace(making->draft, op, NONE, making->local[transfer->tensor]));
		if (op != NONE && making->flush != NONE)
			stop(making, draft_after(making->draft, op, making->flush));
	}
}

static void update(struct making *making)
{
	const struct graph *graph = making->graph;
	const struct pipeline_flow *flow = making->flow;
	making->updating = true;
	reduce_tied(making);
	FOR_WHILE(i, flow->transfers, making->status == OK) {
		uint32_t writer = graph->tensor[flow->transfer[i].tensor].writer;
		if (flow->transfer[i].from == making->rank && !flow->transfer[i].state && making->side[writer] != SIDE_UPDATE)
			rank_send(making, i);
	}
	FOR_WHILE(op, graph->ops, making->status == OK)
		if (making->runs[op] && making->side[op] == SIDE_UPDATE) {
			rank_copy_op(making, op);
			follow_op(making, op);
		}
	exchange_state(making);
}

/* ---- all ---- */

static bool rank_start(struct making *making)
{
	const struct graph *graph = making->graph;
	struct arena *arena = &making->arena;
	making->draft = draft_new();
	bool fine = ROOMS(arena, graph->ops, making->runs, making->side, making->sequence, making->later) &&
		ROOMS(arena, graph->tensors, making->stands, making->local) &&
		ROOMS(arena, graph->storages, making->held, making->until, making->added, making->sum, making->summed,
			making->last, making->alone, making->holder) &&
		ROOM(arena, making->sent, making->flow->transfers) && ROOM(arena, making->sink,
		graph->ops + (size_t)making->flow->transfers) && ROOM(arena, making->ends,
		graph->ops + (size_t)graph->storages + making->flow->transfers) && making->draft;
	FOR_WHILE(s, graph->storages, fine)
		making->added[s] = making->sum[s] = making->summed[s] = making->last[s] = making->alone[s] = making->holder[s] =
			NONE;
	if (fine)
		FILL_NONE(making->local, graph->tensors);
	return fine;
}

/* In program order, but gradients of weights behind the last of the other ops of their piece's backward pass. */
static bool put_in_sequence(struct making *making)
{
	const struct graph *graph = making->graph;
	const struct pipeline_cut *cut = making->cut;
	uint32_t *last, at = 0;
	if (!ROOM(&making->arena, last, cut->pieces))
		return false;
	FOR(k, cut->pieces)
		last[k] = NONE;
	FOR(op, graph->ops)
		if (making->runs[op] && making->side[op] == SIDE_BACKWARD && !cut->weight[op] && !cut->anywhere[op])
			last[cut->piece[op]] = op;
	FOR(op, graph->ops) {
		bool reads_later = false;
		FOR_ITEMS(item, &graph->pred, op)
			reads_later |= making->later[item];
		making->later[op] = making->runs[op] && making->side[op] == SIDE_BACKWARD && cut->weight[op] &&
			cut_rank(cut, op) == making->rank && (!cut->anywhere[op] || reads_later);
	}
	FOR(op, graph->ops) {
		uint32_t k = cut->piece[op];
		if (making->later[op] && last[k] != NONE && op < last[k])
			continue;
		making->sequence[at++] = op;
		FOR_WHILE(before, op, last[k] == op)
			if (making->later[before] && cut->piece[before] == k)
				making->sequence[at++] = before;
	}
	return true;
}

static void rank_describe(struct making *making)
{
	const struct graph *graph = making->graph;
	struct about about = graph->about;
	about.ranks = making->cut->ranks;
	about.rank = making->rank;
	stop(making, draft_describe(making->draft, graph->name, graph->source, graph->extra, &about));
}

static void add_kept(struct kept_bytes *kept, enum until until, int64_t bytes)
{
	*(until == BETWEEN ? &kept->between : until == UNTIL_WEIGHT ? &kept->weight : &kept->input) += bytes;
}

struct graph *pipeline_rank_graph(const struct pipeline_cut *cut, const struct pipeline_flow *flow,
	const struct in_flight *in_flight, uint32_t microbatches, uint32_t rank, struct kept_bytes *kept,
	struct error *error)
{
	struct making making = { .cut = cut,
		.flow = flow,
		.graph = cut->graph,
		.in_flight = in_flight,
		.microbatches = microbatches,
		.rank = rank,
		.flush = NONE,
		.pass_send = NONE,
		.before_send = NONE,
		.error = error };
	struct graph *graph = NULL;
	if (!rank_start(&making)) {
		stop(&making, NO_MEMORY);
	} else {
		pipeline_rank_ops(cut, rank, making.runs, making.side, making.stands);
		if (!put_in_sequence(&making))
			stop(&making, NO_MEMORY);
		FOR_WHILE(i, cut->graph->ops, making.status == OK)
			if (making.runs[making.sequence[i]])
				waiting_note_uses(&making, making.sequence[i]);
		waiting_note_sends(&making);
		rank_describe(&making);
		forward_and_backward(&making);
		waiting_end(&making);
		update(&making);
	}
	FOR_WHILE(s, cut->graph->storages, kept && making.status == OK)
		for (uint32_t i = 0, tensor; (tensor = waiting_tensor(&making, s, &i)) != NONE;)
			add_kept(&kept[making.holder[s]], (enum until)making.until[s], cut->graph->tensor[tensor].bytes);
	if (error_set(error, making.status) == OK)
		graph = graph_build(making.draft, error);
	draft_free(making.draft);
	arena_free(&making.arena);
	return graph;
}
