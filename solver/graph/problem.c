/* problem.c: the ordering problem of a graph, and the evaluation of orders. */
#include "problem.h"

/* ---- from a graph ---- */

static uint32_t *number_items(const struct graph *graph, struct problem *problem)
{
	uint32_t *MAKE_IN(&problem->arena, item, graph->storages);
	FOR_WHILE(s, graph->storages, item) {
		const struct storage *storage = &graph->storage[s];
		/* What nothing touches and nothing keeps is never there. */
		bool there = storage->live_out || csr_length(&graph->users, s) > 0;
		bool comes_and_goes = !storage->persistent && storage->bytes > 0 && there;
		item[s] = comes_and_goes ? problem->items++ : NONE;
	}
	return item;
}

static enum status fill_items(
	const struct graph *graph, const struct memory_rules *rules, const uint32_t *item, struct problem *problem)
{
	struct arena *arena = &problem->arena;
	NEED(ROOMS(arena, problem->items, problem->producer, problem->size, problem->live_out, problem->storage));
	FOR(s, graph->storages) {
		const struct storage *storage = &graph->storage[s];
		int64_t bytes = align_up(storage->bytes, rules->alignment);
		if (storage->persistent)
			problem->base += bytes;
		if (item[s] == NONE)
			continue;
		problem->producer[item[s]] = storage->allocator;
		problem->size[item[s]] = bytes;
		problem->live_out[item[s]] = storage->live_out;
		problem->storage[item[s]] = s;
	}
	return OK;
}

/* uses, products and users: the items among what each op touches. */
static enum status fill_rows(const struct graph *graph, const uint32_t *item, struct problem *problem)
{
	struct arena *arena = &problem->arena;
	uint32_t touches = graph->touches.start[graph->ops], uses = 0, products = 0;
	struct csr *use = &problem->uses, *product = &problem->products;
	NEED(ROOMS(arena, (size_t)graph->ops + 1, use->start, product->start) && ROOM(arena, use->item, touches) &&
		ROOM(arena, product->item, problem->items));
	FOR(op, graph->ops) {
		FOR_ITEMS(touched, &graph->touches, op) {
			uint32_t id = item[touched];
			if (id == NONE)
				continue;
			if (problem->producer[id] == op)
				product->item[products++] = id;
			else
				use->item[uses++] = id;
		}
		use->start[op + 1] = uses;
		product->start[op + 1] = products;
	}
	return csr_transpose(arena, use, graph->ops, problem->items, &problem->users);
}

/* pred with the pins added; without pins the graph's own. */
static enum status fill_dependencies(
	const struct graph *graph, const struct memory_rules *rules, struct problem *problem)
{
	struct arena *arena = &problem->arena;
	problem->pred = graph->pred;
	problem->succ = graph->succ;
	if (rules->pins == 0)
		return OK;
	uint32_t edges = graph->pred.start[graph->ops], count = 0;
	uint32_t *op, *pred;
	NEED(ROOMS(arena, (size_t)edges + rules->pins, op, pred));
	FOR(id, graph->ops)
		FOR_ITEMS(before, &graph->pred, id) {
			op[count] = id;
			pred[count++] = before;
		}
	FOR(i, rules->pins) {
		op[count] = rules->pin[i].after;
		pred[count++] = rules->pin[i].before;
	}
	NEED(csr_of_pairs(arena, graph->ops, count, op, pred, &problem->pred) == OK);
	csr_unique(&problem->pred, graph->ops);
	return csr_transpose(arena, &problem->pred, graph->ops, graph->ops, &problem->succ);
}

/* The names of ops on a cycle: from an op that waits, along predecessors that wait. */
static enum status report_contradiction(
	const struct graph *graph, const struct problem *problem, const uint32_t *waiting, struct error *error)
{
	uint32_t at = 0;
	while (!waiting[at])
		at++;
	/* After as many steps as there are ops the walk is on the cycle. */
	FOR(step, problem->ops) {
		uint32_t i = problem->pred.start[at];
		while (!waiting[problem->pred.item[i]])
			i++;
		at = problem->pred.item[i];
	}
	uint32_t i = problem->pred.start[at];
	while (!waiting[problem->pred.item[i]])
		i++;
	return fail(error, INFEASIBLE,
		"the order pins contradict the graph: \"%.100s\" and \"%.100s\" would have to run before each other",
		graph->op[problem->pred.item[i]].name, graph->op[at].name);
}

/* The program order, or the nearest that the pins allow: the first op that is not held back each time. With few
 * pins, few ops wait: a bitmap scan from the lowest waiting op is linear in practice. */
static enum status fill_program(const struct graph *graph, struct problem *problem, struct error *error)
{
	uint32_t ops = problem->ops, done = 0, lowest = 0;
	uint32_t *waiting;
	bool *taken;
	NEED(ROOMS(&problem->arena, ops, problem->program, waiting, taken));
	FOR(op, ops)
		waiting[op] = csr_length(&problem->pred, op);
	for (uint32_t at = 0; at < ops; ) {
		if (taken[at] || waiting[at]) {
			at++;
			continue;
		}
		taken[at] = true;
		problem->program[done++] = at;
		uint32_t next = at + 1;
		FOR_ITEMS(op, &problem->succ, at)
			if (--waiting[op] == 0 && op < next)
				next = op;
		while (lowest < ops && taken[lowest])
			lowest++;
		at = LARGER(next, lowest);
	}
	return done == ops ? OK : report_contradiction(graph, problem, waiting, error);
}

static enum status fill_ops(const struct graph *graph, const struct memory_rules *rules, struct problem *problem)
{
	NEED(ROOMS(&problem->arena, graph->ops, problem->workspace, problem->phase, problem->view));
	FOR(op, graph->ops) {
		problem->workspace[op] = rules->workspace ? align_up(graph->op[op].workspace, rules->alignment) : 0;
		problem->phase[op] = graph->op[op].phase;
		problem->view[op] = graph_is_view(graph, op);
	}
	return OK;
}

enum status problem_of_graph(
	const struct graph *graph, const struct memory_rules *rules, struct problem *problem, struct error *error)
{
	*problem = (struct problem){ .ops = graph->ops };
	uint32_t *item = number_items(graph, problem);
	enum status status = item ? fill_items(graph, rules, item, problem) : NO_MEMORY;
	THEN(status, fill_rows(graph, item, problem));
	THEN(status, fill_dependencies(graph, rules, problem));
	THEN(status, fill_ops(graph, rules, problem));
	THEN(status, fill_program(graph, problem, error));
	if (status == NO_MEMORY)
		fail_memory(error);
	if (status != OK)
		problem_free(problem);
	return status;
}

void problem_free(struct problem *problem)
{
	arena_free(&problem->arena);
	*problem = (struct problem){ 0 };
}

/* ---- evaluation ---- */

int64_t problem_peak(const struct problem *problem, const uint32_t *order, int64_t *live, uint32_t *peak_position)
{
	uint32_t *MAKE(left, problem->items);
	if (!left)
		return -1;
	int64_t bytes = problem->base, peak;
	FOR(item, problem->items) {
		left[item] = csr_length(&problem->users, item);
		if (problem->producer[item] == NONE && (left[item] || problem->live_out[item]))
			bytes += problem->size[item];
	}
	peak = problem->ops ? 0 : bytes;
	uint32_t position_of_peak = NONE;
	FOR(position, problem->ops) {
		uint32_t op = order[position];
		FOR_ITEMS(product, &problem->products, op)
			bytes += problem->size[product];
		int64_t now = bytes + problem->workspace[op];
		if (live)
			live[position] = now;
		if (position_of_peak == NONE || now > peak) {
			peak = now;
			position_of_peak = position;
		}
		FOR_ITEMS(item, &problem->products, op)
			if (left[item] == 0 && !problem->live_out[item])
				bytes -= problem->size[item];
		FOR_ITEMS(item, &problem->uses, op)
			if (--left[item] == 0 && !problem->live_out[item])
				bytes -= problem->size[item];
	}
	mem_free(left);
	if (peak_position)
		*peak_position = position_of_peak;
	return peak;
}

enum status problem_lifetimes(const struct problem *problem, const uint32_t *order, uint32_t *first, uint32_t *last)
{
	uint32_t *MAKE(position, problem->ops);
	NEED(position);
	FOR(i, problem->ops)
		position[order[i]] = i;
	uint32_t end = problem->ops ? problem->ops - 1 : 0;
	FOR(item, problem->items) {
		uint32_t producer = problem->producer[item];
		first[item] = last[item] = producer == NONE ? 0 : position[producer];
		FOR_ITEMS(user, &problem->users, item)
			if (position[user] > last[item])
				last[item] = position[user];
		if (problem->live_out[item])
			last[item] = end;
	}
	mem_free(position);
	return OK;
}
