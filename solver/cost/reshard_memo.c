/* reshard_memo.c: reshardings are looked up: tensors that are alike have equal ones. */
#include <string.h>

#include "reshard_memo.h"

struct known { uint64_t key; uint32_t class; enum status status; struct reshard *reshard; };   /* class + 1; 0: empty */

enum status reshard_memo_begin(struct reshard_memo *memo, const struct units *units, const struct mesh *mesh)
{
	*memo = (struct reshard_memo) { .units = units, .mesh = mesh, .room = 1024 };
	memo->known = mem_alloc(memo->room, sizeof *memo->known);
	return memo->known ? OK : NO_MEMORY;
}

void reshard_memo_end(struct reshard_memo *memo)
{
	mem_free(memo->known);
	arena_free(&memo->arena);
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
	uint32_t class = memo->units->tensor_class[tensor] + 1;
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
