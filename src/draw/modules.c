/* modules.c: builds and folds the tree of modules. */
#include "groups.h"

#define DEPTH_MOST 24u /* deeper parts of a path stay together in one name */

struct builder {
	const struct graph *graph;
	struct arena *arena;
	struct modules *modules;
	struct names paths;
	uint32_t *last_child;
};

/* The module of a path whose parent is known; appended where it is new. */
static uint32_t child_of(struct builder *builder, uint32_t parent, const char *path, size_t length, size_t name_at)
{
	struct modules *modules = builder->modules;
	char *text = arena_text(builder->arena, path, length);
	if (!text)
		return NONE;
	uint32_t found = names_add(&builder->paths, text, modules->count);
	if (found != modules->count)
		return found;
	uint32_t id = modules->count++;
	modules->module[id] = (struct module){ .path = text,
		.name = text + name_at,
		.parent = parent,
		.first = NONE,
		.next = NONE,
		.depth = modules->module[parent].depth + 1,
		.normal = id,
		.repeats = 1,
		.last_of_row = id };
	builder->last_child[id] = NONE;
	if (builder->last_child[parent] == NONE)
		modules->module[parent].first = id;
	else
		modules->module[builder->last_child[parent]].next = id;
	builder->last_child[parent] = id;
	return id;
}

static uint32_t module_of_path(struct builder *builder, const char *path, size_t length)
{
	uint32_t module = 0;
	size_t begin = 0;
	while (begin < length && module != NONE) {
		const char *dot = memchr(path + begin, '.', length - begin);
		size_t end = dot && builder->modules->module[module].depth + 1 < DEPTH_MOST ? (size_t)(dot - path) : length;
		module = child_of(builder, module, path, end, begin);
		begin = end + 1;
	}
	return module;
}

/* An update's or a collective's path may end with a parameter's name, "h.0.ln_1.weight". */
static bool names_parameter(const struct op *op)
{
	return op->phase == PHASE_UPDATE || op->phase == PHASE_COMMUNICATION;
}

/* How much of a path names modules: those that other ops have. */
static size_t module_length(const struct builder *builder, const struct op *op)
{
	size_t length = strlen(op->module);
	char path[1024];
	if (!names_parameter(op) || length >= sizeof path)
		return length;
	memcpy(path, op->module, length + 1);
	for (size_t end = length; end; ) {
		if (names_find(&builder->paths, path) != NONE)
			return end;
		while (end && path[end] != '.')
			end--;
		path[end] = '\0';
	}
	return length;
}

static size_t count_components(const struct graph *graph)
{
	size_t count = 1;
	FOR(op, graph->ops) {
		count++;
		for (const char *at = graph->op[op].module; (at = strchr(at, '.')); at++)
			count++;
	}
	return count;
}

static enum status grow_tree(struct builder *builder)
{
	const struct graph *graph = builder->graph;
	struct modules *modules = builder->modules;
	size_t most = count_components(graph);
	NEED(ROOMS(builder->arena, most, modules->module, builder->last_child) &&
		ROOM(builder->arena, modules->of_op, graph->ops));
	modules->module[0] = (struct module){
		.path = "", .name = "", .parent = NONE, .first = NONE, .next = NONE, .repeats = 1
	};
	builder->last_child[0] = NONE;
	modules->count = 1;
	FOR_INT(parameters, 2)
		FOR(op, graph->ops) {
			if (names_parameter(&graph->op[op]) != parameters)
				continue;
			modules->of_op[op] = module_of_path(builder, graph->op[op].module, module_length(builder, &graph->op[op]));
			if (modules->of_op[op] == NONE)
				return NO_MEMORY;
			modules->module[modules->of_op[op]].own = true;
		}
	return OK;
}

/* ---- folding ---- */

static uint64_t modules_hash_text(const char *text)
{
	uint64_t hash = 0;
	for (; *text; text++)
		hash = hash_join(hash, (unsigned char)*text);
	return hash;
}

/* A module's signature is the sum over its ops of (path below the module, type, phase, bytes). */
static void sign(const struct graph *graph, struct modules *modules)
{
	FOR(op, graph->ops) {
		uint64_t own = hash_join(modules_hash_text(graph->op[op].type), graph->op[op].phase);
		FOR_ITEMS(written, &graph->writes, op)
			own = hash_join(own, (uint64_t)graph->tensor[written].bytes);
		uint64_t below = 0;
		for (uint32_t module = modules->of_op[op]; module != NONE; module = modules->module[module].parent) {
			modules->module[module].signature += hash_join(own, below);
			below = hash_join(below, modules_hash_text(modules->module[module].name));
		}
	}
}

/* The number at the end of a name, and where it begins; -1 where there is none. */
static long name_number(const char *name, size_t *stem)
{
	size_t length = strlen(name);
	*stem = length;
	while (*stem && name[*stem - 1] >= '0' && name[*stem - 1] <= '9')
		(*stem)--;
	return *stem < length && length - *stem < 9 ? strtol(name + *stem, NULL, 10) : -1;
}

/* b follows a in a row of equal layers. */
static bool modules_follows(const struct module *a, const struct module *b)
{
	size_t stem_a, stem_b;
	long one = name_number(a->name, &stem_a), two = name_number(b->name, &stem_b);
	return one >= 0 && two == one + 1 && stem_a == stem_b && memcmp(a->name, b->name, stem_a) == 0 &&
		a->signature == b->signature;
}

/* Two equal blocks make a row; modules without parts (conv1, conv2) only when there are many of them. */
static bool is_row(const struct module *first, uint32_t length)
{
	return length >= 2 && (first->first != NONE || (length >= 4 && *first->name >= '0' && *first->name <= '9'));
}

static void fold_children(struct modules *modules, uint32_t parent)
{
	struct module *module = modules->module;
	for (uint32_t first = module[parent].first; first != NONE; ) {
		uint32_t last = first, length = 1;
		while (module[last].next != NONE && modules_follows(&module[last], &module[module[last].next])) {
			last = module[last].next;
			length++;
		}
		uint32_t after = module[last].next;
		if (is_row(&module[first], length)) {
			module[first].repeats = length;
			module[first].last_of_row = last;
			for (uint32_t other = module[first].next; other != after; other = module[other].next)
				module[other].normal = first;
		}
		first = after;
	}
}

/* Parents come before children: what lies in a folded module stands for the same path in the row's first. */
static enum status follow_parents(struct builder *builder)
{
	struct modules *modules = builder->modules;
	FOR_FROM(id, 1, modules->count) {
		struct module *module = &modules->module[id];
		uint32_t parent = modules->module[module->parent].normal;
		if (parent == module->parent)
			continue;
		const char *above = modules->module[parent].path, *name = modules->module[module->normal].name;
		size_t length = strlen(above) + strlen(name) + 2;
		char *path = arena_alloc(builder->arena, length, 1);
		NEED(path);
		snprintf(path, length, "%s%s%s", above, *above ? "." : "", name);
		uint32_t same = names_find(&builder->paths, path);
		module->normal = same == NONE ? id : modules->module[same].normal;
	}
	return OK;
}

enum status modules_of_graph(const struct graph *graph, bool fold, struct arena *arena, struct modules *modules)
{
	struct builder builder = { .graph = graph, .arena = arena, .modules = modules };
	enum status status = grow_tree(&builder);
	if (status == OK && fold) {
		sign(graph, modules);
		FOR(id, modules->count)
			fold_children(modules, id);
		status = follow_parents(&builder);
	}
	names_free(&builder.paths);
	return status;
}

bool modules_repeat(const struct modules *modules, uint32_t a, uint32_t b)
{
	const struct module *module = modules->module;
	while (module[a].depth > module[b].depth)
		a = module[a].parent;
	while (module[b].depth > module[a].depth)
		b = module[b].parent;
	for (; a != b; a = module[a].parent, b = module[b].parent)
		if (module[a].normal == module[b].normal)
			return true;
	return false;
}
