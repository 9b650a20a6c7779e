/* results.h: what transforming, ordering and laying out a graph return. Each is immutable once made and shared by
 * counted references between plans and the store; all that asks for a plan's numbers reads them here. */
#pragma once

#include "store.h"

/* How a stage's sub-problems came about. */
struct stage_run {
	double seconds;
	uint32_t reused, solved;
};

/* A graph as planned, and what was assumed on the way there: sentences, one a line. Shared. */
struct transformed {
	struct graph *graph;
	char *notes;                /* "" where nothing was assumed */
	struct sharded *sharded;    /* NULL where the step is not split over devices */
	struct pipelined *
		pipelined; /* NULL where it is not cut into microbatches or pipeline ranks; graph is then its reported rank's */
	struct fitted *fitted;      /* NULL where nothing is computed again or moved to the host */
	int64_t fit_peak; /* what a choice counted with: the program-order peak of recompute=auto, what stays of a searched
						 sharding, the worst rank's; else -1 */
	atomic_uint references;
};

/* A step on the orderer's way to its result: effort spent, best peak and bound (< 0: none yet) by then, what found the
 * best. */
struct improvement {
	uint64_t ticks;
	int64_t peak, bound;
	const char *winner;
	double seconds; /* since it began */
};
#define IMPROVEMENTS_MOST 200u      /* kept; of more, the first ones and the last */

/* The result of the order stage, shared between plans. */
struct ordered {
	struct graph *graph;
	struct problem problem;     /* its base: persistent bytes, rounded up to the alignment */
	struct order_result result; /* the order: op at each position, counted from 0 */
	int64_t *live;              /* [ops] live bytes at each position, persistent included */
	uint32_t *position;         /* [ops] of each op */
	uint32_t peak_position;     /* NONE in a graph without ops */
	int64_t program_peak;       /* of the program order */
	double begun;               /* seconds of the clock when the orderer was called */
	struct improvement *improvement; /* [improvements] in the order found; none for quick results */
	uint32_t improvements;
	struct stage_run run;
	bool cut_short;             /* cancelled: must not be kept under its key */
	struct key key;             /* of everything that it depends on */
	struct arena arena;
	atomic_uint references;
};

/* The result of the layout stage, by what needs an address: the storages of the ordered graph, then the workspaces of
 * its ops, each live while its op runs. */
struct laid_out {
	uint32_t items;             /* storages + ops */
	uint32_t *first, *last;     /* [items] positions, inclusive; NONE: never there (0 bytes or untouched) */
	int64_t *bytes;             /* [items] rounded up to the alignment */
	int64_t *offset;            /* [items] -1 where first is NONE */
	struct layout layout;       /* of the items that are there, in their order */
	struct stage_run run;
	bool cut_short;
	struct arena arena;
	atomic_uint references;
};

struct transformed *transformed_retain(struct transformed *transformed);
void transformed_release(void *transformed);
DROP(transformed, transformed_release)
struct ordered *ordered_retain(struct ordered *ordered);
void ordered_release(void *ordered);
DROP(ordered, ordered_release)
struct laid_out *laid_out_retain(struct laid_out *laid_out);
void laid_out_release(void *laid_out);
