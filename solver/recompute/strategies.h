/* strategies.h: what published strategies keep, and the states that keep it. */
#pragma once

#include "network.h"
#include "solver/step/recompute.h"

/* Each fills keep [storages]; what is saved and not kept is to be written anew. */

/* What crosses between groups of `every` (> 0) layers, and what lies outside of layers. With the square root of the
 * layers, Chen et al. 2016. O(step). */
void recompute_keep_groups(
	const struct recompute_step *step, const struct activations *activations, uint32_t every, bool *keep);
/* States: what crosses between groups is written anew once and then held; the rest is for a layer or, where that takes
 * less than `price` picoseconds a byte, for each reader. What lies outside of layers is kept. O(step). */
void recompute_states_nested(const struct recompute_step *step, const struct activations *activations, uint32_t every,
	double price, uint8_t *state);
/* All but what stays within the layers `every` (> 0), 2 `every` ..., counted from 1. O(step). */
void recompute_keep_every(
	const struct recompute_step *step, const struct activations *activations, uint32_t every, bool *keep);
/* Chen's number of layers in a group, at least 1. */
uint32_t recompute_root_of_layers(const struct activations *activations);
/* What PyTorch's partitioner saves at shares (percent [count]) of the bytes that it would save at its default:
 * config.activation_memory_budget, its solver "dp", its estimator "flops". At 0 nothing but inputs. keep: [count *
 * storages]. Sizes and FLOPs are the partitioner's; memory at the peak is nothing that it looks at. OK, NO_MEMORY,
 * CANCELLED or LIMIT. joint_cut() for each share and three for all, and O(banned nodes * 10000). */
enum status recompute_keep_knapsack(const struct recompute_step *step, const struct activations *activations,
	const struct rules *rules, const int64_t *percent, uint32_t count, struct control *control, bool *keep);

/* States that keep what is asked, unless what runs again finds other values then; all else is held. OK, NO_MEMORY or
 * CANCELLED. recompute_cut(). */
enum status recompute_states_keeping(
	const struct recompute_step *step, const bool *keep, struct control *control, uint8_t *state);

/* What all of them choose, one behind the other: selective, full, groups of up to 7 layers and of their square root,
 * every second to seventh layer, budgets from 0 to 100 % in tens. state
 * [*count * storages], which the caller frees with mem_free(), also after a failure. OK, NO_MEMORY, CANCELLED or LIMIT.
 */
enum status recompute_published_states(const struct recompute_step *step, const struct activations *activations,
	const struct rules *rules, struct control *control, uint8_t **state, uint32_t *count);

/* joint: a step's forward and backward pass as PyTorch's partitioner sees them: a node for every result.
 *
 * After torch/_functorch/partitioners.py of PyTorch 2.14 (solve_min_cut, choose_saved_values_set). Its lists of
 * operators are read off our rules: what Inductor makes code for is views, elementwise ops, sources, reductions,
 * gathers and copies; what is expensive is products, convolutions and attentions. */

struct joint_node {
	uint32_t op, tensor; /* NONE: an input has no op; an op with several results, and an op after the pass, no tensor */
	int64_t bytes; /* of its results */
	bool forward, input, item; /* item: one of several results */
	bool steady; /* an input that is there all the time, and free to save */
	bool view, generated, concatenates, random, expensive, leaves; /* leaves: a result of the whole step */
	uint32_t distance; /* ops up to the first one after the pass; JOINT_FAR: none comes */
};

#define JOINT_FAR 1000000000u

struct joint {
	struct joint_node *node; /* [nodes] inputs, then ops in program order, each before its items */
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
