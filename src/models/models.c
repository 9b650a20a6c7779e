/* models.c: presets of published models, and building one. */

#include "hugging_face.h"
#include "layers.h"
#include "src/base/words.h"

#define GPT2(count, width, head_count) { .family = FAMILY_GPT, .activation = ACTIVATION_TANH, .dropout = true, \
	.tied = true, \
	.layers = count, .hidden = width, .heads = head_count, .vocab = 50257, .positions = 1024, .seq = 1024, .batch = 1 }
#define MEGATRON(count, width, head_count, samples) { .family = FAMILY_GPT, .dropout = true, .tied = true, \
	.fused_mask = true, \
	.layers = count, .hidden = width, .heads = head_count, .vocab = 51200, .positions = 2048, .seq = 2048, \
		.batch = samples }
#define LLAMA3(count, width, head_count, inner) { .family = FAMILY_LLAMA, .flash = true, .layers = count, \
	.hidden = width, \
	.heads = head_count, .kv_heads = 8, .ffn = inner, .vocab = 128256, .seq = 8192, .batch = 1 }
#define BERT(count, width, head_count) { .family = FAMILY_BERT, .dropout = true, .tied = true, .layers = count, \
	.hidden = width, \
	.heads = head_count, .vocab = 30522, .positions = 512, .seq = 512, .batch = 1 }
#define T5(width, head_count, inner) { .family = FAMILY_T5, .activation = ACTIVATION_RELU, .dropout = true, \
	.tied = true, .layers = 24, \
	.hidden = width, .heads = head_count, .head_width = head_count == 16 ? 64 : 128, .ffn = inner, .vocab = 32128, \
		.seq = 512, .batch = 1 }
#define VIT(count, width, head_count, side) { .family = FAMILY_VIT, .layers = count, .hidden = width, \
	.heads = head_count, \
	.classes = 1000, .image = 224, .patch = side, .qkv_bias = true, .batch = 1 }
#define RESNET(layer_count, class_count) { .family = FAMILY_RESNET, .depth = layer_count, .hidden = 64, \
	.classes = class_count, \
	.image = 224, .batch = 1 }
#define MOE(count, width, head_count, expert_count, chosen) { .family = FAMILY_MOE, .dropout = true, .tied = true, \
	.fused_mask = true, \
	.layers = count, .hidden = width, .heads = head_count, .vocab = 50257, .positions = 1024, .seq = 1024, .batch = 1, \
	.experts = expert_count, .top_k = chosen }
#define DEEPSEEK(count, width, head_count, inner, rank, dense, expert_count, chosen, expert_inner, shared, words, \
	sigmoid, ahead) \
	{ .family = FAMILY_DEEPSEEK, .flash = true, \
	.layers = count, .hidden = width, .heads = head_count, .head_width = 128, .rope_width = 64, .value_width = 128, \
		.q_rank = rank, .kv_rank = 512, \
	.ffn = inner, .dense_layers = dense, .experts = expert_count, .top_k = chosen, .expert_ffn = expert_inner, \
		.shared_experts = shared, .vocab = words, \
	.sigmoid_scores = sigmoid, .router_nodes = (sigmoid) ? 4 : 0, .mtp_layers = ahead, .seq = 4096, .batch = 1 }

const struct model_preset model_presets[] = {
	{ "gpt", "decoder-only transformer of any size; GPT-2 small", GPT2(12, 768, 12) },
	{ "gpt2", "GPT-2 small, 124 million parameters", GPT2(12, 768, 12) },
	{ "gpt2-medium", "355 million", GPT2(24, 1024, 16) },
	{ "gpt2-large", "774 million", GPT2(36, 1280, 20) },
	{ "gpt2-xl", "1.6 billion", GPT2(48, 1600, 25) },
	{ "gpt3-175b", "GPT-3 as Megatron trains it, 175 billion", MEGATRON(96, 12288, 96, 1) },
	{ "megatron-22b", "the 22 billion model of Korthikanti et al. 2022", MEGATRON(48, 6144, 64, 4) },
	{ "megatron-530b", "Megatron-Turing, 530 billion", MEGATRON(105, 20480, 128, 1) },
	{ "megatron-1t", "the 1 trillion model of Korthikanti et al. 2022", MEGATRON(128, 25600, 160, 1) },
	{ "llama", "Llama of any size; Llama 3 8B", LLAMA3(32, 4096, 32, 14336) },
	{ "llama3-8b", "Llama 3, 8 billion", LLAMA3(32, 4096, 32, 14336) },
	{ "llama3-70b", "Llama 3, 70 billion", LLAMA3(80, 8192, 64, 28672) },
	{ "llama3-405b", "Llama 3, 405 billion", LLAMA3(126, 16384, 128, 53248) },
	{ "bert", "encoder-only transformer of any size; BERT base", BERT(12, 768, 12) },
	{ "bert-base", "110 million", BERT(12, 768, 12) },
	{ "bert-large", "335 million", BERT(24, 1024, 16) },
	{ "t5", "encoder-decoder of any size; T5 large", T5(1024, 16, 4096) },
	{ "t5-large", "738 million", T5(1024, 16, 4096) },
	{ "t5-3b", "2.9 billion", T5(1024, 32, 16384) },
	{ "t5-11b", "11 billion", T5(1024, 128, 65536) },
	{ "vit", "vision transformer of any size; ViT-B/16", VIT(12, 768, 12, 16) },
	{ "vit-b-16", "86 million", VIT(12, 768, 12, 16) },
	{ "vit-l-16", "304 million", VIT(24, 1024, 16, 16) },
	{ "vit-h-14", "632 million", VIT(32, 1280, 16, 14) },
	{ "resnet", "residual network; ResNet-50", RESNET(50, 1000) },
	{ "resnet18", "12 million", RESNET(18, 1000) },
	{ "resnet34", "22 million", RESNET(34, 1000) },
	{ "resnet50", "26 million", RESNET(50, 1000) },
	{ "resnet101", "45 million", RESNET(101, 1000) },
	{ "resnet152", "60 million", RESNET(152, 1000) },
	{ "resnet50-wide", "ResNet-50 with a classifier of 100,000 classes, as TAP uses it", RESNET(50, 100000) },
	{ "moe", "mixture of experts of any size", MOE(12, 768, 12, 8, 2) },
	{ "m6-moe", "the size of M6's 100 billion mixture: 512 experts in 24 layers", MOE(24, 1024, 16, 512, 2) },
	{ "deepseek", "latent attention, shared and routed experts of any size; DeepSeek-V2-Lite",
		DEEPSEEK(27, 2048, 16, 10944, 0, 1, 64, 6, 1408, 2, 102400, false, 0) },
	{ "deepseek-v2-lite", "16 billion", DEEPSEEK(27, 2048, 16, 10944, 0, 1, 64, 6, 1408, 2, 102400, false, 0) },
	{ "deepseek-v2", "236 billion", DEEPSEEK(60, 5120, 128, 12288, 1536, 1, 160, 6, 1536, 2, 102400, false, 0) },
	{ "deepseek-v3", "671 billion, and 11.5 that predict the token behind the next one",
		DEEPSEEK(61, 7168, 128, 18432, 1536, 3, 256, 8, 2048, 1, 129280, true, 1) },
	{ "dlrm", "recommendation model with 26 tables and a wide classifier",
		{ .family = FAMILY_DLRM,
			.layers = 3,
			.hidden = 128,
			.ffn = 1024,
			.vocab = 1000000,
			.experts = 26,
			.classes = 100000,
			.batch = 1024 } },
	{ NULL, NULL, { 0 } },
};

static void (*const builders[FAMILY_COUNT])(struct model *model) = {
	[FAMILY_GPT] = model_gpt, [FAMILY_LLAMA] = model_llama, [FAMILY_BERT] = model_bert, [FAMILY_T5] = model_t5,
	[FAMILY_VIT] = model_vit, [FAMILY_RESNET] = model_resnet, [FAMILY_MOE] = model_moe, [FAMILY_DEEPSEEK] = model_deepseek,
	[FAMILY_DLRM] = model_dlrm,
};

const struct model_preset *model_find(const char *name)
{
	for (const struct model_preset *preset = model_presets; preset->name; preset++) {
		size_t same = 0;
		while (name[same] && preset->name[same] == (name[same] == '_' ? '-' : name[same]))
			same++;
		if ((!name[same] || name[same] == ':') && !preset->name[same])
			return preset;
	}
	return NULL;
}

/* A number, or one of the words that stand for 0, 1, ..., up to NULL. */
static enum status models_take(const char *text, int64_t least, int64_t most, const char *const *word, int64_t *number,
	struct error *error)
{
	char list[100] = "", *end;
	struct words words = { list, sizeof list, 0 };
	long long value = strtoll(text, &end, 10);
	for (int i = 0; word && word[i]; i++) {
		if (text_is(word[i], text)) {
			*number = i;
			return OK;
		}
		words_add(&words, "%s%s", i == 0 ? "" : word[i + 1] ? ", " : " or ", word[i]);
	}
	if (end == text || *end || value < least || value > most)
		return word ? refuse(error, "expected %s", list)
			: refuse(error, "expected a number from %lld to %lld", (long long)least, (long long)most);
	*number = value;
	return OK;
}

/* Attention in one kernel, dropout, fused kernels, the loss op by op: 0 or 1. NULL: none of these. */
static bool *models_switch(struct model_config *config, const char *name)
{
	const struct {
		const char *name;
		bool *at;
	} switches[] = { { "flash", &config->flash }, { "dropout", &config->dropout }, { "fused", &config->fused },
		{ "eager_loss", &config->eager_loss } };
	for (size_t i = 0; i < COUNT_OF(switches); i++)
		if (text_is(name, switches[i].name))
			return switches[i].at;
	return NULL;
}

/* The sizes of each family; of a config.json its reader knows. */
#define OF_ALL ", batch, lora, target, base"
static const char *const family_sizes[FAMILY_COUNT] = {
	[FAMILY_GPT] = "layers, hidden, heads, ffn, vocab, positions, seq" OF_ALL,
	[FAMILY_LLAMA] = "layers, hidden, heads, kv_heads, head_width, ffn, vocab, seq, experts, top_k, expert_ffn, "
		"shared_experts, shared_ffn, dense_layers, sparse_step, router_nodes, mtp_layers, rope_width, capacity" OF_ALL,
	[FAMILY_BERT] = "layers, hidden, heads, ffn, vocab, positions, seq, types" OF_ALL,
	[FAMILY_T5] = "layers, decoder_layers, hidden, heads, head_width, ffn, vocab, seq, buckets" OF_ALL,
	[FAMILY_VIT] = "layers, hidden, heads, ffn, classes, image, patch, channels" OF_ALL,
	[FAMILY_RESNET] = "hidden, classes, image" OF_ALL,
	[FAMILY_MOE] = "layers, hidden, heads, ffn, vocab, positions, seq, experts, top_k, capacity" OF_ALL,
	[FAMILY_DEEPSEEK] = "layers, hidden, heads, head_width, ffn, vocab, seq, experts, top_k, expert_ffn, "
		"shared_experts, dense_layers, sparse_step, q_rank, kv_rank, router_nodes, mtp_layers, rope_width, "
		"value_width, capacity" OF_ALL,
	[FAMILY_DLRM] = "layers, hidden, ffn, vocab, classes, experts" OF_ALL,
};

/* A word after a name that is no size of that model. */
static enum status models_no_size(const struct model_config *config, struct error *error)
{
	return refuse(error, "no size of this model; its sizes are %s; flash, dropout, fused and eager_loss are 0 or 1; knobs "
		"are set by --set", config->from ? "those of `tidemark help model`" : family_sizes[config->family]);
}

enum status model_size(struct model_config *config, const char *size, const char *text, struct error *error)
{
#define X(id, name) name,
	static const char *const targets[] = { "all", "attention", NULL }, *const bases[] = { ADAPTER_BASES(X) NULL };
#undef X
	config->adapters |= text_is(size, "target") || text_is(size, "base");
	const char *const *words = text_is(size, "target") ? targets : text_is(size, "base") ? bases : NULL;
#define X(field, least, most, help) \
	if (text_is(size, #field) && (config->from || words_have(family_sizes[config->family], #field))) \
		return models_take(text, least, most, words, &config->field, error);
	MODEL_SIZES(X)
#undef X
	int64_t on;
	bool *turned = models_switch(config, size);
	if (!turned)
		return models_no_size(config, error);
	TRY(models_take(text, 0, 1, NULL, &on, error));
	*turned = on == 1;
	return OK;
}

enum status model_sizes(struct model_config *config, const char *name, struct error *error)
{
	size_t length;
	for (const char *text = name + strcspn(name, ":"); *text == ':'; text += length) {
		size_t word = strcspn(text + 1, "=:");
		length = 1 + strcspn(text + 1, ":");
		char size[32], given[32];
		struct error why = { 0 };
		PRINT_TO(size, "%.*s", (int)SMALLER(word, sizeof size - 1), text + 1);
		PRINT_TO(given, "%.*s", (int)SMALLER(length - 1 - word, sizeof given - 1), text + 1 + word);
		for (char *at = size; *at; at++)
			*at = *at == '-' ? '_' : *at;
		if (model_size(config, *given == '=' ? size : "", given + (*given == '='), &why) != OK)
			return refuse(error, "%.*s: %s", (int)length - 1, text + 1, why.text);
	}
	return OK;
}

/* Sizes that follow from others. */
static void models_fill(struct model_config *config)
{
	if (config->ffn == 0)
		config->ffn = 4 * config->hidden;
	if (config->positions < config->seq)
		config->positions = config->seq;
	if (config->heads > 0 && config->kv_heads == 0)
		config->kv_heads = config->heads;
	if (config->heads > 0 && config->head_width == 0)
		config->head_width = config->hidden / config->heads;
	if (config->heads > 0 && config->family == FAMILY_LLAMA && config->rope_width == 0)
		config->rope_width = config->head_width;
}

/* Whether all fit together. */
static enum status models_complete(struct model_config *config, struct error *error)
{
	bool whole = config->head_width == 0;
	models_fill(config);
	if (config->heads == 0)
		return OK;
	if (whole && config->hidden % config->heads != 0)
		return refuse(error, "hidden %lld is not a multiple of heads %lld", (long long)config->hidden,
			(long long)config->heads);
	if (config->heads % config->kv_heads != 0)
		return refuse(error, "heads %lld is not a multiple of kv-heads %lld", (long long)config->heads,
			(long long)config->kv_heads);
	if (config->family == FAMILY_LLAMA && config->rope_width > config->head_width)
		return refuse(error, "the part with positions, %lld, is wider than a head, %lld",
			(long long)config->rope_width, (long long)config->head_width);
	if ((config->family == FAMILY_LLAMA || config->family == FAMILY_DEEPSEEK) && config->rope_width % 2 != 0)
		return refuse(error, "rotary positions need an even width, not %lld", (long long)config->rope_width);
	if (config->family == FAMILY_LLAMA && config->experts > 0 && (config->top_k == 0 || config->expert_ffn == 0))
		return refuse(error, "experts need --top-k and --expert-ffn");
	if (config->experts == 0 && (config->top_k || config->expert_ffn || config->capacity))
		return refuse(error, "top-k, expert-ffn and capacity are those of experts: experts=COUNT");
	if (config->family == FAMILY_VIT && config->image % config->patch != 0)
		return refuse(error, "image %lld is not a multiple of patch %lld", (long long)config->image,
			(long long)config->patch);
	if ((config->family == FAMILY_MOE || config->family == FAMILY_DEEPSEEK || config->experts > 0) &&
		config->top_k > config->experts)
		return refuse(error, "top-k %lld is more than experts %lld", (long long)config->top_k,
			(long long)config->experts);
	return OK;
}

struct graph *model_build(const char *name, const struct model_config *config, struct error *error)
{
	if (config->from)
		return hugging_face_build(config, error);
	OWN(rules) *rules = rules_new();
	struct model model = { .config = *config,
		.build = { .draft = draft_new(), .op = NONE, .phase = PHASE_FORWARD, .module = "", .rules = rules } };
	enum status status = model.build.draft && rules ? models_complete(&model.config, error) : fail_memory(error);
	struct graph *graph = NULL;
	if (status == OK) {
		builders[config->family](&model);
		build_finish(&model.build);
		status = model.build.status;
		const struct about about = { .batch = config->batch, .router_nodes = (uint32_t)config->router_nodes };
		THEN(status, draft_describe(model.build.draft, name, "tidemark model", NULL, &about));
		if (status == BAD_INPUT)
			refuse(error, "a tensor of this model is larger than 2^60 bytes");
		else if (status != OK)
			fail_memory(error);
	}
	if (error_set(error, status) == OK)
		graph = graph_build(model.build.draft, error);
	draft_free(model.build.draft);
	return graph;
}
