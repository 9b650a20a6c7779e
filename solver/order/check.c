/* check.c: verifying a bound's certificate, without the code that made it. */
#include <inttypes.h>

#include "order.h"

/* check_precedence: verifies a bound by precedences, without the code that found them.
 *
 * Each precedence must follow from the earlier ones: forcing its other op to the wrong side of the state at its op
 * costs the bound or more. Flows are sought anew, by shortest augmenting paths (Edmonds, Karp 1972). */

#define UNLIMITED (INT64_C(1) << 61)

/* Ops, then the start, then the end, then items: an item is a node with its bytes on the arc into it. */
struct network {
	const struct problem *problem;
	const struct order_arc *edge;
	uint32_t edges;                /* of the precedences, those to be kept */
	uint32_t nodes, arcs;
	uint32_t *head, *next, *to;    /* lists of arcs; 2 k + 1 is the reverse of 2 k */
	int64_t *left;
	uint32_t *into, *queue;        /* node -> the arc that reached it */
	bool *before, *behind;         /* op -> it is in the state; it can't be, the state's op included */
};

static void check_precedence_join(struct network *network, uint32_t from, uint32_t to, int64_t capacity)
{
	FOR_INT(back, 2) {
		network->to[network->arcs] = back ? from : to;
		network->left[network->arcs] = back ? 0 : capacity;
		network->next[network->arcs] = network->head[back ? to : from];
		network->head[back ? to : from] = network->arcs++;
	}
}

static bool check_precedence_is_free(const struct network *network, uint32_t op)
{
	return !network->before[op] && !network->behind[op];
}

/* The node of an op: the start or the end where its side is known. */
static uint32_t check_precedence_node_of(const struct network *network, uint32_t op)
{
	uint32_t start = network->problem->ops;
	return network->before[op] ? start : network->behind[op] ? start + 1 : op;
}

/* One pass of check_precedence_mark() over the dependencies: true when it has marked an op. */
static bool mark_along(const struct problem *problem, bool earlier, bool *marked)
{
	const struct csr *rows = earlier ? &problem->pred : &problem->succ;
	bool changed = false;
	FOR(i, problem->ops) {
		uint32_t op = problem->program[earlier ? problem->ops - 1 - i : i];
		FOR_ITEMS(row, rows, op)
			if (marked[op] && !marked[row])
				changed = marked[row] = true;
	}
	return changed;
}

/* Marks all that must run earlier, or later, than what is marked, over dependencies and precedences. */
static void check_precedence_mark(const struct network *network, bool earlier, bool *marked)
{
	bool changed = true;
	while (changed) {
		changed = mark_along(network->problem, earlier, marked);
		FOR(i, network->edges) {
			uint32_t from = earlier ? network->edge[i].from : network->edge[i].to;
			uint32_t to = earlier ? network->edge[i].to : network->edge[i].from;
			if (marked[from] && !marked[to])
				changed = marked[to] = true;
		}
	}
}

/* The sides of all ops while op runs, with another op forced to be in the state or behind it (NONE: none). False: they
 * contradict each other, so there is no such state. */
static bool set_sides(struct network *network, uint32_t op, uint32_t other, bool inside)
{
	uint32_t ops = network->problem->ops;
	CLEAR(network->before, ops);
	CLEAR(network->behind, ops);
	network->before[op] = network->behind[op] = true;
	if (other != NONE)
		(inside ? network->before : network->behind)[other] = true;
	check_precedence_mark(network, true, network->before);
	check_precedence_mark(network, false, network->behind);
	network->before[op] = false;
	FOR(i, ops)
		if (network->before[i] && network->behind[i])
			return false;
	return true;
}

static void check_precedence_build(struct network *network)
{
	const struct problem *problem = network->problem;
	uint32_t start = problem->ops, end = problem->ops + 1;
	network->arcs = 0;
	FILL_NONE(network->head, network->nodes);
	FOR(item, problem->items) {
		uint32_t node = problem->ops + 2 + item, producer = problem->producer[item];
		uint32_t from = producer == NONE ? start : check_precedence_node_of(network, producer);
		if (from == end)
			continue;
		check_precedence_join(network, from, node, problem->size[item]);
		if (problem->live_out[item])
			check_precedence_join(network, node, end, UNLIMITED);
		FOR_ITEMS(user, &problem->users, item)
			if (check_precedence_node_of(network, user) != start)
				check_precedence_join(network, node, check_precedence_node_of(network, user), UNLIMITED);
	}
	FOR(op, problem->ops)
		FOR_ITEMS(before, &problem->pred, op)
			if (check_precedence_is_free(network, op) && check_precedence_is_free(network, before))
				check_precedence_join(network, op, before, UNLIMITED);
	FOR(i, network->edges)
		if (check_precedence_is_free(network, network->edge[i].from) &&
			check_precedence_is_free(network, network->edge[i].to))
			check_precedence_join(network, network->edge[i].from, network->edge[i].to, UNLIMITED);
}

/* Pushes along a shortest path. Returns the bytes pushed; 0: there is none. */
static int64_t augment(struct network *network)
{
	uint32_t start = network->problem->ops, end = start + 1, head = 0, tail = 0;
	int64_t amount = UNLIMITED;
	FILL_NONE(network->into, network->nodes);
	network->queue[tail++] = start;
	while (head < tail && network->into[end] == NONE) {
		uint32_t node = network->queue[head++];
		for (uint32_t arc = network->head[node]; arc != NONE; arc = network->next[arc])
			if (network->left[arc] > 0 && network->to[arc] != start && network->into[network->to[arc]] == NONE) {
				network->into[network->to[arc]] = arc;
				network->queue[tail++] = network->to[arc];
			}
	}
	if (network->into[end] == NONE)
		return 0;
	for (uint32_t node = end; node != start; node = network->to[network->into[node] ^ 1])
		amount = smaller_of(amount, network->left[network->into[node]]);
	for (uint32_t node = end; node != start; node = network->to[network->into[node] ^ 1]) {
		network->left[network->into[node]] -= amount;
		network->left[network->into[node] ^ 1] += amount;
	}
	return amount;
}

/* Whether running op with `other` in the state, or behind it, takes the bound or more. */
static bool costs(struct network *network, uint32_t op, uint32_t other, bool inside, int64_t bound)
{
	const struct problem *problem = network->problem;
	int64_t bytes = problem->base + problem->workspace[op], more;
	if (!set_sides(network, op, other, inside))
		return true;
	FOR_ITEMS(product, &problem->products, op)
		bytes += problem->size[product];
	check_precedence_build(network);
	while (bytes < bound && (more = augment(network)) > 0)
		bytes += more;
	return bytes >= bound;
}

static enum status check_edges(struct network *network, const struct order_certificate *certificate, int64_t bound,
	struct error *error)
{
	uint32_t ops = network->problem->ops;
	FOR(i, certificate->arcs) {
		const struct order_arc *edge = &certificate->arc[i];
		if (edge->from >= ops || edge->to >= ops || edge->from == edge->to)
			return refuse(error, "the certificate has a precedence that names no two ops");
		network->edges = i;
		uint32_t at = edge->flow ? edge->to : edge->from, other = edge->flow ? edge->from : edge->to;
		if (!costs(network, at, other, edge->flow != 0, bound))
			return refuse(error, "precedence %" PRIu32 " doesn't follow from the ones before it", i);
	}
	network->edges = certificate->arcs;
	if (!costs(network, certificate->op, NONE, false, bound))
		return refuse(error, "with all precedences the op doesn't need %" PRId64 " bytes", bound);
	return OK;
}

/* OK, or BAD_INPUT with the reason. One maximum flow for each precedence: O(precedences * items * problem) at worst. */
static enum status order_check_precedence(
	const struct problem *problem, const struct order_certificate *certificate, int64_t bound, struct error *error)
{
	OWN(arena) arena = { 0 };
	size_t arcs = 2 *
		((size_t)problem->pred.start[problem->ops] + problem->users.start[problem->items] + 2 * (size_t)problem->items +
			certificate->arcs);
	struct network network = { .problem = problem, .edge = certificate->arc, .nodes = problem->ops + 2 + problem->items };
	if (certificate->op >= problem->ops)
		return refuse(error, "the certificate names no op");
	ROOM(&arena, network.before, problem->ops);
	ROOM(&arena, network.behind, problem->ops);
	NEED(ROOMS(&arena, network.nodes, network.head, network.into, network.queue) &&
		ROOMS(&arena, arcs, network.next, network.to, network.left));
	NEED(network.before && network.behind);
	return check_edges(&network, certificate, bound, error);
}

#define X(id, name) name,
const char *const order_proof_names[ORDER_PROOF_COUNT] = { ORDER_PROOFS(X) };
#undef X

enum side { FREE, SOURCE, SINK };

/* Marks everything reachable from op along the rows of arcs, op itself left out. */
static enum status order_check_mark_reachable(
	const struct csr *arcs, uint32_t ops, uint32_t op, enum side mark, enum side *side)
{
	HELD uint32_t *MAKE(stack, ops);
	NEED(stack);
	uint32_t depth = 0;
	stack[depth++] = op;
	while (depth > 0) {
		uint32_t at = stack[--depth];
		FOR_ITEMS(arc, arcs, at)
			if (side[arc] != mark) {
				side[arc] = mark;
				stack[depth++] = arc;
			}
	}
	return OK;
}

/* Ancestors of op are sources; op and its descendants are sinks. */
static enum status order_check_mark_sides(const struct problem *problem, uint32_t op, enum side *side)
{
	TRY(order_check_mark_reachable(&problem->pred, problem->ops, op, SOURCE, side));
	TRY(order_check_mark_reachable(&problem->succ, problem->ops, op, SINK, side));
	side[op] = SINK;
	return OK;
}

static int64_t working_set(const struct problem *problem, uint32_t op)
{
	int64_t bytes = problem->workspace[op];
	FOR_ITEMS(product, &problem->products, op)
		bytes += problem->size[product];
	return bytes;
}

static int64_t alive_bound(const struct problem *problem, uint32_t op, const enum side *side)
{
	int64_t bytes = problem->base + working_set(problem, op);
	FOR(item, problem->items) {
		uint32_t producer = problem->producer[item];
		bool made = producer == NONE || side[producer] == SOURCE, needed = problem->live_out[item];
		FOR_ITEMS(user, &problem->users, item)
			needed |= side[user] == SINK;
		if (made && needed)
			bytes += problem->size[item];
	}
	return bytes;
}

static bool order_check_has(const struct csr *csr, uint32_t row, uint32_t item)
{
	FOR_ITEMS(each, csr, row)
		if (each == item)
			return true;
	return false;
}

/* What the flow does: bytes out of each item, and in minus out of each op. */
struct balance {
	int64_t *item, *op;
	int64_t value;         /* into sinks */
};

/* False: no flow is so large. */
static bool add_flow(uint32_t from, const struct order_arc *arc, const enum side *side, struct balance *balance)
{
	/* Sinks count net, so that flow from a sink to elsewhere is not counted twice. */
	if (from != NONE) {
		balance->op[from] -= arc->flow;
		balance->value -= side[from] == SINK ? arc->flow : 0;
	}
	if (arc->to != NONE)
		balance->op[arc->to] += arc->flow;
	balance->value += arc->to == NONE || side[arc->to] == SINK ? arc->flow : 0;
	bool absurd = from != NONE && balance->op[from] < -BYTES_MAX;
	absurd |= arc->to != NONE && balance->op[arc->to] > BYTES_MAX;
	absurd |= balance->value > BYTES_MAX || balance->value < -BYTES_MAX;
	return !absurd;
}

static enum status add_arc(const struct problem *problem, const struct order_arc *arc, const enum side *side,
	struct balance *balance, struct error *error)
{
	if (arc->flow <= 0 || arc->flow > BYTES_MAX)
		return refuse(error, "the certificate has an arc with a flow of %" PRId64, arc->flow);
	if (arc->to != NONE && arc->to >= problem->ops)
		return refuse(error, "the certificate has an arc to no op");
	uint32_t from = arc->from;
	if (arc->item == NONE) {
		if (from >= problem->ops || arc->to == NONE || !order_check_has(&problem->pred, from, arc->to))
			return refuse(error, "the certificate has an arc that is not a dependency");
	} else {
		if (arc->item >= problem->items || arc->from != NONE)
			return refuse(error, "the certificate has an arc from no item");
		if (arc->to == NONE ? !problem->live_out[arc->item] : !order_check_has(&problem->users, arc->item, arc->to))
			return refuse(error, "the certificate has an arc from an item to an op that does not use it");
		from = problem->producer[arc->item];
		balance->item[arc->item] += arc->flow;
		if (balance->item[arc->item] > problem->size[arc->item])
			return refuse(error, "the certificate's flow exceeds an item's bytes");
	}
	return add_flow(from, arc, side, balance) ? OK : refuse(error, "the certificate's flow is out of range");
}

static enum status order_check_flow(const struct problem *problem, const struct order_certificate *certificate,
	const enum side *side, int64_t *value, struct error *error)
{
	struct balance balance = {
		mem_alloc(problem->items, sizeof *balance.item), mem_alloc(problem->ops, sizeof *balance.op), 0
	};
	enum status status = balance.item && balance.op ? OK : NO_MEMORY;
	FOR_WHILE(i, certificate->arcs, status == OK)
		status = add_arc(problem, &certificate->arc[i], side, &balance, error);
	FOR_WHILE(op, problem->ops, status == OK)
		if (side[op] == FREE && balance.op[op] != 0)
			status = refuse(error, "the certificate's flow is not conserved at an op");
	*value = balance.value;
	mem_free(balance.item);
	mem_free(balance.op);
	return status;
}

static int64_t largest_working_set(const struct problem *problem)
{
	int64_t largest = 0;
	FOR(op, problem->ops)
		largest = working_set(problem, op) > largest ? working_set(problem, op) : largest;
	return problem->base + largest;
}

static enum status check_at_op(const struct problem *problem, const struct order_certificate *certificate,
	int64_t *proved, struct error *error)
{
	uint32_t op = certificate->op;
	if (op >= problem->ops)
		return refuse(error, "the certificate names no op");
	HELD enum side *MAKE(side, problem->ops);
	enum status status = side ? order_check_mark_sides(problem, op, side) : NO_MEMORY;
	if (status == OK && certificate->proof == ORDER_PROOF_ALIVE) {
		*proved = alive_bound(problem, op, side);
	} else if (status == OK) {
		int64_t flow = 0;
		status = order_check_flow(problem, certificate, side, &flow, error);
		*proved = problem->base + working_set(problem, op) + flow;
	}
	return status;
}

enum status order_check_certificate(const struct problem *problem, const struct order_certificate *certificate,
	int64_t bound, struct error *error)
{
	int64_t proved = largest_working_set(problem);
	enum status status = OK;
	switch (certificate->proof) {    /* no default: the compiler names a proof that is forgotten */
	case ORDER_PROOF_ALIVE: case ORDER_PROOF_CUT:
		status = check_at_op(problem, certificate, &proved, error);
		break;
	case ORDER_PROOF_PRECEDENCE:
		return order_check_precedence(problem, certificate, bound, error);
	case ORDER_PROOF_SERIES: case ORDER_PROOF_SEARCH:
		status = refuse(error, "the bound rests on a search: it must be repeated");
		break;
	case ORDER_PROOF_CONTRADICTED:
		proved = 0;
		break;
	case ORDER_PROOF_NONE: case ORDER_PROOF_COUNT:
		break;
	}
	if (status == OK && proved < bound)
		status = refuse(error, "the certificate proves %" PRId64 " bytes, not %" PRId64, proved, bound);
	return status;
}
