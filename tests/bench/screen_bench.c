/* screen_bench.c: how long a key takes from press to finished frame, in time of its thread.
 *
 *   screen_bench GRAPH [WIDTH HEIGHT]     one row per view and kind of key: median and worst of some presses */
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

#include "src/base/clock.h"
#include "src/read/input.h"
#include "ui/app/app.h"
#include "ui/app/explore.h"

enum { PRESSES = 40 };

static int ascending(const void *left, const void *right)
{
	double a = *(const double *)left, b = *(const double *)right;
	return a < b ? -1 : a > b;
}

/* One key and the frame after it, in seconds. */
static double press(struct app *app, const struct key_press *key, int width, int height)
{
	int x, y;
	double begin = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
	app_key(app, key);
	app_draw(app, width, height, &x, &y);
	return clock_seconds(CLOCK_THREAD_CPUTIME_ID) - begin;
}

/* Presses the keys of a script one after the other, again and again. Returns the worst time. */
static double measure(struct app *app, const char *what, const char *keys, int width, int height)
{
	double took[PRESSES];
	struct key_script script = { keys, NULL };
	struct key_press key;
	for (int i = 0; i < PRESSES; ) {
		if (!key_script_next(&script, &key))
			script = (struct key_script){ keys, NULL };
		else
			took[i++] = press(app, &key, width, height);
	}
	qsort(took, PRESSES, sizeof *took, ascending);
	printf("| %s | %dx%d | %.1f | %.1f |\n", what, width, height, 1e3 * took[PRESSES / 2], 1e3 * took[PRESSES - 1]);
	return took[PRESSES - 1];
}

/* Each view's first frame, when what it looks up is not there yet. Returns the worst time. */
static double measure_first(struct app *app, int width, int height)
{
	double worst = 0;
	for (int view = VIEWS; view > 0; view--) {
		struct key_press key = { .code = (uint32_t)('0' + view) };
		key.name[0] = (char)('0' + view);
		double took = press(app, &key, width, height);
		printf("| %s: first frame | %dx%d | | %.1f |\n", views[view - 1]->name, width, height, 1e3 * took);
		worst = took > worst ? took : worst;
	}
	return worst;
}

static double measure_all(struct app *app, int width, int height)
{
	static const struct { const char *enter, *what, *keys; } rows[] = {
		{ "1", "Overview: move, page", "right right PgDn left ] p g G" },
		{ "1", "Overview: zoom", "+ + + + - - - -" },
		{ "1", "Overview: rows", "down down up" },
		{ "2", "Map: move, select", "right up up down PgDn p" },
		{ "2", "Map: zoom", "+ + > > < < - -" },
		{ "3", "Order: scroll", "down down PgDn PgDn up G g" },
		{ "3", "Order: step", ". . . , ." },
		{ "4", "Tensors: scroll", "down PgDn PgDn up G g" },
		{ "4", "Tensors: sort", "s r s s" },
		{ "4", "Tensors: filter", "\\ a t t Enter \\ ^U Enter" },
		{ "5", "Graph: unfold all, scroll", "o PgDn down down PgUp G g o" },
		{ "7", "Runs", "v v v s down up" },
		{ "1", "find", "/ l o s s Enter n n N" },
		{ "1", "go, completed", ": g o space h . 3 Tab Tab Tab Esc" },
		{ "1", "all views", "Tab Tab Tab Tab Tab Tab Tab 1 2 3 4 5 7" },
	};
	double worst = 0;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		char enter[40];
		struct key_press key;
		int x, y;
		/* Whatever the row before has left open is closed. */
		snprintf(enter, sizeof enter, "Esc Esc \\ ^U Enter %s p", rows[i].enter);
		struct key_script script = { enter, NULL };
		while (key_script_next(&script, &key))
			app_key(app, &key);
		app_draw(app, width, height, &x, &y);
		double took = measure(app, rows[i].what, rows[i].keys, width, height);
		worst = took > worst ? took : worst;
	}
	return worst;
}

int main(int argc, char **argv)
{
	struct error error = { 0 };
	struct scenario scenario;
	setlocale(LC_CTYPE, "C.UTF-8");
	struct graph *graph = argc > 1 ? graph_open(argv[1], NULL, &error) : NULL;
	if (!graph) {
		fprintf(stderr, "screen_bench: %s\n", argc > 1 ? error.text : "which GRAPH?");
		return 2;
	}
	printf("%s: %u ops, %u tensors. From a key to its frame, in ms:\n\n| keys | screen | median | worst "
		   "|\n|---|---|--:|--:|\n",
		graph->name, graph->ops, graph->tensors);
	scenario_init(&scenario);
	/* The plan is not what is measured. */
	scenario_set(&scenario, "order=program", &error);
	scenario_set(&scenario, "layout=llfb", &error);
	struct session *session = session_new(graph, argv[1], &scenario, &(struct session_options){ 0 }, &error);
	scenario_done(&scenario);
	if (session)
		session_wait(session);
	struct app *app = session ? app_new(session, THEME_DARK, 256, false, NULL) : NULL;
	if (!app || !app->plan)
		return 4;
	struct plan_index index;
	double begin = clock_seconds(CLOCK_THREAD_CPUTIME_ID);
	if (plan_index_build(app->plan, &index) != OK)
		return 4;
	printf("| taking over a new plan | | | %.1f |\n", 1e3 * (clock_seconds(CLOCK_THREAD_CPUTIME_ID) - begin));
	plan_index_free(&index);
	double first = measure_first(app, 80, 24), small = measure_all(app, 80, 24), large = measure_all(app, 200, 60);
	printf("\nWorst: %.1f ms.\n", 1e3 * (small > large && small > first ? small : large > first ? large : first));
	app_free(app);
	session_free(session);
	return 0;
}
