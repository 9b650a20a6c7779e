/* least.h: whether any plan of a scenario can keep its cap, by bounds alone. */
#ifndef TIDEMARK_PLAN_LEAST_H
#define TIDEMARK_PLAN_LEAST_H

#include "planner.h"

struct least {
	struct transformed *transformed; /* a new reference, or NULL where nothing was looked at */
	bool above;                /* proved: no plan of the scenario keeps the cap */
	int64_t bytes;             /* with above: what every plan needs at least */
};

/* Of a step on one device: what no order of it is below; with recompute=auto what no recomputation is. Nothing is ordered or laid out, and what is transformed is in
 * the planner's store for planner_run(). The scenario must have a cap. OK, also where nothing is proved; else the status as planner_run()'s. Release least->transformed in any case. */
enum status planner_least(struct planner *planner, struct graph *input, const struct scenario *scenario, struct least *least, struct error *error);

#endif
