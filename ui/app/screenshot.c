/* screenshot.c: opens a session, presses keys, draws once, writes the cells. */
#include "src/base/output.h"

#include <locale.h>

#include "explore.h"
#include "src/cli/batch.h"
#include "src/cli/options.h"
#include "ui/screen/picture.h"

enum { SIZE_MAX_CELLS = 1000 };

struct shot {
	struct command_line line;
	struct scenario scenario;
	const char *kind, *keys;
	enum theme theme;
	int width, height, view;
	bool ascii;
};

static int take_size(struct shot *shot, const char *text)
{
	char rest;
	bool fine = sscanf(text, "%dx%d%c", &shot->width, &shot->height, &rest) == 2 && shot->width > 0 && shot->height > 0 &&
		    shot->width <= SIZE_MAX_CELLS && shot->height <= SIZE_MAX_CELLS;
	return fine ? EXIT_FINE
		: usage_error("export", "--size %s: expected WxH, at most %dx%d", text, SIZE_MAX_CELLS, SIZE_MAX_CELLS);
}

static int screenshot_take_option(void *context, int row, const char *value)
{
	static const char *const kinds[] = { "text", "ansi", "svg" };
	struct shot *shot = context;
	int64_t number = shot->view;
	int word = 0, code = EXIT_FINE;
	switch (row) {
	case OPTION_as:
		shot->kind = value;
		return option_word(&shot->line, row, value, kinds, COUNT_OF(kinds), &word);
	case OPTION_size: return take_size(shot, value);
	case OPTION_view:
		code = option_number(&shot->line, row, value, 1, VIEWS, &number);
		shot->view = (int)number;
		return code;
	case OPTION_theme:
		code = option_word(&shot->line, row, value, theme_names, THEME_COUNT, &word);
		shot->theme = (enum theme)word;
		return code;
	case OPTION_keys: shot->keys = value; return EXIT_FINE;
	case OPTION_ascii: shot->ascii = true; return EXIT_FINE;
	default: return EXIT_FINE; /* --screen itself */
	}
}

/* Waits until nothing is on its way any more: settings that are refused are planned as they were before. */
static void screenshot_settle(struct app *app)
{
	do {
		session_wait(app->session);
		configurations_wait(&app->configurations);
		ways_wait(&app->ways);
		slowdowns_wait(&app->slowdowns);
		app_look(app);
	} while (app->model.status.stale && !*app->model.status.problem);
}

void screenshot_keys(struct app *app, const char *keys)
{
	struct key_script script = { keys, NULL };
	struct key_press key;
	while (app->running && key_script_next(&script, &key)) {
		int x, y;
		/* Some keys move by pages, which views know when they are drawn. */
		if (app->frame.width)
			app_draw(app, app->frame.width, app->frame.height, &x, &y);
		app_key(app, &key);
		app->wishes = 0;
		screenshot_settle(app);
	}
}

static int write_screen(const struct shot *shot, struct app *app, FILE *stream)
{
	int x, y;
	do {
		session_wait_preview(app->session);
		graph_factors_wait(&app->factors);
		graph_factors_wait(&app->given);
		screenshot_settle(app);
		if (!app_draw(app, shot->width, shot->height, &x, &y))
			return EXIT_LIMIT;
	} while (session_previewing(app->session) || app_finding(app));
	if (text_is(shot->kind, "svg")) {
		picture_svg(&app->frame, &app->palette, app->theme, x, y, stream);
		return EXIT_FINE;
	}
	if (text_is(shot->kind, "ansi")) {
		picture_ansi(&app->frame, &app->palette, stream);
		return EXIT_FINE;
	}
	char *text = frame_dump(&app->frame);
	if (!text)
		return EXIT_LIMIT;
	fputs(text, stream);
	mem_free(text);
	return EXIT_FINE;
}

static int draw_session(const struct shot *shot, struct session *session)
{
	struct error error = { 0 };
	int x, y;
	session_wait(session);
	struct app *app = app_new(session, shot->theme, 256, shot->ascii, NULL);
	struct output output;
	enum status status = output_open(&output, shot->line.output, true, &error);
	if (status == OK) {
		if (app && app_draw(app, shot->width, shot->height, &x, &y)) {
			app->view = shot->view - 1;
			screenshot_keys(app, shot->keys);
			/* The screen says what went without memory; a picture of that is not what was asked for. */
			status = write_screen(shot, app, output.stream) == EXIT_FINE && mem_refused() == 0 ? OK : fail_memory(&error);
		} else {
			status = fail_memory(&error);
		}
		status = output_close(&output, status, &error);
	}
	int code = status == OK ? EXIT_FINE : complain(NULL, &error, status);
	if (app)
		app_free(app);
	return code;
}

static int screenshot_serve(const struct shot *shot)
{
	int code = EXIT_FINE;
	struct error error = { 0 };
	setlocale(LC_CTYPE, "C.UTF-8"); /* the picture is the same in every locale */
	struct graph *graph = batch_open(*shot->line.operand, &shot->line.reading, &code);
	if (!graph)
		return code;
	struct session *session = session_new(graph, *shot->line.operand, &shot->scenario,
		&(struct session_options){ .rules_file = shot->line.rules_file, .reading = &shot->line.reading }, &error);
	if (!session)
		return complain(NULL, &error, NO_MEMORY);
	code = draw_session(shot, session);
	session_free(session);
	return code;
}

int screenshot_command(int argc, char **argv)
{
	struct shot shot = { .kind = "text", .keys = "", .width = 80, .height = 24, .view = 1, .theme = THEME_DARK };
	scenario_init(&shot.scenario);
	shot.line = (struct command_line){
		.command = SUBCOMMAND_screen, .scenario = &shot.scenario, .take = screenshot_take_option, .context = &shot
	};
	int code = command_line_parse(&shot.line, argc, argv);
	if (code == EXIT_FINE && !shot.line.helped)
		code = screenshot_serve(&shot);
	scenario_done(&shot.scenario);
	return code;
}

bool screenshot_wanted(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (text_is(argv[i], "--screen"))
			return true;
	return false;
}
