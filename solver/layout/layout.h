/* layout.h: offsets for buffers that live over intervals of steps.
 *
 * Static memory layout (dynamic storage allocation): buffers whose lives overlap may not overlap in
 * address, and the arena, the highest address in use, shall be small. It is never below the load, the
 * largest sum of sizes alive at one step.
 *
 * A buffer is one rectangle, steps [lower, upper) x bytes [offset, offset + size), or, where it comes and
 * goes, several of them one after another that share the one offset.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     layout        buffers, strategies, results; from buffers to offsets
 *     model         sections of time, and units that share an offset
 *     attempt       one part by one strategy, or by all in turns
 *     steps         the algorithms, one function each
 *     sort          orders in which buffers are tried
 *     dive          lowest offset first
 *     fit           first fit and best fit
 *     online        first fit in the order of time
 *     skyline       lowest segment first, as LLFB does
 *     tree          ROAM's layout
 *     cheap         dives, one order after another
 *     wheel         moves buffers to the front that a dive placed badly
 *     boxes         joins buffers that fit together without waste
 *     peak          the fullest time first, then outwards
 *     eject         puts what sticks out where it is least in the way
 *     moment        what is alive at one moment, as a bound
 *     reach         how high each section must reach
 *     nest          which buffer lives within some sections
 *     search        exact: is there a layout within a capacity?
 *     search_setup  which buffers overlap
 *     exact         the smallest arena by exact searches
 *     core          few buffers that alone do not fit, as a bound
 *     caching       PyTorch's caching allocator, simulated
 *     given         the offsets that buffers bring along
 *     check         checks a layout
 *     check_core    checks a core
 *     check_moment  checks the bound of one moment */
#pragma once

#include "solver/base/base.h"
#include "solver/base/proof.h"

/* While lower <= step < upper the buffer is live. */
struct piece { int64_t lower, upper; };

/* Arrays of n; the optional ones may be NULL. */
struct buffers {
	uint32_t n;
	int64_t *lower, *upper;    /* life [lower, upper), lower < upper */
	int64_t *size;             /* >= 0; buffers of size 0 get an offset but conflict with nothing */
	int64_t *alignment;        /* optional: the offset is a multiple of it; >= 1 */
	int64_t *fixed;            /* optional: the offset it must have, < 0: free */
	int64_t *hint;             /* optional: the offset that strategy FILE gives it, < 0: none */
	/* optional [n + 1]: pieces piece_start[i] .. piece_start[i + 1] - 1 of buffer i, in order */
	uint32_t *piece_start;
	struct piece *piece;       /* of time, none overlapping another; none: it is live from lower to upper */
	uint8_t *stream; /* optional, of layout_holds() alone: the stream that allocates it, below LAYOUT_STREAMS */
};
#define LAYOUT_STREAMS 3

/* Strategies: id, name of the knob's value, what it does. */
#define LAYOUT_STRATEGIES(X) \
	X(FIRST_FIT, "firstfit", "in order of allocation, each into the lowest hole") \
	X(GREEDY_BY_SIZE, "greedy", "largest first, each into the tightest hole") \
	X(BEST_FIT, "bestfit", "longest life first, each into the tightest hole") \
	X(LLFB, "llfb", "lowest skyline segment, longest life that fits it") \
	X(ROAM, "roam", "long-lived buffers at the bottom, segments apart, ROAM's tree") \
	X(BEST, "best", "dives, then exact search while they are above the bound") \
	X(DIVE, "dive", "lowest offset first in the best of several orders") \
	X(FILE, "file", "the addresses that the file carries: XLA's buffer assignment, or those of a memory snapshot")

#define X(id, name, help) LAYOUT_##id,
enum layout_strategy { LAYOUT_STRATEGIES(X) LAYOUT_STRATEGY_COUNT };
#undef X
extern const char *const layout_strategy_names[LAYOUT_STRATEGY_COUNT];
extern const char *const layout_strategy_help[LAYOUT_STRATEGY_COUNT];

/* What proves a bound. */
enum layout_proof {
	LAYOUT_PROOF_LOAD, /* what is alive at step `moment` sums up to the bound */
	LAYOUT_PROOF_BUFFER, /* the core's one buffer, pinned or not, reaches up to it alone */
	LAYOUT_PROOF_SEARCH, /* the buffers of the core alone do not fit below it: an exhausted search */
	LAYOUT_PROOF_MOMENT, /* what is alive at step `witness`, the core, needs it round its pins and with its alignments
						  */
	LAYOUT_PROOF_CONTRADICTED, /* nothing is proved: whoever runs the step needs less */
	LAYOUT_PROOF_COUNT
};
extern const char *const layout_proof_names[LAYOUT_PROOF_COUNT]; /* "load", "buffer" ... */

/* Two pins that contradict each other. */
struct layout_clash {
	uint32_t buffer[2];        /* NONE where there is no clash */
	int64_t first[2], last[2]; /* the bytes that they are pinned to */
	int64_t step;              /* at which both are live */
};
#define LAYOUT_NO_CLASH ((struct layout_clash){ .buffer = { NONE, NONE } })
/* What is said of both after their names: "are pinned to overlapping places: to bytes 0 to 3 ...". Returns text. */
char *layout_clash_text(const struct layout_clash *clash, char *text, size_t size);

struct layout {
	int64_t *offset;           /* [n] */
	int64_t arena;             /* highest byte in use */
	int64_t load;              /* the largest sum of sizes alive at one step */
	struct proof proof;        /* arena: no layout has a smaller one than the bound, >= load */
	enum layout_proof ground;  /* what proves the bound */
	int64_t moment;            /* the first step with the load */
	int64_t witness;           /* proof by moment: the step */
	uint32_t *core; /* proof by buffer or search: the buffers that alone need `bound` bytes, ascending; by load: only */
	uint32_t core_count;       /* where the capacity is below it, those that alone exceed the capacity */
	bool irreducible;          /* without any one of the core the others would do with less, or fit the capacity */
	struct layout_clash clash; /* INFEASIBLE because two pins contradict each other */
	const char *strategy;      /* static: what found the layout, "dive TWA" */
	uint32_t moved;            /* strategy FILE: buffers that couldn't lie at their hints */
};

/* Results of components, kept by the caller from one run to the next. Both are called from the solving thread.
 * The key covers everything that the value depends on: equal components have equal keys wherever they stand. */
struct layout_cache {
	/* Copies the value of `bytes` bytes; false where there is none. */
	bool (*lookup)(void *context, const uint64_t key[2], void *value, size_t bytes);
	void (*store)(void *context, const uint64_t key[2], const void *value, size_t bytes);
	void *context;
};

struct layout_options {
	enum layout_strategy strategy;
	int64_t alignment;         /* >= 1: sizes are rounded up to it, offsets are multiples of it */
	int64_t capacity;          /* > 0: stop at the first arena within it; INFEASIBLE is proved. 0: the smallest arena */
	uint64_t effort;           /* ticks for the exact search and other improvement; 0: cheap strategies only */
	bool first; /* the first layout that one dive finds, of very many buffers one that comes quicker: for those who
				   can't wait */
	const struct layout_cache *cache; /* optional */
};
/* Ticks of effort step 0 (cheap strategies only) to 10; each is four times the one before. Step 3, the default, is
 * about a second. */
#define LAYOUT_EFFORT(step) ((step) > 0 ? UINT64_C(4000000) << 2 * (step) : 0)
#define LAYOUT_EFFORT_DEFAULT LAYOUT_EFFORT(3)

/* Offsets for all buffers, by the strategy asked for; arena, bound and proof.
 * OK: done, as good as the effort allows; the layout is always valid, proved says whether it is the best one.
 * INFEASIBLE: no layout fits the capacity, or the pins contradict each other; error names the buffers, and the
 *   layout's bound and core say why, where a search proved it.
 * CANCELLED, LIMIT (of control): the layout is the best so far, valid, unless offset is NULL.
 * BAD_INPUT: a size, life, alignment or piece breaks a rule above. NO_MEMORY.
 * After anything else than NO_MEMORY and BAD_INPUT free the layout with layout_free().
 * Cheap strategies: O(n log n) or so for the dive and the bound, O(overlapping pairs) for the fits. */
enum status layout_solve(const struct buffers *buffers, const struct layout_options *options, struct control *control,
			 struct layout *layout, struct error *error);
void layout_free(struct layout *layout);
#define layout_drop layout_free

/* The largest sum of sizes (rounded up to the alignment) alive at one step; *moment: the first such step.
 * Returns -1 when out of memory. O(n log n). */
int64_t layout_load(const struct buffers *buffers, int64_t alignment, int64_t *moment);

/* The independent checker: offsets are >= 0, aligned and as pinned, nothing that is alive at one step overlaps, the
 * arena holds everything, and a bound by load or by one buffer is worked out again from scratch, one by search as far
 * as a small effort goes. Shares no code with the solvers. BAD_INPUT with the culprits in error. O(n log n). */
enum status layout_check(
	const struct buffers *buffers, int64_t alignment, const struct layout *layout, struct error *error);

/* Whether the buffers of a core fit the capacity by themselves, by a plain search that shares no code with the solvers,
 * for what a search has proved: INFEASIBLE, OK. LIMIT: more than 64 buffers, or the nodes are spent. NO_MEMORY. */
enum status layout_check_core(const struct buffers *buffers, const uint32_t *core, uint32_t count, int64_t alignment,
			      int64_t capacity, uint64_t nodes);

/* What is alive at the step needs at least so many bytes, by subset sums of what fits between pins and by alignments;
 * -1 when out of memory. Shares no code with the solvers. */
int64_t layout_check_moment(const struct buffers *buffers, int64_t alignment, int64_t step);

/* ---- the caching allocator ---- */

/* What the allocator comes to. */
struct allocated {
	int64_t reserved;  /* on a device without end */
	int64_t least;     /* the least limit found at which no allocation fails, to 2 MiB or a thousandth; > the limit that
						* was asked for if and only if one fails there */
	int64_t used;      /* the most that buffers have at once, as rounded */
	int64_t breaks;    /* the step at which an allocation fails at the limit; -1: it holds */
	uint32_t retries;  /* how often cached memory goes back to the device there, as an allocation has failed */
};
/* PyTorch's CUDA caching allocator fed with the buffers in order of steps, frees before allocations, within a step in
 * the order of the buffers: sizes rounded to 512 bytes, small and large pools, best fit, splitting and merging; where
 * the device has no more, cached memory goes back to it and the block is asked for once more. expandable: one growing
 * segment per pool. Streams have pools of their own: what one has reserved no other takes.
 * Whether the buffers hold within a limit (< 0: none), and the rest. No limit follows from another: that at which one
 * fails may be the larger one. false when out of memory. O(n log n) a simulation, and a dozen of them. */
bool layout_holds(const struct buffers *buffers, bool expandable, int64_t limit, struct allocated *allocated);
/* The step at which an allocation fails within a limit >= 0; INT64_MAX: none does; 0 also where memory ran out. One
 * simulation. */
int64_t layout_breaks(const struct buffers *buffers, bool expandable, int64_t limit);
