/* screenshot.c: opens a session, presses keys, draws once, writes the cells. */
#include "screenshot.h"
#include "src/base/output.h"

#include <locale.h>

#include "key_script.h"
#include "ui/screen/picture.h"
#include "ui/screen/screen.h"
#include "src/cli/batch.h"
#include "src/cli/subcommands.h"
#include "src/cli/options.h"

enum { SIZE_MAX_CELLS = 1000 };

struct shot {
	struct scenario scenario;
	const char *graph, *output, *kind, *keys, *rules_file;
	enum theme theme;
	int width, height, view;
	bool ascii, helped;
};

static const struct option long_options[] = {
	{ "screen", no_argument, NULL, 'X' }, { "as", required_argument, NULL, 'a' }, { "size", required_argument, NULL, 'z' },
	{ "view", required_argument, NULL, 'v' }, { "keys", required_argument, NULL, 'k' }, { "theme", required_argument, NULL, 't' },
	{ "ascii", no_argument, NULL, 'A' }, { "set", required_argument, NULL, 's' }, { "pin", required_argument, NULL, 'p' },
	{ "rules", required_argument, NULL, 'r' }, { "output", required_argument, NULL, 'o' }, { "help", no_argument, NULL, 'h' },
	{ NULL, 0, NULL, 0 },
};

static int take_size(struct shot *shot, const char *text)
{
	char rest;
	bool fine = sscanf(text, "%dx%d%c", &shot->width, &shot->height, &rest) == 2 && shot->width > 0 && shot->height > 0 &&
		    shot->width <= SIZE_MAX_CELLS && shot->height <= SIZE_MAX_CELLS;
	return fine ? EXIT_FINE : usage_error("export", "--size %s: expected WxH, at most %dx%d", text, SIZE_MAX_CELLS, SIZE_MAX_CELLS);
}

static int take_theme(struct shot *shot, const char *text)
{
	shot->theme = theme_find(text);
	return shot->theme != THEME_COUNT ? EXIT_FINE : usage_error("export", "--theme %s: expected ansi, dark, light or mono", text);
}

static int take_view(struct shot *shot, const char *text)
{
	shot->view = text[0] - '0';
	bool fine = shot->view >= 1 && shot->view <= VIEWS && text[1] == '\0';
	return fine ? EXIT_FINE : usage_error("export", "--view %s: expected a view's number, 1 to %d", text, VIEWS);
}

static int take_kind(struct shot *shot, const char *text)
{
	shot->kind = text;
	bool fine = strcmp(text, "svg") == 0 || strcmp(text, "text") == 0 || strcmp(text, "ansi") == 0;
	return fine ? EXIT_FINE : usage_error("export", "--as %s: a screen is written as text, ansi or svg", text);
}

static int take_option(struct shot *shot, int letter)
{
	switch (letter) {
	case 'X': return EXIT_FINE;
	case 'a': return take_kind(shot, optarg);
	case 'z': return take_size(shot, optarg);
	case 'v': return take_view(shot, optarg);
	case 't': return take_theme(shot, optarg);
	case 'k': shot->keys = optarg; return EXIT_FINE;
	case 'A': shot->ascii = true; return EXIT_FINE;
	case 's': return batch_set(&shot->scenario, optarg);
	case 'p': return batch_pin(&shot->scenario, optarg);
	case 'r': shot->rules_file = optarg; return EXIT_FINE;
	case 'o': shot->output = optarg; return EXIT_FINE;
	case 'h':
		shot->helped = true;
		return subcommand_usage("export");
	default: return EXIT_USAGE;   /* option_next() has said why */
	}
}

static int parse(struct shot *shot, int argc, char **argv)
{
	int letter, code = EXIT_FINE;
	optind = 1;
	while (code == EXIT_FINE && !shot->helped && (letter = option_next("export", argc, argv, ":o:h", long_options)) != -1)
		code = take_option(shot, letter);
	if (code != EXIT_FINE || shot->helped)
		return code;
	if (optind + 1 != argc)
		return usage_error("export", "%s", optind == argc ? "which GRAPH?" : "more than one GRAPH");
	shot->graph = argv[optind];
	return EXIT_FINE;
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
		session_wait(app->session);
		configurations_wait(&app->configurations);
		ways_wait(&app->ways);
		slowdowns_wait(&app->slowdowns);
		app_look(app);
	}
}

static int write_screen(const struct shot *shot, struct app *app, FILE *stream)
{
	int x, y;
	do {
		session_wait_preview(app->session);
		graph_factors_wait(&app->factors);
		configurations_wait(&app->configurations);
		ways_wait(&app->ways);
		slowdowns_wait(&app->slowdowns);
		app_look(app);
		if (!app_draw(app, shot->width, shot->height, &x, &y))
			return EXIT_LIMIT;
	} while (session_previewing(app->session) || graph_factors_pending(&app->factors) || configurations_pending(&app->configurations) || ways_pending(&app->ways) || slowdowns_pending(&app->slowdowns));
	if (strcmp(shot->kind, "svg") == 0) {
		picture_svg(&app->frame, &app->palette, app->theme, x, y, stream);
		return EXIT_FINE;
	}
	if (strcmp(shot->kind, "ansi") == 0) {
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
	enum status status = output_open(&output, shot->output, true, &error);
	if (status == OK) {
		if (app && app_draw(app, shot->width, shot->height, &x, &y)) {
			app->view = shot->view - 1;
			screenshot_keys(app, shot->keys);
			status = write_screen(shot, app, output.stream) == EXIT_FINE ? OK : fail_memory(&error);
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

static int serve(const struct shot *shot)
{
	int code = EXIT_FINE;
	struct error error = { 0 };
	setlocale(LC_CTYPE, "C.UTF-8");   /* the picture is the same in every locale */
	struct graph *graph = batch_open(shot->graph, &code);
	if (!graph)
		return code;
	struct session *session = session_new(graph, shot->graph, &shot->scenario, &(struct session_options){ .rules_file = shot->rules_file }, &error);
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
	int code = parse(&shot, argc, argv);
	if (code == EXIT_FINE && !shot.helped)
		code = serve(&shot);
	scenario_done(&shot.scenario);
	return code;
}

bool screenshot_wanted(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--screen") == 0)
			return true;
	return false;
}
