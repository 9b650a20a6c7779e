/* reach.h: how high each section will reach at least. For this folder only.
 *
 * A section's reach is what it has in use, holes included, and what is still to come: its load and the holes so far. */
#pragma once

#include "model.h"

struct reach_node { int64_t most, added; };

struct reach {
	uint32_t leaves;
	struct reach_node *node;   /* a segment tree: the most below, and what was added to all below */
};

enum status reach_build(struct reach *reach, const struct layout_model *model);
void reach_free(struct reach *reach);

/* The first section of [first, last) that reaches highest. O(log sections), as all here. */
uint32_t reach_most(const struct reach *reach, uint32_t first, uint32_t last);

/* A hole of so many units in sections [first, last). */
void reach_add(struct reach *reach, uint32_t first, uint32_t last, int64_t hole);
