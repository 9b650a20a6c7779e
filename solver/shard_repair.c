/* shard_repair.c: brings a choice within the memory limit, and moves single nodes without leaving it. */
#include <math.h>
#include <string.h>

#include "shard_primal.h"
#include "shard_slack.h"

#define POLISH_ROUNDS 20

bool shard_primal_repair(struct shard_primal *primal, const double *multiplier, uint32_t rounds)
{
	const struct shard_model *model = primal->model;
	double sum = 0, step;
	memcpy(primal->pressure, multiplier, model->slots * sizeof *multiplier);
	for (uint32_t slot = 0; slot < model->slots; slot++)
		sum += multiplier[slot];
	/* Prices at a violated slot rise by a share of what all memory is worth, more when it is short by more. */
	step = sum > 0 ? 0.02 * sum : 1e-3 * fabs(shard_primal_cost(primal)) / fmax(model->limit, 1);
	for (uint32_t round = 0; round < rounds; round++) {
		if (shard_primal_load(primal) <= model->limit)
			return true;
		if (control_status(primal->control) == CANCELLED)
			return false;
		double excess = 0;
		for (uint32_t slot = 0; slot < model->slots; slot++)
			excess += fmax(primal->load[slot] - model->limit, 0);
		for (uint32_t slot = 0; slot < model->slots; slot++)
			primal->pressure[slot] += step * fmax(primal->load[slot] - model->limit, 0) / excess;
		step *= 1.5;
		shard_dual_price(model, primal->pressure, primal->before, primal->priced);
		shard_primal_forest(primal, primal->priced);
	}
	return shard_primal_load(primal) <= model->limit;
}

/* How the bytes of a node's slots change when it goes from one strategy to another: to add up along the slots [*begin, *end). */
static void changes(struct shard_primal *primal, uint32_t node, uint32_t from, uint32_t to, uint32_t *begin, uint32_t *end)
{
	const struct shard_model *model = primal->model;
	*begin = model->slots;
	*end = 0;
	FOR_PIECES(piece, model, node) {
		double more = model->use[piece->base + to] - model->use[piece->base + from];
		primal->change[piece->begin] += more;
		primal->change[piece->end] -= more;
		*begin = piece->begin < *begin ? piece->begin : *begin;
		*end = piece->end > *end ? piece->end : *end;
	}
}

/* Is there room for the node's other strategy? */
static bool fits(struct shard_primal *primal, uint32_t node, uint32_t from, uint32_t to)
{
	const struct shard_model *model = primal->model;
	const struct shard_piece *only = model->piece + model->piece_start[node];
	uint32_t begin, end;
	if (model->piece_start[node + 1] - model->piece_start[node] == 1)
		return model->use[only->base + to] - model->use[only->base + from] <= shard_slack_least(primal->slack, only->begin, only->end);
	changes(primal, node, from, to, &begin, &end);
	return shard_slack_fits(primal->slack, begin, end, primal->change);
}

static void move(struct shard_primal *primal, uint32_t node, uint32_t from, uint32_t to)
{
	uint32_t begin, end;
	changes(primal, node, from, to, &begin, &end);
	shard_slack_take(primal->slack, begin, end, primal->change);
}

static double bytes(const struct shard_model *model, uint32_t node, uint32_t p)
{
	double sum = 0;
	FOR_PIECES(piece, model, node)
		sum += model->use[piece->base + p];
	return sum;
}

/* The node's best strategy that fits; true when that lowers the cost. */
static bool improve(struct shard_primal *primal, uint32_t node)
{
	const struct shard_model *model = primal->model;
	uint32_t width = shard_width(model, node), now = primal->choice[node], best = now;
	double *value = primal->value;
	shard_primal_surround(primal, model->unary, node, value);
	for (uint32_t p = 0; p < width; p++)
		if ((value[p] < value[best] || (value[p] == value[best] && bytes(model, node, p) < bytes(model, node, best)))
		    && fits(primal, node, now, p))
			best = p;
	if (best == now)
		return false;
	move(primal, node, now, best);
	primal->choice[node] = best;
	return value[best] < value[now];
}

void shard_primal_polish(struct shard_primal *primal)
{
	const struct shard_model *model = primal->model;
	bool changed = true;
	shard_primal_load(primal);
	shard_slack_set(primal->slack, primal->load, model->limit);
	for (uint32_t round = 0; round < POLISH_ROUNDS && changed; round++) {
		changed = false;
		shard_shuffle(primal->shuffled, model->nodes, &primal->random);
		for (uint32_t i = 0; i < model->nodes; i++)
			if (shard_width(model, primal->shuffled[i]) > 1)
				changed |= improve(primal, primal->shuffled[i]);
	}
}
