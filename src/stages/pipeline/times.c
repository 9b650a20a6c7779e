/* times.c: the times of a device's ops, and of a rank's. */

#include "times.h"

/* The tensor of the whole step that a collective moves: what the first of a chain reads. */
static uint32_t moved_tensor(const struct sharded *sharded, const struct graph *device, uint32_t op)
{
	for (uint32_t steps = 0; steps < device->ops && csr_length(&device->reads, op) > 0; steps++) {
		uint32_t tensor = device->reads.item[device->reads.start[op]], whole = sharded_tensor(sharded, device, tensor);
		if (whole != NONE || device->tensor[tensor].writer == NONE)
			return whole;
		op = device->tensor[tensor].writer;
	}
	return NONE;
}

enum status device_times_find(const struct sharded *sharded, const struct graph *device, const struct rules *rules,
	const struct machine *machine, struct device_times *times)
{
	const struct graph *whole = sharded->shared->graph;
	const struct mesh *mesh = &sharded->sharding.mesh;
	struct arena scratch = { 0 };
	struct csr readers;
	*times = (struct device_times) { 0 };
	times->time = arena_alloc(&times->arena, device->ops, sizeof *times->time);
	times->hidden = arena_alloc(&times->arena, device->ops, sizeof *times->hidden);
	times->link = arena_alloc(&times->arena, device->ops, sizeof *times->link);
	times->host = arena_alloc(&times->arena, device->ops, sizeof *times->host);
	bool fine = times->host && times->time && times->hidden && times->link &&
		csr_transpose(&scratch, &whole->reads, whole->ops, whole->tensors, &readers) == OK;
	for (uint32_t op = 0; fine && op < device->ops; op++) {
		enum collective_kind collective;
		uint32_t axis,
			of = graph_find_op(
				whole, device->op[op].recomputed && device->op[op].of ? device->op[op].of : device->op[op].name);
		enum machine_limit limit;
		int64_t bytes;
		if (plan_time_host(device, op, &bytes)) {
			times->time[op] = machine_host_time(machine, bytes);
			times->host[op] = true;
		} else if (of != NONE) {
			fine = op_local_time(device, rules, machine, op,
					   op_on_pieces(&sharded->shared->units, of, sharded->sharding.split[of]), &times->time[op],
					   &limit) == OK;
			times->time[op] += op_inside_time(&sharded->shared->units, mesh, of, sharded->sharding.split[of], NULL, NULL);
		} else if (traffic_collective(mesh, device, op, &axis, &collective, &bytes)) {
			uint32_t tensor = moved_tensor(sharded, device, op);
			times->time[op] = collective_time(&mesh->axis[axis], collective, bytes);
			times->hidden[op] = tensor != NONE && sharding_hides(whole, tensor, &readers, true);
			times->link[op] = !times->hidden[op];
		}
	}
	arena_free(&scratch);
	if (!fine)
		device_times_free(times);
	return fine ? OK : NO_MEMORY;
}

enum status plan_rank_shares(const struct graph *graph, const struct sharded *sharded,
	const struct pipelined *pipelined, uint32_t rank, const struct scenario *scenario, const struct rules *rules,
	struct step_shares *shares)
{
	int64_t passes = 0, computed;
	*shares = (struct step_shares) { .total = pipelined->time };
	enum status status = plan_pass_shares(graph, sharded, pipelined->microbatches, scenario, rules, shares, &computed);
	const struct pipeline_slot *slot = pipelined->timing.slot + (size_t)rank * pipelined->timing.slots;
	for (uint32_t i = 0; i < pipelined->timing.slots; i++)    /* passes beside each other take less than both */
		passes += slot[i].end - slot[i].begin;
	shares->time[STEP_WAITING][STEP_LINK] = pipelined->rank[rank].exposed + (passes > computed ? passes - computed : 0);
	shares->time[STEP_WAITING][STEP_RANKS] = shares->total - shares->computed - shares->time[STEP_WAITING][STEP_LINK];
	return status;
}

void device_times_free(struct device_times *times)
{
	arena_free(&times->arena);
	*times = (struct device_times) { 0 };
}
