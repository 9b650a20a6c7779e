/* random_step.h: small random training steps of matrix products, elementwise ops, views and updates, for tests of
 * shardings. */
#pragma once

#include <stdio.h>

#include "solver/step/build.h"

/* Some ops over n x n matrices, forward and backward, and sometimes the update of a weight. NULL only when out of
 * memory. */
static inline struct graph *random_step(uint64_t *random, uint32_t ops, int64_t n)
{
	static const char *const pairs[] = { "aten.mm.default", "aten.mm.default", "aten.add.Tensor", "aten.mul.Tensor" };
	struct build build = { .draft = draft_new() };
	uint32_t there[64], count = 0, weight = NONE;
	for (uint32_t i = 0; i < 2; i++) {
		enum kind kind = i == 0 ? KIND_INPUT : KIND_PARAMETER;
		there[count++] = build_leaf(&build, i == 0 ? "x" : "w", kind, DTYPE_F32, SHAPE(n, n));
	}
	weight = there[1];
	for (uint32_t i = 0; i < ops && build.status == OK; i++) {
		build.phase = 2 * i < ops ? PHASE_FORWARD : PHASE_BACKWARD;
		uint32_t a = there[random_next(random) % count], b = there[random_next(random) % count];
		uint32_t newest = there[count - 1];
		switch (random_next(random) % 6) {
		case 0: there[count++] = build_map(&build, "aten.relu.default", IN(newest)); break;
		case 1: there[count++] = build_reshape(&build, "aten.t.default", newest, SHAPE(n, n)); break;
		case 2: there[count++] = build_map(&build, pairs[random_next(random) % 4], IN(a, b)); break;
		default: there[count++] = build_map(&build, pairs[random_next(random) % 4], IN(newest, a)); break;
		}
	}
	build.phase = PHASE_UPDATE;
	if (random_next(random) % 2 == 0)
		build_map_inplace(&build, "aten.add_.Tensor", IN(weight, there[count - 1]));
	build_finish(&build);
	struct error error;
	struct graph *graph = build.status == OK ? graph_build(build.draft, &error) : NULL;
	draft_free(build.draft);
	return graph;
}
