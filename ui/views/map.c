/* map.c: where every storage and workspace lies: addresses upwards, the order to the right; and a game of laying them.
 *
 * Each half of a cell (a whole one in ASCII and without colours) shows what covers most of its
 * bytes x ops, and nothing where most of it is free. The grid is kept until plan, zoom or size change. */
#include "view.h"

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

/* The user lays what comes and goes, in the order in which it is made, against the plan's arena. */
enum { PACKED_MOST = 80 };
struct packing {
	bool on;
	uint64_t serial; /* of the plan */
	uint32_t item[PACKED_MOST], items, laid;
	int64_t *offset; /* [items of the layout] and where each lies so far */
	uint32_t *first; /* [items of the layout] NONE: not laid yet */
	int64_t place[PACKED_MOST + 1]; /* where the next one fits, lowest first */
	int places, chosen;
	uint32_t lost; /* how many lay when the goal was out of reach for the first time; 0: it isn't */
};

struct map {
	struct packing packing;
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

static void packing_end(struct packing *packing)
{
	mem_free(packing->offset);
	mem_free(packing->first);
	*packing = (struct packing){ 0 };
}

static void map_close(void *state)
{
	struct map *map = state;
	map_free(map);
	packing_end(&map->packing);
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
	frame_rest(frame, x, y, ROLE_TEXT, text);
}

/* One side of the selected storage: "below 12 MiB free, then left.out". Returns text. */
static char *map_flank(const struct model *model, bool above, uint32_t item, int64_t hole, char *text, size_t size)
{
	return printed(text, size, "%s %s%s%s", above ? "above" : "below", hole > 0 ? BYTES(hole) : "",
		hole > 0 ? " free, then " : "",
		item != NONE ? item_name(model->plan, item) : above ? "the arena's end" : "address 0");
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
	char text[200];
	map_flank(model, true, next.above, next.hole_above, text, sizeof text);
	int x = frame_name(frame, 0, y, width / 2 - 1, next.hole_above > 0 ? ROLE_WARN : ROLE_LABEL, text) + 2;
	map_flank(model, false, next.below, next.hole_below, text, sizeof text);
	frame_name(frame, x, y, width - x, next.hole_below > 0 ? ROLE_WARN : ROLE_LABEL, text);
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

/* Boxes, addresses beside them, and the axis below. False where there is no room. */
static bool map_draw_area(struct map *map, const struct model *model, struct frame *frame, int height)
{
	int left = frame->window.width >= LABELS_FROM ? LABELS : 0, width = frame->window.width - left;
	if (height < 1 || width < 1 || model->plan->graph->ops == 0)
		return false;
	if (!build_grid(map, model, height, width, !(frame->mono || frame->ascii))) {
		frame_no_memory(frame);
		return false;
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
	return true;
}

/* The map and the lines below it, in the frame's window. */
static void map_draw_plot(struct map *map, const struct model *model, struct frame *frame)
{
	bool neighbours = frame->window.height >= NEIGHBOURS_FROM, legend = frame->window.height >= LEGEND_FROM;
	int height = frame->window.height - INFO_ROWS - neighbours - legend;
	if (!map_draw_area(map, model, frame, height))
		return;
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

static bool packing_meets(const struct laid_out *laid_out, uint32_t a, uint32_t b)
{
	return laid_out->first[a] <= laid_out->last[b] && laid_out->first[b] <= laid_out->last[a];
}

static int64_t packing_top(const struct packing *packing, const struct laid_out *laid_out)
{
	int64_t top = 0;
	FOR(i, laid_out->items)
		top = packing->first[i] == NONE ? top : LARGER(top, packing->offset[i] + laid_out->bytes[i]);
	return top;
}

/* Whether an item fits at an offset beside what lies. */
static bool packing_fits(const struct packing *packing, const struct laid_out *laid_out, uint32_t item, int64_t offset)
{
	FOR(i, laid_out->items)
		if (packing->first[i] != NONE && packing_meets(laid_out, i, item) &&
			packing->offset[i] < offset + laid_out->bytes[item] && offset < packing->offset[i] + laid_out->bytes[i])
			return false;
	return true;
}

/* The ends of what lies, and 0, where the next one fits, lowest first. */
static void packing_look(struct packing *packing, const struct laid_out *laid_out)
{
	packing->places = packing->chosen = 0;
	if (packing->laid == packing->items)
		return;
	uint32_t item = packing->item[packing->laid];
	for (int64_t at = 0; at >= 0 && packing->places <= PACKED_MOST; ) {
		int64_t next = -1;
		if (packing_fits(packing, laid_out, item, at))
			packing->place[packing->places++] = at;
		FOR(i, laid_out->items) {
			int64_t end = packing->first[i] == NONE ? -1 : packing->offset[i] + laid_out->bytes[i];
			if (end > at && (next < 0 || end < next) && packing_meets(laid_out, i, item))
				next = end;
		}
		at = next;
	}
}

static void packing_begin(struct packing *packing, struct model *model)
{
	const struct plan *plan = model->plan;
	const struct laid_out *laid_out = plan->laid_out;
	packing_end(packing);
	MAKE(packing->offset, laid_out->items + 1);
	MAKE(packing->first, laid_out->items + 1);
	if (!packing->offset || !packing->first) {
		packing_end(packing);
		return;
	}
	int64_t base = 0;
	uint32_t many = 0;
	FOR(i, laid_out->items) {
		bool stays = i < plan->graph->storages && plan->graph->storage[i].persistent && laid_out->first[i] != NONE;
		many += laid_out->first[i] != NONE && !stays;
		packing->first[i] = stays ? laid_out->first[i] : NONE;
		packing->offset[i] = stays ? base : -1;
		base += stays ? laid_out->bytes[i] : 0;
	}
	if (many == 0 || many > PACKED_MOST) {
		view_say(model, "at most %d tensors are laid by hand", PACKED_MOST);
		packing_end(packing);
		return;
	}
	FOR(position, plan->graph->ops)
		FOR(i, laid_out->items)
			if (laid_out->first[i] == position && packing->first[i] == NONE)
				packing->item[packing->items++] = i;
	packing->on = true;
	packing->serial = plan->serial;
	packing_look(packing, laid_out);
	view_say(model, "arrows choose a place, Enter lays it, u takes it up, i helps, y ends");
}

static bool packing_played(const struct map *map, const struct model *model)
{
	return map->packing.on && model->plan && map->packing.serial == model->plan->serial;
}

/* The plan with what lies, and the next one where it would. */
static void packing_draw(struct map *map, const struct model *model, struct frame *frame)
{
	struct packing *packing = &map->packing;
	const struct laid_out *plans = model->plan->laid_out;
	struct laid_out laid_out = *plans;
	struct plan plan = *model->plan;
	struct model shown = *model;
	bool ended = packing->laid == packing->items;
	uint32_t item = ended ? NONE : packing->item[packing->laid];
	int64_t top = packing_top(packing, plans), goal = plan_arena(model->plan);
	int width = frame->window.width, height = frame->window.height, x = 0;
	frame_part(frame, &x, 0, width, ROLE_LABEL, "%u of %u laid", packing->laid, packing->items);
	frame_part(frame, &x, 0, width, top > goal ? ROLE_WARN : ROLE_TITLE, "yours %s", BYTES(top));
	frame_part(frame, &x, 0, width, ROLE_TEXT, "goal %s", BYTES(goal));
	if (packing->lost)
		frame_part(frame, &x, 0, width, ROLE_WARN, "lost at %s", item_name(&plan, packing->item[packing->lost - 1]));
	if (item != NONE) {
		packing->first[item] = plans->first[item];
		packing->offset[item] = packing->place[packing->chosen];
		top = packing_top(packing, plans);
		shown.storage = item;
	}
	laid_out.first = packing->first;
	laid_out.offset = packing->offset;
	laid_out.layout.arena = LARGER(top, goal);
	plan.laid_out = &laid_out;
	plan.serial = hash_join(hash_join(plan.serial, packing->laid), (uint64_t)packing->chosen + 1);
	shown.plan = &plan;
	frame_window(frame, (struct rect){ frame->window.x, frame->window.y + 1, width, height - 1 });
	map_draw_area(map, &shown, frame, height - 3);
	if (item != NONE) {
		packing->first[item] = NONE;
		frame_print(frame, 0, height - 2, top > goal ? ROLE_WARN : ROLE_TEXT, "%s, %s, ops %u to %u: place %d of %d, at %s%s",
			item_name(&plan, item), BYTES(plans->bytes[item]), plans->first[item], plans->last[item], packing->chosen + 1,
			packing->places, BYTES(packing->place[packing->chosen]), top > goal ? ", above the goal" : "");
	} else
		frame_rest(frame, 0, height - 2, top > goal ? ROLE_WARN : ROLE_GOOD,
			top > goal ? "all is laid: u takes one up" : "all is laid, as low as the plan");
}

static bool packing_command(struct map *map, struct model *model, enum command_id command)
{
	struct packing *packing = &map->packing;
	const struct laid_out *laid_out = model->plan->laid_out;
	bool ended = packing->laid == packing->items;
	uint32_t item = packing->item[ended ? packing->laid - 1 : packing->laid];
	switch (command) {
	case COMMAND_END:
	case COMMAND_CHALLENGE: packing_end(packing); break;
	case COMMAND_UP: packing->chosen += packing->chosen + 1 < packing->places; break;
	case COMMAND_DOWN: packing->chosen -= packing->chosen > 0; break;
	case COMMAND_HINT: view_say(model, "the plan has %s at %s", item_name(model->plan, item),
			BYTES(laid_out->offset[item])); break;
	case COMMAND_ACTIVATE:
		if (ended)
			return true;
		packing->offset[item] = packing->place[packing->chosen];
		packing->first[item] = laid_out->first[item];
		packing->laid++;
		if (!packing->lost && packing_top(packing, laid_out) > plan_arena(model->plan))
			packing->lost = packing->laid;
		packing_look(packing, laid_out);
		break;
	case COMMAND_UNDO:
		if (packing->laid == 0)
			return true;
		packing->first[packing->item[--packing->laid]] = NONE;
		packing->lost = packing->lost > packing->laid ? 0 : packing->lost;
		packing_look(packing, laid_out);
		break;
	default: return view_command(model, command);
	}
	return true;
}

static void map_draw(void *state, struct model *model, struct frame *frame)
{
	struct map *map = state;
	if (packing_played(map, model))
		packing_draw(map, model, frame);
	else
		map_draw_plot(map, model, frame);
}

/* ---- commands ---- */

/* The next storage alive at the cursor above (1) or below (-1) the selected one. */
static void select_next(const struct map *map, struct model *model, int direction)
{
	const struct plan_index *index = model->index;
	uint32_t position = model_position(model), n = index->present, at = NONE;
	FOR_WHILE(i, n, at == NONE)
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
	if (packing_played(map, model))
		return packing_command(map, model, command);
	switch (command) {
	case COMMAND_CHALLENGE: packing_begin(&map->packing, model); break;
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

static enum context map_context(const void *state, const struct model *model)
{
	return packing_played(state, model) ? IN_CHALLENGE : IN_MAP;
}

const struct view_ops view_map = { "Map", IN_MAP, sizeof(struct map), map_draw, map_command, map_close, map_context };
