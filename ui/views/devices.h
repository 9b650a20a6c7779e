/* devices.h: the parts of the Devices view. */
#pragma once

#include "view.h"

/* Parts that share the room below the bars: one at a time, or all on a high screen. */
#define DEVICE_PARTS(X) \
	X(MEMORY, "memory") \
	X(SCHEDULE, "schedule") X(RANKS, "ranks") X(MESH, "mesh") X(FIGURES, "device") X(TRAFFIC, "collectives") \
		X(PLACES, "placements") X(SEARCH, "search") X(CONFIGS, "configurations") X(FIT, "fit") \
			X(CHANGES, "differences")
#define X(id, name) PART_##id,
enum device_part { DEVICE_PARTS(X) PART_COUNT };
#undef X

/* The list of placements. */
#define PLACE_SORTS(X) X(REDUNDANT, "extra copies") X(BYTES, "per device") X(NAME, "name")
#define X(id, name) SORT_##id,
enum place_sort { PLACE_SORTS(X) SORT_COUNT };
#undef X

struct place_list {
	enum place_sort sort;
	bool reversed;
	uint32_t *row; /* [rows] tensors of the graph that was sharded: storages' roots */
	uint32_t rows, selected, top;
	int page;
	uint64_t serial; /* of the plan that the rows were made for */
	char filter[100];
	bool stale;
};

/* Draw into the frame's window from its row 0 on; return the rows that they took. The candidates of the search are a
 * list that scrolls. */
int devices_draw_memory(struct frame *frame, const struct model *model);
/* Where there is room to the right of that: the largest storages at the peak, and the device's figures. Returns the
 * width that is left. */
int devices_draw_beside(struct frame *frame, const struct model *model);
/* What was assumed on the way to the plan, from row y on. Returns the next row. */
int devices_draw_notes(struct frame *frame, int y, const struct plan *plan);
int devices_draw_traffic(struct frame *frame, const struct model *model);
void devices_draw_search(struct frame *frame, const struct model *model, uint32_t *top);
/* Every figure of the device: the data sheet's, what is counted with, and why. */
struct figure_rows { uint32_t selected, top; int page; };
void figures_draw(struct frame *frame, struct figure_rows *rows, const struct model *model);
bool figures_command(struct figure_rows *rows, const struct model *model, enum command_id command);
void figures_click(struct figure_rows *rows, const struct model *model, int y);
/* The same as a list in a rectangle that is FIGURES_WIDE wide or more; what doesn't fit is left out. */
#define FIGURES_WIDE 59
void figures_draw_list(struct frame *frame, struct rect rect, const struct model *model);
/* The devices by node, coloured by how full they are; device: under the cursor. */
void mesh_draw(struct frame *frame, uint32_t *device, const struct model *model);
bool mesh_command(uint32_t *device, const struct model *model, enum command_id command);
/* The list fills the window; below it stands why the tensor under the cursor lies as it does. */
void places_draw(struct frame *frame, struct place_list *list, struct model *model);
/* False where the list doesn't know the command. */
bool places_command(struct place_list *list, struct model *model, enum command_id command);
void places_free(struct place_list *list);

/* All configurations of the step on its devices. */
struct config_rows {
	uint64_t of;          /* serial of the list for which the rows were made; 0: none */
	struct config chosen; /* the selected one, which stays so when the list is ranked anew */
	uint32_t *row;        /* [rows] entries that contain the filter */
	uint32_t rows, selected, top;
	int page, first_row; /* of the rows when they were drawn last */
	char filter[100];
};
void configs_click(struct config_rows *list, int y);
void configs_draw(struct frame *frame, struct config_rows *list, const struct model *model);
bool configs_command(struct config_rows *list, struct model *model, enum command_id command);
void configs_free(struct config_rows *list);

/* Changes that make the step fit. */
struct way_rows { uint32_t selected, top; int page; };
void ways_click(struct way_rows *rows, const struct model *model, int y);
void ways_draw(struct frame *frame, struct way_rows *rows, const struct model *model);
bool ways_command(struct way_rows *rows, struct model *model, enum command_id command);

/* The plan against the baseline, op by op. */
struct change_list {
	struct plan_change *row; /* [rows] in the arena */
	uint32_t rows, top;
	int page;
	uint64_t plan, baseline; /* serials that the rows were made for */
	struct arena arena;
};
void changes_draw(struct frame *frame, struct change_list *list, const struct model *model);
void changes_free(struct change_list *list);

/* "1.25 ms", "31 us". Returns text. */
char *time_text(int64_t picoseconds, char *text, size_t size);
