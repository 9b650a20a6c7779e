/* explain.c: why a tensor lies as it does, and how two plans differ. */
#include <stdlib.h>
#include <string.h>

#include "solver/cost/reshard.h"
#include "job.h"

/* ---- what the other places would cost ------------------------------------------------------------------------------- */

static int by_cost(const void *left, const void *right)
{
	const struct sharding_reason *a = left, *b = right;
	if (a->chosen != b->chosen)
		return a->chosen ? -1 : 1;
	if ((a->status == OK) != (b->status == OK))
		return a->status == OK ? -1 : 1;
	return a->cost != b->cost ? (a->cost < b->cost ? -1 : 1) : (a->on > b->on) - (a->on < b->on);
}

enum status sharding_explain(const struct units *units, const struct mesh *mesh, const struct sharding_options *options, const struct sharding *sharding,
	uint32_t tensor, uint32_t axis, struct control *control, struct sharding_reason *reason, uint32_t room, uint32_t *count, struct error *error)
{
	struct sharding_report report;
	struct sharding_job job;
	int parts = (int)(units->part_start[tensor + 1] - units->part_start[tensor]);
	enum status status = sharding_job_begin(&job, units, mesh, options, control, &report, error);
	*count = 0;
	for (int on = PLACE_PARTIAL; on < parts && *count < room && status == OK; on++) {
		struct placement_pin pin = { tensor, (uint8_t)axis, (int8_t)on };
		struct sharding_aim aim = { (uint8_t)(1 << axis), sharding, options->memory, false, &pin, 1 };
		struct placement placement = sharding->produced[tensor];
		struct sharding found;
		struct sharding_cost cost;
		placement.on[axis] = (int8_t)on;
		if ((on == PLACE_PARTIAL && units->graph->tensor[tensor].writer == NONE) || !placement_divides(units, mesh, tensor, placement))
			continue;
		enum status solved = sharding_solve(&job, &aim, &found, &cost);
		if (solved == NO_MEMORY || solved == CANCELLED)
			status = solved;
		bool there = found.split != NULL;
		reason[(*count)++] = (struct sharding_reason) { (int8_t)on, sharding->produced[tensor].on[axis] == on, there ? OK : INFEASIBLE,
			there ? cost.total : -1, there ? cost.usage : -1 };
		sharding_free(&found);
	}
	qsort(reason, *count, sizeof *reason, by_cost);
	sharding_job_end(&job);
	return status;
}

/* ---- two plans ------------------------------------------------------------------------------------------------------ */

/* What an op pays: its own time, its operands' way, and what stays of its results. */
static enum status around(const struct units *units, const struct sharding *sharding, struct op_clock clock, uint32_t op, int64_t *time, int64_t *bytes)
{
	const struct graph *graph = units->graph;
	enum status status = OK;
	*time = clock.takes(clock.context, units, &sharding->mesh, op, sharding->split[op]);
	*bytes = 0;
	FOR_ROW(i, &graph->reads, op) {
		struct reshard way;
		uint32_t tensor = graph->reads.item[i];
		bool again = false;
		for (uint32_t j = graph->reads.start[op]; j < i; j++)
			again |= graph->reads.item[j] == tensor && placement_equal(sharding->needed[j], sharding->needed[i]);
		if (again || status != OK)
			continue;
		status = reshard_any(units, &sharding->mesh, tensor, sharding->produced[tensor], sharding->needed[i], &way);
		if (status == OK)
			*time += way.time;
		if (graph->tensor[tensor].writer == NONE)
			*bytes += placement_bytes(units, &sharding->mesh, tensor, sharding->produced[tensor]);
	}
	FOR_ROW(i, &graph->writes, op)
		if (graph->tensor[graph->writes.item[i]].alias == NONE)
			*bytes += placement_bytes(units, &sharding->mesh, graph->writes.item[i], sharding->produced[graph->writes.item[i]]);
	return status;
}

static int64_t weight_of(const struct sharding_difference *difference)
{
	int64_t time = difference->time[1] - difference->time[0];
	return time < 0 ? -time : time;
}

static int by_weight(const void *left, const void *right)
{
	const struct sharding_difference *a = left, *b = right;
	int64_t wa = weight_of(a), wb = weight_of(b);
	return wa != wb ? (wa > wb ? -1 : 1) : (a->op > b->op) - (a->op < b->op);
}

enum status sharding_diff(const struct units *units, const struct sharding *a, const struct sharding *b, struct op_clock clock,
	struct arena *arena, struct sharding_difference **difference, uint32_t *count)
{
	const struct graph *graph = units->graph;
	enum status status = OK;
	*count = 0;
	*difference = arena_alloc(arena, graph->ops, sizeof **difference);
	if (!*difference)
		return NO_MEMORY;
	for (uint32_t op = 0; op < graph->ops && status == OK; op++) {
		struct sharding_difference one = { .op = op };
		status = around(units, a, clock, op, &one.time[0], &one.bytes[0]);
		if (status == OK)
			status = around(units, b, clock, op, &one.time[1], &one.bytes[1]);
		if (one.time[0] != one.time[1] || one.bytes[0] != one.bytes[1])
			(*difference)[(*count)++] = one;
	}
	qsort(*difference, *count, sizeof **difference, by_weight);
	return status;
}
