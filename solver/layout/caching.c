/* caching.c: PyTorch's CUDA caching allocator, simulated.
 *
 * No out-of-memory path: what has been reserved stays reserved, for its stream. The figures to compare with are what
 * torch.cuda.max_memory_reserved() says. After c10/cuda/CUDACachingAllocator.cpp: get_free_block, should_split,
 * free_block, try_merge_blocks. */
#include "layout.h"
#include "solver/base/sort.h"

#define ROUND (INT64_C(512))                 /* every block is a multiple */
#define SMALL (INT64_C(1) << 20)             /* blocks up to this come from the small pool */
#define SMALL_SEGMENT (INT64_C(2) << 20)     /* which reserves so much at a time */
#define LARGE_SEGMENT (INT64_C(20) << 20)    /* for large blocks below LARGE_EXACT */
#define LARGE_EXACT (INT64_C(10) << 20)      /* from here on segments fit the block, rounded to */
#define LARGE_ROUND (INT64_C(2) << 20)

/* A block of a segment. Free blocks of a pool are a treap by size, then address. */
struct block {
	int64_t address, size;
	uint32_t previous, next;       /* neighbours in the segment */
	uint32_t left, right;          /* in the treap */
	uint32_t priority;
	bool free;
};

struct pool {
	uint32_t root;
	uint32_t tail;                 /* the growing segment's last block, with expandable segments */
	bool small;
};

struct caching {
	struct block *block;
	uint32_t count, spare;         /* spare: list of unused blocks through next */
	size_t room;
	struct pool pool[LAYOUT_STREAMS][2];
	bool expandable, no_memory;
	int64_t reserved;
};

static uint32_t caching_new_block(struct caching *caching, int64_t address, int64_t size)
{
	uint32_t id = caching->spare;
	if (id != NONE) {
		caching->spare = caching->block[id].next;
	} else {
		if (!mem_reserve(&caching->block, &caching->room, caching->count + 1, sizeof *caching->block)) {
			caching->no_memory = true;
			return NONE;
		}
		id = caching->count++;
	}
	caching->block[id] = (struct block){ .address = address, .size = size, .previous = NONE, .next = NONE, .left = NONE,
					     .right = NONE, .priority = (uint32_t)hash_mix(id + 1) };
	return id;
}

/* ---- the treap ---- */

static bool caching_before(const struct block *a, const struct block *b)
{
	return a->size != b->size ? a->size < b->size : a->address < b->address;
}

static void pool_insert(struct caching *caching, struct pool *pool, uint32_t id)
{
	struct block *block = caching->block, *added = &block[id];
	uint32_t *link = &pool->root;
	while (*link != NONE && block[*link].priority >= added->priority)
		link = caching_before(added, &block[*link]) ? &block[*link].left : &block[*link].right;
	/* Split the subtree at the new block. */
	uint32_t rest = *link, *smaller = &added->left, *larger = &added->right;
	*link = id;
	while (rest != NONE) {
		if (caching_before(added, &block[rest])) {
			*larger = rest;
			larger = &block[rest].left;
			rest = *larger;
		} else {
			*smaller = rest;
			smaller = &block[rest].right;
			rest = *smaller;
		}
	}
	*smaller = *larger = NONE;
	added->free = true;
}

static void pool_remove(struct caching *caching, struct pool *pool, uint32_t id)
{
	struct block *block = caching->block;
	uint32_t *link = &pool->root;
	while (*link != id)
		link = caching_before(&block[id], &block[*link]) ? &block[*link].left : &block[*link].right;
	uint32_t left = block[id].left, right = block[id].right;
	while (left != NONE && right != NONE) {
		if (block[left].priority >= block[right].priority) {
			*link = left;
			link = &block[left].right;
			left = *link;
		} else {
			*link = right;
			link = &block[right].left;
			right = *link;
		}
	}
	*link = left != NONE ? left : right;
	block[id].free = false;
}

/* The smallest free block of at least size, NONE where there is none. */
static uint32_t pool_find(const struct caching *caching, const struct pool *pool, int64_t size)
{
	uint32_t found = NONE;
	for (uint32_t id = pool->root; id != NONE;) {
		const struct block *block = &caching->block[id];
		if (block->size >= size)
			found = id;
		id = block->size >= size ? block->left : block->right;
	}
	return found;
}

/* The next larger free block, NONE where there is none. */
static uint32_t pool_next(const struct caching *caching, const struct pool *pool, uint32_t after)
{
	uint32_t found = NONE;
	for (uint32_t id = pool->root; id != NONE;) {
		const struct block *block = &caching->block[id];
		bool larger = caching_before(&caching->block[after], block);
		if (larger)
			found = id;
		id = larger ? block->left : block->right;
	}
	return found;
}

/* ---- allocation ---- */

/* A block of at least size from the device. */
static uint32_t caching_reserve(struct caching *caching, struct pool *pool, int64_t size)
{
	int64_t granule = pool->small ? SMALL_SEGMENT : LARGE_SEGMENT, address = caching->reserved;
	if (!caching->expandable) {
		int64_t bytes = pool->small ? SMALL_SEGMENT : size < LARGE_EXACT ? LARGE_SEGMENT : align_up(size, LARGE_ROUND);
		caching->reserved += bytes;
		return caching_new_block(caching, address, bytes);
	}
	/* The segment grows by whole granules; a free block at its end grows with it. */
	uint32_t tail = pool->tail;
	if (tail != NONE && caching->block[tail].free) {
		pool_remove(caching, pool, tail);
		int64_t bytes = align_up(size - caching->block[tail].size, granule);
		caching->block[tail].size += bytes;
		caching->reserved += bytes;
		return tail;
	}
	if (tail != NONE)
		address = caching->block[tail].address + caching->block[tail].size;
	else
		address = pool->small ? 0 : BYTES_MAX / 2;
	int64_t bytes = align_up(size, granule);
	uint32_t id = caching_new_block(caching, address, bytes);
	if (id == NONE)
		return NONE;
	caching->block[id].previous = tail;
	if (tail != NONE)
		caching->block[tail].next = id;
	pool->tail = id;
	caching->reserved += bytes;
	return id;
}

static uint32_t caching_allocate(struct caching *caching, uint8_t stream, int64_t size)
{
	size = size < ROUND ? ROUND : align_up(size, ROUND);
	struct pool *pool = &caching->pool[stream][size <= SMALL ? 0 : 1];
	uint32_t id = pool_find(caching, pool, size);
	if (id != NONE && id == pool->tail && caching->expandable && pool_next(caching, pool, id) != NONE)
		id = pool_next(caching, pool, id);   /* what can grow counts as large as it can get */
	if (id != NONE)
		pool_remove(caching, pool, id);
	else
		id = caching_reserve(caching, pool, size);
	if (id == NONE)
		return NONE;
	int64_t rest = caching->block[id].size - size;
	if (pool->small || caching->expandable ? rest < ROUND : rest <= SMALL)
		return id;
	uint32_t remainder = caching_new_block(caching, caching->block[id].address + size, rest);
	if (remainder == NONE)
		return NONE;
	struct block *block = caching->block;
	block[id].size = size;
	block[remainder].previous = id;
	block[remainder].next = block[id].next;
	if (block[id].next != NONE)
		block[block[id].next].previous = remainder;
	block[id].next = remainder;
	if (pool->tail == id)
		pool->tail = remainder;
	pool_insert(caching, pool, remainder);
	return id;
}

/* Joins a block with its free right neighbour. */
static void merge_next(struct caching *caching, struct pool *pool, uint32_t id)
{
	struct block *block = caching->block;
	uint32_t next = block[id].next;
	block[id].size += block[next].size;
	block[id].next = block[next].next;
	if (block[next].next != NONE)
		block[block[next].next].previous = id;
	if (pool->tail == next)
		pool->tail = id;
	block[next].next = caching->spare;
	caching->spare = next;
}

static void caching_release(struct caching *caching, uint8_t stream, uint32_t id, int64_t size)
{
	size = size < ROUND ? ROUND : align_up(size, ROUND);
	struct pool *pool = &caching->pool[stream][size <= SMALL ? 0 : 1];
	uint32_t next = caching->block[id].next, previous = caching->block[id].previous;
	if (next != NONE && caching->block[next].free) {
		pool_remove(caching, pool, next);
		merge_next(caching, pool, id);
	}
	if (previous != NONE && caching->block[previous].free) {
		pool_remove(caching, pool, previous);
		merge_next(caching, pool, previous);
		id = previous;
	}
	pool_insert(caching, pool, id);
}

/* ---- the run ---- */

/* Buffers that have bytes, in the order in which they start, and in that in which they end. start: NULL where it is
 * that of their numbers. */
struct turns { struct keyed *start, *end; uint32_t count; };

static void turns_free(struct turns *turns)
{
	mem_free(turns->start);
	mem_free(turns->end);
}

static bool start_in_order(const struct buffers *buffers)
{
	for (uint32_t i = 0; i < buffers->n; i++)
		if (buffers->size[i] <= 0 || (i && buffers->lower[i] < buffers->lower[i - 1]))
			return false;
	return true;
}

/* Buffers that have bytes, by a step that each has. */
static struct keyed *sorted_by(const struct buffers *buffers, const int64_t *step, uint32_t *count)
{
	struct keyed *list = mem_alloc(buffers->n, sizeof *list);
	*count = 0;
	for (uint32_t i = 0; list && i < buffers->n; i++)
		if (buffers->size[i] > 0)
			list[(*count)++] = (struct keyed){ step[i], i, 0 };
	if (list && sort_keyed(list, *count))
		return list;
	mem_free(list);
	return NULL;
}

static bool find_turns(const struct buffers *buffers, struct turns *turns)
{
	bool in_order = start_in_order(buffers);
	*turns = (struct turns){ 0 };
	turns->end = sorted_by(buffers, buffers->upper, &turns->count);
	if (turns->end && !in_order)
		turns->start = sorted_by(buffers, buffers->lower, &turns->count);
	return turns->end && (in_order || turns->start);
}

/* What ends at a step gives back before what starts there asks. */
static void caching_run(
	struct caching *caching, const struct buffers *buffers, const struct turns *turns, int64_t *offset)
{
	uint32_t *held = mem_alloc(buffers->n, sizeof *held);
	caching->no_memory = !held;
	for (uint32_t s = 0, e = 0; e < turns->count && !caching->no_memory;) {
		uint32_t next = turns->start && s < turns->count ? turns->start[s].item : s;
		bool starts = s < turns->count && buffers->lower[next] < turns->end[e].key;
		uint32_t i = starts ? next : turns->end[e].item;
		uint8_t stream = buffers->stream ? buffers->stream[i] : 0;
		s += starts;
		e += !starts;
		if (!starts) {
			caching_release(caching, stream, held[i], buffers->size[i]);
			continue;
		}
		held[i] = caching_allocate(caching, stream, buffers->size[i]);
		if (offset && held[i] != NONE)
			offset[i] = caching->block[held[i]].address;
	}
	mem_free(held);
}

static int64_t caching_simulate(
	const struct buffers *buffers, const struct turns *turns, bool expandable, int64_t *offset)
{
	struct caching caching = { .spare = NONE, .expandable = expandable };
	for (int stream = 0; stream < LAYOUT_STREAMS; stream++) {
		caching.pool[stream][0] = (struct pool){ .root = NONE, .tail = NONE, .small = true };
		caching.pool[stream][1] = (struct pool){ .root = NONE, .tail = NONE };
	}
	caching_run(&caching, buffers, turns, offset);
	/* The large pool's growing segment stands above the small one's. */
	int64_t small = 0;
	if (expandable && !caching.no_memory && caching.pool[0][0].tail != NONE)
		small = caching.block[caching.pool[0][0].tail].address + caching.block[caching.pool[0][0].tail].size;
	for (uint32_t i = 0; offset && i < buffers->n; i++) {
		if (buffers->size[i] == 0)
			offset[i] = 0;
		else if (expandable && offset[i] >= BYTES_MAX / 2)
			offset[i] += small - BYTES_MAX / 2;
	}
	mem_free(caching.block);
	return caching.no_memory ? -1 : caching.reserved;
}

int64_t layout_caching(const struct buffers *buffers, bool expandable, int64_t *offset)
{
	struct turns turns;
	int64_t reserved = find_turns(buffers, &turns) ? caching_simulate(buffers, &turns, expandable, offset) : -1;
	turns_free(&turns);
	return reserved;
}

bool layout_caching_both(const struct buffers *buffers, int64_t reserved[2])
{
	struct turns turns;
	bool fine = find_turns(buffers, &turns);
	for (int expandable = 0; expandable < 2 && fine; expandable++)
		fine = (reserved[expandable] = caching_simulate(buffers, &turns, expandable, NULL)) >= 0;
	turns_free(&turns);
	return fine;
}
