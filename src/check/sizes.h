/* sizes.h: a step at another batch or sequence, held against the one that it was made of. */
#pragma once

#include "solver/rules/rules.h"
#include "state.h"

/* What is there from the start and isn't an input has its shape and bytes; every op that touches another shape has a
 * rule that the new shapes fit, and the FLOPs that follow from it where it had those; bytes follow the shapes; inputs
 * that changed have the samples and the length that were asked for (0: none was). INFEASIBLE with the tensor or op.
 * O(graph). */
enum status sizes_check(struct check *check, const struct rules *rules, const struct graph *before,
	const struct graph *after, int64_t batch, int64_t sequence);
/* The same of a step that was captured at several batches, held against the capture that it was made of: the same ops,
 * and every extent and workspace has grown as the file says. */
enum status sizes_check_captured(struct check *check, const struct rules *rules, const struct graph *before,
	const struct graph *after, int64_t batch);
