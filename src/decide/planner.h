/* planner.h: graph and scenario in, plan out: runs the stages that a change touched, takes the rest from the store. Or,
 * by bounds alone, whether any plan keeps the cap. */
#pragma once

#include "src/plan/plan.h"
#include "src/stages/table.h"

struct planner {
	struct store *store;
	const char *rules_file;     /* a user's operator rules, or NULL */
	struct rules *rules;        /* made at the first need, freed by planner_done() */
	const atomic_bool *abandoned; /* set: a cancelled run gives up at once instead of finishing what it has; may be NULL */
	bool any;                   /* whether a plan fits is all that is asked: the first that does is taken */
	order_solver *order_solver; /* NULL: order_solve(); tests put others here */
	bool once;                  /* its store is for one run */
	/* Is given plans that lead while others are still compared, in control's context; NULL: nobody looks on. */
	void (*leads)(void *context, struct plan *plan);
	struct control control;     /* the caller sets cancel and report; ticks accumulate */
};

enum planner_depth {
	PLAN_STORED,                /* the complete plan if nothing has to be solved for it, else NULL with status LIMIT */
	PLAN_QUICK,                 /* heuristics alone: a plan to show at once; complete is false */
	PLAN_UNPROVED,              /* complete, but for a search for the best bound */
	PLAN_COMPLETE               /* what the scenario asks for */
};

/* Frees what the planner owns: store and rules. */
void planner_done(struct planner *planner);
#define planner_drop planner_done

/* The plan of a scenario, with recompute=auto the best of a few rounds: equal input gives equal plans, whatever was
 * planned before. A new reference, or NULL: BAD_INPUT or INFEASIBLE with the reason (an unknown name in a pin, pins
 * that contradict each other), CANCELLED, NO_MEMORY. A cancelled run that has a plan returns it with limited set. */
struct plan *planner_run(struct planner *planner, struct graph *graph, const struct scenario *scenario,
	enum planner_depth depth, struct error *error);

/* A plan of a graph as its file has it: its order, its addresses where it has some. NULL with *error. cancel may be
 * NULL. */
struct plan *plan_as_read(struct graph *graph, const char *rules_file, const atomic_bool *cancel, struct error *error);

/* ---- by bounds alone ---- */

struct least {
	struct transformed *transformed; /* a new reference, or NULL where nothing was looked at */
	bool above;                /* proved: no plan of the scenario keeps the cap */
	int64_t bytes;             /* with above: what every plan needs at least */
};

/* Of a step on one device: what no order of it is below; with recompute=auto what no recomputation is. Nothing is
 * ordered or laid out, and what is transformed is in the planner's store for planner_run(). The scenario must have a
 * cap. OK, also where nothing is proved; else the status as planner_run()'s. Release least->transformed in any case. */
enum status planner_least(struct planner *planner, struct graph *input, const struct scenario *scenario,
	struct least *least, struct error *error);
