/* op_time.c: the roofline of an op's share. */
#include "op_time.h"

/* ---- what an op does ---- */

static enum status op_time_find_work(
	const struct graph *graph, const struct rules *rules, uint32_t op, struct binding *binding, struct op_work *work)
{
	const struct rule *rule = rules_find(rules, graph->op[op].type);
	enum status status = OK;
	struct error ignored;
	*work = (struct op_work){ .flops = graph->op[op].flops > 0 ? graph->op[op].flops : 0,
		.format = (uint8_t)machine_format_of(graph, op) };
	work->view = rule ? rule->cost == COST_NONE : graph_is_view(graph, op);
	if (!rule)
		return OK;
	work->matrix = machine_is_matrix(rule);
	work->attention = rule->cost == COST_ATTENTION || rule->cost == COST_ATTENTION_BACKWARD;
	work->cast = rule->traits & TRAIT_CAST;
	work->narrows = work->cast && graph_results(graph, op) > 0 &&
		dtype_bits[graph->tensor[graph_result(graph, op, 0)].dtype] == 8;
	work->grouped = rule->cost == COST_GROUPED;
	work->routes = rule->traits & TRAIT_ROUTES;
	work->linear = rule->traits & (TRAIT_ADDITION | TRAIT_VERBATIM);
	work->update = graph->op[op].phase == PHASE_UPDATE && !work->matrix && !work->view;
	work->gathers = (rule->traits & TRAIT_ROWS) && (graph->op[op].phase == PHASE_FORWARD || graph->op[op].recomputed);
	if (graph->op[op].flops < 0 && !work->view && (status = rule_bind_op(rule, graph, op, binding, &ignored)) == OK)
		work->flops = rule_flops(rule, binding);
	return status == NO_MEMORY ? status : OK;
}

static enum status op_work_of(const struct graph *graph, const struct rules *rules, uint32_t op, struct op_work *work)
{
	OWN(binding) binding = { 0 };
	return op_time_find_work(graph, rules, op, &binding, work);
}

enum status op_work_find(
	const struct graph *graph, const struct rules *rules, struct arena *arena, struct op_work **work)
{
	OWN(binding) binding = { 0 };
	enum status status = OK;
	ROOM(arena, *work, graph->ops);
	for (uint32_t op = 0; *work && op < graph->ops && status == OK; op++)
		status = op_time_find_work(graph, rules, op, &binding, &(*work)[op]);
	return *work ? status : NO_MEMORY;
}

#define LISTS_LAUNCH INT64_C(2000000)     /* picoseconds, whatever host */

static bool writes_to(const struct graph *graph, uint32_t op, uint32_t storage)
{
	bool writes = graph_writes_in_place(graph, op, storage);
	FOR_ITEMS(written, &graph->writes, op)
		writes |= graph->tensor[written].storage == storage;
	return writes;
}

bool op_moves(
	const struct machine *machine, const struct op_work *work, const struct graph *graph, uint32_t op, uint32_t k)
{
	if (k < work->gathers)
		return false;
	if (!work->update || !machine->joins_updates)
		return true;
	bool reads = k < graph_operands(graph, op);
	uint32_t s = graph->tensor[graph_argument(graph, op, k)].storage;
	const struct storage *storage = &graph->storage[s];
	bool within = storage->allocator != NONE && graph->op[storage->allocator].phase == PHASE_UPDATE;
	if (within && (reads || !storage->live_out))
		return false;
	FOR_ITEMS(user, &graph->users, s) {
		bool other = graph->op[user].phase == PHASE_UPDATE && !op_releases(&graph->op[user]);
		if (other && (reads ? user < op : user > op && writes_to(graph, user, s)))
			return false;
	}
	return true;
}

static int64_t work_time(
	const struct machine *machine, const struct op_work *work, int64_t flops, int64_t bytes, enum machine_limit *limit)
{
	*limit = LIMIT_LAUNCH;
	if (work->view)
		return 0;
	if (work->attention && machine->attention > 0)
		flops = flops / machine->attention > INT64_MAX / 1000 ? INT64_MAX : flops / machine->attention * 1000;
	if (work->attention && work->pieces && machine->pieces > 0)
		flops = flops / machine->pieces > INT64_MAX / 1000 ? INT64_MAX : flops / machine->pieces * 1000;
	if (work->update) {      /* lists of parameters are one kernel: what a launch takes hardly counts */
		struct machine lists = *machine;
		lists.launch = machine->joins_updates ? 0 : machine->launch < LISTS_LAUNCH ? machine->launch : LISTS_LAUNCH;
		return machine_time(&lists, false, (enum machine_format)work->format, flops, 1, bytes, limit);
	}
	int64_t moved = work->narrows ? machine->casts : work->matrix || work->cast || work->routes ? 0 : machine->fused;
	if (moved > 0)
		bytes = bytes / 1000 * moved + bytes % 1000 * moved / 1000;
	return machine_time(machine, work->matrix, (enum machine_format)work->format, flops,
		LARGER(work->groups, 1), bytes, limit);
}

/* What a kernel of its own moves again of tokens in experts' slots: sent as they lie by device, they are put in the
 * order of experts, or back. */
static int64_t sorted_bytes(const struct op_work *work, int64_t largest)
{
	return work->routes ? 2 * largest : 0;
}

int64_t op_work_time(const struct machine *machine, const struct op_work *work, int64_t flops, int64_t bytes)
{
	enum machine_limit limit;
	return work_time(machine, work, flops, bytes, &limit);
}

static int64_t op_time_groups_of(const struct tensor *tensor)
{
	return tensor->dims > 0 && tensor->shape ? tensor->shape[0] : 1;
}

enum status op_local_time(const struct graph *graph, const struct rules *rules, const struct machine *machine,
	uint32_t op, bool pieces, int64_t *time, enum machine_limit *limit)
{
	struct op_work work;
	int64_t bytes = 0, largest = 0;
	enum status status = op_work_of(graph, rules, op, &work);
	*time = 0;
	*limit = LIMIT_LAUNCH;
	if (status != OK || work.view)
		return status;
	work.pieces = pieces;
	work.groups = work.grouped ? op_time_groups_of(&graph->tensor[graph_operand(graph, op, 0)]) : 1;
	FOR(k, op_arguments(graph, op)) {
		int64_t moves = op_moves(machine, &work, graph, op, k) ? graph->tensor[graph_argument(graph, op, k)].bytes : 0;
		bytes += moves;
		largest = LARGER(moves, largest);
	}
	*time = work_time(machine, &work, work.flops, bytes + sorted_bytes(&work, largest), limit);
	return OK;
}

/* ---- shares ---- */

enum status op_times_find(
	const struct units *units, const struct rules *rules, const struct machine *machine, struct op_times *times)
{
	const struct graph *graph = units->graph;
	enum status status = OK;
	*times = (struct op_times) { .machine = machine };
	ROOM(&times->arena, times->work, units->op_classes);
	for (uint32_t op = 0, known = 0; times->work && op < graph->ops && status == OK; op++) {
		uint32_t class = units->op_class[op];
		if (class < known)     /* classes are numbered as they first occur */
			continue;
		status = op_work_of(graph, rules, op, &times->work[class]);
		known = class + 1;
	}
	if (!times->work || status != OK)
		op_times_free(times);
	return times->work ? OK : NO_MEMORY;
}

void op_times_free(struct op_times *times)
{
	arena_free(&times->arena);
	*times = (struct op_times) { 0 };
}

bool op_on_pieces(const struct units *units, uint32_t op, struct split split)
{
	bool pieces = false;
	FOR_INT(a, MESH_AXES)
		pieces |= split.on[a] >= 0 && units->unit[units->unit_start[op] + (uint32_t)split.on[a]].role == ROLE_SEQUENCE;
	return pieces;
}

/* How many of the grouped products a device has: the extent of its first operand's first dim. */
static int64_t share_groups(const struct units *units, const struct mesh *mesh, uint32_t op, struct split split)
{
	uint32_t tensor = graph_argument(units->graph, op, 0);
	int64_t shape[DIMS_MAX];
	placement_shape(units, mesh, tensor, split_place(units, op, split, 0), shape);
	return units->graph->tensor[tensor].dims > 0 ? shape[0] : 1;
}

int64_t op_share_time(const struct units *units, const struct mesh *mesh, const struct op_work *work,
	const struct machine *machine, uint32_t op, struct split split)
{
	const struct graph *graph = units->graph;
	struct op_work share = *work;
	int64_t bytes = 0, largest = 0;
	if (work->view)
		return 0;
	FOR(k, op_arguments(graph, op)) {
		int64_t moves = !op_moves(machine, work, graph, op, k)
			? 0
			: placement_bytes(units, mesh, graph_argument(graph, op, k), split_place(units, op, split, k));
		bytes += moves;
		largest = LARGER(moves, largest);
	}
	if (work->grouped)
		share.groups = share_groups(units, mesh, op, split);
	share.pieces = work->attention && op_on_pieces(units, op, split);
	return op_work_time(
		machine, &share, split_share(units, mesh, op, split, work->flops), bytes + sorted_bytes(work, largest));
}

int64_t op_inside_time(const struct units *units, const struct mesh *mesh, uint32_t op, struct split split,
	int64_t axis_time[MESH_AXES], int64_t axis_bytes[MESH_AXES])
{
	int64_t sum = 0;
	FOR(a, mesh->axes) {
		const struct unit *unit = split.on[a] >= 0 ? &units->unit[units->unit_start[op] + (uint32_t)split.on[a]] : NULL;
		if (!unit || unit->inside == 0)
			continue;
		int64_t bytes = unit_inside_bytes(units, mesh, op, split, a);
		int64_t time = unit->inside * collective_time(&mesh->axis[a], COLLECTIVE_ALL_REDUCE, bytes);
		sum += time;
		if (axis_time)
			axis_time[a] += time;
		if (axis_bytes)
			axis_bytes[a] += unit->inside * collective_bytes(&mesh->axis[a], COLLECTIVE_ALL_REDUCE, bytes);
	}
	return sum;
}

static int64_t takes(
	const void *context, const struct units *units, const struct mesh *mesh, uint32_t op, struct split split)
{
	const struct op_times *times = context;
	const struct op_work *work = &times->work[units->op_class[op]];
	return work->view ? 0
		: op_share_time(units, mesh, work, times->machine, op, split) +
			op_inside_time(units, mesh, op, split, NULL, NULL);
}

struct op_clock op_times_clock(const struct op_times *times)
{
	return (struct op_clock) { .takes = takes, .context = times };
}
