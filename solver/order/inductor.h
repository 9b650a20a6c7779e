/* inductor.h: the orders that PyTorch's Inductor tries (torch/_inductor/memory.py, 2.15; reorder_for_peak_memory), to
 * the op. */
#pragma once

#include "solver/graph/problem.h"

/* Its topological_sort_lpmf (after Oh and Ha, DAC 2006): among the ready ops the one that raises the peak so far least,
 * then the one that grows the live bytes least, then the earliest. The peak so far begins at what the step keeps at its
 * end. O(arcs + ops * ready ops). */
enum status order_inductor_lpmf(const struct problem *problem, uint32_t *order);
/* Its topological_sort_bfs: the ready op whose predecessors ran first, compared place by place. O(arcs log ops) on all
 * but contrived inputs. */
enum status order_inductor_bfs(const struct problem *problem, uint32_t *order);
/* Its topological_sort_dfs: depth first from the op that touches fewest bytes, operands in the same order. O(arcs log
 * ops). */
enum status order_inductor_dfs(const struct problem *problem, uint32_t *order);
