/* shard_walk.h: what the contest's problems gain by and plans of steps don't: a large-neighbourhood search: small trees are solved anew, exactly, while all other nodes stay (Shaw 1998).
 *
 * Memory has its price in the tree, and what the solution takes must fit what the others leave: where it doesn't, the
 * price rises. The walk may pass through choices that are a little dearer than the best (record-to-record travel, Dueck
 * 1993). */
#pragma once

#include <math.h>
#include <string.h>

#include "solver/problems/primal.h"

#define REGION_MOST 256 /* nodes of a tree */
#define DEGREE_MOST 48  /* a node with more edges is only ever a tree's root */
#define PRICES 4        /* tried until the solution fits */

struct walk {
	struct shard_primal *primal;
	const double *priced; /* strategy -> cost with memory at its price */
	uint32_t count;       /* nodes of the tree, in primal->order */
	uint32_t *old;        /* [REGION_MOST] their choices before */
	uint64_t ticks;
};

/* How many edges a node has into the tree, at most two. */
static uint32_t edges_inside(const struct shard_primal *primal, uint32_t node)
{
	uint32_t edges = 0;
	FOR_ITEMS(edge, &primal->model->incident, node) {
		edges += primal->inside[shard_other(primal->model, edge, node)];
		if (edges > 1)
			break;
	}
	return edges;
}

/* An induced tree around a random node, parents first. */
static void region_grow(struct walk *walk)
{
	struct shard_primal *primal = walk->primal;
	const struct shard_model *model = primal->model;
	uint32_t most = 4u << random_next(&primal->random) % 7,
			 start = (uint32_t)(random_next(&primal->random) % model->nodes);
	primal->order[0] = start;
	primal->parent[start] = NONE;
	primal->inside[start] = true;
	walk->count = 1;
	FOR(done, walk->count) {
		uint32_t node = primal->order[done], degree = csr_length(&model->incident, node);
		uint32_t turn = degree ? (uint32_t)(random_next(&primal->random) % degree) : 0;
		for (uint32_t i = 0; i < degree && walk->count < most; i++) {
			uint32_t edge = model->incident.item[model->incident.start[node] + (i + turn) % degree],
					 other = shard_other(model, edge, node);
			walk->ticks++;
			if (primal->inside[other] || shard_width(model, other) < 2 || csr_length(&model->incident, other) > DEGREE_MOST
				|| edges_inside(primal, other) != 1)
				continue;
			primal->inside[other] = true;
			primal->parent[other] = edge;
			primal->order[walk->count++] = other;
		}
	}
}

/* Moves memory from one set of choices to the other. */
static void region_shift(struct walk *walk, bool back)
{
	struct shard_primal *primal = walk->primal;
	FOR(i, walk->count) {
		uint32_t node = primal->order[i], now = primal->choice[node];
		if (now != walk->old[i])
			shard_primal_move(primal, node, back ? now : walk->old[i], back ? walk->old[i] : now);
		if (back)
			primal->choice[node] = walk->old[i];
	}
}

static bool region_fits(const struct walk *walk)
{
	const struct shard_primal *primal = walk->primal;
	const struct shard_model *model = primal->model;
	FOR(i, walk->count) {
		uint32_t node = primal->order[i];
		FOR_PIECES(piece, model, node)
			if (model->use[piece->base + primal->choice[node]] > model->use[piece->base + walk->old[i]]
				&& shard_slack_least(primal->slack, piece->begin, piece->end) < 0)
				return false;
	}
	return true;
}

static double cell(const struct shard_model *model, uint32_t edge, uint32_t node, uint32_t p, uint32_t q)
{
	return shard_rows(model, edge, node)[(size_t)q * shard_width(model, node) + p];
}

/* What the new choices cost more than the old ones. */
static double region_change(const struct walk *walk)
{
	const struct shard_primal *primal = walk->primal;
	const struct shard_model *model = primal->model;
	double sum = 0;
	FOR(i, walk->count) /* root isn't in use: it tells where in the order a node is */
		primal->root[primal->order[i]] = i;
	FOR(i, walk->count) {
		uint32_t node = primal->order[i], new = primal->choice[node], old = walk->old[i];
		sum += model->unary[model->first[node] + new] - model->unary[model->first[node] + old];
		FOR_ITEMS(edge, &model->incident, node) {
			uint32_t other = shard_other(model, edge, node);
			uint32_t after = primal->choice[other], before = primal->inside[other] ? walk->old[primal->root[other]] : after;
			if ((new != old || after != before) && (!primal->inside[other] || edge == primal->parent[node]))
				sum += cell(model, edge, node, new, after) - cell(model, edge, node, old, before);
		}
	}
	return sum;
}

/* Solves the tree with memory at a multiple of its price. */
static void region_solve(struct walk *walk, double multiple)
{
	struct shard_primal *primal = walk->primal;
	const struct shard_model *model = primal->model;
	FOR(i, walk->count) {
		uint32_t node = primal->order[i];
		FOR_SPAN(p, model->first, node)
			primal->priced[p] = model->unary[p] + multiple * (walk->priced[p] - model->unary[p]);
		walk->ticks += (uint64_t)shard_width(model, node) *
			(csr_length(&model->incident, node) + shard_width(model, node) + 4);
	}
	shard_primal_solve(primal, primal->priced, walk->count);
}

/* Solves the tree at rising prices until the solution fits; what it costs more than before, HUGE_VAL where that is more
 * than allowed. */
static double region_resolve(struct walk *walk, double allowed)
{
	static const double multiples[] = { 0, 0.5, 1, 1 };
	double multiple = multiples[random_next(&walk->primal->random) % 4];
	FOR(tries, PRICES) {
		region_solve(walk, multiple);
		double by = region_change(walk);
		if (by > allowed) /* and dearer still at a higher price */
			break;
		region_shift(walk, false);
		if (region_fits(walk))
			return by;
		region_shift(walk, true);
		multiple = multiple > 0 ? 2.5 * multiple : 0.3;
	}
	return (double)HUGE_VAL;
}

/* One tree. What the walk's cost changes by. */
static double region_visit(struct walk *walk, double allowed)
{
	struct shard_primal *primal = walk->primal;
	region_grow(walk);
	FOR(i, walk->count)
		walk->old[i] = primal->choice[primal->order[i]];
	double by = region_resolve(walk, allowed);
	FOR(i, walk->count) {
		uint32_t node = primal->order[i];
		primal->inside[node] = false;
		if (isinf(by))
			primal->choice[node] = walk->old[i];
	}
	return isinf(by) ? 0 : by;
}

/* Solves small random trees of the choice anew, about as long as ticks last; priced: strategy -> cost with memory at
 * its price. The choice must be within the limit, stays so, and is never dearer at the end. */
static void shard_primal_walk(struct shard_primal *primal, const double *priced, uint64_t ticks)
{
	const struct shard_model *model = primal->model;
	uint32_t old[REGION_MOST];
	struct walk walk = { .primal = primal, .priced = priced, .old = old };
	double best = shard_primal_cost(primal), now = best,
		   dearer = fabs(best) * exp2(-6.0 - (double)(random_next(&primal->random) % 10));
	COPY(primal->best, primal->choice, model->nodes);
	CLEAR(primal->inside, model->nodes);
	shard_primal_load(primal);
	shard_slack_set(primal->slack, primal->load, model->limit);
	while (model->nodes > 0 && walk.ticks < ticks && control_status(primal->control) != CANCELLED) {
		now += region_visit(&walk, best + dearer - now);
		if (now < best - 1e-9 * fabs(best)) {
			best = now;
			COPY(primal->best, primal->choice, model->nodes);
		}
	}
	memcpy(primal->choice, primal->best, model->nodes * sizeof *primal->best);
}
