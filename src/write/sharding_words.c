/* sharding_words.c: placements as DTensor, PartitionSpec and HLO strings. */

#include "plan_json.h"

static const struct part *sharding_words_part_of(const struct units *units, uint32_t tensor, int8_t on)
{
	return units->part + units->part_start[tensor] + on;
}

/* Blocks of a dim that lie before a part, as far as no earlier axis cuts them: above 1 the shard is strided. */
static int64_t blocks_before(
	const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement placement, uint32_t axis)
{
	int8_t on = placement.on[axis];
	int64_t blocks = 1;
	for (int8_t i = (int8_t)(on - 1);
		i >= 0 && sharding_words_part_of(units, tensor, i)->dim == sharding_words_part_of(units, tensor, on)->dim;
		i--) {
		int64_t left = sharding_words_part_of(units, tensor, i)->size;
		FOR_WHILE(a, axis, a < mesh->axes)
			if (placement.on[a] == i)
				left = (left + mesh->axis[a].size - 1) / mesh->axis[a].size;
		blocks *= left;
	}
	return blocks;
}

/* True where an axis cuts a part into unequal pieces; whole_dim: it is all of its dim, so that the dim's pieces are
 * those. */
static bool unequal(
	const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement placement, bool *whole_dim)
{
	bool any = false;
	*whole_dim = true;
	FOR(a, mesh->axes) {
		if (placement.on[a] < 0 || sharding_words_part_of(units, tensor, placement.on[a])->size % mesh->axis[a].size == 0)
			continue;
		any = true;
		FOR_SPAN(i, units->part_start, tensor)
			*whole_dim &= units->part[i].dim != sharding_words_part_of(units, tensor, placement.on[a])->dim ||
				i == units->part_start[tensor] + (uint32_t)placement.on[a];
	}
	return any;
}

char *sharding_dtensor(const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement placement,
	char *text, size_t size)
{
	struct words words = { text, size, 0 };
	bool whole_dim;
	if (unequal(units, mesh, tensor, placement, &whole_dim) && !whole_dim)
		return NULL;
	words_add(&words, "[");
	FOR(a, mesh->axes) {
		int8_t on = placement.on[a];
		words_add(&words, "%s", a > 0 ? ", " : "");
		if (on < 0)
			words_add(&words, "%s", on == PLACE_PARTIAL ? "Partial()" : "Replicate()");
		else if (blocks_before(units, mesh, tensor, placement, a) > 1)
			words_add(&words, "_StridedShard(%u, split_factor=%lld)", sharding_words_part_of(units, tensor, on)->dim,
				(long long)blocks_before(units, mesh, tensor, placement, a));
		else
			words_add(&words, "Shard(%u)", sharding_words_part_of(units, tensor, on)->dim);
	}
	words_add(&words, "]");
	return text;
}

/* True where every axis shards a contiguous piece of a dim, lower axes the outer ones, or leaves the tensor whole. */
static bool sharding_words_plain(
	const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement placement)
{
	FOR(a, mesh->axes) {
		if (placement.on[a] == PLACE_PARTIAL)
			return false;
		if (placement.on[a] >= 0 && blocks_before(units, mesh, tensor, placement, a) > 1)
			return false;
		FOR_WHILE(b, a, placement.on[a] >= 0) /* an earlier axis inside a later one: not contiguous */
			if (placement.on[b] > placement.on[a] &&
				sharding_words_part_of(units, tensor, placement.on[b])->dim ==
					sharding_words_part_of(units, tensor, placement.on[a])->dim)
				return false;
	}
	return true;
}

static bool cuts(const struct units *units, uint32_t tensor, struct placement placement, uint32_t axis, uint8_t dim)
{
	return placement.on[axis] >= 0 && sharding_words_part_of(units, tensor, placement.on[axis])->dim == dim;
}

char *sharding_partition_spec(const struct units *units, const struct mesh *mesh, uint32_t tensor,
	struct placement placement, char *text, size_t size)
{
	struct words words = { text, size, 0 };
	uint8_t dims = units->graph->tensor[tensor].dims;
	bool whole_dim;
	if (!sharding_words_plain(units, mesh, tensor, placement) || unequal(units, mesh, tensor, placement, &whole_dim))
		return NULL;
	words_add(&words, "P(");
	for (uint8_t d = 0; d < dims; d++) {
		uint32_t axes = 0, said = 0;
		FOR(a, mesh->axes)
			axes += cuts(units, tensor, placement, a, d);
		words_add(&words, "%s%s", d > 0 ? ", " : "", axes == 0 ? "None" : axes > 1 ? "(" : "");
		FOR(a, mesh->axes)
			if (cuts(units, tensor, placement, a, d))
				words_add(&words, "%s'%s'", said++ > 0 ? ", " : "", mesh->axis[a].name);
		words_add(&words, "%s", axes > 1 ? ")" : "");
	}
	words_add(&words, ")");
	return text;
}

char *sharding_hlo(const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement placement,
	char *text, size_t size)
{
	struct words words = { text, size, 0 };
	uint8_t dims = units->graph->tensor[tensor].dims;
	uint32_t order[MESH_AXES], axes = 0, devices = mesh_devices(mesh), copies = placement_copies(mesh, placement);
	bool whole_dim;
	if (!sharding_words_plain(units, mesh, tensor, placement) ||
		(unequal(units, mesh, tensor, placement, &whole_dim) && !whole_dim))
		return NULL;
	if (copies == devices) {
		words_add(&words, "{replicated}");
		return text;
	}
	words_add(&words, "{devices=[");
	for (uint8_t d = 0; d < dims; d++) {
		uint32_t tiles = 1;
		FOR(a, mesh->axes)
			if (cuts(units, tensor, placement, a, d)) {
				tiles *= mesh->axis[a].size;
				order[axes++] = a;
			}
		words_add(&words, "%s%u", d > 0 ? "," : "", tiles);
	}
	FOR(a, mesh->axes)
		if (placement.on[a] < 0)
			order[axes++] = a;
	if (copies > 1)
		words_add(&words, ",%u", copies);
	bool straight = true;
	FOR(i, axes)
		straight &= order[i] == i;
	words_add(&words, "]<=[");
	if (straight)
		words_add(&words, "%u]", devices);
	FOR_WHILE(i, 2 * axes, !straight)
		words_add(&words, "%u%s", i < axes ? mesh->axis[i].size : order[i - axes],
			(i + 1) % axes ? "," : i < axes ? "]T(" : ")");
	words_add(&words, "%s}", copies > 1 ? " last_tile_dim_replicate" : "");
	return text;
}
