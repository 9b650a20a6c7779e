/* pins.c: pinned placements: `pin tensor T shard D on AXIS`. */
#include <inttypes.h>

#include "stage.h"

/* The outermost part of a dim that an axis divides, as the other axes leave it; PLACE_WHOLE: none. */
static int8_t part_of_dim(const struct units *units, const struct mesh *mesh, struct placement placement,
	uint32_t tensor, uint32_t dim, uint32_t axis)
{
	uint32_t first = units->part_start[tensor];
	FOR_FROM(i, first, units->part_start[tensor + 1]) {
		placement.on[axis] = (int8_t)(i - first);
		if (units->part[i].dim == dim && placement_divides(units, mesh, tensor, placement))
			return (int8_t)(i - first);
	}
	return PLACE_WHOLE;
}

/* The unit along which an op's result has that part cut, or UNIT_NONE. */
static int8_t unit_making(const struct units *units, const struct sharding *sharding, uint32_t op, uint32_t tensor,
	int8_t part, uint32_t axis)
{
	const struct graph *graph = units->graph;
	uint32_t reads = csr_length(&graph->reads, op);
	FOR_FROM(k, reads, op_arguments(graph, op))
		for (uint32_t u = 0; u < unit_count(units, op) && u < INT8_MAX; u++) {
			struct split split = sharding->split[op];
			split.on[axis] = (int8_t)u;
			if (graph->writes.item[graph->writes.start[op] + k - reads] == tensor && units_place(units, op, (int8_t)u, k) == part
				&& split_divides(units, &sharding->mesh, op, split))
				return (int8_t)u;
		}
	return UNIT_NONE;
}

static enum status no_axis(const struct pin *pin, const struct mesh *mesh, struct error *error)
{
	char names[64] = "";
	size_t used = 0;
	FOR(a, mesh->axes)
		used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", a ? ", " : "", mesh->axis[a].name);
	return refuse(
		error, "tensor \"%.100s\" can't be sharded on %.20s: the mesh's axes are %s", pin->a, pin->b, names);
}

/* Looks a pin up: axis, tensor and the part that is cut. others: where the tensor lies on other axes. */
static enum status shard_pins_resolve(const struct pin *pin, const struct units *units, const struct mesh *mesh,
	const struct placement *others, struct placement_pin *found, struct error *error)
{
	const struct graph *graph = units->graph;
	uint32_t axis = mesh_axis_named(mesh, pin->b), tensor = graph_find_tensor(graph, pin->a);
	if (tensor == NONE)
		return refuse(error, "tensor \"%.100s\" is pinned, but the stages before sharding have left it out", pin->a);
	const struct tensor *of = &graph->tensor[tensor];
	struct placement placement;
	memset(&placement, PLACE_WHOLE, sizeof placement);
	if (pin->number >= of->dims)
		return refuse(error, "tensor \"%.100s\" has no dim %" PRId64 ": it has %u", pin->a, pin->number, of->dims);
	if (of->alias != NONE)
		return refuse(error, "tensor \"%.100s\" is a view of \"%.100s\": pin that", pin->a,
			graph->tensor[graph->storage[of->storage].root].name);
	if (axis == NONE)
		return no_axis(pin, mesh, error);
	const struct mesh_axis *over = &mesh->axis[axis];
	int8_t part = pin->number < 0 ? PLACE_WHOLE
		: part_of_dim(units, mesh, others ? others[tensor] : placement, tensor, (uint32_t)pin->number, axis);
	if (part < 0 && pin->number >= 0)
		return refuse(error,
			"tensor \"%.100s\" can't be sharded along dim %" PRId64 " on %s: its %" PRId64
			" can't be cut into %u pieces",
			pin->a, pin->number, over->name, of->shape ? of->shape[pin->number] : 0, over->size);
	*found = (struct placement_pin){ tensor, (uint8_t)axis, part };
	return OK;
}

enum status shard_pins_find(const struct scenario *scenario, const struct units *units, const struct mesh *mesh,
	struct placement_pin *pin, uint32_t *pins, struct error *error)
{
	enum status status = OK;
	*pins = 0;
	FOR_WHILE(i, scenario->pins, status == OK)
		if (scenario->pin[i].kind == PIN_PLACEMENT &&
			(status = shard_pins_resolve(&scenario->pin[i], units, mesh, NULL, &pin[*pins], error)) == OK)
			++*pins;
	return status;
}

static enum status apply(
	const struct pin *pin, const struct units *units, struct sharding *sharding, struct error *error)
{
	const struct graph *graph = units->graph;
	struct placement_pin found;
	TRY(shard_pins_resolve(pin, units, &sharding->mesh, sharding->produced, &found, error));
	uint32_t axis = found.axis, tensor = found.tensor;
	const struct tensor *of = &graph->tensor[tensor];
	const struct mesh_axis *over = &sharding->mesh.axis[axis];
	int8_t part = found.on;
	if (of->writer == NONE) {
		sharding->produced[tensor].on[axis] = part;
		return OK;
	}
	int8_t unit = part < 0 ? UNIT_NONE : unit_making(units, sharding, of->writer, tensor, part, axis);
	if (part >= 0 && unit < 0)
		return refuse(error,
			"tensor \"%.100s\" can't be sharded along dim %" PRId64 " on %s: \"%.80s\" (%.40s) can't be split along it",
			pin->a, pin->number, over->name, graph->op[of->writer].name, graph->op[of->writer].type);
	struct split split = sharding->split[of->writer];
	split.on[axis] = unit;
	sharding_set(sharding, units, of->writer, split);
	return OK;
}

enum status shard_pins_apply(
	const struct scenario *scenario, const struct units *units, struct sharding *sharding, struct error *error)
{
	FOR(i, scenario->pins)
		if (scenario->pin[i].kind == PIN_PLACEMENT)
			TRY(apply(&scenario->pin[i], units, sharding, error));
	return OK;
}
