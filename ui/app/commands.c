/* commands.c: what the explorer's own commands do, and which belong to the views or the session. */
#include "app.h"
#include "src/base/lines.h"
#include "src/base/output.h"
#include "src/read/card.h"

#include <ctype.h>
#include <strings.h>
#include <unistd.h>

#include "ui/screen/picture.h"
#include "src/scenario/knobs.h"

/* ---- finding ---- */

static void go_to_tensor(struct app *app, uint32_t tensor)
{
	struct model *model = &app->model;
	model->storage = model->plan->graph->tensor[tensor].storage;
	if (model->plan->laid_out->first[model->storage] != NONE &&
		!alive_at(model->plan, model->storage, model_position(model)))
		model_go(model, model->plan->laid_out->first[model->storage]);
}

/* False where the view doesn't know the command. */
static bool in_view(struct app *app, enum command_id command)
{
	return app->model.plan && views[app->view]->command(app->state[app->view], &app->model, command);
}

/* What the view finds itself; else ops after the cursor first, but in the table of tensors; the search wraps. */
void app_find(struct app *app, int direction)
{
	struct model *model = &app->model;
	const struct plan *plan = model->plan;
	if (app->panel_has_keys && *model->search) {
		if (!panel_find(&app->panel, model->search, direction))
			view_say(model, "no knob has \"%s\"", model->search);
		return;
	}
	if (!plan || !*model->search || in_view(app, direction > 0 ? COMMAND_FIND_NEXT : COMMAND_FIND_PREVIOUS))
		return;
	const struct graph *graph = plan->graph;
	uint32_t position = model_position(model);
	for (uint32_t i = 1; views[app->view] != &view_tensors && i <= graph->ops; i++) {
		uint32_t at = (uint32_t)((position + graph->ops + (int64_t)direction * i) % graph->ops);
		if (text_contains(graph->op[plan->ordered->result.order[at]].name, model->search)) {
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
		model_go(model, model->plan->ordered->position[op]);
	else if (tensor != NONE)
		go_to_tensor(app, tensor);
	else { /* not a whole name: the next that has it */
		PRINT_TO(model->search, "%s", name);
		bool panel = app->panel_has_keys; /* it would look for a knob */
		app->panel_has_keys = false;
		view_say(model, "the next with \"%s\" in its name; n goes on", name);
		app_find(app, 1);
		app->panel_has_keys = panel;
	}
}

/* ---- commands ---- */

void app_open_line(struct app *app, enum mode mode, const char *text)
{
	app->mode = mode;
	app->completed = 0;
	line_set(&app->line, text);
}

void app_show_view(struct app *app, int view)
{
	app->view = (view + VIEWS) % VIEWS;
	app->panel_has_keys = false;
}

/* A limit in bytes that can't be bytes is one in GiB. Returns the line, or a changed one in text. */
static const char *commands_limited(const struct app *app, const char *line, char text[LINE_SIZE])
{
	const char *at = strstr(line, "memory=");
	struct scenario probe = { 0 };
	char *end;
	if (!at || !app->plan)
		return line;
	probe.value[K_memory] = strtoll(at + 7, &end, 10);
	if (!strchr(" ", *end) || !*scenario_doubt(&probe, app->plan->input, TEXT(160)))
		return line;
	snprintf(text, LINE_SIZE, "%.*sGiB%s", (int)(end - line), line, end);
	return text;
}

/* A file that is read, however long it takes, can be stopped. */
static enum status commands_session(struct app *app, enum command_id command, const char *line, struct error *error)
{
	bool opens = command == COMMAND_OPEN || command == COMMAND_AGAINST;
	bool reads = app->reading && (opens || command == COMMAND_RELOAD || command == COMMAND_GRAPH);
	if (reads)
		app->reading(app->owner, true);
	enum status status = session_command(app->session, line, error);
	if (reads && app->reading(app->owner, false) && status != OK)
		refuse(error, "stopped: what was open stays");
	return status;
}

/* The session's commands; undo and redo bring the cursor back, too. */
static enum status run_session(struct app *app, enum command_id command, const char *line)
{
	struct model *model = &app->model;
	struct error error = { 0 };
	const struct graph *graph = model->plan ? model->plan->graph : NULL;
	bool back = command == COMMAND_UNDO || command == COMMAND_REDO;
	char text[LINE_SIZE];
	line = command == COMMAND_EXPORT || command == COMMAND_SAVE ? line : commands_limited(app, line, text);
	if (graph && !back)
		session_set_cursor(app->session, model->op, model->storage);
	enum status status = commands_session(app, command, line, &error);
	session_status(app->session, &model->status);
	bool planned = !model->status.stale;
	if (planned)
		app_look(app);
	/* The answer, or what was done: a key press always shows that it arrived. A plan that is still to come has its
	 * notes said behind it, however soon it is there. */
	view_say(model, "%s",
		status != OK && *error.text ? error.text
		: *model->status.message ? model->status.message
		: line);
	model->bad = status != OK;
	if (!planned)
		app_look(app);
	if (status == OK && back && model->plan) {
		uint32_t op, storage;
		session_cursor(app->session, &op, &storage);
		if (op < model->plan->graph->ops)
			model_go(model, model->plan->ordered->position[op]);
		if (storage < model->plan->graph->storages)
			model->storage = storage;
	}
	return status;
}

/* The screen as it is, as SVG where the file's name ends so, else as text. */
static void export_screen(struct app *app, const char *path)
{
	size_t length = strlen(path);
	int x, y;
	bool drawn = app_draw(app, app->frame.width, app->frame.height, &x, &y),
		 svg = length > 4 && text_is(path + length - 4, ".svg");
	char *text = drawn && !svg ? frame_dump(&app->frame) : NULL;
	struct error error = { 0 };
	struct output output;
	enum status status = drawn && (svg || text) ? output_open(&output, path, true, &error) : fail_memory(&error);
	if (status == OK) {
		if (svg)
			picture_svg(&app->frame, &app->palette, app->theme, x, y, output.stream);
		else
			fputs(text, output.stream);
		status = output_close(&output, OK, &error);
	}
	mem_free(text);
	if (status == OK)
		view_say(&app->model, "wrote %s", path);
	else
		view_say(&app->model, "%s", error.text);
}

/* The screen is ours; what a plan is written as is the session's. */
static void run_export(struct app *app, enum command_id command, const char *line)
{
	struct export_line words;
	if (command == COMMAND_EXPORT && export_line_parse(command_arguments(line), &words, NULL) == OK &&
		text_is(words.kind, "screen"))
		export_screen(app, words.path);
	else
		run_session(app, command, line);
}

/* What Enter alone would export: the figure that fits the view, or the screen. The file is named after the graph. */
static void suggest_export(struct app *app)
{
	static const struct { const struct view_ops *view; const char *name; } figures[] = {
		{ &view_step, "timeline" }, { &view_map, "map" }, { &view_graph, "graph" }, { &view_devices, "mesh" } };
	const struct view_ops *view = views[app->view];
	char name[60];
	const char *figure = NULL;
	FOR(i, COUNT_OF(figures))
		if (view == figures[i].view)
			figure = figures[i].name;
	if (view == &view_devices && app->plan && app->plan->transformed->pipelined)
		figure = "pipeline";
	PRINT_TO(name, "%s", app->model.plan ? app->model.plan->input->name : "");
	for (char *at = name; *at; at++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.", *at))
			*at = '_';
	bool drawing = !figure || view == &view_graph; /* it has no --view */
	app_open_line(app, MODE_PROMPT, PRINTED(LINE_SIZE, "export %s %s-%s.svg%s%s", figure ? "svg" : "screen", name,
		figure ? figure : view->name, drawing ? "" : " --view ", drawing ? "" : figure));
}

static void scale_devices(struct app *app, bool up)
{
	int64_t devices = app->model.scenario->value[K_devices], wanted = up ? devices * 2 : devices / 2;
	if (wanted < knobs[K_devices].minimum || wanted > knobs[K_devices].maximum) {
		view_say(&app->model, "devices: %s", up ? "there can't be more" : "there is one");
		return;
	}
	app_run_line(app, PRINTED(64, "set devices=%lld", (long long)wanted));
	if (wanted > 1 && app->model.scenario->value[K_devices] == wanted && app->model.scenario->value[K_strategy] == 0)
		view_say(&app->model, "%lld devices, each of which does the whole step: S finds the best way to split it",
			(long long)wanted);
}

/* An export to a file that exists asks first; a session never replaces one. */
static void run_writing(struct app *app, enum command_id command, const char *line)
{
	const char *arguments = command_arguments(line);
	struct export_line words;
	bool export = command == COMMAND_EXPORT && export_line_parse(arguments, &words, NULL) == OK;
	if (!*arguments && command == COMMAND_EXPORT)
		suggest_export(app);
	else if (!*arguments) {
		app_open_line(app, MODE_PROMPT, PRINTED(32, "%s ", commands[command].word));
	} else if (export && !words.force && access(words.path, F_OK) == 0) {
		PRINT_TO(app->confirm, "export %s! %s", words.kind, arguments + strlen(words.kind));
		app->mode = MODE_CONFIRM;
	} else
		run_export(app, command, line);
}

static void cancel(struct app *app, bool interrupt)
{
	bool again = app->interrupted;
	app->interrupted = false;
	if (app->model.status.solving) {
		session_cancel(app->session);
		app_look(app);
		view_say(&app->model, "stopped: this is the best plan so far");
	} else if (finder_cancel(app->configurations.search)) {
		view_say(&app->model, "the search for configurations stops");
	} else if (finder_cancel(app->slowdowns.job)) {
		view_say(&app->model, "what was found so far is drawn");
	} else if (finder_cancel(app->ways.job)) {
		view_say(&app->model, "what was planned so far is in the list");
	} else if (interrupt && again) {
		app->running = false;
		app->status = 130;
	} else if (interrupt) {
		app->interrupted = true;
		view_say(&app->model, "nothing is being solved; ^C again or Q leaves");
	} else if (!app->panel_has_keys)
		in_view(app, COMMAND_CANCEL);
	app->panel_has_keys = false;
}

static void close_something(struct app *app)
{
	if (app->panel_has_keys)
		app->panel_has_keys = false;
	else if (!in_view(app, COMMAND_CLOSE))
		app->running = false;
}

/* The user's own colours stand above every theme but the one without colours. */
void app_use_theme(struct app *app, enum theme theme)
{
	const struct user_config *config = app->config;
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
	for (int i = 1; i <= THEME_COUNT; i++) {
		enum theme next = (enum theme)((app->theme + i) % THEME_COUNT);
		if (theme_possible(next, app->colours) == next) {
			view_say(&app->model, "theme: %s", theme_names[next]);
			app_use_theme(app, next);
			return;
		}
	}
}

static void commands_show(struct app *app, const struct view_ops *view)
{
	FOR_INT(i, VIEWS)
		if (views[i] == view)
			app_show_view(app, i);
}

/* False where the settings are refused: the message says why. */
static bool commands_set(struct app *app, const char *settings)
{
	return run_session(app, COMMAND_COUNT, PRINTED(LINE_SIZE + 8, "set %s", settings)) == OK;
}

/* What "24", "24GiB" or a GPU stands for, as settings. */
static void commands_size(const char *size, char *text, size_t room)
{
	char *rest, device[2 * ALIAS_SIZE];
	strtod(size, &rest);
	if (alias_settings(size, device, sizeof device))
		snprintf(text, room, "memory=none %s", device);
	else
		snprintf(text, room, strchr(size, '=') || rest == size ? "%s" : *rest ? "memory=%s" : "memory=%sGiB", size);
}

/* Searches every configuration and shows the list; of one device it asks for more. */
static void search_all(struct app *app, const char *devices)
{
	if (!app->plan)
		return;
	if (!*devices && app->model.scenario->value[K_devices] == 1) {
		app_open_line(app, MODE_PROMPT, "search ");
		return;
	}
	if (*devices && !commands_set(app, PRINTED(LINE_SIZE, devices[strspn(devices, "0123456789")] ? "%s" : "devices=%s",
		devices)))
		return;
	app->wanted = WANTED_SEARCH;
	commands_show(app, &view_search);
	app_look(app);
}

/* Draws extra time over memory. */
static void draw_curve(struct app *app)
{
	if (!app->plan)
		return;
	slowdowns_find(&app->slowdowns, app->plan, session_rules_file(app->session));
	commands_show(app, &view_fit);
	view_fit.command(app->state[app->view], &app->model, COMMAND_CURVE);
}

/* Plans changes that fit, and shows their list; asks for a size where no limit is set, or to change it. */
static void fit(struct app *app, const char *size, bool ask)
{
	char text[LINE_SIZE];
	if (!app->plan)
		return;
	if (!*size && (ask || scenario_budget(app->model.scenario) < 0)) {
		app_open_line(app, MODE_PROMPT, "fit ");
		return;
	}
	if (*size) {
		commands_size(size, text, sizeof text);
		if (!commands_set(app, text))
			return;
	}
	app->wanted = WANTED_FIT;
	commands_show(app, &view_fit);
	view_fit.command(app->state[app->view], &app->model, COMMAND_FIT);
	app_look(app);
}

/* Goes to another row of a lesson: what its session, beside the graph's file, sets and pins behind a reset. */
static void commands_lesson(struct app *app, int direction)
{
	char path[4096], done[300] = "";
	struct words said = { done, sizeof done, 0 };
	struct lines lines;
	const char *name = session_path(app->session);
	uint32_t row = 0, rows = 0;
	PRINT_TO(path, "%.*s.tide", (int)(strlen(name) - (text_ends(name, ".jsonl") ? 6 : 0)), name);
	if (!app->plan || !app->plan->input->about.teaches || lines_open(&lines, path, NULL) != OK) {
		view_say(&app->model, "no lesson, which has rows");
		return;
	}
	while (lines_next(&lines, NULL) > 0)
		rows += text_is(lines.text, "reset");
	lines_close(&lines);
	if (rows == 0 || lines_open(&lines, path, NULL) != OK)
		return;
	app->lesson_row = direction > 0 ? app->lesson_row % rows + 1
		: ((app->lesson_row ? app->lesson_row : 1) + rows - 2) % rows + 1;
	while (lines_next(&lines, NULL) > 0) {
		bool reset = text_is(lines.text, "reset");
		row += reset;
		if (row != app->lesson_row || !(reset || text_begins(lines.text, "set ") || text_begins(lines.text, "pin ")))
			continue;
		run_session(app, COMMAND_COUNT, lines.text);
		if (!reset)
			words_add(&said, "  %s", lines.text);
	}
	lines_close(&lines);
	view_say(&app->model, "row %u of %u:%s", app->lesson_row, rows, done);
}

/* Another rank of the pipeline; before the first that which needs most. */
static void show_rank(struct app *app, int direction)
{
	const struct pipelined *pipelined = app->plan ? app->plan->transformed->pipelined : NULL;
	int64_t rank = app->model.scenario->value[K_rank] == KNOB_GIVEN ? -1 : app->model.scenario->value[K_rank];
	char line[40] = "set rank=worst";
	if (!pipelined || pipelined->ranks < 2) {
		view_say(&app->model, "one rank: :pp=4 makes a pipeline of four");
		return;
	}
	rank = rank < 0 && direction > 0 ? app->plan->rank + 1 : rank + direction;
	rank = rank < (int64_t)pipelined->ranks ? rank : (int64_t)pipelined->ranks - 1;
	if (rank >= 0)
		PRINT_TO(line, "set rank=%lld", (long long)rank);
	run_session(app, COMMAND_COUNT, line);
}

/* Map and Tensors are about tensors, the other views about ops. */
static bool tensor_chosen(const struct app *app)
{
	const struct model *model = &app->model;
	return (views[app->view] == &view_tensors || views[app->view] == &view_map) &&
		model->storage < model->plan->graph->storages;
}

/* Of what is under the cursor what the view knows best, else its name. */
static void copy_name(struct app *app)
{
	struct model *model = &app->model;
	if (!in_view(app, COMMAND_COPY) && (tensor_chosen(app) || model->op < model->plan->graph->ops))
		PRINT_TO(model->copied, "%s",
			tensor_chosen(app) ? storage_name(model->plan, model->storage) : model->plan->graph->op[model->op].name);
	app->wishes |= WISH_COPY;
	view_say(model, "copied: %s", model->copied);
}

/* What the screen shows as a command: of Fit and Search theirs, else `plan`. */
static void commands_copy_line(struct app *app)
{
	const struct view_ops *view = views[app->view];
	view_command_line(&app->model, app->model.scenario, view == &view_fit ? "fit" : view == &view_search ? "search"
		: "plan", app->model.copied, sizeof app->model.copied);
	app->wishes |= WISH_COPY;
	view_say(&app->model, "copied: %s", app->model.copied);
}

/* An op's place is "model.py:6 in forward". */
static void edit_source(struct app *app)
{
	struct model *model = &app->model;
	const struct graph *graph = model->plan->graph;
	uint32_t op = tensor_chosen(app) ? graph->tensor[graph->storage[model->storage].root].writer : model->op;
	const char *src = op < graph->ops ? graph->op[op].src : NULL, *colon = src ? strchr(src, ':') : NULL;
	if (!src) {
		view_say(model, "the source line of %s is not known", op < graph->ops ? graph->op[op].name : "this");
		return;
	}
	while (colon && (colon[1] < '0' || colon[1] > '9'))
		colon = strchr(colon + 1, ':');
	size_t length = colon ? (size_t)(colon - src) : strcspn(src, " ");
	/* To an editor a name that begins with + or - is an argument. */
	PRINT_TO(app->edited, "%s%.*s", *src == '/' ? "" : "./", (int)length, src);
	*app->edited_line = '\0';
	if (colon)
		PRINT_TO(app->edited_line, "+%ld", strtol(colon + 1, NULL, 10));
	if (access(app->edited, R_OK) != 0)
		view_say(model, "%s is not here: start tidemark in the program's folder", app->edited);
	else
		app->wishes |= WISH_EDIT;
}

/* Names go to the shell as arguments, never as a part of the command. */
static void commands_run_shell(struct app *app, const char *command)
{
	const struct model *model = &app->model;
	const struct graph *graph = model->plan->graph;
	const char *src = model->op < graph->ops ? graph->op[model->op].src : NULL;
	if (!*command) {
		app_open_line(app, MODE_PROMPT, "shell ");
		return;
	}
	PRINT_TO(app->shelled, "%s", command);
	snprintf(app->shell_word[0], sizeof *app->shell_word, "%s", model->op < graph->ops ? graph->op[model->op].name : "");
	snprintf(app->shell_word[1], sizeof *app->shell_word, "%s",
		model->storage < graph->storages ? storage_name(model->plan, model->storage) : "");
	snprintf(app->shell_word[2], sizeof *app->shell_word, "%s", src ? src : "");
	app->wishes |= WISH_SHELL;
}

/* Those of a list; without one the prompt offers to change it. */
static void commands_choose_columns(struct app *app, const char *list)
{
	struct error error;
	char text[COLUMN_LIST_BYTES];
	if (!*list) {
		app_open_line(app, MODE_PROMPT, PRINTED(COLUMN_LIST_BYTES + 10, "columns %s",
			column_list_text(&app->columns, text)));
	} else if (column_list_read(&app->columns, list, &error) != OK)
		view_say(&app->model, "%s", error.text);
	else
		view_say(&app->model, "columns: %s", column_list_text(&app->columns, text));
}

enum { CARD_MOST = 640 }; /* eight rows of 80 columns */

bool app_say_card(struct app *app)
{
	HELD char *text = app->plan ? card_brief(app->plan->input, CARD_MOST) : NULL;
	bool said = text != NULL;
	if (said)
		view_say(&app->model, "%s", text);
	return said;
}

bool app_ask_graph(struct app *app)
{
	if (!app->plan || !app->plan->input->about.intake.graphs)
		return false;
	app_open_line(app, MODE_PROMPT, "graph ");
	return true;
}

static void to_panel_or_back(struct app *app)
{
	app->panel_has_keys = !app->panel_has_keys;
	if (app->panel_has_keys)
		view_say(&app->model, "arrows turn knobs, Enter types a value, / finds a knob");
}

static void give_mouse(struct app *app)
{
	app->mouse = !app->mouse;
	app->wishes |= WISH_MOUSE;
	view_say(&app->model,
		app->mouse ? "the mouse is ours: m gives it back"
		: "the mouse is the terminal's: select text, m takes it back");
}

/* What takes a text: with one it is done, without one a line asks for it. */
static void with_text(struct app *app, enum command_id command, const char *text)
{
	struct model *model = &app->model;
	if (command == COMMAND_FIND)
		PRINT_TO(model->search, "%s", text);
	if (!*text)
		app_open_line(app, command == COMMAND_FIND ? MODE_FIND : command == COMMAND_FILTER ? MODE_FILTER : MODE_PROMPT,
			command == COMMAND_FIND ? "" : command == COMMAND_FILTER ? model->filter : "go ");
	else if (command == COMMAND_FIND)
		app_find(app, 1);
	else if (command == COMMAND_FILTER)
		PRINT_TO(model->filter, "%s", text);
	else
		go_to_name(app, text);
}

/* Why the plan can't keep its limit, and what was assumed for it. */
static void commands_notes(struct app *app)
{
	const struct plan *plan = app->plan;
	char why[WHY_NOT_TEXT] = "";
	if (plan && plan->why_not.advice)
		why_not_text(&plan->why_not, why, sizeof why);
	view_say(&app->model, "%s%s%s", why, *why ? " " : "",
		plan && *plan->notes ? plan->notes : *why ? "" : "nothing was assumed for this plan");
	for (char *at = app->model.message; *at; at++)
		*at = *at == '\n' ? ' ' : *at;
}

/* What is in front. */
static bool commands_run_where(struct app *app, enum command_id command, const char *arguments)
{
	bool keys = app->panel_has_keys;
	switch (command) {
	case COMMAND_HELP:
		help_open(&app->help);
		app->mode = MODE_HELP;
		break;
	case COMMAND_CLOSE: close_something(app); break;
	case COMMAND_NEXT_VIEW: app_show_view(app, app->view + 1); break;
	case COMMAND_PREVIOUS_VIEW: app_show_view(app, app->view - 1); break;
	case COMMAND_VIEW:
		FOR_INT(i, VIEWS)
			if (*arguments == '1' + i || strcasecmp(arguments, views[i]->name) == 0)
				app_show_view(app, i);
		break;
	case COMMAND_RANK: show_rank(app, 1); break;
	case COMMAND_RANK_BACK: show_rank(app, -1); break;
	case COMMAND_RUNS: /* who turns knobs goes on turning them */
		commands_show(app, &view_runs);
		app->panel_has_keys = keys;
		break;
	case COMMAND_NOTES: commands_notes(app); break;
	case COMMAND_HIDE:
		app->panel_hidden = !app->panel_hidden;
		app->panel_has_keys = false;
		break;
	case COMMAND_PANEL: to_panel_or_back(app); break;
	case COMMAND_GRAPH:
		if (*arguments || arguments[-1] == ' ') /* "graph " is the question, with Enter for an answer */
			return false;
		if (!app_ask_graph(app))
			view_say(&app->model, "the file has one graph");
		break;
	default: return false;
	}
	return true;
}

/* How it looks, and what leaves the screen. */
static bool commands_run_outside(struct app *app, enum command_id command, const char *arguments)
{
	switch (command) {
	case COMMAND_QUIT: app->running = false; break;
	case COMMAND_ASCII: app->frame.ascii = !app->frame.ascii; break;
	case COMMAND_MOUSE: give_mouse(app); break;
	case COMMAND_THEME: next_theme(app); break;
	case COMMAND_COLUMNS: commands_choose_columns(app, arguments); break;
	case COMMAND_COPY: copy_name(app); break;
	case COMMAND_COMMAND_LINE: commands_copy_line(app); break;
	case COMMAND_EDIT: edit_source(app); break;
	case COMMAND_SHELL: commands_run_shell(app, arguments); break;
	case COMMAND_REDRAW: app->wishes |= WISH_REDRAW; break;
	case COMMAND_SUSPEND: app->wishes |= WISH_SUSPEND; break;
	default: return false;
	}
	return true;
}

/* What is asked of the plan. */
static bool commands_run_asked(struct app *app, enum command_id command, const char *arguments)
{
	switch (command) {
	case COMMAND_CANCEL: cancel(app, text_is(arguments, "^C")); break;
	case COMMAND_PROMPT: app_open_line(app, MODE_PROMPT, ""); break;
	case COMMAND_DEVICES_UP: scale_devices(app, true); break;
	case COMMAND_DEVICES_DOWN: scale_devices(app, false); break;
	case COMMAND_SEARCH: search_all(app, arguments); break;
	case COMMAND_FIT: fit(app, arguments, false); break;
	case COMMAND_FIT_INTO: fit(app, "", true); break;
	case COMMAND_CURVE: draw_curve(app); break;
	case COMMAND_CHALLENGE: /* the map has a game of its own */
		if (views[app->view] != &view_map)
			commands_show(app, &view_order);
		return in_view(app, command);
	case COMMAND_PART:
	case COMMAND_PART_BACK:
		if (views[app->view] != &view_step)
			return false;
		commands_lesson(app, command == COMMAND_PART ? 1 : -1);
		break;
	case COMMAND_FIND:
	case COMMAND_FILTER:
	case COMMAND_GO: with_text(app, command, arguments); break;
	case COMMAND_FIND_NEXT: app_find(app, 1); break;
	case COMMAND_FIND_PREVIOUS: app_find(app, -1); break;
	default: return false;
	}
	return true;
}

/* Commands of the explorer itself. False for others. */
static bool run_own(struct app *app, enum command_id command, const char *arguments)
{
	return commands_run_where(app, command, arguments) || commands_run_outside(app, command, arguments) ||
		commands_run_asked(app, command, arguments);
}

void app_run(struct app *app, enum command_id command, const char *line)
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
	/* A game in a view has moves of its own to take back. */
	if (command == COMMAND_UNDO && !app->panel_has_keys && in_view(app, command))
		return;
	bool session_word = command == COMMAND_UNDO || command == COMMAND_REDO || command == COMMAND_BASELINE ||
		command == COMMAND_RELOAD || *commands[command].arguments;
	if (session_word) {
		run_session(app, command, line);
		return;
	}
	if (app->panel_has_keys && panel_command(&app->panel, model, command))
		;
	else if (!app->panel_has_keys)
		in_view(app, command);
	app_grant_request(app);
}

void app_grant_request(struct app *app)
{
	struct model *model = &app->model;
	if (*model->request) {
		char request[sizeof model->request];
		memcpy(request, model->request, sizeof request);
		model->request[0] = '\0';
		bool here = model->request_here;
		model->request_here = false;
		if (here) {
			PRINT_TO(app->confirm, "%.100s", request);
			app_open_line(app, MODE_VALUE, "");
		} else if (model->request_edit)
			app_open_line(app, MODE_PROMPT, request);
		else
			app_run_line(app, request);
	}
}

/* Ours, or the session's words that the table doesn't have. */
void app_run_line(struct app *app, const char *line)
{
	line += strspn(line, " ");
	enum command_id command = command_find(line);
	if (command < COMMAND_COUNT)
		app_run(app, command, line);
	else if (*line)
		run_session(app, COMMAND_COUNT, line);
}

void app_confirmed(struct app *app, bool yes)
{
	if (yes)
		run_export(app, command_find(app->confirm), app->confirm);
	else
		view_say(&app->model, "nothing was written");
}

void app_script(struct app *app, const char *script)
{
	while (app->running && *script) {
		char line[LINE_SIZE];
		size_t length = strcspn(script, "\n");
		PRINT_TO(line, "%.*s", (int)length, script);
		script += length + (script[length] == '\n');
		if (*line != '#')
			app_run_line(app, line);
	}
}
