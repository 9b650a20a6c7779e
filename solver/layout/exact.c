/* exact.c: the smallest arena, by searches at one capacity after another.
 *
 * Whether a layout fits a capacity is quick to answer far from the smallest arena and hard near it, and which order of
 * candidates finds it differs from instance to instance. So rounds of searches with twice the nodes each go over a few
 * capacities between bound and best layout, and over a few orders; whatever is found or refuted moves the two together.
 * Before the buffers themselves the boxes they may make up are tried: there are far fewer of them. */
#include "search.h"
#include "steps.h"

/* The fill rule decides which candidates come first, too: where it misleads one order another one is better without. */
#define NO_FILL (LAYOUT_RULES_ALL & ~LAYOUT_RULE_FILL)
static const struct { const char *keys; unsigned rules;
} ways[] = {
	{ "TWA", NO_FILL },
	{ "TWA", LAYOUT_RULES_ALL },
	{ "TCA", NO_FILL },
	{ "TCA", LAYOUT_RULES_ALL },
	{ "CTA", NO_FILL },
	{ "CTA", LAYOUT_RULES_ALL },
	{ "TAW", NO_FILL },
	{ "TAW", LAYOUT_RULES_ALL },
	{ "OTA", NO_FILL },
	{ "OTA", LAYOUT_RULES_ALL },
};
#define WAYS (COUNT_OF(ways))
#define CORE_ROUND 3       /* from this one on cores are looked for */
#define CORE_SHARE 8       /* with so many times the nodes of other searches: windows are small */
#define CORE_NODES 1000    /* for each search that shrinks one, at first, */
#define CORE_NODES_MOST 32000 /* and then */
#define BOX_WAYS 4         /* of them, for the many variants of boxes */

struct exact {
	const struct layout_model *model;
	struct layout_search *search;
	int64_t *offset, *trial;
	int64_t height, bound;     /* best layout, proved bound */
	int64_t enough;
	bool plain;                /* boxes can be made */
	bool decide;               /* whether there is one within enough is all that is asked */
	struct layout_core *core, trial_core; /* of the bound, or NULL */
	struct control *control;
};

static bool finished(const struct exact *exact)
{
	return exact->height <= exact->enough || exact->height <= exact->bound ||
		(exact->decide && exact->bound > exact->enough);
}

/* The trial is a better layout. */
static void layout_exact_found(struct exact *exact)
{
	exact->height = layout_model_height(exact->model, exact->trial);
	COPY(exact->offset, exact->trial, exact->model->n);
}

/* Keeps what is needed of the core of a new bound. */
static enum status shrink_core(struct exact *exact)
{
	if (!exact->core)
		return OK;
	TRY(layout_core_shrink(exact->model, exact->bound - 1, CORE_NODES, exact->core, exact->control));
	if (!exact->core->irreducible)
		return layout_core_shrink(exact->model, exact->bound - 1, CORE_NODES_MOST, exact->core, exact->control);
	return OK;
}

/* One search. LIMIT: undecided. */
static enum status search_at(struct exact *exact, int64_t capacity, size_t way, uint64_t nodes)
{
	enum status status = layout_search_run(exact->search, capacity, ways[way].keys, ways[way].rules, nodes, exact->trial,
					       exact->control);
	if (status == OK) {
		layout_exact_found(exact);
	} else if (status == INFEASIBLE) {
		exact->bound = capacity + 1;
		FOR_WHILE(b, exact->model->n, exact->core)
			exact->core->buffer[b] = b;
		if (exact->core)
			exact->core->count = exact->model->n;
		return shrink_core(exact) == NO_MEMORY ? NO_MEMORY : status;
	}
	return status;
}

/* Tries to refute the lowest capacity by a few buffers. */
static enum status search_core(struct exact *exact, int64_t capacity, uint64_t nodes)
{
	enum status status = layout_core_find(exact->model, capacity, nodes, &exact->trial_core, exact->control);
	if (status == INFEASIBLE) {
		exact->bound = capacity + 1;
		exact->core->count = exact->trial_core.count;
		COPY(exact->core->buffer, exact->trial_core.buffer, exact->core->count);
		return shrink_core(exact) == NO_MEMORY ? NO_MEMORY : status;
	}
	return status;
}

/* ---- boxes ---- */

static enum status layout_exact_search_in(
	struct exact *exact, const struct layout_boxes *boxes, int64_t capacity, size_t count, uint64_t nodes)
{
	struct layout_search *search = layout_search_new(&boxes->model, nodes * count);
	enum status status = search ? LIMIT : NO_MEMORY;
	for (size_t i = 0; i < count && status == LIMIT && control_status(exact->control) == OK; i++)
		status = layout_search_run(
			search, capacity / boxes->scale, ways[i].keys, ways[i].rules, nodes, exact->trial, exact->control);
	layout_search_free(search);
	THEN(status, layout_boxes_unpack(boxes, exact->trial, exact->trial));
	if (status == OK)
		layout_exact_found(exact);
	return status;
}

/* Tries the boxes that a layout of the capacity may be made of. *share: what is left of the buffers. */
static enum status try_boxes(
	struct exact *exact, int64_t capacity, bool rooms, uint32_t variant, uint64_t nodes, double *share)
{
	struct layout_boxes boxes;
	enum status status = layout_boxes_build(exact->model, rooms ? capacity : 0, variant, &boxes);
	control_spend(exact->control, status == OK ? boxes.count * 16 : 0);
	*share = (double)boxes.model.n / exact->model->n;
	THEN(status, *share < 1 ? layout_exact_search_in(exact, &boxes, capacity, variant ? BOX_WAYS : WAYS, nodes)
		: INFEASIBLE);
	layout_boxes_free(&boxes);
	return status;
}

/* Looks for a layout of the capacity among those that are made of boxes; more variants of them each round where there
 * are few boxes. That there is no such layout says nothing. */
static enum status search_boxes(struct exact *exact, int64_t capacity, uint32_t round, uint64_t nodes)
{
	enum status status = INFEASIBLE;
	double share = 0;
	if (!exact->plain)
		return status;
	for (uint32_t i = 0;
		i <= 2 * round && share < 0.5 && status != OK && status != NO_MEMORY && control_status(exact->control) == OK;
		i++)
		status = try_boxes(exact, capacity, true, round * round + i, nodes, &share);
	if (status != OK && status != NO_MEMORY && control_status(exact->control) == OK)
		status = try_boxes(exact, capacity, false, round, nodes, &share);
	return status;
}

/* ---- rounds ---- */

/* The capacities of a round, most wanted first; the height of the best layout may drop on the way. */
static int64_t target(const struct exact *exact, int number)
{
	int64_t low = LARGER(exact->enough, exact->bound), gap = exact->height - 1 - low;
	switch (number) {
	case 0:  return low;
	case 1:  return low + gap / 2;
	default: return exact->height - 1;
	}
}

/* All ways at one target, until it has moved. */
static enum status search_target(struct exact *exact, int number, uint32_t round, uint64_t nodes)
{
	enum status status = search_boxes(exact, target(exact, number), round, nodes);
	for (size_t i = 0;
		i < WAYS && status != OK && status != NO_MEMORY && control_status(exact->control) == OK && !finished(exact);
		i++)
		status = search_at(exact, target(exact, number), i, nodes);
	return status;
}

static enum status run_round(struct exact *exact, uint32_t round, uint64_t nodes)
{
	enum status found_core = INFEASIBLE;
	while (exact->core && round >= CORE_ROUND && found_core == INFEASIBLE && !finished(exact))
		found_core = search_core(exact, target(exact, 0), nodes * CORE_SHARE);
	if (found_core == NO_MEMORY)
		return NO_MEMORY;
	FOR_INT(number, (exact->decide ? 1 : 3)) {
		while (!finished(exact) && (number == 0 || target(exact, number) > target(exact, 0))) {
			enum status status = search_target(exact, number, round, nodes);
			if (status == NO_MEMORY)
				return status;
			if (control_status(exact->control) != OK)
				return LIMIT;
			/* A success may be repeated at once, one step lower. */
			if (status != OK)
				break;
		}
	}
	return OK;
}

enum status layout_exact(const struct layout_model *model, int64_t enough, bool decide, uint64_t effort,
	int64_t *offset, int64_t *height, int64_t *bound, struct layout_core *core, struct control *control)
{
	struct control own = control_part(control, effort);
	struct exact exact = { .model = model, .offset = offset, .height = *height, .bound = *bound, .enough = enough,
			       .plain = !model->pins && !model->aligned && !model->gapped, .decide = decide,
			       .core = core, .control = &own };
	exact.search = layout_search_new(model, 0);
	MAKE(exact.trial, model->n);
	MAKE(exact.trial_core.buffer, model->n);
	enum status status = exact.search && exact.trial && exact.trial_core.buffer ? OK : NO_MEMORY;
	uint32_t round = 0;
	for (uint64_t nodes = model->n * UINT64_C(2); status == OK && !finished(&exact); nodes *= 2)
		status = run_round(&exact, round++, nodes);
	control_spend(control, own.ticks);
	*height = exact.height;
	*bound = exact.bound;
	layout_search_free(exact.search);
	mem_free(exact.trial);
	mem_free(exact.trial_core.buffer);
	return status == LIMIT ? control_status(control) : status;
}
