/* seeds.c: fast orders that the deeper steps start from.
 *
 * No seed dominates the others on real graphs, so the solver runs them all. */
#include <stdlib.h>

#include "job.h"
#include "solver/base/sort.h"

/* ---- by priority ---- */

enum status order_by_priority(
	const struct order_model *model, const uint8_t *group, const uint32_t *priority, uint32_t *order)
{
	OWN(arena) arena = { 0 };
	struct order_heap heap;
	uint32_t *waiting = NULL;
	NEED(ROOM(&arena, waiting, model->ops));
	TRY(order_heap_init(&heap, model->ops, &arena));
	FOR(op, model->ops) {
		waiting[op] = csr_length(&model->pred, op);
		if (waiting[op] == 0)
			order_heap_put(&heap, op, group ? group[op] : 0, priority[op]);
	}
	FOR(n, model->ops) {
		uint32_t op = order[n] = order_heap_top(&heap);
		order_heap_remove(&heap, op);
		FOR_ITEMS(next, &model->succ, op)
			if (--waiting[next] == 0)
				order_heap_put(&heap, next, group ? group[next] : 0, priority[next]);
	}
	return OK;
}

/* ---- depth first ---- */

/* What the search prefers among operands: most other users above it, then most bytes above it. */
struct operand {
	int64_t users, bytes;
	uint32_t op;
};

COMPARATOR(compare_operands, struct operand, COMPARE(b->users, a->users, COMPARE(b->bytes, a->bytes, COMPARE(a->op,
	b->op, 0))))

/* Sums over all paths from above, capped like XLA's: users at the number of ops, bytes at all bytes so far. */
static void weigh_operands(
	const struct order_model *model, const uint32_t *topological, bool *seen, struct operand *operand)
{
	int64_t all = 0;
	FOR(i, model->ops) {
		uint32_t op = topological[i], users = csr_length(&model->succ, op);
		int64_t produced = 0;
		FOR_ITEMS(item, &model->touch, op) {
			if (!seen[item] && !model->from_start[item])
				produced += model->size[item];
			seen[item] = true;
		}
		all += produced;
		operand[op] = (struct operand) { users ? users - 1 : 0, produced, op };
		FOR_ITEMS(before, &model->pred, op) {
			operand[op].users = smaller_of(operand[op].users + operand[before].users, model->ops);
			operand[op].bytes = smaller_of(operand[op].bytes + operand[before].bytes, all);
		}
	}
}

/* operands: op -> its predecessors, best first. One sort of all ops serves every row. */
static enum status sort_operands(
	const struct order_model *model, struct operand *operand, struct arena *arena, struct csr *operands)
{
	operands->start = model->pred.start;
	uint32_t *fill;
	NEED(ROOM(arena, operands->item, model->pred.start[model->ops]) && ROOM(arena, fill, model->ops));
	SORT(operand, model->ops, compare_operands);
	FOR(n, model->ops)
		FOR_ITEMS(user, &model->succ, operand[n].op)
			operands->item[operands->start[user] + fill[user]++] = operand[n].op;
	return OK;
}

static void visit_post_order(
	const struct order_model *model, const struct csr *operands, uint32_t *stack, uint32_t *next, uint32_t *order)
{
	uint32_t done = 0;
	FOR(sink, model->ops) {
		if (csr_length(&model->succ, sink) || next[sink])
			continue;
		uint32_t depth = 0;
		stack[depth++] = sink;
		next[sink] = 1;    /* 1 + operands visited; 0: not yet seen */
		while (depth > 0) {
			uint32_t op = stack[depth - 1], i = operands->start[op] + next[op] - 1;
			if (i < operands->start[op + 1]) {
				next[op]++;
				if (next[operands->item[i]] == 0) {
					stack[depth++] = operands->item[i];
					next[operands->item[i]] = 1;
				}
			} else {
				order[done++] = op;
				depth--;
			}
		}
	}
}

enum status order_depth_first(const struct order_model *model, uint32_t *order)
{
	OWN(arena) arena = { 0 };
	struct csr operands;
	struct operand *operand;
	uint32_t *priority, *stack, *next;
	bool *seen;
	NEED(ROOMS(&arena, model->ops, operand, priority, stack, next) && ROOM(&arena, seen, model->items));
	FOR(op, model->ops)
		priority[op] = op;
	TRY(order_by_priority(model, NULL, priority, order));
	weigh_operands(model, order, seen, operand);
	TRY(sort_operands(model, operand, &arena, &operands));
	visit_post_order(model, &operands, stack, next, order);
	return OK;
}
