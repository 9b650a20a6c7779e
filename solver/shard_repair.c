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

/* The node's best strategy that fits; true when that lowers the cost. */
static bool improve(struct shard_primal *primal, uint32_t node)
{
	const struct shard_model *model = primal->model;
	const double *use = model->use + model->first[node];
	uint32_t width = shard_width(model, node), now = primal->choice[node], best = now;
	double *value = primal->value;
	shard_primal_surround(primal, model->unary, node, value);
	double room = use[now] + shard_slack_least(primal->slack, model->begin[node], model->end[node]);
	for (uint32_t p = 0; p < width; p++)
		if (use[p] <= room && (value[p] < value[best] || (value[p] == value[best] && use[p] < use[best])))
			best = p;
	if (best == now)
		return false;
	shard_slack_add(primal->slack, model->begin[node], model->end[node], use[now] - use[best]);
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
