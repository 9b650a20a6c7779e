/* problem_json.h: the JSON of the contest on intra-operator parallelism for distributed deep learning (IOPDDL).
 *
 * {"problem": {"name": .., "nodes": {"intervals": [[begin, end]..], "costs": [[..]..], "usages": [[..]..]},
 *  "edges": {"nodes": [[from, to]..], "costs": [[..]..]}, "usage_limit": ..}}, keys in any order; others are ignored.
 */
#pragma once

#include "solver/problems/problems.h"

/* BAD_INPUT with the line of a syntax error, or the node or edge of another, in *error. Free the problem with
 * shard_problem_free(), after an error too. O(text). */
enum status problem_json_read(const char *text, size_t size, struct shard_problem *problem, struct error *error);
