/* sort.h: many items by a number each, such as millions of events by their step. */
#pragma once

#include "base.h"

struct keyed { int64_t key; uint32_t item, more; }; /* more: whatever goes along */

/* Sorts by key; equal keys keep their order. False: out of memory, nothing is moved. O(count) for keys of little range,
 * at most 8 times as much; memory as the list again. */
bool sort_keyed(struct keyed *list, size_t count);

/* heap: a binary heap of ops with changeable keys. */

/* Smallest first by key, then by second, then by the op's number. */
struct order_heap {
	uint32_t count;
	uint32_t *op;    /* heap order */
	uint32_t *place; /* op -> index in `op`, or NONE */
	int64_t *key, *second; /* op -> */
};

enum status order_heap_init(struct order_heap *heap, uint32_t ops, struct arena *arena);
/* Inserts op, or moves it where its keys changed. O(log n). */
void order_heap_put(struct order_heap *heap, uint32_t op, int64_t key, int64_t second);
void order_heap_remove(struct order_heap *heap, uint32_t op);
static inline uint32_t order_heap_top(const struct order_heap *heap)
{
	return heap->count ? heap->op[0] : NONE;
}
