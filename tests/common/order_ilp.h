/* order_ilp.h: ordering as an integer program: the prefix model, an oracle that shares nothing with the searches.
 *
 * Step t runs the t-th op, t from 1. An op's steps lie between its number of ancestors and that of the ops that
 * do not depend on it, which fixes many columns. Sizes are divided by the largest item, to keep numbers near 1. */
#pragma once

#include <math.h>

#include "solver/base/milp.h"
#include "solver/order/job.h"

struct program {
	const struct order_model *model;
	struct milp milp;
	uint32_t *early, *late;    /* op -> its first and last possible step */
	uint32_t *column;          /* op -> column of its first step's variable */
	uint32_t peak;             /* the column to minimise */
	uint32_t *alive;           /* item -> its column for the step at hand */
	double unit;
	struct arena arena;
};

/* ---- steps ---- */

static uint32_t count_reachable(const struct csr *arcs, uint32_t ops, uint32_t op, bool *seen, uint32_t *stack)
{
	uint32_t depth = 0, count = 0;
	memset(seen, 0, ops * sizeof *seen);
	stack[depth++] = op;
	while (depth > 0) {
		uint32_t at = stack[--depth];
		FOR_ROW(i, arcs, at)
			if (!seen[arcs->item[i]]) {
				seen[arcs->item[i]] = true;
				stack[depth++] = arcs->item[i];
				count++;
			}
	}
	return count;
}

static enum status find_steps(struct program *program)
{
	const struct order_model *model = program->model;
	struct arena *arena = &program->arena;
	bool *seen = arena_alloc(arena, model->ops, sizeof *seen);
	uint32_t *stack = arena_alloc(arena, model->ops, sizeof *stack);
	program->early = arena_alloc(arena, model->ops, sizeof *program->early);
	program->late = arena_alloc(arena, model->ops, sizeof *program->late);
	program->column = arena_alloc(arena, model->ops, sizeof *program->column);
	NEED(seen && stack && program->early && program->late && program->column);
	for (uint32_t op = 0; op < model->ops; op++) {
		program->early[op] = count_reachable(&model->pred, model->ops, op, seen, stack) + 1;
		program->late[op] = model->ops - count_reachable(&model->succ, model->ops, op, seen, stack);
	}
	return OK;
}

static double order_ilp_scaled(const struct program *program, int64_t bytes)
{
	return (double)bytes / program->unit;
}

/* The peak's column, and what all sizes are divided by. */
static void add_peak(struct program *program, int64_t high)
{
	const struct order_model *model = program->model;
	int64_t largest = 1;
	for (uint32_t item = 0; item < model->items; item++)
		largest = model->size[item] > largest ? model->size[item] : largest;
	program->unit = (double)largest;
	/* Base is left out: a large constant would cost digits. */
	program->peak = milp_add_column(&program->milp, 0, order_ilp_scaled(program, high - model->base), 1, false);
}

/* ---- the prefix model ---- */

/* Adds factor * x[op, step] to the current row; what is fixed goes to *constant. */
static void add_prefix(struct program *program, uint32_t op, uint32_t step, double factor, double *constant)
{
	if (step < program->early[op])
		return;
	if (step >= program->late[op])
		*constant += factor;
	else
		milp_add_entry(&program->milp, program->column[op] + step - program->early[op], factor);
}

/* A row's bounds follow from what its constant turns out to be. */
static void close_row(struct program *program, double low, double high, double constant)
{
	if (program->milp.failed)
		return;
	program->milp.row[program->milp.rows - 1].low = low - constant;
	program->milp.row[program->milp.rows - 1].high = high - constant;
}

static void add_prefix_columns(struct program *program)
{
	for (uint32_t op = 0; op < program->model->ops; op++)
		for (uint32_t step = program->early[op]; step < program->late[op]; step++) {
			uint32_t column = milp_add_column(&program->milp, 0, 1, 0, true);
			if (step == program->early[op])
				program->column[op] = column;
		}
}

/* Once run stays run; step t has t ops run; a predecessor has run the step before. */
static void add_prefix_rows(struct program *program)
{
	const struct order_model *model = program->model;
	struct milp *milp = &program->milp;
	for (uint32_t op = 0; op < model->ops; op++)
		for (uint32_t step = program->early[op] + 1; step < program->late[op]; step++) {
			double constant = 0;
			milp_add_row(milp, 0, HUGE_VAL);
			add_prefix(program, op, step, 1, &constant);
			add_prefix(program, op, step - 1, -1, &constant);
			close_row(program, 0, HUGE_VAL, constant);
		}
	for (uint32_t step = 1; step < model->ops; step++) {
		double constant = 0;
		milp_add_row(milp, 0, 0);
		for (uint32_t op = 0; op < model->ops; op++)
			add_prefix(program, op, step, 1, &constant);
		close_row(program, step, step, constant);
	}
	for (uint32_t op = 0; op < model->ops; op++)
		FOR_ROW(i, &model->pred, op)
			for (uint32_t step = program->early[op]; step <= program->late[op]; step++) {
				double constant = 0;
				milp_add_row(milp, 0, HUGE_VAL);
				add_prefix(program, model->pred.item[i], step - 1, 1, &constant);
				add_prefix(program, op, step, -1, &constant);
				close_row(program, 0, HUGE_VAL, constant);
			}
}

/* alive >= made - used, where made is x[producer, step] or 1, and used x[user, step - 1] or 0 (to the end). */
static void add_alive_row(struct program *program, uint32_t alive, uint32_t producer, uint32_t user, uint32_t step)
{
	double constant = producer == NONE ? -1 : 0;
	milp_add_row(&program->milp, 0, HUGE_VAL);
	milp_add_entry(&program->milp, alive, 1);
	if (producer != NONE)
		add_prefix(program, producer, step, -1, &constant);
	if (user != NONE)
		add_prefix(program, user, step - 1, 1, &constant);
	close_row(program, 0, HUGE_VAL, constant);
}

/* "item is alive in step": continuous, and as low as its rows allow. */
static void add_alive(struct program *program, uint32_t item, uint32_t step)
{
	const struct order_model *model = program->model;
	uint32_t first = model->users.start[item], end = model->users.start[item + 1];
	uint32_t producer = model->from_start[item] ? NONE : model->users.item[first];
	uint32_t alive = program->alive[item] = milp_add_column(&program->milp, 0, 1, 0, false);
	if (model->to_end[item]) {
		add_alive_row(program, alive, producer, NONE, step);
		return;
	}
	/* What only its producer touches is alive just while that runs. */
	if (producer != NONE && end - first > 1)
		first++;
	for (uint32_t i = first; i < end; i++)
		add_alive_row(program, alive, producer, model->users.item[i], step);
}

/* peak >= items alive in the step and the workspace of the op that runs then */
static void add_step(struct program *program, uint32_t step)
{
	const struct order_model *model = program->model;
	double constant = 0;
	for (uint32_t item = 0; item < model->items; item++)
		add_alive(program, item, step);
	milp_add_row(&program->milp, 0, HUGE_VAL);
	milp_add_entry(&program->milp, program->peak, 1);
	for (uint32_t item = 0; item < model->items; item++)
		milp_add_entry(&program->milp, program->alive[item], -order_ilp_scaled(program, model->size[item]));
	for (uint32_t op = 0; op < model->ops; op++) {
		if (model->workspace[op] == 0)
			continue;
		add_prefix(program, op, step, -order_ilp_scaled(program, model->workspace[op]), &constant);
		add_prefix(program, op, step - 1, order_ilp_scaled(program, model->workspace[op]), &constant);
	}
	close_row(program, 0, HUGE_VAL, constant);
}

/* ---- solving ---- */

/* The order in a solution; false when rounding has spoilt it. */
static bool order_ilp_read_order(const struct program *program, const double *value, uint32_t *order)
{
	uint32_t ops = program->model->ops;
	for (uint32_t i = 0; i < ops; i++)
		order[i] = NONE;
	for (uint32_t op = 0; op < ops; op++) {
		uint32_t step = program->early[op];
		while (step < program->late[op] && value[program->column[op] + step - program->early[op]] < 0.5)
			step++;
		if (order[step - 1] != NONE)
			return false;
		order[step - 1] = op;
	}
	return true;
}

/* The least peak by the prefix model: x[v, t] = "v has run by step t". For leaves of up to about 20 ops.
 * The model's ops must be numbered in a valid order (those of a window are). high: a peak that is known to be
 * reachable. OK: order [ops] is optimal as far as floating point can tell; LIMIT: order holds the best found if
 * *found; INFEASIBLE: nothing is better than high. */
static enum status order_ilp_prefix(const struct order_model *model, int64_t high, const struct milp_limits *limits,
	struct control *control, uint32_t *order, bool *found)
{
	struct program program = { .model = model };
	struct milp_solution solution = { 0 };
	program.alive = arena_alloc(&program.arena, model->items, sizeof *program.alive);
	enum status status = program.alive ? find_steps(&program) : NO_MEMORY;
	*found = false;
	if (status == OK) {
		add_peak(&program, high);
		add_prefix_columns(&program);
		add_prefix_rows(&program);
		for (uint32_t step = 1; step <= model->ops; step++)
			add_step(&program, step);
		status = milp_solve(&program.milp, limits, control, &solution);
	}
	if (solution.value)
		*found = order_ilp_read_order(&program, solution.value, order);
	if (status == OK && !*found)
		status = LIMIT;
	milp_solution_free(&solution);
	milp_free(&program.milp);
	arena_free(&program.arena);
	return status;
}
