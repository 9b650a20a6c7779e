/* network.h: what to keep at given prices: one minimum cut.
 *
 * Nodes need(v) and redo(v) of every droppable storage v, run(o) of every op o of the forward pass. Sources: need(v) of
 * what is read after the pass.
 *
 *     need(v) -> redo(v)    price of v   cut: v is kept
 *     redo(v) -> run(o)     unlimited    for each writer o of v
 *     run(o)  -> need(u)    unlimited    for each u that o reads
 *     run(o)  -> redo(u)    unlimited    where o reads a version of u that is overwritten later, or overwrites one:
 * keeping u does not help. For bounds run(o) -> run(w) for the writers w of that version: nobody need write the later
 * ones run(o)  -> sink       time of o    cut: o runs again
 *
 * On the sources' side of a minimum cut redo(v) means that v is dropped, need(v) without it that v is kept, neither
 * that nobody needs v. So the cut's value is the time of all that runs again and the prices of all that is kept, an op
 * that several storages share being paid once. */
#pragma once

#include "step.h"
#include "solver/base/max_flow.h"

struct recompute_network {
	const struct recompute_step *step;
	struct max_flow flow;
	uint32_t *need;      /* [storages] node; redo is the next one; NONE where it is not droppable */
	uint32_t *run;       /* [ops] node, or NONE */
	uint32_t *keep_arc;  /* [storages] */
	uint32_t *time_arc;  /* [ops] */
	uint32_t runs, sink; /* the first node of an op; the sink, which is the last node */
	uint8_t *side;       /* [nodes] */
	struct arena arena;
};

/* for_bound: only what every plan must do, else what plans of recompute_play() do. OK or NO_MEMORY. O(step). Free with
 * recompute_network_free() in any case. */
enum status recompute_network_new(const struct recompute_step *step, bool for_bound, struct recompute_network *network);
void recompute_network_free(struct recompute_network *network);

/* The minimum cut at prices [storages] (>= 0; at or above the step's time: never kept) and times [ops], with sources at
 * needed [storages]. Results: *value; kept [storages]: what the cut keeps (of droppable ones); the flow stays in
 * network->flow. Deterministic: of minimum cuts it is the one with the fewest on the sources' side. As flow_maximise().
 */
enum status recompute_cut(struct recompute_network *network, const int64_t *price, const int64_t *time,
	const bool *needed, struct control *control, int64_t *value, bool *kept);
