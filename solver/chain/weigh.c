/* weigh.c: weighs a chain's model at a price, and reads the plan of least weight from what that leaves. */
#include <string.h>

#include "search.h"

/* ---- choices ---- */

void chain_choice_free(struct chain_choice *choice)
{
	arena_free(&choice->arena);
	*choice = (struct chain_choice) { 0 };
}

static void sum_factors(
	const struct chain_graph *graph, const uint32_t *value, int64_t times, struct chain_choice *choice)
{
	FOR(i, graph->factors) {
		const struct chain_factor *factor = &graph->factor[i];
		size_t entry = 0;
		if (factor->weight)
			continue;
		FOR(j, factor->count)
			entry = entry * graph->domain[factor->var[j]] + value[factor->var[j]];
		choice->cost += times * factor->cost[entry];
		choice->usage += factor->usage ? times * factor->usage[entry] : 0;
	}
}

static void sum_choice(const struct chain_model *model, struct chain_choice *choice)
{
	choice->cost = choice->usage = 0;
	sum_factors(&model->core, choice->core, 1, choice);
	FOR(i, model->links)
		FOR(kind, choice->path[i].kinds) {
			int64_t times = 0;
			FOR(copy, model->link[i].length)
				times += choice->path[i].arc[copy] == kind;
			sum_factors(&model->link[i].graph, choice->path[i].value[kind], times, choice);
		}
}

/* ---- weighing ---- */

void chain_weigh(struct chain_search *search, int64_t alpha, int64_t beta)
{
	FOR(i, search->model->links) {
		const struct chain_link *link = &search->model->link[i];
		struct chain_copy *copy = &search->copy[i];
		size_t square = (size_t)link->states * link->states;
		chain_tree_up(&copy->tree, alpha, beta, search->control);
		FOR(block, link->blocks) {
			struct chain_power *power = &copy->power[block];
			memcpy(power->square[0], copy->tree.bucket[copy->tree.buckets - 1].table + block * square, square * sizeof(int64_t));
			chain_power_run(power, search->control);
			memcpy(search->model->core.factor[link->factor].weight + block * square, power->product[power->products - 1],
				square * sizeof(int64_t));
		}
	}
	search->weight = chain_tree_up(&search->core, alpha, beta, search->control);
	search->alpha = alpha;
	search->beta = beta;
}

/* The walk between the states that the core's values say. */
static enum status decode_path(const struct chain_search *search, uint32_t number, struct chain_choice *choice)
{
	const struct chain_link *link = &search->model->link[number];
	const struct chain_copy *copy = &search->copy[number];
	const struct chain_factor *factor = &search->model->core.factor[link->factor];
	struct chain_path *path = &choice->path[number];
	OWN(arena) arena = { 0 };
	size_t entry = 0, square = (size_t)link->states * link->states, block;
	FOR(i, factor->count)
		entry = entry * search->model->core.domain[factor->var[i]] + choice->core[factor->var[i]];
	block = entry / square;
	uint32_t *MAKE_IN(&arena, state, (size_t)link->length + 1);
	uint32_t *MAKE_IN(&arena, kind, square);
	enum status status = ROOM(&choice->arena, path->arc, link->length) &&
		ROOM(&choice->arena, path->value, SMALLER(link->length, square)) && state &&
		kind ? OK : NO_MEMORY;
	if (status == OK)
		chain_power_walk(
			&copy->power[block], (uint32_t)(entry % square / link->states), (uint32_t)(entry % link->states), state);
	FOR_WHILE(i, link->length, status == OK) {
		size_t arc = (size_t)state[i] * link->states + state[i + 1];
		if (!kind[arc]) {
			uint32_t *value;
			if (!ROOM(&choice->arena, value, link->graph.vars)) {
				status = NO_MEMORY;
				break;
			}
			chain_tree_digits(&copy->tree, &copy->tree.bucket[copy->tree.buckets - 1], block * square + arc, value);
			chain_tree_decode(&copy->tree, value);
			path->value[path->kinds++] = value;
			kind[arc] = path->kinds;
		}
		path->arc[i] = kind[arc] - 1;
	}
	return status;
}

enum status chain_decode(const struct chain_search *search, struct chain_choice *choice)
{
	*choice = (struct chain_choice) { 0 };
	enum status status = ROOM(&choice->arena, choice->core, search->model->core.vars) &&
		ROOM(&choice->arena, choice->path, search->model->links) ? OK : NO_MEMORY;
	if (status == OK)
		chain_tree_decode(&search->core, choice->core);
	FOR_WHILE(i, search->model->links, status == OK)
		status = decode_path(search, i, choice);
	if (status == OK)
		sum_choice(search->model, choice);
	else
		chain_choice_free(choice);
	return status;
}
