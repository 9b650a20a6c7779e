/* unit_idle_knobs.c: what is said to have no effect is planned with and without: the same order, offsets and times. */
#include <criterion/criterion.h>
#include <string.h>

#include "src/plan/came_to.h"
#include "src/decide/planner.h"
#include "src/read/input.h"
#include "src/scenario/idle_knobs.h"
#include "tests/common/planned.h"
#include "src/scenario/knobs.h"

/* Scenarios, and other values of knobs. */
static const char *const scenarios[] = {
	"",
	"device=a100-40gb",
	"device=v100-32gb",
	"device=b200-180gb software=torchtitan",
	"devices=4 strategy=data batch=8",
	"devices=4 strategy=megatron tp=2 batch=8",
	"devices=4 strategy=megatron tp=1 batch=8",
	"devices=2 strategy=minred batch=8",
	"devices=2 strategy=zero batch=8 memory=1GiB",
	"devices=4",
	"batch=8 microbatches=2",
	"devices=2 strategy=auto batch=8",
	"devices=2 pp=2 strategy=data microbatches=4 batch=8",
	"devices=2 pp=2 strategy=data microbatches=4 batch=8 schedule=interleaved",
	"recompute=full",
	"recompute=auto memory=700MiB device=a100-40gb",
	"order=list layout=bestfit",
	"devices=16 strategy=data batch=16",
};
static const char *const values[] = {
	"schedule=gpipe",
	"schedule=zb1p",
	"chunks=2",
	"chunks=3",
	"rank=0",
	"strategy=megatron",
	"sp=off",
	"sp=on",
	"zero=1",
	"zero=3",
	"padding=off",
	"slack=20",
	"reserve=1GiB",
	"random=never",
	"order=fast",
	"software=torchtitan",
	"software=maxtext",
	"dp=2",
	"tp=2",
	"cp=2",
	"ep=2",
	"prefetch=0",
	"reshard_after_forward=off",
	"reduce_dtype=param",
	"workspace=off",
	"effort=1",
};

static bool equal_plans(const struct plan *a, const struct plan *b)
{
	return a->graph->fingerprint == b->graph->fingerprint && plan_peak(a) == plan_peak(b) &&
		plan_arena(a) == plan_arena(b) && plan_step_time(a) == plan_step_time(b) &&
		memcmp(a->ordered->result.order, b->ordered->result.order, a->graph->ops * sizeof(uint32_t)) == 0;
}

Test(idle_knobs, without_effect_means_equal_plans)
{
	struct error error = { 0 };
	OWN(graph) *graph = graph_open("samples/alexnet_b1_adam.jsonl.gz", NULL, &error);
	OWN(planner) planner = { .store = store_new() };
	uint32_t idle = 0, works = 0;
	for (size_t s = 0; s < sizeof scenarios / sizeof *scenarios; s++) {
		OWN(scenario) scenario;
		scenario_init(&scenario);
		scenario_add(&scenario, scenarios[s]);
		OWN(plan) *plain = NULL;
		for (size_t v = 0; v < sizeof values / sizeof *values; v++) {
			OWN(scenario) other;
			char name[40];
			snprintf(name, sizeof name, "%.*s", (int)strcspn(values[v], "="), values[v]);
			cr_assert_eq(scenario_copy(&other, &scenario), OK);
			scenario_add(&other, values[v]);
			enum knob_id knob = knob_find(name);
			plain = plain ? plain : plan_with(&planner, graph, &scenario);
			bool same = other.value[knob] == scenario.value[knob] ||
				scenario.value[knob] != knobs[knob].normal;    /* beside its default */
			const char *why = same ? NULL : knob_idle(&other, knob);
			why = why || same ? why : plan_knob_idle(plain, knob);
			works += !why;
			if (why) {
				struct plan *plan = planner_run(&planner, graph, &other, PLAN_COMPLETE, &error);
				cr_expect(!plan || equal_plans(plain, plan), "%s with %s: %s", scenarios[s], values[v], why);
				plan_release(plan);
				idle++;
			}
		}
	}
	cr_assert(idle > 80 && works > 60, "%u without effect, %u with", idle, works);
}
