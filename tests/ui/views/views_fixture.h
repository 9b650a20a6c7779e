/* views_fixture.h: a planned graph and all views of it, drawn into cells. For tests of views. */
#ifndef TIDEMARK_TESTS_UI_VIEWS_VIEWS_FIXTURE_H
#define TIDEMARK_TESTS_UI_VIEWS_VIEWS_FIXTURE_H

#include <criterion/criterion.h>
#include <locale.h>
#include <string.h>

#include "src/plan/planner.h"
#include "ui/views/view.h"

enum { OVERVIEW, MAP, ORDER, TENSORS, GRAPH, DEVICES, RUNS };

/* What a test looks at. */
struct fixture {
	struct planner planner;
	struct plan *plan;
	struct plan_index index;
	struct scenario scenario;
	struct model model;
	struct frame frame;
	const struct plan *run[1];
	void *state[VIEWS];
};

/* Plans a graph, which it takes over, under settings (name=value, up to NULL). */
static inline void open_fixture_with(struct fixture *fixture, struct graph *graph, const char *const *set, enum planner_depth depth, int width, int height)
{
	struct error error = { 0 };
	setlocale(LC_ALL, "C.UTF-8");
	*fixture = (struct fixture){ .planner.store = store_new() };
	scenario_init(&fixture->scenario);
	for (; *set; set++)
		cr_assert_eq(scenario_set(&fixture->scenario, *set, &error), OK, "%s", error.text);
	fixture->plan = planner_run(&fixture->planner, graph, &fixture->scenario, depth, &error);
	cr_assert(fixture->plan, "%s", error.text);
	graph_release(graph);
	cr_assert_eq(plan_index_build(fixture->plan, &fixture->index), OK);
	fixture->run[0] = fixture->plan;
	fixture->model = (struct model){ .scenario = &fixture->scenario, .run = fixture->run, .runs = 1, .storage = NONE };
	model_take_plan(&fixture->model, fixture->plan, &fixture->index);
	for (int i = 0; i < VIEWS; i++)
		fixture->state[i] = mem_alloc(1, views[i]->state_size);
	cr_assert(frame_resize(&fixture->frame, width, height));
}

static inline void close_fixture(struct fixture *fixture)
{
	for (int i = 0; i < VIEWS; i++) {
		if (views[i]->free)
			views[i]->free(fixture->state[i]);
		mem_free(fixture->state[i]);
	}
	frame_free(&fixture->frame);
	plan_index_free(&fixture->index);
	plan_release(fixture->plan);
	scenario_done(&fixture->scenario);
	planner_done(&fixture->planner);
}

/* The view's screen as text; free with mem_free(). */
static inline char *screen_of(struct fixture *fixture, int view)
{
	frame_clear(&fixture->frame);
	views[view]->draw(fixture->state[view], &fixture->model, &fixture->frame);
	char *text = frame_dump(&fixture->frame);
	cr_assert(text);
	return text;
}

static inline void expect(struct fixture *fixture, int view, const char *wanted)
{
	char *text = screen_of(fixture, view);
	cr_assert(strstr(text, wanted), "no \"%s\" in\n%s", wanted, text);
	mem_free(text);
}

static inline void press(struct fixture *fixture, int view, enum command_id command)
{
	views[view]->command(fixture->state[view], &fixture->model, command);
}

#endif
