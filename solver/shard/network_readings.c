/* network_readings.c: who reads what: tensors of equal ops are one class, and readings of a class by copies of an op
 * one reading.
 *
 * Copies that have a copy on both sides read alike (see fold_find()), so one of them is looked at for all. */

#include "network_build.h"

/* ---- classes ---- */

static uint32_t tensor_node(const struct building *building, uint32_t tensor, uint32_t *copy)
{
	const struct network *network = building->network;
	uint32_t op = building->graph->tensor[tensor].writer;
	*copy = op == NONE ? network->kept_copy[tensor] : network->op_copy[op];
	return op == NONE ? network->kept_node[tensor] : network->op_node[op];
}

static uint32_t tensor_class(const struct building *building, uint32_t tensor)
{
	const struct graph *graph = building->graph;
	uint32_t copy, op = graph->tensor[tensor].writer, class = building->node_class[tensor_node(building, tensor, &copy)];
	for (uint32_t i = op == NONE ? 0 : graph->writes.start[op]; op != NONE && graph->writes.item[i] != tensor; i++)
		class++;
	return class;
}

/* The first tensor of every class. */
static void find_examples(struct building *building)
{
	const struct graph *graph = building->graph;
	const struct network *network = building->network;
	FILL_NONE(building->class_example, building->classes);
	FOR(op, graph->ops)
		FOR_SPAN(i, graph->writes.start, op) {
			uint32_t *example =
				&building->class_example[building->node_class[network->op_node[op]] + i - graph->writes.start[op]];
			*example = graph->writes.item[i] < *example ? graph->writes.item[i] : *example;
		}
	FOR_DOWN(t, graph->tensors)
		if (network->kept_node[t] != NONE)
			building->class_example[building->node_class[network->kept_node[t]]] = t;
}

static bool number_classes(struct building *building)
{
	const struct network *network = building->network;
	uint32_t nodes = network->chain.nodes;
	if (!ROOM(&building->arena, building->node_class, nodes + (size_t)1))
		return false;
	FOR(node, nodes)
		building->node_class[node + 1] = building->node_class[node]
			+ (network->node[node].kind == NETWORK_OP ? graph_results(building->graph, network->node[node].id) : 1);
	building->classes = building->node_class[nodes];
	/* Second half: updated tensors on their way back to where they are kept, under the class of the tensor. */
	if (!(ROOM(&building->arena, building->class_reading, 2 * (size_t)building->classes) &&
		ROOM(&building->arena, building->class_example, building->classes)))
		return false;
	memset(building->class_reading, 0xff, 2 * sizeof *building->class_reading * building->classes);
	find_examples(building);
	return true;
}

/* ---- readings ---- */

/* The tensor that an op's in-place write leaves in a storage that stays: to be kept as its root is. NONE: none, or not
 * the last. */
static uint32_t network_readings_left_behind(
	const struct graph *graph, uint32_t op, const struct inplace *pair, uint32_t *root)
{
	const struct storage *storage = &graph->storage[graph->tensor[pair->in].storage];
	*root = storage->root;
	if (!storage->persistent || graph->tensor[storage->root].writer != NONE)
		return NONE;
	FOR_ITEMS(later, &graph->users, graph->tensor[pair->in].storage) {
		for (uint32_t j = graph->inplace_start[later]; later > op && j < graph->inplace_start[later + 1]; j++)
			if (graph->tensor[graph->inplace[j].in].storage == graph->tensor[pair->in].storage)
				return NONE;
	}
	return pair->out == NONE ? pair->in : pair->out;
}

/* The operand in which an op leaves a tensor under its own name, to be brought back to where it lies; NONE. */
static uint32_t operand_left(const struct graph *graph, uint32_t tensor, uint32_t op)
{
	uint32_t root;
	FOR_SPAN(j, graph->inplace_start, op)
		if (graph->inplace[j].in == tensor && graph->inplace[j].out == NONE &&
			network_readings_left_behind(graph, op, &graph->inplace[j], &root) == tensor)
			FOR_ROW(i, &graph->reads, op)
				if (graph->reads.item[i] == tensor)
					return i - graph->reads.start[op];
	return NONE;
}

/* Adds a reading by a copy of a node, and those by so many copies before and after it that read alike. */
static enum status add_reading(struct building *building, uint32_t *list, uint32_t tensor, uint32_t op, uint32_t node,
	uint32_t to, uint32_t before, uint32_t after)
{
	const struct shard_chain *chain = &building->network->chain;
	uint32_t from, writer = tensor_node(building, tensor, &from), at = *list;
	int32_t delta = DELTA_NONE;
	if (chain->segment[writer] != NONE && chain->segment[writer] == chain->segment[node])
		delta = (int32_t)to - (int32_t)from;
	while (at != NONE && (building->reading[at].node != node || building->reading[at].delta != delta))
		at = building->reading[at].next;
	if (at == NONE) {
		NEED(GROWN(building->reading, building->reading_room, building->readings + 1));
		at = building->readings++;
		building->reading[at] = (struct reading) { node, delta, 0, from, from, to, to, tensor, op,
			operand_left(building->graph, tensor, op), *list };
		*list = at;
	}
	struct reading *reading = &building->reading[at];
	uint32_t low = delta == DELTA_NONE ? from : from - before, high = delta == DELTA_NONE ? from : from + after;
	reading->count += 1 + before + after;
	reading->from_low = SMALLER(low, reading->from_low);
	reading->from_high = LARGER(high, reading->from_high);
	reading->to_low = SMALLER(to - before, reading->to_low);
	reading->to_high = LARGER(to + after, reading->to_high);
	return OK;
}

/* ---- all of them ---- */

/* The op of a layer's copy. */
static uint32_t network_readings_op_of(const struct fold_segment *segment, uint32_t index, uint32_t copy)
{
	return segment->op[copy * segment->ops + index];
}

/* The op that stands for those of all copies with a copy on both sides: the first in the program. */
static uint32_t standing(const struct fold_segment *segment, uint32_t index)
{
	uint32_t first = network_readings_op_of(segment, index, 1),
			 last = network_readings_op_of(segment, index, segment->copies - 2);
	return SMALLER(first, last);
}

/* Ops whose reads are to be collected: all but those that others stand for. */
static bool *mark_reading(struct building *building)
{
	const struct graph *graph = building->graph;
	const struct fold *fold = building->options->fold;
	bool *MAKE_IN(&building->arena, marked, graph->ops);
	FOR_WHILE(op, graph->ops, marked)
		marked[op] = !fold || fold->segment_of[op] == NONE;
	FOR(s, marked && fold ? fold->segments : 0)
		FOR(i, fold->segment[s].ops) {
			const struct fold_segment *segment = &fold->segment[s];
			marked[network_readings_op_of(segment, i, 0)] =
				marked[network_readings_op_of(segment, i, segment->copies - 1)] = true;
			if (segment->copies > 2)
				marked[standing(segment, i)] = true;
		}
	return marked;
}

/* True where copies in the middle read tensors of their own there that nothing writes and that have no node together.
 */
static bool read_apart(
	const struct building *building, const struct fold_segment *segment, uint32_t index, uint32_t place)
{
	const struct graph *graph = building->graph;
	uint32_t tensor = graph_operand(graph, network_readings_op_of(segment, index, 1), place);
	return graph->tensor[tensor].writer == NONE &&
		building->network->chain.segment[building->network->kept_node[tensor]] == NONE &&
		graph_operand(graph, network_readings_op_of(segment, index, segment->copies - 2), place) !=
		tensor;
}

/* The readings of an op, and of those that it stands for. */
static enum status collect_reads(struct building *building, uint32_t op)
{
	const struct graph *graph = building->graph;
	const struct network *network = building->network;
	const struct fold *fold = building->options->fold;
	const struct fold_segment *segment = fold && fold->segment_of[op] != NONE ? &fold->segment[fold->segment_of[op]]
		: NULL;
	uint32_t copy = network->op_copy[op], before = 0, after = 0;
	bool stands = segment && copy > 0 && copy < segment->copies - 1;
	if (stands) {
		before = copy - 1;
		after = segment->copies - 2 - copy;
	}
	FOR_ROW(i, &graph->reads, op) {
		uint32_t t = graph->reads.item[i];
		bool again = false;
		FOR_FROM(j, graph->reads.start[op], i)
			again = again || graph->reads.item[j] == t;
		if (stands && read_apart(building, segment, fold->index_of[op], i - graph->reads.start[op]))
			return fail(building->error, LIMIT, "%s is read by some copies of a layer only", graph->tensor[t].name);
		if (!again)
			TRY(add_reading(building, &building->class_reading[tensor_class(building, t)], t, op,
				network->op_node[op], copy, before, after));
	}
	return OK;
}

enum status building_readings(struct building *building)
{
	const struct graph *graph = building->graph;
	const struct network *network = building->network;
	const bool *marked = number_classes(building) ? mark_reading(building) : NULL;
	NEED(marked);
	FOR(op, graph->ops) {
		if (marked[op])
			TRY(collect_reads(building, op));
		FOR_SPAN(j, graph->inplace_start, op) {
			uint32_t root, left = network_readings_left_behind(graph, op, &graph->inplace[j], &root);
			if (left != NONE && graph->tensor[left].writer == op)
				TRY(add_reading(building, &building->class_reading[building->classes + tensor_class(building, left)], left, op,
					network->kept_node[root], network->kept_copy[root], 0, 0));
		}
	}
	return OK;
}
