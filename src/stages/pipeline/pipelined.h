/* pipelined.h: the result of the pipeline stage: what every rank runs and holds, and when.
 *
 * Immutable once made and shared by counted references between plans and the store. The slots of the schedule are
 * timing.slot (solver/pipeline/pipeline.h): rank r's are slot[r * slots] .. slot[(r + 1) * slots - 1], in order of
 * time; a slot says its piece, microbatch, and whether it is backward. */
#pragma once

#include "src/stages/shard/sharded.h"
#include "solver/pipeline/rank.h"
#include "src/read/schedule_csv.h"

/* A part of the model, on the rank that piece_rank() says. */
struct pipeline_piece {
	const char *first, *last;    /* modules of its first and last forward op: "h.12.ln_1" */
	uint32_t ops;                /* of the device's graph, forward and backward */
	int64_t forward, backward;   /* picoseconds for one microbatch, simulated on the rank's streams (times.h) */
	int64_t weight;              /* of backward, gradients of weights alone, where the schedule splits it */
	int64_t forward_link, backward_link; /* of both, when nothing is computed, less what computation beside them loses to
											a dispatcher, where the schedule runs passes beside each other */
	int64_t send;                /* picoseconds to the next piece, and the gradient back */
	int64_t sent;                /* bytes of that */
	int64_t kept;                /* bytes kept of one microbatch from its forward to its backward pass */
	int64_t
		kept_weight; /* of these, until gradients of weights are made, where the schedule splits the backward pass */
	int64_t between;             /* bytes of gradients that wait for those of weights */
	struct in_flight in_flight;  /* microbatches of it that are held when the rank holds the most; at least 1 */
};

/* One rank; bytes are of one device. */
struct pipeline_rank {
	struct graph *graph;         /* one microbatch forward and backward, then the update */
	int64_t parameters, optimizer, inputs, gradients;   /* there through the step; gradients: the sums over microbatches */
	int64_t kept;                /* activations of all microbatches in flight */
	int64_t peak;                /* in program order, with all that comes and goes */
	int64_t exposed, update; /* picoseconds behind the passes: collectives of states that nothing hides, the optimizer */
	uint32_t twin;               /* the first rank whose passes and update are the same; itself */
	uint32_t alike; /* the first rank whose graph is the same but for names and microbatches in flight; itself */
};

struct fitted;

struct pipelined {
	struct graph *device;        /* the whole model's, for one microbatch, on a device of a stage: what is cut */
	struct pipeline_cut cut;
	uint32_t ranks, chunks, microbatches;
	enum schedule schedule;
	struct pipeline_piece *piece;/* [ranks * chunks] */
	uint32_t *first;             /* [ranks * chunks + 1] blocks at which pieces begin, the number of all blocks last */
	struct pipeline_rank *rank;  /* [ranks] */
	struct schedule_csv file;    /* of SCHEDULE_FILE */
	const struct pipeline_order *order;  /* of it; NULL */
	bool folded, split;          /* pieces lie in a V; backward passes are split */
	int64_t *forward, *backward, *weight, *send, *forward_link,
		*backward_link; /* [ranks * chunks] as pipeline_run() takes them; links NULL where no passes overlap */
	struct pipeline_plan timing; /* the schedule, slot by slot */
	int64_t time;                /* picoseconds of a step: the schedule's, and what follows the slowest rank's passes */
	int64_t bubble, exposed, update;
	int64_t ahead;               /* bytes: the most that parameters take on a rank that are gathered ahead */
	int64_t bound;               /* no schedule of these pieces has a step that takes less */
	struct fitted *fitted;       /* recompute=auto: what runs again; NULL */
	int64_t replayed;            /* of it: the most bytes of a rank in program order */
	bool unfit; /* recompute=auto: proved, along the cuts that were tried no recomputation lets every rank keep the cap
				   less the wish's margin */
	int64_t estimate;            /* bytes: the most that a rank takes by the model that cuts were chosen with */
	bool moved;                  /* the cuts are uneven, so that every rank keeps the memory cap by that model */
	uint32_t reported;           /* the rank that is planned by default: the highest peak in program order */
	struct key key;
	struct arena arena;
	atomic_uint references;
};

struct pipelined *pipelined_retain(struct pipelined *pipelined);
void pipelined_release(void *pipelined);
DROP(pipelined, pipelined_release)
/* Its schedule, to be played again; lent. */
static inline struct pipeline pipelined_pipeline(const struct pipelined *of)
{
	return (struct pipeline) { of->schedule, of->ranks, of->chunks, of->microbatches, of->forward, of->backward,
		of->weight, of->forward_link, of->backward_link, of->send, of->order, false };
}
/* Bytes that it keeps. */
size_t pipelined_bytes(const struct pipelined *pipelined);
