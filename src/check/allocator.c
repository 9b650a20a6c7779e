/* allocator.c: PyTorch's caching allocator once more, as plainly as can be: every segment is a list of blocks in order
 * of addresses, and every search looks at all of them. After c10/cuda/CUDACachingAllocator.cpp;
 * solver/layout/caching.c, which this checks, keeps treaps instead. */
#include <stdlib.h>

#include "state.h"

#define KIB(n) (INT64_C(1024) * (n))
#define MIB(n) KIB(INT64_C(1024) * (n))

struct block { int64_t segment, address, size; uint32_t owner; uint8_t stream; bool small; }; /* owner NONE: free */

/* Where blocks come from: of each stream one of small blocks and one of large ones. */
struct source { uint8_t stream; bool small; };

struct heap {
	struct block *block; /* by segment, then address */
	size_t room;
	uint32_t count;
	bool expandable;
	int64_t reserved;
};

/* An allocation or the end of one. */
struct moment { int64_t step; uint32_t buffer; bool begins; };

static int allocator_by_time(const void *left, const void *right)
{
	const struct moment *a = left, *b = right;
	if (a->step != b->step)
		return a->step < b->step ? -1 : 1;
	if (a->begins != b->begins)
		return a->begins ? 1 : -1;
	return a->buffer < b->buffer ? -1 : a->buffer > b->buffer;
}

static bool allocator_insert(struct heap *heap, uint32_t at, struct block piece)
{
	if (!mem_reserve(&heap->block, &heap->room, (size_t)heap->count + 1, sizeof *heap->block))
		return false;
	for (uint32_t i = heap->count++; i > at; i--)
		heap->block[i] = heap->block[i - 1];
	heap->block[at] = piece;
	return true;
}

static void allocator_drop(struct heap *heap, uint32_t at)
{
	heap->count--;
	for (uint32_t i = at; i < heap->count; i++)
		heap->block[i] = heap->block[i + 1];
}

static bool is_from(const struct block *piece, struct source source)
{
	return piece->small == source.small && piece->stream == source.stream;
}

/* The smallest free piece but for one that is large enough, of equals that with the lowest address; NONE. */
static uint32_t allocator_smallest(const struct heap *heap, struct source source, int64_t size, uint32_t but)
{
	uint32_t best = NONE;
	for (uint32_t i = 0; i < heap->count; i++) {
		const struct block *piece = &heap->block[i];
		if (i == but || piece->owner != NONE || !is_from(piece, source) || piece->size < size)
			continue;
		if (best == NONE || piece->size < heap->block[best].size
		    || (piece->size == heap->block[best].size && piece->address < heap->block[best].address))
			best = i;
	}
	return best;
}

static uint32_t allocator_last_of(const struct heap *heap, struct source source)
{
	uint32_t last = NONE;
	for (uint32_t i = 0; i < heap->count; i++)
		if (is_from(&heap->block[i], source))
			last = i;
	return last;
}

/* What can grow is taken last. */
static uint32_t best_fit(const struct heap *heap, struct source source, int64_t size)
{
	uint32_t best = allocator_smallest(heap, source, size, NONE);
	uint32_t other = heap->expandable && best != NONE && best == allocator_last_of(heap, source)
		? allocator_smallest(heap, source, size, best)
		: NONE;
	return other != NONE ? other : best;
}

/* More memory of the device: a segment of its own, or the growing one's end. The free piece there; NONE: out of memory.
 */
static uint32_t allocator_reserve(struct heap *heap, struct source source, int64_t size)
{
	int64_t bytes = source.small ? MIB(2) : size < MIB(10) ? MIB(20) : align_up(size, MIB(2));
	if (!heap->expandable) {
		struct block fresh = { heap->reserved, heap->reserved, bytes, NONE, source.stream, source.small };
		heap->reserved += bytes;
		return allocator_insert(heap, heap->count, fresh) ? heap->count - 1 : NONE;
	}
	uint32_t last = allocator_last_of(heap, source);
	int64_t granule = source.small ? MIB(2) : MIB(20),
			there = last != NONE && heap->block[last].owner == NONE ? heap->block[last].size : 0;
	bytes = align_up(size - there, granule);
	heap->reserved += bytes;
	if (there > 0) {
		heap->block[last].size += bytes;
		return last;
	}
	struct block fresh = { 2 * source.stream + !source.small,
		last == NONE ? 0 : heap->block[last].address + heap->block[last].size, bytes, NONE, source.stream,
		source.small };
	uint32_t at = last != NONE ? last + 1 : heap->count;
	return allocator_insert(heap, at, fresh) ? at : NONE;
}

static bool allocator_allocate(struct heap *heap, uint32_t owner, uint8_t stream, int64_t bytes)
{
	int64_t size = bytes < 512 ? 512 : align_up(bytes, 512);
	bool small = size <= MIB(1);
	struct source source = { stream, small };
	uint32_t at = best_fit(heap, source, size);
	if (at == NONE)
		at = allocator_reserve(heap, source, size);
	if (at == NONE)
		return false;
	struct block *piece = &heap->block[at], rest = *piece;
	piece->owner = owner;
	rest.address += size;
	rest.size -= size;
	if (small || heap->expandable ? rest.size < 512 : rest.size <= MIB(1))
		return true;
	piece->size = size;
	return allocator_insert(heap, at + 1, rest);
}

static void allocator_release(struct heap *heap, uint32_t owner)
{
	uint32_t at = 0;
	while (heap->block[at].owner != owner)
		at++;
	heap->block[at].owner = NONE;
	for (int side = 0; side < 2; side++) {
		uint32_t left = side == 0 ? at : at - 1; /* the right neighbour first */
		if ((side == 1 && at == 0) || left + 1 >= heap->count)
			continue;
		struct block *a = &heap->block[left], *b = &heap->block[left + 1];
		if (a->owner != NONE || b->owner != NONE || a->segment != b->segment || a->small != b->small ||
			a->stream != b->stream)
			continue;
		a->size += b->size;
		allocator_drop(heap, left + 1);
	}
}

int64_t check_allocator_of(const struct buffers *buffers, bool expandable)
{
	struct heap heap = { .expandable = expandable };
	uint32_t moments = 0;
	struct moment *moment = mem_alloc(2 * (size_t)buffers->n, sizeof *moment);
	bool fine = moment;
	for (uint32_t b = 0; fine && b < buffers->n; b++)
		if (buffers->size[b] > 0) {
			moment[moments++] = (struct moment){ buffers->lower[b], b, true };
			moment[moments++] = (struct moment){ buffers->upper[b], b, false };
		}
	if (fine)
		qsort(moment, moments, sizeof *moment, allocator_by_time);
	for (uint32_t i = 0; i < moments && fine; i++)
		if (moment[i].begins)
			fine = allocator_allocate(&heap, moment[i].buffer, buffers->stream ? buffers->stream[moment[i].buffer] : 0,
				buffers->size[moment[i].buffer]);
		else
			allocator_release(&heap, moment[i].buffer);
	mem_free(moment);
	mem_free(heap.block);
	return fine ? heap.reserved : -1;
}

int64_t check_allocator(const struct check *check, bool expandable)
{
	OWN(arena) arena = { 0 };
	size_t items = check->items;
	struct buffers buffers = { .lower = arena_alloc(&arena, items, sizeof *buffers.lower),
		.upper = arena_alloc(&arena, items, sizeof *buffers.upper),
		.size = arena_alloc(&arena, items, sizeof *buffers.size) };
	bool fine = buffers.lower && buffers.upper && buffers.size;
	for (uint32_t i = 0; fine && i < items; i++)
		if (check->first[i] != NONE) {
			buffers.lower[buffers.n] = check->first[i];
			buffers.upper[buffers.n] = (int64_t)check->last[i] + 1;
			buffers.size[buffers.n++] = check->bytes[i];
		}
	int64_t reserved = fine ? check_allocator_of(&buffers, expandable) : -1;
	return reserved;
}
