/* random_graph.h: small random graphs with views, in-place writes, control edges, every kind and workspace. */
#pragma once

#include <stdio.h>

#include "solver/graph/graph.h"

static inline uint32_t random_tensor(
	struct draft *draft, const char *prefix, uint32_t number, uint32_t alias, enum kind kind, int64_t bytes)
{
	char name[40];
	snprintf(name, sizeof name, "%s%u", prefix, number);
	struct tensor tensor = {
		.name = name, .bytes = bytes, .kind = (uint8_t)kind, .alias = alias, .dtype = DTYPE_OPAQUE, .has_bytes = true
	};
	return draft_tensor(draft, &tensor);
}

/* A random step of `ops` ops. *random is the state of random_next. NULL only when out of memory. */
static inline struct graph *random_graph(uint64_t *random, uint32_t ops)
{
	static const enum kind passing[] = { KIND_ACTIVATION, KIND_ACTIVATION, KIND_GRADIENT, KIND_TEMPORARY, KIND_OUTPUT };
	struct draft *draft = draft_new();
	uint32_t there[400], count = 0, names = 0;
	if (!draft)
		return NULL;
	for (uint32_t i = 0; i < 2 + random_next(random) % 3; i++) {
		enum kind kind = random_next(random) % 4 ? (enum kind)(random_next(random) % 5) : KIND_ACTIVATION;
		there[count++] = random_tensor(draft, "given", names++, NONE, kind, (int64_t)(random_next(random) % 40));
	}
	for (uint32_t id = 0; id < ops; id++) {
		char name[40];
		snprintf(name, sizeof name, "op%u", id);
		struct op op = { .name = name, .type = "f", .module = id % 3 ? "layer.0" : "layer.1", .flops = -1,
			.workspace = random_next(random) % 5 ? 0 : (int64_t)(random_next(random) % 30),
			.phase = (uint8_t)(id * 3 / ops), .has_phase = true, .has_module = true };
		op.has_workspace = op.workspace != 0;
		bool failed = draft_op(draft, &op) == NONE;
		uint32_t last = NONE;
		for (uint32_t i = 0; i < random_next(random) % 4 && count; i++)
			failed |= draft_read(draft, id, last = there[random_next(random) % count]) != OK;
		for (uint32_t i = 0; i < random_next(random) % 3 && count < 390; i++) {
			uint32_t shape = (uint32_t)(random_next(random) % 6), tensor;
			if (last != NONE && shape == 0) {          /* a view */
				tensor = random_tensor(draft, "view", names++, last, KIND_ACTIVATION, 5);
			} else if (last != NONE && shape == 1) {   /* written in place */
				tensor = random_tensor(draft, "same", names++, last, KIND_ACTIVATION, 5);
				failed |= tensor == NONE || draft_inplace(draft, id, tensor, last) != OK;
			} else {
				tensor = random_tensor(draft, "made", names++, NONE, passing[random_next(random) % 5],
					(int64_t)(random_next(random) % 50));
			}
			failed |= tensor == NONE || draft_write(draft, id, tensor) != OK;
			there[count++] = tensor;
		}
		if (last != NONE && random_next(random) % 8 == 0)
			failed |= draft_inplace(draft, id, NONE, last) != OK;
		if (id && random_next(random) % 6 == 0)
			failed |= draft_after(draft, id, (uint32_t)(random_next(random) % id)) != OK;
		if (failed) {
			draft_free(draft);
			return NULL;
		}
	}
	struct graph *graph = graph_build(draft, NULL);
	draft_free(draft);
	return graph;
}
