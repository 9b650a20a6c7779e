/* terms.c: unification of products of factors.
 *
 * A dim's extent is a product of classes. Two products are made equal from the outermost factor on: equal sizes
 * join, a larger class is split by a smaller one, and an extent of 1 that has no partner becomes constant, unless
 * it carries the batch: that is a contradiction. */
#include "terms.h"

uint32_t term_new(struct terms *terms, int64_t size, enum term_label label)
{
	if (terms->failed || !GROWN(terms->node, terms->room_nodes, terms->nodes + 1)) {
		terms->failed = true;
		return NONE;
	}
	terms->node[terms->nodes] = (struct term_node) { .size = size, .parent = terms->nodes, .label = (uint8_t)label };
	return terms->nodes++;
}

/* Binds an atom to a product of at least one class. A parameter's dim stays fixed in all its factors; the batch
 * or the sequence is the outermost one. */
static bool terms_bind(struct terms *terms, uint32_t atom, const uint32_t *part, uint32_t parts)
{
	FOR(i, parts)
		if (!GROWN(terms->child, terms->room_children, terms->children + i + 1)) {
			terms->failed = true;
			return false;
		}
	uint8_t label = terms->node[atom].label;
	FOR(i, parts) {
		terms->child[terms->children + i] = part[i];
		struct term_node *node = &terms->node[term_find(terms, part[i])];
		if (node->label == LABEL_FREE && label != LABEL_FREE && node->size > 1 && (label == LABEL_FIXED || i == 0))
			node->label = label;
	}
	terms->node[atom].first = terms->children;
	terms->node[atom].count = parts;
	terms->children += parts;
	return true;
}

uint32_t term_product(struct terms *terms, const uint32_t *part, uint32_t parts)
{
	int64_t size = 1;
	FOR(i, parts)
		size *= terms->node[term_find(terms, part[i])].size;
	uint32_t node = term_new(terms, size, LABEL_FREE);
	if (node == NONE || parts == 0) {
		if (node != NONE)
			terms->node[node].unit = true;
		return node;
	}
	return terms_bind(terms, node, part, parts) ? node : NONE;
}

uint32_t term_find(struct terms *terms, uint32_t node)
{
	struct term_node *all = terms->node;
	while (all[node].parent != node)
		node = all[node].parent = all[all[node].parent].parent;
	return node;
}

/* ---- a product being read, as a stack: the outermost atom on top ---- */

struct reading {
	uint32_t depth;
	uint32_t stack[2 * TERM_ATOMS];
};

static void terms_push(struct terms *terms, struct reading *reading, const uint32_t *part, uint32_t parts)
{
	if (reading->depth + parts > 2 * TERM_ATOMS) {
		terms->failed = true;
		return;
	}
	while (parts > 0)
		reading->stack[reading->depth++] = part[--parts];
}

/* The atom on top, NONE at the end; constants and products are taken apart on the way. */
static uint32_t top(struct terms *terms, struct reading *reading)
{
	while (reading->depth > 0) {
		uint32_t node = term_find(terms, reading->stack[reading->depth - 1]);
		const struct term_node *at = &terms->node[node];
		if (at->count == 0 && !at->unit)
			return node;
		reading->depth--;
		if (at->count > 0)
			terms_push(terms, reading, terms->child + at->first, at->count);
	}
	return NONE;
}

uint32_t term_atoms(struct terms *terms, const uint32_t *part, uint32_t parts, uint32_t atom[TERM_ATOMS])
{
	struct reading reading = { 0 };
	uint32_t count = 0;
	terms_push(terms, &reading, part, parts);
	for (uint32_t node; (node = top(terms, &reading)) != NONE && count < TERM_ATOMS; reading.depth--)
		atom[count++] = node;
	return count;
}

bool term_join(struct terms *terms, uint32_t a, uint32_t b)
{
	a = term_find(terms, a);
	b = term_find(terms, b);
	struct term_node *to = &terms->node[a], *from = &terms->node[b];
	if (a == b)
		return true;
	uint8_t label = to->label ? to->label : from->label;
	bool unit = to->unit || from->unit;
	if ((from->label && from->label != label) || (unit && label_scales(label)))
		return false;
	from->parent = a;
	to->label = label;
	to->unit = unit;
	return true;
}

uint32_t term_split(struct terms *terms, uint32_t atom, uint32_t outer)
{
	uint32_t rest = term_new(terms, terms->node[atom].size / terms->node[outer].size, LABEL_FREE);
	uint32_t parts[2] = { outer, rest };
	return rest != NONE && terms_bind(terms, atom, parts, 2) ? rest : NONE;
}

/* An extent of 1 without a partner. */
static bool terms_leave_out(struct terms *terms, uint32_t atom)
{
	if (label_scales(terms->node[atom].label))
		return false;
	terms->node[atom].unit = true;
	return true;
}

/* One step at two different atoms. */
static bool align(struct terms *terms, struct reading *a, struct reading *b, uint32_t left, uint32_t right)
{
	int64_t size_left = terms->node[left].size, size_right = terms->node[right].size;
	if (size_left == size_right) {
		bool one_scales = label_scales(terms->node[left].label) != label_scales(terms->node[right].label);
		if (size_left == 1 && one_scales && a->depth != b->depth) {
			bool longer_left = a->depth > b->depth;
			uint32_t spare = longer_left ? left : right;
			if (!label_scales(terms->node[spare].label)) {
				(longer_left ? a : b)->depth--;
				return terms_leave_out(terms, spare);
			}
		}
		a->depth--;
		b->depth--;
		return term_join(terms, left, right);
	}
	if (size_left == 1) {
		a->depth--;
		return terms_leave_out(terms, left);
	}
	if (size_right == 1) {
		b->depth--;
		return terms_leave_out(terms, right);
	}
	if (size_left == 0 || size_right == 0)
		return false;
	bool split_right = size_left < size_right;
	uint32_t small = split_right ? left : right, large = split_right ? right : left;
	uint8_t outer = terms->node[small].label, whole = terms->node[large].label;
	if (terms->node[large].size % terms->node[small].size != 0 || (outer && whole && outer != whole))
		return false;
	return term_split(terms, large, small) != NONE;
}

/* A class of which nothing is known takes over a whole product, extents of 1 that carry the batch included. */
static bool terms_take_over(
	struct terms *terms, const uint32_t *a, uint32_t count_a, const uint32_t *b, uint32_t count_b)
{
	uint32_t single[TERM_ATOMS], atom[TERM_ATOMS];
	if (term_atoms(terms, a, count_a, single) != 1 || terms->node[single[0]].label != LABEL_FREE)
		return false;
	uint32_t count = term_atoms(terms, b, count_b, atom);
	int64_t size = 1;
	bool carries = false;
	FOR(i, count) {
		if (atom[i] == single[0])
			return false;
		size *= terms->node[atom[i]].size;
		carries |= label_scales(terms->node[atom[i]].label) && terms->node[atom[i]].size == 1;
	}
	return carries && count > 1 && size == terms->node[single[0]].size && terms_bind(terms, single[0], atom, count);
}

bool term_unify(struct terms *terms, const uint32_t *a, uint32_t count_a, const uint32_t *b, uint32_t count_b)
{
	if (terms_take_over(terms, a, count_a, b, count_b) || terms_take_over(terms, b, count_b, a, count_a))
		return true;
	struct reading left = { 0 }, right = { 0 };
	terms_push(terms, &left, a, count_a);
	terms_push(terms, &right, b, count_b);
	while (!terms->failed) {
		uint32_t one = top(terms, &left), other = top(terms, &right);
		if (one == NONE && other == NONE)
			return true;
		if (one != NONE && one == other) {
			left.depth--;
			right.depth--;
		} else if (one == NONE || other == NONE) {
			uint32_t spare = one == NONE ? other : one;
			if (terms->node[spare].size != 1 || !terms_leave_out(terms, spare))
				return false;
			(one == NONE ? &right : &left)->depth--;
		} else if (!align(terms, &left, &right, one, other)) {
			return false;
		}
	}
	return false;
}

void terms_free(struct terms *terms)
{
	mem_free(terms->node);
	mem_free(terms->child);
	*terms = (struct terms) { 0 };
}
