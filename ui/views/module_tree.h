/* module_tree.h: the modules of a graph as a tree, with the bytes that each subtree is responsible for.
 * A storage belongs to the module of the op that writes it; what is there from the start, to its first user's. */
#pragma once

#include "src/plan/plan.h"

struct module {
	const char *path;          /* "h.0.attn", "" for the root */
	const char *name;          /* its last part */
	uint32_t parent;           /* NONE for the root, which is module 0 */
	uint32_t depth;
	uint32_t first_child, next;  /* siblings in program order; NONE at the end */
	uint32_t ops;              /* of the subtree */
	uint32_t first_op;         /* of the subtree, in program order; NONE without ops */
	int64_t persistent, at_peak, made;  /* bytes of the subtree: resident, others alive at the peak, others in all */
};

struct module_tree {
	uint32_t modules;
	struct module *module;
	uint32_t *of_op;           /* [ops] the module of each op */
	struct csr own;            /* module -> its own ops, in program order */
	struct arena arena;
};

/* OK or NO_MEMORY (empty). O(ops * depth + storages). */
enum status module_tree_build(const struct plan *plan, struct module_tree *tree);
void module_tree_free(struct module_tree *tree);
