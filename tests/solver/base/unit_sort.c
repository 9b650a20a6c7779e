/* unit_sort.c: the sort by a number against insertion. */
#include "solver/base/sort.h"
#include "tests/common/support.h"

#define MOST 700

static int64_t below(uint64_t *seed, int64_t limit)
{
	return (int64_t)(random_next(seed) % (uint64_t)limit);
}

/* Each number's place is behind all that are less, and behind equal ones that came before. */
static void sort_slowly(const struct keyed *list, struct keyed *sorted, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		size_t place = 0;
		for (size_t k = 0; k < count; k++)
			place += list[k].key < list[i].key || (list[k].key == list[i].key && k < i);
		sorted[place] = list[i];
	}
}

Test(sort, equal_keys_keep_their_order_whatever_the_range)
{
	static const int64_t ranges[] = { 1, 2, 4095, 4096, 4097, INT64_C(1) << 24, INT64_C(1) << 40, INT64_MAX };
	uint64_t seed = test_seed();
	struct keyed list[MOST], sorted[MOST];
	for (uint32_t round = 0; round < test_rounds(400, 2000); round++) {
		size_t count = (size_t)below(&seed, round % 2 ? 40 : MOST);
		int64_t range = ranges[round % 8];
		for (size_t i = 0; i < count; i++) {
			int64_t key = below(&seed, range) - (round % 3 == 0 ? range / 2 : 0);
			list[i] = (struct keyed){ round % 5 == 0 && i % 2 ? -key : key, (uint32_t)i, (uint32_t)round };
		}
		sort_slowly(list, sorted, count);
		cr_assert(sort_keyed(list, count));
		cr_assert_eq(memcmp(list, sorted, count * sizeof *list), 0, "SEED=%llu round %u",
			(unsigned long long)test_seed(), round);
	}
}

Test(sort, without_memory_nothing_is_moved)
{
	struct keyed list[100];
	EACH_REFUSAL(refused) {
		for (uint32_t i = 0; i < 100; i++)
			list[i] = (struct keyed){ (int64_t)(i * 37 % 100), i, 0 };
		refused.status = sort_keyed(list, 100) ? OK : NO_MEMORY;
		for (uint32_t i = 0; i < 100; i++)
			cr_assert_eq(list[i].item, refused.status == OK ? i * 73 % 100 : i);
	}
}
