/* unit_order.c: the orderer as a whole, against brute force over all orders. */
#include "solver/order/cut.h"
#include "solver/order/job.h"
#include "tests/common/order_valid.h"
#include "tests/common/random_problem.h"
#include "tests/common/support.h"

static void check_result(
	const struct problem *problem, const struct order_result *result, int64_t optimum, uint64_t seed)
{
	cr_assert(problem_order_valid(problem, result->order), "seed %lu: the order is not valid", seed);
	cr_assert_eq(problem_peak(problem, result->order, NULL, NULL), result->peak, "seed %lu: wrong peak", seed);
	cr_assert_leq(
		result->proof.bound, optimum, "seed %lu: bound %ld above the optimum %ld", seed, result->proof.bound, optimum);
	cr_assert_geq(result->peak, optimum, "seed %lu: peak %ld below the optimum %ld", seed, result->peak, optimum);
	cr_assert_eq(proof_closed(&result->proof), result->peak == result->proof.bound);
	if (proof_closed(&result->proof))
		cr_assert_eq(result->peak, optimum, "seed %lu: claimed optimal", seed);
	if (result->certificate.proof != ORDER_PROOF_SEARCH && result->certificate.proof != ORDER_PROOF_SERIES) {
		struct error error = { 0 };
		enum status status = order_check_certificate(problem, &result->certificate, result->proof.bound, &error);
		cr_assert_eq(status, OK, "seed %lu: %s", seed, error.text);
	}
}

Test(order, every_strategy_keeps_its_promises_on_random_problems)
{
	for (uint64_t round = 0; round < 4000; round++) {
		uint64_t seed = test_seed() + round, state = seed;
		OWN(problem) problem;
		cr_assert(random_problem(&state, random_below(&state, 10), &problem));
		int64_t optimum = least_peak(&problem);
		for (enum order_strategy strategy = 0; strategy < ORDER_STRATEGY_COUNT; strategy++) {
			struct order_options options = { .strategy = strategy };
			struct control control = { 0 };
			OWN(order_result) result;
			enum status status = order_solve(&problem, &options, &control, &result);
			cr_assert(status == OK || status == LIMIT, "seed %lu: status %d", seed, (int)status);
			check_result(&problem, &result, optimum, seed);
		}
		struct control control = { 0 };
		OWN(order_result) result;
		cr_assert_eq(order_quick(&problem, &control, &result), OK);
		check_result(&problem, &result, optimum, seed);
	}
}

Test(order, never_claims_a_false_bound_or_proof_on_20000_problems_of_up_to_9_ops)
{
	uint32_t proved = 0, rounds = 20000;
	for (uint64_t round = 0; round < rounds; round++) {
		uint64_t seed = test_seed() * 3 + round, state = seed;
		OWN(problem) problem;
		cr_assert(random_problem(&state, 1 + random_below(&state, 9), &problem));
		struct order_options options = { .strategy = ORDER_BEST };
		struct control control = { 0 };
		OWN(order_result) result;
		enum status status = order_solve(&problem, &options, &control, &result);
		cr_assert(status == OK || status == LIMIT, "seed %lu: status %d", seed, (int)status);
		check_result(&problem, &result, least_peak(&problem), seed);
		proved += proof_closed(&result.proof);
	}
	cr_assert_eq(proved, rounds, "only %u of %u were solved to optimality", proved, rounds);
}

/* A run that knows the optimum, as shaving finds it. */
static void begin_shaving(struct order_job *job, int64_t optimum)
{
	uint32_t ops = job->problem->ops;
	cr_assert_eq(order_model_of(job->problem, &job->arena, &job->model), OK);
	job->alive = arena_alloc(&job->arena, ops, sizeof *job->alive);
	cr_assert(job->alive || ops == 0);
	cr_assert_eq(order_bound_alive(&job->model, job->problem->program, &job->control, job->alive), OK);
	job->peak = optimum;
	job->order = job->problem->program;
}

static bool proves(const struct problem *problem, const struct order_certificate *certificate, int64_t bound)
{
	return order_check_certificate(problem, certificate, bound, &(struct error){ 0 }) == OK;
}

/* Precedences in any other order, and others than those found, must not prove what isn't so. */
static void forge_precedences(
	const struct problem *problem, struct order_certificate certificate, int64_t optimum, uint64_t *state)
{
	for (uint32_t i = 0; i < certificate.arcs; i++) {
		struct order_arc *arc = &certificate.arc[random_below(state, certificate.arcs)], kept = *arc;
		*arc = (struct order_arc){ NONE, random_below(state, problem->ops + 1), random_below(state, problem->ops),
			random_below(state, 2) };
		cr_assert_not(proves(problem, &certificate, optimum + 1));
		if (random_below(state, 2))
			*arc = kept;
	}
}

Test(order, shaved_precedences_prove_no_more_than_brute_force_finds)
{
	uint32_t proved[2] = { 0 }, open[2] = { 0 };
	for (uint64_t round = 0; round < test_rounds(1000, 30000); round++) {
		bool all = round % 2;
		uint64_t seed = test_seed() * 7 + round, state = seed;
		OWN(problem) problem;
		cr_assert(random_problem(&state, 4 + random_below(&state, 6), &problem));
		int64_t optimum = least_peak(&problem);
		struct order_options options = { .strategy = ORDER_BEST };
		struct order_job job = { .problem = &problem, .options = &options, .bound = -1 };
		begin_shaving(&job, optimum);
		cr_assert_eq(order_run_shaving(&job, all), OK);
		cr_assert_leq(job.bound, optimum, "seed %lu: bound %ld above the optimum %ld", seed, job.bound, optimum);
		proved[all] += job.bound == optimum;
		open[all] += job.bound < optimum;
		if (job.bound >= 0) {
			cr_assert_eq(job.certificate.proof, ORDER_PROOF_PRECEDENCE);
			cr_assert(proves(&problem, &job.certificate, job.bound), "seed %lu", seed);
			cr_assert_not(proves(&problem, &job.certificate, optimum + 1), "seed %lu", seed);
			forge_precedences(&problem, job.certificate, optimum, &state);
		}
		arena_free(&job.arena);
	}
	cr_assert_gt(proved[true], 50 * open[true], "%u proved, %u not", proved[true], open[true]);
	cr_assert_gt(proved[false], 5 * open[false], "%u proved by a few pairs, %u not", proved[false], open[false]);
}

/* Bytes by why they are alive, at one position of the program order. */
Test(order, explains_the_live_bytes_of_an_op)
{
	for (uint64_t round = 0; round < 1000; round++) {
		uint64_t seed = test_seed() + round, state = seed;
		OWN(problem) problem;
		uint32_t ops = 1 + random_below(&state, 9), position = random_below(&state, ops);
		cr_assert(random_problem(&state, ops, &problem));
		int64_t live[9], bytes[4] = { 0 }, cut;
		uint32_t op = problem.program[position];
		enum order_reason reason[64];
		struct control control = { 0 };
		struct order_cut network;
		struct order_explainer *explainer = order_explainer_new(&problem, problem.program);
		cr_assert_not_null(explainer);
		problem_peak(&problem, problem.program, live, NULL);
		cr_assert_eq(order_explainer_at(explainer, position, &control, reason), OK);
		for (uint32_t item = 0; item < problem.items; item++)
			bytes[reason[item]] += problem.size[item];
		int64_t all = problem.base + problem.workspace[op] + bytes[ORDER_CERTAIN] + bytes[ORDER_IN_CUT] + bytes[ORDER_CHOICE];
		cr_assert_eq(all, live[position], "seed %lu", seed);
		cr_assert_eq(order_cut_init(&network, &problem, false), OK);
		cr_assert_eq(order_cut_at(&network, op, NULL, 0, &control, &cut), OK);
		cr_assert_leq(problem.base + problem.workspace[op] + bytes[ORDER_CERTAIN], cut);
		order_cut_free(&network);
		order_explainer_free(explainer);
	}
}

/* What one position leaves to the next changes no reason. */
Test(order, reasons_position_by_position_are_those_of_each_alone)
{
	for (uint64_t round = 0; round < 300; round++) {
		uint64_t seed = test_seed() + round, state = seed;
		OWN(problem) problem;
		struct control control = { 0 };
		enum order_reason alone[64], kept[64];
		uint32_t ops = 1 + random_below(&state, 9);
		cr_assert(random_problem(&state, ops, &problem));
		struct order_explainer *explainer = order_explainer_new(&problem, problem.program);
		cr_assert_not_null(explainer);
		for (uint32_t i = 0; i < 3 * ops; i++) {
			uint32_t position = random_below(&state, ops);
			cr_assert_eq(order_explainer_at(explainer, position, &control, kept), OK);
			struct order_explainer *fresh = order_explainer_new(&problem, problem.program);
			cr_assert_not_null(fresh);
			cr_assert_eq(order_explainer_at(fresh, position, &control, alone), OK);
			order_explainer_free(fresh);
			cr_assert_eq(memcmp(kept, alone, problem.items * sizeof *kept), 0, "seed %lu position %u", seed, position);
		}
		order_explainer_free(explainer);
	}
}

Test(order, every_failed_allocation_is_reported_and_nothing_leaks)
{
	for (uint64_t round = 0; round < 20; round++) {
		uint64_t state = test_seed() + round;
		OWN(problem) problem;
		cr_assert(random_problem(&state, 9, &problem));
		for (enum order_strategy strategy = 0; strategy < ORDER_STRATEGY_COUNT; strategy++) {
			struct order_options options = { .strategy = strategy };
			EACH_REFUSAL(refused) {
				struct control control = { 0 };
				OWN(order_result) result;
				refused.status = order_solve(&problem, &options, &control, &result);
			}
		}
	}
}
