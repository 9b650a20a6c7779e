/* reshard.h: the cheapest sequence of collectives from one placement of a tensor to another. */
#pragma once

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
	int64_t time, sent;        /* sums: picoseconds; bytes that each device sends */
	uint32_t moves;
	struct reshard_move move[RESHARD_MOVES];   /* what a memo lends ends behind the last one: reshard_copy() it */
};
#define RESHARD_BYTES(moves) (offsetof(struct reshard, move) + (moves) * sizeof(struct reshard_move))

static inline void reshard_copy(struct reshard *to, const struct reshard *from)
{
	memcpy(to, from, RESHARD_BYTES(from->moves));
}

/* Dijkstra over single moves on single axes: P -> R (all-reduce), P -> S (reduce-scatter), S -> R (all-gather), S -> S
 * (all-to-all), R -> S (slice, free), R -> P (a slice in name: one device keeps it, the others hold zeros). Ties are
 * broken by fewer moves, then by axis. A placement that doesn't divide the tensor is never passed through; while a
 * later axis cuts the same part, an earlier one neither starts nor stops cutting it: the pieces aren't contiguous. Idle
 * axes are used where that is faster (each replica reduces a piece, then they gather). S -> P and targets that don't
 * divide: INFEASIBLE; else OK or NO_MEMORY. O(s log s) collective_time()s for s placements of the tensor on the mesh:
 * (parts + 2)^axes, with the parts of both ends alone above 1,024; it ends at the target, a few microseconds as a rule.
 */
enum status reshard_find(const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement from,
	struct placement to, struct reshard *reshard);

/* The same, but shards become summands by way of the whole tensor, which costs a gather. */
enum status reshard_any(const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement from,
	struct placement to, struct reshard *reshard);

/* One tensor's placements, for many reshardings: what moves take is found once, and the ways from a placement to all
 * others in one search. */
struct reshard_map;
/* In the arena, for tensors of this one's class. NULL in *map: it has too many placements, see above. OK or NO_MEMORY.
 */
enum status reshard_map_new(
	const struct units *units, const struct mesh *mesh, uint32_t tensor, struct arena *arena, struct reshard_map **map);
uint32_t reshard_map_states(const struct reshard_map *map);
/* A placement's number below that; NONE: the tensor has no such parts. O(axes). */
uint32_t reshard_map_state(const struct reshard_map *map, struct placement placement);
/* Whether a way from where a tensor is written gathers it anew in each phase: a copy where it leads to is of no use in
 * the others. */
bool reshard_gathers_anew(
	const struct graph *graph, const struct sharding *sharding, uint32_t tensor, const struct reshard *way);

/* As reshard_any(). O(moves) but for the first from a placement. */
enum status reshard_map_any(
	struct reshard_map *map, struct placement from, struct placement to, struct reshard *reshard);

/* reshard_memo: reshardings on one mesh, each found once: tensors that are alike have equal ones. */

struct known_class;
struct known;

struct reshard_memo {
	const struct units *units;
	const struct mesh *mesh;
	struct known_class *class;       /* [classes of tensors] tables, where they are small enough */
	struct known *known;             /* hash table of the rest */
	size_t count, room;
	struct arena arena;
};

/* OK or NO_MEMORY; end it in any case. */
enum status reshard_memo_begin(struct reshard_memo *memo, const struct units *units, const struct mesh *mesh);
void reshard_memo_end(struct reshard_memo *memo);
/* As reshard_any(); the result is lent until the end. O(1) but for the first of a class. */
enum status reshard_memo_find(struct reshard_memo *memo, uint32_t tensor, struct placement from, struct placement to,
	const struct reshard **reshard);
