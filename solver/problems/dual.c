/* dual.c: sequential tree-reweighted message passing (TRW-S) over priced costs.
 *
 * Nodes are passed in the problem's order, which follows the graph; so the monotonic chains are long. Every allowed
 * strategy has a partner over each edge, hence messages stay finite where pairs are forbidden. */
#include <string.h>

#include "dual.h"

enum status shard_dual_begin(struct shard_dual *dual, const struct shard_model *model)
{
	struct arena *arena = &dual->arena;
	*dual = (struct shard_dual) { .model = model };
	return ROOM(arena, dual->multiplier, model->slots) && ROOM(arena, dual->before, (size_t)model->slots + 1) &&
		ROOM(arena, dual->priced, model->first[model->nodes]) && ROOM(arena, dual->message, model->messages) &&
		ROOMS(arena, model->widest, dual->total, dual->give) ? OK : NO_MEMORY;
}

void shard_dual_free(struct shard_dual *dual)
{
	arena_free(&dual->arena);
}

void shard_dual_price(const struct shard_model *model, const double *multiplier, double *before, double *priced)
{
	FOR(i, model->slots)
		before[i + 1] = before[i] + multiplier[i];
	FOR(node, model->nodes) {
		uint32_t first = model->first[node], width = shard_width(model, node);
		COPY(priced + first, model->unary + first, width);
		FOR_PIECES(piece, model, node) {
			double price = before[piece->end] - before[piece->begin];
			FOR_WHILE(p, width, price > 0)
				priced[first + p] += price * model->use[piece->base + p];
		}
	}
}

static double problems_dual_least(const double *value, uint32_t count)
{
	double best = value[0];
	FOR_FROM(i, 1, count)
		best = SMALLER(value[i], best);
	return best;
}

static inline double lesser(double a, double b)
{
	return SMALLER(a, b);
}

/* out[q] = min over p of give[p] + table[p][q], less the least of all, which is returned. Four rows at a time: what the
 * compiler makes of it runs as fast as memory brings the table. */
static double problems_dual_send(
	const double *restrict give, const double *restrict table, uint32_t rows, uint32_t columns, double *restrict out)
{
	uint32_t p = 1;
	FOR(q, columns)
		out[q] = give[0] + table[q];
	for (; p % 4 != rows % 4; p++) {
		const double *row = table + (size_t)p * columns;
		FOR(q, columns)
			out[q] = lesser(give[p] + row[q], out[q]);
	}
	for (; p < rows; p += 4) {
		const double *a = table + (size_t)p * columns, *b = a + columns, *c = b + columns, *d = c + columns;
		double of_a = give[p], of_b = give[p + 1], of_c = give[p + 2], of_d = give[p + 3];
		FOR(q, columns)
			out[q] = lesser(lesser(lesser(of_a + a[q], of_b + b[q]), lesser(of_c + c[q], of_d + d[q])), out[q]);
	}
	double low = problems_dual_least(out, columns);
	FOR(q, columns)
		out[q] -= low;
	return low;
}

/* The node's costs with all messages, into total; its place in the chains: one over their number. */
static double problems_dual_gather(const struct shard_dual *dual, uint32_t node)
{
	const struct shard_model *model = dual->model;
	uint32_t width = shard_width(model, node), after = 0, before = 0;
	COPY(dual->total, dual->priced + model->first[node], width);
	FOR_ITEMS(edge, &model->incident, node) {
		const double *message = dual->message + shard_into(model, edge, node);
		after += model->tail[edge] == node;
		before += model->head[edge] == node;
		FOR(p, width)
			dual->total[p] += message[p];
	}
	return 1.0 / LARGER(after, before);
}

/* Sends the node's share of every chain on; part as in shard_dual_pass(). Returns the sum of what messages were lowered
 * by. */
static double pass_node(struct shard_dual *dual, uint32_t node, double share, bool backward, double *part)
{
	const struct shard_model *model = dual->model;
	uint32_t width = shard_width(model, node);
	double sum = 0;
	FOR_ITEMS(edge, &model->incident, node) {
		uint32_t other = shard_other(model, edge, node);
		if ((model->head[edge] == node) != backward)
			continue;
		size_t into = shard_into(model, edge, node), out = shard_into(model, edge, other);
		FOR(p, width)
			dual->give[p] = share * dual->total[p] - dual->message[into + p];
		double low = problems_dual_send(
			dual->give, shard_rows(model, edge, other), width, shard_width(model, other), dual->message + out);
		sum += low;
		if (!part)
			continue;
		FOR(p, width)
			part[into + p] = -dual->give[p];
		COPY(part + out, dual->message + out, shard_width(model, other));
	}
	return sum;
}

void shard_dual_pass(struct shard_dual *dual, double *part)
{
	const struct shard_model *model = dual->model;
	FOR(node, model->nodes)
		if (csr_length(&model->incident, node))
			pass_node(dual, node, problems_dual_gather(dual, node), false, NULL);
	double bound = model->slots ? -dual->before[model->slots] * model->limit : 0;
	FOR_DOWN(node, model->nodes) {
		uint32_t width = shard_width(model, node);
		double share = problems_dual_gather(dual, node), low = problems_dual_least(dual->total, width);
		FOR(p, width)
			dual->total[p] -= low;
		bound += low;
		if (csr_length(&model->incident, node))
			bound += pass_node(dual, node, share, true, part);
	}
	dual->bound = bound;
}
