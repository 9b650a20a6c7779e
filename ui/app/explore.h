/* explore.h: the interactive explorer. */
#pragma once

#include "app.h"

struct explore_options {
	bool ascii;         /* draw with ASCII whatever the locale says */
	bool mono;          /* no colours, as NO_COLOR in the environment */
	bool no_mouse;      /* leave the mouse to the terminal */
	const char *theme;  /* "ansi", "dark", "light", "mono", or NULL */
	const char *script; /* commands to run at once, one a line, or NULL */
	const struct user_config *config; /* the user's keys, or NULL */
};

/* Standard output is a terminal that can place its cursor (TERM=dumb can't). */
bool explore_possible(void);

/* Runs until the user leaves. Returns the exit status: 0, 2 when there is no usable terminal (the reason on standard
 * error), 4 when out of memory, 128 + n after signal n. The session stays the caller's. */
int explore(struct session *session, const struct explore_options *options);

/* key_script: keys written as text: "2 down down : set space tp=4 Enter". */

struct key_script {
	const char *at;
	const char *end; /* of the word that is being typed, or NULL */
};

/* The next key of a script, false at its end. Words stand between blanks: a key's name as the command table writes it
 * ("q",
 * "^L", "PgUp", "space") is that key; any other word is typed character by character. "click@X,Y" is a click
 * on a cell, counted from 0. */
bool key_script_next(struct key_script *script, struct key_press *key);

/* screenshot: the explorer's screen as a file, without a terminal. */

/* `tidemark export --screen ...`: argv from the subcommand's name on. Returns an exit status. */
int screenshot_command(int argc, char **argv);
/* True when a command line of `export` asks for the screen. */
bool screenshot_wanted(int argc, char **argv);

/* Presses the keys of a script (explore.h) one by one; after each the session's plan is waited for, so that equal
 * scripts give equal screens. */
void screenshot_keys(struct app *app, const char *keys);
