/* seeds.h: fast orders that the deeper steps start from. */
#pragma once

#include "model.h"

enum order_greedy_rule {
	ORDER_GREEDY_LIST,     /* least growth (most freed minus allocated), then most successors: XLA's list scheduler */
	ORDER_GREEDY_LPMF      /* least peak so far, then least growth: PyTorch Inductor's LPMF */
};

/* Greedy orders; order is [ops]. Ties go to the smaller number, or to the larger where prefer_late is set (for
 * reversed models, so that ties keep program order). O(arcs log ops) on all but contrived inputs. */
enum status order_greedy(
	const struct order_model *model, enum order_greedy_rule rule, bool prefer_late, uint32_t *order);

/* The list rule for all ops but those of sequence [length], which run in that order among themselves; dependencies
 * allow it. O(arcs log ops), as above. */
enum status order_greedy_beside(
	const struct order_model *model, const uint32_t *sequence, uint32_t length, uint32_t *order);

/* Always the ready op of the smallest (group, priority); priority is a permutation. group may be NULL. O(arcs + ops log
 * ops). */
enum status order_by_priority(
	const struct order_model *model, const uint8_t *group, const uint32_t *priority, uint32_t *order);

/* Post-order depth-first search from the last ops, the operand with most other users and largest total size
 * first: XLA's DFS memory scheduler. O(arcs + ops log ops). */
enum status order_depth_first(const struct order_model *model, uint32_t *order);
