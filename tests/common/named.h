/* named.h: ops and tensors of a graph by their names; a test fails where there is none. */
#pragma once

#include <criterion/criterion.h>

#include "solver/graph/graph.h"

static inline const struct op *op_named(const struct graph *graph, const char *name)
{
	uint32_t id = graph_find_op(graph, name);
	cr_assert_neq(id, NONE, "%s", name);
	return &graph->op[id];
}

static inline const struct tensor *tensor_named(const struct graph *graph, const char *name)
{
	uint32_t id = graph_find_tensor(graph, name);
	cr_assert_neq(id, NONE, "%s", name);
	return &graph->tensor[id];
}
