/* network.c: what to keep at given prices: one minimum cut. */

#include "network.h"

static uint32_t recompute_network_number_nodes(struct recompute_network *network)
{
	const struct recompute_step *step = network->step;
	uint32_t nodes = 0;
	FOR(s, step->storages) {
		network->need[s] = step->droppable[s] ? nodes : NONE;
		nodes += step->droppable[s] ? 2 : 0;
	}
	network->runs = nodes;
	FOR(op, step->ops)
		network->run[op] = step->forward[op] && !step->view[op] ? nodes++ : NONE;
	network->sink = nodes++;
	return nodes;
}

static bool recompute_network_changes(const struct recompute_step *step, uint32_t op, uint32_t storage)
{
	FOR_ITEMS(change, &step->changes, op)
		if (change == storage)
			return true;
	return false;
}

static void add_read(struct recompute_network *network, uint32_t op, uint32_t storage, bool for_bound)
{
	const struct recompute_step *step = network->step;
	struct max_flow *flow = &network->flow;
	bool redo = recompute_network_changes(step, op, storage) ||
		recompute_version(step, storage, op) < csr_length(&step->writers, storage);
	if (!redo || !for_bound) {
		flow_add(flow, network->run[op], network->need[storage] + redo, FLOW_UNLIMITED, 0);
		return;
	}
	FOR_ITEMS(writer, &step->writers, storage)
		if (writer < op)
			flow_add(flow, network->run[op], network->run[writer], FLOW_UNLIMITED, 0);
}

static void add_arcs(struct recompute_network *network, bool for_bound)
{
	const struct recompute_step *step = network->step;
	struct max_flow *flow = &network->flow;
	FOR(s, step->storages) {
		if (!step->droppable[s])
			continue;
		network->keep_arc[s] = flow_add(flow, network->need[s], network->need[s] + 1, 0, 0);
		FOR_ITEMS(writer, &step->writers, s)
			flow_add(flow, network->need[s] + 1, network->run[writer], FLOW_UNLIMITED, 0);
	}
	FOR(op, step->ops) {
		if (network->run[op] == NONE)
			continue;
		network->time_arc[op] = flow_add(flow, network->run[op], network->sink, 0, 0);
		FOR_ITEMS(read, &step->reads, op)
			add_read(network, op, read, for_bound);
	}
}

/* Room for every arc: an op that reads a storage may have one to each of its writers. */
static uint32_t count_arcs(const struct recompute_step *step, uint32_t nodes)
{
	uint32_t arcs = nodes + step->writers.start[step->storages] + step->reads.start[step->ops];
	FOR(op, step->ops)
		FOR_ITEMS(read, &step->reads, op)
			arcs += csr_length(&step->writers, read) > 1 ? csr_length(&step->writers, read) : 0;
	return arcs;
}

enum status recompute_network_new(const struct recompute_step *step, bool for_bound, struct recompute_network *network)
{
	struct arena *arena = &network->arena;
	*network = (struct recompute_network){ .step = step };
	NEED(ROOMS(arena, step->storages, network->need, network->keep_arc) &&
		ROOMS(arena, step->ops, network->run, network->time_arc));
	uint32_t nodes = recompute_network_number_nodes(network);
	if (!ROOM(arena, network->side, nodes) || flow_init(&network->flow, nodes, count_arcs(step, nodes)) != OK)
		return NO_MEMORY;
	add_arcs(network, for_bound);
	return flow_ready(&network->flow);
}

void recompute_network_free(struct recompute_network *network)
{
	flow_free(&network->flow);
	arena_free(&network->arena);
}

static void set_capacities(
	struct recompute_network *network, const int64_t *price, const int64_t *time, const bool *needed)
{
	const struct recompute_step *step = network->step;
	struct max_flow *flow = &network->flow;
	memset(network->side, FLOW_FREE, flow->nodes);
	network->side[network->sink] = FLOW_SINK;
	FOR(s, step->storages) {
		if (!step->droppable[s])
			continue;
		bool never = price[s] > step->total || step->fixed[s] == RECOMPUTE_DROPPED;
		flow->capacity[network->keep_arc[s]] = never ? step->total + 1 : price[s];
		if (needed[s])
			network->side[network->need[s]] = FLOW_SOURCE;
	}
	FOR(op, step->ops)
		if (network->run[op] != NONE)
			flow->capacity[network->time_arc[op]] = time[op];
}

enum status recompute_cut(struct recompute_network *network, const int64_t *price, const int64_t *time,
	const bool *needed, struct control *control, int64_t *value, bool *kept)
{
	const struct recompute_step *step = network->step;
	struct max_flow *flow = &network->flow;
	set_capacities(network, price, time, needed);
	TRY(flow_maximise(flow, network->side, control, value));
	FOR(s, step->storages) {
		uint32_t node = network->need[s];
		kept[s] = node != NONE && flow->reached[node] && !flow->reached[node + 1];
	}
	return OK;
}
