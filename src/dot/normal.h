/* normal.h: DOT text in the form that libcgraph reads safely.
 *
 * libcgraph 2.42 gives up in the middle, or needs hours or gigabytes, on some harmless texts (see
 * normal.c). Such texts are rewritten, or refused with the line, before it sees them. */
#pragma once

#include "solver/base/names.h"

struct normal {
	char *text;             /* terminated; a line is still the same line, except after a divided chain */
	size_t length;
	struct names line;      /* name as written -> line of its first mention */
	struct arena arena;     /* of the names */
};

/* source: size bytes and a terminating NUL. BAD_INPUT with the line, or NO_MEMORY. O(size). Free with
 * normal_free() in any case. */
enum status normal_form(const char *source, size_t size, struct normal *normal, struct error *error);
void normal_free(struct normal *normal);

/* The line on which a node is first mentioned, 0 where it is not known. */
unsigned normal_line(const struct normal *normal, const char *name);
