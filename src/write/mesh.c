/* mesh.c: the grid of devices as a figure and as tables: nodes as frames, devices as squares that say how full they
 * are. */
#include <inttypes.h>

#include "data.h"
#include "src/draw/device_grid.h"

#define MARGIN     10.0
#define TOP        24.0
#define NUMBERED   20.0 /* squares of that size hold a number */
#define LABEL      10.0 /* above a node */
#define CELL_MOST  26.0
#define HIGHEST    0.7 /* of the grid, in its width: higher, smaller squares stand side by side */
#define CELL_LEAST 2.0

/* Where nodes stand: columns of nodes, columns of devices in a node, sizes in points. */
struct placing { uint32_t across, columns, rows; double cell, wide, high; };

/* The largest squares with which all nodes fit the page's width and part of it as height. */
static struct placing write_mesh_place(const struct device_grid *grid, double width)
{
	struct placing placing = { .columns = grid->per_node };
	while (placing.columns > 8 && placing.columns % 2 == 0)
		placing.columns /= 2;
	placing.rows = (grid->per_node + placing.columns - 1) / placing.columns;
	for (placing.cell = CELL_MOST; ; placing.cell -= 1) {
		placing.wide = placing.columns * placing.cell + 10;
		placing.high = placing.rows * placing.cell + LABEL + 8;
		placing.across = (uint32_t)((width - 2 * MARGIN + 6) / placing.wide);
		placing.across = placing.across ? placing.across : 1;
		uint32_t lines = (grid->nodes + placing.across - 1) / placing.across;
		if (placing.cell <= CELL_LEAST || (placing.wide <= width - MARGIN && lines * placing.high < HIGHEST * width))
			break;
	}
	/* Lines of equal length, where that is no waste. */
	for (uint32_t across = placing.across; across > placing.across * 2 / 3; across--)
		if (grid->nodes % across == 0) {
			placing.across = across;
			break;
		}
	return placing;
}

static void device_at(
	const struct device_grid *grid, const struct placing *placing, uint32_t device, double *x, double *y)
{
	uint32_t node = device / grid->per_node, inside = device % grid->per_node;
	*x = MARGIN + node % placing->across * placing->wide + inside % placing->columns * placing->cell + 2;
	*y = TOP + node / placing->across * placing->high + inside / placing->columns * placing->cell + LABEL + 2;
}

/* ---- the figure ---- */

/* Where the node stands, and what each of its devices holds, where the squares are too small to say so. */
static void node_text(
	const struct device_grid *grid, const struct placing *placing, uint32_t node, char *text, size_t size)
{
	uint32_t first = node * grid->per_node,
			 end = SMALLER(first + grid->per_node, grid->devices);
	bool same = placing->cell < NUMBERED;
	FOR_FROM(device, first + 1, end)
		same &= device_grid_bytes(grid, device) == device_grid_bytes(grid, first);
	device_grid_text(grid, first, true, text, size);
	size_t used = strlen(text);
	if (same)
		snprintf(text + used, size - used, "%s%.3g", used ? ": " : "",
			(double)device_grid_bytes(grid, first) / (double)grid->unit);
}

static void write_mesh_draw_node(
	struct canvas *canvas, const struct device_grid *grid, const struct placing *placing, uint32_t node)
{
	const struct canvas_line frame = { INK, 0.6, false };
	char text[80];
	double x, y;
	device_at(grid, placing, node * grid->per_node, &x, &y);
	canvas_box(canvas, x - 2, y - 2, placing->columns * placing->cell + 3, placing->rows * placing->cell + 3, NULL,
		&frame, NULL);
	node_text(grid, placing, node, text, sizeof text);
	if (placing->cell >= 5 && *text && canvas_text_width(SMALL - 1, text) < placing->wide)
		canvas_text(canvas, x - 2, y - 4, SMALL - 1, ANCHOR_START, false, INK, text);
}

static void draw_device(
	struct canvas *canvas, const struct device_grid *grid, const struct placing *placing, uint32_t device)
{
	char text[32];
	double x, y, size = placing->cell - 1;
	int64_t bytes = device_grid_bytes(grid, device);
	device_at(grid, placing, device, &x, &y);
	canvas_box(canvas, x, y, size, size, grid_level_colours[device_grid_level(grid, bytes)], NULL,
		PRINTED(120, "device %u: %s, %s", device, device_grid_text(grid, device, false, TEXT(80)), BYTES(bytes)));
	PRINT_TO(text, "%.3g", (double)bytes / (double)grid->unit);
	if (placing->cell >= NUMBERED)
		canvas_text(canvas, x + size / 2, y + size / 2 + 2.5, CANVAS_SMALL, ANCHOR_MIDDLE, false, INK, text);
}

/* The axes, and below them what colours stand for. */
static void write_mesh_draw_notes(struct canvas *canvas, const struct device_grid *grid)
{
	struct canvas_key key[GRID_LEVELS];
	char text[120];
	double width = canvas->paper.width - 2 * MARGIN;
	int keys = GRID_LEVELS - (grid->limit < 0);
	FOR(i, grid->axes)
		canvas_note(canvas, MARGIN, width, device_grid_axis_text(&grid->axis[i], text, sizeof text));
	PRINT_TO(text, "%s at the peak; the %s is %s", grid->unit_name, grid->limit >= 0 ? "budget" : "most",
		BYTES(grid->limit >= 0 ? grid->limit : grid->most));
	canvas_note(canvas, MARGIN, width, text);
	FOR_INT(level, keys)
		key[level] = (struct canvas_key){ grid_level_colours[level], grid_level_names[level], SIGN_BOX };
	canvas_legend(canvas, MARGIN, width, key, keys);
}

static enum status figure_mesh(
	const struct device_grid *grid, const char *name, struct canvas_paper paper, FILE *stream, struct error *error)
{
	struct placing placing = write_mesh_place(grid, paper.width);
	struct canvas canvas;
	double rows = (grid->nodes + placing.across - 1) / placing.across * placing.high;
	char rest[100], cut[CANVAS_CUT];
	if (canvas_open(&canvas, paper, TOP + rows + 4) != OK)
		return fail_memory(error);
	PRINT_TO(rest, " on %u device%s in %u node%s", grid->devices, grid->devices == 1 ? "" : "s",
		grid->nodes, grid->nodes == 1 ? "" : "s");
	canvas_title(&canvas, MARGIN, TOP - 10, PRINTED(CANVAS_CUT + 100, "%s%s",
		canvas_cut(BOLD, paper.width - MARGIN - 2 - canvas_text_width(BOLD, rest), name, cut), rest));
	FOR(node, grid->nodes)
		write_mesh_draw_node(&canvas, grid, &placing, node);
	FOR(device, grid->devices)
		draw_device(&canvas, grid, &placing, device);
	write_mesh_draw_notes(&canvas, grid);
	return canvas_close(&canvas, stream, error);
}

/* ---- tables ---- */

static void write_mesh_write_csv(const struct device_grid *grid, FILE *stream)
{
	fputs("device,node", stream);
	FOR(i, grid->axes)
		fprintf(stream, ",%s", grid->axis[i].name);
	fputs(",peak_bytes\n", stream);
	FOR(device, grid->devices) {
		fprintf(stream, "%u,%u", device, device / grid->per_node);
		FOR(i, grid->axes)
			fprintf(stream, ",%u", device_grid_coordinate(grid, device, i));
		fprintf(stream, ",%" PRId64 "\n", device_grid_bytes(grid, device));
	}
}

static void write_mesh_write_json(const struct device_grid *grid, const char *name, FILE *stream)
{
	struct json json = { .stream = stream, .spaced = true };
	json_open_object(&json, NULL);
	json_write_text(&json, "graph", name);
	json_write_integer(&json, "devices", grid->devices);
	json_write_integer(&json, "devices_per_node", grid->per_node);
	json_write_integer(&json, "memory", grid->limit);
	json_open_array(&json, "axes");
	FOR(i, grid->axes) {
		json_new_line(&json, 1);
		json_open_object(&json, NULL);
		json_write_text(&json, "name", grid->axis[i].name);
		json_write_integer(&json, "size", grid->axis[i].size);
		json_write_integer(&json, "in_a_node", grid->axis[i].near);
		json_write_integer(&json, "bytes_per_second", grid->axis[i].rate);
		json_close(&json);
	}
	json_close(&json);
	json_new_line(&json, 1);
	json_open_array(&json, "peak_bytes");
	FOR(device, grid->devices)
		json_write_integer(&json, NULL, device_grid_bytes(grid, device));
	json_end(&json);
}

/* ---- the table's function ---- */

enum status export_mesh(const struct export_job *job)
{
	const struct plan *plan = job->plan;
	struct device_grid grid;
	OWN(timetable) timetable;
	enum status status = plan_timetable(plan, job->options->rules_file, &timetable, job->error);
	if (status != OK)
		return status;
	device_grid_of(plan, &timetable, &grid);
	if (job->kind == EXPORT_csv)
		write_mesh_write_csv(&grid, job->stream);
	else if (job->kind == EXPORT_json)
		write_mesh_write_json(&grid, plan->input->name, job->stream);
	else
		status = figure_mesh(&grid, plan->input->name, export_paper(job->options, job->kind), job->stream, job->error);
	return status;
}
