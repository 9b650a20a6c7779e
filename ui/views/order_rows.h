/* order_rows.h: ops down, lifetimes across: the rows of a schedule. */
#pragma once

#include "details.h"

/* schedule: an order that can be changed by hand, with what it does to memory at each step. */

#define LANES 64

/* An op that could run next. Bytes are those of all live memory. */
struct candidate {
	uint32_t op;
	int64_t during; /* while it runs */
	int64_t after;  /* when it has run and its last-used inputs are freed */
	int64_t best;   /* the lowest peak found for orders that go on with it; 0: not looked for */
};

struct order_schedule {
	const struct problem *problem; /* the plan's: items are the storages that come and go */
	uint32_t *order, *position;    /* [ops] */
	int64_t *live;                 /* [ops] by position */
	uint32_t *first, *last;        /* [items] positions */
	uint8_t *lane;                 /* [items] column in drawings, the largest items leftmost; LANES: none was free */
	int lanes;                     /* that are taken at some time */
	int64_t peak;
	uint32_t peak_position, moves; /* moves by hand */
	struct arena arena;
};

/* The plan's order. The plan must outlive the schedule. OK or NO_MEMORY (empty). O(problem + items log items). */
enum status schedule_new(const struct plan *plan, struct order_schedule *schedule);
/* The same for any valid order of a problem, which must outlive the schedule. */
enum status schedule_of(const struct problem *problem, const uint32_t *order, struct order_schedule *schedule);
void schedule_free(struct order_schedule *schedule);
/* Swaps the ops at a position and the next one, and tells in a sentence what that did: the peak before and after, and
 * where it changed the largest storage that is the reason. plan: for names. BAD_INPUT when the later one needs the
 * earlier, NO_MEMORY; then all is as before, and the text says why. O(problem). */
enum status schedule_swap(
	struct order_schedule *schedule, uint32_t position, const struct plan *plan, char *text, size_t size);
/* Runs an op at a position: it must be able to run there, and all ops between keep their order behind it. OK or
 * NO_MEMORY, then the order is as before. O(problem). */
enum status schedule_run(struct order_schedule *schedule, uint32_t position, uint32_t op);
/* Live bytes before the op at a position runs. */
int64_t schedule_before(const struct order_schedule *schedule, uint32_t position);
/* The items that the op at a position frees. list has room for the items; returns how many. */
uint32_t schedule_freed(const struct order_schedule *schedule, uint32_t position, uint32_t *list);
/* The ops that can run at a position, given what ran before: the one that needs the least first. list has room for the
 * ops; returns how many. O(problem). */
uint32_t schedule_ready(const struct order_schedule *schedule, uint32_t position, struct candidate *list);
/* What speaks for one of the ops that could run. solved: a solver put it there, not the user's hand. Static text. */
const char *schedule_why(
	const struct order_schedule *schedule, const struct candidate *list, uint32_t count, uint32_t chosen, bool solved);

enum { ORDER_AMOUNT = 10 }; /* columns of an amount of bytes */

struct order_rows {
	const struct order_schedule *schedule;
	const struct order_roam *roam; /* its segments have rules among the rows */
	uint32_t ran;                  /* so many ops have run; those behind are faint */
	uint32_t listed;               /* ops with a row */
	uint32_t top;                  /* first row shown: of an op or of a segment's rule */
	int page;                      /* rows of a page, set by drawing */
	struct details details;        /* what follows the lanes, set by drawing */
};

/* Draws the rows around the shared cursor, which scrolls them. */
void order_rows_draw(struct frame *frame, struct rect rect, struct order_rows *rows, const struct model *model);
/* The position whose row is at a line of the rows, or NONE. */
uint32_t order_rows_at(const struct order_rows *rows, int y);
/* "makes 64.0 MiB  left.out, ...": the sum of some items, and as many names as fit. */
void order_items_draw(struct frame *frame, int y, const struct model *model, const struct problem *problem,
	const char *verb, enum role role, const uint32_t *item, uint32_t count);
/* The line above candidates, with the head of their second amount; says which details of them fit. */
void order_candidates_title(struct frame *frame, int y, const struct model *model, uint32_t count, const char *second,
	struct details *details);
/* An op that could run: what it needs, and what it leaves behind against the bytes before it, or what can be reached
 * after it against what could before. */
void order_candidate_draw(struct frame *frame, int y, const struct model *model, const struct candidate *candidate,
	int64_t before, bool chosen, const struct details *details);

/* segment_rows: ROAM's segments among the rows of the Order view: a rule above each segment's first op. Without
 * segments every row is an op's. */

/* The row of the op at a position. O(log segments), as the next two. */
uint32_t segment_row(const struct order_roam *roam, uint32_t position);
/* The segment whose rule is in the row, or NONE where an op does. *position: of that op, or of the segment's first.
 */
uint32_t segment_row_of_rule(const struct order_roam *roam, uint32_t row, uint32_t *position);
/* The segment that a position belongs to, or NONE. */
uint32_t segment_at(const struct order_roam *roam, uint32_t position);
/* The segment that the op at a position ends as its waist, or NONE. */
uint32_t segment_of_waist(const struct order_roam *roam, uint32_t op, uint32_t position);

/* A segment's rule: number, phase, ops, peak, how its leaves were solved, the waist that ends it. */
void segment_rule_draw(struct frame *frame, int y, const struct plan *plan, uint32_t segment);
/* What ROAM decided about the op at a position, in one line: which branch it belongs to, where that could run and why
 * it runs where it does; or that it is a waist or another op of the main path. */
void segment_choice_draw(struct frame *frame, int y, const struct plan *plan, uint32_t op, uint32_t position);

/* challenge: the user orders a graph op by op, against the optimum. */

#define CHALLENGE_MOST 200u /* ops: what can still be reached is solved after every step */

struct challenge {
	bool on;
	uint64_t graph; /* fingerprint of the graph, and what else the problem depends on */
	struct scenario scenario;
	struct problem problem; /* its own: plans come and go while it is played */
	struct order_schedule schedule; /* the ops that ran, then the rest in the best order from there */
	struct candidate *candidate; /* [ops] those that can run, [candidates] */
	uint32_t candidates, selected;
	uint32_t done, hints, undone;
	bool scored;              /* time and score are shown */
	int64_t begun, ended;     /* seconds of the model's clock; ended < 0: not yet */
	bool hinted;              /* the hint of this step is shown */
	int64_t peak;             /* of what ran */
	int64_t reachable, bound; /* the lowest peak found for any order that begins so, and that no such order beats */
	int64_t optimum;          /* the same for all orders, when the game began */
	uint32_t lost;            /* ops that had run when the best was out of reach for the first time; 0: it isn't */
	int64_t lost_to;          /* what was reachable then */
	bool optimum_proved;
	int first_row; /* of the candidates on the screen */
	struct order_rows rows;
	int64_t last[CHALLENGE_MOST]; /* live bytes of the last order made to its end, of the same graph */
	uint32_t last_ops;
	uint64_t last_graph;
};

/* True while a challenge is being played on the model's graph. */
bool challenge_played(const struct challenge *challenge, const struct model *model);
/* The same; one on another graph ends here. */
bool challenge_on(struct challenge *challenge, const struct model *model);
/* COMMAND_CHALLENGE begins or ends it; others play. False for commands that it doesn't know. */
bool challenge_command(struct challenge *challenge, struct model *model, enum command_id command);
void challenge_draw(struct challenge *challenge, const struct model *model, struct frame *frame);
void challenge_end(struct challenge *challenge);
