/* network_nodes.c: what can be decided: splits of ops, placements of tensors that nothing writes. */

#include "network_build.h"

uint32_t building_node(struct building *building, enum network_kind kind, uint32_t id, uint32_t segment)
{
	struct network *network = building->network;
	struct shard_chain *chain = &network->chain;
	size_t room = building->node_room, segments = room;
	if (!GROWN(network->node, room, chain->nodes + 1)
		|| !GROWN(chain->segment, segments, chain->nodes + 1)
		|| !GROWN(chain->first, building->first_room, chain->nodes + 2))
		return NONE;
	building->node_room = room;
	uint32_t added = chain->nodes++;
	if (added == 0)
		chain->first[0] = 0;
	network->node[added] = (struct network_node) { (uint8_t)kind, id };
	chain->segment[added] = segment;
	chain->first[added + 1] = chain->first[added];
	return added;
}

enum status building_choice(struct building *building, struct network_choice choice, int64_t cost, int64_t usage)
{
	struct network *network = building->network;
	struct shard_chain *chain = &network->chain;
	uint32_t at = chain->first[chain->nodes];
	size_t room = building->choice_room, costs = room, usages = room;
	if (!GROWN(network->choice, room, at + 1)
		|| !GROWN(chain->cost, costs, at + 1)
		|| !GROWN(chain->usage, usages, at + 1))
		return NO_MEMORY;
	building->choice_room = room;
	network->choice[at] = choice;
	chain->cost[at] = cost;
	chain->usage[at] = usage;
	chain->first[chain->nodes]++;
	return OK;
}

struct placement choice_place(const struct building *building, uint32_t tensor, const struct network_choice *choice)
{
	const struct graph *graph = building->graph;
	uint32_t op = graph->tensor[tensor].writer;
	if (op == NONE)
		return choice->placement;
	uint32_t k = graph_operands(graph, op);
	for (uint32_t i = graph->writes.start[op]; graph->writes.item[i] != tensor; i++)
		k++;
	return split_place(building->units, op, choice->split, k);
}

/* ---- usage ---- */

static bool used_in(const struct graph *graph, uint32_t storage, enum phase phase)
{
	FOR_ITEMS(user, &graph->users, storage)
		if (graph->op[user].phase == phase)
			return true;
	return false;
}

static bool made_and_used(const struct graph *graph, uint32_t tensor, enum phase made, enum phase used)
{
	const struct storage *storage = graph_home(graph, tensor);
	return !storage->persistent && storage->root == tensor && storage->allocator != NONE && storage->phase == made &&
		used_in(graph, graph->tensor[tensor].storage, used);
}

/* Written by the forward pass, read by the backward pass. */
static bool saved(const struct graph *graph, uint32_t tensor)
{
	return made_and_used(graph, tensor, PHASE_FORWARD, PHASE_BACKWARD);
}

/* A gradient as the first op of the update reads it. */
static bool first_of_update(const struct graph *graph, uint32_t tensor, uint32_t op)
{
	const struct storage *storage = graph_home(graph, tensor);
	if (graph->op[op].phase != PHASE_UPDATE || storage->persistent || storage->allocator == NONE ||
		storage->phase != PHASE_BACKWARD)
		return false;
	FOR_ITEMS(user, &graph->users, graph->tensor[tensor].storage)
		if (graph->op[user].phase == PHASE_UPDATE)
			return user == op;
	return false;
}

/* Of several microbatches: a gradient's sum, which stays as it is written until the update reduces it. */
static bool network_nodes_summed(const struct graph *graph, uint32_t tensor)
{
	return made_and_used(graph, tensor, PHASE_BACKWARD, PHASE_UPDATE);
}

static int64_t network_nodes_usage_of(const struct building *building, uint32_t op, struct split split, int64_t *ties)
{
	const struct graph *graph = building->graph;
	bool sums = building->options->microbatches > 1;
	uint32_t reads = graph_operands(graph, op);
	int64_t bytes = 0;
	FOR(k, op_arguments(graph, op)) {
		uint32_t tensor = graph_argument(graph, op, k);
		bool twice = false;
		FOR_WHILE(j, k, j < reads && k < reads)
			twice = twice || graph->tensor[graph_argument(graph, op, j)].storage == graph->tensor[tensor].storage;
		if (k < reads ? !sums && !twice && first_of_update(graph, tensor, op)
			: saved(graph, tensor) || (sums && network_nodes_summed(graph, tensor))) {
			int64_t more = placement_bytes(building->units, building->mesh, tensor, split_place(building->units, op, split, k));
			bytes += more;
			*ties += sharding_tie(more);
		}
	}
	return bytes;
}

/* ---- choices ---- */

static bool pinned_away(const struct building *building, uint32_t tensor, struct placement placement)
{
	const struct network_options *options = building->options;
	FOR(i, options->pins)
		if (options->pin[i].tensor == tensor && placement.on[options->pin[i].axis] != options->pin[i].on)
			return true;
	return false;
}

/* A result that is a new name of a tensor that stays can't be a partial sum. */
static bool network_nodes_stays(const struct graph *graph, uint32_t tensor)
{
	return graph_home(graph, tensor)->persistent && graph->tensor[tensor].writer != NONE;
}

static bool split_fits(const struct building *building, uint32_t op, struct split split)
{
	const struct graph *graph = building->graph;
	if (!split_divides(building->units, building->mesh, op, split))
		return false;
	FOR_FROM(k, graph_operands(graph, op), op_arguments(graph, op)) {
		uint32_t tensor = graph_argument(graph, op, k);
		struct placement placement = split_place(building->units, op, split, k);
		FOR(a, building->mesh->axes)
			if (placement.on[a] == PLACE_PARTIAL && network_nodes_stays(graph, tensor) && graph->op[op].phase == PHASE_UPDATE)
				return false;
	}
	return true;
}

static bool split_pinned_away(const struct building *building, uint32_t op, struct split split)
{
	uint32_t k = graph_operands(building->graph, op);
	FOR_ITEMS(written, &building->graph->writes, op)
		if (pinned_away(building, written, split_place(building->units, op, split, k++)))
			return true;
	return false;
}

/* A tensor of samples or tokens. */
static bool network_nodes_passes(const struct units *units, uint32_t tensor)
{
	FOR_SPAN(i, units->part_start, tensor)
		if (units->part[i].role == ROLE_BATCH || units->part[i].role == ROLE_SEQUENCE)
			return true;
	return false;
}

/* See struct network_options: narrow. */
static bool network_nodes_hardly_pays(const struct building *building, uint32_t op, int8_t unit)
{
	const struct units *units = building->units;
	const struct graph *graph = building->graph;
	uint32_t reads = graph_operands(graph, op), in = 0, out = 0;
	if (graph->op[op].phase == PHASE_UPDATE || unit == UNIT_NONE || (unit == UNIT_PARTIAL && reads < 2))
		return false;
	FOR(k, op_arguments(graph, op))
		if (network_nodes_passes(units, graph_argument(graph, op, k)) && units_place(units, op, unit, k) != PLACE_WHOLE)
			*(k < reads ? &in : &out) += 1;
	uint8_t role = unit < 0 ? ROLE_NONE : units->unit[units->unit_start[op] + (uint32_t)unit].role;
	return unit == UNIT_PARTIAL ? out > 0 : role == ROLE_HEAD_SIZE ? in > 0 : role == ROLE_HIDDEN && in > 0 && out > 0
		&& !units->unit[units->unit_start[op] + (uint32_t)unit].reduced;
}

static bool is_usual(const struct building *building, uint32_t op, struct split split)
{
	const struct network_options *options = building->options;
	bool usual = options->usual != NULL;
	FOR_WHILE(a, building->mesh->axes, usual)
		usual = !(options->free >> a & 1) || split.on[a] == options->usual->split[op].on[a];
	return usual;
}

static bool split_hardly_pays(const struct building *building, uint32_t op, struct split split)
{
	FOR_WHILE(a, building->mesh->axes, building->options->narrow)
		if (building->options->free >> a & 1 && network_nodes_hardly_pays(building, op, split.on[a]))
			return !is_usual(building, op, split);
	return false;
}

/* Values that an axis can take: fixed, or low to high. */
static void axis_range(
	const struct building *building, uint32_t axis, int8_t fixed, int8_t low, int32_t high, int8_t range[2])
{
	bool free = building->options->free >> axis & 1 && building->mesh->axis[axis].size > 1;
	range[0] = free ? low : fixed;
	range[1] = free ? (int8_t)SMALLER(INT8_MAX, high) : fixed;
}

/* The next combination; false after the last. */
static bool next_combination(int8_t on[MESH_AXES], int8_t range[MESH_AXES][2], uint32_t axes)
{
	FOR_DOWN(a, axes) {
		if (on[a] < range[a][1]) {
			on[a]++;
			return true;
		}
		on[a] = range[a][0];
	}
	return false;
}

static enum status op_choices(struct building *building, uint32_t op, bool *pinned)
{
	const struct network_options *options = building->options;
	const struct units *units = building->units;
	struct network_choice choice;
	int8_t range[MESH_AXES][2];
	memset(&choice, UNIT_NONE, sizeof choice);
	choice.phases = 0;
	FOR(a, building->mesh->axes) {
		axis_range(building, a, options->base ? options->base->split[op].on[a] : UNIT_NONE,
			units->linear[op] ? UNIT_PARTIAL : UNIT_NONE, (int32_t)unit_count(units, op) - 1, range[a]);
		choice.split.on[a] = range[a][0];
	}
	enum status status = OK;
	do {
		if (!split_fits(building, op, choice.split) || split_hardly_pays(building, op, choice.split))
			continue;
		int64_t ties = 0, usage = network_nodes_usage_of(building, op, choice.split, &ties);
		int64_t cost = options->clock.takes(options->clock.context, units, building->mesh, op, choice.split);
		if (cost < SHARD_FORBIDDEN && options->microbatches > 1 && building->graph->op[op].phase == PHASE_UPDATE)
			cost /= options->microbatches;
		else if (cost < SHARD_FORBIDDEN)
			cost = sharding_weigh_op(cost, building->graph->op[op].phase, options->microbatches, &options->mixture);
		if (split_pinned_away(building, op, choice.split))
			*pinned = true;
		else if (cost < SHARD_FORBIDDEN)
			status = building_choice(building, choice, cost + ties, usage);
	} while (status == OK && next_combination(choice.split.on, range, building->mesh->axes));
	return status;
}

static enum status kept_choices(struct building *building, uint32_t tensor, bool *pinned)
{
	const struct network_options *options = building->options;
	const struct units *units = building->units;
	const struct graph *graph = building->graph;
	int32_t parts = (int32_t)(units->part_start[tensor + 1] - units->part_start[tensor]);
	struct network_choice choice;
	int8_t range[MESH_AXES][2];
	memset(&choice, PLACE_WHOLE, sizeof choice);
	choice.phases = 0;
	FOR(a, building->mesh->axes) {
		axis_range(building, a, options->base ? options->base->produced[tensor].on[a] : PLACE_WHOLE, PLACE_WHOLE,
			parts - 1, range[a]);
		choice.placement.on[a] = range[a][0];
	}
	enum status status = OK;
	do {
		if (!placement_divides(units, building->mesh, tensor, choice.placement))
			continue;
		int64_t bytes = graph->tensor[tensor].alias == NONE
			? placement_bytes(units, building->mesh, tensor, choice.placement)
			: 0;
		if (pinned_away(building, tensor, choice.placement))
			*pinned = true;
		else
			status = building_choice(building, choice, sharding_tie(bytes), bytes);
	} while (status == OK && next_combination(choice.placement.on, range, building->mesh->axes));
	return status;
}

static enum status some_choice(struct building *building, uint32_t tensor, bool pinned)
{
	const struct shard_chain *chain = &building->network->chain;
	if (chain->first[chain->nodes] > chain->first[chain->nodes - 1])
		return OK;
	const char *name = tensor == NONE ? "" : building->graph->tensor[tensor].name;
	return fail(building->error, INFEASIBLE,
		pinned ? "%s can't have the pinned placement: no op writes it so, and it isn't kept so" : "%s can't be placed",
		name);
}

/* ---- nodes ---- */

/* Ops of other copies have the nodes of the first one's. */
static void copy_nodes(struct network *network, const struct fold_segment *segment)
{
	const uint32_t *op = segment->op + segment->ops;
	FOR_FROM(copy, 1, segment->copies)
		for (uint32_t i = 0; i < segment->ops; i++, op++) {
			network->op_node[*op] = network->op_node[segment->op[i]];
			network->op_copy[*op] = copy;
		}
}

static enum status op_nodes(struct building *building)
{
	const struct graph *graph = building->graph;
	const struct fold *fold = building->options->fold;
	struct network *network = building->network;
	FOR(op, graph->ops) {
		bool folded = fold && fold->segment_of[op] != NONE, pinned = false;
		if (folded && fold->copy_of[op] > 0)
			continue;
		uint32_t node = building_node(building, NETWORK_OP, op, folded ? fold->segment_of[op] : NONE);
		TRY(node == NONE ? NO_MEMORY : op_choices(building, op, &pinned));
		TRY(some_choice(
			building, graph_results(graph, op) ? graph_result(graph, op, 0) : NONE, pinned));
		network->op_node[op] = node;
	}
	FOR(s, fold ? fold->segments : 0)
		copy_nodes(network, &fold->segment[s]);
	return OK;
}

/* The copy of a segment that alone reads a tensor; false where there are several or it is read outside. */
static bool read_by_copy(const struct building *building, uint32_t tensor, uint32_t *segment, uint32_t *copy)
{
	const struct fold *fold = building->options->fold;
	FOR_ROW(i, &building->units->readers, tensor) {
		uint32_t op = building->units->readers.item[i];
		bool first = i == building->units->readers.start[tensor];
		if (fold->segment_of[op] == NONE || (!first && (fold->segment_of[op] != *segment || fold->copy_of[op] != *copy)))
			return false;
		*segment = fold->segment_of[op];
		*copy = fold->copy_of[op];
	}
	return csr_length(&building->units->readers, tensor) > 0;
}

/* The tensor that plays a kept tensor's part in another copy: NONE where there isn't one of its own. */
static uint32_t counterpart(const struct building *building, uint32_t tensor, uint32_t copy)
{
	const struct graph *graph = building->graph;
	const struct fold *fold = building->options->fold;
	uint32_t reader = csr_at(&building->units->readers, tensor, 0), k = 0, where, which;
	const struct fold_segment *segment = &fold->segment[fold->segment_of[reader]];
	while (graph_argument(graph, reader, k) != tensor)
		k++;
	uint32_t other = graph_argument(graph, segment->op[copy * segment->ops + fold->index_of[reader]], k);
	if (graph->tensor[other].writer != NONE || !read_by_copy(building, other, &where, &which) ||
		where != fold->segment_of[reader] || which != copy ||
		csr_length(&building->units->readers, other) != csr_length(&building->units->readers, tensor) ||
		building->network->kept_node[other] != NONE)
		return NONE;
	return other;
}

/* True where every copy of the segment has its own such tensor: theirs. */
static bool kept_per_copy(const struct building *building, uint32_t tensor, uint32_t *segment, uint32_t *theirs)
{
	uint32_t copy;
	const struct fold *fold = building->options->fold;
	if (!fold || !read_by_copy(building, tensor, segment, &copy) || copy != 0)
		return false;
	theirs[0] = tensor;
	FOR_FROM(other, 1, fold->segment[*segment].copies)
		if ((theirs[other] = counterpart(building, tensor, other)) == NONE)
			return false;
	return true;
}

/* A node for a tensor, and for its counterparts in so many copies. */
static enum status kept_node(struct building *building, uint32_t segment, const uint32_t *theirs, uint32_t copies)
{
	struct network *network = building->network;
	bool pinned = false;
	uint32_t node = building_node(building, NETWORK_KEPT, theirs[0], segment);
	TRY(node == NONE ? NO_MEMORY : kept_choices(building, theirs[0], &pinned));
	TRY(some_choice(building, theirs[0], pinned));
	FOR(copy, copies) {
		network->kept_node[theirs[copy]] = node;
		network->kept_copy[theirs[copy]] = copy;
	}
	return OK;
}

static enum status kept_nodes(struct building *building)
{
	const struct units *units = building->units;
	const struct fold *fold = building->options->fold;
	const struct network *network = building->network;
	uint32_t most = 1;
	FOR(s, fold ? fold->segments : 0)
		most = LARGER(fold->segment[s].copies, most);
	uint32_t *theirs = NULL;
	NEED(ROOM(&building->arena, theirs, most));
	FOR_INT(pass, 2)  /* those of copies first: what is left stands outside */
		FOR(i, units->kepts) {
			uint32_t segment = NONE, t = units->kept[i];
			if (network->kept_node[t] != NONE || (pass == 0 && !kept_per_copy(building, t, &segment, theirs)))
				continue;
			theirs[0] = t;
			TRY(kept_node(building, segment, theirs, pass == 0 ? fold->segment[segment].copies : 1));
		}
	return OK;
}

enum status building_nodes(struct building *building)
{
	TRY(op_nodes(building));
	return kept_nodes(building);
}
