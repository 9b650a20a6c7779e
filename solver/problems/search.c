/* search.c: depth-first branch and bound over reduced costs.
 *
 * The dual divides the bound into least reduced costs of nodes and edges. What a partial choice has above them is below
 * what every completion costs more than the bound, so most branches of small problems end early. */
#include <math.h>
#include <string.h>

#include "search.h"

struct search {
	const struct shard_model *model;
	double *node, *edge;       /* reduced costs above the least: strategy; place in pair's order, an edge after another */
	size_t *start;             /* [edges] where an edge's are */
	double *above;             /* [nodes + 1] sum over the nodes before this one */
	double *load;              /* [slots] least bytes of any completion */
	double *lightest;          /* [pieces] least use of a strategy */
	uint32_t *trial, *choice;  /* [nodes] strategies under trial; the best */
	double bound, best, cost;  /* of the dual; the best choice's; the trial's at a leaf */
	struct arena arena;
};

static double lower_to_zero(double *value, size_t count)
{
	double least = value[0];
	for (size_t i = 1; i < count; i++)
		least = value[i] < least ? value[i] : least;
	for (size_t i = 0; i < count; i++)
		value[i] -= least;
	return least;
}

static void problems_search_reduce(struct search *search, const struct shard_dual *dual, const double *part)
{
	const struct shard_model *model = search->model;
	search->bound = model->slots ? -dual->before[model->slots] * model->limit : 0;
	memcpy(search->node, dual->priced, model->first[model->nodes] * sizeof *search->node);
	for (uint32_t edge = 0; edge < model->edges; edge++) {
		uint32_t tail = model->tail[edge], head = model->head[edge];
		uint32_t rows = shard_width(model, tail), columns = shard_width(model, head);
		double *reduced = search->edge + search->start[edge];
		for (uint32_t p = 0; p < rows; p++)
			for (uint32_t q = 0; q < columns; q++)
				reduced[p * columns + q] = model->pair[model->table[edge] + p * columns + q]
					- part[model->into_tail[edge] + p] - part[model->into_head[edge] + q];
		search->bound += lower_to_zero(reduced, (size_t)rows * columns);
		for (uint32_t p = 0; p < rows; p++)
			search->node[model->first[tail] + p] += part[model->into_tail[edge] + p];
		for (uint32_t q = 0; q < columns; q++)
			search->node[model->first[head] + q] += part[model->into_head[edge] + q];
	}
	for (uint32_t node = 0; node < model->nodes; node++)
		search->bound += lower_to_zero(search->node + model->first[node], shard_width(model, node));
}

static void add_load(struct search *search, const struct shard_piece *piece, double bytes)
{
	for (uint32_t slot = piece->begin; slot < piece->end && bytes != 0; slot++)
		search->load[slot] += bytes;
}

/* Adds what strategy p of a node uses beyond the least; sign -1 takes it away again. */
static void problems_search_use(struct search *search, uint32_t node, uint32_t p, double sign)
{
	const struct shard_model *model = search->model;
	FOR_PIECES(piece, model, node)
		add_load(search, piece, sign * (model->use[piece->base + p] - search->lightest[piece - model->piece]));
}

static bool within_limit(const struct search *search, uint32_t node)
{
	const struct shard_model *model = search->model;
	FOR_PIECES(piece, model, node)
		for (uint32_t slot = piece->begin; slot < piece->end; slot++)
			if (search->load[slot] > model->limit)
				return false;
	return true;
}

static enum status problems_search_begin(struct search *search, struct shard_dual *dual, uint32_t *choice, double cost)
{
	const struct shard_model *model = dual->model;
	struct arena *arena = &search->arena;
	size_t pairs = 0;
	*search = (struct search) { .model = model, .choice = choice, .best = cost };
	search->start = arena_alloc(arena, model->edges, sizeof *search->start);
	for (uint32_t edge = 0; edge < model->edges && search->start; edge++) {
		search->start[edge] = pairs;
		pairs += (size_t)shard_width(model, model->tail[edge]) * shard_width(model, model->head[edge]);
	}
	search->node = arena_alloc(arena, model->first[model->nodes], sizeof *search->node);
	search->edge = arena_alloc(arena, pairs, sizeof *search->edge);
	search->above = arena_alloc(arena, (size_t)model->nodes + 1, sizeof *search->above);
	search->load = arena_alloc(arena, model->slots, sizeof *search->load);
	search->lightest = arena_alloc(arena, model->piece_start[model->nodes], sizeof *search->lightest);
	search->trial = arena_alloc(arena, model->nodes, sizeof *search->trial);
	double *part = arena_alloc(arena, model->messages, sizeof *part);
	if (!search->start || !search->node || !search->edge || !search->above || !search->load || !search->lightest
	    || !search->trial || !part)
		return NO_MEMORY;
	shard_dual_price(model, dual->multiplier, dual->before, dual->priced);
	shard_dual_pass(dual, part);
	problems_search_reduce(search, dual, part);
	for (uint32_t node = 0; node < model->nodes; node++)
		FOR_PIECES(piece, model, node) {
			double least = HUGE_VAL;
			for (uint32_t p = 0; p < shard_width(model, node); p++)
				least = fmin(least, model->use[piece->base + p]);
			search->lightest[piece - model->piece] = least;
			add_load(search, piece, least);
		}
	return OK;
}

/* What strategy p of the node adds to the trial's costs above the bound; HUGE_VAL where it is forbidden. */
static double problems_search_weigh(const struct search *search, uint32_t node, uint32_t p)
{
	const struct shard_model *model = search->model;
	double above = search->node[model->first[node] + p];
	FOR_ROW(i, &model->incident, node) {
		uint32_t edge = model->incident.item[i], other = model->tail[edge];
		if (other == node)
			continue;
		size_t at = (size_t)search->trial[other] * shard_width(model, node) + p;
		if (model->pair[model->table[edge] + at] >= model->penalty / 2)
			return (double)HUGE_VAL;
		above += search->edge[search->start[edge] + at];
	}
	return above;
}

static double trial_cost(const struct search *search)
{
	const struct shard_model *model = search->model;
	double sum = 0;
	for (uint32_t node = 0; node < model->nodes; node++)
		sum += model->unary[model->first[node] + search->trial[node]];
	for (uint32_t edge = 0; edge < model->edges; edge++)
		sum += model->pair[model->table[edge] +
			(size_t)search->trial[model->tail[edge]] * shard_width(model, model->head[edge]) +
			search->trial[model->head[edge]]];
	return sum;
}

/* Tries strategies of the node from trial[node] on; false when none is left. */
static bool problems_search_descend(struct search *search, uint32_t node, uint64_t *branches)
{
	uint32_t width = shard_width(search->model, node);
	for (; search->trial[node] < width; search->trial[node]++) {
		++*branches;
		double above = search->above[node] + problems_search_weigh(search, node, search->trial[node]);
		/* Costs are whole numbers: only what is below best - 1 and rounding can be better. */
		if (search->bound + above > search->best - 1 + 1e-9 * fabs(search->best) + 1e-6 || isinf(above))
			continue;
		problems_search_use(search, node, search->trial[node], 1);
		if (!within_limit(search, node)) {
			problems_search_use(search, node, search->trial[node], -1);
			continue;
		}
		search->above[node + 1] = above;
		return true;
	}
	return false;
}

static void problems_search_leaf(struct search *search)
{
	double cost = trial_cost(search);
	if (cost >= search->best)
		return;
	search->best = cost;
	memcpy(search->choice, search->trial, search->model->nodes * sizeof *search->choice);
}

static enum status problems_search_run(struct search *search, uint64_t limit, struct control *control)
{
	uint32_t node = 0, nodes = search->model->nodes;
	uint64_t branches = 0;
	for (;;) {
		bool down = node < nodes && problems_search_descend(search, node, &branches);
		if (node == nodes)
			problems_search_leaf(search);
		if (down) {
			if (++node < nodes)
				search->trial[node] = 0;
			continue;
		}
		if (node == 0)
			return OK;
		node--;
		problems_search_use(search, node, search->trial[node], -1);
		search->trial[node]++;
		if (branches > limit)
			return LIMIT;
		if (control->cancel && branches % 1024 == 0 && control_status(control) == CANCELLED)
			return CANCELLED;
	}
}

enum status shard_search(
	struct shard_dual *dual, uint64_t branches, struct control *control, uint32_t *choice, double *cost)
{
	struct search search = { 0 };
	enum status status = problems_search_begin(&search, dual, choice, *cost);
	THEN(status, problems_search_run(&search, branches, control));
	if (status != NO_MEMORY)
		*cost = search.best;
	arena_free(&search.arena);
	return status;
}
