/* fit.h: recompute=auto of a pipeline: every rank computes again what lets it keep the memory cap, at the least time.
 *
 * A rank holds what it keeps of a microbatch once for each microbatch in flight. So the choice is made on each rank's
 * graph of one microbatch, in which a storage that is kept costs its copies as well (struct fit_input's copies), and
 * then applied to the device's graph, which is cut anew at the same places. The bound of the same graph holds for the
 * rank in any order of its ops: the sum over the ranks is under what runs again for a microbatch with these cuts and
 * this schedule, all microbatches treated alike. */
#pragma once

#include "src/stages/fit/stage.h"
#include "pipelined.h"

/* What is chosen, rank by rank. */
struct pipeline_fit {
	const struct pipelined *pipelined;  /* cut and played without recomputation */
	struct fitted *
		fitted; /* of the device's graph: times and pins; its ranks and bound are filled in when this is called first */
	int64_t *cap;              /* [ranks] bytes that the rank's graph may take */
	int64_t *peak;             /* [ranks] of what was chosen for it, as it was chosen */
	bool impossible;           /* a rank can't keep its cap, proved */
};

/* The device's graph with what runs again on all ranks. A new reference, or NULL with *error. */
struct graph *pipeline_fit_graph(struct stage_context *stage, struct pipeline_fit *fit, struct error *error);
