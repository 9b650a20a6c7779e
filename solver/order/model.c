/* model.c: building the orderers' model, and walking through its states. */

#include "model.h"

/* op -> items it uses or produces */
static enum status collect_touched(const struct problem *problem, struct arena *arena, struct csr *touch)
{
	uint32_t ops = problem->ops;
	NEED(ROOM(arena, touch->start, (size_t)ops + 1) &&
		ROOM(arena, touch->item, (size_t)problem->uses.start[ops] + problem->products.start[ops]));
	uint32_t count = 0;
	FOR(op, ops) {
		touch->start[op] = count;
		FOR_ITEMS(use, &problem->uses, op)
			touch->item[count++] = use;
		FOR_ITEMS(product, &problem->products, op)
			touch->item[count++] = product;
	}
	touch->start[ops] = count;
	return OK;
}

enum status order_model_of(const struct problem *problem, struct arena *arena, struct order_model *model)
{
	bool *from_start;
	NEED(ROOM(arena, from_start, problem->items));
	FOR(item, problem->items)
		from_start[item] = problem->producer[item] == NONE;
	*model = (struct order_model) {
		.ops = problem->ops, .items = problem->items, .base = problem->base,
		.pred = problem->pred, .succ = problem->succ,
		.size = problem->size, .from_start = from_start, .to_end = problem->live_out, .workspace = problem->workspace,
	};
	TRY(collect_touched(problem, arena, &model->touch));
	return csr_transpose(arena, &model->touch, model->ops, model->items, &model->users);
}

struct order_model order_model_reversed(const struct order_model *model)
{
	struct order_model reversed = *model;
	reversed.pred = model->succ;
	reversed.succ = model->pred;
	reversed.from_start = model->to_end;
	reversed.to_end = model->from_start;
	return reversed;
}

int64_t order_profile(const struct order_model *model, const uint32_t *order, uint32_t *count, int64_t *live)
{
	int64_t bytes = model->base;
	FOR(item, model->items) {
		count[item] = csr_length(&model->users, item);
		if (model->from_start[item] && (count[item] > 0 || model->to_end[item]))
			bytes += model->size[item];
	}
	int64_t peak = model->ops ? INT64_MIN : bytes;
	FOR(n, model->ops) {
		uint32_t op = order[n];
		int64_t closed = 0;
		FOR_ITEMS(item, &model->touch, op) {
			if (!model->from_start[item] && count[item] == csr_length(&model->users, item))
				bytes += model->size[item];
			if (--count[item] == 0 && !model->to_end[item])
				closed += model->size[item];
		}
		live[n] = bytes + model->workspace[op];
		peak = LARGER(live[n], peak);
		bytes -= closed;
	}
	return peak;
}

static void walk_reset(struct order_walk *walk)
{
	const struct order_model *model = walk->model;
	walk->live = model->base;
	FOR(op, model->ops)
		walk->waiting[op] = csr_length(&model->pred, op);
	FOR(item, model->items) {
		uint32_t users = csr_length(&model->users, item);
		walk->left[item] = users;
		walk->rest[item] = 0;
		FOR_ITEMS(op, &model->users, item) {
			walk->rest[item] ^= op;
			if (!model->from_start[item])
				walk->opens[op] += model->size[item];
			if (users == 1 && !model->to_end[item])
				walk->closes[op] += model->size[item];
		}
		if (model->from_start[item] && (users > 0 || model->to_end[item]))
			walk->live += model->size[item];
	}
}

enum status order_walk_start(struct order_walk *walk, const struct order_model *model, struct arena *arena)
{
	*walk = (struct order_walk) { .model = model };
	/* One run changes at most every user of every item it touches. */
	NEED(ROOMS(arena, model->ops, walk->waiting, walk->opens, walk->closes) &&
		ROOMS(arena, model->items, walk->left, walk->rest) && ROOM(arena, walk->changed,
		(size_t)model->users.start[model->items] + model->items));
	walk_reset(walk);
	return OK;
}

static bool item_open(const struct order_walk *walk, uint32_t item)
{
	return walk->model->from_start[item] || walk->left[item] < csr_length(&walk->model->users, item);
}

/* The other users of an item need not open it any more (sign -1), or must again (sign 1). */
static void shift_opens(struct order_walk *walk, uint32_t item, uint32_t op, int64_t bytes)
{
	const struct csr *users = &walk->model->users;
	FOR_ITEMS(other, users, item) {
		walk->opens[other] += bytes;
		if (other != op)
			walk->changed[walk->changes++] = other;
	}
}

void order_walk_run(struct order_walk *walk, uint32_t op)
{
	const struct order_model *model = walk->model;
	walk->changes = 0;
	FOR_ITEMS(item, &model->touch, op) {
		int64_t size = model->size[item];
		if (!item_open(walk, item)) {
			walk->live += size;
			shift_opens(walk, item, op, -size);
		}
		walk->rest[item] ^= op;
		uint32_t left = --walk->left[item];
		if (model->to_end[item])
			continue;
		if (left == 0) {
			walk->live -= size;
		} else if (left == 1) {
			walk->closes[walk->rest[item]] += size;
			walk->changed[walk->changes++] = walk->rest[item];
		}
	}
	FOR_ITEMS(after, &model->succ, op)
		walk->waiting[after]--;
}

void order_walk_undo(struct order_walk *walk, uint32_t op)
{
	const struct order_model *model = walk->model;
	walk->changes = 0;
	FOR_ITEMS(item, &model->touch, op) {
		int64_t size = model->size[item];
		uint32_t left = walk->left[item]++;
		if (!model->to_end[item]) {
			if (left == 0) {
				walk->live += size;
			} else if (left == 1) {
				walk->closes[walk->rest[item]] -= size;
				walk->changed[walk->changes++] = walk->rest[item];
			}
		}
		walk->rest[item] ^= op;
		if (!item_open(walk, item)) {
			walk->live -= size;
			shift_opens(walk, item, op, size);
		}
	}
	FOR_ITEMS(after, &model->succ, op)
		walk->waiting[after]++;
}

void order_turn(uint32_t *order, uint32_t ops)
{
	FOR(i, ops / 2) {
		uint32_t swap = order[i];
		order[i] = order[ops - 1 - i];
		order[ops - 1 - i] = swap;
	}
}
