/* transform.h: the stages between reading and ordering: graph in, graph out (docs/design.md section 2). */
#pragma once

#include "src/stages/fit/stage.h"

/* train, scale, optimizer and precision, recompute, shard, in_place: those that the scenario asks for, each from the
 * store where it is there. A new reference, or NULL: BAD_INPUT and the reason where a knob asks for what this graph
 * can't give. */
struct transformed *stage_transform(struct stage_context *stage, struct graph *input, const struct scenario *scenario,
	const struct plan_wish *wish, bool quick, struct error *error);
/* The same of a step that is sharded already: the steps behind sharding alone. */
struct transformed *stage_transform_sharded(struct stage_context *stage, struct sharded *sharded,
	const struct scenario *scenario, const struct plan_wish *wish, struct error *error);

/* transformed.c: takes over graph; notes are copied, sharded, pipelined and fitted (may be NULL) retained. */
struct transformed *transformed_new(struct graph *graph, const char *notes, struct sharded *sharded,
	struct pipelined *pipelined, struct fitted *fitted, int64_t fit_peak);
