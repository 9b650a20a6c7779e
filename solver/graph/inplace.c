/* inplace.c: the graph without in-place writes (docs/design.md section 6, in_place=off).
 *
 * Every in-place write to a storage that is not persistent makes a new one of the same size. What later ops
 * derive from the result belongs to the new storage: ownership is followed through the ops, in program order. */

#include "graph.h"

/* The tensor whose memory an alias written by op shares: the first input of its storage that is not the
 * write's own old version. */
static uint32_t source_of_view(const struct graph *graph, uint32_t op, uint32_t tensor)
{
	FOR_ITEMS(read, &graph->reads, op)
		if (graph->tensor[read].storage == graph->tensor[tensor].storage)
			return read;
	return graph->tensor[tensor].alias;
}

static bool written_in_place(const struct graph *graph, uint32_t op, uint32_t tensor)
{
	FOR_SPAN(i, graph->inplace_start, op)
		if (graph->inplace[i].out == tensor)
			return true;
	return false;
}

/* root[t]: the tensor that owns t's memory once every in-place result on a passing storage owns its own. */
static uint32_t *new_roots(const struct graph *graph)
{
	uint32_t *MAKE(root, graph->tensors);
	if (!root)
		return NULL;
	FOR(tensor, graph->tensors)
		root[tensor] = graph_home(graph, tensor)->root;
	FOR(op, graph->ops)
		FOR_ITEMS(tensor, &graph->writes, op) {
			const struct storage *storage = &graph->storage[graph->tensor[tensor].storage];
			if (storage->persistent || storage->root == tensor)
				continue;
			root[tensor] = written_in_place(graph, op, tensor) ? tensor : root[source_of_view(graph, op, tensor)];
		}
	return root;
}

/* Copies the op's in-place pairs that stay: those on persistent storages and those without a new name. */
static enum status copy_inplace(struct draft *draft, const struct graph *graph, uint32_t op)
{
	FOR_SPAN(i, graph->inplace_start, op) {
		const struct inplace *pair = &graph->inplace[i];
		if (pair->out == NONE || graph_home(graph, pair->in)->persistent)
			TRY(draft_inplace(draft, op, pair->out, pair->in));
	}
	return OK;
}

static enum status copy_rows(struct draft *draft, const struct graph *graph, uint32_t op)
{
	NEED(draft_op(draft, &graph->op[op]) != NONE);
	FOR_ITEMS(read, &graph->reads, op)
		TRY(draft_read(draft, op, read));
	FOR_ITEMS(written, &graph->writes, op)
		TRY(draft_write(draft, op, written));
	FOR_ITEMS(before, &graph->after, op)
		TRY(draft_after(draft, op, before));
	return copy_inplace(draft, graph, op);
}

static enum status fill_draft(struct draft *draft, const struct graph *graph, const uint32_t *root)
{
	TRY(draft_describe(draft, graph->name, graph->source, graph->extra, &graph->about));
	FOR(id, graph->tensors) {
		struct tensor tensor = graph->tensor[id];
		if (root[id] == id && tensor.alias != NONE) {
			tensor.bytes = graph->storage[tensor.storage].bytes;
			tensor.alias = NONE;
			tensor.has_bytes = true;
		} else if (root[id] != id) {
			tensor.alias = root[id];
		}
		NEED(draft_tensor(draft, &tensor) != NONE);
	}
	FOR(op, graph->ops)
		TRY(copy_rows(draft, graph, op));
	return OK;
}

struct graph *graph_without_inplace(const struct graph *graph, struct error *error)
{
	HELD uint32_t *root = new_roots(graph);
	OWN(draft) *draft = draft_new();
	if (root && draft && fill_draft(draft, graph, root) == OK)
		return graph_build(draft, error);
	fail_memory(error);
	return NULL;
}
