/* reshard_memo.c: reshardings are looked up: tensors that are alike have equal ones. */

#include "reshard.h"

/* Tensors that are alike: from a state to a state, row by row as they are asked for. */
struct known_class {
	bool looked;
	struct reshard_map *map;         /* NULL: too many placements */
	const struct reshard ***way;     /* [states][states] &unreachable: none; NULL: not asked for */
};
static const struct reshard unreachable;

struct known { uint64_t key; uint32_t class; enum status status; struct reshard *reshard; };   /* class + 1; 0: empty */

enum status reshard_memo_begin(struct reshard_memo *memo, const struct units *units, const struct mesh *mesh)
{
	*memo = (struct reshard_memo) { .units = units, .mesh = mesh, .room = 1024 };
	MAKE(memo->known, memo->room);
	MAKE(memo->class, units->tensor_classes);
	return memo->known && memo->class ? OK : NO_MEMORY;
}

void reshard_memo_end(struct reshard_memo *memo)
{
	mem_free(memo->known);
	mem_free(memo->class);
	arena_free(&memo->arena);
}

static struct known *reshard_memo_slot_of(struct known *known, size_t room, uint32_t class, uint64_t key)
{
	size_t at = (size_t)hash_join(key, class) & (room - 1);
	while (known[at].class > 0 && (known[at].class != class || known[at].key != key))
		at = (at + 1) & (room - 1);
	return &known[at];
}

static bool reshard_memo_grow(struct reshard_memo *memo)
{
	struct known *MAKE(known, 2 * memo->room);
	if (!known)
		return false;
	FOR_SIZE(i, memo->room)
		if (memo->known[i].class > 0)
			*reshard_memo_slot_of(known, 2 * memo->room, memo->known[i].class, memo->known[i].key) = memo->known[i];
	mem_free(memo->known);
	memo->known = known;
	memo->room *= 2;
	return true;
}

static uint64_t packed(struct placement placement)
{
	uint64_t bits = 0;
	FOR_INT(a, MESH_AXES)
		bits = bits << 8 | (uint8_t)placement.on[a];
	return bits;
}

/* Only the moves that there are. */
static struct reshard *reshard_memo_kept(struct reshard_memo *memo, const struct reshard *found)
{
	struct reshard *copy = arena_alloc(&memo->arena, 1, RESHARD_BYTES(found->moves));
	if (copy)
		reshard_copy(copy, found);
	return copy;
}

static enum status open_class(struct reshard_memo *memo, uint32_t tensor, struct known_class *class)
{
	enum status status = reshard_map_new(memo->units, memo->mesh, tensor, &memo->arena, &class->map);
	if (status == OK && class->map &&
		!(class->way = arena_alloc(&memo->arena, reshard_map_states(class->map), sizeof(const struct reshard **))))
		status = NO_MEMORY;
	class->looked = status == OK;
	return status;
}

/* Where a class's table has a way; NULL when out of memory. */
static const struct reshard **entry_of(struct reshard_memo *memo, struct known_class *class, uint32_t from, uint32_t to)
{
	if (!class->way[from] &&
		!(class->way[from] = arena_alloc(&memo->arena, reshard_map_states(class->map), sizeof(const struct reshard *))))
		return NULL;
	return &class->way[from][to];
}

static enum status find_hashed(struct reshard_memo *memo, uint32_t tensor, struct placement from, struct placement to,
	const struct reshard **reshard)
{
	uint32_t class = memo->units->tensor_class[tensor] + 1;
	uint64_t key = packed(from) << 32 | packed(to);
	struct known *slot = reshard_memo_slot_of(memo->known, memo->room, class, key);
	if (slot->class == 0) {
		struct reshard found, *copy = NULL;
		enum status status = reshard_any(memo->units, memo->mesh, tensor, from, to, &found);
		if (status != NO_MEMORY)
			copy = reshard_memo_kept(memo, &found);
		if (!copy || (2 * memo->count > memo->room && !reshard_memo_grow(memo)))
			return NO_MEMORY;
		slot = reshard_memo_slot_of(memo->known, memo->room, class, key);
		*slot = (struct known) { key, class, status, copy };
		memo->count++;
	}
	*reshard = slot->reshard;
	return slot->status;
}

enum status reshard_memo_find(struct reshard_memo *memo, uint32_t tensor, struct placement from, struct placement to,
	const struct reshard **reshard)
{
	struct known_class *class = &memo->class[memo->units->tensor_class[tensor]];
	if (!class->looked && open_class(memo, tensor, class) != OK)
		return NO_MEMORY;
	uint32_t at_from = class->map ? reshard_map_state(class->map, from) : NONE,
			 at_to = class->map ? reshard_map_state(class->map, to) : NONE;
	if (at_from == NONE || at_to == NONE)
		return find_hashed(memo, tensor, from, to, reshard);
	const struct reshard **entry = entry_of(memo, class, at_from, at_to);
	if (entry && !*entry) {
		struct reshard found;
		enum status status = reshard_map_any(class->map, from, to, &found);
		*entry = status == NO_MEMORY ? NULL : status == OK ? reshard_memo_kept(memo, &found) : &unreachable;
	}
	NEED(entry && *entry);
	*reshard = *entry;
	return *entry == &unreachable ? INFEASIBLE : OK;
}
