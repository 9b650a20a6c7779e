/* pools.h: buffers in several memories, each with an arena and a capacity of its own.
 *
 * Every buffer has a list of pools that it may lie in, the best first. What doesn't fit in its first goes to the next: each step
 * down the list costs the buffer's spill cost. Wanted is the least total cost for which every pool's buffers have a layout within
 * its capacity. Groups stay together; a buffer takes another's place only in the same pool.
 *
 * Local ratio chooses what to spill (Bar-Noy, Bar-Yehuda, Freund, Naor, Schieber: "A unified approach to approximating resource
 * allocation and scheduling", J. ACM 48, 2001). It costs at most four times the least, if only loads count, and its dual is a bound.
 * Where an integer program can be solved, it replaces both. Buffers that have no layout together are cuts for it (Benders).
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     pools          pools, results; assignment and layouts in turns
 *     spill          who leaves a pool, by local ratio
 *     spill_program  the same by an integer program
 *     check_pools    checks assignment and layouts
 */
#pragma once

#include "solver/layout/links.h"

struct layout_pools {
	uint32_t count;            /* >= 1 */
	const int64_t *capacity;   /* [count] bytes > 0; 0: whatever it takes */
	struct csr candidates;     /* buffer -> pools, the best first, each once; an empty row, or start NULL: all, in their order;
				    * buffers of a group have equal rows */
	const int64_t *spill_cost; /* [n] >= 0; NULL: sizes */
};

/* What lies in one pool. */
struct pool_layout {
	uint32_t *buffer;          /* [n] ascending */
	uint32_t n;
	struct linked_layout linked; /* of these buffers, by their place in the list */
};

struct pooled_layout {
	uint32_t *pool;            /* [n] */
	int64_t *offset;           /* [n] in its pool; NULL: nothing was found that fits */
	uint32_t *donor;           /* [n] or NULL, see linked_layout */
	int64_t cost, bound;       /* of spilling; no assignment costs less than the bound */
	bool proved;               /* cost == bound */
	struct pool_layout *part;  /* [count] */
	uint32_t parts;
	/* Nothing was found: at this step so many bytes that cannot go elsewhere are alive in this pool. NONE: no single pool is to blame. */
	uint32_t overflow;
	int64_t overflow_step, overflow_bytes;
};

/* options: alignment, strategy and effort of every pool's layout; the capacity is not used. A pool with a capacity gets the first
 * layout within it, others the smallest. OK: offset is there. INFEASIBLE: it is proved that nothing fits. LIMIT: nothing was
 * found. CANCELLED: as OK where offset is there. BAD_INPUT, NO_MEMORY. Free with pooled_layout_free() unless NO_MEMORY. */
enum status layout_solve_pools(const struct buffers *buffers, const struct layout_links *links, const struct layout_pools *pools,
			       const struct layout_options *options, struct control *control, struct pooled_layout *result, struct error *error);
void pooled_layout_free(struct pooled_layout *result);
#define pooled_layout_drop pooled_layout_free

/* The independent checker: candidates, capacities, links and overlaps in each pool, the cost. BAD_INPUT with the culprits in error.
 * O(pools n log n). */
enum status layout_check_pools(const struct buffers *buffers, const struct layout_links *links, const struct layout_pools *pools,
			       int64_t alignment, const struct pooled_layout *result, struct error *error);
