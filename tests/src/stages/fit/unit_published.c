/* unit_published.c: recompute=auto against published strategies: none that keeps the cap is faster, and more memory
 * never takes longer.
 *
 * LONG=1 tries every family of built-in models, samples and random steps at six caps each, with all published words;
 * VERBOSE=1 prints a row for each cap. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "src/scenario/knobs.h"
#include "src/stages/fit/stage.h"
#include "src/decide/planner.h"
#include "src/plan/verdict.h"
#include "tests/common/fit_step.h"
#include "tests/common/random_step.h"

#define CAPS 6

static const char *const words[] = { "none", "selective", "full", "sqrt", "layers:1", "layers:2", "layers:3",
	"layers:4", "layers:6", "knapsack:0%", "knapsack:10%", "knapsack:25%", "knapsack:40%", "knapsack:50%",
	"knapsack:60%", "knapsack:75%", "knapsack:90%", "knapsack:100%" };
#define WORDS (sizeof words / sizeof *words)

struct point { int64_t needs, extra, bound, time; };

/* needs: INT64_MAX where the strategy can't be played on this step. */
static struct point plan_of(struct planner *planner, struct graph *graph, const char *word, int64_t cap)
{
	OWN(scenario) scenario;
	struct error error = { 0 };
	char text[160];
	struct point point = { INT64_MAX, INT64_MAX, 0, 0 };
	scenario_init(&scenario);
	scenario.value[K_allocator] = ALLOCATOR_PLAN;
	cr_assert_eq(scenario_set(&scenario, "reserve=0", &error), OK, "%s", error.text); /* caps are of the step alone */
	snprintf(text, sizeof text, "recompute=%s", word);
	for (char *next, *at = strtok_r(text, " ", &next); at; at = strtok_r(NULL, " ", &next))
		cr_assert_eq(scenario_set(&scenario, at, &error), OK, "%s", error.text);
	snprintf(text, sizeof text, "memory=%lld", (long long)cap);
	cr_assert(cap == 0 || scenario_set(&scenario, text, &error) == OK, "%s", error.text);
	OWN(plan) *plan = planner_run(planner, graph, &scenario, PLAN_COMPLETE, &error);
	cr_assert(plan || error.status == BAD_INPUT, "%s: %s", word, error.text);
	if (plan) {
		const struct fitted *fitted = plan->transformed->fitted;
		point = (struct point){ plan_needs(plan), fitted ? fitted->extra : 0, fitted ? fitted->bound : 0, plan->speed.time };
	}
	return point;
}

struct tally { uint32_t caps, slower, rising; };

static void compare(const char *name, struct graph *graph, size_t few, struct tally *tally)
{
	OWN(planner) planner = { .store = store_new() };
	struct point point[WORDS], last = { 0 };
	int64_t least = INT64_MAX;
	bool shows = getenv("VERBOSE") != NULL;
	for (size_t i = 0; i < few; i++) {
		point[i] = plan_of(&planner, graph, words[i], 0);
		least = point[i].needs < least ? point[i].needs : least;
	}
	for (int c = 0; c < CAPS; c += (int)test_rounds(2, 1)) {     /* every second; the last one is below all of them */
		int64_t cap = point[0].needs - (point[0].needs - least) * (c + 1) / (CAPS - 1);
		size_t best = WORDS;
		for (size_t i = 0; i < few; i++)
			if (point[i].needs <= cap && (best == WORDS || point[i].extra < point[best].extra))
				best = i;
		struct point ours = plan_of(&planner, graph, "auto", cap);
		bool fits = ours.needs <= cap, slower = best < WORDS && (!fits || ours.extra > point[best].extra);
		bool rising = c > 0 && fits && last.needs <= cap && ours.extra < last.extra;    /* less memory, less time */
		if (shows || slower || rising)
			fprintf(stderr, "%-20s cap %12lld ours %12lld %s extra %10.1f us, bound %10.1f, %-13s %10.1f%s%s\n", name,
				(long long)cap, (long long)ours.needs, fits ? "fits" : "over", (double)ours.extra / 1e6,
				(double)ours.bound / 1e6, best < WORDS ? words[best] : "-",
				best < WORDS ? (double)point[best].extra / 1e6 : 0, slower ? " SLOWER" : "", rising ? " RISING" : "");
		tally->caps++;
		tally->slower += slower;
		tally->rising += rising;
		last = ours;
	}
	store_free(planner.store);
	planner.store = NULL;
}

Test(published, no_strategy_is_faster_within_the_same_memory)
{
	static const char *const families[] = { "gpt", "resnet18", "bert", "llama", "t5", "vit", "moe", "deepseek", "dlrm" };
	size_t all = sizeof families / sizeof *families, count = test_rounds(1, (uint32_t)all);
	struct tally tally = { 0 };
	for (size_t i = 0; i < count; i++) {
		OWN(graph) *graph = fit_model(families[i], count < all ? 2 : 6);
		compare(families[i], graph, count < all ? 4 : WORDS, &tally);
	}
	fprintf(stderr, "%u caps: %u where a published strategy is faster, %u where less memory was faster\n", tally.caps,
		tally.slower, tally.rising);
	cr_assert_eq(tally.slower, 0);
}

Test(published, nor_on_random_steps)
{
	uint64_t random = test_seed();
	struct tally tally = { 0 };
	for (uint32_t round = 0; round < test_rounds(2, 60); round++) {
		char name[32];
		OWN(graph) *graph = random_step(&random, 20 + (uint32_t)(random_next(&random) % 40), 256);
		snprintf(name, sizeof name, "random step %u", round);
		compare(name, graph, WORDS, &tally);
	}
	fprintf(stderr, "%u caps: %u where a published strategy is faster, %u where less memory was faster\n", tally.caps,
		tally.slower, tally.rising);
	cr_assert_eq(tally.slower, 0);
}

Test(published, nor_on_samples)
{
	static const char *const samples[] = { "samples/alexnet_b1_adam.jsonl.gz", "samples/mobilenet_v2_b1_adam.jsonl.gz",
		"samples/bert_base_b1_s512_adam.jsonl.gz", "samples/vit_b_16_b1_adam.jsonl.gz",
		"samples/gpt2_b1_s1024_adam.jsonl.gz", "samples/gpt2_xl_b1_s1024_adam.jsonl.gz" };
	struct tally tally = { 0 };
	for (size_t i = 0; i < sizeof samples / sizeof *samples && test_rounds(0, 1) > i / 8; i++) {
		struct error error = { 0 };
		OWN(graph) *graph = graph_open(samples[i], NULL, &error);
		cr_assert_not_null(graph, "%s", error.text);
		compare(graph->name, graph, WORDS, &tally);
	}
	cr_assert_eq(tally.slower, 0);
}

/* An order that takes what is ready would run again in the forward pass what the backward pass needs, and a layout of
 * rules adds to the peak. */
Test(published, less_memory_takes_no_less_time_in_poor_orders)
{
	static const struct {
		const char *knobs;
		int64_t most;
	} poor[] = { { "order=list layout=bestfit", 200000000 }, { "order=inductor-bfs layout=roam", 1300000000 },
		{ "order=list layout=roam", 200000000 },
		{ "order=dfs layout=bestfit", 200000000 } }; /* most: picoseconds at the last cap */
	struct error error = { 0 };
	OWN(graph) *graph = graph_open("samples/lessons/recompute.jsonl", NULL, &error);
	cr_assert_not_null(graph, "%s", error.text);
	int64_t step = test_rounds(40, 20);
	for (size_t i = 0; i < test_rounds(1, sizeof poor / sizeof *poor); i++) {
		OWN(planner) planner = { .store = store_new() };
		struct point last = { INT64_MAX, INT64_MAX, 0, 0 };
		for (int64_t cap = test_rounds(236, 140); cap < 300;
			cap += step) { /* below, nothing is known to fit in all of these orders */
			char setting[120];
			snprintf(setting, sizeof setting, "auto train=eager optimizer=sgd device=a100-40gb %s", poor[i].knobs);
			struct point point = plan_of(&planner, graph, setting, cap * 1000000);
			cr_assert_leq(point.needs, cap * 1000000, "%s at %lld MB needs %lld", poor[i].knobs, (long long)cap,
				(long long)point.needs);
			cr_assert_leq(point.extra, last.extra, "%s at %lld MB takes longer than at %lld MB", poor[i].knobs,
				(long long)cap, (long long)(cap - step));
			last = point;
		}
		cr_assert_lt(last.extra, poor[i].most, "%s: %lld ps", poor[i].knobs, (long long)last.extra);
	}
	/* A published strategy keeps 180 MB so, though what it is played as tells little of that. */
	OWN(planner) planner = { .store = store_new() };
	struct point layers = plan_of(&planner, graph,
		"layers:1 train=eager optimizer=sgd device=a100-40gb order=inductor-bfs layout=roam", 180000000);
	struct point point = plan_of(
		&planner, graph, "auto train=eager optimizer=sgd device=a100-40gb order=inductor-bfs layout=roam", 180000000);
	cr_assert_leq(layers.needs, 180000000);
	cr_assert_leq(point.needs, 180000000);
	cr_assert_leq(point.extra, layers.extra, "%lld ps, layers:1 %lld", (long long)point.extra, (long long)layers.extra);
}

/* The layout adds a quarter to the peak: what the first plan shows leads below the step's floor, and what is fast lies
 * above it. */
Test(published, limits_below_the_floor_are_not_where_it_ends)
{
	static const struct {
		const char *poor;
		int64_t cap;
	} cases[] = { { "order=inductor-bfs layout=roam", 500000000 }, { "order=list layout=roam", 485000000 } };
	OWN(graph) *graph = test_rounds(0, 1)
		? step_of_config("resnet18", sized_model("resnet18", (struct model_config){ .batch = 32 }),
			  (struct model_training){ .optimizer = OPTIMIZER_ADAM, .precision = PRECISION_MIXED })
			: NULL;
	for (size_t i = 0; i < sizeof cases / sizeof *cases && graph; i++) {
		OWN(planner) planner = { .store = store_new() };
		char setting[80];
		snprintf(setting, sizeof setting, "auto %s", cases[i].poor);
		struct point point = plan_of(&planner, graph, setting, cases[i].cap);
		cr_assert_leq(point.needs, cases[i].cap);
		cr_assert_lt(point.extra, point.time / 10, "%s: %lld of %lld ps", cases[i].poor, (long long)point.extra,
			(long long)point.time);
	}
}

/* Of a device's graph and of pipeline ranks the program's order may be above a cap that the planned one keeps. */
Test(published, what_fits_as_it_is_runs_nothing_again)
{
	static const char *const split[] = { "devices=4 strategy=megatron", "devices=2 pp=2 microbatches=2" };
	OWN(graph) *graph = fit_model("llama", 2);
	for (size_t i = 0; i < sizeof split / sizeof *split; i++) {
		OWN(planner) planner = { .store = store_new() };
		char setting[120];
		snprintf(setting, sizeof setting, "none %s", split[i]);
		struct point kept = plan_of(&planner, graph, setting, INT64_C(1) << 50); /* buffers of groups count under a limit */
		snprintf(setting, sizeof setting, "auto %s", split[i]);
		struct point point = plan_of(&planner, graph, setting, kept.needs + kept.needs / 1000);
		cr_assert_eq(point.needs, kept.needs, "%s: %lld, not %lld bytes", split[i], (long long)point.needs,
			(long long)kept.needs);
		cr_assert_eq(point.time, kept.time, "%s: %lld, not %lld ps", split[i], (long long)point.time, (long long)kept.time);
	}
}

/* Of a device's graph what is gathered ahead is beside the arena: that is left, too, and said. */
Test(published, what_is_gathered_ahead_is_left_room)
{
	OWN(graph) *graph = step_of_config("llama", sized_model("llama", (struct model_config){ .layers = 2, .batch = 2 }),
		(struct model_training){ .optimizer = OPTIMIZER_ADAM, .precision = PRECISION_MIXED });
	OWN(planner) planner = { .store = store_new() };
	struct point kept = plan_of(&planner, graph, "none devices=4 strategy=zero zero=3", INT64_C(1) << 50);
	int64_t cap = kept.needs - kept.needs / 50;
	struct scenario scenario;
	struct error error = { 0 };
	char text[60];
	scenario_init(&scenario);
	scenario.value[K_allocator] = ALLOCATOR_PLAN;
	snprintf(text, sizeof text, "memory=%lld", (long long)cap);
	const char *const settings[] = { "recompute=auto", "devices=4", "strategy=zero", "zero=3", "reserve=0", text };
	for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
		cr_assert_eq(scenario_set(&scenario, settings[i], &error), OK, "%s", error.text);
	struct plan *plan = planner_run(&planner, graph, &scenario, PLAN_COMPLETE, &error);
	cr_assert_not_null(plan, "%s", error.text);
	cr_assert_leq(plan_needs(plan), cap);
	const char *said = "of the memory cap to the layout, what is gathered ahead and the buffers of groups";
	cr_assert_not_null(strstr(plan->transformed->notes, said), "%s", plan->transformed->notes);
	plan_release(plan);
	scenario_done(&scenario);
	/* Near the floor what runs again gathers its weights again, as recompute=full does, which runs before the step is
	 * split. */
	struct point full = plan_of(&planner, graph, "full devices=4 strategy=zero zero=3", INT64_C(1) << 50);
	struct point fits = plan_of(&planner, graph, "auto devices=4 strategy=zero zero=3", full.needs + full.needs / 50);
	cr_assert_leq(fits.needs, full.needs + full.needs / 50);
	cr_assert_leq(fits.time, full.time, "%lld ps, full %lld", (long long)fits.time, (long long)full.time);
}
