"""Keys of launchers' files: the same rows read and write them, launch.py has how. Columns, behind tabs:
key       as it ends in the file, its parts with dots between them, - as _; what one launcher writes stands together by sections
of        whose file it is: torchtitan, deepspeed, accelerate, megatron, nemo (Megatron-LM's, too), any
slot      what it says; note: nothing that is planned, but what to tell where it isn't off
writes    who writes it, - for nobody
values    "theirs=ours ..."; ~theirs is a part of the value, and others say nothing. NUMBER: one above 0; TEXT: as it is
"""
ROWS = """\
training.local_batch_size	torchtitan	local	torchtitan	NUMBER
training.batch_size	torchtitan	local	-	NUMBER
training.global_batch_size	torchtitan	batch	torchtitan	NUMBER
training.seq_len	torchtitan	seq	torchtitan	NUMBER
training.dtype	torchtitan	dtype	torchtitan	~bfloat16=bf16
training.mixed_precision_param	torchtitan	precision	torchtitan	bfloat16=mixed float32=fp32
training.mixed_precision_reduce	torchtitan	reduce_dtype	-	~bfloat16=param
parallelism.data_parallel_replicate_degree	torchtitan	replicate	torchtitan	NUMBER
parallelism.data_parallel_shard_degree	torchtitan	shard	torchtitan	NUMBER
parallelism.fsdp_reshard_after_forward	torchtitan	reshard_after_forward	torchtitan	never=off ~always=on
parallelism.tensor_parallel_degree	torchtitan	tp	torchtitan	NUMBER
parallelism.enable_async_tensor_parallel	torchtitan	note	-	search --overhead updated=75% counts it
parallelism.context_parallel_degree	torchtitan	cp	torchtitan	NUMBER
parallelism.expert_parallel_degree	torchtitan	ep	torchtitan	NUMBER
parallelism.pipeline_parallel_degree	torchtitan	pp	torchtitan	NUMBER
parallelism.pipeline_parallel_schedule	torchtitan	schedule	torchtitan	1F1B=1f1b GPipe=gpipe Interleaved1F1B=interleaved ZBVZeroBubble=zbv DualPipeV=dualpipev
parallelism.pipeline_parallel_layers_per_stage	torchtitan	note	-	set chunks
parallelism.pipeline_parallel_microbatch_size	torchtitan	piece	torchtitan	NUMBER
activation_checkpoint.mode	torchtitan	recompute	torchtitan	none=none full=full selective=selective memory_budget=knapsack
activation_checkpoint.selective_ac_option	torchtitan	what	torchtitan	TEXT
activation_checkpoint.memory_budget	torchtitan	share	torchtitan	TEXT
model.converters	torchtitan	float8	torchtitan	~float8=on
optimizer.name	torchtitan	optimizer	torchtitan	AdamW=adamw Adam=adam
optimizer.early_step_in_backward	torchtitan	note	-	updates are planned behind the backward pass
compile.enable	torchtitan	kernels	torchtitan	true=compiled false=eager
training.compile	torchtitan	kernels	-	true=compiled false=eager
train_batch_size	deepspeed	batch	deepspeed	NUMBER
train_micro_batch_size_per_gpu	deepspeed	micro	deepspeed	NUMBER
gradient_accumulation_steps	any	accumulation	deepspeed	NUMBER
zero_optimization.stage	deepspeed	zero	deepspeed	NUMBER
zero_optimization.mics_shard_size	deepspeed	shard	deepspeed	NUMBER
zero_optimization.offload_optimizer.device	deepspeed	note	-	search --offload optimizer counts it
zero_optimization.offload_param.device	deepspeed	note	-	parameters stay on devices here
zero_optimization.zero_hpz_partition_size	deepspeed	note	-	second copies aren't counted
tensor_parallel.autotp_size	deepspeed	tp	deepspeed	NUMBER
communication_data_type	deepspeed	reduce_dtype	deepspeed	fp16=param bf16=param bfp16=param
bf16.enabled	deepspeed	precision	deepspeed	~true=mixed
bf16.bf16_master_weights_and_grads	deepspeed	dtype	deepspeed	~true=bf16
bfloat16.enabled	deepspeed	precision	-	~true=mixed
fp16.enabled	deepspeed	precision	-	~true=mixed
fp16.fp16_master_weights_and_grads	deepspeed	dtype	-	~true=fp16
optimizer.type	deepspeed	optimizer	deepspeed	AdamW=adamw Adam=adam SGD=sgd Adagrad=adagrad ~adam=adam
compute_environment	accelerate	note	-	-
distributed_type	accelerate	kind	accelerate	FSDP=fsdp MULTI_GPU=ddp NO=ddp DEEPSPEED=deepspeed ~=any
num_machines	accelerate	nodes	accelerate	NUMBER
num_processes	accelerate	devices	accelerate	NUMBER
mixed_precision	any	precision	accelerate	~bf16=mixed ~fp16=mixed ~16=mixed ~fp8=mixed
mixed_precision	any	float8	-	~fp8=on
fsdp_config.fsdp_version	accelerate	version	accelerate	NUMBER
fsdp_config.fsdp_sharding_strategy	accelerate	zero	accelerate	FULL_SHARD=3 SHARD_GRAD_OP=2 NO_SHARD=0 HYBRID_SHARD=3 HYBRID_SHARD_ZERO2=2 1=3 2=2 3=0 4=3 5=2
fsdp_config.fsdp_sharding_strategy	accelerate	shard	-	~HYBRID=node ~4=node ~5=node
fsdp_config.fsdp_reshard_after_forward	accelerate	reshard_after_forward	accelerate	true=on false=off ~=on
fsdp_config.fsdp_activation_checkpointing	accelerate	recompute	accelerate	~true=full
deepspeed_config.zero_stage	accelerate	zero	-	NUMBER
deepspeed_config_file	accelerate	note	-	give that file, too
megatron_lm_tp_degree	accelerate	tp	-	NUMBER
megatron_lm_pp_degree	accelerate	pp	-	NUMBER
megatron_lm_num_micro_batches	accelerate	accumulation	-	NUMBER
megatron_lm_sequence_parallelism	accelerate	sp	-	~true=on
megatron_lm_recompute_activations	accelerate	recompute	-	~true=selective
megatron_lm_use_distributed_optimizer	accelerate	zero	-	~true=1
parallelism_config.parallelism_config_dp_replicate_size	accelerate	replicate	accelerate	NUMBER
parallelism_config.parallelism_config_dp_shard_size	accelerate	shard	accelerate	NUMBER
parallelism_config.parallelism_config_tp_size	accelerate	tp	accelerate	NUMBER
parallelism_config.parallelism_config_cp_size	accelerate	cp	accelerate	NUMBER
dynamo_config.dynamo_backend	accelerate	kernels	accelerate	INDUCTOR=compiled ~no=eager
tensor_model_parallel_size	nemo	tp	megatron	NUMBER
pipeline_model_parallel_size	nemo	pp	megatron	NUMBER
num_virtual_stages_per_pipeline_rank	nemo	chunks	megatron	NUMBER
virtual_pipeline_model_parallel_size	nemo	chunks	-	NUMBER
num_layers_per_virtual_pipeline_stage	nemo	chunk_layers	-	NUMBER
pipeline_model_parallel_layout	nemo	note	-	ranks are cut as evenly as they can be
num_layers	nemo	layers	-	NUMBER
context_parallel_size	nemo	cp	megatron	NUMBER
expert_model_parallel_size	nemo	ep	megatron	NUMBER
sequence_parallel	nemo	sp	megatron	~true=on
tp_comm_overlap	nemo	note	-	search --overhead updated=75% counts it
use_distributed_optimizer	nemo	zero	megatron	~true=1
use_megatron_fsdp	nemo	zero	megatron	~true=4
use_custom_fsdp	nemo	zero	-	~true=4
use_torch_fsdp2	nemo	zero	-	~true=3
data_parallel_sharding_strategy	nemo	kind	megatron	no_shard=0 optim=1 optim_grads=2 optim_grads_params=3
num_distributed_optimizer_instances	nemo	replicate	megatron	NUMBER
micro_batch_size	nemo	micro	megatron	NUMBER
global_batch_size	nemo	batch	megatron	NUMBER
per_device_train_batch_size	any	micro	-	NUMBER
seq_length	nemo	seq	megatron	NUMBER
encoder_seq_length	nemo	seq	-	NUMBER
sequence_length	nemo	seq	-	NUMBER
bf16	any	precision	megatron	~true=mixed
fp16	any	precision	-	~true=mixed
precision	nemo	precision	-	~bf16=mixed ~16=mixed 32=fp32
precision	nemo	float8	-	~fp8=on
fp8_format	nemo	float8	megatron	hybrid=on e4m3=on
fp8	nemo	float8	-	~hybrid=on ~e4m3=on
grad_reduce_in_bf16	nemo	reduce_dtype	megatron	~true=param
grad_reduce_in_fp32	nemo	reduce_dtype	-	~false=param
optimizer	nemo	optimizer	megatron	adam=adamw adam=adam sgd=sgd ~adam=adamw
optim.name	nemo	optimizer	-	sgd=sgd ~adam=adamw
exp_avg_dtype	nemo	moments	megatron	bf16=bf16 fp32=given
use_precision_aware_optimizer	nemo	version	megatron	~true=2
recompute_granularity	nemo	recompute	megatron	full=full selective=selective
activations_checkpoint_granularity	nemo	recompute	-	full=full selective=selective
recompute_activations	nemo	recompute	-	~true=selective
gradient_checkpointing	any	recompute	-	~true=full
recompute_method	nemo	method	megatron	uniform=uniform
recompute_num_layers	nemo	every	megatron	NUMBER
recompute_modules	nemo	what	megatron	TEXT
nproc_per_node	nemo	per_node	-	NUMBER
trainer.devices	nemo	per_node	-	NUMBER
trainer.num_nodes	nemo	nodes	-	NUMBER
nnodes	nemo	nodes	-	NUMBER
world_size	nemo	devices	-	NUMBER
model.flavor	torchtitan	note	-	the model is the one that you name
hidden_size	nemo	note	-	the model is the one that you name
"""
