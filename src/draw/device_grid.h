/* device_grid.h: the devices of a plan as a picture shows them: in nodes, along the axes of the mesh, with what each
 * holds.
 *
 * Devices are numbered row-major, pipeline ranks outermost; so many in a row as share a node. */
#pragma once

#include "canvas.h"
#include "solver/pipeline/timetable.h"
#include "src/plan/plan.h"

#define GRID_AXES (MESH_AXES + 1)

struct grid_axis {
	char name[8];
	uint32_t size;
	uint32_t near; /* members of it in one node: size where no link between nodes is needed, 1 where none is near */
	int64_t rate; /* bytes per second of the slowest link that it needs */
};

struct device_grid {
	uint32_t devices, per_node, nodes;
	uint32_t axes;
	struct grid_axis axis[GRID_AXES]; /* of more than one member, outermost first */
	uint32_t ranks; /* of the pipeline */
	const struct timetable *timetable; /* of the ranks' bytes, or NULL: all devices have `bytes` */
	int64_t bytes;
	int64_t most, limit; /* bytes of the fullest device; of the budget, < 0: none */
	int64_t unit;        /* for amounts in pictures: bytes, and its name */
	const char *unit_name;
};

/* Both must outlive the grid. */
void device_grid_of(const struct plan *plan, const struct timetable *timetable, struct device_grid *grid);
int64_t device_grid_bytes(const struct device_grid *grid, uint32_t device);
uint32_t device_grid_coordinate(const struct device_grid *grid, uint32_t device, uint32_t axis);
/* "pp 1 dp 0 tp 3"; outer: of the device's node, "pp 0-1 dp 4", without the axes that are all in it. Returns text. */
char *device_grid_text(const struct device_grid *grid, uint32_t device, bool outer, char *text, size_t size);
/* "tp 8 within a node, 300 GB/s". Returns text. */
char *device_grid_axis_text(const struct grid_axis *axis, char *text, size_t size);

/* How full a device is: of the budget, or where there is none of the fullest device. */
enum grid_level { GRID_LOW, GRID_HIGH, GRID_OVER, GRID_LEVELS }; /* below 80 %; up to all of it; above the budget */
enum grid_level device_grid_level(const struct device_grid *grid, int64_t bytes);
extern const char *const grid_level_names[GRID_LEVELS], *const grid_level_colours[GRID_LEVELS];
