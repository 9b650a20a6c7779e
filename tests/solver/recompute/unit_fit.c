/* unit_fit.c: replays against graphs, plans against caps and bounds, certificates against their checker. */
#include "tests/common/fit_step.h"
#include "tests/common/model_steps.h"
#include "tests/common/random_step.h"

/* A model by any of its names that is there. */
static struct graph *some_step(size_t i)
{
	static const char *const families[] = { "gpt", "llama", "bert", "resnet", "t5", "vit", "moe", "dlrm" };

	return fit_model(families[i % (sizeof families / sizeof *families)], 3);
}

/* ---- replay ---------------------------------------------------------------------------------- */

/* Without ops passed over, and as a graph, the peak is the same to the byte; and copies take the time that was counted.
 */
static bool check_replay(struct recompute_replay *replay, const struct recompute_base *base, const uint8_t *state, const char *what)
{
	const struct recompute_step *step = replay->step;
	struct error error = { 0 };
	uint8_t *keep = mem_alloc(step->storages, sizeof *keep);
	cr_assert_eq(recompute_play(replay, base, keep), OK);     /* what it leaves of the pass is what the next one begins with */
	mem_free(keep);
	cr_assert_eq(recompute_play(replay, base, state), OK);
	if (!replay->valid)
		return false;
	int64_t peak = replay->peak, extra = replay->extra, again = 0;
	cr_assert_eq(recompute_play_all(replay, base, state), OK);
	cr_assert_eq(replay->peak, peak, "%s: %ld passing over, %ld with all ops", what, (long)peak, (long)replay->peak);
	cr_assert_eq(replay->extra, extra);
	OWN(graph) *graph = recompute_build(replay, state, &error);
	cr_assert_not_null(graph, "%s: %s", what, error.text);
	cr_assert_eq(graph->repaired, 0, "%s", what);
	cr_assert_eq(whole_program_peak(graph), peak, "%s: replayed %ld, the graph's program order %ld", what, (long)peak,
		(long)whole_program_peak(graph));
	for (uint32_t i = 0; i < replay->length; i++)
		again += replay->run[i] & 1 ? step->time[replay->run[i] / 2] : 0;
	cr_assert_eq(again, extra);
	return true;
}

static uint32_t replay_step(
	struct graph *graph, enum recompute_random policy, uint64_t seed, uint32_t rounds, const char *what)
{
	OWN(recompute_input) input = recompute_input_of(graph);
	OWN(recompute_step) step;
	OWN(recompute_replay) replay;
	struct recompute_base base[2];
	uint32_t valid = 0, *order = mem_alloc(graph->ops, sizeof *order);
	input.random = policy;
	cr_assert_eq(recompute_step_find(&input, &step), OK);
	cr_assert_eq(recompute_replay_new(&step, &replay), OK);
	cr_assert_eq(recompute_order_early(&step, false, order), OK);
	cr_assert_eq(recompute_base_of(&step, order, &base[0]), OK);
	if (recompute_order_early(&step, true, order) != OK)
		for (uint32_t op = 0; op < graph->ops; op++)
			order[op] = op;
	cr_assert_eq(recompute_base_of(&step, order, &base[1]), OK);
	uint8_t *state = mem_alloc(step.storages, sizeof *state);
	for (uint32_t i = 0; i < rounds; i++) {
		if (i > 1)
			random_states(&step, &seed, state);
		for (uint32_t s = 0; s < step.storages && i == 1; s++)
			state[s] = step.droppable[s] ? RECOMPUTE_HOLD : RECOMPUTE_KEEP;
		valid += check_replay(&replay, &base[i % 2], state, what);
	}
	mem_free(state);
	mem_free(order);
	recompute_base_free(&base[0]);
	recompute_base_free(&base[1]);
	return valid;
}

static void same_replay(const struct recompute_replay *a, const struct recompute_replay *b, const char *what)
{
	cr_assert_eq(a->valid, b->valid, "%s", what);
	cr_assert_eq(a->length, b->length, "%s", what);
	cr_assert_eq(a->instances, b->instances, "%s", what);
	cr_assert_eq(a->extra, b->extra, "%s", what);
	cr_assert_eq(a->peak, b->peak, "%s: %lld, anew %lld", what, (long long)a->peak, (long long)b->peak);
	cr_assert_eq(a->peak_position, b->peak_position, "%s", what);
	cr_assert_eq(memcmp(a->profile, b->profile, a->step->ops * sizeof *a->profile), 0, "%s", what);
	cr_assert_eq(memcmp(a->run, b->run, a->length * sizeof *a->run), 0, "%s", what);
	cr_assert_eq(memcmp(a->stays, b->stays, a->length * sizeof *a->stays), 0, "%s", what);
}

/* A replay goes on from the last one where states first differ: all is as if it had begun anew. */
static void check_going_on(struct graph *graph, enum recompute_random policy, uint64_t seed, const char *what)
{
	OWN(recompute_input) input = recompute_input_of(graph);
	OWN(recompute_step) step;
	OWN(recompute_replay) on;
	OWN(recompute_replay) anew;
	OWN(recompute_base) base;
	HELD uint32_t *order = mem_alloc(graph->ops, sizeof *order);
	HELD int64_t *copies = mem_alloc(graph->storages, sizeof *copies);
	for (uint32_t s = 0; s < graph->storages; s++)
		copies[s] = 512 * (int64_t)random_below(&seed, 100);
	input.random = policy;
	input.copies = random_below(&seed, 2) ? copies : NULL;
	input.flush = graph->ops - 1;
	cr_assert_eq(recompute_step_find(&input, &step), OK);
	cr_assert(recompute_replay_new(&step, &on) == OK && recompute_replay_new(&step, &anew) == OK);
	cr_assert_eq(recompute_order_early(&step, false, order), OK);
	cr_assert_eq(recompute_base_of(&step, order, &base), OK);
	HELD uint8_t *state = mem_alloc(step.storages, sizeof *state);
	for (int i = 0; i < 40; i++) {
		uint32_t changes = random_below(&seed, 3);
		for (uint32_t s = random_below(&seed, step.storages); changes > 0 && s < step.storages; s++)
			if (step.droppable[s]) {
				state[s] = (uint8_t)random_below(&seed, RECOMPUTE_STATES);
				changes--;
			}
		anew.past.order = 0;
		cr_assert(recompute_play(&on, &base, state) == OK && recompute_play(&anew, &base, state) == OK);
		same_replay(&on, &anew, what);
	}
}

Test(fit, a_replay_goes_on_from_the_last_one)
{
	uint64_t seed = test_seed();
	for (size_t i = 0; i < test_rounds(16, 200); i++) {
		OWN(graph) *graph = i % 2 ? some_step(i / 2) : random_step(&seed, 8 + random_below(&seed, 40), 4);
		check_going_on(graph, (enum recompute_random)(i % RECOMPUTE_RANDOM_COUNT), random_next(&seed), graph->name);
	}
}

/* Loss scaling checks all gradients before the first update: what is cast early waits in the wider type. */
Test(fit, gradients_are_cast_late)
{
	struct model_training training = { .optimizer = OPTIMIZER_ADAM, .precision = PRECISION_MIXED };
	OWN(graph) *graph = step_of_config(
		"gpt", sized_model("gpt", (struct model_config){ .layers = 3, .seq = 4 }), training);
	struct recompute_input input = recompute_input_of(graph);
	struct recompute_step step;
	struct recompute_base base[2];
	int64_t most[2] = { 0, 0 };
	uint32_t *order = mem_alloc(graph->ops, sizeof *order);
	cr_assert_eq(recompute_step_find(&input, &step), OK);
	for (int late = 0; late < 2; late++) {
		cr_assert_eq(recompute_order_early(&step, late, order), OK);
		cr_assert_eq(recompute_base_of(&step, order, &base[late]), OK);
		for (uint32_t i = 0; i < graph->ops; i++)
			most[late] = base[late].fixed[i] > most[late] ? base[late].fixed[i] : most[late];
		recompute_base_free(&base[late]);
	}
	cr_assert_lt(most[1], most[0]);
	recompute_step_free(&step);
	recompute_input_drop(&input);
	mem_free(order);
	cr_assert_gt(replay_step(graph, RECOMPUTE_RANDOM_STATE, test_seed(), 4, "gpt, mixed"), 1);
}

/* Nothing that runs again reads weights that were written since: a norm's neither, whose running statistics may be. */
static void check_weights(
	struct recompute_replay *replay, const struct recompute_base *base, const uint8_t *state, const char *what)
{
	const struct graph *graph = replay->step->graph;
	HELD bool *written = mem_alloc(graph->storages, sizeof *written);
	cr_assert_eq(recompute_play_all(replay, base, state), OK);
	for (uint32_t i = 0; i < replay->length; i++) {
		uint32_t op = replay->run[i] / 2;
		FOR_ROW(k, &graph->touches, op) {
			uint32_t s = graph->touches.item[k];
			bool weights = graph->storage[s].persistent && graph->storage[s].kind != KIND_BUFFER;
			cr_assert(!(replay->run[i] & 1) || !weights || !written[s], "%s: %s runs again when %s is another", what,
				graph->op[op].name, graph->tensor[graph->storage[s].root].name);
			written[s] |= graph_writes_in_place(graph, op, s);
		}
	}
}

/* AdamW's decay needs nothing but the weights, which reruns still read: early updates forbid no rerun. */
Test(fit, updates_wait_for_what_may_run_again)
{
	static const char *const families[] = { "gpt", "vit", "resnet" };
	struct model_training training = { .optimizer = OPTIMIZER_ADAMW };
	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		OWN(graph) *graph = step_of_config(
			families[i], sized_model(families[i], (struct model_config){ .layers = 3 }), training);
		OWN(recompute_input) input = recompute_input_of(graph);
		OWN(recompute_step) step;
		OWN(recompute_replay) replay;
		struct recompute_base base;
		cr_assert_eq(recompute_step_find(&input, &step), OK);
		cr_assert_eq(recompute_replay_new(&step, &replay), OK);
		HELD uint32_t *order = mem_alloc(graph->ops, sizeof *order);
		HELD uint8_t *state = mem_alloc(step.storages, sizeof *state);
		for (uint32_t s = 0; s < step.storages; s++)
			state[s] = step.droppable[s] ? RECOMPUTE_HOLD : RECOMPUTE_KEEP;
		cr_assert_eq(recompute_order_early(&step, false, order), OK);
		cr_assert_eq(recompute_base_of(&step, order, &base), OK);
		for (uint32_t op = 0; op < graph->ops; op++)
			FOR_ROW(k, &graph->pred, op)
				cr_assert_lt(base.position[graph->pred.item[k]], base.position[op]);
		cr_assert_eq(recompute_play(&replay, &base, state), OK);
		cr_assert(replay.valid, "%s: with all dropped", families[i]);
		check_weights(&replay, &base, state, families[i]);
		recompute_base_free(&base);
	}
}

Test(fit, a_replay_has_the_peak_of_its_graph_to_the_byte)
{
	for (size_t i = 0; i < 8; i++) {
		OWN(graph) *graph = some_step(i);
		uint32_t valid = replay_step(graph, RECOMPUTE_RANDOM_STATE, test_seed() + i, 20, graph->name);
		cr_assert_geq(valid, 2, "%s: %u of 20 choices can be played", graph->name, valid);
	}
}

Test(fit, captured_steps_with_dropout_and_writes_in_place_replay_to_the_byte)
{
	static const char *const files[] = { "samples/mobilenet_v2_b1_adam.jsonl.gz", "samples/gpt2_b1_s1024_adam.jsonl.gz" };
	for (size_t i = 0; i < 2; i++)
		for (enum recompute_random policy = 0; policy < RECOMPUTE_RANDOM_COUNT; policy++) {
			struct error error = { 0 };
			OWN(graph) *graph = graph_open(files[i], NULL, &error);
			cr_assert_not_null(graph, "%s", error.text);
			cr_assert_geq(replay_step(graph, policy, test_seed(), 8, files[i]), 1);
			check_going_on(graph, policy, test_seed(), files[i]);
		}
}

/* ---- plans ----------------------------------------------------------------------------------- */

/* A certificate with one number changed proves nothing, or no more than it did. */
static void spoil(const struct recompute_input *input, int64_t cap, const struct recompute_plan *plan, uint64_t seed)
{
	struct error error;
	struct recompute_certificate bad = plan->certificate;
	cr_assert_neq(recompute_check(input, cap, plan->bound + 2, &bad, &error), OK, "a higher bound");
	if (bad.arcs == 0)
		return;
	struct recompute_arc *arc = &bad.arc[random_next(&seed) % bad.arcs], was = *arc;
	arc->flow++;
	cr_assert_neq(recompute_check(input, cap, plan->bound, &bad, &error), OK, "flow from nowhere");
	*arc = was;
	arc->flow = -was.flow;
	cr_assert_neq(recompute_check(input, cap, plan->bound, &bad, &error), OK, "flow backwards");
	*arc = was;
	arc->op = was.op == NONE ? 0 : NONE;
	arc->kind = (arc->kind + 1) % RECOMPUTE_ARC_COUNT;
	cr_assert_neq(recompute_check(input, cap, plan->bound, &bad, &error), OK, "another arc");
	*arc = was;
	cr_assert_neq(recompute_check(input, cap * 2, plan->bound, &bad, &error), OK, "another cap");
	if (bad.granule == 0)
		return;
	bad.room--;
	cr_assert_neq(recompute_check(input, cap, plan->bound, &bad, &error), OK, "rounded for less room");
	bad.room++;
	bad.granule = 0;
	cr_assert_neq(recompute_check(input, cap, plan->bound, &bad, &error), OK, "not rounded");
}

/* Ticks of plans from nothing, and of those that begin with a larger cap's. */
static uint64_t from_nothing, from_larger;

/* A somewhat smaller cap's plan that begins with this one keeps that cap, and is nowhere far behind one from nothing. */
static void check_start(struct recompute_solver *solver, int64_t cap, const struct recompute_plan *start)
{
	struct recompute_search_options options = { .ticks = RECOMPUTE_EFFORT_DEFAULT / 20 };
	struct control first = { 0 }, second = { 0 };
	struct error error = { 0 };
	OWN(recompute_plan) plan, other;
	int64_t lower = cap - (cap - solver->step.persistent) / 50;
	cr_assert_eq(recompute_solve(solver, lower, &options, &first, &other), OK);
	options.start = start;
	cr_assert_eq(recompute_solve(solver, lower, &options, &second, &plan), OK);
	cr_assert_eq(plan.bound, other.bound);
	if (plan.extra == INT64_MAX)
		return;
	OWN(graph) *graph = recompute_plan_graph(solver, &plan, &error);
	cr_assert_not_null(graph, "%s", error.text);
	cr_assert_eq(whole_program_peak(graph), plan.peak);
	cr_assert_leq(plan.peak, lower);
	int64_t gap = LARGER(start->extra - start->bound, other.extra - other.bound);
	cr_assert(other.extra == INT64_MAX || plan.extra - plan.bound <= gap + solver->step.total / 1000);
	from_nothing += first.ticks;
	from_larger += second.ticks;
}

static void check_cap(struct recompute_solver *solver, const struct recompute_input *input, int64_t cap, int64_t *before)
{
	struct recompute_search_options options = { .ticks = RECOMPUTE_EFFORT_DEFAULT / 20 };
	struct control control = { 0 };
	struct error error = { 0 };
	OWN(recompute_plan) plan, twice;
	cr_assert_eq(recompute_solve(solver, cap, &options, &control, &plan), OK);
	cr_assert_eq(recompute_check(input, cap, plan.impossible ? 0 : plan.bound, &plan.certificate, &error), OK, "%s", error.text);
	if (plan.extra < INT64_MAX) {
		OWN(graph) *graph = recompute_plan_graph(solver, &plan, &error);
		cr_assert_not_null(graph, "%s", error.text);
		cr_assert_eq(whole_program_peak(graph), plan.peak);
		cr_assert_leq(plan.peak, cap);
		cr_assert_geq(plan.extra, plan.bound);
		cr_assert_not(plan.impossible);
	}
	cr_assert_geq(plan.bound, *before, "the bound rises as the cap falls");
	*before = plan.bound;
	if (plan.extra < INT64_MAX)
		check_start(solver, cap, &plan);
	if (plan.bound > 0)
		spoil(input, cap, &plan, test_seed() + (uint64_t)cap);
	cr_assert_eq(recompute_solve(solver, cap, &options, &control, &twice), OK);
	cr_assert_eq(twice.extra, plan.extra, "the same again");
	cr_assert_eq(memcmp(twice.state, plan.state, solver->step.storages), 0);
}

/* With a link to the host that carries a quarter of what can be kept, and a host that may hold less than that: the
 * bound is lower, and proved as well. */
static void check_link(
	const struct recompute_solver *solver, const struct recompute_input *input, int64_t cap, int64_t range, int64_t without)
{
	for (int small = 0; small < 2; small++) {
		struct recompute_link link = { .rate = (int64_t)((double)range / 2 * (double)PICOSECONDS /
									 (double)solver->step.total),
			.memory = small ? range / 8 : BYTES_MAX };
		struct recompute_input linked = *input;
		struct recompute_bounds bounds;
		struct recompute_plan plan = { 0 };
		struct control control = { 0 };
		struct error error = { 0 };
		HELD uint32_t *op = mem_alloc(solver->bounds.turns, sizeof *op);
		for (uint32_t i = 0; i < solver->bounds.turns; i++)
			op[i] = recompute_bounds_op(&solver->bounds, i);
		linked.link = &link;
		cr_assert_eq(recompute_bounds_new(&linked, op, solver->bounds.turns, &bounds), OK);
		enum status status = recompute_bound(&bounds, cap, &control, &plan.bound, &plan.slope, &plan.certificate);
		plan.impossible = status == INFEASIBLE;
		cr_assert(status == OK || plan.impossible);
		cr_assert_leq(plan.bound, without);
		cr_assert_eq(
			recompute_check(&linked, cap, plan.impossible ? 0 : plan.bound, &plan.certificate, &error), OK, "%s", error.text);
		if (plan.bound > 0)
			spoil(&linked, cap, &plan, test_seed() + (uint64_t)cap);
		link.rate *= 8;
		link.memory = BYTES_MAX;
		cr_assert(
			plan.bound <= 2 || plan.impossible || recompute_check(&linked, cap, plan.bound, &plan.certificate, &error) != OK,
			"a faster link");
		mem_free(plan.certificate.arc);
		recompute_bounds_free(&bounds);
	}
}

Test(fit, plans_keep_their_caps_and_bounds_are_certified)
{
	for (size_t i = 0; i < 6; i++) {
		OWN(graph) *graph = some_step(i);
		OWN(recompute_input) input = recompute_input_of(graph);
		OWN(recompute_solver) solver;
		cr_assert_eq(recompute_solver_new(&input, &solver), OK);
		int64_t top = whole_program_peak(graph), floor = 0, bound = 0;
		for (uint32_t k = 0; k < solver.step.ops; k++)
			floor = solver.base[0].fixed[k] > floor ? solver.base[0].fixed[k] : floor;
		uint32_t every = test_rounds(6, 1);                      /* quick tests: of six caps one, another for each graph */
		for (int k = (int)(i % every); k <= 5; k += (int)every) {
			check_cap(&solver, &input, top - (top - floor) * k / 5, &bound);
			check_link(&solver, &input, top - (top - floor) * k / 5, top - floor, bound);
		}
	}
	cr_assert_lt(from_larger, from_nothing, "no sooner than from nothing");
}

/* Storages of few sizes leave a part of most caps unused: what that costs is in the bound, and its proof says what
 * sizes were rounded to. */
Test(fit, what_no_sizes_add_up_to_is_in_the_bound)
{
	OWN(graph) *graph = some_step(1);
	OWN(recompute_input) input = recompute_input_of(graph);
	OWN(recompute_solver) solver;
	struct control control = { 0 };
	cr_assert_eq(recompute_solver_new(&input, &solver), OK);
	int64_t top = whole_program_peak(graph), more = 0;
	for (int k = 1; k < 20; k++) {
		int64_t cap = top - (top - solver.step.persistent) * k / 40;
		struct recompute_plan plan = { 0 };
		struct recompute_line line;
		struct error error = { 0 };
		enum status status = recompute_bound(&solver.bounds, cap, &control, &plan.bound, &plan.slope, &plan.certificate);
		if (status == OK && plan.certificate.granule > 0) {
			cr_assert_eq(recompute_bound_line(&solver.bounds, (int64_t)(plan.slope * RECOMPUTE_PRICE_UNIT), &control, &line), OK);
			cr_assert_gt(plan.bound, recompute_line_at(&line, cap), "more than without");
			cr_assert_eq(recompute_check(&input, cap, plan.bound, &plan.certificate, &error), OK, "%s", error.text);
			spoil(&input, cap, &plan, test_seed() + (uint64_t)k);
			more++;
		}
		mem_free(plan.certificate.arc);
	}
	cr_assert_gt(more, 0);
}

/* A repair goes by what a change takes away for its time; a single change after which all fits counts all the same, if
 * it is faster. */
Test(fit, no_single_change_that_fits_is_faster_than_a_repair)
{
	uint64_t random = 5;
	uint32_t repaired = 0;
	for (uint32_t i = 0; i < test_rounds(25, 600); i++) {
		OWN(graph) *graph = random_step(&random, 60, 64);
		OWN(recompute_input) input = recompute_input_of(graph);
		struct recompute_solver solver;
		struct control control = { 0 };
		cr_assert_eq(recompute_solver_new(&input, &solver), OK);
		struct recompute_search *search = &solver.search;
		const struct recompute_step *step = &solver.step;
		HELD uint8_t *state = mem_alloc(step->storages, sizeof *state), *start = mem_alloc(step->storages, sizeof *start);
		random_states(step, &random, start);
		search->control = &control;
		search->end = UINT64_MAX / 2;
		recompute_allow(search, UINT64_C(1) << 40);
		recompute_search_begin(search, &solver.base[0], INT64_MAX);
		if (recompute_play(&solver.replay, &solver.base[0], start) == OK && solver.replay.valid) {
			search->extra = INT64_MAX;
			recompute_search_begin(search, &solver.base[0],
				solver.replay.peak - 1 - (int64_t)(random_part(&random) * 0.03 * (double)solver.replay.peak));
			recompute_repair(search, start);
			repaired += search->extra < INT64_MAX;
			for (uint32_t s = 0; s < step->storages; s++)
				for (uint8_t to = RECOMPUTE_KEEP; to < RECOMPUTE_STATES && step->droppable[s] && step->bytes[s] > RECOMPUTE_SMALL; to++) {
					memcpy(state, start, step->storages);
					state[s] = to;
					bool dominated = to == RECOMPUTE_KEEP && solver.base[0].dominated[s];
					cr_assert_eq(recompute_play(&solver.replay, &solver.base[0], state), OK);
					cr_assert(dominated || !solver.replay.valid || solver.replay.peak > search->cap ||
							solver.replay.extra >= search->extra,
						"%s: storage %u to %d", graph->name, s, to);
				}
		}
		recompute_solver_free(&solver);
	}
	cr_assert_gt(repaired, 0);
}

Test(fit, a_larger_cap_is_never_slower_along_a_curve)
{
	enum { CAPS = 9 };
	OWN(graph) *graph = some_step(3);
	OWN(recompute_input) input = recompute_input_of(graph);
	struct recompute_search_options options = { .ticks = RECOMPUTE_EFFORT_DEFAULT / 100 };
	struct control control = { 0 };
	OWN(recompute_solver) solver;
	struct recompute_plan plan[CAPS];
	int64_t cap[CAPS], top = whole_program_peak(graph), floor = 0;
	cr_assert_eq(recompute_solver_new(&input, &solver), OK);
	for (uint32_t k = 0; k < solver.step.ops; k++)
		floor = solver.base[0].fixed[k] > floor ? solver.base[0].fixed[k] : floor;
	for (int k = 0; k < CAPS; k++)
		cap[k] = top - (top - floor) * ((k * 4) % CAPS) / CAPS;
	cr_assert_eq(recompute_curve(&solver, cap, CAPS, &options, &control, plan), OK);
	for (int i = 0; i < CAPS; i++)
		for (int k = 0; k < CAPS; k++) {
			cr_assert(cap[i] < cap[k] || plan[i].extra <= plan[k].extra, "%ld bytes: slower than at %ld", (long)cap[i],
				(long)cap[k]);
			cr_assert(plan[i].extra == INT64_MAX || (plan[i].peak <= cap[i] && plan[i].bound <= plan[i].extra));
		}
	for (int k = 0; k < CAPS; k++)
		recompute_plan_free(&plan[k]);
}

Test(fit, a_cap_below_an_op_s_own_operands_is_proved_impossible)
{
	OWN(graph) *graph = some_step(0);
	OWN(recompute_input) input = recompute_input_of(graph);
	struct recompute_search_options options = { 0 };
	struct control control = { 0 };
	OWN(recompute_solver) solver;
	OWN(recompute_plan) plan;
	struct error error = { 0 };
	cr_assert_eq(recompute_solver_new(&input, &solver), OK);
	int64_t cap = solver.step.persistent + 1;
	cr_assert_eq(recompute_solve(&solver, cap, &options, &control, &plan), OK);
	cr_assert(plan.impossible);
	cr_assert_eq(plan.extra, INT64_MAX);
	cr_assert_eq(recompute_check(&input, cap, 0, &plan.certificate, &error), OK, "%s", error.text);
	cr_assert_neq(recompute_check(&input, BYTES_MAX / 4, 0, &plan.certificate, &error), OK);
}

/* ---- the cheapest state ---------------------------------------------------------------------- */

#define WAITING 4

static uint32_t new_tensor(struct draft *draft, const char *kind, int number, int64_t bytes, enum kind of)
{
	char name[20];
	snprintf(name, sizeof name, "%s%d", kind, number);
	return draft_tensor(draft,
		&(struct tensor){
			.name = name, .bytes = bytes, .alias = NONE, .kind = (uint8_t)of, .dtype = DTYPE_F32, .has_bytes = true });
}

static uint32_t new_op(
	struct draft *draft, const char *kind, int number, enum phase phase, uint32_t read, uint32_t other, uint32_t made)
{
	char name[20];
	snprintf(name, sizeof name, "%s%d", kind, number);
	uint32_t op = draft_op(draft,
		&(struct op){
			.name = name, .type = "aten.mm.default", .module = "", .phase = (uint8_t)phase, .has_phase = true });
	draft_read(draft, op, read);
	if (other != NONE)
		draft_read(draft, op, other);
	draft_write(draft, op, made);
	return op;
}

/* A chain of layers whose updates wait for a sum over all gradients. So each gradient is there while the last one, the
 * largest, is made, or what it is made of is. */
static struct graph *waiting_gradients(void)
{
	OWN(draft) *draft = draft_new();
	struct error error = { 0 };
	uint32_t made[WAITING + 1], gradient[WAITING], part[WAITING], back = NONE;
	made[0] = new_tensor(draft, "x", 0, 10, KIND_INPUT);
	for (int i = 0; i < WAITING; i++)
		new_op(draft, "f", i, PHASE_FORWARD, made[i], NONE, made[i + 1] = new_tensor(draft, "a", i, 10, KIND_ACTIVATION));
	for (int i = WAITING; i-- > 0;) {
		uint32_t next = new_tensor(draft, "d", i, i ? 150 : 300, KIND_GRADIENT);
		new_op(draft, "b", i, PHASE_BACKWARD, back == NONE ? made[WAITING] : back, made[i], next);
		new_op(draft, "w", i, PHASE_BACKWARD, next, made[i], gradient[i] = new_tensor(draft, "g", i, 100, KIND_GRADIENT));
		new_op(draft, "c", i, PHASE_UPDATE, gradient[i], NONE, part[i] = new_tensor(draft, "c", i, 1, KIND_TEMPORARY));
		back = next;
	}
	uint32_t all = new_tensor(draft, "n", 0, 1, KIND_TEMPORARY),
			 sum = new_op(draft, "n", 0, PHASE_UPDATE, part[0], part[1], all);
	for (int i = 2; i < WAITING; i++)
		draft_read(draft, sum, part[i]);
	for (int i = 0; i < WAITING; i++)
		new_op(draft, "u", i, PHASE_UPDATE, gradient[i], all, new_tensor(draft, "u", i, 1, KIND_OUTPUT));
	struct graph *graph = graph_build(draft, &error);
	cr_assert_not_null(graph, "%s", error.text);
	return graph;
}

/* A loss of two heads, and its gradient counted to the pass: what only one head's gradient reaches depends on the loss,
 * too; what reads the pass alone does not. */
Test(fit, what_depends_on_a_loss_of_several_heads_is_not_early)
{
	struct draft *draft = draft_new();
	struct error error = { 0 };
	uint32_t x = new_tensor(draft, "x", 0, 10, KIND_INPUT), a = new_tensor(draft, "a", 0, 10, KIND_ACTIVATION),
			 b = new_tensor(draft, "b", 0, 10, KIND_ACTIVATION);
	uint32_t first = new_tensor(draft, "l", 1, 1, KIND_ACTIVATION),
			 second = new_tensor(draft, "l", 2, 1, KIND_ACTIVATION), loss = new_tensor(draft, "l", 3, 1, KIND_OUTPUT);
	uint32_t ones = new_tensor(draft, "o", 0, 1, KIND_GRADIENT), inner = new_tensor(draft, "i", 0, 10, KIND_TEMPORARY);
	uint32_t of_b = new_tensor(draft, "d", 2, 10, KIND_GRADIENT), of_a = new_tensor(draft, "d", 1, 10, KIND_GRADIENT),
			 sum = new_tensor(draft, "d", 0, 10, KIND_GRADIENT);
	new_op(draft, "f", 0, PHASE_FORWARD, x, NONE, a);
	new_op(draft, "h", 1, PHASE_FORWARD, a, NONE, first);
	new_op(draft, "f", 1, PHASE_FORWARD, a, NONE, b);
	new_op(draft, "h", 2, PHASE_FORWARD, b, NONE, second);
	new_op(draft, "h", 3, PHASE_FORWARD, first, second, loss);
	new_op(draft, "o", 0, PHASE_FORWARD, loss, NONE, ones);
	uint32_t backward[] = { new_op(draft, "g", 1, PHASE_BACKWARD, ones, a, of_a),
		new_op(draft, "g", 2, PHASE_BACKWARD, ones, b, of_b), new_op(draft, "g", 3, PHASE_BACKWARD, of_b, of_a, sum) };
	uint32_t early = new_op(draft, "i", 0, PHASE_BACKWARD, a, NONE, inner);
	new_op(draft, "u", 0, PHASE_BACKWARD, sum, inner, new_tensor(draft, "u", 0, 1, KIND_OUTPUT));
	OWN(graph) *graph = graph_build(draft, &error);
	cr_assert_not_null(graph, "%s", error.text);
	draft_free(draft);
	bool *forward = mem_alloc(graph->ops, sizeof *forward);
	cr_assert_eq(recompute_early_ops(graph, forward), OK);
	for (size_t i = 0; i < sizeof backward / sizeof *backward; i++)
		cr_assert(!forward[backward[i]], "%s", graph->op[backward[i]].name);
	cr_assert(forward[early]);
	mem_free(forward);
}

Test(fit, a_cap_below_an_op_s_cheapest_state_is_proved_impossible)
{
	OWN(graph) *graph = waiting_gradients();
	OWN(recompute_input) input = recompute_input_of(graph);
	struct recompute_search_options options = { 0 };
	struct control control = { 0 };
	OWN(recompute_solver) solver;
	struct recompute_plan plan;
	struct error error = { 0 };
	cr_assert_eq(recompute_solver_new(&input, &solver), OK);
	cr_assert_eq(recompute_solve(&solver, 600, &options, &control, &plan), OK);
	cr_assert(plan.impossible);
	cr_assert_gt(plan.certificate.arcs, 0, "%s alone is above the cap", graph->op[plan.certificate.op].name);
	cr_assert_eq(recompute_check(&input, 600, 0, &plan.certificate, &error), OK, "%s", error.text);
	cr_assert_neq(recompute_check(&input, 700, 0, &plan.certificate, &error), OK, "another cap");
	for (uint32_t i = 0; i < plan.certificate.arcs; i++) {
		struct recompute_arc *arc = &plan.certificate.arc[i], was = *arc;
		arc->flow += 1000;
		cr_assert_neq(recompute_check(&input, 600, 0, &plan.certificate, &error), OK, "more flow on arc %u", i);
		*arc = was;
		arc->kind = RECOMPUTE_ARC_RUN;
		cr_assert_neq(recompute_check(&input, 600, 0, &plan.certificate, &error), OK, "another kind of arc %u", i);
		*arc = was;
	}
	plan.certificate.impossible = false;
	cr_assert_neq(recompute_check(&input, 600, 1, &plan.certificate, &error), OK, "a bound on time");
	recompute_plan_free(&plan);
	cr_assert_eq(recompute_solve(&solver, 900, &options, &control, &plan), OK);
	cr_assert(plan.extra < INT64_MAX);
	recompute_plan_free(&plan);
}

Test(fit, pins_are_kept)
{
	OWN(graph) *graph = some_step(0);
	OWN(recompute_input) input = recompute_input_of(graph);
	HELD uint8_t *fixed = mem_alloc(graph->storages, sizeof *fixed);
	struct recompute_search_options options = { .ticks = RECOMPUTE_EFFORT_DEFAULT / 20 };
	struct control control = { 0 };
	struct recompute_step free_step;
	cr_assert_eq(recompute_step_find(&input, &free_step), OK);
	for (uint32_t s = 0; s < graph->storages; s++)
		fixed[s] = (uint8_t)(free_step.saved[s] ? s % 3 : RECOMPUTE_FREE);
	recompute_step_free(&free_step);
	input.fixed = fixed;
	OWN(recompute_solver) solver;
	OWN(recompute_plan) plan;
	cr_assert_eq(recompute_solver_new(&input, &solver), OK);
	cr_assert_eq(recompute_solve(&solver, whole_program_peak(graph), &options, &control, &plan), OK);
	cr_assert_lt(plan.extra, INT64_MAX);
	for (uint32_t s = 0; s < graph->storages; s++) {
		cr_assert(fixed[s] != RECOMPUTE_SAVED || plan.state[s] == RECOMPUTE_KEEP);
		cr_assert(fixed[s] != RECOMPUTE_DROPPED || !solver.step.droppable[s] || plan.state[s] != RECOMPUTE_KEEP);
	}
}

/* ---- memory ---------------------------------------------------------------------------------- */

Test(fit, every_failed_allocation_is_reported_and_nothing_leaks)
{
	struct model_config config = {
		.family = FAMILY_GPT, .layers = 2, .hidden = 8, .heads = 2, .vocab = 11, .seq = 4, .batch = 2
	};
	struct model_training training = { .optimizer = OPTIMIZER_SGD };
	struct error error = { 0 };
	OWN(graph) *step = model_step("gpt", &config, &training, &error);
	OWN(recompute_input) input = recompute_input_of(step);
	int64_t cap = whole_program_peak(step) * 9 / 10;
	long before = memory_blocks();
	enum status status = NO_MEMORY;
	for (long n = 0; status == NO_MEMORY; n += n < 100 ? 1 : n < 600 ? 13 : 211) {
		struct recompute_search_options options = { .ticks = 20000 };
		struct control control = { 0 };
		struct recompute_solver solver;
		struct recompute_plan plan = { 0 };
		struct graph *graph = NULL;
		memory_allow(n);
		status = recompute_solver_new(&input, &solver);
		status = status == OK ? recompute_solve(&solver, cap, &options, &control, &plan) : status;
		graph = status == OK ? recompute_plan_graph(&solver, &plan, &error) : NULL;
		status = status == OK && !graph ? error.status : status;
		memory_allow(-1);
		graph_release(graph);
		recompute_plan_free(&plan);
		recompute_solver_free(&solver);
		cr_assert(status == NO_MEMORY || status == OK);
		cr_assert_eq(memory_blocks(), before, "a leak after %ld allocations", n);
	}
}
