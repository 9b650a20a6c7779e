/* scale_held.c: what a framework holds while a module runs, where a graph at another batch copies it.
 *
 * A view at batch 1 that is a copy at batch 8 leaves its operand with one reader less: what the backward pass keeps is
 * the copy. PyTorch lets go of the operand when the module to which it was passed returns, which is after the layer
 * that reads the copy. */

#include "scale.h"

/* Whether a module is the one of the first `length` letters of `path`, or lies in it. */
static bool scale_held_within(const char *module, const char *path, size_t length)
{
	return strncmp(module, path, length) == 0 && (module[length] == '\0' || module[length] == '.');
}

/* The letters of the outermost module around an op that doesn't hold `outside`, too; 0: none. */
static size_t outermost(const char *module, const char *outside)
{
	for (const char *end = module; *end != '\0';) {
		end += strcspn(end, ".");
		if (!scale_held_within(outside, module, (size_t)(end - module)))
			return (size_t)(end - module);
		end += *end == '.';
	}
	return 0;
}

uint32_t scale_held_until(const struct graph *graph, uint32_t op)
{
	const struct op *copied = &graph->op[op];
	const struct storage *storage = &graph->storage[graph->tensor[graph_operand(graph, op, 0)].storage];
	if (storage->persistent || storage->allocator == NONE || copied->phase != PHASE_FORWARD || !graph_releases(graph))
		return NONE;
	const struct op *maker = &graph->op[storage->allocator];
	size_t length = maker->phase == PHASE_FORWARD ? outermost(copied->module, maker->module) : 0;
	uint32_t last = op;
	for (uint32_t next = op + 1; length > 0 && next < graph->ops && graph->op[next].phase == PHASE_FORWARD; next++) {
		if (op_releases(&graph->op[next]))
			continue;
		if (!scale_held_within(graph->op[next].module, copied->module, length))
			break;
		last = next;
	}
	return last > op ? last : NONE;
}
