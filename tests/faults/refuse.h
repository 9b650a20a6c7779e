/* refuse.h: what tests/faults/inject tells the library in the program that it watches, and what that tells it. In a
 * file that both map. */
#pragma once

#include <stdatomic.h>

/* The names of the shared file and of the library, in the environment. */
#define REFUSE_STATE "REFUSE_STATE"

struct refuse_state {
	long at;                    /* this allocation fails, the first is 1; 0: none */
	long last;                  /* and all up to this one */
	atomic_long allocations;    /* so far, in the program, its libraries and the programs that it runs */
	atomic_long first;          /* the process that is watched; its children come later */
	atomic_long live; /* blocks that the watched program's own code, no library's, had not freed when it ended; -1: it
						 did not come to its end */
	char trace;                 /* print where the refused allocation is */
};
