/* unit_recompute.c: recomputed steps compute what they computed. */
#include <string.h>

#include "solver/step/recompute.h"
#include "src/read/input.h"
#include "src/models/models.h"
#include "tests/common/model_steps.h"
#include "tests/common/native_text.h"
#include "tests/common/support.h"

static struct graph *small_step(enum model_family family)
{
	static const char *const names[FAMILY_COUNT] = { "gpt", "llama", "bert", "t5", "vit", "resnet", "moe", "deepseek",
		"dlrm" };
	return step_of_sizes(names[family], (struct model_config){ .layers = 4, .batch = 2 });
}

/* ---- by hand: what captured steps do in one line of a model ---------------------------------- */

/* In a layer: a mask is made empty and filled through a view of it, the statistics of a norm are updated beside its
 * result; both results are saved for the backward pass, which reads the mask under its first name. A release stands
 * where the mask goes, and one where the program lets go of what no op reads. */
static struct graph *hand_made_step(void)
{
#define TENSOR(id, kind, more) "{\"k\":\"tensor\",\"id\":\"" id "\",\"bytes\":16,\"kind\":\"" kind "\"" more "}\n"
#define OP(id, type, phase, members) \
	"{\"k\":\"op\",\"id\":\"" id "\",\"op\":\"" type "\",\"phase\":\"" phase "\",\"mod\":\"h.0\",\"flops\":8," members \
	"}\n"
	static const char text[] = "{\"k\":\"graph\",\"v\":1,\"name\":\"step\"}\n" TENSOR("x", "input", "") TENSOR(
		"statistic", "buffer", "") TENSOR("mask", "activation", "") TENSOR("part", "activation", ",\"alias\":\"mask\"")
		TENSOR("filled", "activation", ",\"alias\":\"mask\"") TENSOR("y", "activation", "") TENSOR(
			"z", "activation", "") TENSOR("logged", "activation", "") TENSOR("gradient", "output", "") OP("make", "aten.new_zeros.default", "forward",
			"\"in\":[\"x\"],\"out\":[\"mask\"],\"args\":[{\"t\":\"x\"},[4]],\"result\":\"mask\"") OP("cut",
			"aten.slice.Tensor", "forward",
			"\"in\":[\"mask\"],\"out\":[\"part\"],\"args\":[{\"t\":\"mask\"}],\"result\":\"part\"")
			OP("fill", "aten.fill_.Scalar", "forward",
				"\"in\":[\"part\"],\"out\":[\"filled\"],\"inplace\":[[\"filled\",\"part\"]],\"args\":[{\"t\":\"part\"},"
				"1],\"result\":\"filled\"") OP("norm", "aten.native_batch_norm.default", "forward",
				"\"in\":[\"x\",\"statistic\"],\"out\":[\"y\"],\"inplace\":[[null,\"statistic\"]],\"args\":[{\"t\":"
				"\"x\"},{\"t\":\"statistic\"}],\"result\":[\"y\",null]") OP("use", "aten.mul.Tensor", "forward",
				"\"in\":[\"y\",\"mask\"],\"out\":[\"z\"],\"args\":[{\"t\":\"y\"},{\"t\":\"mask\"}],\"result\":\"z\"")
				OP("log", "aten.relu.default", "forward", "\"in\":[\"x\"],\"out\":[\"logged\"]")
				OP("back", "aten.mul.Tensor", "backward",
					"\"in\":[\"y\",\"mask\"],\"out\":[\"gradient\"],\"args\":[{\"t\":\"y\"},{\"t\":\"mask\"}],"
					"\"result\":\"gradient\"") OP("release", RELEASE_TYPE, "backward",
					"\"in\":[\"mask\"],\"out\":[]") OP("forget", RELEASE_TYPE, "backward",
					"\"in\":[\"logged\"],\"out\":[]") "{\"k\":\"end\",\"tensors\":9,\"ops\":9}\n";
	struct error error = { 0 };
	struct graph *graph = graph_of_text(text, sizeof text - 1, &error);
	cr_assert_not_null(graph, "%s", error.text);
	return graph;
}

/* Whether an op touches the storage of a tensor, writing or reading. */
static bool touches(const struct graph *graph, const char *op_name, const char *tensor_name)
{
	uint32_t op = graph_find_op(graph, op_name), storage = graph->tensor[graph_find_tensor(graph, tensor_name)].storage;
	bool found = false;
	FOR_ROW(i, &graph->touches, op)
		found |= graph->touches.item[i] == storage;
	return found;
}

Test(recompute, what_views_fill_is_filled_again_and_statistics_are_left_alone)
{
	struct rules *rules = test_rules();
	OWN(graph) *step = hand_made_step();
	OWN(activations) activations;
	struct error error = { 0 };
	cr_assert_eq(activations_find(step, rules, &activations, &error), OK);
	HELD bool *drop = mem_alloc(step->storages, sizeof *drop);
	for (uint32_t s = 0; s < step->storages; s++)
		drop[s] = activations.saved[s];
	cr_assert(activations.saved[step->tensor[graph_find_tensor(step, "mask")].storage]);
	OWN(graph) *again = recompute_apply(step, &activations, drop, NULL, 0, &error);
	cr_assert_not_null(again, "%s", error.text);
	cr_assert(touches(again, "fill.again", "mask.again"), "the mask is made anew but not filled");
	cr_assert(touches(again, "back", "mask.again"));
	cr_assert(touches(again, "norm.again", "y.again"));
	cr_assert(touches(again, "norm", "statistic"));
	cr_assert(!touches(again, "norm.again", "statistic"), "running statistics are updated twice");
	cr_assert_eq(graph_find_op(again, "release"), NONE, "what is dropped is held until its old end");
	cr_assert(touches(again, "forget", "logged"), "what the program keeps goes early, although nothing runs again for it");
	cr_assert_eq(graph_find_op(again, "log.again"), NONE, "an op runs again for its release");
	size_t size;
	char *text = text_of_graph(again, &size);
	cr_assert(strstr(text, "\"args\":[{\"t\":\"x\"},null],\"result\":[\"y.again\",null]"), "%s", text);
	cr_assert(strstr(text, "\"args\":[{\"t\":\"y.again\"},{\"t\":\"mask.again\"}],\"result\":\"gradient\""), "%s", text);
	free(text);
}

/* ---- values: an oracle that runs a step on symbols ------------------------------------------- */

/* The op that a copy repeats, by name: "x.again" and "x.again2" are x. */
static uint64_t identity_of(const char *name)
{
	char text[700];
	snprintf(text, sizeof text, "%s", name);
	char *again = strstr(text, ".again");
	if (again)
		*again = '\0';
	uint64_t hash = 7;
	for (const char *at = text; *at; at++)
		hash = hash_join(hash, (uint64_t)(unsigned char)*at);
	return hash;
}

/* A storage holds a symbol; an op's results are a symbol of the op and of what it reads. Moves to the host and back
 * pass symbols on. value [ops]: what each op read. */
static void run_symbols(const struct graph *graph, uint64_t *value)
{
	HELD uint64_t *content = mem_alloc(graph->storages, sizeof *content);
	for (uint32_t s = 0; s < graph->storages; s++)
		content[s] = identity_of(graph->tensor[graph->storage[s].root].name);
	for (uint32_t op = 0; op < graph->ops; op++) {
		bool moves = strncmp(graph->op[op].type, "tidemark.offload", 16) == 0 ||
			strncmp(graph->op[op].type, "tidemark.fetch", 14) == 0;
		uint64_t read = 1, hash;
		FOR_ROW(i, &graph->reads, op) {
			uint32_t storage = graph->tensor[graph->reads.item[i]].storage;
			if (graph->storage[storage].kind != KIND_BUFFER)   /* running statistics don't change what a norm computes */
				read = hash_join(read, content[storage]);
		}
		if (moves)
			hash = content[graph->tensor[graph->reads.item[graph->reads.start[op]]].storage];
		else
			hash = hash_join(read, identity_of(graph->op[op].name));
		value[op] = read;
		uint32_t position = 0;
		FOR_ROW(i, &graph->writes, op) {
			uint32_t tensor = graph->writes.item[i], storage = graph->tensor[tensor].storage;
			bool view = graph->tensor[tensor].alias != NONE;
			for (uint32_t j = graph->inplace_start[op]; j < graph->inplace_start[op + 1]; j++)
				view &= graph->inplace[j].out != tensor;
			if (!view)
				content[storage] = moves ? hash : hash_join(hash, position);
			position++;
		}
		for (uint32_t j = graph->inplace_start[op]; j < graph->inplace_start[op + 1]; j++)
			if (graph->inplace[j].out == NONE)
				content[graph->tensor[graph->inplace[j].in].storage] = hash;
	}
}

/* Every op of the old step is in the new one and reads the same values. */
static void check_same_values(const struct graph *old, const struct graph *new, const char *what)
{
	HELD uint64_t *before = mem_alloc(old->ops, sizeof *before), *after = mem_alloc(new->ops, sizeof *after);
	run_symbols(old, before);
	run_symbols(new, after);
	for (uint32_t op = 0; op < old->ops; op++) {
		uint32_t other = graph_find_op(new, old->op[op].name);
		cr_assert_neq(other, NONE, "%s: \"%s\" is gone", what, old->op[op].name);
		cr_assert_eq(before[op], after[other], "%s: \"%s\" reads other values", what, old->op[op].name);
	}
}

static struct graph *applied(const struct graph *step, const struct activations *activations,
	const struct recompute_options *options)
{
	HELD bool *drop = mem_alloc(step->storages, sizeof *drop);
	struct error error = { 0 };
	recompute_choose(step, activations, options, drop);
	struct graph *result = recompute_apply(step, activations, drop, options->offload, options->offloads, &error);
	cr_assert_not_null(result, "%s", error.text);
	return result;
}

Test(recompute, a_recomputed_step_reads_the_same_values_in_every_op)
{
	struct rules *rules = test_rules();
	for (enum model_family family = 0; family < FAMILY_COUNT; family++) {
		OWN(graph) *step = small_step(family);
		OWN(activations) activations;
		struct error error = { 0 };
		cr_assert_eq(activations_find(step, rules, &activations, &error), OK);
		for (enum recompute mode = RECOMPUTE_NONE; mode < RECOMPUTE_AUTO; mode++) {
			struct recompute_options options = { .mode = mode };
			OWN(graph) *again = applied(step, &activations, &options);
			check_same_values(step, again, recompute_names[mode]);
			cr_assert_eq(again->repaired, 0);
			if (mode == RECOMPUTE_NONE)
				cr_assert_eq(again->ops, step->ops);
		}
	}
}

Test(recompute, any_set_of_dropped_storages_gives_the_same_values)
{
	struct rules *rules = test_rules();
	struct error error = { 0 };
	struct graph *mobilenet = graph_open("samples/mobilenet_v2_b1_adam.jsonl.gz", NULL, &error);
	struct graph *const steps[] = { small_step(FAMILY_GPT), small_step(FAMILY_LLAMA), small_step(FAMILY_T5), mobilenet };
	for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
		struct activations activations;
		cr_assert_eq(activations_find(steps[i], rules, &activations, &error), OK);
		bool *drop = mem_alloc(steps[i]->storages, sizeof *drop);
		for (uint64_t round = 0; round < 20; round++) {
			uint64_t seed = test_seed() + round, state = seed;
			for (uint32_t s = 0; s < steps[i]->storages; s++)
				drop[s] = activations.saved[s] && random_next(&state) % 3 == 0;
			OWN(graph) *again = recompute_apply(steps[i], &activations, drop, NULL, 0, &error);
			cr_assert_not_null(again, "seed %lu: %s", (unsigned long)seed, error.text);
			cr_assert_geq(again->ops, steps[i]->ops);
			check_same_values(steps[i], again, "random set");
		}
		mem_free(drop);
		activations_free(&activations);
		graph_release(steps[i]);
	}
}

Test(recompute, selective_drops_attention_scores_and_full_what_is_inside_of_layers)
{
	struct rules *rules = test_rules();
	struct error error = { 0 };
	OWN(graph) *step = small_step(FAMILY_GPT);
	OWN(activations) activations;
	cr_assert_eq(activations_find(step, rules, &activations, &error), OK);
	cr_assert_eq(activations.layers, 4);
	HELD bool *drop = mem_alloc(step->storages, sizeof *drop);
	int64_t peak = program_peak(step), last = peak;
	for (enum recompute mode = RECOMPUTE_SELECTIVE; mode <= RECOMPUTE_FULL; mode++) {
		struct recompute_options options = { .mode = mode };
		struct recompute_cost cost;
		recompute_choose(step, &activations, &options, drop);
		cr_assert_eq(recompute_cost(step, &activations, drop, &cost, NULL, &error), OK);
		OWN(graph) *again = applied(step, &activations, &options);
		int64_t flops = 0, now = program_peak(again);
		for (uint32_t op = 0; op < again->ops; op++)
			if (again->op[op].recomputed)
				flops += again->op[op].flops > 0 ? again->op[op].flops : 0;
		cr_assert_eq(flops, cost.flops, "%s: the estimate is what is done", recompute_names[mode]);
		cr_assert_lt(now, last);
		last = now;
	}
}

Test(recompute, selective_leaves_a_routers_shares_and_its_experts)
{
	static const char *const models[] = { "moe", "deepseek-v2-lite" };
	for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
		struct model_config config = model_find(models[i])->config;
		struct model_training training = {
			.optimizer = OPTIMIZER_ADAM, .precision = PRECISION_BF16, .recompute = RECOMPUTE_SELECTIVE
		};
		config.layers = 2;
		config.seq = 16;
		OWN(graph) *step = step_of_config(models[i], config, training);
		uint32_t again = 0;
		for (uint32_t op = 0; op < step->ops; op++) {
			again += step->op[op].recomputed;
			cr_expect(!step->op[op].recomputed || strstr(step->op[op].module, "attn"), "%s: \"%s\" of %s runs again",
				models[i], step->op[op].name, step->op[op].module);
		}
		cr_expect_eq(again > 0, i == 0, "attention of deepseek is one kernel");
	}
}

Test(recompute, products_keeps_attention_kernels_and_every_other_product)
{
	struct model_config config = model_find("llama")->config;
	struct model_training training = {
		.optimizer = OPTIMIZER_ADAM, .precision = PRECISION_BF16, .recompute = RECOMPUTE_PRODUCTS
	};
	config.layers = 2;
	config.seq = 16;
	config.fused = true;
	OWN(graph) *step = step_of_config("llama", config, training);
	uint32_t attention = 0, products = 0;
	for (uint32_t op = 0; op < step->ops; op++) {
		attention += step->op[op].recomputed && strstr(step->op[op].type, "attention");
		products += step->op[op].recomputed && strcmp(step->op[op].type, "aten.mm.default") == 0;
	}
	cr_expect_eq(attention, 0, "its result is kept");
	/* of queries, keys, values, output, gate, up and down the second, fourth and sixth run again */
	cr_expect_eq(products, 2 * 3);
}

Test(recompute, pins_recompute_one_layer_and_keep_and_offload_tensors)
{
	struct rules *rules = test_rules();
	struct error error = { 0 };
	OWN(graph) *step = small_step(FAMILY_GPT);
	OWN(activations) activations;
	cr_assert_eq(activations_find(step, rules, &activations, &error), OK);
	uint32_t layer = 2, kept = NONE;
	for (uint32_t s = 0; s < step->storages; s++)
		if (activations.attention[s] && activations.saved[s])
			kept = step->storage[s].root;
	cr_assert_neq(kept, NONE);
	struct recompute_options options = { .layer = &layer, .layers = 1 };
	OWN(graph) *one = applied(step, &activations, &options);
	check_same_values(step, one, "one layer");
	for (uint32_t op = 0; op < one->ops; op++)
		if (one->op[op].recomputed)
			cr_assert_eq(strncmp(one->op[op].module, "h.2", 3), 0, "\"%s\" is not of layer 2", one->op[op].name);
	options = (struct recompute_options){ .mode = RECOMPUTE_FULL, .resident = &kept, .residents = 1 };
	HELD bool *drop = mem_alloc(step->storages, sizeof *drop);
	recompute_choose(step, &activations, &options, drop);
	cr_assert_not(drop[step->tensor[kept].storage]);
	options = (struct recompute_options){ .offload = &kept, .offloads = 1 };
	OWN(graph) *away = applied(step, &activations, &options);
	check_same_values(step, away, "offload");
	cr_assert_geq(away->ops, step->ops + 2);
	int64_t saved = program_peak(step) - program_peak(away);
	cr_assert_eq(saved, step->tensor[kept].bytes, "%ld bytes less", (long)saved);
}

/* What waits in the host is read by its fetch alone. */
static void check_host(const struct graph *graph, const char *what)
{
	for (uint32_t op = 0; op < graph->ops; op++)
		FOR_ROW(i, &graph->reads, op) {
			uint32_t writer = graph->tensor[graph->reads.item[i]].writer;
			bool host = writer != NONE && strcmp(graph->op[writer].type, "tidemark.offload") == 0;
			cr_assert(!host || strcmp(graph->op[op].type, "tidemark.fetch") == 0, "%s: \"%s\" reads the host's memory",
				what, graph->op[op].name);
		}
}

Test(recompute, all_that_is_saved_may_wait_in_the_host_whatever_is_computed_again)
{
	struct rules *rules = test_rules();
	for (enum model_family family = 0; family < FAMILY_COUNT; family++) {
		OWN(graph) *step = small_step(family);
		OWN(activations) activations;
		struct error error = { 0 };
		cr_assert_eq(activations_find(step, rules, &activations, &error), OK);
		HELD uint32_t *saved = mem_alloc(step->storages, sizeof *saved);
		for (enum recompute mode = RECOMPUTE_NONE; mode < RECOMPUTE_AUTO; mode++)
			for (int anchors = 0; anchors < 2; anchors++) {
				struct recompute_options options = { .mode = mode, .offload = saved };
				for (uint32_t s = 0; s < step->storages; s++)
					if (activations.saved[s] && (!anchors || activations.anchor[s]))
						saved[options.offloads++] = step->storage[s].root;
				OWN(graph) *away = applied(step, &activations, &options);
				check_same_values(step, away, recompute_names[mode]);
				check_host(away, recompute_names[mode]);
			}
	}
}

/* ---- memory ---------------------------------------------------------------------------------- */

Test(recompute, every_failed_allocation_is_reported_and_nothing_leaks)
{
	struct model_config config = { .family = FAMILY_GPT, .layers = 2, .hidden = 8, .heads = 2, .vocab = 11, .seq = 4,
		.batch = 2 };
	struct model_training training = { .optimizer = OPTIMIZER_SGD };
	struct rules *rules = test_rules();
	struct error error = { 0 };
	OWN(graph) *step = model_step("gpt", &config, &training, &error);
	struct recompute_options options = { .mode = RECOMPUTE_FULL };
	EACH_REFUSAL(refused) {
		struct activations activations;
		OWN(graph) *again = NULL;
		refused.status = activations_find(step, rules, &activations, &error);
		if (refused.status == OK) {
			HELD bool *drop = mem_alloc(step->storages, sizeof *drop);
			refused.status = drop ? OK : NO_MEMORY;
			if (drop)
				recompute_choose(step, &activations, &options, drop);
			again = drop ? recompute_apply(step, &activations, drop, NULL, 0, &error) : NULL;
			refused.status = again ? OK : drop ? error.status : NO_MEMORY;
			activations_free(&activations);
		}
	}
}
