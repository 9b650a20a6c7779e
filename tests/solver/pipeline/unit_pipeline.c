/* unit_pipeline.c: pipeline schedules against their formulas and their definition. */
#include "solver/pipeline/pipeline.h"
#include "tests/common/support.h"

#define PIECES 64

static int64_t forward[PIECES], backward[PIECES], weight[PIECES], sending[PIECES];

static struct pipeline uniform(
	enum schedule schedule, uint32_t ranks, uint32_t chunks, uint32_t microbatches, int64_t f, int64_t b)
{
	for (int i = 0; i < PIECES; i++) {
		forward[i] = f;
		backward[i] = b;
		weight[i] = b / 2;
		sending[i] = 0;
	}
	return (struct pipeline) { .schedule = schedule, .ranks = ranks, .chunks = chunks, .microbatches = microbatches,
		.forward = forward, .backward = backward, .weight = weight, .send = sending };
}

/* Every pass once; none before its inputs; no two at a time on a rank. */
static void check_plan(const struct pipeline *pipeline, const struct pipeline_plan *plan)
{
	uint32_t pieces = pipeline->ranks * pipeline->chunks, m = pipeline->microbatches;
	static int64_t begin[3][PIECES][64], end[3][PIECES][64];
	for (int d = 0; d < 3; d++)
		for (uint32_t s = 0; s < pieces; s++)
			for (uint32_t i = 0; i < m; i++)
				begin[d][s][i] = -1;
	for (uint32_t rank = 0; rank < pipeline->ranks; rank++) {
		int64_t before = 0;
		for (uint32_t i = 0; i < plan->slots; i++) {
			const struct pipeline_slot *slot = &plan->slot[rank * plan->slots + i];
			int part = slot->pass == PASS_FORWARD ? 0 : slot->pass == PASS_WEIGHT ? 2 : 1;
			cr_assert_eq(piece_rank(slot->piece, pipeline->ranks, plan->folded), rank);
			cr_assert_geq(slot->begin, before);
			cr_assert_eq(slot->end - slot->begin, pipeline_duration(pipeline, slot));
			cr_assert_eq(begin[part][slot->piece][slot->microbatch], -1);
			begin[part][slot->piece][slot->microbatch] = slot->begin;
			end[part][slot->piece][slot->microbatch] = before = slot->end;
			cr_assert_leq(slot->end, plan->time);
		}
	}
	for (uint32_t s = 0; s < pieces; s++)
		for (uint32_t i = 0; i < m; i++) {
			cr_assert_geq(begin[1][s][i], end[0][s][i]);
			if (s > 0)
				cr_assert_geq(begin[0][s][i], end[0][s - 1][i] + pipeline_send(pipeline, plan->folded, s - 1));
			if (s + 1 < pieces)
				cr_assert_geq(begin[1][s][i], end[1][s + 1][i] + pipeline_send(pipeline, plan->folded, s));
			if (plan->split)
				cr_assert_geq(begin[2][s][i], end[1][s][i]);
		}
}

Test(pipeline, equal_pieces_take_what_the_formulas_say)
{
	for (int schedule = 0; schedule < 2; schedule++)
		for (uint32_t p = 1; p <= 8; p++)
			for (uint32_t m = 1; m <= 12; m++) {
				struct pipeline pipeline = uniform((enum schedule)schedule, p, 1, m, 10, 20);
				OWN(pipeline_plan) plan;
				cr_assert_eq(pipeline_run(&pipeline, &plan, NULL), OK);
				check_plan(&pipeline, &plan);
				cr_assert_eq(plan.time, (int64_t)(m + p - 1) * 30, "%s p %u m %u: %ld", schedule_names[schedule], p, m,
					(long)plan.time);
				cr_assert_eq(plan.ideal, (int64_t)m * 30);
				for (uint32_t i = 0; i < p; i++) /* 1F1B: min(p - i, m) in flight on rank i; GPipe: all */
					cr_assert_eq(plan.in_flight[i], schedule == SCHEDULE_GPIPE || m < p - i ? m : p - i);
			}
}

/* Narayanan et al. 2021, section 2.2: the bubble is (p - 1)(f + b) / v; Korthikanti et al. 2022: (1 + (p - 1) / (p v))
 * p v chunks in flight. */
Test(pipeline, interleaving_divides_the_bubble_by_the_chunks)
{
	for (uint32_t p = 2; p <= 8; p++)
		for (uint32_t v = 2; v <= 4; v++)
			for (uint32_t groups = 1; groups <= 3; groups++) {
				struct pipeline pipeline = uniform(SCHEDULE_INTERLEAVED, p, v, p * groups, 10, 20);
				OWN(pipeline_plan) plan;
				cr_assert_eq(pipeline_run(&pipeline, &plan, NULL), OK);
				check_plan(&pipeline, &plan);
				cr_assert_eq(plan.time - plan.ideal, (int64_t)(p - 1) * 30, "p %u v %u m %u", p, v, p * groups);
				if (groups > 1)
					cr_assert_eq(plan.in_flight[0], p * v + p - 1);
			}
}

/* Bubbles and activations with equal F, B, W and no communication. In time W of a stage and in its activations; a stage
 * is two pieces in a V. Qi et al. (arXiv 2401.10241, section 2; arXiv 2405.15362) and DeepSeek's DualPipe (arXiv
 * 2412.19437), as their repositories state them: 1f1b (p - 1)(F + B), p; zb1p (p - 1)(F + B - 2 W), p; zb2p 0, 2 p - 1;
 * zbv 0, p; v-half half the bubble of 1f1b and (p + 2) / 2 stages, rounded down; v-min two thirds and (p + 4) / 3,
 * rounded down; dualpipev (p - 1)(F&B + B - 3 W), p + 1/2 for F, B, W of a half of a stage. B is a whole backward pass
 * there. */
Test(pipeline, split_schedules_idle_and_hold_what_the_formulas_say)
{
	enum { UNIT = 10 };
	for (int schedule = SCHEDULE_ZB1P; schedule < SCHEDULE_COUNT; schedule++)
		for (uint32_t p = 2; p <= 16; p++)
			for (uint32_t m = 2 * p; m <= 3 * p; m += p / 2) {
				bool folded = schedule_folded((enum schedule)schedule);
				struct pipeline pipeline = uniform((enum schedule)schedule, p, folded ? 2 : 1, m, UNIT, 2 * UNIT);
				struct pipeline_plan plan;
				struct error error = { 0 };
				cr_assert_eq(pipeline_run(&pipeline, &plan, &error), OK, "%s", error.text);
				check_plan(&pipeline, &plan);
				int64_t idle = pipeline_idle(&plan, p) / UNIT, behind = p - 1;
				uint32_t most = 0;
				for (uint32_t r = 0; r < p; r++)
					most = plan.in_flight[r] > most ? plan.in_flight[r] : most;
				const char *name = schedule_names[schedule];
				switch (schedule) {
				case SCHEDULE_ZB1P:
					cr_expect(idle == behind && most == p, "%s p %u m %u: %ld, %u", name, p, m, (long)idle, most);
					break;
				case SCHEDULE_ZB2P:
					cr_expect(idle == 0 && most == 2 * p - 1, "%s p %u m %u: %ld, %u", name, p, m, (long)idle, most);
					break;
				case SCHEDULE_ZBV:
					cr_expect(idle == 0 && most == 2 * p, "%s p %u m %u: %ld, %u", name, p, m, (long)idle, most);
					break;
				case SCHEDULE_V_HALF:
					cr_expect(idle <= 3 * behind && most == 2 * ((p + 2) / 2), "%s p %u m %u: %ld, %u", name, p, m,
						(long)idle, most);
					break;
				case SCHEDULE_V_MIN:
					cr_expect(idle <= 4 * behind && most == 2 * ((p + 4) / 3), "%s p %u m %u: %ld, %u", name, p, m,
						(long)idle, most);
					break;
				default:
					cr_expect(
						idle == 2 * behind && most == 2 * p + 1, "%s p %u m %u: %ld, %u", name, p, m, (long)idle, most);
					break;
				}
				pipeline_free(&plan);
			}
}

Test(pipeline, any_times_give_a_legal_schedule)
{
	uint64_t random = test_seed();
	for (int round = 0; round < 2000; round++) {
		enum schedule schedule = (enum schedule)(random_next(&random) % SCHEDULE_COUNT);
		uint32_t p = 2 + (uint32_t)(random_next(&random) % 5),
				 v = schedule == SCHEDULE_INTERLEAVED ? 1 + (uint32_t)(random_next(&random) % 4)
				: schedule_folded(schedule) ? 2
				: 1;
		uint32_t m = schedule == SCHEDULE_DUALPIPEV ? 2 * p + (uint32_t)(random_next(&random) % 9)
			: schedule == SCHEDULE_INTERLEAVED ? p * (1 + (uint32_t)(random_next(&random) % 4))
			: 1 + (uint32_t)(random_next(&random) % 20);
		struct pipeline pipeline = uniform(schedule, p, v, m, 0, 0);
		for (int i = 0; i < PIECES; i++) {
			forward[i] = (int64_t)(random_next(&random) % 50);
			backward[i] = (int64_t)(random_next(&random) % 50);
			weight[i] = (int64_t)(random_next(&random) % (uint64_t)(backward[i] + 1));
			sending[i] = (int64_t)(random_next(&random) % 10);
		}
		pipeline.blocking = random_next(&random) % 2;
		OWN(pipeline_plan) plan;
		cr_assert_eq(pipeline_run(&pipeline, &plan, NULL), OK);
		check_plan(&pipeline, &plan);
	}
}

Test(pipeline, bad_input_and_allocation_failures)
{
	OWN(pipeline_plan) plan;
	struct error error = { 0 };
	struct pipeline pipeline = uniform(SCHEDULE_INTERLEAVED, 4, 2, 6, 1, 2);
	cr_expect_eq(pipeline_run(&pipeline, &plan, &error), BAD_INPUT);
	cr_expect_str_eq(
		error.text, "the interleaved schedule needs microbatches that are a multiple of the 4 pipeline ranks, not 6");
	pipeline.schedule = SCHEDULE_1F1B;
	cr_expect_eq(pipeline_run(&pipeline, &plan, &error), BAD_INPUT);
	pipeline.chunks = 1;
	enum status status = NO_MEMORY;
	for (long n = 0; status == NO_MEMORY; n = memory_next(n)) {
		memory_allow(n);
		status = pipeline_run(&pipeline, &plan, &error);
		memory_allow(-1);
		if (status != OK)
			cr_assert_eq(memory_blocks(), 0);
	}
	cr_expect_eq(status, OK);
}
