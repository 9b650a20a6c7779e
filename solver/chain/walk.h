/* walk.h: cost and usage of all walks along a link that can be part of a nearly best plan.
 *
 * The powers of power.h once more, with sets of points as entries: a walk of twice the length is two walks that meet. Points stay
 * only where the best plan that has them weighs no more than a limit, so sets are small where the limit is close, whatever the length.
 */
#ifndef TIDEMARK_CHAIN_WALK_H
#define TIDEMARK_CHAIN_WALK_H

#include "search.h"

/* Sets of walks of some length, by entry of the matrix of that power: point[start[entry]] .. point[start[entry + 1] - 1]. start NULL: of no length. */
struct chain_half { const uint32_t *start; const int64_t *least; };

struct chain_walks {
	const struct chain_link *link;
	struct chain_front arcs;   /* of single copies */
	/* All walks: value and trail are the two that a walk is made of; of a single copy: NONE and a point of arcs. */
	struct chain_point *point;
	uint32_t points, points_room;
	struct chain_room room;
	struct chain_point *whole; /* those of the link's length, by entry of its factor; value: which of the walks */
	uint32_t *start;           /* [entries of the factor + 1] */
	uint32_t wholes, whole_room;
	struct chain_half *left, *right; /* [blocks] all walks are one of the left followed by one of the right; where wholes weren't asked for */
	struct chain_point *list;  /* scratch */
	uint32_t list_room;
	uint64_t looked;
	struct arena arena;
};

/* After passes up and down. limit: of the weight of a whole plan, below: of its cost. halves: those instead of wholes. Free in any case. */
enum status chain_walks_build(struct chain_walks *walks, struct chain_search *search, uint32_t link, int64_t limit, int64_t below, struct chain_room room,
	bool halves);
void chain_walks_free(struct chain_walks *walks);
/* The copies of walks, one after the other, of the link's length together; what it needs lies in the arena. OK or NO_MEMORY. */
enum status chain_walks_path(const struct chain_walks *walks, const uint32_t *walk, uint32_t count, struct chain_path *path, struct arena *arena);

#endif
