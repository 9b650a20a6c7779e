/* reshard.h: the cheapest sequence of collectives from one placement of a tensor to another. */
#ifndef TIDEMARK_COST_RESHARD_H
#define TIDEMARK_COST_RESHARD_H

#include "placement.h"

/* One move on one axis. */
struct reshard_move {
	enum collective_kind collective;
	uint8_t axis;
	struct placement to;       /* after the move */
	int64_t bytes;             /* as collective_time() takes them */
	int64_t time;              /* picoseconds */
};
#define RESHARD_MOVES 12

struct reshard {
	uint32_t moves;
	struct reshard_move move[RESHARD_MOVES];
	int64_t time, sent;        /* sums: picoseconds; bytes that each device sends */
};

/* Dijkstra over single moves on single axes: P -> R (all-reduce), P -> S (reduce-scatter), S -> R (all-gather), S -> S (all-to-all),
 * R -> S (slice, free), R -> P (a slice in name: one device keeps it, the others hold zeros). Ties are broken by fewer moves, then by
 * axis. A placement that doesn't divide the tensor is never passed through; while a later axis cuts the same part, an earlier one
 * neither starts nor stops cutting it: the pieces aren't contiguous. Idle axes are used where that is faster (each replica reduces a
 * piece, then they gather). S -> P and targets that don't divide: INFEASIBLE; else OK or NO_MEMORY.
 * O(s log s) collective_time()s for s placements of the tensor on the mesh: (parts + 2)^axes, with the parts of both ends alone above
 * 1,024; it ends at the target, a few microseconds as a rule. */
enum status reshard_find(const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement from, struct placement to,
	struct reshard *reshard);

/* The same, but shards become summands by way of the whole tensor, which costs a gather. */
enum status reshard_any(const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement from, struct placement to,
	struct reshard *reshard);

#endif
