/* placement.c: pieces of tensors on a mesh; decisions for a whole graph. */

#include "placement.h"

enum status sharding_new(const struct units *units, const struct mesh *mesh, struct sharding *sharding)
{
	const struct graph *graph = units->graph;
	*sharding = (struct sharding) { .mesh = *mesh };
	uint32_t reads = graph->reads.start[graph->ops];
	if (!(ROOM(&sharding->arena, sharding->split, graph->ops) &&
		ROOM(&sharding->arena, sharding->produced, graph->tensors) &&
		ROOM(&sharding->arena, sharding->needed, reads))) {
		sharding_free(sharding);
		return NO_MEMORY;
	}
	memset(sharding->split, UNIT_NONE, graph->ops * sizeof *sharding->split);
	memset(sharding->produced, PLACE_WHOLE, graph->tensors * sizeof *sharding->produced);
	memset(sharding->needed, PLACE_WHOLE, reads * sizeof *sharding->needed);
	return OK;
}

enum status sharding_copy(const struct units *units, const struct sharding *of, struct sharding *sharding)
{
	const struct graph *graph = units->graph;
	TRY(sharding_new(units, &of->mesh, sharding));
	struct sharding own = *sharding;
	COPY(own.split, of->split, graph->ops);
	COPY(own.produced, of->produced, graph->tensors);
	COPY(own.needed, of->needed, graph->reads.start[graph->ops]);
	*sharding = *of;
	sharding->split = own.split;
	sharding->produced = own.produced;
	sharding->needed = own.needed;
	sharding->arena = own.arena;
	return OK;
}

bool sharding_equal(const struct units *units, const struct sharding *a, const struct sharding *b)
{
	const struct graph *graph = units->graph;
	bool equal = mesh_equal(&a->mesh, &b->mesh) && a->late_axes == b->late_axes && a->each_axes == b->each_axes &&
		a->regather_axes == b->regather_axes;
	return equal && memcmp(a->split, b->split, graph->ops * sizeof *a->split) == 0
		&& memcmp(a->produced, b->produced, graph->tensors * sizeof *a->produced) == 0
		&& memcmp(a->needed, b->needed, graph->reads.start[graph->ops] * sizeof *a->needed) == 0;
}

void sharding_free(struct sharding *sharding)
{
	arena_free(&sharding->arena);
	*sharding = (struct sharding) { 0 };
}

void sharding_set(struct sharding *sharding, const struct units *units, uint32_t op, struct split split)
{
	const struct graph *graph = units->graph;
	uint32_t reads = graph_operands(graph, op), writes = graph_results(graph, op);
	struct placement *needed = sharding->needed + graph->reads.start[op], *produced = sharding->produced;
	const uint32_t *written = graph->writes.item + graph->writes.start[op];
	sharding->split[op] = split;
	memset(needed, PLACE_WHOLE, reads * sizeof *needed);
	FOR(k, writes)
		memset(&produced[written[k]], PLACE_WHOLE, sizeof *produced);
	FOR_INT(a, MESH_AXES) {
		if (split.on[a] == UNIT_NONE)
			continue;
		FOR(k, reads)
			needed[k].on[a] = units_place(units, op, split.on[a], k);
		FOR(k, writes)
			produced[written[k]].on[a] = units_place(units, op, split.on[a], reads + k);
	}
}

/* Ways that the axes cut a part, or an op along a unit. */
static int64_t ways(const struct mesh *mesh, const int8_t on[MESH_AXES], uint32_t part)
{
	int64_t product = 1;
	FOR(a, mesh->axes)
		if (on[a] == (int8_t)part)
			product *= mesh->axis[a].size;
	return product;
}

/* The largest piece of a size cut so many ways. */
static int64_t piece(int64_t size, int64_t cut)
{
	return size / cut + (size % cut > 0);
}

bool placement_divides(const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement placement)
{
	const struct part *part = units->part + units->part_start[tensor];
	uint32_t parts = units->part_start[tensor + 1] - units->part_start[tensor];
	FOR(a, mesh->axes) {
		int8_t on = placement.on[a];
		if (on >= 0 && ((uint32_t)on >= parts || mesh->axis[a].size < 2))
			return false;
		int64_t cut = on >= 0 ? ways(mesh, placement.on, (uint32_t)on) : 1;
		if (on >= 0 && part[on].size % cut != 0
			&& (!mesh->padding || part[on].even || cut != mesh->axis[a].size || part[on].size < cut))
			return false;
	}
	return true;
}

bool split_divides(const struct units *units, const struct mesh *mesh, uint32_t op, struct split split)
{
	const struct graph *graph = units->graph;
	FOR(k, op_arguments(graph, op))
		if (!placement_divides(units, mesh, graph_argument(graph, op, k), split_place(units, op, split, k)))
			return false;
	return true;
}

int64_t split_share(const struct units *units, const struct mesh *mesh, uint32_t op, struct split split, int64_t whole)
{
	FOR_WHILE(a, mesh->axes, whole > 0) {
		if (split.on[a] < 0)
			continue;
		int64_t size = units->unit[units->unit_start[op] + (uint32_t)split.on[a]].size, cut = mesh->axis[a].size;
		if (size % cut == 0 || ways(mesh, split.on, (uint32_t)split.on[a]) != cut)
			whole = piece(whole, cut);
		else
			whole = whole / size * piece(size, cut) + piece(whole % size * piece(size, cut), size);
	}
	return whole;
}

int64_t split_scratch(const struct units *units, const struct mesh *mesh, uint32_t op, struct split split)
{
	const struct graph *graph = units->graph;
	int64_t bytes = 0;
	FOR_WHILE(a, mesh->axes, mesh->copies)
		if (split.on[a] >= 0 && units->unit[units->unit_start[op] + (uint32_t)split.on[a]].copies)
			bytes = graph->tensor[graph_result(graph, op, 0)].bytes;
	return split_share(units, mesh, op, split, bytes);
}

int64_t unit_inside_bytes(
	const struct units *units, const struct mesh *mesh, uint32_t op, struct split split, uint32_t axis)
{
	const struct unit *unit = units->unit + units->unit_start[op];
	int64_t points = unit[split.on[axis]].points;
	FOR(a, mesh->axes)
		if (split.on[a] >= 0 && unit[split.on[a]].inside > 0)
			split.on[a] = UNIT_NONE;       /* what is reduced has no such dim */
	return split_share(units, mesh, op, split, points * 4);
}

void placement_shape(
	const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement placement, int64_t *shape)
{
	const struct tensor *of = &units->graph->tensor[tensor];
	uint32_t first = units->part_start[tensor], end = units->part_start[tensor + 1];
	for (int d = 0; d < of->dims && of->shape; d++)
		shape[d] = of->shape[d];
	FOR_FROM(i, first, end) {
		int64_t cut = ways(mesh, placement.on, i - first), rest = units->part[i].size;
		if (cut > 1)
			shape[units->part[i].dim] = shape[units->part[i].dim] / rest * piece(rest, cut);
	}
}

/* What of a tensor a part cuts: its dim, and how many pieces come before it in that dim. */
static int64_t before_part(const struct part *part, uint32_t on)
{
	int64_t before = 1;
	FOR(i, on)
		before *= part[i].dim == part[on].dim ? part[i].size : 1;
	return before;
}

bool placements_coincide(const struct units *units, const struct mesh *mesh, uint32_t a, struct placement at_a,
	uint32_t b, struct placement at_b)
{
	const struct part *of_a = units->part + units->part_start[a], *of_b = units->part + units->part_start[b];
	FOR(axis, mesh->axes) {
		int8_t on_a = at_a.on[axis], on_b = at_b.on[axis];
		if (on_a < 0 || on_b < 0) {
			if (on_a != on_b)
				return false;
			continue;
		}
		int64_t cut_a = ways(mesh, at_a.on, (uint32_t)on_a), cut_b = ways(mesh, at_b.on, (uint32_t)on_b);
		bool even = of_a[on_a].size % cut_a == 0 && of_b[on_b].size % cut_b == 0;
		if (of_a[on_a].dim != of_b[on_b].dim || cut_a != cut_b ||
			before_part(of_a, (uint32_t)on_a) != before_part(of_b, (uint32_t)on_b) ||
			(of_a[on_a].size != of_b[on_b].size && !even))
			return false;
	}
	return true;
}

int64_t placement_bytes(const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement placement)
{
	int64_t bytes = units->graph->tensor[tensor].bytes;
	FOR_SPAN(i, units->part_start, tensor) {
		int64_t cut = ways(mesh, placement.on, i - units->part_start[tensor]), rest = units->part[i].size;
		if (cut > 1)
			bytes = rest % cut == 0 && bytes % cut == 0 ? bytes / cut : bytes / rest * piece(rest, cut);
	}
	return bytes;
}

uint32_t placement_copies(const struct mesh *mesh, struct placement placement)
{
	uint32_t copies = 1;
	FOR(a, mesh->axes)
		if (placement.on[a] < 0)
			copies *= mesh->axis[a].size;
	return copies;
}

static struct axis_place placement_on(const struct units *units, uint32_t tensor, int8_t on)
{
	if (on < 0)
		return (struct axis_place){ on, 1 };
	const struct part *part = units->part + units->part_start[tensor];
	struct axis_place place = { (int8_t)part[on].dim, 1 };
	for (int i = on - 1; i >= 0 && part[i].dim == part[on].dim; i--)
		place.blocks *= part[i].size;
	return place;
}

struct axis_places placement_said(
	const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement placement)
{
	struct axis_places places = { .axes = mesh->axes };
	FOR(a, mesh->axes)
		places.on[a] = placement_on(units, tensor, placement.on[a]);
	return places;
}

char *placement_text(const struct units *units, uint32_t tensor, int8_t on, char *text, size_t size)
{
	return axis_place_text(placement_on(units, tensor, on), text, size);
}
