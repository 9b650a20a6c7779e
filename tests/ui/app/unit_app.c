/* Tests of the explorer without a terminal: keys in, screens out. Run from the project's root: samples are opened. */
#include <locale.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/read/input.h"
#include "tests/common/random_keys.h"
#include "tests/common/support.h"
#include "ui/app/explore.h"
#include "ui/app/history_file.h"
#include "ui/screen/picture.h"
#include "src/scenario/knobs.h"

static struct session *session_on(const char *sample, const char *const *settings)
{
	struct error error = { 0 };
	struct scenario scenario;
	setlocale(LC_CTYPE, "C.UTF-8");
	struct graph *graph = graph_open(sample, NULL, &error);
	cr_assert(graph, "%s", error.text);
	scenario_init(&scenario);
	for (; settings && *settings; settings++)
		cr_assert_eq(scenario_set(&scenario, *settings, &error), OK, "%s", error.text);
	struct session *session = session_new(graph, sample, &scenario, &(struct session_options){ 0 }, &error);
	cr_assert(session, "%s", error.text);
	scenario_done(&scenario);
	session_wait(session);
	return session;
}

/* The screen after some keys, in that place. */
static struct app *app_on(
	struct session *session, enum theme theme, bool ascii, int width, int height, const char *keys)
{
	int x, y;
	struct app *app = app_new(session, theme, 256, ascii, NULL);
	cr_assert(app);
	cr_assert(app_draw(app, width, height, &x, &y));
	screenshot_keys(app, keys);
	cr_assert(app_draw(app, width, height, &x, &y));
	return app;
}

static void expect(const struct app *app, const char *wanted)
{
	HELD char *text = frame_dump(&app->frame);
	cr_assert(text);
	cr_assert(strstr(text, wanted), "no \"%s\" in\n%s", wanted, text);
}

static void expect_not(const struct app *app, const char *unwanted)
{
	HELD char *text = frame_dump(&app->frame);
	cr_assert(text && !strstr(text, unwanted), "\"%s\" in\n%s", unwanted, text);
}

static void redraw(struct app *app)
{
	int x, y;
	cr_assert(app_draw(app, app->frame.width, app->frame.height, &x, &y));
}

/* Keys, and the screen after them. */
static void press(struct app *app, const char *keys)
{
	screenshot_keys(app, keys);
	redraw(app);
}

static struct app *app_on_diamond(enum theme theme, bool ascii, int width, int height, const char *keys)
{
	return app_on(session_on("samples/diamond.jsonl", NULL), theme, ascii, width, height, keys);
}

static void close_app(struct app *app)
{
	OWN(session) *session = app->session;
	app_free(app);
}
DROP(app, close_app)

Test(app, keys_are_read_from_text_by_name_or_typed)
{
	static const char *const wanted[] = { "2", "PgDn", "^L", ":", "s", "e", "t", "space", "Enter", "é" };
	struct key_script script = { "2  PgDn ^L : set space\nEnter é", NULL };
	struct key_press key;
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
		cr_assert(key_script_next(&script, &key), "%zu", i);
		bool types = strcmp(wanted[i], "space") == 0 || text_cells(wanted[i]) == 1;
		cr_assert_str_eq(key.name, wanted[i]);
		cr_assert_eq(key.code != 0, types, "%s", key.name);
	}
	cr_assert_not(key_script_next(&script, &key));
}

Test(app, equal_keys_give_equal_screens)
{
	static const char *const keys = "c down right q 4 1 : set space memory=64MiB Enter u 7 . .";
	OWN(app) *one = app_on_diamond(THEME_ANSI, false, 100, 30, keys);
	OWN(app) *other = app_on_diamond(THEME_ANSI, false, 100, 30, keys);
	for (int i = 0; i < 100 * 30; i++) {
		struct cell a = one->frame.cell[i], b = other->frame.cell[i];
		cr_assert(a.code == b.code && a.role == b.role && a.ground == b.ground && a.marks == b.marks, "%d", i);
	}
}

/* A picture's text, what stands between > and < of its text elements, row by row. */
Test(app, a_picture_holds_every_word_of_the_screen_and_is_well_formed)
{
	OWN(app) *app = app_on_diamond(THEME_DARK, false, 100, 30, "8");
	char *svg = NULL;
	size_t size = 0;
	FILE *stream = open_memstream(&svg, &size);
	picture_svg(&app->frame, &app->palette, app->theme, -1, 0, stream);
	fclose(stream);
	cr_assert(strstr(svg, "left.out"));
	cr_assert(strstr(svg, "93.00 MiB"));
	size_t open = 0, closed = 0;
	for (const char *at = svg; (at = strchr(at, '<')); at++) {
		const char *end = strchr(at, '>');
		cr_assert(end);
		open += at[1] != '/' && end[-1] != '/';
		closed += at[1] == '/';
	}
	cr_assert_eq(open, closed);
	free(svg);
}

Test(app, a_refused_value_leaves_the_knobs_as_they_were_and_says_why)
{
	static const char *const set[] = { "devices=8", "strategy=data", "tp=3", NULL };
	OWN(session) *session = session_on("samples/diamond.jsonl", NULL);
	struct app *app = app_on(
		session, THEME_MONO, false, 80, 24, ": set space devices=8 space strategy=data Enter : tp=3 Enter");
	expect(app, "tp 3 doesn't divide the 8");
	expect(app, "tp stays as it was");
	expect(app, "dp 8");
	cr_assert(app->model.bad);
	press(app, "down");
	cr_assert_not(app->model.bad);
	press(app, ": tp=2 Enter");
	expect(app, "tp 2");
	press(app, ": set space tp=5 space batch=16 Enter");
	expect(app, "these knobs stay as they were");
	press(app, "U");
	expect(app, "nothing to redo");
	press(app, "u u");
	expect(app, "1 device");
	app_free(app);
	/* What it starts with has no settings before it. */
	OWN(app) *bad = app_on(session_on("samples/diamond.jsonl", set), THEME_MONO, false, 80, 24, "");
	expect(bad, "no plan of these knobs: tp 3 doesn't divide the 8");
	press(bad, ": batch=8 Enter");
	expect(bad, "no plan of these knobs: tp 3 doesn't divide the 8");
	press(bad, ": tp=4 Enter");
	expect(bad, "tp 4");
}

Test(app, what_fits_is_planned_by_itself_once_nobody_is_at_the_keys)
{
	OWN(app) *app = app_on_diamond(THEME_MONO, false, 80, 24, ": memory=90MiB Enter");
	expect(app, "plan what makes it fit");
	cr_assert_null(app->ways.job);
	app->idle = true;
	cr_assert(!app_look(app) && app->ways.job);
	ways_wait(&app->ways);
	cr_assert_eq(app->ways.fingerprint, app->plan->fingerprint);
	redraw(app);
	expect_not(app, "plan what makes it fit");
	app->idle = false;
	press(app, ": memory=91MiB Enter");
	cr_assert_null(app->ways.job);
	expect(app, "plan what makes it fit");
}

Test(app, a_long_message_is_shown_whole)
{
	OWN(app) *app = app_on_diamond(THEME_MONO, false, 80, 24, ": pin space nothing Enter");
	expect(app, "\"pin nothing\" is not a pin");
	expect(app, "in double quotes\n");
}

Test(app, the_screen_is_exported_from_the_prompt)
{
	char path[] = "/tmp/tidemark-app-XXXXXX", keys[200], line[300] = "";
	int file = mkstemp(path);
	cr_assert_geq(file, 0);
	close(file);
	unlink(path);
	struct session *session = session_on("samples/diamond.jsonl", NULL);
	snprintf(keys, sizeof keys, "7 : export space screen space %s Enter", path);
	OWN(app) *app = app_on(session, THEME_ANSI, false, 80, 24, keys);
	expect(app, "wrote /tmp/tidemark-app-");
	FILE *written = fopen(path, "r");
	cr_assert(written);
	cr_assert(fgets(line, sizeof line, written));
	cr_assert(strstr(line, "7 Order"), "%s", line);
	fclose(written);
	press(app, ": up Enter");
	expect(app, "overwrite it?");
	press(app, "n");
	expect(app, "nothing was written");
	unlink(path);
}

Test(app, the_runs_view_shows_differences_the_front_and_the_solvers_log)
{
	OWN(app) *app = app_on_diamond(THEME_ANSI, false, 100, 24, "b : set space order=program Enter 4");
	expect(app, "baseline");
	expect(app, "order  auto  program");
	press(app, "]");
	expect(app, "needs over samples/s");
	press(app, "s");
	expect(app, "needs over step");
	press(app, "] up");
	expect(app, "ticks        best      bound       gap  order by");
	expect(app, "93.0 MiB    proved");
}

Test(app, a_log_never_gets_worse_and_ends_at_the_result)
{
	static const char *const settings[] = { "order_effort=0", NULL };
	OWN(session) *session = session_on("samples/vit_b_16_b1_adam.jsonl.gz", settings);
	const struct plan *plan = session_plan(session);
	const struct ordered *ordered = plan->ordered;
	cr_assert_gt(ordered->improvements, 1);
	for (uint32_t i = 1; i < ordered->improvements; i++) {
		const struct improvement *now = &ordered->improvement[i], *before = now - 1;
		cr_assert(now->ticks >= before->ticks && now->peak <= before->peak && now->bound >= before->bound, "entry %u", i);
	}
	cr_assert_eq(ordered->improvement[ordered->improvements - 1].peak, plan_peak(plan));
	cr_assert_eq(ordered->improvement[ordered->improvements - 1].bound, plan->ordered->result.proof.bound);
}

Test(app, the_challenge_scores_an_order_and_its_hints_lead_to_the_optimum)
{
	OWN(app) *app = app_on_diamond(THEME_ANSI, false, 100, 24, "7 y");
	expect(app, "0 of 7 ops");
	press(app, "Enter Enter");
	expect(app, "from here the best you can reach is 113 MiB, before it was 93.0 MiB");
	press(app, ",");
	expect(app, "reachable 93.0 MiB");
	press(app, ", i Enter i Enter i Enter i Enter i Enter i Enter i Enter");
	expect(app, "your order: peak 93.0 MiB; the optimum: 93.0 MiB");
	expect(app, "nobody does better, with 7 hints");
	press(app, "y y Enter Enter Enter Enter Enter Enter Enter");
	expect(app, "with 0 hints; lost at op 1, `right`: from there");
	expect(app, "113 MiB. u goes back");
	press(app, ", , , , , ,");
	expect(app, "reachable 93.0 MiB");
	press(app, "y");
	expect(app, "could run here");
}

Test(app, the_challenge_shows_the_last_try_and_what_is_left_after_each_op)
{
	OWN(app) *app = app_on_diamond(THEME_ANSI, false, 100, 30, "7 y Enter i");
	expect(app, "best after");
	expect(app, "93.0 MiB"); /* right first: the optimum is out of reach */
	expect(app, "113 MiB");
	expect_not(app, "last ");
	press(app, "Enter Enter Enter Enter Enter Enter y y Enter");
	expect(app, "now ");
	expect(app, "last ");
	expect(app, "reachable");
	press(app, "T");
	expect_not(app, "reachable");
	expect(app, "score ");
}

Test(app, a_challenge_ends_with_its_graph_and_large_graphs_have_none)
{
	OWN(app) *app = app_on_diamond(THEME_ANSI, false, 100, 24, "7 y Enter : set space alignment=512 Enter");
	redraw(app);
	expect(app, "could run here");
	press(app, ": open space samples/alexnet_b1_adam.jsonl.gz Enter y");
	expect(app, "the challenge is for graphs of up to 200 ops");
}

/* The place of a text on the screen, as a click. */
static const char *click_on(const struct app *app, const char *wanted, char keys[40])
{
	char *text = frame_dump(&app->frame), *at = strstr(text, wanted), *line = text;
	cr_assert(at, "no \"%s\" in\n%s", wanted, text);
	int y = 0, x = 0;
	for (char *c = text; c < at; c++)
		if (*c == '\n') {
			y++;
			line = c + 1;
		}
	for (char *c = line; c < at; c++)
		x += ((unsigned char)*c & 0xc0) != 0x80;
	snprintf(keys, 40, "click@%d,%d", x, y);
	mem_free(text);
	return keys;
}

Test(app, the_mouse_reaches_tabs_rows_columns_knobs_and_the_footer)
{
	char keys[40];
	OWN(app) *app = app_on_diamond(THEME_ANSI, false, 100, 30, "");
	screenshot_keys(app, click_on(app, "8 Tensors", keys));
	cr_assert_eq(app->view, 7);
	redraw(app);
	screenshot_keys(app, click_on(app, "right.out", keys));
	cr_assert_str_eq(storage_name(app->plan, app->model.storage), "right.out");
	press(app, click_on(app, "kind", keys));
	expect(app, "kind ^");
	press(app, "1");
	screenshot_keys(app, "click@12,8");
	cr_assert_eq(model_position(&app->model), 0);
	screenshot_keys(app, "wheel-down");
	cr_assert_neq(app->model.storage, NONE);
	press(app, "7");
	screenshot_keys(app, click_on(app, "concat", keys));
	cr_assert_str_eq(app->plan->graph->op[app->model.op].name, "concat");
	redraw(app);
	screenshot_keys(app, click_on(app, "optimizer  ", keys));
	cr_assert(app->panel_has_keys);
	redraw(app);
	screenshot_keys(app, "click@98,3");
	cr_assert_eq(session_scenario(app->session)->value[K_recompute], RECOMPUTE_SELECTIVE);
	screenshot_keys(app, "u");
	app_look(app);
	redraw(app);
	screenshot_keys(app, click_on(app, "? help", keys));
	cr_assert_eq(app->mode, MODE_HELP);
}

Test(app, the_panel_previews_both_neighbours_of_a_value)
{
	OWN(app) *app = app_on_diamond(THEME_ANSI, false, 120, 30, "c / w o r k s p a c e Enter");
	for (int i = 0; i < 3; i++) {
		session_wait_preview(app->session);
		app_look(app);
		redraw(app);
	}
	expect(app, "▸ off             ~ the same");
	screenshot_keys(app, ": set space order=program Enter / o r d e r Enter");
	for (int i = 0; i < 3; i++) {
		session_wait_preview(app->session);
		app_look(app);
		redraw(app);
	}
	expect(app, "▸ updates-last");
	expect(app, "~ the same");
}

Test(app, the_prompts_lines_are_kept_between_runs)
{
	char path[] = "/tmp/tidemark-history-XXXXXX";
	struct history *history = mem_alloc(1, sizeof *history);
	int file = mkstemp(path);
	cr_assert_geq(file, 0);
	close(file);
	OWN(app) *app = app_on_diamond(THEME_ANSI, false, 80, 24, "");
	struct session *session = app->session;
	app->history_path = path;
	screenshot_keys(app, ": set space memory=64MiB Enter : view space 4 Enter : Enter");
	app_free(app);
	app = app_on(session, THEME_ANSI, false, 80, 24, "");
	history_load(&app->history, path);
	screenshot_keys(app, ": up up");
	cr_assert_str_eq(app->line.text, "set memory=64MiB");
	for (int i = 0; i < 1100; i++)
		history_append(path, i % 2 ? "odd" : "even");
	history_load(history, path);
	FILE *short_file = fopen(path, "r");
	int lines = 0;
	for (int c; (c = fgetc(short_file)) != EOF; )
		lines += c == '\n';
	fclose(short_file);
	cr_assert_eq(lines, HISTORY_LINES);
	mem_free(history);
	unlink(path);
}

/* Adds lines of its own name, and reads the file, which shortens it, now and then. */
static void write_history(const char *path, int process)
{
	struct history history = { 0 };
	for (int i = 0; i < 400; i++) {
		char line[40];
		snprintf(line, sizeof line, "line %d of %d", i, process);
		history_append(path, line);
		if (i % 50 == 49)
			history_load(&history, path);
	}
}

Test(app, programs_that_share_a_history_lose_no_line)
{
	enum { PROCESSES = 4 };
	char path[] = "/tmp/tidemark-history-XXXXXX", line[100];
	int file = mkstemp(path), last[PROCESSES] = { 0 }, process, number, newest = -1, end;
	cr_assert_geq(file, 0);
	close(file);
	for (int i = 1; i < PROCESSES; i++)
		if (fork() == 0) {
			write_history(path, i);
			_exit(0);
		}
	write_history(path, 0);
	for (int i = 1; i < PROCESSES; i++)
		wait(NULL);
	FILE *stream = fopen(path, "r");
	while (fgets(line, sizeof line, stream)) {
		cr_assert(sscanf(line, "line %d of %d%n", &number, &process, &end) == 2 && line[end] == '\n' && process >= 0 &&
				process < PROCESSES, "torn: %s", line);
		cr_assert(last[process] == 0 || number == last[process] + 1, "lines of %d between %d and %d are lost", process,
			last[process], number);
		last[newest = process] = number;
	}
	cr_assert(newest >= 0 && last[newest] == 399, "the last line is lost");
	fclose(stream);
	unlink(path);
}

Test(app, runs_of_equal_plans_have_no_difference)
{
	static const char *const set[] = { "devices=2", "strategy=zero", NULL };
	OWN(app) *app = app_on(
		session_on("samples/weight_update.jsonl", set), THEME_MONO, false, 120, 30, "b : set space zero=3 Enter 4");
	expect(app, "run 2");
	expect_not(app, "zero  0  3");
	press(app, ": set space zero=1 Enter 4");
	expect(app, "zero  0  1");
}

/* Chosen on the screen, and kept in a file that another explorer takes up; what is wrong in the file is left out. */
Test(app, columns_are_chosen_and_kept)
{
	char path[] = "/tmp/tidemark-columns-XXXXXX", text[COLUMN_LIST_BYTES];
	struct error error = { 0 };
	OWN(app) *app = app_on_diamond(THEME_ANSI, false, 100, 24, "8 |");
	close(mkstemp(path));
	expect(app, ":columns usual");
	press(app, "^U columns space bytes,made,name,last Enter");
	expect(app, " bytes v      made  name");
	expect_not(app, "kind  ");
	press(app, ": columns space name,share,bytes,phase Enter s");
	expect(app, "  of peak     bytes  phase ^");     /* sorted by the next one: it was by bytes */
	cr_assert_eq(columns_save(&app->columns, path, &error), OK);
	press(app, ": columns space nme Enter");
	expect(app, "the nearest is name");
	press(app, ": columns space usual Enter");
	expect(app, "  bytes  kind        name");
	FILE *file = fopen(path, "a");
	fputs("set mine bytes,,name\nuse bytes,bytes\nuse nothing\n", file);
	fclose(file);
	columns_load(&app->columns, path);
	cr_assert_str_eq(column_list_text(&app->columns, text), "name,share,bytes,phase");
	unlink(path);
}

/* At every size and in every view the last row is the footer's alone, also below long messages and lists that don't
 * fit. */
Test(app, nothing_is_drawn_over_the_footer)
{
	static const int sizes[][2] = { { 40, 10 }, { 40, 13 }, { 56, 14 }, { 80, 24 }, { 100, 28 }, { 250, 70 } };
	static const char *const states[] = { "", "c", ": set space memory=1MiB space devices=4 Enter", ": nosuchword Enter",
		": notes Enter", "f 1 Enter" };
	OWN(app) *app = app_on_diamond(THEME_MONO, true, 80, 24, "");
	struct frame footer = { .ascii = true, .mono = true };
	for (size_t state = 0; state < sizeof states / sizeof *states; state++)
		for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
			for (int view = 0; view < VIEWS; view++) {
				int x, y, width = sizes[i][0], height = sizes[i][1];
				app_show_view(app, view);
				screenshot_keys(app, i || view ? "" : states[state]);
				app->view = view;
				cr_assert(app_draw(app, width, height, &x, &y) && frame_resize(&footer, width, height));
				frame_clear(&footer);
				frame_window(&footer, (struct rect){ 0, height - 1, width, 1 });
				chrome_footer(&footer, app_context(app));
				HELD char *text = frame_dump(&app->frame), *wanted = frame_dump(&footer);
				wanted[strlen(wanted) - 1] = '\0';
				const char *last = strrchr(wanted, '\n') + 1;
				size_t length = strlen(last), all = strlen(text);
				cr_expect(all > length && strncmp(text + all - 1 - length, last, length) == 0, "%s in view %d:\n%s\nnot %s",
					states[state], view + 1, text, last);
			}
	frame_free(&footer);
}

/* A key has one command in a context, and is said once. */
Test(app, a_key_has_one_command)
{
	for (unsigned context = 1; context < IN_ANY; context <<= 1)
		for (int id = 0; id < COMMAND_COUNT; id++) {
			char keys[100], *rest = NULL;
			snprintf(keys, sizeof keys, "%s", commands[id].keys);
			for (char *key = strtok_r(keys, " ", &rest); key && (commands[id].context & context);
				key = strtok_r(NULL, " ", &rest))
				cr_expect_eq(command_of_key(key, context), (enum command_id)id, "%s in %x", key, context);
		}
}

Test(app, a_file_with_several_graphs_is_asked_about)
{
	struct session *session = session_on("tests/corpus/snapshot/two_devices.pickle", NULL);
	struct app *app = app_on(session, THEME_ANSI, false, 100, 24, "");
	cr_assert(app_ask_graph(app));
	redraw(app);
	expect(app, " 1  device 0, 8 events");
	expect(app, " 2  device 1, 14 events (this)");
	press(app, "1 Enter");
	cr_assert_eq(session_plan(session)->input->about.intake.graph, 1);
	press(app, ": graph Enter Enter");
	expect(app, "graph 1 stays");
	press(app, ": graph space 3 Enter");
	expect(app, "it has events of 2 devices");
	close_app(app);
	app = app_on_diamond(THEME_ANSI, false, 80, 24, ": graph Enter");
	expect(app, "the file has one graph");
	close_app(app);
}

Test(app, what_was_read_is_said_on_the_first_screen)
{
	struct session *session = session_on("tests/corpus/hlo/small.txt", NULL);
	struct app *app = app_on(session, THEME_ANSI, false, 100, 24, "");
	cr_assert(app_say_card(app));
	redraw(app);
	expect(app, "read: XLA HLO text");
	expect(app, "tensors known");
	expect(app, "step: forward");
	expect(app, "assumed: ");
	press(app, "Right");
	cr_expect(!strstr(app->model.message, "XLA"), "until a key is pressed");
	close_app(app);
	app = app_on_diamond(THEME_ANSI, false, 80, 24, "");
	cr_expect_not(app_say_card(app), "a native file's is no news");
	close_app(app);
}

/* What fits is shown; the rest is counted. Nothing overlaps. */
Test(app, columns_keep_to_the_width)
{
	struct column_layout layout;
	struct column_set set = { .count = 0 };
	struct error error;
	cr_assert_eq(column_list_read(&set, "source,name,module,bytes,shape", &error), OK);
	for (int width = 1; width <= 250; width++) {
		columns_arrange(&set, width, &layout);
		cr_assert(layout.count >= 1 && layout.count + layout.left_out == set.count);
		for (int i = 1; i < layout.count; i++)
			cr_assert(
				layout.x[i] >= layout.x[i - 1] + layout.width[i - 1] + 2 && layout.x[i] + layout.width[i] <= width,
				"width %d, column %d", width, i);
	}
	cr_assert_eq(layout.left_out, 0);
}

/* The whole screen of every view while a plan is made, when it was stopped, refused, without anything in its lists, and on
 * the smallest screen, against tests/screens/states.txt; UPDATE=1 writes it anew. */
Test(app, every_view_has_its_states)
{
	static const char *const states[] = { "solving", "stopped", "refused", "small" };
	OWN(app) *app = app_on_diamond(THEME_MONO, true, 80, 24, "");
	const struct session_status clean = app->model.status;
	char *all = NULL, *kept = NULL;
	size_t length = 0, known = 0;
	FILE *out = open_memstream(&all, &length);
	FOR_INT(view, VIEWS)
		FOR(state, 4) {
			bool small = state == 3;
			int x, y;
			app->view = view;
			app->model.status = clean;
			app->model.status.solving = app->model.status.stale = state == 0;
			app->model.status.fraction = state == 0 ? 0.45 : -1;
			snprintf(app->model.status.stage, sizeof app->model.status.stage, "%s", state == 0 ? "order: cuts" : "");
			snprintf(app->model.status.problem, sizeof app->model.status.problem, "%s",
				state == 2 ? "tp 7 is more than the 3 devices" : "");
			app->plan->limited = state == 1;
			FOR_INT(again, 2) { /* what was looked for beside the screen is there */
				cr_assert(app_draw(app, small ? 40 : 80, small ? 10 : 24, &x, &y));
				configurations_wait(&app->configurations);
				graph_factors_wait(&app->factors);
				graph_factors_wait(&app->given);
			}
			HELD char *text = frame_dump(&app->frame);
			fprintf(out, "== %s, %s\n%s", views[view]->name, states[state], text);
		}
	app->plan->limited = false;
	fclose(out);
	if (getenv("UPDATE")) {
		FILE *file = fopen("tests/screens/states.txt", "w");
		fputs(all, file);
		fclose(file);
	}
	FILE *file = fopen("tests/screens/states.txt", "r");
	cr_assert(file && getdelim(&kept, &known, '\0', file) > 0);
	fclose(file);
	cr_assert_str_eq(all, kept);
	free(all);
	free(kept);
}

/* True where the key's command is in the footer or the help overlay of what has the keys. */
static bool key_is_told(const struct app *app, const char *key)
{
	enum command_id command = command_of_key(key, app_context(app));
	return command < COMMAND_COUNT && (commands[command].context & app_context(app)) && *commands[command].keys;
}

/* What runs again costs time on one device, too; an order alone doesn't. */
Test(app, runs_that_differ_in_time_have_it_as_their_axis)
{
	static const char *const settings[] = { NULL };
	struct session *session = session_on("samples/gpt2_b1_s1024_adam.jsonl.gz", settings);
	OWN(app) *app = app_on(session, THEME_ANSI, false, 120, 44, "4 : set space recompute=full Enter");
	expect(app, "step   verdict     needs  ");
	expect(app, "needs over tokens/s");
}

Test(app, undo_and_redo_make_no_new_runs)
{
	static const char *const settings[] = { NULL };
	struct session *session = session_on("samples/gpt2_b1_s1024_adam.jsonl.gz", settings);
	OWN(app) *app = app_on(session, THEME_ANSI, false, 120, 44, "4 : set space devices=2 space strategy=data Enter u U u");
	cr_assert_eq(session_runs(session), 2);
	expect(app, "step   verdict     needs  ");      /* a step has a time on several devices */
	expect(app, "needs over tokens/s");
}

Test(app, a_move_by_hand_is_answered_in_a_sentence)
{
	struct app *app = app_on_diamond(THEME_ANSI, false, 100, 24, "7 g down down down K");
	expect(app, "peak 93.0 MiB -> 137 MiB: left.out is now alive while right runs");
	expect(app, "chosen by hand: others need or leave less");   /* and not: all stay within the peak */
	press(app, "J");
	expect(app, "peak 137 MiB -> 93.0 MiB: left.out is no longer alive while right runs");
	press(app, "u u g K");
	expect(app, "stem is the first op: it can't run earlier");
	press(app, "G J");
	expect(app, "is the last op: it can't run later");
	close_app(app);
	app = app_on(session_on("samples/lessons/updates.jsonl", (const char *const[]){ "order=program", NULL }),
		THEME_ANSI, false, 100, 24, "7 G K");
	expect(app, "the peak stays 32.8 MiB: ");   /* and not: 32.8 MiB -> 32.8 MiB */
	close_app(app);
}

Test(app, undo_in_the_challenge_takes_its_last_op_back)
{
	OWN(app) *app = app_on_diamond(THEME_ANSI, false, 100, 24, "7 y Enter");
	expect(app, "1 of 7 ops");
	press(app, "u");
	expect(app, "0 of 7 ops");
	press(app, "u");
	expect(app, "nothing has run yet");
}

Test(app, the_map_tells_neighbours_apart_and_names_them)
{
	struct session *session = session_on(
		"samples/lessons/fragmentation.jsonl", (const char *const[]){ "layout=firstfit", NULL });
	OWN(app) *app = app_on(session, THEME_ANSI, false, 120, 40, "6");
	expect(app, "conv1.out");
	expect(app, "conv2.out");
	expect(app, "input    gradient    activation");
}

Test(app, names_are_copied_and_words_explained)
{
	OWN(app) *app = app_on_diamond(THEME_ANSI, false, 100, 24, "Y");
	cr_assert_str_eq(app->model.copied, "left_pool");
	press(app, "8 g Y");
	cr_assert_str_eq(app->model.copied, storage_name(app->plan, app->model.storage));
	press(app, "7 e");
	expect(app, "the source line of");
	press(app, "? cheapest");
	expect(app, "of all that could be alive while this op runs");
	press(app, "Enter Esc");
}

/* A graph names its program's files; an editor runs commands that stand behind + and options behind -. */
Test(app, a_source_file_is_no_argument_of_the_editor)
{
	static const char *const names[] = { "+!touch ran", "-cq", "plain.py" };
	char directory[] = "/tmp/tidemark-edit-XXXXXX";
	cr_assert(mkdtemp(directory) && chdir(directory) == 0);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		FILE *file = fopen(names[i], "w"), *graph = fopen("g.jsonl", "w");
		cr_assert(file && graph);
		fprintf(graph,
			"{\"k\":\"graph\",\"v\":1,\"name\":\"g\"}\n{\"k\":\"tensor\",\"id\":\"t\",\"bytes\":4,\"kind\":\"output\"}"
			"\n"
			"{\"k\":\"op\",\"id\":\"o\",\"op\":\"relu\",\"in\":[],\"out\":[\"t\"],\"src\":\"%s:7\"}\n{\"k\":\"end\","
			"\"tensors\":1,\"ops\":1}\n", names[i]);
		cr_assert(fclose(file) == 0 && fclose(graph) == 0);
		OWN(app) *app = app_on(session_on("g.jsonl", NULL), THEME_ANSI, false, 80, 24, "7 e");
		cr_assert(access(app->edited, R_OK) == 0, "%s", app->model.message);
		cr_assert(strncmp(app->edited, "./", 2) == 0 && strcmp(app->edited + 2, names[i]) == 0, "%s", app->edited);
		cr_assert_str_eq(app->edited_line, "+7");
		cr_assert(unlink(names[i]) == 0 && unlink("g.jsonl") == 0);
	}
	cr_assert(rmdir(directory) == 0);
}

Test(app, a_newcomer_finds_changes_compares_and_exports_with_nine_keys)
{
	static const char *const keys[] = { "p", "b", "c", "right", "D", "B", "1", "x", "Enter" };
	char directory[] = "/tmp/tidemark-newcomer-XXXXXX", place[4096], sample[5000];
	cr_assert(getcwd(place, sizeof place));
	snprintf(sample, sizeof sample, "%s/samples/gpt2_b1_s1024_adam.jsonl.gz", place);
	struct session *session = session_on(sample, NULL);
	cr_assert(mkdtemp(directory) && chdir(directory) == 0);
	OWN(app) *app = app_on(session, THEME_ANSI, false, 80, 24, "");
	cr_assert_leq(sizeof keys / sizeof *keys, 15);
	for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
		if (app->mode == MODE_VIEW)
			cr_assert(key_is_told(app, keys[i]), "%s", keys[i]);
		press(app, keys[i]);
		if (strcmp(keys[i], "p") == 0)
			expect(app, "4.26 GiB alive = most");
		if (strcmp(keys[i], "right") == 0)
			cr_assert_eq(session_scenario(session)->value[K_recompute], RECOMPUTE_SELECTIVE);
		if (strcmp(keys[i], "D") == 0) {
			cr_assert_eq(session_scenario(session)->value[K_devices], 2);
			expect(app, "S finds the best way");
		}
		if (strcmp(keys[i], "B") == 0) {
			expect(app, "recompute  none  selective");
			cr_assert(app->panel_has_keys);
		}
	}
	expect(app, "wrote gpt2_b1_s1024_adam-timeline.svg");
	cr_assert_eq(unlink("gpt2_b1_s1024_adam-timeline.svg"), 0);
	cr_assert_eq(chdir(place), 0);
	rmdir(directory);
}

/* The user leaves now and then; then the screen is opened anew. */
static struct app *survive(struct app *app, struct session *session, const struct key_press *key, int width, int height)
{
	int x, y;
	app_key(app, key);
	app->wishes = 0;
	app_look(app);
	cr_assert(app_draw(app, width, height, &x, &y));
	cr_assert(x < width && y >= 0 && y < height);
	int odd = -1;
	for (int i = 0; i < width * height; i++)
		if (app->frame.cell[i].role >= CELL_ROLES || app->frame.cell[i].ground >= CELL_ROLES)
			odd = i;
	cr_assert_eq(odd, -1, "cell %d of %dx%d, view %d", odd, width, height, app->view);
	if (app->running)
		return app;
	app_free(app);
	return app_on(session, THEME_ANSI, false, width, height, "");
}

/* So many random keys for each sample; MONKEY in the environment for more. */
static int monkey_keys(void)
{
	const char *more = getenv("MONKEY");
	long keys = more ? strtol(more, NULL, 10) : 0;
	return keys > 0 ? (int)keys : 400;
}

Test(app, a_monkey_types_and_clicks_and_nothing_breaks)
{
	static const char *const samples[] = { "diamond.jsonl", "weight_update.jsonl" };
	char directory[] = "/tmp/tidemark-monkey-XXXXXX", place[4096], sample[5000], command[64];
	uint64_t random = test_seed();
	int width = 80, height = 24;
	cr_log_info("SEED=%llu", (unsigned long long)random);
	cr_assert(getcwd(place, sizeof place) && mkdtemp(directory) && chdir(directory) == 0);
	for (size_t s = 0; s < sizeof samples / sizeof *samples; s++) {
		snprintf(sample, sizeof sample, "%s/samples/%s", place, samples[s]);
		OWN(session) *session = session_on(sample, NULL);
		struct app *app = app_on(session, THEME_ANSI, false, width, height, "");
		for (int i = 0; i < monkey_keys(); i++) {
			struct key_press key;
			random_key(&random, &key);
			if (i % 97 == 0) {
				width = 1 + (int)((random >> 20) % 150);
				height = 1 + (int)((random >> 40) % 60);
			}
			app = survive(app, session, &key, width, height);
		}
		app_free(app);
	}
	cr_assert_eq(chdir(place), 0);
	snprintf(command, sizeof command, "rm -rf %s", directory);
	cr_assert_eq(system(command), 0);
}

Test(app, text_is_found_in_either_case_and_in_any_alphabet)
{
	cr_assert(text_contains("h.0.Attn.weight", "attn"));
	cr_assert(text_contains("aab", "AB"));
	cr_assert(text_contains("größe", "öß"));
	cr_assert(text_contains("anything", ""));
	cr_assert_not(text_contains("", "a"));
	cr_assert_not(text_contains("attn", "attns"));
}
