/* unit_shared_views.c: views that are the same are one, and what a step computes stays the same. */
#include <string.h>

#include "solver/shard/find.h"
#include "solver/step/train.h"
#include "src/models/models.h"
#include "tests/common/support.h"
#include "tests/common/two_devices.h"

static struct graph *tiny(const char *name)
{
	return step_of_config(name, two_layers(name, 4, 4), (struct model_training){ .optimizer = OPTIMIZER_ADAM });
}

/* Every tensor that is left has the values that it had. */
static void compare(const struct graph *graph, const struct graph *shared, const struct rules *rules)
{
	OWN(on_two) before, after;
	run_on_two(graph, rules, "tp", &roles_tensor_sp, &before);
	run_on_two(shared, rules, "tp", &roles_tensor_sp, &after);
	for (uint32_t t = 0; t < shared->tensors; t++) {
		uint32_t of = graph_find_tensor(graph, shared->tensor[t].name);
		cr_assert_neq(of, NONE);
		struct cell *a = &before.run.dense.cell[of], *b = &after.run.dense.cell[t];
		cr_assert_eq(a->shape.count, b->shape.count);
		for (int64_t i = 0; i < a->shape.count; i++)
			cr_assert_eq(a->memory[a->place[i]], b->memory[b->place[i]], "%s, element %ld", shared->tensor[t].name, (long)i);
	}
}

Test(shared_views, a_step_computes_the_same_with_fewer_views)
{
	static const char *const names[] = { "llama", "bert", "gpt" };
	struct rules *rules = test_rules();
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct error error = { 0 };
		OWN(graph) *graph = tiny(names[i]), *shared = graph_share_views(graph, rules, &error);
		cr_assert_not_null(shared, "%s", error.text);
		/* two of three views of a norm's result, and one of gate's and up's, in each layer of a llama; transposed again
		 * in the backward pass */
		cr_expect(i > 0 || graph->ops - shared->ops >= 2 * 6, "%u of %u ops", shared->ops, graph->ops);
		compare(graph, shared, rules);
		OWN(graph) *again = graph_share_views(shared, rules, &error);
		cr_expect_eq(again, shared, "nothing is left to share");
	}
}

/* Slices have offsets, permutations of equal extents may be different ones, and a write in place makes another version.
 */
Test(shared_views, what_shapes_do_not_tell_apart_stays)
{
	struct rules *rules = test_rules();
	struct build build = { .draft = draft_new() };
	struct error error = { 0 };
	uint32_t x = build_leaf(&build, "x", KIND_INPUT, DTYPE_F32, SHAPE(4, 4, 4)),
			 y = build_map(&build, "aten.relu.default", IN(x));
	uint32_t z = build_leaf(&build, "z", KIND_INPUT, DTYPE_F32, SHAPE(4, 4, 8)),
			 written = build_map(&build, "aten.neg.default", IN(x));
	for (int i = 0; i < 2; i++) {
		build_map(&build, "aten.relu.default", IN(build_reshape(&build, "aten.slice.Tensor", y, SHAPE(4, 4, 2))));
		build_map(&build, "aten.relu.default", IN(build_reshape(&build, "aten.permute.default", y, SHAPE(4, 4, 4))));
		build_map(&build, "aten.relu.default", IN(build_reshape(&build, "aten.permute.default", z, SHAPE(4, 8, 4))));
		build_map(&build, "aten.relu.default", IN(build_reshape(&build, "aten.view.default", written, SHAPE(16, 4))));
		if (i == 0)
			build_map_inplace(&build, "aten.add_.Tensor", IN(written, y));
	}
	build_finish(&build);
	cr_assert_eq(build.status, OK);
	struct graph *graph = graph_build(build.draft, &error);
	cr_assert_not_null(graph, "%s", error.text);
	struct graph *shared = graph_share_views(graph, rules, &error);
	cr_expect_eq(shared, graph);
	graph_release(shared);
	graph_release(graph);
	draft_free(build.draft);
}
