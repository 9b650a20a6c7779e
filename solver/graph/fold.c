/* fold.c: segments one after the other, the largest first. */

#include "fold_steps.h"

#define SEGMENTS_MAX 8
#define OPS_LEAST 3 /* of a copy: less is no layer */

/* ---- orbits ---- */

static enum status fold_orbits_of(
	const struct fold_run *run, const struct fold_shift *shift, struct fold_orbits *orbits, struct arena *arena)
{
	uint32_t ops = run->graph->ops, items = 0;
	*orbits = (struct fold_orbits) { 0 };
	NEED(ROOM(arena, orbits->start, (size_t)ops + 1) && ROOMS(arena, ops, orbits->item, orbits->orbit, orbits->index));
	FILL_NONE(orbits->orbit, ops);
	/* Ops on a cycle of the shift have no first one, and are in no orbit. */
	FOR(op, ops) {
		if (shift->origin[op] != NONE || shift->image[op] == NONE)
			continue;
		uint32_t index = 0;
		for (uint32_t at = op; at != NONE; at = shift->image[at]) {
			orbits->orbit[at] = orbits->orbits;
			orbits->index[at] = index++;
			orbits->item[items++] = at;
		}
		orbits->start[++orbits->orbits] = items;
	}
	return ROOMS(arena, orbits->orbits, orbits->offset, orbits->out) ? OK : NO_MEMORY;
}

/* ---- segments ---- */

static enum status add_segment(struct fold_run *run, struct fold *fold, const struct fold_orbits *orbits)
{
	struct fold_segment *segment = &fold->segment[fold->segments];
	uint32_t copies = (uint32_t)(orbits->high - orbits->low + 1), ops = run->graph->ops,
			 middle = (uint32_t)(copies / 2), count = 0;
	FOR(orbit, orbits->orbits)
		segment->ops += !orbits->out[orbit];
	segment->copies = copies;
	NEED(ROOM(&fold->arena, segment->op, (size_t)copies * segment->ops));
	/* Ops of a copy in the program order of the copy in the middle. */
	FOR(op, ops) {
		uint32_t orbit = orbits->orbit[op];
		if (orbit == NONE || orbits->out[orbit] ||
			orbits->offset[orbit] + (int32_t)orbits->index[op] != orbits->low + (int32_t)middle)
			continue;
		FOR(copy, copies) {
			uint32_t at = orbits->item[orbits->start[orbit] + (uint32_t)(orbits->low + (int32_t)copy - orbits->offset[orbit])];
			segment->op[copy * segment->ops + count] = at;
			fold->segment_of[at] = fold->segments;
			fold->copy_of[at] = copy;
			fold->index_of[at] = count;
		}
		count++;
	}
	fold->segments++;
	return OK;
}

/* False in *found when there is no further one. */
static enum status find_segment(struct fold_run *run, struct fold *fold, bool *found)
{
	OWN(arena) arena = { 0 };
	struct fold_shift shift;
	struct fold_orbits orbits = { 0 };
	enum status status = fold_shift_find(run, &shift, &arena);
	*found = status == OK && shift.mapped > 0;
	if (*found)
		status = fold_orbits_of(run, &shift, &orbits, &arena);
	if (*found && status == OK)
		status = fold_place(run, &orbits, &arena);
	if (*found && status == OK)
		status = fold_verify(run, &orbits, &arena);
	uint32_t ops = 0;
	FOR_WHILE(orbit, orbits.orbits, status == OK)
		ops += !orbits.out[orbit];
	if (*found && status == OK && ops >= OPS_LEAST && orbits.high - orbits.low + 1 >= (int32_t)run->least)
		status = add_segment(run, fold, &orbits);
	/* What was mapped is done with, whether it made a segment or not. */
	FOR_WHILE(op, run->graph->ops, *found)
		run->used[op] |= shift.image[op] != NONE || shift.origin[op] != NONE;
	return status;
}

enum status fold_find(const struct graph *graph, fold_label *label, void *context, uint32_t least, struct fold *fold)
{
	struct fold_run run = { .graph = graph, .least = least < 2 ? 2 : least };
	*fold = (struct fold) { 0 };
	enum status status = ROOM(&fold->arena, fold->segment, SEGMENTS_MAX) &&
		ROOMS(&fold->arena, graph->ops, fold->segment_of, fold->copy_of, fold->index_of) ? OK : NO_MEMORY;
	bool found = true;
	if (status == OK) {
		FILL_NONE(fold->segment_of, graph->ops);
		status = fold_run_begin(&run, label, context);
	}
	for (int i = 0; i < SEGMENTS_MAX && found && status == OK; i++)
		status = find_segment(&run, fold, &found);
	arena_free(&run.arena);
	if (status != OK)
		fold_free(fold);
	return status;
}

void fold_free(struct fold *fold)
{
	arena_free(&fold->arena);
	*fold = (struct fold) { 0 };
}
