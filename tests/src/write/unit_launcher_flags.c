/* unit_launcher_flags.c: flags say what a plan's placements are, or there are none. */
#include <string.h>

#include "src/models/models.h"
#include "src/scenario/shard_mesh.h"
#include "src/write/plan_json.h"
#include "tests/common/model_steps.h"
#include "tests/common/support.h"

struct setting { struct graph *graph; struct rules *rules; struct units units; struct scenario scenario; };

static void open_setting(struct setting *setting, const char *name)
{
	struct model_config config = model_find(name)->config;
	config.layers = config.depth ? config.layers : 1;
	config.batch = 64;
	setting->graph = step_of_config(name, config, (struct model_training){ .optimizer = OPTIMIZER_ADAM });
	setting->rules = rules_new();
	cr_assert_eq(units_find(setting->graph, setting->rules, &setting->units), OK);
	scenario_init(&setting->scenario);
	setting->scenario.value[K_batch] = 64;
}

static void close_setting(struct setting *setting)
{
	scenario_done(&setting->scenario);
	units_free(&setting->units);
	rules_free(setting->rules);
	graph_release(setting->graph);
}

/* The flags of an expert's sharding over degrees, a parameter cut elsewhere where `moved` says so. */
static void find(struct setting *setting, struct degrees degrees, uint8_t zero, bool moved,
	struct launcher_flags flags[LAUNCHER_COUNT])
{
	struct mesh mesh;
	struct axis_roles roles[MESH_AXES];
	OWN(sharding) sharding;
	setting->scenario.value[K_zero] = zero;
	mesh_of_degrees(&setting->scenario, &degrees, &mesh, roles);
	setting->scenario.value[K_zero] = 0;   /* knobs don't decide */
	cr_assert_eq(split_by_roles(&setting->units, &mesh, roles, &sharding), OK);
	for (uint32_t i = 0; i < setting->units.kepts && moved; i++)
		if (setting->graph->tensor[setting->units.kept[i]].kind == KIND_PARAMETER)
			sharding.produced[setting->units.kept[i]].on[0] = 0;
	launcher_flags_find(&setting->units, &sharding, &setting->scenario, flags);
}

static void expect(const struct launcher_flags *flags, bool possible, const char *part)
{
	cr_expect_eq(flags->possible, possible, "%s", flags->text);
	cr_expect(!possible || strstr(flags->text, part), "%s: %s expected", flags->text, part);
}

Test(launcher_flags, placements_decide_and_not_knobs)
{
	struct setting setting;
	struct launcher_flags flags[LAUNCHER_COUNT];
	open_setting(&setting, "gpt");
	setting.scenario.value[K_microbatches] = 4;
	setting.scenario.value[K_pp] = 2;
	find(&setting, (struct degrees) { 4, 2, 1, 1, 2 }, 1, false, flags);
	cr_expect_str_eq(flags[LAUNCHER_MEGATRON].text,
		"--tensor-model-parallel-size 2 --pipeline-model-parallel-size 2 --sequence-parallel "
		"--use-distributed-optimizer --global-batch-size 64 --micro-batch-size 4");
	expect(&flags[LAUNCHER_DEEPSPEED], false, NULL);
	expect(&flags[LAUNCHER_FSDP], false, NULL);
	setting.scenario.value[K_pp] = KNOB_GIVEN;
	static const struct { const char *megatron, *deepspeed, *fsdp; } stage[] = {
		{ "--global-batch-size", "\"stage\": 0", "NO_SHARD" }, { "--use-distributed-optimizer", "\"stage\": 1", NULL },
		{ "optim_grads ", "\"stage\": 2", "SHARD_GRAD_OP" }, { "optim_grads_params", "\"stage\": 3", "FULL_SHARD" } };
	for (uint8_t zero = 0; zero <= 3; zero++) {
		find(&setting, (struct degrees) { 8, 1, 1, 1, 1 }, zero, false, flags);
		expect(&flags[LAUNCHER_MEGATRON], true, stage[zero].megatron);
		expect(&flags[LAUNCHER_DEEPSPEED], true, stage[zero].deepspeed);
		expect(&flags[LAUNCHER_FSDP], zero != 1, stage[zero].fsdp);
	}
	setting.scenario.value[K_sp] = 0;
	find(&setting, (struct degrees) { 4, 2, 1, 1, 1 }, 0, false, flags);
	cr_expect_str_eq(flags[LAUNCHER_DEEPSPEED].text,
		"{\"zero_optimization\": {\"stage\": 0}, \"gradient_accumulation_steps\": 4, "
		"\"train_micro_batch_size_per_gpu\": 4, \"tensor_parallel\": {\"autotp_size\": 2}}");
	cr_expect_null(strstr(flags[LAUNCHER_MEGATRON].text, "--sequence-parallel"));
	close_setting(&setting);
}

Test(launcher_flags, what_no_flags_say_has_none)
{
	struct setting setting;
	struct launcher_flags flags[LAUNCHER_COUNT];
	open_setting(&setting, "gpt");    /* 12 heads */
	find(&setting, (struct degrees) { 1, 8, 1, 1, 1 }, 0, false, flags);
	expect(&flags[LAUNCHER_MEGATRON], false, NULL);
	find(&setting, (struct degrees) { 8, 1, 1, 1, 1 }, 0, true, flags);
	for (int i = 0; i < LAUNCHER_COUNT; i++)
		expect(&flags[i], false, NULL);
	close_setting(&setting);
	open_setting(&setting, "gpt");    /* no experts: ep is data parallelism */
	find(&setting, (struct degrees) { 4, 1, 1, 2, 1 }, 0, false, flags);
	cr_expect_null(strstr(flags[LAUNCHER_MEGATRON].text, "expert"), "%s", flags[LAUNCHER_MEGATRON].text);
	expect(&flags[LAUNCHER_MEGATRON], true, "--micro-batch-size 8");
	expect(&flags[LAUNCHER_FSDP], true, "(8,)");
	find(&setting, (struct degrees) { 4, 1, 1, 2, 1 }, 3, false, flags);
	for (int i = 0; i < LAUNCHER_COUNT; i++)
		expect(&flags[i], false, NULL);
	close_setting(&setting);
	open_setting(&setting, "resnet18");
	find(&setting, (struct degrees) { 2, 1, 4, 1, 1 }, 0, false, flags);
	for (int i = 0; i < LAUNCHER_COUNT; i++)
		expect(&flags[i], false, NULL);
	find(&setting, (struct degrees) { 8, 1, 1, 1, 1 }, 0, false, flags);
	expect(&flags[LAUNCHER_FSDP], true, "NO_SHARD");
	close_setting(&setting);
}
