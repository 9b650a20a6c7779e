/* fit_bench.c: the least slowdown at which steps fit, cap by cap, with the bound, on an A100's roofline.
 *     fit_bench FILE [CAP_MB | SHARE% ...]   without caps: ten between the peak and the floor; SHARE% of the peak;
 * DEVICE names another device; MILP=SECONDS adds, cap by cap, the optimum along the plan's order of an integer program,
 * its columns and the seconds that it took */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/clock.h"
#include "solver/cost/op_time.h"
#include "solver/recompute/check.h"
#include "solver/recompute/recompute.h"
#include "solver/recompute/strategies.h"
#include "fit_milp.h"
#include "solver/order/order.h"
#include "solver/step/recompute.h"
#include "src/read/input.h"
#include "src/scenario/devices.h"

static enum status order_graph(
	void *context, struct graph *graph, int64_t ceiling, struct control *control, uint32_t *order, int64_t *peak)
{
	const struct memory_rules rules = { .alignment = 1, .workspace = true };
	struct order_options options = { .strategy = ORDER_BEST, .ticks = 20000000, .ceiling = ceiling };
	struct problem problem;
	struct order_result result;
	struct error error;
	struct control own = { .cancel = control->cancel };
	(void)context;
	if (problem_of_graph(graph, &rules, &problem, &error) != OK)
		return NO_MEMORY;
	enum status status = order_solve(&problem, &options, &own, &result);
	if (status == OK || status == LIMIT) {
		memcpy(order, result.order, graph->ops * sizeof *order);
		*peak = result.peak;
		status = OK;
	}
	order_result_free(&result);
	problem_free(&problem);
	return status;
}

/* As the stage of fits does: the search, then what published strategies do. */
static enum status solve(struct recompute_solver *solver, int64_t cap, const struct activations *activations,
	const struct rules *rules, struct control *control, struct recompute_plan *plan)
{
	struct recompute_search_options options = { .orderer = order_graph, .activations = activations };
	uint8_t *state = NULL;
	uint32_t count = 0;
	enum status status = recompute_solve(solver, cap, &options, control, plan);
	if (status == OK && !plan->proved && !plan->impossible &&
		(status = recompute_published_states(&solver->step, activations, rules, control, &state, &count)) == OK)
		status = recompute_consider(solver, cap, state, count, &options, control, plan);
	mem_free(state);
	return status;
}

static void row(struct recompute_solver *solver, const struct recompute_input *input,
	const struct activations *activations, const struct rules *rules, int64_t cap)
{
	struct control control = { 0 };
	struct recompute_plan plan;
	struct error error = { 0 };
	enum status status;
	double start = clock_seconds(CLOCK_PROCESS_CPUTIME_ID), total = (double)solver->step.total;
	if (solve(solver, cap, activations, rules, &control, &plan) != OK)
		return;
	double took = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
	int64_t planned = -1, program = -1;
	struct graph *graph = recompute_plan_graph(solver, &plan, &error);
	if (graph) {
		const struct memory_rules rules = { .alignment = 1, .workspace = true };
		uint32_t *order = malloc(graph->ops * sizeof *order);
		struct problem problem;
		order_graph(NULL, graph, 0, &control, order, &planned);
		if (problem_of_graph(graph, &rules, &problem, &error) == OK) {
			program = problem_peak(&problem, problem.program, NULL, NULL);
			problem_free(&problem);
		}
		free(order);
	} else {
		printf("no graph: %s\n", error.text);
	}
	status = recompute_check(input, cap, plan.impossible ? 0 : plan.bound, &plan.certificate, &error);
	printf("| %.1f | %.3f | %.3f | %.1f %.1f %.1f | %s | %.3f | %s |", (double)cap / 1e6,
		100 * (double)plan.bound / total, plan.extra == INT64_MAX ? -1 : 100 * (double)plan.extra / total,
		(double)plan.peak / 1e6, (double)program / 1e6, (double)planned / 1e6,
		plan.proved ? "proved"
		: plan.impossible ? "impossible"
		: "",
		took, status == OK ? "certified" : error.text);
	if (getenv("MILP") && plan.extra < INT64_MAX)
		print_optimum(&solver->step, plan.order, cap, (unsigned)strtoul(getenv("MILP"), NULL, 10));
	printf("\n");
	fflush(stdout);
	graph_release(graph);
	recompute_plan_free(&plan);
}

int main(int count, char **words)
{
	struct error error = { 0 };
	struct graph *graph = count > 1 ? graph_open(words[1], NULL, &error) : NULL;
	if (!graph) {
		fprintf(stderr, "%s\n", error.text);
		return 1;
	}
	struct rules *rules = rules_new();
	struct machine machine = device_preset(DEVICE_NONE).machine;
	for (int d = 0; d < DEVICE_COUNT && getenv("DEVICE"); d++)
		if (strcmp(device_preset((enum device)d).name, getenv("DEVICE")) == 0)
			machine = device_preset((enum device)d).machine;
	int64_t *time = malloc(graph->ops * sizeof *time);
	uint32_t *traits = malloc(graph->ops * sizeof *traits);
	for (uint32_t op = 0; op < graph->ops; op++)
		traits[op] = rules_traits(rules, graph->op[op].type);
	enum machine_limit limit;
	for (uint32_t op = 0; op < graph->ops; op++)
		if (op_local_time(graph, rules, &machine, op, false, &time[op], &limit) != OK)
			return 1;
	struct recompute_input input = { .graph = graph, .time = time, .traits = traits, .alignment = 1, .workspace = true };
	struct recompute_solver solver;
	struct activations activations;
	if (activations_find(graph, rules, &activations, &error) != OK)
		return 1;
	double start = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
	if (recompute_solver_new(&input, &solver) != OK)
		return 1;
	uint8_t *keep = calloc(solver.step.storages, 1);
	int64_t top = INT64_MAX, floor = 0;
	for (int i = 0; i < 2; i++) {
		recompute_play(&solver.replay, &solver.base[i], keep);
		top = solver.replay.peak < top ? solver.replay.peak : top;
	}
	for (uint32_t i = 0; i < solver.step.ops; i++)
		floor = solver.base[0].fixed[i] > floor ? solver.base[0].fixed[i] : floor;
	printf("%s: %u ops, step %.2f ms, forward %.2f, peak %.1f MB, floor %.1f MB, set up %.3f s\n", graph->name,
		graph->ops, (double)solver.step.total / 1e9, (double)solver.step.forward_time / 1e9, (double)top / 1e6,
		(double)floor / 1e6, clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - start);
	printf("| cap MB | bound %% | ours %% | replayed, program, planned MB | | s | |\n");
	for (int i = 2; i < count; i++)
		row(&solver, &input, &activations, rules,
			(int64_t)(strtod(words[i], NULL) * (strchr(words[i], '%') ? (double)top / 100 : 1e6)));
	for (int i = 1; i < 10 && count == 2; i++)
		row(&solver, &input, &activations, rules, top - (top - floor) / 10 * i);
	free(keep);
	free(time);
	free(traits);
	recompute_solver_free(&solver);
	activations_free(&activations);
	rules_free(rules);
	graph_release(graph);
	return 0;
}
