/* help.h: what --help says beside a command's options: knobs, words of session files, an example; and `tidemark help
 * KNOB`. */
#pragma once

#include <stdbool.h>
#include <stdio.h>

#include "subcommands.h"

/* All knobs, each with what it is, its values and the one that it has where it isn't set. */
void help_print_knobs(void);
/* One knob, with a line on each of its words. */
void help_print_knob(int knob);
/* Every figure of a device preset, with where it comes from. False where the name is none's. */
bool help_print_device(const char *name);
/* What may follow --pin. */
void help_print_pins(void);
/* A table of words, each with a line. */
void help_print_words(const char *title, const char *const *names, const char *const *helps, int count);
/* The words of a session file. */
void help_print_session_words(void);
/* One line to try, of a command. */
void help_print_example(enum subcommand_id command);

/* help_command: `tidemark --help`, `tidemark help WORD`, and what is said of a command that there isn't. */

/* What the program does, its commands, and the explorer's options. */
void help_print(void);
/* argv from "help" on: a command's --help; what a knob, a device, a value, an option, a kind or view of figures, a
 * key's command or a word of the screen means. An exit status. */
int help_command(int argc, char **argv);
/* Says that there is no such command, and which is nearest. The exit status. */
int help_no_command(const char *word);
/* A single word that isn't a file, no option and looks like a command; help: --help is asked of it, so that no file is
 * meant. */
bool help_misspelt(const char *word, bool help);

/* tables: prints the tables of knobs, commands, pins, exports and subcommands for the man page. */

/* mdoc(7) list items of one table: "knobs", "commands", "pins", "exports" or "subcommands". False for another name. */
bool tables_write(const char *table, FILE *stream);
