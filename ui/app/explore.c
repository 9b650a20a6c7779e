/* explore.c: the event loop: keys, plans and signals in, one frame out per batch of them. */
#include "explore.h"

#include <poll.h>
#include <signal.h>
#include <time.h>

#include "history_file.h"
#include "src/base/files.h"
#include "ui/screen/terminal.h"

/* Progress is drawn at most so often: text on the screen can still be selected with the mouse. */
enum { PROGRESS_MS = 100 };
/* So often the graph's file is looked at. */
enum { WATCH_MS = 1000 };
/* Without keys for so long nobody is at them. */
enum { IDLE_SECONDS = 2 };

struct loop {
	struct app *app;
	struct terminal *terminal;
	struct timespec drawn, watched;
	int64_t typed_at;
	bool typed, asked; /* a key was; which graph of the file was */
};

static void draw(struct loop *loop)
{
	int width, height, x, y;
	terminal_size(loop->terminal, &width, &height);
	if (app_draw(loop->app, width, height, &x, &y))
		terminal_draw(loop->terminal, &loop->app->frame, &loop->app->palette, x, y);
	clock_gettime(CLOCK_MONOTONIC, &loop->drawn);
}

static bool explore_reading(void *owner, bool now)
{
	struct loop *loop = owner;
	if (now) {
		view_say(&loop->app->model, "reading; ^C stops it");
		draw(loop);
	}
	return terminal_reading(loop->terminal, now);
}

/* $VISUAL, else $EDITOR, may have words of its own; a shell takes them apart. */
static void edit(struct loop *loop)
{
	const char *const words[] = { "sh", "-c", "exec ${VISUAL:-${EDITOR:-vi}} \"$@\"", "sh",
		*loop->app->edited_line ? loop->app->edited_line : loop->app->edited,
		*loop->app->edited_line ? loop->app->edited : NULL, NULL };
	terminal_run(loop->terminal, words);
}

static void explore_run_shell(struct loop *loop)
{
	const struct app *app = loop->app;
	const char *const words[] = { "sh", "-c", "c=$1; shift; eval \"$c\"; printf '\\n[Enter goes back] '; read -r c",
		"sh", app->shelled, app->shell_word[0], app->shell_word[1], app->shell_word[2], NULL };
	terminal_run(loop->terminal, words);
}

static void grant_wishes(struct loop *loop)
{
	if (loop->app->wishes & WISH_REDRAW)
		terminal_redraw(loop->terminal);
	if (loop->app->wishes & WISH_SUSPEND)
		terminal_suspend(loop->terminal);
	if (loop->app->wishes & WISH_MOUSE)
		terminal_mouse(loop->terminal, loop->app->mouse);
	if (loop->app->wishes & WISH_COPY)
		terminal_copy(loop->terminal, loop->app->model.copied);
	if (loop->app->wishes & WISH_EDIT)
		edit(loop);
	if (loop->app->wishes & WISH_SHELL)
		explore_run_shell(loop);
	loop->app->wishes = 0;
}

/* A choice of columns is kept as soon as it is made. */
static void keep_columns(struct app *app)
{
	struct error error = { 0 };
	if (app->columns.changed && app->columns_path && columns_save(&app->columns, app->columns_path, &error) != OK)
		view_say(&app->model, "the columns can't be kept: %s", error.text);
	app->columns.changed = false;
}

static void handle_signals(struct loop *loop)
{
	for (int number; (number = terminal_signal(loop->terminal)) != 0; ) {
		if (number == SIGTSTP)
			terminal_suspend(loop->terminal);
		else if (number != SIGWINCH) {
			loop->app->status = 128 + number;
			loop->app->running = false;
		}
	}
}

static void handle_keys(struct loop *loop)
{
	struct key_press key;
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	loop->app->model.clock = loop->typed_at = now.tv_sec;
	loop->app->idle = false;
	while (loop->app->running && terminal_key(loop->terminal, &key)) {
		loop->typed = true;
		app_key(loop->app, &key);
		grant_wishes(loop);
		keep_columns(loop->app);
	}
	if (terminal_gone(loop->terminal)) {
		loop->app->running = false;
		loop->app->status = 128 + SIGHUP;
	}
}

/* Milliseconds since then, at most so many. */
static int since(const struct timespec *then, int most)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	int64_t ms = (now.tv_sec - then->tv_sec) * INT64_C(1000) + (now.tv_nsec - then->tv_nsec) / 1000000;
	return ms < most ? (int)ms : most;
}

static int since_drawn(const struct loop *loop)
{
	return since(&loop->drawn, PROGRESS_MS);
}

/* Whether the screen must be drawn: a timer runs on it, or what was watched changed. */
static bool watch(struct loop *loop)
{
	if (since(&loop->watched, WATCH_MS) < WATCH_MS)
		return false;
	clock_gettime(CLOCK_MONOTONIC, &loop->watched);
	loop->app->model.clock = loop->watched.tv_sec;
	loop->app->idle = loop->watched.tv_sec - loop->typed_at >= IDLE_SECONDS;
	if (loop->app->idle)
		app_look(loop->app);
	return app_watch(loop->app) || loop->app->model.ticks;
}

/* What was read. Of a file with several graphs the largest is open, unless one was named. Once, and not under the hands
 * of who is at work already. */
static void greet(struct loop *loop)
{
	if (!loop->app->plan || loop->asked)
		return;
	loop->asked = true;
	if (loop->typed)
		return;
	bool said = app_say_card(loop->app);
	if (!loop->app->plan->input->about.intake.graph_asked)
		said |= app_ask_graph(loop->app);
	if (said)
		draw(loop);
}

static void explore_run(struct loop *loop)
{
	struct app *app = loop->app;
	bool progress = false;
	while (app->running) {
		greet(loop);
		struct pollfd wait[] = { { .fd = terminal_key_fd(loop->terminal), .events = POLLIN },
					 { .fd = terminal_signal_fd(loop->terminal), .events = POLLIN },
					 { .fd = session_wake_fd(app->session), .events = POLLIN } };
		bool waits = progress || app_finding(app);
		int ready = poll(wait, 3, waits ? PROGRESS_MS - since_drawn(loop) : WATCH_MS);
		bool watched = watch(loop), dirty = (ready == 0 && waits) || watched;
		if (ready > 0 && wait[2].revents) {
			bool changed = app_look(app);
			dirty |= changed || !app->model.status.solving;
			progress = true;
		}
		if (ready > 0 && wait[1].revents) {
			handle_signals(loop);
			dirty = true;
		}
		if (ready > 0 && wait[0].revents) {
			handle_keys(loop);
			dirty = true;
		}
		if (app->running && (dirty || (progress && since_drawn(loop) >= PROGRESS_MS))) {
			draw(loop);
			progress = false;
		}
	}
}

static enum theme wanted_theme(const struct explore_options *options)
{
	const char *no_color = getenv("NO_COLOR");
	enum theme named = options->theme ? theme_find(options->theme) : THEME_ANSI;
	if (options->mono || (no_color && *no_color))
		return THEME_MONO;
	return named == THEME_COUNT ? THEME_ANSI : named;
}

bool explore_possible(void)
{
	return terminal_possible();
}

int explore(struct session *session, const struct explore_options *options)
{
	struct error error = { 0 };
	struct loop loop = { 0 };
	char history[STATE_PATH_BYTES], chosen[STATE_PATH_BYTES];
	loop.terminal = terminal_open(&error);
	if (!loop.terminal) {
		fprintf(stderr, "tidemark: %s\n", error.text);
		return 2;
	}
	bool ascii = options->ascii || !terminal_unicode();
	loop.app = app_new(session, wanted_theme(options), terminal_colours(loop.terminal), ascii, options->config);
	int status = 4;
	if (loop.app) {
		if (state_path("history", history)) {
			loop.app->history_path = history;
			history_load(&loop.app->history, history);
		}
		if (state_path("columns", chosen)) {
			loop.app->columns_path = chosen;
			columns_load(&loop.app->columns, chosen);
		}
		loop.app->reading = explore_reading;
		loop.app->owner = &loop;
		loop.app->mouse = !options->no_mouse;
		terminal_mouse(loop.terminal, loop.app->mouse);
		draw(&loop);
		loop.typed_at = loop.drawn.tv_sec;
		if (options->script)
			app_script(loop.app, options->script);
		explore_run(&loop);
		status = loop.app->status;
		app_free(loop.app);
	}
	terminal_close(loop.terminal);
	if (status == 4)
		fputs("tidemark: out of memory\n", stderr);
	return status;
}
