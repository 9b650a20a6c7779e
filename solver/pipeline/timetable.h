/* timetable.h: a played pipeline schedule with bytes: what every rank does when, what it waits for and what it holds
 * meanwhile.
 *
 * A rank holds its fixed bytes through the whole step, the working bytes while it computes, and a piece's kept bytes
 * for every microbatch from the beginning of its forward slot to the end of its backward slot (Narayanan et al., arXiv
 * 2104.04473, section 2.2: the activations in flight). Where the backward pass is split, that is the slot of the
 * input's gradients; what gradients of weights need as well stays until these are done, and so do the gradients that
 * they are made of, from the input's slot on. */
#pragma once

#include "pipeline.h"

/* What is on the ranks. */
struct timetable_bytes {
	const int64_t *fixed;        /* [ranks] parameters, states, what is reserved */
	const int64_t *working;      /* [ranks] short-lived tensors of one slot */
	const int64_t *kept;         /* [ranks * chunks] of a piece, for one microbatch from forward to backward, all of it */
	const int64_t *weight;       /* [ranks * chunks] of these, what gradients of weights need; NULL: all */
	const int64_t *between;      /* [ranks * chunks] gradients between the two parts of the backward pass; NULL: none */
};

struct timetable {
	enum schedule schedule;
	uint32_t ranks, chunks, microbatches;
	bool folded, split;
	uint32_t slots;              /* of one rank */
	struct pipeline_slot *slot;  /* [ranks * slots], rank by rank, in order of time */
	int64_t *send;               /* [ranks * chunks] as in struct pipeline */
	bool blocking;
	int64_t pipeline_time;       /* picoseconds until the last rank is done */
	int64_t time;                /* with what follows on all ranks: gradients that nothing hides, the update */
	int64_t *fixed;              /* [ranks] */
	int64_t *bytes;              /* [ranks * slots] while a slot runs */
	int64_t *after;              /* [ranks * slots] when it is over, until the next begins */
	int64_t *busy;               /* [ranks] picoseconds of computing */
	uint32_t *peak;              /* [ranks] the first slot with the most bytes */
	uint32_t worst;              /* the rank with the most bytes */
	struct arena arena;
};

/* Plays the schedule. after: picoseconds that follow the pipeline. BAD_INPUT as pipeline_run(), NO_MEMORY. O(slots). */
enum status timetable_build(const struct pipeline *pipeline, const struct timetable_bytes *bytes, int64_t after,
	struct timetable *timetable, struct error *error);
void timetable_free(struct timetable *timetable);
#define timetable_drop timetable_free

static inline const struct pipeline_slot *timetable_slot(const struct timetable *timetable, uint32_t rank, uint32_t i)
{
	return &timetable->slot[(size_t)rank * timetable->slots + i];
}

/* Adds bytes to a rank: fixed ones, and others while it computes. O(slots). */
void timetable_add(struct timetable *timetable, uint32_t rank, int64_t fixed, int64_t working);

/* The most bytes of a rank. */
int64_t timetable_peak(const struct timetable *timetable, uint32_t rank);
/* The last slot of a rank that begins at or before a time; 0 where none does. O(log slots). */
uint32_t timetable_at(const struct timetable *timetable, uint32_t rank, int64_t time);
/* Picoseconds of a rank's passes within [from, to). O(slots within). */
void timetable_shares(
	const struct timetable *timetable, uint32_t rank, int64_t from, int64_t to, int64_t share[PASS_COUNT]);
/* The most bytes that a rank holds within [from, to). O(slots within). */
int64_t timetable_most(const struct timetable *timetable, uint32_t rank, int64_t from, int64_t to);
/* Thousandths of the pipeline's time in which ranks wait, all ranks together. */
uint32_t timetable_bubble(const struct timetable *timetable);

/* Why a slot begins no earlier. */
enum slot_wait {
	WAIT_START,
	WAIT_BUSY,
	WAIT_INPUT
}; /* the step begins; its rank does something else; its input comes then */
struct slot_reason {
	enum slot_wait wait;
	uint32_t rank, slot;         /* the slot that is waited for, unless WAIT_START */
	int64_t ready;               /* when what is waited for is there, sent where it has to be */
};
/* Of several that are there at the same time the input. O(slots). */
struct slot_reason timetable_reason(const struct timetable *timetable, uint32_t rank, uint32_t slot);
