/* network_distance.c: reshardings are looked up: tensors of equal bytes and parts have equal ones. */
#include <string.h>

#include "network_build.h"

bool distances_begin(struct distances *distances, const struct units *units, const struct mesh *mesh)
{
	uint32_t tensors = units->graph->tensors, room = 64;
	while (room < 2 * tensors)
		room *= 2;
	*distances = (struct distances) { .units = units, .mesh = mesh, .class_mask = room - 1, .room = 1024 };
	distances->class_of = mem_alloc(tensors, sizeof *distances->class_of);
	distances->model = mem_alloc(tensors, sizeof *distances->model);
	distances->bucket = mem_alloc(room, sizeof *distances->bucket);
	distances->entry = mem_alloc(distances->room, sizeof *distances->entry);
	return distances->class_of && distances->model && distances->bucket && distances->entry;
}

void distances_end(struct distances *distances)
{
	mem_free(distances->class_of);
	mem_free(distances->model);
	mem_free(distances->bucket);
	mem_free(distances->entry);
}

static bool alike(const struct units *units, uint32_t a, uint32_t b)
{
	const struct part *pa = units->part + units->part_start[a], *pb = units->part + units->part_start[b];
	uint32_t parts = units->part_start[a + 1] - units->part_start[a];
	if (parts != units->part_start[b + 1] - units->part_start[b] || units->graph->tensor[a].bytes != units->graph->tensor[b].bytes)
		return false;
	for (uint32_t i = 0; i < parts; i++)
		if (pa[i].size != pb[i].size)
			return false;
	return true;
}

static uint32_t class_of(struct distances *distances, uint32_t tensor)
{
	const struct units *units = distances->units;
	if (distances->class_of[tensor] > 0)
		return distances->class_of[tensor];
	uint64_t hash = hash_mix((uint64_t)units->graph->tensor[tensor].bytes);
	for (uint32_t i = units->part_start[tensor]; i < units->part_start[tensor + 1]; i++)
		hash = hash_join(hash, (uint64_t)units->part[i].size);
	for (uint32_t at = (uint32_t)hash & distances->class_mask;; at = (at + 1) & distances->class_mask) {
		if (distances->bucket[at] == 0) {
			distances->model[distances->classes++] = tensor;
			distances->bucket[at] = distances->classes;
		}
		if (alike(units, distances->model[distances->bucket[at] - 1], tensor))
			return distances->class_of[tensor] = distances->bucket[at];
	}
}

static struct distance *slot_of(struct distance *entry, size_t room, uint32_t class, uint64_t key)
{
	size_t at = (size_t)hash_join(key, class) & (room - 1);
	while (entry[at].class > 0 && (entry[at].class != class || entry[at].key != key))
		at = (at + 1) & (room - 1);
	return &entry[at];
}

static bool grow(struct distances *distances)
{
	struct distance *entry = mem_alloc(2 * distances->room, sizeof *entry);
	if (!entry)
		return false;
	for (size_t i = 0; i < distances->room; i++)
		if (distances->entry[i].class > 0)
			*slot_of(entry, 2 * distances->room, distances->entry[i].class, distances->entry[i].key) = distances->entry[i];
	mem_free(distances->entry);
	distances->entry = entry;
	distances->room *= 2;
	return true;
}

static uint64_t packed(struct placement placement)
{
	uint64_t bits = 0;
	for (int a = 0; a < MESH_AXES; a++)
		bits = bits << 8 | (uint8_t)placement.on[a];
	return bits;
}

static const struct distance *look_up(struct distances *distances, uint32_t tensor, struct placement from, struct placement to)
{
	uint32_t class = class_of(distances, tensor);
	uint64_t key = packed(from) << 32 | packed(to);
	struct distance *slot = slot_of(distances->entry, distances->room, class, key);
	if (slot->class == class)
		return slot;
	struct reshard reshard;
	enum status status = reshard_any(distances->units, distances->mesh, tensor, from, to, &reshard);
	if (status == NO_MEMORY || (2 * distances->count > distances->room && !grow(distances)))
		return NULL;
	slot = slot_of(distances->entry, distances->room, class, key);
	*slot = (struct distance) { key, class, 0, status == OK ? reshard.time : SHARD_FORBIDDEN };
	for (uint32_t i = 0; status == OK && i < reshard.moves; i++)
		slot->gathers |= (uint8_t)((reshard.move[i].collective == COLLECTIVE_ALL_GATHER) << reshard.move[i].axis);
	distances->count++;
	return slot;
}

int64_t distance_find(struct distances *distances, uint32_t tensor, struct placement from, struct placement to, uint8_t *gathers)
{
	if (gathers)
		*gathers = 0;
	if (placement_equal(from, to))
		return 0;
	const struct distance *found = look_up(distances, tensor, from, to);
	if (!found) {
		distances->failed = true;
		return SHARD_FORBIDDEN;
	}
	if (gathers)
		*gathers = found->gathers;
	return found->time;
}
