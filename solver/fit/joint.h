/* joint.h: a step's forward and backward pass as PyTorch's partitioner sees them: a node for every result.
 *
 * After torch/_functorch/partitioners.py of PyTorch 2.14 (solve_min_cut, choose_saved_values_set). Its lists of
 * operators are read off our rules: what Inductor makes code for is views, elementwise ops, sources, reductions,
 * gathers and copies; what is expensive is products, convolutions and attentions. */
#pragma once

#include "solver/base/max_flow.h"
#include "solver/graph/graph.h"
#include "solver/rules/rules.h"

struct joint_node {
	uint32_t op, tensor; /* NONE: an input has no op; an op with several results, and an op after the pass, no tensor */
	int64_t bytes;             /* of its results */
	bool forward, input, item; /* item: one of several results */
	bool steady;               /* an input that is there all the time, and free to save */
	bool view, generated, concatenates, random, expensive, leaves; /* leaves: a result of the whole step */
	uint32_t distance;         /* ops up to the first one after the pass; JOINT_FAR: none comes */
};

#define JOINT_FAR 1000000000u

struct joint {
	struct joint_node *node;   /* [nodes] inputs, then ops in program order, each before its items */
	uint32_t nodes, inputs;
	struct csr users, operands; /* node -> nodes */
	struct arena arena;
};

/* Why an op may not run again: heuristics that a budget lifts one after the other. */
struct joint_bans {
	bool far_apart, long_chains, materialized, not_generated, reductions;
};

/* forward: [ops]. OK or NO_MEMORY. O(graph). Free with joint_free() in any case. */
enum status joint_find(const struct graph *graph, const bool *forward, const struct rules *rules, struct joint *joint);
void joint_free(struct joint *joint);

/* What the partitioner saves: a minimum cut of saved bytes, weighed by the distance to the backward pass, in which
 * banned nodes never run again, but for those that are allowed to [nodes] (NULL: none). saved [nodes]; banned [nodes]:
 * 0, or the number with which it was banned, from 1. OK, NO_MEMORY or CANCELLED. As flow_maximise(), and O(nodes^2) for
 * bans of what is used far apart. */
enum status joint_cut(const struct joint *joint, const struct joint_bans *bans, const bool *allowed,
	struct control *control, bool *saved, uint32_t *banned);
