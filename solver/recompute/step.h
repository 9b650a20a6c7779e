/* step.h: a training step as recomputation sees it.
 *
 * A storage is droppable when ops of the forward pass alone write it, nothing wants it at the end, and all its writers
 * can run again with the same result. What is decided is a state for each: kept, or dropped and written anew when an op
 * after the pass reads it. */
#pragma once

#include "solver/rules/rules.h"

/* What random ops (dropout) may do in the order of the knob's words. */
#define RECOMPUTE_RANDOMS(X) \
	X(STATE, "state", "recomputed from the saved state of the generator: 16 bytes an op") \
	X(NEVER, "never", "their results are kept") \
	X(MASK, "mask", "dropout's masks are kept, and its products are computed again from them; results of other random " \
		"ops are kept")
#define X(id, name, help) RECOMPUTE_RANDOM_##id,
enum recompute_random { RECOMPUTE_RANDOMS(X) RECOMPUTE_RANDOM_COUNT };
#undef X

#define RECOMPUTE_RESULTS 64 /* an op with more results never runs again */
#define RECOMPUTE_DEEP 4 /* where nothing tells how many layers there are */
#define RECOMPUTE_STATE_BYTES 16 /* seed and offset of a counter-based generator */

enum recompute_state {
	RECOMPUTE_KEEP, /* stays from the forward pass to its last reader */
	RECOMPUTE_HOLD, /* written anew the first time that anything needs it after the pass, then stays */
	RECOMPUTE_LATE, /* stays only where its own next reader is at most about a layer away: what passes by does not hold
					   it */
	RECOMPUTE_AGAIN, /* written anew for every reader that is not near the one before */
	RECOMPUTE_EACH, /* written anew for every reader */
	RECOMPUTE_STATES
};

/* The link to the host's memory: storages that could run again may wait there instead. */
struct recompute_link {
	int64_t rate;        /* bytes a second, each way */
	int64_t memory;      /* bytes that wait there at most */
	const int64_t *time; /* [storages] picoseconds of a copy; bounds don't read it */
};

/* What a caller decided already. */
enum recompute_fixed { RECOMPUTE_FREE, RECOMPUTE_SAVED, RECOMPUTE_DROPPED };

struct recompute_input {
	const struct graph *graph;
	const int64_t *time; /* [ops] picoseconds; what takes none takes 0 */
	const int64_t
		*sure; /* [ops] what a rerun adds to the step at least: 0 for what may hide behind computation; NULL: time */
	const uint32_t *traits; /* [ops] rules_traits() */
	int64_t alignment;      /* sizes are rounded up to it */
	bool workspace;         /* count the scratch memory of ops */
	enum recompute_random random;
	const uint8_t *fixed; /* [storages] enum recompute_fixed; NULL: all free */
	const bool *forward;  /* [ops] counted to the forward pass; NULL: by their phase */
	const int64_t
		*copies; /* [storages] bytes that keeping it takes beside its own: copies of a pipeline's other microbatches in
				  * flight, there until `flush` has run; of all storages that what follows the pass may read. NULL:
				  * none. Plans treat all microbatches alike, and reruns follow the pass */
	uint32_t flush; /* op, where there are copies */
	const struct recompute_link *link; /* for bounds: over plans that use it, too; NULL: over those that don't */
};

struct recompute_step {
	const struct graph *graph;
	uint32_t ops, storages;
	int64_t alignment;
	int64_t *time;         /* [ops] */
	int64_t *bytes;        /* [storages] rounded up; 0: persistent, or there is nothing of it */
	int64_t *workspace;    /* [ops] */
	const int64_t *copies; /* [storages] of the input, rounded up by the caller; NULL: none */
	uint32_t flush;
	bool *copied_late; /* [storages] that can't be dropped and that ops after the pass read, where there are copies;
						  NULL */
	int64_t copied;     /* bytes of their copies: there until the flush whatever is kept */
	int64_t persistent; /* bytes that are always there */
	int64_t total, forward_time; /* picoseconds of all ops, of those of the forward pass */
	bool *forward, *view; /* [ops] */
	bool *random;         /* [ops] a rerun reads the generator's state of the first run */
	uint32_t *mask;       /* [ops] the storage that a rerun reads instead of making it, or NONE */
	uint32_t *brings, *brought; /* [ops] of a copy back from the host: the storage that it was made of, and the one that
								   it fills, which ops that run again read from then on; NONE */
	bool *norm;         /* [ops] its result does not depend on the running statistics that it brings up to date */
	bool *droppable;    /* [storages] */
	bool *saved;        /* [storages] droppable, and an op after the pass reads it */
	uint8_t *fixed;     /* [storages] enum recompute_fixed; RECOMPUTE_FREE where it is not droppable */
	struct csr touches; /* op -> storages with bytes that it reads or changes, without those that it makes */
	struct csr makes;   /* op -> storages that it allocates */
	bool *outer;        /* [storages] no op of the pass touches it */
	struct csr inner, inner_makes; /* as touches and makes, without outer storages */
	struct csr
		reads; /* op -> droppable storages that it reads or changes, without those that it makes; views read nothing */
	uint32_t *read_version; /* as reads.item: how many writers of the storage come before the op; for ops after the pass
							   all of them */
	struct csr changes; /* op -> droppable storages that it writes in place */
	struct csr
		writers; /* droppable storage -> ops of the pass that write it: the allocator, then those in place, ascending */
	struct csr readers; /* droppable storage -> ops after the pass that read it, ascending, no views */
	struct csr before;  /* op that writes in place -> droppable ops of the pass that read what it overwrites */
	struct csr steady; /* forward op -> storages that it reads and that never run again: they must not be overwritten
						  meanwhile */
	struct csr overwrites; /* op after the pass -> storages that it writes in place */
	bool in_place;         /* some op has a `before` */
	uint32_t layers;       /* about how many equal ones there are */
	struct arena arena;
};

/* Bytes of a storage while it is kept: with its copies. */
static inline int64_t recompute_kept_bytes(const struct recompute_step *step, uint32_t storage)
{
	return step->bytes[storage] + (step->copies ? step->copies[storage] : 0);
}

/* Time of the ops that write a droppable storage. */
static inline int64_t recompute_write_time(const struct recompute_step *step, uint32_t storage)
{
	int64_t time = 0;
	FOR_ITEMS(writer, &step->writers, storage)
		time += step->time[writer];
	return time;
}

/* OK or NO_MEMORY. O(graph). Free with recompute_step_free(), also after NO_MEMORY. */
enum status recompute_step_find(const struct recompute_input *input, struct recompute_step *step);
void recompute_step_free(struct recompute_step *step);
#define recompute_step_drop recompute_step_free

/* Ops of the forward pass, and those of the backward pass that do not depend on the loss: gelu's inner derivatives in
 * captured steps. They may run before or after the turn, so a bound counts them to the pass. forward: [ops]. OK or
 * NO_MEMORY. O(graph). */
enum status recompute_early_ops(const struct graph *graph, bool *forward);

/* How many writers of the droppable storage come before the op in program order: the version that the op reads.
 * O(writers). */
uint32_t recompute_version(const struct recompute_step *step, uint32_t storage, uint32_t op);
