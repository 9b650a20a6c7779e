/* dive.c: lowest offset first.
 *
 * Every buffer of some smallest layout rests on the ground or on another buffer. The dive builds such a layout without
 * looking back: of all buffers that are left it takes the one that can rest lowest, by turn among equals, puts it there
 * and never reconsiders. It is the first branch of the exact search (search.c) and, on the memory of training
 * steps, usually as good.
 *
 * The skyline, the top of what has been placed, is a segment tree over sections. A buffer rests on the highest top
 * of its sections. It waits at one section of its life, as a member of that section's heap by turn; the tree knows
 * the lowest section where somebody waits. When that section's turn comes, its best waiter either rests exactly there,
 * and is placed, or is held up by a higher section, and waits there from now on. Nobody else is touched, so the work is
 * O((n + moves) log sections) and the memory O(n + sections).
 *
 * A pinned buffer counts as placed once the lowest place reaches its offset; what would run into it before waits for
 * it. */
#include "steps.h"

/* A node of the tree. Below a uniform node all sections have its top and its children's heights are stale. */
struct node {
	int64_t top;         /* highest top below */
	int64_t low;         /* lowest top of a section where somebody waits */
	uint32_t low_turn;   /* the best turn that waits at that height, NONE: nobody waits below */
	uint32_t best_turn;  /* the best turn that waits at all */
	bool uniform;
};

struct dive {
	const struct layout_model *model;
	const uint32_t *order;   /* turn -> buffer */
	int64_t *offset;
	struct node *node;
	uint32_t leaves;         /* a power of two >= sections; leaf of section s: leaves + s */
	/* Pairing heaps of turns, one per section: */
	uint32_t *root;          /* [sections] */
	uint32_t *child, *sibling; /* [n] by turn */
	/* Pinned buffers by offset; what waits for each of them is a list through sibling. */
	uint32_t *pin, pins, pins_done;
	uint32_t *pin_waits;
	uint64_t steps;
};

/* ---- heaps ---- */

static uint32_t meld(struct dive *dive, uint32_t a, uint32_t b)
{
	if (a == NONE || b == NONE)
		return a == NONE ? b : a;
	if (b < a) {
		uint32_t swap = a;
		a = b;
		b = swap;
	}
	dive->sibling[b] = dive->child[a];
	dive->child[a] = b;
	return a;
}

static void dive_push(struct dive *dive, uint32_t section, uint32_t turn)
{
	dive->child[turn] = dive->sibling[turn] = NONE;
	dive->root[section] = meld(dive, dive->root[section], turn);
}

/* Takes the best turn out: children are melded in pairs from left to right, the pairs from right to left. */
static uint32_t dive_pop(struct dive *dive, uint32_t section)
{
	uint32_t best = dive->root[section], next = dive->child[best], pairs = NONE;
	while (next != NONE) {
		uint32_t a = next, b = dive->sibling[a];
		next = b == NONE ? NONE : dive->sibling[b];
		a = meld(dive, a, b);
		dive->sibling[a] = pairs;
		pairs = a;
	}
	uint32_t root = NONE;
	while (pairs != NONE) {
		next = dive->sibling[pairs];
		root = meld(dive, root, pairs);
		pairs = next;
	}
	dive->root[section] = root;
	return best;
}

/* ---- the tree ---- */

static void raise(struct node *node, int64_t top)
{
	node->top = node->low = top;
	node->low_turn = node->best_turn;
	node->uniform = true;
}

static void dive_pull(struct node *node, const struct node *left, const struct node *right)
{
	node->top = LARGER(left->top, right->top);
	node->best_turn = SMALLER(left->best_turn, right->best_turn);
	bool take_left = right->low_turn == NONE
		|| (left->low_turn != NONE && (left->low != right->low ? left->low < right->low : left->low_turn < right->low_turn));
	node->low = take_left ? left->low : right->low;
	node->low_turn = take_left ? left->low_turn : right->low_turn;
}

static void push_down(struct dive *dive, uint32_t v)
{
	if (!dive->node[v].uniform)
		return;
	raise(&dive->node[2 * v], dive->node[v].top);
	raise(&dive->node[2 * v + 1], dive->node[v].top);
	dive->node[v].uniform = false;
}

/* Walks down to a leaf so that its ancestors' heights are fresh. */
static void dive_open_path(struct dive *dive, uint32_t leaf)
{
	for (uint32_t height = (uint32_t)__builtin_ctz(dive->leaves); height > 0; height--)
		push_down(dive, leaf >> height);
}

static void close_path(struct dive *dive, uint32_t leaf)
{
	for (uint32_t v = leaf >> 1; v > 0; v >>= 1)
		if (!dive->node[v].uniform)
			dive_pull(&dive->node[v], &dive->node[2 * v], &dive->node[2 * v + 1]);
}

/* The section's heap has a new best turn. */
static void dive_refresh(struct dive *dive, uint32_t section)
{
	uint32_t leaf = dive->leaves + section;
	dive_open_path(dive, leaf);
	struct node *node = &dive->node[leaf];
	node->low = node->top;
	node->best_turn = node->low_turn = dive->root[section];
	close_path(dive, leaf);
}

/* Raises sections [first, last) to top. */
static void raise_range(struct dive *dive, uint32_t first, uint32_t last, int64_t top)
{
	uint32_t left = dive->leaves + first, right = dive->leaves + last;
	dive_open_path(dive, left);
	dive_open_path(dive, right - 1);
	for (uint32_t l = left, r = right; l < r; l >>= 1, r >>= 1) {
		if (l & 1)
			raise(&dive->node[l++], top);
		if (r & 1)
			raise(&dive->node[--r], top);
	}
	for (uint32_t v = left >> 1; v > 0; v >>= 1)
		if (!dive->node[v].uniform)
			dive_pull(&dive->node[v], &dive->node[2 * v], &dive->node[2 * v + 1]);
	close_path(dive, right - 1);
}

/* The highest top of sections [first, last) and a section that has it. */
static int64_t dive_highest(struct dive *dive, uint32_t first, uint32_t last, uint32_t *section)
{
	uint32_t left = dive->leaves + first, right = dive->leaves + last, found = 0;
	dive_open_path(dive, left);
	dive_open_path(dive, right - 1);
	for (uint32_t l = left, r = right; l < r; l >>= 1, r >>= 1) {
		if (l & 1) {
			if (!found || dive->node[l].top > dive->node[found].top)
				found = l;
			l++;
		}
		if (r & 1) {
			r--;
			if (!found || dive->node[r].top > dive->node[found].top)
				found = r;
		}
	}
	int64_t top = dive->node[found].top;
	while (found < dive->leaves && !dive->node[found].uniform)
		found = 2 * found + (dive->node[2 * found].top < top);
	while (found < dive->leaves)
		found = 2 * found;
	*section = found - dive->leaves;
	return top;
}

/* ---- the dive ---- */

static enum status dive_set_up(struct dive *dive, const struct layout_model *model)
{
	dive->leaves = 1;
	while (dive->leaves < model->sections)
		dive->leaves *= 2;
	MAKE(dive->node, (size_t)dive->leaves * 2);
	MAKE(dive->root, model->sections);
	MAKE(dive->child, model->n);
	MAKE(dive->sibling, model->n);
	MAKE(dive->pin, model->pins);
	MAKE(dive->pin_waits, model->pins);
	NEED(dive->node && dive->root && dive->child && dive->sibling && dive->pin && dive->pin_waits);
	FOR(s, model->sections)
		dive->root[s] = NONE;
	FOR(turn, model->n) {
		uint32_t b = dive->order[turn];
		if (model->fixed[b] < 0) {
			dive_push(dive, model->first[b], turn);
			continue;
		}
		uint32_t i = dive->pins++;
		for (; i > 0 && model->fixed[dive->pin[i - 1]] > model->fixed[b]; i--)
			dive->pin[i] = dive->pin[i - 1];
		dive->pin[i] = b;
		dive->pin_waits[dive->pins - 1] = NONE;
	}
	FOR(leaf, dive->leaves) {
		struct node *node = &dive->node[dive->leaves + leaf];
		node->best_turn = node->low_turn = leaf < model->sections ? dive->root[leaf] : NONE;
	}
	for (uint32_t v = dive->leaves - 1; v > 0; v--)
		dive_pull(&dive->node[v], &dive->node[2 * v], &dive->node[2 * v + 1]);
	return OK;
}

static void dive_tear_down(struct dive *dive)
{
	mem_free(dive->node);
	mem_free(dive->root);
	mem_free(dive->child);
	mem_free(dive->sibling);
	mem_free(dive->pin);
	mem_free(dive->pin_waits);
}

static void dive_put(struct dive *dive, uint32_t buffer, int64_t offset)
{
	const struct layout_model *model = dive->model;
	dive->offset[buffer] = offset;
	FOR_SPAN(k, model->span_start, buffer)
		raise_range(dive, model->span[k].first, model->span[k].last, offset + model->size[buffer]);
}

/* The lowest place's turn has come to the next pin; what waited for it waits at its own first section again. */
static void put_pin(struct dive *dive)
{
	uint32_t pin = dive->pin[dive->pins_done];
	dive_put(dive, pin, dive->model->fixed[pin]);
	for (uint32_t turn = dive->pin_waits[dive->pins_done], next; turn != NONE; turn = next) {
		next = dive->sibling[turn];
		uint32_t section = dive->model->first[dive->order[turn]];
		dive_push(dive, section, turn);
		dive_refresh(dive, section);
	}
	dive->pins_done++;
}

/* The first pin still to come that the buffer would run into, or stand above, or NONE. */
static uint32_t pin_in_the_way(const struct dive *dive, uint32_t buffer, int64_t offset)
{
	const struct layout_model *model = dive->model;
	for (uint32_t i = dive->pins_done; i < dive->pins && model->fixed[dive->pin[i]] < offset + model->size[buffer]; i++) {
		uint32_t pin = dive->pin[i];
		if (model->first[pin] < model->last[buffer] && model->first[buffer] < model->last[pin])
			return i;
	}
	return NONE;
}

static uint32_t lowest_section(struct dive *dive)
{
	uint32_t v = 1;
	while (v < dive->leaves) {
		push_down(dive, v);
		const struct node *left = &dive->node[2 * v];
		v = 2 * v + !(left->low_turn == dive->node[v].low_turn && left->low == dive->node[v].low);
	}
	return v - dive->leaves;
}

/* The lowest waiting place: its best waiter is placed, moves to the section that holds it up, or waits for a pin. */
static void dive_step(struct dive *dive)
{
	const struct layout_model *model = dive->model;
	uint32_t section = lowest_section(dive), turn = dive_pop(dive, section), buffer = dive->order[turn], holds = section;
	int64_t low = dive->node[1].low, top = low;
	FOR_SPAN(k, model->span_start, buffer) {
		uint32_t where;
		int64_t height = dive_highest(dive, model->span[k].first, model->span[k].last, &where);
		if (height > top) {
			top = height;
			holds = where;
		}
	}
	dive_refresh(dive, section);
	if (top > low) {
		dive_push(dive, holds, turn);
		dive_refresh(dive, holds);
		return;
	}
	int64_t offset = align_up(top, model->alignment[buffer]);
	uint32_t pin = pin_in_the_way(dive, buffer, offset);
	if (pin != NONE) {
		dive->sibling[turn] = dive->pin_waits[pin];
		dive->pin_waits[pin] = turn;
		return;
	}
	dive_put(dive, buffer, offset);
}

enum status layout_dive(const struct layout_model *model, const uint32_t *order, bool critical, int64_t limit,
	int64_t *offset, int64_t *height, struct control *control)
{
	if (!model->pins && !model->gapped)
		return layout_skyline(model, order, critical, limit, offset, height, control);
	struct dive dive = { .model = model, .order = order, .offset = offset };
	enum status status = dive_set_up(&dive, model);
	*height = 0;
	while (status == OK) {
		const struct node *top = &dive.node[1];
		bool waiting = top->low_turn != NONE;
		if (top->top >= limit) {
			*height = INT64_MAX;
			break;
		}
		if (dive.pins_done < dive.pins && (!waiting || model->fixed[dive.pin[dive.pins_done]] <= top->low))
			put_pin(&dive);
		else if (waiting)
			dive_step(&dive);
		else
			break;
		if (++dive.steps % 256 == 0 && control_spend(control, 256 * STEP_TICKS))
			status = control_status(control);
	}
	control_spend(control, dive.steps % 256 * STEP_TICKS);
	if (status == OK && *height == 0)
		*height = layout_model_height(model, offset);
	dive_tear_down(&dive);
	return status;
}
