/* unit_float8.c: products of layers read 8-bit copies, nothing else does, and the step computes what it did, on one
 * device and on two. */
#include <string.h>

#include "solver/shard/find.h"
#include "solver/step/train.h"
#include "src/models/models.h"
#include "tests/common/support.h"
#include "tests/common/two_devices.h"

static struct graph *tiny(const char *name, bool float8, enum recompute recompute)
{
	struct model_training training = {
		.optimizer = OPTIMIZER_ADAM, .precision = PRECISION_BF16, .float8 = float8, .recompute = recompute
	};
	return step_of_config(name, two_layers(name, 4, 4), training);
}

static bool is_narrow(const struct graph *graph, uint32_t tensor)
{
	return graph->tensor[tensor].dtype == DTYPE_F8E4M3 || graph->tensor[tensor].dtype == DTYPE_F8E5M2;
}

/* Ops that read 8-bit tensors: all of them products of two, in a layer. */
static uint32_t narrow_products(const struct graph *graph, const struct rules *rules)
{
	uint32_t count = 0;
	for (uint32_t op = 0; op < graph->ops; op++) {
		uint32_t narrow = 0, steep = 0;
		FOR_ROW(i, &graph->reads, op) {
			narrow += is_narrow(graph, graph->reads.item[i]);
			steep += graph->tensor[graph->reads.item[i]].dtype == DTYPE_F8E5M2;
		}
		if (narrow == 0)
			continue;
		cr_expect_eq(narrow, 2, "%s", graph->op[op].name);
		cr_expect_eq(steep, graph->op[op].phase != PHASE_FORWARD && !graph->op[op].recomputed, "%s: gradients are e5m2",
			graph->op[op].name);
		enum rule_cost cost = rules_find(rules, graph->op[op].type)->cost;
		cr_expect(
			(cost == COST_CONTRACTION || cost == COST_GROUPED) && strncmp(graph->op[op].module, "layers.", 7) == 0,
			"%s", graph->op[op].name);
		FOR_ROW(i, &graph->writes, op)
			cr_expect(!is_narrow(graph, graph->writes.item[i]));
		count++;
	}
	return count;
}

Test(float8, products_of_layers_read_two_narrow_operands_and_nothing_else_does)
{
	struct rules *rules = test_rules();
	struct graph *graph = tiny("llama", true, RECOMPUTE_NONE), *again;
	struct error error = { 0 };
	uint32_t changed;
	cr_expect_eq(narrow_products(graph, rules), 2 * 7 * 3,
		"queries, keys, values, output, gate, up and down: forward, and two products backward");
	again = float8_apply(graph, rules, &changed, &error);
	cr_expect(again == graph && changed == 0, "nothing is left to change");
	graph_release(again);
	graph_release(graph);
	graph = tiny("llama", true, RECOMPUTE_FULL);
	cr_expect_gt(narrow_products(graph, rules), 2 * 7 * 3, "what runs again, too");
	graph_release(graph);
	struct model_config config = sized_model("deepseek",
		(struct model_config){ .layers = 2,
			.hidden = 8,
			.heads = 2,
			.head_width = 4,
			.rope_width = 2,
			.value_width = 2,
			.kv_rank = 4,
			.q_rank = 4,
			.ffn = 12,
			.expert_ffn = 4,
			.experts = 4,
			.top_k = 2,
			.shared_experts = 1,
			.vocab = 16,
			.seq = 4,
			.batch = 2 });
	graph = step_of_config("deepseek", config, (struct model_training) { .optimizer = OPTIMIZER_ADAM, .float8 = true });
	cr_expect_eq(narrow_products(graph, rules), (2 * (5 + 3) + 1 + 3) * 3,
		"five of attention, three of the dense layer or of shared experts; the router, and three of experts");
	graph_release(graph);
}

Test(float8, a_step_on_two_devices_computes_what_one_does)
{
	static const char *const names[] = { "llama", "gpt", "bert", "moe" };
	struct rules *rules = test_rules();
	for (size_t i = 0; i < 2 * sizeof names / sizeof *names; i++) {
		OWN(graph) *graph = tiny(names[i / 2], true, RECOMPUTE_NONE);
		OWN(on_two) ran;
		run_on_two(graph, rules, "tp", i % 2 ? &roles_tensor_sp : &roles_tensor, &ran);
		for (uint32_t t = 0; t < graph->tensors; t++)   /* every layer's weights are cut: roles are found through casts */
			if (graph->tensor[t].kind == KIND_PARAMETER && graph->tensor[t].dims == 2 && strstr(graph->tensor[t].name, "mlp"))
				cr_expect(ran.sharding.produced[t].on[0] >= 0, "%s", graph->tensor[t].name);
	}
}

Test(float8, failing_allocations_leave_nothing)
{
	struct rules *rules = test_rules();
	OWN(graph) *graph = tiny("gpt", false, RECOMPUTE_NONE), *result = NULL;
	long before = memory_blocks();
	for (long n = 0; !result; n = memory_next(n)) {
		struct error error = { 0 };
		uint32_t changed;
		memory_allow(n);
		result = float8_apply(graph, rules, &changed, &error);
		memory_allow(-1);
		cr_assert(result || (error.status == NO_MEMORY && memory_blocks() == before), "after %ld allocations", n);
	}
	cr_assert_not_null(result);
}
