/* few_layers.h: what a plan of a step with very many equal layers would come to, from plans of the same step with few
 * of them.
 *
 * A plan grows by what a layer adds to it. So a sharding of the whole step, cut down to a few layers and to a few more,
 * is planned twice, and both plans are drawn out to all layers. That chooses which shardings are planned whole; it is
 * never shown as an answer. */
#pragma once

#include "assemble.h"

/* The few layers, made once for all shardings of a step. */
struct few_layers;

/* Cuts down the step that a sharding is of. *layers NULL: planning few layers in its place would save little, or the
 * step has none that can be left out. OK, NO_MEMORY or CANCELLED with the error's text. Free it with few_layers_free().
 * O(graph). */
enum status few_layers_new(
	const struct planning *planning, const struct shared_units *shared, struct few_layers **layers);
void few_layers_free(struct few_layers *layers);

/* What a sharding of the whole step would come to. OK; INFEASIBLE: nothing can be foretold; else the error's status. */
enum status few_layers_foretell(const struct few_layers *layers, const struct planning *planning,
	const struct sharding *sharding, struct foretold *foretold);
