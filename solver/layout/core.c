/* core.c: few buffers that alone do not fit.
 *
 * If some of the buffers fit no capacity C, all of them fit none. Few are searched through fast, and say why. So bounds
 * above the load are looked for among the largest buffers that are alive near a full section, and what a search has
 * refuted is reduced by a deletion filter (Chinneck and Dravnieks, ORSA J. Computing 3, 1991) until every buffer is
 * needed. */
#include "search.h"
#include "steps.h"

static const char *const orders[] = { "TWA", "TAW" };
#define ORDERS (COUNT_OF(orders))

/* Whether the buffers fit by themselves: OK, INFEASIBLE, or LIMIT where the nodes do not decide it. */
static enum status core_decide(const struct layout_model *model, const uint32_t *buffer, uint32_t n, int64_t capacity,
	uint64_t nodes, struct control *control)
{
	struct layout_model part;
	if (n == 0)
		return OK;
	NEED(layout_model_part(model, buffer, n, 0, model->sections, &part) == OK);
	struct layout_search *search = layout_search_new(&part, nodes);
	HELD int64_t *MAKE(offset, n);
	enum status status = search && offset ? LIMIT : NO_MEMORY;
	int64_t scale = part.unit / model->unit;
	for (size_t i = 0; i < ORDERS && status == LIMIT && control_status(control) == OK; i++)
		status = layout_search_run(search, capacity / scale, orders[i], LAYOUT_RULES_ALL, nodes, offset, control);
	control_spend(control, n + model->sections);
	layout_search_free(search);
	layout_model_free(&part);
	return status;
}

/* ---- finding ---- */

struct sized { int64_t size; uint32_t buffer; };

COMPARATOR(compare_sized, struct sized, COMPARE(b->size, a->size, COMPARE(a->buffer, b->buffer, 0)))

/* What is alive between two sections, largest first. */
static uint32_t list_window(const struct layout_model *model, uint32_t first, uint32_t last, struct sized *sized)
{
	uint32_t count = 0;
	FOR(b, model->n)
		if (model->first[b] < last && first < model->last[b])
			sized[count++] = (struct sized){ model->size[b], b };
	SORT(sized, count, compare_sized);
	return count;
}

struct finder {
	const struct layout_model *model;
	int64_t capacity;
	uint64_t nodes;            /* for a search of the whole model */
	struct sized *sized;       /* [n] what is alive in the window */
	struct layout_core *core;
	struct control *control;
};

/* INFEASIBLE: the largest buffers of the window do not fit. Else LIMIT. */
static enum status try_largest(struct finder *finder, uint32_t count)
{
	struct layout_core *core = finder->core;
	FOR(i, count)
		core->buffer[i] = finder->sized[i].buffer;
	core->count = count;
	TRY(core_decide(finder->model, core->buffer, count, finder->capacity, finder->nodes * count / finder->model->n + 16,
				    finder->control));
	return LIMIT;
}

#define WINDOW_MOST 160    /* buffers of a window that are searched through together */

static enum status core_try_window(struct finder *finder, uint32_t first, uint32_t last)
{
	int64_t most = 0;
	enum status status = LIMIT;
	FOR_FROM(s, first, last)
		if (finder->model->load[s] > most)
			most = finder->model->load[s];
	/* Where there is much room nothing gets stuck. */
	if (most < finder->capacity - finder->capacity / 8)
		return LIMIT;
	uint32_t count = list_window(finder->model, first, last, finder->sized);
	control_spend(finder->control, finder->model->n);
	for (uint32_t n = SMALLER(count, WINDOW_MOST);
		n >= 8 && status == LIMIT && control_status(finder->control) == OK; n /= 2)
		status = n < finder->model->n ? try_largest(finder, n) : LIMIT;
	return status;
}

enum status layout_core_find(const struct layout_model *model, int64_t capacity, uint64_t nodes,
	struct layout_core *core, struct control *control)
{
	struct finder finder = { .model = model, .capacity = capacity, .nodes = nodes, .core = core, .control = control };
	MAKE(finder.sized, model->n);
	enum status status = finder.sized ? LIMIT : NO_MEMORY;
	for (uint32_t length = 4; status == LIMIT && length / 2 < model->sections; length *= 2) {
		for (uint32_t first = 0; status == LIMIT && first < model->sections && control_status(control) == OK;
			first += length / 2)
			status = core_try_window(&finder, first, model->sections - first < length ? model->sections : first + length);
	}
	mem_free(finder.sized);
	return status;
}

/* ---- shrinking ---- */

enum status layout_core_shrink(const struct layout_model *model, int64_t capacity, uint64_t nodes,
	struct layout_core *core, struct control *control)
{
	HELD struct sized *MAKE(sized, core->count);
	HELD uint32_t *MAKE(rest, core->count);
	enum status status = sized && rest ? OK : NO_MEMORY;
	/* The smallest are the first to go. */
	FOR_WHILE(i, core->count, status == OK)
		sized[i] = (struct sized){ -model->size[core->buffer[i]], core->buffer[i] };
	if (status == OK)
		SORT(sized, core->count, compare_sized);
	FOR_WHILE(i, core->count, status == OK)
		core->buffer[i] = sized[i].buffer;
	core->irreducible = true;
	for (uint32_t chunk = core->count / 2 ? core->count / 2 : 1; status == OK && chunk > 0; chunk /= 2) {
		for (uint32_t from = 0; from < core->count && status == OK;) {
			uint32_t gone = SMALLER(core->count - from, chunk), left = core->count - gone;
			COPY(rest, core->buffer, from);
			COPY(rest + from, core->buffer + from + gone, left - from);
			enum status answer = core_decide(model, rest, left, capacity, nodes, control);
			if (answer == INFEASIBLE) {
				COPY(core->buffer, rest, left);
				core->count = left;
			} else {
				from += gone;
			}
			core->irreducible &= answer != LIMIT || chunk > 1;
			if (answer == NO_MEMORY || control_status(control) != OK)
				status = answer == NO_MEMORY ? answer : LIMIT;
		}
	}
	core->irreducible &= status == OK;
	if (status != NO_MEMORY)
		SORT(core->buffer, core->count, compare_uint32);
	return status;
}

/* ---- the load ---- */

enum status layout_core_of_load(const struct layout_model *model, int64_t capacity, struct layout_core *core)
{
	struct sized *MAKE(sized, model->n);
	NEED(sized);
	uint32_t count = 0, section = model->max_section;
	int64_t sum = 0;
	FOR(b, model->n) {
		FOR_SPAN(k, model->span_start, b)
			if (model->span[k].first <= section && section < model->span[k].last) {
				sized[count++] = (struct sized){ -model->size[b], b };
				sum += model->size[b];
			}
	}
	SORT(sized, count, compare_sized);
	core->count = 0;
	core->irreducible = true;
	FOR(i, count) {
		if (sum + sized[i].size > capacity)
			sum += sized[i].size;
		else
			core->buffer[core->count++] = sized[i].buffer;
	}
	/* Alone they fit when one is gone; alignments and pins may be in the way all the same. */
	FOR(i, core->count)
		core->irreducible &= model->alignment[core->buffer[i]] <= 1 && model->fixed[core->buffer[i]] < 0;
	SORT(core->buffer, core->count, compare_uint32);
	mem_free(sized);
	return OK;
}
