/* region.c: what sticks out of a layout is placed anew together with what is around it, exactly.
 *
 * Large neighbourhood search (Shaw, "Using constraint programming and local search methods to solve vehicle routing problems",
 * CP 1998): a buffer that ends above the capacity wanted and some that are near it are set free, everything else stays where
 * it is, as an obstacle. Whether all of them can be placed within the capacity is a small question for fits and for the exact
 * search. What is near: downwards in address, around the fullest step of its life, or both; more and more of it as the answer
 * is no. What is alive at the steps between two ends of free buffers' lives matters only together, so the obstacles are few.
 */
#include "search.h"
#include "steps.h"

#define LEAST 16           /* buffers that are set free, at first, */
#define MOST 1024          /* and at most */
#define NODES 8            /* of a search, for each of them, at first */
#define WAYS 4

static const char *const fits[] = { "ZW", "WZ", "AZ", "TWA" };
#define FITS (sizeof fits / sizeof *fits)
static const char *const searches[] = { "TWA", "TCA", "TAW", "CTA" };
#define SEARCHES (sizeof searches / sizeof *searches)

struct near { double distance; uint32_t buffer; };

struct region {
	const struct layout_model *model;
	int64_t *offset;
	int64_t capacity;          /* wanted */
	struct near *near;         /* [n] scratch */
	bool *free;                /* [n] set free now: */
	uint32_t *chosen, count;   /* [n] these */
	uint32_t first, last;      /* sections that they live in */
	int64_t bottom;            /* none of them lies below */
	uint32_t *cut, cuts;       /* [2 MOST] ends of their lives */
	uint64_t random;
	struct control *control;
};

static int64_t top_of(const struct region *region, uint32_t b)
{
	return region->offset[b] + region->model->size[b];
}

static bool meets(const struct layout_model *model, uint32_t b, uint32_t first, uint32_t last)
{
	return model->first[b] < last && first < model->last[b];
}

/* ---- what is set free -------------------------------------------------------------------------------------------- */

/* The section of the buffer's life with the largest load. */
static uint32_t fullest(const struct layout_model *model, uint32_t b)
{
	uint32_t best = model->first[b];
	for (uint32_t s = model->first[b]; s < model->last[b]; s++)
		if (model->load[s] > model->load[best])
			best = s;
	return best;
}

/* How far a buffer is from the one that sticks out at a section; < 0: out of the question. */
static double distance(struct region *region, uint32_t b, uint32_t from, uint32_t section, uint32_t way)
{
	const struct layout_model *model = region->model;
	double depth = (double)(region->capacity - top_of(region, b)) / (double)region->capacity;
	double life = (double)(model->last[b] - model->first[b]) / model->sections, away = 0;
	if (model->last[b] <= section)
		away = (double)(section - model->last[b]) / model->sections;
	else if (model->first[b] > section)
		away = (double)(model->first[b] - section) / model->sections;
	depth = depth > 0 ? depth : 0;
	switch (way) {
	case 0:  return meets(model, b, model->first[from], model->last[from]) ? depth : -1;
	case 1:  return away + life;
	case 2:  return depth + 4 * away + life;
	default: return away > 0 ? -1 : depth * random_part(&region->random) + life * random_part(&region->random);
	}
}

static int compare_near(const void *left, const void *right)
{
	const struct near *a = left, *b = right;
	if (a->distance < b->distance || a->distance > b->distance)
		return a->distance < b->distance ? -1 : 1;
	return a->buffer < b->buffer ? -1 : a->buffer > b->buffer;
}

/* The middle one of three, none equal to another but where there are only two. */
static struct near middle_of(const struct near *a, const struct near *b, const struct near *c)
{
	bool ab = compare_near(a, b) < 0, bc = compare_near(b, c) < 0, ac = compare_near(a, c) < 0;
	return ab == bc ? *b : ab == ac ? *c : *a;
}

/* Brings the `most` nearest to the front, in any order: Hoare's quickselect. No two are equal. O(count). */
static void select_near(struct near *near, uint32_t count, uint32_t most)
{
	uint32_t low = 0, high = count;
	while (low < most && most < high && high - low > 1) {
		struct near pivot = middle_of(&near[low], &near[low + (high - low) / 2], &near[high - 1]);
		uint32_t i = low, k = high - 1;
		for (;; i++, k--) {
			while (compare_near(&near[i], &pivot) < 0)
				i++;
			while (compare_near(&pivot, &near[k]) < 0)
				k--;
			if (i >= k)
				break;
			struct near swap = near[i];
			near[i] = near[k];
			near[k] = swap;
		}
		/* Below i nothing is further than the pivot, from k + 1 on nothing nearer. */
		*(most <= i ? &high : &low) = most <= i ? i : k + 1;
	}
}

/* Sets free what sticks out and, of what does not, the nearest: up to `most` buffers. */
static void set_free(struct region *region, uint32_t from, uint32_t most, uint32_t way)
{
	const struct layout_model *model = region->model;
	uint32_t count = 0, section = fullest(model, from);
	for (uint32_t b = 0; b < model->n; b++) {
		double far = b == from ? 0 : model->fixed[b] >= 0 ? -1 : distance(region, b, from, section, way);
		if (far >= 0)
			region->near[count++] = (struct near){ b == from ? -1 : far * (0.75 + 0.5 * random_part(&region->random)), b };
	}
	region->count = count < most ? count : most;
	select_near(region->near, count, region->count);
	qsort(region->near, region->count, sizeof *region->near, compare_near);
	region->first = model->sections;
	region->last = 0;
	region->bottom = INT64_MAX;
	for (uint32_t i = 0; i < region->count; i++) {
		uint32_t b = region->near[i].buffer;
		region->chosen[i] = b;
		region->free[b] = true;
		region->first = model->first[b] < region->first ? model->first[b] : region->first;
		region->last = model->last[b] > region->last ? model->last[b] : region->last;
		region->bottom = region->offset[b] < region->bottom ? region->offset[b] : region->bottom;
	}
	/* Alignments count from the ground. */
	if (model->aligned)
		region->bottom = 0;
	control_spend(region->control, 32 * (uint64_t)model->n);
}

/* ---- obstacles ----------------------------------------------------------------------------------------------------- */

/* Bytes [from, to) are taken between cuts [first, last). */
struct obstacle { uint32_t first, last; int64_t from, to; };
struct obstacles { struct obstacle *item; size_t count, room; };

static int compare_times(const void *left, const void *right)
{
	const struct obstacle *a = left, *b = right;
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return a->from < b->from ? -1 : a->from > b->from;
}

static int compare_heights(const void *left, const void *right)
{
	const struct obstacle *a = left, *b = right;
	if (a->from != b->from)
		return a->from < b->from ? -1 : 1;
	if (a->to != b->to)
		return a->to < b->to ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

static void cut_time(struct region *region)
{
	uint32_t count = 0;
	for (uint32_t i = 0; i < region->count; i++) {
		region->cut[count++] = region->model->first[region->chosen[i]];
		region->cut[count++] = region->model->last[region->chosen[i]];
	}
	qsort(region->cut, count, sizeof *region->cut, compare_uint32);
	region->cuts = 0;
	for (uint32_t i = 0; i < count; i++)
		if (i == 0 || region->cut[i] != region->cut[i - 1])
			region->cut[region->cuts++] = region->cut[i];
}

/* The last cut at or before a section. */
static uint32_t cut_at(const struct region *region, uint32_t section)
{
	uint32_t low = 0, high = region->cuts;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (region->cut[middle] <= section)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static enum status add(struct obstacles *list, struct obstacle obstacle)
{
	NEED(mem_reserve(&list->item, &list->room, list->count + 1, sizeof *list->item));
	list->item[list->count++] = obstacle;
	return OK;
}

/* What is not free, between each two cuts that it is alive between, in bytes above the bottom. */
static enum status list_obstacles(const struct region *region, struct obstacles *list)
{
	const struct layout_model *model = region->model;
	int64_t room = region->capacity - region->bottom;
	enum status status = OK;
	for (uint32_t b = 0; b < model->n && status == OK; b++) {
		int64_t from = region->offset[b] - region->bottom, to = from + model->size[b];
		if (region->free[b] || to <= 0 || from >= room || !meets(model, b, region->first, region->last))
			continue;
		from = from > 0 ? from : 0;
		to = to < room ? to : room;
		uint32_t last = model->last[b] < region->last ? cut_at(region, model->last[b] - 1) + 1 : region->cuts - 1;
		for (uint32_t s = model->first[b] > region->first ? cut_at(region, model->first[b]) : 0; s < last && status == OK; s++)
			status = add(list, (struct obstacle){ s, s + 1, from, to });
	}
	return status;
}

/* Joins those between the same cuts that touch, then equal ones that follow each other. */
static void join(struct obstacles *list)
{
	struct obstacle *item = list->item;
	size_t count = 0;
	if (list->count == 0)
		return;
	qsort(item, list->count, sizeof *item, compare_times);
	for (size_t i = 0; i < list->count; i++) {
		struct obstacle *last = count ? &item[count - 1] : NULL;
		if (!last || last->first != item[i].first || item[i].from > last->to)
			item[count++] = item[i];
		else if (item[i].to > last->to)
			last->to = item[i].to;
	}
	list->count = count;
	count = 0;
	qsort(item, list->count, sizeof *item, compare_heights);
	for (size_t i = 0; i < list->count; i++) {
		struct obstacle *last = count ? &item[count - 1] : NULL;
		if (last && last->from == item[i].from && last->to == item[i].to && last->last == item[i].first)
			last->last = item[i].last;
		else
			item[count++] = item[i];
	}
	list->count = count;
}

/* ---- the small problem --------------------------------------------------------------------------------------------- */

/* The free buffers, first, and the obstacles as a model of their own; cuts are its time. */
static enum status model_of(const struct region *region, const struct obstacles *list, struct layout_model *part)
{
	const struct layout_model *model = region->model;
	size_t n = region->count + list->count;
	int64_t *value = mem_alloc(n, 5 * sizeof *value);
	struct buffers buffers = { .n = (uint32_t)n, .lower = value, .upper = value + n, .size = value + 2 * n, .fixed = value + 3 * n,
				   .alignment = value + 4 * n };
	NEED(value);
	for (size_t i = 0; i < n; i++) {
		bool is_free = i < region->count;
		uint32_t b = is_free ? region->chosen[i] : NONE;
		const struct obstacle *obstacle = is_free ? NULL : &list->item[i - region->count];
		buffers.lower[i] = is_free ? cut_at(region, model->first[b]) : obstacle->first;
		buffers.upper[i] = is_free ? cut_at(region, model->last[b]) : obstacle->last;
		buffers.size[i] = is_free ? model->size[b] : obstacle->to - obstacle->from;
		buffers.alignment[i] = is_free ? model->alignment[b] : 1;
		buffers.fixed[i] = is_free ? -1 : obstacle->from;
	}
	enum status status = layout_model_build(&buffers, 1, part, NULL);
	mem_free(value);
	return status;
}

static enum status build(struct region *region, struct layout_model *part)
{
	struct obstacles list = { 0 };
	cut_time(region);
	enum status status = list_obstacles(region, &list);
	control_spend(region->control, list.count * 4);
	if (status == OK) {
		join(&list);
		status = model_of(region, &list, part);
	}
	mem_free(list.item);
	return status;
}

/* OK: offset [n of the part] is within the capacity. LIMIT, INFEASIBLE: not found. */
static enum status fit(struct region *region, const struct layout_model *part, int64_t capacity, int64_t *offset)
{
	HELD uint32_t *order = mem_alloc(part->n, sizeof *order);
	enum status status = order ? LIMIT : NO_MEMORY;
	for (size_t i = 0; i < FITS && status == LIMIT && control_status(region->control) == OK; i++) {
		int64_t height = 0;
		status = layout_sort(part, fits[i], order);
		THEN(status, layout_fit(part, order, i % 2, capacity + 1, offset, &height, region->control));
		if (status == OK && height > capacity)
			status = LIMIT;
	}
	return status;
}

static enum status search(struct region *region, const struct layout_model *part, int64_t capacity, uint64_t nodes, int64_t *offset)
{
	struct layout_search *search = layout_search_new(part, nodes * SEARCHES);
	enum status status = search ? LIMIT : NO_MEMORY;
	for (size_t i = 0; i < SEARCHES && status == LIMIT && control_status(region->control) == OK; i++)
		status = layout_search_run(search, capacity, searches[i], LAYOUT_RULES_ALL, nodes, offset, region->control);
	layout_search_free(search);
	return status;
}

/* Places what is free anew. OK: all of it is within the capacity now. */
static enum status place(struct region *region, uint64_t nodes)
{
	struct layout_model part = { 0 };
	TRY(build(region, &part));
	int64_t capacity = (region->capacity - region->bottom) / part.unit;
	HELD int64_t *offset = mem_alloc(part.n, sizeof *offset);
	enum status status = offset ? fit(region, &part, capacity, offset) : NO_MEMORY;
	if (status == LIMIT && control_status(region->control) == OK)
		status = search(region, &part, capacity, nodes * region->count, offset);
	for (uint32_t i = 0; i < region->count && status == OK; i++)
		region->offset[region->chosen[i]] = region->bottom + offset[i] * part.unit;
	layout_model_free(&part);
	return status;
}

/* What sticks out the most, or NONE. */
static uint32_t highest(const struct region *region)
{
	const struct layout_model *model = region->model;
	uint32_t found = NONE;
	for (uint32_t b = 0; b < model->n; b++)
		if (top_of(region, b) > region->capacity && model->fixed[b] < 0 && (found == NONE || top_of(region, b) > top_of(region, found)))
			found = b;
	return found;
}

/* OK: nothing sticks out any more. LIMIT: stopped. */
static enum status bring_down(struct region *region)
{
	uint32_t most = LEAST, way = 0, out;
	uint64_t nodes = NODES;
	while ((out = highest(region)) != NONE) {
		if (control_status(region->control) != OK)
			return LIMIT;
		set_free(region, out, most, way);
		enum status status = place(region, nodes);
		for (uint32_t i = 0; i < region->count; i++)
			region->free[region->chosen[i]] = false;
		if (status == NO_MEMORY)
			return status;
		if (status == OK) {
			most = LEAST;
			nodes = NODES;
			way = 0;
		} else if (++way == WAYS) {
			bool largest = most >= MOST || most >= region->model->n;
			way = 0;
			most = largest ? LEAST : 2 * most;
			nodes *= largest ? 2 : 1;
		}
	}
	return OK;
}

enum status layout_region(const struct layout_model *model, int64_t enough, uint64_t effort, int64_t *offset, int64_t *height,
			  struct control *control)
{
	struct control own = control_part(control, effort);
	struct region region = { .model = model, .capacity = enough, .random = effort, .control = &own };
	region.near = mem_alloc(model->n, sizeof *region.near);
	region.free = mem_alloc(model->n, sizeof *region.free);
	region.chosen = mem_alloc(model->n, sizeof *region.chosen);
	region.cut = mem_alloc((size_t)MOST * 2, sizeof *region.cut);
	region.offset = mem_alloc(model->n, sizeof *region.offset);
	enum status status = region.near && region.free && region.chosen && region.cut && region.offset ? OK : NO_MEMORY;
	if (status == OK) {
		memcpy(region.offset, offset, model->n * sizeof *offset);
		status = bring_down(&region);
		int64_t reached = layout_model_height(model, region.offset);
		if (status != NO_MEMORY && reached < *height) {
			memcpy(offset, region.offset, model->n * sizeof *offset);
			*height = reached;
		}
	}
	control_spend(control, own.ticks);
	mem_free(region.near);
	mem_free(region.free);
	mem_free(region.chosen);
	mem_free(region.cut);
	mem_free(region.offset);
	return status == LIMIT ? control_status(control) : status;
}
