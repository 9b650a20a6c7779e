/* device_form.h: a step in the form in which devices share it. */
#pragma once

#include "solver/rules/rules.h"

/* The same step with three changes, which make devices send what frameworks send. A sum of gradients adds up what
 * products with parameters make first: devices that hold heads or columns have a summand of each of these, and reduce
 * their sum once (Shoeybi et al., arXiv 1909.08053, section 3: one operator before queries, keys and values), where
 * autograd's order, the residual's gradient first, would have them reduced one by one. A view of a parameter that the
 * forward pass uses under another name, too (an embedding that is the output projection as well), is made again for the
 * backward pass: one gather in each pass is there for all. And what a framework lets go of late is read under the name
 * that was computed with last, which devices have made whole; summands that wait longer are let go of after their sum.
 * A new reference, to the graph itself where there is nothing to change. NULL with *error: out of memory. O(graph). */
struct graph *graph_device_form(struct graph *graph, const struct rules *rules, struct error *error);
