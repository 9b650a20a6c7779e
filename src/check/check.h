/* check.h: the independent, slow, simple checker of plan files: `tidemark check GRAPH PLAN.json`.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     check     the run; order and peaks
 *     state     members of a plan file, and what is said of them
 *     layout    buffers, arena and its bound
 *     shard     placements, costs and bounds
 *     pipeline  ranks, schedule and memory
 */
#ifndef TIDEMARK_CHECK_CHECK_H
#define TIDEMARK_CHECK_CHECK_H

#include <stdio.h>

#include "solver/graph/graph.h"

/* Reads a plan file and verifies all of it against the graph that it describes: the order keeps every dependency and
 * pin, peak and lifetimes are computed anew by a different algorithm, no two buffers that are alive together overlap, every
 * pin is honoured, and bounds are re-verified from their certificates in integers (a bound by search is searched again).
 * rules_file: a user's operator rules, or NULL. Writes one line per check to report, which may be NULL. OK; INFEASIBLE: something in the plan is wrong, error says what;
 * BAD_INPUT: not a plan file of this graph. */
enum status plan_check(const struct graph *graph, const char *path, const char *rules_file, FILE *report, struct error *error);

#endif
