/* module_tree.c: building the tree of dotted module paths. */
#include "module_tree.h"

struct builder {
	struct module_tree *tree;
	struct names paths;        /* path -> module */
	uint32_t *last_child;      /* [capacity] */
	uint32_t capacity;
	bool failed;
};

/* Upper bound of the modules: every dot and every path adds one at most. */
static uint32_t count_parts(const struct graph *graph)
{
	size_t parts = 1;
	const char *before = "";
	for (uint32_t i = 0; i < graph->ops; i++) {
		const char *path = graph->op[i].module;
		if (strcmp(path, before) == 0)
			continue;
		before = path;
		parts += *path != '\0';
		for (; *path; path++)
			parts += *path == '.';
	}
	return parts < NONE ? (uint32_t)parts : NONE - 1;
}

static uint32_t add_module(struct builder *builder, uint32_t parent, const char *path, size_t length)
{
	struct module_tree *tree = builder->tree;
	char *copy = arena_text(&tree->arena, path, length);
	if (!copy || tree->modules == builder->capacity || names_add(&builder->paths, copy, tree->modules) == NONE) {
		builder->failed = true;
		return 0;
	}
	uint32_t id = tree->modules++;
	const char *dot = strrchr(copy, '.');
	tree->module[id] = (struct module){ .path = copy, .name = dot ? dot + 1 : copy, .parent = parent, .first_child = NONE,
					    .next = NONE, .first_op = NONE, .depth = parent == NONE ? 0 : tree->module[parent].depth + 1 };
	if (parent != NONE) {
		if (tree->module[parent].first_child == NONE)
			tree->module[parent].first_child = id;
		else
			tree->module[builder->last_child[parent]].next = id;
		builder->last_child[parent] = id;
	}
	return id;
}

/* The module of a path, made with its ancestors where it is new. */
static uint32_t module_tree_module_of(struct builder *builder, const char *path)
{
	uint32_t at = 0;
	if (!*path)
		return 0;
	uint32_t known = names_find(&builder->paths, path);
	if (known != NONE)
		return known;
	for (const char *end = path; *end && !builder->failed; ) {
		end += strcspn(*end == '.' ? end + 1 : end, ".") + (*end == '.');
		char *prefix = arena_text(&builder->tree->arena, path, (size_t)(end - path));
		if (!prefix) {
			builder->failed = true;
			return 0;
		}
		uint32_t next = names_find(&builder->paths, prefix);
		at = next != NONE ? next : add_module(builder, at, path, (size_t)(end - path));
	}
	return at;
}

static void module_tree_add_ops(struct builder *builder, const struct graph *graph)
{
	struct module_tree *tree = builder->tree;
	for (uint32_t i = 0; i < graph->ops && !builder->failed; i++) {
		tree->of_op[i] = module_tree_module_of(builder, graph->op[i].module);
		for (uint32_t m = tree->of_op[i]; m != NONE; m = tree->module[m].parent) {
			tree->module[m].ops++;
			if (tree->module[m].first_op == NONE)
				tree->module[m].first_op = i;
		}
	}
}

static void add_storages(struct module_tree *tree, const struct plan *plan)
{
	const struct graph *graph = plan->graph;
	for (uint32_t i = 0; i < graph->storages; i++) {
		const struct storage *storage = &graph->storage[i];
		uint32_t op = storage->allocator;
		if (op == NONE && csr_length(&graph->users, i) > 0)
			op = graph->users.item[graph->users.start[i]];
		if (op == NONE || plan->laid_out->first[i] == NONE)
			continue;
		bool at_peak = plan->laid_out->first[i] <= plan->ordered->peak_position &&
			plan->ordered->peak_position <= plan->laid_out->last[i];
		for (uint32_t m = tree->of_op[op]; m != NONE; m = tree->module[m].parent) {
			struct module *module = &tree->module[m];
			module->persistent += storage->persistent ? plan->laid_out->bytes[i] : 0;
			module->made += storage->persistent ? 0 : plan->laid_out->bytes[i];
			module->at_peak += at_peak && !storage->persistent ? plan->laid_out->bytes[i] : 0;
		}
	}
}

enum status module_tree_build(const struct plan *plan, struct module_tree *tree)
{
	const struct graph *graph = plan->graph;
	*tree = (struct module_tree){ 0 };
	struct builder builder = { .tree = tree, .capacity = count_parts(graph) };
	tree->module = arena_alloc(&tree->arena, builder.capacity, sizeof *tree->module);
	tree->of_op = arena_alloc(&tree->arena, graph->ops, sizeof *tree->of_op);
	uint32_t *ops = arena_alloc(&tree->arena, graph->ops, sizeof *ops);
	builder.last_child = mem_alloc(builder.capacity, sizeof *builder.last_child);
	enum status status = tree->module && tree->of_op && ops && builder.last_child ? OK : NO_MEMORY;
	if (status == OK) {
		add_module(&builder, NONE, "", 0);
		module_tree_add_ops(&builder, graph);
		status = builder.failed ? NO_MEMORY : OK;
	}
	for (uint32_t i = 0; status == OK && i < graph->ops; i++)
		ops[i] = i;
	THEN(status, csr_of_pairs(&tree->arena, tree->modules, graph->ops, tree->of_op, ops, &tree->own));
	if (status == OK)
		add_storages(tree, plan);
	names_free(&builder.paths);
	mem_free(builder.last_child);
	if (status != OK)
		module_tree_free(tree);
	return status;
}

void module_tree_free(struct module_tree *tree)
{
	arena_free(&tree->arena);
	*tree = (struct module_tree){ 0 };
}
