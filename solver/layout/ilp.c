/* ilp.c: the layout of a few buffers as an integer program.
 *
 * Floating-point offsets say who is below whom, no more: buffers are placed anew, exactly, in that order. */
#include <math.h>

#include "solver/base/milp.h"
#include "steps.h"

#define ILP_NODES 20000

struct below { double offset; uint32_t buffer; };

static int compare_below(const void *left, const void *right)
{
	const struct below *a = left, *b = right;
	if (a->offset < b->offset || a->offset > b->offset)
		return a->offset < b->offset ? -1 : 1;
	return a->buffer < b->buffer ? -1 : a->buffer > b->buffer;
}

/* a below b, or b below a, as the binary says: with M the height that the best known layout has. */
static void layout_ilp_add_pair(struct milp *milp, const struct layout_model *model, uint32_t a, uint32_t b, double big)
{
	uint32_t above = milp_add_column(milp, 0, 1, 0, true);
	milp_add_row(milp, -HUGE_VAL, big - (double)model->size[a]);
	milp_add_entry(milp, a, 1);
	milp_add_entry(milp, b, -1);
	milp_add_entry(milp, above, big);
	milp_add_row(milp, -HUGE_VAL, -(double)model->size[b]);
	milp_add_entry(milp, b, 1);
	milp_add_entry(milp, a, -1);
	milp_add_entry(milp, above, -big);
}

static void layout_ilp_build(struct milp *milp, const struct layout_model *model, double big)
{
	for (uint32_t b = 0; b < model->n; b++)
		milp_add_column(milp, 0, big - (double)model->size[b], 0, false);
	uint32_t arena = milp_add_column(milp, (double)model->max_load, big, 1, false);
	for (uint32_t b = 0; b < model->n; b++) {
		milp_add_row(milp, -HUGE_VAL, -(double)model->size[b]);
		milp_add_entry(milp, b, 1);
		milp_add_entry(milp, arena, -1);
		for (uint32_t a = 0; a < b; a++)
			if (model->first[a] < model->last[b] && model->first[b] < model->last[a])
				layout_ilp_add_pair(milp, model, a, b, big);
	}
}

/* Each buffer, from the lowest up, on top of what is below it. */
static void layout_ilp_place(const struct layout_model *model, const struct below *order, int64_t *offset)
{
	for (uint32_t i = 0; i < model->n; i++) {
		uint32_t b = order[i].buffer;
		offset[b] = 0;
		for (uint32_t k = 0; k < i; k++) {
			uint32_t a = order[k].buffer;
			if (model->first[a] < model->last[b] && model->first[b] < model->last[a] && offset[a] + model->size[a] > offset[b])
				offset[b] = offset[a] + model->size[a];
		}
	}
}

enum status layout_ilp(const struct layout_model *model, int64_t *offset, struct control *control)
{
	OWN(milp) milp = { 0 };
	struct milp_limits limits = { .nodes = ILP_NODES };
	OWN(milp_solution) solution = { 0 };
	int64_t height = layout_model_height(model, offset);
	HELD struct below *order = mem_alloc(model->n, sizeof *order);
	HELD int64_t *trial = mem_alloc(model->n, sizeof *trial);
	layout_ilp_build(&milp, model, (double)height);
	enum status status = order && trial ? milp_solve(&milp, &limits, control, &solution) : NO_MEMORY;
	if ((status == OK || status == LIMIT) && solution.value) {
		for (uint32_t b = 0; b < model->n; b++)
			order[b] = (struct below){ solution.value[b], b };
		qsort(order, model->n, sizeof *order, compare_below);
		layout_ilp_place(model, order, trial);
		if (layout_model_height(model, trial) < height)
			memcpy(offset, trial, model->n * sizeof *trial);
	}
	return status == LIMIT ? control_status(control) : status == INFEASIBLE ? OK : status;
}
