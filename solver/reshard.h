/* reshard.h: the cheapest sequence of collectives from one placement of a tensor to another. */
#ifndef TIDEMARK_RESHARD_H
#define TIDEMARK_RESHARD_H

#include "placement.h"

/* One move on one axis. */
struct reshard_move {
	enum collective collective;
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
 * R -> S (slice, free), R -> P (free: one device keeps it, the others hold zeros). Ties are broken by fewer moves, then by axis.
 * A placement that doesn't divide the tensor is never passed through. S -> P and other impossible targets: INFEASIBLE.
 * O(placements of the tensor on the mesh, at most (parts + 2)^axes). */
enum status reshard_find(const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement from, struct placement to,
	struct reshard *reshard);

#endif
