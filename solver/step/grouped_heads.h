/* grouped_heads.h: attention over groups of queries without copies of the keys' and values' heads. */
#pragma once

#include "solver/rules/rules.h"

/* A graph whose attention kernels read keys and values with the groups' own heads, where they read copies of these, one
 * for each query of a group
 * ([b, k, t, d] viewed as [b, k, 1, t, d], expanded to [b, k, g, t, d], copied, and viewed as [b, k g, t, d]); their
 * backward kernels write the gradients so, in place of sums over the groups. Kernels do that themselves (Ainslie et
 * al., arXiv 2305.13245; FlashAttention-2, arXiv 2307.08691, section 3.1.2), and what is sent between devices that
 * share a sequence is then g times smaller. Whatever doesn't look just like this stays. A new reference, to the graph
 * itself where there is nothing to do. NULL with *error: out of memory. O(graph), nearly. */
struct graph *graph_group_heads(struct graph *graph, const struct rules *rules, struct error *error);
