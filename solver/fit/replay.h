/* replay.h: a choice of states played out along an order of the step's ops: what runs when, the memory at every moment,
 * the extra time. */
#pragma once

#include "base_order.h"

struct fit_instance { int64_t bytes; uint32_t first, last; };

struct fit_replay {
	const struct fit_step *step;
	/* results of the last fit_play() */
	bool valid;                /* every op that runs again finds what it read at first */
	int64_t peak;              /* bytes, persistent ones included */
	int64_t extra;             /* picoseconds of ops that run again */
	int64_t
		*profile; /* [ops] by position of the base order: most bytes while the op, or what runs again before it, runs */
	uint32_t peak_position;    /* the first with the peak */
	uint32_t length;           /* of the sequence: of the base's active ops and reruns, or of all */
	uint32_t *run;             /* [length] ops in the order they run, 2 * op + 1: again */
	uint64_t *
		stays; /* [length] of an op that runs again: which of its fit_step.makes stay, by bit; the others die at once */
	uint64_t ticks;            /* memory accesses, roughly */
	/* scratch */
	uint32_t *at;              /* [length] position in the base order */
	size_t run_room, at_room, stays_room;
	struct fit_instance *instance;
	size_t instances, instance_room;
	uint32_t *current;         /* [storages] instance that is read now, or NONE */
	uint32_t *version; /* [storages] writers that ran again in the current instance; 0: it is from the pass, or gone */
	uint32_t *seed;            /* [ops] instance of a random op's saved state, or NONE */
	uint32_t *when;            /* [ops] position in the sequence of its first run */
	bool *late; /* [storages] something after the pass, or that runs again, touches it: where there are copies */
	bool *needed;              /* [storages] in the closure of what is read after the pass */
	bool sought;               /* needed is of these states */
	uint32_t *out, outs;       /* storages that are there after the step */
	uint32_t *loose, looses;   /* storages to be forgotten after this op unless read again soon */
	struct fit_want { uint32_t storage, version; } *stack;
	size_t stack_room;
	int64_t *born, *died;      /* [length + 2] */
	size_t born_room, died_room;
	/* What the first ops of the pass leave, up to the first one after it: the same for all states along an order. */
	struct fit_prefix {
		uint64_t order;            /* fit_base.fingerprint; 0: there is none */
		uint32_t actives, length;  /* of the base that are in it; of the sequence */
		struct fit_instance *instance;
		size_t instances, room;
		uint32_t *current;         /* [storages] */
	} prefix;
	bool failed;               /* out of memory */
	struct arena arena;
};

/* OK or NO_MEMORY. Free with fit_replay_free(), also after NO_MEMORY. */
enum status fit_replay_new(const struct fit_step *step, struct fit_replay *replay);
void fit_replay_free(struct fit_replay *replay);
#define fit_replay_drop fit_replay_free

/* Plays the states [storages] (enum fit_state; of droppable ones only) along the base order. Before an op after the
 * pass, what it reads and isn't there runs again, what that reads first, in the order of the forward pass. A result
 * that is kept is written a second time into memory that dies at once. Memory as in problem.h: an instance lives from
 * its maker to its last reader. OK or NO_MEMORY. O(sequence). */
enum status fit_play(struct fit_replay *replay, const struct fit_base *base, const uint8_t *state);
/* The same with every op in the sequence. */
enum status fit_play_all(struct fit_replay *replay, const struct fit_base *base, const uint8_t *state);
