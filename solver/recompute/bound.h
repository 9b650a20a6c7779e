/* bound.h: the least extra time of any plan under a cap, in any order, with any number of reruns; and what proves it.
 *
 * Let z be an op that is not of the forward pass, A the ops that must run before it and D those that must run after it.
 * Look at the first moment that z runs: all of A ran, none of D. In memory are what z touches (Q), what ops of A wrote
 * that can't be written again and ops of D or the end want (N), and some set K of droppable storages. What an op of D
 * reads is in K or Q, or is written after z by all its writers, which find their operands in the same way. So K and the
 * ops that run after z although they are in A are on the sources' side of a cut of network.h, with sources where an op
 * of D reads, prices lambda * bytes (0 in Q), and times 0 outside of A. Hence, for every lambda >= 0,
 *
 *     extra time  >=  minimum cut - lambda * room,      room = cap - persistent - bytes of Q and N - workspace of z
 *
 * and a room below 0 proves that nothing fits. With a link to the host, what waits there at z is a third choice at the
 * same price: the room grows by what the link carries in the time that the step leaves before z, and lambda stays at
 * most 1 / rate, since above it waiting for the link is cheaper (find_away()). Ops of the backward pass that do not
 * depend on the loss count to the forward pass. Storages are kept as a whole or not at all, so sum of bytes(K) <= room
 * may be rounded (Gomory; mixed integer rounding, Nemhauser and Wolsey 1988): with any size g > 0 and room = q g + r,
 * 0 <= r < g, the sum over K of floor(bytes / g) + max(0, bytes mod g - r) / (g - r) is at most q. Prices lambda * g
 * times that, and q g in the room's place, prove the same. Not with a link: the bytes that may be away are no storages.
 * The bound is over plans that rerun what struct recompute_step calls droppable, and nothing else.
 *
 * Where keeping a storage takes copies of it, too (a pipeline's other microbatches, until the flush, which is in D),
 * memory at z is N + sum of copies over what stayed from the pass for a later reader (S, it may be gone itself by now)
 * + sum of bytes over what is there (K, some of it may have been written again) and two sets are on the sources' side:
 * S with all that runs again at any time, and K with what runs again after z. A share 1 - 1/M of the one and 1/M of the
 * other, for any integer M >= 1, is no less than the minimum cut, if a storage's price is lambda times what both shares
 * have there: min(bytes + copies, copies * M / (M - 1), bytes * M). Microbatches in flight alike make that bytes * M,
 * all that it takes. What an op behind the pass makes first (one that doesn't depend on the loss) has no copies: it may
 * be written again for nothing, so its price is lambda * bytes * M, and such ops' times are 0. Two sets' bytes don't
 * round: there is no g with M > 1. All microbatches are treated alike, and reruns follow the pass. */
#pragma once

#include "network.h"

#define RECOMPUTE_PRICE_UNIT (INT64_C(1) << 20) /* prices are so many parts of a picosecond a byte */

#define RECOMPUTE_ARCS(X) \
	X(START, "start") X(KEEP, "keep") X(WRITE, "write") X(READ, "read") X(BEFORE, "before") X(RUN, "run") X(STATE, "state")
#define X(id, name) RECOMPUTE_ARC_##id,
enum recompute_arc_kind { RECOMPUTE_ARCS(X) RECOMPUTE_ARC_COUNT };
#undef X
extern const char *const recompute_arc_names[RECOMPUTE_ARC_COUNT];

/* Flow on one arc. START: into need(storage). KEEP: need -> redo of the storage. WRITE: redo(storage) -> run(op). READ:
 * run(op) -> need(storage). BEFORE: run(op) -> run(other). RUN: run(op) -> sink. STATE: bytes of the storage, or NONE
 * for a dependency and then from `op`, the later one, into `other`; NONE: the end (search.h). What a kind doesn't use
 * is NONE. */
struct recompute_arc { uint32_t kind, storage, op, other; int64_t flow; };

struct recompute_certificate {
	uint32_t op; /* z; NONE: the bound is 0 and needs no proof */
	bool impossible; /* nothing fits: room < 0, or with arcs of kind STATE, z's cheapest state is above the cap */
	int64_t bytes;         /* with impossible, not of a file: what any plan needs at least */
	int64_t price;         /* lambda * RECOMPUTE_PRICE_UNIT */
	int64_t granule, room; /* granule > 0: sizes are rounded to it for so much room, see above */
	int64_t held;          /* M of above; 0 is 1 */
	uint32_t arcs;
	struct recompute_arc *arc; /* the caller frees it with mem_free() */
};

struct recompute_turn;

/* Moments to look at, found once for all caps. */
struct recompute_bounds {
	struct recompute_step loose; /* with what may run before or after the turn counted to the pass */
	struct recompute_network network;
	struct recompute_turn *turn;
	uint32_t turns, best; /* best: that of the last bound */
	int64_t *price;       /* [storages] scratch */
	bool *kept;           /* [storages] scratch */
	bool *pass;           /* [ops] of the forward pass, without what may run before or after the turn */
	struct arena arena;
};

/* The moments: `count` ops of z. OK or NO_MEMORY. O(count * graph). Free with recompute_bounds_free() in any case. */
enum status recompute_bounds_new(
	const struct recompute_input *input, const uint32_t *op, uint32_t count, struct recompute_bounds *bounds);
void recompute_bounds_free(struct recompute_bounds *bounds);

/* The op of moment i. */
uint32_t recompute_bounds_op(const struct recompute_bounds *bounds, uint32_t i);

/* The best bound at the cap, in picoseconds, its slope (picoseconds that a byte more of cap is worth) and, where
 * certificate is not NULL, the proof. OK; INFEASIBLE: proved that nothing fits, certificate->op is the op whose own
 * operands forbid it; CANCELLED, LIMIT, NO_MEMORY. Some 20 to 50 cuts. */
enum status recompute_bound(struct recompute_bounds *bounds, int64_t cap, struct control *control, int64_t *bound,
	double *slope, struct recompute_certificate *certificate);

/* No order has a lower peak where these storages [storages] are kept, whatever else is done. O(turns * storages). */
int64_t recompute_bound_peak(const struct recompute_bounds *bounds, const bool *kept);

/* What the cut of the last bound's price keeps, on the device or in the host: kept [storages]. As
 * recompute_bound_line(). */
enum status recompute_bound_kept(struct recompute_bounds *bounds, int64_t price, struct control *control, bool *kept);

/* The bound at one price, for every cap at once: at least value - price * (cap - there), of the moment that was best at
 * the last recompute_bound(). */
struct recompute_line { int64_t price, value, there; };
/* OK; CANCELLED, LIMIT, NO_MEMORY. One cut. */
enum status recompute_bound_line(
	struct recompute_bounds *bounds, int64_t price, struct control *control, struct recompute_line *line);
/* The line's bound at a cap, picoseconds, may be below 0. O(1). */
int64_t recompute_line_at(const struct recompute_line *line, int64_t cap);
