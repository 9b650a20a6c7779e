/* float8.h: matrix products of layers with 8-bit operands, everything else as it is. */
#pragma once

#include "solver/rules/rules.h"

/* The step in which products of layers (by module path, see activations_find()) read 8-bit copies of their 16- or
 * 32-bit operands: e4m3, in the backward pass e5m2 for what is neither a parameter nor kept from the forward pass
 * (Micikevicius et al. 2022, arXiv 2209.05433). Operands are cast right before their first reader, once for each pass;
 * what is saved for the backward pass stays in its own format, as float8 linear layers of torchao keep it. Experts'
 * grouped products are matrices, too (Transformer Engine's GroupedLinear, DeepGEMM). Products that are stacked (bmm)
 * and attention stay, and so does the projection to the vocabulary, which lies outside of the layers. Scales are
 * numbers and not in the graph. *changed: products. A new reference, to the graph itself where there are none. NULL
 * with *error: out of memory. O(graph). */
struct graph *float8_apply(struct graph *graph, const struct rules *rules, uint32_t *changed, struct error *error);
