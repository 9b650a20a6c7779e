/* sharded.c: life and words of the shard stage's result. */

#include "stage.h"

struct sharded *sharded_retain(struct sharded *sharded)
{
	atomic_fetch_add(&sharded->references, 1);
	return sharded;
}

void sharded_release(void *pointer)
{
	struct sharded *sharded = pointer;
	if (!sharded || atomic_fetch_sub(&sharded->references, 1) > 1)
		return;
	shared_units_release(sharded->shared);
	sharding_free(&sharded->sharding);
	FOR(i, sharded->rivals)
		sharding_free(&sharded->rival[i]);
	graph_release(sharded->device);
	arena_free(&sharded->arena);
	mem_free(sharded);
}

struct shared_units *shared_units_retain(struct shared_units *shared)
{
	atomic_fetch_add(&shared->references, 1);
	return shared;
}

void shared_units_release(void *pointer)
{
	struct shared_units *shared = pointer;
	if (!shared || atomic_fetch_sub(&shared->references, 1) > 1)
		return;
	fold_free(&shared->fold);
	blocks_free(&shared->blocks);
	units_free(&shared->units);
	graph_release(shared->graph);
	mem_free(shared);
}

uint32_t sharded_tensor(const struct sharded *sharded, const struct graph *graph, uint32_t tensor)
{
	return graph_find_tensor(sharded->shared->graph, graph->tensor[tensor].name);
}

uint32_t sharded_op(const struct sharded *sharded, const struct graph *device, uint32_t op, uint32_t *near)
{
	const struct graph *whole = sharded->shared->graph;
	const struct op *here = &device->op[op];
	uint32_t found = near && *near < whole->ops && strcmp(whole->op[*near].name, here->name) == 0
		? *near
		: graph_find_op(whole, here->name);
	if (found == NONE && here->recomputed && here->of)
		found = graph_find_op(whole, here->of);
	if (near && found != NONE)
		*near = found + 1;
	return found;
}

char *sharded_place(const struct sharded *sharded, uint32_t tensor, struct placement placement, char *text, size_t size)
{
	size_t used = 0;
	text[0] = '\0';
	FOR_WHILE(a, sharded->sharding.mesh.axes, used < size)
		used += (size_t)snprintf(text + used, size - used, "%s%s", a ? ", " : "[",
			placement_text(&sharded->shared->units, tensor, placement.on[a], TEXT(24)));
	if (used && used < size)
		snprintf(text + used, size - used, "]");
	return text;
}

char *sharded_place_here(
	const struct sharded *sharded, const struct graph *device, uint32_t tensor, char *text, size_t size)
{
	uint32_t id = sharded_tensor(sharded, device, tensor);
	const struct axis_places *places = device->tensor[tensor].places;
	size_t used = 0;
	text[0] = '\0';
	if (id != NONE)
		return sharded_place(sharded, id, sharded->sharding.produced[id], text, size);
	for (uint32_t a = 0; places && a < places->axes && used < size; a++)
		used += (size_t)snprintf(text + used, size - used, "%s%s%s", a ? ", " : "[",
			axis_place_text(places->on[a], TEXT(24)), a + 1 == places->axes ? "]" : "");
	return text;
}

char *mesh_text(const struct mesh *mesh, char *text, size_t size)
{
	size_t used = 0;
	snprintf(text, size, "1 device");
	FOR_WHILE(a, mesh->axes, used < size)
		used += (size_t)snprintf(text + used, size - used, "%s%s %u", a ? " x " : "", mesh->axis[a].name, mesh->axis[a].size);
	return text;
}

