/* sums.c: sums of items as a knapsack (Nemhauser and Ullmann 1969): item by item, of all sums only those stay that are
 * faster than every one with no more bytes.
 *
 * Items come by ascending cost, so that what is above the budget once stays above it: behind an item that costs nothing
 * or more no other takes anything off. */
#include "search.h"

#define WIDTH 4096         /* sums that stay at an item; those with most bytes go */
#define NODES 1000000      /* that are made at all */

struct node { int64_t time, bytes; double cost; uint32_t from, item; };   /* item NONE: the sum of nothing */

struct front {
	const struct fit_item *item;
	double budget;
	fit_compatible *compatible;
	void *context;
	struct node *node;
	uint32_t nodes;
	size_t room;
	uint32_t *now, *more, *next, count, mores;   /* nodes by bytes: that stay, those with one more item, both merged */
	struct arena arena;
};

/* The items of a node; their count, or FIT_SUM_MOST + 1 where there are more. */
static uint32_t list_items(const struct front *front, uint32_t at, uint32_t *list)
{
	uint32_t count = 0;
	for (; front->node[at].item != NONE && count <= FIT_SUM_MOST; at = front->node[at].from)
		list[count++] = front->node[at].item;
	return count;
}

static bool can_add(const struct front *front, uint32_t at, uint32_t item)
{
	uint32_t list[FIT_SUM_MOST + 1], count = list_items(front, at, list);
	if (count >= FIT_SUM_MOST)
		return false;
	list[count++] = item;
	return front->compatible(front->context, list, count);
}

static bool sums_add_item(struct front *front, uint32_t number)
{
	const struct fit_item *item = &front->item[number];
	front->mores = 0;
	if (!mem_reserve(&front->node, &front->room, front->nodes + front->count, sizeof *front->node))
		return false;
	for (uint32_t i = 0; i < front->count && front->nodes < NODES; i++) {
		const struct node *from = &front->node[front->now[i]];
		if (from->cost + item->cost > front->budget || !can_add(front, front->now[i], number))
			continue;
		front->node[front->nodes] = (struct node){ from->time + item->time, from->bytes + item->bytes,
			from->cost + item->cost, front->now[i], number };
		front->more[front->mores++] = front->nodes++;
	}
	return true;
}

/* Of equal ones the shorter, which was there before. */
static bool comes_first(const struct node *old, const struct node *new)
{
	return old->bytes != new->bytes ? old->bytes < new->bytes : old->time <= new->time;
}

static void merge(struct front *front)
{
	const struct node *node = front->node;
	uint32_t a = 0, b = 0, count = 0;
	while ((a < front->count || b < front->mores) && count < WIDTH) {
		bool old = b == front->mores || (a < front->count && comes_first(&node[front->now[a]], &node[front->more[b]]));
		uint32_t take = old ? front->now[a++] : front->more[b++];
		if (count == 0 || node[take].time < node[front->next[count - 1]].time)
			front->next[count++] = take;
	}
	uint32_t *was = front->now;
	front->now = front->next;
	front->next = was;
	front->count = count;
}

/* By bytes the times fall: the last that fits is the fastest. */
static uint32_t take_sums(const struct front *front, int64_t room, struct fit_sum *sum, uint32_t most)
{
	uint32_t count = 0;
	for (uint32_t i = front->count; i-- > 0 && count < most;) {
		const struct node *node = &front->node[front->now[i]];
		if (node->bytes > room || node->time >= 0)
			continue;
		sum[count] = (struct fit_sum){ .time = node->time, .bytes = node->bytes };
		sum[count].count = list_items(front, front->now[i], sum[count].item);
		count++;
	}
	return count;
}

enum status fit_sums(const struct fit_item *item, uint32_t items, int64_t room, double budget,
	fit_compatible *compatible, void *context, uint64_t *ticks, struct fit_sum *sum, uint32_t most, uint32_t *sums)
{
	struct front front = { .item = item, .budget = budget, .compatible = compatible, .context = context };
	front.now = arena_alloc(&front.arena, WIDTH, sizeof *front.now);
	front.more = arena_alloc(&front.arena, WIDTH, sizeof *front.more);
	front.next = arena_alloc(&front.arena, WIDTH, sizeof *front.next);
	bool fine = front.now && front.more && front.next && mem_reserve(&front.node, &front.room, 1, sizeof *front.node);
	if (fine) {
		front.node[front.nodes++] = (struct node){ .from = NONE, .item = NONE };
		front.now[front.count++] = 0;
	}
	for (uint32_t i = 0; i < items && fine; i++) {
		if (item[i].apart)
			continue;
		*ticks += front.count;
		fine = sums_add_item(&front, i);
		if (fine)
			merge(&front);
	}
	*sums = fine ? take_sums(&front, room, sum, most) : 0;
	mem_free(front.node);
	arena_free(&front.arena);
	return fine ? OK : NO_MEMORY;
}
