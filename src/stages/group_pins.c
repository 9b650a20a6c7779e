/* group_pins.c: pins that keep tensors next to each other. */
#include "group_pins.h"

/* Whether the chain that ends in `last` goes through the buffer. */
static bool leads_to(const uint32_t *behind, uint32_t last, uint32_t buffer)
{
	for (; last != buffer; last = behind[last])
		if (behind[last] == NONE || behind[last] == last)
			return false;
	return true;
}

static enum status add_pin(const struct pin *pin, uint32_t after, uint32_t before, uint32_t *behind, uint32_t n, struct error *error)
{
	if (after == before)
		return fail(error, INFEASIBLE, "tensors \"%.100s\" and \"%.100s\" share their memory, so one can't lie behind the other", pin->a, pin->b);
	if (behind[after] == before)
		return OK;
	if (behind[after] != NONE && behind[after] != after)
		return fail(error, INFEASIBLE, "tensor \"%.100s\" is pinned behind \"%.100s\" and behind another tensor", pin->a, pin->b);
	for (uint32_t i = 0; i < n; i++)
		if (i != before && behind[i] == before)
			return fail(error, INFEASIBLE, "tensor \"%.100s\" is pinned behind \"%.100s\", and so is another tensor", pin->a, pin->b);
	if (leads_to(behind, before, after))
		return fail(error, INFEASIBLE, "tensor \"%.100s\" is pinned behind \"%.100s\" in a circle", pin->a, pin->b);
	behind[after] = before;
	if (behind[before] == NONE)
		behind[before] = before;
	return OK;
}

enum status group_pins(const struct graph *graph, const struct scenario *scenario, const uint32_t *buffer, uint32_t n, struct arena *arena,
		       uint32_t **behind, struct error *error)
{
	enum status status = OK;
	*behind = NULL;
	for (uint32_t i = 0; i < scenario->pins && status == OK; i++) {
		const struct pin *pin = &scenario->pin[i];
		uint32_t a = pin->kind == PIN_BEHIND ? graph_find_tensor(graph, pin->a) : NONE;
		uint32_t b = a != NONE ? graph_find_tensor(graph, pin->b) : NONE;
		uint32_t after = b != NONE ? buffer[graph->tensor[a].storage] : NONE, before = b != NONE ? buffer[graph->tensor[b].storage] : NONE;
		if (after == NONE || before == NONE)
			continue;
		if (!*behind) {
			*behind = arena_alloc(arena, n, sizeof **behind);
			NEED_IN(error, *behind);
			for (uint32_t k = 0; k < n; k++)
				(*behind)[k] = NONE;
		}
		status = add_pin(pin, after, before, *behind, n, error);
	}
	return status;
}
