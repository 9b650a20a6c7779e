/* words.h: a text put together piece by piece in the caller's room; what has no room is cut off. */
#pragma once

#include <stddef.h>
#include <stdio.h>

/* Begin with { text, size, 0 }, size at least 1. */
struct words {
	char *text;
	size_t size, at;
};

void words_add(struct words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line of help: head, then text from a column on, broken at blanks into as many lines as 80 columns take. A head that
 * is longer has its line alone. */
void words_print(FILE *stream, const char *head, int column, const char *text);
/* A word for a shell's command line, in quotes where it has more than letters, digits and ./:=+@%,_- in it; with
 * escapes, as $'...', where it isn't clean (safe_text.h). At most 3 + 4 characters a byte. */
void words_add_quoted(struct words *words, const char *word);
/* Of a place in a program's source, "/home/me/model.py:6 in forward", the part behind the folders: a pointer into it.
 */
const char *words_of_place(const char *place);
