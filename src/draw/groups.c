/* groups.c: one pass over the ops in program order gathers runs of one module and phase; a run joins the
 * module's earlier node where that makes no cycle. */
#include "groups.h"

#define OPS_FEW   60u /* so many ops are drawn one by one */
#define NODES_FIT 64u /* more are gathered into larger modules */
#define NODES_UNFOLDED 900u /* so, too, when every layer is wanted */

struct builder {
	struct drawing *drawing;
	struct error *error;
	struct arena scratch;
	bool *in;           /* [ops] selected */
	uint32_t *stand_in; /* op -> the op that stands for it: itself outside of rows */
	uint32_t *latest;   /* module * PHASE_COUNT + phase -> its newest node */
	struct chained *link; /* of nodes: predecessors, chained from head */
	uint32_t *head, *seen, *queue;
	uint32_t links, round;
	size_t link_room;
	uint32_t centre; /* the op that the picture is around, or NONE */
};

struct chained { uint32_t node, next; };

/* ---- which ops ---- */

static bool reads_from(const struct graph *graph, uint32_t op, uint32_t writer)
{
	FOR_ITEMS(read, &graph->reads, op)
		if (graph->tensor[read].writer == writer)
			return true;
	return false;
}

/* Everything within some hops of data of the ops that are in. queue: [ops]. */
static void groups_spread(const struct graph *graph, bool *in, uint32_t *queue, uint32_t hops)
{
	uint32_t count = 0, begin = 0;
	FOR(op, graph->ops)
		if (in[op])
			queue[count++] = op;
	FOR(hop, hops) {
		uint32_t end = count;
		for (; begin < end; begin++) {
			const struct csr *rows[] = { &graph->pred, &graph->succ };
			FOR_INT(side, 2)
				FOR_ITEMS(item, rows[side], queue[begin]) {
					uint32_t op = queue[begin], other = item;
					if (in[other] || !(side == 0 ? reads_from(graph, op, other) : reads_from(graph, other, op)))
						continue;
					queue[count++] = other;
					in[other] = true;
				}
		}
	}
}

static enum status select_around(struct builder *builder, const struct draw_options *options)
{
	const struct graph *graph = builder->drawing->graph;
	uint32_t op = graph_find_op(graph, options->around), tensor = graph_find_tensor(graph, options->around);
	if (op == NONE && tensor == NONE)
		return refuse(builder->error, "no op or tensor is named \"%.100s\"", options->around);
	builder->centre = op;
	if (op != NONE) {
		builder->in[op] = true;
	} else {
		FOR_ITEMS(user, &graph->users, graph->tensor[tensor].storage)
			builder->in[user] = true;
	}
	groups_spread(graph, builder->in, builder->queue, options->hops);
	return OK;
}

static bool alive_at_peak(const struct plan *plan, uint32_t storage)
{
	return plan && plan->ordered->peak_position != NONE && plan->laid_out->first[storage] != NONE &&
		!plan->graph->storage[storage].persistent && plan->laid_out->first[storage] <= plan->ordered->peak_position &&
		plan->laid_out->last[storage] >= plan->ordered->peak_position;
}

/* Who made what is alive at the peak, and who uses it next. */
static enum status select_alive(struct builder *builder)
{
	const struct plan *plan = builder->drawing->plan;
	const struct graph *graph = builder->drawing->graph;
	if (!plan || plan->ordered->peak_position == NONE)
		return refuse(builder->error, "without a plan, no op is at the peak");
	builder->in[plan->ordered->result.order[plan->ordered->peak_position]] = true;
	FOR(storage, graph->storages) {
		if (!alive_at_peak(plan, storage))
			continue;
		uint32_t next = NONE;
		FOR_ITEMS(user, &graph->users, storage) {
			uint32_t position = plan->ordered->position[user];
			if (position >= plan->ordered->peak_position && (next == NONE || position < next))
				next = position;
		}
		if (next != NONE)
			builder->in[plan->ordered->result.order[next]] = true;
		if (graph->storage[storage].allocator != NONE)
			builder->in[graph->storage[storage].allocator] = true;
	}
	return OK;
}

static enum status select_ops(struct builder *builder, const struct draw_options *options)
{
	const struct graph *graph = builder->drawing->graph;
	enum status status = OK;
	if (options->around)
		status = select_around(builder, options);
	else if (options->alive)
		status = select_alive(builder);
	else
		memset(builder->in, 1, graph->ops * sizeof *builder->in);
	FOR(op, graph->ops)
		builder->drawing->selected += builder->in[op];
	return status;
}

/* ---- rows of layers ---- */

/* An op of a folded module is stood for by the op of the same number in the row's first module. */
static enum status find_stand_ins(struct builder *builder)
{
	const struct graph *graph = builder->drawing->graph;
	const struct modules *modules = &builder->drawing->modules;
	uint32_t rows = modules->count * PHASE_COUNT;
	uint32_t *row, *op, *place;
	struct csr ops;
	if (!(ROOMS(&builder->scratch, graph->ops, row, op) && ROOM(&builder->scratch, place, rows)))
		return fail_memory(builder->error);
	FOR(i, graph->ops) {
		row[i] = modules->of_op[i] * PHASE_COUNT + graph->op[i].phase;
		op[i] = i;
	}
	if (csr_of_pairs(&builder->scratch, rows, graph->ops, row, op, &ops) != OK)
		return fail_memory(builder->error);
	FOR(i, graph->ops) {
		uint32_t normal = modules->module[modules->of_op[i]].normal * PHASE_COUNT + graph->op[i].phase;
		uint32_t number = place[row[i]]++;
		builder->stand_in[i] = number < csr_length(&ops, normal) ? csr_at(&ops, normal, number) : i;
	}
	return OK;
}

/* How many equal layers a module stands for. */
static uint32_t drawing_layers(const struct drawing *drawing, uint32_t module)
{
	uint32_t layers = 1;
	for (; module != NONE; module = drawing->modules.module[module].parent)
		layers *= drawing->modules.module[module].repeats;
	return layers;
}

/* The module that an op's node has: not deeper than depth; of an update the row it is in, or the outermost module. */
static uint32_t groups_module_of(const struct drawing *drawing, uint32_t op)
{
	const struct module *module = drawing->modules.module;
	uint32_t id = drawing->modules.of_op[op], row = NONE;
	uint32_t depth = drawing->graph->op[op].phase == PHASE_UPDATE && drawing->depth ? !drawing->terse : drawing->depth;
	for (uint32_t up = id; up != NONE; up = module[up].parent)
		if (module[up].repeats > 1)
			row = up;
	if (drawing->graph->op[op].phase == PHASE_UPDATE && row != NONE && depth)
		return row;
	while (module[id].depth > depth)
		id = module[id].parent;
	return id;
}

/* ---- nodes ---- */

static enum status groups_add_link(struct builder *builder, uint32_t node, uint32_t pred)
{
	NEEDED(builder->error, mem_reserve(&builder->link, &builder->link_room, builder->links + 1, sizeof *builder->link));
	builder->link[builder->links] = (struct chained){ pred, builder->head[node] };
	builder->head[node] = builder->links++;
	return OK;
}

/* The node of a predecessor of an op, NONE where it has none yet or lies in another layer of a row. */
static uint32_t node_before(const struct builder *builder, uint32_t op, uint32_t pred)
{
	const struct drawing *drawing = builder->drawing;
	if (modules_repeat(&drawing->modules, drawing->modules.of_op[pred], drawing->modules.of_op[op]))
		return NONE;
	return drawing->node_of[pred];
}

/* True when a path leads from node to the op through other nodes: then the op can't join the node. */
static bool path_between(struct builder *builder, uint32_t node, uint32_t op)
{
	const struct graph *graph = builder->drawing->graph;
	uint32_t count = 0;
	builder->round++;
	FOR_ITEMS(item, &graph->pred, op) {
		uint32_t before = node_before(builder, op, item);
		if (before == NONE || before == node || builder->seen[before] == builder->round)
			continue;
		builder->seen[before] = builder->round;
		builder->queue[count++] = before;
	}
	while (count) {
		uint32_t at = builder->queue[--count];
		for (uint32_t i = builder->head[at]; i != NONE; i = builder->link[i].next) {
			uint32_t before = builder->link[i].node;
			if (before == node)
				return true;
			if (builder->seen[before] != builder->round)
				builder->queue[count++] = before;
			builder->seen[before] = builder->round;
		}
	}
	return false;
}

static enum status link_preds(struct builder *builder, uint32_t op, uint32_t node)
{
	const struct graph *graph = builder->drawing->graph;
	enum status status = OK;
	FOR_ITEMS(item, &graph->pred, op) {
		uint32_t before = node_before(builder, op, item);
		if (before != NONE && before != node && status == OK)
			status = groups_add_link(builder, node, before);
	}
	return status;
}

/* Puts an op into the module's newest node of its phase, or into a new one. */
static uint32_t put_op(struct builder *builder, uint32_t op)
{
	struct drawing *drawing = builder->drawing;
	uint32_t stand_in = builder->stand_in[op], module = groups_module_of(drawing, stand_in);
	uint32_t key = module * PHASE_COUNT + drawing->graph->op[op].phase, node = builder->latest[key];
	const struct csr *pred = &drawing->graph->pred;
	if (drawing->terse && drawing->graph->op[op].phase == PHASE_COMMUNICATION && csr_length(pred, op))
		node = node_before(builder, op, pred->item[pred->start[op]]);
	if (node == NONE || drawing->ops || path_between(builder, node, op)) {
		node = drawing->nodes++;
		drawing->node[node] = (struct draw_node){ .module = module, .first = stand_in, .main = stand_in };
		builder->head[node] = NONE;
		builder->latest[key] = node;
	}
	return node;
}

/* Keeps the nodes that have an op that is in the picture, in their order. */
static void drop_nodes(struct builder *builder)
{
	struct drawing *drawing = builder->drawing;
	uint32_t kept = 0;
	FOR(op, drawing->graph->ops)
		if (builder->in[op])
			drawing->node[drawing->node_of[op]].ops++;
	FOR(node, drawing->nodes) {
		builder->queue[node] = drawing->node[node].ops ? kept : NONE;
		if (drawing->node[node].ops)
			drawing->node[kept++] = drawing->node[node];
	}
	FOR(op, drawing->graph->ops)
		drawing->node_of[op] = builder->in[op] ? builder->queue[drawing->node_of[op]] : NONE;
	drawing->nodes = kept;
}

/* Gathers all ops, so that a part of the graph looks as it does in the whole. Of the ops that one op stands for, the
 * first in program order decides: the backward pass meets the last layer first. */
static enum status groups_gather(struct builder *builder)
{
	struct drawing *drawing = builder->drawing;
	const struct graph *graph = drawing->graph;
	drawing->nodes = builder->links = 0;
	FOR(i, drawing->modules.count * PHASE_COUNT)
		builder->latest[i] = NONE;
	FOR(op, graph->ops)
		drawing->node_of[op] = NONE;
	FOR(op, graph->ops) {
		uint32_t *node = &drawing->node_of[builder->stand_in[op]];
		if (*node == NONE)
			*node = put_op(builder, op);
		drawing->node_of[op] = *node;
		TRY(link_preds(builder, op, *node));
	}
	drop_nodes(builder);
	return OK;
}

/* ---- what nodes hold ---- */

static int64_t made_bytes(const struct graph *graph, uint32_t op)
{
	int64_t bytes = 0;
	FOR_ITEMS(touched, &graph->touches, op) {
		const struct storage *storage = &graph->storage[touched];
		if (storage->allocator == op && !storage->persistent)
			bytes += storage->bytes;
	}
	return bytes;
}

/* What one layer's ops make. */
static void measure_op(struct drawing *drawing, uint32_t op, int64_t *most)
{
	const struct graph *graph = drawing->graph;
	uint32_t id = drawing->node_of[op];
	struct draw_node *node = &drawing->node[id];
	int64_t made = made_bytes(graph, op), weight = graph->op[op].flops > 0 ? graph->op[op].flops + made : made;
	node->ops++;
	node->bytes += made;
	if (weight > most[id]) {
		most[id] = weight;
		node->main = op;
	}
}

static enum status groups_measure(struct builder *builder)
{
	struct drawing *drawing = builder->drawing;
	const struct graph *graph = drawing->graph;
	const struct plan *plan = drawing->plan;
	int64_t *most;
	NEEDED(builder->error, ROOM(&builder->scratch, most, drawing->nodes));
	builder->round++;
	FOR(node, drawing->nodes) {
		drawing->node[node].ops = 0;
		drawing->modules.module[drawing->node[node].module].nodes++;
		drawing->collectives += graph->op[drawing->node[node].first].phase == PHASE_COMMUNICATION;
	}
	FOR(op, graph->ops) {
		if (drawing->node_of[op] == NONE)
			continue;
		struct draw_node *node = &drawing->node[drawing->node_of[op]];
		node->centre |= op == builder->centre;
		node->peak |= plan && plan->ordered->peak_position != NONE &&
			plan->ordered->result.order[plan->ordered->peak_position] == op;
		FOR_ITEMS(touched, &graph->touches, op)
			if (graph->storage[touched].allocator == op && alive_at_peak(plan, touched))
				node->alive += graph->storage[touched].bytes;
		if (drawing->depth && builder->seen[builder->stand_in[op]] == builder->round)
			continue;
		builder->seen[builder->stand_in[op]] = builder->round;
		measure_op(drawing, op, most);
	}
	return OK;
}

/* ---- edges ---- */

/* One tensor between two nodes; control dependencies have none. */
struct flow { uint32_t from, to, storage, tensor; };

COMPARATOR(groups_by_ends, struct flow, COMPARE(a->from, b->from, COMPARE(a->to, b->to,
	COMPARE(a->storage, b->storage, COMPARE(a->tensor, b->tensor, 0)))))

static uint32_t collect_flows(struct builder *builder, struct flow *flow)
{
	const struct drawing *drawing = builder->drawing;
	const struct graph *graph = drawing->graph;
	uint32_t flows = 0;
	FOR(op, graph->ops) {
		uint32_t to = drawing->node_of[op];
		if (to == NONE)
			continue;
		FOR_ITEMS(tensor, &graph->reads, op) {
			uint32_t writer = graph->tensor[tensor].writer;
			const struct storage *storage = &graph->storage[graph->tensor[tensor].storage];
			if (writer != NONE && drawing->node_of[writer] == NONE) /* a view's op that is not in the picture */
				writer = storage->allocator;
			uint32_t from = writer == NONE ? NONE : node_before(builder, op, writer);
			if (from != NONE && from != to && (drawing->ops || !storage->persistent))
				flow[flows++] = (struct flow){ from, to, graph->tensor[tensor].storage, tensor };
		}
		FOR_ITEMS(item, &graph->after, op) {
			uint32_t from = node_before(builder, op, item);
			if (from != NONE && from != to && drawing->ops)
				flow[flows++] = (struct flow){ from, to, NONE, NONE };
		}
	}
	return flows;
}

static enum status join_edges(struct builder *builder)
{
	struct drawing *drawing = builder->drawing;
	const struct graph *graph = drawing->graph;
	size_t most = (size_t)graph->reads.start[graph->ops] + graph->after.start[graph->ops];
	struct flow *flow;
	NEEDED(builder->error, ROOM(&builder->scratch, flow, most));
	uint32_t flows = collect_flows(builder, flow);
	if (flows)
		qsort(flow, flows, sizeof *flow, groups_by_ends);
	NEEDED(builder->error, ROOM(&drawing->arena, drawing->edge, flows));
	FOR(i, flows) {
		struct draw_edge *edge = drawing->edges ? &drawing->edge[drawing->edges - 1] : NULL;
		if (!edge || edge->from != flow[i].from || edge->to != flow[i].to) {
			edge = &drawing->edge[drawing->edges++];
			*edge = (struct draw_edge){ .from = flow[i].from, .to = flow[i].to, .tensor = NONE };
		} else if (flow[i].storage == flow[i - 1].storage) {
			continue;
		}
		if (flow[i].storage == NONE)
			continue;
		int64_t bytes = graph->storage[flow[i].storage].bytes;
		edge->storages++;
		edge->bytes += bytes;
		edge->alive |= alive_at_peak(drawing->plan, flow[i].storage);
		if (edge->tensor == NONE || bytes > graph_home(graph, edge->tensor)->bytes)
			edge->tensor = flow[i].tensor;
	}
	FOR(i, drawing->edges) {
		struct draw_edge *edge = &drawing->edge[i];
		uint32_t from = drawing_layers(drawing, drawing->node[edge->from].module),
				 to = drawing_layers(drawing, drawing->node[edge->to].module);
		uint32_t layers = SMALLER(from, to);
		if (layers > 1 && edge->storages >= layers) {
			edge->bytes /= layers;
			edge->storages /= layers;
		}
	}
	return OK;
}

/* ---- all ---- */

static enum status groups_make_room(struct builder *builder)
{
	struct drawing *drawing = builder->drawing;
	uint32_t ops = drawing->graph->ops;
	if (!(ROOMS(&builder->scratch, ops, builder->in, builder->stand_in, builder->head, builder->seen, builder->queue) &&
		ROOMS(&drawing->arena, ops, drawing->node, drawing->node_of)))
		return fail_memory(builder->error);
	return OK;
}

/* A sharded step may have more nodes: collectives stand beside what they serve, and part what would be one node without
 * them. */
static bool groups_fits(const struct drawing *drawing, uint32_t most)
{
	uint32_t count = 0;
	FOR(node, drawing->nodes)
		count += drawing->graph->op[drawing->node[node].first].phase != PHASE_COMMUNICATION;
	return count == drawing->nodes ? count <= most : count <= most + most / 2 && drawing->nodes <= 2 * most;
}

static enum status gather_to_fit(struct builder *builder, uint32_t most, uint32_t fold)
{
	struct drawing *drawing = builder->drawing;
	NEEDED(builder->error, ROOM(&builder->scratch, builder->latest, (size_t)drawing->modules.count * PHASE_COUNT));
	FOR(i, drawing->modules.count)
		if (drawing->modules.module[i].depth > drawing->depth)
			drawing->depth = drawing->modules.module[i].depth;
	for (;;) {
		enum status status = groups_gather(builder);
		if (status != OK || drawing->ops || (groups_fits(drawing, most) && !fold) || drawing->depth <= !fold)
			return status;
		fold -= groups_fits(drawing, most);
		drawing->depth--;
	}
}

/* Modules say nothing where there are none: then ops are drawn one by one, however many. */
static bool draws_ops(const struct drawing *drawing, const struct draw_options *options)
{
	if (options->detail != DRAW_AUTOMATIC || options->fold)
		return options->detail == DRAW_OPS;
	FOR(op, drawing->graph->ops)
		if (*drawing->graph->op[op].module)
			return drawing->selected <= OPS_FEW;
	return true;
}

static enum status groups_make_all(struct builder *builder, const struct draw_options *options)
{
	struct drawing *drawing = builder->drawing;
	TRY(groups_make_room(builder));
	TRY(select_ops(builder, options));
	drawing->ops = draws_ops(drawing, options);
	if (modules_of_graph(
			drawing->graph, !drawing->ops && !options->unfold, &drawing->arena, &drawing->modules) != OK)
		return fail_memory(builder->error);
	TRY(find_stand_ins(builder));
	TRY(gather_to_fit(builder, options->unfold ? NODES_UNFOLDED : NODES_FIT, options->fold / 2));
	TRY(groups_measure(builder));
	return join_edges(builder);
}

enum status drawing_make(const struct graph *graph, const struct plan *plan, const struct draw_options *options,
	struct drawing *drawing, struct error *error)
{
	*drawing = (struct drawing){ .graph = graph, .plan = plan, .terse = options->fold % 2 };
	struct builder builder = { .drawing = drawing, .error = error, .centre = NONE };
	enum status status = groups_make_all(&builder, options);
	mem_free(builder.link);
	arena_free(&builder.scratch);
	return status;
}

void drawing_free(struct drawing *drawing)
{
	arena_free(&drawing->arena);
}
