/* max_flow.h: maximum flow and minimum cut between sets of nodes.
 *
 * Terminals are labels on nodes rather than two extra nodes, and may change between calls, as capacities may. */
#pragma once

#include "base.h"

#define FLOW_UNLIMITED (INT64_C(1) << 61) /* capacity of arcs that no cut may cross */

enum flow_side { FLOW_FREE, FLOW_SOURCE, FLOW_SINK };

struct max_flow {
	uint32_t nodes, arcs; /* arcs come in pairs: 2 k and 2 k + 1 are each other's reverse */
	uint32_t room;
	uint32_t *to;       /* arc -> node */
	int64_t *capacity;  /* arc -> as added */
	int64_t *residual;  /* arc -> what can still be pushed */
	struct csr leaving; /* node -> arcs */
	/* scratch */
	int64_t *supply;    /* node -> bytes it has to give (> 0) or needs (< 0) */
	uint32_t *distance; /* node -> arcs to the nearest needing node, NONE if it reaches none */
	uint32_t *next, *queue, *path, *borders;
	uint32_t border_nodes;
	bool *reached;
	struct arena arena;
};

/* An empty network with room for so many arc pairs. Free with flow_free(), also after NO_MEMORY. */
enum status flow_init(struct max_flow *flow, uint32_t nodes, uint32_t pairs);
void flow_free(struct max_flow *flow);

/* Adds an arc and its reverse, and returns the arc's number (the reverse's is one more). */
uint32_t flow_add(struct max_flow *flow, uint32_t from, uint32_t to, int64_t capacity, int64_t reverse);
/* Call once, after the last flow_add. O(nodes + arcs). */
enum status flow_ready(struct max_flow *flow);

/* Maximum flow from all FLOW_SOURCE to all FLOW_SINK nodes of side [nodes]; *value receives it. The minimum cut nearest
 * the sources is then in reached [nodes]: true on the sources' side. All capacities on some cut must be limited, and
 * sum to less than 2^61. Dinic's algorithm (1970): O(nodes^2 arcs), near linear on these networks. LIMIT and CANCELLED
 * leave no flow. */
enum status flow_maximise(struct max_flow *flow, const uint8_t *side, struct control *control, int64_t *value);

/* After flow_maximise(): how much more flows when a free node becomes a source or a sink as well, up to limit. The flow
 * is then as before: kept [arcs] is a copy of its residuals. O(arcs) for each shortest length of paths. */
enum status flow_force(struct max_flow *flow, uint8_t *side, uint32_t node, enum flow_side as, int64_t limit,
	const int64_t *kept, struct control *control, int64_t *more);

static inline uint32_t flow_from(const struct max_flow *flow, uint32_t arc)
{
	return flow->to[arc ^ 1];
}

static inline int64_t flow_on(const struct max_flow *flow, uint32_t arc)
{
	return flow->capacity[arc] - flow->residual[arc];
}
