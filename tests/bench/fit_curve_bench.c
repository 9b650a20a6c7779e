/* fit_curve_bench.c: how long the curve of time over memory takes: the bound for every cap, then published strategies,
 * then plans; and a cap on it. fit_curve_bench FILE [KNOB=VALUE ...] */
#include <stdio.h>

#include "src/base/clock.h"
#include "src/decide/slowdown.h"
#include "src/read/input.h"

#define CAPS 10000

struct watching { double start; struct slowdown last; };

/* Each time that more is known. */
static void found(void *context, const struct slowdown *slowdown)
{
	struct watching *watching = context;
	double now = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - watching->start;
	if (slowdown->strategies == 0 && slowdown->plans == 0)
		printf("the bound, %u cuts: %.3f s\n", slowdown->lines, now);
	if (slowdown->strategies > watching->last.strategies)
		printf("with %u strategies: %.3f s\n", slowdown->strategies, now);
	watching->last = *slowdown;
}

/* What a cap that is moved along the curve waits for. */
static void move_cap(const struct slowdown *slowdown)
{
	double start = clock_seconds(CLOCK_PROCESS_CPUTIME_ID), price;
	int64_t sum = 0;
	for (int i = 0; i < CAPS; i++)
		sum += slowdown_bound(slowdown, slowdown->least + (slowdown->most - slowdown->least) / CAPS * i, &price) & 1;
	printf("a cap: %.3f us%s\n", (clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - start) * 1e6 / CAPS, sum < 0 ? "?" : "");
}

static enum status draw(struct graph *graph, const struct scenario *scenario, struct error *error)
{
	struct store *store = store_new();
	OWN(planner) planner = { .store = store };
	struct plan *plan = store ? planner_run(&planner, graph, scenario, PLAN_COMPLETE, error) : NULL;
	struct slowdown slowdown;
	struct watching watching = { .start = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) };
	enum status status = plan
		? slowdown_find(plan, NULL, NULL, &(struct slowdown_watch){ found, &watching }, &slowdown, error)
		: error->status;
	if (status == OK) {
		printf("with %u plans: %.3f s\n", slowdown.plans, clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - watching.start);
		move_cap(&slowdown);
	}
	plan_release(plan);
	return status;
}

int main(int count, char **words)
{
	struct error error = { 0 };
	struct scenario scenario;
	OWN(graph) *graph = count > 1 ? graph_open(words[1], NULL, &error) : NULL;
	enum status status = graph ? OK : BAD_INPUT;
	scenario_init(&scenario);
	for (int i = 2; i < count && status == OK; i++)
		status = scenario_set(&scenario, words[i], &error);
	if (status == OK)
		status = draw(graph, &scenario, &error);
	if (status != OK)
		fprintf(stderr, "%s\n", error.text);
	scenario_done(&scenario);
	return status != OK;
}
