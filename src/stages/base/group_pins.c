/* group_pins.c: pins that keep tensors next to each other. */
#include "stages.h"

/* Whether the chain that ends in `last` goes through the buffer. */
static bool leads_to(const uint32_t *behind, uint32_t last, uint32_t buffer)
{
	for (; last != buffer; last = behind[last])
		if (behind[last] == NONE || behind[last] == last)
			return false;
	return true;
}

static enum status group_pins_add_pin(
	const struct pin *pin, uint32_t after, uint32_t before, uint32_t *behind, uint32_t n, struct error *error)
{
	if (after == before)
		return fail(error, INFEASIBLE,
			"tensors \"%.100s\" and \"%.100s\" share their memory, so one can't be placed behind the other", pin->a, pin->b);
	if (behind[after] == before)
		return OK;
	if (behind[after] != NONE && behind[after] != after)
		return fail(error, INFEASIBLE, "tensor \"%.100s\" is pinned behind \"%.100s\" and behind another tensor",
			pin->a, pin->b);
	FOR(i, n)
		if (i != before && behind[i] == before)
			return fail(error, INFEASIBLE, "tensor \"%.100s\" is pinned behind \"%.100s\", and so is another tensor",
				pin->a, pin->b);
	if (leads_to(behind, before, after))
		return fail(error, INFEASIBLE, "tensor \"%.100s\" is pinned behind \"%.100s\" in a circle", pin->a, pin->b);
	behind[after] = before;
	if (behind[before] == NONE)
		behind[before] = before;
	return OK;
}

enum status group_pins(const struct graph *graph, const struct scenario *scenario, const uint32_t *buffer, uint32_t n,
	struct arena *arena, uint32_t **behind, struct error *error)
{
	*behind = NULL;
	FOR(i, scenario->pins) {
		const struct pin *pin = &scenario->pin[i];
		uint32_t a = pin->kind == PIN_BEHIND ? graph_find_tensor(graph, pin->a) : NONE;
		uint32_t b = a != NONE ? graph_find_tensor(graph, pin->b) : NONE;
		uint32_t after = b != NONE ? buffer[graph->tensor[a].storage] : NONE,
				 before = b != NONE ? buffer[graph->tensor[b].storage] : NONE;
		if (after == NONE || before == NONE)
			continue;
		if (!*behind) {
			if (!(ROOM(arena, *behind, n)))
				return fail_memory(error);
			FOR(k, n)
				(*behind)[k] = NONE;
		}
		TRY(group_pins_add_pin(pin, after, before, *behind, n, error));
	}
	return OK;
}

/* The row that begins with buffer i, as block b. */
static enum status group_pins_join_row(const struct buffers *buffers, const uint32_t *next, uint32_t i,
	struct group_blocks *blocks, struct error *error)
{
	struct buffers *made = &blocks->buffers;
	uint32_t b = made->n++;
	made->lower[b] = buffers->lower[i];
	made->upper[b] = buffers->upper[i];
	made->fixed[b] = -1;
	for (; i != NONE; i = next[i]) {
		int64_t pin = buffers->fixed && buffers->fixed[i] >= 0 ? buffers->fixed[i] - made->size[b] : -1;
		if (buffers->fixed && buffers->fixed[i] >= 0 && (pin < 0 || (made->fixed[b] >= 0 && made->fixed[b] != pin)))
			return fail(error, INFEASIBLE,
				"tensors that are one behind the other are pinned at offsets that don't: %lld is one of them",
				(long long)buffers->fixed[i]);
		made->fixed[b] = pin >= 0 ? pin : made->fixed[b];
		blocks->block[i] = b;
		blocks->from[i] = made->size[b];
		made->size[b] += buffers->size[i];
		made->lower[b] = SMALLER(buffers->lower[i], made->lower[b]);
		made->upper[b] = LARGER(buffers->upper[i], made->upper[b]);
	}
	return OK;
}

enum status group_join(const struct buffers *buffers, const uint32_t *behind, struct arena *arena,
	struct group_blocks *blocks, struct error *error)
{
	uint32_t n = buffers->n, *next = arena_alloc(arena, n, sizeof *next);
	struct buffers *made = &blocks->buffers;
	*blocks = (struct group_blocks) { .block = arena_alloc(arena, n, sizeof *blocks->block),
		.from = arena_alloc(arena, n, sizeof *blocks->from) };
	if (!(ROOMS(arena, n, made->lower, made->upper, made->size, made->fixed) && next && blocks->block && blocks->from))
		return fail_memory(error);
	FOR(i, n)
		next[i] = NONE;
	FOR(i, n)
		if (behind[i] != NONE && behind[i] != i)
			next[behind[i]] = i;
	FOR(i, n)
		if (behind[i] == NONE || behind[i] == i)
			TRY(group_pins_join_row(buffers, next, i, blocks, error));
	return OK;
}
