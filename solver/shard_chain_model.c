/* shard_chain_model.c: states, and the factor graphs. */
#include <string.h>

#include "shard_chain_model.h"

#define COVER_TAILS 10         /* covers of the step edges are tried out where they have no more tails */

/* ---- factors --------------------------------------------------------------------------------------------------- */

static void add_factor(struct chain_graph *graph, const uint32_t *var, uint32_t count, size_t size, int64_t *cost, int64_t *usage)
{
	struct chain_factor factor = { .count = count, .size = size, .cost = cost, .usage = usage };
	factor.var = arena_alloc(graph->arena, count, sizeof *factor.var);
	if (!factor.var) {
		graph->failed = true;
		return;
	}
	memcpy(factor.var, var, count * sizeof *var);
	chain_graph_factor(graph, &factor);
}

static bool all_zero(const int64_t *values, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++)
		if (values[i])
			return false;
	return true;
}

/* Costs of one variable's values, times over. */
static void add_values(struct chain_graph *graph, uint32_t var, int64_t *cost, uint32_t times)
{
	if (graph->failed || all_zero(cost, graph->domain[var]))
		return;
	uint32_t domain = graph->domain[var];
	int64_t *multiple = cost;
	if (times > 1) {
		multiple = arena_alloc(graph->arena, domain, sizeof *multiple);
		graph->failed |= !multiple;
		for (uint32_t i = 0; multiple && i < domain; i++)
			multiple[i] = chain_blocked(cost[i]) ? CHAIN_BLOCKED : cost[i] * times;
	}
	if (multiple)
		add_factor(graph, &var, 1, domain, multiple, NULL);
}

/* The same node at both ends: the diagonal. */
static void add_loop(struct chain_graph *graph, uint32_t var, const struct chain_table *table)
{
	int64_t *cost = arena_alloc(graph->arena, table->rows, sizeof *cost);
	graph->failed |= !cost;
	for (uint32_t i = 0; cost && i < table->rows; i++)
		cost[i] = table->pair[(size_t)i * table->columns + i];
	if (cost)
		add_values(graph, var, cost, 1);
}

static void add_edge(struct chain_graph *graph, uint32_t from, uint32_t to, const struct chain_table *table)
{
	uint32_t var[] = { from, to };
	if (graph->failed)
		return;
	if (from == to) {
		add_loop(graph, from, table);
	} else if (table->separable) {
		add_values(graph, from, table->row, 1);
		add_values(graph, to, table->column, 1);
	} else {
		add_factor(graph, var, 2, (size_t)table->rows * table->columns, table->pair, NULL);
	}
}

static void add_node(const struct chain_model *model, struct chain_graph *graph, uint32_t var, uint32_t node)
{
	uint32_t width = chain_width(model, node);
	int64_t *cost = model->cost + model->first[node], *usage = model->usage + model->first[node];
	if (!graph->failed && !(all_zero(cost, width) && all_zero(usage, width)))
		add_factor(graph, &var, 1, width, cost, all_zero(usage, width) ? NULL : usage);
}

/* A second variable that always has the first one's value. */
static uint32_t add_twin(struct chain_graph *graph, uint32_t twin, uint32_t var)
{
	uint32_t domain = graph->failed ? 0 : graph->domain[var], both[] = { var, twin };
	int64_t *cost = graph->failed ? NULL : arena_alloc(graph->arena, (size_t)domain * domain, sizeof *cost);
	graph->failed |= !cost;
	for (size_t i = 0; cost && i < (size_t)domain * domain; i++)
		cost[i] = i / domain == i % domain ? 0 : CHAIN_BLOCKED;
	if (cost)
		add_factor(graph, both, 2, (size_t)domain * domain, cost, NULL);
	return twin;
}

/* ---- states ---------------------------------------------------------------------------------------------------- */

struct cover {
	uint32_t *from, *to, edges; /* step edges that aren't sums */
	uint32_t *tail, *head, tails, heads;
	uint32_t *all, count;      /* distinct tails */
};

static bool among(const uint32_t *list, uint32_t count, uint32_t item)
{
	for (uint32_t i = 0; i < count; i++)
		if (list[i] == item)
			return true;
	return false;
}

/* The tails in the set, and the heads of all edges from others. */
static double cover_by(const struct chain_model *model, struct cover *cover, uint32_t set)
{
	double states = 1;
	cover->tails = cover->heads = 0;
	for (uint32_t i = 0; i < cover->count; i++)
		if (i >= 32 ? set == UINT32_MAX : set >> i & 1) {
			cover->tail[cover->tails++] = cover->all[i];
			states *= chain_width(model, cover->all[i]);
		}
	for (uint32_t i = 0; i < cover->edges; i++)
		if (!among(cover->tail, cover->tails, cover->from[i]) && !among(cover->head, cover->heads, cover->to[i])) {
			cover->head[cover->heads++] = cover->to[i];
			states *= chain_width(model, cover->to[i]);
		}
	return states;
}

static double best_cover(const struct chain_model *model, struct cover *cover)
{
	uint32_t best = 0, last = cover->count <= COVER_TAILS ? 1u << cover->count : 2;
	double least = 0;
	for (uint32_t i = 0; i < last; i++) {
		uint32_t set = cover->count <= COVER_TAILS ? i : i ? UINT32_MAX : 0;
		double states = cover_by(model, cover, set);
		if (i == 0 || states < least) {
			least = states;
			best = set;
		}
	}
	return cover_by(model, cover, best);
}

static enum status choose_state(struct chain_model *model, struct chain_link *link)
{
	const struct shard_chain *chain = model->chain;
	struct cover cover = { 0 };
	uint32_t **lists[] = { &cover.from, &cover.to, &cover.tail, &cover.head, &cover.all };
	for (size_t i = 0; i < sizeof lists / sizeof *lists; i++)
		if (!(*lists[i] = arena_alloc(&model->arena, chain->edges, sizeof **lists[i])))
			return NO_MEMORY;
	for (uint32_t i = 0; i < chain->edges; i++) {
		const struct chain_edge *edge = &chain->edge[i];
		if (!edge->step || chain->segment[edge->from] != link->segment || model->table[i].separable)
			continue;
		cover.from[cover.edges] = edge->from;
		cover.to[cover.edges++] = edge->to;
		if (!among(cover.all, cover.count, edge->from))
			cover.all[cover.count++] = edge->from;
	}
	double states = best_cover(model, &cover);
	link->tails = cover.tails;
	link->tail = cover.tail;
	link->heads = cover.heads;
	link->head = cover.head;
	link->states = states < 1e9 ? (uint32_t)states : 0;
	return states < 1e9 ? OK : LIMIT;
}

/* ---- variables ------------------------------------------------------------------------------------------------- */

static struct chain_link *link_of(const struct chain_model *model, uint32_t node)
{
	for (uint32_t i = 0; i < model->links; i++)
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
	for (uint32_t node = 0; node < chain->nodes; node++) {
		for (int place = 0; place < PLACES; place++)
			model->var[place][node] = NONE;
		model->var[AT_FIRST][node] = model->var[AT_LAST][node] = chain_graph_var(&model->core, chain_width(model, node));
		add_node(model, &model->core, model->var[AT_FIRST][node], node);
		if (chain_copies(chain, node) > 1) {
			model->var[AT_LAST][node] = chain_graph_var(&model->core, chain_width(model, node));
			add_node(model, &model->core, model->var[AT_LAST][node], node);
		}
	}
	for (uint32_t i = 0; i < model->links; i++) {
		const struct chain_link *link = &model->link[i];
		for (uint32_t j = 0; j < link->heads; j++)
			model->var[AT_SECOND][link->head[j]] = chain_graph_var(&model->core, chain_width(model, link->head[j]));
		for (uint32_t j = 0; j < link->tails; j++)
			model->var[AT_BEFORE_LAST][link->tail[j]] = chain_graph_var(&model->core, chain_width(model, link->tail[j]));
	}
}

static bool one_sees_every(const struct chain_edge *edge)
{
	return (edge->from_where == CHAIN_EVERY) != (edge->to_where == CHAIN_EVERY);
}

/* Variables of the core that all copies of the link see. */
static enum status find_outs(struct chain_model *model, struct chain_link *link)
{
	const struct shard_chain *chain = model->chain;
	double blocks = 1;
	link->out = arena_alloc(&model->arena, chain->edges, sizeof *link->out);
	if (!link->out)
		return NO_MEMORY;
	for (uint32_t i = 0; i < chain->edges; i++) {
		const struct chain_edge *edge = &chain->edge[i];
		bool to = edge->to_where == CHAIN_EVERY;
		if (!one_sees_every(edge) || model->table[i].separable || chain->segment[to ? edge->to : edge->from] != link->segment)
			continue;
		uint32_t var = to ? core_at(model, edge->from, edge->from_where) : core_at(model, edge->to, edge->to_where);
		if (among(link->out, link->outs, var))
			continue;
		link->out[link->outs++] = var;
		blocks *= model->core.domain[var];
	}
	link->blocks = blocks < 1e9 ? (uint32_t)blocks : 0;
	return blocks < 1e9 ? OK : LIMIT;
}

static enum status make_copy_vars(struct chain_model *model, struct chain_link *link)
{
	const struct shard_chain *chain = model->chain;
	struct chain_graph *graph = &link->graph;
	link->var = arena_alloc(&model->arena, chain->nodes, sizeof *link->var);
	link->before = arena_alloc(&model->arena, chain->nodes, sizeof *link->before);
	link->after = arena_alloc(&model->arena, chain->nodes, sizeof *link->after);
	link->shared = arena_alloc(&model->arena, model->core.vars, sizeof *link->shared);
	graph->arena = &model->arena;
	if (!link->var || !link->before || !link->after || !link->shared)
		return NO_MEMORY;
	for (uint32_t i = 0; i < link->outs; i++)
		link->shared[link->out[i]] = chain_graph_var(graph, model->core.domain[link->out[i]]);
	for (uint32_t i = 0; i < link->tails; i++)
		link->before[link->tail[i]] = chain_graph_var(graph, chain_width(model, link->tail[i]));
	for (uint32_t i = 0; i < link->heads; i++)
		link->var[link->head[i]] = chain_graph_var(graph, chain_width(model, link->head[i]));
	for (uint32_t i = 0; i < link->tails; i++) {
		uint32_t var = chain_graph_var(graph, chain_width(model, link->tail[i]));
		if (among(link->head, link->heads, link->tail[i]))
			add_twin(graph, var, link->var[link->tail[i]]);
		else
			link->var[link->tail[i]] = var;
	}
	for (uint32_t i = 0; i < link->heads; i++)
		link->after[link->head[i]] = chain_graph_var(graph, chain_width(model, link->head[i]));
	graph->kept = graph->vars;
	for (uint32_t node = 0; node < chain->nodes; node++) {
		if (chain->segment[node] != link->segment)
			continue;
		if (!among(link->head, link->heads, node) && !among(link->tail, link->tails, node))
			link->var[node] = chain_graph_var(graph, chain_width(model, node));
		add_node(model, graph, link->var[node], node);
	}
	return graph->failed ? NO_MEMORY : OK;
}

/* The factor that stands for all arcs, over distinct variables of the core. */
static enum status make_link_factor(struct chain_model *model, struct chain_link *link)
{
	struct chain_graph *core = &model->core;
	uint32_t count = 0, most = link->outs + 2 * (link->tails + link->heads);
	struct chain_factor factor = { .size = (size_t)link->blocks * link->states * link->states };
	if ((double)link->blocks * link->states * link->states > 1e8)
		return LIMIT;
	factor.var = arena_alloc(&model->arena, most, sizeof *factor.var);
	factor.weight = arena_alloc(&model->arena, factor.size, sizeof *factor.weight);
	if (!factor.var || !factor.weight)
		return NO_MEMORY;
	for (uint32_t i = 0; i < link->outs; i++)
		factor.var[count++] = link->out[i];
	for (int end = 0; end < 2; end++)
		for (uint32_t i = 0; i < link->tails + link->heads && !core->failed; i++) {
			uint32_t node = i < link->tails ? link->tail[i] : link->head[i - link->tails];
			int place = i < link->tails ? (end ? AT_BEFORE_LAST : AT_FIRST) : end ? AT_LAST : AT_SECOND;
			uint32_t var = model->var[place][node];
			if (among(factor.var, count, var)) {
				uint32_t twin = chain_graph_var(core, core->domain[var]);
				var = add_twin(core, twin, var);
			}
			factor.var[count++] = var;
		}
	factor.count = count;
	link->factor = chain_graph_factor(core, &factor);
	return core->failed ? NO_MEMORY : OK;
}

/* ---- edges ----------------------------------------------------------------------------------------------------- */

static void place_step(struct chain_model *model, const struct chain_edge *edge, const struct chain_table *table)
{
	struct chain_graph *core = &model->core;
	struct chain_link *link = link_of(model, edge->from);
	uint32_t first = model->var[AT_FIRST][edge->from], last = model->var[AT_LAST][edge->to];
	if (chain_copies(model->chain, edge->from) == 1)
		return;
	if (!link) {
		add_edge(core, first, last, table);
	} else if (table->separable) {
		add_values(core, first, table->row, 1);
		add_values(core, last, table->column, 1);
		add_values(&link->graph, link->var[edge->from], table->row, 1);
		add_values(&link->graph, link->var[edge->to], table->column, 1);
	} else if (among(link->tail, link->tails, edge->from)) {
		add_edge(core, model->var[AT_BEFORE_LAST][edge->from], last, table);
		add_edge(&link->graph, link->before[edge->from], link->var[edge->to], table);
	} else {
		add_edge(core, first, model->var[AT_SECOND][edge->to], table);
		add_edge(&link->graph, link->var[edge->from], link->after[edge->to], table);
	}
}

/* Between one variable of the core and every copy of a node. */
static void place_shared(struct chain_model *model, const struct chain_edge *edge, const struct chain_table *table)
{
	struct chain_graph *core = &model->core;
	bool to = edge->to_where == CHAIN_EVERY;
	uint32_t node = to ? edge->to : edge->from, copies = chain_copies(model->chain, node);
	uint32_t one = to ? core_at(model, edge->from, edge->from_where) : core_at(model, edge->to, edge->to_where);
	for (uint32_t place = AT_FIRST; place <= AT_LAST && place < copies; place++)
		add_edge(core, to ? one : model->var[place][node], to ? model->var[place][node] : one, table);
	struct chain_link *link = link_of(model, node);
	if (!link)
		return;
	if (table->separable) {
		add_values(core, one, to ? table->row : table->column, link->length);
		add_values(&link->graph, link->var[node], to ? table->column : table->row, 1);
	} else {
		uint32_t shared = link->shared[one];
		add_edge(&link->graph, to ? shared : link->var[node], to ? link->var[node] : shared, table);
	}
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
		add_edge(&model->core, core_at(model, edge->from, edge->from_where), core_at(model, edge->to, edge->to_where), table);
	} else {
		struct chain_link *link = link_of(model, edge->from);
		for (uint32_t place = AT_FIRST; place <= AT_LAST && place < chain_copies(model->chain, edge->from); place++)
			add_edge(&model->core, model->var[place][edge->from], model->var[place][edge->to], table);
		if (link)
			add_edge(&link->graph, link->var[edge->from], link->var[edge->to], table);
	}
}

/* ---- all together ---------------------------------------------------------------------------------------------- */

static int64_t largest(const int64_t *values, size_t count)
{
	int64_t most = 0;
	for (size_t i = 0; i < count; i++)
		if (!chain_blocked(values[i]) && (values[i] < 0 ? -values[i] : values[i]) > most)
			most = values[i] < 0 ? -values[i] : values[i];
	return most;
}

static void measure(struct chain_model *model)
{
	const struct shard_chain *chain = model->chain;
	for (uint32_t node = 0; node < chain->nodes; node++) {
		model->costs += chain_copies(chain, node) * largest(model->cost + model->first[node], chain_width(model, node));
		model->usages += chain_copies(chain, node) * largest(model->usage + model->first[node], chain_width(model, node));
	}
	/* Sums of rows and columns may be three times what they stand for. */
	for (uint32_t i = 0; i < chain->edges; i++) {
		const struct chain_table *table = &model->table[i];
		const struct chain_edge *edge = &chain->edge[i];
		uint32_t node = edge->from_where == CHAIN_EVERY ? edge->from : edge->to;
		uint32_t times = edge->from_where == CHAIN_EVERY || edge->to_where == CHAIN_EVERY ? chain_copies(chain, node) : 1;
		model->costs += 3 * times * largest(table->pair, (size_t)table->rows * table->columns);
	}
}

static enum status find_links(struct chain_model *model)
{
	const struct shard_chain *chain = model->chain;
	enum status status = OK;
	model->link = arena_alloc(&model->arena, chain->segments, sizeof *model->link);
	bool *there = arena_alloc(&model->arena, chain->segments, sizeof *there);
	if (!model->link || !there)
		return NO_MEMORY;
	for (uint32_t node = 0; node < chain->nodes; node++)
		if (chain->segment[node] != NONE)
			there[chain->segment[node]] = true;
	for (uint32_t i = 0; i < chain->segments && status == OK; i++)
		if (there[i] && chain->copies[i] >= 3) {
			struct chain_link *link = &model->link[model->links++];
			link->segment = i;
			link->length = chain->copies[i] - 2;
			status = choose_state(model, link);
		}
	return status;
}

enum status chain_model_build(struct chain_model *model, const struct shard_chain *chain, const bool *wanted, struct control *control,
	struct error *error)
{
	*model = (struct chain_model) { .chain = chain };
	model->core.arena = &model->arena;
	enum status status = chain_model_reduce(model, wanted, control, error);
	if (status == OK) {
		measure(model);
		status = find_links(model);
	}
	for (int place = 0; place < PLACES && status == OK; place++)
		if (!(model->var[place] = arena_alloc(&model->arena, chain->nodes, sizeof **model->var)))
			status = NO_MEMORY;
	if (status == OK)
		make_core_vars(model);
	for (uint32_t i = 0; i < model->links && status == OK && !model->core.failed; i++) {
		status = find_outs(model, &model->link[i]);
		if (status == OK)
			status = make_copy_vars(model, &model->link[i]);
	}
	for (uint32_t i = 0; i < chain->edges && status == OK && !model->core.failed; i++)
		place_edge(model, i);
	for (uint32_t i = 0; i < model->links && status == OK && !model->core.failed; i++)
		status = make_link_factor(model, &model->link[i]);
	return status == OK && model->core.failed ? NO_MEMORY : status;
}

void chain_model_free(struct chain_model *model)
{
	arena_free(&model->arena);
	*model = (struct chain_model) { 0 };
}
