/* Tests of the views as text: a hand-made graph, planned in program order, drawn into cells. */
#include "src/read/input.h"
#include "tests/common/support.h"
#include "ui/views/frequency.h"
#include "ui/views/order_rows.h"
#include "views_fixture.h"
#include "src/scenario/knobs.h"

/* A chain of small tensors with one that is large, in the middle of so many ops. */
static struct graph *spike(uint32_t ops)
{
	struct draft *draft = draft_new();
	uint32_t before = add_tensor(draft, "t", 1, KIND_ACTIVATION);
	for (uint32_t i = 0; i < ops; i++) {
		char op[32], tensor[32];
		snprintf(op, sizeof op, "op%u", i);
		snprintf(tensor, sizeof tensor, "t%u", i);
		uint32_t out = add_tensor(draft, tensor, i == ops / 2 ? 1000 : 1, KIND_ACTIVATION);
		add_op(draft, op, "", before, NONE, out);
		before = out;
	}
	struct error error;
	struct graph *graph = graph_build(draft, &error);
	draft_free(draft);
	cr_assert(graph, "%s", error.text);
	return graph;
}

static void expect_not(struct fixture *fixture, int view, const char *unwanted)
{
	HELD char *text = screen_of(fixture, view);
	cr_assert_not(strstr(text, unwanted), "\"%s\" in\n%s", unwanted, text);
}

Test(views, the_overview_opens_at_the_peak_and_lists_what_is_alive)
{
	OWN(fixture) fixture;
	open_program_order(&fixture, diamond(), 80, 20);
	expect(&fixture, STEP, "op 2 of 6 right  f  forward");
	expect(&fixture, STEP, "132 MiB alive = most");
	expect(&fixture, STEP, "4 groups of 4 tensors");
	expect(&fixture, STEP, "1 x 64.0 MiB  activation  left.out");
	expect(&fixture, STEP, "this op");
	press(&fixture, STEP, COMMAND_LEFT);
	expect(&fixture, STEP, "op 1 of 6 left");
	expect(&fixture, STEP, "84.0 MiB alive = most -48.0 MiB");
	press(&fixture, STEP, COMMAND_PEAK);
	expect(&fixture, STEP, "op 2 of 6 right");
}

Test(views, the_curve_stacks_categories_from_the_bottom)
{
	OWN(fixture) fixture;
	open_program_order(&fixture, diamond(), 40, 20);
	fixture.frame.mono = true;
	HELD char *text = screen_of(&fixture, STEP);
	/* 132 MiB over 6 rows: only the peak's columns reach the top one. */
	cr_assert(strstr(text, "\n              aaaaaaaaaaaaa\n"), "%s", text);
}

Test(views, a_short_peak_never_vanishes_from_the_curve)
{
	OWN(fixture) fixture;
	open_program_order(&fixture, spike(3000), 41, 20);
	fixture.frame.mono = true;
	press(&fixture, STEP, COMMAND_FIRST);
	char *text = screen_of(&fixture, STEP);
	cr_assert(strstr(text, "\n                    a\n"), "%s", text);
	mem_free(text);
	press(&fixture, STEP, COMMAND_PEAK);
	cr_assert_eq(model_position(&fixture.model), fixture.plan->ordered->peak_position);
}

Test(views, every_column_shows_positions_and_every_position_a_column)
{
	OWN(fixture) fixture;
	open_program_order(&fixture, spike(700), 40, 20);
	for (uint32_t count = 8; count <= 700; count += 13)
		for (int width = 1; width < 300; width += 7) {
			fixture.model.zoom_first = 700 - count;
			fixture.model.zoom_count = count;
			uint32_t first, last, next = 700 - count;
			for (int x = 0; x < width; x++) {
				model_column(&fixture.model, x, width, &first, &last);
				cr_assert(first <= last && last < 700 && (first == next || first + 1 == next), "%u over %d", count, width);
				next = last + 1;
			}
			cr_assert_eq(next, 700);
			for (uint32_t position = 700 - count; position < 700; position++) {
				int x = model_column_of(&fixture.model, position, width);
				model_column(&fixture.model, x, width, &first, &last);
				cr_assert(first <= position && position <= last, "%u of %u over %d", position, count, width);
			}
		}
}

Test(views, zooming_keeps_the_cursor_on_the_screen)
{
	OWN(fixture) fixture;
	open_program_order(&fixture, spike(3000), 80, 20);
	uint64_t state = test_seed();
	static const enum command_id moves[] = { COMMAND_LEFT, COMMAND_RIGHT, COMMAND_ZOOM_IN, COMMAND_ZOOM_OUT,
		COMMAND_PAGE_UP, COMMAND_PAGE_DOWN, COMMAND_COLUMN_LEFT, COMMAND_COLUMN_RIGHT, COMMAND_FIRST, COMMAND_LAST,
		COMMAND_PEAK };
	for (int i = 0; i < 5000; i++) {
		view_command(&fixture.model, moves[random_next(&state) % (sizeof moves / sizeof *moves)]);
		uint32_t position = model_position(&fixture.model), first = fixture.model.zoom_first,
				 count = fixture.model.zoom_count;
		cr_assert(first <= position && position < first + count && first + count <= 3000 && count >= 8, "seed %llu step %d",
			  (unsigned long long)test_seed(), i);
	}
}

Test(views, categories_add_up_to_the_live_bytes)
{
	OWN(fixture) fixture;
	open_program_order(&fixture, diamond(), 80, 24);
	for (uint32_t i = 0; i < fixture.plan->graph->ops; i++) {
		int64_t sum = 0;
		for (int category = 0; category < CATEGORIES; category++)
			sum += fixture.index.category[i * CATEGORIES + (uint32_t)category];
		cr_assert_eq(sum, fixture.plan->ordered->live[i]);
	}
}

Test(views, the_map_shows_each_storage_at_its_address)
{
	OWN(fixture) fixture;
	open_program_order(&fixture, diamond(), 60, 38);
	fixture.frame.mono = true;
	const struct plan *plan = fixture.plan;
	int rows = 33, width = 51;
	char *text = screen_of(&fixture, MAP);
	for (uint32_t s = 0; s < plan->graph->storages; s++) {
		if (plan->laid_out->bytes[s] * rows < 2 * plan_arena(plan))
			continue;
		int row = rows - 1 - (int)((plan->laid_out->offset[s] + plan->laid_out->bytes[s] / 2) * rows / plan_arena(plan));
		fixture.model.zoom_first = 0;
		int x = model_column_of(&fixture.model, plan->laid_out->first[s], width);
		uint32_t code = fixture.frame.cell[row * 60 + 9 + x].code | 0x20;
		bool cursor = plan->laid_out->first[s] == model_position(&fixture.model);
		cr_assert(cursor || code == (uint32_t)category_letters[plan->graph->storage[s].kind], "storage %u\n%s", s, text);
	}
	mem_free(text);
	expect(&fixture, MAP, "op 2: 132 MiB live");
	press(&fixture, MAP, COMMAND_UP);
	cr_assert_neq(fixture.model.storage, NONE);
	expect(&fixture, MAP, storage_name(plan, fixture.model.storage));
}

Test(views, the_map_names_the_neighbours_in_address_and_the_holes_between)
{
	OWN(fixture) fixture;
	open_program_order(&fixture, diamond(), 120, 24);
	const struct plan *plan = fixture.plan;
	for (uint32_t position = 0; position < plan->graph->ops; position++)
		for (uint32_t s = 0; s < plan->graph->storages; s++) {
			if (!alive_at(plan, s, position))
				continue;
			struct neighbours next = plan_neighbours(&fixture.index, s, position);
			int64_t low = plan->laid_out->offset[s] - next.hole_below,
					high = plan->laid_out->offset[s] + plan->laid_out->bytes[s] + next.hole_above;
			cr_assert_eq(low, next.below == NONE ? 0 : plan->laid_out->offset[next.below] + plan->laid_out->bytes[next.below]);
			cr_assert_eq(high, next.above == NONE ? plan_arena(plan) : plan->laid_out->offset[next.above]);
			for (uint32_t other = 0; other < plan->graph->storages; other++)
				cr_assert(other == s || !alive_at(plan, other, position) || plan->laid_out->offset[other] >= high ||
					  plan->laid_out->offset[other] + plan->laid_out->bytes[other] <= low, "something lies in the hole");
			fixture.model.storage = s;
			model_go(&fixture.model, position);
			expect(&fixture, MAP, next.above == NONE ? "the arena's end" : storage_name(plan, next.above));
			expect(&fixture, MAP, next.below == NONE ? "address 0" : storage_name(plan, next.below));
		}
}

Test(views, holes_are_what_no_storage_covers)
{
	OWN(fixture) fixture;
	open_program_order(&fixture, diamond(), 80, 24);
	for (uint32_t i = 0; i < fixture.plan->graph->ops; i++)
		cr_assert_eq(plan_holes(&fixture.index, i).total, plan_arena(fixture.plan) - fixture.plan->ordered->live[i]);
}

Test(views, the_table_of_tensors_sorts_and_filters)
{
	OWN(fixture) fixture;
	open_program_order(&fixture, diamond(), 76, 12);
	char *text = screen_of(&fixture, TENSORS);
	cr_assert(strstr(text, "left.out") < strstr(text, "right.out"), "%s", text);
	mem_free(text);
	press(&fixture, TENSORS, COMMAND_REVERSE);
	text = screen_of(&fixture, TENSORS);
	cr_assert(strstr(text, "left.out") > strstr(text, "right.out"), "%s", text);
	mem_free(text);
	snprintf(fixture.model.filter, sizeof fixture.model.filter, "SMALL");
	expect(&fixture, TENSORS, "right.small");
	expect_not(&fixture, TENSORS, "left.out");
	snprintf(fixture.model.filter, sizeof fixture.model.filter, "nothing like it");
	expect(&fixture, TENSORS, "no tensor passes the filter");
}

Test(views, stepping_tells_what_could_run_and_what_it_needs)
{
	OWN(fixture) fixture;
	open_program_order(&fixture, diamond(), 80, 24);
	press(&fixture, ORDER, COMMAND_RUN_OP);
	expect(&fixture, ORDER, "2 ops could run here");
	expect(&fixture, ORDER, "88.0 MiB  -60.0 MiB  left_pool");
	expect(&fixture, ORDER, "132 MiB  +32.0 MiB  right");
	press(&fixture, ORDER, COMMAND_RUN_OP);
	expect(&fixture, ORDER, "freed  64.0 MiB  left.out");
	expect_not(&fixture, ORDER, "1.00 MiB join");
}

Test(views, an_order_changed_by_hand_shows_what_it_costs)
{
	OWN(fixture) fixture;
	open_program_order(&fixture, diamond(), 80, 24);
	press(&fixture, ORDER, COMMAND_RIGHT);            /* left_pool */
	press(&fixture, ORDER, COMMAND_EARLIER);          /* before right */
	expect(&fixture, ORDER, "by hand, 1 move: peak 88.0 MiB");
	expect(&fixture, ORDER, "-44.0 MiB");
	press(&fixture, ORDER, COMMAND_EARLIER);          /* before left, whose result it reads */
	cr_assert(strstr(fixture.model.message, "can't move"));
	expect(&fixture, ORDER, "by hand, 1 move");
	press(&fixture, ORDER, COMMAND_UNDO);
	expect(&fixture, ORDER, "peak 132 MiB at op 2");
}

/* Plans the fixture's graph again with the knobs as they are now. */
static void plan_again(struct fixture *fixture)
{
	struct error error = { 0 };
	struct plan *plan = planner_run(&fixture->planner, fixture->plan->input, &fixture->scenario, PLAN_COMPLETE, &error);
	cr_assert(plan, "%s", error.text);
	plan->serial = fixture->plan->serial + 1;
	plan_index_free(&fixture->index);
	cr_assert_eq(plan_index_build(plan, &fixture->index), OK);
	model_take_plan(&fixture->model, plan, &fixture->index);
	plan_release(fixture->plan);
	fixture->plan = plan;
	fixture->run[0] = plan;
}

/* Forward a, b, c, their backward ops, and an update of each weight. */
static struct graph *training_step(void)
{
	static const char *const forward[] = { "a", "b", "c" }, *const backward[] = { "a_back", "b_back", "c_back" },
				 *const update[] = { "a_update", "b_update", "c_update" };
	struct draft *draft = draft_new();
	uint32_t weight[3], kept[3], before = add_tensor(draft, "input", 8, KIND_INPUT), gradient = NONE;
	for (int i = 0; i < 3; i++) {
		char name[32];
		snprintf(name, sizeof name, "%s.weight", forward[i]);
		weight[i] = add_tensor(draft, name, 4, KIND_PARAMETER);
		snprintf(name, sizeof name, "%s.out", forward[i]);
		kept[i] = before;
		uint32_t out = add_tensor(draft, name, 8 + 4 * i, KIND_ACTIVATION);
		add_op(draft, forward[i], "net", before, weight[i], out);
		before = out;
	}
	for (int i = 2; i >= 0; i--) {
		char name[32];
		snprintf(name, sizeof name, "%s.gradient", forward[i]);
		uint32_t own = add_tensor(draft, name, 4, KIND_GRADIENT), op;
		snprintf(name, sizeof name, "%s.passed", forward[i]);
		uint32_t passed = add_tensor(draft, name, 8, KIND_TEMPORARY);
		op = add_op(draft, backward[i], "net", i == 2 ? before : gradient, kept[i], passed);
		draft_write(draft, op, own);
		draft_op_at(draft, op)->phase = PHASE_BACKWARD;
		gradient = passed;
		snprintf(name, sizeof name, "%s.new", forward[i]);
		op = add_op(draft, update[i], "net", own, weight[i], add_tensor(draft, name, 1, KIND_OUTPUT));
		draft_op_at(draft, op)->phase = PHASE_UPDATE;
	}
	struct error error;
	struct graph *graph = graph_build(draft, &error);
	draft_free(draft);
	cr_assert(graph, "%s", error.text);
	return graph;
}

Test(views, the_order_view_shows_segments_waists_and_where_branches_went)
{
	OWN(fixture) fixture;
	open_program_order(&fixture, training_step(), 100, 60);
	expect_not(&fixture, ORDER, "segment");
	fixture.scenario.value[K_order] = ORDER_ROAM;
	plan_again(&fixture);
	const struct order_roam *roam = &fixture.plan->ordered->result.roam;
	cr_assert_gt(roam->segments, 1);
	cr_assert_gt(roam->branches, 0);
	expect(&fixture, ORDER, " segment 0, forward, peak ");
	for (uint32_t i = 0; i < roam->segments; i++) {
		char text[200];
		snprintf(text, sizeof text, " segment %u, ", i);
		expect(&fixture, ORDER, text);
		if (roam->segment[i].waist == NONE)
			continue;
		model_go(&fixture.model, fixture.plan->ordered->position[roam->segment[i].waist]);
		snprintf(text, sizeof text, "the waist that ends segment %u", i);
		expect(&fixture, ORDER, text);
	}
	for (uint32_t i = 0; i < roam->branches; i++) {
		model_go(&fixture.model, fixture.plan->ordered->position[roam->branch[i].op]);
		expect(&fixture, ORDER, "update branch of 1 op, runs in segment ");
		expect(&fixture, ORDER, order_branch_reasons[roam->branch[i].why]);
	}
}

Test(views, rows_of_rules_and_ops_number_the_order_without_gaps)
{
	OWN(fixture) fixture;
	open_program_order(&fixture, training_step(), 80, 24);
	fixture.scenario.value[K_order] = ORDER_ROAM;
	plan_again(&fixture);
	const struct order_roam *roam = &fixture.plan->ordered->result.roam;
	uint32_t ops = fixture.plan->graph->ops, next = 0, rules = 0, position;
	for (uint32_t row = 0; row < ops + roam->segments; row++) {
		uint32_t segment = segment_row_of_rule(roam, row, &position);
		cr_assert_eq(position, next);
		if (segment != NONE) {
			cr_assert_eq(segment, rules++);
			continue;
		}
		cr_assert_eq(segment_row(roam, position), row);
		cr_assert_eq(segment_at(roam, position), rules - 1);
		next++;
	}
	cr_assert(next == ops && rules == roam->segments);
}

Test(views, lanes_of_items_alive_together_differ)
{
	OWN(fixture) fixture;
	struct order_schedule schedule;
	char text[200];
	open_program_order(&fixture, spike(500), 80, 24);
	cr_assert_eq(schedule_new(fixture.plan, &schedule), OK);
	uint32_t items = schedule.problem->items;
	for (uint32_t i = 0; i < items; i++)
		for (uint32_t j = 0; j < i; j++) {
			bool together = schedule.first[i] <= schedule.last[j] && schedule.first[j] <= schedule.last[i];
			cr_assert(!together || schedule.lane[i] != schedule.lane[j] || schedule.lane[i] == LANES);
		}
	for (uint32_t i = 0; i + 1 < fixture.plan->graph->ops; i++)
		cr_assert_neq(schedule_swap(&schedule, i, fixture.plan, text, sizeof text), OK);
	schedule_free(&schedule);
}

Test(views, modules_fold_and_sum_their_bytes)
{
	OWN(fixture) fixture;
	open_program_order(&fixture, diamond(), 80, 24);
	expect(&fixture, GRAPH, "6 ops");
	expect_not(&fixture, GRAPH, "left_pool  f");
	press(&fixture, GRAPH, COMMAND_GROUP);
	expect(&fixture, GRAPH, "left_pool  f");
	expect(&fixture, GRAPH, "left  2 ops");
	press(&fixture, GRAPH, COMMAND_GROUP);
	expect_not(&fixture, GRAPH, "left_pool  f");
}

Test(views, the_neighbours_of_an_op_show_what_every_dim_carries)
{
	struct fixture fixture;
	struct error error;
	OWN(graph) *graph = graph_open("samples/gpt2_b1_s1024_adam.jsonl.gz", NULL, &error);
	cr_assert(graph, "%s", error.text);
	long blocks = memory_blocks();
	open_program_order(&fixture, graph_retain(graph), 140, 30);
	struct graph_factors kept = { 0 };
	fixture.model.op = graph_find_op(graph, "addmm_0#8");
	cr_assert_neq(fixture.model.op, NONE);
	expect(&fixture, GRAPH, "f32[1024, 768]");
	fixture.model.factors = graph_factors_of(&kept, graph, NULL);
	cr_assert(fixture.model.factors);
	cr_assert_eq(graph_factors_of(&kept, graph, NULL), fixture.model.factors, "found once per graph");
	expect(&fixture, GRAPH, "f32[1024=batch*sequence, 768=hidden]");
	cr_assert(frame_resize(&fixture.frame, 55, 30));
	expect(&fixture, GRAPH, "f32[1024=batch*sequence, 768=hidden]");
	fixture_drop(&fixture);
	graph_factors_free(&kept);
	cr_assert_eq(memory_blocks(), blocks);
}

Test(views, every_view_draws_at_every_size_and_stays_in_its_window)
{
	OWN(fixture) fixture;
	open_program_order(&fixture, diamond(), 40, 10);
	fixture.model.baseline = fixture.plan;
	for (int view = 0; view < VIEWS; view++)
		for (int width = 1; width < 140; width += width < 60 ? 1 : 9)
			for (int height = 1; height < 50; height += height < 16 ? 1 : 5)
				for (int look = 0; look < 3; look++) {
					cr_assert(frame_resize(&fixture.frame, width + 2, height + 2));
					fixture.frame.ascii = look == 1;
					fixture.frame.mono = look == 2;
					frame_window(&fixture.frame, (struct rect){ 1, 1, width, height });
					views[view]->draw(fixture.state[view], &fixture.model, &fixture.frame);
					press(&fixture, view, height % 2 ? COMMAND_DOWN : COMMAND_RIGHT);
					for (int x = 0; x < width + 2; x++)
						cr_assert(fixture.frame.cell[x].code == ' ' && fixture.frame.cell[(height + 1) * (width + 2) + x].code == ' ',
							  "view %d at %dx%d", view, width, height);
				}
}

Test(views, ascii_drawing_is_ascii)
{
	OWN(fixture) fixture;
	open_program_order(&fixture, diamond(), 100, 30);
	fixture.frame.ascii = true;
	for (int view = 0; view < VIEWS; view++) {
		HELD char *text = screen_of(&fixture, view);
		for (const char *at = text; *at; at++)
			cr_assert((unsigned char)*at < 0x80, "view %d:\n%s", view, text);
	}
}

Test(views, a_graph_without_ops_can_be_shown)
{
	struct draft *draft = draft_new();
	add_tensor(draft, "alone", 3, KIND_PARAMETER);
	struct error error;
	struct graph *graph = graph_build(draft, &error);
	draft_free(draft);
	OWN(fixture) fixture;
	open_program_order(&fixture, graph, 80, 24);
	for (int view = 0; view < VIEWS; view++)
		for (int command = 0; command < COMMAND_COUNT; command++) {
			mem_free(screen_of(&fixture, view));
			press(&fixture, view, (enum command_id)command);
		}
}

/* ---- filters, counts, memory that ends ---------------------------------------------------- */

static bool filtered(const char *text, const char *name, const char *kind, const char *module)
{
	struct row_filter filter;
	struct error error;
	const char *value[ROW_FIELD_COUNT] = { name, kind, "f32", module, "aten.mm.default", "forward" };
	cr_assert_eq(row_filter_read(text, &filter, &error), OK, "%s", text);
	bool passes = row_filter_passes(&filter, value);
	row_filter_free(&filter);
	return passes;
}

Test(views, filters_have_parts_letters_expressions_fields_and_their_opposite)
{
	static const struct { const char *text; bool passes; } cases[] = {
		{ "", true },
		{ "soft", true },
		{ "ACTIV", true },
		{ "soft relu", false },
		{ "!relu", true },
		{ "!soft", false },
		{ "~sfx", true },
		{ "~xsf", false },
		{ "/^_soft.*0$/", true },
		{ "/^soft/", false },
		{ "!/^soft/", true },
		{ "kind:act", true },
		{ "kind=act", false },
		{ "kind=activation", true },
		{ "module:h.1", true },
		{ "module:/^h\\.1(\\.|$)/", false },
		{ "dtype=f32 phase:forward", true },
		{ "type:mm !kind:grad", true },
		{ "kind:~atv", true },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
		cr_assert_eq(filtered(cases[i].text, "_softmax_0", "activation", "h.10.attn"), cases[i].passes, "%s", cases[i].text);
	struct row_filter filter;
	struct error error;
	cr_assert_eq(row_filter_read("/(/", &filter, &error), BAD_INPUT);
	cr_assert_eq(filter.words, 0);
}

Test(views, tensors_are_counted_and_marked)
{
	OWN(fixture) fixture;
	open_program_order(&fixture, diamond(), 100, 24);
	press(&fixture, TENSORS, COMMAND_GROUP);
	expect(&fixture, TENSORS, "128 MiB  97.0 %");        /* activations at the peak */
	press(&fixture, TENSORS, COMMAND_ACTIVATE);
	cr_assert_str_eq(fixture.model.filter, "kind=activation");
	press(&fixture, TENSORS, COMMAND_MARK);
	press(&fixture, TENSORS, COMMAND_MARK);
	expect(&fixture, TENSORS, "2 marked: ");
	fixture.model.filter[0] = '\0';
	for (int field = 0; field < 4; field++)
		press(&fixture, TENSORS, COMMAND_GROUP);
	expect(&fixture, TENSORS, "type");
	press(&fixture, TENSORS, COMMAND_ACTIVATE);
	cr_assert_eq(strncmp(fixture.model.filter, "type=", 5), 0, "%s", fixture.model.filter);
}

Test(views, failed_allocations_leave_nothing_behind)
{
	OWN(fixture) fixture;
	open_program_order(&fixture, diamond(), 80, 24);
	for (int view = 0; view < VIEWS; view++)
		for (long n = 0; n < 40; n = memory_next(n)) {
			long before = memory_blocks();
			void *state = mem_alloc(1, views[view]->state_size);
			frame_clear(&fixture.frame);
			memory_allow(n);
			views[view]->draw(state, &fixture.model, &fixture.frame);
			memory_allow(-1);
			if (views[view]->free)
				views[view]->free(state);
			mem_free(state);
			cr_assert_eq(memory_blocks(), before, "view %d, %ld allocations", view, n);
		}
}
