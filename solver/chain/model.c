/* model.c: the factor graphs. */
#include "model.h"

/* ---- factors ---- */

static void chain_model_add_pair(struct chain_graph *graph, uint32_t from, uint32_t to, int64_t *cost)
{
	struct chain_factor factor = { .count = 2, .cost = cost };
	if (!cost || graph->failed || !ROOM(graph->arena, factor.var, 2)) {
		graph->failed = true;
		return;
	}
	factor.var[0] = from;
	factor.var[1] = to;
	factor.size = (size_t)graph->domain[from] * graph->domain[to];
	chain_graph_factor(graph, &factor);
}

/* The same node at both ends: the diagonal. */
static void add_loop(struct chain_graph *graph, uint32_t var, const struct chain_table *table)
{
	int64_t *MAKE_IN(graph->arena, cost, table->rows);
	graph->failed |= !cost;
	FOR_WHILE(i, table->rows, cost)
		cost[i] = table->pair[(size_t)i * table->columns + i];
	if (cost)
		chain_graph_add(graph, var, cost, NULL, 1);
}

/* What an edge costs its ends each by itself. */
static void chain_model_add_sums(struct chain_graph *graph, uint32_t from, uint32_t to, const struct chain_table *table)
{
	chain_graph_add(graph, from, table->row, NULL, 1);
	chain_graph_add(graph, to, table->column, NULL, 1);
}

/* And together; rows, columns: where the variable has classes for values. */
static void add_pairs(struct chain_graph *graph, uint32_t from, uint32_t to, const struct chain_table *table,
	const struct chain_classes *rows, const struct chain_classes *columns)
{
	if (table->separable || graph->failed)
		return;
	if (from == to)
		add_loop(graph, from, table);
	else
		chain_model_add_pair(graph, from, to, chain_classes_pair(table, rows, columns, graph->arena));
}

static void chain_model_add_edge(struct chain_graph *graph, uint32_t from, uint32_t to, const struct chain_table *table)
{
	chain_model_add_sums(graph, from, to, table);
	add_pairs(graph, from, to, table, NULL, NULL);
}

static void chain_model_add_node(
	const struct chain_model *model, struct chain_graph *graph, uint32_t var, uint32_t node)
{
	chain_graph_add(graph, var, model->cost + model->first[node], model->usage + model->first[node], 1);
}

/* A second variable that always is the class of the first one's value. */
static void tie_class(struct chain_graph *graph, uint32_t var, uint32_t class_var, const struct chain_classes *classes)
{
	uint32_t domain = graph->failed ? 0 : graph->domain[var];
	size_t size = (size_t)domain * classes->count;
	int64_t *cost = graph->failed ? NULL : arena_alloc(graph->arena, size, sizeof *cost);
	for (size_t i = 0; cost && i < size; i++)
		cost[i] = i % classes->count == classes->of[i / classes->count] ? 0 : CHAIN_BLOCKED;
	chain_model_add_pair(graph, var, class_var, cost);
}

/* The class of a variable's value: a variable of its own unless each value is a class. */
static uint32_t add_class(struct chain_graph *graph, uint32_t var, const struct chain_classes *classes)
{
	if (graph->failed || classes->count == graph->domain[var])
		return var;
	uint32_t class_var = chain_graph_var(graph, classes->count);
	tie_class(graph, var, class_var, classes);
	return class_var;
}

static uint32_t add_twin(struct chain_graph *graph, uint32_t var)
{
	struct chain_classes each = { .count = graph->domain[var] };
	uint32_t twin = chain_graph_var(graph, each.count);
	ROOM(graph->arena, each.of, each.count);
	graph->failed |= !each.of;
	FOR_WHILE(i, each.count, each.of)
		each.of[i] = i;
	if (!graph->failed)
		tie_class(graph, var, twin, &each);
	return twin;
}

static bool chain_model_among(const uint32_t *list, uint32_t count, uint32_t item)
{
	FOR(i, count)
		if (list[i] == item)
			return true;
	return false;
}

/* ---- variables ---- */

static struct chain_link *chain_model_link_of(const struct chain_model *model, uint32_t node)
{
	FOR(i, model->links)
		if (model->link[i].segment == model->chain->segment[node])
			return &model->link[i];
	return NULL;
}

static uint32_t core_at(const struct chain_model *model, uint32_t node, uint8_t where)
{
	return model->var[where == CHAIN_LAST ? AT_LAST : AT_FIRST][node];
}

static void make_core_vars(struct chain_model *model)
{
	const struct shard_chain *chain = model->chain;
	FOR(node, chain->nodes) {
		FOR_INT(place, PLACES)
			model->var[place][node] = NONE;
		model->var[AT_FIRST][node] = model->var[AT_LAST][node] = chain_graph_var(&model->core, chain_width(model, node));
		chain_model_add_node(model, &model->core, model->var[AT_FIRST][node], node);
		if (chain_copies(chain, node) > 1) {
			model->var[AT_LAST][node] = chain_graph_var(&model->core, chain_width(model, node));
			chain_model_add_node(model, &model->core, model->var[AT_LAST][node], node);
		}
	}
	FOR(i, model->links) {
		const struct chain_link *link = &model->link[i];
		FOR(j, link->tails)
			model->var[AT_BEFORE_LAST][link->tail[j].node] = chain_graph_var(&model->core, link->tail[j].classes.count);
	}
}

static bool one_sees_every(const struct chain_edge *edge)
{
	return (edge->from_where == CHAIN_EVERY) != (edge->to_where == CHAIN_EVERY);
}

static struct chain_out *out_of(const struct chain_link *link, uint32_t var)
{
	FOR(i, link->outs)
		if (link->out[i].var == var)
			return &link->out[i];
	return NULL;
}

/* Adds what an edge's table tells apart of a core's variable that all copies see. */
static enum status see_out(
	struct chain_model *model, struct chain_link *link, uint32_t var, const struct chain_table *table, bool columns)
{
	struct chain_out *out = out_of(link, var);
	if (!out) {
		out = &link->out[link->outs++];
		out->var = var;
		NEED(chain_classes_begin(&out->classes, model->core.domain[var], &model->arena) == OK);
	}
	return chain_classes_split(&out->classes, table, columns);
}

/* What all copies of the link see of the core. */
static enum status find_outs(struct chain_model *model, struct chain_link *link)
{
	const struct shard_chain *chain = model->chain;
	double blocks = 1;
	NEED(ROOM(&model->arena, link->out, chain->edges));
	FOR(i, chain->edges) {
		const struct chain_edge *edge = &chain->edge[i];
		bool to = edge->to_where == CHAIN_EVERY;
		if (!one_sees_every(edge) || model->table[i].separable || chain->segment[to ? edge->to : edge->from] != link->segment)
			continue;
		uint32_t var = to ? core_at(model, edge->from, edge->from_where) : core_at(model, edge->to, edge->to_where);
		TRY(see_out(model, link, var, &model->table[i], !to));
	}
	FOR(i, link->outs) {
		link->out[i].class_var = add_class(&model->core, link->out[i].var, &link->out[i].classes);
		blocks *= link->out[i].classes.count;
	}
	link->blocks = blocks < 1e9 ? (uint32_t)blocks : 0;
	return blocks >= 1e9 ? LIMIT : OK;
}

/* A copy's variables: what it sees of the core, the state before, the state after; then its nodes. */
static uint32_t before_tail(const struct chain_link *link, uint32_t tail)
{
	return link->outs + tail;
}

static uint32_t after_tail(const struct chain_link *link, uint32_t tail)
{
	return link->outs + link->tails + tail;
}

/* The variable of a node of the copy: a state's where each of its strategies is a class. */
static uint32_t node_var(const struct chain_model *model, struct chain_link *link, uint32_t node)
{
	const struct chain_side *tail = chain_side_of(link->tail, link->tails, node);
	if (tail && tail->classes.count == chain_width(model, node))
		return after_tail(link, (uint32_t)(tail - link->tail));
	return chain_graph_var(&link->graph, chain_width(model, node));
}

static enum status make_copy_vars(struct chain_model *model, struct chain_link *link)
{
	const struct shard_chain *chain = model->chain;
	struct chain_graph *graph = &link->graph;
	graph->arena = &model->arena;
	NEED(ROOM(&model->arena, link->var, chain->nodes));
	FOR(i, link->outs)
		chain_graph_var(graph, link->out[i].classes.count);
	FOR_INT(end, 2)
		FOR(i, link->tails)
			chain_graph_var(graph, link->tail[i].classes.count);
	graph->kept = graph->vars;
	FOR_WHILE(node, chain->nodes, !graph->failed)
		if (chain->segment[node] == link->segment) {
			link->var[node] = node_var(model, link, node);
			chain_model_add_node(model, graph, link->var[node], node);
		}
	FOR_WHILE(i, link->tails, !graph->failed)
		if (link->var[link->tail[i].node] != after_tail(link, i))
			tie_class(graph, link->var[link->tail[i].node], after_tail(link, i), &link->tail[i].classes);
	return graph->failed ? NO_MEMORY : OK;
}

/* The core's variable of one part of the state before the first arc, or after the last one. */
static uint32_t state_var(struct chain_model *model, const struct chain_link *link, uint32_t part, bool last)
{
	const struct chain_side *side = &link->tail[part];
	return last ? model->var[AT_BEFORE_LAST][side->node]
		: add_class(&model->core, model->var[AT_FIRST][side->node], &side->classes);
}

/* The factor that stands for all arcs, over distinct variables of the core. */
static enum status make_link_factor(struct chain_model *model, struct chain_link *link)
{
	struct chain_graph *core = &model->core;
	uint32_t parts = link->tails;
	struct chain_factor factor = { .size = (size_t)link->blocks * link->states * link->states };
	if ((double)link->blocks * link->states * link->states > 1e8)
		return LIMIT;
	NEED(ROOM(&model->arena, factor.var, link->outs + 2 * parts) && ROOM(&model->arena, factor.weight, factor.size));
	FOR_WHILE(i, link->outs + 2 * parts, !core->failed) {
		uint32_t part = i - link->outs,
				 var = i < link->outs ? link->out[i].class_var : state_var(model, link, part % parts, part >= parts);
		if (chain_model_among(factor.var, factor.count, var))
			var = add_twin(core, var);
		factor.var[factor.count++] = var;
	}
	link->factor = chain_graph_factor(core, &factor);
	return core->failed ? NO_MEMORY : OK;
}

/* ---- edges ---- */

static void place_step(struct chain_model *model, const struct chain_edge *edge, const struct chain_table *table)
{
	struct chain_graph *core = &model->core;
	struct chain_link *link = chain_model_link_of(model, edge->from);
	uint32_t first = model->var[AT_FIRST][edge->from], last = model->var[AT_LAST][edge->to];
	if (chain_copies(model->chain, edge->from) == 1)
		return;
	if (!link) {
		chain_model_add_edge(core, first, last, table);
		return;
	}
	const struct chain_side *tail = chain_side_of(link->tail, link->tails, edge->from);
	chain_model_add_sums(core, first, last, table);
	chain_model_add_sums(&link->graph, link->var[edge->from], link->var[edge->to], table);
	if (tail) {
		add_pairs(core, model->var[AT_BEFORE_LAST][edge->from], last, table, &tail->classes, NULL);
		add_pairs(&link->graph, before_tail(link, (uint32_t)(tail - link->tail)), link->var[edge->to], table,
			&tail->classes, NULL);
	}
}

/* The pairs of a variable that stands for the core's one, or its class, with a node's. */
static void pair_shared(struct chain_graph *graph, uint32_t one, uint32_t node, const struct chain_table *table,
	bool to, const struct chain_classes *classes)
{
	add_pairs(graph, to ? one : node, to ? node : one, table, to ? classes : NULL, to ? NULL : classes);
}

/* Between one variable of the core and every copy of a node. */
static void place_shared(struct chain_model *model, const struct chain_edge *edge, const struct chain_table *table)
{
	struct chain_graph *core = &model->core;
	bool to = edge->to_where == CHAIN_EVERY;
	uint32_t node = to ? edge->to : edge->from, copies = chain_copies(model->chain, node);
	uint32_t one = to ? core_at(model, edge->from, edge->from_where) : core_at(model, edge->to, edge->to_where);
	struct chain_link *link = chain_model_link_of(model, node);
	const struct chain_out *out = link ? out_of(link, one) : NULL;
	const struct chain_classes *classes = out ? &out->classes : NULL;
	chain_graph_add(core, one, to ? table->row : table->column, NULL, copies);
	for (uint32_t place = AT_FIRST; place <= AT_LAST && place < copies; place++) {
		chain_graph_add(core, model->var[place][node], to ? table->column : table->row, NULL, 1);
		pair_shared(core, out ? out->class_var : one, model->var[place][node], table, to, classes);
	}
	if (link)
		chain_graph_add(&link->graph, link->var[node], to ? table->column : table->row, NULL, 1);
	if (out)
		pair_shared(&link->graph, (uint32_t)(out - link->out), link->var[node], table, to, classes);
}

static void place_edge(struct chain_model *model, uint32_t number)
{
	const struct chain_edge *edge = &model->chain->edge[number];
	const struct chain_table *table = &model->table[number];
	if (edge->step) {
		place_step(model, edge, table);
	} else if (one_sees_every(edge)) {
		place_shared(model, edge, table);
	} else if (edge->from_where != CHAIN_EVERY) {
		chain_model_add_edge(&model->core, core_at(model, edge->from, edge->from_where),
			core_at(model, edge->to, edge->to_where), table);
	} else {
		struct chain_link *link = chain_model_link_of(model, edge->from);
		for (uint32_t place = AT_FIRST; place <= AT_LAST && place < chain_copies(model->chain, edge->from); place++)
			chain_model_add_edge(&model->core, model->var[place][edge->from], model->var[place][edge->to], table);
		if (link)
			chain_model_add_edge(&link->graph, link->var[edge->from], link->var[edge->to], table);
	}
}

/* ---- all together ---- */

static int64_t largest(const int64_t *values, size_t count)
{
	int64_t most = 0;
	FOR_SIZE(i, count)
		if (!chain_blocked(values[i]) && (values[i] < 0 ? -values[i] : values[i]) > most)
			most = values[i] < 0 ? -values[i] : values[i];
	return most;
}

static void chain_model_measure(struct chain_model *model)
{
	const struct shard_chain *chain = model->chain;
	FOR(node, chain->nodes) {
		model->costs += chain_copies(chain, node) * largest(model->cost + model->first[node], chain_width(model, node));
		model->usages += chain_copies(chain, node) * largest(model->usage + model->first[node], chain_width(model, node));
	}
	FOR(i, chain->edges) {
		const struct chain_table *table = &model->table[i];
		const struct chain_edge *edge = &chain->edge[i];
		uint32_t node = edge->from_where == CHAIN_EVERY ? edge->from : edge->to;
		uint32_t times = edge->from_where == CHAIN_EVERY || edge->to_where == CHAIN_EVERY ? chain_copies(chain, node) : 1;
		model->costs += times * (largest(table->pair, (size_t)table->rows * table->columns) + largest(table->row, table->rows)
			+ largest(table->column, table->columns));
	}
}

static enum status chain_model_find_links(struct chain_model *model)
{
	const struct shard_chain *chain = model->chain;
	bool *there;
	NEED(ROOMS(&model->arena, chain->segments, model->link, there));
	FOR(node, chain->nodes)
		if (chain->segment[node] != NONE)
			there[chain->segment[node]] = true;
	FOR(i, chain->segments)
		if (there[i] && chain->copies[i] >= 3) {
			struct chain_link *link = &model->link[model->links++];
			link->segment = i;
			link->length = chain->copies[i] - 2;
			TRY(chain_state_choose(model, link));
		}
	return OK;
}

enum status chain_model_build(struct chain_model *model, const struct shard_chain *chain, struct error *error)
{
	*model = (struct chain_model) { .chain = chain };
	model->core.arena = &model->arena;
	TRY(chain_model_reduce(model, error));
	chain_model_measure(model);
	TRY(chain_model_find_links(model));
	FOR_INT(place, PLACES)
		if (!(model->var[place] = arena_alloc(&model->arena, chain->nodes, sizeof **model->var)))
			return NO_MEMORY;
	make_core_vars(model);
	FOR_WHILE(i, model->links, !model->core.failed) {
		TRY(find_outs(model, &model->link[i]));
		TRY(make_copy_vars(model, &model->link[i]));
	}
	FOR_WHILE(i, chain->edges, !model->core.failed)
		place_edge(model, i);
	FOR_WHILE(i, model->links, !model->core.failed)
		TRY(make_link_factor(model, &model->link[i]));
	return model->core.failed ? NO_MEMORY : OK;
}

void chain_model_free(struct chain_model *model)
{
	arena_free(&model->arena);
	*model = (struct chain_model) { 0 };
}
