/* strategies.h: what published strategies keep, and the states that keep it. */
#pragma once

#include "network.h"
#include "solver/step/recompute.h"

/* Each fills keep [storages]; what is saved and not kept is to be written anew. */

/* What crosses between groups of `every` (> 0) layers, and what lies outside of layers. With the square root of the
 * layers, Chen et al. 2016. O(step). */
void fit_keep_groups(const struct fit_step *step, const struct activations *activations, uint32_t every, bool *keep);
/* All but what stays within the layers `every` (> 0), 2 `every` ..., counted from 1. O(step). */
void fit_keep_every(const struct fit_step *step, const struct activations *activations, uint32_t every, bool *keep);
/* Chen's number of layers in a group, at least 1. */
uint32_t fit_root_of_layers(const struct activations *activations);
/* What PyTorch's partitioner saves at shares (percent [count]) of the bytes that it would save at its default:
 * config.activation_memory_budget, its solver "dp", its estimator "flops". At 0 nothing but inputs. keep: [count *
 * storages]. Sizes and FLOPs are the partitioner's; memory at the peak is nothing that it looks at. OK, NO_MEMORY,
 * CANCELLED or LIMIT. joint_cut() for each share and three for all, and O(banned nodes * 10000). */
enum status fit_keep_knapsack(const struct fit_step *step, const struct activations *activations,
	const struct rules *rules, const int64_t *percent, uint32_t count, struct control *control, bool *keep);

/* States that keep what is asked, unless what runs again finds other values then; all else is held. OK, NO_MEMORY or
 * CANCELLED. fit_cut(). */
enum status fit_states_keeping(const struct fit_step *step, const bool *keep, struct control *control, uint8_t *state);

/* What all of them choose, one behind the other: selective, full, groups of up to 7 layers and of their square root,
 * every second to seventh layer, budgets from 0 to 100 % in tens. state
 * [*count * storages], which the caller frees with mem_free(), also after a failure. OK, NO_MEMORY, CANCELLED or LIMIT.
 */
enum status fit_published_states(const struct fit_step *step, const struct activations *activations,
	const struct rules *rules, struct control *control, uint8_t **state, uint32_t *count);
