/* passes.h: what a step that accumulates gradients does in each of its passes, and what once. */
#pragma once

#include "solver/graph/graph.h"

/* The op that adds a pass's gradient to the sum that lives from step to step. O(its reads). */
bool passes_sums(const struct graph *graph, uint32_t op);
/* once[op]: it runs once a step, behind the last pass: the update, and collectives that wait for it or for sums of
 * gradients. All else, sums too, runs in every pass. once: [ops]. O(graph). */
void passes_find(const struct graph *graph, bool *once);
