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

/* The tensor whose gradient a captured tensor says it is (its member `gradient_of`), or NONE. O(length). */
uint32_t arguments_gradient_of(const struct graph *graph, uint32_t tensor);

/* What the letters of a form stand for: the i-th of `count` tensors of a letter, NULL where there is none. lists: the op works on lists. */
struct argument_names {
	const char *(*name)(const void *context, char letter, uint32_t i);
	const void *context;
	bool lists;
	uint32_t count;
};

/* The members `args` and `kwargs` that a form says: positional arguments, '|', keywords (' for "). "@x" is the tensor of the letter x, with lists the list
 * of its tensors (of one alone in capitals), "#v " the number v, with lists as often as there are tensors. Free with mem_free(); NULL when out of memory. */
char *arguments_make(const char *form, const struct argument_names *names);

/* The members with `result`: the name, a list of names, or null where there are none. Takes the members (NULL is fine); as above. */
char *arguments_with_result(char *members, const char *const *name, uint32_t names, bool list);

#endif
