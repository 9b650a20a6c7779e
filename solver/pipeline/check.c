/* check.c: verifies graphs of pipeline ranks and schedules. */

#include "check.h"

struct check {
	const struct graph *device;
	struct graph *const *rank;
	uint32_t ranks, microbatches;
	const struct held *in_flight;
	uint32_t **of; /* [ranks][tensors] the device's tensor that a rank's holds, or is a sum or a part of; NONE */
	bool **part;               /* [ranks][tensors] a part of a sum over ranks */
	bool *reduced;             /* [the device's tensors] such a sum is reduced over the ranks */
	uint32_t **copies;         /* [ranks][storages] the rank's tensor of other microbatches' copies, or NONE */
	uint32_t **sender;         /* [ranks][ops] of a receive, the other rank's send; NONE */
	uint32_t *runs;            /* [the device's ops] ranks that run it */
	bool *adds;                /* [the device's ops] an addition of two */
	struct arena arena;
	struct error *error;
};

static enum status pipeline_check_wrong(const struct check *check, uint32_t rank, const char *what, const char *name)
{
	return fail(check->error, INFEASIBLE, "pipeline rank %u: %s \"%.100s\"", rank, what, name);
}

/* Sends and receives, and sums over the ranks; not what a device's own graph has. */
static bool between_ranks(const struct op *op, enum collective_kind kind)
{
	return op->collective && op->collective->kind == kind && op->collective->rank != NONE;
}

/* Adds a microbatch's results to those of the others. */
static bool accumulates(const struct graph *graph, uint32_t op)
{
	const struct op *at = &graph->op[op];
	return at->of && !at->recomputed && !at->collective && graph_operands(graph, op) == 2 &&
		graph_results(graph, op) == 1;
}

/* ---- what tensors hold ---- */

/* The copies of other microbatches belong to the storage that holds this one's. */
static void identify(struct check *check, uint32_t r)
{
	const struct graph *graph = check->rank[r];
	FOR(s, graph->storages)
		check->copies[r][s] = NONE;
	FOR(t, graph->tensors) {
		const struct tensor *tensor = &graph->tensor[t];
		uint32_t here = tensor->relation == RELATION_COPIES ? graph_find_tensor(graph, tensor->of) : NONE;
		check->of[r][t] = graph_find_tensor(check->device, tensor->relation == RELATION_NONE ? tensor->name : tensor->of);
		if (here != NONE)
			check->copies[r][graph->tensor[here].storage] = t;
	}
}

/* The send of every receive, of the same tensor. */
static void find_senders(struct check *check, uint32_t r)
{
	const struct graph *graph = check->rank[r];
	FOR(op, graph->ops) {
		const struct op *to = &graph->op[op];
		check->sender[r][op] = NONE;
		if (!between_ranks(to, COLLECTIVE_RECEIVE) || to->collective->rank >= check->ranks || !to->of)
			continue;
		const struct graph *there = check->rank[to->collective->rank];
		FOR(other, there->ops) {
			const struct op *from = &there->op[other];
			if (between_ranks(from, COLLECTIVE_SEND) && from->collective->rank == r && from->of && strcmp(from->of, to->of) == 0)
				check->sender[r][op] = other;
		}
	}
}

/* A rank's tensor stands for one of the device's: it is that, or a summand of it at some depth. */
static bool stands_for(const struct check *check, uint32_t here, uint32_t wanted, bool *summand)
{
	const struct graph *device = check->device;
	if (here == wanted)
		return true;
	uint32_t writer = wanted == NONE ? NONE : device->tensor[wanted].writer;
	if (writer == NONE || !check->adds[writer])
		return false;
	*summand = true;
	FOR_ITEMS(read, &device->reads, writer)
		if (stands_for(check, here, read, summand))
			return true;
	return false;
}

static bool same_storage(const struct graph *device, uint32_t a, uint32_t b)
{
	return a != NONE && b != NONE && device->tensor[a].storage == device->tensor[b].storage;
}

/* The op that sends what a rank's op receives, and that rank; NONE. */
static uint32_t sender(const struct check *check, uint32_t r, uint32_t id, uint32_t *from)
{
	if (check->sender[r][id] != NONE)
		*from = check->rank[r]->op[id].collective->rank;
	return check->sender[r][id];
}

/* The tensor is of memory that is there before the step, to which ops of the passes add in place, no more. */
static bool pipeline_check_adds_up(const struct check *check, uint32_t r, uint32_t tensor)
{
	const struct graph *graph = check->rank[r];
	uint32_t s = graph->tensor[tensor].storage;
	bool any = false, all = graph->storage[s].allocator == NONE;
	FOR_ITEMS(user, &graph->users, s) {
		uint32_t of = graph_find_op(check->device, graph->op[user].name);
		FOR_SPAN(i, graph->inplace_start, user) {
			bool over = graph->tensor[graph->inplace[i].in].storage == s && graph->op[user].phase != PHASE_UPDATE;
			any |= over;
			all &= !over || (of != NONE && check->adds[of]);
		}
	}
	return any && all;
}

/* The sum of all microbatches, made here, sent, or in memory that each of them adds to. */
static bool pipeline_check_is_sum(const struct check *check, uint32_t r, uint32_t tensor)
{
	const struct graph *graph = check->rank[r];
	uint32_t root = graph_home(graph, tensor)->root, maker = graph->tensor[root].writer, from = 0;
	uint32_t send = maker == NONE ? NONE : sender(check, r, maker, &from);
	if (send == NONE || csr_length(&check->rank[from]->reads, send) != 1)
		return graph->tensor[root].relation == RELATION_SUM || pipeline_check_adds_up(check, r, tensor);
	return from != r &&
		pipeline_check_is_sum(check, from, graph_operand(check->rank[from], send, 0));
}

static bool pipeline_check_views(const struct graph *graph, uint32_t op, uint32_t s)
{
	bool all = graph_results(graph, op) > 0;
	FOR_ITEMS(written, &graph->writes, op)
		all &= graph->tensor[written].storage == s;
	return all;
}

/* ---- ops of the step ---- */

static enum status pipeline_check_op(struct check *check, uint32_t r, uint32_t id, uint32_t of)
{
	const struct graph *graph = check->rank[r], *device = check->device;
	bool part = false;
	check->runs[of]++;
	if (strcmp(graph->op[id].type, device->op[of].type) != 0 ||
		graph_operands(graph, id) != graph_operands(device, of) ||
		graph_results(graph, id) != graph_results(device, of))
		return pipeline_check_wrong(check, r, "is another op than the step's:", graph->op[id].name);
	FOR(k, graph_operands(graph, id)) {
		uint32_t here = graph_operand(graph, id, k),
				 wanted = graph_operand(device, of, k);
		bool summand = false;
		if (!stands_for(check, check->of[r][here], wanted, &summand))
			return pipeline_check_wrong(check, r, "another operand than the step's is read by", graph->op[id].name);
		uint32_t writer = device->tensor[wanted].writer;
		bool gradient = device->op[of].phase == PHASE_UPDATE && writer != NONE && device->op[writer].phase == PHASE_BACKWARD;
		if (check->microbatches > 1 && gradient && !pipeline_check_is_sum(check, r, here))
			return pipeline_check_wrong(check, r, "one microbatch's gradient is read by", graph->op[id].name);
		part |= (summand || check->part[r][here]) && !check->reduced[check->of[r][here]];
	}
	FOR_ITEMS(written, &graph->writes, id)
		check->part[r][written] = part;
	if (part && device->op[of].phase == PHASE_UPDATE)
		return pipeline_check_wrong(check, r, "a part of a sum over the ranks, not the sum, is read by", graph->op[id].name);
	return OK;
}

static enum status check_added(struct check *check, uint32_t r, uint32_t id)
{
	const struct graph *graph = check->rank[r];
	const struct op *op = &graph->op[id];
	uint32_t of = NONE;
	if (between_ranks(op, COLLECTIVE_ALL_REDUCE)) {
		uint32_t tensor = graph_operand(graph, id, 0);
		check->reduced[check->of[r][tensor]] = true;
		return OK;
	}
	if (between_ranks(op, COLLECTIVE_SEND) || between_ranks(op, COLLECTIVE_RECEIVE) || op->added == ADDED_FLUSH)
		return OK;
	if (accumulates(graph, id)) {
		uint32_t sum = graph_operand(graph, id, 0), what = graph_operand(graph, id, 1);
		of = graph_result(graph, id, 0);
		check->part[r][of] = check->part[r][what] || check->part[r][sum];
		if (same_storage(check->device, check->of[r][sum], check->of[r][what]) && check->of[r][of] == check->of[r][what]
			&& graph->tensor[of].storage == graph->tensor[sum].storage)
			return OK;
	}
	return pipeline_check_wrong(check, r, "is neither of the step nor between ranks:", op->name);
}

static enum status check_ops(struct check *check, uint32_t r)
{
	const struct graph *graph = check->rank[r];
	FOR(id, graph->ops) {
		uint32_t of = graph_find_op(check->device, graph->op[id].name);
		TRY(of != NONE ? pipeline_check_op(check, r, id, of) : check_added(check, r, id));
	}
	return OK;
}

/* Sums over ranks are reduced where an addition has its operands on different ranks. */
static void find_reduced(struct check *check)
{
	FOR(r, check->ranks)
		FOR(id, check->rank[r]->ops)
			if (between_ranks(&check->rank[r]->op[id], COLLECTIVE_ALL_REDUCE))
				check->reduced[check->of[r][graph_operand(check->rank[r], id, 0)]] = true;
}

/* ---- sums over ranks ---- */

/* Adds a mark to every tensor of the device's graph that a rank's tensor is made of by additions and what is done to
 * one operand alone. */
static void mark_summands(const struct check *check, uint32_t r, uint32_t tensor, uint32_t *marks)
{
	const struct graph *graph = check->rank[r];
	uint32_t writer = graph->tensor[tensor].writer;
	bool sum = writer != NONE && (accumulates(graph, writer) || between_ranks(&graph->op[writer], COLLECTIVE_RECEIVE));
	uint32_t of = writer == NONE || sum ? NONE : graph_find_op(check->device, graph->op[writer].name);
	if (writer != NONE && accumulates(graph, writer)) {
		mark_summands(check, r, graph_operand(graph, writer, 1), marks);
		return;
	}
	bool through = of != NONE && check->runs[of] > 1 && graph_operands(graph, writer) == 1;
	if (of != NONE && (through || check->adds[of]))
		FOR_ITEMS(read, &graph->reads, writer)
			mark_summands(check, r, read, marks);
	else
		marks[check->of[r][tensor]]++;
}

/* Marked itself, or all that it is the sum of: each once. */
static bool all_marked(const struct check *check, uint32_t tensor, const uint32_t *marks)
{
	const struct graph *device = check->device;
	uint32_t writer = device->tensor[tensor].writer;
	bool fine = writer != NONE && (check->adds[writer] || graph_operands(device, writer) == 1);
	if (marks[tensor] > 0)
		return marks[tensor] == 1;
	for (uint32_t i = writer == NONE ? 0 : device->reads.start[writer]; fine && i < device->reads.start[writer + 1]; i++)
		fine = all_marked(check, device->reads.item[i], marks);
	return fine;
}

/* What a reduction adds up over the ranks is the whole sum: every summand comes from one rank. */
static enum status check_reduction(struct check *check, const struct op *sum)
{
	uint32_t root = sum->of ? graph_find_tensor(check->device, sum->of) : NONE, *marks;
	if (!ROOM(&check->arena, marks, check->device->tensors))
		return fail_memory(check->error);
	if (root != NONE && check->device->tensor[root].writer != NONE &&
		check->device->op[check->device->tensor[root].writer].phase == PHASE_UPDATE)
		return OK;    /* a number that every rank has its own of */
	FOR(r, check->ranks) {
		uint32_t op = graph_find_op(check->rank[r], sum->name);
		if (op != NONE)
			mark_summands(check, r, graph_operand(check->rank[r], op, 0), marks);
	}
	return root != NONE && all_marked(check, root, marks)
		? OK
		: fail(check->error, INFEASIBLE, "\"%.100s\" doesn't add up the whole sum", sum->name);
}

static enum status check_reductions(struct check *check)
{
	enum status status = OK;
	FOR(r, check->ranks)
		FOR_WHILE(id, check->rank[r]->ops, status == OK)
			if (between_ranks(&check->rank[r]->op[id], COLLECTIVE_ALL_REDUCE))
				status = check_reduction(check, &check->rank[r]->op[id]);
	return status;
}

/* Every op is run; an addition that no rank runs has its summands added by a reduction. */
static enum status check_complete(const struct check *check)
{
	const struct graph *device = check->device;
	bool any = false;
	FOR(t, device->tensors)
		any |= check->reduced[t];
	FOR(op, device->ops)
		if (check->runs[op] == 0 && graph_results(device, op) + graph_operands(device, op) > 0 &&
			!(any && check->adds[op]))
			return fail(check->error, INFEASIBLE, "no pipeline rank runs \"%.100s\"", device->op[op].name);
	return OK;
}

/* ---- between ranks ---- */

static enum status check_received(const struct check *check, uint32_t r)
{
	const struct graph *graph = check->rank[r];
	uint32_t received = 0, from = 0;
	FOR(id, graph->ops) {
		if (!between_ranks(&graph->op[id], COLLECTIVE_RECEIVE))
			continue;
		uint32_t send = sender(check, r, id, &from);
		if (send == NONE || csr_length(&check->rank[from]->reads, send) != 1)
			return pipeline_check_wrong(check, r, "nobody sends what is received by", graph->op[id].name);
		uint32_t there = graph_operand(check->rank[from], send, 0);
		uint32_t here = graph_results(graph, id) == 1 ? graph_result(graph, id, 0)
			: graph->inplace[graph->inplace_start[id]].in;
		received++;
		if (!same_storage(check->device, check->of[r][here], check->of[from][there]) ||
			check->rank[from]->tensor[there].bytes != graph->tensor[here].bytes)
			return pipeline_check_wrong(check, r, "something else is sent than what is received by", graph->op[id].name);
	}
	uint32_t sent = 0;
	FOR(other, check->ranks)
		FOR(id, check->rank[other]->ops)
			sent += between_ranks(&check->rank[other]->op[id], COLLECTIVE_SEND) &&
				check->rank[other]->op[id].collective->rank == r;
	return sent == received ? OK
		: pipeline_check_wrong(check, r, "not everything that is sent there is received by",
								  check->rank[r]->name ? check->rank[r]->name : "");
}

/* Runs all ranks as far as they get: to the end, or they wait for each other. */
static enum status check_progress(struct check *check)
{
	uint32_t *next, left = 0;
	if (!ROOM(&check->arena, next, check->ranks))
		return fail_memory(check->error);
	for (bool moved = true; moved;) {
		moved = false;
		left = 0;
		FOR(r, check->ranks) {
			const struct graph *graph = check->rank[r];
			for (uint32_t from = 0; next[r] < graph->ops; next[r]++, moved = true) {
				uint32_t send = sender(check, r, next[r], &from);
				if (send != NONE && next[from] <= send)
					break;
			}
			left += next[r] < graph->ops;
		}
	}
	return left == 0 ? OK : fail(check->error, INFEASIBLE, "%u pipeline ranks wait for each other", left);
}

/* ---- what waits ---- */

/* Marks what comes before an op. */
static bool *pipeline_check_before(struct check *check, const struct graph *graph, uint32_t op)
{
	bool *marked;
	if (!ROOM(&check->arena, marked, graph->ops))
		return NULL;
	marked[op] = true;
	FOR_DOWN(id, op + 1)
		FOR_ITEMS(item, &graph->pred, id)
			marked[item] |= marked[id];
	return marked;
}

/* Forward ops whose results, through others, are sent on: they run in the forward pass, not when a backward op has them
 * made for itself. That a parameter which they read is written later, and sent, says nothing of them. */
static bool *sent_on(struct check *check, const struct graph *graph)
{
	bool *MAKE_IN(&check->arena, on, graph->ops);
	for (uint32_t op = graph->ops; on && op-- > 0;) {
		on[op] = between_ranks(&graph->op[op], COLLECTIVE_SEND);
		FOR_ITEMS(written, &graph->writes, op)
			FOR_ITEMS(after, &graph->users, graph->tensor[written].storage)
				on[op] |= after > op && graph->op[op].phase != PHASE_BACKWARD && on[after];
	}
	return on;
}

/* Ops of no backward pass, and needed by none, that need an update (an average of parameters); what only these need. */
static bool *behind_updates(struct check *check, const struct graph *graph)
{
	bool *MAKE_IN(&check->arena, behind, graph->ops);
	FOR_WHILE(op, graph->ops, behind) {
		behind[op] = graph->op[op].phase == PHASE_UPDATE;
		FOR_ITEMS(before, &graph->pred, op)
			behind[op] |= behind[before] && graph->op[op].phase != PHASE_BACKWARD;
	}
	for (uint32_t op = graph->ops; behind && op-- > 0;) {
		bool needed = false, all = csr_length(&graph->succ, op) > 0 && graph->op[op].phase != PHASE_BACKWARD;
		FOR_ITEMS(next, &graph->succ, op) {
			needed |= !behind[next] && graph->op[next].phase != PHASE_COMMUNICATION;
			all &= behind[next];
		}
		behind[op] = (behind[op] && !needed) || all;
	}
	return behind;
}

/* An activation: filled by a forward op, received before one reads it, or an input; read by a backward op. */
static bool pipeline_check_waits(const struct graph *graph, const bool *on, uint32_t s)
{
	uint32_t maker = graph->storage[s].allocator;
	bool forward = maker == NONE ? graph->storage[s].kind == KIND_INPUT
		: graph->op[maker].phase == PHASE_FORWARD && on[maker],
		 backward = false, early = false;
	FOR_ITEMS(op, &graph->users, s) {
		bool reads = !pipeline_check_views(graph, op, s);    /* a view reads nothing */
		backward |= op != maker && reads && graph->op[op].phase == PHASE_BACKWARD;
		early |= reads && graph->op[op].phase == PHASE_FORWARD && on[op];
	}
	if (maker != NONE && between_ranks(&graph->op[maker], COLLECTIVE_RECEIVE))
		forward = early;
	return forward && backward && graph->storage[s].bytes > 0;
}

/* Copies of what is in flight: no more than the schedule has, and none missing. */
static enum status pipeline_check_in_flight(struct check *check, uint32_t r, const bool *on)
{
	const struct graph *graph = check->rank[r];
	FOR(s, graph->storages) {
		const char *root = graph->tensor[graph->storage[s].root].name;
		uint32_t copies = check->copies[r][s];
		int64_t held = copies == NONE
			? 1
			: graph->tensor[copies].bytes / (graph->storage[s].bytes > 0 ? graph->storage[s].bytes : 1) + 1;
		if (copies != NONE && (held > check->in_flight[r].most || graph->tensor[copies].bytes % graph->storage[s].bytes != 0))
			return pipeline_check_wrong(check, r, "more copies in flight than the schedule has, of", root);
		if (pipeline_check_waits(graph, on, s) && copies == NONE && check->in_flight[r].least > 1 && graph->flush != NONE &&
			graph->storage[s].kind != KIND_OUTPUT)
			return pipeline_check_wrong(check, r, "no copies in flight are counted of", root);
	}
	return OK;
}

static enum status pipeline_check_waiting(struct check *check, uint32_t r)
{
	const struct graph *graph = check->rank[r];
	uint32_t flush = graph->flush;
	bool *marked = flush == NONE ? NULL : pipeline_check_before(check, graph, flush), *on = sent_on(check, graph),
		 *updated = behind_updates(check, graph);
	if (!on || !updated || (flush != NONE && !marked))
		return fail_memory(check->error);
	FOR_WHILE(op, graph->ops, marked)
		if ((graph->op[op].phase == PHASE_FORWARD || graph->op[op].phase == PHASE_BACKWARD) && !marked[op] &&
			!updated[op] && graph_operands(graph, op) > 0 &&
			!pipeline_check_views(graph, op, graph->tensor[graph_operand(graph, op, 0)].storage))
			return pipeline_check_wrong(check, r, "the copies in flight don't wait for", graph->op[op].name);
	return pipeline_check_in_flight(check, r, on);
}

/* The host holds what every microbatch in flight has offloaded. */
static enum status check_offloaded(struct check *check, uint32_t r)
{
	const struct graph *graph = check->rank[r];
	FOR(op, graph->ops) {
		uint32_t held = graph->op[op].in_flight > 0 ? graph->op[op].in_flight : 1;
		if (graph->op[op].added == ADDED_OFFLOAD && (held < check->in_flight[r].least || held > check->in_flight[r].most))
			return pipeline_check_wrong(
				check, r, "the host holds another number of microbatches than the schedule has of", graph->op[op].name);
	}
	return OK;
}

/* ---- all ranks ---- */

static bool pipeline_check_start(struct check *check, const struct rules *rules)
{
	bool fine = ROOMS(&check->arena, check->ranks, check->of, check->part, check->copies, check->sender) &&
		ROOM(&check->arena, check->reduced, check->device->tensors) &&
		ROOMS(&check->arena, check->device->ops, check->runs, check->adds);
	FOR_WHILE(op, check->device->ops, fine)
		check->adds[op] = (rules_traits(rules, check->device->op[op].type) & TRAIT_ADDITION) &&
			graph_operands(check->device, op) == 2 && graph_results(check->device, op) == 1;
	FOR_WHILE(r, check->ranks, fine) {
		check->of[r] = arena_alloc(&check->arena, check->rank[r]->tensors, sizeof **check->of);
		check->part[r] = arena_alloc(&check->arena, check->rank[r]->tensors, sizeof **check->part);
		check->copies[r] = arena_alloc(&check->arena, check->rank[r]->storages, sizeof **check->copies);
		check->sender[r] = arena_alloc(&check->arena, check->rank[r]->ops, sizeof **check->sender);
		fine = check->of[r] && check->part[r] && check->copies[r] && check->sender[r];
		if (fine) {
			identify(check, r);
			find_senders(check, r);
		}
	}
	return fine;
}

static enum status pipeline_check_all(struct check *check)
{
	find_reduced(check);
	FOR(r, check->ranks)
		TRY(check_ops(check, r));
	TRY(check_complete(check));
	TRY(check_reductions(check));
	FOR(r, check->ranks)
		TRY(check_received(check, r));
	TRY(check_progress(check));
	FOR(r, check->ranks)
		TRY(pipeline_check_waiting(check, r));
	FOR(r, check->ranks)
		TRY(check_offloaded(check, r));
	return OK;
}

enum status pipeline_check_ranks(const struct graph *device, const struct rules *rules, struct graph *const *rank,
	uint32_t ranks, uint32_t microbatches, const struct held *in_flight, struct error *error)
{
	struct check check = { .device = device,
		.rank = rank,
		.ranks = ranks,
		.microbatches = microbatches,
		.in_flight = in_flight,
		.error = error };
	enum status status = pipeline_check_start(&check, rules) ? OK : fail_memory(error);
	status = status == OK ? pipeline_check_all(&check) : status;
	arena_free(&check.arena);
	return status;
}

/* ---- schedules ---- */

struct playing {
	const struct pipeline *pipeline;
	bool folded, split;
	uint32_t passes;           /* of a rank in one direction */
	uint32_t slots;            /* of a rank */
	struct pipeline_slot *list;/* [ranks * slots] what a rank does, in order */
	int64_t *end[2];           /* [pieces * microbatches] when what a forward pass, or a backward one, sends leaves */
};

/* The n-th forward or backward pass of a rank: piece and microbatch. */
static size_t pipeline_check_nth(const struct playing *playing, uint32_t rank, uint32_t n, bool backward)
{
	const struct pipeline *of = playing->pipeline;
	uint32_t chunk = 0, microbatch = n;
	if (of->chunks > 1) {
		uint32_t round = n / (of->ranks * of->chunks), in_round = n % (of->ranks * of->chunks);
		chunk = in_round / of->ranks;
		microbatch = round * of->ranks + in_round % of->ranks;
	}
	chunk = backward ? of->chunks - 1 - chunk : chunk;
	microbatch = backward && of->schedule == SCHEDULE_GPIPE ? of->microbatches - 1 - microbatch : microbatch;
	return (size_t)(chunk * of->ranks + rank) * of->microbatches + microbatch;
}

/* Forward passes that a rank has begun when its n-th backward pass begins. */
static uint32_t ahead(const struct playing *playing, uint32_t rank, uint32_t n)
{
	const struct pipeline *of = playing->pipeline;
	uint32_t warm = of->schedule == SCHEDULE_GPIPE ? playing->passes
		: of->chunks > 1 ? 2 * (of->ranks - 1 - rank) + (of->chunks - 1) * of->ranks
		: of->ranks - 1 - rank;
	return SMALLER(warm + n + 1, playing->passes);
}

/* The order of a schedule that its definition tells; others are given. */
static void list_rank(struct playing *playing, uint32_t rank)
{
	struct pipeline_slot *slot = playing->list + (size_t)rank * playing->slots;
	uint32_t m = playing->pipeline->microbatches;
	for (uint32_t n = 0, forward = 0; n < playing->passes; n++) {
		for (; forward < ahead(playing, rank, n); forward++) {
			size_t at = pipeline_check_nth(playing, rank, forward, false);
			*slot++ = (struct pipeline_slot){
				.piece = (uint32_t)(at / m), .microbatch = (uint32_t)(at % m), .pass = PASS_FORWARD
			};
		}
		size_t at = pipeline_check_nth(playing, rank, n, true);
		*slot++ = (struct pipeline_slot){
			.piece = (uint32_t)(at / m), .microbatch = (uint32_t)(at % m), .pass = PASS_BACKWARD
		};
	}
}

/* Chunks lie on the ranks in turn, or every second one backwards. */
static uint32_t home(const struct playing *playing, uint32_t piece)
{
	uint32_t ranks = playing->pipeline->ranks, place = piece % ranks;
	return playing->folded && (piece / ranks) % 2 == 1 ? ranks - 1 - place : place;
}

/* Every pass of a rank's pieces once, after what it needs of the same rank. stage[pieces * microbatches]: what has been
 * done of it. */
static bool pipeline_check_in_order(const struct playing *playing, uint32_t rank, uint8_t *stage)
{
	enum { NOTHING, GONE_FORWARD, INPUT_DONE, ALL_DONE };
	const struct pipeline *of = playing->pipeline;
	const struct pipeline_slot *slot = playing->list + (size_t)rank * playing->slots;
	FOR(i, playing->slots) {
		static const struct { uint8_t before, after;
		} step[PASS_COUNT] = { [PASS_FORWARD] = { NOTHING, GONE_FORWARD },
			[PASS_BACKWARD] = { GONE_FORWARD, ALL_DONE },
			[PASS_INPUT] = { GONE_FORWARD, INPUT_DONE },
			[PASS_WEIGHT] = { INPUT_DONE, ALL_DONE } };
		if (slot[i].piece >= of->ranks * of->chunks || slot[i].microbatch >= of->microbatches ||
			slot[i].pass >= PASS_COUNT || home(playing, slot[i].piece) != rank)
			return false;
		uint8_t *at = &stage[(size_t)slot[i].piece * of->microbatches + slot[i].microbatch];
		if (*at != step[slot[i].pass].before || (playing->split && slot[i].pass == PASS_BACKWARD))
			return false;
		*at = step[slot[i].pass].after;
		bool last = i + 1 == playing->slots;
		if (slot[i].joined &&
			(last || slot[i].pass != PASS_INPUT || slot[i + 1].pass != PASS_WEIGHT ||
				slot[i + 1].piece != slot[i].piece || slot[i + 1].microbatch != slot[i].microbatch))
			return false;
		if (slot[i].overlapped && last)
			return false;
	}
	return true;
}

static bool all_in_order(const struct playing *playing, uint8_t *stage)
{
	const struct pipeline *of = playing->pipeline;
	FOR(rank, of->ranks)
		if (!pipeline_check_in_order(playing, rank, stage))
			return false;
	FOR_SIZE(i, (size_t)of->ranks * of->chunks * of->microbatches)
		if (stage[i] != 3)
			return false;
	return true;
}

static int64_t pipeline_check_sending(const struct playing *playing, uint32_t piece, bool backward)
{
	const struct pipeline *of = playing->pipeline;
	uint32_t to = backward ? piece - 1 : piece + 1;
	if (backward ? piece == 0 : to == of->ranks * of->chunks)
		return 0;
	return home(playing, to) == home(playing, piece) ? 0 : of->send[backward ? to : piece];
}

static int64_t length(const struct pipeline *of, const struct pipeline_slot *slot)
{
	int64_t weight = of->weight ? of->weight[slot->piece] : of->backward[slot->piece] / 2;
	return slot->pass == PASS_FORWARD ? of->forward[slot->piece] : slot->pass == PASS_BACKWARD ? of->backward[slot->piece]
		: slot->pass == PASS_INPUT ? of->backward[slot->piece] - weight : weight;
}

/* When the other ranks' results are there that a pass needs. */
static int64_t arrival(const struct playing *playing, const struct pipeline_slot *slot)
{
	const struct pipeline *of = playing->pipeline;
	size_t at = (size_t)slot->piece * of->microbatches + slot->microbatch;
	if (slot->pass == PASS_FORWARD)
		return slot->piece == 0
			? 0
			: playing->end[0][at - of->microbatches] + pipeline_check_sending(playing, slot->piece - 1, false);
	if (slot->pass == PASS_WEIGHT || slot->piece + 1 == of->ranks * of->chunks)
		return 0;
	return playing->end[1][at + of->microbatches] + pipeline_check_sending(playing, slot->piece + 1, true);
}

/* A pass and another one at a time: neither takes less than it does alone, nor both than what both compute, nor than
 * what both send. */
static int64_t beside_each_other(const struct pipeline *of, const struct pipeline_slot *slot, uint32_t count)
{
	int64_t alone = 0, other = 0, computed = 0, sent = 0;
	FOR(i, count) {
		const int64_t *links = slot[i].pass == PASS_WEIGHT ? NULL
			: slot[i].pass == PASS_FORWARD ? of->forward_link
			: of->backward_link;
		int64_t takes = length(of, &slot[i]), link = !links ? 0 : links[slot[i].piece] < takes ? links[slot[i].piece] : takes;
		bool first = i == 0 || (i == 1 && slot[0].joined);
		alone += first ? takes : 0;
		other += first ? 0 : takes;
		computed += takes - link;
		sent += link;
	}
	int64_t least = LARGER(alone, other);
	least = LARGER(computed, least);
	return LARGER(sent, least);
}

/* Passes that begin when all of them can and are over when all of them are: returns how many slots. */
static uint32_t pipeline_check_place(struct playing *playing, const struct pipeline_slot *slot, int64_t *free_at)
{
	const struct pipeline *of = playing->pipeline;
	bool beside = slot->overlapped && (slot[1].piece != slot->piece || slot[1].microbatch != slot->microbatch);
	uint32_t count = 1 + (slot->joined ? 1 : 0) + (beside ? 1 + (slot[1].joined ? 1 : 0) : 0);
	int64_t begin = *free_at, sends = 0;
	FOR(i, count) {
		int64_t there = arrival(playing, &slot[i]);
		begin = LARGER(there, begin);
	}
	begin += beside ? beside_each_other(of, slot, count) : length(of, &slot[0]) + (count > 1 ? length(of, &slot[1]) : 0);
	FOR(i, count) {
		if (slot[i].pass == PASS_WEIGHT)
			continue;
		playing->end[slot[i].pass != PASS_FORWARD][(size_t)slot[i].piece * of->microbatches + slot[i].microbatch] = begin;
		sends += pipeline_check_sending(playing, slot[i].piece, slot[i].pass != PASS_FORWARD);
	}
	*free_at = begin + (of->blocking ? sends : 0);
	return count;
}

/* All ranks' passes in their order. Returns the last end. */
static int64_t sweep(struct playing *playing)
{
	int64_t last = 0;
	FOR(r, playing->pipeline->ranks) {
		int64_t free_at = 0;
		for (uint32_t i = 0; i < playing->slots;)
			i += pipeline_check_place(playing, playing->list + (size_t)r * playing->slots + i, &free_at);
		last = LARGER(free_at, last);
	}
	return last;
}

/* What a rank holds of its chunks before and behind each pass. now, at[chunks]: of every kind, at a moment and when it
 * is most. */
static void count_held(
	const struct playing *playing, uint32_t rank, struct in_flight *now, struct in_flight *at, struct held *in_flight)
{
	const struct pipeline *of = playing->pipeline;
	const struct pipeline_slot *slot = playing->list + (size_t)rank * playing->slots;
	uint32_t most[3] = { 0 };
	*in_flight = (struct held) { UINT32_MAX, 1 };
	FOR(c, of->chunks)
		now[c] = at[c] = (struct in_flight) { 0, 0, 0 };
	uint32_t *top = &now[of->chunks].input;    /* the most of each chunk */
	FOR(i, playing->slots) {
		uint32_t c = slot[i].piece / of->ranks, sum[3] = { 0 };
		now[c].input += slot[i].pass == PASS_FORWARD;
		now[c].weight += slot[i].pass == PASS_FORWARD;
		now[c].between += slot[i].pass == PASS_INPUT;
		FOR(k, of->chunks) {
			sum[0] += now[k].weight;
			sum[1] += now[k].input;
			sum[2] += now[k].between;
		}
		top[3 * c] = LARGER(now[c].weight, top[3 * c]);
		bool more = sum[0] > most[0] || (sum[0] == most[0] && (sum[1] > most[1] || (sum[1] == most[1] && sum[2] > most[2])));
		FOR_WHILE(k, of->chunks, more)
			at[k] = now[k];
		if (more)
			memcpy(most, sum, sizeof sum);
		now[c].input -= slot[i].pass == PASS_INPUT || slot[i].pass == PASS_BACKWARD;
		now[c].weight -= slot[i].pass == PASS_WEIGHT || slot[i].pass == PASS_BACKWARD;
		now[c].between -= slot[i].pass == PASS_WEIGHT;
	}
	FOR(c, of->chunks) {
		in_flight->most = LARGER(top[3 * c], in_flight->most);
		in_flight->least = SMALLER(top[3 * c], in_flight->least);
		top[3 * c] = 0;
	}
	if (playing->split)    /* how many wait differs from tensor to tensor, and is compared with counts[] */
		in_flight->least = 1;
}

/* Sweeps until nothing moves; -1: it never does. */
static int64_t pipeline_check_settle(struct playing *playing, size_t cells)
{
	uint64_t before = 0;
	FOR_SIZE(round, 2 * cells + 2) {
		int64_t now = sweep(playing);
		uint64_t sum = 0;
		FOR_SIZE(i, cells)
			sum += (uint64_t)playing->end[0][i] + (uint64_t)playing->end[1][i];
		if (round > 0 && sum == before)
			return now;
		before = sum;
	}
	return -1;
}

int64_t pipeline_check_time(const struct pipeline *pipeline, struct held *in_flight, struct in_flight *counts)
{
	struct playing playing = { .pipeline = pipeline, .passes = pipeline->microbatches * pipeline->chunks };
	size_t cells = (size_t)pipeline->ranks * pipeline->chunks * pipeline->microbatches;
	OWN(arena) arena = { 0 };
	playing.folded = pipeline->order && pipeline->order->folded;
	playing.split = pipeline->order && pipeline->order->split;
	playing.slots = (playing.split ? 3 : 2) * playing.passes;
	ROOM(&arena, playing.list, (size_t)pipeline->ranks * playing.slots + 2);
	ROOM(&arena, playing.end[0], cells);
	ROOM(&arena, playing.end[1], cells);
	uint8_t *MAKE_IN(&arena, stage, cells);
	struct in_flight *MAKE_IN(&arena, held, 3 * (size_t)pipeline->chunks);
	int64_t time = -1;
	if (playing.list && playing.end[0] && playing.end[1] && stage && held) {
		FOR_WHILE(r, pipeline->ranks, !pipeline->order)
			list_rank(&playing, r);
		if (pipeline->order)
			COPY(playing.list, pipeline->order->slot, (size_t)pipeline->ranks * playing.slots);
		if (all_in_order(&playing, stage))
			time = pipeline_check_settle(&playing, cells);
		FOR_WHILE(r, pipeline->ranks, time >= 0) {
			struct in_flight *at = held + 2 * (size_t)pipeline->chunks;
			count_held(&playing, r, held, at, &in_flight[r]);
			FOR_WHILE(c, pipeline->chunks, counts)
				counts[c * pipeline->ranks + (playing.folded && c % 2 ? pipeline->ranks - 1 - r : r)] = at[c];
		}
	}
	return time;
}
