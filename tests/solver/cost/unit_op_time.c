/* unit_op_time.c: what updates move, and how long that takes on devices. */
#include <string.h>

#include "solver/cost/op_time.h"
#include "src/scenario/devices.h"
#include "tests/common/model_steps.h"
#include "tests/common/support.h"

/* Bytes that all updates of a step move, and picoseconds that they take. */
struct updates { int64_t bytes, time; };

static struct updates update_of(const struct graph *graph, const struct machine *machine)
{
	OWN(arena) arena = { 0 };
	struct updates sum = { 0 };
	struct op_work *work;
	cr_assert_eq(op_work_find(graph, test_rules(), &arena, &work), OK);
	for (uint32_t op = 0; op < graph->ops; op++) {
		int64_t time;
		if (graph->op[op].phase != PHASE_UPDATE)
			continue;
		for (uint32_t k = 0; k < op_arguments(graph, op); k++)
			sum.bytes += op_moves(machine, &work[op], graph, op, k) ? graph->tensor[op_argument(graph, op, k)].bytes : 0;
		cr_assert_eq(op_whole_time(graph, test_rules(), machine, op, &time), OK);
		sum.time += time;
	}
	return sum;
}

static struct graph *step_with(enum optimizer optimizer)
{
	struct model_config config = sized_model("llama",
		(struct model_config){
			.layers = 2, .batch = 1, .seq = 8, .hidden = 512, .heads = 8, .kv_heads = 8, .vocab = 1000 });
	return step_of_config("llama", config, (struct model_training){ .optimizer = optimizer });
}

static int64_t parameters(const struct graph *graph)
{
	int64_t bytes = 0;
	for (uint32_t s = 0; s < graph->storages; s++)
		bytes += graph->storage[s].kind == KIND_PARAMETER && graph->storage[s].allocator == NONE
			? graph->storage[s].bytes
			: 0;
	return bytes;
}

/* Parameters, gradients and states in, parameters and states out. */
Test(op_time, a_joined_update_moves_each_byte_once)
{
	static const struct {
		enum optimizer optimizer;
		int times;
	} rows[] = { { OPTIMIZER_SGD, 3 }, { OPTIMIZER_MOMENTUM, 5 }, { OPTIMIZER_ADAM, 7 }, { OPTIMIZER_ADAMW, 7 },
		{ OPTIMIZER_RMSPROP, 5 }, { OPTIMIZER_ADAGRAD, 5 } };
	struct machine joined = device_preset(DEVICE_H100_80).machine, apart = joined;
	joined.joins_updates = true;
	apart.joins_updates = false;
	for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
		OWN(graph) *graph = step_with(rows[i].optimizer);
		struct updates once = update_of(graph, &joined), each = update_of(graph, &apart);
		cr_expect_eq(once.bytes, rows[i].times * parameters(graph), "optimizer %d: %ld bytes of %ld", rows[i].optimizer,
			(long)once.bytes, (long)parameters(graph));
		cr_expect_geq(each.bytes, once.bytes);
		cr_expect_geq(each.time, once.time);
	}
}

/* A better data sheet is never slower at it, whatever software was measured on it. */
Test(op_time, no_device_with_better_figures_is_slower_at_an_update)
{
	OWN(graph) *graph = step_with(OPTIMIZER_ADAM);
	for (int joins = 0; joins < 2; joins++)
		for (int a = DEVICE_NONE + 1; a < DEVICE_COUNT; a++)
			for (int b = DEVICE_NONE + 1; b < DEVICE_COUNT; b++) {
				struct machine slow = device_preset((enum device)a).machine, fast = device_preset((enum device)b).machine;
				slow.joins_updates = fast.joins_updates = joins;
				if (fast.memory_rate < slow.memory_rate || fast.vector_rate < slow.vector_rate)
					continue;
				cr_expect_leq(update_of(graph, &fast).time, update_of(graph, &slow).time, "%s and %s",
					device_preset((enum device)b).name, device_preset((enum device)a).name);
			}
}
