/* collective.h: what an op that moves data between devices does, and where a tensor lies on their grid, in words that a
 * graph carries by itself. Files say the same by members of a record: see tidemark(5) and src/read/record.h. */
#pragma once

#include "solver/base/base.h"

#define MESH_AXES 4                 /* at most, of the grid of devices */

/* Changes of placement on one axis, and a send. Links are asked for the time of these; SLICE is local. */
#define COLLECTIVES(X) \
	X(ALL_GATHER, "all_gather") X(REDUCE_SCATTER, "reduce_scatter") X(ALL_REDUCE, "all_reduce") X(ALL_TO_ALL, \
		"all_to_all") \
	X(SEND, "send") X(SLICE, "slice")
/* What else an op may be that begins with "comm.": of a whole tensor one device keeps a summand and the others zeros;
 * the other end of a send; a word of somebody else. */
#define COLLECTIVES_MORE(X) X(KEEP_ONE, "keep_one") X(RECEIVE, "recv") X(OTHER, "")
#define X(id, name) COLLECTIVE_##id,
enum collective_kind { COLLECTIVES(X) COLLECTIVES_MORE(X) COLLECTIVE_KINDS, COLLECTIVE_COUNT = COLLECTIVE_KEEP_ONE };
#undef X
extern const char *const collective_names[COLLECTIVE_KINDS];
extern const char *const collective_types[COLLECTIVE_KINDS];   /* of ops: "comm.all_gather" */

/* Where a tensor lies on one axis: cut along a dim; or whole, or as partial sums. */
struct axis_place {
	int8_t dim;                 /* PLACE_WHOLE, PLACE_PARTIAL, or the dim */
	int64_t blocks;             /* > 1: each of so many blocks of the dim is cut alike */
};
#define PLACE_WHOLE (-1)            /* R */
#define PLACE_PARTIAL (-2)          /* P */
/* On every axis; no axes: nobody says. */
struct axis_places {
	uint32_t axes;
	struct axis_place on[MESH_AXES];
};

/* An op of a type "comm.KIND": between devices of a mesh axis, or between pipeline ranks. */
struct collective {
	enum collective_kind kind;  /* graph_build() takes it from the op's type */
	char axis[8];               /* "dp"; "": nobody says */
	uint32_t size;              /* devices that take part; 0: nobody says */
	uint32_t group;             /* the lowest of them, or NONE */
	uint32_t rank;              /* between pipeline ranks: the other end, or of a sum the rank itself; else NONE */
	int64_t moved;              /* bytes that this device sends; < 0: nobody says */
	struct axis_places from, to;       /* the tensor before and behind it */
};

/* One that says nothing. */
static inline struct collective collective_unsaid(void)
{
	return (struct collective){ .kind = COLLECTIVE_OTHER, .group = NONE, .rank = NONE, .moved = -1 };
}

/* The kind of an op's type; COLLECTIVE_KINDS where it doesn't begin with "comm.". O(length). */
enum collective_kind collective_of_type(const char *type);

/* "R", "P", "S(1)", or "S(1:3)" for each of 3 blocks. Returns text. */
char *axis_place_text(struct axis_place place, char *text, size_t size);
static inline bool axis_places_equal(const struct axis_places *a, const struct axis_places *b)
{
	bool equal = a->axes == b->axes;
	for (uint32_t i = 0; i < a->axes && equal; i++)
		equal = a->on[i].dim == b->on[i].dim && (a->on[i].dim < 0 || a->on[i].blocks == b->on[i].blocks);
	return equal;
}
