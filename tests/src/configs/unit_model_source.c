/* unit_model_source.c: searches build few of a model's equal layers: costs are those of all of them. */
#include "src/configs/config_search.h"
#include "src/configs/model_source.h"
#include "src/scenario/own_device.h"
#include "tests/common/support.h"

static struct config_result evaluated(
	struct model_source *source, const struct scenario *scenario, const struct config *config)
{
	struct config_request request = { .devices = 16,
		.devices_per_node = 8,
		.overheads = overheads_all,
		.zero = -1,
		.sp = -1,
		.recompute = -1,
		.schedule = -1 };
	struct config_result result;
	struct error error = { 0 };
	model_source_request(source, &request);
	request.machine = scenario->machine;
	request.machine.memory = -1;
	request.batch = (int64_t)config->microbatch * config->ep * config->dp * config->microbatches;
	struct config_case *opened = config_case_open(&request, config, &error);
	cr_assert_not_null(opened, "%s", error.text);
	cr_assert_eq(config_case_evaluate(opened, &request.machine, &request.overheads, &result), OK);
	config_case_free(opened);
	return result;
}

static void agree(const char *name, const struct config *config)
{
	struct scenario scenario;
	struct model_source few;
	struct error error;
	scenario_init(&scenario);
	cr_assert_eq(scenario_set(&scenario, "device=h100-80gb", &error), OK);
	cr_assert_eq(scenario_set(&scenario, "recompute=ops:mla_up_proj+moe_act+mlp", &error),
		OK);    /* where the configuration says ops */
	cr_assert_eq(model_source_open(&few, name, NULL, &scenario), 0, "%s", name);
	cr_assert_gt(few.repeat, 0, "%s", name);
	struct config_result short_one = evaluated(&few, &scenario, config);
	few.config = few.asked;
	few.repeat = 0;
	struct config_result whole = evaluated(&few, &scenario, config);
	char words[200];
	config_text(config, words, sizeof words);
	cr_expect_eq(short_one.time, whole.time, "%s, %s: %lld ps, of all layers %lld", name, words,
		(long long)short_one.time, (long long)whole.time);
	cr_expect_eq(short_one.worst.total, whole.worst.total, "%s, %s: %lld bytes, of all layers %lld", name, words,
		(long long)short_one.worst.total, (long long)whole.worst.total);
	cr_expect_eq(short_one.link, whole.link, "%s, %s", name, words);
	model_source_close(&few);
	scenario_done(&scenario);
}

#define SMALL ":hidden=256:seq=64:vocab=1000"
#define EXPERTS SMALL ":heads=4:ffn=512:experts=8:top_k=2:expert_ffn=128"

/* Models whose first layers differ from the others, one to five of them, too. */
Test(model_source, few_layers_cost_what_all_of_them_do)
{
	static const char *const dense[] = { "gpt:layers=9:heads=4" SMALL, "llama3-8b:layers=9:heads=8:ffn=512" SMALL };
	static const char *const mixtures[] = { "moe:layers=9:experts=8:heads=4" SMALL,
		"deepseek-v2-lite:layers=12" EXPERTS, "deepseek-v3:layers=14" EXPERTS,
		"deepseek-v3:layers=14:dense_layers=2" EXPERTS, "deepseek-v3:layers=17:dense_layers=5" EXPERTS,
		"deepseek-v3:layers=11:dense_layers=0:mtp_layers=0" EXPERTS };
	static const enum recompute modes[] = { RECOMPUTE_NONE, RECOMPUTE_FULL, RECOMPUTE_PRODUCTS, RECOMPUTE_OPS };
	for (size_t mode = 0; mode < sizeof modes / sizeof *modes; mode++) {
		struct config config = { .dp = 2,
			.tp = 2,
			.pp = 4,
			.cp = 1,
			.ep = 1,
			.microbatch = 1,
			.microbatches = 8,
			.chunks = 1,
			.schedule = SCHEDULE_1F1B,
			.zero = 1,
			.recompute = (uint8_t)modes[mode] };
		for (size_t i = 0; i < sizeof dense / sizeof *dense; i++)
			agree(dense[i], &config);
		config.tp = 1;
		config.ep = 2;
		for (size_t i = 0; i < sizeof mixtures / sizeof *mixtures; i++)
			agree(mixtures[i], &config);
	}
}

/* What the software decides is in the line that plans a row: its loss, and kernels by themselves. */
Test(model_source, the_software_decides_the_loss_and_rows_say_their_kernels)
{
	struct scenario scenario, row;
	struct model_source source;
	struct error error;
	char text[1000], set[400];
	scenario_init(&scenario);
	cr_assert_eq(scenario_set(&scenario, "software=torchtitan", &error), OK);
	cr_assert_eq(model_source_open(&source, "llama3-8b:fused=0", NULL, &scenario), 0);
	cr_assert_eq(model_source_scenario(&source, 8, &row), OK);
	model_source_line(&source, 8, config_set_text(&row, set, sizeof set), text, sizeof text);
	cr_expect_str_eq(text,
		"tidemark model llama3-8b --batch 8 --kernels eager --loss eager | tidemark plan - --set software=torchtitan "
		"--set kernels=eager");
	cr_expect_str_eq(row.device.eager_kernels ? "eager" : "compiled", "eager");
	scenario_done(&row);
	model_source_close(&source);
	cr_assert_eq(model_source_open(&source, "llama3-8b:eager_loss=0", NULL, &scenario), 0);
	cr_expect_not(source.asked.eager_loss, "what is said goes before what the software does");
	model_source_close(&source);
	cr_assert_eq(model_source_open(&source, "gpt", NULL, &scenario), 0);
	cr_expect_not(source.asked.eager_loss, "it has no other loss");
	model_source_close(&source);
	scenario_done(&scenario);
}
