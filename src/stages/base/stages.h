/* stages.h: what all stages run with; order and layout.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     results        what transforming, ordering and laying out a graph return
 *     store          results by fingerprint
 *     stages         order and layout
 *     allocator      several steps in PyTorch's caching allocator
 *     segments       orders that hold there
 *     group_pins     tensors kept next to each other
 *     notes          what is told with a plan */
#pragma once

#include "results.h"

/* An orderer as order_solve() is one: tests put others in its place. */
typedef enum status order_solver(
	const struct problem *, const struct order_options *, struct control *, struct order_result *);

/* Decides how a step is split: the plan checker puts a plan's own decision in the place of the strategies. */
typedef enum status shard_decider(
	void *context, const struct units *units, struct sharding *sharding, struct error *error);

/* Sees what each step of stage_transform() made of what; anything but OK ends it. */
typedef enum status transform_witness(
	void *context, const char *step, const struct graph *before, const struct graph *after);

#define MARGIN_NO_CAP (-BYTES_MAX)      /* a margin that leaves no cap */

/* recompute=auto with nothing computed again but what pins say: no word of the knob, but what variants.c makes of a
 * scenario. Choices that follow are those of recompute=none. */
#define RECOMPUTE_KEPT RECOMPUTE_COUNT

/* What choices are asked for besides what the scenario says, by whoever compares plans (src/decide). Nothing changes it
 * on its way down; all 0: nothing. */
struct plan_wish {
	int64_t margin; /* bytes of the memory cap to leave free for what plans come to beyond the choices' models; < 0:
					   they come to less */
	bool alone;                 /* offload=on: recomputation sends nothing to the host by itself */
	bool least;                 /* auto: what minred finds */
	enum {
		RIVALS_SOUGHT,
		RIVALS_NONE,
		RIVALS_ALONE,
		RIVALS_SOON
	} rivals; /* auto: beside what the search finds others to plan; just that; an expert's and others, without the
				 search; what one of the quick searches finds, for whoever looks on */
	bool whole;                 /* auto: rivals of a deep step, too, where few of its layers could tell */
	const struct sharded *soon;  /* RIVALS_SOON's: its search isn't made again; may be NULL */
	const struct sharded *first; /* what earlier searches have shown; may be NULL */
	uint32_t rival;             /* 0: what the strategy finds; else one of first's rivals, counted from 1 */
	const struct sharding *told; /* auto: this one of first's graph, which moves have led to; else NULL */
};

/* What a stage runs with. */
struct stage_context {
	const struct graph *input;          /* as read; NULL: nobody asks what its file says of it */
	struct store *store;
	struct control *control;
	const struct rules *rules;
	const atomic_bool *abandoned;       /* nobody wants the result any more: don't even finish it quickly; may be NULL */
	order_solver *order_solver;         /* NULL: order_solve() */
	shard_decider *shard_decider;       /* NULL: what the strategy says */
	void *shard_context;
	transform_witness *witness;         /* NULL: nobody looks */
	void *witness_context;
	size_t forgets;                     /* larger results of a candidate that is no better aren't kept */
	bool only_stored;                   /* a result that is not in the store: NULL with status LIMIT */
	bool any;                           /* any plan that fits will do */
	bool order_reused, layout_reused;   /* set when the stage's result came from the store */
};

/* The ordering problem of a scenario: alignment, workspace and order pins applied. The pins' names must be known. */
enum status scenario_problem(
	const struct graph *graph, const struct scenario *scenario, struct problem *problem, struct error *error);

/* Whether the peak that a file brings of its own, as its framework runs this very graph, is below a bound on it: then
 * the graph isn't the step, and nothing is proved of it. */
bool stage_contradicts(
	const struct stage_context *stage, const struct graph *graph, const struct scenario *scenario, int64_t bound);

/* All that ordering, and laying out, read of a scenario. A choice that plans adds both to its own key. */
void order_key_add(struct key *key, const struct scenario *scenario, bool quick);
void layout_key_add(struct key *key, const struct scenario *scenario, bool quick);

/* quick: the first plan of heuristics alone, whatever the strategy. A new reference, from the store where it is there.
 */
struct ordered *stage_order(
	struct stage_context *stage, struct graph *graph, const struct scenario *scenario, bool quick, struct error *error);
/* The same result with another valid order, whose peak it has; bound and certificate stay: they hold of every order.
 * winner: static text. */
struct ordered *ordered_again(const struct ordered *from, const struct scenario *scenario, const uint32_t *order,
	const char *winner, struct error *error);
struct laid_out *stage_layout(struct stage_context *stage, const struct ordered *ordered,
	const struct scenario *scenario, bool quick, struct error *error);
/* Steps that must hold: what the first leaves changes the second, and where cached memory goes back to the device, the
 * third, too. */
#define ALLOCATOR_STEPS 3

/* Buffers of some steps with one allocator: each finds what the one before has left. The optimizer's state is made
 * where it is first used, or before the first step, and what a step leaves, such as its loss, goes where the next step
 * makes it anew. In the arena; OK or NO_MEMORY. O(steps * items). */
enum status allocator_buffers(const struct ordered *ordered, const struct laid_out *laid_out, int64_t steps,
	bool state_first, struct arena *arena, struct buffers *buffers);
/* What a step needs with nothing beside it: its arena, or the least limit at which these steps hold. OK or NO_MEMORY.
 */
enum status allocator_needs(const struct ordered *ordered, const struct laid_out *laid_out,
	const struct scenario *scenario, int64_t *bytes);

/* segments: orders that hold there. */

/* Of orders (count of them, each [ops], laid_out of the first) one that holds within the memory cap in PyTorch's
 * allocator, or what moves of single ops lead to from the one that holds the longest. order: [ops]; *holds: it does.
 * OK, NO_MEMORY or CANCELLED. Some thousand simulations at most. */
enum status segments_order(const struct ordered *ordered, const struct laid_out *laid_out,
	const struct scenario *scenario, bool state_first, const uint32_t *const *start, uint32_t count,
	const struct control *control, uint32_t *order, bool *holds);

/* group_pins: contiguous groups: `pin tensor A behind B`. */

/* behind [n] from the pins: the buffer behind which each lies; itself: the first of a row; NONE: in none. NULL without
 * any. buffer: storage -> buffer, or NONE: not looked at. INFEASIBLE: the pins contradict each other; error names the
 * tensors. Tensors that the graph lacks, on other pipeline ranks, are left out. O(pins^2). */
enum status group_pins(const struct graph *graph, const struct scenario *scenario, const uint32_t *buffer, uint32_t n,
	struct arena *arena, uint32_t **behind, struct error *error);

/* What lies in a row is one block, which takes its memory as long as any of it is live. */
struct group_blocks {
	struct buffers buffers;    /* a row, or a buffer that is in none */
	uint32_t *block;           /* [n] by buffer */
	int64_t *from;             /* [n] its offset within the block */
};

/* In the arena; sizes are whole multiples of the alignment. INFEASIBLE: two pinned offsets don't lie as the row does;
 * NO_MEMORY. O(n). */
enum status group_join(const struct buffers *buffers, const uint32_t *behind, struct arena *arena,
	struct group_blocks *blocks, struct error *error);
