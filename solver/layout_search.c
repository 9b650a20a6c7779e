/* layout_search.c: depth-first search over canonical layouts.
 *
 * Every layout can be pushed down until each buffer rests on the ground, on a pinned buffer or on another one. So it
 * can be built by placing buffers in order of offset, ties by rank, each at the lowest place that the ones below
 * leave: its `low`. A node of the search chooses which buffer comes next. After Moffitt, "MiniMalloc: a lightweight memory
 * allocator for hardware-accelerated machine learning" (ASPLOS 2023), whose rules are: canonical order, dominance,
 * section floors, monotone floor, hatless, dynamic decomposition. Ours besides:
 *
 *   pending   a buffer whose low lies before the last placed one can never be placed there; some neighbour that is
 *             still to come must lift it, the lowest possible top of one is a better low for the floors
 *   cut       a candidate above capacity - largest remaining total of a section is not even tried
 *   twins     of equal buffers with equal lives the first comes first
 *   table     what has failed once, the same set with the same lows, fails again
 *
 * Pinned buffers are obstacles that lows step over. The stack is explicit; all state is undone from trails.
 */
#include "layout_search.h"

#define TABLE_BITS 18

/* Undo records. */
struct trail { uint32_t index; int64_t value; };

struct trails {
	struct trail *trail;
	size_t count, room;
};

/* A buffer of a part and its place in the part's order. */
struct entry { uint32_t buffer, rank; };

/* "Nothing with this key can be completed from (offset, rank) on." rank counts within the part only. */
struct failure { uint64_t key; int64_t offset; uint32_t rank, part; };

struct frame {
	uint32_t first, last;      /* sections of the part */
	size_t list;               /* the part's buffers: search->list[list .. list + count), those placed since included */
	uint32_t count;
	uint32_t part;             /* a number for each part that was ever opened */
	int64_t offset;            /* candidates come in order of (offset, rank), from here on */
	uint32_t rank;
	int64_t start_offset;      /* the same when the frame was opened */
	uint32_t start_rank;
	int64_t hole;              /* from here on a candidate would leave a hole that some buffer fits */
	int64_t highest;           /* above this the rest of some section does not fit */
	uint64_t key;
	uint32_t placed;           /* the candidate being tried, NONE: none */
	bool hat;                  /* something unplaced overlaps it */
	size_t lows, floors;       /* trails before it was placed */
	size_t mark;               /* entries in search->list before the frame's own */
	size_t cut;                /* search->cut[cut ..): ends of the parts that it falls into */
	uint32_t parts, next_part;
};

struct layout_search {
	const struct layout_model *model;
	unsigned rules;
	int64_t capacity;
	/* by buffer */
	int64_t *low;
	bool *placed;
	uint32_t *twin;            /* the equal buffer before it, or NONE */
	struct csr neighbours;     /* free buffers that overlap it in time */
	struct csr obstacles;      /* pinned ones, by offset */
	int64_t *lifted;           /* pending: its low once it is lifted */
	uint32_t *pending;         /* stamp: it is pending */
	/* by section */
	struct csr members;        /* free buffers */
	struct csr pinned;         /* pinned buffers */
	int64_t *floor;            /* what is unplaced lies above */
	int64_t *total;            /* unplaced bytes */
	uint32_t *crossing;        /* unplaced buffers that go on into the next section */
	uint32_t *stamp;
	uint32_t clock;            /* of stamps */
	/* the stack */
	struct frame *frame;       /* [n + 3] */
	uint32_t depth;
	struct entry *list;
	size_t list_count, list_room;
	uint32_t *cut;
	size_t cut_count, cut_room;
	struct trails lows, floors;
	struct failure *table;
	uint32_t parts_opened;
	uint64_t salt;             /* tells runs with other capacities apart */
	const char *keys;
	struct sort_key *sort;     /* [n] scratch */
	int64_t *solution;
	uint64_t nodes, work;
	bool no_memory;
	struct arena arena;
};

enum verdict { RUNNING, SOLVED, FAILED };

/* ---- setting up --------------------------------------------------------------------------------------- */

static bool is_free(const struct layout_search *search, uint32_t b)
{
	return search->model->fixed[b] < 0;
}

/* Rows of the free buffers, or of the pinned ones, in each section. */
static enum status list_members(struct layout_search *search, bool pinned, struct csr *members)
{
	const struct layout_model *model = search->model;
	members->start = arena_alloc(&search->arena, (size_t)model->sections + 2, sizeof *members->start);
	if (!members->start)
		return NO_MEMORY;
	uint64_t sum = 0;
	for (int pass = 0; pass < 2; pass++) {
		for (uint32_t b = 0; b < model->n; b++) {
			if (is_free(search, b) == pinned)
				continue;
			for (uint32_t k = model->span_start[b]; k < model->span_start[b + 1]; k++) {
				sum += model->span[k].last - model->span[k].first;
				for (uint32_t s = model->span[k].first; s < model->span[k].last; s++) {
					if (pass == 0)
						members->start[s + 2]++;
					else
						members->item[members->start[s + 1]++] = b;
				}
			}
		}
		if (pass == 0) {
			members->item = sum < UINT32_MAX ? arena_alloc(&search->arena, sum, sizeof *members->item) : NULL;
			if (!members->item)
				return NO_MEMORY;
			for (uint32_t s = 1; s <= model->sections + 1; s++)
				members->start[s] += members->start[s - 1];
		}
	}
	return OK;
}

/* Rows of the free, or pinned, buffers that overlap each free one. */
static enum status list_overlapping(struct layout_search *search, bool pinned, struct csr *rows)
{
	const struct layout_model *model = search->model;
	const struct csr *members = pinned ? &search->pinned : &search->members;
	uint32_t *seen = mem_alloc(model->n, sizeof *seen), room = model->n * 4 + 16, count = 0;
	uint32_t *item = mem_alloc(room, sizeof *item);
	rows->start = arena_alloc(&search->arena, (size_t)model->n + 1, sizeof *rows->start);
	bool fine = seen && item && rows->start;
	for (uint32_t b = 0; b < model->n && fine; b++) {
		for (uint32_t k = model->span_start[b]; k < model->span_start[b + 1] && is_free(search, b); k++) {
			for (uint32_t s = model->span[k].first; s < model->span[k].last; s++) {
				FOR_ROW(i, members, s) {
					uint32_t c = members->item[i];
					if (c == b || seen[c] == b + 1)
						continue;
					seen[c] = b + 1;
					if (count == room) {
						uint32_t *moved = room < UINT32_MAX / 2 ? mem_resize(item, (size_t)room * 2, sizeof *item) : NULL;
						fine = moved != NULL;
						if (!fine)
							goto done;
						item = moved;
						room *= 2;
					}
					item[count++] = c;
				}
			}
		}
		rows->start[b + 1] = count;
	}
done:
	rows->item = fine ? arena_alloc(&search->arena, count, sizeof *rows->item) : NULL;
	if (rows->item)
		memcpy(rows->item, item, count * sizeof *item);
	mem_free(seen);
	mem_free(item);
	return rows->item ? OK : NO_MEMORY;
}

static void sort_obstacles(struct layout_search *search)
{
	const int64_t *fixed = search->model->fixed;
	for (uint32_t b = 0; b < search->model->n; b++) {
		uint32_t *row = search->obstacles.item + search->obstacles.start[b], length = csr_length(&search->obstacles, b);
		for (uint32_t i = 1; i < length; i++) {
			uint32_t pin = row[i], j = i;
			for (; j > 0 && fixed[row[j - 1]] > fixed[pin]; j--)
				row[j] = row[j - 1];
			row[j] = pin;
		}
	}
}

static bool equal_buffers(const struct layout_model *model, uint32_t a, uint32_t b)
{
	uint32_t spans = model->span_start[a + 1] - model->span_start[a];
	return model->size[a] == model->size[b] && model->alignment[a] == model->alignment[b]
		&& model->span_start[b + 1] - model->span_start[b] == spans
		&& memcmp(model->span + model->span_start[a], model->span + model->span_start[b], spans * sizeof *model->span) == 0;
}

static void find_twins(struct layout_search *search)
{
	const struct layout_model *model = search->model;
	for (uint32_t b = 0; b < model->n; b++) {
		search->twin[b] = NONE;
		if (!is_free(search, b))
			continue;
		FOR_ROW(i, &search->neighbours, b) {
			uint32_t c = search->neighbours.item[i];
			if (c < b && (search->twin[b] == NONE || c > search->twin[b]) && equal_buffers(model, b, c))
				search->twin[b] = c;
		}
	}
}

struct sort_key { double key[3]; uint32_t buffer; };

static enum status set_up(struct layout_search *search)
{
	const struct layout_model *model = search->model;
	struct arena *arena = &search->arena;
	search->low = arena_alloc(arena, model->n, sizeof *search->low);
	search->placed = arena_alloc(arena, model->n, sizeof *search->placed);
	search->twin = arena_alloc(arena, model->n, sizeof *search->twin);
	search->lifted = arena_alloc(arena, model->n, sizeof *search->lifted);
	search->pending = arena_alloc(arena, model->n, sizeof *search->pending);
	search->solution = arena_alloc(arena, model->n, sizeof *search->solution);
	search->sort = arena_alloc(arena, model->n, sizeof *search->sort);
	search->frame = arena_alloc(arena, (size_t)model->n + 3, sizeof *search->frame);
	search->floor = arena_alloc(arena, model->sections, sizeof *search->floor);
	search->total = arena_alloc(arena, model->sections, sizeof *search->total);
	search->crossing = arena_alloc(arena, model->sections, sizeof *search->crossing);
	search->stamp = arena_alloc(arena, model->sections, sizeof *search->stamp);
	search->table = arena_alloc(arena, (size_t)1 << TABLE_BITS, sizeof *search->table);
	if (!search->low || !search->placed || !search->twin || !search->lifted || !search->pending || !search->solution
	    || !search->sort || !search->frame || !search->floor || !search->total || !search->crossing || !search->stamp || !search->table)
		return NO_MEMORY;
	enum status status = list_members(search, false, &search->members);
	if (status == OK)
		status = list_members(search, true, &search->pinned);
	if (status == OK)
		status = list_overlapping(search, false, &search->neighbours);
	if (status == OK)
		status = list_overlapping(search, true, &search->obstacles);
	if (status == OK) {
		sort_obstacles(search);
		find_twins(search);
	}
	return status;
}

struct layout_search *layout_search_new(const struct layout_model *model, unsigned rules)
{
	struct layout_search *search = mem_alloc(1, sizeof *search);
	if (!search)
		return NULL;
	search->model = model;
	search->rules = rules;
	if (set_up(search) == OK)
		return search;
	layout_search_free(search);
	return NULL;
}

void layout_search_free(struct layout_search *search)
{
	if (!search)
		return;
	mem_free(search->list);
	mem_free(search->cut);
	mem_free(search->lows.trail);
	mem_free(search->floors.trail);
	arena_free(&search->arena);
	mem_free(search);
}

/* ---- state ------------------------------------------------------------------------------------------------- */

static void note(struct layout_search *search, struct trails *trails, uint32_t index, int64_t value)
{
	if (trails->count == trails->room) {
		size_t room = trails->room ? trails->room * 2 : 1024;
		struct trail *moved = mem_resize(trails->trail, room, sizeof *moved);
		if (!moved) {
			search->no_memory = true;
			return;
		}
		trails->trail = moved;
		trails->room = room;
	}
	trails->trail[trails->count++] = (struct trail){ index, value };
}

static void undo(struct trails *trails, size_t mark, int64_t *value)
{
	while (trails->count > mark) {
		const struct trail *trail = &trails->trail[--trails->count];
		value[trail->index] = trail->value;
	}
}

/* The lowest place at or above `offset` that the buffer's alignment and the pinned buffers leave it. */
static int64_t step_over(const struct layout_search *search, uint32_t b, int64_t offset)
{
	const struct layout_model *model = search->model;
	offset = align_up(offset, model->alignment[b]);
	FOR_ROW(i, &search->obstacles, b) {
		uint32_t pin = search->obstacles.item[i];
		if (model->fixed[pin] < offset + model->size[b] && offset < model->fixed[pin] + model->size[pin])
			offset = align_up(model->fixed[pin] + model->size[pin], model->alignment[b]);
	}
	return offset;
}

/* Free bytes of a section above a floor. */
static int64_t room_above(const struct layout_search *search, uint32_t section, int64_t floor)
{
	const struct layout_model *model = search->model;
	int64_t room = search->capacity - floor;
	if (model->pins == 0)
		return room;
	FOR_ROW(i, &search->pinned, section) {
		uint32_t pin = search->pinned.item[i];
		int64_t bottom = model->fixed[pin] > floor ? model->fixed[pin] : floor;
		if (model->fixed[pin] + model->size[pin] > bottom)
			room -= model->fixed[pin] + model->size[pin] - bottom;
	}
	return room;
}

/* Raises the section's floor; false when what is unplaced does not fit above. */
static bool raise_floor(struct layout_search *search, uint32_t section, int64_t floor)
{
	if (floor <= search->floor[section])
		return true;
	note(search, &search->floors, section, search->floor[section]);
	search->floor[section] = floor;
	return room_above(search, section, floor) >= search->total[section];
}

static void reset(struct layout_search *search)
{
	const struct layout_model *model = search->model;
	memset(search->total, 0, model->sections * sizeof *search->total);
	memset(search->floor, 0, model->sections * sizeof *search->floor);
	memset(search->crossing, 0, model->sections * sizeof *search->crossing);
	for (uint32_t b = 0; b < model->n; b++) {
		search->placed[b] = false;
		search->low[b] = 0;
		if (!is_free(search, b))
			continue;
		search->low[b] = step_over(search, b, 0);
		for (uint32_t k = model->span_start[b]; k < model->span_start[b + 1]; k++)
			for (uint32_t s = model->span[k].first; s < model->span[k].last; s++)
				search->total[s] += model->size[b];
		for (uint32_t s = model->first[b]; s + 1 < model->last[b]; s++)
			search->crossing[s]++;
	}
	search->depth = 0;
	search->list_count = search->cut_count = 0;
	search->lows.count = search->floors.count = 0;
	search->nodes = 0;
}

/* ---- inference ------------------------------------------------------------------------------------------------ */

/* The lowest that anything unplaced of a section can start; pending buffers by what lifts them. */
static int64_t lowest_start(const struct layout_search *search, uint32_t section, bool pending)
{
	int64_t lowest = INT64_MAX;
	FOR_ROW(i, &search->members, section) {
		uint32_t b = search->members.item[i];
		if (search->placed[b])
			continue;
		int64_t low = pending && search->pending[b] == search->clock ? search->lifted[b] : search->low[b];
		if (low < lowest)
			lowest = low;
	}
	return lowest;
}

/* Raises the floors of all sections of a buffer to the lowest start there; each section once per clock. */
static bool raise_floors(struct layout_search *search, uint32_t b, uint32_t stamp, bool pending)
{
	const struct layout_model *model = search->model;
	for (uint32_t k = model->span_start[b]; k < model->span_start[b + 1]; k++) {
		for (uint32_t s = model->span[k].first; s < model->span[k].last; s++) {
			if (search->stamp[s] == stamp)
				continue;
			search->stamp[s] = stamp;
			if (pending && search->lifted[b] <= search->floor[s])
				continue;
			search->work += csr_length(&search->members, s);
			int64_t lowest = lowest_start(search, s, pending);
			if (lowest != INT64_MAX && !raise_floor(search, s, lowest))
				return false;
		}
	}
	return true;
}

/* The lowest place to which some neighbour that is still to come, at `offset` or above, lifts the buffer; -1: none can. */
static int64_t lowest_lift(const struct layout_search *search, uint32_t b, int64_t offset)
{
	int64_t lowest = INT64_MAX;
	FOR_ROW(i, &search->neighbours, b) {
		uint32_t c = search->neighbours.item[i];
		if (search->placed[c])
			continue;
		int64_t top = (search->low[c] > offset ? search->low[c] : offset) + search->model->size[c];
		if (top < lowest)
			lowest = top;
	}
	return lowest == INT64_MAX ? -1 : step_over(search, b, lowest);
}

/* Buffers whose low lies before the last placed one wait for somebody to lift them. False: a dead end. */
static bool infer_pending(struct layout_search *search, const struct frame *frame, int64_t offset, uint32_t rank)
{
	const struct entry *list = search->list + frame->list;
	bool any = false;
	for (uint32_t i = 0; i < frame->count; i++) {
		uint32_t b = list[i].buffer;
		if (search->placed[b] || search->low[b] > offset || (search->low[b] == offset && list[i].rank >= rank))
			continue;
		search->work += csr_length(&search->neighbours, b);
		int64_t lift = lowest_lift(search, b, offset);
		if (lift < 0 || lift + search->model->size[b] > search->capacity)
			return false;
		search->lifted[b] = lift;
		search->pending[b] = search->clock;
		any = true;
	}
	if (!any)
		return true;
	uint32_t stamp = search->clock + 1;
	for (uint32_t i = 0; i < frame->count; i++)
		if (search->pending[list[i].buffer] == search->clock && !raise_floors(search, list[i].buffer, stamp, true))
			return false;
	return true;
}

/* Places the frame's candidate; false when that is a dead end. Undone by unplace() either way. */
static bool place(struct layout_search *search, struct frame *frame, const struct entry *entry)
{
	const struct layout_model *model = search->model;
	uint32_t b = entry->buffer;
	int64_t offset = search->low[b], top = offset + model->size[b];
	bool fits = true;
	frame->placed = b;
	frame->hat = false;
	frame->lows = search->lows.count;
	frame->floors = search->floors.count;
	search->placed[b] = true;
	search->solution[b] = offset;
	search->clock += 2;
	search->work += csr_length(&search->neighbours, b);
	FOR_ROW(i, &search->neighbours, b) {
		uint32_t c = search->neighbours.item[i];
		if (search->placed[c])
			continue;
		frame->hat = true;
		if (search->low[c] >= top)
			continue;
		note(search, &search->lows, c, search->low[c]);
		search->low[c] = step_over(search, c, top);
		fits &= search->low[c] + model->size[c] <= search->capacity;
	}
	for (uint32_t k = model->span_start[b]; k < model->span_start[b + 1]; k++) {
		for (uint32_t s = model->span[k].first; s < model->span[k].last; s++) {
			search->total[s] -= model->size[b];
			note(search, &search->floors, s, search->floor[s]);
			search->floor[s] = top;
		}
	}
	for (uint32_t s = model->first[b]; s + 1 < model->last[b]; s++)
		search->crossing[s]--;
	if (search->no_memory)
		return false;
	if (search->rules & LAYOUT_RULE_FLOORS)
		for (size_t i = frame->lows; i < search->lows.count && fits; i++)
			fits = raise_floors(search, search->lows.trail[i].index, search->clock, false);
	if (fits && search->rules & LAYOUT_RULE_PENDING)
		fits = infer_pending(search, frame, offset, entry->rank);
	return fits;
}

static void unplace(struct layout_search *search, struct frame *frame)
{
	const struct layout_model *model = search->model;
	uint32_t b = frame->placed;
	undo(&search->floors, frame->floors, search->floor);
	undo(&search->lows, frame->lows, search->low);
	for (uint32_t k = model->span_start[b]; k < model->span_start[b + 1]; k++)
		for (uint32_t s = model->span[k].first; s < model->span[k].last; s++)
			search->total[s] += model->size[b];
	for (uint32_t s = model->first[b]; s + 1 < model->last[b]; s++)
		search->crossing[s]++;
	search->placed[b] = false;
	frame->placed = NONE;
}

/* ---- parts ----------------------------------------------------------------------------------------------------- */

static int compare_keys(const void *left, const void *right)
{
	const struct sort_key *a = left, *b = right;
	for (int i = 0; i < 3; i++)
		if (a->key[i] > b->key[i] || a->key[i] < b->key[i])
			return a->key[i] > b->key[i] ? -1 : 1;
	return a->buffer < b->buffer ? -1 : a->buffer > b->buffer;
}

/* See layout_rank(), but of what is unplaced. */
static double key_value(const struct layout_search *search, char key, uint32_t b)
{
	const struct layout_model *model = search->model;
	double width = (double)model->width[b];
	int64_t most = 0;
	switch (key) {
	case 'T':
		for (uint32_t s = model->first[b]; s < model->last[b]; s++)
			if (search->total[s] > most)
				most = search->total[s];
		return (double)most;
	case 'W': return width;
	case 'A': return width * (double)model->size[b];
	case 'Z': return (double)model->size[b];
	case 'C': return (double)(model->last[b] - model->first[b]);
	case 'O': return (double)csr_length(&search->neighbours, b);
	default:  return 0;
	}
}

static bool list_room(struct layout_search *search, size_t more)
{
	if (search->list_count + more <= search->list_room)
		return true;
	size_t room = (search->list_count + more) * 2;
	struct entry *moved = mem_resize(search->list, room, sizeof *moved);
	if (!moved) {
		search->no_memory = true;
		return false;
	}
	search->list = moved;
	search->list_room = room;
	return true;
}

/* Lists the unplaced buffers of sections [first, last), in order, as a new part; the frame is still to be opened. */
static void new_part(struct layout_search *search, const struct frame *parent, uint32_t first, uint32_t last, struct frame *frame)
{
	const struct layout_model *model = search->model;
	uint32_t n = 0;
	int keys = (int)strlen(search->keys);
	for (uint32_t i = 0; i < parent->count; i++) {
		uint32_t b = search->list[parent->list + i].buffer;
		if (search->placed[b] || model->first[b] >= last || model->last[b] <= first)
			continue;
		struct sort_key *sort = &search->sort[n++];
		sort->buffer = b;
		for (int k = 0; k < 3; k++)
			sort->key[k] = k < keys ? key_value(search, search->keys[k], b) : 0;
	}
	qsort(search->sort, n, sizeof *search->sort, compare_keys);
	*frame = (struct frame){ .first = first, .last = last, .list = search->list_count, .count = n, .part = ++search->parts_opened,
				 .placed = NONE };
	if (!list_room(search, n))
		return;
	for (uint32_t i = 0; i < n; i++)
		search->list[search->list_count++] = (struct entry){ search->sort[i].buffer, i };
	search->work += 8 * n;
}

static bool add_cut(struct layout_search *search, struct frame *frame, uint32_t section)
{
	if (search->cut_count == search->cut_room) {
		size_t room = search->cut_room ? search->cut_room * 2 : 256;
		uint32_t *moved = mem_resize(search->cut, room, sizeof *moved);
		if (!moved) {
			search->no_memory = true;
			return false;
		}
		search->cut = moved;
		search->cut_room = room;
	}
	search->cut[search->cut_count++] = section;
	frame->parts++;
	return true;
}

/* Notes where the frame's part falls apart between sections first and last now that nothing unplaced crosses. */
static bool find_cuts(struct layout_search *search, struct frame *frame, uint32_t first, uint32_t last)
{
	frame->cut = search->cut_count;
	frame->parts = frame->next_part = 0;
	for (uint32_t s = first; s + 1 < last && search->rules & LAYOUT_RULE_PARTS; s++)
		if (search->crossing[s] == 0 && !add_cut(search, frame, s + 1))
			return false;
	return add_cut(search, frame, frame->last);
}

/* ---- nodes ----------------------------------------------------------------------------------------------------- */

static struct failure *table_slot(struct layout_search *search, uint64_t key)
{
	return &search->table[key & ((UINT64_C(1) << TABLE_BITS) - 1)];
}

static bool known_failure(struct layout_search *search, const struct frame *frame)
{
	const struct failure *failure = table_slot(search, frame->key);
	if (!(search->rules & LAYOUT_RULE_TABLE) || failure->key != frame->key)
		return false;
	return failure->offset < frame->offset || (failure->offset == 0 && failure->rank == 0)
		|| (failure->offset == frame->offset && failure->part == frame->part && failure->rank <= frame->rank);
}

/* Drops placed buffers from the frame's list once they are the larger half. */
static bool shorten(struct layout_search *search, struct frame *frame, uint32_t unplaced)
{
	if (unplaced * 2 > frame->count)
		return true;
	if (!list_room(search, unplaced))
		return false;
	const struct entry *from = search->list + frame->list;
	size_t start = search->list_count;
	for (uint32_t i = 0; i < frame->count; i++)
		if (!search->placed[from[i].buffer])
			search->list[search->list_count++] = from[i];
	frame->list = start;
	frame->count = unplaced;
	return true;
}

/* Looks at a new frame: nothing left, hopeless, or to be searched. */
static enum verdict open_frame(struct layout_search *search, struct frame *frame)
{
	const struct layout_model *model = search->model;
	const struct entry *list = search->list + frame->list;
	uint32_t unplaced = 0;
	int64_t most = 0;
	uint64_t key = search->salt;
	search->nodes++;
	search->work += frame->count + (frame->last - frame->first);
	frame->start_offset = frame->offset;
	frame->start_rank = frame->rank;
	frame->hole = INT64_MAX;
	for (uint32_t i = 0; i < frame->count; i++) {
		uint32_t b = list[i].buffer;
		if (search->placed[b])
			continue;
		unplaced++;
		if (search->low[b] + model->size[b] < frame->hole)
			frame->hole = search->low[b] + model->size[b];
		key += hash_mix(((uint64_t)b << 40) ^ (uint64_t)search->low[b]);
	}
	frame->key = hash_mix(key);
	if (!(search->rules & LAYOUT_RULE_DOMINANCE))
		frame->hole = INT64_MAX;
	if (unplaced == 0)
		return SOLVED;
	if (known_failure(search, frame))
		return FAILED;
	for (uint32_t s = frame->first; s < frame->last; s++) {
		if (search->total[s] > most)
			most = search->total[s];
		if (search->total[s] && room_above(search, s, search->floor[s]) < search->total[s])
			return FAILED;
	}
	frame->highest = search->capacity - most;
	return shorten(search, frame, unplaced) ? RUNNING : FAILED;
}

static void remember_failure(struct layout_search *search, const struct frame *frame)
{
	if (search->rules & LAYOUT_RULE_TABLE)
		*table_slot(search, frame->key) = (struct failure){ frame->key, frame->start_offset, frame->start_rank, frame->part };
}

/* The next candidate in order of (low, rank); false when there is none. */
static bool next_candidate(struct layout_search *search, struct frame *frame, struct entry *candidate)
{
	const struct entry *list = search->list + frame->list;
	int64_t best = INT64_MAX, limit = frame->highest < frame->hole - 1 ? frame->highest : frame->hole - 1;
	for (uint32_t i = 0; i < frame->count; i++) {
		uint32_t b = list[i].buffer;
		int64_t low = search->low[b];
		if (low >= best || search->placed[b] || low > limit || low < frame->offset || (low == frame->offset && list[i].rank < frame->rank))
			continue;
		uint32_t twin = search->twin[b];
		if (twin != NONE && !search->placed[twin] && search->rules & LAYOUT_RULE_TWINS)
			continue;
		best = low;
		*candidate = list[i];
	}
	search->work += frame->count / 2;
	return best != INT64_MAX;
}

/* Puts the top frame's next part on the stack and opens it; SOLVED when there was none left. */
static enum verdict push_part(struct layout_search *search)
{
	struct frame *frame = &search->frame[search->depth - 1], *child = frame + 1;
	if (frame->next_part == frame->parts)
		return SOLVED;
	size_t mark = search->list_count;
	if (frame->parts == 1 && frame->placed != NONE) {
		*child = (struct frame){ .first = frame->first, .last = frame->last, .list = frame->list, .count = frame->count,
					 .part = frame->part, .offset = frame->offset, .rank = frame->rank, .placed = NONE };
	} else {
		uint32_t first = frame->next_part ? search->cut[frame->cut + frame->next_part - 1] : frame->first;
		new_part(search, frame, first, search->cut[frame->cut + frame->next_part], child);
	}
	child->mark = mark;
	frame->next_part++;
	search->depth++;
	return open_frame(search, child);
}

/* Gives up the top frame's candidate; the next ones come behind it. */
static enum verdict give_up_candidate(struct layout_search *search)
{
	struct frame *frame = &search->frame[search->depth - 1];
	search->cut_count = frame->cut;
	unplace(search, frame);
	frame->rank++;
	return frame->hat || !(search->rules & LAYOUT_RULE_HATLESS) ? RUNNING : FAILED;
}

/* Tries the top frame's next candidate. The verdict is on what is then the top frame. */
static enum verdict advance(struct layout_search *search)
{
	struct frame *frame = &search->frame[search->depth - 1];
	struct entry candidate = { NONE, 0 };
	if (!next_candidate(search, frame, &candidate))
		return FAILED;
	frame->offset = search->low[candidate.buffer];
	frame->rank = candidate.rank;
	frame->cut = search->cut_count;
	bool fits = place(search, frame, &candidate);
	if (fits && find_cuts(search, frame, search->model->first[candidate.buffer], search->model->last[candidate.buffer]))
		return push_part(search);
	return give_up_candidate(search);
}

/* ---- the search ------------------------------------------------------------------------------------------------ */

static enum verdict start(struct layout_search *search)
{
	struct frame *root = &search->frame[0];
	reset(search);
	*root = (struct frame){ .last = search->model->sections, .placed = NONE };
	if (!list_room(search, search->model->n))
		return FAILED;
	for (uint32_t b = 0; b < search->model->n; b++)
		if (is_free(search, b))
			search->list[search->list_count++] = (struct entry){ b, 0 };
	root->count = (uint32_t)search->list_count;
	search->depth = 1;
	return find_cuts(search, root, 0, root->last) ? push_part(search) : FAILED;
}

/* Takes the top frame, whose fate is known, off the stack. Returns the verdict on the one below. */
static enum verdict pop(struct layout_search *search, enum verdict verdict)
{
	struct frame *frame = &search->frame[search->depth - 1];
	if (verdict == FAILED) {
		remember_failure(search, frame);
	} else if (frame->placed != NONE) {
		search->cut_count = frame->cut;
		unplace(search, frame);
	}
	search->list_count = frame->mark;
	search->depth--;
	return verdict == SOLVED ? push_part(search) : search->depth == 1 ? FAILED : give_up_candidate(search);
}

static void copy_solution(const struct layout_search *search, int64_t *offset)
{
	for (uint32_t b = 0; b < search->model->n; b++)
		offset[b] = is_free(search, b) ? search->solution[b] : search->model->fixed[b];
}

#define WORK_BETWEEN_CHECKS 100000

enum status layout_search_run(struct layout_search *search, int64_t capacity, const char *keys, uint64_t nodes, int64_t *offset,
			      struct control *control)
{
	search->capacity = capacity;
	search->keys = keys;
	search->salt = hash_mix((uint64_t)capacity);
	search->no_memory = false;
	search->work = 0;
	for (uint32_t b = 0; b < search->model->n; b++)
		if (!is_free(search, b) && search->model->fixed[b] + search->model->size[b] > capacity)
			return INFEASIBLE;
	enum verdict verdict = start(search);
	while (search->depth > 1 || verdict == SOLVED) {
		if (search->depth == 1) {
			copy_solution(search, offset);
			break;
		}
		verdict = verdict == RUNNING ? advance(search) : pop(search, verdict);
		if (search->no_memory)
			return NO_MEMORY;
		if (search->work >= WORK_BETWEEN_CHECKS) {
			bool stop = control_spend(control, search->work);
			search->work = 0;
			if (stop)
				return LIMIT;
		}
		if (nodes && search->nodes >= nodes && verdict != SOLVED)
			return LIMIT;
	}
	control_spend(control, search->work);
	return verdict == SOLVED ? OK : INFEASIBLE;
}
