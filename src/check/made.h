/* made.h: what each stage made of a graph, held against what it was given. */
#pragma once

#include "state.h"

/* A witness of stage_transform() (src/stages/stages.h); context is the struct check. By matching: every op computes the
 * same value from the same versions, sizes are those that were asked for. Splits over devices and pipeline ranks have
 * checks of their own. */
enum status made_check(void *context, const char *step, const struct graph *before, const struct graph *after);

/* Says what held, and what the matching can't show. */
void made_report(const struct check *check);
