/* graph.c: the module tree with the bytes of every subtree, and the neighbours of the op at the cursor. */
#include "details.h"

/* module_tree: the modules of a graph as a tree, with the bytes that each subtree is responsible for.
 * A storage belongs to the module of the op that writes it; what is there from the start, to its first user's. */

struct module {
	const char *path; /* "h.0.attn", "" for the root */
	const char *name; /* its last part */
	uint32_t parent;  /* NONE for the root, which is module 0 */
	uint32_t depth;
	uint32_t first_child, next; /* siblings in program order; NONE at the end */
	uint32_t ops;      /* of the subtree */
	uint32_t first_op; /* of the subtree, in program order; NONE without ops */
	int64_t persistent, at_peak, made; /* bytes of the subtree: resident, others alive at the peak, others in all */
};
struct module_tree {
	uint32_t modules;
	struct module *module;
	uint32_t *of_op; /* [ops] the module of each op */
	struct csr own;  /* module -> its own ops, in program order */
	struct arena arena;
};

static void module_tree_free(struct module_tree *tree);

struct builder {
	struct module_tree *tree;
	struct names paths;   /* path -> module */
	uint32_t *last_child; /* [capacity] */
	uint32_t capacity;
	bool failed;
};

/* Upper bound of the modules: every dot and every path adds one at most. */
static uint32_t count_parts(const struct graph *graph)
{
	size_t parts = 1;
	const char *before = "";
	FOR(i, graph->ops) {
		const char *path = graph->op[i].module;
		if (text_is(path, before))
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
	FOR_WHILE(i, graph->ops, !builder->failed) {
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
	FOR(i, graph->storages) {
		const struct storage *storage = &graph->storage[i];
		uint32_t op = storage->allocator;
		if (op == NONE && csr_length(&graph->users, i) > 0)
			op = csr_at(&graph->users, i, 0);
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

/* OK or NO_MEMORY (empty). O(ops * depth + storages). */
static enum status module_tree_build(const struct plan *plan, struct module_tree *tree)
{
	const struct graph *graph = plan->graph;
	*tree = (struct module_tree){ 0 };
	struct builder builder = { .tree = tree, .capacity = count_parts(graph) };
	ROOM(&tree->arena, tree->module, builder.capacity);
	ROOM(&tree->arena, tree->of_op, graph->ops);
	uint32_t *ops = arena_alloc(&tree->arena, graph->ops, sizeof *ops);
	MAKE(builder.last_child, builder.capacity);
	enum status status = tree->module && tree->of_op && ops && builder.last_child ? OK : NO_MEMORY;
	if (status == OK) {
		add_module(&builder, NONE, "", 0);
		module_tree_add_ops(&builder, graph);
		status = builder.failed ? NO_MEMORY : OK;
	}
	FOR_WHILE(i, graph->ops, status == OK)
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

static void module_tree_free(struct module_tree *tree)
{
	arena_free(&tree->arena);
	*tree = (struct module_tree){ 0 };
}

/* A visible line: a module, or an op of an unfolded one. */
struct line { bool is_op; uint32_t id, depth; };

struct graph_view {
	struct module_tree tree;
	uint64_t serial;   /* of the plan that the tree was made for; 0: none */
	bool *unfolded;    /* [modules] */
	struct line *line; /* [modules + ops] */
	uint32_t lines, selected, top, op; /* op: the shared cursor when the line was selected */
	int page;
	bool all; /* fold-all unfolds at first */
};

enum { AMOUNT = 11, NEIGHBOURS = 8, NEIGHBOURS_HIGH = 12, HIGH = 28, NAME_AT = 22, SHAPE_AT = 10, NAME_AND_TYPE = 64 };
static const enum column wanted[] = { COLUMN_SHAPE, COLUMN_SOURCE };

static void graph_forget(struct graph_view *view)
{
	module_tree_free(&view->tree);
	mem_free(view->unfolded);
	mem_free(view->line);
	view->unfolded = NULL;
	view->line = NULL;
	view->serial = 0;
}

static void graph_free(void *state)
{
	graph_forget(state);
}

/* ---- lines ---- */

static void graph_add_ops(struct graph_view *view, uint32_t m)
{
	const struct module_tree *tree = &view->tree;
	if (view->unfolded[m])
		FOR_ITEMS(item, &tree->own, m)
			view->line[view->lines++] = (struct line){ true, item, tree->module[m].depth + 1 };
}

/* A module's submodules stand before its own ops: the root of a captured step has a thousand of these. */
static void make_lines(struct graph_view *view)
{
	const struct module *module = view->tree.module;
	uint32_t m = 0;
	view->lines = 0;
	while (m != NONE) {
		view->line[view->lines++] = (struct line){ false, m, module[m].depth };
		if (view->unfolded[m] && module[m].first_child != NONE) {
			m = module[m].first_child;
			continue;
		}
		graph_add_ops(view, m);
		while (m != NONE && module[m].next == NONE) {
			m = module[m].parent;
			if (m != NONE)
				graph_add_ops(view, m);
		}
		m = m == NONE ? NONE : module[m].next;
	}
	if (view->selected >= view->lines)
		view->selected = view->lines - 1;
}

/* The line of an op, or of its innermost module that has one. */
static void select_op(struct graph_view *view, uint32_t op)
{
	uint32_t m = view->tree.of_op[op], parent = m;
	for (; parent != NONE; parent = view->tree.module[parent].parent)
		if (!view->unfolded[parent])
			m = parent;
	bool wants_op = view->unfolded[m];
	FOR(i, view->lines)
		if (view->line[i].is_op == wants_op && view->line[i].id == (wants_op ? op : m))
			view->selected = i;
	view->op = op;
}

static bool graph_prepare(struct graph_view *view, const struct model *model)
{
	if (view->serial == model->plan->serial && view->line) {
		if (view->op != model->op)
			select_op(view, model->op);
		return true;
	}
	bool *folding = view->unfolded;
	uint32_t modules = view->tree.modules;
	view->unfolded = NULL;
	graph_forget(view);
	if (module_tree_build(model->plan, &view->tree) == OK) {
		MAKE(view->unfolded, view->tree.modules);
		MAKE(view->line, (size_t)view->tree.modules + model->plan->graph->ops);
	}
	if (!view->unfolded || !view->line) {
		mem_free(folding);
		graph_forget(view);
		return false;
	}
	/* The same tree keeps its folds when a new plan comes. */
	if (folding && modules == view->tree.modules)
		memcpy(view->unfolded, folding, modules * sizeof *folding);
	else
		view->unfolded[0] = true;
	mem_free(folding);
	view->serial = model->plan->serial;
	make_lines(view);
	select_op(view, model->op);
	return true;
}

/* ---- drawing ---- */

static void draw_module(
	struct frame *frame, int y, const struct graph_view *view, const struct model *model, const struct line *line)
{
	const struct module *module = &view->tree.module[line->id];
	int right = frame->window.width, x = 2 * (int)line->depth, shown = right >= 64 ? 3 : right >= 46 ? 2 : 1;
	const int64_t amount[] = { module->at_peak, module->persistent, module->made };
	char text[48];
	for (int i = shown - 1; i >= 0; i--, right -= AMOUNT)
		frame_bytes(frame, right, y, amount[i] ? ROLE_TEXT : ROLE_FAINT, amount[i]);
	bool leaf = module->first_child == NONE && csr_length(&view->tree.own, line->id) == 0;
	frame_glyph(frame, x, y, leaf ? GLYPH_DOT : view->unfolded[line->id] ? GLYPH_UNFOLDED : GLYPH_FOLDED, ROLE_KEY);
	const char *name = line->id == 0 ? model->plan->graph->name : module->name;
	PRINT_TO(text, "  %u op%s", module->ops, module->ops == 1 ? "" : "s");
	int room = right - x - 3;
	x += 2 + frame_name(frame, x + 2, y, room, ROLE_TITLE, name);
	if (right - x > text_cells(text))
		frame_text(frame, x, y, right - x, ROLE_FAINT, text);
}

static void draw_op(struct frame *frame, int y, const struct model *model, const struct line *line)
{
	const struct op *op = &model->plan->graph->op[line->id];
	int x = 2 * (int)line->depth, right = frame->window.width;
	frame_right(frame, right, y, ROLE_FAINT, PRINTED(48, "live %s",
		BYTES(model->plan->ordered->live[model->plan->ordered->position[line->id]])));
	right -= AMOUNT + 5;
	struct details details;
	details_arrange(wanted, COUNT_OF(wanted), model->index, x + NAME_AND_TYPE, right, &details);
	details_of_op(frame, y, &details, model->plan, line->id);
	right = details.from;
	x += frame_name(frame, x, y, right - x, ROLE_TEXT, op->name) + 2;
	if (right - x > text_cells(op->type) + 1)
		frame_text(frame, x, y, right - x, ROLE_FAINT, op->type);
}

static void graph_draw_header(struct frame *frame)
{
	static const char *const titles[] = { "at peak", "persistent", "made" };
	int right = frame->window.width, shown = right >= 64 ? 3 : right >= 46 ? 2 : 1;
	for (int i = shown - 1; i >= 0; i--, right -= AMOUNT)
		frame_right(frame, right, 0, ROLE_LABEL, titles[i]);
	frame_text(frame, 0, 0, right, ROLE_LABEL, "modules");
}

/* Type, dims with what they carry, and the placement of a sharded tensor. Returns the cells of text. */
static int graph_explain(const struct model *model, const struct factors *factors, uint32_t id, char text[300])
{
	size_t used = strlen(carried_text(model->plan->graph, id, factors, text, 200));
	if (model->plan->transformed->sharded) {
		text[used] = ' ';
		sharded_place_here(
			model->plan->transformed->sharded, model->plan->graph, id, text + used + (used > 0), 300 - used - 1);
	}
	return text_cells(text);
}

/* A tensor with its shape and the ops on the other side; where these don't fit beside each other, the shape has a
 * second row if there are rows to spare. Returns the rows taken. */
static int draw_tensor(struct frame *frame, int y, int rows, const struct model *model, uint32_t id, bool reads)
{
	const struct graph *graph = model->plan->graph;
	const struct tensor *tensor = &graph->tensor[id];
	char shape[300], other[200];
	int room = frame->window.width - NAME_AT;
	uint32_t users = csr_length(&graph->users, tensor->storage);
	if (reads)
		PRINT_TO(other, "from %s", tensor->writer == NONE ? "the start" : graph->op[tensor->writer].name);
	else
		PRINT_TO(other, "used by %u", users > 0 ? users - 1 : 0);
	frame_text(frame, 1, y, 8, ROLE_LABEL, reads ? "reads" : "writes");
	frame_bytes(frame, 9 + AMOUNT, y, ROLE_TEXT, tensor->bytes);
	int x = NAME_AT + frame_name(frame, NAME_AT, y, room / 2, item_role(model->plan, tensor->storage),
		tensor->name) + 2;
	int cells = graph_explain(model, model->factors, id, shape), most = frame->window.width - SHAPE_AT;
	/* The sizes are worth more than what they carry. */
	if (cells > most)
		cells = graph_explain(model, NULL, id, shape);
	bool beside = x + cells + 2 + text_cells(other) <= frame->window.width;
	if (cells > 0 && (beside || rows < 2))
		x += frame_name(frame, x, y, frame->window.width - x, ROLE_TEXT, shape) + 2;
	else if (cells > 0)
		frame_name(frame, SHAPE_AT, y + 1, most, ROLE_TEXT, shape);
	frame_name(frame, x, y, frame->window.width - x, ROLE_FAINT, other);
	return cells > 0 && !beside && rows >= 2 ? 2 : 1;
}

/* The tensors that an op reads or writes. */
static int draw_tensors(
	struct frame *frame, int y, int end, const struct model *model, const struct csr *rows, bool reads)
{
	uint32_t length = csr_length(rows, model->op);
	FOR_ROW(i, rows, model->op) {
		if (y >= end)
			return y;
		int left = (int)(rows->start[model->op] + length - i);
		if (y + 1 == end && left > 1) {
			frame_print(frame, 1, y, ROLE_FAINT, "%d more", left);
			return end;
		}
		y += draw_tensor(frame, y, end - y - (left - 1), model, rows->item[i], reads);
	}
	return y;
}

static void graph_draw_neighbours(struct frame *frame, int y, const struct model *model)
{
	const struct op *op = &model->plan->graph->op[model->op];
	int height = frame->window.height;
	frame_repeat(frame, 0, y, frame->window.width, GLYPH_HORIZONTAL, ROLE_LINE);
	int x = 1 + frame_name(frame, 1, y + 1, frame->window.width - 1, ROLE_TITLE, op->name);
	x += 2 + frame_print(frame, x + 2, y + 1, ROLE_FAINT, "%s  %s", op->type, phase_names[op->phase]);
	view_source(frame, x + 2, y + 1, frame->window.width - x - 2, op);
	y = draw_tensors(frame, y + 2, height - 2, model, &model->plan->graph->reads, true);
	draw_tensors(frame, y, height, model, &model->plan->graph->writes, false);
}

static void graph_draw(void *state, struct model *model, struct frame *frame)
{
	struct graph_view *view = state;
	int height = frame->window.height, below = height >= HIGH ? NEIGHBOURS_HIGH : height >= 16 ? NEIGHBOURS : 0;
	if (model->plan->graph->ops == 0)
		return;
	if (!graph_prepare(view, model)) {
		frame_no_memory(frame);
		return;
	}
	view->page = height - 1 - below;
	graph_draw_header(frame);
	view->top = scroll_to(view->top, view->selected, view->lines, view->page);
	for (int i = 0; i < view->page && view->top + (uint32_t)i < view->lines; i++) {
		const struct line *line = &view->line[view->top + (uint32_t)i];
		if (line->is_op)
			draw_op(frame, 1 + i, model, line);
		else
			draw_module(frame, 1 + i, view, model, line);
		if (view->top + (uint32_t)i == view->selected)
			frame_select(frame, 1 + i);
	}
	if (below)
		graph_draw_neighbours(frame, height - below, model);
}

/* ---- commands ---- */

static void graph_fold(struct graph_view *view)
{
	const struct line *line = &view->line[view->selected];
	uint32_t m = line->is_op ? view->tree.of_op[line->id] : line->id;
	view->unfolded[m] = !view->unfolded[m];
	FOR(i, view->lines)
		if (!view->line[i].is_op && view->line[i].id == m)
			view->selected = i;
	make_lines(view);
}

static void select_line(struct graph_view *view, struct model *model, uint32_t row)
{
	const struct line *line = &view->line[row];
	uint32_t op = line->is_op ? line->id : view->tree.module[line->id].first_op;
	view->selected = row;
	if (op != NONE)
		model_go(model, model->plan->ordered->position[op]);
	view->op = model->op;
}

static bool graph_command(void *state, struct model *model, enum command_id command)
{
	struct graph_view *view = state;
	if (model->plan->graph->ops == 0 || !graph_prepare(view, model))
		return false;
	switch (command) {
	case COMMAND_ACTIVATE:
		graph_fold(view);
		return true;
	case COMMAND_CLICK: {
		uint32_t row = view->top + (uint32_t)(model->click_y - 1);
		if (model->click_y < 1 || model->click_y > view->page || row >= view->lines)
			return true;
		if (row == view->selected)
			graph_fold(view);
		else
			select_line(view, model, row);
		return true;
	}
	case COMMAND_GROUP:
		view->all = !view->all;
		FOR_FROM(i, 1, view->tree.modules)
			view->unfolded[i] = view->all;
		make_lines(view);
		select_op(view, model->op);
		return true;
	default:
		if (!row_command(command, &view->selected, view->lines, view->page))
			return view_command(model, command);
		select_line(view, model, view->selected);
		return true;
	}
}

const struct view_ops view_graph = { "Graph", IN_GRAPH, sizeof(struct graph_view), graph_draw, graph_command,
	graph_free, NULL };
