/* lineup.h: an order that changes op by op, with the live bytes at each place.
 *
 * Views that need one op alone cost neither time nor memory: they run right behind it, and the line has the other ops
 * alone. What such a view touches, the op it hangs on touches. */
#pragma once

#include "overlap.h"

struct lineup {
	const struct problem *problem;
	uint32_t count;            /* ops in the line, called by numbers of their own: */
	uint32_t *op;              /* [count] the graph's */
	uint32_t *at;              /* [ops of the graph] the line's op that it is, or that it hangs on; NONE: on none */
	struct csr pred, succ;     /* of ops in the line */
	struct csr uses;           /* op -> items that it touches and does not make */
	struct csr users;          /* item -> ops */
	int64_t *stays, *adds; /* [count] bytes of its results that something needs later; of all its results while it runs,
							  with its workspace */
	uint32_t *order, *place;   /* [count] */
	int64_t *before;           /* [count + 1] by place: live bytes before the op there runs */
	int64_t *relief;           /* [count + 2] scratch */
	uint32_t low, high;        /* the window of places that changed since lineup_keep(); low > high: none */
	uint32_t *old_order;       /* [count] what stood there */
	int64_t *old_before;       /* [count + 1] */
	struct arena arena;
};

/* Free it in any case. OK or NO_MEMORY. O(graph). */
enum status lineup_new(const struct overlap_request *request, struct lineup *line);
void lineup_free(struct lineup *line);
#define lineup_drop lineup_free
/* Begins with an order of the graph's ops, and back. */
void lineup_set(struct lineup *line, const uint32_t *order);
void lineup_write(const struct lineup *line, uint32_t *order);

/* What changes from now on can be undone: within [low, high] only. O(high - low). */
void lineup_keep(struct lineup *line, uint32_t low, uint32_t high);
void lineup_undo(struct lineup *line);
/* The op at a place to another one, as if nothing depended on anything. O(places between + users of what it touches).
 */
void lineup_move(struct lineup *line, uint32_t from, uint32_t to);
/* The highest live bytes within the window kept. */
int64_t lineup_peak(const struct lineup *line);
