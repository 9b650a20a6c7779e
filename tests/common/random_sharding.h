/* random_sharding.h: random legal decisions how a graph is split over a mesh. For tests. */
#pragma once

#include "solver/cost/placement.h"

/* True where every operand and result of an op divides, and what it writes in place stays in its placement. */
static inline bool split_fits(const struct units *units, const struct sharding *sharding, uint32_t op)
{
	const struct graph *graph = units->graph;
	if (!split_divides(units, &sharding->mesh, op, sharding->split[op]))
		return false;
	for (uint32_t p = graph->inplace_start[op]; p < graph->inplace_start[op + 1]; p++)
		FOR_ROW(i, &graph->reads, op)
			if (graph->inplace[p].out != NONE && graph->reads.item[i] == graph->inplace[p].in
				&& !placement_equal(sharding->needed[i], sharding->produced[graph->inplace[p].out]))
				return false;
	return true;
}

/* Splits an op on every axis along a random unit that fits; one time in `idle`, not at all. */
static inline void random_split(
	const struct units *units, struct sharding *sharding, uint32_t op, uint32_t idle, uint64_t *random)
{
	struct split split;
	for (int a = 0; a < MESH_AXES; a++)
		split.on[a] = UNIT_NONE;
	sharding_set(sharding, units, op, split);
	for (uint32_t a = 0; a < sharding->mesh.axes; a++) {
		uint32_t choices = unit_count(units, op) + (units->linear[op] != LINEAR_NOT);
		if (sharding->mesh.axis[a].size < 2 || choices == 0 || random_next(random) % idle == 0)
			continue;
		struct split tried = split;
		uint32_t choice = (uint32_t)(random_next(random) % choices);
		tried.on[a] = (int8_t)(choice < unit_count(units, op) ? (int)choice : UNIT_PARTIAL);
		sharding_set(sharding, units, op, tried);
		if (split_fits(units, sharding, op))
			split = tried;
	}
	sharding_set(sharding, units, op, split);
}

/* Where a tensor that nothing writes is kept. */
static inline void random_keep(const struct units *units, struct sharding *sharding, uint32_t tensor, uint64_t *random)
{
	uint32_t parts = units->part_start[tensor + 1] - units->part_start[tensor];
	for (uint32_t a = 0; a < sharding->mesh.axes && parts > 0; a++) {
		struct placement tried = sharding->produced[tensor];
		tried.on[a] = (int8_t)(random_next(random) % 2 ? (int)(random_next(random) % parts) : PLACE_WHOLE);
		if (placement_divides(units, &sharding->mesh, tensor, tried))
			sharding->produced[tensor] = tried;
	}
}

/* A random decision for a whole graph. *random is the state of random_next. OK or NO_MEMORY. */
static inline enum status random_sharding(
	const struct units *units, const struct mesh *mesh, uint64_t *random, struct sharding *sharding)
{
	const struct graph *graph = units->graph;
	TRY(sharding_new(units, mesh, sharding));
	for (uint32_t op = 0; op < graph->ops; op++)
		random_split(units, sharding, op, 6, random);
	for (uint32_t tensor = 0; tensor < graph->tensors; tensor++)
		if (graph->tensor[tensor].writer == NONE && graph->tensor[tensor].alias == NONE)
			random_keep(units, sharding, tensor, random);
	sharding->late_axes = (uint8_t)random_next(random);
	sharding->regather_axes = (uint8_t)random_next(random);
	return OK;
}

/* A mesh of one to three axes of 2 or 3 devices; every other one cuts what doesn't divide. */
static inline struct mesh random_mesh(uint64_t *random)
{
	struct mesh mesh = { .axes = 1 + (uint32_t)(random_next(random) % 3), .padding = random_next(random) % 2 };
	static const char names[MESH_AXES][3] = { "dp", "tp", "cp", "ep" };
	for (uint32_t a = 0; a < mesh.axes; a++) {
		uint32_t size = random_next(random) % 5 ? 2 : (uint32_t)(1 + random_next(random) % 3);
		mesh.axis[a] = (struct mesh_axis){ .size = size,
			.near_size = size,
			.near = { 2000000, INT64_C(100000000000) },
			.far = { 5000000, INT64_C(20000000000) } };
		for (int i = 0; i < 3; i++)
			mesh.axis[a].name[i] = names[a][i];
	}
	return mesh;
}
