/* caching.c: PyTorch's CUDA caching allocator, simulated.
 *
 * After c10/cuda/CUDACachingAllocator.cpp: get_free_block, should_split, free_block, try_merge_blocks, alloc_block,
 * release_cached_blocks, try_allocate_expandable_block. Above the limit cudaMalloc fails; then all that is free and a
 * whole segment, or whole pages of an expandable one, goes back to the device, and the block is asked for once more. */
#include "layout.h"
#include "solver/base/sort.h"

#define ROUND (INT64_C(512))                 /* every block is a multiple */
#define SMALL (INT64_C(1) << 20)             /* blocks up to this come from the small pool */
#define SMALL_SEGMENT (INT64_C(2) << 20)     /* which reserves so much at a time */
#define LARGE_SEGMENT (INT64_C(20) << 20)    /* for large blocks below LARGE_EXACT */
#define LARGE_EXACT (INT64_C(10) << 20)      /* from here on segments fit the block, rounded to */
#define LARGE_ROUND (INT64_C(2) << 20)

#define LEAST_PARTS 1024                     /* the least limit is found to so small a part */
#define GROWS (INT64_C(1) << 60)             /* addresses of an expandable segment */

enum state { USED, FREE, UNMAPPED };

/* A block of a segment. Of an expandable one some addresses have no memory behind them. */
struct block {
	int64_t address, size;
	uint32_t previous, next;       /* neighbours in the segment */
	enum state state;
};

/* Free blocks by size, then address, and unmapped ones by address. */
struct list { uint32_t *id, count; size_t room; };
struct pool { struct list list[1 + UNMAPPED]; bool small; };

struct caching {
	struct block *block;
	uint32_t count, spare;         /* spare: list of unused blocks through next */
	size_t room;
	struct pool pool[LAYOUT_STREAMS][2];
	bool expandable, no_memory;
	int64_t limit, reserved, top, given, most; /* top: of all addresses; given: to buffers; most: of it at once */
	int64_t peak;                  /* the most that was reserved */
	uint32_t retries;
};

static uint32_t caching_new_block(struct caching *caching, int64_t address, int64_t size)
{
	uint32_t id = caching->spare;
	if (id != NONE)
		caching->spare = caching->block[id].next;
	else if (GROWN(caching->block, caching->room, caching->count + 1))
		id = caching->count++;
	caching->no_memory |= id == NONE;
	if (id != NONE)
		caching->block[id] = (struct block){ .address = address, .size = size, .previous = NONE, .next = NONE };
	return id;
}

/* Where a block of such size and address is in the list of a state, or would be. */
static uint32_t caching_place(
	const struct caching *caching, const struct pool *pool, enum state state, int64_t size, int64_t address)
{
	const struct list *list = &pool->list[state];
	uint32_t low = 0, high = list->count;
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		const struct block *block = &caching->block[list->id[middle]];
		bool before = state == FREE && block->size != size ? block->size < size : block->address < address;
		low = before ? middle + 1 : low;
		high = before ? high : middle;
	}
	return low;
}

static void caching_insert(struct caching *caching, struct pool *pool, uint32_t id, enum state state)
{
	struct list *list = &pool->list[state];
	struct block *block = &caching->block[id];
	uint32_t at = caching_place(caching, pool, state, block->size, block->address);
	block->state = state;
	if (!GROWN(list->id, list->room, (size_t)list->count + 1)) {
		caching->no_memory = true;
		return;
	}
	memmove(list->id + at + 1, list->id + at, (list->count++ - at) * sizeof *list->id);
	list->id[at] = id;
}

static void caching_drop(struct caching *caching, struct pool *pool, uint32_t id)
{
	struct block *block = &caching->block[id];
	struct list *list = &pool->list[block->state];
	uint32_t at = caching_place(caching, pool, block->state, block->size, block->address);
	if (at < list->count && list->id[at] == id)
		memmove(list->id + at, list->id + at + 1, (--list->count - at) * sizeof *list->id);
	block->state = USED;
}

/* ---- allocation ---- */

/* Joins a block with its right neighbour. */
static void merge_next(struct caching *caching, uint32_t id)
{
	struct block *block = caching->block;
	uint32_t next = block[id].next;
	block[id].size += block[next].size;
	block[id].next = block[next].next;
	if (block[next].next != NONE)
		block[block[next].next].previous = id;
	block[next].next = caching->spare;
	caching->spare = next;
}

/* A block that is in no list gets a state, together with its neighbours in the same one. Returns the whole. */
static uint32_t caching_add(struct caching *caching, struct pool *pool, uint32_t id, enum state state)
{
	uint32_t next = caching->block[id].next, previous = caching->block[id].previous;
	if (next != NONE && caching->block[next].state == state) {
		caching_drop(caching, pool, next);
		merge_next(caching, id);
	}
	if (previous != NONE && caching->block[previous].state == state) {
		caching_drop(caching, pool, previous);
		merge_next(caching, previous);
		id = previous;
	}
	caching_insert(caching, pool, id, state);
	return id;
}

/* Cuts a block that is in no list: the part behind its first bytes is a block of a state. */
static bool caching_split(struct caching *caching, struct pool *pool, uint32_t id, int64_t size, enum state state)
{
	uint32_t rest = caching_new_block(caching, caching->block[id].address + size, caching->block[id].size - size);
	if (rest == NONE)
		return false;
	struct block *block = caching->block;
	block[id].size = size;
	block[rest].previous = id;
	block[rest].next = block[id].next;
	if (block[id].next != NONE)
		block[block[id].next].previous = rest;
	block[id].next = rest;
	caching_add(caching, pool, rest, state);
	return true;
}

/* Bytes of the device; false: it has no more. */
static bool caching_take(struct caching *caching, int64_t bytes)
{
	if (bytes > caching->limit - caching->reserved)
		return false;
	caching->reserved += bytes;
	caching->peak = larger_of(caching->peak, caching->reserved);
	return true;
}

static int64_t caching_page(const struct pool *pool)
{
	return pool->small ? SMALL_SEGMENT : LARGE_SEGMENT;
}

/* Memory behind the begin of an unmapped block. The free block that it is then part of; NONE. */
static uint32_t caching_map(struct caching *caching, struct pool *pool, uint32_t id, int64_t size)
{
	int64_t bytes = align_up(size, caching_page(pool));
	if (!caching_take(caching, bytes))
		return NONE;
	caching_drop(caching, pool, id);
	caching->block[id].state = USED;
	if (bytes < caching->block[id].size && !caching_split(caching, pool, id, bytes, UNMAPPED))
		return NONE;
	return caching_add(caching, pool, id, FREE);
}

/* Where a block of the expandable segment can grow to size: what is free or unmapped, one beside the other. */
static uint32_t caching_growing(const struct caching *caching, const struct pool *pool, int64_t size)
{
	const struct block *block = caching->block;
	FOR(i, pool->list[UNMAPPED].count) {
		uint32_t id = pool->list[UNMAPPED].id[i], before = block[id].previous,
				 begin = before != NONE && block[before].state == FREE ? before : id;
		int64_t room = 0;
		for (uint32_t at = begin; at != NONE && block[at].state != USED && room < size; at = block[at].next)
			room += block[at].size;
		if (room >= size)
			return begin;
	}
	return NONE;
}

static uint32_t caching_grow(struct caching *caching, struct pool *pool, int64_t size)
{
	uint32_t id = caching_growing(caching, pool, size);
	if (id == NONE && (id = caching_new_block(caching, pool->small ? 0 : GROWS, GROWS)) != NONE)
		caching_add(caching, pool, id, UNMAPPED);
	if (id != NONE && caching->block[id].state == UNMAPPED)
		id = caching_map(caching, pool, id, SMALLER(size, caching->block[id].size));
	while (id != NONE && caching->block[id].size < size) {
		const struct block *next = &caching->block[caching->block[id].next];
		int64_t lacks = size - caching->block[id].size;
		id = caching_map(caching, pool, caching->block[id].next, SMALLER(lacks, next->size));
	}
	if (id != NONE)
		caching_drop(caching, pool, id);
	return id;
}

/* A block of at least size from the device, NONE where it has none. */
static uint32_t caching_reserve(struct caching *caching, struct pool *pool, int64_t size)
{
	int64_t bytes = pool->small ? SMALL_SEGMENT : size < LARGE_EXACT ? LARGE_SEGMENT : align_up(size, LARGE_ROUND);
	if (caching->expandable)
		return caching_grow(caching, pool, size);
	if (!caching_take(caching, bytes))
		return NONE;
	caching->top += bytes;
	return caching_new_block(caching, caching->top - bytes, bytes);
}

/* A free block goes back to the device: a whole segment, or the pages that lie in it. */
static void caching_return(struct caching *caching, struct pool *pool, uint32_t id)
{
	struct block *block = &caching->block[id];
	int64_t page = caching_page(pool), begin = block->address, end = begin + block->size;
	if (!caching->expandable && (block->previous != NONE || block->next != NONE))
		return;
	if (caching->expandable) {
		int64_t base = pool->small ? 0 : GROWS;
		begin = base + align_up(begin - base, page);
		end = base + (end - base) / page * page;
	}
	if (begin >= end)
		return;
	caching_drop(caching, pool, id);
	caching->reserved -= end - begin;
	if (!caching->expandable) {
		block->next = caching->spare;
		caching->spare = id;
		return;
	}
	bool fine = end == block->address + block->size || caching_split(caching, pool, id, end - block->address, FREE);
	block = &caching->block[id];
	if (fine && begin > block->address) {
		int64_t front = begin - block->address;
		if (caching_split(caching, pool, id, front, UNMAPPED))
			caching_insert(caching, pool, id, FREE);
	} else if (fine) {
		caching_add(caching, pool, id, UNMAPPED);
	}
}

static void caching_return_all(struct caching *caching)
{
	FOR_INT(p, 2 * LAYOUT_STREAMS) {
		struct pool *pool = &caching->pool[p / 2][p % 2];
		for (uint32_t at = pool->list[FREE].count; at-- > 0 && !caching->no_memory;) {
			struct block block = caching->block[pool->list[FREE].id[at]];
			caching_return(caching, pool, pool->list[FREE].id[at]);
			at = caching_place(caching, pool, FREE, block.size, block.address);
		}
	}
}

/* How large a free block can get. */
static int64_t caching_grown(const struct caching *caching, uint32_t id)
{
	uint32_t next = caching->block[id].next;
	return caching->block[id].size +
		(next != NONE && caching->block[next].state == UNMAPPED ? caching->block[next].size : 0);
}

/* NONE: out of the device's memory, or of ours. */
static uint32_t caching_allocate(struct caching *caching, uint8_t stream, int64_t size)
{
	size = size < ROUND ? ROUND : align_up(size, ROUND);
	struct pool *pool = &caching->pool[stream][size <= SMALL ? 0 : 1];
	const struct list *list = &pool->list[FREE];
	uint32_t at = caching_place(caching, pool, FREE, size, 0);
	while (caching->expandable && at + 1 < list->count &&
		caching_grown(caching, list->id[at + 1]) < caching_grown(caching, list->id[at]))
		at++;
	uint32_t id = at < list->count ? list->id[at] : NONE;
	if (id != NONE)
		caching_drop(caching, pool, id);
	else
		id = caching_reserve(caching, pool, size);
	if (id == NONE && !caching->no_memory) {
		caching->retries++;
		caching_return_all(caching);
		id = caching->no_memory ? NONE : caching_reserve(caching, pool, size);
	}
	if (id == NONE)
		return NONE;
	int64_t rest = caching->block[id].size - size;
	if ((pool->small || caching->expandable ? rest >= ROUND : rest > SMALL) &&
		!caching_split(caching, pool, id, size, FREE))
		return NONE;
	caching->given += caching->block[id].size;
	caching->most = larger_of(caching->most, caching->given);
	return id;
}

/* ---- the run ---- */

/* Begins and ends of buffers that have bytes, by steps: what ends gives back before what begins asks. */
struct events { struct keyed *list; size_t count; };

static bool caching_events(const struct buffers *buffers, struct events *events)
{
	*events = (struct events){ .list = mem_alloc(2 * (size_t)buffers->n, sizeof *events->list) };
	FOR_WHILE(i, buffers->n, events->list)
		if (buffers->size[i] > 0) {
			events->list[events->count++] = (struct keyed){ 2 * buffers->lower[i] + 1, i, 0 };
			events->list[events->count++] = (struct keyed){ 2 * buffers->upper[i], i, 0 };
		}
	return events->list && sort_keyed(events->list, events->count);
}

/* The step at which an allocation fails; -1: none does. */
static int64_t caching_run(struct caching *caching, const struct buffers *buffers, const struct events *events)
{
	HELD uint32_t *MAKE(held, buffers->n);
	caching->no_memory = !held;
	for (size_t e = 0; e < events->count && !caching->no_memory; e++) {
		uint32_t i = events->list[e].item;
		uint8_t stream = buffers->stream ? buffers->stream[i] : 0;
		if (events->list[e].key % 2) {
			held[i] = caching_allocate(caching, stream, buffers->size[i]);
			if (held[i] == NONE)
				return buffers->lower[i];
			continue;
		}
		caching->given -= caching->block[held[i]].size;
		caching_add(caching, &caching->pool[stream][align_up(buffers->size[i], ROUND) > SMALL], held[i], FREE);
	}
	return -1;
}

static bool caching_simulate(const struct buffers *buffers, const struct events *events, bool expandable,
	int64_t limit, struct allocated *allocated)
{
	struct caching caching = { .spare = NONE, .expandable = expandable, .limit = limit };
	FOR_INT(p, LAYOUT_STREAMS)
		caching.pool[p][0].small = true;
	int64_t breaks = caching_run(&caching, buffers, events);
	*allocated = (struct allocated){ caching.peak, 0, caching.most, breaks, caching.retries };
	FOR_INT(p, 2 * LAYOUT_STREAMS)
		for (enum state state = FREE; state <= UNMAPPED; state++)
			mem_free(caching.pool[p / 2][p % 2].list[state].id);
	mem_free(caching.block);
	return !caching.no_memory;
}

/* Halves what is between a limit at which it breaks and one at which it holds, all in small segments. */
static bool caching_bisect(const struct buffers *buffers, const struct events *events, bool expandable, int64_t breaks,
	struct allocated *allocated)
{
	int64_t holds = allocated->least / SMALL_SEGMENT, grain = holds / LEAST_PARTS;
	struct allocated next = { .retries = 0 };
	bool fine = true;
	while (fine && holds - breaks > 1 + grain) {
		int64_t middle = breaks + (holds - breaks) / 2;
		fine = caching_simulate(buffers, events, expandable, middle * SMALL_SEGMENT, &next);
		if (next.breaks < 0)
			holds = middle;
		else
			breaks = middle;
	}
	allocated->least = holds * SMALL_SEGMENT;
	return fine;
}

bool layout_holds(const struct buffers *buffers, bool expandable, int64_t limit, struct allocated *allocated)
{
	struct events events;
	struct allocated at = { .breaks = -1 };
	int64_t whole = limit / SMALL_SEGMENT * SMALL_SEGMENT;
	bool fine = caching_events(buffers, &events) && caching_simulate(buffers, &events, expandable, INT64_MAX, allocated);
	allocated->least = fine ? allocated->reserved : 0;
	fine = fine && caching_bisect(buffers, &events, expandable, (allocated->used - 1) / SMALL_SEGMENT, allocated);
	if (fine && limit >= 0 && whole < allocated->reserved) {
		fine = caching_simulate(buffers, &events, expandable, whole, &at);
		allocated->breaks = at.breaks;
		allocated->retries = at.retries;
		if (at.breaks < 0 && allocated->least > whole)
			allocated->least = whole;
		if (at.breaks >= 0 && allocated->least <= whole) {
			allocated->least = allocated->reserved;
			fine = fine && caching_bisect(buffers, &events, expandable, whole / SMALL_SEGMENT, allocated);
		}
	}
	mem_free(events.list);
	return fine;
}

int64_t layout_breaks(const struct buffers *buffers, bool expandable, int64_t limit)
{
	struct events events;
	struct allocated at;
	bool fine = caching_events(buffers, &events) &&
		caching_simulate(buffers, &events, expandable, limit / SMALL_SEGMENT * SMALL_SEGMENT, &at);
	mem_free(events.list);
	return !fine ? 0 : at.breaks < 0 ? INT64_MAX : at.breaks;
}
