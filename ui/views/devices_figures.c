/* devices_figures.c: what is counted with of a device: the data sheet's figure, the figure that is counted with, and
 * why they differ. */
#include "devices.h"
#include "src/scenario/device_figures.h"

enum { SET = 18, NAME = 43, COUNTED_END = 63, SHEET_END = 76, WHY = 78, WHY_FROM = 120, NARROW_COUNTED = 20 };

/* What is on the screen: the plan's knobs, which may be those before the last. */
static const struct scenario *devices_figures_shown(const struct model *model)
{
	return model->plan ? &model->plan->scenario : model->scenario;
}

/* The name that sets it, what it is, what is counted with, the data sheet's, why; a value that is being typed stands in
 * its place. */
static void draw_figure(struct frame *frame, int y, int width, const struct device_figure *figure, const char *typed)
{
	bool wide = width >= COUNTED_END, own = figure->basis == FIGURE_YOURS;
	int end = wide ? COUNTED_END : width;
	char text[64];
	frame_text(frame, 1, y, SET - 2, own ? ROLE_TITLE : ROLE_KEY, figure->set);
	if (wide)
		frame_text(frame, SET, y, NAME - SET - 1, ROLE_TEXT, figure->name);
	PRINT_TO(text, "%s_", typed ? typed : "");
	frame_right(frame, end, y, own || typed ? ROLE_TITLE : ROLE_TEXT, typed ? text : figure->counted);
	if (typed)
		frame_mark(frame, (struct rect){ end - text_cells(text), y, text_cells(text), 1 }, MARK_REVERSE);
	if (width >= SHEET_END)
		frame_right(frame, SHEET_END, y, ROLE_FAINT, *figure->sheet ? figure->sheet : "-");
	if (width >= WHY_FROM)
		frame_words(frame, WHY, y, width - WHY, ROLE_FAINT, figure->why);
}

static void devices_figures_draw_header(struct frame *frame, int width, const struct model *model)
{
	const char *name = devices_figures_shown(model)->device.name;
	frame_text(frame, 1, 0, NAME - 2, ROLE_TITLE, text_is(name, "none") ? "no device: as an A100" : name);
	frame_right(frame, width >= COUNTED_END ? COUNTED_END : width, 0, ROLE_LABEL, "as counted");
	if (width >= SHEET_END)
		frame_right(frame, SHEET_END, 0, ROLE_LABEL, "data sheet");
	if (width >= WHY_FROM)
		frame_text(frame, WHY, 0, width - WHY, ROLE_LABEL, "why");
}

/* Of the selected figure: what the table may have no room for. */
static const char *selected_text(const struct device_figure *figure, char *text, size_t size)
{
	return printed(text, size, "%s: %s%s%s", figure->name, figure->sheet, *figure->sheet ? " on the data sheet; " : "",
		figure->why);
}

/* A text behind its label, wrapped. Returns the next row. */
static int draw_source(struct frame *frame, struct rect rect, const char *label, const char *source)
{
	char text[800];
	PRINT_TO(text, "%s: %s", label, source);
	if (rect.height > 0)
		frame_wrapped(frame, rect, ROLE_FAINT, text);
	return rect.y + text_rows(text, rect.width);
}

/* Both sources. Returns the next row. */
static int draw_sources(struct frame *frame, struct rect rect, const struct model *model)
{
	enum device device = (enum device)scenario_device(devices_figures_shown(model));
	int end = rect.y + rect.height;
	rect.y = draw_source(frame, rect, "data sheet", device_sheet_source(device));
	rect.height = end - rect.y;
	return draw_source(
		frame, rect, "what is reached of it", device_reached_text(devices_figures_shown(model), TEXT(700)));
}

static int source_rows(int width, const struct model *model)
{
	struct frame nowhere = { 0 };
	return draw_sources(&nowhere, (struct rect){ 0, 0, width, 0 }, model);
}

void figures_draw(struct frame *frame, struct figure_rows *rows, const struct model *model)
{
	struct device_figure figure[DEVICE_FIGURES];
	int figures = device_figures(devices_figures_shown(model), figure), width = frame->window.width,
		height = frame->window.height;
	char text[400];
	int sources = source_rows(width - 2, model),
		why = text_rows(selected_text(&figure[rows->selected], text, sizeof text), width - 2);
	rows->page = height - 2 - why - sources;
	if (rows->page < 6)
		rows->page = height - 2 - why; /* the selected figure's reason goes before the sources */
	if (rows->page < 1)
		rows->page = height - 1;
	if (rows->page > figures)
		rows->page = figures;
	rows->top = scroll_to(rows->top, rows->selected, (uint32_t)figures, rows->page);
	devices_figures_draw_header(frame, width, model);
	for (int i = 0; i < rows->page && rows->top + (uint32_t)i < (uint32_t)figures; i++) {
		bool selected = rows->top + (uint32_t)i == rows->selected;
		draw_figure(frame, 1 + i, width, &figure[rows->top + (uint32_t)i], selected ? model->typed : NULL);
		if (selected && !model->typed)
			frame_select(frame, 1 + i);
	}
	struct rect below = { 1, rows->page + 2, width - 2, height - rows->page - 2 };
	if (below.height < 1)
		return;
	frame_repeat(frame, 0, below.y - 1, width, GLYPH_HORIZONTAL, ROLE_LINE);
	frame_wrapped(frame, below, ROLE_TEXT, text);
	below.y += why;
	below.height -= why;
	if (below.height > 0)
		draw_sources(frame, below, model);
}

bool figures_command(struct figure_rows *rows, struct model *model, enum command_id command)
{
	struct device_figure figure[DEVICE_FIGURES];
	uint32_t figures = (uint32_t)device_figures(devices_figures_shown(model), figure),
			 step = command == COMMAND_FIND_PREVIOUS ? figures - 1 : 1;
	if (command == COMMAND_ACTIVATE) {
		view_request(model, true, "set %s=", figure[rows->selected].set);
		model->request_here = true;
	} else if (command == COMMAND_FIND_NEXT || command == COMMAND_FIND_PREVIOUS) {
		FOR_FROM(i, 1, figures + 1) {
			uint32_t at = (rows->selected + i * step) % figures;
			if (text_contains(figure[at].name, model->search) || text_contains(figure[at].set, model->search)) {
				rows->selected = at;
				break;
			}
		}
	} else
		return row_command(command, &rows->selected, figures, rows->page);
	return true;
}

void figures_click(struct figure_rows *rows, const struct model *model, int y)
{
	struct device_figure figure[DEVICE_FIGURES];
	uint32_t row = rows->top + (uint32_t)(y - 1);
	if (y >= 1 && y <= rows->page && row < (uint32_t)device_figures(devices_figures_shown(model), figure))
		rows->selected = row;
}
