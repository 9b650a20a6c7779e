/* again.h: the part of the plan checker that plans again. */
#pragma once

#include "state.h"

/* Plans the file's scenario anew and compares every member but the free ones. After all other parts. INFEASIBLE with
 * the first member that differs; BAD_INPUT, NO_MEMORY. Skipped, and said so, where the file says that its plan was cut
 * short, or where the planned graph was given. */
enum status check_again(struct check *check);
/* Whether it will. */
bool check_plans_again(const struct check *check);
