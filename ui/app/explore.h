/* explore.h: the interactive explorer. */
#pragma once

#include "src/session/config.h"
#include "src/session/session.h"

struct explore_options {
	bool ascii;              /* draw with ASCII whatever the locale says */
	bool mono;               /* no colours, as NO_COLOR in the environment */
	bool no_mouse;           /* leave the mouse to the terminal */
	const char *theme;       /* "ansi", "dark", "light", "mono", or NULL */
	const char *script;      /* commands to run at once, one a line, or NULL */
	const struct user_config *config; /* the user's keys, or NULL */
};

/* Standard output is a terminal that can place its cursor (TERM=dumb can't). */
bool explore_possible(void);

/* Runs until the user leaves. Returns the exit status: 0, 2 when there is no usable terminal (the reason on standard
 * error), 4 when out of memory, 128 + n after signal n. The session stays the caller's. */
int explore(struct session *session, const struct explore_options *options);
