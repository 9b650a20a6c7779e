/* way_out.h: when a plan doesn't fit the memory cap: the smallest change that does. */
#pragma once

#include "src/plan/plan.h"

/* Searches all configurations on the plan's devices for those that fit by the model, and names the one that differs
 * least from the plan's: "tp 1 -> 2, zero 0 -> 1 (2.31 GiB by the model, 0.0412 s a step)"; "" where none fits, or the
 * step can't be cut. Returns text. Seconds. */
char *plan_way_out(const struct plan *plan, const char *rules_file, const atomic_bool *cancel, char *text, size_t size);
