/* unit_layout_search.c: the exact search against brute force and against itself without its rules. */
#include "tests/common/random_buffers.h"
#include "solver/layout/layout.h"
#include "solver/layout/search.h"
#include "tests/common/support.h"

/* ---- the oracle: every offset of every buffer ------------------------------------------------ */

static uint32_t pieces_of(const struct buffers *buffers, uint32_t i, struct piece *piece)
{
	uint32_t count = 0;
	if (buffers->piece_start)
		for (uint32_t k = buffers->piece_start[i]; k < buffers->piece_start[i + 1]; k++)
			piece[count++] = buffers->piece[k];
	if (count == 0)
		piece[count++] = (struct piece){ buffers->lower[i], buffers->upper[i] };
	return count;
}

static bool overlap(const struct buffers *buffers, const int64_t *offset, uint32_t a, uint32_t b)
{
	struct piece p[3], q[3];
	uint32_t m = pieces_of(buffers, a, p), n = pieces_of(buffers, b, q);
	for (uint32_t i = 0; i < m; i++)
		for (uint32_t j = 0; j < n; j++)
			if (p[i].lower < q[j].upper && q[j].lower < p[i].upper && offset[a] < offset[b] + buffers->size[b]
			    && offset[b] < offset[a] + buffers->size[a])
				return true;
	return false;
}

struct brute {
	const struct buffers *buffers;
	uint32_t order[MOST];      /* pinned ones first */
	int64_t offset[MOST];
	int64_t load;              /* no arena is smaller: stop there */
};

static void order_buffers(struct brute *brute)
{
	const struct buffers *buffers = brute->buffers;
	uint32_t count = 0;
	for (int pinned = 1; pinned >= 0; pinned--)
		for (uint32_t i = 0; i < buffers->n; i++)
			if ((buffers->fixed && buffers->fixed[i] >= 0) == pinned)
				brute->order[count++] = i;
}

static void add_load(struct brute *brute)
{
	const struct buffers *buffers = brute->buffers;
	struct piece piece[3];
	for (uint32_t i = 0; i < buffers->n; i++) {
		int64_t top = buffers->size[i] + (buffers->fixed && buffers->fixed[i] > 0 ? buffers->fixed[i] : 0);
		brute->load = top > brute->load ? top : brute->load;
	}
	for (int64_t step = 0; step < 6; step++) {
		int64_t sum = 0;
		for (uint32_t i = 0; i < buffers->n; i++)
			for (uint32_t k = pieces_of(buffers, i, piece); k-- > 0;)
				sum += piece[k].lower <= step && step < piece[k].upper ? buffers->size[i] : 0;
		brute->load = sum > brute->load ? sum : brute->load;
	}
}

/* The smallest arena below `best` with the buffers from number `next` on still to be placed, by trying everything. */
static int64_t try_all(struct brute *brute, uint32_t next, int64_t height, int64_t best)
{
	const struct buffers *buffers = brute->buffers;
	if (next == buffers->n)
		return height;
	uint32_t i = brute->order[next];
	int64_t step = buffers->alignment ? buffers->alignment[i] : 1, from = 0, to = INT64_MAX;
	if (buffers->fixed && buffers->fixed[i] >= 0)
		from = to = buffers->fixed[i];
	if (from % step)
		return best;
	for (int64_t offset = from; offset <= to && offset + buffers->size[i] < best && height < best && best > brute->load;
		offset += step) {
		bool free = true;
		brute->offset[i] = offset;
		for (uint32_t k = 0; k < next && free; k++)
			free = !overlap(buffers, brute->offset, i, brute->order[k]);
		int64_t top = offset + buffers->size[i];
		if (free)
			best = try_all(brute, next + 1, top > height ? top : height, best);
	}
	return best;
}

static int64_t smallest_arena(const struct buffers *buffers, int64_t limit)
{
	struct brute brute = { .buffers = buffers };
	order_buffers(&brute);
	add_load(&brute);
	return try_all(&brute, 0, 0, limit + 1);
}

/* The other strategies: honour pins, alignment and gaps, and are never below the smallest arena. */
static void compare_strategy(
	const struct buffers *buffers, enum layout_strategy strategy, enum status expected, int64_t smallest)
{
	OWN(layout) layout;
	struct control control = { 0 };
	struct error error = { 0 };
	struct layout_options options = { .strategy = strategy, .alignment = 1, .effort = 20000 };
	const char *name = layout_strategy_names[strategy];
	enum status status = layout_solve(buffers, &options, &control, &layout, &error);
	cr_assert_eq(status, expected, "SEED=%llu %s: status %d", (unsigned long long)test_seed(), name, status);
	if (status == OK) {
		cr_assert_eq(layout_check(buffers, 1, &layout, &error), OK, "SEED=%llu %s: %s", (unsigned long long)test_seed(), name,
			     error.text);
		cr_assert_geq(layout.arena, smallest, "SEED=%llu %s", (unsigned long long)test_seed(), name);
	}
}

static void compare_with_oracle(int kind, int rounds, int64_t sizes)
{
	uint64_t seed = test_seed() + (uint64_t)kind;
	struct sample sample;
	rounds = (int)test_rounds((uint32_t)rounds / 3, (uint32_t)rounds);
	for (int round = 0; round < rounds; round++) {
		draw(&sample, 1 + (uint32_t)below(&seed, 7), 6, sizes, kind, &seed);
		OWN(layout) layout;
		struct control control = { 0 };
		struct error error = { 0 };
		struct layout_options options = { .strategy = LAYOUT_BEST, .alignment = 1, .effort = LAYOUT_EFFORT_DEFAULT };
		enum status status = layout_solve(&sample.buffers, &options, &control, &layout, &error);
		int64_t limit = status == OK ? layout.arena : 64, smallest = smallest_arena(&sample.buffers, limit);
		if (status == INFEASIBLE) {
			cr_assert_gt(smallest, limit, "SEED=%llu kind %d round %d: %s", (unsigned long long)test_seed(), kind,
				round, error.text);
		} else {
			cr_assert_eq(status, OK);
			cr_assert_eq(layout_check(&sample.buffers, 1, &layout, &error), OK, "%s", error.text);
			cr_assert_eq(layout.arena, smallest, "SEED=%llu kind %d round %d: %lld, but %lld is possible",
				(unsigned long long)test_seed(), kind, round, (long long)layout.arena, (long long)smallest);
			cr_assert(proof_closed(&layout.proof), "SEED=%llu kind %d round %d: not proved",
				(unsigned long long)test_seed(), kind, round);
		}
		static const enum layout_strategy others[] = { LAYOUT_DIVE, LAYOUT_LLFB, LAYOUT_ROAM };
		if (round % 3 == 0)
			compare_strategy(&sample.buffers, others[round / 3 % 3], status, smallest);
	}
}

Test(layout_search, plain_buffers_get_the_smallest_arena)
{
	compare_with_oracle(PLAIN, 6000, 6);
}

Test(layout_search, aligned_buffers_get_the_smallest_arena)
{
	compare_with_oracle(ALIGNED, 6000, 6);
}

Test(layout_search, pins_are_honoured_or_refused_and_the_rest_gets_the_smallest_arena)
{
	compare_with_oracle(PINNED, 6000, 6);
	compare_with_oracle(PINNED | ALIGNED, 6000, 6);
}

Test(layout_search, buffers_with_gaps_get_the_smallest_arena)
{
	compare_with_oracle(GAPPED, 6000, 6);
	compare_with_oracle(GAPPED | PINNED | ALIGNED, 6000, 6);
}

/* ---- rules ----------------------------------------------------------------------------------- */

Test(layout_search, no_rule_loses_a_layout)
{
	uint64_t seed = test_seed();
	struct sample sample;
	for (int round = 0; round < 300; round++) {
		int kind = round % 8;
		struct layout_model model;
		struct error error = { 0 };
		draw(&sample, 6 + (uint32_t)below(&seed, 4), 8, 8, kind, &seed);
		struct layout layout;
		struct layout_options options = { .strategy = LAYOUT_BEST, .alignment = 1 };
		struct control quick = { 0 };
		bool contradictory = layout_solve(&sample.buffers, &options, &quick, &layout, &error) == INFEASIBLE;
		layout_free(&layout);
		if (contradictory)
			continue;
		cr_assert_eq(layout_model_build(&sample.buffers, 1, &model, &error), OK);
		int64_t offset[MOST];
		static const unsigned rules[] = { 0, LAYOUT_RULES_ALL, LAYOUT_RULE_TABLE | LAYOUT_RULE_PARTS,
			LAYOUT_RULE_PENDING, LAYOUT_RULE_TWINS, LAYOUT_RULES_ALL & ~LAYOUT_RULE_PENDING,
			LAYOUT_RULES_ALL & ~LAYOUT_RULE_PARTS, LAYOUT_RULES_ALL & ~LAYOUT_RULE_FILL };
		for (int64_t capacity = model.max_load; capacity < model.max_load + 4; capacity++) {
			enum status first = OK;
			for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
				struct layout_search *search = layout_search_new(&model, 0);
				struct control control = { .limit = 20000000 };
				enum status status = layout_search_run(search, capacity, i & 1 ? "TWA" : "ZTW", rules[i], 0, offset, &control);
				layout_search_free(search);
				cr_assert(status == OK || status == INFEASIBLE || rules[i] == 0, "rules %u", rules[i]);
				if (i == 0 || first == LIMIT)  /* the search without rules may not end */
					first = status;
				else
					cr_assert_eq(status, first, "SEED=%llu round %d kind %d capacity %lld rules %u: %d, not %d",
						  (unsigned long long)test_seed(), round, kind, (long long)capacity, rules[i], status, first);
			}
		}
		layout_model_free(&model);
	}
}
