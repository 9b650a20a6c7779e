/* app.h: the explorer without its terminal: keys and plans in, frames out.
 *
 * explore.c feeds it from a terminal; screenshots and tests feed it keys by name. Keys become commands through the
 * command table. A command is the views', the explorer's own or, in the session's language, the session's: those that
 * change the scenario return at once and the worker plans.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     main          the program: a subcommand, or a graph to explore
 *     app           keys in, frames out
 *     commands      what the explorer's commands do
 *     explore       the loop on a terminal
 *     chrome        tabs, status line, footer
 *     panel         the knobs
 *     completion    what could follow at the prompt
 *     history_file  the prompt's lines, kept
 *     help          the list of commands and words
 *     key_script    keys written as text
 *     screenshot    a screen as a file */
#pragma once

#include "src/session/config.h"
#include "ui/screen/line_edit.h"
#include "ui/screen/theme.h"
#include "ui/views/columns.h"
#include "ui/views/view.h"

/* panel: the control panel: every knob with its value, generated from the knob table. */

struct panel {
	uint32_t selected; /* place of a knob, or of a group's title */
	uint32_t top;      /* first row shown */
	unsigned open;     /* bit g: group g is unfolded */
	char narrow[100];  /* only knobs with this text are shown; "" shows all that is not folded */
	int page, width;
};

/* has_keys: the panel has the keyboard, and shows its cursor and the knob's sentence. */
void panel_draw(struct panel *panel, const struct model *model, bool has_keys, struct frame *frame);
/* The other value of the selected knob in a direction (-1 or 1) whose effect is worth knowing; false where there is
 * none. */
bool panel_asks(
	const struct panel *panel, const struct model *model, int direction, int *knob, int64_t *value);
/* Shows only the knobs whose name, group, words or sentence has the text, and selects the best (the one of that name
 * first); "" shows all again. */
void panel_narrow(struct panel *panel, const char *text);
/* The next knob that has the text, in a direction; false where there is none. */
bool panel_find(struct panel *panel, const char *text, int direction);
/* A click at a cell of the panel: selects a knob, turns it where its arrows are. */
void panel_click(struct panel *panel, struct model *model, int x, int y);
/* Moves, or requests "set knob=value". False for commands it doesn't know. */
bool panel_command(struct panel *panel, struct model *model, enum command_id command);

/* help: the `?` overlay: the commands that are valid here, narrowed by typing, run by Enter. */

struct help {
	struct line_edit filter;
	uint32_t selected;
	int page;
};

/* Valid in all views. */
bool command_everywhere(enum command_id id);
void help_open(struct help *help);
/* Handles a key. Returns the command to run (Enter), or COMMAND_COUNT; *close tells that the overlay is done. */
enum command_id help_key(
	struct help *help, const struct model *model, unsigned context, const struct key_press *key, bool *close);
/* Draws over the whole screen; returns the column and row of the cursor in x and y. */
void help_draw(struct help *help, const struct model *model, unsigned context, struct frame *frame, int *x, int *y);

/* completion: what could follow at the `:` prompt. */

#define COMPLETIONS 40
#define COMPLETION_NOTE 120

/* One continuation: the whole line with it, where its last word begins, and a line on what that is. */
struct candidate_line {
	char line[LINE_SIZE], note[COMPLETION_NOTE];
	uint16_t word;
	uint8_t rank; /* 0: the word begins with what was typed; 1: contains it; 2: has its letters in their order */
};

struct completion {
	struct candidate_line offer[COMPLETIONS]; /* by rank */
	uint32_t count;
};

/* Continuations of the line's last word: commands, knobs and their values, kinds and views of exports, names of ops and
 * tensors, files. The words that have its letters in their order are there only where no word contains it. */
void completion_find(const char *line, const struct model *model, struct completion *completion);
/* The list, best at the top, in the lower rows of the rectangle; the one chosen (from 1 on; 0: none) is marked. Returns
 * the rows that it took. */
int completion_draw(struct frame *frame, struct rect rect, const struct completion *completion, uint32_t chosen);
/* A hint for what is being typed: the knob's sentence, the command's arguments; "" where there is none. */
const char *completion_hint(const char *line);

/* MODE_VALUE: what is typed completes a request, and stands in the view. */
enum mode { MODE_VIEW, MODE_HELP, MODE_PROMPT, MODE_FIND, MODE_FILTER, MODE_CONFIRM, MODE_VALUE };

/* What is to be started as soon as the plan of the settings is there. */
enum wanted { WANTED_NOTHING, WANTED_FIT, WANTED_SEARCH };

/* What only the owner of the terminal can do. */
enum wish { WISH_REDRAW = 1, WISH_SUSPEND = 2, WISH_MOUSE = 4, WISH_COPY = 8, WISH_EDIT = 16, WISH_SHELL = 32 };

struct app {
	struct session *session;
	struct frame frame;
	enum theme theme;
	int colours;            /* of the terminal */
	struct palette palette; /* of the theme, with the user's colours */
	const struct user_config *config; /* the user's keys and colours, or NULL */
	struct model model;
	struct plan *plan; /* model.plan, retained */
	struct plan_index index;
	struct beside beside; /* of the serials beside_of: baseline and plan */
	uint64_t beside_of[2];
	struct graph_factors factors;
	struct graph_factors given; /* of the graph as read, which knobs mean by "given" */
	uint64_t given_of;          /* fingerprint of the graph that model.given was found for */
	bool given_whole;           /* with its factors */
	struct configurations configurations;
	struct ways ways;
	struct slowdowns slowdowns;
	void *state[VIEWS];
	int view;
	enum wanted wanted;
	bool idle; /* nobody is at the keys; the terminal's owner tells */
	bool panel_has_keys, panel_hidden;
	struct panel panel;
	enum mode mode;
	struct line_edit line;
	struct history history;
	struct column_set columns;  /* of tensors */
	const char *columns_path;   /* where they are kept, or NULL */
	const char *history_path;   /* where the prompt's lines are kept, or NULL */
	struct completion completion;
	uint32_t completed; /* 1 + the completion that is in the line; 0: none */
	struct help help;
	char edited[4096], edited_line[16]; /* the file of WISH_EDIT, and "+12", "" where the line is not known */
	char confirm[LINE_SIZE]; /* the line that waits for a yes, or for a value */
	bool interrupted;        /* the last key was ^C with nothing to stop */
	char shelled[600];       /* the command of WISH_SHELL, and its arguments: op, tensor, place in the program */
	char shell_word[3][1000];
	uint32_t lesson_row; /* of the lesson's session, counted from 1; 0: none was gone to */
	bool mouse;      /* wanted; WISH_MOUSE tells of a change */
	unsigned wishes; /* enum wish; the owner of the terminal clears them */
	bool (*reading)(void *owner, bool now); /* before a file is read, and behind: whether ^C stopped it; or NULL */
	void *owner;
	bool running;
	int status; /* exit status once running is false */
};

/* An explorer of the session, which stays the caller's. theme is the wanted one; colours what the terminal has. config
 * may be NULL and must outlive the explorer. NULL when out of memory. */
struct app *app_new(
	struct session *session, enum theme theme, int colours, bool ascii, const struct user_config *config);
void app_free(struct app *app);

/* Takes whatever the session has to tell. True when there is a new plan. */
bool app_look(struct app *app);
/* Whether something is being found beside the screen. */
bool app_finding(const struct app *app);
/* Says so when the graph's file has changed on disk. True when there is something to draw. */
bool app_watch(struct app *app);
/* Draws app->frame at that size; *x and *y are the cursor's place, *x < 0 where it is hidden. False when out of memory.
 */
bool app_draw(struct app *app, int width, int height, int *x, int *y);
void app_key(struct app *app, const struct key_press *key);
/* Runs lines of the prompt; those that begin with # are left out. */
void app_script(struct app *app, const char *script);

/* ---- between app.c and commands.c ---- */

/* The contexts whose commands are valid now. */
unsigned app_context(const struct app *app);
/* Runs a command with its line as the session would read it. */
void app_run(struct app *app, enum command_id command, const char *line);
/* A line of the prompt. */
void app_run_line(struct app *app, const char *line);
/* The line that waited for a yes; others get a message. */
void app_confirmed(struct app *app, bool yes);
/* The next op or tensor in a direction whose name contains model.search. */
void app_find(struct app *app, int direction);
void app_open_line(struct app *app, enum mode mode, const char *text);
void app_show_view(struct app *app, int view);
/* Runs what a view or the panel has asked for. */
void app_grant_request(struct app *app);
/* Says what was read of a file of another program's format: at first, until a key is pressed. False: there is nothing
 * to say. */
bool app_say_card(struct app *app);
/* Asks which graph of the file to open, where it has several and there is a plan of one. */
bool app_ask_graph(struct app *app);
void app_use_theme(struct app *app, enum theme theme);

/* chrome: what stands around the views: tabs, status line, footer. */

/* Each draws into the one row of the current window. */
void chrome_tabs(struct frame *frame, const struct model *model, int view);
void chrome_status(struct frame *frame, const struct model *model);
/* The same as places in the row, for the mouse. Returns how many. */
struct footer_item { enum command_id command; int x, width; };
int chrome_footer_items(int width, unsigned context, struct footer_item item[COMMAND_COUNT]);
/* The keys of the contexts, most useful first, as many as fit; generated from the command table. */
void chrome_footer(struct frame *frame, unsigned context);

/* The view whose tab is at a column of the first row, or -1. */
int chrome_tab_at(int width, int view, int x);

/* Why a command can't run now, or NULL. Static text. */
const char *command_unavailable(const struct model *model, enum command_id command);
