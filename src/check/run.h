/* run.h: a plan file's "run". */
#pragma once

#include "state.h"

/* OK where there is none, or it has the shape of one and agrees with the rest; BAD_INPUT or INFEASIBLE with what is
 * wrong. Its numbers are not looked at. */
enum status check_run(struct check *check);
