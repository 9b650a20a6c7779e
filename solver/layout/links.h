/* links.h: buffers that must lie next to each other, and buffers that may take each other's place.
 *
 * A contiguous group is what MindSpore's SOMAS calls a block: its buffers lie one behind the other, whenever each of
 * them lives. In place is what TensorFlow Lite and XLA do where an operation may write its result
 * over an operand: the two share one offset although both are there at the operation's step.
 *
 * Both are said in pieces (layout.h): all that shares an offset, or lies at a fixed distance, is one buffer, a compound.
 * A part of a group that is not alive leaves a hole that others may use.
 */
#pragma once

#include "layout.h"

/* Either may be NULL. */
struct layout_links {
	uint32_t *behind;          /* [n] NONE: in no group; itself: the first of a group, which starts at a multiple of all of its alignments;
				    * else the buffer behind which it starts, at the first multiple of its alignment. No two have the same
				    * one before them, and there are no circles */
	struct csr donors;         /* buffer -> those whose place it may take, no more than one of which it does take */
};

/* Buffers made of buffers. */
struct layout_compounds {
	struct buffers buffers;
	uint32_t *whole;           /* [n] by the caller's buffers: the compound it is in */
	int64_t *from;             /* [n] its offset within it */
	struct arena arena;
};

/* Whether a buffer may take a donor's place: the donor's last step is the buffer's first, the donor has started before, both
 * are there as a whole at that step, and neither is in a group or pinned elsewhere. */
bool layout_may_take(const struct buffers *buffers, const struct layout_links *links, uint32_t buffer, uint32_t donor);

/* Joins groups, and buffers with the donors chosen (donor [n]: NONE or one that it may take, each buffer a donor at most once;
 * NULL: none). INFEASIBLE: pins within a group contradict each other, clash says which. BAD_INPUT: sizes add up to too much.
 * O(buffers + pieces). */
enum status layout_links_join(const struct buffers *buffers, const struct layout_links *links, int64_t alignment, const uint32_t *donor,
			      struct layout_compounds *compounds, struct layout_clash *clash, struct error *error);
void layout_compounds_free(struct layout_compounds *compounds);

/* Offsets of the buffers [n] from those of the compounds. */
void layout_compounds_spread(const struct layout_compounds *compounds, uint32_t n, const int64_t *whole, int64_t *offset);

/* The same buffers, with no more alive at each step than with any choice of donors. So their load is a bound for every
 * layout. Sizes and pieces are in the arena, the rest is lent from the buffers. O(buffers + pieces + donors). */
enum status layout_links_relax(const struct buffers *buffers, const struct layout_links *links, int64_t alignment, struct arena *arena,
			       struct buffers *relaxed);

struct linked_layout {
	struct layout layout;      /* of the compounds; its arena, load and core are theirs */
	struct layout_compounds compounds;
	int64_t *offset;           /* [n] of the buffers; NULL: none was found */
	uint32_t *donor;           /* [n] whose place each has taken, or NONE; NULL without donors */
	int64_t bound;             /* no choice of donors has a smaller arena; layout.bound holds for the one chosen */
	bool proved;               /* arena == bound */
};

/* The smallest arena over choices of donors: all that can be taken, those of similar sizes, of equal sizes, none; all choices
 * where there are at most LINKS_ALL candidates. Status as of layout_solve(), of the choice that was kept; INFEASIBLE only where
 * it is proved for every choice. Free with linked_layout_free() after anything but NO_MEMORY and BAD_INPUT. */
#define LINKS_ALL 5
enum status layout_solve_linked(const struct buffers *buffers, const struct layout_links *links, const struct layout_options *options,
				struct control *control, struct linked_layout *result, struct error *error);
void linked_layout_free(struct linked_layout *result);
#define linked_layout_drop linked_layout_free

/* The same as a layout of the n buffers: offsets and core are theirs. What is proved otherwise than by load is said to be by search,
 * for it takes the groups to see it again. NO_MEMORY. */
enum status linked_layout_flatten(const struct linked_layout *linked, uint32_t n, struct layout *layout);

/* The independent checker of what links say: groups lie as they must, no donor is taken twice or without leave, and nothing else
 * that is alive at one step overlaps; offsets are aligned and as pinned, and within the arena. BAD_INPUT with the culprits in
 * error. O(n log n). */
enum status layout_check_links(const struct buffers *buffers, const struct layout_links *links, int64_t alignment, const int64_t *offset,
			       const uint32_t *donor, int64_t arena, struct error *error);
