/* allocator.c: PyTorch's caching allocator once more, as plainly as can be: every segment is a list of blocks in order
 * of addresses, and every search looks at all of them. After c10/cuda/CUDACachingAllocator.cpp;
 * solver/layout/caching.c, which this checks, keeps treaps instead. */
#include "solver/base/sort.h"
#include "src/read/card.h"
#include "state.h"

#define KIB(n) (INT64_C(1024) * (n))
#define MIB(n) KIB(INT64_C(1024) * (n))

#define GONE (NONE - 1)       /* the owner of addresses without memory behind them */

/* owner NONE: free */
struct block { int64_t segment, address, size; uint32_t owner; uint8_t stream; bool small; };

/* Where blocks come from: of each stream one of small blocks and one of large ones. */
struct source { uint8_t stream; bool small; };

struct heap {
	struct block *block; /* by segment, then address */
	size_t room;
	uint32_t count, retries;
	bool expandable, no_memory;
	int64_t limit, reserved, peak, top;
};

static bool allocator_insert(struct heap *heap, uint32_t at, struct block piece)
{
	if (!mem_reserve(&heap->block, &heap->room, (size_t)heap->count + 1, sizeof *heap->block)) {
		heap->no_memory = true;
		return false;
	}
	for (uint32_t i = heap->count++; i > at; i--)
		heap->block[i] = heap->block[i - 1];
	heap->block[at] = piece;
	return true;
}

static void allocator_drop(struct heap *heap, uint32_t at)
{
	heap->count--;
	FOR_FROM(i, at, heap->count)
		heap->block[i] = heap->block[i + 1];
}

static bool is_from(const struct block *piece, struct source source)
{
	return piece->small == source.small && piece->stream == source.stream;
}

static int64_t allocator_page(struct source source)
{
	return source.small ? MIB(2) : MIB(20);
}

static bool is_larger(const struct block *a, const struct block *b)
{
	return a->size != b->size ? a->size > b->size : a->address > b->address;
}

/* The smallest free piece that is large enough, of equals that with the lowest address; after: behind that one; NONE.
 */
static uint32_t allocator_smallest(const struct heap *heap, struct source source, int64_t size, uint32_t after)
{
	uint32_t best = NONE;
	FOR(i, heap->count) {
		const struct block *piece = &heap->block[i];
		if (piece->owner == NONE && is_from(piece, source) && piece->size >= size &&
			(after == NONE || is_larger(piece, &heap->block[after])) &&
			(best == NONE || is_larger(&heap->block[best], piece)))
			best = i;
	}
	return best;
}

/* Its bytes, with those that it can grow by. */
static int64_t allocator_reach(const struct heap *heap, uint32_t at)
{
	const struct block *piece = &heap->block[at];
	bool grows = at + 1 < heap->count && piece[1].segment == piece->segment && piece[1].owner == GONE;
	return piece->size + (grows ? piece[1].size : 0);
}

static uint32_t best_fit(const struct heap *heap, struct source source, int64_t size)
{
	uint32_t best = allocator_smallest(heap, source, size, NONE), next;
	while (heap->expandable && best != NONE && (next = allocator_smallest(heap, source, size, best)) != NONE &&
		allocator_reach(heap, next) < allocator_reach(heap, best))
		best = next;
	return best;
}

static bool allocator_take(struct heap *heap, int64_t bytes)
{
	if (heap->reserved + bytes > heap->limit)
		return false;
	heap->reserved += bytes;
	heap->peak = larger_of(heap->peak, heap->reserved);
	return true;
}

/* Cuts a piece: the end gets an owner of its own. */
static void allocator_cut(struct heap *heap, uint32_t at, int64_t size, uint32_t owner)
{
	struct block rest = heap->block[at];
	rest.address += size;
	rest.size -= size;
	rest.owner = owner;
	heap->block[at].size = size;
	allocator_insert(heap, at + 1, rest);
}

/* A piece and its neighbours of the same owner become one. Where that is. */
static uint32_t allocator_join(struct heap *heap, uint32_t at)
{
	FOR_INT(side, 2) {
		uint32_t left = side == 0 ? at : at - 1;   /* the right neighbour first */
		if ((side == 1 && at == 0) || left + 1 >= heap->count)
			continue;
		struct block *a = &heap->block[left], *b = &heap->block[left + 1];
		if (a->owner != b->owner || a->segment != b->segment)
			continue;
		a->size += b->size;
		allocator_drop(heap, left + 1);
		at = left;
	}
	return at;
}

/* Memory behind the first bytes of a piece that is GONE. NONE: there is none. */
static uint32_t allocator_map(struct heap *heap, struct source source, uint32_t at, int64_t size)
{
	int64_t bytes = align_up(size, allocator_page(source));
	if (!allocator_take(heap, bytes))
		return NONE;
	if (bytes < heap->block[at].size)
		allocator_cut(heap, at, bytes, GONE);
	heap->block[at].owner = NONE;
	return allocator_join(heap, at);
}

/* Where the segment has so many bytes without an owner, some of them GONE; NONE. */
static uint32_t allocator_room(const struct heap *heap, struct source source, int64_t size)
{
	FOR(i, heap->count) {
		uint32_t from = i > 0 && heap->block[i - 1].owner == NONE && is_from(&heap->block[i - 1], source) ? i - 1 : i;
		int64_t room = 0;
		if (heap->block[i].owner != GONE || !is_from(&heap->block[i], source))
			continue;
		for (uint32_t k = from; k < heap->count && heap->block[k].owner >= GONE && is_from(&heap->block[k], source); k++)
			room += heap->block[k].size;
		if (room >= size)
			return from;
	}
	return NONE;
}

/* More memory of the device: a segment of its own, or pages of the growing one. The free piece there; NONE: none. */
static uint32_t allocator_reserve(struct heap *heap, struct source source, int64_t size)
{
	int64_t bytes = source.small ? MIB(2) : size < MIB(10) ? MIB(20) : align_up(size, MIB(2));
	if (!heap->expandable) {
		struct block fresh = { heap->top, heap->top, bytes, NONE, source.stream, source.small };
		heap->top += bytes;
		return allocator_take(heap, bytes) && allocator_insert(heap, heap->count, fresh) ? heap->count - 1 : NONE;
	}
	uint32_t at = allocator_room(heap, source, size);
	if (at == NONE) {
		struct block fresh = { 2 * source.stream + !source.small, 0, INT64_C(1) << 60, GONE, source.stream, source.small };
		at = allocator_insert(heap, heap->count, fresh) ? heap->count - 1 : NONE;
	}
	while (at != NONE && (heap->block[at].owner == GONE || heap->block[at].size < size)) {
		bool gone = heap->block[at].owner == GONE;
		int64_t lacks = gone ? size : size - heap->block[at].size, most = heap->block[at + !gone].size;
		at = allocator_map(heap, source, at + !gone, SMALLER(lacks, most));
	}
	return at;
}

/* A free piece goes back to the device as far as it is whole segments or pages. The next one to look at. */
static uint32_t allocator_return(struct heap *heap, uint32_t at)
{
	struct block *piece = &heap->block[at];
	struct source source = { piece->stream, piece->small };
	bool alone = (at == 0 || piece[-1].segment != piece->segment) &&
		(at + 1 == heap->count || piece[1].segment != piece->segment);
	if (!heap->expandable && alone) {
		heap->reserved -= piece->size;
		allocator_drop(heap, at);
		return at;
	}
	int64_t begin = align_up(piece->address, allocator_page(source)),
			end = (piece->address + piece->size) / allocator_page(source) * allocator_page(source);
	if (!heap->expandable || begin >= end)
		return at + 1;
	heap->reserved -= end - begin;
	if (end < piece->address + piece->size)
		allocator_cut(heap, at, end - piece->address, NONE);
	if (begin > heap->block[at].address) {
		allocator_cut(heap, at, begin - heap->block[at].address, GONE);
		at++;
	}
	heap->block[at].owner = GONE;
	return allocator_join(heap, at) + 1;
}

static bool allocator_allocate(struct heap *heap, uint32_t owner, uint8_t stream, int64_t bytes)
{
	int64_t size = bytes < 512 ? 512 : align_up(bytes, 512);
	struct source source = { stream, size <= MIB(1) };
	uint32_t at = best_fit(heap, source, size);
	if (at == NONE)
		at = allocator_reserve(heap, source, size);
	if (at == NONE && !heap->no_memory) {
		heap->retries++;
		for (uint32_t i = 0; i < heap->count;)
			i = heap->block[i].owner == NONE ? allocator_return(heap, i) : i + 1;
		at = allocator_reserve(heap, source, size);
	}
	if (at == NONE || heap->no_memory)
		return false;
	int64_t rest = heap->block[at].size - size;
	if (source.small || heap->expandable ? rest >= 512 : rest > MIB(1))
		allocator_cut(heap, at, size, NONE);
	heap->block[at].owner = owner;
	return !heap->no_memory;
}

static void allocator_release(struct heap *heap, uint32_t owner)
{
	uint32_t at = 0;
	while (heap->block[at].owner != owner)
		at++;
	heap->block[at].owner = NONE;
	allocator_join(heap, at);
}

bool check_allocator(const struct buffers *buffers, bool expandable, int64_t limit, struct allocated *got)
{
	struct heap heap = { .expandable = expandable, .limit = limit };
	size_t count = 0;
	struct keyed *MAKE(moment, 2 * (size_t)buffers->n);
	*got = (struct allocated){ .breaks = -1 };
	for (uint32_t b = 0; moment && b < buffers->n; b++)
		for (int begins = 0; begins < 2 && buffers->size[b] > 0; begins++)
			moment[count++] = (struct keyed){ 2 * (begins ? buffers->lower : buffers->upper)[b] + begins, b, 0 };
	bool fine = moment && sort_keyed(moment, count);
	for (size_t i = 0; i < count && fine && got->breaks < 0; i++) {
		uint32_t b = moment[i].item;
		if (moment[i].key % 2 == 0)
			allocator_release(&heap, b);
		else if (!allocator_allocate(&heap, b, buffers->stream ? buffers->stream[b] : 0, buffers->size[b]))
			got->breaks = buffers->lower[b];
		fine = !heap.no_memory;
	}
	got->reserved = heap.peak;
	got->retries = heap.retries;
	mem_free(moment);
	mem_free(heap.block);
	return fine;
}

/* Three steps, or of a trace one: what is there all along, the optimizer's state from where it is first read or from
 * the start, and what comes and goes in each step. */
enum status check_three_steps(
	const struct check *check, bool state_first, struct arena *arena, struct buffers *buffers)
{
	const struct graph *graph = check->graph;
	int64_t ops = larger_of(graph->ops, 1), steps = graph_of_allocations(check->input) ? 1 : 3;
	NEED(ROOMS(arena, 3 * (size_t)check->items, buffers->lower, buffers->upper, buffers->size));
	for (int64_t k = 0; k < steps * check->items; k++) {
		uint32_t item = (uint32_t)(k % check->items), i = buffers->n;
		int64_t begin = k / check->items * ops, lower = begin + check->first[item], upper = begin + check->last[item] + 1;
		const struct storage *storage = item < graph->storages ? &graph->storage[item] : NULL;
		if (check->first[item] == NONE || (begin > 0 && storage && storage->persistent))
			continue;
		if (storage && storage->persistent && storage->kind == KIND_OPTIMIZER && !state_first &&
			csr_length(&graph->users, item) > 0) {
			lower = ops;
			FOR_ITEMS(user, &graph->users, item)
				lower = smaller_of(check->position[user], lower);
		}
		if (storage && storage->live_out)
			upper = storage->persistent || begin + ops == steps * ops ? steps * ops : lower + ops;
		buffers->lower[i] = lower;
		buffers->upper[i] = upper;
		buffers->size[i] = check->bytes[item];
		buffers->n++;
	}
	return OK;
}
