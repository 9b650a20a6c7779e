/* scale_captured.h: another batch of a step that was captured at several. */
#pragma once

#include "scale.h"

/* The step at a batch, as captured there, or from what each sample more adds to it (growth_base(graph), which must be
 * there): the ops that PyTorch runs, in their order, without inference. FLOPs are the rule's where an op has one that
 * fits. Workspace is on the lines through what was measured. Estimates are workspaces that are known at one batch,
 * reserves of a form that isn't known, and one sample where that wasn't captured. BAD_INPUT where a size would be
 * absurd, or where a capture of one sample failed. Release *scaled with graph_release(). O(graph). */
enum status graph_scale_captured(const struct graph *graph, const struct rules *rules, int64_t batch,
	struct scale_report *report, struct graph **scaled, struct error *error);
