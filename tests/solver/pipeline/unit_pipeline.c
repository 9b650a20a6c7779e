/* unit_pipeline.c: pipeline schedules against their formulas and their definition. */
#include <criterion/criterion.h>

#include "solver/pipeline/pipeline.h"
#include "tests/common/support.h"

#define PIECES 64

static int64_t forward[PIECES], backward[PIECES], sending[PIECES];

static struct pipeline uniform(enum schedule schedule, uint32_t ranks, uint32_t chunks, uint32_t microbatches, int64_t f, int64_t b)
{
	for (int i = 0; i < PIECES; i++) {
		forward[i] = f;
		backward[i] = b;
		sending[i] = 0;
	}
	return (struct pipeline) { .schedule = schedule, .ranks = ranks, .chunks = chunks, .microbatches = microbatches,
		.forward = forward, .backward = backward, .send = sending };
}

/* Every pass once; none before its inputs; no two at a time on a rank. */
static void check_plan(const struct pipeline *pipeline, const struct pipeline_plan *plan)
{
	uint32_t pieces = pipeline->ranks * pipeline->chunks, m = pipeline->microbatches;
	static int64_t begin[2][PIECES][64], end[2][PIECES][64];
	for (int d = 0; d < 2; d++)
		for (uint32_t s = 0; s < pieces; s++)
			for (uint32_t i = 0; i < m; i++)
				begin[d][s][i] = -1;
	for (uint32_t rank = 0; rank < pipeline->ranks; rank++) {
		int64_t before = 0;
		for (uint32_t i = 0; i < plan->slots; i++) {
			const struct pipeline_slot *slot = &plan->slot[rank * plan->slots + i];
			cr_assert_eq(slot->piece % pipeline->ranks, rank);
			cr_assert_geq(slot->begin, before);
			cr_assert_eq(slot->end - slot->begin, (slot->backward ? pipeline->backward : pipeline->forward)[slot->piece]);
			cr_assert_eq(begin[slot->backward][slot->piece][slot->microbatch], -1);
			begin[slot->backward][slot->piece][slot->microbatch] = slot->begin;
			end[slot->backward][slot->piece][slot->microbatch] = before = slot->end;
			cr_assert_leq(slot->end, plan->time);
		}
	}
	for (uint32_t s = 0; s < pieces; s++)
		for (uint32_t i = 0; i < m; i++) {
			cr_assert_geq(begin[1][s][i], end[0][s][i]);
			if (s > 0)
				cr_assert_geq(begin[0][s][i], end[0][s - 1][i] + pipeline->send[s - 1]);
			if (s + 1 < pieces)
				cr_assert_geq(begin[1][s][i], end[1][s + 1][i] + pipeline->send[s]);
		}
}

Test(pipeline, equal_pieces_take_what_the_formulas_say)
{
	for (int schedule = 0; schedule < 2; schedule++)
		for (uint32_t p = 1; p <= 8; p++)
			for (uint32_t m = 1; m <= 12; m++) {
				struct pipeline pipeline = uniform((enum schedule)schedule, p, 1, m, 10, 20);
				struct pipeline_plan plan;
				cr_assert_eq(pipeline_run(&pipeline, &plan, NULL), OK);
				check_plan(&pipeline, &plan);
				cr_assert_eq(plan.time, (int64_t)(m + p - 1) * 30, "%s p %u m %u: %ld", schedule_names[schedule], p, m, (long)plan.time);
				cr_assert_eq(plan.ideal, (int64_t)m * 30);
				for (uint32_t i = 0; i < p; i++) /* 1F1B: min(p - i, m) in flight on rank i; GPipe: all */
					cr_assert_eq(plan.in_flight[i], schedule == SCHEDULE_GPIPE || m < p - i ? m : p - i);
				pipeline_free(&plan);
			}
	cr_assert_eq(memory_blocks(), 0);
}

/* Narayanan et al. 2021, section 2.2: the bubble is (p - 1)(f + b) / v; Korthikanti et al. 2022: (1 + (p - 1) / (p v)) p v chunks in flight. */
Test(pipeline, interleaving_divides_the_bubble_by_the_chunks)
{
	for (uint32_t p = 2; p <= 8; p++)
		for (uint32_t v = 2; v <= 4; v++)
			for (uint32_t groups = 1; groups <= 3; groups++) {
				struct pipeline pipeline = uniform(SCHEDULE_INTERLEAVED, p, v, p * groups, 10, 20);
				struct pipeline_plan plan;
				cr_assert_eq(pipeline_run(&pipeline, &plan, NULL), OK);
				check_plan(&pipeline, &plan);
				cr_assert_eq(plan.time - plan.ideal, (int64_t)(p - 1) * 30, "p %u v %u m %u", p, v, p * groups);
				if (groups > 1)
					cr_assert_eq(plan.in_flight[0], p * v + p - 1);
				pipeline_free(&plan);
			}
}

Test(pipeline, any_times_give_a_legal_schedule)
{
	uint64_t random = test_seed();
	for (int round = 0; round < 2000; round++) {
		enum schedule schedule = (enum schedule)(random_next(&random) % SCHEDULE_COUNT);
		uint32_t p = 2 + (uint32_t)(random_next(&random) % 5), v = schedule == SCHEDULE_INTERLEAVED ? 1 + (uint32_t)(random_next(&random) % 4) : 1;
		uint32_t m = p * (1 + (uint32_t)(random_next(&random) % 4));
		struct pipeline pipeline = uniform(schedule, p, v, m, 0, 0);
		for (int i = 0; i < PIECES; i++) {
			forward[i] = (int64_t)(random_next(&random) % 50);
			backward[i] = (int64_t)(random_next(&random) % 50);
			sending[i] = (int64_t)(random_next(&random) % 10);
		}
		pipeline.blocking = random_next(&random) % 2;
		struct pipeline_plan plan;
		cr_assert_eq(pipeline_run(&pipeline, &plan, NULL), OK);
		check_plan(&pipeline, &plan);
		pipeline_free(&plan);
	}
}

Test(pipeline, bad_input_and_allocation_failures)
{
	struct pipeline_plan plan;
	struct error error = { 0 };
	struct pipeline pipeline = uniform(SCHEDULE_INTERLEAVED, 4, 2, 6, 1, 2);
	cr_expect_eq(pipeline_run(&pipeline, &plan, &error), BAD_INPUT);
	cr_expect_str_eq(error.text, "the interleaved schedule needs microbatches that are a multiple of the 4 pipeline ranks, not 6");
	pipeline.schedule = SCHEDULE_1F1B;
	cr_expect_eq(pipeline_run(&pipeline, &plan, &error), BAD_INPUT);
	pipeline.chunks = 1;
	enum status status = NO_MEMORY;
	for (long n = 0; status == NO_MEMORY; n++) {
		memory_allow(n);
		status = pipeline_run(&pipeline, &plan, &error);
		memory_allow(-1);
		if (status != OK)
			cr_assert_eq(memory_blocks(), 0);
	}
	cr_expect_eq(status, OK);
	pipeline_free(&plan);
}
