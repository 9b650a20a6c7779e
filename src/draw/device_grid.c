/* device_grid.c: from a plan to its grid of devices. */

#include "device_grid.h"
#include "src/scenario/shard_mesh.h"
#include "figure.h"

const char *const grid_level_names[GRID_LEVELS] = { "below 80 %", "80 to 100 %", "over the budget" };
/* Okabe and Ito's. */
const char *const grid_level_colours[GRID_LEVELS] = { "#B9E3D4", "#F0E442", "#D55E00" };

/* An axis of which `inside` devices stand between neighbours. */
static void device_grid_add_axis(
	struct device_grid *grid, const char *name, uint32_t size, uint32_t inside, const struct machine *machine)
{
	struct grid_axis *axis = &grid->axis[grid->axes];
	if (size < 2 || grid->axes == GRID_AXES)
		return;
	uint32_t near = inside < grid->per_node ? grid->per_node / inside : 1;
	while (size % near != 0)
		near--;
	*axis = (struct grid_axis){
		.size = size, .near = near, .rate = near == size ? machine->near.rate : machine->far.rate
	};
	PRINT_TO(axis->name, "%s", name);
	grid->axes++;
}

static uint32_t device_grid_degree(const struct mesh *mesh, const char *name)
{
	uint32_t axis = mesh ? mesh_axis_named(mesh, name) : NONE;
	return axis == NONE ? 1 : mesh->axis[axis].size;
}

void device_grid_of(const struct plan *plan, const struct timetable *timetable, struct device_grid *grid)
{
	static const char *const names[GRID_AXES] = { "pp", "dp", "ep", "cp", "tp" };
	const struct mesh *mesh = plan->sharded ? &plan->sharded->sharding.mesh : NULL;
	uint32_t size[GRID_AXES] = { plan->pipelined ? plan->pipelined->ranks : 1,
		device_grid_degree(mesh, "dp") * device_grid_degree(mesh, MESH_REPLICATE),
		device_grid_degree(mesh, "ep"), device_grid_degree(mesh, "cp"), device_grid_degree(mesh, "tp") },
			 inside = 1;
	*grid = (struct device_grid){ .per_node = (uint32_t)plan->scenario.device.node,
		.ranks = size[0],
		.bytes = plan_peak(plan),
		.limit = plan_budget(plan),
		.timetable = size[0] > 1 ? timetable : NULL };
	FOR_INT(i, GRID_AXES)
		inside *= size[i];
	grid->devices = inside;
	grid->per_node = SMALLER(grid->per_node, grid->devices);
	grid->nodes = (grid->devices + grid->per_node - 1) / grid->per_node;
	FOR_INT(i, GRID_AXES) {
		inside /= size[i];
		device_grid_add_axis(grid, names[i], size[i], inside, &plan->scenario.machine);
	}
	grid->most = grid->timetable ? timetable_peak(grid->timetable, grid->timetable->worst) : grid->bytes;
	grid->unit = axis_unit(LARGER(grid->limit, grid->most), &grid->unit_name);
}

int64_t device_grid_bytes(const struct device_grid *grid, uint32_t device)
{
	return grid->timetable ? timetable_peak(grid->timetable, device / (grid->devices / grid->ranks)) : grid->bytes;
}

uint32_t device_grid_coordinate(const struct device_grid *grid, uint32_t device, uint32_t axis)
{
	uint32_t inside = 1;
	FOR_FROM(i, axis + 1, grid->axes)
		inside *= grid->axis[i].size;
	return device / inside % grid->axis[axis].size;
}

char *device_grid_text(const struct device_grid *grid, uint32_t device, bool outer, char *text, size_t size)
{
	struct words words = { text, size, 0 };
	text[0] = '\0';
	for (uint32_t i = 0; i < grid->axes; i++) {
		const struct grid_axis *axis = &grid->axis[i];
		uint32_t at = device_grid_coordinate(grid, device, i);
		if (outer && axis->near == axis->size)
			continue;
		words_add(&words, "%s%s %u", words.at ? " " : "", axis->name, at);
		if (outer && axis->near > 1)
			words_add(&words, "-%u", at + axis->near - 1);
	}
	return text;
}

char *device_grid_axis_text(const struct grid_axis *axis, char *text, size_t size)
{
	char near[40] = " between nodes";
	if (axis->near == axis->size)
		PRINT_TO(near, " within a node");
	else if (axis->near > 1)
		PRINT_TO(near, ", %u to a node", axis->near);
	return printed(text, size, "%s %u%s, %.3g GB/s", axis->name, axis->size, near, (double)axis->rate / 1e9);
}

enum grid_level device_grid_level(const struct device_grid *grid, int64_t bytes)
{
	int64_t whole = grid->limit >= 0 ? grid->limit : grid->most;
	return bytes > whole ? GRID_OVER : (double)bytes >= 0.8 * (double)whole ? GRID_HIGH : GRID_LOW;
}
