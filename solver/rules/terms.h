/* terms.h: products of factors under unification: union-find whose classes may be split into products. */
#pragma once

#include "factors.h"

/* What is known of a class. FIXED: a parameter's dim. */
enum term_label { LABEL_FREE, LABEL_FIXED, LABEL_BATCH, LABEL_SEQUENCE };

struct term_node {
	int64_t size;
	uint32_t parent;
	uint32_t first, count; /* count > 0: the class is the product of child[first ..) */
	uint8_t label;
	bool unit; /* extent 1 for good */
	bool open; /* extent 1 of a dim over which a tensor is repeated: views keep it, as they keep the batch */
};

struct terms {
	struct term_node *node;
	uint32_t *child;
	uint32_t nodes, children;
	size_t room_nodes, room_children;
	bool failed; /* an allocation failed: everything since is void */
};

#define TERM_ATOMS 64 /* factors of one dim, at most */

/* A new class. NONE (and terms->failed) when out of memory. */
uint32_t term_new(struct terms *terms, int64_t size, enum term_label label);
/* A class that is the product of others. */
uint32_t term_product(struct terms *terms, const uint32_t *part, uint32_t parts);
uint32_t term_find(struct terms *terms, uint32_t node);
/* The atoms of a product, outermost first, without constant ones; returns how many (at most TERM_ATOMS). */
uint32_t term_atoms(struct terms *terms, const uint32_t *part, uint32_t parts, uint32_t atom[TERM_ATOMS]);
/* Makes two atoms one. False when their labels contradict. */
bool term_join(struct terms *terms, uint32_t a, uint32_t b);
/* Splits an atom into (outer, rest): outer's size divides it. Returns rest's node. */
uint32_t term_split(struct terms *terms, uint32_t atom, uint32_t outer);
/* Makes two products of equal size the same. False when they can't be. */
bool term_unify(struct terms *terms, const uint32_t *a, uint32_t count_a, const uint32_t *b, uint32_t count_b);
void terms_free(struct terms *terms);

static inline bool label_scales(uint8_t label)
{
	return label == LABEL_BATCH || label == LABEL_SEQUENCE;
}

/* factor_roles: the last step of factors_find(). */

/* Gives factors other than batch and sequence their roles. OK or NO_MEMORY. Nearly linear. */
enum status factor_roles_find(const struct graph *graph, const struct rules *rules, struct factors *factors);

/* gradient_flow: what depends on data, and what flows into weight updates only. For factors.c, which follows the
 * batch. */

struct gradient_flow {
	const struct graph *graph;
	const struct rules *rules;
	bool *data;     /* tensor: depends on the inputs' values */
	bool *gradient; /* tensor: goes into weight updates only */
};

/* An input of the step that has dims. */
bool graph_is_input(const struct graph *graph, uint32_t tensor);
/* In the arena. OK or NO_MEMORY. O(ops + tensors). */
enum status gradient_flow_find(
	const struct graph *graph, const struct rules *rules, struct arena *arena, struct gradient_flow *flow);
/* The derivative of an elementwise op on what was made of parameters alone: one gradient, and nothing else that depends
 * on data. */
bool gradient_flow_is_derivative(const struct gradient_flow *flow, uint32_t op);
