/* changes.c: two plans of a step, op by op. */

#include "beside.h"

static bool changes_is_collective(const struct graph *graph, uint32_t op)
{
	return graph->op[op].collective != NULL;
}

/* The op that a collective works for: what wrote the tensor that it moves; else its first reader. */
static void changes_find_owners(const struct graph *graph, uint32_t *owner)
{
	for (uint32_t op = 0; op < graph->ops; op++) {
		owner[op] = op;
		if (!changes_is_collective(graph, op))
			continue;
		uint32_t writer = csr_length(&graph->reads, op)
			? graph->tensor[graph->reads.item[graph->reads.start[op]]].writer
			: NONE;
		owner[op] = writer == NONE ? NONE : owner[writer];
	}
	for (uint32_t op = graph->ops; op-- > 0; ) {
		if (owner[op] != NONE || csr_length(&graph->succ, op) == 0)
			continue;
		owner[op] = owner[graph->succ.item[graph->succ.start[op]]];
	}
}

static int64_t changes_sent_by(const struct op *op)
{
	return op->collective && op->collective->moved > 0 ? op->collective->moved : 0;
}

/* Adds one plan's bytes to the ops' rows, which are found by name; new names get new rows. */
static bool changes_add_plan(
	const struct plan *plan, int side, const struct graph *names, struct plan_change *row, uint32_t *rows)
{
	const struct graph *graph = plan->graph;
	uint32_t *owner = mem_alloc(graph->ops, sizeof *owner), *at = mem_alloc(graph->ops, sizeof *at);
	if (!owner || !at) {
		mem_free(owner);
		mem_free(at);
		return false;
	}
	changes_find_owners(graph, owner);
	for (uint32_t op = 0; op < graph->ops; op++) {
		uint32_t known = side == 0 || changes_is_collective(graph, op) ? NONE : graph_find_op(names, graph->op[op].name);
		at[op] = known != NONE ? known : *rows;
		if (known == NONE)
			row[(*rows)++].op = graph->op[op].name;
	}
	for (uint32_t op = 0; op < graph->ops; op++) {
		struct plan_change *to = &row[at[owner[op] == NONE ? op : owner[op]]];
		if (changes_is_collective(graph, op))
			to->sent[side] += changes_sent_by(&graph->op[op]);
		else if (plan->transformed->sharded)
			to->sent[side] += traffic_inside(plan->transformed->sharded, graph, op);
		FOR_ROW(i, &graph->writes, op)
			if (graph->tensor[graph->writes.item[i]].alias == NONE)
				to->made[side] += graph->tensor[graph->writes.item[i]].bytes;
	}
	mem_free(owner);
	mem_free(at);
	return true;
}

static int64_t apart(const int64_t pair[2])
{
	return pair[0] < pair[1] ? pair[1] - pair[0] : pair[0] - pair[1];
}

static int changes_largest_first(const void *left, const void *right)
{
	const struct plan_change *a = left, *b = right;
	int64_t sent = apart(b->sent) - apart(a->sent), made = apart(b->made) - apart(a->made);
	return sent ? (sent > 0) - (sent < 0) : made ? (made > 0) - (made < 0) : strcmp(a->op, b->op);
}

enum status plan_changes(const struct plan *before, const struct plan *after, struct arena *arena,
	struct plan_change **change, uint32_t *count)
{
	uint32_t rows = 0, kept = 0;
	struct plan_change *row = arena_alloc(arena, (size_t)before->graph->ops + after->graph->ops, sizeof *row);
	/* Rows of the first plan have its ops' numbers. */
	NEED(row && changes_add_plan(before, 0, before->graph, row, &rows) &&
		changes_add_plan(after, 1, before->graph, row, &rows));
	for (uint32_t i = 0; i < rows; i++)
		if (row[i].sent[0] != row[i].sent[1] || row[i].made[0] != row[i].made[1])
			row[kept++] = row[i];
	qsort(row, kept, sizeof *row, changes_largest_first);
	*change = row;
	*count = kept;
	return OK;
}
