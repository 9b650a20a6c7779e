/* network.c: from a graph to a sharding problem, and from its plan to a sharding. */

#include "network_build.h"

/* Ops of the backward pass, and views of the forward pass that it reads. */
static void find_reaches(const struct units *units, bool *reaches)
{
	const struct graph *graph = units->graph;
	const struct csr *readers = &units->readers;
	FOR_DOWN(op, graph->ops) {
		reaches[op] = graph->op[op].phase == PHASE_BACKWARD;
		FOR_ITEMS(tensor, &graph->writes, op) {
			bool view = graph->tensor[tensor].alias != NONE && graph_pairs(graph, op) == 0;
			for (uint32_t j = readers->start[tensor]; view && j < readers->start[tensor + 1]; j++)
				reaches[op] |= reaches[readers->item[j]];
		}
	}
}

/* The same tensor of the first copy. */
static uint32_t in_first_copy(const struct building *building, uint32_t tensor)
{
	const struct graph *graph = building->graph;
	const struct fold *fold = building->options->fold;
	uint32_t op = graph->tensor[tensor].writer, near = op;
	if (op == NONE && csr_length(&building->units->readers, tensor) > 0)
		near = csr_at(&building->units->readers, tensor, 0);
	if (!fold || near == NONE || fold->segment_of[near] == NONE)
		return tensor;
	const struct fold_segment *segment = &fold->segment[fold->segment_of[near]];
	const struct csr *rows = op == NONE ? &graph->reads : &graph->writes;
	uint32_t first = segment->op[fold->index_of[near]], k = 0;
	while (rows->item[rows->start[near] + k] != tensor)
		k++;
	uint32_t other = rows->item[rows->start[first] + k];
	return graph->tensor[other].writer == NONE && op != NONE ? tensor : other;
}

static enum status shard_network_begin(struct building *building, struct network_options *options)
{
	const struct graph *graph = building->graph;
	struct network *network = building->network;
	struct arena *arena = &network->arena;
	ROOM(arena, network->op_node, graph->ops);
	ROOM(arena, network->op_copy, graph->ops);
	ROOM(arena, network->kept_node, graph->tensors);
	ROOM(arena, network->kept_copy, graph->tensors);
	network->chain.segments = options->fold ? options->fold->segments : 0;
	struct placement_pin *pin;
	if (!(ROOM(arena, network->chain.copies, network->chain.segments) &&
			ROOM(&building->arena, building->reaches, graph->ops) && ROOM(&building->arena, pin, options->pins)) ||
		!network->op_node || !network->op_copy || !network->kept_node || !network->kept_copy ||
		(!options->memo && reshard_memo_begin(&building->own_memo, building->units, building->mesh) != OK))
		return NO_MEMORY;
	FILL_NONE(network->kept_node, graph->tensors);
	FOR(i, network->chain.segments)
		network->chain.copies[i] = options->fold->segment[i].copies;
	find_reaches(building->units, building->reaches);
	FOR(i, options->pins) {
		pin[i] = options->pin[i];
		pin[i].tensor = in_first_copy(building, pin[i].tensor);
	}
	options->pin = pin;
	return OK;
}

enum status network_build(const struct units *units, const struct mesh *mesh, const struct network_options *options,
	struct network *network, struct error *error)
{
	struct network_options own = *options;
	struct building building = {
		.units = units, .graph = units->graph, .mesh = mesh, .options = &own, .network = network, .error = error
	};
	building.memo = own.memo ? own.memo : &building.own_memo;
	*network = (struct network) { .units = units, .mesh = *mesh };
	network->chain.limit = -1;
	enum status status = shard_network_begin(&building, &own);
	THEN(status, building_nodes(&building));
	THEN(status, building_edges(&building));
	reshard_memo_end(&building.own_memo);
	mem_free(building.reading);
	arena_free(&building.arena);
	if (status != OK)
		network_free(network);
	return status;
}

void network_free(struct network *network)
{
	mem_free(network->chain.segment);
	mem_free(network->chain.first);
	mem_free(network->chain.cost);
	mem_free(network->chain.usage);
	mem_free(network->chain.edge);
	mem_free(network->chain.pair);
	mem_free(network->node);
	mem_free(network->choice);
	arena_free(&network->arena);
	*network = (struct network) { 0 };
}

void network_weigh_memory(struct network *network)
{
	struct shard_chain *chain = &network->chain;
	FOR(i, chain->first[chain->nodes]) {
		chain->cost[i] = chain->usage[i];
		chain->usage[i] = 0;
	}
	FOR_SIZE(i, chain->pairs)
		chain->pair[i] = chain->pair[i] >= SHARD_FORBIDDEN ? SHARD_FORBIDDEN : 0;
}

enum status network_decode(const struct network *network, const struct chain_plan *plan, const struct sharding *base,
	struct sharding *sharding)
{
	const struct graph *graph = network->units->graph;
	const struct shard_chain *chain = &network->chain;
	TRY(sharding_new(network->units, &network->mesh, sharding));
	sharding->late_axes = base ? base->late_axes : 0;
	sharding->each_axes = base ? base->each_axes : 0;
	sharding->regather_axes = base ? base->regather_axes : 0;
	FOR(op, graph->ops) {
		uint32_t node = network->op_node[op], chosen = plan->choice[plan->start[node] + network->op_copy[op]];
		sharding_set(sharding, network->units, op, network->choice[chain->first[node] + chosen].split);
	}
	FOR(t, graph->tensors) {
		uint32_t node = network->kept_node[t];
		if (node == NONE)
			continue;
		uint32_t chosen = plan->choice[plan->start[node] + network->kept_copy[t]];
		sharding->produced[t] = network->choice[chain->first[node] + chosen].placement;
	}
	return OK;
}
