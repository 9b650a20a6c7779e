/* order_bench.c: the orderer's tables.
 *     order_bench graphs FILE ...   peak, bound, gap and CPU seconds of each graph (MiB without persistent bytes)
 *     order_bench roam FILE ...     ROAM's peak in % above our own, by its node limit and its delay radius
 *     order_bench streams FILE ...  ROAM's order with up to 2, 4, 8 ops a step: steps in % of ops, within one stream's
 *                                   peak and without a limit, then the peak's rise in %; ROAM's leaves, their CPU seconds,
 *                                   those of the longest one, and of all of the order
 *     order_bench growth            CPU seconds against ops, on stacked equal layers with backward and updates
 *     order_bench ilp               our time against integer programs on the whole graph, solved by GLPK in the same
 * run: the prefix model, and MODeL's (Steiner et al., ICML 2023) with one op per step */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/common/order_ilp.h"
#include "solver/graph/draft.h"
#include "solver/order/job.h"
#include "src/base/clock.h"
#include "src/read/input.h"
#include "tests/common/random_problem.h"

static const struct memory_rules rules = { .alignment = 1, .workspace = true };

/* The best order, and what it took. */
static double solve(const struct problem *problem, struct order_result *result)
{
	struct order_options options = { .strategy = ORDER_BEST };
	struct control control = { 0 };
	double start = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
	order_solve(problem, &options, &control, result);
	return clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
}

static double mebibytes(int64_t bytes)
{
	return (double)bytes / 1048576;
}

/* ---- graphs --------------------------------------------------------------------------------- */

/* Opens a graph and orders it in time seconds; NULL after saying why not. */
static struct graph *solve_file(const char *path, struct problem *problem, struct order_result *result, double *time)
{
	struct error error = { 0 };
	struct graph *graph = graph_open(path, NULL, &error);
	if (graph && problem_of_graph(graph, &rules, problem, &error) == OK) {
		*time = solve(problem, result);
		return graph;
	}
	fprintf(stderr, "%s: %s\n", path, error.text);
	graph_release(graph);
	return NULL;
}

static void graphs(int count, char **paths)
{
	int proved = 0;
	printf("| graph | ops | program | ours | bound | gap %% | proved by | s |\n|---|---|---|---|---|---|---|---|\n");
	for (int i = 0; i < count; i++) {
		struct problem problem;
		struct order_result result;
		double time;
		struct graph *graph = solve_file(paths[i], &problem, &result, &time);
		if (!graph)
			continue;
		int64_t program = problem_peak(&problem, problem.program, NULL, NULL);
		const char *name = strrchr(paths[i], '/') ? strrchr(paths[i], '/') + 1 : paths[i];
		double gap = 100.0 * (double)(result.peak - result.proof.bound) / (double)(result.proof.bound - problem.base + 1);
		printf("| %s | %u | %.4f | %.4f | %.4f | %.3f | %s | %.2f |\n", name, problem.ops, mebibytes(program - problem.base),
			mebibytes(result.peak - problem.base), mebibytes(result.proof.bound - problem.base), gap,
			proof_closed(&result.proof) ? result.proof.by : "-", time);
		proved += proof_closed(&result.proof);
		order_result_free(&result);
		problem_free(&problem);
		graph_release(graph);
	}
	printf("\n%d of %d proved optimal\n", proved, count);
}

/* ---- growth --------------------------------------------------------------------------------- */

struct builder {
	struct draft *draft;
	uint32_t tensors, ops;
};

/* ROAM's order with the limits given: % above the peak. */
static void roam_cell(const struct problem *problem, int64_t peak, uint32_t nodes, uint32_t radius)
{
	struct order_options options = { .strategy = ORDER_ROAM, .node_limit = nodes, .delay_radius = radius };
	struct control control = { 0 };
	struct order_result result;
	order_solve(problem, &options, &control, &result);
	printf(" %.2f |", 100.0 * (double)(result.peak - peak) / (double)peak);
	order_result_free(&result);
}

static void roam(int count, char **paths)
{
	puts("| graph | 10 ops | 20 | 50 | 100 | 100, at once | 1 segment later | 8 | 64 |");
	puts("|---|--:|--:|--:|--:|--:|--:|--:|--:|");
	for (int i = 0; i < count; i++) {
		struct problem problem;
		struct order_result result;
		double time;
		struct graph *graph = solve_file(paths[i], &problem, &result, &time);
		if (!graph)
			continue;
		printf("| %s |", strrchr(paths[i], '/') ? strrchr(paths[i], '/') + 1 : paths[i]);
		static const uint32_t limits[][2] = { { 10, 0 }, { 20, 0 }, { 50, 0 }, { 100, 0 }, { 100, 1 }, { 100, 2 },
			{ 100, 9 }, { 100, 65 } };
		for (size_t j = 0; j < sizeof limits / sizeof *limits; j++)
			roam_cell(&problem, result.peak, limits[j][0], limits[j][1]);
		printf("\n");
		order_result_free(&result);
		problem_free(&problem);
		graph_release(graph);
	}
}

/* ---- streams, and leaves side by side ---- */

/* Steps of an order in which up to so many ops that follow one another, none of which needs another, share a step and
 * are alive together. *peak: their most bytes; steps stay below it where it is > 0. */
static uint32_t share_steps(const struct order_model *model, const uint32_t *order, uint32_t streams, int64_t *peak)
{
	OWN(arena) arena = { 0 };
	struct order_walk walk;
	uint32_t steps = 0;
	int64_t limit = *peak > 0 ? *peak : INT64_MAX;
	order_walk_start(&walk, model, &arena);
	for (uint32_t first = 0, end; first < model->ops; first = end, steps++) {
		int64_t live = walk.live + order_walk_need(&walk, order[first]);
		for (end = first + 1; end < model->ops && end - first < streams && walk.waiting[order[end]] == 0 &&
			live + order_walk_need(&walk, order[end]) <= limit; end++)
			live += order_walk_need(&walk, order[end]);
		*peak = live > *peak ? live : *peak;
		FOR_FROM(i, first, end)
			order_walk_run(&walk, order[i]);
	}
	return steps;
}

static struct { double all, longest; } timed;

static void time_calls(uint32_t count, void (*call)(void *context, uint32_t i), void *context)
{
	FOR(i, count) {
		double start = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
		call(context, i);
		double took = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
		timed.all += took;
		timed.longest = took > timed.longest ? took : timed.longest;
	}
}

static void streams_row(const char *path, const struct problem *problem)
{
	struct order_options options = { .strategy = ORDER_ROAM, .side_by_side = time_calls };
	struct control control = { 0 };
	OWN(arena) arena = { 0 };
	OWN(order_result) result;
	struct order_model model;
	memset(&timed, 0, sizeof timed);
	double start = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
	order_solve(problem, &options, &control, &result);
	double all = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
	if (order_model_of(problem, &arena, &model) != OK)
		return;
	printf("| %s |", strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
	for (uint32_t streams = 2; streams <= 8; streams *= 2) {
		int64_t least = result.peak, most = 0;
		uint32_t within = share_steps(&model, result.order, streams, &least);
		uint32_t all_steps = share_steps(&model, result.order, streams, &most);
		printf(" %.1f | %.1f | %.2f |", 100.0 * within / model.ops, 100.0 * all_steps / model.ops,
			100.0 * (double)(most - result.peak) / (double)result.peak);
	}
	printf(" %u | %.4f | %.4f | %.4f |\n", result.solved, timed.all, timed.longest, all);
}

static void streams(int count, char **paths)
{
	puts("| graph | 2: steps | no limit | peak | 4: steps | no limit | peak | 8: steps | no limit | peak | leaves | s | "
		"longest | all |");
	puts("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
	for (int i = 0; i < count; i++) {
		struct error error = { 0 };
		OWN(problem) problem = { 0 };
		struct graph *graph = graph_open(paths[i], NULL, &error);
		if (graph && problem_of_graph(graph, &rules, &problem, &error) == OK)
			streams_row(paths[i], &problem);
		else
			fprintf(stderr, "%s: %s\n", paths[i], error.text);
		graph_release(graph);
	}
}

static uint32_t add_tensor(struct builder *builder, int64_t bytes, enum kind kind)
{
	char name[16];
	snprintf(name, sizeof name, "t%u", builder->tensors++);
	struct tensor tensor = { .name = name, .bytes = bytes, .kind = (uint8_t)kind, .alias = NONE, .dtype = DTYPE_OPAQUE };
	return draft_tensor(builder->draft, &tensor);
}

static uint32_t add_op(struct builder *builder, enum phase phase, uint32_t output)
{
	char name[16];
	snprintf(name, sizeof name, "o%u", builder->ops++);
	struct op op = { .name = name, .type = "op", .module = "", .phase = (uint8_t)phase, .has_phase = true, .flops = -1 };
	uint32_t id = draft_op(builder->draft, &op);
	draft_write(builder->draft, id, output);
	return id;
}

#define DEPTH 8

/* Layers of DEPTH ops with a skip connection; each op's backward reads what it read; every weight is updated at once.
 */
static struct graph *stacked_layers(uint32_t layers)
{
	struct builder builder = { .draft = draft_new() };
	uint32_t *saved = calloc((size_t)layers * DEPTH + 1, sizeof *saved), *skip = calloc(layers + 1, sizeof *skip);
	uint32_t value = add_tensor(&builder, 4096, KIND_INPUT);
	for (uint32_t i = 0; i < layers * DEPTH; i++) {
		saved[i] = value;
		value = add_tensor(&builder, 1000 + 300 * (i % DEPTH), KIND_ACTIVATION);
		uint32_t op = add_op(&builder, PHASE_FORWARD, value);
		draft_read(builder.draft, op, saved[i]);
		if (i % DEPTH == 0)
			skip[i / DEPTH] = saved[i];
		if (i % DEPTH == DEPTH - 1)
			draft_read(builder.draft, op, skip[i / DEPTH]);
	}
	for (uint32_t i = layers * DEPTH; i-- > 0;) {
		uint32_t gradient = value, weight = add_tensor(&builder, 8192, KIND_PARAMETER);
		value = add_tensor(&builder, 1000 + 300 * (i % DEPTH), KIND_GRADIENT);
		uint32_t op = add_op(&builder, PHASE_BACKWARD, value);
		draft_read(builder.draft, op, gradient);
		draft_read(builder.draft, op, saved[i]);
		uint32_t change = add_tensor(&builder, 8192, KIND_GRADIENT);
		op = add_op(&builder, PHASE_BACKWARD, change);
		draft_read(builder.draft, op, gradient);
		draft_read(builder.draft, op, saved[i]);
		uint32_t updated = add_tensor(&builder, 0, KIND_PARAMETER);
		draft_tensor_at(builder.draft, updated)->alias = weight;
		op = add_op(&builder, PHASE_UPDATE, updated);
		draft_read(builder.draft, op, change);
		draft_read(builder.draft, op, weight);
		draft_inplace(builder.draft, op, updated, weight);
	}
	struct error error;
	struct graph *graph = graph_build(builder.draft, &error);
	draft_free(builder.draft);
	free(saved);
	free(skip);
	return graph;
}

static void growth(void)
{
	printf("| ops | first plan s | whole run s | peak MiB | bound MiB | us per op |\n|---|---|---|---|---|---|\n");
	for (uint32_t ops = 1000; ops <= 100000; ops *= 10) {
		struct graph *graph = stacked_layers(ops / (4 * DEPTH));
		struct problem problem;
		struct error error;
		struct order_result result;
		struct control control = { 0 };
		if (!graph || problem_of_graph(graph, &rules, &problem, &error) != OK)
			return;
		double start = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
		order_quick(&problem, &control, &result);
		double quick = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
		order_result_free(&result);
		double time = solve(&problem, &result);
		printf("| %u | %.3f | %.3f | %.3f | %.3f | %.1f |\n", problem.ops, quick, time, mebibytes(result.peak - problem.base),
			mebibytes(result.proof.bound - problem.base), time / problem.ops * 1e6);
		order_result_free(&result);
		problem_free(&problem);
		graph_release(graph);
	}
}

/* ---- MODeL's integer program ----------------------------------------------------------------- */

#define STEPS 64

struct steps {
	const struct problem *problem;
	struct milp milp;
	double unit;
	uint32_t run[STEPS][STEPS + 1];    /* [op][step from 1] */
	uint32_t kept[4 * STEPS][STEPS + 1]; /* [item][step] */
};

/* kept[item, t] <= kept[item, t - 1] + run[producer, t - 1]; equal where the item is live-out. */
static void add_item(struct steps *steps, uint32_t item)
{
	const struct problem *problem = steps->problem;
	struct milp *milp = &steps->milp;
	uint32_t producer = problem->producer[item];
	for (uint32_t t = 1; t <= problem->ops; t++) {
		bool there = producer == NONE && t == 1;
		if (!there) {
			milp_add_row(milp, problem->live_out[item] ? 0 : -INFINITY, 0);
			milp_add_entry(milp, steps->kept[item][t], 1);
			if (t > 1)
				milp_add_entry(milp, steps->kept[item][t - 1], -1);
			if (producer != NONE && t > 1)
				milp_add_entry(milp, steps->run[producer][t - 1], -1);
		} else if (problem->live_out[item]) {
			milp_add_row(milp, 1, 1);
			milp_add_entry(milp, steps->kept[item][t], 1);
		}
		FOR_ROW(i, &problem->users, item) {
			milp_add_row(milp, -INFINITY, 0);
			milp_add_entry(milp, steps->run[problem->users.item[i]][t], 1);
			milp_add_entry(milp, steps->kept[item][t], -1);
		}
	}
}

static void add_ops(struct steps *steps)
{
	const struct problem *problem = steps->problem;
	struct milp *milp = &steps->milp;
	for (uint32_t op = 0; op < problem->ops; op++) {
		milp_add_row(milp, 1, 1);
		for (uint32_t t = 1; t <= problem->ops; t++)
			milp_add_entry(milp, steps->run[op][t], 1);
	}
	for (uint32_t t = 1; t <= problem->ops; t++) {
		milp_add_row(milp, 1, 1);
		for (uint32_t op = 0; op < problem->ops; op++)
			milp_add_entry(milp, steps->run[op][t], 1);
	}
	for (uint32_t op = 0; op < problem->ops; op++)
		FOR_ROW(i, &problem->pred, op)
			for (uint32_t t = 1; t <= problem->ops; t++) {
				milp_add_row(milp, -INFINITY, 0);
				milp_add_entry(milp, steps->run[op][t], 1);
				for (uint32_t before = 1; before < t; before++)
					milp_add_entry(milp, steps->run[problem->pred.item[i]][before], -1);
			}
}

static void add_memory(struct steps *steps, uint32_t peak)
{
	const struct problem *problem = steps->problem;
	for (uint32_t t = 1; t <= problem->ops; t++) {
		milp_add_row(&steps->milp, 0, INFINITY);
		milp_add_entry(&steps->milp, peak, 1);
		for (uint32_t item = 0; item < problem->items; item++)
			milp_add_entry(&steps->milp, steps->kept[item][t], -(double)problem->size[item] / steps->unit);
		for (uint32_t op = 0; op < problem->ops; op++) {
			int64_t bytes = problem->workspace[op];
			FOR_ROW(i, &problem->products, op)
				bytes += problem->size[problem->products.item[i]];
			milp_add_entry(&steps->milp, steps->run[op][t], -(double)bytes / steps->unit);
		}
	}
}

/* The least peak by MODeL's program, or -1 when the limits end it. */
static double solve_steps(const struct problem *problem, const struct milp_limits *limits)
{
	struct steps *steps = calloc(1, sizeof *steps);
	struct control control = { 0 };
	struct milp_solution solution;
	steps->problem = problem;
	steps->unit = 1000;
	for (uint32_t t = 1; t <= problem->ops; t++) {
		for (uint32_t op = 0; op < problem->ops; op++)
			steps->run[op][t] = milp_add_column(&steps->milp, 0, 1, 0, true);
		for (uint32_t item = 0; item < problem->items; item++)
			steps->kept[item][t] = milp_add_column(&steps->milp, 0, 1, 0, true);
	}
	uint32_t peak = milp_add_column(&steps->milp, 0, INFINITY, 1, false);
	add_ops(steps);
	for (uint32_t item = 0; item < problem->items; item++)
		add_item(steps, item);
	add_memory(steps, peak);
	enum status status = milp_solve(&steps->milp, limits, &control, &solution);
	double cost = status == OK ? solution.cost * steps->unit : -1;
	milp_solution_free(&solution);
	milp_free(&steps->milp);
	free(steps);
	return cost;
}

/* ---- ilp ------------------------------------------------------------------------------------- */

/* The least peak by the prefix program, or -1. */
static int64_t solve_prefix(const struct problem *problem, const struct milp_limits *limits)
{
	struct arena arena = { 0 };
	struct order_model model;
	struct order_window window;
	struct control control = { 0 };
	uint32_t position[STEPS], order[STEPS], *count = calloc(problem->items + 1, sizeof *count);
	int64_t live[STEPS], peak = -1;
	bool found;
	order_model_of(problem, &arena, &model);
	int64_t high = order_profile(&model, problem->program, count, live);
	for (uint32_t i = 0; i < problem->ops; i++)
		position[problem->program[i]] = i;
	if (order_window_cut(&window, &model, problem->program, position, live, 0, problem->ops) == OK
	    && order_ilp_prefix(&window.model, high, limits, &control, order, &found) == OK)
		peak = order_profile(&window.model, order, count, live);
	order_window_free(&window);
	arena_free(&arena);
	free(count);
	return peak;
}

static void ilp(void)
{
	static const uint32_t sizes[] = { 8, 10, 12, 15 };
	struct milp_limits limits = { .iterations = 100000, .nodes = 2000 };
	printf("| ops | ours s | prefix program s | solved | ours / prefix | MODeL's program s | solved | ours / MODeL |\n");
	printf("|---|---|---|---|---|---|---|---|\n");
	for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
		double ours[2] = { 0 }, theirs[2] = { 0 }, all = 0;
		int solved[2] = { 0 };
		for (uint64_t seed = 1; seed <= 5; seed++) {
			uint64_t state = seed * 1000 + sizes[i];
			struct problem problem;
			struct order_result result;
			if (!random_problem(&state, sizes[i], &problem))
				return;
			double time = solve(&problem, &result), start = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
			int64_t prefix = solve_prefix(&problem, &limits);
			double middle = clock_seconds(CLOCK_PROCESS_CPUTIME_ID),
				   model = sizes[i] <= 10 ? solve_steps(&problem, &limits) : -1,
				   end = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
			all += time;
			if (prefix >= 0) {
				solved[0]++;
				ours[0] += time;
				theirs[0] += middle - start;
				if (prefix != result.peak)
					fprintf(stderr, "the prefix program disagrees: %ld, %ld\n", (long)prefix, (long)result.peak);
			}
			if (model >= 0) {
				solved[1]++;
				ours[1] += time;
				theirs[1] += end - middle;
				if (fabs(model + (double)problem.base - (double)result.peak) > 0.5)
					fprintf(stderr, "MODeL's program disagrees: %.1f, %ld\n", model + (double)problem.base, (long)result.peak);
			}
			order_result_free(&result);
			problem_free(&problem);
		}
		printf("| %u | %.5f | %.2f | %d of 5 | 1/%.0f | %.2f | %d of 5 | 1/%.0f |\n", sizes[i], all, theirs[0], solved[0],
			solved[0] ? theirs[0] / ours[0] : 0, theirs[1], solved[1], solved[1] ? theirs[1] / ours[1] : 0);
		fflush(stdout);
	}
}

int main(int count, char **words)
{
	const char *mode = count > 1 ? words[1] : "";
	if (!strcmp(mode, "graphs"))
		graphs(count - 2, words + 2);
	else if (!strcmp(mode, "roam"))
		roam(count - 2, words + 2);
	else if (!strcmp(mode, "streams"))
		streams(count - 2, words + 2);
	else if (!strcmp(mode, "growth"))
		growth();
	else if (!strcmp(mode, "ilp"))
		ilp();
	else
		return 2;
	return 0;
}
