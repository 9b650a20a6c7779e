/* allocator.c: buffers of several steps. */
#include "stages.h"

/* The first use of what is there all along. */
static int64_t allocator_first_use(const struct graph *graph, const uint32_t *position, uint32_t storage)
{
	uint32_t first = NONE;
	FOR_ITEMS(user, &graph->users, storage)
		first = SMALLER(position[user], first);
	return first == NONE ? 0 : first;
}

enum status allocator_buffers(const struct ordered *ordered, const struct laid_out *laid_out, int64_t steps,
	bool state_first, struct arena *arena, struct buffers *buffers)
{
	const struct graph *graph = ordered->graph;
	int64_t ops = larger_of(graph->ops, 1);
	size_t most = (size_t)laid_out->items * (size_t)steps;
	uint32_t *position = arena_alloc(arena, graph->ops, sizeof *position);
	*buffers = (struct buffers){ .lower = arena_alloc(arena, most, sizeof *buffers->lower),
		.upper = arena_alloc(arena, most, sizeof *buffers->upper),
		.size = arena_alloc(arena, most, sizeof *buffers->size) };
	NEED(position && buffers->lower && buffers->upper && buffers->size);
	FOR(i, graph->ops)
		position[ordered->result.order[i]] = i;
	for (int64_t step = 0; step < steps; step++)
		FOR(item, laid_out->items) {
			const struct storage *storage = item < graph->storages ? &graph->storage[item] : NULL;
			bool stays = storage && storage->persistent, last = step + 1 == steps;
			if (laid_out->first[item] == NONE || (stays && step > 0))
				continue;
			uint32_t i = buffers->n++;
			buffers->size[i] = laid_out->bytes[item];
			buffers->lower[i] = stays && storage->kind == KIND_OPTIMIZER && !state_first
				? allocator_first_use(graph, position, item)
				: step * ops + laid_out->first[item];
			buffers->upper[i] = stays || (storage && storage->live_out && last) ? steps * ops
				: storage && storage->live_out ? buffers->lower[i] + ops
				: step * ops + laid_out->last[item] + 1;
		}
	return OK;
}

enum status allocator_needs(const struct ordered *ordered, const struct laid_out *laid_out,
	const struct scenario *scenario, int64_t *bytes)
{
	enum allocator allocator = scenario_allocator(scenario, ordered->graph);
	OWN(arena) arena = { 0 };
	struct buffers buffers;
	struct allocated allocated;
	*bytes = laid_out->layout.arena;
	if (allocator == ALLOCATOR_PLAN)
		return OK;
	TRY(allocator_buffers(ordered, laid_out, ALLOCATOR_STEPS, false, &arena, &buffers));
	NEED(layout_holds(&buffers, allocator == ALLOCATOR_EXPANDABLE, scenario_budget(scenario), &allocated));
	*bytes = allocated.least;
	return OK;
}
