/* fx_phases.c: what depends on a tangent, or stands where torch.func takes a gradient, is backward. */
#include "fx.h"

/* Marks what depends on marked values or nodes. */
static void spread_down(const struct fx_graph *graph, bool *node, bool *value)
{
	for (uint32_t v = 0, n = 0; v < graph->values; v++) {
		const struct fx_value *at = &graph->value[v];
		for (; at->node != NONE && n <= at->node; n++)
			FOR(k, graph->node[n].reads)
				node[n] |= value[graph->argument[graph->node[n].read + k]];
		value[v] |= at->node != NONE && node[at->node];
	}
}

/* Marks what marked nodes depend on. */
static void spread_up(const struct fx_graph *graph, bool *node, bool *value)
{
	for (uint32_t v = graph->values, n = graph->nodes; n-- > 0;) {
		for (; v > 0 && (graph->value[v - 1].node == NONE || graph->value[v - 1].node >= n); v--)
			if (graph->value[v - 1].node != NONE)
				node[graph->value[v - 1].node] |= value[v - 1];
		for (uint32_t k = 0; node[n] && k < graph->node[n].reads; k++)
			value[graph->argument[graph->node[n].read + k]] = true;
	}
}

static bool has_tangents(const struct fx_graph *graph, bool *value)
{
	bool any = false;
	for (uint32_t v = 0; v < graph->values && graph->kind == FX_JOINT; v++)
		any |= value[v] = graph->value[v].input && text_begins(graph->value[v].name, "tangents_");
	return any || graph->kind == FX_JOINT;
}

static bool has_gradients(const struct fx_graph *graph, bool *node)
{
	bool any = false;
	FOR(n, graph->nodes)
		any |= node[n] = graph->node[n].gradient;
	return any;
}

/* Behind a gradient lies the update, but for what another gradient needs: a step within a step is part of what that one
 * differentiates. */
enum status fx_phases(struct arena *arena, const struct fx_graph *graph, uint8_t **phase)
{
	bool *after = arena_alloc(arena, (size_t)graph->nodes + 1, sizeof *after),
		 *before = arena_alloc(arena, (size_t)graph->nodes + 1, sizeof *before);
	bool *value = arena_alloc(arena, (size_t)graph->values + 1, sizeof *value),
		 *value_before = arena_alloc(arena, (size_t)graph->values + 1, sizeof *value_before);
	uint8_t *list = arena_alloc(arena, (size_t)graph->nodes + 1, sizeof *list);
	*phase = NULL;
	NEED(after && before && value && value_before && list);
	bool joint = has_tangents(graph, value);
	if (!joint && !has_gradients(graph, after))
		return OK;
	has_gradients(graph, before);
	spread_down(graph, after, value);
	spread_up(graph, before, value_before);
	FOR(n, graph->nodes)
		list[n] = joint ? after[n] ? PHASE_BACKWARD : PHASE_FORWARD
			: graph->node[n].gradient ? PHASE_BACKWARD : after[n] && !before[n] ? PHASE_UPDATE : PHASE_FORWARD;
	*phase = list;
	return OK;
}
