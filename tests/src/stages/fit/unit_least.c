/* unit_least.c: recompute=auto under limits that nothing keeps: the least memory found under any limit, whatever the
 * cap; and no tighter cap takes more memory than a looser one.
 *
 * VERBOSE=1 prints a row for each cap. */
#include <stdlib.h>

#include "src/plan/verdict.h"
#include "tests/common/fit_step.h"
#include "tests/common/planned.h"
#include "tests/common/random_step.h"

#define CAPS 8

static int64_t needs_of(struct planner *planner, struct graph *graph, const char *words, int64_t cap)
{
	OWN(scenario) scenario;
	char text[200];
	snprintf(text, sizeof text, cap > 0 ? "%s recompute=auto memory=%lld" : "%s", words, (long long)cap);
	scenario_of(text, &scenario);
	OWN(plan) *plan = plan_with(planner, graph, &scenario);
	return plan_needs(plan);
}

struct tally { uint32_t caps, below, rising, unequal; };

/* Caps from what keeping all needs down to far below what anything needs. */
static void lower_caps(const char *name, struct graph *graph, const char *words, struct tally *tally)
{
	OWN(planner) planner = { .store = store_new() };
	int64_t whole = needs_of(&planner, graph, words, 0), before = INT64_MAX, floor = -1;
	for (int64_t i = CAPS; i > 0; i--) {
		int64_t cap = whole / CAPS * i, needs = needs_of(&planner, graph, words, cap);
		bool below = needs > cap, unequal = below && floor >= 0 && needs != floor, rising = needs > before;
		if (getenv("VERBOSE") || unequal || rising)
			fprintf(stderr, "%-16s %-30s cap %11lld: %11lld%s%s%s\n", name, words, (long long)cap, (long long)needs,
				below ? ", above it" : "", unequal ? " UNEQUAL" : "", rising ? " RISING" : "");
		tally->caps++;
		tally->below += below;
		tally->unequal += unequal;
		tally->rising += rising;
		floor = below ? needs : floor;
		before = needs;
	}
	store_free(planner.store);
	planner.store = NULL;
}

static void no_less_below(const struct tally *tally)
{
	fprintf(stderr, "%u caps, %u that nothing keeps: %u need another memory there, %u more than under a looser one\n",
		tally->caps, tally->below, tally->unequal, tally->rising);
	cr_assert_gt(tally->below, 0);
	cr_assert_eq(tally->unequal, 0);
	cr_assert_eq(tally->rising, 0);
}

Test(least, memory_falls_with_the_cap_and_is_least_below_all)
{
	uint64_t random = test_seed();
	struct tally tally = { 0 };
	for (uint32_t round = 0; round < test_rounds(2, 60); round++) {
		char name[32];
		OWN(graph) *graph = random_step(&random, 20 + (uint32_t)(random_next(&random) % 40), 256);
		snprintf(name, sizeof name, "random step %u", round);
		lower_caps(name, graph, "", &tally);
	}
	no_less_below(&tally);
}

Test(least, of_models_too)
{
	static const char *const families[] = { "llama", "resnet18", "gpt", "bert", "t5", "vit", "moe" };
	struct tally tally = { 0 };
	for (size_t i = 0; i < sizeof families / sizeof *families && i < test_rounds(1, 7); i++) {
		OWN(graph) *graph = fit_model(families[i], 2);
		lower_caps(families[i], graph, "", &tally);
	}
	no_less_below(&tally);
}

Test(least, of_strategies_on_several_devices_too)
{
	static const char *const words[] = { "devices=2 strategy=zero", "devices=2 strategy=data", "devices=2 strategy=megatron" };
	struct tally tally = { 0 };
	OWN(graph) *graph = fit_model("gpt", 2);
	for (size_t i = 0; i < sizeof words / sizeof *words && i < test_rounds(1, 3); i++)
		lower_caps("gpt", graph, words[i], &tally);
	no_less_below(&tally);
}
