/* overlap.c: passes from several orders by several rules; the exact simulation judges. */

#include "overlap.h"
#include "play.h"
#include "solver/base/names.h"

#define ROUNDS 4
#define NOISY_ROUNDS 64    /* passes with random urgency, at most */
#define FRUITLESS 12       /* of them in turn that bring nothing: enough */
#define BEHIND 200         /* by such a part behind another search after the first way: so it stays */
#define FEW_PASSES 8       /* fewer than that: a single one, by the rule that comes furthest at once */

struct seeking {
	const struct overlap_request *request;
	struct control *control;
	struct overlap_result *result;
	struct overlap_terms terms;
	uint32_t *order;                /* [ops] the pass's result */
	uint32_t *release;              /* [ops] of the best order: when parameters are gathered */
	uint64_t spent;
	struct lineup line;             /* both of no ops in a step that can't be played, or gets few passes */
	struct play play;
	struct arena arena;
};

/* Whether a play says that an order is slower than the best so far, which spares what else there is to say of it. */
static bool overlap_is_slower(struct seeking *seeking, const uint32_t *order)
{
	if (!seeking->result->winner || seeking->play.nodes == 0)
		return false;
	lineup_place(&seeking->line, order);
	return play_step(&seeking->play, seeking->result->time) > seeking->result->time;
}

/* The order's time and peak: kept where better. *better may be NULL. */
static enum status overlap_consider(struct seeking *seeking, const uint32_t *order, const char *name, bool *better)
{
	const struct overlap_request *request = seeking->request;
	struct overlap_result *best = seeking->result;
	struct step_model model;
	struct step_time time = { 0 };
	if (better)
		*better = false;
	if (overlap_is_slower(seeking, order))
		return OK;
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
		COPY(best->order, order, request->graph->ops);
		COPY(seeking->release, model.release, request->graph->ops);
	}
	if (better)
		*better = turn;
	step_time_free(&time);
	step_model_free(&model);
	return status;
}

static uint64_t effort_of(const struct seeking *seeking)
{
	return seeking->request->ticks ? seeking->request->ticks : OVERLAP_EFFORT;
}

static uint64_t overlap_pass_ticks(const struct seeking *seeking)
{
	return (uint64_t)seeking->request->graph->ops * 40;
}

/* Whether no order is faster than the best so far. */
static bool overlap_is_fastest(const struct seeking *seeking)
{
	return seeking->result->winner && seeking->result->time <= seeking->request->bound;
}

/* Whether the effort is spent, the user has had enough, or nothing is left to find. */
static bool overlap_is_over(const struct seeking *seeking)
{
	return seeking->spent > effort_of(seeking) || control_status(seeking->control) != OK ||
		overlap_is_fastest(seeking);
}

static bool is_spent(struct seeking *seeking)
{
	seeking->spent += overlap_pass_ticks(seeking);
	return control_spend(seeking->control, overlap_pass_ticks(seeking)) || overlap_is_over(seeking);
}

/* Whether the first way says that the search isn't going to be ahead of the one before. */
static bool overlap_is_behind(const struct seeking *seeking)
{
	int64_t lead = seeking->request->lead;
	return lead > 0 && seeking->result->winner && seeking->result->time - lead > lead / BEHIND;
}

/* Whether so few passes of a very large step can be paid that ways lead nowhere. */
static bool is_hasty(const struct seeking *seeking)
{
	return effort_of(seeking) / overlap_pass_ticks(seeking) < FEW_PASSES;
}

/* A pass from the best order so far. */
static enum status try_rule(struct seeking *seeking, const struct overlap_rule *rule, bool *better)
{
	TRY(overlap_pass(&seeking->terms, rule, seeking->result->order, seeking->release, seeking->order));
	return overlap_consider(seeking, seeking->order, rule->name, better);
}

#define START "the order of the least peak"
#define FORWARD "an order for time: ops taken forward where computation waits"
#define URGENT "an order for time: the longest way to the end first"

/* Ways from a start: what is good by itself may lead nowhere, so each is gone to its end. The first one comes near to
 * the rest in two passes. */
static const struct overlap_rule ways[][7] = {
	{ { .urgent = true, .patient = true, .window = 512, .gather = 256, .name = URGENT },
		{ .urgent = true, .window = 2048, .gather = 48, .name = URGENT } },
	{ { .window = 128, .name = FORWARD }, { .window = 2048, .name = FORWARD },
		{ .window = 2048, .patient = true, .name = FORWARD },
		{ .urgent = true, .window = 128, .gather = 48, .name = URGENT },
		{ .urgent = true, .window = 2048, .gather = 48, .name = URGENT },
		{ .urgent = true, .patient = true, .window = 512, .gather = 48, .name = URGENT } },
	{ { .window = 512, .gather = 256, .name = "an order for time: parameters gathered earlier" },
		{ .window = 2048, .name = FORWARD }, { .urgent = true, .window = 2048, .gather = 48, .name = URGENT },
		{ .urgent = true, .window = 2048, .gather = 2048, .name = URGENT },
		{ .urgent = true, .patient = true, .window = 512, .gather = 256, .name = URGENT } },
};
#define WAYS (COUNT_OF(ways))

/* A way's rules in turn, until none of them brings anything: one that was tried since the last that did would make the
 * same order. */
static enum status overlap_settle(struct seeking *seeking, const struct overlap_rule *rules)
{
	const struct overlap_rule *last = NULL;
	bool any = true;
	for (int round = 0; round < ROUNDS && any; round++) {
		any = false;
		for (const struct overlap_rule *rule = rules; rule->name; rule++) {
			bool better = false;
			if (is_spent(seeking))
				return OK;
			if (round > 0 && !any && rule > last)
				continue;
			TRY(try_rule(seeking, rule, &better));
			last = better ? rule : last;
			any |= better;
		}
	}
	return OK;
}

static enum status overlap_shake(struct seeking *seeking)
{
	for (uint32_t round = 0, fruitless = 0; round < NOISY_ROUNDS && fruitless < FRUITLESS && !is_spent(seeking); round++) {
		struct overlap_rule rule = { .urgent = true,
			.patient = round % 2,
			.window = 64u << round % 6,
			.gather = round % 3 * 64,
			.noise = 4u << round % 4,
			.seed = round + 1,
			.name = URGENT ", at random" };
		bool better = false;
		TRY(try_rule(seeking, &rule, &better));
		fruitless = better ? 0 : fruitless + 1;
	}
	return OK;
}

static enum status overlap_play_begin(struct seeking *seeking)
{
	if (seeking->play.nodes > 0)
		return OK;
	TRY(lineup_new(seeking->request, &seeking->line));
	return play_new(seeking->request, &seeking->line, &seeking->play);
}

static enum status overlap_prepare(struct seeking *seeking)
{
	uint32_t ops = seeking->request->graph->ops;
	if (seeking->request->starts > 0 && !is_hasty(seeking) && play_can(seeking->request->graph))
		TRY(overlap_play_begin(seeking));
	ROOM(&seeking->arena, seeking->order, ops);
	ROOM(&seeking->arena, seeking->release, ops);
	MAKE(seeking->result->order, ops);
	return seeking->order && seeking->release && seeking->result->order
		? overlap_terms_find(seeking->request, &seeking->terms)
		: NO_MEMORY;
}

/* An order with what its simulation shows. */
struct found {
	int64_t time, peak;
	const char *winner;             /* NULL: none that keeps the limit */
	uint32_t *order, *release;      /* [ops] */
};

/* Copies from one to the other, whose arrays are made where there are none. */
static enum status copy_found(struct seeking *seeking, const struct found *from, struct found *to)
{
	uint32_t ops = seeking->request->graph->ops, *order = to->order, *release = to->release;
	order = order ? order : arena_alloc(&seeking->arena, ops, sizeof *order);
	release = release ? release : arena_alloc(&seeking->arena, ops, sizeof *release);
	NEED(order && release);
	COPY(order, from->order, ops);
	COPY(release, from->release, ops);
	*to = (struct found) { from->time, from->peak, from->winner, order, release };
	return OK;
}

static struct found best_so_far(const struct seeking *seeking)
{
	const struct overlap_result *here = seeking->result;
	return (struct found) { here->time, here->peak, here->winner, here->order, seeking->release };
}

/* The search goes on from there. */
static enum status overlap_go_to(struct seeking *seeking, const struct found *found)
{
	struct found here = best_so_far(seeking);
	TRY(copy_found(seeking, found, &here));
	seeking->result->time = here.time;
	seeking->result->peak = here.peak;
	seeking->result->winner = here.winner;
	return OK;
}

/* Takes over what was found last where it is better than *best. */
static enum status overlap_keep_better(struct seeking *seeking, struct found *best)
{
	struct found here = best_so_far(seeking);
	if (best->winner && (here.time > best->time || (here.time == best->time && here.peak >= best->peak)))
		return OK;
	return copy_found(seeking, &here, best);
}

/* Each way from a start. */
static enum status from_start(struct seeking *seeking, const uint32_t *start, struct found *best)
{
	struct found first = { 0 };
	TRY(overlap_consider(seeking, start, START, NULL));
	if (!seeking->result->winner)
		return OK;
	if (is_hasty(seeking)) {
		TRY(is_spent(seeking) ? OK : try_rule(seeking, &ways[0][0], NULL));
		return overlap_keep_better(seeking, best);
	}
	struct found here = best_so_far(seeking);
	TRY(copy_found(seeking, &here, &first));
	for (uint32_t way = 0; way < (seeking->request->glance ? 1 : WAYS); way++) {
		TRY(overlap_go_to(seeking, &first));
		TRY(overlap_settle(seeking, ways[way]));
		TRY(overlap_keep_better(seeking, best));
		if (overlap_is_over(seeking) || (way == 0 && overlap_is_behind(seeking)))
			break;
	}
	return OK;
}

/* Each way from the first start that keeps the limit; the best of their ends goes on, or another start. */
static enum status from_starts(struct seeking *seeking)
{
	const struct overlap_request *request = seeking->request;
	struct found best = { 0 };
	uint32_t i = 0;
	for (; i < request->starts && !best.winner; i++)
		TRY(from_start(seeking, request->start[i], &best));
	TRY(best.winner ? overlap_go_to(seeking, &best) : OK);
	for (; i < request->starts; i++)
		TRY(overlap_consider(seeking, request->start[i], START, NULL));
	return OK;
}

#define MOVES "an order for time: ops moved at random"
#define HOT 3000            /* the first temperature is such a part of the step */

/* Changes at random from the best so far. */
static enum status overlap_change(struct seeking *seeking)
{
	const struct overlap_result *best = seeking->result;
	const struct overlap_request *request = seeking->request;
	/* time that costs more memory still is not worth it to anyone who set no cap */
	struct anneal_effort effort = { overlap_changes(request->moves, request->graph->ops), best->time / HOT,
		request->bound, request->limit == INT64_MAX ? best->peak : request->limit, seeking->control };
	TRY(overlap_play_begin(seeking));
	COPY(seeking->order, best->order, request->graph->ops);
	TRY(overlap_anneal(&seeking->line, &seeking->play, &effort, seeking->order));
	return overlap_consider(seeking, seeking->order, MOVES, NULL);
}

static bool overlap_shake_helps(const struct seeking *seeking)
{
	return seeking->result->winner && !seeking->request->glance && !is_hasty(seeking) && !overlap_is_fastest(seeking) &&
		!overlap_is_behind(seeking);
}

static enum status overlap_take_known(struct seeking *seeking)
{
	const uint32_t *known = seeking->request->known;
	return known ? overlap_consider(seeking, known, MOVES, NULL) : OK;
}

static bool overlap_change_helps(const struct seeking *seeking)
{
	const struct overlap_request *request = seeking->request;
	return seeking->result->winner && !request->glance && overlap_changes(request->moves, request->graph->ops) > 0 &&
		!overlap_is_fastest(seeking) && control_status(seeking->control) == OK && play_can(request->graph);
}

/* docs/benchmarks.md says what each is worth. helps: NULL: always. */
static const struct step {
	const char *name;
	bool (*helps)(const struct seeking *seeking);
	enum status (*run)(struct seeking *seeking);
} steps[] = {
	{ "overlap.passes", NULL, from_starts },
	{ "overlap.shake", overlap_shake_helps, overlap_shake },
	{ "overlap.known", NULL, overlap_take_known },
	{ "overlap.anneal", overlap_change_helps, overlap_change },
};

enum status overlap_schedule(
	const struct overlap_request *request, struct control *control, struct overlap_result *result)
{
	struct seeking seeking = { .request = request, .control = control, .result = result };
	*result = (struct overlap_result) { .time = -1, .peak = -1 };
	enum status status = overlap_prepare(&seeking);
	for (size_t i = 0; i < COUNT_OF(steps) && status == OK; i++)
		if ((!steps[i].helps || steps[i].helps(&seeking)) && step_runs(steps[i].name))
			status = steps[i].run(&seeking);
	overlap_terms_free(&seeking.terms);
	play_free(&seeking.play);
	lineup_free(&seeking.line);
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
