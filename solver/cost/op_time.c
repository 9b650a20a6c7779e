/* op_time.c: the roofline of an op's share. */
#include "op_time.h"

enum { KIND_MATRIX = 1, KIND_VIEW = 2, FORMAT_SHIFT = 2 };

enum status op_times_find(const struct units *units, const struct rules *rules, const struct machine *machine, struct op_times *times)
{
	const struct graph *graph = units->graph;
	*times = (struct op_times) { .machine = machine, .rules = rules };
	times->kind = arena_alloc(&times->arena, units->op_classes, sizeof *times->kind);
	times->flops = arena_alloc(&times->arena, units->op_classes, sizeof *times->flops);
	if (!times->kind || !times->flops) {
		op_times_free(times);
		return NO_MEMORY;
	}
	for (uint32_t op = 0, known = 0; op < graph->ops; op++) {
		uint32_t class = units->op_class[op];
		if (class < known)     /* classes are numbered as they first occur */
			continue;
		const struct rule *rule = rules_find(rules, graph->op[op].type);
		times->flops[class] = graph->op[op].flops > 0 ? graph->op[op].flops : 0;
		times->kind[class] = (uint8_t)((rule && machine_is_matrix(rule) ? KIND_MATRIX : 0) | (rule && rule->cost == COST_NONE ? KIND_VIEW : 0)
			| machine_format_of(graph, op) << FORMAT_SHIFT);
		known = class + 1;
	}
	return OK;
}

void op_times_free(struct op_times *times)
{
	arena_free(&times->arena);
	*times = (struct op_times) { 0 };
}

/* A view takes no time. */
static bool is_view(const struct graph *graph, uint32_t op)
{
	bool view = csr_length(&graph->writes, op) > 0 && graph->inplace_start[op] == graph->inplace_start[op + 1];
	FOR_ROW(i, &graph->writes, op)
		view &= graph->tensor[graph->writes.item[i]].alias != NONE;
	return view;
}

int64_t op_whole_time(const struct graph *graph, const struct rules *rules, const struct machine *machine, uint32_t op)
{
	const struct rule *rule = rules_find(rules, graph->op[op].type);
	int64_t bytes = 0, flops = graph->op[op].flops > 0 ? graph->op[op].flops : 0;
	if (rule ? rule->cost == COST_NONE : is_view(graph, op))
		return 0;
	FOR_ROW(i, &graph->reads, op)
		bytes += graph->tensor[graph->reads.item[i]].bytes;
	FOR_ROW(i, &graph->writes, op)
		bytes += graph->tensor[graph->writes.item[i]].bytes;
	return machine_time(machine, rule && machine_is_matrix(rule), machine_format_of(graph, op), flops, bytes);
}

int64_t op_inside_time(const struct units *units, const struct mesh *mesh, uint32_t op, struct split split, int64_t axis_time[MESH_AXES],
	int64_t axis_bytes[MESH_AXES])
{
	int64_t sum = 0;
	for (uint32_t a = 0; a < mesh->axes; a++) {
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

static int64_t share_time(const void *context, const struct units *units, const struct mesh *mesh, uint32_t op, struct split split)
{
	const struct op_times *times = context;
	const struct graph *graph = units->graph;
	uint8_t kind = times->kind[units->op_class[op]];
	int64_t flops = times->flops[units->op_class[op]], bytes = 0;
	if (kind & KIND_VIEW)
		return 0;
	flops = split_share(units, mesh, op, split, flops);
	for (uint32_t k = 0; k < op_arguments(graph, op); k++) {
		uint32_t reads = csr_length(&graph->reads, op);
		uint32_t tensor = k < reads ? graph->reads.item[graph->reads.start[op] + k] : graph->writes.item[graph->writes.start[op] + k - reads];
		bytes += placement_bytes(units, mesh, tensor, split_place(units, op, split, k));
	}
	return machine_time(times->machine, kind & KIND_MATRIX, (enum machine_format)(kind >> FORMAT_SHIFT), flops, bytes)
		+ op_inside_time(units, mesh, op, split, NULL, NULL);
}

struct op_clock op_times_clock(const struct op_times *times)
{
	return (struct op_clock) { share_time, times };
}
