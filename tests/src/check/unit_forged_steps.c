/* unit_forged_steps.c: steps of which an op computes something else: `check` accepts none, where things run again and
 * after any stage. */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "solver/recompute/apply.h"
#include "src/check/check.h"
#include "src/check/state.h"
#include "src/decide/planner.h"
#include "src/stages/fit/stage.h"
#include "tests/common/forged_step.h"
#include "tests/common/planned.h"

/* ---- steps that run things again ------------------------------------------------------------- */

/* Which value a tensor holds, if nothing is written in place: its own, or the one that a copy's op stands for. */
static uint64_t value_of(const struct graph *graph, uint32_t tensor)
{
	uint32_t writer = graph->tensor[tensor].writer;
	const char *name = writer == NONE ? graph->tensor[tensor].name
		: graph->op[writer].recomputed && graph->op[writer].of ? graph->op[writer].of
		: graph->op[writer].name;
	uint64_t hash = 1;
	for (; *name; name++)
		hash = hash_join(hash, (uint64_t)*name);
	for (uint32_t k = 0; writer != NONE && k < csr_length(&graph->writes, writer); k++)
		hash = graph->writes.item[graph->writes.start[writer] + k] == tensor ? hash_join(hash, k) : hash;
	return hash;
}

/* Whether the value of a tensor is looked at: running statistics and saved random states are not. */
static bool counts(const struct graph *graph, uint32_t tensor)
{
	uint32_t writer = graph->tensor[tensor].writer;
	return graph->storage[graph->tensor[tensor].storage].kind != KIND_BUFFER &&
		(writer == NONE || graph->op[writer].added != ADDED_RANDOM_STATE);
}

static bool is_read(const struct graph *graph, uint32_t op)
{
	FOR_ROW(i, &graph->writes, op)
		for (uint32_t k = 0; k < graph->reads.start[graph->ops]; k++)
			if (graph->reads.item[k] == graph->writes.item[i])
				return true;
	return false;
}

static struct rules *all_rules;

static void refused(const struct plan *plan, const json_t *file, const char *what, const char *op, const char *tensor)
{
	struct error error = { 0 };
	struct check check = {
		.plan = (json_t *)(uintptr_t)file, .asked = plan->scenario, .error = &error, .rules = all_rules
	};
	const struct fitted *fitted = plan->transformed->fitted;
	enum status status = check_recompute(&check, fitted, fitted->recomputed);
	arena_free(&check.arena);
	cr_assert_eq(
		status, INFEASIBLE, "%s: %s %s is accepted (SEED=%llu)", what, op, tensor, (unsigned long long)test_seed());
}

/* An op that reads something else, a copy that stands for another op, or for none. */
static void break_step(const struct plan *plan, const json_t *file, uint32_t rounds)
{
	struct graph *graph = plan->transformed->fitted->recomputed;
	uint64_t random = test_seed();
	uint32_t tried[3] = { 0 };
	for (uint32_t round = 0; round < rounds; round++) {
		uint32_t op = (uint32_t)(random_next(&random) % graph->ops), reads = csr_length(&graph->reads, op),
				 other = (uint32_t)(random_next(&random) % graph->tensors);
		uint32_t *read = &graph->reads.item[graph->reads.start[op] + (reads ? random_next(&random) % reads : 0)],
				 old = reads ? *read : other;
		struct op *copy = &graph->op[op], kept = *copy;
		bool writes = csr_length(&graph->writes, op) > 0 &&
			graph->tensor[graph->writes.item[graph->writes.start[op]]].storage == graph->tensor[other].storage;
		if (value_of(graph, old) != value_of(graph, other) && counts(graph, old) && counts(graph, other) && !writes
			&& copy->added != ADDED_RANDOM_STATE) {
			*read = other;
			refused(plan, file, "another tensor is read", copy->name, graph->tensor[other].name);
			*read = old;
			tried[0]++;
		}
		if (copy->recomputed && copy->of) {
			copy->of = graph->op[random_next(&random) % graph->ops].name;
			if (strcmp(copy->of, kept.of) != 0 && is_read(graph, op))
				refused(plan, file, "a copy of another op", copy->name, copy->of), tried[1]++;
			copy->of = kept.of;
			copy->recomputed = false;
			if (is_read(graph, op))
				refused(plan, file, "a copy of no op", copy->name, ""), tried[2]++;
			copy->recomputed = true;
		}
	}
	printf("    %u other reads, %u copies of other ops, %u of none: all refused\n", tried[0], tried[1], tried[2]);
	cr_assert(tried[0] > 10 && (tried[1] + tried[2] > 0 || plan->scenario.pins));
}

static void break_steps(const char *name, const char *words)
{
	OWN(scenario) scenario;
	struct error error;
	scenario_init(&scenario);
	scenario_add(&scenario, words);
	OWN(graph) *graph = graph_of(name);
	OWN(planner) planner = { .store = store_new() };
	OWN(plan) *plan = planner_run(&planner, graph, &scenario, PLAN_COMPLETE, &error);
	cr_assert(plan && plan->transformed->fitted, "%s", error.text);
	char *text = plan_text(plan);
	json_t *file = json_loads(text, 0, NULL);
	all_rules = rules_new();
	struct check check = { .plan = file, .asked = plan->scenario, .error = &error, .rules = all_rules };
	cr_assert_eq(check_recompute(&check, plan->transformed->fitted, plan->transformed->fitted->recomputed), OK, "%s",
		error.text);
	arena_free(&check.arena);
	printf("%s %s:\n", name, words);
	uint32_t masked = 0;
	for (uint32_t op = 0; op < plan->transformed->fitted->recomputed->ops; op++)
		masked += strcmp(plan->transformed->fitted->recomputed->op[op].type, RECOMPUTE_MASKED_TYPE) == 0;
	cr_assert_eq(masked > 0, strstr(words, "random=mask") != NULL);
	break_step(plan, file, test_rounds(150, 20000));
	rules_free(all_rules);
	json_decref(file);
	free(text);
}

Test(forged_steps, a_step_that_computes_something_else_is_refused)
{
	break_steps("gpt", "recompute=full order=list layout=bestfit");
	break_steps("gpt", "recompute=selective order=list layout=bestfit");
	break_steps("gpt", "recompute=auto memory=32MiB allocator=plan");
	break_steps("gpt", "recompute=auto memory=32MiB allocator=plan random=mask");
	break_steps("chain.jsonl", "recompute=full layout=bestfit;offload conv1.out");
}

/* ---- stages that make something else --------------------------------------------------------- */

#define STAGES_MOST 16
static struct { const char *step; struct graph *before, *after; } seen[STAGES_MOST];
static uint32_t stages_seen;

static enum status see(void *context, const char *step, const struct graph *before, const struct graph *after)
{
	(void)context;
	cr_assert_lt(stages_seen, STAGES_MOST);
	seen[stages_seen].step = step;
	seen[stages_seen].before = graph_retain((struct graph *)(uintptr_t)before);
	seen[stages_seen++].after = graph_retain((struct graph *)(uintptr_t)after);
	return OK;
}

/* Made by an op that the stage did not add, or by one of a chunk; or there from the start. */
static bool is_given(const struct graph *before, const struct graph *after, uint32_t tensor)
{
	uint32_t writer = after->tensor[tensor].writer;
	return writer == NONE || graph_find_op(before, after->op[writer].name) != NONE ||
		strstr(after->op[writer].name, ".chunk");
}

/* An op of the step that was made reads something else, or is of another type; a tensor that was scaled has other
 * bytes. */
static void break_stage(struct check *check, uint32_t stage, uint32_t rounds)
{
	struct graph *before = seen[stage].before, *graph = seen[stage].after;
	bool train = strcmp(seen[stage].step, "train") == 0, scale = strcmp(seen[stage].step, "scale") == 0;
	uint64_t random = test_seed();
	uint32_t tried[3] = { 0 };
	for (uint32_t round = 0; round < rounds; round++) {
		uint32_t op = (uint32_t)(random_next(&random) % graph->ops), reads = csr_length(&graph->reads, op),
				 other = (uint32_t)(random_next(&random) % graph->tensors);
		bool chunk = strstr(graph->op[op].name, ".chunk") != NULL;
		if (reads == 0 || graph->op[op].phase == PHASE_UPDATE || (train && graph->op[op].phase != PHASE_FORWARD) ||
			!(chunk || graph_find_op(before, graph->op[op].name) != NONE))
			continue;
		uint32_t *read = &graph->reads.item[graph->reads.start[op] + random_next(&random) % reads], old = *read;
		bool differ = graph->tensor[old].storage != graph->tensor[other].storage && graph->tensor[old].bytes > 8 &&
			value_of(graph, old) != value_of(graph, other);
		if (differ && counts(graph, old) && counts(graph, other) && is_given(before, graph, old) &&
			is_given(before, graph, other)) {
			*read = other;
			cr_assert_eq(made_check(check, seen[stage].step, before, graph), INFEASIBLE,
				"%s: %s reads %s in place of %s (SEED=%llu)", seen[stage].step, graph->op[op].name,
				graph->tensor[other].name, graph->tensor[old].name, (unsigned long long)test_seed());
			*read = old;
			tried[0]++;
		}
		const char *type = graph->op[op].type;
		graph->op[op].type = "aten.forged.default";
		cr_assert_eq(made_check(check, seen[stage].step, before, graph), INFEASIBLE, "%s: %s has another type",
			seen[stage].step, graph->op[op].name);
		graph->op[op].type = type;
		tried[1]++;
		uint32_t same = graph_find_tensor(before, graph->tensor[other].name);
		if (scale && same != NONE && before->tensor[same].bytes != graph->tensor[other].bytes) {
			graph->tensor[other].bytes++;
			cr_assert_eq(made_check(check, seen[stage].step, before, graph), INFEASIBLE, "%s: %s has other bytes",
				seen[stage].step, graph->tensor[other].name);
			graph->tensor[other].bytes--;
			tried[2]++;
		}
	}
	printf("    %s: %u other reads, %u other types, %u other bytes: all refused\n", seen[stage].step, tried[0],
		tried[1], tried[2]);
	cr_assert(tried[0] > 0 && tried[1] > 0 && (tried[2] > 0 || !scale));
}

/* What the stages make of a graph, seen one by one. */
struct staged {
	struct error error;
	struct control control;
	struct stage_context stage;
	struct check check;
	struct graph *given;
	struct transformed *transformed;
};

static void staged_make(struct staged *staged, const char *name, const char *words)
{
	*staged = (struct staged){ .given = graph_of(name) };
	struct plan_wish wish = { .margin = MARGIN_NO_CAP };
	struct check *check = &staged->check;
	*check = (struct check){ .error = &staged->error, .rules = rules_new() };
	staged->stage = (struct stage_context){
		.store = store_new(), .control = &staged->control, .rules = check->rules, .witness = see
	};
	scenario_init(&check->scenario);
	scenario_add(&check->scenario, words);
	staged->transformed = stage_transform(
		&staged->stage, staged->given, &check->scenario, &wish, true, &staged->error);
	cr_assert_not_null(staged->transformed, "%s", staged->error.text);
	for (uint32_t i = 0; i < stages_seen; i++)
		cr_assert_eq(made_check(check, seen[i].step, seen[i].before, seen[i].after), OK, "%s: %s", seen[i].step,
			staged->error.text);
}

static void staged_end(struct staged *staged)
{
	for (; stages_seen > 0; stages_seen--) {
		graph_release(seen[stages_seen - 1].before);
		graph_release(seen[stages_seen - 1].after);
	}
	transformed_release(staged->transformed);
	rules_free(staged->check.rules);
	store_free(staged->stage.store);
	scenario_done(&staged->check.scenario);
	graph_release(staged->given);
	cr_assert_eq(memory_blocks(), 0);
}

static uint32_t break_stages(const char *name, const char *words)
{
	struct staged staged;
	uint32_t broken = 0;
	staged_make(&staged, name, words);
	printf("%s %s:\n", name, words);
	for (uint32_t i = 0; i < stages_seen; i++)
		if (strcmp(seen[i].step, "shard") != 0 && strncmp(seen[i].step, "recompute", 9) != 0 &&
			seen[i].before != seen[i].after)
			break_stage(&staged.check, i, test_rounds(25, 5000)), broken++;
	staged_end(&staged);
	return broken;
}

Test(forged_steps, a_stage_that_makes_something_else_is_refused)
{
	cr_assert_eq(break_stages("gpt", "batch=4 precision=bf16 loss_chunks=3 recompute=full in_place=off"), 4);
	cr_assert_eq(break_stages("gpt", "train=ideal float8=on"), 2);
	cr_assert_eq(break_stages("llama", "optimizer=sgd accumulation=2 devices=2 strategy=data"), 2);
}

/* State in the host: a copy of something else, or none, is refused. */
Test(forged_steps, state_that_does_not_go_back_is_refused)
{
	struct staged staged;
	staged_make(&staged, "mobilenet_v2_b1_adam.jsonl.gz", "offload=states");
	cr_assert_eq(stages_seen, 1);
	struct graph *before = seen[0].before, *graph = seen[0].after;
	uint32_t tried = 0, last = NONE;
	for (uint32_t op = 0; op < graph->ops; op++) {
		if (graph->op[op].added != ADDED_FETCH && graph->op[op].added != ADDED_OFFLOAD)
			continue;
		uint32_t *read = &graph->reads.item[graph->reads.start[op]], old = *read;
		if (last != NONE && graph->op[last].added == graph->op[op].added) {
			*read = graph->reads.item[graph->reads.start[last]];
			cr_assert_eq(made_check(&staged.check, seen[0].step, before, graph), INFEASIBLE, "%s copies another state",
				graph->op[op].name);
			*read = old;
		}
		if (graph->op[op].added == ADDED_OFFLOAD) {
			struct storage *copy = &graph->storage[graph->tensor[graph->writes.item[graph->writes.start[op]]].storage];
			copy->live_out = false;
			cr_assert_eq(made_check(&staged.check, seen[0].step, before, graph), INFEASIBLE, "%s is lost", graph->op[op].name);
			copy->live_out = true;
		} else {
			struct tensor *host = &graph->tensor[old];
			graph->storage[host->storage].bytes = 8;
			host->bytes = 8;
			cr_assert_eq(made_check(&staged.check, seen[0].step, before, graph), INFEASIBLE, "%s is on the device, too", host->name);
			host->bytes = graph->storage[host->storage].bytes = 0;
		}
		last = op;
		tried++;
	}
	cr_assert_gt(tried, 80);
	staged_end(&staged);
}
