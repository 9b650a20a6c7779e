/* unit_ranking.c: the rows of a search in order, against a slow look at all of them. */
#include <criterion/criterion.h>

#include "src/configs/config_search.h"
#include "tests/common/support.h"

#define ROWS 12

static int64_t time_of_row(const struct config_entry *row)
{
	return row->planned.known ? row->planned.time : row->result.time;
}

static int64_t memory_of_row(const struct config_entry *row)
{
	return row->planned.known ? row->planned.needs : row->result.worst.total;
}

static void make_row(uint64_t *random, bool planned, struct config_entry *row)
{
	*row = (struct config_entry){ .fits = true };
	row->result.time = 1000000 + (int64_t)random_next(random) % 3000;
	row->result.worst.total = 1 + (int64_t)random_next(random) % 50;
	row->planned.tried = row->planned.known = row->planned.fits = planned;
	row->planned.time = row->result.time + (int64_t)random_next(random) % 4000;
	row->planned.needs = 1 + (int64_t)random_next(random) % 50;
}

Test(ranking, of_rows_as_fast_within_a_thousandth_the_least_memory_leads)
{
	uint64_t random = test_seed();
	for (uint32_t round = 0; round < test_rounds(300, 5000); round++) {
		struct config_entry row[ROWS];
		struct config_list list = { .entry = row, .entries = ROWS, .fitting = ROWS, .leading = ROWS };
		uint32_t planned = (uint32_t)random_next(&random) % (ROWS + 1), error = (uint32_t)random_next(&random) % 3;
		for (uint32_t i = 0; i < ROWS; i++)
			make_row(&random, i < planned, &row[i]);
		config_order_rows(&list, error);
		uint32_t end = config_tie_end(&list, 0, error > 0 ? error : 1);
		cr_assert_gt(end, 0);
		bool known = row[0].planned.known;
		int64_t best = INT64_MAX;
		for (uint32_t i = 0; i < end; i++) {
			cr_expect(known || !row[i].planned.known, "a plan backs an estimate");
			if (row[i].planned.known == known && time_of_row(&row[i]) < best)
				best = time_of_row(&row[i]);
		}
		cr_expect_leq(time_of_row(&row[0]), best + best / 1000);
		for (uint32_t i = 1; i < end; i++)
			cr_expect(row[i].planned.known != known || time_of_row(&row[i]) > best + best / 1000 ||
					memory_of_row(&row[i]) >= memory_of_row(&row[0]),
				"round %u: row %u is as fast and smaller", round, i);
	}
}
