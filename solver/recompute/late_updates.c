/* late_updates.c: updates that wait for reruns.
 *
 * An op that runs again reads its weights as they were when it ran first. Its result is wanted anew as late as the last
 * op after the pass that reads it, or what is made of it without being saved itself. An update of these weights before
 * that forbids the rerun: AdamW's decay needs nothing but the weights, and an orderer that saw no rerun may put it
 * right behind their last reader. */

#include "search.h"

struct late {
	const struct recompute_step *step;
	const uint32_t *order;
	uint32_t *position; /* [ops] */
	uint32_t *asked; /* [storages] one more than the last position at which it may have to be written anew; 0: never */
	uint32_t *until; /* [ops] of an update: it comes behind this position */
};

static bool is_update(const struct late *late, uint32_t op)
{
	return late->step->graph->op[op].phase == PHASE_UPDATE;
}

static void late_updates_find_asked(struct late *late)
{
	const struct recompute_step *step = late->step;
	FOR(s, step->storages)
		FOR_ITEMS(reader, &step->readers, s) {
			uint32_t at = late->position[reader] + 1;
			if (!is_update(late, reader) && at > late->asked[s])
				late->asked[s] = at;
		}
	FOR_DOWN(op, step->ops) {
		uint32_t last = 0;
		if (!step->forward[op] || step->view[op])
			continue;
		FOR_ITEMS(make, &step->makes, op)
			last = LARGER(late->asked[make], last);
		FOR_ITEMS(change, &step->changes, op)
			last = LARGER(late->asked[change], last);
		FOR_ITEMS(s, &step->reads, op)
			if (!step->saved[s] && last > late->asked[s])
				late->asked[s] = last;
	}
}

/* The last position at which the op may run again, for each storage that it must find as it was. */
static void late_updates_find_weights(const struct late *late, uint32_t *last)
{
	const struct recompute_step *step = late->step;
	FOR(op, step->ops) {
		uint32_t again = 0;
		FOR_ITEMS(make, &step->makes, op)
			again = LARGER(late->asked[make], again);
		FOR_ITEMS(change, &step->changes, op)
			again = LARGER(late->asked[change], again);
		FOR_ITEMS(item, &step->steady, op)
			last[item] = LARGER(again, last[item]);
	}
}

/* Whether some update moves. */
static bool find_until(struct late *late, const uint32_t *last)
{
	const struct recompute_step *step = late->step;
	const struct graph *graph = step->graph;
	bool some = false;
	FOR(op, step->ops) {
		late->until[op] = late->position[op];
		FOR_ITEMS(overwrite, &step->overwrites, op)
			if (is_update(late, op) && last[overwrite] > late->position[op] + 1) {
				late->until[op] = LARGER(last[overwrite] - 1, late->until[op]);
				some = true;
			}
	}
	for (uint32_t i = step->ops; i-- > 0 && some;) { /* what they need comes with them */
		uint32_t op = late->order[i];
		FOR_ITEMS(after, &graph->succ, op)
			if (is_update(late, op) && late->until[after] > late->position[after] &&
				late->until[after] > late->until[op])
				late->until[op] = late->until[after];
	}
	FOR_WHILE(i, step->ops, some) /* and what needs them stays behind */
		FOR_ITEMS(item, &graph->succ, late->order[i])
			if (is_update(late, item) && late->until[late->order[i]] > late->until[item])
				late->until[item] = late->until[late->order[i]];
	return some;
}

/* Ops by where they wait until, in the order that they had: what does not wait stands where it stood. list: [ops + 1],
 * moved: [ops]. */
static void late_updates_move(const struct late *late, uint32_t *list, uint32_t *moved)
{
	uint32_t ops = late->step->ops;
	CLEAR(list, (ops + 1u));
	FOR(op, ops)
		list[late->until[op] + 1]++;
	FOR(i, ops)
		list[i + 1] += list[i];
	FOR(i, ops) /* the one that is waited for, then those that wait */
		if (late->until[late->order[i]] == i)
			moved[list[i]++] = late->order[i];
	FOR(i, ops)
		if (late->until[late->order[i]] != i)
			moved[list[late->until[late->order[i]]]++] = late->order[i];
}

bool recompute_updates_late(const struct recompute_step *step, uint32_t *order)
{
	OWN(arena) arena = { 0 };
	struct late late = { .step = step, .order = order };
	uint32_t *last = NULL, *list = NULL, *moved = NULL;
	bool fine = ROOMS(&arena, step->ops, late.position, late.until, moved) &&
		ROOMS(&arena, step->storages, late.asked, last) && ROOM(&arena, list, step->ops + 1u);
	FOR_WHILE(i, step->ops, fine)
		late.position[order[i]] = i;
	if (fine) {
		late_updates_find_asked(&late);
		late_updates_find_weights(&late, last);
	}
	if (fine && find_until(&late, last)) {
		late_updates_move(&late, list, moved);
		COPY(order, moved, step->ops);
	}
	return fine;
}
