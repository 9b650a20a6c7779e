/* table.h: the stages between reading and ordering: graph in, graph out (docs/design.md section 2).
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     table        the stages, each with its key; base/stages has order and layout
 *     scale_notes  what another batch or sequence rests on */
#pragma once

#include "solver/step/scale.h"
#include "src/stages/fit/stage.h"

/* train, scale, optimizer and precision, recompute, shard, in_place: those that the scenario asks for, each from the
 * store where it is there. A new reference, or NULL: BAD_INPUT and the reason where a knob asks for what this graph
 * can't give. */
struct transformed *stage_transform(struct stage_context *stage, struct graph *input, const struct scenario *scenario,
	const struct plan_wish *wish, bool quick, struct error *error);

/* Notes what scaling a graph has taken for granted, a line each. */
void scale_notes(char notes[NOTES_BYTES], const struct graph *graph, const struct scale_report *report);
