/* unit_op_time.c: what updates move, and how long that takes on devices. */
#include <stdlib.h>
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
			sum.bytes += op_moves(machine, &work[op], graph, op, k) ? graph->tensor[graph_argument(graph, op, k)].bytes : 0;
		enum machine_limit limit;
		cr_assert_eq(op_local_time(graph, test_rules(), machine, op, false, &time, &limit), OK);
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

/* Steps of many kinds: what ops there are, in all formats. */
static struct graph *step_number(uint32_t number)
{
	static const struct { const char *name; struct model_config sizes; } models[] = {
		{ "gpt", { .layers = 1, .batch = 2, .seq = 256 } }, { "llama", { .layers = 1, .batch = 2, .seq = 2048 } },
		{ "bert", { .layers = 1, .batch = 16 } }, { "t5", { .layers = 1, .batch = 8 } },
		{ "vit", { .layers = 1, .batch = 32 } },
		{ "resnet18", { .batch = 32 } }, { "moe", { .layers = 1, .batch = 4 } },
		{ "deepseek", { .layers = 2, .batch = 1, .seq = 512 } }, { "dlrm", { .batch = 64 } },
		{ "gpt2", { .layers = 1, .batch = 1 } }
	};
	static const struct model_training trainings[] = { { .optimizer = OPTIMIZER_ADAM, .precision = PRECISION_FP32 },
		{ .optimizer = OPTIMIZER_ADAM, .precision = PRECISION_BF16, .float8 = true } };
	uint32_t model = number / 2;
	return step_of_config(models[model].name, sized_model(models[model].name, models[model].sizes), trainings[number % 2]);
}

static bool is_better(const struct device_preset *one, const struct device_preset *other)
{
	int64_t power[] = { one->machine.power, other->machine.power };     /* 0: none is published, none limits */
	bool better = one->machine.memory_rate >= other->machine.memory_rate &&
		one->machine.vector_rate >= other->machine.vector_rate && (power[0] == 0 || (power[1] > 0 && power[0] >= power[1]));
	for (int f = 0; f < FORMAT_COUNT; f++)
		better &= one->matrix_sheet[f] >= other->matrix_sheet[f];
	return better;
}

/* Whatever the software: times without the factors of measured steps follow the data sheets. */
Test(op_time, no_device_with_better_figures_is_slower_at_any_op)
{
	int64_t *times[DEVICE_COUNT];
	uint32_t pairs = 0;
	for (uint32_t number = 0; number < 20; number++) {
		OWN(graph) *graph = step_number(number);
		enum software software = number < test_rounds(4, 20) ? (enum software)(number % SOFTWARE_COUNT) : SOFTWARE_GIVEN;
		for (int d = DEVICE_NONE + 1; d < DEVICE_COUNT; d++) {
			struct machine machine = device_preset_with((enum device)d, software).machine;
			machine.joins_updates = number % 4 < 2;
			enum machine_limit limit;
			times[d] = calloc(graph->ops, sizeof **times);
			for (uint32_t op = 0; op < graph->ops; op++)
				cr_assert_eq(op_local_time(graph, test_rules(), &machine, op, false, &times[d][op], &limit), OK);
		}
		for (int a = DEVICE_NONE + 1; a < DEVICE_COUNT; a++)
			for (int b = DEVICE_NONE + 1; b < DEVICE_COUNT; b++) {
				const struct device_preset slow = device_preset((enum device)a), fast = device_preset((enum device)b);
				if (a == b || !is_better(&fast, &slow))
					continue;
				pairs++;
				for (uint32_t op = 0; op < graph->ops; op++)
					cr_expect_leq(times[b][op], times[a][op], "%s and %s: %s", fast.name, slow.name, graph->op[op].name);
			}
		for (int d = DEVICE_NONE + 1; d < DEVICE_COUNT; d++)
			free(times[d]);
	}
	cr_expect_gt(pairs, 20 * 60);
}
