/* views_fixture.h: a planned graph and all views of it, drawn into cells. For tests of views. */
#pragma once

#include <criterion/criterion.h>
#include <locale.h>
#include <string.h>

#include "src/decide/planner.h"
#include "ui/views/view.h"

enum { STEP, FIT, SEARCH, RUNS, DEVICES, MAP, ORDER, TENSORS, GRAPH };

#define MIB (INT64_C(1) << 20)

static inline uint32_t add_tensor(struct draft *draft, const char *name, int64_t mib, enum kind kind)
{
	return draft_tensor(draft,
		&(struct tensor){ .name = name, .bytes = mib * MIB, .alias = NONE, .kind = (uint8_t)kind, .has_bytes = true });
}

static inline uint32_t add_op(
	struct draft *draft, const char *name, const char *module, uint32_t in, uint32_t more, uint32_t out)
{
	uint32_t op = draft_op(
		draft, &(struct op){ .name = name, .type = "f", .module = module, .flops = -1, .has_module = true });
	if (in != NONE)
		draft_read(draft, op, in);
	if (more != NONE)
		draft_read(draft, op, more);
	draft_write(draft, op, out);
	return op;
}

/* stem -> left, right -> join: program order is 16, +64, +48 -> 128 at `right`, finishing one branch first needs 93. */
static inline struct graph *diamond(void)
{
	struct draft *draft = draft_new();
	uint32_t weight = add_tensor(draft, "weight", 4, KIND_PARAMETER);
	uint32_t stem = add_tensor(draft, "stem.out", 16, KIND_ACTIVATION),
			 left = add_tensor(draft, "left.out", 64, KIND_ACTIVATION);
	uint32_t right = add_tensor(draft, "right.out", 48, KIND_ACTIVATION),
			 small = add_tensor(draft, "left.small", 4, KIND_ACTIVATION);
	uint32_t less = add_tensor(draft, "right.small", 8, KIND_ACTIVATION),
			 result = add_tensor(draft, "result", 1, KIND_OUTPUT);
	add_op(draft, "stem", "net", weight, NONE, stem);
	add_op(draft, "left", "net.left", stem, NONE, left);
	add_op(draft, "right", "net.right", stem, NONE, right);
	add_op(draft, "left_pool", "net.left", left, NONE, small);
	add_op(draft, "right_pool", "net.right", right, NONE, less);
	add_op(draft, "join", "net", small, less, result);
	struct error error;
	struct graph *graph = graph_build(draft, &error);
	draft_free(draft);
	cr_assert(graph, "%s", error.text);
	return graph;
}

/* What a test looks at. */
struct fixture {
	struct planner planner;
	struct plan *plan;
	struct plan_index index;
	struct scenario scenario;
	struct model model;
	struct frame frame;
	struct plan *run[1];
	void *state[VIEWS];
};

/* Plans a graph, which it takes over, under settings (name=value, up to NULL). */
static inline void open_fixture_with(struct fixture *fixture, struct graph *graph, const char *const *set,
	enum planner_depth depth, int width, int height)
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

/* ... in program order, to the end. */
static inline void open_program_order(struct fixture *fixture, struct graph *graph, int width, int height)
{
	open_fixture_with(fixture, graph, (const char *const[]){ "order=program", NULL }, PLAN_COMPLETE, width, height);
}

static inline void fixture_drop(struct fixture *fixture)
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
	HELD char *text = screen_of(fixture, view);
	cr_assert(strstr(text, wanted), "no \"%s\" in\n%s", wanted, text);
}

static inline void press(struct fixture *fixture, int view, enum command_id command)
{
	views[view]->command(fixture->state[view], &fixture->model, command);
}
