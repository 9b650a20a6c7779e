/* fold.c: storages that play the same part in equal layers. */
#include <stdlib.h>

#include "search.h"

#define ROUNDS 3
#define SMALL 4096 /* bytes: storages below are left to the cuts */

static void refine_ops(const struct recompute_step *step, const uint64_t *storage, uint64_t *op)
{
	FOR(o, step->ops) {
		FOR_ITEMS(touched, &step->graph->touches, o)
			op[o] = hash_join(op[o], storage[touched]);
	}
}

/* Users in program order: the same in equal layers. Sums, since an anchor of all layers may have some more. */
static void refine_storages(const struct recompute_step *step, const uint64_t *op, uint64_t *storage)
{
	FOR(s, step->storages) {
		uint64_t sum = 0;
		if (!step->droppable[s])
			continue;
		FOR_ITEMS(user, &step->graph->users, s)
			if (!step->view[user])
				sum += hash_mix(op[user]);
		storage[s] = hash_join(storage[s], sum);
	}
}

static bool find_colours(const struct recompute_step *step, uint64_t *storage)
{
	uint64_t *MAKE(op, step->ops);
	if (!op)
		return false;
	FOR(s, step->storages)
		storage[s] = hash_join(step->droppable[s] * 2u + step->saved[s], (uint64_t)recompute_kept_bytes(step, s));
	FOR(o, step->ops)
		op[o] = hash_join(hash_join(text_hash(step->graph->op[o].type), (uint64_t)step->time[o]), step->graph->op[o].phase);
	FOR_INT(round, ROUNDS) {
		refine_ops(step, storage, op);
		refine_storages(step, op, storage);
	}
	mem_free(op);
	return true;
}

struct coloured { uint64_t colour; uint32_t storage; };

COMPARATOR(recompute_fold_by_colour, struct coloured, COMPARE(a->colour, b->colour, COMPARE(a->storage, b->storage, 0)))

enum status recompute_fold_find(const struct recompute_step *step, struct recompute_fold *fold)
{
	HELD uint64_t *MAKE(colour, step->storages);
	HELD struct coloured *MAKE(list, step->storages);
	uint32_t count = 0;
	*fold = (struct recompute_fold){ 0 };
	NEED(ROOMS(&fold->arena, step->storages, fold->of, fold->members.item) &&
		ROOM(&fold->arena, fold->members.start, step->storages + 1u) && colour && list && find_colours(step, colour));
	FOR(s, step->storages) {
		fold->of[s] = NONE;
		if (step->droppable[s] && step->bytes[s] > SMALL && step->fixed[s] == RECOMPUTE_FREE)
			list[count++] = (struct coloured){ colour[s], s };
	}
	if (count > 0)
		SORT(list, count, recompute_fold_by_colour);
	for (uint32_t i = 0, end, used = 0; i < count; i = end) {
		for (end = i + 1; end < count && list[end].colour == list[i].colour; end++)
			;
		if (end - i < 2)
			continue;
		FOR_FROM(k, i, end) {
			fold->of[list[k].storage] = fold->classes;
			fold->members.item[used++] = list[k].storage;
		}
		fold->members.start[++fold->classes] = used;
		fold->most = LARGER(end - i, fold->most);
	}
	return OK;
}

void recompute_fold_free(struct recompute_fold *fold)
{
	arena_free(&fold->arena);
}
