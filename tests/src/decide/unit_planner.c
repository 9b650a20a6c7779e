/* unit_planner.c: plans from stages and store: what a change re-runs, and that nothing depends on earlier plans. */
#include <inttypes.h>
#include <string.h>

#include "tests/common/model_steps.h"
#include "tests/common/planned.h"
#include "tests/common/random_graph.h"
#include "src/models/models.h"
#include "src/read/input.h"
#include "src/plan/beside.h"
#include "src/decide/planner.h"
#include "tests/common/support.h"
#include "src/scenario/knobs.h"

static struct graph *sample(const char *path)
{
	struct error error;
	struct graph *graph = graph_open(path, NULL, &error);
	cr_assert_not_null(graph, "%s: %s", path, error.text);
	return graph;
}

static struct graph *small_resnet(int64_t batch)
{
	return step_of_sizes("resnet18", (struct model_config){ .batch = batch, .image = 64 });
}

Test(planner, a_layout_knob_runs_the_layout_alone_and_going_back_runs_nothing)
{
	OWN(graph) *graph = sample("samples/gpt2_b1_s1024_adam.jsonl.gz");
	OWN(planner) planner = { .store = store_new() };
	OWN(scenario) scenario;
	scenario_init(&scenario);
	scenario_add(&scenario, "order=list");
	OWN(plan) *first = plan_with(&planner, graph, &scenario);
	cr_assert(first->run[STAGE_ORDER].solved > 0 && first->run[STAGE_LAYOUT].solved > 0);
	scenario_add(&scenario, "layout=bestfit");
	OWN(plan) *second = plan_with(&planner, graph, &scenario);
	cr_assert_eq(second->run[STAGE_ORDER].solved, 0);
	cr_assert_eq(second->run[STAGE_ORDER].reused, 1);
	cr_assert(second->run[STAGE_LAYOUT].solved > 0);
	scenario_add(&scenario, "layout=best");
	OWN(plan) *third = plan_with(&planner, graph, &scenario);
	cr_assert_eq(third->run[STAGE_ORDER].solved + third->run[STAGE_LAYOUT].solved, 0);
	cr_assert_eq(third->laid_out->offset, first->laid_out->offset, "the very same result");
	scenario_add(&scenario, "order=program");
	OWN(plan) *fourth = plan_with(&planner, graph, &scenario);
	cr_assert(fourth->run[STAGE_ORDER].solved > 0);
}

/* Turns a random knob to a random value, or adds or removes a pin. */
static void change(struct scenario *scenario, const struct graph *graph, uint64_t *random)
{
	static const enum knob_id turned[] = { K_order, K_layout, K_alignment, K_in_place, K_workspace, K_allocator,
		K_memory, K_effort };
	enum knob_id knob = turned[random_next(random) % (sizeof turned / sizeof *turned)];
	char text[120];
	switch (random_next(random) % 8) {
	case 0:
		snprintf(text, sizeof text, "pin op %s before %s", graph->op[random_next(random) % graph->ops].name,
			graph->op[random_next(random) % graph->ops].name);
		scenario_pin(scenario, text, NULL);
		break;
	case 1:
		if (scenario->pins)
			scenario_unpin(scenario, 1 + (uint32_t)(random_next(random) % scenario->pins), NULL);
		break;
	default:
		if (knob == K_alignment)
			scenario_put(scenario, (enum knob_id)knob, (int64_t)1 << random_next(random) % 10);
		else if (knob == K_effort)
			scenario_put(scenario, (enum knob_id)knob, (int64_t)(random_next(random) % 3));
		else
			scenario_put(scenario, (enum knob_id)knob, (int64_t)(random_next(random) %
				(uint64_t)(knob == K_memory ? 5000 : knobs[knob].maximum + 1)));
	}
}

/* Plans with a store that has seen everything, and with an empty one: the same bytes, or the same refusal. */
static void compare_told(struct planner *used, struct graph *graph, const struct scenario *scenario, const char *told)
{
	OWN(planner) fresh = { .store = store_new() };
	struct error error = { 0 }, other = { 0 };
	OWN(plan) *a = planner_run(used, graph, scenario, PLAN_COMPLETE, &error);
	OWN(plan) *b = planner_run(&fresh, graph, scenario, PLAN_COMPLETE, &other);
	cr_assert_eq(error.status, other.status, "%s: %s / %s", told, error.text, other.text);
	if (a && b) {
		char *text = plan_text(a), *text_fresh = plan_text(b);
		cr_assert_str_eq(text, text_fresh, "%s", told);
		free(text);
		free(text_fresh);
	}
}

static void compare(struct planner *used, struct graph *graph, const struct scenario *scenario, uint64_t seed)
{
	char told[40];
	snprintf(told, sizeof told, "SEED=%llu", (unsigned long long)seed);
	compare_told(used, graph, scenario, told);
}

Test(planner, incremental_plans_equal_those_from_scratch)
{
	uint64_t random = test_seed();
	for (uint32_t round = 0; round < test_rounds(2, 10); round++) {
		uint64_t seed = random;
		OWN(graph) *graph = random_graph(&random, 25);
		/* A small store, so that results come and go. */
		OWN(planner) planner = { .store = store_new() };
		OWN(scenario) scenario;
		scenario_init(&scenario);
		if (round % 2)
			scenario_add(&scenario, "store=30KiB");
		for (int turn = 0; turn < 40; turn++) {
			change(&scenario, graph, &random);
			compare(&planner, graph, &scenario, seed);
		}
		cr_assert(store_bytes(planner.store) <= (size_t)scenario.value[K_store]);
	}
}

/* A knob that a stage reads and doesn't have in its key changes nothing once the stage has run. */
Test(planner, every_knob_is_in_the_key_of_the_stage_that_reads_it)
{
	static const char *const bases[] = { "devices=4 strategy=megatron tp=2 zero=1", "",
		"devices=4 strategy=data pp=2 microbatches=2 memory=250MiB", "devices=2 strategy=minred device=a100-40gb" };
	OWN(graph) *graph = sample("samples/lessons/split_matmul.jsonl");
	for (uint32_t base = 0; base < test_rounds(1, sizeof bases / sizeof *bases); base++) {
		OWN(planner) planner = { .store = store_new() };
		OWN(scenario) scenario;
		char words[120], *next = words;
		scenario_init(&scenario);
		snprintf(words, sizeof words, "train=eager optimizer=adam layout=bestfit order_effort=0 %s", bases[base]);
		for (char *word; (word = strsep(&next, " ")) != NULL;)
			if (*word)
				scenario_add(&scenario, word);
		compare(&planner, graph, &scenario, base);
		for (int knob = 0; knob < KNOB_COUNT; knob++) {
			int64_t before = scenario.value[knob], up = knob_step((enum knob_id)knob, before, 1);
			scenario_put(&scenario, (enum knob_id)knob, up != before ? up : knob_step((enum knob_id)knob, before, -1));
			compare_told(&planner, graph, &scenario, knobs[knob].name);
			scenario_put(&scenario, (enum knob_id)knob, before);
		}
	}
}

/* Whatever decides how long ops take decides what recomputation costs. */
Test(planner, every_knob_of_the_machine_is_in_the_key_of_recomputation)
{
	static const char *const turned[] = { "kernels=eager", "fused=300%", "matrix=15%",
		"software=torchtitan", "device=h100-80gb", "host_bandwidth=1GB/s" };
	OWN(graph) *graph = sample("samples/alexnet_b1_adam.jsonl.gz");
	OWN(planner) planner = { .store = store_new() };
	for (size_t i = 0; i < sizeof turned / sizeof *turned; i++) {
		OWN(scenario) scenario;
		scenario_init(&scenario);
		scenario_add(&scenario, "device=a100-40gb recompute=auto memory=700MiB order=program layout=bestfit batch=16");
		compare(&planner, graph, &scenario, i);
		scenario_add(&scenario, turned[i]);
		compare(&planner, graph, &scenario, i);
	}
}

/* The independent check accepts the plan's file. */
static void check_with_file(const struct graph *graph, const struct plan *plan, uint64_t seed)
{
	struct error error = { 0 };
	char *text = plan_text(plan);
	cr_assert_eq(check_plan_text(graph, text, &error), OK, "%s (SEED=%llu)", error.text, (unsigned long long)seed);
	free(text);
}

Test(planner, every_plan_passes_the_independent_check)
{
	uint64_t random = test_seed();
	for (int round = 0; round < 150; round++) {
		uint64_t seed = random;
		OWN(graph) *graph = random_graph(&random, 15);
		OWN(planner) planner = { .store = store_new() };
		OWN(scenario) scenario;
		struct error error;
		scenario_init(&scenario);
		for (int i = 0; i < 4; i++)
			change(&scenario, graph, &random);
		OWN(plan) *result = planner_run(&planner, graph, &scenario, PLAN_COMPLETE, &error);
		if (result) {
			check_with_file(graph, result, seed);
		} else {
			cr_assert(error.status == INFEASIBLE || error.status == BAD_INPUT, "%s", error.text);
		}
	}
}

static struct plan *plan_to(
	struct planner *planner, struct graph *graph, const struct scenario *scenario, enum planner_depth depth)
{
	struct error error;
	struct plan *result = planner_run(planner, graph, scenario, depth, &error);
	cr_assert_eq(result == NULL, error.status != OK);
	cr_assert(result || error.status == LIMIT, "%s", error.text);
	return result;
}

Test(planner, recomputation_to_a_cap_makes_room_for_what_the_layout_adds)
{
	/* order=list: another order would make room first. */
	static const char *const words[] = { "train=eager", "optimizer=sgd", "order=list", "layout=bestfit",
		"recompute=auto", "memory=220MiB" };
	OWN(graph) *graph = sample("samples/lessons/recompute.jsonl");
	OWN(planner) planner = { .store = store_new() };
	OWN(scenario) scenario;
	int64_t cap = 220 << 20;
	scenario_init(&scenario);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		scenario_add(&scenario, words[i]);
	cr_assert_null(plan_to(&planner, graph, &scenario, PLAN_STORED));
	OWN(plan) *fitting = plan_to(&planner, graph, &scenario, PLAN_COMPLETE);
	cr_assert(plan_arena(fitting) <= cap, "%lld", (long long)plan_arena(fitting));
	cr_assert(fitting->fit_margin > 0, "the first round ends above the cap");
	check_with_file(graph, fitting, 0);
	OWN(plan) *stored = plan_to(&planner, graph, &scenario, PLAN_STORED);
	cr_assert(stored && stored->laid_out->offset == fitting->laid_out->offset, "all rounds are in the store");
	if (test_rounds(0, 1))     /* seconds under the sanitizers */
		compare(&planner, graph, &scenario, 0);
}

Test(planner, a_cap_below_every_recomputation_gives_a_valid_plan_above_it)
{
	OWN(graph) *graph = step_of_sizes(
		"gpt", (struct model_config){ .layers = 3, .hidden = 96, .batch = 4, .seq = 64, .heads = 4, .vocab = 500 });
	OWN(planner) planner = { .store = store_new() };
	OWN(scenario) scenario;
	scenario_init(&scenario);
	scenario_add(&scenario, "recompute=auto");
	scenario_add(&scenario, "memory=6MiB");
	scenario_add(&scenario, "layout=bestfit");
	OWN(plan) *result = plan_with(&planner, graph, &scenario);
	cr_assert(plan_arena(result) > INT64_C(6) << 20);
	cr_assert(result->fit_margin == 0 || result->fit_margin == scenario_budget(&scenario),
		"planned once, or for the least memory: another round could not save more");
	const char *told = strstr(result->transformed->notes, "computed again");
	cr_assert(told && !strstr(told + 1, "computed again"), "what is computed again is chosen once: %s",
		result->transformed->notes);
	check_with_file(graph, result, 0);
}

Test(planner, unknown_names_in_pins_are_refused_with_the_nearest)
{
	OWN(graph) *graph = sample("samples/diamond.jsonl");
	OWN(planner) planner = { .store = store_new() };
	OWN(scenario) scenario;
	struct error error;
	scenario_init(&scenario);
	cr_assert_eq(scenario_pin(&scenario, "pin op rigth_pool before nothing", &error), OK);
	cr_assert_null(planner_run(&planner, graph, &scenario, PLAN_COMPLETE, &error));
	cr_assert_eq(error.status, BAD_INPUT);
	cr_assert(strstr(error.text, "\"right_pool\""), "%s", error.text);
}

Test(planner, every_allocation_may_fail)
{
	for (long allowed = 0;; allowed = memory_next(allowed)) {
		uint64_t random = test_seed();
		struct graph *graph = random_graph(&random, 12);
		struct planner planner = { .store = store_new() };
		struct scenario scenario;
		struct error error;
		scenario_init(&scenario);
		memory_allow(allowed);
		struct plan *result = planner_run(&planner, graph, &scenario, PLAN_COMPLETE, &error);
		memory_allow(-1);
		plan_release(result);
		scenario_done(&scenario);
		planner_done(&planner);
		graph_release(graph);
		cr_assert_eq(memory_blocks(), 0, "leak when allocation %ld fails", allowed);
		if (error.status == OK && allowed > 20000)
			break;
		cr_assert(error.status == OK || error.status == NO_MEMORY, "status %d: %s", error.status, error.text);
		if (error.status == OK)
			allowed = 20000;
	}
}

/* ---- two plans laid over each other ---------------------------------------------------------- */

Test(planner, what_is_proved_of_one_order_is_proved_of_every_order)
{
	uint64_t random = test_seed();
	int raised = 0;
	for (uint32_t round = 0; round < test_rounds(40, 1000); round++) {
		OWN(graph) *graph = random_graph(&random, 6 + (uint32_t)random_next(&random) % 12);
		OWN(planner) used = { .store = store_new() };
		OWN(plan) *best = plan_of_words(&used, graph, "order=best order_effort=2");
		for (int order = 0; order <= ORDER_FAST; order++) {
			char words[100];
			snprintf(words, sizeof words, "order=%s order_effort=2", order_strategy_names[order]);
			OWN(planner) fresh = { .store = store_new() };
			OWN(plan) *plan = plan_of_words(&fresh, graph, words), *later = plan_of_words(&used, graph, words);
			char *text = plan_text(plan), *again = plan_text(later);
			struct error error = { 0 };
			cr_assert_geq(plan_bound(plan), plan_bound(best), "%s: %" PRId64 ", best proves %" PRId64, words,
				plan_bound(plan), plan_bound(best));
			cr_assert_leq(plan_bound(plan), plan_peak(best), "%s", words);
			cr_assert_str_eq(text, again, "%s: with what best has proved in the store", words);
			cr_assert_eq(check_plan_text(graph, text, &error), OK, "%s: %s", words, error.text);
			raised += plan->least != NULL;
			free(text);
			free(again);
		}
	}
	cr_assert_gt(raised, 0);
}

/* Cancels a run at one of its reports. */
struct stop { atomic_bool cancel; int after; };

static void stop_then(void *context, const struct progress *progress)
{
	struct stop *stop = context;
	(void)progress;
	if (--stop->after <= 0)
		atomic_store(&stop->cancel, true);
}

/* Wherever a run is stopped, its plan says so, and what it leaves in the store leads to no other plan afterwards. */
static int stop_everywhere(const char *words)
{
	OWN(graph) *graph = step_of_sizes(
		"gpt", (struct model_config){ .layers = 1, .hidden = 48, .batch = 8, .seq = 32, .heads = 4, .vocab = 64 });
	OWN(planner) planner = { .store = store_new() };
	OWN(plan) *whole = plan_of_words(&planner, graph, words);
	char *expected = plan_text(whole);
	int stopped = 0;
	bool ended = false;
	const uint32_t one_by_one = test_rounds(2, 4);
	for (uint32_t after = 1; !ended; after += after < one_by_one ? 1 : test_rounds(4 * after, after / 4)) {
		struct stop stop = { .after = (int)after };
		struct error error = { 0 };
		OWN(scenario) scenario;
		OWN(planner)
		used = { .store = store_new(), .control = { .cancel = &stop.cancel, .report = stop_then, .context = &stop } };
		scenario_of(words, &scenario);
		OWN(plan) *cut = planner_run(&used, graph, &scenario, PLAN_COMPLETE, &error);
		if (!atomic_load(&stop.cancel))
			ended = true;
		else if (cut && cut->limited)
			stopped++;
		else
			cr_assert(!cut && error.status == CANCELLED, "%s: stopped at report %u, and the plan doesn't say so", words, after);
		used.control = (struct control){ 0 };
		OWN(plan) *again = plan_of_words(&used, graph, words);
		char *text = plan_text(again);
		cr_assert_str_eq(text, expected, "%s: stopped at report %u, then planned again with the same store", words, after);
		free(text);
	}
	free(expected);
	return stopped;
}

Test(planner, a_run_that_is_stopped_says_so_and_leaves_nothing_half_done)
{
	int stopped = stop_everywhere("batch=8 devices=8 strategy=auto device=a100-80gb");
	stopped += stop_everywhere("batch=8 devices=4 strategy=minred memory=3MiB");
	stopped += stop_everywhere("batch=8 devices=2 pp=2 microbatches=4 strategy=megatron schedule=auto");
	stopped += stop_everywhere("recompute=auto memory=2MiB");
	cr_assert_gt(stopped, 5, "%d", stopped);
}

static int64_t holders_sum(const struct beside *beside, int side)
{
	int64_t sum = 0;
	for (uint32_t i = 0; i < beside->holders[side]; i++)
		sum += beside->holder[side][i].bytes;
	return sum;
}

/* What is told of both peaks adds up to them, positions keep their order and end within the other step. */
static void expect_beside(const struct plan *one, const struct plan *other, struct beside *beside)
{
	cr_assert_eq(beside_make(one, other, beside), OK);
	for (int side = 0; side < 2; side++) {
		const struct plan *ours = side == 0 ? one : other, *theirs = side == 0 ? other : one;
		cr_expect_eq(beside->peak[side],
			holders_sum(beside, side) + beside->paired[side] + beside->workspace[side] + beside->rest[side]);
		cr_expect_eq(beside->peak[side], plan_peak(ours));
		for (uint32_t at = 0, before = 0; at < ours->graph->ops; at++) {
			uint32_t there = beside_position(beside, side, at);
			cr_assert(there >= before && there < theirs->graph->ops, "position %u stands at %u", at, there);
			before = there;
		}
		for (int i = 0; i < BESIDE_PARTS; i++)
			cr_expect(beside->part[i].peak[side] <= beside->peak[side]);
	}
}

Test(beside, peaks_add_up_and_a_step_beside_itself_has_nothing_of_its_own)
{
	struct error error = { 0 };
	struct beside beside;
	OWN(graph) *graph = small_resnet(4), *other = sample("samples/mobilenet_v2_b1_adam.jsonl.gz"),
			   *trace = sample("tests/corpus/snapshot/stacks_2.pickle");
	OWN(plan) *read = plan_as_read(graph, NULL, NULL, &error), *foreign = plan_as_read(other, NULL, NULL, &error),
			  *ran = plan_as_read(trace, NULL, NULL, &error);
	cr_assert(read && foreign && ran, "%s", error.text);
	cr_expect_eq(plan_peak(read), read->ordered->program_peak, "its own order");
	expect_beside(read, read, &beside);
	cr_expect(beside.phases && beside.steps[0] == 1);
	cr_expect(beside.holders[0] == 0 && beside.holders[1] == 0 && beside.paired[0] == beside.paired[1]);
	for (uint32_t at = 0; at < graph->ops; at++)
		cr_assert_eq(beside_position(&beside, 0, at), at);
	beside_free(&beside);
	expect_beside(read, foreign, &beside);
	cr_expect(beside.holders[0] > 0 && beside.holders[1] > 0 && beside.rest[0] == 0);
	beside_free(&beside);
	expect_beside(ran, foreign, &beside);
	cr_expect_str_eq(beside.holder[0][0].place, "/home/u/train.py:20 in main");
	beside_free(&beside);
}
