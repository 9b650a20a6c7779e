/* launcher_flags.c: the flags that ask a launcher for a plan's sharding. */

#include "plan_json.h"
#include "src/scenario/shard_mesh.h"

#define X(id, name) name,
const char *const launcher_names[LAUNCHER_COUNT] = { LAUNCHERS(X) };
#undef X

/* What a launcher's flags can ask for: an expert's sharding. */
struct asked { uint32_t dp, tp, cp, ep; int64_t pp, microbatches; uint8_t zero; bool sequence; uint32_t copies; };

static uint32_t launcher_flags_degree(const struct mesh *mesh, const char *name)
{
	FOR(a, mesh->axes)
		if (strcmp(mesh->axis[a].name, name) == 0)
			return mesh->axis[a].size;
	return 1;
}

static int64_t at_least_one(int64_t value)
{
	return value > 1 ? value : 1;
}

static void roles_asked(const struct mesh *mesh, const struct asked *asked, struct axis_roles roles[MESH_AXES])
{
	FOR(a, mesh->axes) {
		const char *name = mesh->axis[a].name;
		roles[a] = strcmp(name, "ep") == 0 ? roles_experts
			: strcmp(name, "cp") == 0      ? roles_context
			: strcmp(name, "tp") != 0      ? roles_data
			: asked->sequence ? roles_tensor_sp
			: roles_tensor;
		if (strcmp(name, "dp") == 0 || strcmp(name, "cp") == 0 || strcmp(name, "ep") == 0)
			roles[a].zero = asked->zero;
	}
}

static int64_t launcher_flags_result_bytes(const struct graph *graph, uint32_t op)
{
	int64_t most = 0;
	FOR_ITEMS(written, &graph->writes, op)
		most = graph->tensor[written].bytes > most ? graph->tensor[written].bytes : most;
	return graph->op[op].phase == PHASE_UPDATE ? 0 : most;
}

/* Two shardings place all parameters and states alike, and split all ops alike but for those that make little. */
static bool launcher_flags_alike(const struct units *units, const struct sharding *a, const struct sharding *b)
{
	const struct graph *graph = units->graph;
	int64_t most = 0;
	FOR(op, graph->ops)
		most = launcher_flags_result_bytes(graph, op) > most ? launcher_flags_result_bytes(graph, op) : most;
	FOR(i, units->kepts) {
		uint32_t t = units->kept[i];
		bool state = graph->tensor[t].kind == KIND_PARAMETER || graph->tensor[t].kind == KIND_OPTIMIZER;
		if (state && !placement_equal(a->produced[t], b->produced[t]))
			return false;
	}
	FOR(op, graph->ops)
		if (launcher_flags_result_bytes(graph, op) > most / 1000 && !split_equal(a->split[op], b->split[op]))
			return false;
	return true;
}

/* When gradients are reduced tells ZeRO stage 1 from 2: they place all alike. */
static bool launcher_flags_same_time(const struct sharding *sharding, const struct asked *asked)
{
	bool late = sharding->late_axes || (!sharding->each_axes && asked->microbatches > 1);
	return asked->zero == 1 ? late : asked->zero != 2 || !late;
}

/* The expert's sharding that a plan's is; false where it is none. */
static bool launcher_flags_find_asked(
	const struct units *units, const struct sharding *sharding, const struct scenario *scenario, struct asked *asked)
{
	const struct mesh *mesh = &sharding->mesh;
	*asked = (struct asked){ launcher_flags_degree(mesh, "dp"), launcher_flags_degree(mesh, "tp"),
		launcher_flags_degree(mesh, "cp"), launcher_flags_degree(mesh, "ep"), at_least_one(scenario->value[K_pp]),
		at_least_one(scenario->value[K_microbatches]), 0, false, launcher_flags_degree(mesh, MESH_REPLICATE) };
	for (uint8_t zero = 0; zero <= (asked->dp * asked->cp > 1 ? 3 : 0); zero++)
		for (int sequence = asked->tp > 1; sequence >= 0; sequence--) {
			struct axis_roles roles[MESH_AXES];
			struct sharding expert;
			asked->zero = zero;
			asked->sequence = sequence;
			roles_asked(mesh, asked, roles);
			if (!launcher_flags_same_time(sharding, asked) || split_by_roles(units, mesh, roles, &expert) != OK)
				continue;
			bool same = launcher_flags_alike(units, sharding, &expert);
			sharding_free(&expert);
			if (same)
				return true;
		}
	return false;
}

/* Whether all axes have something of their own to split, as launchers want it. Without experts a split of the batch is
 * data parallelism, whatever the axis is called; but launchers cut states over all devices of that. */
static bool all_split(const struct units *units, struct asked *asked)
{
	if (asked->cp > 1 && least_extent(units, ROLE_SEQUENCE) == 0)
		return false;
	if (asked->tp > 1 &&
		least_extent(units, ROLE_HEADS) + least_extent(units, ROLE_FFN) + least_extent(units, ROLE_VOCABULARY) == 0)
		return false;
	if (asked->ep > 1 && least_extent(units, ROLE_EXPERTS) == 0) {
		if (asked->zero > 0)
			return false;
		asked->dp *= asked->ep;
		asked->ep = 1;
	}
	return true;
}

/* ZeRO stages as Megatron's own FSDP has them. */
static const char *const megatron_zero[] = { "", " --use-distributed-optimizer",
	" --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads",
	" --use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params" };

static bool say_megatron(
	struct words *words, const struct units *units, const struct asked *asked, const struct scenario *scenario)
{
	const int64_t *value = scenario->value;
	int64_t heads = least_extent(units, ROLE_HEADS);
	/* Transformers alone, heads in equal numbers, sequences in twice as many equal pieces as ranks. */
	if (asked->copies > 1 || heads == 0 || heads % asked->tp != 0 ||
		(asked->cp > 1 && least_extent(units, ROLE_SEQUENCE) % (2 * asked->cp) != 0))
		return false;
	words_add(
		words, "--tensor-model-parallel-size %u --pipeline-model-parallel-size %lld", asked->tp, (long long)asked->pp);
	if (asked->cp > 1)
		words_add(words, " --context-parallel-size %u", asked->cp);
	if (asked->ep > 1)
		words_add(words, " --expert-model-parallel-size %u", asked->ep);
	words_add(words, "%s%s", asked->sequence ? " --sequence-parallel" : "", megatron_zero[asked->zero]);
	if (value[K_batch] > 0)
		words_add(words, " --global-batch-size %lld", (long long)value[K_batch]);
	if (value[K_batch] > 0 && value[K_batch] % (asked->microbatches * asked->dp * asked->ep) == 0)
		words_add(words, " --micro-batch-size %lld",
			(long long)(value[K_batch] / (asked->microbatches * asked->dp * asked->ep)));
	char word[16] = "none";
	knob_text(K_recompute, value[K_recompute], word, sizeof word);
	if (strcmp(word, "full") == 0)
		words_add(words, " --recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
	else if (strcmp(word, "selective") == 0)
		words_add(words, " --recompute-granularity selective");
	knob_text(K_precision, value[K_precision], word, sizeof word);
	if (strcmp(word, "bf16") == 0 || strcmp(word, "mixed") == 0)
		words_add(words, " --bf16");
	else if (strcmp(word, "fp16") == 0)
		words_add(words, " --fp16");
	return true;
}

static bool say_deepspeed(
	struct words *words, const struct units *units, const struct asked *asked, const struct scenario *scenario)
{
	const int64_t *value = scenario->value;
	int64_t heads = least_extent(units, ROLE_HEADS);
	char word[16];
	/* Its pipeline is in a model's code; its tensor parallelism leaves sequences whole, and cuts heads into equal
	 * numbers. */
	if (asked->copies > 1 || asked->pp > 1 || asked->cp > 1 || asked->ep > 1 ||
		(asked->tp > 1 && (asked->sequence || heads % asked->tp != 0)))
		return false;
	words_add(words, "{\"zero_optimization\": {\"stage\": %u}, \"gradient_accumulation_steps\": %lld", asked->zero,
		(long long)asked->microbatches);
	if (value[K_batch] > 0 && value[K_batch] % (asked->microbatches * asked->dp) == 0)
		words_add(words, ", \"train_micro_batch_size_per_gpu\": %lld",
			(long long)(value[K_batch] / (asked->microbatches * asked->dp)));
	if (asked->tp > 1)
		words_add(words, ", \"tensor_parallel\": {\"autotp_size\": %u}", asked->tp);
	knob_text(K_precision, value[K_precision], word, sizeof word);
	if (strcmp(word, "bf16") == 0 || strcmp(word, "mixed") == 0)
		words_add(words, ", \"bf16\": {\"enabled\": true}");
	else if (strcmp(word, "fp16") == 0)
		words_add(words, ", \"fp16\": {\"enabled\": true}");
	words_add(words, "}");
	return true;
}

static bool say_fsdp(struct words *words, const struct asked *asked)
{
	static const char *const strategy[] = { "NO_SHARD", NULL, "SHARD_GRAD_OP", "FULL_SHARD" };
	if (asked->tp > 1 || asked->cp > 1 || asked->ep > 1 || asked->pp > 1 || !strategy[asked->zero] ||
		(asked->copies > 1 && asked->zero != 3))
		return false;
	if (asked->copies > 1)
		words_add(words,
			"sharding_strategy=ShardingStrategy.HYBRID_SHARD, device_mesh=init_device_mesh(\"cuda\", (%u, %u), "
			"mesh_dim_names=(\"replicate\", \"shard\"))",
			asked->copies, asked->dp);
	else
		words_add(words,
			"sharding_strategy=ShardingStrategy.%s, device_mesh=init_device_mesh(\"cuda\", (%u,), "
			"mesh_dim_names=(\"dp\",))",
			strategy[asked->zero], asked->dp);
	return true;
}

void launcher_flags_find(const struct units *units, const struct sharding *sharding, const struct scenario *scenario,
	struct launcher_flags flags[LAUNCHER_COUNT])
{
	struct asked asked;
	bool known = launcher_flags_find_asked(units, sharding, scenario, &asked) && all_split(units, &asked);
	FOR_INT(i, LAUNCHER_COUNT) {
		struct words words = { flags[i].text, sizeof flags[i].text, 0 };
		flags[i].text[0] = '\0';
		flags[i].possible = known && (i == LAUNCHER_MEGATRON ? say_megatron(&words, units, &asked, scenario)
			: i == LAUNCHER_DEEPSPEED ? say_deepspeed(&words, units, &asked, scenario) : say_fsdp(&words, &asked));
	}
}
