/* fold_steps.h: what the steps of finding a segment share. Not for its users. */
#pragma once

#include "fold.h"

/* An argument: op reads a tensor in this place. */
struct fold_reader { uint32_t op, place; };

struct fold_run {
	const struct graph *graph;
	uint64_t *label, *colour; /* [ops] of the op; of its surroundings as well */
	uint32_t *reader_start;   /* [tensors + 1] */
	struct fold_reader *reader;
	uint32_t *place; /* [tensors] among the results of its writer */
	uint32_t *level; /* [ops] longest way from a source */
	bool *used;      /* [ops] of a segment found before */
	uint32_t least;
	struct arena arena;
};

enum status fold_run_begin(struct fold_run *run, fold_label *label, void *context);

/* A shift: every op's image is the equal op one copy further on. */
struct fold_shift {
	uint32_t *image, *origin; /* [ops] NONE: none */
	uint32_t mapped;
};

/* The shift that maps the most ops, of those that begin with two ops of equal surroundings. mapped 0: none. */
enum status fold_shift_find(const struct fold_run *run, struct fold_shift *shift, struct arena *arena);

/* Ops that a shift maps to each other, in a row; and which copy its first one belongs to. */
struct fold_orbits {
	uint32_t orbits, *start, *item; /* orbit -> ops, item[start[orbit]] .. */
	uint32_t *orbit, *index; /* [ops] NONE: none */
	int32_t *offset;         /* [orbits] copy of the first op */
	bool *out;               /* [orbits] not part of the segment after all */
	int32_t low, high;       /* copies from low to high have an op of every orbit that isn't out */
};

/* Sets offsets: cuts every ring of orbits where the fewest tensors cross, and puts the others beside their neighbours.
 */
enum status fold_place(const struct fold_run *run, struct fold_orbits *orbits, struct arena *arena);
/* Leaves copies and orbits that are equal indeed: see fold_find(). high < low: none. */
enum status fold_verify(const struct fold_run *run, struct fold_orbits *orbits, struct arena *arena);
