/* play.h: how long a step takes in the order of a line: what step_time.h finds, without its starts and sums, and many
 * times in a row.
 *
 * Not for steps with copies to the host: these hold computation back by their places. */
#pragma once

#include "overlap.h"

/* lineup: an order that changes op by op, with the live bytes at each place.
 *
 * Views that need one op alone cost neither time nor memory: they run right behind it, and the line has the other ops
 * alone. What such a view touches, the op it hangs on touches. */

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
/* The same for plays alone: without live bytes. */
void lineup_place(struct lineup *line, const uint32_t *order);
void lineup_write(const struct lineup *line, uint32_t *order);

/* What changes from now on can be undone: within [low, high] only. O(high - low). */
void lineup_keep(struct lineup *line, uint32_t low, uint32_t high);
void lineup_undo(struct lineup *line);
/* The op at a place to another one, as if nothing depended on anything. O(places between + users of what it touches).
 */
void lineup_move(struct lineup *line, uint32_t from, uint32_t to);
/* The highest live bytes within the window kept. */
int64_t lineup_peak(const struct lineup *line);

struct play {
	const struct overlap_request *request;
	const struct lineup *line;
	uint32_t nodes;            /* the line's ops, then the collectives that ops make themselves */
	uint32_t *tail;            /* [ops] the last node that stands for it */
	uint32_t *of;              /* [nodes] the line's op */
	uint8_t *stream;           /* [nodes] */
	int64_t *time;             /* [nodes] */
	bool *computes, *sends, *early;  /* [ops] as solver/cost/step_time.h has it */
	uint32_t *layer;           /* [ops] */
	struct csr succ;           /* [nodes] */
	struct csr data;           /* [ops] what the data go to: succ of the line without what pins and memory ask for */
	uint32_t *needs;           /* [nodes] how many it waits for */
	int64_t computed;          /* picoseconds of all that computes */

	uint32_t *missing, *ended; /* [nodes] scratch */
	uint32_t *release, *first_released,
		*next_released; /* [ops] of a collective: what begins before it, and the lists of these */
	uint32_t *use;             /* [ops] the first place that computes with it */
	uint32_t *gather, gathers; /* [ops] early collectives by their use */
	uint32_t *heap[STREAMS_MAX], waiting[STREAMS_MAX]; /* collectives that could begin; by key: */
	uint64_t *key;             /* [nodes] */
	int64_t *gap; /* [ops] picoseconds that computation waits before it, as of the last play that came to its end */
	struct arena arena;
};

/* Whether steps of this graph can be played. */
bool play_can(const struct graph *graph);
/* Free it in any case. OK or NO_MEMORY. O(graph). */
enum status play_new(const struct overlap_request *request, const struct lineup *line, struct play *play);
void play_free(struct play *play);
#define play_drop play_free
/* Picoseconds; more than most, which may be less than the step takes, as soon as that is sure. O(nodes log nodes +
 * dependencies). */
int64_t play_step(struct play *play, int64_t most);

/* anneal: an order for time, changed at random: ops one by one, also to slower orders for a while (simulated
 * annealing, Kirkpatrick et al. 1983). */

struct anneal_effort {
	uint64_t plays;            /* of the step */
	int64_t hot, bound;        /* picoseconds: the first temperature; no order is faster */
	int64_t limit;             /* bytes */
	struct control *control;   /* may stop it */
};

/* From an order that keeps the limit. order: [ops], the fastest on the way, which keeps the limit. OK, also
 * where it was stopped, or NO_MEMORY. O(plays * (nodes log nodes + dependencies)). */
enum status overlap_anneal(struct lineup *line, struct play *play, const struct anneal_effort *effort, uint32_t *order);
