/* merge.h: series-parallel parts of a problem, ordered by hill-valley merging. */
#pragma once

#include "model.h"

/* Rearranges an order by merging independent branches: those between a fork and its join, and those without one such
 * as weight updates. base and order are [ops]; base is a valid order, and what is not series-parallel keeps it.
 * *exact: all of the problem is series-parallel, and no item's first or last user depends on how branches interleave:
 * order is optimal then. Otherwise it may be worse than base, but it is always valid. *ticks becomes what
 * it took, O((arcs + touches) log ops): parts nested too deeply for that stay as in base.
 * Liu 1987 (hill-valley segments), Abdel-Wahab and Kameda 1978 and Monma and Sidney 1979 (series-parallel orders),
 * Kayaaslan et al. 2018 (memory of task graphs). */
enum status order_merge(const struct order_model *model, const uint32_t *base, uint32_t *order, bool *exact, uint64_t *ticks);
