/* map_marks.c: shades, names and the legend of the address map. */
#include "map_marks.h"

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

uint8_t *map_shades(const struct tiles *tiles, const struct plan *plan)
{
	uint8_t *shade = mem_alloc((size_t)plan->laid_out->items + 1, 2 * sizeof *shade);
	if (!shade)
		return NULL;
	uint8_t *met = shade + plan->laid_out->items;
	for (uint32_t s = 0; s < plan->laid_out->items; s++)
		shade[s] = hash_mix(s) & 1;
	for (int y = 0; y < tiles->rows; y++)
		for (int x = 0; x < tiles->columns; x++) {
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
	for (int y = 0; y < rows; y++)
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

void map_names_draw(struct frame *frame, const struct tiles *tiles, int left, int cursor, const struct plan *plan,
	enum role (*ground)(const void *context, uint32_t item),
	const void *context)
{
	struct room room[NAMES_MOST];
	int rooms = find_rooms(tiles, cursor, room);
	for (int i = 0; i < rooms; i++) {
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

void map_legend_draw(struct frame *frame, int y, const struct tiles *tiles, const struct plan *plan)
{
	bool there[CATEGORIES] = { false };
	int x = 0, width = frame->window.width;
	for (int i = 0; i < tiles->rows * tiles->columns; i++)
		if (tiles->tile[i].owner != NONE)
			there[item_kind(plan, tiles->tile[i].owner)] = true;
	for (int kind = 0; kind < CATEGORIES; kind++) {
		int cells = text_cells(category_names[kind]) + 4;
		if (!there[kind] || x + cells > width)
			continue;
		frame_cell(frame, x, y, frame->mono ? (uint32_t)category_letters[kind] : ' ', ROLE_TEXT,
			frame->mono ? ROLE_TEXT : role_of_category(kind, 0));
		frame_text(frame, x + 2, y, width, ROLE_FAINT, category_names[kind]);
		x += cells;
	}
}
