/* arguments.h: what a captured op is called with and what its results are called, for those who run it. Files say it by
 * the members args, kwargs and result: see tidemark(5) and src/read/record.h. */
#pragma once

#include "solver/base/base.h"

struct graph;

enum argument_kind {
	ARGUMENT_NOTHING,
	ARGUMENT_FALSE,
	ARGUMENT_TRUE,
	ARGUMENT_NUMBER,
	ARGUMENT_TEXT,
	ARGUMENT_TENSOR,
	ARGUMENT_LIST,
	ARGUMENT_MAP
};

/* Values stand one behind the other; those in a list or map follow it. */
struct argument {
	const char *key;       /* in a map; else NULL */
	const char *text;      /* a text, a tensor's name, a number's digits; else NULL */
	uint32_t within;       /* of a list or map: how many values are in it, at any depth */
	uint8_t kind;          /* enum argument_kind */
};

/* Of the members that an op has: "args", "kwargs" and "result" are their keys. */
struct arguments {
	const struct argument *value;
	uint32_t values;
};

/* A copy with all its texts; NULL when out of memory. O(length). */
const struct arguments *arguments_copy(struct arena *arena, const struct arguments *arguments);

/* The new name of a tensor of the graph: read by the op or, if result is set, written by it. NULL: the argument is
 * left out (null), the result is dropped. */
struct renaming {
	const char *(*name)(const void *context, uint32_t tensor, bool result);
	const void *context;
};

/* The same with other names for tensors of the graph. Texts are lent: those of the arguments and those that renaming
 * gives. NULL when out of memory. O(length). */
const struct arguments *arguments_rename(
	struct arena *arena, const struct arguments *arguments, const struct graph *graph, const struct renaming *renaming);

/* The item-th positional argument; NULL where there is none. arguments may be NULL. O(length). */
const struct argument *arguments_item(const struct arguments *arguments, uint32_t item);
/* The integer that a value is; false where it is none. value may be NULL. */
bool argument_integer(const struct argument *value, int64_t *number);

/* The tensors of the item-th positional argument, where that is a list of nothing but tensors of the graph: how many,
 * the first `room` of them in tensor[]. 0 for everything else. O(length). */
uint32_t arguments_tensors(
	const struct arguments *arguments, const struct graph *graph, uint32_t item, uint32_t *tensor, uint32_t room);
