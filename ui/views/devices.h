/* devices.h: the parts of the Devices view. */
#pragma once

#include "view.h"

#define DEVICE_PARTS(X) X(RANKS, "ranks") X(TRAFFIC, "traffic") X(PLACES, "placements") X(FIGURES, "device")
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

/* "pp 4 x dp 2"; "" where nothing is split. Returns text. */
char *devices_mesh_text(const struct plan *plan, char *text, size_t size);
/* What is sent, from the frame's row 0 on. */
void devices_draw_traffic(struct frame *frame, const struct model *model);
/* Every figure of the device: the data sheet's, what is counted with, and why. */
struct figure_rows { uint32_t selected, top; int page; };
void figures_draw(struct frame *frame, struct figure_rows *rows, const struct model *model);
bool figures_command(struct figure_rows *rows, struct model *model, enum command_id command);
void figures_click(struct figure_rows *rows, const struct model *model, int y);
/* The list fills the window; below it stands why the tensor under the cursor lies as it does. */
void places_draw(struct frame *frame, struct place_list *list, struct model *model);
/* False where the list doesn't know the command. */
bool places_command(struct place_list *list, struct model *model, enum command_id command);
void places_free(struct place_list *list);

/* "1.25 ms", "31 us". Returns text. */
char *time_text(int64_t picoseconds, char *text, size_t size);
#define TIME(picoseconds) time_text(picoseconds, (char[32]){ 0 }, 32)
