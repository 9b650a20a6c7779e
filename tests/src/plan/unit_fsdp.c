/* unit_fsdp.c: what PyTorch's fully_shard allocates, against sums over the model's parameters. */
#include <string.h>

#include "src/plan/fsdp.h"
#include "tests/common/model_steps.h"
#include "tests/common/planned.h"
#include "tests/common/support.h"

enum { DEVICES = 4, LAYERS = 4, COMPUTES = 0, GATHERS = 1, REDUCES = 2 };

static struct graph *model(void)
{
	return step_of_sizes("llama",
		(struct model_config){ .layers = LAYERS,
			.hidden = 64,
			.ffn = 64,
			.vocab = 64,
			.heads = 4,
			.kv_heads = 4,
			.head_width = 16,
			.seq = 16,
			.batch = 32 });
}

/* Elements of the model's parameters: of the last layer, of all layers and of all else. */
struct elements { int64_t last, layers, root; };

static struct elements count(const struct graph *graph)
{
	struct elements elements = { 0 };
	for (uint32_t s = 0; s < graph->storages; s++) {
		const struct tensor *root = &graph->tensor[graph->storage[s].root];
		if (graph->storage[s].kind != KIND_PARAMETER)
			continue;
		*(strncmp(root->name, "layers.", 7) == 0 ? &elements.layers : &elements.root) += root->bytes / 4;
		elements.last += strncmp(root->name, "layers.3.", 9) == 0 ? root->bytes / 4 : 0;
	}
	return elements;
}

static struct plan *find(
	struct planner *planner, struct graph *graph, const char *words, struct arena *arena, struct buffers *buffers)
{
	struct plan *plan = plan_of_words(planner, graph, words);
	const struct laid_out *laid_out = plan->laid_out;
	struct fsdp_step step = { plan->graph, &plan->scenario, plan->ordered->position, laid_out->first, laid_out->last,
		laid_out->bytes };
	cr_assert_eq(fsdp_buffers(&step, arena, buffers), OK);
	return plan;
}

static int64_t sum_of(const struct buffers *buffers, uint8_t stream)
{
	int64_t sum = 0;
	for (uint32_t b = 0; b < buffers->n; b++)
		sum += buffers->stream[b] == stream ? buffers->size[b] : 0;
	return sum;
}

/* Two steps: what is gathered (the root and the last layer once a step, other layers twice), the shards that are
 * gathered, and the sums in fp32. */
Test(fsdp, streams_hold_what_is_gathered_and_what_is_summed)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = model();
	struct elements elements = count(graph);
	static const char *const meshes[] = { "devices=4 strategy=zero zero=3 precision=mixed order=program",
		"devices=4 dp=2 cp=2 tp=1 strategy=megatron zero=3 precision=mixed order=program" };
	for (int m = 0; m < 2; m++) {
		OWN(arena) arena = { 0 };
		struct buffers buffers;
		OWN(plan) *plan = find(&planner, graph, meshes[m], &arena, &buffers);
		int64_t gathered = 2 * (elements.root + 2 * elements.layers - elements.last), kept = 0, moments = 0;
		cr_expect_eq(sum_of(&buffers, GATHERS), 2 * gathered + 2 * gathered / DEVICES, "%s: %ld, %ld elements",
			meshes[m], (long)sum_of(&buffers, GATHERS), (long)gathered);
		cr_expect_eq(sum_of(&buffers, REDUCES), 2 * 4 * (elements.root + elements.layers) / DEVICES, "%s", meshes[m]);
		for (uint32_t s = 0; s < plan->graph->storages; s++) {
			kept += plan->graph->storage[s].persistent && plan->laid_out->first[s] != NONE ? plan->laid_out->bytes[s] : 0;
			moments += plan->graph->storage[s].kind == KIND_OPTIMIZER &&
					!strstr(plan->graph->tensor[plan->graph->storage[s].root].name, ".master")
				? plan->laid_out->bytes[s]
				: 0;
		}
		for (uint32_t b = 0; b < buffers.n; b++)
			kept -= buffers.stream[b] == COMPUTES && buffers.lower[b] == 0 && buffers.upper[b] == 2 * plan->graph->ops
				? buffers.size[b]
				: 0;
		cr_expect_eq(kept - moments, 2 * (elements.root + elements.layers) / DEVICES,
			"%s: shards in 16 bits alone, and moments come late: %ld %ld", meshes[m], (long)kept, (long)moments);
		cr_expect(plan->fully_shard && plan->pytorch[0].reserved > 0 && plan->pytorch[1].reserved > 0);
	}
}

/* Where a plan keeps a layer's parameters gathered, or runs an op again long before it is needed, fully_shard gathers
 * again: none stays while others are computed. */
Test(fsdp, layers_are_gathered_for_as_long_as_they_compute)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = step_of_sizes("llama",
		(struct model_config){ .layers = 3,
			.hidden = 64,
			.ffn = 96,
			.vocab = 64,
			.heads = 4,
			.kv_heads = 4,
			.head_width = 16,
			.seq = 16,
			.batch = 32 });
	for (int tight = 0; tight < 2; tight++) {
		OWN(arena) arena = { 0 };
		struct buffers buffers;
		OWN(plan) *plan = find(&planner, graph,
			tight ? "devices=4 strategy=zero zero=3 precision=mixed recompute=auto order=program memory=600KiB"
			: "devices=4 strategy=zero zero=3 precision=mixed recompute=auto order=program memory=600KiB "
					"kernels=eager",
			&arena, &buffers);
		uint32_t gathered = 0, turn = plan->graph->ops;
		for (uint32_t op = 0; op < plan->graph->ops; op++)
			if (plan->graph->op[op].phase == PHASE_BACKWARD && !plan->graph->op[op].recomputed &&
				plan->ordered->position[op] < turn)
				turn = plan->ordered->position[op];
		for (uint32_t b = 0; b < buffers.n; b++) {
			uint32_t beside = 0;
			bool matrix = buffers.stream[b] == COMPUTES && buffers.size[b] == 2 * 64 * 96 &&
				buffers.lower[b] < turn;   /* no gradient yet */
			for (uint32_t other = 0; matrix && other < buffers.n; other++)
				beside += buffers.stream[other] == COMPUTES && buffers.size[other] == 2 * 64 * 96 &&
					buffers.lower[other] <= buffers.lower[b] && buffers.upper[other] > buffers.lower[b];
			gathered += matrix;
			cr_expect_leq(beside, 3, "%u of a layer's three at %ld", beside, (long)buffers.lower[b]);
		}
		cr_expect_geq(gathered, 3 * 3);
	}
}

/* Without resharding behind forward passes every parameter is gathered once a step, and stays for the backward pass. */
Test(fsdp, layers_that_are_not_resharded_are_gathered_once)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = model();
	struct elements elements = count(graph);
	OWN(arena) arena = { 0 };
	struct buffers buffers;
	OWN(plan) *plan = find(&planner, graph,
		"devices=4 strategy=zero zero=3 precision=mixed order=program reshard_after_forward=off", &arena, &buffers);
	int64_t gathered = 2 * (elements.root + elements.layers), kept = 0;
	cr_expect_eq(sum_of(&buffers, GATHERS), 2 * gathered + 2 * gathered / DEVICES, "%ld, %ld elements",
		(long)sum_of(&buffers, GATHERS), (long)gathered);
	int64_t backward = plan->graph->ops;
	for (uint32_t op = 0; op < plan->graph->ops; op++)
		if (plan->graph->op[op].phase == PHASE_BACKWARD && plan->ordered->position[op] < backward)
			backward = plan->ordered->position[op];
	for (uint32_t b = 0; b < buffers.n; b++)   /* matrices of layers, whole */
		kept += buffers.stream[b] == COMPUTES && buffers.size[b] == INT64_C(2) * 64 * 64 &&
			buffers.lower[b] < backward && buffers.upper[b] > backward && buffers.upper[b] < plan->graph->ops;
	cr_expect_geq(kept, 7 * LAYERS, "%ld", (long)kept);
}

/* How long the result of a product lies there: of layer 1, in the module of that name. */
static int64_t product_time(struct graph *graph, const char *module, const char *words)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(arena) arena = { 0 };
	struct buffers buffers;
	OWN(plan) *plan = find(&planner, graph, words, &arena, &buffers);
	uint32_t product = NONE;
	for (uint32_t op = 0; op < plan->graph->ops; op++)
		if (strcmp(plan->graph->op[op].module, module) == 0 && plan->graph->op[op].phase == PHASE_FORWARD &&
			plan->graph->op[op].flops > 100000)
			product = plan->graph->tensor[plan->graph->writes.item[plan->graph->writes.start[op]]].storage;
	cr_assert_neq(product, NONE);
	for (uint32_t b = 0; b < buffers.n; b++)
		if (buffers.stream[b] == COMPUTES && buffers.lower[b] == plan->laid_out->first[product] &&
			buffers.size[b] == plan->laid_out->bytes[product])
			return buffers.upper[b] - buffers.lower[b];
	return 0;
}

/* torch.utils.checkpoint keeps what its policy names, though nobody reads it: every second product of a layer, so the
 * last of Llama's seven, which a compiler drops, and not the last of GPT's four. */
Test(fsdp, eager_checkpointing_keeps_what_its_policy_names)
{
	OWN(graph) *llama = model();
	OWN(graph) *gpt = step_of_sizes("gpt",
		(struct model_config){
			.layers = LAYERS, .hidden = 64, .ffn = 256, .vocab = 64, .heads = 4, .seq = 16, .batch = 32 });
	int64_t compiled = product_time(
		llama, "layers.1.mlp.down_proj", "devices=4 strategy=zero zero=3 recompute=products order=program");
	int64_t eager = product_time(llama, "layers.1.mlp.down_proj",
		"devices=4 strategy=zero zero=3 recompute=products order=program kernels=eager");
	cr_expect_gt(compiled, 0);
	cr_expect_gt(eager, 20 * compiled, "%ld, %ld", (long)compiled, (long)eager);
	compiled = product_time(gpt, "h.1.mlp.c_proj", "devices=4 strategy=zero zero=3 recompute=products order=program");
	eager = product_time(
		gpt, "h.1.mlp.c_proj", "devices=4 strategy=zero zero=3 recompute=products order=program kernels=eager");
	cr_expect_gt(compiled, 0);
	cr_expect_lt(eager, 2 * compiled, "%ld, %ld", (long)compiled, (long)eager);
}

/* The plan checker plays the same allocations with an allocator of its own. */
Test(fsdp, plan_files_are_checked)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = model();
	for (int expandable = 0; expandable < 2; expandable++) {
		struct error error = { 0 };
		OWN(plan) *plan = plan_of_words(&planner, graph,
			expandable ? "devices=4 strategy=zero zero=3 precision=mixed allocator=pytorch"
			: "devices=4 strategy=zero zero=3 recompute=full");
		char *text = plan_text(plan), *digit = strstr(text, "\"reserved_bytes\"");
		cr_assert_not_null(digit);
		cr_expect_eq(check_plan_text(graph, text, &error), OK, "%s", error.text);
		digit += strcspn(digit, "123456789");
		*digit = *digit == '1' ? '2' : '1';
		cr_expect_eq(check_plan_text(graph, text, &error), INFEASIBLE);
		cr_expect(strstr(error.text, "memory.pytorch"), "%s", error.text);
		free(text);
	}
}

Test(fsdp, nothing_where_no_parameter_is_gathered)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = model();
	static const char *const words[] = { "devices=4 strategy=zero zero=2", "devices=4 strategy=megatron tp=4",
		"devices=1" };
	for (int w = 0; w < 3; w++) {
		OWN(plan) *plan = plan_of_words(&planner, graph, words[w]);
		cr_expect(!plan->fully_shard && plan->pytorch[0].reserved > 0, "%s", words[w]);
	}
}
