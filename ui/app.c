/* app.c: the event loop: keys, plans and signals in, one frame out per batch of them.
 *
 * Keys become commands through the command table. A command is the views', the explorer's own (below) or, in the
 * session's language, the session's: those that change the scenario return at once and the worker plans.
 */
#include "explore.h"

#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "chrome.h"
#include "completion.h"
#include "help.h"
#include "panel.h"
#include "screen.h"
#include "terminal.h"
#include "src/export_line.h"
#include "tour.h"

enum mode { MODE_VIEW, MODE_HELP, MODE_PROMPT, MODE_SEARCH, MODE_FILTER, MODE_CONFIRM };

/* Progress is drawn at most so often: text on the screen can still be selected with the mouse. */
enum { PROGRESS_MS = 100 };

struct app {
	struct session *session;
	struct terminal *terminal;
	struct frame frame;
	enum theme theme;
	struct palette palette;        /* of the theme, with the user's colours */
	const struct config *config;   /* the user's keys, or NULL */
	struct model model;
	struct plan *plan;               /* model.plan, retained */
	struct plan_index index;
	struct graph_factors factors;
	const struct plan **run;
	void *state[VIEWS];
	int view;
	bool panel_has_keys;
	struct panel panel;
	enum mode mode;
	struct line_edit line;
	struct history history;
	struct completion completion;
	uint32_t completed;              /* 1 + the completion that is in the line; 0: none */
	struct help help;
	char confirm[LINE_SIZE];         /* the line that waits for a yes */
	struct timespec drawn;
	int tour;                        /* steps of the tour shown so far */
	bool interrupted;                /* the last key was ^C with nothing to stop */
	bool running;
	int status;
};

static void run_line(struct app *app, const char *line);
static void run_script(struct app *app, const char *script);

/* ---- plans ------------------------------------------------------------------------ */

/* Takes over the session's newest plan; the old one is kept when there is no memory for the new. */
static void take_plan(struct app *app)
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
	plan_index_free(&old_index);
	plan_release(old);
}

static void take_runs(struct app *app)
{
	uint32_t runs = session_runs(app->session);
	const struct plan **run = mem_resize(app->run, runs ? runs : 1, sizeof *run);
	app->model.baseline = session_baseline(app->session);
	app->model.runs = 0;
	if (!run)
		return;
	for (uint32_t i = 0; i < runs; i++)
		run[i] = session_run(app->session, i);
	app->run = run;
	app->model.run = run;
	app->model.runs = runs;
}

/* Whatever the session has to tell. True when there is a new plan. */
static bool look(struct app *app)
{
	bool changed = session_poll(app->session);
	if (changed || !app->plan)
		take_plan(app);
	take_runs(app);
	app->model.scenario = session_scenario(app->session);
	session_status(app->session, &app->model.status);
	return changed;
}

/* ---- drawing ------------------------------------------------------------------------- */

static unsigned context_of(const struct app *app)
{
	return app->panel_has_keys ? IN_PANEL : views[app->view]->context;
}

static const char *label_of(enum mode mode)
{
	return mode == MODE_PROMPT ? ":" : mode == MODE_SEARCH ? "/" : mode == MODE_FILTER ? "\\" : "";
}

/* The row above the footer: a hint while typing, else what was said last. */
static void draw_message(struct app *app, struct rect rect)
{
	const char *text = app->model.message;
	char offered[LINE_SIZE];
	if (app->mode == MODE_PROMPT && app->completed == 0)
		text = completion_hint(app->line.text);
	else if (app->mode == MODE_PROMPT) {
		snprintf(offered, sizeof offered, "%u of %u continuations", app->completed, app->completion.count);
		text = offered;
	} else if (app->mode == MODE_SEARCH)
		text = "part of an op's or tensor's name; n and N go on";
	else if (app->mode == MODE_FILTER)
		text = "only rows with this text are shown; empty shows all";
	frame_window(&app->frame, rect);
	frame_text(&app->frame, 0, 0, rect.width, ROLE_MESSAGE, text);
}

/* Footer, prompt or question; returns the cursor's column or -1. */
static int draw_footer(struct app *app, const struct screen *screen)
{
	struct frame *frame = &app->frame;
	frame_window(frame, screen->footer);
	if (app->mode == MODE_CONFIRM) {
		frame_text(frame, 0, 0, frame->window.width, ROLE_WARN, "the file exists: overwrite it? y or n");
		return -1;
	}
	if (*label_of(app->mode))
		return line_draw(frame, 0, label_of(app->mode), &app->line);
	if (screen->message.height == 0 && *app->model.message)
		frame_text(frame, 0, 0, frame->window.width, ROLE_MESSAGE, app->model.message);
	else
		chrome_footer(frame, context_of(app));
	return -1;
}

static void draw_view(struct app *app, const struct screen *screen)
{
	struct frame *frame = &app->frame;
	frame_window(frame, screen->body);
	if (frame->window.width == 0)
		return;
	if (!app->model.plan) {
		frame_text(frame, 1, 1, frame->window.width, ROLE_FAINT, "planning: the first plan comes in a moment");
		return;
	}
	frame->marks = app->model.status.stale ? MARK_DIM : 0;
	views[app->view]->draw(app->state[app->view], &app->model, frame);
	frame->marks = 0;
}

/* Only one view shows factors: finding them takes a frame's time in large graphs, so it waits for that view. */
static void find_factors(struct app *app)
{
	bool shown = app->plan && views[app->view] == &view_graph;
	app->model.factors = shown ? graph_factors_of(&app->factors, app->plan->graph, session_rules_file(app->session)) : NULL;
}

static void draw(struct app *app)
{
	int width, height, x = -1, y = 0;
	terminal_size(app->terminal, &width, &height);
	struct frame *frame = &app->frame;
	if ((width != frame->width || height != frame->height) && !frame_resize(frame, width, height))
		return;
	find_factors(app);
	frame_clear(frame);
	frame->mono = app->theme == THEME_MONO;
	struct screen screen = screen_layout(width, height, app->panel_has_keys);
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
		if (screen.message.height > 0)
			draw_message(app, screen.message);
		x = draw_footer(app, &screen);
		y = height - 1;
		if (app->mode == MODE_HELP)
			help_draw(&app->help, &app->model, context_of(app), frame, &x, &y);
	}
	terminal_draw(app->terminal, frame, &app->palette, x, y);
	clock_gettime(CLOCK_MONOTONIC, &app->drawn);
}

/* ---- finding ----------------------------------------------------------------------------- */

static void go_to_tensor(struct app *app, uint32_t tensor)
{
	struct model *model = &app->model;
	model->storage = model->plan->graph->tensor[tensor].storage;
	if (model->plan->first[model->storage] != NONE && !alive_at(model->plan, model->storage, model_position(model)))
		model_go(model, model->plan->first[model->storage]);
}

/* The next op after the cursor, or tensor in the table of tensors, whose name contains the text; the search wraps. */
static void find(struct app *app, int direction)
{
	struct model *model = &app->model;
	const struct plan *plan = model->plan;
	if (!plan || !*model->search)
		return;
	const struct graph *graph = plan->graph;
	uint32_t position = model_position(model);
	for (uint32_t i = 1; views[app->view] != &view_tensors && i <= graph->ops; i++) {
		uint32_t at = (uint32_t)((position + graph->ops + (int64_t)direction * i) % graph->ops);
		if (text_contains(graph->op[plan->order[at]].name, model->search)) {
			model_go(model, at);
			return;
		}
	}
	uint32_t from = model->storage < graph->storages ? graph->storage[model->storage].root : 0;
	for (uint32_t i = 1; i <= graph->tensors; i++) {
		uint32_t at = (uint32_t)((from + graph->tensors + (int64_t)direction * i) % graph->tensors);
		if (text_contains(graph->tensor[at].name, model->search)) {
			go_to_tensor(app, at);
			return;
		}
	}
	view_say(model, "no op or tensor has \"%s\" in its name", model->search);
}

static void go_to_name(struct app *app, const char *name)
{
	struct model *model = &app->model;
	uint32_t op = graph_find_op(model->plan->graph, name), tensor = graph_find_tensor(model->plan->graph, name);
	if (op != NONE)
		model_go(model, model->plan->position[op]);
	else if (tensor != NONE)
		go_to_tensor(app, tensor);
	else
		view_say(model, "there is no op or tensor of the name \"%s\"", name);
}

/* ---- commands ------------------------------------------------------------------------------- */

static void open_line(struct app *app, enum mode mode, const char *text)
{
	app->mode = mode;
	app->completed = 0;
	line_set(&app->line, text);
}

static void show_view(struct app *app, int view)
{
	app->view = (view + VIEWS) % VIEWS;
	app->panel_has_keys = false;
}

/* The session's commands; undo and redo bring the cursor back, too. */
static void run_session(struct app *app, enum command_id command, const char *line)
{
	struct model *model = &app->model;
	struct error error = { 0 };
	const struct graph *graph = model->plan ? model->plan->graph : NULL;
	bool back = command == COMMAND_UNDO || command == COMMAND_REDO;
	if (graph && !back)
		session_set_cursor(app->session, model->op, model->storage);
	enum status status = session_command(app->session, line, &error);
	look(app);
	/* The answer, or what was done: a key press always shows that it arrived. */
	view_say(model, "%s", status != OK && *error.text ? error.text : *model->status.message ? model->status.message : line);
	if (status == OK && back && model->plan) {
		uint32_t op, storage;
		session_cursor(app->session, &op, &storage);
		if (op < model->plan->graph->ops)
			model_go(model, model->plan->position[op]);
		if (storage < model->plan->graph->storages)
			model->storage = storage;
	}
}

/* An export to a file that exists asks first; a session never replaces one. */
static void run_writing(struct app *app, enum command_id command, const char *line)
{
	const char *arguments = command_arguments(line);
	struct export_line words;
	bool export = command == COMMAND_EXPORT && export_line_parse(arguments, &words, NULL) == OK;
	if (!*arguments) {
		char text[32];
		snprintf(text, sizeof text, "%s ", commands[command].word);
		open_line(app, MODE_PROMPT, text);
	} else if (export && !words.force && access(words.path, F_OK) == 0) {
		snprintf(app->confirm, sizeof app->confirm, "export %s! %s", words.kind, arguments + strlen(words.kind));
		app->mode = MODE_CONFIRM;
	} else
		run_session(app, command, line);
}

static void cancel(struct app *app, bool interrupt)
{
	bool again = app->interrupted;
	app->interrupted = false;
	if (app->model.status.solving) {
		session_cancel(app->session);
		look(app);
		view_say(&app->model, "stopped: this is the best plan so far");
	} else if (interrupt && again) {
		app->running = false;
		app->status = 130;
	} else if (interrupt) {
		app->interrupted = true;
		view_say(&app->model, "nothing is being solved; ^C again or Q leaves");
	} else
		app->panel_has_keys = false;
	app->tour = 0;
}

static void close_something(struct app *app)
{
	if (app->panel_has_keys)
		app->panel_has_keys = false;
	else
		app->running = false;
}

/* The user's own colours stand above every theme but the one without colours. */
static void use_theme(struct app *app, enum theme theme)
{
	const struct config *config = app->config;
	app->theme = theme;
	palette_fill(&app->palette, theme);
	for (int i = 0; config && theme != THEME_MONO && i < config->colours; i++) {
		const struct colour *colour = &config->colour[i];
		if (!palette_change(&app->palette, colour->role, colour->foreground, colour->background, colour->attributes))
			view_say(&app->model, "the configuration's color %s is not known", colour->role);
	}
}

static void next_theme(struct app *app)
{
	int colours = terminal_colours(app->terminal);
	for (int i = 1; i <= THEME_COUNT; i++) {
		enum theme next = (enum theme)((app->theme + i) % THEME_COUNT);
		if (theme_possible(next, colours) == next) {
			view_say(&app->model, "theme: %s", theme_names[next]);
			use_theme(app, next);
			return;
		}
	}
}

/* The tour's next step; after the last it begins again. */
static void next_tour_step(struct app *app)
{
	int step = app->tour % tour_step_count;
	run_script(app, tour_steps[step].commands);
	view_say(&app->model, "%d/%d %s", step + 1, tour_step_count, tour_steps[step].text);
	app->tour = step + 1;
}

/* Commands of the explorer itself. False for others. */
static bool run_own(struct app *app, enum command_id command, const char *arguments)
{
	struct model *model = &app->model;
	switch (command) {
	case COMMAND_HELP:
		help_open(&app->help);
		app->mode = MODE_HELP;
		return true;
	case COMMAND_CLOSE: close_something(app); return true;
	case COMMAND_QUIT: app->running = false; return true;
	case COMMAND_CANCEL: cancel(app, strcmp(arguments, "^C") == 0); return true;
	case COMMAND_PROMPT: open_line(app, MODE_PROMPT, ""); return true;
	case COMMAND_NEXT_VIEW: show_view(app, app->view + 1); return true;
	case COMMAND_PREVIOUS_VIEW: show_view(app, app->view - 1); return true;
	case COMMAND_VIEW:
		if (*arguments >= '1' && *arguments < '1' + VIEWS)
			show_view(app, *arguments - '1');
		return true;
	case COMMAND_DIFFERENCES:
		show_view(app, VIEWS - 1);
		return true;
	case COMMAND_PANEL:
		app->panel_has_keys = !app->panel_has_keys;
		if (app->panel_has_keys)
			view_say(model, "arrows turn knobs, Enter types a value");
		return true;
	case COMMAND_SEARCH:
		snprintf(model->search, sizeof model->search, "%s", arguments);
		if (*arguments)
			find(app, 1);
		else
			open_line(app, MODE_SEARCH, "");
		return true;
	case COMMAND_SEARCH_NEXT: find(app, 1); return true;
	case COMMAND_SEARCH_PREVIOUS: find(app, -1); return true;
	case COMMAND_FILTER:
		if (*arguments)
			snprintf(model->filter, sizeof model->filter, "%s", arguments);
		else
			open_line(app, MODE_FILTER, model->filter);
		return true;
	case COMMAND_GO:
		if (*arguments)
			go_to_name(app, arguments);
		else
			open_line(app, MODE_PROMPT, "go ");
		return true;
	case COMMAND_TOUR: next_tour_step(app); return true;
	case COMMAND_GLYPHS: app->frame.ascii = !app->frame.ascii; return true;
	case COMMAND_COLOURS: next_theme(app); return true;
	case COMMAND_REDRAW: terminal_redraw(app->terminal); return true;
	case COMMAND_SUSPEND: terminal_suspend(app->terminal); return true;
	default: return false;
	}
}

/* Runs a command with its line as the session would read it. */
static void run_command(struct app *app, enum command_id command, const char *line)
{
	struct model *model = &app->model;
	const char *reason = command_unavailable(model, command);
	view_say(model, "%s", "");
	if (reason) {
		view_say(model, "%s", reason);
		return;
	}
	if (run_own(app, command, command_arguments(line)))
		return;
	if (command == COMMAND_EXPORT || command == COMMAND_SAVE) {
		run_writing(app, command, line);
		return;
	}
	bool session_word = command == COMMAND_UNDO || command == COMMAND_REDO || command == COMMAND_BASELINE || *commands[command].arguments;
	if (session_word) {
		run_session(app, command, line);
		return;
	}
	if (app->panel_has_keys && panel_command(&app->panel, model, command))
		;
	else if (!app->panel_has_keys && model->plan)
		views[app->view]->command(app->state[app->view], model, command);
	if (*model->request) {
		char request[sizeof model->request];
		memcpy(request, model->request, sizeof request);
		model->request[0] = '\0';
		if (model->request_edit)
			open_line(app, MODE_PROMPT, request);
		else
			run_line(app, request);
	}
}

/* A line of the prompt: ours, or the session's words that the table doesn't have. */
static void run_line(struct app *app, const char *line)
{
	line += strspn(line, " ");
	enum command_id command = command_find(line);
	if (command < COMMAND_COUNT)
		run_command(app, command, line);
	else if (*line)
		run_session(app, COMMAND_COUNT, line);
}

/* ---- keys -------------------------------------------------------------------------------------- */

/* The command of a key: the user's binding first, then the table's. */
static enum command_id command_bound(const struct app *app, const char *key)
{
	const struct config *config = app->config;
	for (int i = config ? config->bindings - 1 : -1; i >= 0; i--)
		if (strcmp(config->binding[i].key, key) == 0 && (commands[config->binding[i].command].context & context_of(app)))
			return config->binding[i].command;
	return command_of_key(key, context_of(app));
}

static void key_in_view(struct app *app, const struct key_press *key)
{
	enum command_id command = command_bound(app, key->name);
	char line[64];
	if (strcmp(key->name, "^C") != 0)
		app->interrupted = false;
	if (command == COMMAND_COUNT) {
		view_say(&app->model, "%s does nothing here; ? lists what does", key->name);
		return;
	}
	/* Some commands look at the key that ran them. */
	bool tells_key = command == COMMAND_VIEW || command == COMMAND_CANCEL;
	snprintf(line, sizeof line, "%s%s%s", commands[command].word, tells_key ? " " : "", tells_key ? key->name : "");
	run_command(app, command, line);
}

static void complete(struct app *app)
{
	if (app->completed == 0)
		completion_find(app->line.text, &app->model, &app->completion);
	if (app->completion.count == 0)
		return;
	line_set(&app->line, app->completion.line[app->completed % app->completion.count]);
	app->completed = app->completion.count == 1 ? 0 : app->completed % app->completion.count + 1;
}

static void enter_line(struct app *app)
{
	char text[LINE_SIZE];
	enum mode mode = app->mode;
	memcpy(text, app->line.text, sizeof text);
	app->mode = MODE_VIEW;
	if (mode == MODE_PROMPT) {
		history_add(&app->history, text);
		run_line(app, text);
	} else if (mode == MODE_SEARCH) {
		snprintf(app->model.search, sizeof app->model.search, "%.*s", (int)sizeof app->model.search - 1, text);
		find(app, 1);
	}
}

static void key_in_line(struct app *app, const struct key_press *key)
{
	if (strcmp(key->name, "Esc") == 0 || strcmp(key->name, "^C") == 0)
		app->mode = MODE_VIEW;
	else if (strcmp(key->name, "Backspace") == 0 && app->line.length == 0)
		app->mode = MODE_VIEW;
	else if (strcmp(key->name, "Enter") == 0)
		enter_line(app);
	else if (strcmp(key->name, "Tab") == 0 && app->mode == MODE_PROMPT)
		complete(app);
	else if (line_key(&app->line, key, app->mode == MODE_PROMPT ? &app->history : NULL))
		app->completed = 0;
	if (app->mode == MODE_FILTER)
		snprintf(app->model.filter, sizeof app->model.filter, "%.*s", (int)sizeof app->model.filter - 1, app->line.text);
}

static void key_in_help(struct app *app, const struct key_press *key)
{
	bool close;
	enum command_id command = help_key(&app->help, &app->model, context_of(app), key, &close);
	if (close)
		app->mode = MODE_VIEW;
	if (command == COMMAND_COUNT)
		return;
	char line[64];
	snprintf(line, sizeof line, "%s ", commands[command].word);
	bool takes_words = *commands[command].arguments && command != COMMAND_SEARCH && command != COMMAND_FILTER;
	if (takes_words)
		open_line(app, MODE_PROMPT, line);
	else
		run_command(app, command, line);
}

static void handle_key(struct app *app, const struct key_press *key)
{
	if (strcmp(key->name, "^Z") == 0)
		terminal_suspend(app->terminal);
	else if (app->mode == MODE_VIEW)
		key_in_view(app, key);
	else if (app->mode == MODE_HELP)
		key_in_help(app, key);
	else if (app->mode == MODE_CONFIRM) {
		app->mode = MODE_VIEW;
		if (strcmp(key->name, "y") == 0)
			run_session(app, command_find(app->confirm), app->confirm);
		else
			view_say(&app->model, "nothing was written");
	} else
		key_in_line(app, key);
}

/* ---- the loop -------------------------------------------------------------------------------------- */

static void handle_signals(struct app *app)
{
	for (int number; (number = terminal_signal(app->terminal)) != 0; ) {
		if (number == SIGTSTP)
			terminal_suspend(app->terminal);
		else if (number != SIGWINCH) {
			app->status = 128 + number;
			app->running = false;
		}
	}
}

static int since_drawn(const struct app *app)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	int64_t ms = (now.tv_sec - app->drawn.tv_sec) * INT64_C(1000) + (now.tv_nsec - app->drawn.tv_nsec) / 1000000;
	return ms < PROGRESS_MS ? (int)ms : PROGRESS_MS;
}

static void loop(struct app *app)
{
	bool progress = false;
	struct key_press key;
	while (app->running) {
		struct pollfd wait[] = { { .fd = terminal_key_fd(app->terminal), .events = POLLIN },
					 { .fd = terminal_signal_fd(app->terminal), .events = POLLIN },
					 { .fd = session_wake_fd(app->session), .events = POLLIN } };
		int ready = poll(wait, 3, progress ? PROGRESS_MS - since_drawn(app) : -1);
		bool dirty = ready == 0 && progress;
		if (ready > 0 && wait[2].revents) {
			bool changed = look(app);
			dirty |= changed || !app->model.status.solving;
			progress = true;
		}
		if (ready > 0 && wait[1].revents) {
			handle_signals(app);
			dirty = true;
		}
		if (ready > 0 && wait[0].revents) {
			while (app->running && terminal_key(app->terminal, &key))
				handle_key(app, &key);
			dirty = true;
			if (terminal_gone(app->terminal)) {
				app->running = false;
				app->status = 128 + SIGHUP;
			}
		}
		if (app->running && (dirty || (progress && since_drawn(app) >= PROGRESS_MS))) {
			draw(app);
			progress = false;
		}
	}
}

/* ---- start and end ----------------------------------------------------------------------------------- */

static bool app_new(struct app *app, struct session *session)
{
	app->session = session;
	app->running = true;
	app->model.storage = NONE;
	for (int i = 0; i < VIEWS; i++) {
		app->state[i] = mem_alloc(1, views[i]->state_size);
		if (!app->state[i])
			return false;
	}
	look(app);
	return true;
}

static void app_free(struct app *app)
{
	for (int i = 0; i < VIEWS; i++) {
		if (app->state[i] && views[i]->free)
			views[i]->free(app->state[i]);
		mem_free(app->state[i]);
	}
	plan_index_free(&app->index);
	graph_factors_free(&app->factors);
	plan_release(app->plan);
	mem_free(app->run);
	frame_free(&app->frame);
	mem_free(app);
}

static enum theme first_theme(const struct explore_options *options, int colours)
{
	const char *no_color = getenv("NO_COLOR");
	int named = options->theme ? name_index(theme_names, THEME_COUNT, options->theme) : -1;
	if (options->mono || (no_color && *no_color))
		return THEME_MONO;
	return theme_possible(named < 0 ? THEME_ANSI : (enum theme)named, colours);
}

static void run_script(struct app *app, const char *script)
{
	while (app->running && *script) {
		char line[LINE_SIZE];
		size_t length = strcspn(script, "\n");
		snprintf(line, sizeof line, "%.*s", (int)length, script);
		script += length + (script[length] == '\n');
		if (*line != '#')
			run_line(app, line);
	}
}

bool explore_possible(void)
{
	return terminal_possible();
}

int explore(struct session *session, const struct explore_options *options)
{
	struct error error = { 0 };
	setlocale(LC_CTYPE, "");
	struct app *app = mem_alloc(1, sizeof *app);
	if (!app || !app_new(app, session)) {
		if (app)
			app_free(app);
		fputs("tidemark: out of memory\n", stderr);
		return 4;
	}
	app->terminal = terminal_open(&error);
	if (!app->terminal) {
		fprintf(stderr, "tidemark: %s\n", error.text);
		app_free(app);
		return 2;
	}
	app->config = options->config;
	app->frame.ascii = options->ascii || !terminal_unicode();
	use_theme(app, first_theme(options, terminal_colours(app->terminal)));
	draw(app);
	if (options->script)
		run_script(app, options->script);
	loop(app);
	int status = app->status;
	terminal_close(app->terminal);
	app_free(app);
	return status;
}
