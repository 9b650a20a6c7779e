/* unit_session.c: sessions: a worker that can always be stopped, undo, replay. */
#include <malloc.h>
#include <string.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/decide/planner.h"
#include "src/models/models.h"
#include "src/read/input.h"
#include "src/scenario/knobs.h"
#include "src/session/commands.h"
#include "src/tidemark.h"
#include "src/session/worker.h"
#include "tests/common/model_steps.h"
#include "tests/common/support.h"

static struct session *new_session(const char *path, const struct session_options *options)
{
	struct error error;
	struct scenario scenario;
	struct graph *graph = path ? graph_open(path, NULL, &error) : NULL;
	scenario_init(&scenario);
	struct session *session = session_new(graph, path, &scenario, options, &error);
	cr_assert_not_null(session, "%s", error.text);
	return session;
}

/* Polls until the newest plan is the present scenario's own; false after some seconds. */
static bool settled(struct session *session, bool complete)
{
	double end = clock_seconds(CLOCK_MONOTONIC) + 20;
	while (clock_seconds(CLOCK_MONOTONIC) < end) {
		struct session_status status;
		session_poll(session);
		session_status(session, &status);
		const struct plan *plan = session_plan(session);
		if (plan && !status.stale && (!complete || plan->complete))
			return true;
		usleep(500);
	}
	return false;
}

/* Solves until it is told to stop. */
static enum status never_ends(const struct problem *problem, const struct order_options *options,
	struct control *control, struct order_result *result)
{
	(void)options;
	order_quick(problem, &(struct control){ 0 }, result);
	while (!control_spend(control, 1000))
		usleep(100);
	return control_status(control);
}

Test(session, a_solver_that_never_ends_can_be_stopped_and_superseded)
{
	struct session_options options = { .interactive = true, .order_solver = never_ends };
	OWN(session) *session = new_session("samples/alexnet_b1_adam.jsonl.gz", &options);
	struct session_status status;
	cr_assert(settled(session, false), "a quick plan shows while solving");
	for (int i = 0; i < 20; i++) {
		double begin = clock_seconds(CLOCK_MONOTONIC);
		cr_assert_eq(session_command(session, i % 2 ? "set layout=bestfit" : "set layout=best", NULL), OK);
		session_status(session, &status);
		cr_assert(status.solving);
		cr_assert(clock_seconds(CLOCK_MONOTONIC) - begin < 0.5, "a command returns at once");
		cr_assert(settled(session, false));
	}
	session_cancel(session);
	cr_assert(settled(session, true), "the best so far stays");
	cr_assert(session_plan(session)->limited);
	uint32_t runs = session_runs(session);
	cr_assert_eq(session_command(session, "set layout=best", NULL), OK);
	session_cancel(session);
	do {
		usleep(2000);
		session_poll(session);
		session_status(session, &status);
	} while (status.solving);
	session_poll(session);
	cr_assert(session_runs(session) > runs || strcmp(session_missed(session, 0), "stopped  layout=best") == 0);
}

Test(session, undo_and_redo_restore_scenario_and_cursor)
{
	struct session_options options = { .interactive = false };
	OWN(session) *session = new_session("samples/diamond.jsonl", &options);
	uint32_t op, tensor;
	struct error error;
	session_set_cursor(session, 3, 4);
	cr_assert_eq(session_command(session, "set order=list", &error), OK);
	cr_assert_eq(session_command(session, "pin op right_pool before left_pool", &error), OK, "%s", error.text);
	cr_assert_eq(session_command(session, "set alignment=512", &error), OK, "%s", error.text);
	cr_assert_eq(session_scenario(session)->pins, 1);
	session_set_cursor(session, 5, 6);
	cr_assert_eq(session_command(session, "undo", &error), OK);
	cr_assert_eq(session_scenario(session)->value[K_alignment], 1);
	cr_assert_eq(session_command(session, "undo", &error), OK);
	cr_assert_eq(session_scenario(session)->pins, 0);
	while (session_command(session, "undo", &error) == OK)
		;
	cr_assert_eq(session_scenario(session)->value[K_order], ORDER_AUTO);
	session_cursor(session, &op, &tensor);
	cr_assert(op == 3 && tensor == 4);
	while (session_command(session, "redo", &error) == OK)
		;
	cr_assert(session_scenario(session)->value[K_alignment] == 512 && session_scenario(session)->pins == 1);
	session_cursor(session, &op, &tensor);
	cr_assert(op == 5 && tensor == 6);
}

Test(session, several_knobs_are_one_step)
{
	struct session_options options = { .interactive = false };
	OWN(session) *session = new_session("samples/diamond.jsonl", &options);
	const struct scenario *scenario;
	cr_assert_eq(session_command(session, "set devices=4  memory=80 GiB tp=2", NULL), OK);
	scenario = session_scenario(session);
	cr_assert(scenario->value[K_devices] == 4 && scenario->value[K_memory] == INT64_C(80) << 30 &&
		scenario->value[K_tp] == 2);
	cr_assert_eq(session_command(session, "set devices=8 tp=none", NULL), BAD_INPUT);
	cr_assert_eq(session_scenario(session)->value[K_devices], 4, "one mistake changes nothing");
	cr_assert_eq(session_command(session, "undo", NULL), OK);
	scenario = session_scenario(session);
	cr_assert(scenario->value[K_devices] == 1 && scenario->value[K_memory] == KNOB_GIVEN &&
		scenario->value[K_tp] == KNOB_GIVEN);
	cr_assert_eq(session_command(session, "set", NULL), BAD_INPUT);
}

Test(session, an_export_takes_a_view_and_a_quoted_name_and_logs_what_reads_back)
{
	static const struct { const char *typed, *path, *view, *stage, *text; } cases[] = {
		{ "svg a.svg", "a.svg", "", "", "export svg a.svg" },
		{ "svg a.svg --view map", "a.svg", "map", "", "export svg a.svg --view map" },
		{ "svg --view=map a.svg", "a.svg", "map", "", "export svg a.svg --view map" },
		{ "dot! \"my file.dot\" --stage input", "my file.dot", "", "input", "export dot \"my file.dot\" --stage input" },
		{ "dot my file.dot  --view layers", "my file.dot", "layers", "", "export dot \"my file.dot\" --view layers" },
		{ "dot \"a --view b\"", "a --view b", "", "", "export dot \"a --view b\"" },
		{ "pdf a.pdf --view timeline --width=240 --no-legend", "a.pdf", "timeline", "",
			"export pdf a.pdf --view timeline --width 240 --no-legend" },
		{ "csv a --viewed", "a --viewed", "", "", "export csv \"a --viewed\"" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct export_line line, again;
		char text[5300];
		cr_assert_eq(export_line_parse(cases[i].typed, &line, NULL), OK, "%s", cases[i].typed);
		cr_assert_str_eq(line.path, cases[i].path);
		cr_assert_str_eq(line.view, cases[i].view);
		cr_assert_str_eq(line.stage, cases[i].stage);
		cr_assert_eq(line.force, cases[i].typed[3] == '!');
		cr_assert_str_eq(export_line_text(&line, text, sizeof text), cases[i].text);
		cr_assert_eq(export_line_parse(text + 7, &again, NULL), OK);
		cr_assert(strcmp(again.path, line.path) == 0 && strcmp(again.view, line.view) == 0 &&
			strcmp(again.stage, line.stage) == 0);
	}
}

Test(session, mistakes_change_nothing_and_say_why)
{
	static const char *const mistakes[] = { "set order=fastest", "set nothing=1", "pin op a before b", "unpin 1",
		"undo", "redo", "export nothing x", "export json", "export json x --stage middle", "export json x y\" --view", "export pdf x --width 3", "export pdf x --width",
		"fly", "set order", "reset nothing", "open /nowhere" };
	struct session_options options = { .interactive = false };
	OWN(session) *session = new_session("samples/diamond.jsonl", &options);
	for (size_t i = 0; i < sizeof mistakes / sizeof *mistakes; i++) {
		struct error error;
		struct session_status status;
		cr_assert_neq(session_command(session, mistakes[i], &error), OK, "%s", mistakes[i]);
		session_status(session, &status);
		cr_assert(error.text[0] && strcmp(status.message, error.text) == 0, "%s", mistakes[i]);
	}
	session_wait(session);
	cr_assert(settled(session, true));
}

static const struct preview *answer(struct session *session, enum knob_id knob, int64_t value)
{
	const struct preview *preview;
	double end = clock_seconds(CLOCK_MONOTONIC) + 20;
	while (!(preview = session_preview(session, knob, value)) && clock_seconds(CLOCK_MONOTONIC) < end) {
		usleep(500);
		session_poll(session);
	}
	cr_assert(preview, "no answer");
	return preview;
}

Test(session, a_preview_is_what_the_plan_comes_to_with_the_least_effort)
{
	OWN(session) *session = new_session(
		"samples/alexnet_b1_adam.jsonl.gz", &(struct session_options){ .interactive = true });
	cr_assert(settled(session, true));
	struct preview preview = *answer(session, K_order, ORDER_PROGRAM);
	cr_assert(preview.known);
	cr_assert_eq(preview.peak_bytes, session_plan(session)->ordered->program_peak);
	cr_assert_eq(session_preview(session, K_order, ORDER_PROGRAM)->peak_bytes, preview.peak_bytes, "answers are kept");
	session_preview(session, K_alignment, 512);     /* given up: */
	preview = *answer(session, K_workspace, 0);
	cr_assert(preview.known);
	cr_assert_eq(session_command(session, "set order=program", NULL), OK);
	cr_assert_null(session_preview(session, K_workspace, 0), "answers belong to one scenario");
	cr_assert(settled(session, true));
	cr_assert_eq(session_plan(session)->scenario.value[K_order], ORDER_PROGRAM);
	cr_assert_not(session_plan(session)->limited);
}

/* What has no plan yet is as far from the plan on the screen as heuristics' plans are apart; what has one is exact. */
Test(session, a_preview_of_a_configuration_is_what_heuristics_say)
{
	struct error error;
	OWN(scenario) scenario, other;
	OWN(graph) *graph = step_of_sizes("gpt", (struct model_config){ .layers = 2, .batch = 8, .seq = 32 });
	scenario_init(&scenario);
	static const char *const set[] = { "devices=8", "strategy=megatron", "dp=4", "tp=2", "order=program",
		"layout=bestfit" };
	for (size_t i = 0; i < sizeof set / sizeof *set; i++)
		cr_assert_eq(scenario_set(&scenario, set[i], &error), OK);
	OWN(session) *session = session_new(
		graph_retain(graph), NULL, &scenario, &(struct session_options){ .interactive = false }, &error);
	session_wait(session);
	const struct plan *plan = session_plan(session);
	cr_assert_not_null(plan, "%s", session_problem(session));
	struct preview preview = *answer(session, K_zero, 3);
	cr_assert(preview.known && !preview.exact);
	cr_assert_eq(scenario_copy(&other, &scenario), OK);
	other.value[K_zero] = 3;
	OWN(planner) planner = { .store = store_new() };
	OWN(plan) *now = planner_run(&planner, graph, &scenario, PLAN_QUICK, &error),
			  *then = planner_run(&planner, graph, &other, PLAN_QUICK, &error);
	cr_assert(now && then);
	cr_assert(plan_peak(then) < plan_peak(now));
	cr_assert_eq(preview.peak_bytes - plan_peak(plan), plan_peak(then) - plan_peak(now));
	cr_assert_eq(preview.arena_bytes - plan_arena(plan), plan_arena(then) - plan_arena(now));
	cr_assert(preview.time > 0);
	int64_t before = plan_peak(plan);
	cr_assert_eq(session_command(session, "set zero=3", &error), OK);
	session_wait(session);
	preview = *answer(session, K_zero, 0);
	cr_assert(preview.known && preview.exact);
	cr_assert_eq(preview.peak_bytes, before);
}

Test(session, a_preview_that_never_ends_stops_for_a_command)
{
	struct session_options options = { .interactive = true, .order_solver = never_ends };
	OWN(session) *session = new_session("samples/diamond.jsonl", &options);
	cr_assert(settled(session, false));
	session_cancel(session);
	cr_assert(settled(session, true));
	for (int i = 0; i < 10; i++) {
		cr_assert_null(session_preview(session, K_alignment, 64 << i), "it has no end");
		usleep(2000);
		double begin = clock_seconds(CLOCK_MONOTONIC);
		cr_assert_eq(session_command(session, i % 2 ? "set layout=bestfit" : "set layout=best", NULL), OK);
		cr_assert(settled(session, false));
		session_cancel(session);
		cr_assert(settled(session, true));
		cr_assert(clock_seconds(CLOCK_MONOTONIC) - begin < 0.5, "%g s", clock_seconds(CLOCK_MONOTONIC) - begin);
	}
}

Test(session, raised_effort_makes_no_further_runs)
{
	OWN(session) *session = new_session(
		"samples/vit_b_16_b1_adam.jsonl.gz", &(struct session_options){ .interactive = true });
	cr_assert_eq(session_command(session, "set order_effort=0", NULL), OK);
	cr_assert(settled(session, true));
	double end = clock_seconds(CLOCK_MONOTONIC) + 3;
	uint32_t before = session_runs(session);
	while (clock_seconds(CLOCK_MONOTONIC) < end) {
		usleep(1000);
		session_poll(session);
		cr_assert_eq(session_runs(session), before);
	}
}

size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

/* Bytes that this process has allocated. */
static size_t in_use(void)
{
	if (__sanitizer_get_current_allocated_bytes)
		return __sanitizer_get_current_allocated_bytes();
	struct mallinfo2 info = mallinfo2();
	return info.uordblks + info.hblkhd;
}

/* Every change is another step, order and layout: kept results and kept runs stay within `store` each, whatever the
 * number of changes. What undo goes back to takes a kilobyte and a bit. */
Test(session, memory_is_bounded_by_the_store)
{
	enum { STORE = 512 << 10 };
	uint32_t changes = test_rounds(400, 10000);
	char line[80];
	struct error error = { 0 };
	OWN(session) *session = new_session(
		"samples/lessons/recompute.jsonl", &(struct session_options){ .interactive = false });
	snprintf(line, sizeof line, "set store=%d", STORE);
	cr_assert_eq(session_command(session, line, &error), OK, "%s", error.text);
	session_wait(session);
	size_t begin = in_use(), most = 0;
	uint32_t most_runs = 0;
	for (uint32_t i = 0; i < changes; i++) {
		snprintf(line, sizeof line, "set %s=%u", i % 3 ? "batch" : "alignment", i % 3 ? i % 997 + 2 : 1u << i % 12);
		cr_assert_eq(session_command(session, line, &error), OK, "%s: %s", line, error.text);
		session_wait(session);
		most = in_use() > most ? in_use() : most;
		most_runs = session_runs(session) > most_runs ? session_runs(session) : most_runs;
	}
	cr_log_info("%u changes: at most %zu KiB above the beginning, %u runs at once, %u at the end", changes,
		(most - begin) >> 10, most_runs, session_runs(session));
	cr_assert_gt(session_runs(session), 1);
	cr_assert_lt(
		most - begin, 3 * (size_t)STORE + changes * (size_t)1280, "%zu bytes after %u changes", most - begin, changes);
}

static void copy_to(const char *path, const char *from)
{
	static char text[1 << 16];
	FILE *in = fopen(from, "rb"), *out = fopen(path, "wb");
	cr_assert(in && out);
	size_t size = fread(text, 1, sizeof text, in);
	cr_assert_eq(fwrite(text, 1, size, out), size);
	fclose(in);
	fclose(out);
}

Test(session, a_file_that_changes_is_read_again_beside_the_old_baseline)
{
	char path[] = "/tmp/tidemark-reload-XXXXXX";
	struct error error = { 0 };
	int descriptor = mkstemp(path);
	cr_assert(descriptor >= 0);
	close(descriptor);
	copy_to(path, "samples/diamond.jsonl");
	OWN(session) *session = new_session(path, &(struct session_options){ .interactive = false });
	cr_assert(settled(session, true));
	int64_t peak = plan_peak(session_plan(session));
	cr_assert_eq(session_command(session, "baseline", &error), OK);
	cr_expect(!session_file_changed(session));
	copy_to(path, "tests/corpus/fx/dtensor.py");
	cr_expect(session_file_changed(session));
	cr_expect(!session_file_changed(session), "it is said once");
	copy_to(path, "samples/diamond.jsonl");
	cr_assert_eq(session_command(session, "pin op left before right", &error), OK, "%s", error.text);
	cr_assert_eq(session_command(session, "reload", &error), OK, "%s", error.text);
	cr_expect_eq(session_scenario(session)->pins, 1, "what the file has is pinned on");
	copy_to(path, "tests/corpus/fx/dtensor.py");
	cr_assert_eq(session_command(session, "reload", &error), OK, "%s", error.text);
	cr_assert(settled(session, true));
	cr_expect_eq(session_plan(session)->graph->ops, 3);
	cr_expect_eq(session_scenario(session)->pins, 0, "ops that are gone are pinned no more");
	cr_assert_not_null(session_baseline(session));
	cr_expect_eq(plan_peak(session_baseline(session)), peak);
	cr_assert_eq(unlink(path), 0);
	cr_expect(!session_file_changed(session));
	cr_expect_eq(session_command(session, "reload", &error), BAD_INPUT);
	cr_expect(strstr(error.text, strrchr(path, '/') + 1) && strstr(error.text, ": no such file"), "%s", error.text);
	copy_to(path, "tests/corpus/fx/twice.py");
	cr_expect_eq(session_command(session, "reload", &error), BAD_INPUT);
	cr_expect(strstr(error.text, strrchr(path, '/') + 1) && strstr(error.text, "a second value named"), "%s", error.text);
	cr_expect(!session_file_changed(session), "it isn't offered again over what was wrong with it");
	cr_expect_eq(session_plan(session)->graph->ops, 3, "what was open stays");
	cr_assert_eq(unlink(path), 0);
}

/* It is shown as stale beside the reason, not as the plan of knobs that have none. */
Test(session, a_plan_that_nobody_has_taken_is_of_its_own_request)
{
	struct error error;
	struct scenario scenario;
	uint64_t request, failed;
	OWN(graph) *graph = graph_open("samples/diamond.jsonl", NULL, &error);
	struct worker *worker = worker_new(NULL, NULL);
	cr_assert(graph && worker);
	scenario_init(&scenario);
	uint64_t first = worker_request(worker, graph, &scenario, false);
	worker_wait(worker, first);
	cr_assert_eq(scenario_set(&scenario, "devices=8", &error), OK);
	cr_assert_eq(scenario_set(&scenario, "strategy=data", &error), OK);
	cr_assert_eq(scenario_set(&scenario, "tp=3", &error), OK);
	uint64_t second = worker_request(worker, graph, &scenario, false);
	worker_wait(worker, second);
	struct plan *plan = worker_take(worker, &request, &failed, &error);
	cr_expect(plan && request == first && failed == second && *error.text);
	plan_release(plan);
	worker_free(worker);
	scenario_done(&scenario);
}
