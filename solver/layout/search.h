/* search.h: is there a layout within a capacity? For this folder only. */
#pragma once

#include "model.h"

/* Inferences that may be switched off, to test that they lose nothing. */
enum layout_rule {
	LAYOUT_RULE_DOMINANCE = 1,
	LAYOUT_RULE_PENDING = 2,
	LAYOUT_RULE_FLOORS = 4,
	LAYOUT_RULE_HATLESS = 8,
	LAYOUT_RULE_PARTS = 16,
	LAYOUT_RULE_TWINS = 32,
	LAYOUT_RULE_TABLE = 64,
	LAYOUT_RULE_FILL = 128,
	LAYOUT_RULES_ALL = 255
};

struct layout_search;

/* nodes: that the runs will be given, 0: many. NULL when out of memory. O(n sections + overlapping pairs) memory. */
struct layout_search *layout_search_new(const struct layout_model *model, uint64_t nodes);
void layout_search_free(struct layout_search *search);

/* OK: offset [n] holds a layout whose height is within the capacity. INFEASIBLE: there is none. LIMIT: `nodes` are
 * spent (0: no limit) or control says stop (then control_status() is not OK). NO_MEMORY.
 * keys: the order of the candidates, see layout_sort(). rules: the inferences to use; what one run has refuted serves
 * the next, whatever its rules. */
enum status layout_search_run(struct layout_search *search, int64_t capacity, const char *keys, unsigned rules,
	uint64_t nodes, int64_t *offset, struct control *control);

/* search_state: the exact search's data. For this folder only. */

/* Entries of the table of failures: this many for each buffer, up to 2^18. */
#define TABLE_SHARE 512
#define TABLE_MOST (UINT32_C(1) << 18)

/* Undo records. */
struct trail { uint32_t index; int64_t value; };

struct trails {
	struct trail *trail;
	size_t count, room;
};

/* A buffer of a part and its place in the part's order. */
struct entry { uint32_t buffer, turn; };

/* Tells sets of unplaced buffers with their lows apart. Two 64-bit sums of independent hashes: what has been refuted
 * is a proof. */
struct set_key { uint64_t half[2]; };

/* "Nothing with this key can be completed from (offset, turn) on." turn counts within the part only. */
struct failure { struct set_key key; int64_t offset; uint64_t part; uint32_t turn; };

struct frame {
	uint32_t first, last;      /* sections of the part */
	size_t list;               /* the part's buffers: search->list[list .. list + count), those placed since included */
	uint32_t count;
	uint64_t part;             /* a number for each part that was ever opened */
	int64_t offset;            /* candidates come in order of (offset, turn), from here on */
	uint32_t turn;
	int64_t start_offset;      /* the same when the frame was opened */
	uint32_t start_turn;
	uint32_t fill;             /* a section that somebody must fill at the lowest place, NONE: none */
	int64_t hole;              /* from here on a candidate would leave a hole that some buffer fits */
	int64_t highest;           /* above this the rest of some section does not fit */
	struct set_key key;
	uint32_t placed;           /* the candidate being tried, NONE: none */
	bool hat;                  /* something unplaced overlaps it */
	size_t lows, floors;       /* trails before it was placed */
	size_t mark;               /* entries in search->list before the frame's own */
	size_t cut;                /* search->cut[cut ..): ends of the parts that it falls into */
	uint32_t parts, next_part;
};

struct sort_key { double key[3]; uint32_t buffer; };

struct layout_search {
	const struct layout_model *model;
	unsigned rules;
	int64_t capacity;
	/* by buffer */
	int64_t *low;
	bool *placed;
	uint32_t *turn;            /* in the part being searched */
	uint32_t *twin;            /* the equal buffer before it, or NONE */
	struct csr neighbours;     /* free buffers that overlap it in time */
	struct csr obstacles;      /* pinned ones, bottoms and tops ascending */
	int64_t *lifted;           /* pending: its low once it is lifted */
	uint32_t *pending;         /* stamp: it is pending */
	/* by section */
	struct csr members;        /* free buffers */
	struct csr pinned;         /* pinned buffers */
	int64_t *floor;            /* what is unplaced lies above */
	int64_t *total;            /* unplaced bytes */
	uint32_t *crossing;        /* unplaced buffers that go on into the next section */
	uint32_t *stamp;
	uint32_t clock;            /* of stamps */
	/* the stack */
	struct frame *frame;       /* [n + 3] */
	uint32_t depth;
	struct entry *list;
	size_t list_count, list_room;
	uint32_t *cut;
	size_t cut_count, cut_room;
	struct trails lows, floors;
	struct failure *table;
	uint32_t table_size;       /* a power of two */
	uint64_t parts_opened;
	uint64_t salt;             /* tells runs with other capacities apart */
	const char *keys;
	struct sort_key *sort;     /* [n] scratch */
	int64_t *solution;
	uint64_t nodes, work;
	uint64_t unpaid;           /* work of the setup, charged to the first run */
	bool no_memory;
	struct arena arena;
};

static inline bool is_free(const struct layout_search *search, uint32_t b)
{
	return search->model->fixed[b] < 0;
}
