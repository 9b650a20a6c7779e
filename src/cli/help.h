/* help.h: what --help says beside a command's options: knobs, words of session files, an example; and `tidemark help
 * KNOB`. */
#pragma once

#include "src/scenario/knobs.h"
#include "subcommands.h"

/* All knobs, each with what it is, its values and the one that it has where it isn't set. */
void help_print_knobs(void);
/* One knob, with a line on each of its words. */
void help_print_knob(enum knob_id knob);
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
