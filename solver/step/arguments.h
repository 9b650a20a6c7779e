/* arguments.h: the arguments that a captured op carries for those who run it, when its tensors get other names. */
#ifndef TIDEMARK_STEP_ARGUMENTS_H
#define TIDEMARK_STEP_ARGUMENTS_H

#include "solver/graph/graph.h"

/* The new name of a tensor of the graph: read by the op or, if result is set, written by it. NULL: the argument is
 * left out (null), the result is dropped. */
struct renaming {
	const char *(*name)(const void *context, uint32_t tensor, bool result);
	const void *context;
};

/* An op's extra members with every {"t": name} in `args` and `kwargs` and every name in `result` replaced (man 5 tidemark); others
 * stay as they are. Free with mem_free(); NULL when out of memory. O(length). */
char *arguments_rename(const char *extra, const struct graph *graph, const struct renaming *renaming);

/* Where the item-th of an op's positional arguments begins in its extra members (NULL is fine); NULL where there is none. O(length). */
const char *arguments_item(const char *extra, int item);

/* The tensors of the item-th positional argument, where that is a list of nothing but tensors of the graph: how many, the first `room` of them in
 * tensor[]. 0 for everything else. O(length). */
uint32_t arguments_tensors(const char *extra, const struct graph *graph, int item, uint32_t *tensor, uint32_t room);

#endif
