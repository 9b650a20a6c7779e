/* plan_json.h: the plan file (docs/design.md section 7): written for scripts, read again by `check`. */
#pragma once

#include <stdio.h>

#include "src/plan/plan.h"
#include "solver/rules/factors.h"

/* factors: of the planned graph's dims, or NULL to leave them out. with_run: also the run part, the only one that may
 * differ between two equal runs. False on a stream error. */
bool plan_write_json(const struct plan *plan, const struct factors *factors, bool with_run, FILE *stream);
