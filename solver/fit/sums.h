/* sums.h: changes of a plan whose times and bytes add up: those sums that take most time off within a room. */
#pragma once

#include "solver/base/base.h"

struct fit_item {
	int64_t time, bytes;       /* that it adds */
	double cost;               /* of both, at the price of a byte */
	bool apart;                /* it is in no sum */
};

#define FIT_SUM_MOST 12    /* items of a sum */

struct fit_sum { int64_t time, bytes; uint32_t count, item[FIT_SUM_MOST]; };

/* Whether the items can all be in one sum; so can any of them, then. */
typedef bool fit_compatible(void *context, const uint32_t *item, uint32_t count);

/* Sums [sums] of at most `most` that take time off and fit the room, the fastest first, from items by ascending cost;
 * none costs more than the budget. ticks: raised by the work done. OK or NO_MEMORY. O(items * width). */
enum status fit_sums(const struct fit_item *item, uint32_t items, int64_t room, double budget,
	fit_compatible *compatible, void *context, uint64_t *ticks, struct fit_sum *sum, uint32_t most, uint32_t *sums);
