/* search.h: is there a layout within a capacity? For this folder only. */
#pragma once

#include "model.h"

/* Inferences that may be switched off, to test that they lose nothing. */
enum layout_rule {
	LAYOUT_RULE_DOMINANCE = 1,
	LAYOUT_RULE_PENDING = 2,
	LAYOUT_RULE_FLOORS = 4,
	LAYOUT_RULE_HATLESS = 8,
	LAYOUT_RULE_PARTS = 16,
	LAYOUT_RULE_TWINS = 32,
	LAYOUT_RULE_TABLE = 64,
	LAYOUT_RULE_FILL = 128,
	LAYOUT_RULES_ALL = 255
};

struct layout_search;

/* nodes: that the runs will be given, 0: many. NULL when out of memory. O(n sections + overlapping pairs) memory. */
struct layout_search *layout_search_new(const struct layout_model *model, uint64_t nodes);
void layout_search_free(struct layout_search *search);

/* OK: offset [n] holds a layout whose height is within the capacity. INFEASIBLE: there is none. LIMIT: `nodes` are
 * spent (0: no limit) or control says stop (then control_status() is not OK). NO_MEMORY.
 * keys: the order of the candidates, see layout_sort(). rules: the inferences to use; what one run has refuted serves
 * the next, whatever its rules. */
enum status layout_search_run(struct layout_search *search, int64_t capacity, const char *keys, unsigned rules,
	uint64_t nodes, int64_t *offset, struct control *control);
