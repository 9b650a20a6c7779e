/* online.c: in the order of time, each into the lowest hole, as an allocator that doesn't know what comes does it.
 *
 * First fit over holes in a treap by address, whose nodes know the largest hole below them. Blocks, free or not, are a
 * list by address, so that what is given back joins its neighbours. As much memory as is alive at once, and a hundredth
 * of a dive's time. */
#include "steps.h"

#define ENDLESS (INT64_MAX / 4)  /* the hole above everything */

struct block {
	int64_t at, size, most;        /* most: the largest hole below in the treap */
	uint32_t below, above;         /* neighbours by address */
	uint32_t left, right, priority;
	bool hole;
};

struct online {
	struct block *block;
	size_t room;
	uint32_t count, spare, root;   /* spare: blocks that are not in use, through above */
};

static uint32_t online_new_block(struct online *online, int64_t at, int64_t size)
{
	uint32_t id = online->spare;
	if (id != NONE)
		online->spare = online->block[id].above;
	else if (GROWN(online->block, online->room, (size_t)online->count + 1))
		id = online->count++;
	else
		return NONE;
	online->block[id] = (struct block){ .at = at,
		.size = size,
		.below = NONE,
		.above = NONE,
		.left = NONE,
		.right = NONE,
		.priority = (uint32_t)hash_mix(id + 1) };
	return id;
}

/* ---- the treap of holes ---- */

static int64_t online_most_of(const struct online *online, uint32_t id)
{
	return id == NONE ? 0 : online->block[id].most;
}

static void online_pull(struct online *online, uint32_t id)
{
	struct block *block = &online->block[id];
	int64_t left = online_most_of(online, block->left), right = online_most_of(online, block->right),
			most = LARGER(left, right);
	block->most = LARGER(block->size, most);
}

/* Holes below an address go left, the others right. */
static void online_split(struct online *online, uint32_t tree, int64_t at, uint32_t *left, uint32_t *right)
{
	if (tree == NONE) {
		*left = *right = NONE;
		return;
	}
	struct block *block = &online->block[tree];
	if (block->at < at)
		online_split(online, block->right, at, &block->right, right);
	else
		online_split(online, block->left, at, left, &block->left);
	*(block->at < at ? left : right) = tree;
	online_pull(online, tree);
}

/* All holes of the left tree are below those of the right. */
static uint32_t online_join(struct online *online, uint32_t left, uint32_t right)
{
	if (left == NONE || right == NONE)
		return left == NONE ? right : left;
	bool first = online->block[left].priority >= online->block[right].priority;
	uint32_t top = first ? left : right;
	if (first)
		online->block[left].right = online_join(online, online->block[left].right, right);
	else
		online->block[right].left = online_join(online, left, online->block[right].left);
	online_pull(online, top);
	return top;
}

static void online_insert(struct online *online, uint32_t id)
{
	uint32_t left, right;
	online->block[id].hole = true;
	online->block[id].left = online->block[id].right = NONE;
	online_pull(online, id);
	online_split(online, online->root, online->block[id].at, &left, &right);
	online->root = online_join(online, online_join(online, left, id), right);
}

static void online_take_out(struct online *online, uint32_t id)
{
	uint32_t left, right, alone;
	online->block[id].hole = false;
	online_split(online, online->root, online->block[id].at, &left, &right);
	online_split(online, right, online->block[id].at + 1, &alone, &right);
	online->root = online_join(online, left, right);
}

/* The lowest hole of at least so many units; the endless one always is. */
static uint32_t online_lowest(const struct online *online, int64_t size)
{
	const struct block *block = online->block;
	uint32_t id = online->root;
	for (;;) {
		if (online_most_of(online, block[id].left) >= size)
			id = block[id].left;
		else if (block[id].size >= size)
			return id;
		else
			id = block[id].right;
	}
}

/* ---- buffers that come and go ---- */

/* The block that holds so many units now, NONE when out of memory. */
static uint32_t online_come(struct online *online, int64_t size)
{
	uint32_t hole = online_lowest(online, size);
	online_take_out(online, hole);
	if (online->block[hole].size == size)
		return hole;
	uint32_t rest = online_new_block(online, online->block[hole].at + size, online->block[hole].size - size);
	if (rest == NONE)
		return NONE;
	struct block *block = online->block;
	block[rest].below = hole;
	block[rest].above = block[hole].above;
	if (block[hole].above != NONE)
		block[block[hole].above].below = rest;
	block[hole].above = rest;
	block[hole].size = size;
	online_insert(online, rest);
	return hole;
}

/* Takes the hole above into this block. */
static void swallow(struct online *online, uint32_t id)
{
	struct block *block = online->block;
	uint32_t above = block[id].above;
	online_take_out(online, above);
	block[id].size += block[above].size;
	block[id].above = block[above].above;
	if (block[id].above != NONE)
		block[block[id].above].below = id;
	block[above].above = online->spare;
	online->spare = above;
}

static void online_leave(struct online *online, uint32_t id)
{
	uint32_t below = online->block[id].below, above = online->block[id].above;
	if (above != NONE && online->block[above].hole)
		swallow(online, id);
	if (below == NONE || !online->block[below].hole) {
		online_insert(online, id);
		return;
	}
	/* The hole below grows over this block. */
	online_insert(online, id);
	online_take_out(online, below);
	swallow(online, below);
	online_insert(online, below);
}

/* ---- all of them ---- */

/* Buffers by a section that each has, as rows. */
static enum status online_sort_by(const struct layout_model *model, const uint32_t *section, struct csr *rows)
{
	MAKE(rows->start, (size_t)model->sections + 2);
	MAKE(rows->item, model->n);
	NEED(rows->start && rows->item);
	uint32_t *next = rows->start + 1;   /* becomes the starts as rows are filled */
	FOR(b, model->n)
		if (section[b] < model->sections)
			next[section[b] + 1]++;
	FOR(s, model->sections)
		next[s + 1] += next[s];
	FOR(b, model->n)
		if (section[b] < model->sections)
			rows->item[next[section[b]]++] = b;
	return OK;
}

static enum status online_run(const struct layout_model *model, struct online *online, const struct csr *starts,
	const struct csr *ends, uint32_t *held, int64_t *offset)
{
	FOR(s, model->sections) {
		FOR_ITEMS(end, ends, s)
			online_leave(online, held[end]);
		FOR_ITEMS(b, starts, s) {
			if ((held[b] = online_come(online, model->size[b])) == NONE)
				return NO_MEMORY;
			offset[b] = online->block[held[b]].at;
		}
	}
	return OK;
}

enum status layout_online(const struct layout_model *model, int64_t *offset)
{
	struct online online = { .spare = NONE, .root = NONE };
	struct csr starts = { 0 }, ends = { 0 };
	HELD uint32_t *MAKE(held, model->n);
	uint32_t all = online_new_block(&online, 0, ENDLESS);
	enum status status = held && all != NONE ? online_sort_by(model, model->first, &starts) : NO_MEMORY;
	THEN(status, online_sort_by(model, model->last, &ends));
	if (status == OK) {
		online_insert(&online, all);
		status = online_run(model, &online, &starts, &ends, held, offset);
	}
	mem_free(online.block);
	mem_free(starts.start);
	mem_free(starts.item);
	mem_free(ends.start);
	mem_free(ends.item);
	return status;
}
