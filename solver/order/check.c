/* check.c: verifying a bound's certificate, without the code that made it. */
#include <inttypes.h>

#include "check_precedence.h"
#include "order.h"

#define X(id, name) name,
const char *const order_proof_names[ORDER_PROOF_COUNT] = { ORDER_PROOFS(X) };
#undef X

enum side { FREE, SOURCE, SINK };

/* Marks everything reachable from op along the rows of arcs, op itself left out. */
static enum status order_check_mark_reachable(
	const struct csr *arcs, uint32_t ops, uint32_t op, enum side mark, enum side *side)
{
	uint32_t *stack = mem_alloc(ops, sizeof *stack);
	NEED(stack);
	uint32_t depth = 0;
	stack[depth++] = op;
	while (depth > 0) {
		uint32_t at = stack[--depth];
		FOR_ROW(i, arcs, at)
			if (side[arcs->item[i]] != mark) {
				side[arcs->item[i]] = mark;
				stack[depth++] = arcs->item[i];
			}
	}
	mem_free(stack);
	return OK;
}

/* Ancestors of op are sources; op and its descendants are sinks. */
static enum status order_check_mark_sides(const struct problem *problem, uint32_t op, enum side *side)
{
	enum status status = order_check_mark_reachable(&problem->pred, problem->ops, op, SOURCE, side);
	THEN(status, order_check_mark_reachable(&problem->succ, problem->ops, op, SINK, side));
	side[op] = SINK;
	return status;
}

static int64_t working_set(const struct problem *problem, uint32_t op)
{
	int64_t bytes = problem->workspace[op];
	FOR_ROW(i, &problem->products, op)
		bytes += problem->size[problem->products.item[i]];
	return bytes;
}

static int64_t alive_bound(const struct problem *problem, uint32_t op, const enum side *side)
{
	int64_t bytes = problem->base + working_set(problem, op);
	for (uint32_t item = 0; item < problem->items; item++) {
		uint32_t producer = problem->producer[item];
		bool made = producer == NONE || side[producer] == SOURCE, needed = problem->live_out[item];
		FOR_ROW(i, &problem->users, item)
			needed |= side[problem->users.item[i]] == SINK;
		if (made && needed)
			bytes += problem->size[item];
	}
	return bytes;
}

static bool order_check_has(const struct csr *csr, uint32_t row, uint32_t item)
{
	FOR_ROW(i, csr, row)
		if (csr->item[i] == item)
			return true;
	return false;
}

/* What the flow does: bytes out of each item, and in minus out of each op. */
struct balance {
	int64_t *item, *op;
	int64_t value;         /* into sinks */
};

static enum status add_arc(const struct problem *problem, const struct order_arc *arc, const enum side *side,
	struct balance *balance, struct error *error)
{
	if (arc->flow <= 0 || arc->flow > BYTES_MAX)
		return fail(error, BAD_INPUT, "the certificate has an arc with a flow of %" PRId64, arc->flow);
	if (arc->to != NONE && arc->to >= problem->ops)
		return fail(error, BAD_INPUT, "the certificate has an arc to no op");
	uint32_t from = arc->from;
	if (arc->item == NONE) {
		if (from >= problem->ops || arc->to == NONE || !order_check_has(&problem->pred, from, arc->to))
			return fail(error, BAD_INPUT, "the certificate has an arc that is no dependency");
	} else {
		if (arc->item >= problem->items || arc->from != NONE)
			return fail(error, BAD_INPUT, "the certificate has an arc from no item");
		if (arc->to == NONE ? !problem->live_out[arc->item] : !order_check_has(&problem->users, arc->item, arc->to))
			return fail(error, BAD_INPUT, "the certificate has an arc from an item to an op that does not use it");
		from = problem->producer[arc->item];
		balance->item[arc->item] += arc->flow;
		if (balance->item[arc->item] > problem->size[arc->item])
			return fail(error, BAD_INPUT, "the certificate's flow exceeds an item's bytes");
	}
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
	return absurd ? fail(error, BAD_INPUT, "the certificate's flow is out of range") : OK;
}

static enum status order_check_flow(const struct problem *problem, const struct order_certificate *certificate,
	const enum side *side, int64_t *value, struct error *error)
{
	struct balance balance = {
		mem_alloc(problem->items, sizeof *balance.item), mem_alloc(problem->ops, sizeof *balance.op), 0
	};
	enum status status = balance.item && balance.op ? OK : NO_MEMORY;
	for (uint32_t i = 0; status == OK && i < certificate->arcs; i++)
		status = add_arc(problem, &certificate->arc[i], side, &balance, error);
	for (uint32_t op = 0; status == OK && op < problem->ops; op++)
		if (side[op] == FREE && balance.op[op] != 0)
			status = fail(error, BAD_INPUT, "the certificate's flow is not conserved at an op");
	*value = balance.value;
	mem_free(balance.item);
	mem_free(balance.op);
	return status;
}

static int64_t largest_working_set(const struct problem *problem)
{
	int64_t largest = 0;
	for (uint32_t op = 0; op < problem->ops; op++)
		largest = working_set(problem, op) > largest ? working_set(problem, op) : largest;
	return problem->base + largest;
}

static enum status check_at_op(const struct problem *problem, const struct order_certificate *certificate,
	int64_t *proved, struct error *error)
{
	uint32_t op = certificate->op;
	if (op >= problem->ops)
		return fail(error, BAD_INPUT, "the certificate names no op");
	HELD enum side *side = mem_alloc(problem->ops, sizeof *side);
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
	case ORDER_PROOF_SEARCH:
		status = fail(error, BAD_INPUT, "the bound rests on a search: it must be run again");
		break;
	case ORDER_PROOF_CONTRADICTED:
		proved = 0;
		break;
	case ORDER_PROOF_NONE: case ORDER_PROOF_COUNT:
		break;
	}
	if (status == OK && proved < bound)
		status = fail(error, BAD_INPUT, "the certificate proves %" PRId64 " bytes, not %" PRId64, proved, bound);
	return status;
}
