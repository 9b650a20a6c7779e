/* commands.h: the command table. One row is the only place that knows a command: its keys, its footer
 * label, its sentence in `?` and in the man page, its word at the `:` prompt and in session files.
 *
 * Files in reading order, NAME for NAME.h and NAME.c; src/tidemark.h shows what they do:
 *     commands     the table of commands
 *     session      graph, scenario, history, worker
 *     glossary     the words of the screen
 *     worker       the thread that solves
 *     opened       the file that the graph was read from
 *     log          session files
 *     session_file  their lines, run
 *     export_line  an export's words
 *     scenario_lines  words that change the scenario
 *     config       the user's configuration file */
#pragma once

#include "solver/base/base.h"

/* The views: id, name of the file in ui/views and of its view_NAME, key. */
#define VIEW_TABLE(X) \
	X(STEP, step, 1) X(FIT, fit, 2) X(SEARCH, search, 3) X(RUNS, runs, 4) X(DEVICES, devices, 5) X(MAP, map, 6) \
	X(ORDER, order, 7) X(TENSORS, tensors, 8) X(GRAPH, graph, 9)
#define VIEW_KEY(id, name, digit) " " #digit

/* Where a command is valid: a set of views, or everywhere. While the challenge is played it has the keys of its view.
 */
#define X(id, name, digit) VIEW_BIT_##id,
enum view_bit { VIEW_TABLE(X) VIEWS };
#undef X
#define X(id, name, digit) IN_##id = 1 << VIEW_BIT_##id,
enum context { VIEW_TABLE(X) IN_PANEL = 1 << VIEWS, IN_CHALLENGE = 1 << (VIEWS + 1), IN_ANY = (1 << (VIEWS + 2)) - 1 };
#undef X

/* X(id, word, keys, footer, context, arguments, help)
 * keys: space-separated names as curses prints them ("q", "^L", "F1", "left"), "" for none; footer: "" keeps it out of
 * the footer. arguments: what follows the word at the prompt; rows with session words are run by session_command(). */
#define COMMANDS(X) \
	X(PEAK, "peak", "p", "most", IN_ANY & ~IN_PANEL, "", "go to the op that needs most; again: the next local peak") \
	X(PEAK_BACK, "peak-back", "P", "", IN_ANY & ~IN_PANEL, "", "go to the local peak before") \
	X(ACTIVATE, "activate", "Enter", "", IN_ANY, "", "open or apply what is under the cursor: a tensor's ops, a change, " \
		"a fold, a knob's value") \
	X(FIT, "fit", "f", "fit", IN_ANY & ~IN_PANEL, "[SIZE]", "plan what makes the step fit; SIZE: 24 is GiB, 4090 a " \
		"GPU, 2x4090 two; asked for where no limit is set; changes are ranked") \
	X(FIT_INTO, "fit-into", "F", "", IN_ANY & ~IN_PANEL, "", "fit into another size, or another GPU") \
	X(SEARCH, "search", "S", "search", IN_ANY & ~IN_PANEL, "[DEVICES]", "rank every configuration of the step on its " \
		"devices: 8xh100; asked for where there is one: degrees, ZeRO, microbatches, schedules, recomputation") \
	X(ZOOM_IN, "zoom-in", "+", "zoom", IN_STEP | IN_MAP | IN_DEVICES | IN_SEARCH, "", \
		"zoom into the order, or the schedule, around the cursor; of configurations list all that cut the model alike") \
	X(ZOOM_OUT, "zoom-out", "-", "", IN_STEP | IN_MAP | IN_DEVICES | IN_SEARCH, "", "zoom out") \
	X(ZOOM_IN_ADDRESS, "zoom-in-address", "}", "addresses", IN_MAP, "", "zoom into the addresses around the tensor " \
		"under the cursor") \
	X(ZOOM_OUT_ADDRESS, "zoom-out-address", "{", "", IN_MAP, "", "zoom out of the addresses") \
	X(BACKGROUND, "background", "z", "background", IN_STEP | IN_MAP | IN_TENSORS | IN_FIT, "", \
		"show or hide what is always there; of tensors those that share another one's memory, of changes what can't help") \
	X(SORT, "sort", "s", "sort", IN_TENSORS | IN_DEVICES | IN_RUNS, "", \
		"sort by the next column; in Runs also the plot's axis") \
	X(REVERSE, "reverse", "r", "", IN_TENSORS | IN_DEVICES, "", "reverse the sorting") \
	X(GROUP, "group", "o", "group", IN_TENSORS | IN_GRAPH | IN_PANEL, "", "count the tensors by kind, type of number, " \
		"module, operator and phase, in turn; Enter lists those of a row; fold or unfold all modules, or knobs") \
	X(SPAN, "span", "v", "span", IN_STEP | IN_MAP | IN_ORDER, "", "from this op to the cursor: what is made, freed and " \
		"left, in Step by group; again or Esc: none") \
	X(MARK, "mark", "space", "mark", IN_TENSORS | IN_RUNS, "", "mark the tensor under the cursor, or unmark it; the " \
		"last line has the sum of what is marked; of runs the one that others are laid beside") \
	X(RUN_OP, "step", ".", "step", IN_ORDER | IN_CHALLENGE, "", "run the next op; see what it allocates, what it frees " \
		"and why it comes next") \
	X(STEP_BACK, "step-back", ",", "", IN_ORDER | IN_CHALLENGE, "", "take the last op back") \
	X(EARLIER, "earlier", "K", "move", IN_ORDER, "", "move the op under the cursor one place earlier, and see the peak; " \
		"u takes it back") \
	X(LATER, "later", "J", "", IN_ORDER, "", "move the op under the cursor one place later, and see the peak") \
	X(CHALLENGE, "challenge", "y", "play", IN_ORDER | IN_STEP | IN_MAP, "", "order a small graph " \
		"yourself: arrows choose an op that can run, Enter runs it, u takes it back; in Map lay its tensors") \
	X(HINT, "hint", "i", "hint", IN_CHALLENGE | IN_STEP, "", "which op to run next in the challenge, and why; of a " \
		"lesson its answer") \
	X(SCORE, "score", "T", "score", IN_CHALLENGE, "", "hide the goal of the challenge, and show time and score; or back") \
	X(END, "end", "y", "end", IN_CHALLENGE, "", "end the challenge; the plan is shown again") \
	X(PART, "part", "]", "part", IN_DEVICES | IN_RUNS | IN_FIT | IN_STEP, "", "the next part of the view: of " \
		"Devices ranks, traffic, placements, device; of Runs side by side, plot, solver's log; of Fit changes, curve; of a " \
		"lesson the next row of its session") \
	X(PART_BACK, "part-back", "[", "", IN_DEVICES | IN_RUNS | IN_FIT | IN_STEP, "", "the part before") \
	X(RANK, "rank", ">", "rank", IN_ANY & ~IN_PANEL, "", "show the next rank of a pipeline, in every view") \
	X(RANK_BACK, "rank-back", "<", "", IN_ANY & ~IN_PANEL, "", "show the rank before; before the first the fullest") \
	X(CURVE, "curve", "", "", IN_ANY & ~IN_PANEL, "", "draw extra time over memory; arrows move the cap, Enter plans " \
		"it") \
	X(FIND, "find", "/", "find", IN_ANY, "TEXT", "find an op or tensor by a part of its name; in the panel a knob") \
	X(FIND_NEXT, "find-next", "n", "", IN_ANY, "", "the next match") \
	X(FIND_PREVIOUS, "find-previous", "N", "", IN_ANY, "", "the previous match") \
	X(FILTER, "filter", "\\", "filter", IN_TENSORS | IN_DEVICES | IN_SEARCH, "TEXT", "show only rows with all of these " \
		"words; ~word: its letters in order, /word/: a regular expression, kind:word (dtype, module, type, phase): of " \
		"that field, !word: not") \
	X(COLUMNS, "columns", "|", "columns", IN_TENSORS, "[LIST]", "choose the columns of the table; the choice is kept; " \
		"LIST: usual, or such as bytes,name,life") \
	X(PANEL, "panel", "c", "knobs", IN_ANY, "", "go to the control panel and back") \
	X(HIDE, "hide", "w", "", IN_ANY, "", "hide the control panel, or show it") \
	X(VIEW, "view", &(VIEW_TABLE(VIEW_KEY))[1], "", IN_ANY, "N", "go to view N") \
	X(NEXT_VIEW, "next-view", "Tab", "view", IN_ANY, "", "go to the next view") \
	X(PREVIOUS_VIEW, "previous-view", "S-Tab", "", IN_ANY, "", "go to the previous view") \
	X(UP, "up", "k up wheel-up", "", IN_ANY, "", "move up") \
	X(DOWN, "down", "j down wheel-down", "", IN_ANY, "", "move down") \
	X(CLICK, "click", "click", "", IN_ANY, "", "go to the tab, row, column or knob under the mouse, or run the " \
		"footer's command; a second click changes it") \
	X(LEFT, "left", "h left", "", IN_ANY, "", "move left: one op earlier, or a knob's value down") \
	X(RIGHT, "right", "l right", "", IN_ANY, "", "move right: one op later, or a knob's value up") \
	X(COLUMN_LEFT, "column-left", "( S-left", "", IN_STEP | IN_MAP | IN_ORDER | IN_DEVICES, "", \
		"move by 1/64 of what is shown to the left") \
	X(COLUMN_RIGHT, "column-right", ") S-right", "", IN_STEP | IN_MAP | IN_ORDER | IN_DEVICES, "", \
		"move by 1/64 of what is shown to the right") \
	X(PAGE_UP, "page-up", "PgUp ^B", "", IN_ANY, "", "move a page up or left") \
	X(PAGE_DOWN, "page-down", "PgDn ^F", "", IN_ANY, "", "move a page down or right") \
	X(FIRST, "first", "g Home", "", IN_ANY, "", "go to the first op or row") \
	X(LAST, "last", "G End", "", IN_ANY, "", "go to the last op or row") \
	X(UNDO, "undo", "u", "undo", IN_ANY, "", "take back the last change of the scenario") \
	X(REDO, "redo", "U ^R", "", IN_ANY, "", "make the change again") \
	X(NOTES, "notes", "", "", IN_ANY, "", "say what was assumed for this plan") \
	X(BASELINE, "baseline", "b", "base", IN_ANY, "", "make this plan the baseline that others are compared with") \
	X(AGAINST, "against", "", "", IN_ANY, "FILE [OPTION]...", "make another file's step the baseline, as it ran: a " \
		"memory snapshot over the plan of its step; options as of open") \
	X(RUNS, "runs", "B", "runs", IN_ANY, "", "go to all runs so far") \
	X(DEVICES_UP, "devices-up", "D", "devices", IN_ANY, "", "double the devices") \
	X(DEVICES_DOWN, "devices-down", "d", "", IN_ANY, "", "halve the devices") \
	X(EXPORT, "export", "x", "export", IN_ANY, "KIND FILE [OPTION]...", "write the plan or a drawing: native, json, " \
		"csv, dot, svg, ...; screen writes what you see now, as text or SVG; " \
		"options as on the command line: --view, --width, --no-title, --no-legend, --stage, --factors") \
	X(SET, "set", "", "", IN_ANY, "KNOB=VALUE ...", "turn a knob, or several in one step; @FILE: " \
		"those of a file, or of a launcher's") \
	X(RESET, "reset", "", "", IN_ANY, "[KNOB]", "set a knob, or all, back to its default") \
	X(PIN, "pin", "", "", IN_ANY, "...", "add a constraint: pin op A before B; pin tensor T at OFFSET; pin tensor A " \
		"behind B; ...") \
	X(UNPIN, "unpin", "", "", IN_ANY, "N", "remove constraint N") \
	X(GO, "go", "", "", IN_ANY, "NAME", "go to an op or tensor by name") \
	X(OPEN, "open", "", "", IN_ANY, "FILE [OPTION]...", "open another graph; the baseline stays, to be compared with; " \
		"--graph, --dim and --fusions behind it as on the command line") \
	X(RELOAD, "reload", "R", "", IN_ANY, "", "read the graph's file again, with the same knobs; the baseline stays, to " \
		"be compared with") \
	X(GRAPH, "graph", "", "", IN_ANY, "N", "open graph N of a file with several graphs, with the same knobs") \
	X(COMMAND_LINE, "command-line", "@", "", IN_ANY, "", "say the command line that plans, fits or searches what the " \
		"screen shows, and copy it (OSC 52)") \
	X(COPY, "copy", "Y", "", IN_ANY, "", "copy the name under the cursor, or a change's line of PyTorch, to the " \
		"terminal's clipboard (OSC 52)") \
	X(EDIT, "edit", "e", "", IN_ANY & ~IN_PANEL, "", "open the op's place in the program's source with $VISUAL or " \
		"$EDITOR") \
	X(SHELL, "shell", "!", "", IN_ANY & ~IN_PANEL, "COMMAND", "run a command of the shell: \"$1\" is the op under the " \
		"cursor, \"$2\" the tensor, \"$3\" the op's place in the program; bind KEY shell COMMAND in the configuration " \
		"file gives it a key") \
	X(SAVE, "save", "", "", IN_ANY, "FILE", "save the session so that it can be replayed") \
	X(PROMPT, "prompt", ":", "prompt", IN_ANY, "", "type a command") \
	X(ASCII, "ascii", "", "", IN_ANY, "", "switch between UTF-8 and ASCII drawing") \
	X(MOUSE, "mouse", "m", "", IN_ANY, "", "leave the mouse to the terminal, to select text, and back") \
	X(THEME, "theme", "", "", IN_ANY, "", "switch between the themes and monochrome") \
	X(REDRAW, "redraw", "^L", "", IN_ANY, "", "draw the screen anew") \
	X(SUSPEND, "suspend", "^Z", "", IN_ANY, "", "suspend; fg comes back") \
	X(CANCEL, "cancel", "Esc ^C", "", IN_ANY, "", "stop solving and keep the best plan so far, or close what is open") \
	X(CLOSE, "close", "q", "", IN_ANY, "", "leave the overlay or the panel; at the top leave the program") \
	X(QUIT, "quit", "Q", "quit", IN_ANY, "", "leave the program") \
	X(HELP, "help", "? F1", "help", IN_ANY, "", "list the commands that are valid here; type to narrow, Enter runs one")

#define X(id, word, keys, footer, context, arguments, help) COMMAND_##id,
enum command_id { COMMANDS(X) COMMAND_COUNT };
#undef X

struct command {
	const char *word, *keys, *footer, *arguments, *help;
	unsigned context;
};
extern const struct command commands[COMMAND_COUNT];

/* The command of that word (of the line's first word), or COMMAND_COUNT. */
enum command_id command_find(const char *line);
/* BAD_INPUT: there is no such command; the nearest is named. */
enum status command_unknown(const char *line, struct error *error);
/* What follows the line's first word, without blanks in front. */
const char *command_arguments(const char *line);
/* The command that a key runs in one of the contexts, or COMMAND_COUNT. */
enum command_id command_of_key(const char *key, unsigned context);
/* The first key of a command, into text ("" where it has none). Returns text. */
char *command_key(enum command_id command, char text[16]);

/* export_line: the words of an export at the prompt and in session files: KIND FILE, and options as on the command
 * line. */

struct export_line {
	char kind[64];
	char path[4096];
	char view[1024], stage[16], width[16]; /* "": not given */
	bool no_title, no_legend, factors;
	bool force;                 /* a "!" after the kind: a file that exists is replaced */
};

/* Reads what follows the word `export`. The file's name may stand in double quotes and has to when it contains " --".
 * BAD_INPUT says what is missing or wrong; the kind is not looked up. */
enum status export_line_parse(const char *argument, struct export_line *line, struct error *error);
/* The whole command, as export_line_parse() reads it back, without the "!". Returns text. */
char *export_line_text(const struct export_line *line, char *text, size_t size);
