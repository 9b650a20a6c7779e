/* unit_order_layers.c: equal layers are solved once, a pin re-solves what it touches, and ROAM shows its parts. */
#include "solver/order/job.h"
#include "src/base/background.h"
#include "solver/order/order.h"
#include "tests/common/order_valid.h"
#include "tests/common/random_problem.h"
#include "tests/common/support.h"

#define LAYER 12

/* Copies of one random problem of LAYER ops, one after the other, with an op between that all of a layer depend on.
 * pin_layer: the layer whose first two unordered ops are pinned, NONE for none. Each op is in one of `layers` layers.
 */
static bool stack_layers(uint64_t seed, uint32_t layers, uint32_t pin_layer, struct problem *problem)
{
	uint64_t state = seed;
	struct problem layer;
	if (!random_problem(&state, LAYER, &layer))
		return false;
	uint32_t stride = LAYER + 1;
	*problem = (struct problem) { .ops = layers * stride, .items = layers * layer.items };
	struct arena *arena = &problem->arena;
	static _Thread_local struct random_rows uses, products, edges;
	uses.count = products.count = edges.count = 0;
	problem->producer = arena_alloc(arena, problem->items, sizeof *problem->producer);
	problem->size = arena_alloc(arena, problem->items, sizeof *problem->size);
	problem->live_out = arena_alloc(arena, problem->items, sizeof *problem->live_out);
	problem->storage = arena_alloc(arena, problem->items, sizeof *problem->storage);
	problem->workspace = arena_alloc(arena, problem->ops, sizeof *problem->workspace);
	problem->phase = arena_alloc(arena, problem->ops, sizeof *problem->phase);
	problem->program = arena_alloc(arena, problem->ops, sizeof *problem->program);
	uint32_t place[LAYER];
	for (uint32_t i = 0; i < LAYER; i++)
		place[layer.program[i]] = i;
	for (uint32_t copy = 0; copy < layers; copy++) {
		uint32_t first = copy * stride, waist = first + LAYER;
		for (uint32_t op = 0; op < LAYER; op++) {
			random_add(&edges, waist, first + place[op]);
			if (copy > 0)
				random_add(&edges, first + place[op], first - 1);
			FOR_ROW(i, &layer.pred, op)
				random_add(&edges, first + place[op], first + place[layer.pred.item[i]]);
			FOR_ROW(i, &layer.uses, op)
				random_add(&uses, first + place[op], copy * layer.items + layer.uses.item[i]);
			FOR_ROW(i, &layer.products, op)
				random_add(&products, first + place[op], copy * layer.items + layer.products.item[i]);
		}
		/* What a layer starts with is made by the op before it, what it leaves is read by the op behind. */
		for (uint32_t item = 0; item < layer.items; item++) {
			uint32_t id = copy * layer.items + item, producer = layer.producer[item];
			problem->size[id] = layer.size[item];
			problem->storage[id] = NONE;
			problem->producer[id] = producer != NONE ? first + place[producer] : copy > 0 ? first - 1 : NONE;
			if (producer == NONE && copy > 0)
				random_add(&products, first - 1, id);
			if (layer.live_out[item])
				random_add(&uses, waist, id);
		}
	}
	if (pin_layer != NONE)
		random_add(&edges, pin_layer * stride + LAYER - 1, pin_layer * stride);
	for (uint32_t op = 0; op < problem->ops; op++)
		problem->program[op] = op;
	problem_free(&layer);
	bool fine = csr_of_pairs(arena, problem->ops, uses.count, uses.row, uses.value, &problem->uses) == OK
		&& csr_of_pairs(arena, problem->ops, products.count, products.row, products.value, &problem->products) == OK
		&& csr_of_pairs(arena, problem->ops, edges.count, edges.row, edges.value, &problem->pred) == OK;
	if (!fine)
		return false;
	csr_unique(&problem->uses, problem->ops);
	csr_unique(&problem->products, problem->ops);
	csr_unique(&problem->pred, problem->ops);
	return csr_transpose(arena, &problem->uses, problem->ops, problem->items, &problem->users) == OK
		&& csr_transpose(arena, &problem->pred, problem->ops, problem->ops, &problem->succ) == OK;
}

static void solve(uint64_t seed, uint32_t layers, uint32_t pin, enum order_strategy strategy,
	const struct order_store *store, struct order_result *result)
{
	OWN(problem) problem;
	cr_assert(stack_layers(seed, layers, pin, &problem));
	struct order_options options = { .strategy = strategy, .store = store };
	struct control control = { 0 };
	enum status status = order_solve(&problem, &options, &control, result);
	cr_assert(status == OK || status == LIMIT);
	cr_assert(problem_order_valid(&problem, result->order));
}

Test(order_layers, forty_equal_layers_cost_about_as_many_searches_as_four)
{
	uint32_t few = 0, many = 0, reused = 0;
	for (uint64_t seed = test_seed(); seed < test_seed() + 12 && few <= test_rounds(0, UINT32_MAX); seed++) {
		OWN(order_result) small, large;
		solve(seed, 4, NONE, ORDER_ROAM, NULL, &small);
		solve(seed, 40, NONE, ORDER_ROAM, NULL, &large);
		few += small.solved;
		many += large.solved;
		reused += large.reused;
	}
	cr_assert_gt(few, 0, "no layer had to be solved");
	cr_assert_leq(many, 2 * few, "%u searches for 4 layers, %u for 40", few, many);
	cr_assert_geq(reused, 10 * few, "%u answers reused", reused);
}

Test(order_layers, a_pin_solves_again_what_it_touches_and_no_more)
{
	uint32_t first = 0, again = 0, pinned = 0, problems = 0;
	for (uint64_t seed = test_seed(); seed < test_seed() + 12 && first <= test_rounds(0, UINT32_MAX); seed++) {
		struct order_memory memory;
		struct order_store store = order_memory_store(&memory);
		OWN(order_result) plain, same, changed, alone;
		solve(seed, 20, NONE, ORDER_ROAM, &store, &plain);
		solve(seed, 20, NONE, ORDER_ROAM, &store, &same);
		solve(seed, 20, 10, ORDER_ROAM, &store, &changed);
		solve(seed, 20, 10, ORDER_ROAM, NULL, &alone);
		problems++;
		first += plain.solved;
		again += same.solved;
		pinned += changed.solved;
		/* What was kept changes no result. */
		cr_assert_arr_eq(same.order, plain.order, 20 * (LAYER + 1) * sizeof *same.order);
		cr_assert_arr_eq(changed.order, alone.order, 20 * (LAYER + 1) * sizeof *same.order);
		cr_assert_eq(changed.proof.bound, alone.proof.bound);
		order_memory_free(&memory);
	}
	cr_assert_gt(first, 0);
	cr_assert_eq(again, 0, "%u searches for a problem that was solved before", again);
	cr_assert_leq(pinned, 2 * problems, "%u searches for one pin in each of %u problems", pinned, problems);
}

static void backwards(uint32_t count, void (*call)(void *context, uint32_t i), void *context)
{
	while (count-- > 0)
		call(context, count);
}

Test(order_layers, leaves_side_by_side_are_those_one_after_another)
{
	uint32_t solved = 0;
	for (uint64_t seed = test_seed(); seed < test_seed() + 20; seed++) {
		uint64_t state = seed;
		OWN(problem) problem;
		OWN(order_result) alone, turned, threads;
		cr_assert(random_problem(&state, 120, &problem));
		struct order_options options = { .strategy = ORDER_ROAM, .node_limit = 12, .ticks = seed % 2 ? 0 : 20000 };
		struct control control[3] = { 0 };
		order_solve(&problem, &options, &control[0], &alone);
		options.side_by_side = backwards;
		order_solve(&problem, &options, &control[1], &turned);
		options.side_by_side = background_all;
		order_solve(&problem, &options, &control[2], &threads);
		cr_assert_arr_eq(turned.order, alone.order, problem.ops * sizeof *alone.order);
		cr_assert_arr_eq(threads.order, alone.order, problem.ops * sizeof *alone.order);
		cr_assert_eq(threads.solved, alone.solved);
		cr_assert_eq(threads.reused, alone.reused);
		cr_assert_eq(control[1].ticks, control[0].ticks);
		cr_assert_eq(control[2].ticks, control[0].ticks);
		solved += alone.solved;
	}
	cr_assert_gt(solved, 100, "only %u leaves", solved);
}

Test(order_layers, roam_shows_segments_waists_and_branches)
{
	for (uint64_t seed = test_seed(); seed < test_seed() + test_rounds(4, 12); seed++) {
		OWN(order_result) result;
		solve(seed, 6, NONE, ORDER_ROAM, NULL, &result);
		const struct order_roam *roam = &result.roam;
		cr_assert_gt(roam->segments, 5, "the ops between layers are waists");
		uint32_t next = 0;
		int64_t peak = 0;
		for (uint32_t i = 0; i < roam->segments; i++) {
			const struct order_segment *segment = &roam->segment[i];
			cr_assert_eq(segment->first, next, "segments follow each other");
			cr_assert_geq(segment->last, segment->first);
			next = segment->last + 1;
			peak = segment->peak > peak ? segment->peak : peak;
		}
		cr_assert_eq(next, 6 * (LAYER + 1));
		cr_assert_geq(peak, result.peak);
		for (uint32_t i = 0; i < roam->branches; i++) {
			const struct order_branch *branch = &roam->branch[i];
			cr_assert(branch->earliest <= branch->segment && branch->segment <= branch->latest && branch->ops > 0);
		}
	}
}
