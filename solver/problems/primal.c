/* primal.c: decoding and moves along induced forests.
 *
 * A forest that is induced (no edge of the graph joins two of its nodes but its own) can be solved exactly by dynamic
 * programming while all other nodes stay. In these sparse graphs it holds more than half of the nodes. */
#include <math.h>
#include <string.h>

#include "primal.h"

#define TREES_MOST 64 /* neighbouring trees that a node may join */
#define HUB 16        /* edges of a node that is one */

enum status shard_primal_begin(
	struct shard_primal *primal, const struct shard_model *model, const struct control *control)
{
	struct arena *arena = &primal->arena;
	uint32_t nodes = model->nodes, strategies = model->first[nodes];
	*primal = (struct shard_primal) { .model = model, .control = control };
	ROOM(arena, primal->choice, nodes);
	ROOM(arena, primal->best, nodes);
	ROOM(arena, primal->load, (size_t)model->slots + 1);
	ROOM(arena, primal->shuffled, nodes);
	ROOM(arena, primal->value, strategies);
	ROOM(arena, primal->root, nodes);
	ROOM(arena, primal->parent, nodes);
	ROOM(arena, primal->order, nodes);
	ROOM(arena, primal->inside, nodes);
	ROOM(arena, primal->answer, model->messages);
	ROOM(arena, primal->pressure, model->slots);
	ROOM(arena, primal->before, (size_t)model->slots + 1);
	ROOM(arena, primal->priced, strategies);
	primal->slack = shard_slack_new(arena, model->slots);
	NEED(ROOM(arena, primal->candidate, model->widest) && ROOM(arena, primal->room, model->most_pieces) &&
		primal->choice && primal->best && primal->load && primal->shuffled && primal->value && primal->root &&
		primal->parent && primal->order && primal->inside && primal->answer && primal->pressure && primal->before &&
		primal->priced && primal->slack);
	FOR(node, nodes)
		primal->shuffled[node] = node;
	return OK;
}

void shard_primal_free(struct shard_primal *primal)
{
	arena_free(&primal->arena);
}

/* ---- what a choice is worth ---- */

double shard_primal_cost(const struct shard_primal *primal)
{
	const struct shard_model *model = primal->model;
	double sum = 0;
	FOR(node, model->nodes)
		sum += model->unary[model->first[node] + primal->choice[node]];
	FOR(edge, model->edges) {
		uint32_t tail = model->tail[edge], head = model->head[edge];
		sum += model->pair[model->table[edge] + (size_t)primal->choice[tail] * shard_width(model, head) +
			primal->choice[head]];
	}
	return sum;
}

double shard_primal_load(struct shard_primal *primal)
{
	const struct shard_model *model = primal->model;
	double sum = 0, peak = 0;
	CLEAR(primal->load, ((size_t)model->slots + 1));
	FOR(node, model->nodes)
		FOR_PIECES(piece, model, node) {
			double use = model->use[piece->base + primal->choice[node]];
			primal->load[piece->begin] += use;
			primal->load[piece->end] -= use;
		}
	FOR(slot, model->slots) {
		sum += primal->load[slot];
		primal->load[slot] = sum;
		peak = LARGER(sum, peak);
	}
	return peak;
}

static void primal_add_row(double *value, const double *row, uint32_t width)
{
	FOR(p, width)
		value[p] += row[p];
}

void shard_primal_surround(const struct shard_primal *primal, const double *cost, uint32_t node, double *value)
{
	const struct shard_model *model = primal->model;
	uint32_t width = shard_width(model, node);
	COPY(value, cost + model->first[node], width);
	FOR_ITEMS(edge, &model->incident, node) {
		uint32_t other = shard_other(model, edge, node);
		primal_add_row(value, shard_rows(model, edge, node) + (size_t)primal->choice[other] * width, width);
	}
}

static uint32_t primal_cheapest(const double *value, uint32_t count)
{
	uint32_t best = 0;
	FOR_FROM(i, 1, count)
		if (value[i] < value[best])
			best = i;
	return best;
}

void shard_primal_decode(struct shard_primal *primal, const struct shard_dual *dual)
{
	const struct shard_model *model = primal->model;
	FOR(node, model->nodes) {
		uint32_t width = shard_width(model, node);
		COPY(primal->value, dual->priced + model->first[node], width);
		FOR_ITEMS(edge, &model->incident, node) {
			uint32_t other = shard_other(model, edge, node);
			const double *row = other > node ? dual->message + shard_into(model, edge, node)
				: shard_rows(model, edge, node) + (size_t)primal->choice[other] * width;
			primal_add_row(primal->value, row, width);
		}
		primal->choice[node] = primal_cheapest(primal->value, width);
	}
}

/* ---- forests ---- */

/* Joins the node to the trees next to it, unless two of its neighbours are in the same one. */
static bool primal_join(struct shard_primal *primal, uint32_t node)
{
	const struct shard_model *model = primal->model;
	uint32_t tree[TREES_MOST], trees = 0;
	FOR_ITEMS(edge, &model->incident, node) {
		uint32_t other = shard_other(model, edge, node);
		if (!primal->inside[other])
			continue;
		uint32_t root = set_root(primal->root, other);
		FOR(j, trees)
			if (tree[j] == root)
				return false;
		if (trees == TREES_MOST)
			return false;
		tree[trees++] = root;
	}
	FOR(j, trees)
		primal->root[tree[j]] = node;
	return true;
}

/* Draws a maximal induced forest; the number of its nodes, which order lists with parents first. */
static uint32_t draw_forest(struct shard_primal *primal)
{
	const struct shard_model *model = primal->model;
	uint32_t count = 0, done = 0;
	shard_shuffle(primal->shuffled, model->nodes, &primal->random);
	FOR(node, model->nodes) {
		primal->root[node] = node;
		primal->inside[node] = false;
	}
	/* Every other forest takes hubs in first: later they would close circles, and never move with what hangs on them. */
	bool hubs_first = random_next(&primal->random) % 2;
	for (int pass = hubs_first ? 0 : 1; pass < 2; pass++)
		FOR(i, model->nodes) {
			uint32_t node = primal->shuffled[i];
			if (!primal->inside[node] && (pass == 1 || csr_length(&model->incident, node) >= HUB))
				primal->inside[node] = primal_join(primal, node);
		}
	/* From here on root says whether a node was reached: NONE. */
	FOR(start, model->nodes) {
		if (!primal->inside[start] || primal->root[start] == NONE)
			continue;
		primal->parent[start] = primal->root[start] = NONE;
		primal->order[count++] = start;
		while (done < count) {
			uint32_t node = primal->order[done++];
			FOR_ITEMS(edge, &model->incident, node) {
				uint32_t other = shard_other(model, edge, node);
				if (!primal->inside[other] || primal->root[other] == NONE)
					continue;
				primal->parent[other] = edge;
				primal->root[other] = NONE;
				primal->order[count++] = other;
			}
		}
	}
	return count;
}

/* Adds to the parent's values the best of the subtree, and remembers which it was. */
static void rise(struct shard_primal *primal, uint32_t node, uint32_t edge)
{
	const struct shard_model *model = primal->model;
	uint32_t up = shard_other(model, edge, node), width = shard_width(model, up);
	const double *row = shard_rows(model, edge, node), *value = primal->value + model->first[node];
	uint32_t *answer = primal->answer + shard_into(model, edge, up), count = shard_width(model, node);
	for (uint32_t p = 0; p < width; p++, row += count) {
		double best = HUGE_VAL;
		uint32_t choice = 0;
		FOR(q, count)
			if (row[q] + value[q] < best) {
				best = row[q] + value[q];
				choice = q;
			}
		primal->value[model->first[up] + p] += best;
		answer[p] = choice;
	}
}

void shard_primal_solve(struct shard_primal *primal, const double *cost, uint32_t count)
{
	const struct shard_model *model = primal->model;
	FOR(i, count) {
		uint32_t node = primal->order[i], width = shard_width(model, node);
		double *value = primal->value + model->first[node];
		COPY(value, cost + model->first[node], width);
		FOR_ITEMS(edge, &model->incident, node) {
			uint32_t other = shard_other(model, edge, node);
			if (!primal->inside[other])
				primal_add_row(value, shard_rows(model, edge, node) + (size_t)primal->choice[other] * width, width);
		}
	}
	FOR_DOWN(i, count)
		if (primal->parent[primal->order[i]] != NONE)
			rise(primal, primal->order[i], primal->parent[primal->order[i]]);
	FOR(i, count) {
		uint32_t node = primal->order[i], edge = primal->parent[node];
		primal->choice[node] = edge == NONE
			? primal_cheapest(primal->value + model->first[node], shard_width(model, node))
			: primal->answer[shard_into(model, edge, shard_other(model, edge, node)) +
				  primal->choice[shard_other(model, edge, node)]];
	}
}

void shard_primal_forest(struct shard_primal *primal, const double *cost)
{
	shard_primal_solve(primal, cost, draw_forest(primal));
}
