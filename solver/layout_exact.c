/* layout_exact.c: the smallest arena, by searches at one capacity after another.
 *
 * Whether a layout fits a capacity is quick to answer far from the smallest arena and hard near it, and which order of
 * candidates finds it differs from instance to instance. So rounds of searches with twice the nodes each go over a few
 * capacities between bound and best layout, and over a few orders; whatever is found or refuted moves the two together.
 */
#include "layout_search.h"
#include "layout_steps.h"

/* The fill rule decides which candidates come first, too: where it misleads one order another one is better without. */
#define NO_FILL (LAYOUT_RULES_ALL & ~LAYOUT_RULE_FILL)
static const struct { const char *keys; unsigned rules; } ways[] = {
	{ "TWA", NO_FILL }, { "TWA", LAYOUT_RULES_ALL }, { "TCA", NO_FILL }, { "TCA", LAYOUT_RULES_ALL }, { "CTA", NO_FILL },
	{ "CTA", LAYOUT_RULES_ALL }, { "TAW", NO_FILL }, { "TAW", LAYOUT_RULES_ALL }, { "OTA", NO_FILL }, { "OTA", LAYOUT_RULES_ALL },
};
#define WAYS (sizeof ways / sizeof *ways)

struct exact {
	const struct layout_model *model;
	struct layout_search *search;
	int64_t *offset, *trial;
	int64_t height, bound;     /* best layout, proved bound */
	int64_t enough;
	bool decide;               /* whether there is one within enough is all that is asked */
	struct control *control;
};

static bool finished(const struct exact *exact)
{
	return exact->height <= exact->enough || exact->height <= exact->bound || (exact->decide && exact->bound > exact->enough);
}

/* One search. LIMIT: undecided. */
static enum status search_at(struct exact *exact, int64_t capacity, size_t way, uint64_t nodes)
{
	enum status status = layout_search_run(exact->search, capacity, ways[way].keys, ways[way].rules, nodes, exact->trial,
					       exact->control);
	if (status == OK) {
		exact->height = layout_model_height(exact->model, exact->trial);
		memcpy(exact->offset, exact->trial, exact->model->n * sizeof *exact->trial);
	} else if (status == INFEASIBLE) {
		exact->bound = capacity + 1;
	}
	return status;
}

/* The capacities of a round, most wanted first; the height of the best layout may drop on the way. */
static int64_t target(const struct exact *exact, int number)
{
	int64_t low = exact->enough > exact->bound ? exact->enough : exact->bound, gap = exact->height - 1 - low;
	switch (number) {
	case 0:  return low;
	case 1:  return low + gap / 2;
	default: return exact->height - 1;
	}
}

static enum status run_round(struct exact *exact, uint64_t nodes)
{
	for (int number = 0; number < (exact->decide ? 1 : 3); number++) {
		for (size_t i = 0; i < WAYS && !finished(exact); i++) {
			int64_t capacity = target(exact, number);
			if (number > 0 && capacity <= target(exact, 0))
				break;
			enum status status = search_at(exact, capacity, i, nodes);
			if (status == NO_MEMORY || (status == LIMIT && control_status(exact->control) != OK))
				return status;
			/* A success may be repeated at once, one step lower. */
			if (status == OK && number == 2)
				i--;
		}
	}
	return OK;
}

enum status layout_exact(const struct layout_model *model, int64_t enough, bool decide, uint64_t effort, int64_t *offset,
			 int64_t *height, int64_t *bound, struct control *control)
{
	struct control own = control_part(control, effort);
	struct exact exact = { .model = model, .offset = offset, .height = *height, .bound = *bound, .enough = enough,
			       .decide = decide, .control = &own };
	exact.search = layout_search_new(model);
	exact.trial = mem_alloc(model->n, sizeof *exact.trial);
	enum status status = exact.search && exact.trial ? OK : NO_MEMORY;
	for (uint64_t nodes = model->n * UINT64_C(2); status == OK && !finished(&exact); nodes *= 2)
		status = run_round(&exact, nodes);
	control_spend(control, own.ticks);
	*height = exact.height;
	*bound = exact.bound;
	layout_search_free(exact.search);
	mem_free(exact.trial);
	return status == LIMIT ? control_status(control) : status;
}
