/* overlap.c: passes from several orders by several rules; the exact simulation judges. */
#include <string.h>

#include "pass.h"

#define ROUNDS 4
#define NOISY_ROUNDS 64    /* passes with random urgency, at most */
#define FRUITLESS 12       /* of them in turn that bring nothing: enough */

struct seeking {
	const struct overlap_request *request;
	struct control *control;
	struct overlap_result *result;
	struct overlap_terms terms;
	uint32_t *order;                /* [ops] the pass's result */
	uint32_t *release;              /* [ops] of the best order: when parameters are gathered */
	uint64_t spent;
	struct arena arena;
};

/* The order's time and peak: kept where better. *better may be NULL. */
static enum status consider(struct seeking *seeking, const uint32_t *order, const char *name, bool *better)
{
	const struct overlap_request *request = seeking->request;
	struct overlap_result *best = seeking->result;
	struct step_model model;
	struct step_time time = { 0 };
	int64_t peak = problem_peak(request->problem, order, NULL, &(uint32_t) { 0 });
	enum status status = peak < 0 ? NO_MEMORY : step_model_build(request->graph, order, request->costs, &model);
	if (peak < 0)
		return status;
	THEN(status, step_time_find(&model, &time));
	bool turn = status == OK && peak <= request->limit
		&& (!best->winner || time.total < best->time || (time.total == best->time && peak < best->peak));
	if (turn) {
		best->time = time.total;
		best->peak = peak;
		best->winner = name;
		memcpy(best->order, order, request->graph->ops * sizeof *order);
		memcpy(seeking->release, model.release, request->graph->ops * sizeof *seeking->release);
	}
	if (better)
		*better = turn;
	step_time_free(&time);
	step_model_free(&model);
	return status;
}

static bool is_spent(struct seeking *seeking)
{
	uint64_t ticks = (uint64_t)seeking->request->graph->ops * 40;
	seeking->spent += ticks;
	return control_spend(seeking->control, ticks) || seeking->spent > (seeking->request->ticks ? seeking->request->ticks : OVERLAP_EFFORT);
}

/* A pass from the best order so far. */
static enum status try_rule(struct seeking *seeking, const struct overlap_rule *rule, bool *better)
{
	TRY(overlap_pass(&seeking->terms, rule, seeking->result->order, seeking->release, seeking->order));
	return consider(seeking, seeking->order, rule->name, better);
}

#define FORWARD "an order for time: ops taken forward where computation waits"
#define URGENT "an order for time: the longest way to the end first"

/* Ways from a start: what is good by itself may lead nowhere, so each is gone to its end. */
static const struct overlap_rule ways[][7] = {
	{ { .window = 128, .name = FORWARD }, { .window = 2048, .name = FORWARD }, { .window = 2048, .patient = true, .name = FORWARD },
	  { .urgent = true, .window = 128, .gather = 48, .name = URGENT }, { .urgent = true, .window = 2048, .gather = 48, .name = URGENT },
	  { .urgent = true, .patient = true, .window = 512, .gather = 48, .name = URGENT } },
	{ { .window = 512, .gather = 256, .name = "an order for time: parameters gathered earlier" }, { .window = 2048, .name = FORWARD },
	  { .urgent = true, .window = 2048, .gather = 48, .name = URGENT }, { .urgent = true, .window = 2048, .gather = 2048, .name = URGENT },
	  { .urgent = true, .patient = true, .window = 512, .gather = 256, .name = URGENT } },
	{ { .urgent = true, .window = 2048, .gather = 2048, .name = URGENT }, { .urgent = true, .patient = true, .window = 2048, .gather = 48, .name = URGENT },
	  { .window = 2048, .patient = true, .name = FORWARD }, { .window = 512, .gather = 256, .name = FORWARD } },
};
#define WAYS (sizeof ways / sizeof *ways)

/* A way's rules in turn, until none of them brings anything. */
static enum status settle(struct seeking *seeking, const struct overlap_rule *rules)
{
	enum status status = OK;
	bool any = true;
	for (int round = 0; round < ROUNDS && any && status == OK; round++) {
		any = false;
		for (const struct overlap_rule *rule = rules; rule->name && status == OK; rule++) {
			bool better = false;
			if (is_spent(seeking))
				return OK;
			status = try_rule(seeking, rule, &better);
			any |= better;
		}
	}
	return status;
}

static enum status shake(struct seeking *seeking)
{
	enum status status = OK;
	for (uint32_t round = 0, fruitless = 0; round < NOISY_ROUNDS && fruitless < FRUITLESS && status == OK && !is_spent(seeking); round++) {
		struct overlap_rule rule = { .urgent = true, .patient = round % 2, .window = 64u << round % 6, .gather = round % 3 * 64, .noise = 4u << round % 4,
			.seed = round + 1, .name = URGENT ", at random" };
		bool better = false;
		status = try_rule(seeking, &rule, &better);
		fruitless = better ? 0 : fruitless + 1;
	}
	return status;
}

static enum status prepare(struct seeking *seeking)
{
	uint32_t ops = seeking->request->graph->ops;
	seeking->order = arena_alloc(&seeking->arena, ops, sizeof *seeking->order);
	seeking->release = arena_alloc(&seeking->arena, ops, sizeof *seeking->release);
	seeking->result->order = mem_alloc(ops, sizeof *seeking->result->order);
	return seeking->order && seeking->release && seeking->result->order ? overlap_terms_find(seeking->request, &seeking->terms) : NO_MEMORY;
}

/* Takes over what was found last where it is better than *best. */
static enum status keep_better(struct seeking *seeking, struct overlap_result *best)
{
	const struct overlap_result *here = seeking->result;
	uint32_t ops = seeking->request->graph->ops, *order = best->order;
	if (best->winner && (here->time > best->time || (here->time == best->time && here->peak >= best->peak)))
		return OK;
	if (!order && !(order = arena_alloc(&seeking->arena, ops, sizeof *order)))
		return NO_MEMORY;
	memcpy(order, here->order, ops * sizeof *order);
	*best = *here;
	best->order = order;
	return OK;
}

/* Each way from each start; the best of their ends goes on. */
static enum status from_starts(struct seeking *seeking)
{
	struct overlap_result best = { 0 }, *here = seeking->result;
	enum status status = OK;
	for (uint32_t i = 0; i < seeking->request->starts * WAYS && status == OK; i++) {
		here->winner = NULL;
		status = consider(seeking, seeking->request->start[i / WAYS], "the order of the least peak", NULL);
		if (status != OK || !here->winner)
			continue;
		status = settle(seeking, ways[i % WAYS]);
		THEN(status, keep_better(seeking, &best));
	}
	here->winner = NULL;
	return status == OK && best.winner ? consider(seeking, best.order, best.winner, NULL) : status;
}

enum status overlap_schedule(const struct overlap_request *request, struct control *control, struct overlap_result *result)
{
	struct seeking seeking = { .request = request, .control = control, .result = result };
	*result = (struct overlap_result) { .time = -1, .peak = -1 };
	enum status status = prepare(&seeking);
	THEN(status, from_starts(&seeking));
	if (status == OK && result->winner)
		status = shake(&seeking);
	overlap_terms_free(&seeking.terms);
	arena_free(&seeking.arena);
	if (status == OK && !result->winner)
		status = INFEASIBLE;
	if (status != OK)
		overlap_result_free(result);
	return status == OK && control_status(control) == CANCELLED ? CANCELLED : status;
}

void overlap_result_free(struct overlap_result *result)
{
	mem_free(result->order);
	*result = (struct overlap_result) { .time = -1, .peak = -1 };
}
