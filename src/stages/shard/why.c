/* why.c: what a tensor's other places would cost. */
#include "stage.h"

/* Adds a way to a choice; a way that does not exist makes it impossible. */
static void add_way(const struct sharded *sharded, uint32_t tensor, struct placement from, struct placement to,
	struct place_choice *choice)
{
	struct reshard reshard;
	if (placement_equal(from, to))
		return;
	if (reshard_find(&sharded->shared->units, &sharded->sharding.mesh, tensor, from, to, &reshard) != OK) {
		choice->possible = false;
		return;
	}
	choice->time += reshard.time;
	choice->sent += reshard.sent;
}

/* From where the tensor lies to where its readers need it, once for each place. */
static void add_readers(
	const struct sharded *sharded, uint32_t tensor, struct placement from, struct place_choice *choice)
{
	const struct graph *graph = sharded->shared->graph;
	const struct placement *needed = sharded->sharding.needed;
	struct placement seen[32];
	uint32_t count = 0;
	FOR_ITEMS(user, &graph->users, graph->tensor[tensor].storage)
		FOR_ROW(i, &graph->reads, user) {
			bool known = graph->reads.item[i] != tensor;
			FOR_WHILE(k, count, !known)
				known = placement_equal(seen[k], needed[i]);
			if (known || count == 32)
				continue;
			seen[count++] = needed[i];
			add_way(sharded, tensor, from, needed[i], choice);
		}
}

/* The split with which the writer makes the tensor lie like that on the axis; its present one where there is none. */
static struct split writing_split(const struct sharded *sharded, uint32_t tensor, uint32_t axis, int8_t on)
{
	const struct units *units = &sharded->shared->units;
	const struct graph *graph = units->graph;
	uint32_t op = graph->tensor[tensor].writer, reads = csr_length(&graph->reads, op), k = reads;
	struct split split = sharded->sharding.split[op];
	while (graph_result(graph, op, k - reads) != tensor)
		k++;
	if (units_place(units, op, split.on[axis], k) == on)
		return split;
	struct split other = split;
	for (int unit = units->linear[op] ? UNIT_PARTIAL : UNIT_NONE; unit < (int)unit_count(units, op) && unit <= INT8_MAX;
		unit++) {
		other.on[axis] = (int8_t)unit;
		if (units_place(units, op, (int8_t)unit, k) == on && split_divides(units, &sharded->sharding.mesh, op, other))
			return other;
	}
	return split;
}

/* The writer's operands as the split needs them; then the result to where it is asked for. */
static void add_writer(
	const struct sharded *sharded, uint32_t tensor, uint32_t axis, struct placement to, struct place_choice *choice)
{
	const struct units *units = &sharded->shared->units;
	const struct graph *graph = units->graph;
	uint32_t op = graph->tensor[tensor].writer, reads = csr_length(&graph->reads, op);
	struct split split = writing_split(sharded, tensor, axis, to.on[axis]);
	FOR(k, op_arguments(graph, op)) {
		uint32_t argument = k < reads ? graph_operand(graph, op, k)
			: graph_result(graph, op, k - reads);
		struct placement place = split_place(units, op, split, k);
		if (k < reads)
			add_way(sharded, argument, sharded->sharding.produced[argument], place, choice);
		else if (argument == tensor)
			add_way(sharded, tensor, place, to, choice);
	}
}

static struct place_choice why_choice_of(const struct sharded *sharded, uint32_t tensor, uint32_t axis, int8_t on)
{
	const struct units *units = &sharded->shared->units;
	const struct mesh *mesh = &sharded->sharding.mesh;
	struct placement placement = sharded->sharding.produced[tensor];
	struct place_choice choice = { .on = on, .chosen = placement.on[axis] == on };
	placement.on[axis] = on;
	choice.possible = placement_divides(units, mesh, tensor, placement);
	if (!choice.possible)
		return choice;
	choice.bytes = placement_bytes(units, mesh, tensor, placement);
	if (units->graph->tensor[tensor].writer != NONE)
		add_writer(sharded, tensor, axis, placement, &choice);
	add_readers(sharded, tensor, placement, &choice);
	return choice;
}

static bool why_before(const struct place_choice *a, const struct place_choice *b)
{
	if (a->chosen != b->chosen)
		return a->chosen;
	if (a->possible != b->possible)
		return a->possible;
	return a->time != b->time ? a->time < b->time : a->on < b->on;
}

uint32_t sharded_choices(
	const struct sharded *sharded, uint32_t tensor, uint32_t axis, struct place_choice choice[PLACE_CHOICES])
{
	const struct units *units = &sharded->shared->units;
	int parts = (int)(units->part_start[tensor + 1] - units->part_start[tensor]);
	uint32_t count = 0, writer = units->graph->tensor[tensor].writer;
	bool partial = sharded->sharding.produced[tensor].on[axis] == PLACE_PARTIAL ||
		(writer != NONE && units->linear[writer]);
	for (int on = partial ? PLACE_PARTIAL : PLACE_WHOLE; on < parts && count < PLACE_CHOICES; on++) {
		struct place_choice next = why_choice_of(sharded, tensor, axis, (int8_t)on);
		uint32_t i = count++;
		for (; i > 0 && why_before(&next, &choice[i - 1]); i--)
			choice[i] = choice[i - 1];
		choice[i] = next;
	}
	return count;
}
