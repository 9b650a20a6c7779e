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
		root[tensor] = graph->storage[graph->tensor[tensor].storage].root;
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
	enum status status = OK;
	for (uint32_t i = graph->inplace_start[op]; i < graph->inplace_start[op + 1] && status == OK; i++) {
		const struct inplace *pair = &graph->inplace[i];
		if (pair->out == NONE || graph->storage[graph->tensor[pair->in].storage].persistent)
			status = draft_inplace(draft, op, pair->out, pair->in);
	}
	return status;
}

static enum status copy_rows(struct draft *draft, const struct graph *graph, uint32_t op)
{
	enum status status = draft_op(draft, &graph->op[op]) == NONE ? NO_MEMORY : OK;
	for (uint32_t i = graph->reads.start[op]; i < graph->reads.start[op + 1] && status == OK; i++)
		status = draft_read(draft, op, graph->reads.item[i]);
	for (uint32_t i = graph->writes.start[op]; i < graph->writes.start[op + 1] && status == OK; i++)
		status = draft_write(draft, op, graph->writes.item[i]);
	for (uint32_t i = graph->after.start[op]; i < graph->after.start[op + 1] && status == OK; i++)
		status = draft_after(draft, op, graph->after.item[i]);
	return status == OK ? copy_inplace(draft, graph, op) : status;
}

static enum status fill_draft(struct draft *draft, const struct graph *graph, const uint32_t *root)
{
	enum status status = draft_describe(draft, graph->name, graph->source, graph->extra, &graph->about);
	for (uint32_t id = 0; id < graph->tensors && status == OK; id++) {
		struct tensor tensor = graph->tensor[id];
		if (root[id] == id && tensor.alias != NONE) {
			tensor.bytes = graph->storage[tensor.storage].bytes;
			tensor.alias = NONE;
			tensor.has_bytes = true;
		} else if (root[id] != id) {
			tensor.alias = root[id];
		}
		status = draft_tensor(draft, &tensor) == NONE ? NO_MEMORY : OK;
	}
	for (uint32_t op = 0; op < graph->ops && status == OK; op++)
		status = copy_rows(draft, graph, op);
	return status;
}

struct graph *graph_without_inplace(const struct graph *graph, struct error *error)
{
	struct graph *result = NULL;
	HELD uint32_t *root = new_roots(graph);
	OWN(draft) *draft = draft_new();
	enum status status = root && draft ? fill_draft(draft, graph, root) : NO_MEMORY;
	if (status == OK)
		result = graph_build(draft, error);
	else
		fail_memory(error);
	return result;
}
