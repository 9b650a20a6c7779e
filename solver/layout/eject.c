/* eject.c: what sticks out of a layout is put back where it is least in the way.
 *
 * Ejection chains: each buffer, those alive at the fullest times first, gets the lowest hole below the height wanted.
 * One that has none takes the place of buffers that weigh less, which then look for others. Whoever is driven
 * out weighs more from then on, so that no two drive each other out for ever. Where a chain leads nowhere, the lightest
 * set without places that was seen is taken up again, another way; where many do, the height wanted rises. */
#include <math.h>

#include "steps.h"

#define CHAIN 300          /* moves without a lighter set, at first */
#define CHAINS 12          /* such chains, before the height rises */
#define HEAVIER 1.5        /* a set of so much more will do after each */
#define WIDE 2000          /* more buffers without a place than at first: hopeless */
#define RISES 12           /* the height rises by 1 / 2^12 of what is wanted, then by twice as much ... */
#define NOISE 0.2          /* of weights compared */
#define HEAVIEST 4         /* one of so many of the heaviest comes next */

/* Something changes at a place for the buffer: below it the weight that is in its way is another. */
struct event { int64_t at, weight; };

struct eject {
	const struct layout_model *model;
	int64_t top;               /* aimed at */
	int64_t *offset, *kept;    /* [n] -1: none; kept: of the lightest set */
	int64_t *weight, *weight_first; /* [n] */
	uint32_t *changed, changes; /* buffers moved since then, and */
	bool *has_changed;         /* [n] which */
	uint32_t *out, *out_kept, outs, outs_kept; /* buffers without a place */
	uint32_t *next;            /* [n] placed buffers by first section: lists from `list` */
	uint32_t *list, *until;    /* [sections], and [2 leaves] a tree: the latest end of what starts below */
	uint32_t leaves;
	uint32_t *order;
	uint32_t *near, nears;     /* placed buffers that are alive with one */
	struct event *event;       /* [2 n + 2] */
	double out_weight, weight_kept, least;
	uint64_t random;
	struct arena arena;
};

/* ---- what is placed ---- */

static void eject_update(struct eject *eject, uint32_t section)
{
	uint32_t end = 0, v = eject->leaves + section;
	for (uint32_t b = eject->list[section]; b != NONE; b = eject->next[b])
		end = LARGER(end, eject->model->last[b]);
	eject->until[v] = end;
	for (v /= 2; v > 0; v /= 2)
		eject->until[v] = LARGER(eject->until[2 * v], eject->until[2 * v + 1]);
}

static void eject_put(struct eject *eject, uint32_t b, int64_t offset)
{
	uint32_t section = eject->model->first[b];
	eject->offset[b] = offset;
	eject->next[b] = eject->list[section];
	eject->list[section] = b;
	eject_update(eject, section);
}

static void eject_take(struct eject *eject, uint32_t b)
{
	uint32_t section = eject->model->first[b], *link = &eject->list[section];
	while (*link != b)
		link = &eject->next[*link];
	*link = eject->next[b];
	eject->offset[b] = -1;
	eject_update(eject, section);
}

/* Lists what is alive with a buffer, below a node of sections from `low` on. */
static void eject_gather(struct eject *eject, uint32_t v, uint32_t low, uint32_t width, uint32_t b)
{
	const struct layout_model *model = eject->model;
	if (eject->until[v] <= model->first[b] || low >= model->last[b])
		return;
	if (v < eject->leaves) {
		eject_gather(eject, 2 * v, low, width / 2, b);
		eject_gather(eject, 2 * v + 1, low + width / 2, width / 2, b);
		return;
	}
	for (uint32_t other = eject->list[low]; other != NONE; other = eject->next[other])
		if (model->last[other] > model->first[b])
			eject->near[eject->nears++] = other;
}

/* ---- one move ---- */

COMPARATOR(compare_events, struct event, COMPARE(a->at, b->at, COMPARE(a->weight, b->weight, 0)))

/* The place where the least weight is in the buffer's way, *cost. Each of the others is in the way of places above
 * `from` and below `to`: one sweep over these ends. */
static int64_t lightest_place(struct eject *eject, uint32_t b, double *cost, struct control *control)
{
	const struct layout_model *model = eject->model;
	struct event *event = eject->event;
	int64_t size = model->size[b], alignment = model->alignment[b], most = (eject->top - size) / alignment * alignment,
			found = 0, way = 0;
	double lightest = INFINITY;
	uint32_t count = 2;
	eject->nears = 0;
	eject_gather(eject, 1, 0, eject->leaves, b);
	control_spend(control, 200 + (uint64_t)eject->nears * 30);
	event[0] = (struct event){ 0, 0 };
	event[1] = (struct event){ most, 0 };
	FOR(i, eject->nears) {
		uint32_t other = eject->near[i];
		int64_t from = eject->offset[other] - size, to = align_up(from + size + model->size[other], alignment);
		event[count++] = (struct event){ from >= 0 ? from / alignment * alignment : -1, eject->weight[other] };
		event[count++] = (struct event){ to, -eject->weight[other] };
	}
	SORT(event, count, compare_events);
	FOR(i, count) {
		way += event[i].weight < 0 ? event[i].weight : 0;
		double weight = (double)way * (1 + NOISE * random_part(&eject->random));
		if (event[i].at >= 0 && event[i].at <= most && weight < lightest) {
			lightest = weight;
			found = event[i].at;
		}
		way += event[i].weight > 0 ? event[i].weight : 0;
	}
	*cost = lightest;
	return found;
}

static void eject_note(struct eject *eject, uint32_t b)
{
	if (!eject->has_changed[b])
		eject->changed[eject->changes++] = b;
	eject->has_changed[b] = true;
}

static void drive_out(struct eject *eject, uint32_t b)
{
	eject->out[eject->outs++] = b;
	eject->out_weight += (double)eject->weight_first[b];
}

/* One of the heaviest without a place. */
static uint32_t next_out(struct eject *eject)
{
	uint32_t *out = eject->out, rank = random_below(&eject->random, SMALLER(eject->outs, HEAVIEST));
	for (uint32_t i = 0; i <= rank; i++)
		FOR_FROM(k, i + 1, eject->outs)
			if (eject->weight_first[out[k]] > eject->weight_first[out[i]]) {
				uint32_t swap = out[i];
				out[i] = out[k];
				out[k] = swap;
			}
	uint32_t b = out[rank];
	out[rank] = out[--eject->outs];
	eject->out_weight -= (double)eject->weight_first[b];
	return b;
}

static void eject_move(struct eject *eject, struct control *control)
{
	const struct layout_model *model = eject->model;
	uint32_t b = next_out(eject);
	double cost;
	int64_t place = lightest_place(eject, b, &cost, control), end = place + model->size[b];
	FOR(i, eject->nears) {
		uint32_t other = eject->near[i];
		if (eject->offset[other] >= end || eject->offset[other] + model->size[other] <= place)
			continue;
		eject_take(eject, other);
		eject->weight[other] += eject->weight_first[other] / 2;
		eject_note(eject, other);
		drive_out(eject, other);
	}
	eject_put(eject, b, place);
	eject_note(eject, b);
}

/* ---- chains ---- */

/* What is placed now becomes the lightest set, or, back, is undone to that. */
static void eject_settle(struct eject *eject, bool back)
{
	for (uint32_t i = 0; i < eject->changes && back; i++)
		if (eject->offset[eject->changed[i]] >= 0)
			eject_take(eject, eject->changed[i]);
	FOR(i, eject->changes) {
		uint32_t b = eject->changed[i];
		if (!back)
			eject->kept[b] = eject->offset[b];
		else if (eject->kept[b] >= 0)
			eject_put(eject, b, eject->kept[b]);
		eject->weight[b] = eject->weight_first[b];
		eject->has_changed[b] = false;
	}
	eject->changes = 0;
	if (back) {
		COPY(eject->out, eject->out_kept, eject->outs_kept);
		eject->outs = eject->outs_kept;
		eject->out_weight = eject->weight_kept;
		eject->least *= HEAVIER;
	} else {
		COPY(eject->out_kept, eject->out, eject->outs);
		eject->outs_kept = eject->outs;
		eject->least = eject->weight_kept = eject->out_weight;
	}
}

/* Chains at one height, until everything has a place. */
static enum status eject_chains(struct eject *eject, struct control *control)
{
	uint32_t length = CHAIN, idle = 0;
	double lowest = eject->out_weight;
	for (uint32_t chains = 0; chains < CHAINS && eject->outs > 0; idle++) {
		eject_move(eject, control);
		if (eject->out_weight < eject->least) {
			eject_settle(eject, false);
			idle = 0;
			if (eject->out_weight < lowest) {
				lowest = eject->out_weight;
				chains = 0;
				length = CHAIN;
			}
		} else if (idle > length || eject->outs > eject->outs_kept + WIDE) {
			eject_settle(eject, true);
			idle = 0;
			length += length / 8;
			chains++;
		}
		TRY(control_status(control));
	}
	return OK;
}

static enum status eject_set_up(struct eject *eject)
{
	const struct layout_model *model = eject->model;
	struct arena *arena = &eject->arena;
	uint32_t n = model->n;
	for (eject->leaves = 1; eject->leaves < model->sections;)
		eject->leaves *= 2;
	NEED(ROOMS(arena, n, eject->offset, eject->kept, eject->weight, eject->weight_first) &&
		ROOMS(arena, n, eject->changed, eject->out, eject->out_kept, eject->next, eject->near, eject->order) &&
		ROOM(arena, eject->has_changed, n) && ROOM(arena, eject->list, eject->leaves) &&
		ROOM(arena, eject->until, (size_t)eject->leaves * 2) && ROOM(arena, eject->event, (size_t)n * 2 + 2));
	FOR(b, n) {
		double width = (double)(model->last[b] - model->first[b]);
		eject->weight_first[b] = (int64_t)((double)model->size[b] * sqrt(width)) + 1;
	}
	return layout_sort(model, "TAW", eject->order);
}

/* Each where nothing is in its way; else it is out. */
static enum status eject_begin(struct eject *eject, struct control *control)
{
	uint32_t n = eject->model->n;
	COPY(eject->weight, eject->weight_first, n);
	FOR(s, eject->leaves)
		eject->list[s] = NONE;
	FOR(i, n)
		eject->offset[i] = -1;
	FOR(i, n) {
		uint32_t b = eject->order[i];
		double cost;
		int64_t place = lightest_place(eject, b, &cost, control);
		if (cost <= 0)
			eject_put(eject, b, place);
		else
			drive_out(eject, b);
		TRY(control_status(control));
	}
	COPY(eject->kept, eject->offset, n);
	eject_settle(eject, false);
	return OK;
}

enum status layout_eject(const struct layout_model *model, int64_t enough, uint64_t effort, int64_t *offset,
	int64_t *height, struct control *control)
{
	struct control own = control_part(control, effort);
	struct eject eject = { .model = model, .top = enough, .random = effort };
	enum status status = eject_set_up(&eject);
	if (status == OK)
		status = eject_begin(&eject, &own);
	for (int rise = RISES; status == OK && eject.outs > 0 && eject.top < *height && rise >= 0; rise--) {
		status = eject_chains(&eject, &own);
		eject.top = enough + (enough >> rise);
	}
	int64_t reached = status == OK && eject.outs == 0 ? layout_model_height(model, eject.offset) : INT64_MAX;
	if (reached < *height) {
		COPY(offset, eject.offset, model->n);
		*height = reached;
	}
	control_spend(control, own.ticks);
	arena_free(&eject.arena);
	return status == LIMIT ? control_status(control) : status;
}
