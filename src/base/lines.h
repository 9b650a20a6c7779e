/* lines.h: short text files that users write, line by line: options, settings, tables of measurements. */
#pragma once

#include <stdio.h>

#include "solver/base/base.h"

#define LINE_MOST 4096 /* bytes of a line */

struct lines {
	FILE *file;
	unsigned number;          /* of the line at hand, from 1 */
	size_t bytes;             /* read so far */
	char text[LINE_MOST + 2]; /* without its newline */
};

/* BAD_INPUT where there is no such file, it is a directory, or it can't be read; NO_MEMORY. */
enum status lines_open(struct lines *lines, const char *path, struct error *error);
/* 1: a line; 0: the end; -1: the line is too long (all of it is left out), holds a byte 0, or can't be read: error says
 * so with its number, and the next call goes on behind it. A file of more than 16 MiB ends there, with -1 once. */
int lines_next(struct lines *lines, struct error *error);
void lines_close(struct lines *lines);
