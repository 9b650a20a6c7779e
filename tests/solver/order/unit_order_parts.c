/* unit_order_parts.c: bounds, cuts, greedy seeds, exact search and windows, each against a slow oracle. */
#include "solver/order/cut.h"
#include "solver/order/job.h"
#include "tests/common/random_problem.h"
#include "tests/common/support.h"

/* OK when order is a permutation of the ops that keeps every dependency. */
static enum status order_keeps_dependencies(const struct order_model *model, const uint32_t *order)
{
	bool *run = mem_alloc(model->ops, sizeof *run), valid = true;
	NEED(run);
	for (uint32_t n = 0; valid && n < model->ops; n++) {
		uint32_t op = order[n];
		valid = op < model->ops && !run[op];
		for (uint32_t i = valid ? model->pred.start[op] : 0; valid && i < model->pred.start[op + 1]; i++)
			valid = run[model->pred.item[i]];
		if (valid)
			run[op] = true;
	}
	mem_free(run);
	return valid ? OK : INFEASIBLE;
}

/* ---- bounds ------------------------------------------------------------------------------ */

static bool ready_in(const struct problem *problem, uint32_t state, uint32_t op)
{
	bool ready = !(state >> op & 1);
	FOR_ROW(i, &problem->pred, op)
		ready &= state >> problem->pred.item[i] & 1;
	return ready;
}

static bool closed(const struct problem *problem, uint32_t state)
{
	bool fine = true;
	for (uint32_t op = 0; op < problem->ops; op++)
		FOR_ROW(i, &problem->pred, op)
			fine &= !(state >> op & 1) || state >> problem->pred.item[i] & 1;
	return fine;
}

static int64_t bytes_while(const struct problem *problem, uint32_t state, uint32_t op)
{
	int64_t bytes = state_bytes(problem, state) + problem->workspace[op];
	FOR_ROW(i, &problem->products, op)
		bytes += problem->size[problem->products.item[i]];
	return bytes;
}

/* The least bytes live while op runs, and the bytes of the items alive in all those states. */
static int64_t slow_cut(const struct problem *problem, uint32_t op, int64_t *certain)
{
	int64_t least = INT64_MAX;
	uint64_t always = UINT64_MAX;
	for (uint32_t state = 0; state < 1u << problem->ops; state++) {
		if (!closed(problem, state) || !ready_in(problem, state, op))
			continue;
		int64_t bytes = bytes_while(problem, state, op);
		least = bytes < least ? bytes : least;
		for (uint32_t item = 0; item < problem->items; item++) {
			uint32_t producer = problem->producer[item];
			bool made = producer == NONE || producer == op || state >> producer & 1;
			bool needed = problem->live_out[item] || producer == op;
			FOR_ROW(i, &problem->users, item)
				needed |= !(state >> problem->users.item[i] & 1);
			if (!made || !needed)
				always &= ~(UINT64_C(1) << item);
		}
	}
	*certain = problem->base + problem->workspace[op];
	for (uint32_t item = 0; item < problem->items; item++)
		*certain += always >> item & 1 ? problem->size[item] : 0;
	return least;
}

Test(order_parts, bounds_equal_their_definitions_and_their_certificates_hold)
{
	for (uint64_t round = 0; round < 1500; round++) {
		uint64_t seed = test_seed() + round, state = seed;
		OWN(problem) problem;
		OWN(arena) arena = { 0 };
		struct order_model model;
		struct order_cut cut;
		struct control control = { 0 };
		int64_t alive[9];
		cr_assert(random_problem(&state, 1 + random_below(&state, 9), &problem));
		cr_assert_eq(order_model_of(&problem, &arena, &model), OK);
		cr_assert_eq(order_bound_alive(&model, problem.program, &control, alive), OK);
		cr_assert_eq(order_cut_init(&cut, &problem, false), OK);
		for (uint32_t op = 0; op < problem.ops; op++) {
			int64_t certain, bytes, least = slow_cut(&problem, op, &certain);
			cr_assert_eq(order_cut_at(&cut, op, NULL, 0, &control, &bytes), OK);
			cr_assert_eq(bytes, least, "seed %lu: cut at op %u", seed, op);
			/* LB2 looks at each item alone: it may miss one that only the items together force. */
			cr_assert_leq(alive[op], certain, "seed %lu: LB2 at op %u", seed, op);
			struct order_certificate certificate, lb2 = { .proof = ORDER_PROOF_ALIVE, .op = op };
			struct error error;
			cr_assert_eq(order_cut_certificate(&cut, op, &certificate), OK);
			cr_assert_eq(order_check_certificate(&problem, &certificate, bytes, &error), OK, "seed %lu: %s", seed, error.text);
			cr_assert_eq(order_check_certificate(&problem, &lb2, alive[op], &error), OK, "seed %lu: %s", seed, error.text);
			if (certificate.arcs > 0) {
				certificate.arc[random_below(&state, certificate.arcs)].flow += 1;
				cr_assert_neq(order_check_certificate(&problem, &certificate, bytes + 1, &error), OK, "seed %lu", seed);
			}
			mem_free(certificate.arc);
		}
		order_cut_free(&cut);
	}
}

/* Ops that the state has on another side than the order does, of those that need not keep theirs. */
static uint32_t moved(const uint32_t *position, uint32_t ops, uint32_t op, uint32_t state)
{
	uint32_t count = 0;
	for (uint32_t other = 0; other < ops; other++)
		count += other != op && (state >> other & 1) != (position[other] < position[op]);
	return count;
}

static bool keeps_places(const uint32_t *position, uint32_t ops, uint32_t op, uint32_t distance, uint32_t state)
{
	bool keeps = true;
	for (uint32_t other = 0; distance < ops && other < ops; other++) {
		keeps &= position[other] + distance >= position[op] || state >> other & 1;
		keeps &= position[other] <= position[op] + distance || !(state >> other & 1);
	}
	return keeps;
}

/* The cheapest state, and of those the nearest to an order, from which ops that are further away don't depart. */
Test(order_parts, cuts_with_prices_are_the_nearest_cheapest_states)
{
	for (uint64_t round = 0; round < 600; round++) {
		uint64_t seed = test_seed() + round, state = seed;
		OWN(problem) problem;
		struct order_cut cut;
		struct control control = { 0 };
		uint32_t ops = 1 + random_below(&state, 9), position[9];
		cr_assert(random_problem(&state, ops, &problem));
		cr_assert_eq(order_cut_init(&cut, &problem, true), OK);
		for (uint32_t p = 0; p < ops; p++)
			position[problem.program[p]] = p;
		for (uint32_t op = 0; op < ops; op++) {
			uint32_t distance = random_below(&state, 2) ? ops : random_below(&state, 6), nearest = NONE, taken = 0;
			int64_t bytes, least = INT64_MAX;
			for (uint32_t s = 0; s < 1u << ops; s++) {
				if (!closed(&problem, s) || !ready_in(&problem, s, op) || !keeps_places(position, ops, op, distance, s))
					continue;
				int64_t here = bytes_while(&problem, s, op);
				uint32_t far = moved(position, ops, op, s);
				nearest = here < least || (here == least && far < nearest) ? far : nearest;
				least = here < least ? here : least;
			}
			cr_assert_eq(order_cut_at(&cut, op, position, distance, &control, &bytes), OK);
			for (uint32_t other = 0; other < ops; other++)
				taken |= (uint32_t)cut.flow.reached[other] << other;
			cr_assert_eq(bytes, least, "seed %lu: op %u", seed, op);
			cr_assert(closed(&problem, taken) && ready_in(&problem, taken, op), "seed %lu: op %u", seed, op);
			cr_assert_eq(bytes_while(&problem, taken, op), least, "seed %lu: op %u", seed, op);
			cr_assert_eq(moved(position, ops, op, taken), nearest, "seed %lu: op %u", seed, op);
		}
		order_cut_free(&cut);
	}
}

/* ---- greedy -------------------------------------------------------------------------------- */

static int64_t growth_of(const struct problem *problem, uint32_t state, uint32_t op)
{
	return state_bytes(problem, state | 1u << op) - state_bytes(problem, state);
}

static void slow_lpmf(const struct problem *problem, uint32_t *order)
{
	int64_t peak = state_bytes(problem, 0);
	uint32_t state = 0;
	for (uint32_t n = 0; n < problem->ops; n++) {
		uint32_t best = NONE;
		int64_t best_peak = 0, best_growth = 0;
		for (uint32_t op = 0; op < problem->ops; op++) {
			if (!ready_in(problem, state, op))
				continue;
			int64_t live = bytes_while(problem, state, op), growth = growth_of(problem, state, op);
			live = live > peak ? live : peak;
			if (best == NONE || live < best_peak || (live == best_peak && growth < best_growth)) {
				best = op;
				best_peak = live;
				best_growth = growth;
			}
		}
		order[n] = best;
		state |= 1u << best;
		peak = best_peak;
	}
}

Test(order_parts, lpmf_takes_the_same_ops_as_a_plain_scan)
{
	for (uint64_t round = 0; round < 1500; round++) {
		uint64_t seed = test_seed() + round, state = seed;
		OWN(problem) problem;
		OWN(arena) arena = { 0 };
		struct order_model model;
		uint32_t order[16], expected[16];
		cr_assert(random_problem(&state, 1 + random_below(&state, 12), &problem));
		cr_assert_eq(order_model_of(&problem, &arena, &model), OK);
		cr_assert_eq(order_greedy(&model, ORDER_GREEDY_LPMF, false, order), OK);
		slow_lpmf(&problem, expected);
		cr_assert_arr_eq(order, expected, problem.ops * sizeof *order, "seed %lu", seed);
	}
}

/* The ready op that grows least what is alive, then the one with most successors; those of the sequence in turn. */
static void slow_list(const struct problem *problem, const struct order_model *model, const uint32_t *sequence,
	uint32_t length, uint32_t *order)
{
	uint32_t state = 0, turn = 0;
	for (uint32_t n = 0; n < problem->ops; n++) {
		uint32_t best = NONE;
		int64_t best_growth = 0;
		for (uint32_t op = 0; op < problem->ops; op++) {
			bool may = ready_in(problem, state, op);
			for (uint32_t i = turn + 1; i < length; i++)
				may &= sequence[i] != op;
			int64_t growth = may ? state_bytes(problem, state | 1u << op) : 0;
			bool more = best != NONE && growth == best_growth && csr_length(&model->succ, op) > csr_length(&model->succ, best);
			if (may && (best == NONE || growth < best_growth || more)) {
				best = op;
				best_growth = growth;
			}
		}
		order[n] = best;
		state |= 1u << best;
		turn += turn < length && sequence[turn] == best;
	}
}

Test(order_parts, a_list_beside_a_sequence_takes_the_same_ops_as_a_plain_scan)
{
	for (uint64_t round = 0; round < 1000; round++) {
		uint64_t seed = test_seed() + round, state = seed;
		OWN(problem) problem;
		OWN(arena) arena = { 0 };
		struct order_model model;
		uint32_t order[16], expected[16], sequence[16], length = 0;
		cr_assert(random_problem(&state, 1 + random_below(&state, 12), &problem));
		cr_assert_eq(order_model_of(&problem, &arena, &model), OK);
		for (uint32_t i = 0; i < problem.ops; i++)
			if (random_below(&state, 2))
				sequence[length++] = problem.program[i];
		cr_assert_eq(order_greedy_beside(&model, sequence, length, order), OK);
		cr_assert_eq(order_keeps_dependencies(&model, order), OK);
		slow_list(&problem, &model, sequence, length, expected);
		cr_assert_arr_eq(order, expected, problem.ops * sizeof *order, "seed %lu", seed);
	}
}

/* ---- exact search ---------------------------------------------------------------------------- */

Test(order_parts, exact_search_finds_the_optimum_in_both_directions)
{
	for (uint64_t round = 0; round < 3000; round++) {
		uint64_t seed = test_seed() + round, state = seed;
		OWN(problem) problem;
		OWN(arena) arena = { 0 };
		struct order_model model[2];
		struct order_search_limits limits = { 1000000, 10000000 };
		uint32_t order[16], states;
		cr_assert(random_problem(&state, 1 + random_below(&state, 11), &problem));
		cr_assert_eq(order_model_of(&problem, &arena, &model[0]), OK);
		model[1] = order_model_reversed(&model[0]);
		int64_t optimum = least_peak(&problem);
		for (int way = 0; way < 2; way++) {
			struct control control = { 0 };
			int64_t bound = 0;
			cr_assert_eq(order_search_least(&model[way], INT64_MAX - 1, &limits, &control, order, &bound, &states), OK);
			cr_assert_eq(bound, optimum, "seed %lu, way %d", seed, way);
			cr_assert_eq(order_keeps_dependencies(&model[way], order), OK);
			cr_assert_eq(order_search_within(&model[way], optimum, &limits, &control, order, &bound, &states), OK);
			cr_assert_eq(order_search_within(&model[way], optimum - 1, &limits, &control, order, &bound, &states), INFEASIBLE);
			cr_assert_eq(bound, optimum, "seed %lu, way %d: the least threshold that would do", seed, way);
		}
	}
}

Test(order_parts, walking_back_restores_every_state)
{
	for (uint64_t round = 0; round < 500; round++) {
		uint64_t state = test_seed() + round;
		OWN(problem) problem;
		OWN(arena) arena = { 0 };
		struct order_model model[2];
		cr_assert(random_problem(&state, 1 + random_below(&state, 12), &problem));
		cr_assert_eq(order_model_of(&problem, &arena, &model[0]), OK);
		model[1] = order_model_reversed(&model[0]);
		for (int way = 0; way < 2; way++) {
			struct order_walk walk, fresh;
			cr_assert_eq(order_walk_start(&walk, &model[way], &arena), OK);
			cr_assert_eq(order_walk_start(&fresh, &model[way], &arena), OK);
			for (uint32_t i = 0; i < problem.ops; i++)
				order_walk_run(&walk, problem.program[way ? problem.ops - 1 - i : i]);
			for (uint32_t i = problem.ops; i-- > 0;)
				order_walk_undo(&walk, problem.program[way ? problem.ops - 1 - i : i]);
			cr_assert_eq(walk.live, fresh.live);
			cr_assert_arr_eq(walk.opens, fresh.opens, problem.ops * sizeof *walk.opens);
			cr_assert_arr_eq(walk.closes, fresh.closes, problem.ops * sizeof *walk.closes);
			cr_assert_arr_eq(walk.left, fresh.left, problem.items * sizeof *walk.left);
			cr_assert_arr_eq(walk.rest, fresh.rest, problem.items * sizeof *walk.rest);
			cr_assert_arr_eq(walk.waiting, fresh.waiting, problem.ops * sizeof *walk.waiting);
		}
	}
}
