/* heap.c: a binary heap of ops with changeable keys. */
#include "heap.h"

enum status order_heap_init(struct order_heap *heap, uint32_t ops, struct arena *arena)
{
	*heap = (struct order_heap) {
		.op = arena_alloc(arena, ops, sizeof *heap->op),
		.place = arena_alloc(arena, ops, sizeof *heap->place),
		.key = arena_alloc(arena, ops, sizeof *heap->key),
		.second = arena_alloc(arena, ops, sizeof *heap->second),
	};
	NEED(heap->op && heap->place && heap->key && heap->second);
	for (uint32_t op = 0; op < ops; op++)
		heap->place[op] = NONE;
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
