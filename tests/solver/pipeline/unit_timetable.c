/* unit_timetable.c: bytes and reasons of played schedules against counting. */
#include "solver/pipeline/timetable.h"
#include "tests/common/support.h"

#define RANKS 6
#define PIECES 18

struct example {
	int64_t forward[PIECES], backward[PIECES], send[PIECES], fixed[RANKS], working[RANKS], kept[PIECES], weight[PIECES],
		between[PIECES];
	struct pipeline pipeline;
	struct timetable_bytes bytes;
};

static void fill(struct example *example, uint64_t *random)
{
	struct pipeline *pipeline = &example->pipeline;
	*pipeline = (struct pipeline){ .schedule = (enum schedule)(random_below(random, SCHEDULE_COUNT)),
		.ranks = 1 + random_below(random, RANKS),
		.chunks = 1,
		.microbatches = 1 + random_below(random, 9),
		.forward = example->forward,
		.backward = example->backward,
		.send = example->send,
		.blocking = random_below(random, 2) };
	if (pipeline->schedule == SCHEDULE_INTERLEAVED && pipeline->ranks > 1) {
		pipeline->chunks = 2 + random_below(random, 2);
		pipeline->microbatches = pipeline->ranks * (1 + random_below(random, 2));
	}
	if (schedule_split(pipeline->schedule))
		pipeline->blocking = false;
	if (schedule_folded(pipeline->schedule)) {
		pipeline->ranks = 2 + random_below(random, RANKS - 1);
		pipeline->chunks = 2;
		pipeline->microbatches += pipeline->schedule == SCHEDULE_DUALPIPEV ? 2 * pipeline->ranks : 0;
	}
	for (int i = 0; i < PIECES; i++) {
		example->forward[i] = 1 + random_below(random, 9);
		example->backward[i] = 1 + random_below(random, 9);
		example->send[i] = random_below(random, 3);
		example->kept[i] = random_below(random, 50);
		example->weight[i] = random_below(random, (uint32_t)example->kept[i] + 1);
		example->between[i] = random_below(random, 20);
		example->fixed[i % RANKS] = random_below(random, 1000);
		example->working[i % RANKS] = random_below(random, 100);
	}
	example->bytes = (struct timetable_bytes){ example->fixed, example->working, example->kept, example->weight,
		example->between };
}

/* Every microbatch from its forward slot's beginning to its backward slot's end. */
static int64_t count(const struct example *example, const struct timetable *timetable, uint32_t rank, int64_t time)
{
	int64_t sum = example->fixed[rank];
	for (uint32_t i = 0; i < timetable->slots; i++) {
		const struct pipeline_slot *slot = timetable_slot(timetable, rank, i);
		sum += slot->begin <= time && time < slot->end ? example->working[rank] : 0;
		for (uint32_t j = 0; j < timetable->slots; j++) {
			const struct pipeline_slot *back = timetable_slot(timetable, rank, j);
			bool during = back->piece == slot->piece && back->microbatch == slot->microbatch && slot->begin <= time &&
				time < back->end;
			if (during && slot->pass == PASS_FORWARD && back->pass == PASS_BACKWARD)
				sum += example->kept[slot->piece];
			if (during && slot->pass == PASS_FORWARD && back->pass == PASS_INPUT)
				sum += example->kept[slot->piece] - example->weight[slot->piece];
			if (during && slot->pass == PASS_FORWARD && back->pass == PASS_WEIGHT)
				sum += example->weight[slot->piece];
			if (during && slot->pass == PASS_INPUT && back->pass == PASS_WEIGHT)
				sum += example->between[slot->piece];
		}
	}
	return sum;
}

static void check_rank(const struct example *example, const struct timetable *timetable, uint32_t rank)
{
	int64_t most = 0, busy = 0;
	static int64_t at[4096];
	static int pass[4096];
	cr_assert_lt(timetable->time, 4096);
	for (int64_t t = 0; t < timetable->time; t++) {
		at[t] = count(example, timetable, rank, t);
		pass[t] = PASS_COUNT;
		most = at[t] > most ? at[t] : most;
	}
	for (uint32_t i = 0; i < timetable->slots; i++)
		for (int64_t t = timetable_slot(timetable, rank, i)->begin; t < timetable_slot(timetable, rank, i)->end; t++, busy++)
			pass[t] = timetable_slot(timetable, rank, i)->pass;
	cr_assert_eq(timetable_peak(timetable, rank), most);
	cr_assert_eq(timetable->busy[rank], busy);
	cr_assert_leq(most, timetable_peak(timetable, timetable->worst));
	for (int64_t from = 0; from < timetable->time; from += 3)
		for (int64_t to = from + 1; to <= timetable->time && to < from + 30; to += 4) {
			int64_t highest = 0, share[PASS_COUNT], wanted[PASS_COUNT + 1] = { 0 };
			for (int64_t t = from; t < to; t++) {
				highest = at[t] > highest ? at[t] : highest;
				wanted[pass[t]]++;
			}
			cr_assert_eq(timetable_most(timetable, rank, from, to), highest, "rank %u [%ld, %ld)", rank, (long)from, (long)to);
			timetable_shares(timetable, rank, from, to, share);
			for (int k = 0; k < PASS_COUNT; k++)
				cr_assert_eq(share[k], wanted[k]);
		}
}

/* What is waited for is there when the slot begins, and nothing that it needs is there later. */
static void check_reasons(const struct timetable *timetable)
{
	for (uint32_t rank = 0; rank < timetable->ranks; rank++)
		for (uint32_t i = 0; i < timetable->slots; i++) {
			const struct pipeline_slot *slot = timetable_slot(timetable, rank, i);
			struct slot_reason reason = timetable_reason(timetable, rank, i);
			cr_assert_eq(reason.ready, slot->begin);
			if (reason.wait == WAIT_START)
				continue;
			const struct pipeline_slot *other = timetable_slot(timetable, reason.rank, reason.slot);
			cr_assert_leq(other->end, slot->begin);
			if (reason.wait == WAIT_INPUT)
				cr_assert(slot->overlapped || other->overlapped || other->pass == PASS_WEIGHT ||
					other->microbatch == slot->microbatch);
			else
				cr_assert_eq(reason.slot + 1, i);
		}
}

Test(timetable, bytes_shares_and_reasons_are_what_counting_says)
{
	uint64_t random = test_seed();
	for (int run = 0; run < 150; run++) {
		struct example example;
		OWN(timetable) timetable;
		struct error error;
		fill(&example, &random);
		cr_assert_eq(timetable_build(&example.pipeline, &example.bytes, 7, &timetable, &error), OK, "%s", error.text);
		cr_assert_eq(timetable.time, timetable.pipeline_time + 7);
		for (uint32_t rank = 0; rank < timetable.ranks; rank++)
			check_rank(&example, &timetable, rank);
		check_reasons(&timetable);
	}
}

/* Narayanan et al., arXiv 2104.04473, section 2.2: of (m + p - 1) (f + b) a rank waits (p - 1) (f + b). */
Test(timetable, the_bubble_is_the_formulas)
{
	struct example example = { .pipeline = { .schedule = SCHEDULE_1F1B,
								   .ranks = 4,
								   .chunks = 1,
								   .microbatches = 12,
								   .forward = example.forward,
								   .backward = example.backward,
								   .send = example.send } };
	OWN(timetable) timetable;
	struct error error;
	for (int i = 0; i < PIECES; i++) {
		example.forward[i] = 10;
		example.backward[i] = 20;
		example.kept[i] = 1;
	}
	example.bytes = (struct timetable_bytes) { .fixed = example.fixed, .working = example.working, .kept = example.kept };
	cr_assert_eq(timetable_build(&example.pipeline, &example.bytes, 0, &timetable, &error), OK);
	cr_assert_eq(timetable_bubble(&timetable), 200);   /* 3 / 15 */
	cr_assert_eq(timetable_peak(&timetable, 0), 4);
	cr_assert_eq(timetable.worst, 0);
}

Test(timetable, bad_input_and_allocation_failures)
{
	struct example example;
	OWN(timetable) timetable;
	struct error error;
	uint64_t random = 5;
	fill(&example, &random);
	example.pipeline.schedule = SCHEDULE_INTERLEAVED;
	example.pipeline.ranks = 3;
	example.pipeline.chunks = 2;
	example.pipeline.microbatches = 4;
	cr_assert_eq(timetable_build(&example.pipeline, &example.bytes, 0, &timetable, &error), BAD_INPUT);
	example.pipeline.microbatches = 6;
	enum status status = NO_MEMORY;
	for (long n = 0; status == NO_MEMORY; n = memory_next(n)) {
		memory_allow(n);
		status = timetable_build(&example.pipeline, &example.bytes, 0, &timetable, &error);
		memory_allow(-1);
		if (status != OK)
			cr_assert_eq(memory_blocks(), 0);
	}
	cr_assert_eq(status, OK);
}
