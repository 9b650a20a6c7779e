/* scale_captured.h: another batch of a step that was captured at two. */
#pragma once

#include "scale.h"

/* The step at another batch, from what each sample more adds to it (growth_base(graph), which must be there): the ops that PyTorch runs at several samples, in their
 * order, without inference. FLOPs are the rule's where an op has one that fits. What grows otherwise than by a constant is an estimate: workspaces, and reserves of a form that isn't known.
 * BAD_INPUT where a size would be absurd. Release *scaled with graph_release(). O(graph). */
enum status graph_scale_captured(const struct graph *graph, const struct rules *rules, int64_t batch, struct scale_report *report, struct graph **scaled, struct error *error);

/* Whether a batch can be made so: from 2 on, since PyTorch runs other ops at 1, if it isn't the graph's own. */
bool graph_captured_at(const struct graph *graph, int64_t batch);
