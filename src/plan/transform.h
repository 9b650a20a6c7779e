/* transform.h: the stages between reading and ordering: graph in, graph out (docs/design.md section 2). */
#ifndef TIDEMARK_PLAN_TRANSFORM_H
#define TIDEMARK_PLAN_TRANSFORM_H

#include "fit_stage.h"

/* A graph as planned, and what was assumed on the way there: sentences, one a line. Shared. */
struct transformed {
	struct graph *graph;
	char *notes;                /* "" where nothing was assumed */
	struct sharded *sharded;    /* NULL where the step is not split over devices */
	struct pipelined *pipelined; /* NULL where it is not cut into microbatches or pipeline ranks; graph is then its reported rank's */
	struct fitted *fitted;      /* NULL where nothing is computed again or moved to the host */
	int64_t fit_peak;           /* what a choice counted with: the program-order peak of recompute=auto, what stays of a searched sharding, the worst rank's; else -1 */
	atomic_uint references;
};

struct transformed *transformed_retain(struct transformed *transformed);
void transformed_release(void *transformed);

/* train, scale, optimizer and precision, recompute, shard, in_place: those that the scenario asks for, each from the store where
 * it is there. A new reference, or NULL: BAD_INPUT and the reason where a knob asks for what this graph can't give. */
struct transformed *stage_transform(struct stage_context *stage, struct graph *input, const struct scenario *scenario, const struct plan_wish *wish, bool quick,
	struct error *error);

#endif
