/* unit_ranking.c: the rows of a search in order, against a slow look at all of them. */
#include <criterion/criterion.h>

#include "src/configs/config_search.h"
#include "tests/common/support.h"

#define ROWS 12
#define MANY 40

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
		struct config_entry rows[ROWS], *row[ROWS];
		struct config_list list = { .entry = row, .entries = ROWS, .fitting = ROWS, .leading = ROWS };
		uint32_t planned = (uint32_t)random_next(&random) % (ROWS + 1), error = (uint32_t)random_next(&random) % 3;
		for (uint32_t i = 0; i < ROWS; i++)
			make_row(&random, i < planned, row[i] = &rows[i]);
		config_order_rows(&list, error);
		uint32_t end = config_tie_end(&list, 0, error > 0 ? error : 1);
		cr_assert_gt(end, 0);
		bool known = row[0]->planned.known;
		int64_t best = INT64_MAX;
		for (uint32_t i = 0; i < end; i++) {
			cr_expect(known || !row[i]->planned.known, "a plan backs an estimate");
			if (row[i]->planned.known == known && time_of_row(row[i]) < best)
				best = time_of_row(row[i]);
		}
		cr_expect_leq(time_of_row(row[0]), best + best / 1000);
		for (uint32_t i = 1; i < end; i++)
			cr_expect(row[i]->planned.known != known || time_of_row(row[i]) > best + best / 1000 ||
					memory_of_row(row[i]) >= memory_of_row(row[0]),
				"round %u: row %u is as fast and smaller", round, i);
	}
}

/* Of a cut's fitting rows the others, by time: as they are linked. */
static void expect_linked(const struct config_list *list, uint32_t leader, uint32_t round)
{
	const struct config_entry *entry = list->entry[leader];
	uint32_t count = 0, at = entry->next;
	int64_t before = entry->result.time;
	cr_assert(entry->leads);
	for (; at && count <= MANY; at = list->entry[at]->next, count++) {
		const struct config_entry *other = list->entry[at];
		cr_assert(!other->leads && other->fits && config_same_cut(&other->config, &entry->config) &&
				before <= other->result.time,
			"round %u: place %u", round, at);
		before = other->result.time;
	}
	cr_assert_eq(count, entry->variants, "round %u: %u linked, %u variants", round, count, entry->variants);
	uint32_t share[MANY], shares = config_token_shares(list, leader, MANY, share);
	uint32_t seen = 1u << entry->config.cp, all = seen;
	FOR(i, list->fitting)
		all |= config_same_cut(&list->entry[i]->config, &entry->config) ? 1u << list->entry[i]->config.cp : 0;
	FOR(i, shares) {
		const struct config *config = &list->entry[share[i]]->config;
		cr_assert(!(seen >> config->cp & 1) && config_same_cut(config, &entry->config), "round %u: shared twice", round);
		FOR(k, list->fitting)
			cr_assert(!config_same_cut(&list->entry[k]->config, config) || list->entry[k]->config.cp != config->cp ||
					list->entry[k]->result.time >= list->entry[share[i]]->result.time,
				"round %u: a faster one shares tokens alike", round);
		seen |= 1u << config->cp;
	}
	cr_assert_eq(seen, all, "round %u: a way to share is missing", round);
}

Test(ranking, variants_are_linked_to_their_cut_by_time)
{
	uint64_t random = test_seed();
	for (uint32_t round = 0; round < test_rounds(300, 5000); round++) {
		struct config_entry rows[MANY], *row[MANY];
		struct config_list list = { .entry = row, .entries = 1 + (uint32_t)random_next(&random) % MANY };
		uint32_t fitting = 0, variants = 0;
		FOR(i, list.entries) {
			make_row(&random, false, row[i] = &rows[i]);
			rows[i].fits = random_next(&random) % 4 > 0;
			rows[i].config = (struct config) { .tp = 1 + (uint32_t)random_next(&random) % 2,
				.pp = 1 + (uint32_t)random_next(&random) % 2,
				.ep = 1, .cp = (uint32_t)random_next(&random) % 4, .dp = i };
			fitting += rows[i].fits;
		}
		cr_assert_eq(config_rank(&list), OK);
		cr_assert_eq(list.fitting, fitting);
		FOR(i, list.leading) {
			expect_linked(&list, i, round);
			variants += row[i]->variants;
			FOR(k, i)
				cr_assert(!config_same_cut(&row[k]->config, &row[i]->config) && row[k]->result.time <= row[i]->result.time);
		}
		cr_assert_eq(list.leading + variants, fitting);
		if (list.leading == 0)
			continue;
		uint32_t lead = (uint32_t)random_next(&random) % list.leading;
		const struct config_entry *was = row[lead];
		const struct config config = was->config;
		uint32_t others = was->variants;
		was = config_pass_lead(&list, lead, -1) ? row[lead] : NULL;
		cr_assert(!was || (was->leads && was->variants == others && config_same_cut(&was->config, &config)));
		uint32_t linked = 0;    /* the one that led is among the variants, at a place of its own */
		bool there = false;
		for (uint32_t at = row[lead]->next; at && linked <= MANY; at = row[at]->next, linked++)
			there |= config_equal(&row[at]->config, &config);
		cr_assert(linked == others && there == (was != NULL), "round %u: %u of %u linked", round, linked, others);
	}
}
