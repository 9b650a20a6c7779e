/* plan.c: questions that every reader of a plan asks. */
#include <inttypes.h>

#include "plan.h"
#include "transform.h"

const char *const alive_reason_text[] = { "persistent", "made here", "read here", "in every order", "in the cut", "by this order" };

struct plan *plan_retain(struct plan *plan)
{
	atomic_fetch_add(&plan->references, 1);
	return plan;
}

void plan_release(struct plan *plan)
{
	if (!plan || atomic_fetch_sub(&plan->references, 1) > 1)
		return;
	graph_release(plan->input);
	graph_release(plan->graph);
	scenario_done(&plan->scenario);
	transformed_release(plan->transformed);
	ordered_release(plan->ordered);
	laid_out_release(plan->laid_out);
	mem_free(plan);
}

int64_t plan_budget(const struct plan *plan)
{
	return scenario_budget(&plan->scenario);
}

int64_t plan_storage_peak(const struct plan *plan)
{
	int64_t peak = plan->persistent_bytes;
	for (uint32_t i = 0; i < plan->graph->ops; i++) {
		int64_t bytes = plan->live[i] - plan->ordered->problem.workspace[plan->order[i]];
		if (bytes > peak)
			peak = bytes;
	}
	return peak;
}

static bool alive(const struct plan *plan, uint32_t storage, uint32_t position)
{
	return plan->first[storage] != NONE && plan->first[storage] <= position && position <= plan->last[storage];
}

void plan_categories(const struct plan *plan, uint32_t position, int64_t bytes[KIND_COUNT], int64_t *workspace)
{
	for (int kind = 0; kind < KIND_COUNT; kind++)
		bytes[kind] = 0;
	for (uint32_t s = 0; s < plan->graph->storages; s++)
		if (alive(plan, s, position))
			bytes[plan->graph->storage[s].kind] += plan->bytes[s];
	*workspace = plan->graph->ops ? plan->ordered->problem.workspace[plan->order[position]] : 0;
}

uint32_t plan_item_storage(const struct plan *plan, uint32_t item)
{
	return plan->ordered->problem.storage[item];
}

struct sized { int64_t bytes; uint32_t storage; };

static int larger_first(const void *left, const void *right)
{
	const struct sized *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? 1 : -1;
	return (a->storage > b->storage) - (a->storage < b->storage);
}

uint32_t plan_alive(const struct plan *plan, uint32_t position, uint32_t *list)
{
	uint32_t count = 0;
	struct sized *sized = mem_alloc(plan->graph->storages, sizeof *sized);
	if (!sized)
		return 0;
	for (uint32_t s = 0; s < plan->graph->storages; s++)
		if (alive(plan, s, position))
			sized[count++] = (struct sized){ plan->bytes[s], s };
	qsort(sized, count, sizeof *sized, larger_first);
	for (uint32_t i = 0; i < count; i++)
		list[i] = sized[i].storage;
	mem_free(sized);
	return count;
}

/* ---- why ------------------------------------------------------------------------------ */

/* Marks what is reachable from op along rows (op included). */
static void mark_reachable(const struct csr *rows, uint32_t op, uint8_t *mark, uint8_t bit, uint32_t *stack)
{
	uint32_t depth = 0;
	mark[op] |= bit;
	stack[depth++] = op;
	while (depth) {
		uint32_t at = stack[--depth];
		FOR_ROW(i, rows, at)
			if (!(mark[rows->item[i]] & bit)) {
				mark[rows->item[i]] |= bit;
				stack[depth++] = rows->item[i];
			}
	}
}

/* Bytes of the certificate's flow out of a storage: as many as its size where it is in the minimum cut. */
static int64_t cut_flow(const struct plan *plan, uint32_t storage)
{
	const struct order_certificate *certificate = plan->order_certificate;
	int64_t flow = 0;
	for (uint32_t i = 0; i < certificate->arcs; i++)
		if (certificate->arc[i].item != NONE && plan_item_storage(plan, certificate->arc[i].item) == storage)
			flow += certificate->arc[i].flow;
	return flow;
}

enum { ANCESTOR = 1, DESCENDANT = 2 };

static enum alive_reason reason_of(const struct plan *plan, uint32_t op, const uint8_t *mark, uint32_t id)
{
	const struct graph *graph = plan->graph;
	const struct storage *storage = &graph->storage[id];
	if (storage->persistent)
		return ALIVE_PERSISTENT;
	if (storage->allocator == op)
		return ALIVE_PRODUCED;
	bool used = false, needed = storage->live_out;
	FOR_ROW(i, &graph->users, id) {
		used |= graph->users.item[i] == op;
		needed |= (mark[graph->users.item[i]] & DESCENDANT) != 0;
	}
	if (used)
		return ALIVE_USED;
	if (needed && (storage->allocator == NONE || mark[storage->allocator] & ANCESTOR))
		return ALIVE_CERTAIN;
	if (plan->order_certificate->proof == ORDER_PROOF_CUT && plan->order_certificate->op == op && cut_flow(plan, id) == plan->bytes[id])
		return ALIVE_CUT;
	return ALIVE_CHOICE;
}

void plan_reasons(const struct plan *plan, uint32_t position, const uint32_t *storage, uint32_t count, enum alive_reason *reason)
{
	const struct graph *graph = plan->graph;
	uint32_t op = graph->ops ? plan->order[position] : NONE;
	uint8_t *mark = mem_alloc(graph->ops, sizeof *mark);
	uint32_t *stack = mem_alloc(graph->ops, sizeof *stack);
	if (mark && stack && op != NONE) {
		mark_reachable(&plan->ordered->problem.pred, op, mark, ANCESTOR, stack);
		mark_reachable(&plan->ordered->problem.succ, op, mark, DESCENDANT, stack);
	}
	for (uint32_t i = 0; i < count; i++)
		reason[i] = mark && stack && op != NONE ? reason_of(plan, op, mark, storage[i]) : ALIVE_PERSISTENT;
	mem_free(mark);
	mem_free(stack);
}

enum alive_reason plan_reason(const struct plan *plan, uint32_t position, uint32_t storage)
{
	enum alive_reason reason;
	plan_reasons(plan, position, &storage, 1, &reason);
	return reason;
}

