/* round.c: a floating-point dual solution rounded to an integer certificate.
 *
 * Any integers >= 0 and any messages prove a bound: rounding only moves it a little. What it is, shard_bound() says. */
#include <math.h>

#include "dual.h"

#define MESSAGE_MAX 0x1p60 /* larger ones belong to strategies that no good choice has */
#define SHIFT_MOST 24

struct rounding {
	const struct shard_dual *dual;
	struct shard_certificate *certificate;
	double *part; /* messages here, see shard_dual_pass() */
	double *sum;  /* scratch: a bundle's costs */
	struct arena arena;
};

static int64_t round_rounded(double value, unsigned shift)
{
	return llrint(fmin(fmax(ldexp(value, (int)shift), -MESSAGE_MAX), MESSAGE_MAX));
}

/* The lowest of the problem nodes that a node here stands for: messages are counted by its strategies. */
static uint32_t round_lowest(const struct shard_model *model, uint32_t node)
{
	return model->member[model->member_start[node]].node;
}

static uint32_t first_edge(const struct shard_model *model, uint32_t begin, uint32_t end)
{
	uint32_t edge = NONE;
	FOR_FROM(i, begin, end)
		edge = SMALLER(model->group[model->bundle[i]].edge, edge);
	return edge;
}

/* Places for messages: at the first edge between two nodes. */
static enum status round_lay_out(struct rounding *rounding)
{
	const struct shard_model *model = rounding->dual->model;
	const struct shard_problem *problem = model->problem;
	struct shard_certificate *certificate = rounding->certificate;
	size_t largest = 1;
	MAKE(certificate->start, (size_t)problem->edges + 1);
	NEED(certificate->start);
	for (uint32_t i = 0, next; i < model->bundles; i = next) {
		uint32_t low, high;
		shard_bundle_ends(model, i, &low, &high);
		next = shard_bundle_end(model, i);
		size_t size = (size_t)shard_width(model, low) * shard_width(model, high);
		certificate->start[first_edge(model, i, next) + 1] =
			(size_t)shard_strategies(problem, round_lowest(model, low)) + shard_strategies(problem, round_lowest(model, high));
		largest = LARGER(size, largest);
	}
	FOR(edge, problem->edges)
		certificate->start[edge + 1] += certificate->start[edge];
	MAKE(certificate->message, certificate->start[problem->edges]);
	return ROOM(&rounding->arena, rounding->part, model->messages) && ROOM(&rounding->arena, rounding->sum, largest) &&
		certificate->message ? OK : NO_MEMORY;
}

/* A node's messages over an edge, spread to the strategies of its lowest problem node. */
static void round_put(struct rounding *rounding, uint32_t edge, uint32_t node, const double *message)
{
	const struct shard_model *model = rounding->dual->model;
	const struct shard_problem *problem = model->problem;
	size_t start = rounding->certificate->start[edge];
	if (model->node_of[problem->from[edge]] != node)
		start += shard_strategies(problem, round_lowest(model, model->node_of[problem->from[edge]]));
	FOR(p, shard_width(model, node))
		rounding->certificate->message[start + shard_original(model, round_lowest(model, node), p)] = round_rounded(
			message[p], rounding->certificate->shift);
}

/* Costs that are a sum of one per row and one per column move to the nodes whole. */
static void put_separable(struct rounding *rounding, uint32_t begin, uint32_t end, uint32_t edge)
{
	const struct shard_model *model = rounding->dual->model;
	uint32_t low, high;
	shard_bundle_ends(model, begin, &low, &high);
	uint32_t rows = shard_width(model, low), columns = shard_width(model, high);
	double *sum = rounding->sum, first;
	shard_model_sum(model, begin, end, sum);
	first = sum[0];
	round_put(rounding, edge, high, sum);
	FOR(p, rows)
		sum[p] = sum[(size_t)p * columns] - first;
	round_put(rounding, edge, low, sum);
}

static void put_messages(struct rounding *rounding)
{
	const struct shard_model *model = rounding->dual->model;
	for (uint32_t i = 0, next; i < model->bundles; i = next) {
		uint32_t edge = model->reduced[i], low, high;
		next = shard_bundle_end(model, i);
		uint32_t place = first_edge(model, i, next);
		shard_bundle_ends(model, i, &low, &high);
		if (edge == NONE) {
			put_separable(rounding, i, next, place);
			continue;
		}
		round_put(rounding, place, low, rounding->part + model->into_tail[edge]);
		round_put(rounding, place, high, rounding->part + model->into_head[edge]);
	}
}

/* The finest unit in which costs as large as the bound keep their distance from 2^60. */
static unsigned unit_shift(double bound)
{
	int exponent;
	frexp(fabs(bound), &exponent);
	return exponent > 56 - SHIFT_MOST ? exponent > 56 ? 0 : (unsigned)(56 - exponent) : SHIFT_MOST;
}

enum status shard_round(
	struct shard_dual *dual, const struct shard_problem *problem, struct shard_certificate *certificate)
{
	const struct shard_model *model = dual->model;
	struct rounding rounding = { .dual = dual, .certificate = certificate };
	*certificate = (struct shard_certificate) { .shift = unit_shift(dual->bound), .moments = model->slots };
	MAKE(certificate->moment, model->slots);
	MAKE(certificate->multiplier, model->slots);
	enum status status = certificate->moment && certificate->multiplier ? round_lay_out(&rounding) : NO_MEMORY;
	if (status == OK && problem->limit >= 0)
		FOR(i, model->slots) {
			certificate->moment[i] = model->moment[i];
			certificate->multiplier[i] = round_rounded(dual->multiplier[i], certificate->shift);
		}
	if (status == OK) {
		shard_dual_price(model, dual->multiplier, dual->before, dual->priced);
		shard_dual_pass(dual, rounding.part);
		put_messages(&rounding);
	}
	arena_free(&rounding.arena);
	if (status != OK)
		shard_certificate_free(certificate);
	return status;
}
