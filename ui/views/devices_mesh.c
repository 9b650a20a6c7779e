/* devices_mesh.c: the devices in their nodes. As much of each as fits: its GiB, a tenth of the budget, or only its
 * node's fullest. */
#include "devices.h"
#include "src/draw/device_grid.h"

enum { ACROSS_LEAST = 1, FRAME = 2 };

/* Cells of a device, devices in a line of a node, lines of a node, nodes across and down; cell 0: a cell stands for a
 * node. */
struct placing { int cell, columns, rows, across, down, wide, high; };

static bool devices_mesh_place(const struct device_grid *grid, int width, int height, int cell, struct placing *placing)
{
	placing->cell = cell;
	placing->columns = cell ? (int)grid->per_node : 1;
	while (cell && placing->columns > 4 && placing->columns % 2 == 0 && placing->columns * cell + FRAME > width)
		placing->columns /= 2;
	placing->rows = cell ? ((int)grid->per_node + placing->columns - 1) / placing->columns : 1;
	placing->wide = cell ? placing->columns * cell + FRAME : 1;
	placing->high = cell ? placing->rows + FRAME : 1;
	placing->across = width / placing->wide > ACROSS_LEAST ? width / placing->wide : ACROSS_LEAST;
	if (placing->across > (int)grid->nodes)
		placing->across = (int)grid->nodes;
	/* Lines of equal length where they are hardly shorter. */
	for (int across = placing->across; across > placing->across / 2; across--)
		if (grid->nodes % (uint32_t)across == 0) {
			placing->across = across;
			break;
		}
	placing->down = ((int)grid->nodes + placing->across - 1) / placing->across;
	return placing->wide <= width && placing->down * placing->high <= height;
}

static enum role devices_mesh_role_of(enum grid_level level)
{
	static const enum role roles[GRID_LEVELS] = { ROLE_GOOD, ROLE_WARN, ROLE_BAD };
	return roles[level];
}

/* As many digits as a cell shows: "2.42", "23.1", " 231", "0.04". */
static void amount_text(char text[32], int cells, double value)
{
	snprintf(text, 32, "%*.*f", cells, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, value);
}

static void devices_mesh_draw_cell(
	struct frame *frame, int x, int y, int cells, const struct device_grid *grid, int64_t bytes, bool here)
{
	enum grid_level level = device_grid_level(grid, bytes);
	char text[32];
	int64_t whole = grid->limit > 0 ? grid->limit : grid->most;
	int tenths = whole > 0 ? (int)(10.0 * (double)bytes / (double)whole) : 0;
	if (cells >= 4)
		amount_text(text, cells - 1, (double)bytes / (double)grid->unit);
	else
		snprintf(text, sizeof text, "%c", level == GRID_OVER ? '!' : '0' + (tenths > 9 ? 9 : tenths));
	int used = frame->mono ? 0 : cells > 1 ? cells - 1 : cells;
	for (int i = 0; i < used; i++)
		frame_cell(frame, x + i, y, ' ', ROLE_TEXT, devices_mesh_role_of(level));
	for (int i = 0; text[i] && i < cells; i++)
		frame_cell(frame, x + i, y, (uint32_t)text[i], frame->mono ? devices_mesh_role_of(level) : ROLE_EMPTY,
			frame->mono ? ROLE_TEXT : devices_mesh_role_of(level));
	if (here)
		frame_mark(frame, (struct rect){ x, y, cells > 1 ? cells - 1 : 1, 1 }, MARK_REVERSE);
}

static void devices_mesh_draw_node(struct frame *frame, int y, const struct device_grid *grid,
	const struct placing *placing, uint32_t node, uint32_t selected)
{
	uint32_t first = node * grid->per_node;
	int x = 1 + (int)node % placing->across * placing->wide;
	char text[80];
	if (placing->cell == 0) {
		int64_t most = 0;
		for (uint32_t i = first; i < first + grid->per_node && i < grid->devices; i++)
			most = device_grid_bytes(grid, i) > most ? device_grid_bytes(grid, i) : most;
		devices_mesh_draw_cell(frame, x, y, 1, grid, most, selected / grid->per_node == node);
		return;
	}
	device_grid_text(grid, first, true, text, sizeof text);
	if (text_cells(text) + 6 > placing->wide || !*text)
		snprintf(text, sizeof text, "node %u", node);
	frame_box(frame, (struct rect){ x, y, placing->wide, placing->high }, text);
	for (uint32_t i = 0; i < grid->per_node && first + i < grid->devices; i++)
		devices_mesh_draw_cell(frame, x + 1 + (int)i % placing->columns * placing->cell,
			y + 1 + (int)i / placing->columns, placing->cell, grid, device_grid_bytes(grid, first + i),
			first + i == selected);
}

static int devices_mesh_draw_axes(struct frame *frame, const struct device_grid *grid)
{
	char text[100];
	int y = 0, x = 0, width = frame->window.width;
	for (uint32_t i = 0; i < grid->axes; i++) {
		device_grid_axis_text(&grid->axis[i], text, sizeof text);
		if (x > 0 && x + text_cells(text) + 3 > width) {
			x = 0;
			y++;
		}
		frame_part(frame, &x, y, width, ROLE_TEXT, text);
	}
	return y + (grid->axes > 0);
}

/* What stands for what, and the device under the cursor. */
static void devices_mesh_draw_notes(
	struct frame *frame, int y, const struct device_grid *grid, const struct placing *placing, uint32_t device)
{
	char text[160], where[80], word[32];
	int width = frame->window.width, x = 0;
	snprintf(text, sizeof text, "device %u%s%s, node %u", device, grid->axes ? ": " : "",
		device_grid_text(grid, device, false, where, sizeof where), device / grid->per_node);
	frame_part(frame, &x, y, width, ROLE_TITLE, text);
	int64_t bytes = device_grid_bytes(grid, device);
	frame_part(frame, &x, y, width, devices_mesh_role_of(device_grid_level(grid, bytes)),
		bytes_text(bytes, word, sizeof word));
	x = 0;
	const char *whole = grid->limit >= 0 ? "budget" : "most";
	bytes_text(grid->limit >= 0 ? grid->limit : grid->most, word, sizeof word);
	if (placing->cell >= 4)
		snprintf(text, sizeof text, "%s at the peak; the %s is %s", grid->unit_name, whole, word);
	else
		snprintf(text, sizeof text, "%stenths of the %s %s", placing->cell ? "" : "nodes: ", whole, word);
	frame_part(frame, &x, y + 1, width, ROLE_FAINT, text);
	for (int level = 0; level < GRID_LEVELS - (grid->limit < 0); level++)
		frame_part(frame, &x, y + 1, width, devices_mesh_role_of((enum grid_level)level), grid_level_names[level]);
}

void mesh_draw(struct frame *frame, uint32_t *device, const struct model *model)
{
	struct device_grid grid;
	struct placing placing;
	device_grid_of(model->plan, model->outlook, &grid);
	*device = *device < grid.devices ? *device : grid.devices - 1;
	int width = frame->window.width - 1, y = devices_mesh_draw_axes(frame, &grid),
		notes = frame->window.height - y >= 7 ? 2 : 0;
	int height = frame->window.height - y - notes;
	if (width < 1 || height < 1)
		return;
	static const int cells[] = { 6, 5, 2, 1, 0 };
	for (size_t i = 0; i < sizeof cells / sizeof *cells; i++)
		if (devices_mesh_place(&grid, width, height, cells[i], &placing))
			break;
	/* Of more nodes than fit, the lines around the cursor. */
	int line = (int)(*device / grid.per_node) / placing.across, fit = height / placing.high;
	int top = line >= fit ? line - fit + 1 : 0;
	for (uint32_t node = (uint32_t)(top * placing.across); node < grid.nodes; node++) {
		int at = ((int)node / placing.across - top) * placing.high;
		if (at + placing.high > height)
			break;
		devices_mesh_draw_node(frame, y + at, &grid, &placing, node, *device);
	}
	if (notes)
		devices_mesh_draw_notes(frame, frame->window.height - 2, &grid, &placing, *device);
}

bool mesh_command(uint32_t *device, const struct model *model, enum command_id command)
{
	struct device_grid grid;
	uint32_t rank;
	device_grid_of(model->plan, model->outlook, &grid);
	switch (command) {
	case COMMAND_LEFT: *device -= *device > 0; return true;
	case COMMAND_RIGHT: *device += *device + 1 < grid.devices; return true;
	case COMMAND_UP: *device -= *device >= grid.per_node ? grid.per_node : 0; return true;
	case COMMAND_DOWN: *device += *device + grid.per_node < grid.devices ? grid.per_node : 0; return true;
	case COMMAND_FIRST: *device = 0; return true;
	case COMMAND_LAST: *device = grid.devices - 1; return true;
	case COMMAND_PEAK:
		rank = grid.timetable ? grid.timetable->worst : 0;
		*device = rank * (grid.devices / grid.ranks);
		return true;
	default: return false;
	}
}
