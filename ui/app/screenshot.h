/* screenshot.h: the explorer's screen as a file, without a terminal. */
#pragma once

#include "app.h"

/* `tidemark export --screen ...`: argv from the subcommand's name on. Returns an exit status. */
int screenshot_command(int argc, char **argv);
/* True when a command line of `export` asks for the screen. */
bool screenshot_wanted(int argc, char **argv);

/* Presses the keys of a script (key_script.h) one by one; after each the session's plan is waited for, so that equal
 * scripts give equal screens. */
void screenshot_keys(struct app *app, const char *keys);
