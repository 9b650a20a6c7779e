/* reshard_memo.c: reshardings are looked up: tensors of equal bytes and parts have equal ones. */
#include <string.h>

#include "reshard_memo.h"

struct known { uint64_t key; uint32_t class; enum status status; struct reshard *reshard; };

enum status reshard_memo_begin(struct reshard_memo *memo, const struct units *units, const struct mesh *mesh)
{
	uint32_t tensors = units->graph->tensors, room = 64;
	while (room < 2 * tensors)
		room *= 2;
	*memo = (struct reshard_memo) { .units = units, .mesh = mesh, .class_mask = room - 1, .room = 1024 };
	memo->class_of = mem_alloc(tensors, sizeof *memo->class_of);
	memo->model = mem_alloc(tensors, sizeof *memo->model);
	memo->bucket = mem_alloc(room, sizeof *memo->bucket);
	memo->known = mem_alloc(memo->room, sizeof *memo->known);
	return memo->class_of && memo->model && memo->bucket && memo->known ? OK : NO_MEMORY;
}

void reshard_memo_end(struct reshard_memo *memo)
{
	mem_free(memo->class_of);
	mem_free(memo->model);
	mem_free(memo->bucket);
	mem_free(memo->known);
	arena_free(&memo->arena);
}

static bool alike(const struct units *units, uint32_t a, uint32_t b)
{
	const struct part *pa = units->part + units->part_start[a], *pb = units->part + units->part_start[b];
	uint32_t parts = units->part_start[a + 1] - units->part_start[a];
	if (parts != units->part_start[b + 1] - units->part_start[b] || units->graph->tensor[a].bytes != units->graph->tensor[b].bytes
		|| graph_in_host(units->graph, a) != graph_in_host(units->graph, b))
		return false;
	for (uint32_t i = 0; i < parts; i++)
		if (pa[i].size != pb[i].size || pa[i].even != pb[i].even)
			return false;
	return true;
}

static uint32_t class_of(struct reshard_memo *memo, uint32_t tensor)
{
	const struct units *units = memo->units;
	if (memo->class_of[tensor] > 0)
		return memo->class_of[tensor];
	uint64_t hash = hash_mix((uint64_t)units->graph->tensor[tensor].bytes);
	for (uint32_t i = units->part_start[tensor]; i < units->part_start[tensor + 1]; i++)
		hash = hash_join(hash, (uint64_t)units->part[i].size);
	for (uint32_t at = (uint32_t)hash & memo->class_mask;; at = (at + 1) & memo->class_mask) {
		if (memo->bucket[at] == 0) {
			memo->model[memo->classes++] = tensor;
			memo->bucket[at] = memo->classes;
		}
		if (alike(units, memo->model[memo->bucket[at] - 1], tensor))
			return memo->class_of[tensor] = memo->bucket[at];
	}
}

static struct known *slot_of(struct known *known, size_t room, uint32_t class, uint64_t key)
{
	size_t at = (size_t)hash_join(key, class) & (room - 1);
	while (known[at].class > 0 && (known[at].class != class || known[at].key != key))
		at = (at + 1) & (room - 1);
	return &known[at];
}

static bool grow(struct reshard_memo *memo)
{
	struct known *known = mem_alloc(2 * memo->room, sizeof *known);
	if (!known)
		return false;
	for (size_t i = 0; i < memo->room; i++)
		if (memo->known[i].class > 0)
			*slot_of(known, 2 * memo->room, memo->known[i].class, memo->known[i].key) = memo->known[i];
	mem_free(memo->known);
	memo->known = known;
	memo->room *= 2;
	return true;
}

static uint64_t packed(struct placement placement)
{
	uint64_t bits = 0;
	for (int a = 0; a < MESH_AXES; a++)
		bits = bits << 8 | (uint8_t)placement.on[a];
	return bits;
}

enum status reshard_memo_find(struct reshard_memo *memo, uint32_t tensor, struct placement from, struct placement to, const struct reshard **reshard)
{
	uint32_t class = class_of(memo, tensor);
	uint64_t key = packed(from) << 32 | packed(to);
	struct known *slot = slot_of(memo->known, memo->room, class, key);
	if (slot->class == 0) {
		struct reshard *found = arena_alloc(&memo->arena, 1, sizeof *found);
		enum status status = found ? reshard_any(memo->units, memo->mesh, tensor, from, to, found) : NO_MEMORY;
		if (status == NO_MEMORY || (2 * memo->count > memo->room && !grow(memo)))
			return NO_MEMORY;
		slot = slot_of(memo->known, memo->room, class, key);
		*slot = (struct known) { key, class, status, found };
		memo->count++;
	}
	*reshard = slot->reshard;
	return slot->status;
}
