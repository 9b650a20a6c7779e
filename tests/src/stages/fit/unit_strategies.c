/* unit_strategies.c: published recomputation strategies, from their words to plan files. */
#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#include "solver/recompute/strategies.h"
#include "src/decide/planner.h"
#include "src/stages/fit/stage.h"
#include "tests/common/fit_step.h"
#include "tests/common/planned.h"

/* In the program's order. */
static struct plan *plan_of_program(struct planner *planner, struct graph *graph, const char *words)
{
	char text[300];
	snprintf(text, sizeof text, "order=program %s", words);
	return plan_of_words(planner, graph, text);
}

static const char *const families[] = { "gpt", "llama", "bert", "resnet", "t5", "vit", "moe", "dlrm" };
static const char *const words[] = { "recompute=sqrt", "recompute=layers:1", "recompute=layers:2", "recompute=layers:3",
	"recompute=knapsack:0%", "recompute=knapsack:20%", "recompute=knapsack:60%", "recompute=knapsack:100%",
	"recompute=every:2" };

/* check runs both steps on symbols: every op reads what it read. */
Test(strategies, every_plan_passes_the_check)
{
	OWN(planner) planner = { .store = store_new() };
	for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
		OWN(graph) *graph = fit_model(families[i], 3);
		struct error error = { 0 };
		for (size_t j = 0; j < sizeof words / sizeof *words; j++) {
			OWN(plan) *plan = plan_of_program(&planner, graph, words[j]);
			char *text = plan_text(plan);
			cr_assert_eq(check_plan_text(graph, text, &error), OK, "%s %s: %s", families[i], words[j], error.text);
			cr_assert_not_null(strstr(text, words[j] + strlen("recompute=")), "%s: the file says it", words[j]);
			free(text);
		}
	}
}

/* torchtitan's apply_ac() counts layers from 1 and checkpoints those that the number divides. */
Test(strategies, every_so_manieth_layer_runs_again)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = fit_model("gpt", 5);
	for (int every = 1; every <= 6; every++) {
		char word[40];
		uint32_t again[5] = { 0 };
		snprintf(word, sizeof word, "recompute=every:%d", every);
		OWN(plan) *plan = plan_of_program(&planner, graph, word);
		for (uint32_t op = 0; op < plan->graph->ops; op++) {
			const char *number = strpbrk(plan->graph->op[op].module, "0123456789");
			if (plan->graph->op[op].recomputed && number && *number < '5')
				again[*number - '0']++;
		}
		for (int layer = 0; layer < 5; layer++)
			cr_expect_eq(again[layer] > 0, (layer + 1) % every == 0, "%s: layer %d, %u ops", word, layer, again[layer]);
		cr_expect(every < 6 || strstr(plan->transformed->notes, "changes nothing"), "%s", plan->transformed->notes);
	}
}

/* Of the op types that were named, all that is saved runs again; nothing else does but what these need and nobody
 * saves. */
Test(strategies, named_types_run_again)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = fit_model("gpt", 2);
	OWN(plan) *plan = plan_of_program(&planner, graph, "recompute=ops:tanh");
	uint32_t again = 0, all = 0;
	for (uint32_t op = 0; op < plan->graph->ops; op++) {
		const struct op *record = &plan->graph->op[op];
		bool named = strncmp(record->type, "aten.tanh.", 10) == 0 || strcmp(record->type, "aten.tanh") == 0;
		all += named && !record->recomputed;
		again += named && record->recomputed;
		cr_assert(named || !record->recomputed || plan->graph->inplace_start[op] == plan->graph->inplace_start[op + 1],
			"%s", record->name);
	}
	cr_assert(all > 0 && again == all, "%u of %u", again, all);
}

/* Megatron's lists of modules: a module runs again but for what leaves it, norms with what they give, scores of
 * attention as with selective, beside states of dropout. */
Test(strategies, named_modules_run_again)
{
	static const char *const names[] = { "mlp", "layernorm", "core_attn", "layernorm+mlp", "attn" };
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = fit_model("gpt", 2);
	OWN(plan) *none = plan_of_program(&planner, graph, "recompute=none"),
			  *selective = plan_of_program(&planner, graph, "recompute=selective");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		char text[60];
		struct error error = { 0 };
		snprintf(text, sizeof text, "recompute=ops:%s", names[i]);
		OWN(plan) *plan = plan_of_program(&planner, graph, text);
		uint32_t again = 0;
		for (uint32_t op = 0; op < plan->graph->ops; op++) {
			const struct op *record = &plan->graph->op[op];
			bool mlp = strstr(record->module, "mlp"), norm = strstr(record->module, "ln_") && strstr(record->type, "layer_norm");
			again += record->recomputed;
			if (record->recomputed && !strstr(record->type, "view"))
				cr_expect(i == 0 ? mlp
				: i == 1 ? norm
				: i == 3 ? mlp || norm
				: true,
					"%s: %s in %s", names[i], record->name, record->module);
		}
		cr_expect_gt(again, 0, "%s", names[i]);
		cr_expect_lt(plan_peak(plan), plan_peak(none), "%s", names[i]);
		cr_expect(i != 2 || llabs(plan_peak(plan) - plan_peak(selective)) < 256, "%ld, %ld", (long)plan_peak(plan),
			(long)plan_peak(selective));
		char *file = plan_text(plan);
		cr_expect_eq(check_plan_text(graph, file, &error), OK, "%s: %s", names[i], error.text);
		free(file);
	}
	cr_expect(module_is_named("h.3.mlp.fc", "mlp") && module_is_named("mlp", "mlp") &&
		!module_is_named("h.3.mlp2", "mlp") && !module_is_named("", "mlp") && !module_is_named("h.3", "h.3"));
}

/* One of Megatron's words: what runs again of a step, by module and type; "" where nothing may. kept: what the module
 * gives isn't made again. */
struct word_case { const char *name, *module, *type; };

static void word_reruns(struct planner *planner, struct graph *graph, const struct word_case *word)
{
	char text[100];
	struct error error = { 0 };
	snprintf(text, sizeof text, "recompute=ops:%s", word->name);
	OWN(plan) *plan = plan_of_program(planner, graph, text);
	uint32_t again = 0;
	for (uint32_t op = 0; op < plan->graph->ops; op++) {
		const struct op *record = &plan->graph->op[op];
		again += record->recomputed;
		cr_expect(!record->recomputed ||
				(strstr(record->module, word->module) && (!word->type || strstr(record->type, word->type))),
			"%s: %s (%s) in %s", word->name, record->name, record->type, record->module);
	}
	cr_expect(*word->module ? again > 0 : again == 0, "%s: %u", word->name, again);
	char *file = plan_text(plan);
	cr_expect_eq(check_plan_text(graph, file, &error), OK, "%s: %s", word->name, error.text);
	free(file);
}

/* Experts beside dense layers, latent attention: each of Megatron's words means its own part of them, and nothing where
 * there is none. */
Test(strategies, megatrons_modules_of_mixtures_run_again)
{
	static const struct word_case latent[] = { { "moe_act", ".experts", "swiglu_scaled" },
		{ "shared_experts", "shared_experts", NULL }, { "mla_up_proj", "self_attn", NULL },
		{ "core_attn", "self_attn", "flash_attention" }, { "mlp", "layers.0.mlp", NULL }, { "moe", "mlp", NULL } };
	static const struct word_case mixture[] = { { "moe_act", ".experts", NULL }, { "moe", "moe", NULL },
		{ "mlp", "", NULL }, { "shared_experts", "", NULL }, { "mla_up_proj", "", NULL } };
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *deepseek = step_of_sizes("deepseek",
		(struct model_config){ .layers = 3,
			.batch = 2,
			.hidden = 64,
			.heads = 4,
			.head_width = 16,
			.rope_width = 8,
			.value_width = 16,
			.kv_rank = 24,
			.q_rank = 24,
			.ffn = 96,
			.expert_ffn = 32,
			.experts = 4,
			.top_k = 2,
			.vocab = 128,
			.seq = 32,
			.mtp_layers = 1 }),
			   *moe = fit_model("moe", 2);
	for (size_t i = 0; i < sizeof latent / sizeof *latent; i++)
		word_reruns(&planner, deepseek, &latent[i]);
	for (size_t i = 0; i < sizeof mixture / sizeof *mixture; i++)
		word_reruns(&planner, moe, &mixture[i]);
}

/* Queries, keys and values wait for no backward pass: from the low ranks on they are made again, attention's result
 * isn't. */
Test(strategies, latent_projections_keep_their_low_ranks_alone)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = step_of_sizes(
		"deepseek", (struct model_config){ .layers = 2, .batch = 2, .q_rank = 24, .seq = 64, .vocab = 128 });
	OWN(plan) *plan = plan_of_program(&planner, graph, "recompute=ops:mla_up_proj");
	uint32_t products = 0;
	for (uint32_t op = 0; op < plan->graph->ops; op++) {
		const struct op *record = &plan->graph->op[op];
		cr_expect(!record->recomputed || !strstr(record->type, "attention"), "%s", record->name);
		products += record->recomputed && strstr(record->type, "mm") &&
			(strstr(record->module, "q_b_proj") || strstr(record->module, "kv_b_proj"));
		cr_expect(!record->recomputed ||
				!(strstr(record->module, "q_a_proj") || strstr(record->module, "kv_a_proj") ||
					strstr(record->module, "o_proj")),
			"%s", record->module);
		FOR_ROW(i, &plan->graph->reads, op) {
			uint32_t writer = plan->graph->storage[plan->graph->tensor[plan->graph->reads.item[i]].storage].allocator;
			const char *module = writer == NONE ? "" : plan->graph->op[writer].module;
			bool kept = record->phase == PHASE_BACKWARD && writer != NONE && plan->graph->op[writer].phase == PHASE_FORWARD;
			cr_expect(!kept || !(strstr(module, "q_b_proj") || strstr(module, "kv_b_proj")), "%s reads what %s gave",
				record->name, module);
		}
	}
	cr_expect_eq(products, 4);
}

/* ---- the partitioner's cut against all sets -------------------------------------------------- */

/* The node's weight, written anew from what partitioners.py says. */
static double weight(const struct joint *joint, uint32_t n)
{
	const struct joint_node *node = &joint->node[n];
	bool fused = !node->leaves;
	for (uint32_t i = joint->users.start[n]; i < joint->users.start[n + 1]; i++) {
		const struct joint_node *user = &joint->node[joint->users.item[i]];
		fused = fused && (user->concatenates || ((node->generated || node->random) && (user->generated || user->random)));
	}
	double bytes = (double)node->bytes;
	for (uint32_t d = 0; d < node->distance && d < 100; d++)
		bytes *= 1.1;
	return node->steady ? 0 : (double)(int64_t)(bytes + 1e-6) * (fused && !node->input ? 2 : 1);
}

/* The least weight of a set of saved nodes from which all others that the backward pass reads can be made without
 * banned ones; over all sets of `choice`. */
static double least(const struct joint *joint, const uint32_t *banned, const uint32_t *choice, uint32_t choices)
{
	double best = INFINITY;
	HELD bool *saved = mem_alloc(joint->nodes, sizeof *saved), *wanted = mem_alloc(joint->nodes, sizeof *wanted);
	for (uint32_t set = 0; set < 1u << choices; set++) {
		double sum = 0;
		bool fine = true;
		memset(saved, 0, joint->nodes);
		memset(wanted, 0, joint->nodes);
		for (uint32_t i = 0; i < choices; i++)
			if (set >> i & 1) {
				saved[choice[i]] = true;
				sum += weight(joint, choice[i]);
			}
		for (uint32_t n = joint->nodes; n-- > 0 && fine;) {
			wanted[n] |= !joint->node[n].forward;
			if (!wanted[n] || saved[n])
				continue;
			fine = !joint->node[n].forward || !banned[n] || joint->node[n].steady;
			for (uint32_t i = joint->operands.start[n]; i < joint->operands.start[n + 1]; i++)
				wanted[joint->operands.item[i]] = true;
		}
		best = fine && sum < best ? sum : best;
	}
	return best;
}

static void compare_cut(const struct joint *joint, const struct joint_bans *bans)
{
	HELD bool *saved = mem_alloc(joint->nodes, sizeof *saved);
	uint32_t *banned = mem_alloc(joint->nodes, sizeof *banned), *choice = mem_alloc(joint->nodes, sizeof *choice),
			 choices = 0;
	struct control control = { 0 };
	double sum = 0;
	cr_assert_eq(joint_cut(joint, bans, NULL, &control, saved, banned), OK);
	for (uint32_t n = 0; n < joint->nodes; n++) {
		sum += saved[n] ? weight(joint, n) : 0;
		if (joint->node[n].forward && !joint->node[n].steady && joint->node[n].tensor != NONE)
			choice[choices++] = n;
	}
	if (choices <= 18) {
		double best = least(joint, banned, choice, choices);
		cr_assert(sum <= best * (1 + 1e-9) + 64 && sum >= best * (1 - 1e-9) - 64, "cut %.0f, least %.0f", sum, best);
	}
	mem_free(banned);
	mem_free(choice);
}

/* A chain of elementwise ops and products with random jumps, and a backward op for each. */
static struct graph *small_joint(uint64_t *random)
{
	static const char *const types[] = { "aten.mul", "aten.exp", "aten.mm", "aten.native_dropout", "aten.view",
		"aten.sum", "aten.embedding", "aten.add" };
	OWN(draft) *draft = draft_new();
	int64_t shape[2] = { 8, 8 };
	uint32_t tensor[20], op, last = NONE;
	char name[16];
	tensor[0] = draft_tensor(draft,
		&(struct tensor){ .name = "x",
			.kind = KIND_INPUT,
			.dtype = DTYPE_F32,
			.dims = 2,
			.shape = shape,
			.bytes = 256,
			.alias = NONE,
			.has_shape = true });
	uint32_t count = 5 + (uint32_t)(random_next(random) % 8);
	for (uint32_t i = 1; i <= count; i++) {
		shape[0] = 1 + (int64_t)(random_next(random) % 64);
		snprintf(name, sizeof name, "t%u", i);
		tensor[i] = draft_tensor(draft,
			&(struct tensor){ .name = name,
				.kind = KIND_ACTIVATION,
				.dtype = DTYPE_F32,
				.dims = 2,
				.shape = shape,
				.bytes = shape[0] * 32,
				.alias = NONE,
				.has_shape = true });
		snprintf(name, sizeof name, "o%u", i);
		op = draft_op(draft,
			&(struct op){ .name = name,
				.type = types[random_next(random) % 8],
				.phase = PHASE_FORWARD,
				.has_phase = true,
				.flops = -1,
				.module = "" });
		draft_read(draft, op, tensor[i - 1]);
		if (random_next(random) % 3 == 0)
			draft_read(draft, op, tensor[random_next(random) % i]);
		draft_write(draft, op, tensor[i]);
	}
	for (uint32_t i = count; i > 0; i--) {
		snprintf(name, sizeof name, "g%u", i);
		uint32_t gradient = draft_tensor(draft,
			&(struct tensor){ .name = name,
				.kind = KIND_GRADIENT,
				.dtype = DTYPE_F32,
				.dims = 2,
				.shape = shape,
				.bytes = 64,
				.alias = NONE,
				.has_shape = true });
		snprintf(name, sizeof name, "b%u", i);
		op = draft_op(draft,
			&(struct op){ .name = name,
				.type = types[random_next(random) % 8],
				.phase = PHASE_BACKWARD,
				.has_phase = true,
				.flops = -1,
				.module = "" });
		draft_read(draft, op, last == NONE ? tensor[count] : last);
		if (random_next(random) % 2)
			draft_read(draft, op, tensor[i - 1]);
		draft_write(draft, op, last = gradient);
	}
	struct error error = { 0 };
	struct graph *graph = graph_build(draft, &error);
	cr_assert_not_null(graph, "%s", error.text);
	return graph;
}

Test(strategies, the_partitioners_cut_saves_the_least_weight)
{
	struct rules *rules = test_rules();
	uint64_t random = test_seed();
	for (uint32_t round = 0; round < test_rounds(25, 1000); round++) {
		OWN(graph) *graph = small_joint(&random);
		HELD bool *forward = mem_alloc(graph->ops, sizeof *forward);
		struct joint joint;
		for (uint32_t op = 0; op < graph->ops; op++)
			forward[op] = graph->op[op].phase == PHASE_FORWARD;
		cr_assert_eq(joint_find(graph, forward, rules, &joint), OK);
		for (uint32_t bits = 0; bits < 8; bits++)
			compare_cut(&joint,
				&(struct joint_bans){ .not_generated = bits & 1,
					.reductions = bits & 2,
					.materialized = bits & 4,
					.far_apart = bits & 4,
					.long_chains = bits & 4 });
		joint_free(&joint);
	}
}

/* What a budget of the partitioner saves grows with it. */
Test(strategies, a_larger_budget_runs_less_again)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = fit_model("gpt", 4);
	int64_t before = INT64_MAX;
	for (int percent = 0; percent <= 100; percent += 25) {
		char text[40];
		snprintf(text, sizeof text, "recompute=knapsack:%d", percent);
		OWN(plan) *plan = plan_of_program(&planner, graph, text);
		cr_assert_leq(plan->transformed->fitted->extra, before, "%d %%", percent);
		before = plan->transformed->fitted->extra;
	}
}
