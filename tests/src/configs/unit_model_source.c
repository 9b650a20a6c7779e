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

/* The step of a wide vocabulary over two devices, planned: bytes of a device while its program runs, and the estimate. */
static int64_t loss_peak(const char *software, int64_t *estimated)
{
	const char *model = "llama3-8b:layers=2:hidden=128:heads=8:ffn=256:seq=128:vocab=32000:eager_loss=1";
	struct config config = { .dp = 1, .tp = 2, .pp = 1, .cp = 1, .ep = 1, .microbatch = 4, .microbatches = 1, .chunks = 1,
		.schedule = SCHEDULE_1F1B, .sp = true };
	struct scenario scenario, row;
	struct model_source source;
	struct error error = { 0 };
	scenario_init(&scenario);
	cr_assert(scenario_set(&scenario, software, &error) == OK && scenario_set(&scenario, "device=h100-80gb", &error) == OK &&
		scenario_set(&scenario, "devices=2", &error) == OK, "%s", error.text);
	cr_assert_eq(model_source_open(&source, model, NULL, &scenario), 0);
	*estimated = evaluated(&source, &scenario, &config).worst.transient;
	cr_assert_eq(model_source_scenario(&source, 4, &row), OK);
	config_knobs(&config, &row);
	OWN(graph) *graph = model_source_whole(&source, 4, &error);
	cr_assert_not_null(graph, "%s", error.text);
	OWN(planner) planner = { .store = store_new() };
	struct plan *plan = planner_run(&planner, graph, &row, PLAN_COMPLETE, &error);
	cr_assert_not_null(plan, "%s", error.text);
	int64_t peak = plan->ordered->program_peak;
	plan_release(plan);
	scenario_done(&row);
	model_source_close(&source);
	scenario_done(&scenario);
	return peak;
}

/* PyTorch's loss_parallel, which torchtitan runs, has one more copy of a device's logits in fp32. */
Test(model_source, a_loss_over_a_split_vocabulary_holds_one_copy_more)
{
	int64_t estimated[2], planned[2] = { loss_peak("software=given", &estimated[0]),
		loss_peak("software=torchtitan", &estimated[1]) }, copy = INT64_C(4) * 128 * 32000 / 2 * 4;
	cr_expect_eq(planned[1] - planned[0], copy, "%lld", (long long)(planned[1] - planned[0]));
	cr_expect_eq(estimated[1] - estimated[0], copy, "%lld", (long long)(estimated[1] - estimated[0]));
}

/* ---- what is left out ---- */

/* A search in which rows say what has to be listed. */
static struct config_list searched(const struct config_request *request, uint32_t rows)
{
	struct config_request asked = *request;
	struct config_list list;
	struct error error = { 0 };
	struct control control = { 0 };
	asked.rows = rows;
	enum status status = config_search(&asked, &control, &list, &error);
	cr_assert(status == OK || status == BAD_INPUT, "%s", error.text);
	return list;
}

/* Whether some fit and some don't. */
static bool lists_agree(const struct config_request *request, const char *words, uint64_t round)
{
	struct config_list whole = searched(request, UINT32_MAX), list = searched(request, 0);
	cr_assert_eq(whole.entries, whole.evaluated, "%s %llu", words, (unsigned long long)round);
	cr_assert_eq(list.evaluated, whole.evaluated, "%s %llu", words, (unsigned long long)round);
	cr_assert_eq(list.fitting, whole.fitting, "%s %llu", words, (unsigned long long)round);
	cr_assert_eq(list.leading, whole.leading);
	cr_assert(list.fitting > 0 || list.entries == whole.entries, "where nothing fits all are listed");
	FOR(i, list.fitting > 0 ? list.fitting : list.entries) {
		const struct config_entry *a = list.entry[i], *b = whole.entry[i];
		cr_assert(config_equal(&a->config, &b->config) && a->fits == b->fits && a->played == b->played, "%s %llu: row %u",
			words, (unsigned long long)round, i);
		cr_assert_eq(a->result.worst.total, b->result.worst.total);
		cr_assert_eq(a->result.time, b->result.time);
		cr_assert(a->front == b->front && a->leads == b->leads && a->variants == b->variants);
	}
	bool some = list.fitting > 0 && list.fitting < list.evaluated;
	config_list_free(&whole);
	config_list_free(&list);
	return some;
}

/* What states alone say doesn't fit isn't evaluated, and what doesn't fit isn't timed: all else is as if it were. */
Test(config_search, what_is_left_out_changes_nothing)
{
	static const char *const names[] = { "gpt:layers=5:heads=4" SMALL, "llama3-8b:layers=6:heads=8:ffn=512" SMALL,
		"moe:layers=4:experts=8:heads=4" SMALL, "deepseek-v3:layers=8" EXPERTS, "vit:layers=4:hidden=64:heads=4" };
	struct scenario scenario;
	struct model_source source;
	struct error error;
	uint64_t rounds = test_rounds(4, 200), random = test_seed(), some = 0;
	scenario_init(&scenario);
	cr_assert_eq(scenario_set(&scenario, "device=a100-80gb", &error), OK);
	for (uint64_t round = 0; round < rounds; round++) {
		const char *name = names[round % COUNT_OF(names)];
		struct config_request request = { .devices = UINT32_C(2) << random_next(&random) % 3, .devices_per_node = 4,
			.overheads = overheads_all, .zero = -1, .sp = -1, .recompute = -1, .schedule = -1 };
		cr_assert_eq(model_source_open(&source, name, NULL, &scenario), 0, "%s", name);
		model_source_request(&source, &request);
		request.overheads.context = (int64_t)(random_next(&random) % 8) << 20;
		request.overheads.communication = (int64_t)(random_next(&random) % 4) << 20;
		request.batch = (int64_t)request.devices << random_next(&random) % 3;
		request.machine.memory = ((INT64_C(40) + (int64_t)(random_next(&random) % 400)) << 20) / request.devices;
		request.even = random_next(&random) % 4 == 0;
		request.offload = random_next(&random) % 4 == 0 ? OFFLOADS - 1 : 0;
		request.overheads.small = random_next(&random) % 2;
		request.overheads.transient = random_next(&random) % 2;
		some += lists_agree(&request, name, round);
		model_source_close(&source);
	}
	cr_expect_gt(some, rounds / 5, "%llu of %llu", (unsigned long long)some, (unsigned long long)rounds);
	scenario_done(&scenario);
}
