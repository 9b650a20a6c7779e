/* block_work.c: what ops of a step are for its blocks, however it is split. */

#include "block_costs.h"

/* Views that say nothing but their shapes: two of a kind of one tensor are the same. Slices aren't: they have offsets.
 */
static bool plain_view(const struct graph *graph, const struct rule *rule, uint32_t op)
{
	return (rule->traits & TRAIT_SHAPED) && rule->cost == COST_NONE && csr_length(&graph->reads, op) == 1 &&
		csr_length(&graph->writes, op) == 1;
}

uint32_t block_work_canonical(const struct graph *graph, const uint32_t *twin, uint32_t tensor)
{
	uint32_t writer = graph->tensor[tensor].writer;
	return writer == NONE || twin[writer] == NONE ? tensor : graph_result(graph, twin[writer], 0);
}

/* A linear layer that is one of several on the same tensor views it anew. first, next: of a tensor its views, first
 * come first. */
static uint32_t twin_of(const struct graph *graph, const uint32_t *twin, uint32_t op, uint32_t *first, uint32_t *next)
{
	uint32_t operand = block_work_canonical(graph, twin, graph_operand(graph, op, 0)), *at = &first[operand];
	const struct tensor *result = &graph->tensor[graph_result(graph, op, 0)];
	for (; *at != NONE; at = &next[*at]) {
		const struct tensor *other = &graph->tensor[graph_result(graph, *at, 0)];
		if (strcmp(graph->op[*at].type, graph->op[op].type) == 0 && other->dims == result->dims && result->shape &&
			other->shape && memcmp(other->shape, result->shape, result->dims * sizeof *result->shape) == 0)
			return *at;
	}
	*at = op;
	return NONE;
}

static bool block_costs_find_twins(const struct graph *graph, const struct rules *rules, uint32_t *twin)
{
	OWN(arena) arena = { 0 };
	uint32_t *MAKE_IN(&arena, first, graph->tensors), *MAKE_IN(&arena, next, graph->ops);
	FOR_WHILE(t, graph->tensors, first)
		first[t] = NONE;
	FOR_WHILE(op, graph->ops, first && next) {
		const struct rule *rule = rules_find(rules, graph->op[op].type);
		next[op] = twin[op] = NONE;
		if (rule && plain_view(graph, rule, op))
			twin[op] = twin_of(graph, twin, op, first, next);
	}
	return first && next;
}

/* ---- updates that wait for each other ---- */

/* Storages that ops of the update touch together are one set, but for what no op writes: a learning rate joins nothing.
 * joint: a set has two parameters. */
static bool block_costs_find_joint(const struct graph *graph, bool *joint)
{
	OWN(arena) arena = { 0 };
	uint32_t *MAKE_IN(&arena, set, graph->storages);
	bool *written = arena_alloc(&arena, graph->storages, 1), *has = arena_alloc(&arena, graph->storages, 1),
		 fine = set && written && has;
	*joint = false;
	FOR_WHILE(s, graph->storages, fine)
		set[s] = s;
	FOR_WHILE(op, graph->ops, fine) {
		FOR_ITEMS(write, &graph->writes, op)
			written[graph->tensor[write].storage] = true;
		FOR_SPAN(i, graph->inplace_start, op)
			written[graph->tensor[graph->inplace[i].in].storage] = true;
	}
	FOR_WHILE(op, graph->ops, fine) {
		uint32_t first = NONE;
		if (graph->op[op].phase != PHASE_UPDATE)
			continue;
		FOR_ITEMS(s, &graph->touches, op) {
			if (!written[s])
				continue;
			if (first != NONE)
				set[set_root(set, s)] = set_root(set, first);
			first = s;
		}
	}
	FOR_WHILE(s, graph->storages, fine)
		if (written[s] && graph->storage[s].kind == KIND_PARAMETER && graph->storage[s].allocator == NONE) {
			*joint |= has[set_root(set, s)];
			has[set_root(set, s)] = true;
		}
	return fine;
}

/* Which storages are saved for the backward pass, and which are the gradients that the update reads. */
static void block_costs_classify(const struct graph *graph, struct block_work *work)
{
	FOR(op, graph->ops) {
		bool update = graph->op[op].phase == PHASE_UPDATE;
		FOR_ITEMS(s, &graph->touches, op) {
			uint32_t writer = graph->storage[s].allocator;
			if (writer == NONE || graph->storage[s].persistent)
				continue;
			if (!update)
				work->last[s] = op;
			work->gradient[s] |= update && graph->op[writer].phase == PHASE_BACKWARD;
			work->saved[s] |= graph->op[op].phase == PHASE_BACKWARD && graph->op[writer].phase == PHASE_FORWARD;
		}
	}
}

/* What only makes gradients of weights. */
static enum status block_costs_find_weights(
	const struct graph *graph, const struct blocks *blocks, struct block_work *work)
{
	HELD bool *MAKE(backward, 2 * (size_t)graph->ops + 1);
	NEED(backward);
	bool *linear = backward + graph->ops;
	FOR(op, graph->ops) {
		backward[op] = graph->op[op].phase == PHASE_BACKWARD;
		linear[op] = work->op[op].linear;
	}
	return weight_ops_find(graph, linear, backward, blocks->of, work->weight);
}

/* The parts of gradients: what is added up, perhaps cast or reduced later, to what the update reads. */
static enum status block_costs_find_parts(const struct graph *graph, struct block_work *work)
{
	HELD bool *MAKE(leads, graph->storages + (size_t)1);
	NEED(leads);
	FOR_DOWN(op, graph->ops) {
		bool sums = false;
		FOR_ITEMS(written, &graph->writes, op)
			sums |= work->gradient[graph->tensor[written].storage] || leads[graph->tensor[written].storage];
		if (!sums || !work->weight[op] || !work->op[op].linear)
			continue;
		FOR_ITEMS(read, &graph->reads, op) {
			uint32_t s = graph->tensor[read].storage;
			leads[s] = true;
			work->part[s] |= csr_length(&graph->reads, op) == 2 && !work->gradient[s];
		}
	}
	return OK;
}

enum status block_work_find(const struct graph *graph, const struct blocks *blocks, const struct rules *rules,
	struct arena *arena, struct block_work *work)
{
	NEED(ROOMS(arena, graph->ops, work->twin, work->weight) && ROOMS(arena, graph->storages, work->last, work->owner,
		work->saved, work->gradient, work->part));
	TRY(op_work_find(graph, rules, arena, &work->op));
	block_costs_classify(graph, work);
	blocks_owners(graph, work->owner);
	TRY(block_costs_find_weights(graph, blocks, work));
	TRY(block_costs_find_parts(graph, work));
	NEED(block_costs_find_twins(graph, rules, work->twin) && block_costs_find_joint(graph, &work->joint));
	return OK;
}
