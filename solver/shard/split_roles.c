/* split_roles.c: shardings that experts write by hand, from the roles of factors. */

#include "find.h"

#define ROLES(...) .role = { __VA_ARGS__ }, .roles = sizeof (uint8_t[]) { __VA_ARGS__ }

const struct axis_roles roles_data = { ROLES(ROLE_BATCH) };
const struct axis_roles roles_context = { ROLES(ROLE_SEQUENCE), .follows = true };
const struct axis_roles roles_tensor = { ROLES(ROLE_HEADS, ROLE_FFN, ROLE_VOCABULARY) };
const struct axis_roles roles_tensor_sp = { ROLES(ROLE_HEADS, ROLE_FFN, ROLE_VOCABULARY, ROLE_SEQUENCE) };
const struct axis_roles roles_experts = { ROLES(ROLE_EXPERTS, ROLE_BATCH) };

static uint32_t split_roles_operand(const struct graph *graph, uint32_t op, uint32_t k)
{
	return graph_operand(graph, op, k);
}

static uint32_t split_roles_argument(const struct graph *graph, uint32_t op, uint32_t k)
{
	uint32_t reads = graph_operands(graph, op);
	return k < reads ? split_roles_operand(graph, op, k) : graph_result(graph, op, k - reads);
}

/* True where every argument still divides when the axis splits the op along the unit as well. */
static bool divides(
	const struct units *units, const struct sharding *sharding, uint32_t op, uint32_t axis, uint32_t unit)
{
	struct split split = sharding->split[op];
	split.on[axis] = (int8_t)unit;
	return split_divides(units, &sharding->mesh, op, split);
}

/* Bytes of operands that lie otherwise on the axis than the unit needs them, doubled where they are needed whole;
 * cutting a whole one is free. Tensors that nothing writes lie as they are wanted. */
static int64_t misplaced(
	const struct units *units, const struct sharding *sharding, uint32_t op, uint32_t axis, int8_t unit)
{
	const struct graph *graph = units->graph;
	int64_t bytes = 0;
	FOR(k, graph_operands(graph, op)) {
		uint32_t tensor = split_roles_operand(graph, op, k);
		int8_t is = sharding->produced[tensor].on[axis], wanted = units_place(units, op, unit, k);
		if (graph->tensor[tensor].writer != NONE && is != wanted && is != PLACE_WHOLE)
			bytes += graph->tensor[tensor].bytes * (wanted == PLACE_WHOLE ? 2 : 1);
	}
	return bytes;
}

#define NUMBER_BYTES 8   /* of a number: a zero to fill up with, say */

/* An op that could take partial sums over. */
static bool may_pass(const struct units *units, uint32_t op)
{
	const struct graph *graph = units->graph;
	uint32_t operands = graph_operands(graph, op);
	return units->linear[op] &&
		(graph->op[op].phase != PHASE_FORWARD || operands < 2 || units->linear[op] == LINEAR_FIRST);
}

/* Partial sums pass through views, and through sums of them in the backward pass, to be reduced once. In the forward
 * pass they would stay in the residual stream to the end. What another op must have reduced is read reduced by all. */
static bool passes_partial(const struct units *units, const struct sharding *sharding, uint32_t op, uint32_t axis)
{
	const struct graph *graph = units->graph;
	bool any = false;
	FOR_WHILE(k, graph_operands(graph, op), may_pass(units, op)) {
		uint32_t tensor = split_roles_operand(graph, op, k);
		int8_t is = sharding->produced[tensor].on[axis];
		bool number = is == PLACE_WHOLE && graph->tensor[tensor].bytes <= NUMBER_BYTES;
		if (number || units_place(units, op, UNIT_PARTIAL, k) != PLACE_PARTIAL)
			continue;
		if (is != PLACE_PARTIAL)
			return false;
		FOR_ITEMS(reader, &units->readers, tensor)
			if (!may_pass(units, reader))
				return false;
		any = true;
	}
	return any;
}

/* Experts' own work has a dim for them beside slots and width; the router's scores of tokens stay with their tokens.
 * Sums over experts mix tokens: dearer than bringing every token back. */
static bool of_experts(const struct units *units, uint32_t op, int8_t unit)
{
	const struct graph *graph = units->graph;
	if (units->unit[units->unit_start[op] + (uint32_t)unit].reduced)
		return false;
	FOR(k, op_arguments(graph, op))
		if (units_place(units, op, unit, k) >= 0 && graph->tensor[split_roles_argument(graph, op, k)].dims > 2)
			return true;
	return false;
}

/* The unit of the most wanted role that divides; among several the one whose operands are already there, then one that
 * is not summed over. */
static int8_t by_role(const struct units *units, const struct sharding *sharding, const struct axis_roles *roles,
	uint32_t op, uint32_t axis)
{
	FOR(r, roles->roles) {
		int8_t best = UNIT_NONE;
		int64_t least = 0;
		bool summed = false;
		FOR_WHILE(u, unit_count(units, op), u < INT8_MAX) {
			const struct unit *unit = &units->unit[units->unit_start[op] + u];
			if (unit->role != roles->role[r] || (unit->role == ROLE_EXPERTS && !of_experts(units, op, (int8_t)u))
				|| !divides(units, sharding, op, axis, u))
				continue;
			int64_t bytes = misplaced(units, sharding, op, axis, (int8_t)u);
			if (best == UNIT_NONE || bytes < least || (bytes == least && summed && !unit->reduced)) {
				best = (int8_t)u;
				least = bytes;
				summed = unit->reduced;
			}
		}
		if (best != UNIT_NONE)
			return best;
	}
	return UNIT_NONE;
}

/* Where an op can't be split as wanted (a slice of the sequence) and would gather what is cut: the unit that moves
 * least of it, and of partial results. */
static int8_t keep_cut(const struct units *units, const struct sharding *sharding, uint32_t op, uint32_t axis)
{
	const struct graph *graph = units->graph;
	int64_t least = misplaced(units, sharding, op, axis, UNIT_NONE);
	int8_t best = UNIT_NONE;
	bool cut = false;
	FOR_ITEMS(read, &graph->reads, op)
		cut |= graph->tensor[read].writer != NONE && sharding->produced[read].on[axis] >= 0;
	for (uint32_t u = 0; cut && graph->op[op].phase != PHASE_UPDATE && u < unit_count(units, op) && u < INT8_MAX; u++) {
		int64_t bytes = misplaced(units, sharding, op, axis, (int8_t)u);
		FOR_ITEMS(written, &graph->writes, op)
			bytes += units->unit[units->unit_start[op] + u].reduced ? 2 * graph->tensor[written].bytes : 0;
		if (bytes >= least || !divides(units, sharding, op, axis, u))
			continue;
		best = (int8_t)u;
		least = bytes;
	}
	return best;
}

/* ---- ZeRO ---- */

/* The part of a tensor that states are cut along: what is left of it is the largest, equal pieces before unequal ones.
 * PLACE_WHOLE: none. A part that a later axis cuts is none: cutting it first would take pieces from other devices. */
static int8_t state_part(
	const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement placement, uint32_t axis)
{
	const struct part *part = units->part + units->part_start[tensor];
	uint32_t parts = units->part_start[tensor + 1] - units->part_start[tensor];
	int8_t best = PLACE_WHOLE;
	int64_t most = 0;
	bool equal = false;
	FOR(i, parts) {
		int64_t left = part[i].size;
		bool later = false;
		struct placement tried = placement;
		tried.on[axis] = (int8_t)i;
		FOR(a, mesh->axes)
			if (a != axis && placement.on[a] == (int8_t)i) {
				left /= mesh->axis[a].size;
				later |= a > axis;
			}
		bool divides = left % mesh->axis[axis].size == 0;
		if (!later && (divides > equal || (divides == equal && left > most)) &&
			placement_divides(units, mesh, tensor, tried)) {
			best = (int8_t)i;
			most = left;
			equal = divides;
		}
	}
	return best;
}

/* The unit that cuts operand 0 along its state part, if the op has one that sums over nothing. */
static int8_t state_unit(const struct units *units, const struct sharding *sharding, uint32_t op, uint32_t axis)
{
	const struct graph *graph = units->graph;
	if (graph_operands(graph, op) == 0)
		return UNIT_NONE;
	int8_t part = state_part(
		units, &sharding->mesh, split_roles_operand(graph, op, 0), sharding->needed[graph->reads.start[op]], axis);
	for (uint32_t u = 0; part >= 0 && u < unit_count(units, op) && u < INT8_MAX; u++)
		if (units_place(units, op, (int8_t)u, 0) == part && !units->unit[units->unit_start[op] + u].reduced)
			return (int8_t)u;
	return UNIT_NONE;
}

static bool views_parameter(const struct graph *graph, uint32_t op)
{
	if (graph_operands(graph, op) != 1 || graph_results(graph, op) != 1 || graph->op[op].phase == PHASE_UPDATE)
		return false;
	uint32_t tensor = split_roles_operand(graph, op, 0), result = graph_result(graph, op, 0);
	return graph_home(graph, tensor)->kind == KIND_PARAMETER && graph->tensor[result].alias != NONE;
}

/* ---- what nothing writes ---- */

#define UNSEEN INT8_MAX

/* What a reader's need makes of the place where a tensor is kept. */
static int8_t split_roles_keep(uint8_t kind, bool update, uint8_t zero, int8_t kept, int8_t need)
{
	if (kind == KIND_PARAMETER)
		return kept == UNSEEN || (update && zero == 3) ? need : kept;
	if (kind == KIND_OPTIMIZER || kept == UNSEEN || kept == need)
		return kept == UNSEEN ? need : kept;
	return PLACE_WHOLE;
}

/* Where a tensor that nothing writes is kept: what its readers in turn make of it. */
static struct placement kept_place(
	const struct sharding *sharding, const struct units *units, uint32_t tensor, const uint8_t zero[MESH_AXES])
{
	const struct graph *graph = units->graph;
	struct placement kept;
	memset(&kept, UNSEEN, sizeof kept);
	FOR_ITEMS(op, &units->readers, tensor) {
		FOR_ROW(i, &graph->reads, op)
			for (int a = 0; a < MESH_AXES && graph->reads.item[i] == tensor; a++)
				kept.on[a] = split_roles_keep(graph->tensor[tensor].kind, graph->op[op].phase == PHASE_UPDATE, zero[a],
					kept.on[a], sharding->needed[i].on[a]);
	}
	FOR_INT(a, MESH_AXES)
		if (kept.on[a] == UNSEEN || kept.on[a] == PLACE_PARTIAL)  /* partial sums are made of a whole tensor at no cost */
			kept.on[a] = PLACE_WHOLE;
	for (int a = MESH_AXES; a-- > 0 && !placement_divides(units, &sharding->mesh, tensor, kept);)
		kept.on[a] = PLACE_WHOLE;  /* what readers need axis by axis may not go together */
	return kept;
}

/* Places tensors that nothing writes as their readers need them. zero: stage per axis. */
static void sharding_keep(struct sharding *sharding, const struct units *units, const uint8_t zero[MESH_AXES])
{
	FOR(i, units->kepts)
		sharding->produced[units->kept[i]] = kept_place(sharding, units, units->kept[i], zero);
}

/* Marks ops that compute from constants alone (masks, positions): every device keeps them whole, and cutting them is
 * free. */
static void mark_constant(const struct units *units, bool *constant, bool *value)
{
	const struct graph *graph = units->graph;
	FOR(i, units->kepts) {
		uint8_t kind = graph->tensor[units->kept[i]].kind;
		value[units->kept[i]] = kind == KIND_BUFFER || kind == KIND_CONSTANT;
	}
	FOR(op, graph->ops) {
		constant[op] = true;
		FOR_ITEMS(read, &graph->reads, op)
			constant[op] &= value[read];
		for (uint32_t i = graph->writes.start[op]; constant[op] && i < graph->writes.start[op + 1]; i++)
			value[graph->writes.item[i]] = true;
	}
}

/* The unit that takes operand 0 as it lies; of a partial sum, as the op that computed with it last has it: there is a
 * copy then. */
static int8_t as_it_lies(const struct units *units, const struct sharding *sharding, uint32_t op, uint32_t axis)
{
	const struct graph *graph = units->graph;
	uint32_t tensor = split_roles_operand(graph, op, 0), last = NONE;
	int8_t on = sharding->produced[tensor].on[axis];
	FOR_ITEMS(reader, &units->readers, tensor)
		last = on == PLACE_PARTIAL && reader < op ? reader : last;
	FOR(k, last != NONE ? graph_operands(graph, last) : 0)
		if (split_roles_operand(graph, last, k) == tensor)
			on = sharding->needed[graph->reads.start[last] + k].on[axis];
	if (on == PLACE_PARTIAL && units->linear[op])
		return UNIT_PARTIAL;
	for (uint32_t u = 0; on >= 0 && u < unit_count(units, op) && u < INT8_MAX; u++)
		if (units_place(units, op, (int8_t)u, 0) == on)
			return (int8_t)u;
	return UNIT_NONE;
}

/* A gradient's cast to a wider format, of partial sums. */
static bool widens_partial(const struct graph *graph, const struct sharding *sharding, uint32_t op, uint32_t axis)
{
	return graph_widens_gradient(graph, op) &&
		sharding->produced[split_roles_operand(graph, op, 0)].on[axis] == PLACE_PARTIAL;
}

/* An op that cuts states over the axis, or what they are made of, as ZeRO does. */
static bool cuts_states(const struct graph *graph, const struct sharding *sharding, const struct axis_roles *roles,
	uint32_t op, uint32_t axis)
{
	bool update = graph->op[op].phase == PHASE_UPDATE, narrow = roles->narrow && widens_partial(graph, sharding, op, axis);
	return (roles->zero >= 1 && (update || narrow)) ||
		(roles->zero == 3 && !roles->stays &&
			views_parameter(graph, op)); /* what stays is gathered once, for all views of it */
}

static int8_t split_roles_choose(const struct units *units, const struct sharding *sharding,
	const struct axis_roles *roles, uint32_t op, uint32_t axis)
{
	const struct graph *graph = units->graph;
	if (graph_operands(graph, op) == 1 &&
		(graph_in_host(graph, split_roles_operand(graph, op, 0)) || op_releases(&graph->op[op])))
		return as_it_lies(units, sharding, op, axis);
	if (cuts_states(graph, sharding, roles, op, axis)) {
		int8_t lies = views_parameter(graph, op) ? as_it_lies(units, sharding, op, axis)
			: UNIT_NONE; /* as the view that it is of */
		return lies >= 0 ? lies : state_unit(units, sharding, op, axis);
	}
	if (roles->narrow && widens_partial(graph, sharding, op, axis))
		return UNIT_NONE;
	int8_t unit = passes_partial(units, sharding, op, axis) ? UNIT_PARTIAL : by_role(units, sharding, roles, op, axis);
	return unit == UNIT_NONE && roles->follows ? keep_cut(units, sharding, op, axis) : unit;
}

/* What was last chosen for an op of a class: layers decide alike, and mostly find their operands alike. */
struct chosen { bool known; int8_t on; struct split split; uint64_t operands; };

/* All that split_roles_choose() reads of operands besides their class, a byte each; false where they are too many. What
 * nothing writes lies whole as yet. Whether partial sums pass depends on who else reads them. */
static bool pack_operands(const struct units *units, const struct sharding *sharding, uint8_t zero, uint32_t op,
	uint32_t axis, uint64_t *packed)
{
	const struct graph *graph = units->graph;
	*packed = (uint64_t)(zero == 3 && views_parameter(graph, op)) << 1 | passes_partial(units, sharding, op, axis);
	FOR_ITEMS(read, &graph->reads, op)
		*packed = *packed << 8 | (uint8_t)sharding->produced[read].on[axis];
	return graph_operands(graph, op) < sizeof *packed && !op_releases(&graph->op[op]);
}

static int8_t choose_alike(const struct units *units, const struct sharding *sharding, const struct axis_roles *roles,
	uint32_t op, uint32_t axis, struct chosen *chosen)
{
	struct chosen *last = &chosen[units->op_class[op]];
	uint64_t operands;
	bool packs = pack_operands(units, sharding, roles->zero, op, axis, &operands);
	if (packs && last->known && last->operands == operands && split_equal(last->split, sharding->split[op]))
		return last->on;
	*last = (struct chosen) { packs, split_roles_choose(units, sharding, roles, op, axis), sharding->split[op], operands };
	return last->on;
}

/* Experts are cut before states are: of what all devices of their axis have, which no expert is, states are cut over it
 * later. */
static bool cuts_twice(const struct axis_roles *roles)
{
	return roles->zero > 0 && roles->roles > 0 && roles->role[0] == ROLE_EXPERTS;
}

/* How many ops read a tensor whole in a pass, *others: and how many don't, or in another pass. */
static uint32_t read_whole(const struct units *units, const struct sharding *sharding, uint32_t tensor, uint8_t phase,
	uint32_t axis, uint32_t *others)
{
	const struct graph *graph = units->graph;
	uint32_t count = 0;
	*others = 0;
	FOR_ITEMS(reader, &units->readers, tensor) {
		bool whole = graph->op[reader].phase == phase;
		FOR_ROW(i, &graph->reads, reader)
			whole &= graph->reads.item[i] != tensor || sharding->needed[i].on[axis] == PLACE_WHOLE;
		count += whole;
		*others += !whole;
	}
	return count;
}

/* A view that is read whole, of a tensor that something else reads whole, is made of what is gathered for that. */
static void gather_before_views(struct sharding *sharding, const struct units *units, uint32_t axis)
{
	const struct graph *graph = units->graph;
	FOR_DOWN(op, graph->ops) {
		struct split split = sharding->split[op];
		bool cut = split.on[axis] >= 0 && graph_operands(graph, op) == 1 && graph_results(graph, op) == 1;
		uint32_t result = cut ? graph_result(graph, op, 0) : NONE, others;
		uint8_t phase = graph->op[op].phase;
		if (!cut || graph->tensor[result].alias == NONE || graph_pairs(graph, op) > 0 ||
			sharding->produced[result].on[axis] < 0 || read_whole(units, sharding, result, phase, axis, &others) == 0 ||
			others > 0 || read_whole(units, sharding, split_roles_operand(graph, op, 0), phase, axis, &others) == 0)
			continue;
		split.on[axis] = UNIT_NONE;
		sharding_set(sharding, units, op, split);
	}
}

static void split_axis(struct sharding *sharding, const struct units *units, const struct axis_roles *roles,
	uint32_t axis, bool again, const bool *constant, struct chosen *chosen)
{
	CLEAR(chosen, units->op_classes);
	FOR(op, units->graph->ops) {
		struct split split = sharding->split[op];
		if (again && (split.on[axis] >= 0 || !cuts_states(units->graph, sharding, roles, op, axis)))
			continue;
		split.on[axis] = constant[op] ? UNIT_NONE : choose_alike(units, sharding, roles, op, axis, chosen);
		if (!split_equal(split, sharding->split[op]))
			sharding_set(sharding, units, op, split);
	}
	gather_before_views(sharding, units, axis);
}

enum status split_by_roles(
	const struct units *units, const struct mesh *mesh, const struct axis_roles *roles, struct sharding *sharding)
{
	uint8_t zero[MESH_AXES] = { 0 };
	enum status status = sharding_new(units, mesh, sharding);
	bool *constant = status == OK ? arena_alloc(&sharding->arena, units->graph->ops, sizeof *constant) : NULL;
	bool *value = constant ? arena_alloc(&sharding->arena, units->graph->tensors, sizeof *value) : NULL;
	struct chosen *chosen = value ? arena_alloc(&sharding->arena, units->op_classes, sizeof *chosen) : NULL;
	if (status == OK && !chosen) {
		sharding_free(sharding);
		status = NO_MEMORY;
	}
	TRY(status);
	mark_constant(units, constant, value);
	/* Axes that cut states come last: they cut what the others leave. */
	FOR_INT(pass, 2)
		FOR(a, mesh->axes) {
			struct axis_roles cut = roles[a];
			bool twice = cuts_twice(&cut);
			if (((cut.zero > 0) != (pass == 1) && !twice) || mesh->axis[a].size < 2)
				continue;
			cut.zero = pass == 1 ? cut.zero : 0;
			zero[a] = cut.zero;
			sharding->late_axes |= (uint8_t)((zero[a] == 1) << a);
			sharding->each_axes |= (uint8_t)((zero[a] >= 2) << a);
			sharding->regather_axes |= (uint8_t)((zero[a] == 3 && !roles[a].stays) << a);
			split_axis(sharding, units, &cut, a, twice && pass == 1, constant, chosen);
		}
	sharding_keep(sharding, units, zero);
	return OK;
}
