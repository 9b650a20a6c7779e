/* unit_overlap.c: orders for time against all orders of small random steps; bounds and their certificates. */
#include <stdio.h>

#include "solver/overlap/overlap.h"
#include "solver/overlap/play.h"
#include "solver/overlap/step_bound.h"
#include "tests/common/random_graph.h"
#include "tests/common/support.h"

#define OPS 9
#define ORDERS_MOST 4000

struct step {
	struct graph *graph;
	struct problem problem;
	struct step_costs costs;
	uint32_t stream[OPS], layer[OPS];
	int64_t time[OPS], inside[OPS * MESH_AXES];
};

static void random_step(uint64_t *random, struct step *step)
{
	*step = (struct step) { .graph = random_graph(random, 4 + (uint32_t)(random_next(random) % (OPS - 3))) };
	struct step_costs *costs = &step->costs;
	*costs = (struct step_costs){ 1 + (uint32_t)(random_next(random) % 2), step->stream, step->time, step->inside,
		step->layer, 1, NULL };
	for (uint32_t op = 0; op < step->graph->ops; op++) {
		step->stream[op] = random_next(random) % 2 ? 0 : 1 + (uint32_t)(random_next(random) % costs->axes);
		step->time[op] = random_next(random) % 6 ? 1 + (int64_t)(random_next(random) % 40) : 0;
		step->layer[op] = NONE;
		if (step->stream[op] == 0 && random_next(random) % 8 == 0)
			step->inside[op * costs->axes + random_next(random) % costs->axes] = (int64_t)(random_next(random) % 9);
	}
	cr_assert_eq(problem_of_graph(step->graph, &(struct memory_rules) { 1, true, NULL, 0 }, &step->problem, NULL), OK);
}

static void step_drop(struct step *step)
{
	problem_free(&step->problem);
	graph_release(step->graph);
}

static int64_t time_of(const struct step *step, const uint32_t *order)
{
	OWN(step_model) model;
	struct step_time time;
	cr_assert_eq(step_model_build(step->graph, order, &step->costs, &model), OK);
	cr_assert_eq(step_time_find(&model, &time), OK);
	cr_assert_eq(step_time_check(&model, &time, NULL), OK);
	int64_t total = time.total;
	step_time_free(&time);
	return total;
}

/* ---- every order ----------------------------------------------------------------------------- */

struct every {
	const struct step *step;
	int64_t limit, best, any;    /* the least time within the limit, and of all */
	uint32_t order[OPS], orders;
};

static void go_on(struct every *every, uint32_t done, uint32_t at)
{
	const struct problem *problem = &every->step->problem;
	if (every->orders > ORDERS_MOST)
		return;
	if (at == problem->ops) {
		int64_t time = time_of(every->step, every->order),
				peak = problem_peak(problem, every->order, NULL, &(uint32_t){ 0 });
		every->orders++;
		every->any = time < every->any ? time : every->any;
		every->best = peak <= every->limit && time < every->best ? time : every->best;
	}
	for (uint32_t op = 0; op < problem->ops; op++) {
		bool ready = !(done >> op & 1);
		FOR_ROW(i, &problem->pred, op)
			ready &= done >> problem->pred.item[i] & 1;
		if (!ready)
			continue;
		every->order[at] = op;
		go_on(every, done | 1u << op, at + 1);
	}
}

static void expect_valid(const struct step *step, const struct overlap_result *result, int64_t limit, uint64_t seed)
{
	uint32_t place[OPS], seen = 0;
	for (uint32_t i = 0; i < step->graph->ops; i++) {
		place[result->order[i]] = i;
		seen |= 1u << result->order[i];
	}
	cr_assert_eq(seen, (1u << step->graph->ops) - 1, "SEED=%llu: each op once", (unsigned long long)seed);
	for (uint32_t op = 0; op < step->graph->ops; op++)
		FOR_ROW(i, &step->problem.pred, op)
			cr_assert_lt(place[step->problem.pred.item[i]], place[op], "SEED=%llu", (unsigned long long)seed);
	cr_assert_eq(result->time, time_of(step, result->order), "SEED=%llu", (unsigned long long)seed);
	cr_assert_eq(result->peak, problem_peak(&step->problem, result->order, NULL, &(uint32_t){ 0 }), "SEED=%llu",
		(unsigned long long)seed);
	cr_assert_leq(result->peak, limit, "SEED=%llu", (unsigned long long)seed);
}

/* No order is below the bound; the order found is never slower than its start, nor above the limit, and mostly the best
 * there is. */
Test(overlap, against_every_order)
{
	uint64_t random = test_seed();
	uint32_t rounds = test_rounds(120, 6000), looked = 0, best = 0, closed = 0;
	double worst = 0, sum = 0;
	for (uint32_t round = 0; round < rounds; round++) {
		uint64_t seed = random;
		OWN(step) step;
		struct overlap_result result;
		OWN(step_bound) bound;
		OWN(step_model) model;
		struct error error = { 0 };
		random_step(&random, &step);
		int64_t least = problem_peak(&step.problem, step.problem.program, NULL, &(uint32_t) { 0 });
		int64_t limit = random_next(&random) % 3 ? least + (int64_t)(random_next(&random) % 60) : INT64_MAX;
		struct every every = { .step = &step, .limit = limit, .best = INT64_MAX, .any = INT64_MAX };
		go_on(&every, 0, 0);
		const uint32_t *const start[] = { step.problem.program };
		struct overlap_request request = { .graph = step.graph,
			.problem = &step.problem,
			.costs = &step.costs,
			.limit = limit,
			.start = start,
			.starts = 1,
			.moves = 8000 };
		cr_assert_eq(overlap_schedule(&request, &(struct control) { 0 }, &result), OK, "SEED=%llu", (unsigned long long)seed);
		expect_valid(&step, &result, limit, seed);
		cr_assert_leq(result.time, time_of(&step, step.problem.program), "SEED=%llu", (unsigned long long)seed);
		cr_assert_eq(step_model_build(step.graph, result.order, &step.costs, &model), OK);
		cr_assert_eq(step_bound_find(&model, &bound), OK);
		cr_assert_eq(step_bound_check(&model, &bound, &error), OK, "SEED=%llu: %s", (unsigned long long)seed, error.text);
		cr_assert_leq(bound.bound, every.any, "SEED=%llu: no order is below the bound", (unsigned long long)seed);
		if (every.orders <= ORDERS_MOST) {
			double over = every.best ? (double)result.time / (double)every.best - 1 : 0;
			cr_assert_geq(result.time, every.best, "SEED=%llu", (unsigned long long)seed);
			looked++;
			best += result.time == every.best;
			closed += bound.bound == every.any;
			sum += over;
			worst = over > worst ? over : worst;
		}
		overlap_result_free(&result);
	}
	fprintf(stderr,
		"overlap: the best of all orders %u of %u times, mean %.2f %% above it, at most %.1f %%; the bound is reached "
		"%u times\n",
		best, looked, 100 * sum / looked, 100 * worst, closed);
	cr_assert_gt(looked, rounds / 2);
	cr_assert_gt(best * 10, looked * 8, "the best order found %u of %u times", best, looked);
	cr_assert_gt(closed * 10, looked * 5, "bound reached %u of %u times", closed, looked);
}

/* What anneals has its own live bytes and its own simulation: after any moves they are those of the order that it
 * stands for. */
Test(overlap, lines_and_plays_are_exact)
{
	uint64_t random = test_seed();
	for (uint32_t round = 0; round < test_rounds(150, 10000); round++) {
		uint64_t seed = random;
		OWN(step) step;
		OWN(lineup) line = { 0 };
		OWN(play) play = { 0 };
		uint32_t order[OPS];
		int64_t live[OPS];
		random_step(&random, &step);
		step.costs.prefetch = (uint32_t)(random_next(&random) % 3);
		for (uint32_t op = 0; op < step.graph->ops; op++)
			step.layer[op] = random_next(&random) % 2 ? NONE : (uint32_t)(random_next(&random) % 3);
		struct overlap_request request = {
			.graph = step.graph, .problem = &step.problem, .costs = &step.costs, .limit = INT64_MAX
		};
		cr_assert_eq(lineup_new(&request, &line), OK);
		cr_assert_eq(play_new(&request, &line, &play), OK);
		lineup_set(&line, step.problem.program);
		for (int moves = 0; moves < 12 && line.count > 0; moves++) {
			uint32_t from = (uint32_t)(random_next(&random) % line.count), op = line.order[from], low = 0, high = line.count - 1;
			FOR_ROW(k, &line.pred, op)
				low = line.place[line.pred.item[k]] >= low ? line.place[line.pred.item[k]] + 1 : low;
			FOR_ROW(k, &line.succ, op)
				high = line.place[line.succ.item[k]] <= high ? line.place[line.succ.item[k]] - 1 : high;
			uint32_t to = low + (uint32_t)(random_next(&random) % (high - low + 1)), first = from < to ? from : to,
					 last = from < to ? to : from;
			lineup_keep(&line, first, last);
			lineup_move(&line, from, to);
			if (random_next(&random) % 4 == 0)
				lineup_undo(&line);
			lineup_write(&line, order);
			problem_peak(&step.problem, order, live, &(uint32_t) { 0 });
			for (uint32_t p = 0; p < step.graph->ops; p++) {
				uint32_t at = line.at[order[p]];
				if (at != NONE && line.op[at] == order[p])
					cr_assert_eq(line.before[line.place[at]] + line.adds[at], live[p], "SEED=%llu: bytes of op %u",
						(unsigned long long)seed, order[p]);
			}
			int64_t time = time_of(&step, order);
			cr_assert_eq(play_step(&play, INT64_MAX), time, "SEED=%llu: %lld ps", (unsigned long long)seed, (long long)time);
			cr_assert(time == 0 || play_step(&play, time - 1) > time - 1, "SEED=%llu", (unsigned long long)seed);
			cr_assert_eq(play_step(&play, time), time, "SEED=%llu", (unsigned long long)seed);
		}
	}
}

/* A larger cap gives no slower order, whatever the caps are; all keep theirs. */
Test(overlap, more_memory_is_no_slower)
{
	uint64_t random = test_seed();
	for (uint32_t round = 0; round < test_rounds(25, 1000); round++) {
		uint64_t seed = random;
		OWN(step) step;
		random_step(&random, &step);
		const uint32_t *const start[] = { step.problem.program };
		int64_t least = problem_peak(&step.problem, step.problem.program, NULL, &(uint32_t) { 0 }), last = INT64_MAX;
		struct overlap_request request = { .graph = step.graph,
			.problem = &step.problem,
			.costs = &step.costs,
			.start = start,
			.starts = 1,
			.moves = 6000 };
		for (int64_t more = 0; more < 200; more += 1 + (int64_t)(random_next(&random) % 40)) {
			struct overlap_climb climb;
			request.limit = least + more;
			cr_assert_eq(overlap_climb_orders(&request, &(struct control) { 0 }, &climb), OK);
			for (uint32_t i = 0; i < climb.count; i++) {
				expect_valid(&step, &climb.found[i], request.limit, seed);
				cr_assert(i == 0 || climb.found[i].time < climb.found[i - 1].time, "SEED=%llu", (unsigned long long)seed);
			}
			cr_assert_leq(climb.found[climb.count - 1].time, last, "SEED=%llu: %lld bytes more",
				(unsigned long long)seed, (long long)more);
			last = climb.found[climb.count - 1].time;
			overlap_climb_free(&climb);
		}
		request.limit = least - 1;
		cr_assert_eq(overlap_climb_orders(&request, &(struct control) { 0 }, &(struct overlap_climb) { 0 }), INFEASIBLE);
	}
}

/* A claim that is a picosecond higher, and a station with other numbers whose claim would be higher, are refused. */
Test(overlap, a_wrong_bound_is_refused)
{
	uint64_t random = test_seed();
	uint32_t tampered = 0;
	for (uint32_t round = 0; round < 400; round++) {
		OWN(step) step;
		OWN(step_model) model;
		OWN(step_bound) bound;
		struct error error = { 0 };
		random_step(&random, &step);
		cr_assert_eq(step_model_build(step.graph, step.problem.program, &step.costs, &model), OK);
		cr_assert_eq(step_bound_find(&model, &bound), OK);
		bound.bound++;
		cr_assert_eq(step_bound_check(&model, &bound, &error), BAD_INPUT);
		bound.bound--;
		for (uint32_t i = 0; i < bound.stations; i++) {
			int64_t *const number[] = { &bound.station[i].head, &bound.station[i].tail };
			for (int k = 0; k < 2; k++) {
				*number[k] += 1000;
				bound.bound += 1000;
				cr_assert_eq(step_bound_check(&model, &bound, &error), BAD_INPUT);
				*number[k] -= 1000;
				bound.bound -= 1000;
				tampered++;
			}
		}
		cr_assert_eq(step_bound_check(&model, &bound, &error), OK);
	}
	cr_assert_gt(tampered, 100);
}

/* A limit below every start: nothing is found, and that is said. */
Test(overlap, no_start_keeps_the_limit)
{
	uint64_t random = 7;
	OWN(step) step;
	struct overlap_result result;
	random_step(&random, &step);
	const uint32_t *const start[] = { step.problem.program };
	struct overlap_request request = {
		.graph = step.graph, .problem = &step.problem, .costs = &step.costs, .limit = -1, .start = start, .starts = 1
	};
	cr_assert_eq(overlap_schedule(&request, &(struct control) { 0 }, &result), INFEASIBLE);
	cr_assert_null(result.order);
}

Test(overlap, allocation_failures)
{
	uint64_t random = test_seed();
	OWN(step) step;
	random_step(&random, &step);
	const uint32_t *const start[] = { step.problem.program, step.problem.program };
	struct overlap_request request = { .graph = step.graph,
		.problem = &step.problem,
		.costs = &step.costs,
		.limit = INT64_MAX,
		.start = start,
		.starts = 2,
		.moves = 6000 };
	EACH_REFUSAL(refused) {
		struct overlap_result result = { 0 };
		struct overlap_climb climb;
		struct step_model model;
		OWN(step_bound) bound = { 0 };
		refused.status = overlap_climb_orders(&request, &(struct control) { 0 }, &climb);
		overlap_climb_free(&climb);
		if (refused.status == OK)
			refused.status = overlap_schedule(&request, &(struct control) { 0 }, &result);
		if (refused.status == OK)
			refused.status = step_model_build(step.graph, step.problem.program, &step.costs, &model);
		if (result.order && refused.status == OK)
			refused.status = step_bound_find(&model, &bound);
		if (refused.status == OK)
			refused.status = step_bound_check(&model, &bound, NULL);
		if (result.order)
			step_model_free(&model);
		overlap_result_free(&result);
	}
}
