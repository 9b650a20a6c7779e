/* room_order.c: ops moved at random while neither peak nor arena grows, until the arena keeps the cap, too. */

#include "stages.h"

#define WALKS 6                /* from the order as it is */
#define MOVES 1000             /* of a walk at most, */
#define WORK 1000000           /* and so many ops in all of them */
#define FEWEST_LAYOUTS 12      /* below, there is no use in it */
#define FAR 40                 /* positions that an op moves at most */

struct moving {
	const struct problem *problem;
	uint32_t *order, *next, *position;     /* [ops] */
	uint64_t random;
};

/* The positions between which the op at a position may run, others staying where they are. */
static void room_order_find_window(const struct moving *moving, uint32_t at, uint32_t *low, uint32_t *high)
{
	const struct problem *problem = moving->problem;
	uint32_t op = moving->order[at];
	*low = at > FAR ? at - FAR : 0;
	*high = at + FAR < problem->ops ? at + FAR : problem->ops - 1;
	FOR_ROW(i, &problem->pred, op)
		if (moving->position[problem->pred.item[i]] + 1 > *low)
			*low = moving->position[problem->pred.item[i]] + 1;
	FOR_ROW(i, &problem->succ, op)
		if (moving->position[problem->succ.item[i]] - 1 < *high)
			*high = moving->position[problem->succ.item[i]] - 1;
}

/* next: the order with one op elsewhere. False: it can't move. */
static bool move_one(struct moving *moving)
{
	uint32_t at = (uint32_t)(random_next(&moving->random) % moving->problem->ops), low, high;
	room_order_find_window(moving, at, &low, &high);
	if (low >= high)
		return false;
	uint32_t to = low + (uint32_t)(random_next(&moving->random) % (high - low));
	to += to >= at;
	memcpy(moving->next, moving->order, moving->problem->ops * sizeof *moving->next);
	if (to < at)
		memmove(&moving->next[to + 1], &moving->order[to], (at - to) * sizeof *moving->next);
	else
		memmove(&moving->next[at], &moving->order[at + 1], (to - at) * sizeof *moving->next);
	moving->next[to] = moving->order[at];
	return true;
}

static void take_next(struct moving *moving)
{
	uint32_t *old = moving->order;
	moving->order = moving->next;
	moving->next = old;
	for (uint32_t i = 0; i < moving->problem->ops; i++)
		moving->position[moving->order[i]] = i;
}

/* Moves until the arena is at most limit bytes, or the effort is spent. The limit decides when it ends and nothing
 * else: what keeps a cap keeps every larger one. */
static enum status move_all(struct moving *moving, struct stage_context *stage, const struct ordered *ordered,
	const struct scenario *scenario, int64_t limit, int64_t *arena, struct error *error)
{
	const struct problem *problem = moving->problem;
	uint64_t work = 0;
	enum status status = OK;
	for (uint32_t n = 0; n < MOVES && *arena > limit && work < WORK && status == OK; n++) {
		uint32_t moment;
		int64_t next;
		if (!move_one(moving))
			continue;
		work += problem->ops;
		int64_t peak = problem_peak(problem, moving->next, NULL, &moment);
		if (peak < 0)
			return fail_memory(error);
		if (peak > ordered->result.peak)
			continue;
		work += problem->ops + 8 * (uint64_t)problem->items;
		status = stage_arena(stage, ordered, scenario, moving->next, &next, error);
		if (status == OK && next <= *arena) {
			*arena = next;
			take_next(moving);
		}
	}
	return status;
}

static bool can_help(const struct ordered *ordered, const struct scenario *scenario)
{
	for (uint32_t i = 0; i < scenario->pins; i++)
		if (scenario->pin[i].kind == PIN_OFFSET || scenario->pin[i].kind == PIN_BEHIND)
			return false;
	switch (scenario->value[K_layout]) {
	case LAYOUT_BEST: case LAYOUT_ROAM: case LAYOUT_DIVE: case LAYOUT_FILE: return false;
	default:
		return ordered->problem.ops > 1 &&
			WORK / (2 * (uint64_t)ordered->problem.ops + 8 * (uint64_t)ordered->problem.items) >= FEWEST_LAYOUTS;
	}
}

/* Several walks, each from the order as it is. moving->order is what the last one came to. */
static enum status room_order_walk(struct moving *moving, struct stage_context *stage, const struct ordered *ordered,
	const struct scenario *scenario, int64_t limit, int64_t *arena, struct error *error)
{
	int64_t first = *arena;
	enum status status = OK;
	for (uint64_t walk = 1; walk <= WALKS && status == OK && *arena > limit; walk++) {
		memcpy(moving->next, ordered->result.order, moving->problem->ops * sizeof *moving->next);
		take_next(moving);
		moving->random = walk;
		*arena = first;
		status = move_all(moving, stage, ordered, scenario, limit, arena, error);
	}
	return status;
}

/* The store has the order, or just one number where none was found. */
static struct key key_of_room(const struct ordered *ordered, const struct scenario *scenario, int64_t limit)
{
	struct key key = key_of("order with room");
	key_add_key(&key, &ordered->key);
	key_add(&key, (uint64_t)scenario->value[K_layout]);
	key_add(&key, (uint64_t)limit);
	return key;
}

static enum status room_order_find(struct moving *moving, struct stage_context *stage, const struct ordered *ordered,
	const struct scenario *scenario, int64_t limit, int64_t arena, bool *found, struct error *error)
{
	size_t bytes = moving->problem->ops * sizeof *moving->order;
	struct key key = key_of_room(ordered, scenario, limit);
	size_t stored = ordered->cut_short ? 0 : store_find_blob(stage->store, key.half, moving->order, bytes);
	*found = stored == bytes;
	if (stored > 0 || stage->only_stored)
		return error_set(error, stored > 0 ? OK : LIMIT);
	enum status status = room_order_walk(moving, stage, ordered, scenario, limit, &arena, error);
	*found = status == OK && arena <= limit;
	if (status == OK && !ordered->cut_short)
		store_keep_blob(stage->store, key.half, moving->order, *found ? bytes : sizeof *moving->order);
	return status == CANCELLED ? error_set(error, OK) : status;    /* the plan as it is stands */
}

struct ordered *room_order(struct stage_context *stage, const struct ordered *ordered, int64_t arena,
	const struct scenario *scenario, int64_t limit, struct error *error)
{
	uint32_t ops = ordered->problem.ops;
	struct ordered *result = NULL;
	bool found = false;
	error_set(error, OK);
	if (!can_help(ordered, scenario))
		return NULL;
	struct moving moving = { .problem = &ordered->problem,
		.order = mem_alloc(ops, sizeof *moving.order),
		.next = mem_alloc(ops, sizeof *moving.next),
		.position = mem_alloc(ops, sizeof *moving.position) };
	if (!moving.order || !moving.next || !moving.position)
		fail_memory(error);
	else if (room_order_find(&moving, stage, ordered, scenario, limit, arena, &found, error) == OK && found)
		result = ordered_again(ordered, scenario, moving.order, "moved for the layout", error);
	mem_free(moving.order);
	mem_free(moving.next);
	mem_free(moving.position);
	return result;
}
