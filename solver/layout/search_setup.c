/* search_setup.c: who overlaps whom, for the exact search. */
#include "search.h"

/* Rows of the free buffers, or of the pinned ones, in each section; those only of which a piece starts there. */
static enum status list_members(struct layout_search *search, bool pinned, bool starting, struct csr *members)
{
	const struct layout_model *model = search->model;
	NEED(ROOM(&search->arena, members->start, (size_t)model->sections + 2));
	uint64_t sum = 0;
	FOR_INT(pass, 2) {
		FOR(b, model->n) {
			if (is_free(search, b) == pinned)
				continue;
			FOR_SPAN(k, model->span_start, b) {
				uint32_t last = starting ? model->span[k].first + 1 : model->span[k].last;
				sum += last - model->span[k].first;
				FOR_FROM(s, model->span[k].first, last) {
					if (pass == 0)
						members->start[s + 2]++;
					else
						members->item[members->start[s + 1]++] = b;
				}
			}
		}
		if (pass == 0) {
			members->item = sum < UINT32_MAX ? arena_alloc(&search->arena, sum, sizeof *members->item) : NULL;
			NEED(members->item);
			for (uint32_t s = 1; s <= model->sections + 1; s++)
				members->start[s] += members->start[s - 1];
		}
	}
	return OK;
}

/* Rows of the free, or pinned, buffers that overlap each free one: what is there when a piece of it starts, and what
 * starts later. */
static enum status list_overlapping(struct layout_search *search, bool pinned, struct csr *rows)
{
	const struct layout_model *model = search->model;
	struct csr starting = { 0 };
	uint32_t *MAKE(seen, model->n), room = model->n * 4 + 16, count = 0;
	uint32_t *MAKE(item, room);
	bool fine = ROOM(&search->arena, rows->start, (size_t)model->n + 1) && seen && item &&
		list_members(search, pinned, true, &starting) == OK;
	FOR_WHILE(b, model->n, fine) {
		for (uint32_t k = model->span_start[b]; k < model->span_start[b + 1] && is_free(search, b); k++) {
			FOR_FROM(s, model->span[k].first, model->span[k].last) {
				const struct csr *members = s > model->span[k].first ? &starting : pinned ? &search->pinned : &search->members;
				search->unpaid += 1 + csr_length(members, s);
				FOR_ITEMS(c, members, s) {
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
		COPY(rows->item, item, count);
	mem_free(seen);
	mem_free(item);
	return rows->item ? OK : NO_MEMORY;
}

struct keyed { int64_t key; uint32_t buffer; };

COMPARATOR(compare_keyed, struct keyed, COMPARE(a->key, b->key, COMPARE(a->buffer, b->buffer, 0)))

/* Sorts every row by its buffers' keys, ascending. */
static enum status search_setup_sort_rows(const struct layout_model *model, struct csr *rows, const int64_t *key)
{
	HELD struct keyed *MAKE(keyed, model->n);
	NEED(keyed);
	FOR(b, model->n) {
		uint32_t *row = rows->item + rows->start[b], length = csr_length(rows, b);
		FOR(i, length)
			keyed[i] = (struct keyed){ key[row[i]], row[i] };
		SORT(keyed, length, compare_keyed);
		FOR(i, length)
			row[i] = keyed[i].buffer;
	}
	return OK;
}

/* Sorts the rows of neighbours by size, ascending: everybody, in that order, enters the rows of its own neighbours. */
static enum status sort_neighbours(const struct layout_model *model, struct csr *rows)
{
	uint32_t pairs = rows->start[model->n];
	HELD struct keyed *MAKE(keyed, model->n);
	HELD uint32_t *MAKE(next, model->n), *MAKE(sorted, pairs);
	NEED(keyed && next && sorted);
	FOR(b, model->n)
		keyed[b] = (struct keyed){ model->size[b], b };
	SORT(keyed, model->n, compare_keyed);
	COPY(next, rows->start, model->n);
	FOR(k, model->n)
		FOR_ITEMS(row, rows, keyed[k].buffer)
			sorted[next[row]++] = keyed[k].buffer;
	COPY(rows->item, sorted, pairs);
	return OK;
}

/* Drops pinned buffers that lie within others' heights, so that tops ascend with bottoms. */
static void drop_hidden(const struct layout_model *model, struct csr *obstacles)
{
	uint32_t count = 0, from = 0;
	FOR(b, model->n) {
		int64_t top = -1;
		uint32_t end = obstacles->start[b + 1];
		obstacles->start[b] = count;
		FOR_FROM(i, from, end) {
			uint32_t pin = obstacles->item[i];
			if (model->fixed[pin] + model->size[pin] > top) {
				top = model->fixed[pin] + model->size[pin];
				obstacles->item[count++] = pin;
			}
		}
		from = end;
	}
	obstacles->start[model->n] = count;
}

static bool equal_buffers(const struct layout_model *model, uint32_t a, uint32_t b)
{
	uint32_t spans = model->span_start[a + 1] - model->span_start[a];
	return model->size[a] == model->size[b] && model->alignment[a] == model->alignment[b]
		&& model->span_start[b + 1] - model->span_start[b] == spans
		&& memcmp(model->span + model->span_start[a], model->span + model->span_start[b], spans * sizeof *model->span) == 0;
}

static void search_setup_find_twins(struct layout_search *search)
{
	const struct layout_model *model = search->model;
	FOR(b, model->n) {
		search->twin[b] = NONE;
		if (!is_free(search, b))
			continue;
		FOR_ITEMS(c, &search->neighbours, b)
			if (c < b && (search->twin[b] == NONE || c > search->twin[b]) && equal_buffers(model, b, c))
				search->twin[b] = c;
	}
}

static enum status search_setup_set_up(struct layout_search *search, uint64_t nodes)
{
	const struct layout_model *model = search->model;
	struct arena *arena = &search->arena;
	ROOM(arena, search->low, model->n);
	ROOM(arena, search->placed, model->n);
	ROOM(arena, search->twin, model->n);
	ROOM(arena, search->turn, model->n);
	ROOM(arena, search->lifted, model->n);
	ROOM(arena, search->pending, model->n);
	ROOM(arena, search->solution, model->n);
	ROOM(arena, search->sort, model->n);
	ROOM(arena, search->frame, (size_t)model->n + 3);
	ROOM(arena, search->floor, model->sections);
	ROOM(arena, search->total, model->sections);
	ROOM(arena, search->crossing, model->sections);
	ROOM(arena, search->stamp, model->sections);
	for (search->table_size = 1; search->table_size < TABLE_MOST && search->table_size / TABLE_SHARE < model->n &&
		(nodes == 0 || search->table_size / 4 < nodes);)
		search->table_size *= 2;
	search->unpaid += search->table_size;
	NEED(ROOM(arena, search->table, search->table_size) && search->low && search->placed && search->twin &&
		search->turn && search->lifted && search->pending && search->solution && search->sort && search->frame &&
		search->floor && search->total && search->crossing && search->stamp);
	TRY(list_members(search, false, false, &search->members));
	TRY(list_members(search, true, false, &search->pinned));
	TRY(list_overlapping(search, false, &search->neighbours));
	TRY(list_overlapping(search, true, &search->obstacles));
	TRY(search_setup_sort_rows(model, &search->obstacles, model->fixed));
	drop_hidden(model, &search->obstacles);
	TRY(sort_neighbours(model, &search->neighbours));
	search_setup_find_twins(search);
	search->unpaid += 4 * (uint64_t)search->neighbours.start[model->n];
	return OK;
}

struct layout_search *layout_search_new(const struct layout_model *model, uint64_t nodes)
{
	struct layout_search *MAKE(search, 1);
	if (!search)
		return NULL;
	search->model = model;
	if (search_setup_set_up(search, nodes) == OK)
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
