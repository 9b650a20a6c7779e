/* inductor.c: the orders that PyTorch's Inductor tries.
 *
 * Its nodes are ops, its buffers items. An op's index, which breaks ties, is its place in the program order. */
#include <stdlib.h>

#include "job.h"

/* Places in the program order, by op. */
static uint32_t *places_of(const struct problem *problem, struct arena *arena)
{
	uint32_t *MAKE_IN(arena, place, problem->ops);
	FOR_WHILE(i, problem->ops, place)
		place[problem->program[i]] = i;
	return place;
}

/* What an op brings into memory, and predecessors that haven't run. */
static enum status order_inductor_begin(
	const struct problem *problem, struct arena *arena, int64_t **size, uint32_t **waiting)
{
	NEED(ROOMS(arena, problem->ops, *size, *waiting));
	FOR(op, problem->ops) {
		(*waiting)[op] = csr_length(&problem->pred, op);
		FOR_ITEMS(product, &problem->products, op)
			(*size)[op] += problem->size[product];
	}
	return OK;
}

/* The predecessors of every op, less those that it needs for the memory alone that another of them gives a name to. */
static enum status operands_of(const struct problem *problem, struct arena *arena, struct csr *operands)
{
	const struct csr *pred = &problem->pred;
	uint32_t count = 0, *MAKE_IN(arena, behind, problem->ops); /* op -> the last op that has it behind a view, plus 1 */
	NEED(ROOM(arena, operands->start, (size_t)problem->ops + 1) &&
		ROOM(arena, operands->item, (size_t)pred->start[problem->ops] + 1) && behind);
	FOR(op, problem->ops) {
		FOR_ITEMS(before, pred, op)
			if (problem->view && problem->view[before])
				FOR_ITEMS(item, pred, before)
					behind[item] = op + 1;
		FOR_ITEMS(each, pred, op)
			if (behind[each] != op + 1)
				operands->item[count++] = each;
		operands->start[op + 1] = count;
	}
	return OK;
}

/* ---- least peak memory first ---- */

struct lpmf {
	const struct problem *problem;
	int64_t *size, *frees;     /* op -> bytes that it brings, and those that go when it has run */
	uint32_t *waiting, *left;  /* item -> users that haven't run, one more where it stays */
	uint32_t *place, *ready, count;
	int64_t live, peak;
};

static void lpmf_start(struct lpmf *lpmf)
{
	const struct problem *problem = lpmf->problem;
	int64_t kept = 0;
	FOR(item, problem->items) {
		lpmf->left[item] = csr_length(&problem->users, item) + (problem->live_out[item] ? 1 : 0);
		lpmf->live += problem->producer[item] == NONE ? problem->size[item] : 0;
		kept += problem->live_out[item] ? problem->size[item] : 0;
	}
	lpmf->peak = LARGER(lpmf->live, kept);
	FOR(i, problem->ops) {
		uint32_t op = problem->program[i];
		FOR_ITEMS(use, &problem->uses, op)
			lpmf->frees[op] += lpmf->left[use] == 1 ? problem->size[use] : 0;
		FOR_ITEMS(product, &problem->products, op)
			lpmf->frees[op] += lpmf->left[product] == 0 ? problem->size[product] : 0;
		if (lpmf->waiting[op] == 0)
			lpmf->ready[lpmf->count++] = op;
	}
}

/* The ready op's place in the list. */
static uint32_t lpmf_choose(const struct lpmf *lpmf)
{
	uint32_t best = 0;
	int64_t gap = lpmf->peak - lpmf->live, best_raise = INT64_MAX, best_growth = INT64_MAX;
	FOR(i, lpmf->count) {
		uint32_t op = lpmf->ready[i];
		int64_t raise = lpmf->size[op] > gap ? lpmf->size[op] : 0, growth = lpmf->size[op] - lpmf->frees[op];
		if (raise > best_raise || (raise == best_raise && (growth > best_growth
			|| (growth == best_growth && lpmf->place[op] > lpmf->place[lpmf->ready[best]]))))
			continue;
		best = i;
		best_raise = raise;
		best_growth = growth;
	}
	return best;
}

static void lpmf_run(struct lpmf *lpmf, uint32_t op)
{
	const struct problem *problem = lpmf->problem;
	lpmf->live += lpmf->size[op];
	lpmf->peak = LARGER(lpmf->live, lpmf->peak);
	lpmf->live -= lpmf->frees[op];
	FOR_ITEMS(after, &problem->succ, op)
		if (--lpmf->waiting[after] == 0)
			lpmf->ready[lpmf->count++] = after;
	FOR_ITEMS(item, &problem->uses, op)
		if (--lpmf->left[item] == 1)
			FOR_ITEMS(user, &problem->users, item)
				lpmf->frees[user] += problem->size[item];
}

enum status order_inductor_lpmf(const struct problem *problem, uint32_t *order)
{
	OWN(arena) arena = { 0 };
	struct lpmf lpmf = { .problem = problem, .place = places_of(problem, &arena) };
	NEED(lpmf.place && ROOMS(&arena, problem->ops, lpmf.frees, lpmf.ready) && ROOM(&arena, lpmf.left, problem->items));
	TRY(order_inductor_begin(problem, &arena, &lpmf.size, &lpmf.waiting));
	lpmf_start(&lpmf);
	FOR(i, problem->ops) {
		uint32_t at = lpmf_choose(&lpmf);
		order[i] = lpmf.ready[at];
		lpmf.ready[at] = lpmf.ready[--lpmf.count];
		lpmf_run(&lpmf, order[i]);
	}
	return OK;
}

/* ---- breadth first ---- */

struct bfs {
	struct csr operands;
	uint32_t *place, *step;    /* op -> place in the program order, and in the new one */
	uint32_t *when;            /* beside the operands: their steps, ascending */
	uint32_t *heap, count;
};

/* Whether a goes before b: by its predecessors' steps, the shorter list first, then by place. */
static bool bfs_before(const struct bfs *bfs, uint32_t a, uint32_t b)
{
	const struct csr *pred = &bfs->operands;
	uint32_t left = csr_length(pred, a), right = csr_length(pred, b);
	const uint32_t *x = bfs->when + pred->start[a], *y = bfs->when + pred->start[b];
	FOR_WHILE(i, left, i < right)
		if (x[i] != y[i])
			return x[i] < y[i];
	return left != right ? left < right : bfs->place[a] < bfs->place[b];
}

static void bfs_push(struct bfs *bfs, uint32_t op)
{
	uint32_t at = bfs->count++;
	for (; at > 0 && bfs_before(bfs, op, bfs->heap[(at - 1) / 2]); at = (at - 1) / 2)
		bfs->heap[at] = bfs->heap[(at - 1) / 2];
	bfs->heap[at] = op;
}

static uint32_t bfs_pop(struct bfs *bfs)
{
	uint32_t first = bfs->heap[0], last = bfs->heap[--bfs->count], at = 0;
	for (uint32_t child; (child = 2 * at + 1) < bfs->count; at = child) {
		if (child + 1 < bfs->count && bfs_before(bfs, bfs->heap[child + 1], bfs->heap[child]))
			child++;
		if (!bfs_before(bfs, bfs->heap[child], last))
			break;
		bfs->heap[at] = bfs->heap[child];
	}
	bfs->heap[at] = last;
	return first;
}

static void bfs_ready(struct bfs *bfs, uint32_t op)
{
	const struct csr *pred = &bfs->operands;
	FOR_ROW(i, pred, op)
		bfs->when[i] = bfs->step[pred->item[i]];
	if (csr_length(pred, op) > 1)
		SORT(bfs->when + pred->start[op], csr_length(pred, op), compare_uint32);
	bfs_push(bfs, op);
}

enum status order_inductor_bfs(const struct problem *problem, uint32_t *order)
{
	OWN(arena) arena = { 0 };
	struct bfs bfs = { .place = places_of(problem, &arena) };
	int64_t *size;
	uint32_t *waiting;
	NEED(bfs.place && ROOMS(&arena, problem->ops, bfs.step, bfs.heap) &&
		ROOM(&arena, bfs.when, (size_t)problem->pred.start[problem->ops] + 1));
	TRY(order_inductor_begin(problem, &arena, &size, &waiting));
	TRY(operands_of(problem, &arena, &bfs.operands));
	FOR(op, problem->ops)
		if (waiting[op] == 0)
			bfs_ready(&bfs, op);
	FOR(i, problem->ops) {
		uint32_t op = order[i] = bfs_pop(&bfs);
		bfs.step[op] = i;
		FOR_ITEMS(after, &problem->succ, op)
			if (--waiting[after] == 0)
				bfs_ready(&bfs, after);
	}
	return OK;
}

/* ---- depth first ---- */

struct weighed { int64_t bytes; uint32_t place, op; };

COMPARATOR(lighter, struct weighed, COMPARE(a->bytes, b->bytes, COMPARE(a->place, b->place, 0)))

struct dfs {
	const struct problem *problem;
	struct csr operands;
	struct weighed *op, *root, *operand;  /* by op; sorted; beside the operands, each row sorted */
	uint32_t *next, *stack;               /* op -> operands visited */
	bool *seen;
	uint32_t done;
};

static enum status dfs_start(struct dfs *dfs, struct arena *arena)
{
	const struct problem *problem = dfs->problem;
	uint32_t *place = places_of(problem, arena), *waiting;
	int64_t *size;
	if (!place || order_inductor_begin(problem, arena, &size, &waiting) != OK ||
		operands_of(problem, arena, &dfs->operands) != OK)
		return NO_MEMORY;
	FOR(op, problem->ops) {
		FOR_ITEMS(use, &problem->uses, op) /* what only gives memory a name weighs nothing */
			size[op] += problem->view && problem->view[op] ? 0 : problem->size[use];
		dfs->op[op] = dfs->root[op] = (struct weighed){ size[op], place[op], op };
	}
	SORT(dfs->root, problem->ops, lighter);
	FOR(op, problem->ops) {
		FOR_ROW(i, &dfs->operands, op)
			dfs->operand[i] = dfs->op[dfs->operands.item[i]];
		if (csr_length(&dfs->operands, op) > 1)
			SORT(dfs->operand + dfs->operands.start[op], csr_length(&dfs->operands, op), lighter);
	}
	return OK;
}

static void dfs_visit(struct dfs *dfs, uint32_t root, uint32_t *order)
{
	const struct csr *pred = &dfs->operands;
	uint32_t depth = 0;
	dfs->stack[depth++] = root;
	dfs->seen[root] = true;
	while (depth > 0) {
		uint32_t op = dfs->stack[depth - 1];
		if (dfs->next[op] == csr_length(pred, op)) {
			order[dfs->done++] = op;
			depth--;
			continue;
		}
		uint32_t operand = dfs->operand[pred->start[op] + dfs->next[op]++].op;
		if (!dfs->seen[operand]) {
			dfs->seen[operand] = true;
			dfs->stack[depth++] = operand;
		}
	}
}

enum status order_inductor_dfs(const struct problem *problem, uint32_t *order)
{
	OWN(arena) arena = { 0 };
	struct dfs dfs = { .problem = problem };
	uint32_t ops = problem->ops;
	NEED(ROOMS(&arena, ops, dfs.op, dfs.root, dfs.next, dfs.stack, dfs.seen) &&
		ROOM(&arena, dfs.operand, (size_t)problem->pred.start[ops] + 1));
	TRY(dfs_start(&dfs, &arena));
	FOR(i, ops)
		if (!dfs.seen[dfs.root[i].op])
			dfs_visit(&dfs, dfs.root[i].op, order);
	return OK;
}
