/* rules_file.h: a user's operator rules, in a text file. */
#ifndef TIDEMARK_READ_RULES_FILE_H
#define TIDEMARK_READ_RULES_FILE_H

#include "solver/rules/rules.h"

/* Adds the rules of a file ("-": standard input) to a set; the format stands at the head of rules_file.c.
 * BAD_INPUT with the line, NO_MEMORY; rules of the lines before stay in the set. */
enum status rules_read_file(struct rules *rules, const char *path, struct error *error);
/* The built-in rules and those of a file; path NULL: the built-in ones alone. NULL with *status, and *error, which names the file. */
struct rules *rules_load(const char *path, struct error *error);
/* The same from text. */
enum status rules_read_text(struct rules *rules, const char *text, struct error *error);

#endif
