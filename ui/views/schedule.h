/* schedule.h: an order that can be changed by hand, with what it does to memory at each step. */
#pragma once

#include "src/plan/plan.h"

#define LANES 64

/* An op that could run next. Bytes are those of all live memory. */
struct candidate {
	uint32_t op;
	int64_t during;         /* while it runs */
	int64_t after;          /* when it has run and its last-used inputs are freed */
};

struct order_schedule {
	const struct problem *problem;   /* the plan's: items are the storages that come and go */
	uint32_t *order, *position;      /* [ops] */
	int64_t *live;                   /* [ops] by position */
	uint32_t *first, *last;          /* [items] positions */
	uint8_t *lane;                   /* [items] column in drawings, the largest items leftmost; LANES: none was free */
	int lanes;                       /* that are taken at some time */
	int64_t peak;
	uint32_t peak_position, moves;   /* moves by hand */
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
