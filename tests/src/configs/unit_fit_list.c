/* unit_fit_list.c: what makes a step fit: every row is what planning it says, and the largest batch is the largest. */
#include <criterion/criterion.h>
#include <string.h>

#include "src/configs/fit_list.h"
#include "src/plan/verdict.h"
#include "tests/common/fit_step.h"
#include "src/scenario/knobs.h"

static void cap(struct scenario *scenario, int64_t bytes)
{
	scenario_init(scenario);
	scenario->value[K_memory] = bytes;
	scenario->value[K_effort] = 1;
}

/* A plan of the words, made by a planner that has planned nothing else. */
static struct plan *plan_anew(struct graph *graph, const struct scenario *base, const char *set)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(scenario) scenario;
	struct error error = { 0 };
	char words[FIT_SET_SIZE], *save = NULL;
	cr_assert_eq(scenario_copy(&scenario, base), OK);
	snprintf(words, sizeof words, "%s", set);
	for (char *word = strtok_r(words, " ", &save); word; word = strtok_r(NULL, " ", &save))
		cr_assert_eq(scenario_set(&scenario, word, &error), OK, "%s", error.text);
	struct plan *plan = planner_run(&planner, graph, &scenario, PLAN_COMPLETE, &error);
	return plan;
}

struct seen { uint32_t calls, rows; };

static void count(void *context, const struct fit_list *list, const struct fit_way *way)
{
	(void)way;
	struct seen *seen = context;
	cr_assert_geq(list->ways + list->useless, seen->rows, "rows don't go away");
	seen->rows = list->ways + list->useless;
	seen->calls++;
}

/* Each row saves something of what our own order needs, and of those as fast as the first the first needs least. */
static void check_sorting(const struct fit_list *list)
{
	for (uint32_t i = 0; i < list->ways; i++) {
		const struct fit_way *way = &list->way[i], *first = list->way;
		bool saves = way->came.needs < (strcmp(way->group, "allocator") == 0 ? list->base.needs : list->ours);
		cr_assert(saves || !(way->planned || way->above), "%s saves nothing", way->set);
		cr_assert(i == 0 || !way->fits || way[-1].fits, "%s fits and comes late", way->set);
		if (way->fits && way->extra <= first->extra)
			cr_assert(first->came.needs <= way->came.needs, "%s is as fast and needs less", way->set);
		if (way->fits && i > 0)
			cr_assert(way->extra >= first->extra - (list->base.step + way->extra) / 1000, "%s is faster", way->set);
	}
}

/* At so many tenths of what the step needs. captured: PyTorch runs it. */
static void check_rows(const char *model, int64_t tenths, bool captured)
{
	OWN(graph) *graph = fit_model(model, 2);
	OWN(planner) planner = { .store = store_new() };
	OWN(scenario) scenario;
	struct fit_list list, copy;
	struct error error = { 0 };
	struct seen seen = { 0 };
	uint32_t proved = 0;
	graph->source = captured ? graph->source : "hand-written";
	scenario_init(&scenario);
	OWN(plan) *whole = plan_anew(graph, &scenario, "order=program");
	cap(&scenario, plan_arena(whole) / 10 * tenths);
	cr_assert_eq(fit_list_find(&planner, graph, &scenario,
			&(struct fit_question){ 2, NULL, &(struct fit_watch){ count, &seen } }, &list, &error), OK,
		"%s", error.text);
	cr_assert(!list.fits && list.fitting > 0, "%s", model);
	cr_assert_geq(seen.calls, list.ways);
	check_sorting(&list);
	cr_assert(list.captured == captured && (captured ? list.ours < list.base.needs : list.ours == list.base.needs), "%s", model);
	for (uint32_t i = 0; i < list.ways; i++) {
		const struct fit_way *way = &list.way[i];
		proved += way->above;
		if ((i + test_seed()) % test_rounds(4, 1))   /* the others another time */
			continue;
		OWN(plan) *plan = plan_anew(graph, &scenario, way->set);
		cr_assert_eq(plan != NULL, way->planned || way->above, "%s", way->set);
		cr_assert(!way->above || (way->came.needs > list.budget && plan_verdict(plan).needed >= way->came.needs), "%s", way->set);
		if (way->planned) {
			cr_assert_eq(plan_verdict(plan).needed, way->came.needs, "%s", way->set);
			cr_assert(plan_step_time(plan) < 0 || plan_step_time(plan) == way->came.step, "%s", way->set);
			cr_assert_eq(way->fits, way->came.needs <= list.budget);
		}
	}
	cr_assert(proved > 0 || strcmp(model, "gpt") != 0, "what no order of it keeps is not planned");
	cr_assert_eq(fit_list_copy(&copy, &list), OK);
	cr_assert(copy.ways == list.ways && copy.way != list.way);
	fit_list_free(&copy);
	fit_list_free(&list);
}

Test(fit_list, every_row_planned_anew_is_the_same)
{
	static const char *const models[] = { "gpt", "resnet", "llama" };
	for (uint32_t i = 0; i < test_rounds(1, 3); i++)
		check_rows(models[i], 8, false);
	check_rows("gpt", 8, true);
}

static void cancel_after_one(void *context, const struct fit_list *list, const struct fit_way *way)
{
	(void)list;
	(void)way;
	atomic_store((atomic_bool *)context, true);
}

/* Cancelled when something is planned: the list has just that, and says so. */
Test(fit_list, a_list_that_is_cut_short_has_what_was_planned)
{
	OWN(graph) *graph = fit_model("gpt", 2);
	atomic_bool cancel = false;
	OWN(planner) planner = { .store = store_new(), .control = { .cancel = &cancel } };
	OWN(scenario) scenario;
	struct fit_list list;
	struct error error = { 0 };
	scenario_init(&scenario);
	OWN(plan) *whole = plan_anew(graph, &scenario, "order=program");
	cap(&scenario, plan_arena(whole) / 10 * 8);
	const struct fit_watch watch = { cancel_after_one, &cancel };
	const struct fit_question question = { 1, NULL, &watch };
	cr_assert_eq(fit_list_find(&planner, graph, &scenario, &question, &list, &error), OK, "%s", error.text);
	cr_assert(list.limited);
	cr_assert(list.ways + list.useless >= 1 && list.ways + list.useless <= 4, "%u rows", list.ways + list.useless);
	for (uint32_t i = 0; i < list.ways; i++)
		cr_assert(list.way[i].planned || list.way[i].above, "%s wasn't planned", list.way[i].set);
	fit_list_free(&list);
}

/* A base that nothing trains is told of, by its bytes; tables and a head as large stay as they are. */
Test(fit_list, frozen_weights_are_counted)
{
	OWN(draft) *draft = draft_new();
	struct error error = { 0 };
	const struct tensor tensors[] = {
		{ .name = "base", .bytes = 4096, .kind = KIND_PARAMETER, .dtype = DTYPE_F32, .dims = 2,
			.shape = (const int64_t[]){ 32, 32 }, .alias = NONE, .has_bytes = true },
		{ .name = "trained", .bytes = 4096, .kind = KIND_PARAMETER, .dtype = DTYPE_F32, .dims = 2,
			.shape = (const int64_t[]){ 32, 32 }, .alias = NONE, .has_bytes = true },
		{ .name = "y", .bytes = 8192, .kind = KIND_ACTIVATION, .dtype = DTYPE_F32, .dims = 2,
			.shape = (const int64_t[]){ 64, 32 }, .alias = NONE, .has_bytes = true },
		{ .name = "table", .bytes = 16384, .kind = KIND_PARAMETER, .dtype = DTYPE_F32, .dims = 2,
			.shape = (const int64_t[]){ 128, 32 }, .alias = NONE, .has_bytes = true },
		{ .name = "head", .bytes = 16384, .kind = KIND_PARAMETER, .dtype = DTYPE_F32, .dims = 2,
			.shape = (const int64_t[]){ 128, 32 }, .alias = NONE, .has_bytes = true },
		{ .name = "rows", .bytes = 8192, .kind = KIND_ACTIVATION, .dtype = DTYPE_F32, .dims = 2,
			.shape = (const int64_t[]){ 64, 32 }, .alias = NONE, .has_bytes = true },
	};
	for (int i = 0; i < 6; i++)
		draft_tensor(draft, &tensors[i]);
	uint32_t lookup = draft_op(draft, &(struct op){ .name = "lookup", .type = "aten.embedding", .module = "", .flops = -1 });
	draft_read(draft, lookup, 3);
	draft_write(draft, lookup, 5);
	uint32_t forward = draft_op(draft, &(struct op){ .name = "forward", .type = "aten.f", .module = "", .flops = -1 }),
			 update = draft_op(draft,
				 &(struct op){ .name = "update", .type = "aten.u_", .module = "", .phase = PHASE_UPDATE, .flops = -1 });
	draft_read(draft, forward, 0);
	draft_read(draft, forward, 1);
	draft_read(draft, forward, 4);
	draft_read(draft, forward, 5);
	draft_write(draft, forward, 2);
	draft_read(draft, update, 2);
	draft_inplace(draft, update, NONE, 1);
	draft_describe(draft, "lora", "torch", NULL, NULL);
	OWN(graph) *graph = graph_build(draft, &error);
	cr_assert_not_null(graph, "%s", error.text);
	OWN(planner) planner = { .store = store_new() };
	OWN(scenario) scenario;
	struct fit_list list;
	cap(&scenario, 4096);
	const struct fit_question question = { 1, NULL, NULL };
	cr_assert_eq(fit_list_find(&planner, graph, &scenario, &question, &list, &error), OK, "%s", error.text);
	cr_assert_eq(list.frozen, 4096);
	cr_assert_eq(list.weights, 1024);
	fit_list_free(&list);
}

Test(fit_list, the_largest_batch_is_the_largest)
{
	OWN(graph) *graph = fit_model("bert", 1);
	OWN(planner) planner = { .store = store_new() };
	OWN(scenario) scenario;
	struct fit_most most;
	struct error error = { 0 };
	cap(&scenario, 0);
	struct plan *plan = plan_anew(graph, &scenario, "batch=5");
	scenario.value[K_memory] = plan_needs(plan);
	plan_release(plan);
	cr_assert_eq(fit_most_find(&planner, graph, &scenario, K_batch, 1, &most, &error), OK, "%s", error.text);
	for (int64_t batch = 1; batch <= 7; batch++) {
		char words[32];
		snprintf(words, sizeof words, "batch=%d", (int)batch);
		plan = plan_anew(graph, &scenario, words);
		cr_assert_eq(plan_needs(plan) <= most.budget, batch <= most.most, "%s", words);
		cr_assert(batch != most.most || plan_needs(plan) == most.came.needs);
		plan_release(plan);
	}
	cr_assert_eq(most.most, 5);
	cr_assert_eq(most.next, 6);
	scenario.value[K_reserve] = 0;      /* a limit of a card's size would have its context, too */
	plan = plan_anew(graph, &scenario, "batch=93");
	scenario.value[K_memory] = plan_needs(plan);
	plan_release(plan);
	cr_assert_eq(fit_most_find(&planner, graph, &scenario, K_batch, 1, &most, &error), OK, "%s", error.text);
	cr_assert_eq(most.most, 93);
	cr_assert_eq(most.next, 94);
	cr_assert(most.plans <= 9, "needs that rise evenly lead to it: %u plans", most.plans);
	scenario.value[K_memory] = 1000;
	cr_assert_eq(fit_most_find(&planner, graph, &scenario, K_batch, 1, &most, &error), INFEASIBLE);
	cr_assert_eq(most.most, 0);
}

static atomic_bool most_cancel;
static int most_left;

static enum status order_then_cancel(const struct problem *problem, const struct order_options *options,
	struct control *control, struct order_result *result)
{
	enum status status = order_solve(problem, options, control, result);
	if (--most_left == 0)
		atomic_store(&most_cancel, true);
	return status;
}

/* Cancelled anywhere: the largest that was planned by then, if one was, and that it is cut short. */
Test(fit_list, the_largest_so_far_is_told)
{
	OWN(graph) *graph = fit_model("bert", 1);
	OWN(scenario) scenario;
	cap(&scenario, 0);
	struct plan *plan = plan_anew(graph, &scenario, "batch=5");
	scenario.value[K_memory] = plan_needs(plan);
	plan_release(plan);
	int cut = 0;
	for (int after = 1; after <= 12; after++) {
		OWN(planner) planner = { .store = store_new(), .control = { .cancel = &most_cancel },
			.order_solver = order_then_cancel };
		struct fit_most most;
		struct error error = { 0 };
		most_left = after;
		atomic_store(&most_cancel, false);
		enum status status = fit_most_find(&planner, graph, &scenario, K_batch, 1, &most, &error);
		cr_assert_eq(status, most.most == 0 ? CANCELLED : OK);
		cr_assert_eq(most.limited, most.most > 0 && most.next != most.most + 1, "%d: %d", after, (int)most.most);
		cut += most.limited;
	}
	cr_assert(cut > 0);
}

Test(fit_list, devices_are_sorted_and_planned)
{
	OWN(graph) *graph = fit_model("bert", 1);
	OWN(planner) planner = { .store = store_new() };
	OWN(scenario) scenario;
	struct fit_device device[DEVICE_COUNT];
	struct error error = { 0 };
	uint32_t devices;
	scenario_init(&scenario);
	cr_assert_eq(fit_devices_find(&planner, graph, &scenario, device, &devices, &error), OK);
	cr_assert_eq(devices, DEVICE_COUNT - 1);
	for (uint32_t i = 0; i < devices; i++) {
		cr_assert(i == 0 || device[i - 1].memory <= device[i].memory);
		cr_assert(device[i].planned && device[i].fits == (device[i].came.needs <= device[i].memory) && device[i].came.step > 0);
	}
}
