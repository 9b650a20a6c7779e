/* unit_layout_pools.c: assignments to pools against brute force over assignments, each pool's layout by the solver. */
#include "tests/common/random_buffers.h"
#include "solver/layout/pools/pools.h"
#include "tests/common/support.h"

struct pooled {
	struct sample sample;
	struct layout_links links;
	uint32_t group[MOST], behind[MOST], donor_start[MOST + 1], donor[MOST * MOST];
	struct layout_pools pools;
	int64_t capacity[3], cost[MOST];
	uint32_t start[MOST + 1], item[3 * MOST];
};

/* Buffers of group 0 one behind the other. */
static void link_groups(const uint32_t *group, uint32_t n, uint32_t *behind)
{
	uint32_t latest = NONE;
	for (uint32_t i = 0; i < n; i++) {
		behind[i] = group[i] == NONE ? NONE : latest == NONE ? i : latest;
		latest = group[i] == NONE ? latest : i;
	}
}

static void draw_pooled(struct pooled *pooled, uint32_t n, uint32_t pools, int kind, bool linked, uint64_t *seed)
{
	memset(pooled, 0, sizeof *pooled);
	draw(&pooled->sample, n, 6, 6, kind, seed);
	uint32_t count = 0, donors = 0;
	int64_t all = 0;
	for (uint32_t i = 0; i < n; i++)
		all += pooled->sample.size[i];
	for (uint32_t p = 0; p < pools; p++)
		pooled->capacity[p] = below(seed, 6) ? 1 + below(seed, all / pools + 2) : 0;
	for (uint32_t i = 0; i < n; i++) {
		pooled->group[i] = below(seed, 4) ? NONE : 0;
		pooled->cost[i] = below(seed, 9);
		uint32_t length = pooled->group[i] == 0 ? 0 : (uint32_t)below(seed, pools + 1), first = (uint32_t)below(seed, pools);
		for (uint32_t k = 0; k < length; k++)
			pooled->item[count++] = (first + k) % pools;
		pooled->start[i + 1] = count;
		for (uint32_t d = 0; d < n; d++)
			if (d != i && pooled->sample.upper[d] == pooled->sample.lower[i] + 1 && below(seed, 2))
				pooled->donor[donors++] = d;
		pooled->donor_start[i + 1] = donors;
	}
	pooled->pools = (struct layout_pools){ pools, pooled->capacity, { pooled->start, pooled->item }, below(seed, 3) ? pooled->cost : NULL };
	link_groups(pooled->group, n, pooled->behind);
	pooled->links = (struct layout_links){ .behind = linked ? pooled->behind : NULL };
	if (linked)
		pooled->links.donors = (struct csr){ pooled->donor_start, pooled->donor };
}

/* ---- the oracle ------------------------------------------------------------------------------------------- */

/* Whether the buffers of the set fit: a problem without pools. */
static bool set_fits(const struct pooled *pooled, uint32_t set, int64_t capacity, bool *sure)
{
	struct pooled copy = *pooled;
	struct sample *sample = &copy.sample;
	uint32_t n = pooled->sample.buffers.n, number[MOST], m = 0, donors = 0, pieces = 0;
	sample->buffers = (struct buffers){ 0, sample->lower, sample->upper, sample->size, NULL, NULL, NULL, NULL, NULL, NULL };
	for (uint32_t i = 0; i < n; i++)
		number[i] = set >> i & 1 ? m++ : NONE;
	for (uint32_t i = 0; i < n; i++) {
		uint32_t b = number[i];
		if (b == NONE)
			continue;
		sample->lower[b] = pooled->sample.lower[i];
		sample->upper[b] = pooled->sample.upper[i];
		sample->size[b] = pooled->sample.size[i];
		sample->alignment[b] = pooled->sample.alignment[i];
		sample->fixed[b] = pooled->sample.fixed[i];
		copy.group[b] = pooled->group[i];
		for (uint32_t k = pooled->sample.piece_start[i]; k < pooled->sample.piece_start[i + 1]; k++)
			sample->piece[pieces++] = pooled->sample.piece[k];
		sample->piece_start[b + 1] = pieces;
		for (uint32_t k = pooled->donor_start[i]; k < pooled->donor_start[i + 1]; k++)
			if (number[pooled->donor[k]] != NONE)
				copy.donor[donors++] = number[pooled->donor[k]];
		copy.donor_start[b + 1] = donors;
	}
	sample->buffers.n = m;
	sample->buffers.alignment = pooled->sample.buffers.alignment ? sample->alignment : NULL;
	sample->buffers.fixed = pooled->sample.buffers.fixed ? sample->fixed : NULL;
	sample->buffers.piece_start = pooled->sample.buffers.piece_start ? sample->piece_start : NULL;
	sample->buffers.piece = sample->piece;
	link_groups(copy.group, m, copy.behind);
	struct layout_links links = { .behind = pooled->links.behind ? copy.behind : NULL };
	if (pooled->links.donors.start)
		links.donors = (struct csr){ copy.donor_start, copy.donor };
	OWN(linked_layout) layout;
	struct control control = { 0 };
	struct error error;
	struct layout_options options = { .strategy = LAYOUT_BEST, .alignment = 1, .capacity = capacity, .effort = LAYOUT_EFFORT(2) };
	enum status status = layout_solve_linked(&sample->buffers, &links, &options, &control, &layout, &error);
	bool fits = layout.offset && (capacity == 0 || layout.layout.arena <= capacity);
	*sure &= fits || status == INFEASIBLE;
	return fits;
}

struct oracle { const struct pooled *pooled; uint32_t pool[MOST]; int64_t best; bool sure; int8_t fits[3][1 << 7]; };

static bool fits(struct oracle *oracle, uint32_t pool)
{
	uint32_t set = 0;
	for (uint32_t i = 0; i < oracle->pooled->sample.buffers.n; i++)
		set |= (uint32_t)(oracle->pool[i] == pool) << i;
	int8_t *known = &oracle->fits[pool][set];
	if (*known == 0)
		*known = set_fits(oracle->pooled, set, oracle->pooled->capacity[pool], &oracle->sure) ? 1 : -1;
	return *known > 0;
}

static void assign(struct oracle *oracle, uint32_t i, int64_t cost)
{
	const struct pooled *pooled = oracle->pooled;
	const struct layout_pools *pools = &pooled->pools;
	if (cost >= oracle->best)
		return;
	if (i == pooled->sample.buffers.n) {
		for (uint32_t p = 0; p < pools->count; p++)
			if (!fits(oracle, p))
				return;
		oracle->best = cost;
		return;
	}
	uint32_t length = csr_length(&pools->candidates, i), together = NONE;
	for (uint32_t k = 0; k < i; k++)
		if (pooled->links.behind && pooled->group[i] != NONE && pooled->group[k] == pooled->group[i])
			together = oracle->pool[k];
	for (uint32_t k = 0; k < (length ? length : pools->count); k++) {
		oracle->pool[i] = length ? pools->candidates.item[pools->candidates.start[i] + k] : k;
		if (together == NONE || together == oracle->pool[i])
			assign(oracle, i + 1, cost + k * (pools->spill_cost ? pools->spill_cost[i] : pooled->sample.size[i]));
	}
}

/* ---- tests ---------------------------------------------------------------------------------------------------- */

static enum status solve(const struct pooled *pooled, uint64_t effort, struct pooled_layout *result, struct error *error)
{
	struct control control = { 0 };
	struct layout_options options = { .strategy = LAYOUT_BEST, .alignment = 1, .effort = effort };
	return layout_solve_pools(&pooled->sample.buffers, &pooled->links, &pooled->pools, &options, &control, result, error);
}

Test(layout_pools, the_cheapest_spills_are_found_and_proved)
{
	uint64_t seed = test_seed();
	int proved = 0, infeasible = 0, unknown = 0, rounds = 240;
	struct pooled pooled;
	for (int round = 0; round < rounds; round++) {
		OWN(pooled_layout) result;
		struct error error;
		draw_pooled(&pooled, (uint32_t)(2 + below(&seed, 5)), (uint32_t)(1 + below(&seed, 3)), round % 8, round % 2, &seed);
		enum status status = solve(&pooled, LAYOUT_EFFORT(1), &result, &error);
		struct oracle oracle = { .pooled = &pooled, .best = INT64_MAX, .sure = true };
		assign(&oracle, 0, 0);
		if (status == OK) {
			struct error wrong = { 0 };
			cr_assert_eq(layout_check_pools(&pooled.sample.buffers, &pooled.links, &pooled.pools, 1, &result, &wrong), OK,
				     "SEED=%llu round %d: %s", (unsigned long long)test_seed(), round, wrong.text);
			cr_assert(!oracle.sure || (result.bound <= oracle.best && oracle.best <= result.cost),
				  "SEED=%llu round %d: %lld..%lld, not %lld", (unsigned long long)test_seed(), round, (long long)result.bound,
				  (long long)result.cost, (long long)oracle.best);
			proved += result.proved;
		} else if (status == INFEASIBLE) {
			cr_assert_eq(oracle.best, INT64_MAX, "SEED=%llu round %d", (unsigned long long)test_seed(), round);
			infeasible++;
		} else {
			cr_assert_eq(status, LIMIT, "SEED=%llu round %d: %s", (unsigned long long)test_seed(), round, error.text);
			unknown++;
		}
	}
	cr_assert_geq(proved + infeasible, rounds * 95 / 100, "%d proved, %d infeasible, %d unknown", proved, infeasible, unknown);
}

Test(layout_pools, what_finds_room_in_the_last_pool_is_always_found_a_place)
{
	uint64_t seed = test_seed();
	struct pooled pooled;
	for (int round = 0; round < 16; round++) {
		OWN(pooled_layout) result;
		struct error error;
		int kind = round % 8;
		uint32_t pools = (uint32_t)(2 + below(&seed, 2));
		draw_pooled(&pooled, (uint32_t)(20 + below(&seed, 40)), pools, kind, round % 2, &seed);
		pooled.capacity[pools - 1] = 0;
		pooled.pools.candidates = (struct csr){ NULL, NULL };
		enum status status = solve(&pooled, 200000, &result, &error);
		struct error wrong = { 0 };
		/* Pins may contradict each other wherever they are. */
		cr_assert(status == OK || kind & PINNED, "SEED=%llu round %d: %d %s", (unsigned long long)test_seed(), round, status, error.text);
		if (status == OK)
			cr_assert_eq(layout_check_pools(&pooled.sample.buffers, &pooled.links, &pooled.pools, 1, &result, &wrong), OK,
				     "SEED=%llu round %d: %s", (unsigned long long)test_seed(), round, wrong.text);
	}
}

Test(layout_pools, what_is_stopped_at_once_still_fits)
{
	uint64_t seed = test_seed();
	struct pooled pooled;
	draw_pooled(&pooled, 30, 2, PLAIN, true, &seed);
	pooled.capacity[0] = 20;
	pooled.capacity[1] = 0;
	pooled.pools.candidates = (struct csr){ NULL, NULL };
	atomic_bool stop = true;
	struct control control = { .cancel = &stop };
	struct layout_options options = { .strategy = LAYOUT_BEST, .alignment = 1, .effort = UINT64_MAX };
	OWN(pooled_layout) result;
	struct error error;
	enum status status = layout_solve_pools(&pooled.sample.buffers, &pooled.links, &pooled.pools, &options, &control, &result, &error);
	cr_assert(status == CANCELLED || (status == OK && result.proved));
	cr_assert_eq(layout_check_pools(&pooled.sample.buffers, &pooled.links, &pooled.pools, 1, &result, &error), OK, "%s", error.text);
}

Test(layout_pools, an_overflow_says_where)
{
	int64_t lower[] = { 0, 5 }, upper[] = { 9, 9 }, size[] = { 8, 8 }, capacity[] = { 8, 4 };
	uint32_t start[] = { 0, 1, 2 }, item[] = { 0, 0 };
	struct pooled pooled = { .sample.buffers = { .n = 2, .lower = lower, .upper = upper, .size = size },
				 .pools = { 2, capacity, { start, item }, NULL } };
	OWN(pooled_layout) result;
	struct error error;
	cr_assert_eq(solve(&pooled, 100000, &result, &error), INFEASIBLE);
	cr_assert_eq(result.overflow, 0);
	cr_assert_eq(result.overflow_step, 5);
	cr_assert_eq(result.overflow_bytes, 16);
	cr_assert_null(result.offset);
}

Test(layout_pools, running_out_of_memory_leaks_nothing)
{
	uint64_t seed = test_seed();
	struct pooled pooled;
	draw_pooled(&pooled, 10, 2, ALIGNED | GAPPED, true, &seed);
	pooled.capacity[0] = 12;
	pooled.capacity[1] = 0;
	EACH_REFUSAL(refused) {
		struct pooled_layout result = { 0 };
		struct error error;
		refused.status = solve(&pooled, 20000, &result, &error);
		if (refused.status == OK)
			pooled_layout_free(&result);
	}
}
