/* shared_views.h: one view instead of several that are the same. */
#pragma once

#include "solver/rules/rules.h"

/* A graph whose ops read the first of all views that are the same: of one tensor, by one operator, in one phase, of one
 * shape. Frameworks make such views for each linear layer that reads a norm's result (queries, keys, values; gate and
 * up): what is gathered for one of them is there for all, as a framework that shards the norm's result gathers it
 * (Korthikanti et al., arXiv 2205.05198, section 4.2.2). The other views are left out; they take no memory and no time.
 * Views whose shapes don't say all of them (slices have offsets), and those of memory that is written in place, stay as
 * they are. A new reference, to the graph itself where there are none. NULL with *error: out of memory. O(graph),
 * nearly. */
struct graph *graph_share_views(struct graph *graph, const struct rules *rules, struct error *error);
