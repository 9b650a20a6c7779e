/* traffic.c: see plan_time.h. */
#include "plan_time.h"

static int64_t traffic_bytes_of(const struct graph *graph, const struct csr *tensors, uint32_t op)
{
	int64_t bytes = 0;
	FOR_ITEMS(tensor, tensors, op)
		bytes += graph->tensor[tensor].bytes;
	return bytes;
}

bool traffic_collective(const struct mesh *mesh, const struct graph *graph, uint32_t op, uint32_t *axis,
	enum collective_kind *collective, int64_t *bytes)
{
	const struct collective *said = graph->op[op].collective;
	if (!said || said->kind >= COLLECTIVE_COUNT || (*axis = mesh_axis_named(mesh, said->axis)) == NONE)
		return false;
	*collective = said->kind;
	*bytes = collective_of(&mesh->axis[*axis], *collective, traffic_bytes_of(graph, &graph->reads, op),
		traffic_bytes_of(graph, &graph->writes, op));
	return true;
}

/* The collectives that an op makes itself. */
static void traffic_add_inside(struct traffic_sum *sum, const struct sharded *sharded, uint32_t whole)
{
	const struct units *units = &sharded->shared->units;
	const struct mesh *mesh = &sharded->sharding.mesh;
	struct split split = sharded->sharding.split[whole];
	int64_t time[MESH_AXES] = { 0 }, bytes[MESH_AXES] = { 0 };
	op_inside_time(units, mesh, whole, split, time, bytes);
	FOR(a, mesh->axes) {
		struct traffic *traffic = &sum->of[a][COLLECTIVE_ALL_REDUCE];
		traffic->count += split.on[a] >= 0 ? units->unit[units->unit_start[whole] + (uint32_t)split.on[a]].inside : 0;
		traffic->bytes += bytes[a];
		traffic->time += time[a];
	}
}

void traffic_find(const struct sharded *sharded, const struct graph *graph, struct traffic_sum *sum)
{
	const struct mesh *mesh = &sharded->sharding.mesh;
	enum collective_kind collective;
	uint32_t axis, whole, near = 0;
	int64_t bytes;
	*sum = (struct traffic_sum) { 0 };
	FOR(op, graph->ops) {
		if (traffic_collective(mesh, graph, op, &axis, &collective, &bytes)) {
			struct traffic *traffic = &sum->of[axis][collective];
			traffic->count++;
			traffic->bytes += collective_bytes(&mesh->axis[axis], collective, bytes);
			traffic->time += collective_time(&mesh->axis[axis], collective, bytes);
		} else if ((whole = sharded_op(sharded, graph, op, &near)) != NONE) {
			traffic_add_inside(sum, sharded, whole);
		}
	}
	FOR(a, mesh->axes)
		FOR_INT(c, COLLECTIVE_COUNT) {
			sum->bytes += sum->of[a][c].bytes;
			sum->time += sum->of[a][c].time;
		}
}
