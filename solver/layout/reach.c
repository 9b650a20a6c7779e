/* reach.c: see steps.h. */
#include "steps.h"

enum status reach_build(struct reach *reach, const struct layout_model *model)
{
	reach->leaves = 1;
	while (reach->leaves < model->sections)
		reach->leaves *= 2;
	MAKE(reach->node, (size_t)reach->leaves * 2);
	NEED(reach->node);
	FOR(s, model->sections)
		reach->node[reach->leaves + s].most = model->load[s];
	for (uint32_t v = reach->leaves; v-- > 1;) {
		const struct reach_node *left = &reach->node[2 * v], *right = left + 1;
		reach->node[v].most = left->most >= right->most ? left->most : right->most;
	}
	return OK;
}

void reach_free(struct reach *reach)
{
	mem_free(reach->node);
}

static void reach_add_to(struct reach_node *node, int64_t hole)
{
	node->most += hole;
	node->added += hole;
}

static void pull_up(struct reach *reach, uint32_t v)
{
	for (v /= 2; v > 0; v /= 2) {
		const struct reach_node *left = &reach->node[2 * v], *right = left + 1;
		reach->node[v].most = (left->most >= right->most ? left->most : right->most) + reach->node[v].added;
	}
}

void reach_add(struct reach *reach, uint32_t first, uint32_t last, int64_t hole)
{
	uint32_t left = reach->leaves + first, right = reach->leaves + last;
	for (uint32_t l = left, r = right; l < r; l /= 2, r /= 2) {
		if (l & 1)
			reach_add_to(&reach->node[l++], hole);
		if (r & 1)
			reach_add_to(&reach->node[--r], hole);
	}
	pull_up(reach, left);
	pull_up(reach, right - 1);
}

/* The node's most, with what was added above it. */
static int64_t reach_most_of(const struct reach *reach, uint32_t v)
{
	int64_t most = reach->node[v].most;
	for (v /= 2; v > 0; v /= 2)
		most += reach->node[v].added;
	return most;
}

/* The first leaf below. */
static uint32_t first_leaf(const struct reach *reach, uint32_t v)
{
	return v << (__builtin_clz(v) - __builtin_clz(reach->leaves));
}

uint32_t reach_most(const struct reach *reach, uint32_t first, uint32_t last)
{
	uint32_t found = reach->leaves + first;
	int64_t most = reach_most_of(reach, found);
	for (uint32_t l = reach->leaves + first, r = reach->leaves + last; l < r; l /= 2, r /= 2) {
		uint32_t side[2] = { l & 1 ? l++ : 0, r & 1 ? --r : 0 };
		FOR_INT(i, 2) {
			int64_t other = side[i] ? reach_most_of(reach, side[i]) : -1;
			if (other > most || (other == most && first_leaf(reach, side[i]) < first_leaf(reach, found))) {
				found = side[i];
				most = other;
			}
		}
	}
	while (found < reach->leaves)
		found = 2 * found + (reach->node[2 * found].most < reach->node[2 * found + 1].most);
	return found - reach->leaves;
}
