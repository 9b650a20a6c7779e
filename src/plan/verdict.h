/* verdict.h: whether a plan fits its device: all that the report counts, against the whole memory. */
#pragma once

#include "plan.h"

/* Bytes of the device that needs most. plan + ahead + buffers + reserve = needed; cap is the whole device. */
struct verdict {
	enum fits fits;
	bool guess;                 /* it rests on what nobody knows: the plan's notes say on what */
	int64_t plan;               /* the arena, or the peak where it is higher */
	int64_t ahead;              /* parameters gathered a layer ahead */
	int64_t buffers;            /* of collectives, for every group of devices that a device talks with */
	int64_t reserve;            /* contexts, libraries */
	int64_t needed, cap;        /* cap < 0: there is none */
	int64_t caching, expandable; /* needed with PyTorch's caching allocator in the place of the plan, without and with
									expandable segments */
};

/* The one place that decides. O(ranks). */
struct verdict plan_verdict(const struct plan *plan);
/* "fits: 69.97 of 80.0 GiB (caching allocator 84.1: fragmentation; expandable segments 72.3)", "does not fit: 84.20
 * of 80.0 GiB, 4.20 GiB too much: no order fits (...)", "needs 3.02 GiB, no cap (...)"; with ", a guess" before the
 * parenthesis where it is one. Returns text. */
char *verdict_text(const struct verdict *verdict, char *text, size_t size);
/* Its parts: up to the cap, what is too much ("" where nothing is), and what stands in the parenthesis. Return text. */
char *verdict_plan_text(const struct verdict *verdict, char *text, size_t size);
char *verdict_excess_text(const struct verdict *verdict, char *text, size_t size);
char *verdict_allocator_text(const struct verdict *verdict, char *text, size_t size);
#define VERDICT_TEXT 200

/* Bytes that a plan needs of its cap less the reserve: the plan, what is gathered ahead, buffers. */
int64_t plan_needs(const struct plan *plan);
/* The same in PyTorch, whose caching allocator is simulated in the place of the planned addresses; with ZeRO stage 3
 * and one microbatch as fully_shard gathers and reduces, where that is known. OK or NO_MEMORY. O(plan). */
enum status plan_reserves(const struct plan *plan, int64_t *bytes);
