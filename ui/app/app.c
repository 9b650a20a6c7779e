/* app.c: plans, frames and keys of the explorer. */
#include "app.h"

#include "history_file.h"
#include "ui/screen/terminal.h"

enum { WHEEL_ROWS = 3, COMPLETION_ROWS = 12 };

/* ---- plans ---- */

/* What was assumed for a plan, where it is one sentence that fits; else where it stands. */
static void say_notes(struct app *app, const char *notes)
{
	unsigned count = 0;
	int length = (int)strcspn(notes, "\n");
	for (const char *at = notes; *at; at += strcspn(at, "\n") + 1)
		count++;
	if (count == 1 && length + 6 <= app->frame.width)
		view_say(&app->model, "note: %.*s", length, notes);
	else
		view_say(&app->model, "%u assumption%s of this plan: :notes", count, count == 1 ? "" : "s");
}

/* Takes over the session's newest plan; the old one is kept when there is no memory for the new. */
static void app_take_plan(struct app *app)
{
	const struct plan *newest = session_plan(app->session);
	struct plan_index index;
	if (!newest || newest == app->plan)
		return;
	if (plan_index_build(newest, &index) != OK) {
		view_say(&app->model, "out of memory: the screen shows an older plan");
		return;
	}
	struct plan *plan = plan_retain((struct plan *)(uintptr_t)newest), *old = app->plan;
	struct plan_index old_index = app->index;
	app->plan = plan;
	app->index = index;
	model_take_plan(&app->model, plan, &app->index);
	if (*plan->notes && !app->model.bad && (!old || !text_is(plan->notes, old->notes)))
		say_notes(app, plan->notes);
	plan_index_free(&old_index);
	plan_release(old);
}

static void take_runs(struct app *app)
{
	app->model.baseline = session_baseline(app->session);
	app->model.run = session_run(app->session);
	app->model.runs = session_runs(app->session);
	FOR(i, MISSED_MOST)
		app->model.missed[i] = session_missed(app->session, i);
}

/* The baseline laid over the plan, where it is of another graph. Without memory it isn't. */
static void take_beside(struct app *app)
{
	const struct plan *baseline = app->model.baseline, *plan = app->plan;
	uint64_t of[2] = { baseline ? baseline->serial : 0, plan ? plan->serial : 0 };
	if (of[0] == app->beside_of[0] && of[1] == app->beside_of[1])
		return;
	memcpy(app->beside_of, of, sizeof of);
	beside_free(&app->beside);
	app->model.beside = NULL;
	if (baseline && plan && baseline->input->fingerprint != plan->input->fingerprint &&
		beside_make(baseline, plan, &app->beside) == OK)
		app->model.beside = &app->beside;
}

/* Fit starts by itself where a whole plan doesn't run and nobody is at the keys. A knob stops it. */
static void app_start_wanted(struct app *app)
{
	const struct plan *plan = app->plan;
	const char *rules_file = session_rules_file(app->session);
	if (app->model.status.stale && finder_cancel(app->ways.job))
		app->ways.fingerprint = 0;
	if (!plan || app->model.status.stale || app->model.status.solving || *app->model.status.problem)
		return;
	if (!app->ways.job && !app->configurations.search)
		app->model.since = app->model.clock;
	bool fits = fits_runs(plan_verdict(plan).fits), asked = app->ways.fingerprint == plan->fingerprint;
	if (app->wanted == WANTED_SEARCH)
		finder_cancel(app->ways.job);
	if (app->wanted == WANTED_SEARCH)
		configurations_search(&app->configurations, plan, rules_file);
	else if (plan_budget(plan) >= 0 && (app->wanted == WANTED_FIT || (app->idle && !fits)) && !asked)
		ways_find(&app->ways, plan, rules_file);
	app->wanted = WANTED_NOTHING;
}

bool app_look(struct app *app)
{
	bool changed = session_poll(app->session);
	app_take_plan(app);
	take_runs(app);
	take_beside(app);
	app->model.scenario = session_scenario(app->session);
	app->model.path = session_path(app->session);
	bool refused = session_take_back(app->session);
	session_status(app->session, &app->model.status);
	if (refused)
		view_say(&app->model, "%s", app->model.status.message);
	app->model.bad |= refused;
	app_start_wanted(app);
	return changed || refused;
}

bool app_finding(const struct app *app)
{
	return graph_factors_pending(&app->factors) || graph_factors_pending(&app->given) || app->configurations.job ||
		app->configurations.search || app->ways.job || app->slowdowns.job;
}

bool app_watch(struct app *app)
{
	if (!session_file_changed(app->session))
		return false;
	view_say(&app->model, "the graph's file has changed on disk: R reads it again");
	return true;
}

/* ---- drawing ---- */

unsigned app_context(const struct app *app)
{
	const struct view_ops *view = views[app->view];
	return app->panel_has_keys ? IN_PANEL
		: view->context_now ? view->context_now(app->state[app->view], &app->model)
		: view->context;
}

static const char *label_of(enum mode mode)
{
	return mode == MODE_PROMPT ? ":" : mode == MODE_FIND ? "/" : mode == MODE_FILTER ? "\\" : "";
}

/* What could follow at the prompt, above the message; where nothing was chosen yet, for what is typed so far. */
static void draw_completion(struct app *app, struct rect message)
{
	int most = SMALLER(message.y / 2, COMPLETION_ROWS);
	if (app->completed == 0)
		completion_find(app->line.text, &app->model, &app->completion);
	frame_window(&app->frame, (struct rect){ message.x, message.y - most, message.width, most });
	completion_draw(&app->frame, (struct rect){ 0, 0, message.width, most }, &app->completion, app->completed);
}

/* The row above the footer: a hint while typing, else what was said last. What is longer covers rows of the view. */
static void draw_message(struct app *app, struct rect rect)
{
	const char *text = app->model.message;
	char offered[LINE_SIZE];
	if (app->mode == MODE_PROMPT && app->completed == 0)
		text = completion_hint(app->line.text);
	else if (app->mode == MODE_PROMPT) {
		PRINT_TO(offered, "%u of %u; Tab and S-Tab go on", app->completed, app->completion.count);
		text = offered;
	} else if (app->mode == MODE_FIND && app->panel_has_keys)
		text = "part of a knob's name or of what it does; Enter goes to it, n and N go on";
	else if (app->mode == MODE_FIND)
		text = "part of an op's or tensor's name; n and N go on";
	else if (app->mode == MODE_VALUE)
		text = "a value with its unit: 5us, 1.2TB/s, 60%; Enter sets it, Esc leaves it";
	else if (app->mode == MODE_FILTER)
		text = "only rows with all words: part, ~letters, /regex/, kind:x, dtype:x, module:x, type:x, phase:x, !not; "
			   "empty shows all";
	if (app->mode == MODE_PROMPT) { /* the list stands above it */
		frame_window(&app->frame, (struct rect){ rect.x, rect.y + rect.height - 1, rect.width, 1 });
		frame_blank(&app->frame, (struct rect){ 0, 0, rect.width, 1 });
		frame_words(&app->frame, 0, 0, rect.width, ROLE_MESSAGE, text);
		return;
	}
	int rows = text_rows(text, rect.width) - rect.height, most = rect.y / 2;
	rows = rows < 0 ? 0 : rows < most ? rows : most;
	frame_window(&app->frame, (struct rect){ rect.x, rect.y - rows, rect.width, rect.height + rows });
	if (rows > 0)
		frame_blank(&app->frame, (struct rect){ 0, 0, rect.width, rect.height + rows });
	frame_wrapped(&app->frame, (struct rect){ 0, 0, rect.width, rect.height + rows },
		text == app->model.message && app->model.bad ? ROLE_BAD : ROLE_MESSAGE, text);
}

/* Footer, prompt or question; returns the cursor's column or -1. */
static int draw_footer(struct app *app, const struct screen *screen)
{
	struct frame *frame = &app->frame;
	frame_window(frame, screen->footer);
	if (app->mode == MODE_CONFIRM) {
		frame_rest(frame, 0, 0, ROLE_WARN, "the file exists: overwrite it? y or n");
		return -1;
	}
	if (*label_of(app->mode))
		return line_draw(frame, 0, label_of(app->mode), &app->line);
	chrome_footer(frame, app_context(app));
	return -1;
}

/* Why the knobs that it started with have no plan, at the foot of the view. What is left of the view's rectangle. */
static struct rect draw_problem(struct app *app, struct rect body)
{
	const struct model *model = &app->model;
	char text[700];
	if (!*model->status.problem)
		return body;
	PRINT_TO(text, "no plan of these knobs: %s", model->status.problem);
	int rows = text_rows(text, body.width - 1), most = body.height / 2;
	body.height -= SMALLER(rows, most);
	frame_window(&app->frame, (struct rect){ body.x, body.y + body.height, body.width, rows });
	frame_wrapped(&app->frame, (struct rect){ 0, 0, body.width - 1, rows }, ROLE_BAD, text);
	return body;
}

static void draw_view(struct app *app, const struct screen *screen)
{
	struct frame *frame = &app->frame;
	if (screen->body.width == 0)
		return;
	frame_window(frame, draw_problem(app, screen->body));
	if (!app->model.plan) {
		if (!*app->model.status.problem)
			frame_text(frame, 1, 1, frame->window.width, ROLE_FAINT, "planning: the first plan comes in a moment");
		return;
	}
	frame->marks = app->model.status.stale ? MARK_DIM : 0;
	app->model.typed = app->mode == MODE_VALUE ? app->line.text : NULL;
	views[app->view]->draw(app->state[app->view], &app->model, frame);
	frame->marks = 0;
}

/* Only one view shows factors: finding them takes a frame's time in large graphs, so it waits for that view. */
static void app_find_factors(struct app *app)
{
	bool shown = app->plan && views[app->view] == &view_graph;
	/* A thread that is done is waited for in any view. */
	bool look = shown || (app->plan && graph_factors_pending(&app->factors));
	const struct factors *factors = look
		? graph_factors_of(&app->factors, app->plan->graph, session_rules_file(app->session))
		: NULL;
	app->model.factors = shown ? factors : NULL;
}

/* What the knobs mean by "given": found once a graph; batch and sequence may come later than the rest. */
static void app_find_given(struct app *app)
{
	const struct graph *input = app->plan ? app->plan->input : NULL;
	if (!input || (app->given_of == input->fingerprint && app->given_whole))
		return;
	const struct factors *factors = graph_factors_of(&app->given, input, session_rules_file(app->session));
	bool whole = !graph_factors_pending(&app->given);
	if (app->given_of != input->fingerprint || whole)
		given_find(input, factors, session_rules_file(app->session), &app->model.given);
	app->given_of = input->fingerprint;
	app->given_whole = whole;
}

/* The schedule is shown by one view, too. */
static void app_find_timetable(struct app *app)
{
	struct model *model = &app->model;
	const char *rules_file = session_rules_file(app->session);
	model->timetable_problem = "";
	model->timetable = app->plan && views[app->view] == &view_devices
		? configurations_timetable(&app->configurations, app->plan, rules_file, &model->timetable_problem) : NULL;
	model->ranking = configurations_ranking(&app->configurations);
	model->ways = ways_look(&app->ways);
	model->slowdowns = slowdowns_look(&app->slowdowns);
}

/* What the panel's knob would do: asked for only while the panel has the keys. */
static void find_previews(struct app *app)
{
	int knob;
	int64_t value;
	FOR_INT(up, 2) {
		bool asks = app->panel_has_keys && panel_asks(&app->panel, &app->model, up ? 1 : -1, &knob, &value);
		app->model.preview[up] = asks ? session_preview(app->session, knob, value) : NULL;
	}
}

bool app_draw(struct app *app, int width, int height, int *x, int *y)
{
	struct frame *frame = &app->frame;
	*x = -1;
	*y = 0;
	if ((width != frame->width || height != frame->height) && !frame_resize(frame, width, height))
		return false;
	app_find_factors(app);
	app_find_given(app);
	app_find_timetable(app);
	find_previews(app);
	frame_clear(frame);
	frame->mono = app->theme == THEME_MONO;
	struct screen screen = screen_layout(width, height, app->panel_has_keys, app->panel_hidden);
	if (screen.small)
		screen_draw_small(frame);
	else {
		frame_window(frame, screen.tabs);
		chrome_tabs(frame, &app->model, app->view);
		frame_window(frame, screen.status);
		chrome_status(frame, &app->model);
		draw_view(app, &screen);
		if (screen.panel.width > 0) {
			frame_window(frame, screen.panel);
			panel_draw(&app->panel, &app->model, app->panel_has_keys, frame);
		}
		draw_message(app, screen.message);
		if (app->mode == MODE_PROMPT)
			draw_completion(app, screen.message);
		*x = draw_footer(app, &screen);
		*y = height - 1;
		if (app->mode == MODE_HELP)
			help_draw(&app->help, &app->model, app_context(app), frame, x, y);
	}
	return true;
}

/* ---- keys ---- */

/* The user's binding of a key, or NULL. */
static const struct key_binding *binding_of(const struct app *app, const char *key)
{
	const struct user_config *config = app->config;
	for (int i = config ? config->bindings - 1 : -1; i >= 0; i--)
		if (text_is(config->binding[i].key, key) && (commands[config->binding[i].command].context & app_context(app)))
			return &config->binding[i];
	return NULL;
}

/* The command of a key: the user's binding first, then the table's. */
static enum command_id command_bound(const struct app *app, const char *key)
{
	const struct key_binding *binding = binding_of(app, key);
	return binding ? binding->command : command_of_key(key, app_context(app));
}

static const char *arguments_bound(const struct app *app, const char *key)
{
	const struct key_binding *binding = binding_of(app, key);
	return binding ? binding->arguments : "";
}

static bool app_contains(struct rect rect, const struct key_press *key)
{
	return key->x >= rect.x && key->x < rect.x + rect.width && key->y >= rect.y && key->y < rect.y + rect.height;
}

/* A click on the panel gives it the keys; one on the view takes them back. */
static void app_click(struct app *app, const struct key_press *key)
{
	struct screen screen = screen_layout(app->frame.width, app->frame.height, app->panel_has_keys, app->panel_hidden);
	struct footer_item item[COMMAND_COUNT];
	int tab = app_contains(screen.tabs, key) ? chrome_tab_at(screen.tabs.width, app->view, key->x) : -1;
	int items = app_contains(screen.footer, key) ? chrome_footer_items(screen.footer.width, app_context(app), item) : 0;
	if (tab >= 0)
		app_show_view(app, tab);
	FOR_INT(i, items)
		if (key->x >= item[i].x && key->x < item[i].x + item[i].width - 2) {
			app_run(app, item[i].command, commands[item[i].command].word);
			return;
		}
	if (app_contains(screen.panel, key)) {
		app->panel_has_keys = true;
		panel_click(&app->panel, &app->model, key->x - screen.panel.x, key->y - screen.panel.y);
		app_grant_request(app);
	} else if (app_contains(screen.body, key) && app->model.plan) {
		app->panel_has_keys = false;
		app->model.click_x = key->x - screen.body.x;
		app->model.click_y = key->y - screen.body.y;
		app_run(app, COMMAND_CLICK, "click");
	}
}

static void key_in_view(struct app *app, const struct key_press *key)
{
	enum command_id command = command_bound(app, key->name);
	char line[400];
	if (!text_is(key->name, "^C"))
		app->interrupted = false;
	if (command == COMMAND_COUNT &&
		app->panel_has_keys) { /* what the panel has no use for is the view's, which keeps the keys */
		app->panel_has_keys = false;
		command = command_bound(app, key->name);
		app->panel_has_keys = command == COMMAND_COUNT;
	}
	if (command == COMMAND_COUNT) {
		view_say(&app->model, "%s does nothing here; ? lists what does", key->name);
		return;
	}
	if (command == COMMAND_CLICK && text_is(key->name, "click")) {
		view_say(&app->model, "%s", "");
		app_click(app, key);
		return;
	}
	const char *arguments = arguments_bound(app, key->name);
	if (*arguments) {
		PRINT_TO(line, "%s %s", commands[command].word, arguments);
		app_run_line(app, line);
		return;
	}
	/* Some commands look at the key that ran them. */
	bool tells_key = command == COMMAND_VIEW || command == COMMAND_CANCEL;
	PRINT_TO(line, "%s%s%s", commands[command].word, tells_key ? " " : "", tells_key ? key->name : "");
	int times = text_begins(key->name, "wheel") ? WHEEL_ROWS : 1;
	FOR_INT(i, times)
		app_run(app, command, line);
}

/* The next continuation goes into the line, or the one before. */
static void app_complete(struct app *app, bool back)
{
	struct completion *completion = &app->completion;
	if (app->completed == 0)
		completion_find(app->line.text, &app->model, completion);
	if (completion->count == 0)
		return;
	uint32_t next = back ? (app->completed > 1 ? app->completed - 1 : completion->count)
		: app->completed % completion->count + 1;
	line_set(&app->line, completion->offer[next - 1].line);
	app->completed = completion->count == 1 ? 0 : next;
}

static void enter_line(struct app *app)
{
	char text[LINE_SIZE];
	enum mode mode = app->mode;
	memcpy(text, app->line.text, sizeof text);
	app->mode = MODE_VIEW;
	if (mode == MODE_PROMPT) {
		history_add(&app->history, text);
		if (app->history_path && *text)
			history_append(app->history_path, text);
		app_run_line(app, text);
	} else if (mode == MODE_VALUE && *text) {
		snprintf(app->confirm + strlen(app->confirm), sizeof app->confirm - strlen(app->confirm), "%s", text);
		app_run_line(app, app->confirm);
	} else if (mode == MODE_FIND) {
		PRINT_TO(app->model.search, "%.*s", (int)sizeof app->model.search - 1, text);
		if (!app->panel_has_keys)
			app_find(app, 1);
	}
}

/* While a knob is searched for, the panel shows what has the text so far, and arrows move in it. */
static bool key_in_knob_search(struct app *app, const struct key_press *key)
{
	enum command_id command = key->code ? COMMAND_COUNT : command_of_key(key->name, IN_PANEL);
	return app->mode == MODE_FIND && app->panel_has_keys && (command == COMMAND_UP || command == COMMAND_DOWN) &&
	       panel_command(&app->panel, &app->model, command);
}

static void key_in_line(struct app *app, const struct key_press *key)
{
	if (key_in_knob_search(app, key))
		return;
	if (text_is(key->name, "Esc") || text_is(key->name, "^C"))
		app->mode = MODE_VIEW;
	else if (text_is(key->name, "Backspace") && app->line.length == 0)
		app->mode = MODE_VIEW;
	else if (text_is(key->name, "Enter"))
		enter_line(app);
	else if ((text_is(key->name, "Tab") || text_is(key->name, "S-Tab")) && app->mode == MODE_PROMPT)
		app_complete(app, *key->name == 'S');
	else if (line_key(&app->line, key, app->mode == MODE_PROMPT ? &app->history : NULL))
		app->completed = 0;
	if (app->panel_has_keys)
		panel_narrow(&app->panel, app->mode == MODE_FIND ? app->line.text : "");
	if (app->mode == MODE_FILTER)
		PRINT_TO(app->model.filter, "%.*s", (int)sizeof app->model.filter - 1, app->line.text);
}

static void key_in_help(struct app *app, const struct key_press *key)
{
	bool close;
	enum command_id command = help_key(&app->help, &app->model, app_context(app), key, &close);
	if (close)
		app->mode = MODE_VIEW;
	if (command == COMMAND_COUNT)
		return;
	char line[64];
	PRINT_TO(line, "%s ", commands[command].word);
	bool takes_words = *commands[command].arguments && command != COMMAND_FIND && command != COMMAND_FILTER;
	if (takes_words)
		app_open_line(app, MODE_PROMPT, line);
	else
		app_run(app, command, line);
}

void app_key(struct app *app, const struct key_press *key)
{
	if (text_is(key->name, "^Z"))
		app->wishes |= WISH_SUSPEND;
	else if (app->mode == MODE_VIEW)
		key_in_view(app, key);
	else if (app->mode == MODE_HELP)
		key_in_help(app, key);
	else if (app->mode == MODE_CONFIRM) {
		app->mode = MODE_VIEW;
		app_confirmed(app, text_is(key->name, "y"));
	} else
		key_in_line(app, key);
}

/* ---- start and end ---- */

void app_free(struct app *app)
{
	FOR_INT(i, VIEWS) {
		if (app->state[i] && views[i]->free)
			views[i]->free(app->state[i]);
		mem_free(app->state[i]);
	}
	plan_index_free(&app->index);
	beside_free(&app->beside);
	graph_factors_free(&app->factors);
	graph_factors_free(&app->given);
	configurations_free(&app->configurations);
	ways_free(&app->ways);
	slowdowns_free(&app->slowdowns);
	plan_release(app->plan);
	frame_free(&app->frame);
	mem_free(app);
}

struct app *app_new(
	struct session *session, enum theme theme, int colours, bool ascii, const struct user_config *config)
{
	struct app *MAKE(app, 1);
	if (!app)
		return NULL;
	*app = (struct app){ .session = session,
		.running = true,
		.model.storage = NONE,
		.colours = colours,
		.frame.ascii = ascii,
		.config = config };
	FOR_INT(i, VIEWS) {
		app->state[i] = mem_alloc(1, views[i]->state_size);
		if (!app->state[i]) {
			app_free(app);
			return NULL;
		}
	}
	app->model.columns = &app->columns;
	app_use_theme(app, theme_possible(theme, colours));
	app_look(app);
	return app;
}
