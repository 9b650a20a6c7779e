/* unit_grouped_heads.c: attention that reads the groups' own heads computes what it computed with copies of them. */
#include <math.h>
#include <string.h>

#include "solver/shard/find.h"
#include "solver/step/train.h"
#include "src/models/models.h"
#include "tests/common/support.h"
#include "tests/common/two_devices.h"

static struct graph *tiny(int64_t heads, int64_t groups, enum recompute recompute, bool flash)
{
	struct model_config config = two_layers("llama", 10, 2);
	config.heads = heads;
	config.kv_heads = heads / groups;
	config.head_width = 2;
	config.flash = flash;
	return step_of_config("llama", config, (struct model_training){ .optimizer = OPTIMIZER_ADAM, .recompute = recompute });
}

/* Executes a step on two devices that share the sequence: they must compute what one does, too. Bytes of keys and
 * values that a device sends. */
static int64_t execute(const struct graph *graph, const struct rules *rules, struct on_two *ran)
{
	struct error error = { 0 };
	int64_t sent = 0;
	run_on_two(graph, rules, "cp", &roles_context, ran);
	const struct graph *device = ran->device;
	cr_assert_eq(device_graph_check(&ran->units, &ran->sharding, rules, device, &error), OK, "%s", error.text);
	for (uint32_t op = 0; op < device->ops; op++)
		if (device->op[op].collective && device->op[op].collective->kind == COLLECTIVE_ALL_GATHER &&
			strstr(device->op[op].module, "self_attn"))
			sent += device->op[op].collective->moved;
	return sent;
}

static double value(const struct cell *cell, int64_t i)
{
	return cell->memory[cell->place[i]];
}

/* What persists and what the step puts out is the same; a sum over groups may be added up in another order. */
static void compare(const struct graph *graph, const struct graph *grouped, const struct rules *rules, int64_t groups)
{
	struct on_two ran[2];
	int64_t before = execute(graph, rules, &ran[0]), after = execute(grouped, rules, &ran[1]);
	uint32_t compared = 0;
	cr_expect_eq(before, groups * after, "%ld bytes, then %ld", (long)before, (long)after);
	for (uint32_t s = 0; s < graph->storages; s++) {
		uint32_t root = graph->storage[s].root, there = graph_find_tensor(grouped, graph->tensor[root].name);
		if (!graph->storage[s].live_out)
			continue;
		cr_assert_neq(there, NONE);
		const struct cell *a = &ran[0].run.dense.cell[root], *b = &ran[1].run.dense.cell[there];
		for (int64_t i = 0; i < a->shape.count; i++)
			cr_assert(fabs(value(a, i) - value(b, i)) <= 1e-9 * fmax(1, fabs(value(a, i))), "%s, element %ld",
				graph->tensor[root].name, (long)i);
		compared++;
	}
	cr_expect_gt(compared, 20);
	on_two_drop(&ran[0]);
	on_two_drop(&ran[1]);
}

Test(grouped_heads, a_step_computes_the_same_and_sends_less)
{
	static const struct {
		int64_t heads, groups;
		enum recompute recompute;
	} cases[] = { { 4, 2, RECOMPUTE_NONE }, { 4, 4, RECOMPUTE_NONE }, { 6, 2, RECOMPUTE_FULL } };
	struct rules *rules = test_rules();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct error error = { 0 };
		OWN(graph) *graph = tiny(cases[i].heads, cases[i].groups, cases[i].recompute, true),
				   *grouped = graph_group_heads(graph, rules, &error);
		cr_assert_not_null(grouped, "%s", error.text);
		/* of each of two layers, three views and a copy of keys and of values, and two views and a sum of their gradients */
		cr_expect_eq(graph->ops - grouped->ops, 2 * 2 * (4 + 3) + (cases[i].recompute ? 2 * 2 * 4 : 0),
			"case %zu: %u of %u ops", i, grouped->ops, graph->ops);
		compare(graph, grouped, rules, cases[i].groups);
		OWN(graph) *again = graph_group_heads(grouped, rules, &error);
		cr_expect_eq(again, grouped, "nothing is left to do");
	}
}

/* Products and a softmax need the copies; without groups there are none. */
Test(grouped_heads, what_is_no_kernel_over_groups_stays)
{
	struct rules *rules = test_rules();
	for (int i = 0; i < 2; i++) {
		struct error error = { 0 };
		OWN(graph) *graph = tiny(4, i == 0 ? 2 : 1, RECOMPUTE_NONE, i > 0),
				   *grouped = graph_group_heads(graph, rules, &error);
		cr_expect_eq(graph, grouped);
	}
}
