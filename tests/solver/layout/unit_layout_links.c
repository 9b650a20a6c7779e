/* unit_layout_links.c: contiguous groups and places taken, against brute force. */
#include "tests/common/random_buffers.h"
#include "solver/layout/links.h"
#include "tests/common/support.h"

struct linked { struct sample sample; struct layout_links links; uint32_t group[MOST], behind[MOST], start[MOST + 1], donor[MOST * MOST]; };

/* Random groups of neighbours in number, and random donors, of which few are legal; lives are short so that some are. */
static void draw_links(struct linked *linked, uint32_t n, int kind, bool grouped, bool inplace, uint64_t *seed)
{
	draw(&linked->sample, n, 5, 5, kind, seed);
	uint32_t donors = 0;
	for (uint32_t i = 0; i < n; i++) {
		linked->group[i] = below(seed, 2) ? (uint32_t)below(seed, n > 1 ? 2 : 1) : NONE;
		for (uint32_t d = 0; d < n; d++)
			if (d != i && linked->sample.upper[d] == linked->sample.lower[i] + 1 && below(seed, 3))
				linked->donor[donors++] = d;
		linked->start[i + 1] = donors;
	}
	for (uint32_t i = 0; i < n; i++) {
		linked->group[i] = grouped ? linked->group[i] : NONE;
		linked->behind[i] = linked->group[i] == NONE ? NONE : i;
		for (uint32_t k = 0; k < i; k++)
			if (linked->group[i] != NONE && linked->group[k] == linked->group[i])
				linked->behind[i] = k;
	}
	linked->links = (struct layout_links){ .behind = grouped ? linked->behind : NULL };
	if (inplace)
		linked->links.donors = (struct csr){ linked->start, linked->donor };
}

/* ---- the oracle ------------------------------------------------------------------------------------ */

struct oracle {
	const struct buffers *buffers;
	const struct layout_links *links;
	const uint32_t *given;     /* groups */
	uint32_t order[MOST], group[MOST]; /* groups one after another, pinned ones first */
	int64_t offset[MOST], best;
	uint32_t gives[MOST], takes[MOST]; /* who takes its place, whose place it takes */
};

static bool there(const struct buffers *buffers, uint32_t i, int64_t step, int64_t byte)
{
	uint32_t from = buffers->piece_start ? buffers->piece_start[i] : 0, to = buffers->piece_start ? buffers->piece_start[i + 1] : 0;
	for (uint32_t k = from; k < to; k++) {
		const struct piece *piece = &buffers->piece[k];
		if (piece->lower <= step && step < piece->upper && piece->from <= byte && byte < piece->to)
			return true;
	}
	return from == to && buffers->lower[i] <= step && step < buffers->upper[i] && byte >= 0 && byte < buffers->size[i];
}

static bool collide(const struct oracle *oracle, uint32_t a, uint32_t b)
{
	for (int64_t step = 0; step < 6; step++)
		for (int64_t byte = 0; byte < oracle->buffers->size[a]; byte++)
			if (there(oracle->buffers, a, step, byte) && there(oracle->buffers, b, step, byte + oracle->offset[a] - oracle->offset[b]))
				return true;
	return false;
}

static bool whole_at(const struct buffers *buffers, uint32_t i, int64_t step)
{
	for (int64_t byte = 0; byte < buffers->size[i]; byte++)
		if (!there(buffers, i, step, byte))
			return false;
	return true;
}

static bool legal(const struct oracle *oracle, uint32_t i, uint32_t donor)
{
	const struct buffers *buffers = oracle->buffers;
	const uint32_t *group = oracle->given;
	bool listed = false;
	if (!oracle->links->donors.start || group[i] != NONE || group[donor] != NONE)
		return false;
	FOR_ROW(k, &oracle->links->donors, i)
		listed |= oracle->links->donors.item[k] == donor;
	int64_t step = buffers->lower[i];
	return listed && buffers->upper[donor] == step + 1 && buffers->lower[donor] < step && whole_at(buffers, i, step)
		&& whole_at(buffers, donor, step) && oracle->offset[i] == oracle->offset[donor];
}

/* Whether buffer number `next` may lie where it does beside those before it. */
static bool allowed(struct oracle *oracle, uint32_t next)
{
	uint32_t i = oracle->order[next];
	for (uint32_t k = 0; k < next; k++) {
		uint32_t a = oracle->order[k];
		if (!collide(oracle, a, i))
			continue;
		bool takes = legal(oracle, i, a), gives = legal(oracle, a, i);
		uint32_t taker = takes ? i : a, donor = takes ? a : i;
		if ((!takes && !gives) || oracle->takes[taker] != NONE || oracle->gives[donor] != NONE)
			return false;
		oracle->takes[taker] = donor;
		oracle->gives[donor] = taker;
	}
	return true;
}

static int64_t alignment_of(const struct buffers *buffers, uint32_t i)
{
	return buffers->alignment ? buffers->alignment[i] : 1;
}

/* The multiple that the first buffer of a group starts at. */
static int64_t first_alignment(const struct oracle *oracle, uint32_t i)
{
	int64_t most = alignment_of(oracle->buffers, i);
	for (uint32_t k = 0; k < oracle->buffers->n; k++)
		if (oracle->group[k] == oracle->group[i] && alignment_of(oracle->buffers, k) > most)
			most = alignment_of(oracle->buffers, k);
	return most;
}

static void order_buffers(struct oracle *oracle)
{
	const struct buffers *buffers = oracle->buffers;
	uint32_t n = buffers->n, count = 0;
	bool pinned[MOST] = { false }, done[MOST] = { false };
	for (uint32_t i = 0; i < n; i++) {
		oracle->group[i] = oracle->given[i] == NONE ? n + i : oracle->given[i];
	}
	for (uint32_t i = 0; i < n; i++)
		for (uint32_t k = 0; k < n; k++)
			pinned[i] |= oracle->group[i] == oracle->group[k] && buffers->fixed && buffers->fixed[k] >= 0;
	for (int round = 1; round >= 0; round--)
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = i; k < n && pinned[i] == round; k++)
				if (!done[k] && oracle->group[i] == oracle->group[k]) {
					done[k] = true;
					oracle->order[count++] = k;
				}
}

static void place_all(struct oracle *oracle, uint32_t next, int64_t height)
{
	const struct buffers *buffers = oracle->buffers;
	if (next == buffers->n) {
		oracle->best = height < oracle->best ? height : oracle->best;
		return;
	}
	uint32_t i = oracle->order[next], before = next ? oracle->order[next - 1] : NONE;
	bool first = before == NONE || oracle->group[before] != oracle->group[i];
	int64_t from = 0, step = first ? first_alignment(oracle, i) : alignment_of(buffers, i), to = oracle->best;
	if (!first)
		from = to = align_up(oracle->offset[before] + buffers->size[before], step);
	for (int64_t offset = from; offset <= to && offset + buffers->size[i] < oracle->best; offset += step) {
		uint32_t gives[MOST], takes[MOST];
		if (buffers->fixed && buffers->fixed[i] >= 0 && buffers->fixed[i] != offset)
			continue;
		memcpy(gives, oracle->gives, sizeof gives);
		memcpy(takes, oracle->takes, sizeof takes);
		oracle->offset[i] = offset;
		if (allowed(oracle, next))
			place_all(oracle, next + 1, offset + buffers->size[i] > height ? offset + buffers->size[i] : height);
		memcpy(oracle->gives, gives, sizeof gives);
		memcpy(oracle->takes, takes, sizeof takes);
	}
}

/* The smallest arena below the limit; the limit: there is none. */
static int64_t smallest_arena(const struct buffers *buffers, const struct layout_links *links, const uint32_t *group, int64_t limit)
{
	struct oracle oracle = { .buffers = buffers, .links = links, .given = group, .best = limit };
	memset(oracle.gives, 0xff, sizeof oracle.gives);
	memset(oracle.takes, 0xff, sizeof oracle.takes);
	order_buffers(&oracle);
	place_all(&oracle, 0, 0);
	return oracle.best;
}

/* ---- tests ------------------------------------------------------------------------------------------- */

static enum status solve(const struct linked *linked, enum layout_strategy strategy, int64_t alignment, uint64_t effort,
			 struct linked_layout *result, struct error *error)
{
	struct control control = { 0 };
	struct layout_options options = { .strategy = strategy, .alignment = alignment, .effort = effort };
	*error = (struct error){ 0 };
	return layout_solve_linked(&linked->sample.buffers, &linked->links, &options, &control, result, error);
}

static void check(const struct linked *linked, int64_t alignment, const struct linked_layout *result, int round)
{
	struct error error = { 0 };
	enum status status = layout_check_links(&linked->sample.buffers, &linked->links, alignment, result->offset, result->donor,
						result->layout.arena, &error);
	cr_assert_eq(status, OK, "SEED=%llu round %d: %s", (unsigned long long)test_seed(), round, error.text);
	status = layout_check(&result->compounds.buffers, alignment, &result->layout, &error);
	cr_assert_eq(status, OK, "SEED=%llu round %d: %s", (unsigned long long)test_seed(), round, error.text);
}

Test(layout_links, the_smallest_arena_is_found_and_proved)
{
	uint64_t seed = test_seed();
	struct linked linked;
	int proved = 0, rounds = 1500, infeasible = 0;
	for (int round = 0; round < rounds; round++) {
		OWN(linked_layout) result;
		struct error error;
		draw_links(&linked, (uint32_t)(2 + below(&seed, 5)), round % 16, round % 3 != 1, round % 3 != 0, &seed);
		enum status status = solve(&linked, LAYOUT_BEST, 1, LAYOUT_EFFORT(1), &result, &error);
		int64_t limit = status == OK ? result.layout.arena + 1 : 26;
		int64_t smallest = smallest_arena(&linked.sample.buffers, &linked.links, linked.group, limit);
		if (status == INFEASIBLE) {
			cr_assert_eq(smallest, limit, "SEED=%llu round %d: %s", (unsigned long long)test_seed(), round, error.text);
			infeasible++;
		} else {
			cr_assert_eq(status, OK, "SEED=%llu round %d: %s", (unsigned long long)test_seed(), round, error.text);
			check(&linked, 1, &result, round);
			cr_assert_leq(result.bound, smallest, "SEED=%llu round %d", (unsigned long long)test_seed(), round);
			cr_assert(!result.proved || result.layout.arena == smallest, "SEED=%llu round %d", (unsigned long long)test_seed(), round);
			proved += result.proved;
		}
	}
	cr_assert_geq(proved + infeasible, rounds * 95 / 100, "only %d proved", proved);
}

Test(layout_links, every_strategy_keeps_groups_and_places)
{
	uint64_t seed = test_seed();
	struct linked linked;
	for (int round = 0; round < 600; round++) {
		int kind = round % 16;
		draw_links(&linked, (uint32_t)(1 + below(&seed, 24)), kind, round % 3 != 1, round % 3 != 0, &seed);
		for (int strategy = 0; strategy < LAYOUT_STRATEGY_COUNT; strategy++) {
			struct linked_layout result;
			struct error error;
			int64_t alignment = kind & PINNED ? 1 : 1 + round % 3;
			if (strategy == LAYOUT_CACHING || strategy == LAYOUT_EXPANDABLE)
				continue;
			enum status status = solve(&linked, (enum layout_strategy)strategy, alignment, 20000, &result, &error);
			cr_assert(status == OK || (status == INFEASIBLE && kind & PINNED), "round %d: %s", round, error.text);
			if (status == OK)
				check(&linked, alignment, &result, round);
			linked_layout_free(&result);
		}
	}
}

Test(layout_links, a_group_leaves_its_holes_to_others)
{
	/* a and b side by side, b comes late: c fits where b will be. */
	int64_t lower[] = { 0, 4, 0 }, upper[] = { 8, 8, 4 }, size[] = { 8, 8, 8 };
	uint32_t behind[] = { 0, 0, NONE };
	struct linked linked = { .sample.buffers = { .n = 3, .lower = lower, .upper = upper, .size = size }, .links.behind = behind };
	OWN(linked_layout) result;
	struct error error;
	cr_assert_eq(solve(&linked, LAYOUT_BEST, 1, 100000, &result, &error), OK);
	cr_assert_eq(result.layout.arena, 16);
	cr_assert_eq(result.offset[1], result.offset[0] + 8);
	cr_assert(result.proved);
}

Test(layout_links, a_capacity_below_the_load_of_a_group_is_refused_with_a_core)
{
	int64_t lower[] = { 0, 1, 0 }, upper[] = { 8, 8, 8 }, size[] = { 8, 8, 4 };
	uint32_t behind[] = { 0, 0, NONE };
	struct buffers buffers = { .n = 3, .lower = lower, .upper = upper, .size = size };
	struct layout_links links = { .behind = behind };
	struct layout_options options = { .strategy = LAYOUT_BEST, .alignment = 1, .capacity = 15, .effort = 100000 };
	struct control control = { 0 };
	OWN(linked_layout) result;
	struct error error;
	cr_assert_eq(layout_solve_linked(&buffers, &links, &options, &control, &result, &error), INFEASIBLE);
	cr_assert_eq(result.bound, 20);
	cr_assert_eq(result.layout.core_count, 1);
	cr_assert_eq(result.compounds.whole[0], result.layout.core[0]);
}

Test(layout_links, a_place_is_taken_where_that_helps)
{
	/* b may take a's place at step 2, which saves 8 of 16. */
	int64_t lower[] = { 0, 2 }, upper[] = { 3, 5 }, size[] = { 8, 8 };
	uint32_t start[] = { 0, 0, 1 }, donor[] = { 0 };
	struct linked linked = { .sample.buffers = { .n = 2, .lower = lower, .upper = upper, .size = size }, .links.donors = { start, donor } };
	struct linked_layout result;
	struct error error;
	cr_assert_eq(solve(&linked, LAYOUT_BEST, 1, 100000, &result, &error), OK);
	cr_assert_eq(result.layout.arena, 8);
	cr_assert_eq(result.donor[1], 0);
	cr_assert(result.proved);
	linked_layout_free(&result);
	upper[0] = 4;
	cr_assert_eq(solve(&linked, LAYOUT_BEST, 1, 100000, &result, &error), OK);
	cr_assert_eq(result.layout.arena, 16, "a donor that lives on keeps its place");
	linked_layout_free(&result);
}

Test(layout_links, pins_that_tear_a_group_apart_are_refused)
{
	int64_t lower[] = { 0, 0 }, upper[] = { 8, 8 }, size[] = { 8, 8 }, fixed[] = { 0, 16 };
	uint32_t behind[] = { 0, 0 };
	struct linked linked = { .sample.buffers = { .n = 2, .lower = lower, .upper = upper, .size = size, .fixed = fixed }, .links.behind = behind };
	struct linked_layout result;
	struct error error;
	cr_assert_eq(solve(&linked, LAYOUT_BEST, 1, 100000, &result, &error), INFEASIBLE);
	cr_assert_str_eq(error.text, "buffers 0 and 1 are pinned to places that don't lie as their group does");
	cr_assert_eq(result.layout.clash.buffer[1], 1);
	linked_layout_free(&result);
	fixed[1] = 8;
	fixed[0] = -1;
	cr_assert_eq(solve(&linked, LAYOUT_BEST, 1, 100000, &result, &error), OK);
	cr_assert_eq(result.offset[0], 0);
	linked_layout_free(&result);
}

Test(layout_links, the_checker_refuses_a_torn_group_and_a_stolen_place)
{
	int64_t lower[] = { 0, 2, 0 }, upper[] = { 3, 5, 5 }, size[] = { 8, 8, 4 }, offset[] = { 0, 0, 8 };
	uint32_t start[] = { 0, 0, 1, 1 }, listed[] = { 0 }, donor[] = { NONE, 0, NONE }, behind[] = { NONE, 1, 1 };
	struct buffers buffers = { .n = 3, .lower = lower, .upper = upper, .size = size };
	struct layout_links links = { .behind = behind, .donors = { start, listed } };
	struct error error;
	cr_assert_eq(layout_check_links(&buffers, &links, 1, offset, donor, 12, &error), OK, "%s", error.text);
	cr_assert_eq(layout_check_links(&buffers, &links, 1, offset, donor, 11, &error), BAD_INPUT);
	donor[1] = NONE;
	cr_assert_eq(layout_check_links(&buffers, &links, 1, offset, donor, 12, &error), BAD_INPUT, "no place was taken");
	donor[1] = 2;
	cr_assert_eq(layout_check_links(&buffers, &links, 1, offset, donor, 12, &error), BAD_INPUT, "not that one's place");
	donor[1] = 0;
	offset[2] = 9;
	cr_assert_eq(layout_check_links(&buffers, &links, 1, offset, donor, 16, &error), BAD_INPUT, "torn apart");
}

Test(layout_links, running_out_of_memory_leaks_nothing)
{
	uint64_t seed = test_seed();
	struct linked linked;
	draw_links(&linked, 8, ALIGNED | GAPPED, true, true, &seed);
	EACH_REFUSAL(refused) {
		struct linked_layout result;
		struct error error;
		refused.status = solve(&linked, LAYOUT_BEST, 1, 20000, &result, &error);
		if (refused.status == OK)
			linked_layout_free(&result);
	}
}
