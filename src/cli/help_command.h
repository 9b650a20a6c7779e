/* help_command.h: `tidemark --help`, `tidemark help WORD`, and what is said of a command that there isn't. */
#pragma once

#include <stdbool.h>

/* What the program does, its commands, and the explorer's options. */
void help_print(void);
/* argv from "help" on: a command's --help; what a knob, a device, a value, an option, a kind or view of figures, a
 * key's command or a word of the screen means. An exit status. */
int help_command(int argc, char **argv);
/* Says that there is no such command, and which is nearest. The exit status. */
int help_no_command(const char *word);
/* A single word that is no file, no option and looks like a command; help: --help is asked of it, so that no file is
 * meant. */
bool help_misspelt(const char *word, bool help);
