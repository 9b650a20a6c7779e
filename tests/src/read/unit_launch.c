/* unit_launch.c: launchers' files come to the knobs that they mean; what isn't known is told, what is wrong has its line. */
#include <string.h>

#include "src/base/words.h"
#include "src/read/launch.h"
#include "tests/common/support.h"
#include "tests/fuzz/as_file.h"

struct read { int64_t devices; const char *text, *settings, *notes; };

/* All settings and all notes, "LINE: " before these, in one line each. */
static enum status take(const char *text, int64_t devices, char settings[2000], char notes[2000], struct error *error)
{
	char path[40];
	OWN(launch) launch;
	int descriptor = as_file(text, strlen(text), path);
	enum status status = launch_read(&launch, path, devices, error);
	struct words words[2] = { { settings, 2000, 0 }, { notes, 2000, 0 } };
	settings[0] = notes[0] = '\0';
	for (uint32_t i = 0; i < launch.lines; i++)
		if (launch.line[i].note)
			words_add(&words[1], "%u: %s\n", launch.line[i].said.line, launch.line[i].said.text);
		else
			words_add(&words[0], "%s%s", i ? " " : "", launch.line[i].said.text);
	close(descriptor);
	return status;
}

static void expect(const struct read *read)
{
	char settings[2000], notes[2000];
	struct error error = { 0 };
	cr_expect_eq(take(read->text, read->devices, settings, notes, &error), OK, "%s: %s", read->text, error.text);
	cr_expect_str_eq(settings + strspn(settings, " "), read->settings, "%s:\n%s\nexpected\n%s", read->text, settings, read->settings);
	cr_expect_str_eq(notes, read->notes, "%s: %s", read->text, notes);
}

#define ONE "devices=8 strategy=zero dp=8 tp=1 pp=1 cp=1 ep=1 "

Test(launch, torchtitan)
{
	static const struct read reads[] = {
		{ 8, "# a preset\n[model]\nname = \"llama3\"\nconverters = [\"float8\"]\n[training]\nlocal_batch_size = 1_0 # each\n"
			"seq_len = 8192\n[parallelism]\ndata_parallel_shard_degree = -1\nfsdp_reshard_after_forward = 'never'\n"
			"[activation_checkpoint]\nmode = \"selective\"\nselective_ac_option = \"op\"\n[compile]\nenable=false\n",
			ONE "zero=3 batch=80 microbatches=1 reshard_after_forward=off seq=8192 float8=on kernels=eager "
			"recompute=products software=torchtitan", "" },
		{ 16, "[training]\nlocal_batch_size = 8\n[parallelism]\ntensor_parallel_degree = 2\npipeline_parallel_degree = 2\n"
			"pipeline_parallel_schedule = \"Interleaved1F1B\"\npipeline_parallel_microbatch_size = 2\n"
			"data_parallel_replicate_degree = 2\nexpert_tensor_parallel_degree = 2\n[activation_checkpoint]\nmode = 'full'\n",
			"devices=16 strategy=megatron dp=4 tp=2 pp=2 cp=1 ep=1 zero=3 replicate=2 schedule=interleaved batch=32 "
			"microbatches=4 recompute=full software=torchtitan",
			"9: parallelism.expert_tensor_parallel_degree = 2: isn't known here\n" },
		{ 1, "[parallelism]\ndata_parallel_shard_degree = 4\nexpert_parallel_degree = 2\n[training]\ndtype = 'bfloat16'\n"
			"[activation_checkpoint]\nmode = \"memory_budget\"\nmemory_budget = 0.25\n",
			"devices=4 strategy=megatron dp=2 tp=1 pp=1 cp=1 ep=2 zero=3 precision=bf16 recompute=knapsack:25% "
			"software=torchtitan", "0: no number of devices: counted with 4; say devices=N before it\n" },
	};
	for (size_t i = 0; i < COUNT_OF(reads); i++)
		expect(&reads[i]);
}

Test(launch, deepspeed_and_accelerate)
{
	static const struct read reads[] = {
		{ 8, "{\"train_batch_size\": \"auto\", \"train_micro_batch_size_per_gpu\": 2, \"gradient_accumulation_steps\": 4,\n"
			"\t\"bf16\": {\"enabled\": true}, \"optimizer\": {\"type\": \"AdamW\", \"params\": {\"lr\": 1e-4}},\n"
			"\"zero_optimization\": {\"stage\": 2, \"offload_optimizer\": {\n\"device\": \"cpu\", \"pin_memory\": true}}}",
			ONE "zero=2 batch=64 microbatches=4 precision=mixed optimizer=adamw",
			"4: zero_optimization.offload_optimizer.device = cpu: search --offload optimizer counts it\n" },
		{ 1, "compute_environment: LOCAL_MACHINE\ndistributed_type: FSDP\nmixed_precision: bf16\nnum_machines: 2\n"
			"num_processes: 16\nfsdp_config:\n  fsdp_sharding_strategy: HYBRID_SHARD\n  fsdp_activation_checkpointing: true\n",
			"devices=16 devices_per_node=8 strategy=zero dp=16 tp=1 pp=1 cp=1 ep=1 zero=3 replicate=2 precision=mixed "
			"recompute=full", "" },
		{ 1, "{\"train_batch_size\": 24, \"train_micro_batch_size_per_gpu\": 3, \"autotuning\": {\"arg_mappings\":\n"
			"{\"train_micro_batch_size_per_gpu\": \"--per_device_train_batch_size\"}}}", "devices=1 strategy=none dp=1 tp=1 "
			"pp=1 cp=1 ep=1 zero=0 batch=24 microbatches=8 precision=fp32",
			"0: no number of devices: counted with 1; say devices=N before it\n" },
		{ 1, "distributed_type: 'DEEPSPEED'\nnum_processes: 8\ndeepspeed_config:\n  zero_stage: 1\n"
			"  deepspeed_config_file: ds.json\n", ONE "zero=1",
			"5: deepspeed_config.deepspeed_config_file = ds.json: give that file, too\n" },
		{ 1, "distributed_type: FSDP\nnum_processes: 8\nfsdp_config: {fsdp_version: 2, fsdp_reshard_after_forward: false}\n"
			"parallelism_config:\n  parallelism_config_tp_size: 2\n  parallelism_config_dp_shard_size: 4\n",
			"devices=8 strategy=megatron dp=4 tp=2 pp=1 cp=1 ep=1 sp=off zero=3 reshard_after_forward=off", "" },
	};
	for (size_t i = 0; i < COUNT_OF(reads); i++)
		expect(&reads[i]);
}

Test(launch, megatron_and_nemo)
{
	static const struct read reads[] = {
		{ 1, "#!/bin/bash\nGPUS=8\nNODES=${NODES:-\"2\"}\nTP=4\nARGS=(\n --tensor-model-parallel-size $TP\n"
			" --pipeline-model-parallel-size ${PP:-2} # two\n --sequence-parallel\n \"--micro-batch-size 2\"\n"
			" --global-batch-size=32 --bf16 --use-distributed-optimizer\n --recompute-granularity full --recompute-num-layers 2 --recompute-method uniform\n)\n"
			"torchrun --nproc_per_node $GPUS --nnodes $NODES pretrain.py ${ARGS[@]} --hidden-size 4096\n",
			"devices=16 devices_per_node=8 strategy=megatron dp=2 tp=4 pp=2 cp=1 ep=1 sp=on zero=1 batch=32 microbatches=8 "
			"precision=mixed recompute=layers:2 software=megatron-lm",
			"13: hidden_size = 4096: the model is the one that you name\n" },
		{ 4, "while [[ $# ]]; do case $1 in\n --tensor-model-parallel-size)\n TP=$2;; esac; done\nTP=4\n"
			"torchrun --nproc_per_node $TP --tensor-model-parallel-size $TP --fp16\n",
			"devices=4 devices_per_node=4 strategy=megatron dp=1 tp=4 pp=1 cp=1 ep=1 sp=off zero=0 precision=mixed "
			"software=megatron-lm", "2: tensor_model_parallel_size = true: its value isn't in the file\n" },
		{ 8, "[\"--tensor-model-parallel-size\", \"2\", \"--fp16\", \"--use-megatron-fsdp\", \"--data-parallel-sharding-strategy\","
			" \"optim_grads\", \"--recompute-activations\", \"--recompute-modules\", \"mlp\", \"layernorm\"]",
			"devices=8 strategy=megatron dp=4 tp=2 pp=1 cp=1 ep=1 sp=off zero=2 precision=mixed recompute=ops:mlp+layernorm "
			"software=megatron-lm", "" },
		{ 32, "MODEL_ARGS:\n  --num-layers: 24\n  --pipeline-model-parallel-size: 4\n  --num-layers-per-virtual-pipeline-stage: 3\n"
			"  --micro-batch-size: $MBS\n  --fp8-format: hybrid\n",
			"devices=32 strategy=data dp=8 tp=1 pp=4 cp=1 ep=1 zero=0 chunks=2 schedule=interleaved precision=fp32 float8=on "
			"software=megatron-lm", "5: MODEL_ARGS.micro_batch_size = $MBS: its value isn't in the file\n" },
		{ 8, "model:\n  tensor_model_parallel_size: 2\n  teacher:\n    tensor_model_parallel_size: 8\n  recompute_modules:\n"
			"  - moe_act\n  - layernorm\n  recompute_granularity: selective\ntrain:\n  global_batch_size: 8\n"
			"mixed_precision: bf16_with_fp8_current_scaling_mixed\n",
			"devices=8 strategy=megatron dp=4 tp=2 pp=1 cp=1 ep=1 sp=off zero=0 batch=8 precision=mixed float8=on "
			"recompute=ops:moe_act+layernorm software=megatron-bridge", "" },
	};
	for (size_t i = 0; i < COUNT_OF(reads); i++)
		expect(&reads[i]);
}

Test(launch, files_of_knobs)
{
	expect(&(struct read){ 1, "# knobs -- of mine\ndp=4 # four\n\n  zero = 3\t\nfsdp", "dp=4 zero = 3 fsdp", "" });
}

Test(launch, what_is_wrong_has_its_line)
{
	static const struct { const char *text; unsigned line; const char *what; } bad[] = {
		{ "{\"train_batch_size\": \"lots\"}", 1, "expected a number" },
		{ "{\"train_batch_size\": 8,\n\"zero_optimization\": {\"stage\": 2}", 3, "" },
		{ "[training]\nlocal_batch_size = 99999999999\n", 2, "expected a number" },
		{ "[training]\nlocal_batch_size = [1,\n", 3, "" },
		{ "[training]\nlocal_batch_size\n", 0, "no key" },
		{ "distributed_type: FSDP\n\tnum_processes: 8\n", 2, "" },
		{ "distributed_type: FSDP\nnum_processes: eight\n", 2, "expected a number" },
		{ "a: &x {b: *x}\nc: 1\n", 1, "levels" },
		{ "name: a\nversion: 2\n", 0, "no key of it is known" },
		{ "--tensor-model-parallel-size\n two --fp16", 1, "expected a number" },
		{ "TP=\"two\"\n--tensor-model-parallel-size $TP --fp16", 2, "expected a number" },
		{ "--tensor-model-parallel-size 16777216 --pipeline-model-parallel-size 16777216", 0, "2^20" },
		{ "distributed_type: FSDP\nnum_processes: 6\nparallelism_config: {parallelism_config_tp_size: 4}", 0, "6 devices can't" },
		{ "--micro-batch-size 3 --global-batch-size 8 --world-size 1", 0, "can't be microbatches of 3" },
	};
	char settings[2000], notes[2000];
	for (size_t i = 0; i < COUNT_OF(bad); i++) {
		struct error error = { 0 };
		cr_expect_eq(take(bad[i].text, 1, settings, notes, &error), BAD_INPUT, "%s", bad[i].text);
		cr_expect_eq(error.line, bad[i].line, "%s: %u: %s", bad[i].text, error.line, error.text);
		cr_expect(error.text[0] && strstr(error.text, bad[i].what), "%s: %s", bad[i].text, error.text);
	}
}
