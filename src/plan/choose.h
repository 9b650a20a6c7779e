/* choose.h: which of several plans is better: the one place that compares them, and the candidates that it asks for. */
#ifndef TIDEMARK_PLAN_CHOOSE_H
#define TIDEMARK_PLAN_CHOOSE_H

#include "assemble.h"

/* The best plan of a scenario: what a first pass finds, rounds that fit choices to the memory cap, rivals of a sharding. A new reference, or NULL with
 * the error's status. Cancelled with a plan at hand: that, limited. */
struct plan *choose_plan(const struct planning *planning);

#endif
