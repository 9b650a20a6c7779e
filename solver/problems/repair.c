/* repair.c: brings a choice within the memory limit, and moves single nodes without leaving it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "primal.h"

#define POLISH_ROUNDS 20

bool shard_primal_repair(struct shard_primal *primal, const double *multiplier, uint32_t rounds)
{
	const struct shard_model *model = primal->model;
	double sum = 0, step;
	COPY(primal->pressure, multiplier, model->slots);
	FOR(slot, model->slots)
		sum += multiplier[slot];
	/* Prices at a violated slot rise by a share of what all memory is worth, more when it is short by more. */
	step = sum > 0 ? 0.02 * sum : 1e-3 * fabs(shard_primal_cost(primal)) / fmax(model->limit, 1);
	FOR(round, rounds) {
		if (shard_primal_load(primal) <= model->limit)
			return true;
		if (control_status(primal->control) == CANCELLED)
			return false;
		double excess = 0;
		FOR(slot, model->slots)
			excess += fmax(primal->load[slot] - model->limit, 0);
		FOR(slot, model->slots)
			primal->pressure[slot] += step * fmax(primal->load[slot] - model->limit, 0) / excess;
		step *= 1.5;
		shard_dual_price(model, primal->pressure, primal->before, primal->priced);
		shard_primal_forest(primal, primal->priced);
	}
	return shard_primal_load(primal) <= model->limit;
}

void shard_primal_move(struct shard_primal *primal, uint32_t node, uint32_t from, uint32_t to)
{
	const struct shard_model *model = primal->model;
	FOR_PIECES(piece, model, node)
		if (model->use[piece->base + from] != model->use[piece->base + to])
			shard_slack_add(
				primal->slack, piece->begin, piece->end, model->use[piece->base + from] - model->use[piece->base + to]);
}

COMPARATOR(by_worth, struct candidate, COMPARE(a->value, b->value, COMPARE(a->weight, b->weight, COMPARE(a->strategy,
	b->strategy, 0))))

/* Strategies better than the node's own, or as good and lighter, the best first. */
static uint32_t problems_repair_list_candidates(struct shard_primal *primal, uint32_t node, struct candidate *candidate)
{
	const struct shard_model *model = primal->model;
	const double *weight = model->weight + model->first[node], *value = primal->value;
	uint32_t now = primal->choice[node], count = 0;
	shard_primal_surround(primal, model->unary, node, primal->value);
	FOR(p, shard_width(model, node))
		if (value[p] < value[now] || (value[p] == value[now] && weight[p] < weight[now]))
			candidate[count++] = (struct candidate) { value[p], weight[p], p };
	SORT(candidate, count, by_worth);
	return count;
}

/* The node's best strategy that fits; true when that lowers the cost. Strategies that don't fit mostly fail at the same
 * piece. */
static bool problems_repair_improve(struct shard_primal *primal, uint32_t node)
{
	const struct shard_model *model = primal->model;
	const struct shard_piece *piece = model->piece + model->piece_start[node];
	uint32_t pieces = model->piece_start[node + 1] - model->piece_start[node], now = primal->choice[node], hard = 0;
	double before;
	struct candidate *candidate = primal->candidate;
	uint32_t count = problems_repair_list_candidates(primal, node, candidate);
	before = primal->value[now];
	FOR_WHILE(k, pieces, count > 0)
		primal->room[k] = model->use[piece[k].base + now] + shard_slack_least(primal->slack, piece[k].begin, piece[k].end);
	FOR(i, count) {
		uint32_t p = candidate[i].strategy, k = 0;
		if (pieces > 0 && model->use[piece[hard].base + p] > primal->room[hard])
			continue;
		while (k < pieces && model->use[piece[k].base + p] <= primal->room[k])
			k++;
		if (k < pieces) {
			hard = k;
			continue;
		}
		shard_primal_move(primal, node, now, p);
		primal->choice[node] = p;
		return candidate[i].value < before;
	}
	return false;
}

void shard_primal_polish(struct shard_primal *primal)
{
	const struct shard_model *model = primal->model;
	bool changed = true;
	shard_primal_load(primal);
	shard_slack_set(primal->slack, primal->load, model->limit);
	FOR_WHILE(round, POLISH_ROUNDS, changed) {
		changed = false;
		shard_shuffle(primal->shuffled, model->nodes, &primal->random);
		FOR(i, model->nodes)
			if (shard_width(model, primal->shuffled[i]) > 1)
				changed |= problems_repair_improve(primal, primal->shuffled[i]);
	}
}
