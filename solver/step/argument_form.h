/* argument_form.h: arguments of new ops, from a form. */
#pragma once

#include "solver/graph/graph.h"

/* What the letters of a form stand for: the i-th of `count` tensors of a letter, NULL where there is none. lists: the
 * op works on lists. */
struct argument_names {
	const char *(*name)(const void *context, char letter, uint32_t i);
	const void *context;
	bool lists;
	uint32_t count;
};

/* The arguments that a form says: positional ones, '|', then 'KEYWORD':VALUE, all with commas between. A value is "@x",
 * the tensor of the letter x, with lists the list of its tensors (of one alone in capitals); "#v", the number v, with
 * lists as often as there are tensors; "[]"; true, false, or a number. Names are lent, other texts are in the arena.
 * NULL when out of memory. */
const struct arguments *arguments_make(struct arena *arena, const char *form, const struct argument_names *names);

/* The same with results: a name, a list of names, or nothing where there are none. NULL when out of memory. */
const struct arguments *arguments_with_result(
	struct arena *arena, const struct arguments *arguments, const char *const *name, uint32_t names, bool list);
