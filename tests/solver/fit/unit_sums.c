/* unit_sums.c: sums of changes against all subsets of them. */
#include <math.h>
#include <stdlib.h>

#include "solver/fit/search.h"
#include "tests/common/support.h"

#define ITEMS 14
#define SUMS 8
#define SLOPE 3.0

struct pairs { bool clash[ITEMS][ITEMS]; };

static bool no_clash(void *context, const uint32_t *item, uint32_t count)
{
	const struct pairs *pairs = context;
	bool fine = true;
	for (uint32_t i = 0; i < count; i++)
		for (uint32_t k = 0; k < i; k++)
			fine = fine && !pairs->clash[item[i]][item[k]];
	return fine;
}

static int by_cost(const void *left, const void *right)
{
	const struct fit_item *a = left, *b = right;
	return a->cost < b->cost ? -1 : a->cost > b->cost;
}

/* Some make a plan faster and larger, others smaller and slower; some do both, and are dear or gifts. */
static void make_items(uint64_t *random, struct fit_item *item, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		int64_t bytes = (int64_t)random_below(random, 2001) - 1000,
				time = (int64_t)random_below(random, 400) - 100 - 3 * bytes;
		item[i] = (struct fit_item){ time, bytes, (double)time + SLOPE * (double)bytes, random_below(random, 8) == 0 };
	}
	qsort(item, count, sizeof *item, by_cost);
}

/* The most that any subset takes off within the room and the budget. */
static int64_t least_time(const struct fit_item *item, uint32_t count, int64_t room, double budget)
{
	int64_t least = 0;
	for (uint32_t set = 1; set < 1u << count; set++) {
		int64_t time = 0, bytes = 0;
		uint32_t some = 0;
		bool fine = true;
		for (uint32_t i = 0; i < count; i++)
			if (set >> i & 1) {
				time += item[i].time;
				bytes += item[i].bytes;
				some++;
				fine = fine && !item[i].apart;
			}
		if (fine && some <= FIT_SUM_MOST && bytes <= room && (double)time + SLOPE * (double)bytes <= budget && time < least)
			least = time;
	}
	return least;
}

static void check_sum(const struct fit_sum *sum, const struct fit_item *item, const struct pairs *pairs, int64_t room)
{
	int64_t time = 0, bytes = 0;
	cr_assert(sum->count > 0 && sum->count <= FIT_SUM_MOST);
	for (uint32_t i = 0; i < sum->count; i++) {
		time += item[sum->item[i]].time;
		bytes += item[sum->item[i]].bytes;
		cr_assert(!item[sum->item[i]].apart);
		for (uint32_t k = 0; k < i; k++)
			cr_assert(sum->item[i] != sum->item[k]);
	}
	cr_assert(no_clash((void *)(uintptr_t)pairs, sum->item, sum->count));
	cr_assert(time == sum->time && bytes == sum->bytes);
	cr_assert(time < 0 && bytes <= room);
}

Test(sums, best_of_all_subsets)
{
	uint64_t random = test_seed();
	uint32_t rounds = test_rounds(300, 3000), better = 0, clashing = 0;
	for (uint32_t round = 0; round < rounds; round++) {
		struct fit_item item[ITEMS];
		struct fit_sum sum[SUMS];
		struct pairs pairs = { 0 };
		uint32_t count = 1 + random_below(&random, ITEMS), sums;
		uint64_t ticks = 0;
		int64_t room = random_below(&random, 600);
		double budget = SLOPE * (double)room;
		bool clash = round % 2;
		make_items(&random, item, count);
		for (uint32_t i = 0; i < count && clash; i++)
			for (uint32_t k = 0; k < i; k++)
				pairs.clash[i][k] = pairs.clash[k][i] = random_below(&random, 4) == 0;
		cr_assert_eq(fit_sums(item, count, room, budget, no_clash, &pairs, &ticks, sum, SUMS, &sums), OK);
		for (uint32_t i = 0; i < sums; i++) {
			check_sum(&sum[i], item, &pairs, room);
			cr_assert(i == 0 || sum[i - 1].time <= sum[i].time);
		}
		better += sums > 0;
		clashing += clash && sums > 0;
		if (!clash)
			cr_assert_eq(sums > 0 ? sum[0].time : 0, least_time(item, count, room, budget),
				"round %u: %ld, and there is %ld", round, (long)(sums > 0 ? sum[0].time : 0),
				(long)least_time(item, count, room, budget));
	}
	printf("%u of %u rounds have a sum, %u of those with items that clash\n", better, rounds, clashing);
	cr_assert(better > rounds / 2 && clashing > rounds / 8);
}

Test(sums, without_memory)
{
	uint64_t random = 3;
	struct fit_item item[ITEMS];
	make_items(&random, item, ITEMS);
	EACH_REFUSAL(refused) {
		struct pairs pairs = { 0 };
		struct fit_sum sum[SUMS];
		uint64_t ticks = 0;
		uint32_t sums;
		refused.status = fit_sums(item, ITEMS, 300, HUGE_VAL, no_clash, &pairs, &ticks, sum, SUMS, &sums);
	}
}
