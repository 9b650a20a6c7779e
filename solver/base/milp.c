/* milp.c: the only file that talks to GLPK.
 *
 * GLPK reports out of memory and internal errors by ending the program; its error hook is made to jump back here
 * instead, after which the library's environment of this thread is freed with everything in it. So a GLPK object
 * lives only within one call of milp_solve. */
#include <glpk.h>
#include <math.h>
#include <setjmp.h>
#include <string.h>

#include "milp.h"

#define SIMPLEX_STEP 200 /* iterations between two looks at the control */

/* ---- building ---- */

uint32_t milp_add_column(struct milp *milp, double low, double high, double cost, bool integer)
{
	if (!GROWN(milp->column, milp->column_room, milp->columns + 1)) {
		milp->failed = true;
		return 0;
	}
	milp->column[milp->columns] = (struct milp_column) { low, high, cost, integer };
	return milp->columns++;
}

void milp_add_row(struct milp *milp, double low, double high)
{
	if (!GROWN(milp->row, milp->row_room, milp->rows + 1))
		milp->failed = true;
	else
		milp->row[milp->rows++] = (struct milp_row) { low, high, milp->entries };
}

void milp_add_entry(struct milp *milp, uint32_t column, double value)
{
	if (!GROWN(milp->entry, milp->entry_room, milp->entries + 1))
		milp->failed = true;
	else
		milp->entry[milp->entries++] = (struct milp_entry) { column, value };
}

void milp_free(struct milp *milp)
{
	mem_free(milp->column);
	mem_free(milp->row);
	mem_free(milp->entry);
	*milp = (struct milp) { 0 };
}

void milp_solution_free(struct milp_solution *solution)
{
	mem_free(solution->value);
	*solution = (struct milp_solution) { 0 };
}

/* ---- solving ---- */

struct run {
	const struct milp *milp;
	const struct milp_limits *limits;
	struct control *control;
	struct milp_solution *solution;
	enum status status;
	glp_prob *problem;
	uint64_t iterations; /* already charged to the control */
	uint32_t nodes;
	int *row, *column; /* scratch: GLPK counts from 1 */
	double *value;
	jmp_buf failed;
};

static int bounds_type(double low, double high)
{
	if (isinf(low))
		return isinf(high) ? GLP_FR : GLP_UP;
	if (isinf(high))
		return GLP_LO;
	return low < high ? GLP_DB : GLP_FX;
}

static void load(struct run *run)
{
	const struct milp *milp = run->milp;
	glp_prob *problem = run->problem = glp_create_prob();
	glp_set_obj_dir(problem, GLP_MIN);
	if (milp->columns)
		glp_add_cols(problem, (int)milp->columns);
	if (milp->rows)
		glp_add_rows(problem, (int)milp->rows);
	FOR(i, milp->columns) {
		const struct milp_column *column = &milp->column[i];
		if (column->integer)
			glp_set_col_kind(problem, (int)i + 1, GLP_IV);
		glp_set_col_bnds(problem, (int)i + 1, bounds_type(column->low, column->high), column->low, column->high);
		glp_set_obj_coef(problem, (int)i + 1, column->cost);
	}
	FOR(i, milp->rows) {
		const struct milp_row *row = &milp->row[i];
		uint32_t end = i + 1 < milp->rows ? milp->row[i + 1].first : milp->entries;
		glp_set_row_bnds(problem, (int)i + 1, bounds_type(row->low, row->high), row->low, row->high);
		FOR_FROM(entry, row->first, end) {
			run->row[entry + 1] = (int)i + 1;
			run->column[entry + 1] = (int)milp->entry[entry].column + 1;
			run->value[entry + 1] = milp->entry[entry].value;
		}
	}
	glp_load_matrix(problem, (int)milp->entries, run->row, run->column, run->value);
}

/* Charges iterations done since the last call; true when the run must end. */
static bool milp_charge(struct run *run)
{
	uint64_t iterations = (uint64_t)glp_get_it_cnt(run->problem),
			 fresh = iterations > run->iterations ? iterations - run->iterations : 0;
	run->iterations += fresh;
	bool stop = control_spend(run->control, 100 + fresh * (run->milp->rows + run->milp->columns) / 4);
	return stop || (run->limits->iterations && run->iterations >= run->limits->iterations);
}

static enum status why_stopped(const struct run *run)
{
	return control_status(run->control) == CANCELLED ? CANCELLED : LIMIT;
}

/* The linear relaxation, a few iterations at a time. */
static enum status solve_relaxation(struct run *run)
{
	glp_smcp parameters;
	glp_init_smcp(&parameters);
	parameters.msg_lev = GLP_MSG_OFF;
	parameters.it_lim = SIMPLEX_STEP;
	glp_adv_basis(run->problem, 0);
	for (;;) {
		int result = glp_simplex(run->problem, &parameters);
		if (result != 0 && result != GLP_EITLIM)
			return result == GLP_EBOUND ? INFEASIBLE : LIMIT;
		if (result == 0)
			break;
		if (milp_charge(run))
			return why_stopped(run);
	}
	return glp_get_status(run->problem) == GLP_OPT ? OK : INFEASIBLE;
}

static void on_node(glp_tree *tree, void *context)
{
	struct run *run = context;
	if (glp_ios_reason(tree) == GLP_ISELECT)
		run->nodes++;
	/* Iterations in the tree are GLPK's own affair: a node counts as a fixed number. */
	bool stop = control_spend(run->control, run->milp->rows + run->milp->columns);
	if (stop || (run->limits->nodes && run->nodes >= run->limits->nodes))
		glp_ios_terminate(tree);
}

static enum status solve_integers(struct run *run)
{
	glp_iocp parameters;
	glp_init_iocp(&parameters);
	parameters.msg_lev = GLP_MSG_OFF;
	parameters.mir_cuts = parameters.clq_cuts = parameters.cov_cuts = GLP_ON;
	parameters.br_tech = GLP_BR_DTH;
	parameters.bt_tech = GLP_BT_BPH;
	parameters.cb_func = on_node;
	parameters.cb_info = run;
	int result = glp_intopt(run->problem, &parameters);
	switch (glp_mip_status(run->problem)) {
	case GLP_OPT:
		return result == 0 ? OK : why_stopped(run);
	case GLP_NOFEAS:
		return INFEASIBLE;
	default:
		return why_stopped(run);
	}
}

static void read_solution(struct run *run, bool integers)
{
	struct milp_solution *solution = run->solution;
	int status = integers ? glp_mip_status(run->problem) : glp_get_status(run->problem);
	if (status != GLP_OPT && status != GLP_FEAS)
		return;
	MAKE(solution->value, run->milp->columns);
	if (!solution->value) {
		run->status = NO_MEMORY;
		return;
	}
	FOR(i, run->milp->columns)
		solution->value[i] = integers ? glp_mip_col_val(run->problem, (int)i + 1)
			: glp_get_col_prim(run->problem, (int)i + 1);
	solution->cost = integers ? glp_mip_obj_val(run->problem) : glp_get_obj_val(run->problem);
	if (run->status == OK)
		solution->bound = solution->cost;
}

static void base_milp_solve(struct run *run)
{
	load(run);
	run->status = solve_relaxation(run);
	bool integers = glp_get_num_int(run->problem) > 0;
	if (run->status == OK && integers) {
		run->solution->bound = glp_get_obj_val(run->problem);
		run->status = solve_integers(run);
	}
	if (run->status == OK || run->status == LIMIT)
		read_solution(run, integers);
	glp_delete_prob(run->problem);
}

static void jump_out(void *context)
{
	struct run *run = context;
	longjmp(run->failed, 1);
}

/* Runs base_milp_solve() with GLPK's errors caught. */
static enum status solve_guarded(struct run *run)
{
	if (glp_init_env() == 2) /* else the first call would end the program */
		return NO_MEMORY;
	glp_term_out(GLP_OFF);
	if (setjmp(run->failed)) {
		glp_error_hook(NULL, NULL);
		glp_free_env();
		return NO_MEMORY;
	}
	glp_error_hook(jump_out, run);
	base_milp_solve(run);
	glp_error_hook(NULL, NULL);
	glp_free_env(); /* it belongs to this thread, which may end after this */
	return run->status;
}

enum status milp_solve(const struct milp *milp, const struct milp_limits *limits, struct control *control,
	struct milp_solution *solution)
{
	*solution = (struct milp_solution) { .bound = -HUGE_VAL };
	NEED(!milp->failed);
	struct run run = {
		.milp = milp, .limits = limits, .control = control, .solution = solution, .status = NO_MEMORY,
		.row = mem_alloc((size_t)milp->entries + 1, sizeof *run.row),
		.column = mem_alloc((size_t)milp->entries + 1, sizeof *run.column),
		.value = mem_alloc((size_t)milp->entries + 1, sizeof *run.value),
	};
	enum status status = run.row && run.column && run.value ? solve_guarded(&run) : NO_MEMORY;
	mem_free(run.row);
	mem_free(run.column);
	mem_free(run.value);
	return status;
}

const char *milp_version(void)
{
	return glp_version();
}
