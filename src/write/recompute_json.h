/* recompute_json.h: what recomputation costs, in plan files. */
#pragma once

#include "src/base/json.h"
#include "src/plan/plan.h"

/* The member "recompute", where the plan computes something again or was asked to: how much time, and for
 * recompute=auto the bound under every plan of the cap with its certificate. Nothing where the plan has none. */
void recompute_write_json(const struct plan *plan, struct json *json);
