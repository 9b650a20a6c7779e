/* config.h: the user's file $XDG_CONFIG_HOME/tidemark/config (or ~/.config): defaults of knobs, keys and colours.
 *
 *   # a comment
 *   set KNOB VALUE           a knob's default, or an option of the explorer: theme, glyphs, mouse
 *   bind KEY COMMAND [ARGUMENT...]   KEY as `?` names it; COMMAND a word of the command table, ARGUMENTs as at the
 * prompt: bind w shell grep -n "$1" notes.txt color ROLE FG [BG] [ATTRIBUTE...]
 *
 * What is unknown is warned of, with file and line, and left out: it never stops the program. */
#pragma once

#include "commands.h"
#include "src/scenario/scenario.h"

#define CONFIG_BINDINGS 100
#define CONFIG_COLOURS 60

struct key_binding { char key[16]; enum command_id command; char arguments[300]; };
struct colour { char role[24], foreground[16], background[16], attributes[40]; };

struct user_config {
	struct scenario scenario;  /* defaults, as the file has them */
	char theme[16], glyphs[8]; /* "" where the file doesn't say */
	bool no_mouse;
	struct key_binding binding[CONFIG_BINDINGS];
	int bindings;
	struct colour colour[CONFIG_COLOURS];
	int colours;
};

/* Defaults, then the file where there is one. Warnings on standard error. scenario_done(&config->scenario) frees. */
void config_load(struct user_config *config);
/* One file, for tests: returns the number of warnings. */
int config_read(struct user_config *config, const char *path);
