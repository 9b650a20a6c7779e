/* step_model.c: from the graph of a device, in its order, to what its streams have to do. */

#include "step_time.h"

struct modelling {
	const struct graph *graph;
	const uint32_t *order;
	const struct step_costs *costs;
	struct step_model *model;
	uint32_t *position;          /* [ops] */
	bool *early;                 /* [ops] nothing but views and collectives of what is there from the start */
	uint32_t *use;               /* [ops] position of the first op that computes with it, or of its own */
	uint32_t *tail;              /* [ops] the last op of the model that stands for it */
};

static bool step_model_waits(const struct modelling *modelling, uint32_t op)
{
	return modelling->costs->stream[op] == 0 && modelling->costs->time[op] > 0;
}

/* A copy to the host that is waited for begins when what it copies is there: its memory is let go of by the wait. */
static bool is_waited_for(const struct graph *graph, uint32_t op)
{
	bool waits = false;
	if (graph->op[op].added == ADDED_OFFLOAD)
		FOR_ITEMS(after, &graph->succ, op)
			waits |= graph->op[after].added == ADDED_OFFLOAD_WAIT;
	return waits;
}

/* A fetch begins where the memory is that it fills. */
static uint32_t step_model_place_of(const struct graph *graph, uint32_t op)
{
	uint32_t pair = graph->inplace_start[op];
	uint32_t buffer = graph->op[op].added == ADDED_FETCH && pair < graph->inplace_start[op + 1]
		? graph->tensor[graph->inplace[pair].in].writer
		: NONE;
	return buffer != NONE && graph->op[buffer].added == ADDED_FETCH_BUFFER ? buffer : op;
}

static void find_early(struct modelling *modelling)
{
	const struct graph *graph = modelling->graph;
	uint32_t before = NONE;
	FOR(p, graph->ops) {
		uint32_t op = modelling->order[p];
		modelling->position[op] = p;
		if (modelling->costs->stream[op] > 0 && modelling->costs->time[op] > 0)
			modelling->model->release[op] = is_waited_for(graph, op) || graph->op[op].added == ADDED_FETCH ? NONE : before;
		else if (step_model_waits(modelling, op))
			before = op;
		modelling->early[op] = !step_model_waits(modelling, op) && graph_operands(graph, op) > 0 &&
			!(modelling->costs->apart && modelling->costs->apart[op]);
		FOR_ITEMS(item, &graph->pred, op)
			modelling->early[op] &= modelling->early[item];
	}
	FOR_DOWN(p, graph->ops) {
		uint32_t op = modelling->order[p];
		modelling->use[op] = step_model_waits(modelling, op) ? p : NONE;
		FOR_ITEMS(after, &graph->succ, op) {
			uint32_t use = modelling->use[after];
			if (!step_model_waits(modelling, op) && use < modelling->use[op])
				modelling->use[op] = use;
		}
	}
}

static int64_t step_model_result_bytes(const struct graph *graph, uint32_t op)
{
	int64_t bytes = 0;
	FOR_ITEMS(written, &graph->writes, op)
		bytes += graph->tensor[written].bytes;
	return bytes;
}

/* Layers that are gathered, the last ones seen: where their first use is, and what was gathered ahead of it. */
struct window { uint32_t layers, first[PREFETCH_MOST + 1]; int64_t bytes[PREFETCH_MOST + 1]; };

static void next_layer(struct window *window, uint32_t use)
{
	uint32_t at = window->layers++ % (PREFETCH_MOST + 1);
	window->first[at] = use;
	window->bytes[at] = 0;
}

/* What the last layers, as many as are gathered ahead, take together. */
static int64_t window_bytes(const struct window *window, uint32_t prefetch)
{
	int64_t sum = 0;
	for (uint32_t back = 1; back <= prefetch && back <= window->layers; back++)
		sum += window->bytes[(window->layers - back) % (PREFETCH_MOST + 1)];
	return sum;
}

/* Collectives of what is there from the start, by their first use: a layer's may run when the layer so many before
 * begins to compute. */
static void step_model_run_ahead(struct modelling *modelling, const uint32_t *gather, uint32_t gathers)
{
	const struct graph *graph = modelling->graph;
	uint32_t first = NONE, layer = NONE,
			 prefetch = modelling->costs->prefetch; /* first: position of this layer's first use */
	struct window window = { 0 };
	FOR_WHILE(i, gathers, prefetch > 0) {
		uint32_t op = gather[i], use = modelling->use[op], of = modelling->costs->layer[modelling->order[use]];
		if (first == NONE || (use != first && (of == NONE || of != layer))) {
			next_layer(&window, first = use);
			layer = of;
		}
		if (window.layers <= prefetch || modelling->model->release[op] == NONE)
			continue;
		uint32_t before = window.first[(window.layers - 1 - prefetch) % (PREFETCH_MOST + 1)];
		if (before > modelling->position[modelling->model->release[op]])
			continue;
		modelling->model->release[op] = modelling->order[before];
		window.bytes[(window.layers - 1) % (PREFETCH_MOST + 1)] += step_model_result_bytes(graph, op);
		int64_t bytes = window_bytes(&window, prefetch);
		modelling->model->ahead = LARGER(bytes, modelling->model->ahead);
	}
}

/* Ids by a key, ties in the order given: a stable counting sort. next: [keys + 1], zero. */
static void step_model_sort_by(
	const uint32_t *key, uint32_t keys, uint32_t *next, const uint32_t *from, uint32_t count, uint32_t *to)
{
	FOR(i, count)
		next[key[from[i]] + 1]++;
	FOR(k, keys)
		next[k + 1] += next[k];
	FOR(i, count)
		to[next[key[from[i]]]++] = from[i];
}

static enum status find_ahead(struct modelling *modelling, struct arena *scratch)
{
	uint32_t ops = modelling->graph->ops, gathers = 0;
	uint32_t *found, *gather, *next;
	NEED(ROOMS(scratch, ops, found, gather) && ROOM(scratch, next, ops + (size_t)1));
	FOR(p, ops) {
		uint32_t op = modelling->order[p];
		if (modelling->costs->stream[op] > 0 && modelling->costs->time[op] > 0 && modelling->early[op] &&
			modelling->use[op] != NONE)
			found[gathers++] = op;
	}
	step_model_sort_by(modelling->use, ops, next, found, gathers, gather);
	step_model_run_ahead(modelling, gather, gathers);
	return OK;
}

/* By the first use, then by place. What nothing uses comes last. */
static int64_t turn_of(const struct modelling *modelling, uint32_t op)
{
	return (int64_t)modelling->use[op] * modelling->graph->ops + modelling->position[op];
}

/* Adds an op's own part, and one op for each axis that it communicates over. */
static void step_model_add_op(struct modelling *modelling, uint32_t op, uint32_t *at)
{
	struct step_model *model = modelling->model;
	const struct step_costs *costs = modelling->costs;
	model->of[op] = op;
	model->stream[op] = costs->stream[op];
	model->time[op] = costs->time[op];
	model->turn[op] = turn_of(modelling, op);
	model->sequence[(*at)++] = op;
	modelling->tail[op] = op;
	FOR(a, costs->axes)
		if (costs->inside[(size_t)op * costs->axes + a] > 0) {
			uint32_t more = model->ops++;
			model->of[more] = op;
			model->stream[more] = 1 + a;
			model->time[more] = costs->inside[(size_t)op * costs->axes + a];
			model->turn[more] = turn_of(modelling, op);
			model->sequence[(*at)++] = more;
			modelling->tail[op] = more;
		}
}

/* What the graph depends on, by the last part of each op; and a later part on the one before. */
static enum status step_model_connect(struct modelling *modelling, struct arena *scratch)
{
	const struct graph *graph = modelling->graph;
	struct step_model *model = modelling->model;
	uint32_t pairs = 0, most = graph->pred.start[graph->ops] + model->ops - graph->ops;
	uint32_t *row, *item;
	NEED(ROOMS(scratch, most, row, item));
	FOR(op, graph->ops)
		FOR_ROW(i, &graph->pred, op) {
			row[pairs] = op;
			item[pairs++] = modelling->tail[graph->pred.item[i]];
		}
	FOR_FROM(more, graph->ops, model->ops) {
		row[pairs] = more;
		item[pairs++] = more > graph->ops && model->of[more - 1] == model->of[more] ? more - 1 : model->of[more];
	}
	return csr_of_pairs(&model->arena, model->ops, pairs, row, item, &model->pred);
}

/* A copy that computation behind it waits for: memory is let go of there. */
static bool holds(const struct modelling *modelling, uint32_t op)
{
	const struct graph *graph = modelling->graph;
	return graph->op[op].added == ADDED_OFFLOAD_WAIT ||
		(graph->op[op].added == ADDED_OFFLOAD && modelling->costs->time[op] > 0 && !is_waited_for(graph, op));
}

/* What this order holds back: of each op one other at most, the last one before it (or before the memory that it fills)
 * that computes or is waited for. use: scratch. */
static enum status step_model_hold_back(struct modelling *modelling, struct arena *scratch)
{
	const struct graph *graph = modelling->graph;
	uint32_t pairs = 0, last = NONE, *row, *item;
	NEED(ROOMS(scratch, 2 * (size_t)graph->ops, row, item));
	FOR(p, graph->ops) {
		uint32_t op = modelling->order[p], place = step_model_place_of(graph, op);
		bool held = holds(modelling, op), computes = step_model_waits(modelling, op),
			 comes = graph->op[op].added == ADDED_FETCH;
		modelling->use[op] = last;
		uint32_t other = comes ? modelling->use[place] : last;
		if (other != NONE && (held || comes || (computes && !step_model_waits(modelling, other)))) {
			row[pairs] = op;
			item[pairs++] = other;
		}
		last = held || computes ? op : last;
	}
	return csr_of_pairs(&modelling->model->arena, modelling->model->ops, pairs, row, item, &modelling->model->held);
}

static uint32_t ops_of_model(const struct graph *graph, const struct step_costs *costs)
{
	uint32_t ops = graph->ops;
	FOR_SIZE(i, (size_t)graph->ops * costs->axes)
		ops += costs->inside[i] > 0;
	return ops;
}

enum status step_model_build(
	const struct graph *graph, const uint32_t *order, const struct step_costs *costs, struct step_model *model)
{
	OWN(arena) scratch = { 0 };
	struct modelling modelling = { .graph = graph, .order = order, .costs = costs, .model = model };
	uint32_t room = ops_of_model(graph, costs);
	*model = (struct step_model) { .ops = graph->ops, .streams = 1 + costs->axes };
	NEED(ROOMS(&model->arena, room, model->time, model->turn, model->sequence, model->stream, model->release, model->of) &&
		ROOMS(&scratch, graph->ops, modelling.position, modelling.use, modelling.tail, modelling.early));
	FILL_NONE(model->release, room);
	find_early(&modelling);
	TRY(find_ahead(&modelling, &scratch));
	for (uint32_t p = 0, at = 0; p < graph->ops; p++)
		step_model_add_op(&modelling, order[p], &at);
	TRY(step_model_connect(&modelling, &scratch));
	return step_model_hold_back(&modelling, &scratch);
}

void step_model_free(struct step_model *model)
{
	arena_free(&model->arena);
	*model = (struct step_model) { 0 };
}
