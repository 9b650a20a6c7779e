/* unit_adapters.c: adapters beside frozen weights: what is trained, what is kept, and that one weight is unpacked at a
 * time. */
#include <string.h>

#include "solver/step/train.h"
#include "tests/common/model_steps.h"
#include "tests/common/support.h"

enum { RANK = 4, LAYERS = 2, LINEAR = 7 * LAYERS, WIDTH = 64, INNER = 128, WORDS = 100 };

static struct graph *adapted(int64_t target, enum adapter_base base, enum recompute recompute)
{
	struct model_config sizes = { .layers = LAYERS, .hidden = WIDTH, .heads = 4, .kv_heads = 4, .ffn = INNER,
		.vocab = WORDS, .seq = 16, .batch = 2, .lora = RANK, .target = target, .base = base };
	struct model_config config = sized_model("llama", sizes);
	return step_of_config("llama", config,
		(struct model_training){ .optimizer = OPTIMIZER_ADAM, .precision = PRECISION_MIXED, .recompute = recompute });
}

static int64_t bytes_of(const struct graph *graph, enum kind kind, bool adapters)
{
	int64_t sum = 0;
	FOR(t, graph->tensors)
		if (graph->tensor[t].kind == kind && graph->tensor[t].alias == NONE &&
			adapter_name(graph->tensor[t].name) == adapters)
			sum += graph->tensor[t].bytes;
	return sum;
}

/* Elements of the linear layers of a model. */
static const int64_t linear = LAYERS * (4 * WIDTH * WIDTH + 3 * WIDTH * INNER);
static const int64_t small = 4 * RANK * LAYERS * (4 * 2 * WIDTH + 3 * (WIDTH + INNER));

Test(adapters, they_alone_have_gradients_and_state)
{
	OWN(graph) *all = adapted(0, BASE_BF16, RECOMPUTE_NONE), *some = adapted(1, BASE_BF16, RECOMPUTE_NONE);
	uint32_t written = 0;
	cr_assert_eq(bytes_of(all, KIND_PARAMETER, true), small, "A and B of each in f32");
	cr_assert_eq(bytes_of(some, KIND_PARAMETER, true), 4 * RANK * LAYERS * 4 * 2 * WIDTH, "of attention");
	cr_assert_eq(bytes_of(all, KIND_OPTIMIZER, true), 2 * small);
	cr_assert_eq(bytes_of(all, KIND_OPTIMIZER, false), 0, "what is frozen has no state");
	cr_assert_eq(bytes_of(all, KIND_PARAMETER, false),
		2 * (linear + 2 * WORDS * WIDTH + (2 * LAYERS + 1) * WIDTH), "the rest is bf16");
	FOR(op, all->ops)
		FOR_SPAN(i, all->inplace_start, op) {
			const struct tensor *tensor = &all->tensor[all->storage[all->tensor[all->inplace[i].in].storage].root];
			cr_assert(tensor->kind != KIND_PARAMETER || adapter_name(tensor->name), "%s is written", tensor->name);
			written += tensor->kind == KIND_PARAMETER;
		}
	cr_assert_eq(written, 2 * LINEAR);
}

Test(adapters, weights_of_fewer_bits_are_unpacked_one_at_a_time_in_both_passes)
{
	const struct { enum adapter_base base; int64_t bytes; } cases[] = { { BASE_NF4, linear / 2 }, { BASE_INT8, linear },
		{ BASE_FP8, linear } };
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		for (enum recompute recompute = RECOMPUTE_NONE; recompute <= RECOMPUTE_FULL; recompute += RECOMPUTE_FULL) {
			OWN(graph) *graph = adapted(0, cases[i].base, recompute);
			uint32_t unpacked = 0;
			cr_assert_eq(bytes_of(graph, KIND_PARAMETER, false),
				cases[i].bytes + 2 * (2 * WORDS * WIDTH + (2 * LAYERS + 1) * WIDTH));
			FOR(s, graph->storages) {
				const char *name = graph->tensor[graph->storage[s].root].name;
				uint32_t first = UINT32_MAX, last = 0;
				if (strncmp(name, "unpack_", 7) != 0 || graph->tensor[graph->storage[s].root].dtype != DTYPE_BF16)
					continue;
				unpacked++;
				uint32_t maker = graph->storage[s].allocator;
				uint32_t source = csr_length(&graph->reads, maker) == 2 ? graph->reads.item[graph->reads.start[maker]] : NONE;
				cr_assert(source != NONE && graph->tensor[source].kind == KIND_PARAMETER, "%s: weight and scale", name);
				FOR_ITEMS(user, &graph->users, s) {
					first = SMALLER(first, user);
					last = LARGER(last, user);
				}
				cr_assert_leq(last - first, 6, "%s is kept too long", name);
			}
			cr_assert_geq(unpacked, 2 * LINEAR - 3, "again backward, but where no gradient flows to the embedding");
		}
	OWN(graph) *graph = adapted(0, BASE_NF4, RECOMPUTE_NONE);
	uint32_t scale = graph_find_tensor(graph, "layers.0.self_attn.q_proj.scale_of_scales");
	cr_assert(scale != NONE && graph->tensor[scale].bytes == 4,
		"a scale in f32 for each 256 of 64 numbers");
}

Test(adapters, a_step_made_anew_trains_what_it_trained)
{
	OWN(rules) *rules = rules_new();
	struct error error = { 0 };
	OWN(graph) *step = adapted(0, BASE_BF16, RECOMPUTE_NONE), *forward = train_forward_part(step, rules, &error);
	struct train_options options = { .rules = rules, .like = step, .update = { .optimizer = OPTIMIZER_ADAM } };
	OWN(graph) *again = train_step(forward, &options, &error);
	cr_assert_not_null(again, "%s", error.text);
	cr_assert_eq(bytes_of(again, KIND_OPTIMIZER, false), 0);
	cr_assert_eq(again->persistent_bytes, step->persistent_bytes);
}

Test(adapters, what_cannot_be_adapted_is_refused)
{
	struct model_config config = model_find("resnet18")->config, plain = model_find("gpt2")->config;
	struct error error = { 0 };
	config.lora = RANK;
	cr_assert_null(model_step("resnet18", &config, &model_training_default, &error));
	cr_assert_str_eq(error.text, "no linear layer to adapt");
	plain.base = BASE_NF4;
	cr_assert_null(model_step("gpt2", &plain, &model_training_default, &error));
	cr_assert(strstr(error.text, "lora=RANK"));
	plain.lora = RANK;
	struct model_training half = { .precision = PRECISION_FP16, .optimizer = OPTIMIZER_ADAM };
	cr_assert_null(model_step("gpt2", &plain, &half, &error));
	cr_assert(strstr(error.text, "base=bf16"));
	cr_assert_eq(model_sizes(&plain, "gpt2:lora=8:target=attention:base=int8", &error), OK);
	cr_assert(plain.lora == 8 && plain.target == 1 && plain.base == BASE_INT8);
	cr_assert_eq(model_sizes(&plain, "gpt2:base=nf5", &error), BAD_INPUT);
	cr_assert_str_eq(error.text, "base=nf5: expected bf16, fp32, nf4, int8 or fp8");
	cr_assert_eq(model_sizes(&plain, "gpt2:lora=0", &error), BAD_INPUT);
	cr_assert_str_eq(error.text, "lora=0: expected a number from 1 to 65536");
	plain = model_find("llama")->config;
	cr_assert_eq(model_sizes(&plain, "llama:kv-heads=4", &error), OK);
	cr_assert_eq(plain.kv_heads, 4);
}

Test(adapters, survive_refused_memory)
{
	OWN(rules) *rules = rules_new();
	struct adapter_options options = { .rank = RANK, .base = BASE_NF4 };
	struct model_config sizes = { .layers = 1, .hidden = 8, .heads = 2, .ffn = 8, .vocab = 10, .seq = 4 };
	struct model_training training = { .forward_only = true };
	OWN(graph) *forward = step_of_config("gpt", sized_model("gpt", sizes), training);
	for (int pack = 0; pack < 2; pack++)
		EACH_REFUSAL(refused) {
			struct error error = { 0 };
			OWN(graph) *adapted = adapters_apply(forward, rules, &options, pack, &error);
			refused.status = adapted ? OK : error.status;
		}
}
