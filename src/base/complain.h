/* complain.h: exit statuses, and messages on standard error.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     complain     exit statuses and messages
 *     words        a text put together piece by piece; sizes for people; the nearest names
 *     json         JSON, member by member
 *     files        paths: what a file may name, where state is kept, what is below a folder
 *     streams      into memory, and compressed into a file
 *     lines        short text files, line by line
 *     source       a file as a stream of bytes, plain or gzip
 *     output       a file is written whole or not at all
 *     picture_file whether a picture is not cut short
 *     dot_text     a text in DOT
 *     safe_text    texts of any origin, safe to print
 *     child        runs a program with limits
 *     clock        seconds
 *     background   one call on a thread of its own */
#pragma once

#include "solver/base/base.h"

/* Exit statuses (tidemark(1)). Signals end with 128 and their number. */
enum {
	EXIT_FINE = 0,
	EXIT_CONSTRAINT = 1, /* the answer is no: the plan is above the memory limit, nothing fits, scenarios are missing;
							of `check`: the file says what is not true */
	EXIT_USAGE = 2,
	EXIT_INPUT = 3, /* not a file of this kind, or one that can't be read */
	EXIT_LIMIT = 4, /* time, memory or disk ended before there was a result */
	EXIT_ABOVE = 5, /* `check`: all that the file says is true, but its plan is above the memory limit */
	EXIT_PARTLY = 6 /* `check`: nothing is wrong in what can be looked at, but the file says that it was cut short, so
					   not all can */
};

/* What goes to standard error is made clean: names in it come from files. */

/* Prints `tidemark: text`. */
void complain_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Prints `tidemark: FILE:LINE: text` on standard error (file may be NULL, line 0) and returns the exit status that it
 * stands for. What seems wrong with a file after an allocation was refused may be its consequence: that counts as out
 * of memory. */
int complain(const char *file, const struct error *error, enum status status);
/* Prints `tidemark: text` and the hint to --help; returns EXIT_USAGE. */
int usage_error(const char *command, const char *format, ...) __attribute__((format(printf, 2, 3)));
