/* strategies.h: what published strategies keep, and the states that keep it. */
#ifndef TIDEMARK_FIT_STRATEGIES_H
#define TIDEMARK_FIT_STRATEGIES_H

#include "network.h"
#include "solver/step/recompute.h"

/* Each fills keep [storages]; what is saved and not kept is to be written anew. */

/* What crosses between groups of `every` (> 0) layers, and what lies outside of layers. With the square root of the layers, Chen et al. 2016. O(step). */
void fit_keep_groups(const struct fit_step *step, const struct activations *activations, uint32_t every, bool *keep);
/* Chen's number of layers in a group, at least 1. */
uint32_t fit_root_of_layers(const struct activations *activations);
/* All but what ops that run again [ops] write. O(step). */
void fit_keep_but(const struct fit_step *step, const bool *again, bool *keep);
/* What PyTorch's partitioner saves at a share (percent) of the bytes that it would save at its default: config.activation_memory_budget, its solver "dp", its
 * estimator "flops". At 0 nothing but inputs. Sizes and FLOPs are the partitioner's; memory at the peak is nothing that it looks at. OK, NO_MEMORY or CANCELLED.
 * joint_cut() and O(banned nodes * 10000). */
enum status fit_keep_knapsack(const struct fit_step *step, const struct activations *activations, const struct rules *rules, int64_t percent,
	struct control *control, bool *keep);

/* States that keep what is asked, unless what runs again finds other values then; all else is held. OK, NO_MEMORY or CANCELLED. fit_cut(). */
enum status fit_states_keeping(const struct fit_step *step, const bool *keep, struct control *control, uint8_t *state);

#endif
