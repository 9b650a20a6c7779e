/* map.c: where every storage and workspace lies: addresses upwards, the order to the right.
 *
 * Each half of a cell (a whole one in ASCII and without colours) shows what covers most of its
 * bytes x ops, and nothing where most of it is free. The grid is kept until plan, zoom or size change. */
#include "view.h"
#include "src/plan/verdict.h"

/* map_marks: what helps to read the address map: shades that tell neighbours apart, names inside rectangles, and a
 * legend. */

/* What covers most of a place: an item of the layout, or NONE where most is free. */
struct tile {
	uint32_t owner;
	double most, used; /* area of the owner, of all */
};
/* The tiles of a map: [rows * columns], row 0 at the top. halves: two rows to a cell. */
struct tiles {
	struct tile *tile;
	int rows, columns;
	bool halves;
};

enum { NAMES_MOST = 200, NAME_LEAST = 5 };

static uint32_t owner_at(const struct tiles *tiles, int y, int x)
{
	return y < 0 || x < 0 ? NONE : tiles->tile[y * tiles->columns + x].owner;
}

/* Whether an item has the kind of another one beside it, which has been met before it, and its shade. */
static bool clashes(const struct plan *plan, const uint8_t *shade, uint32_t item, uint32_t other)
{
	return other != NONE && other != item && item_kind(plan, other) == item_kind(plan, item)
		&& shade[other] == shade[item];
}

/* Shades (0 or 1) of the items: where two of a kind touch, the one that is met first from the upper left keeps its own
 * and the other takes the other one. shade: [items], to be freed with mem_free(); NULL when out of memory. O(tiles +
 * items). */
static uint8_t *map_shades(const struct tiles *tiles, const struct plan *plan)
{
	uint8_t *shade = mem_alloc((size_t)plan->laid_out->items + 1, 2 * sizeof *shade);
	if (!shade)
		return NULL;
	uint8_t *met = shade + plan->laid_out->items;
	FOR(s, plan->laid_out->items)
		shade[s] = hash_mix(s) & 1;
	FOR_INT(y, tiles->rows)
		FOR_INT(x, tiles->columns) {
			uint32_t item = owner_at(tiles, y, x);
			if (item == NONE || met[item])
				continue;
			met[item] = 1;
			shade[item] ^= clashes(plan, shade, item, owner_at(tiles, y - 1, x))
				|| clashes(plan, shade, item, owner_at(tiles, y, x - 1));
		}
	return shade;
}

/* ---- names ---- */

struct room { uint32_t item; int x, y, width; };

/* The item that fills a whole cell, or NONE. */
static uint32_t owner_of_cell(const struct tiles *tiles, int y, int x)
{
	uint32_t owner = owner_at(tiles, tiles->halves ? 2 * y : y, x);
	return !tiles->halves || owner == owner_at(tiles, 2 * y + 1, x) ? owner : NONE;
}

/* Keeps the widest room of an item. */
static void keep_room(struct room *room, int *rooms, struct room found)
{
	int i = 0;
	while (i < *rooms && room[i].item != found.item)
		i++;
	if (i == NAMES_MOST)
		return;
	if (i == *rooms)
		room[(*rooms)++] = found;
	else if (found.width > room[i].width)
		room[i] = found;
}

static int find_rooms(const struct tiles *tiles, int cursor, struct room room[NAMES_MOST])
{
	int rooms = 0, rows = tiles->halves ? tiles->rows / 2 : tiles->rows;
	FOR_INT(y, rows)
		for (int x = 0, from = 0; x <= tiles->columns; x++) {
			uint32_t before = x > 0 ? owner_of_cell(tiles, y, from) : NONE;
			bool ends = x == tiles->columns || x == cursor || from == cursor || owner_of_cell(tiles, y, x) != before;
			if (!ends)
				continue;
			if (x - from >= NAME_LEAST && before != NONE && from != cursor)
				keep_room(room, &rooms, (struct room){ before, from, y, x - from });
			from = x;
		}
	return rooms;
}

/* Writes names where an item has room for them on a row of cells; ground: the role of an item's cells. */
static void map_names_draw(struct frame *frame, const struct tiles *tiles, int left, int cursor,
	const struct plan *plan, enum role (*ground)(const void *context, uint32_t item), const void *context)
{
	struct room room[NAMES_MOST];
	int rooms = find_rooms(tiles, cursor, room);
	FOR_INT(i, rooms) {
		const char *name = item_name(plan, room[i].item);
		int cells = text_cells(name), x = left + room[i].x;
		enum role role = ground(context, room[i].item);
		if (cells + 2 > room[i].width || role == ROLE_CURSOR)
			continue;
		x += (room[i].width - cells - 2) / 2;
		/* On the terminal's own ground: not every colour leaves a text legible. */
		frame_blank(frame, (struct rect){ x, room[i].y, cells + 2, 1 });
		frame_text(frame, x + 1, room[i].y, cells, frame->mono ? ROLE_TEXT : role, name);
	}
}

/* ---- legend ---- */

/* The categories on the map, each with its colour or letter. */
static void map_legend_draw(struct frame *frame, int y, const struct tiles *tiles, const struct plan *plan)
{
	bool there[CATEGORIES] = { false };
	int x = 0, width = frame->window.width;
	FOR_INT(i, tiles->rows * tiles->columns)
		if (tiles->tile[i].owner != NONE)
			there[item_kind(plan, tiles->tile[i].owner)] = true;
	FOR_INT(kind, CATEGORIES) {
		int cells = text_cells(category_names[kind]) + 4;
		if (!there[kind] || x + cells > width)
			continue;
		frame_cell(frame, x, y, frame->mono ? (uint32_t)category_letters[kind] : ' ', ROLE_TEXT,
			frame->mono ? ROLE_TEXT : role_of_category(kind, 0));
		frame_text(frame, x + 2, y, width, ROLE_FAINT, category_names[kind]);
		x += cells;
	}
}

struct map {
	int64_t low, high; /* the addresses shown; high 0: the whole arena */
	bool persistent_hidden;
	struct tiles grid;
	uint8_t *shade;       /* [items of the layout] */
	int left, width;      /* of the plot, when it was drawn last */
	uint64_t key;         /* fingerprint of everything the grid depends on */
};

enum { LABELS = 9, LABELS_FROM = 44, INFO_ROWS = 4, NEIGHBOURS_FROM = 14, LEGEND_FROM = 18 };

static void map_free(void *state)
{
	struct map *map = state;
	mem_free(map->grid.tile);
	mem_free(map->shade);
	map->grid.tile = NULL;
	map->shade = NULL;
}

/* ---- addresses ---- */

static bool map_shown(const struct map *map, const struct plan *plan, uint32_t item)
{
	bool persistent = item < plan->graph->storages && plan->graph->storage[item].persistent;
	return plan->laid_out->first[item] != NONE && !(map->persistent_hidden && persistent);
}

/* The lowest address of what is not hidden. */
static int64_t map_lowest(const struct map *map, const struct model *model)
{
	FOR(i, model->index->present)
		if (map_shown(map, model->plan, model->index->by_offset[i]))
			return model->plan->laid_out->offset[model->index->by_offset[i]];
	return 0;
}

static void range(const struct map *map, const struct model *model, int64_t *low, int64_t *high)
{
	*low = map->high > 0 ? map->low : map->persistent_hidden ? map_lowest(map, model) : 0;
	*high = map->high > 0 ? map->high : plan_arena(model->plan);
	if (*high <= *low)
		*high = *low + 1;
}

static void zoom_address(struct map *map, const struct model *model, bool in)
{
	const struct plan *plan = model->plan;
	int64_t low, high;
	range(map, model, &low, &high);
	int64_t half = in ? (high - low) / 4 : high - low, middle = low + (high - low) / 2;
	if (model->storage < plan->graph->storages && plan->laid_out->first[model->storage] != NONE)
		middle = plan->laid_out->offset[model->storage] + plan->laid_out->bytes[model->storage] / 2;
	if (half < 1)
		half = 1;
	low = middle > half ? middle - half : 0;
	high = low + 2 * half;
	if (high >= plan_arena(plan)) {
		high = plan_arena(plan);
		low = high > 2 * half ? high - 2 * half : 0;
	}
	bool whole = low == 0 && high == plan_arena(plan);
	map->low = whole ? 0 : low;
	map->high = whole ? 0 : high;
}

/* ---- the grid ---- */

static double map_overlap(double a_low, double a_high, double b_low, double b_high)
{
	double low = LARGER(a_low, b_low), high = SMALLER(a_high, b_high);
	return high > low ? high - low : 0;
}

/* Adds one item's area to the tiles that it touches; coordinates in tiles. */
static void map_paint(struct map *map, uint32_t item, double left, double right, double bottom, double top)
{
	left = LARGER(0, left);
	right = SMALLER(map->grid.columns, right);
	bottom = LARGER(0, bottom);
	top = SMALLER(map->grid.rows, top);
	for (int y = (int)bottom; y < top; y++) {
		double height = map_overlap(y, y + 1, bottom, top);
		struct tile *row = &map->grid.tile[(size_t)(map->grid.rows - 1 - y) * (size_t)map->grid.columns];
		for (int x = (int)left; x < right; x++) {
			double area = height * map_overlap(x, x + 1, left, right);
			row[x].used += area;
			if (area > row[x].most) {
				row[x].most = area;
				row[x].owner = item;
			}
		}
	}
}

static void paint_all(struct map *map, const struct model *model, int64_t low, int64_t high)
{
	const struct plan *plan = model->plan;
	double per_column = (double)model->zoom_count / map->grid.columns, per_row = (double)(high - low) / map->grid.rows;
	uint32_t end = model->zoom_first + model->zoom_count;
	FOR(i, model->index->present) {
		uint32_t item = model->index->by_bytes[i];
		int64_t offset = plan->laid_out->offset[item];
		bool outside = plan->laid_out->first[item] >= end || plan->laid_out->last[item] < model->zoom_first
			|| offset >= high ||
			       offset + plan->laid_out->bytes[item] <= low;
		if (outside || !map_shown(map, plan, item))
			continue;
		map_paint(map, item, ((double)plan->laid_out->first[item] - model->zoom_first) / per_column,
		      ((double)plan->laid_out->last[item] + 1 - model->zoom_first) / per_column,
			(double)(offset - low) / per_row,
		      (double)(offset + plan->laid_out->bytes[item] - low) / per_row);
	}
	FOR_INT(i, map->grid.rows * map->grid.columns)
		if (map->grid.tile[i].used < 0.5)
			map->grid.tile[i].owner = NONE;
}

static bool build_grid(struct map *map, const struct model *model, int height, int width, bool halves)
{
	int rows = halves ? 2 * height : height;
	int64_t low, high;
	range(map, model, &low, &high);
	const uint64_t parts[] = { model->plan->serial, model->zoom_first, model->zoom_count, (uint64_t)low, (uint64_t)high,
				   map->persistent_hidden, (uint64_t)rows, (uint64_t)width };
	uint64_t key = 1;
	FOR(i, COUNT_OF(parts))
		key = hash_join(key, parts[i]);
	if (map->grid.tile && map->key == key)
		return true;
	map_free(map);
	MAKE(map->grid.tile, (size_t)rows * (size_t)width);
	if (!map->grid.tile)
		return false;
	FOR_INT(i, rows * width)
		map->grid.tile[i].owner = NONE;
	map->grid.halves = halves;
	map->grid.rows = rows;
	map->grid.columns = width;
	map->key = key;
	paint_all(map, model, low, high);
	map->shade = map_shades(&map->grid, model->plan);
	return map->shade;
}

/* ---- drawing ---- */

static bool is_selected(const struct model *model, uint32_t item)
{
	return item == model->storage && item < model->plan->graph->storages;
}

static enum role tile_role(const struct map *map, const struct model *model, uint32_t item)
{
	if (item == NONE)
		return ROLE_TEXT;
	return is_selected(model, item) ? ROLE_CURSOR : role_of_category(item_kind(model->plan, item), map->shade[item]);
}

static void map_draw_letter(struct frame *frame, int x, int y, const struct map *map, const struct model *model,
	uint32_t item)
{
	if (item == NONE)
		return;
	uint32_t letter = (uint32_t)category_letters[item_kind(model->plan, item)];
	if (map->shade[item])
		letter -= 'a' - 'A';
	frame_cell(frame, x, y, letter, tile_role(map, model, item), ROLE_TEXT);
	if (is_selected(model, item))
		frame_mark(frame, (struct rect){ x, y, 1, 1 }, MARK_REVERSE);
}

/* The cursor's storage is in the foreground, because the terminal's own colour can't be a ground. */
static void draw_halves(
	struct frame *frame, int x, int y, const struct map *map, const struct model *model, uint32_t upper, uint32_t lower)
{
	enum role up = tile_role(map, model, upper), low = tile_role(map, model, lower);
	if (up == low)
		frame_cell(frame, x, y, low == ROLE_TEXT ? ' ' : low == ROLE_CURSOR ? frame_code(frame, GLYPH_FULL) : ' ', low,
			   low == ROLE_CURSOR ? ROLE_TEXT : low);
	else if (low == ROLE_TEXT || up == ROLE_CURSOR)
		frame_cell(frame, x, y, frame_code(frame, GLYPH_UPPER), up, low);
	else
		frame_cell(frame, x, y, frame_code(frame, GLYPH_LOWER), low, up);
}

/* For names: on which ground an item's cells are. */
struct shown_as { const struct map *map; const struct model *model; };

static enum role ground_of(const void *context, uint32_t item)
{
	const struct shown_as *as = context;
	return tile_role(as->map, as->model, item);
}

static void draw_tiles(struct frame *frame, const struct map *map, const struct model *model, int left, int height)
{
	bool halves = map->grid.halves;
	FOR_INT(y, height)
		FOR_INT(x, map->grid.columns) {
			const struct tile *tile = &map->grid.tile[(halves ? 2 * y : y) * map->grid.columns + x];
			if (halves)
				draw_halves(frame, left + x, y, map, model, tile->owner, tile[map->grid.columns].owner);
			else if (frame->mono)
				map_draw_letter(frame, left + x, y, map, model, tile->owner);
			else
				draw_halves(frame, left + x, y, map, model, tile->owner, tile->owner);
		}
	int cursor = model_column_of(model, model_position(model), map->grid.columns);
	map_names_draw(frame, &map->grid, left, cursor, model->plan, ground_of, &(struct shown_as){ map, model });
	FOR_INT(y, height) {
		const struct tile *tile = &map->grid.tile[(halves ? 2 * y + 1 : y) * map->grid.columns + cursor];
		enum role ground = tile_role(map, model, tile->owner);
		if (ground != ROLE_CURSOR)
			frame_cell(frame, left + cursor, y, frame_code(frame, GLYPH_VERTICAL), ROLE_CURSOR, ground);
	}
}

static void map_draw_axis(struct frame *frame, const struct model *model, int left, int y, int width)
{
	frame_repeat(frame, left, y, width, GLYPH_HORIZONTAL, ROLE_LINE);
	int peak = model_column_of(model, model->plan->ordered->peak_position, width);
	if (peak >= 0 && peak < width)
		frame_glyph(frame, left + peak, y, GLYPH_PEAK, ROLE_PEAK);
	uint32_t to, first = view_span(model, &to);
	int from = model_column_of(model, first, width), end = model_column_of(model, to, width) + 1;
	from = LARGER(0, from);
	frame_mark(frame, (struct rect){ left + from, y, SMALLER(end, width) - from, 1 }, MARK_REVERSE);
}

/* Name, bytes, address and life of the selected storage; the name gives way to the numbers. */
static void draw_selected(struct frame *frame, int y, const struct model *model)
{
	const struct plan *plan = model->plan;
	uint32_t storage = model->storage;
	int width = frame->window.width;
	if (storage >= plan->graph->storages || plan->laid_out->first[storage] == NONE)
		return;
	char text[160];
	PRINT_TO(text, "%s at %s, ops %u..%u", BYTES(plan->laid_out->bytes[storage]),
		BYTES(plan->laid_out->offset[storage]), plan->laid_out->first[storage],
		plan->laid_out->last[storage]);
	int room = width - text_cells(text) - 2;
	int x = room >= 5 ? frame_name(frame, 0, y, room, item_role(plan, storage), storage_name(plan, storage)) + 2 : 0;
	frame_text(frame, x, y, width - x, ROLE_TEXT, text);
}

/* One side of the selected storage: "below 12 MiB free, then left.out". */
struct flank {
	char text[64];
	const char *name;
	enum role role, of_name;
	int cells;
};

static struct flank flank_of(const struct model *model, bool above, uint32_t item, int64_t hole)
{
	struct flank flank = { .role = hole > 0 ? ROLE_WARN : ROLE_LABEL,
		.of_name = ROLE_FAINT,
		.name = above ? "the arena's end" : "address 0" };
	PRINT_TO(flank.text, hole > 0 ? "%s %s free, then " : "%s ", above ? "above" : "below",
		BYTES(hole));
	if (item != NONE) {
		flank.of_name = item_role(model->plan, item);
		flank.name = item_name(model->plan, item);
	}
	flank.cells = text_cells(flank.text) + text_cells(flank.name);
	return flank;
}

/* Returns the column behind it. */
static int draw_flank(struct frame *frame, int x, int y, int end, const struct flank *flank)
{
	x += frame_text(frame, x, y, end - x, flank->role, flank->text);
	return x + frame_name(frame, x, y, end - x, flank->of_name, flank->name);
}

/* What lies next to the selected storage at the cursor's op, or at the nearest op at which it is alive. */
static void map_draw_neighbours(struct frame *frame, int y, const struct model *model)
{
	const struct plan *plan = model->plan;
	uint32_t storage = model->storage, position = model_position(model);
	int width = frame->window.width;
	if (storage >= plan->graph->storages || plan->laid_out->first[storage] == NONE)
		return;
	uint32_t first = plan->laid_out->first[storage], last = plan->laid_out->last[storage];
	position = position < first ? first : position > last ? last : position;
	struct neighbours next = plan_neighbours(model->index, storage, position);
	struct flank above = flank_of(model, true, next.above, next.hole_above),
				 below = flank_of(model, false, next.below, next.hole_below);
	int kept = below.cells < width / 2 ? below.cells + 2 : width / 2 + 1;
	draw_flank(frame, draw_flank(frame, 0, y, width - kept, &above) + 2, y, width, &below);
}

/* The holes at the cursor's op, and how far the arena is from the peak. */
static void map_draw_info(struct frame *frame, int y, const struct model *model)
{
	const struct plan *plan = model->plan;
	uint32_t position = model_position(model);
	struct holes holes = plan_holes(model->index, position);
	int x = 0, width = frame->window.width;
	frame_part(frame, &x, y, width, ROLE_TEXT,
		"op %u: %s live", position, BYTES(plan->ordered->live[position]));
	frame_part(frame, &x, y, width, ROLE_TEXT,
		"%u hole%s, %s", holes.count, holes.count == 1 ? "" : "s", BYTES(holes.total));
	if (holes.count > 0)
		frame_part(frame, &x, y, width, ROLE_TEXT,
			"largest %s at %s", BYTES(holes.largest), BYTES(holes.largest_offset));
	if (x > 0)
		view_source(frame, x + 2, y, width - x - 2, &plan->graph->op[model->op]);
	x = 0;
	frame_part(frame, &x, y + 1, width, ROLE_TEXT, "arena %s", BYTES(plan_arena(plan)));
	double fragmentation = plan_peak(plan) > 0
		? 100.0 * (double)(plan_arena(plan) - plan_peak(plan)) / (double)plan_peak(plan)
		: 0;
	frame_part(frame, &x, y + 1, width, ROLE_TEXT, "%s %.2f %%", width >= 56 ? "fragmentation" : "frag.", fragmentation);
	frame_part(frame, &x, y + 1, width, ROLE_FAINT, "needs %s", BYTES(plan_verdict(plan).needed));
}

/* The map and the lines below it, in the frame's window. */
static void map_draw_plot(struct map *map, const struct model *model, struct frame *frame)
{
	int left = frame->window.width >= LABELS_FROM ? LABELS : 0;
	bool neighbours = frame->window.height >= NEIGHBOURS_FROM, legend = frame->window.height >= LEGEND_FROM;
	int width = frame->window.width - left, height = frame->window.height - INFO_ROWS - neighbours - legend;
	if (height < 1 || width < 1 || model->plan->graph->ops == 0)
		return;
	if (!build_grid(map, model, height, width, !(frame->mono || frame->ascii))) {
		frame_text(frame, 0, 0, frame->window.width, ROLE_BAD, status_text(NO_MEMORY));
		return;
	}
	draw_tiles(frame, map, model, left, height);
	int64_t low, high;
	range(map, model, &low, &high);
	if (left) {
		frame_bytes(frame, left - 1, 0, ROLE_FAINT, high);
		frame_bytes(frame, left - 1, height - 1, ROLE_FAINT, low);
		if (height >= 5)
			frame_bytes(frame, left - 1, height / 2, ROLE_FAINT, low + (high - low) / 2);
	}
	map->left = left;
	map->width = width;
	map_draw_axis(frame, model, left, height, width);
	if (legend)
		map_legend_draw(frame, height + 1, &map->grid, model->plan);
	draw_selected(frame, height + 1 + legend, model);
	if (neighbours)
		map_draw_neighbours(frame, height + 2 + legend, model);
	if (model->span)
		view_draw_span(frame, height + 2 + legend + neighbours, model);
	else
		map_draw_info(frame, height + 2 + legend + neighbours, model);
}

static void map_draw(void *state, struct model *model, struct frame *frame)
{
	map_draw_plot(state, model, frame);
}

/* ---- commands ---- */

/* The next storage alive at the cursor above (1) or below (-1) the selected one. */
static void select_next(const struct map *map, struct model *model, int direction)
{
	const struct plan_index *index = model->index;
	uint32_t position = model_position(model), n = index->present, at = NONE;
	for (uint32_t i = 0; i < n && at == NONE; i++)
		if (index->by_offset[i] == model->storage)
			at = i;
	int64_t i = at == NONE ? (direction > 0 ? -1 : (int64_t)n) : at;
	for (i += direction; i >= 0 && i < n; i += direction)
		if (index->by_offset[i] < model->plan->graph->storages && alive_at(model->plan, index->by_offset[i], position)
			&& map_shown(map, model->plan, index->by_offset[i])) {
			model->storage = index->by_offset[i];
			return;
		}
}

static void map_click(const struct map *map, struct model *model)
{
	uint32_t first, last;
	int x = model->click_x - map->left;
	if (x < 0 || x >= map->width || map->width < 1)
		return;
	model_column(model, x, map->width, &first, &last);
	model_go(model, plan_highest(model->plan, first, last));
}

static bool map_command(void *state, struct model *model, enum command_id command)
{
	struct map *map = state;
	switch (command) {
	case COMMAND_CLICK: map_click(map, model); break;
	case COMMAND_UP: select_next(map, model, 1); break;
	case COMMAND_DOWN: select_next(map, model, -1); break;
	case COMMAND_ZOOM_IN_ADDRESS: zoom_address(map, model, true); break;
	case COMMAND_ZOOM_OUT_ADDRESS: zoom_address(map, model, false); break;
	case COMMAND_BACKGROUND:
		map->persistent_hidden = !map->persistent_hidden;
		map->high = 0;
		break;
	case COMMAND_ACTIVATE:
		if (model->storage < model->plan->graph->storages)
			view_request(model, false, "view tensors");
		break;
	default:
		return view_command(model, command);
	}
	return true;
}

const struct view_ops view_map = { "Map", IN_MAP, sizeof(struct map), map_draw, map_command, map_free, NULL };
