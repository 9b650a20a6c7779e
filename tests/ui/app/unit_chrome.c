/* Tests of what stands around the views: the panel of knobs, footer, overlays, status line and prompt. */
#include "tests/ui/views/views_fixture.h"
#include "ui/app/app.h"
#include "src/scenario/knobs.h"

Test(chrome, the_panel_shows_every_knob_once)
{
	OWN(fixture) fixture;
	struct panel panel = { .open = ~0u };
	open_program_order(&fixture, diamond(), 40, 200);
	panel_draw(&panel, &fixture.model, true, &fixture.frame);
	HELD char *text = frame_dump(&fixture.frame);
	for (int i = 0; i < KNOB_COUNT; i++) {
		char line[100];
		snprintf(line, sizeof line, " %s ", knobs[i].name);
		int found = 0;
		for (const char *at = text; (at = strstr(at, line)); at++)
			found++;
		cr_assert(found == 1, "%s %d times in\n%s", knobs[i].name, found, text);
	}
}

static void select_knob(struct panel *panel, const char *name)
{
	panel_narrow(panel, name);
	panel_narrow(panel, "");
}

static bool panel_says(struct fixture *fixture, struct panel *panel, const char *wanted)
{
	frame_clear(&fixture->frame);
	panel_draw(panel, &fixture->model, true, &fixture->frame);
	HELD char *text = frame_dump(&fixture->frame);
	bool found = strstr(text, wanted);
	return found;
}

/* Rows that begin with a name, below the view's edge. */
static bool panel_has_row(struct fixture *fixture, struct panel *panel, const char *name)
{
	char line[100];
	frame_clear(&fixture->frame);
	panel_draw(panel, &fixture->model, true, &fixture->frame);
	HELD char *text = frame_dump(&fixture->frame);
	snprintf(line, sizeof line, " %s ", name);
	bool found = strstr(text, line);
	return found;
}

Test(chrome, what_is_turned_most_is_in_a_small_panel_and_the_rest_is_folded)
{
	static const char *const wanted[] = { "recompute", "batch", "devices", "strategy", "memory" };
	OWN(fixture) fixture;
	struct panel panel = { 0 };
	open_program_order(&fixture, diamond(), 28, 20);   /* beside a view of 80x24 */
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		cr_assert(panel_has_row(&fixture, &panel, wanted[i]), "%s", wanted[i]);
	cr_assert_not(panel_has_row(&fixture, &panel, "in_place"));
	fixture.scenario.value[K_train] = 1;         /* what was changed is shown though its group is folded */
	cr_assert(panel_has_row(&fixture, &panel, "train"));
	panel_narrow(&panel, "in_pl");
	cr_assert(panel_has_row(&fixture, &panel, "in_place"));
	cr_assert_not(panel_has_row(&fixture, &panel, "recompute"));
	panel_narrow(&panel, "");
	cr_assert(panel_has_row(&fixture, &panel, "in_place"));
	cr_assert(panel_find(&panel, "micro", 1));
	panel_command(&panel, &fixture.model, COMMAND_RIGHT);
	cr_assert_str_eq(fixture.model.request, "set microbatches=2");
}

Test(chrome, a_step_from_given_changes_something)
{
	OWN(fixture) fixture;
	struct panel panel = { 0 };
	open_program_order(&fixture, diamond(), 40, 30);
	fixture.model.given = (struct given){ .batch = 8, .precision = "fp32", .optimizer = "", .train = "a step" };
	cr_assert(panel_says(&fixture, &panel, "given (8)"));
	cr_assert(panel_says(&fixture, &panel, "given (fp32)"));
	select_knob(&panel, "batch");
	panel_command(&panel, &fixture.model, COMMAND_RIGHT);
	cr_assert_str_eq(fixture.model.request, "set batch=16");
	select_knob(&panel, "precision");
	panel_command(&panel, &fixture.model, COMMAND_RIGHT);
	cr_assert_str_eq(fixture.model.request, "set precision=bf16");
	fixture.scenario.value[K_strategy] = 1 + STRATEGY_ZERO;
	select_knob(&panel, "zero");
	cr_assert(panel_says(&fixture, &panel, "3 (strategy)"));
	panel_command(&panel, &fixture.model, COMMAND_LEFT);
	cr_assert_str_eq(fixture.model.request, "set zero=2");
}

Test(chrome, the_panel_asks_for_the_next_value_or_says_why_not)
{
	OWN(fixture) fixture;
	struct panel panel = { 0 };
	open_program_order(&fixture, diamond(), 40, 30);
	for (uint32_t i = 0; i < KNOB_COUNT; i++) {
		fixture.model.request[0] = fixture.model.message[0] = '\0';
		select_knob(&panel, knobs[i].name);
		panel_command(&panel, &fixture.model, COMMAND_RIGHT);
		cr_assert((strncmp(fixture.model.request, "set ", 4) == 0) != (*fixture.model.message != '\0'));
	}
	select_knob(&panel, "chunks");
	cr_assert(panel_says(&fixture, &panel, "No effect now: no pipeline"));   /* before it is turned */
}

Test(chrome, the_panel_tells_what_a_step_gave_when_a_run_has_it)
{
	OWN(fixture) fixture;
	struct panel panel = { 0 };
	open_program_order(&fixture, diamond(), 60, 40);
	select_knob(&panel, "order");
	cr_assert_not(panel_says(&fixture, &panel, "the same"));
	fixture.scenario.value[K_order] = ORDER_UPDATES_LAST;   /* a step to the left is the fixture's run */
	cr_assert(panel_says(&fixture, &panel, "the same"));
	fixture.model.status.stale = true;
	cr_assert_not(panel_says(&fixture, &panel, "the same"));
	fixture.model.status.stale = false;
	fixture.scenario.value[K_alignment] = 512;              /* now the run differs in two knobs */
	cr_assert_not(panel_says(&fixture, &panel, "the same"));
}

Test(chrome, the_footer_never_exceeds_its_row_and_always_offers_help)
{
	OWN(frame) frame = { 0 };
	static const int widths[] = { 40, 80, 200 };
	for (int i = 0; i < 3; i++)
		for (unsigned context = 1; context < IN_ANY; context <<= 1) {
			cr_assert(frame_resize(&frame, widths[i], 1));
			chrome_footer(&frame, context);
			HELD char *text = frame_dump(&frame);
			size_t length = strlen(text);
			cr_assert(length == (size_t)widths[i] + 1 && strcmp(text + length - 7, "? help\n") == 0, "%s", text);
			cr_assert(widths[i] < 80 || (strstr(text, " undo") && strstr(text, " knobs")), "%s", text);
		}
}

Test(chrome, every_command_is_in_some_overlay_and_can_be_found_by_its_word)
{
	OWN(fixture) fixture;
	open_program_order(&fixture, diamond(), 100, 40);
	for (int i = 0; i < COMMAND_COUNT; i++) {
		unsigned context = commands[i].context & (~commands[i].context + 1);
		struct help help;
		int x, y;
		bool close;
		help_open(&help);
		for (const char *at = commands[i].word; *at; at++) {
			struct key_press key = { .code = (uint32_t)*at };
			snprintf(key.name, sizeof key.name, "%c", *at);
			if (at == commands[i].word && *at == 'q')
				line_key(&help.filter, &key, NULL);
			else
				help_key(&help, &fixture.model, context, &key, &close);
		}
		frame_clear(&fixture.frame);
		help_draw(&help, &fixture.model, context, &fixture.frame, &x, &y);
		HELD char *text = frame_dump(&fixture.frame);
		cr_assert(strstr(text, commands[i].word), "%s\n%s", commands[i].word, text);
	}
}

Test(chrome, no_key_means_two_things_in_one_context)
{
	for (unsigned context = 1; context < IN_ANY; context <<= 1)
		for (int i = 0; i < COMMAND_COUNT; i++) {
			if (!(commands[i].context & context))
				continue;
			char keys[64], *rest = keys;
			snprintf(keys, sizeof keys, "%s", commands[i].keys);
			for (char *key; (key = strsep(&rest, " ")) && *key; )
				cr_assert_eq(command_of_key(key, context), (enum command_id)i, "%s of %s", key, commands[i].word);
		}
}

Test(chrome, a_gap_is_never_rounded_to_nothing)
{
	char text[32];
	cr_assert_str_eq(gap_text(1025, 1000, text, sizeof text), "2.50 %");
	cr_assert_str_eq(gap_text(1000001, 1000000, text, sizeof text), "<0.01 %");
	cr_assert_str_eq(gap_text(1000, 1000, text, sizeof text), "0.00 %");
	cr_assert_str_eq(gap_text(5, 0, text, sizeof text), "unknown");
}

Test(chrome, the_status_line_says_stale_and_keeps_its_numbers_whole)
{
	OWN(fixture) fixture;
	open_program_order(&fixture, diamond(), 80, 2);
	fixture.model.status = (struct session_status){
		.solving = true, .stale = true, .stage = "order: cuts", .fraction = 0.5
	};
	for (int width = 40; width < 200; width++) {
		cr_assert(frame_resize(&fixture.frame, width, 2));
		chrome_status(&fixture.frame, &fixture.model);
		HELD char *text = frame_dump(&fixture.frame);
		cr_assert(strstr(text, "\nNEEDS 132.00 MiB, no limit") && strstr(text, " 50 %\n"), "%s", text);
		cr_assert(strstr(text, " old "), "%s", text);
		cr_assert(fixture.frame.cell[0].marks & MARK_DIM);
	}
}

Test(chrome, a_step_that_does_not_fit_shows_the_key_for_what_does)
{
	OWN(fixture) fixture;
	struct error error = { 0 };
	open_program_order(&fixture, diamond(), 80, 2);
	cr_assert_eq(scenario_set(&((struct plan *)(uintptr_t)fixture.model.plan)->scenario, "memory=100MiB", &error), OK,
		"%s", error.text);
	for (int width = 80; width < 200; width++) {
		cr_assert(frame_resize(&fixture.frame, width, 2));
		chrome_status(&fixture.frame, &fixture.model);
		HELD char *text = frame_dump(&fixture.frame);
		cr_assert(strstr(text, "DOES NOT FIT") && strstr(text, "too much"), "%d columns: %s", width, text);
	}
}

Test(chrome, the_prompt_completes_commands_knobs_values_and_names)
{
	OWN(fixture) fixture;
	static struct completion completion;
	open_program_order(&fixture, diamond(), 80, 24);
	static const struct { const char *typed, *wanted; } cases[] = {
		{ "base", "baseline" },
		{ "set ord", "set order=" },
		{ "set order=rev", "set order=reverse-lpmf" },
		{ "set in_place=o", "set in_place=off" },
		{ "go left_", "go left_pool" },
		{ "pin o", "pin op" },
		{ "pin op left_", "pin op left_pool" },
		{ "pin op left b", "pin op left before " },
		{ "pin op left before ri", "pin op left before right" },
		{ "pin tensor stem", "pin tensor stem.out" },
		{ "export tik", "export tikz" },
		{ "export svg a.svg --v", "export svg a.svg --view " },
		{ "export svg a.svg --view lay", "export svg a.svg --view layers" },
		{ "export dot a.dot --stage i", "export dot a.dot --stage input" },
		{ "reset align", "reset alignment" },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		completion_find(cases[i].typed, &fixture.model, &completion);
		cr_assert_geq(completion.count, 1, "%s", cases[i].typed);
		cr_assert_str_eq(completion.offer[0].line, cases[i].wanted);
	}
	/* Parts of names, then letters in their order; every offer says what it is. */
	static const struct { const char *typed, *wanted, *note; } finds[] = {
		{ "set device=a100-8", "set device=a100-80gb", "80 GiB  312 TFLOP/s bf16  2039 GB/s" },
		{ "set recompute=sel", "set recompute=selective", "attention scores are" },
		{ "go igh", "go right", "op 2, f" },
		{ "go lft", "go left", "op 1" },
		{ "go stem.o", "go stem.out", "tensor, 16.0 MiB" },
		{ "export svg", "export svg", "a drawing" },
		{ "baseln", "baseline", "make this plan" },
		{ "set order=be", "set order=best", "min-cut" },
	};
	for (size_t i = 0; i < sizeof finds / sizeof *finds; i++) {
		completion_find(finds[i].typed, &fixture.model, &completion);
		cr_assert_geq(completion.count, 1, "%s", finds[i].typed);
		cr_assert_str_eq(completion.offer[0].line, finds[i].wanted);
		cr_assert(strstr(completion.offer[0].note, finds[i].note), "%s", completion.offer[0].note);
	}
}
