/* rules_file.h: a user's operator rules, in a text file. */
#pragma once

#include "solver/rules/rules.h"

/* The built-in rules and those of a file ("-": standard input); path NULL: the built-in ones alone. NULL with *error,
 * which names the file. The format stands at the head of rules_file.c. */
struct rules *rules_load(const char *path, struct error *error);
/* Adds the rules of a text to a set. BAD_INPUT with the line, NO_MEMORY; rules of the lines before stay in the set. */
enum status rules_read_text(struct rules *rules, const char *text, struct error *error);
