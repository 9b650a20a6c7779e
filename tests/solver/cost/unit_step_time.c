/* unit_step_time.c: steps on several streams: by hand, against limits that any schedule keeps, and against the checker.
 */
#include <stdio.h>

#include "tests/common/random_graph.h"
#include "solver/cost/step_time.h"
#include "tests/common/support.h"

#define OPS 64

/* ---- by hand: ops read tensors "t<op>" of earlier ops, or "w<op>" that nothing writes -------- */

struct line {
	uint32_t stream;
	int64_t time, inside;
	uint32_t layer;
	int reads[3];
}; /* reads: op + 1; 0: a parameter */

static struct graph *graph_of(const struct line *line, uint32_t ops)
{
	OWN(draft) *draft = draft_new();
	struct error error;
	for (uint32_t op = 0; op < ops; op++) {
		char name[16];
		snprintf(name, sizeof name, "w%u", op);
		struct tensor given = {
			.name = name, .bytes = 8, .alias = NONE, .kind = KIND_PARAMETER, .dtype = DTYPE_OPAQUE, .has_bytes = true
		};
		draft_tensor(draft, &given);
		char made[16];
		snprintf(made, sizeof made, "t%u", op);
		struct tensor result = { .name = made,
			.bytes = 10 * (op + 1),
			.alias = NONE,
			.kind = KIND_ACTIVATION,
			.dtype = DTYPE_OPAQUE,
			.has_bytes = true };
		draft_tensor(draft, &result);
	}
	for (uint32_t op = 0; op < ops; op++) {
		char name[16];
		snprintf(name, sizeof name, "op%u", op);
		struct op record = { .name = name, .type = "f", .module = "", .flops = -1 };
		draft_op(draft, &record);
		for (int i = 0; i < 3 && (i == 0 || line[op].reads[i]); i++)
			draft_read(draft, op, line[op].reads[i] ? 2 * (uint32_t)(line[op].reads[i] - 1) + 1 : 2 * op);
		draft_write(draft, op, 2 * op + 1);
	}
	struct graph *graph = graph_build(draft, &error);
	cr_assert_not_null(graph, "%s", error.text);
	return graph;
}

struct run { struct step_model model; struct step_time time; };

static void run_lines(const struct line *line, uint32_t ops, uint32_t axes, struct run *run)
{
	uint32_t order[OPS], stream[OPS], layer[OPS];
	int64_t time[OPS], inside[OPS * MESH_AXES] = { 0 };
	struct error error = { 0 };
	OWN(graph) *graph = graph_of(line, ops);
	for (uint32_t op = 0; op < ops; op++) {
		order[op] = op;
		stream[op] = line[op].stream;
		time[op] = line[op].time;
		layer[op] = line[op].layer;
		inside[op * axes] = line[op].inside;
	}
	struct step_costs costs = { axes, stream, time, inside, layer, 1, NULL };
	cr_assert_eq(step_model_build(graph, order, &costs, &run->model), OK);
	cr_assert_eq(step_time_find(&run->model, &run->time), OK);
	cr_assert_eq(step_time_check(&run->model, &run->time, &error), OK, "%s", error.text);
}

static void run_drop(struct run *run)
{
	step_model_free(&run->model);
	step_time_free(&run->time);
}

Test(step_time, gradients_are_reduced_while_earlier_layers_compute)
{
	/* forward 10, 10; backward 20 with its gradient's all-reduce of 15, backward 20 with another, updates 5 each */
	static const struct line line[] = { { 0, 10, 0, 0, { 0 } }, { 0, 10, 0, 0, { 1 } }, { 0, 20, 0, 0, { 2 } },
		{ 1, 15, 0, 0, { 3 } }, { 0, 20, 0, 0, { 3, 1 } }, { 1, 15, 0, 0, { 5 } }, { 0, 5, 0, 0, { 4 } },
		{ 0, 5, 0, 0, { 6 } } };
	OWN(run) run;
	run_lines(line, 8, 1, &run);
	/* the first is hidden by the second backward op; of the second, 5 are beside the first update */
	static const int64_t start[] = { 0, 10, 20, 40, 40, 60, 60, 75 };
	for (int i = 0; i < 8; i++)
		cr_assert_eq(run.time.start[i], start[i], "op %d starts at %ld", i, (long)run.time.start[i]);
	cr_assert_eq(run.time.total, 80);
	cr_assert_eq(run.time.busy[0], 70);
	cr_assert_eq(run.time.busy[1], 30);
	cr_assert_eq(run.time.exposed[1], 10);
}

Test(step_time, tensor_parallel_collectives_expose_what_their_dependencies_expose)
{
	/* compute, all-reduce over axis 1 (read at once), compute; an all-reduce over axis 0 that nothing waits for but the
	 * end */
	static const struct line line[] = { { 0, 10, 0, 0, { 0 } }, { 2, 7, 0, 0, { 1 } }, { 1, 30, 0, 0, { 1 } },
		{ 0, 10, 0, 0, { 2 } } };
	OWN(run) run;
	run_lines(line, 4, 2, &run);
	cr_assert_eq(run.time.total, 40);
	cr_assert_eq(run.time.exposed[2], 7);
	cr_assert_eq(run.time.exposed[1], 13);   /* from 27, where computation ends, to 40 */
}

Test(step_time, what_is_needed_first_goes_first)
{
	/* a gradient's all-reduce and an activation's could begin together; the next op reads the activation */
	static const struct line line[] = { { 0, 10, 0, 0, { 0 } }, { 1, 20, 0, 0, { 1 } }, { 1, 5, 0, 0, { 1 } },
		{ 0, 10, 0, 0, { 3 } }, { 0, 2, 0, 0, { 2 } } };
	OWN(run) run;
	run_lines(line, 5, 1, &run);
	static const int64_t start[] = { 0, 15, 10, 15, 35 };
	for (int i = 0; i < 5; i++)
		cr_assert_eq(run.time.start[i], start[i], "op %d starts at %ld", i, (long)run.time.start[i]);
}

Test(step_time, a_collective_begins_with_the_op_before_it)
{
	/* what the last op reads is there since the first one ended, but its place is behind two others */
	static const struct line line[] = { { 0, 10, 0, 0, { 0 } }, { 0, 20, 0, 0, { 1 } }, { 0, 20, 0, 0, { 2 } },
		{ 1, 25, 0, 0, { 1 } }, { 0, 1, 0, 0, { 3, 4 } } };
	OWN(run) run;
	run_lines(line, 5, 1, &run);
	cr_assert_eq(run.time.start[3], 30);
	cr_assert_eq(run.time.exposed[1], 5);
}

Test(step_time, parameters_are_gathered_one_layer_ahead)
{
	/* three layers of 20, each reading a gather of 15 */
	static const struct line line[] = { { 1, 15, 0, 9, { 0 } }, { 0, 20, 0, 1, { 1 } }, { 1, 15, 0, 9, { 0 } },
		{ 0, 20, 0, 2, { 2, 3 } }, { 1, 15, 0, 9, { 0 } }, { 0, 20, 0, 3, { 4, 5 } } };
	OWN(run) run;
	run_lines(line, 6, 1, &run);
	static const int64_t start[] = { 0, 15, 15, 35, 35,
		55 }; /* a gather starts with the layer before: not earlier, though its link is free */
	for (int i = 0; i < 6; i++)
		cr_assert_eq(run.time.start[i], start[i], "op %d starts at %ld", i, (long)run.time.start[i]);
	cr_assert_eq(run.time.total, 75);
	cr_assert_eq(run.time.exposed[1], 15);
	cr_assert_eq(run.model.ahead, 50);       /* the last layer's: t4 */
}

Test(step_time, a_layers_gathers_run_ahead_together)
{
	/* layer 1 reads one gather; layer 2 two, by ops one after the other */
	static const struct line line[] = { { 1, 5, 0, 9, { 0 } }, { 0, 20, 0, 1, { 1 } }, { 1, 8, 0, 9, { 0 } },
		{ 0, 1, 0, 2, { 2, 3 } }, { 1, 9, 0, 9, { 0 } }, { 0, 20, 0, 2, { 4, 5 } } };
	OWN(run) run;
	run_lines(line, 6, 1, &run);
	static const int64_t start[] = { 0, 5, 5, 25, 13, 26 };
	for (int i = 0; i < 6; i++)
		cr_assert_eq(run.time.start[i], start[i], "op %d starts at %ld", i, (long)run.time.start[i]);
	cr_assert_eq(run.model.ahead, 30 + 50);
}

Test(step_time, what_an_op_communicates_itself_is_exposed)
{
	static const struct line line[] = { { 0, 10, 4, 0, { 0 } }, { 0, 10, 0, 0, { 1 } } };
	OWN(run) run;
	run_lines(line, 2, 1, &run);
	cr_assert_eq(run.model.ops, 3);
	cr_assert_eq(run.model.of[2], 0);
	cr_assert_eq(run.time.total, 24);
	cr_assert_eq(run.time.busy[0], 20);
	cr_assert_eq(run.time.exposed[1], 4);
}

Test(step_time, views_hold_nothing_up)
{
	/* a view of a collective's result stands before an op that doesn't need it */
	static const struct line line[] = { { 0, 10, 0, 0, { 0 } }, { 1, 50, 0, 0, { 1 } }, { 0, 0, 0, 0, { 2 } },
		{ 0, 10, 0, 0, { 1 } } };
	OWN(run) run;
	run_lines(line, 4, 1, &run);
	cr_assert_eq(run.time.start[3], 10);
	cr_assert_eq(run.time.start[2], 60);
}

/* ---- random graphs --------------------------------------------------------------------------- */

static int64_t longest_path(const struct step_model *model)
{
	int64_t end[4 * OPS] = { 0 }, longest = 0;
	for (uint32_t i = 0; i < model->ops; i++) {
		uint32_t op = model->sequence[i];
		FOR_ROW(j, &model->pred, op)
			end[op] = end[model->pred.item[j]] > end[op] ? end[model->pred.item[j]] : end[op];
		end[op] += model->time[op];
		longest = end[op] > longest ? end[op] : longest;
	}
	return longest;
}

static struct graph *random_run(uint64_t *random, struct run *run, bool fails)
{
	uint32_t order[OPS], stream[OPS], layer[OPS], axes = 1 + (uint32_t)(random_next(random) % 3);
	int64_t time[OPS], inside[OPS * MESH_AXES] = { 0 };
	struct graph *graph = random_graph(random, 4 + (uint32_t)(random_next(random) % (OPS - 4)));
	cr_assert_not_null(graph);
	for (uint32_t op = 0; op < graph->ops; op++) {
		order[op] = op;
		stream[op] = random_next(random) % 2 ? 0 : 1 + (uint32_t)(random_next(random) % axes);
		time[op] = random_next(random) % 5 ? (int64_t)(random_next(random) % 40) : 0;
		layer[op] = random_next(random) % 3 ? op / 8 : NONE;
		if (stream[op] == 0 && random_next(random) % 8 == 0)
			inside[op * axes + random_next(random) % axes] = (int64_t)(random_next(random) % 9);
	}
	struct step_costs costs = { axes, stream, time, inside, layer, 1, NULL };
	enum status status = NO_MEMORY;
	for (long n = 0; fails && status == NO_MEMORY; n = memory_next(n)) {
		long before = memory_blocks();
		*run = (struct run) { 0 };
		memory_allow(n);
		status = step_model_build(graph, order, &costs, &run->model);
		if (status == OK)
			status = step_time_find(&run->model, &run->time);
		if (status == OK)
			status = step_time_check(&run->model, &run->time, NULL);
		memory_allow(-1);
		cr_assert(status == OK || status == NO_MEMORY);
		run_drop(run);
		cr_assert_eq(memory_blocks(), before);
	}
	cr_assert_eq(step_model_build(graph, order, &costs, &run->model), OK);
	cr_assert_eq(step_time_find(&run->model, &run->time), OK);
	return graph;
}

Test(step_time, limits_that_any_schedule_keeps)
{
	uint64_t random = test_seed();
	uint32_t ahead = 0;
	for (int round = 0; round < 3000; round++) {
		uint64_t seed = random;
		OWN(run) run;
		struct error error = { 0 };
		OWN(graph) *graph = random_run(&random, &run, false);
		int64_t sum = 0, exposed = 0;
		for (uint32_t op = 0; op < run.model.ops; op++)
			sum += run.model.time[op];
		cr_assert_eq(
			step_time_check(&run.model, &run.time, &error), OK, "SEED=%llu: %s", (unsigned long long)seed, error.text);
		cr_assert_leq(run.time.total, sum, "SEED=%llu", (unsigned long long)seed);
		cr_assert_geq(run.time.total, longest_path(&run.model), "SEED=%llu", (unsigned long long)seed);
		for (uint32_t s = 0; s < run.model.streams; s++) {
			cr_assert_geq(run.time.total, run.time.busy[s]);
			cr_assert_leq(run.time.exposed[s], run.time.busy[s]);
			exposed += run.time.exposed[s];
		}
		cr_assert_eq(exposed, run.time.total - run.time.busy[0]);
		for (uint32_t op = 0; op < run.model.ops; op++)
			ahead += run.model.release[op] != NONE;
	}
	cr_assert_gt(ahead, 200, "only %u ran ahead", ahead);
}

Test(step_time, the_checker_finds_any_wrong_number)
{
	uint64_t random = test_seed();
	for (int round = 0; round < 300; round++) {
		OWN(run) run;
		struct error error;
		OWN(graph) *graph = random_run(&random, &run, false);
		uint32_t op = (uint32_t)(random_next(&random) % run.model.ops),
				 s = (uint32_t)(random_next(&random) % run.model.streams);
		int64_t *const number[] = { &run.time.start[op], &run.time.total, &run.time.busy[s], &run.time.exposed[s] };
		for (int i = 0; i < 4; i++) {
			int64_t by = random_next(&random) % 2 ? 1 : -1;
			*number[i] += by;
			cr_assert_eq(step_time_check(&run.model, &run.time, &error), INFEASIBLE, "number %d", i);
			*number[i] -= by;
		}
		cr_assert_eq(step_time_check(&run.model, &run.time, &error), OK);
	}
}

Test(step_time, allocation_failures)
{
	uint64_t random = test_seed();
	for (int round = 0; round < 20; round++) {
		OWN(run) run;
		graph_release(random_run(&random, &run, true));
	}
}
