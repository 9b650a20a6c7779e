/* child.h: runs a program with limits: bytes in, bytes out, stopped by a clock or a flag. */
#pragma once

#include "solver/base/base.h"

struct child_limits {
	int64_t milliseconds;      /* of wall time; 0: none */
	size_t output;             /* most bytes on its standard output; 0: 1 GiB */
	int file;                  /* a descriptor: its standard input, in place of input; 0: none */
	const atomic_bool *cancel; /* polled every 20 ms; may be NULL */
};

struct child_result {
	char *output; /* length bytes and a NUL; free with mem_free() */
	size_t length;
	int code;          /* exit status; 128 + signal where one ended it */
	bool stayed;       /* it closed its output and didn't end: we ended it */
	char message[500]; /* the last bytes of its standard error */
};

/* Runs arguments[0], looked for in PATH unless it holds a slash, with input as its standard input.
 * OK when it ran to its end, whatever its exit status. LIMIT after the time, too much output or 64 MiB of warnings,
 * CANCELLED after the flag (its whole process group is killed then), LIMIT, too, when it can't be started; NO_MEMORY.
 * A signal that ends us ends its process group; where we are killed, Linux ends the program itself. Safe beside
 * threads.
 * program: the name of one of ours, or NULL. Where it ends with another status than 0, it has said "PROGRAM: -:LINE:
 * text" or "PROGRAM: -: text"; libraries may have spoken before. BAD_INPUT where that is 3, else LIMIT. */
enum status child_run(const char *program, const char *const *arguments, const char *input, size_t size,
	const struct child_limits *limits, struct child_result *result, struct error *error);
