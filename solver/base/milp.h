/* milp.h: linear programs with integer columns, solved by GLPK. The only way to GLPK.
 *
 * Results are floating point: a caller checks what it takes over, and no proof rests on them alone. */
#pragma once

#include "base.h"

/* Minimise the sum of cost * column subject to rows. Columns and rows are kept here and handed to GLPK by milp_solve.
 */
struct milp {
	uint32_t columns, rows, entries;
	struct milp_column *column;
	struct milp_row *row;
	struct milp_entry *entry;
	size_t column_room, row_room, entry_room;
	bool failed; /* out of memory: milp_solve says so */
};

struct milp_column {
	double low, high, cost; /* -HUGE_VAL and HUGE_VAL: unbounded */
	bool integer;
};

struct milp_row {
	double low, high;
	uint32_t first; /* its entries end where the next row's begin */
};

struct milp_entry {
	uint32_t column;
	double value;
};

struct milp_limits {
	uint64_t iterations; /* of the simplex method, 0: no limit */
	uint32_t nodes;      /* of the search tree, 0: no limit */
};

struct milp_solution {
	double *value; /* column -> value */
	double cost;
	double bound; /* below every solution, as far as floating point goes */
};

/* All zero is an empty program. Adding never fails visibly: milp_solve reports NO_MEMORY. */
uint32_t milp_add_column(struct milp *milp, double low, double high, double cost, bool integer);
/* A row; its entries are then added, each column at most once. */
void milp_add_row(struct milp *milp, double low, double high);
void milp_add_entry(struct milp *milp, uint32_t column, double value);
void milp_free(struct milp *milp);
#define milp_drop milp_free

/* OK: optimal. LIMIT: stopped by limits or effort; solution->value is NULL if none was found. INFEASIBLE (or
 * unbounded). CANCELLED. NO_MEMORY. Free the solution in any case. Deterministic: limits count iterations and nodes,
 * not time. Without integer columns, a linear program. */
enum status milp_solve(const struct milp *milp, const struct milp_limits *limits, struct control *control,
	struct milp_solution *solution);
void milp_solution_free(struct milp_solution *solution);
#define milp_solution_drop milp_solution_free

/* The version of GLPK, "5.0". */
const char *milp_version(void);
