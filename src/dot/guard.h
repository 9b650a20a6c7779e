/* guard.h: limits on this process and a decent end when one is hit.
 *
 * libcgraph and libgvc crash where an allocation fails, and can't be stopped from inside. tidemark-dot draws
 * one graph and ends, so the end of the process is the way out: guard_end() from callbacks, a signal
 * handler for crashes and for the processor time limit. */
#pragma once

#include "solver/base/base.h"

enum { EXIT_FINE = 0, EXIT_USAGE = 2, EXIT_INPUT = 3, EXIT_LIMIT = 4 };

struct limits {
	int64_t memory;  /* bytes of address space; 0: none */
	int64_t seconds; /* of processor time; 0: none */
};

/* Sets the limits and the handlers. name is used in messages. */
void guard_start(const struct limits *limits, const char *name);
/* From here on the end is wanted. Before, an exit() inside a library is a failure like a crash. */
void guard_expect_end(void);
/* Ends this process when its parent ends (Linux). */
void guard_with_parent(void);
/* Prints "tidemark-dot: NAME: text" and ends the process without running exit handlers. */
_Noreturn void guard_end(int status, const char *text);
