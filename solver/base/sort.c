/* sort.c: radix sort, the lowest digits first: each pass is stable, and moves items in the order of one digit. */
#include <string.h>

#include "sort.h"

#define FEW  24  /* items that are sorted one by one */
#define DIGIT 12 /* bits */
#define DIGITS (1u << DIGIT)

static void insert_each(struct keyed *list, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct keyed item = list[i];
		size_t at = i;
		for (; at > 0 && list[at - 1].key > item.key; at--)
			list[at] = list[at - 1];
		list[at] = item;
	}
}

/* Items by one digit of what their keys are above the least. False where all have the same: nothing is moved. */
static bool by_digit(const struct keyed *from, struct keyed *to, size_t count, uint64_t least, unsigned shift)
{
	size_t start[DIGITS] = { 0 };
	FOR_SIZE(i, count)
		start[((uint64_t)from[i].key - least) >> shift & (DIGITS - 1)]++;
	if (start[((uint64_t)from[0].key - least) >> shift & (DIGITS - 1)] == count)
		return false;
	for (size_t digit = 0, sum = 0; digit < DIGITS; digit++) {
		size_t here = start[digit];
		start[digit] = sum;
		sum += here;
	}
	FOR_SIZE(i, count)
		to[start[((uint64_t)from[i].key - least) >> shift & (DIGITS - 1)]++] = from[i];
	return true;
}

bool sort_keyed(struct keyed *list, size_t count)
{
	int64_t least = count ? list[0].key : 0, most = least;
	bool sorted = true;
	for (size_t i = 1; i < count; i++) {
		sorted &= list[i - 1].key <= list[i].key;
		least = SMALLER(list[i].key, least);
		most = LARGER(list[i].key, most);
	}
	if (sorted)
		return true;
	if (count <= FEW) {
		insert_each(list, count);
		return true;
	}
	struct keyed *MAKE(other, count), *from = list, *to = other;
	uint64_t range = (uint64_t)most - (uint64_t)least;
	for (unsigned shift = 0; other && shift < 64 && range >> shift; shift += DIGIT)
		if (by_digit(from, to, count, (uint64_t)least, shift)) {
			struct keyed *behind = from;
			from = to;
			to = behind;
		}
	if (other && from != list)
		COPY(list, from, count);
	mem_free(other);
	return other != NULL;
}

/* ---- a binary heap of ops with changeable keys ---- */

enum status order_heap_init(struct order_heap *heap, uint32_t ops, struct arena *arena)
{
	*heap = (struct order_heap) { 0 };
	NEED(ROOMS(arena, ops, heap->op, heap->place, heap->key, heap->second));
	FILL_NONE(heap->place, ops);
	return OK;
}

static bool heap_before(const struct order_heap *heap, uint32_t a, uint32_t b)
{
	if (heap->key[a] != heap->key[b])
		return heap->key[a] < heap->key[b];
	if (heap->second[a] != heap->second[b])
		return heap->second[a] < heap->second[b];
	return a < b;
}

static void heap_set(struct order_heap *heap, uint32_t index, uint32_t op)
{
	heap->op[index] = op;
	heap->place[op] = index;
}

static void sift_up(struct order_heap *heap, uint32_t index, uint32_t op)
{
	while (index > 0 && heap_before(heap, op, heap->op[(index - 1) / 2])) {
		heap_set(heap, index, heap->op[(index - 1) / 2]);
		index = (index - 1) / 2;
	}
	heap_set(heap, index, op);
}

static void sift_down(struct order_heap *heap, uint32_t index, uint32_t op)
{
	for (;;) {
		uint32_t child = 2 * index + 1;
		if (child >= heap->count)
			break;
		if (child + 1 < heap->count && heap_before(heap, heap->op[child + 1], heap->op[child]))
			child++;
		if (!heap_before(heap, heap->op[child], op))
			break;
		heap_set(heap, index, heap->op[child]);
		index = child;
	}
	heap_set(heap, index, op);
}

/* Moves op, whose keys may have changed in either direction, from index to where it belongs. */
static void heap_settle(struct order_heap *heap, uint32_t index, uint32_t op)
{
	if (index > 0 && heap_before(heap, op, heap->op[(index - 1) / 2]))
		sift_up(heap, index, op);
	else
		sift_down(heap, index, op);
}

void order_heap_put(struct order_heap *heap, uint32_t op, int64_t key, int64_t second)
{
	uint32_t index = heap->place[op];
	heap->key[op] = key;
	heap->second[op] = second;
	if (index == NONE)
		index = heap->count++;
	heap_settle(heap, index, op);
}

void order_heap_remove(struct order_heap *heap, uint32_t op)
{
	uint32_t index = heap->place[op];
	heap->place[op] = NONE;
	uint32_t last = heap->op[--heap->count];
	if (last != op)
		heap_settle(heap, index, last);
}
