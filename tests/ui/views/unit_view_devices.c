/* unit_view_devices.c: the Devices view of a step that is split, and what other views and drawings say of it. */
#include "src/draw/draw.h"
#include "src/models/models.h"
#include "tests/common/model_steps.h"
#include "tests/common/support.h"
#include "ui/views/devices.h"
#include "views_fixture.h"
#include "src/scenario/knobs.h"

static void open_fixture(struct fixture *fixture, const char *const *set, int width, int height)
{
	open_fixture_with(fixture, step_of_sizes("gpt", (struct model_config){ .layers = 1, .batch = 8, .seq = 32 }), set,
		PLAN_QUICK, width, height);
}

/* To a part, from the one that is shown first. */
static void show_part(struct fixture *fixture, enum device_part part)
{
	for (int i = 0; i < (int)part; i++)
		press(fixture, DEVICES, COMMAND_PART);
}

static const char *const eight[] = { "devices=8", "strategy=megatron", "tp=4", "memory=1GiB", "padding=off", NULL };

Test(view_devices, its_parts_say_what_a_device_holds_sends_and_where_tensors_lie)
{
	OWN(fixture) fixture;
	open_fixture(&fixture, eight, 100, 30);
	show_part(&fixture, PART_TRAFFIC);
	expect(&fixture, DEVICES, "dp   all_reduce");
	expect(&fixture, DEVICES, "tp   all_gather");
	press(&fixture, DEVICES, COMMAND_PART);
	expect(&fixture, DEVICES, "in other placements, if nothing else changed");
	expect(&fixture, DEVICES, "as planned");
	snprintf(fixture.model.filter, sizeof fixture.model.filter, "mlp.c_fc.weight");
	expect(&fixture, DEVICES, "h.0.mlp.c_fc.weight");
	expect(&fixture, DEVICES, "[R, S(0)]");
	press(&fixture, DEVICES, COMMAND_DOWN);
	cr_assert_neq(fixture.model.storage, NONE, "the list moves the cursor of all views");
	expect(&fixture, TENSORS, "[R, S(0)]");
	snprintf(fixture.model.filter, sizeof fixture.model.filter, "no such tensor");
	expect(&fixture, DEVICES, "no tensor's name or kind contains");
	press(&fixture, DEVICES, COMMAND_PART);
	expect(&fixture, DEVICES, "link within a node");
	expect(&fixture, DEVICES, "data sheet: NVIDIA A100 data sheet");
	for (int i = 0; i < 16; i++)
		press(&fixture, DEVICES, COMMAND_DOWN);
	expect(&fixture, DEVICES, "link within a node: 300 GB/s on the data sheet; carried over: 57.8 % of the data sheet's");
}

/* Wide screens use their width: the device has its reasons beside its figures. */
Test(view_devices, wide_screens_use_their_width)
{
	static const struct { enum device_part part; const char *wanted; } cases[] = {
		{ PART_FIGURES, "what collectives reach" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		OWN(fixture) fixture;
		open_fixture(&fixture, eight, 210, 60);
		show_part(&fixture, cases[i].part);
		expect(&fixture, DEVICES, cases[i].wanted);
	}
}

/* Four ranks of eight devices, as planned: the schedule's peaks are the plan's. */
Test(view_devices, the_schedule_is_the_plans)
{
	static const char *const piped[] = { "devices=8", "strategy=megatron", "dp=2", "tp=1", "pp=4", "microbatches=4",
		"memory=1GiB", NULL };
	OWN(fixture) fixture;
	struct error error;
	open_fixture(&fixture, piped, 100, 30);
	OWN(timetable) table;
	cr_assert_eq(plan_timetable(fixture.plan, NULL, &table, &error), OK, "%s", error.text);
	const struct pipelined *pipelined = fixture.plan->transformed->pipelined;
	const struct timetable *timetable = &table;
	cr_assert(timetable->ranks == 4 && timetable->microbatches == 4);
	cr_assert_eq(timetable->time, pipelined->time);
	for (uint32_t rank = 0; rank < 4; rank++) {
		cr_assert_eq(timetable_peak(timetable, rank),
			fixture.plan->by_rank ? fixture.plan->by_rank[rank].peak : pipelined->rank[rank].peak);
		for (uint32_t i = 0; i < timetable->slots; i++)
			cr_assert_eq(memcmp(timetable_slot(timetable, rank, i), &pipelined->timing.slot[rank * pipelined->timing.slots + i],
				sizeof(struct pipeline_slot)), 0);
	}
	expect(&fixture, DEVICES, "a moment");
	fixture.model.timetable = timetable;
	expect(&fixture, DEVICES, "1f1b, 4 ranks");
	expect(&fixture, DEVICES, "rank 3 ");
	fixture.model.click_x = 12;   /* the second rank's row, below tabs, totals and the first */
	fixture.model.click_y = 3;
	press(&fixture, DEVICES, COMMAND_CLICK);
	expect(&fixture, DEVICES, "rank 1: forward of microbatch");
	cr_assert(frame_resize(&fixture.frame, 100, 50));
	expect(&fixture, DEVICES, "rank 3      ▲");
	fixture.model.click_y = 0;
	press(&fixture, DEVICES, COMMAND_CLICK);
	expect(&fixture, DEVICES, "axis collective");
}

/* A step in one piece has the plan's numbers in its schedule, too, split or not, whatever its batch divides by. */
Test(view_devices, the_schedule_of_a_step_in_one_piece_is_the_plans)
{
	static const char *const one[] = { "devices=1", NULL },
							 *const cut[] = { "devices=16", "strategy=megatron", "tp=1", "recompute=selective", NULL };
	const char *const *sets[] = { one, eight, cut };
	for (int i = 0; i < 3; i++) {
		OWN(fixture) fixture;
		struct error error;
		open_fixture(&fixture, sets[i], 100, 30);
		OWN(timetable) timetable;
		cr_assert_eq(plan_timetable(fixture.plan, NULL, &timetable, &error), OK, "%s", error.text);
		cr_assert_eq(timetable.ranks, 1);
		cr_assert_eq(timetable_peak(&timetable, 0), plan_peak(fixture.plan));
		cr_assert(plan_step_time(fixture.plan) < 0 || timetable.time == plan_step_time(fixture.plan));
		const struct pipeline_slot *forward = timetable_slot(&timetable, 0, 0),
								   *backward = timetable_slot(&timetable, 0, 1);
		cr_assert(forward->end > 0 && backward->begin == forward->end && backward->end > backward->begin &&
			backward->end <= timetable.time);
	}
}

static void search(struct fixture *fixture, struct configurations *kept)
{
	configurations_search(kept, fixture->plan, NULL);
	cr_assert(configurations_ranking(kept)->searching || configurations_ranking(kept)->list.entries > 0);
	configurations_wait(kept);
	fixture->model.ranking = configurations_ranking(kept);
	cr_assert(fixture->model.ranking->list.entries > 0, "%s", fixture->model.ranking->error.text);
}

Test(view_devices, configurations_are_ranked_and_one_sets_the_knobs)
{
	OWN(fixture) fixture;
	struct configurations kept = { 0 };
	open_fixture(&fixture, eight, 120, 40);
	expect(&fixture, SEARCH, "S evaluates and ranks");
	search(&fixture, &kept);
	const struct config_list *list = &fixture.model.ranking->list;
	char text[64], number[2][32];
	snprintf(text, sizeof text, "%s of %s configurations fit 1.00 GiB", count_text(list->fitting, number[0]),
		count_text(list->entries, number[1]));
	expect(&fixture, SEARCH, text);
	expect(&fixture, SEARCH, "most on rank 0");
	press(&fixture, SEARCH, COMMAND_DOWN);
	press(&fixture, SEARCH, COMMAND_ACTIVATE);
	const struct config *config = &list->entry[1]->config;
	OWN(scenario) wanted;
	cr_assert_eq(scenario_copy(&wanted, fixture.model.scenario), OK);
	config_knobs(config, &wanted);
	for (int i = 0; i < KNOB_COUNT; i++) {     /* what differs, and no more */
		char value[64];
		snprintf(text, sizeof text, " %s=%s", knobs[i].name, knob_text((enum knob_id)i, wanted.value[i], value, sizeof value));
		cr_assert_eq(strstr(fixture.model.request, text) != NULL, wanted.value[i] != fixture.model.scenario->value[i],
			"%s: %s", fixture.model.request, text);
	}
	snprintf(fixture.model.filter, sizeof fixture.model.filter, "dp 2 tp 4");
	expect(&fixture, SEARCH, "dp 2 tp 4");
	snprintf(fixture.model.filter, sizeof fixture.model.filter, "dp 17");
	expect(&fixture, SEARCH, "no configuration contains");
	fixture.model.filter[0] = '\0';
	fixture.scenario.value[K_memory] = fixture.plan->scenario.value[K_memory] = INT64_C(100) << 20;
	expect(&fixture, SEARCH, "S searches again");
	cr_assert_eq(scenario_set(&fixture.plan->scenario, "group_buffers=1MiB", NULL), OK);
	search(&fixture, &kept);
	expect(&fixture, SEARCH, "100 MiB");
	list = &fixture.model.ranking->list;
	for (uint32_t i = 0; i < list->entries; i += 97) {     /* as plans count them */
		config = &list->entry[i]->config;
		int64_t groups = (config->dp > 1) + (config->tp > 1) + (config->pp > 1) + (config->cp > 1) + (config->ep > 1);
		cr_expect_eq(list->entry[i]->result.worst.communication, groups << 20);
	}
	press(&fixture, SEARCH, COMMAND_LAST);
	expect(&fixture, SEARCH, " too much");
	expect(&fixture, SEARCH,
		fixture.model.ranking->list.fitting ? "The smallest change that fits: " : "Nothing fits 8 devices");
	configurations_free(&kept);
}

Test(view_devices, the_graph_view_says_where_operands_and_results_lie)
{
	OWN(fixture) fixture;
	open_fixture(&fixture, eight, 120, 40);
	uint32_t op = 0;
	while (strcmp(fixture.plan->graph->op[op].type, "comm.all_gather") != 0)
		op++;
	fixture.model.op = op;
	expect(&fixture, GRAPH, ", R]");
	expect(&fixture, GRAPH, "communication");
}

Test(view_devices, one_device_says_how_to_have_more)
{
	static const char *const one[] = { "devices=1", NULL }, *const idle[] = { "devices=4", NULL };
	struct fixture fixture;
	open_fixture(&fixture, one, 100, 30);
	show_part(&fixture, PART_TRAFFIC);
	expect(&fixture, DEVICES, "one device sends nothing. D: two");
	fixture_drop(&fixture);
	open_fixture(&fixture, idle, 100, 30);
	show_part(&fixture, PART_PLACES);
	expect(&fixture, DEVICES, "every device runs the whole step");
	fixture_drop(&fixture);
}

Test(view_devices, every_part_draws_at_every_size)
{
	OWN(fixture) fixture;
	struct error error;
	open_fixture(&fixture, eight, 10, 10);
	OWN(timetable) timetable;
	cr_assert_eq(plan_timetable(fixture.plan, NULL, &timetable, &error), OK, "%s", error.text);
	fixture.model.timetable = &timetable;
	for (int part = 0; part < PART_COUNT; part++, press(&fixture, DEVICES, COMMAND_PART))
		for (int width = 1; width < 130; width += 7)
			for (int height = 1; height < 50; height += 3) {
				cr_assert(frame_resize(&fixture.frame, width, height));
				expect(&fixture, DEVICES, "");
			}
}

Test(view_devices, drawings_are_coloured_by_placement)
{
	OWN(fixture) fixture;
	char *text;
	size_t size;
	struct error error;
	struct draw_options options = { .detail = DRAW_OPS };
	open_fixture(&fixture, eight, 10, 10);
	FILE *stream = open_memstream(&text, &size);
	cr_assert_eq(draw_write(fixture.plan->graph, fixture.plan, &options, stream, NULL, &error), OK, "%s", error.text);
	fclose(stream);
	cr_assert(strstr(text, "on dp 2 x tp 4:"), "the legend names the mesh");
	cr_assert(strstr(text, "[S(0), S(1)]"));
	free(text);
}
