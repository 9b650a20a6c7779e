/* hugging_face.c: maps a config.json to a built-in family: tables of keys, type by type, with transformers' defaults.
 *
 * Three kinds of keys matter. Sizes are taken over. Settings that add, drop or change tensors must be what the family's builder writes, else the file is
 * refused with the key. Dropout probabilities are one switch of ours: all 0 or none. Other keys (tokens, caches, initialisation, the stored weights' type)
 * change nothing in a training step.
 */
#include <jansson.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "hugging_face.h"
#include "src/base/json_memory.h"
#include "src/read/input.h"

#define BYTES_MOST ((size_t)16 << 20)
#define LAYERS_MOST 4096       /* a file is not asked for, as --layers is: what it may cost is bounded */

enum { REQUIRED = -1, FOLLOWS = 0 };  /* a missing key: an error; what follows from other sizes */

/* normal: where the key is missing; null: what JSON's null stands for, REQUIRED where it is an error. */
struct size_key {
	const char *key;
	size_t field;
	int64_t normal, null;
};
#define SIZE(key, field, normal) { key, offsetof(struct model_config, field), normal, REQUIRED }
#define SIZE_OR_NULL(key, field, normal) { key, offsetof(struct model_config, field), normal, FOLLOWS }

/* What a key must be where it is there, as describe() says it. A dot leads into an object. */
struct setting {
	const char *key, *value;
};

struct type {
	const char *name, *architecture;
	struct model_config base;
	bool tied;                  /* where the file doesn't say */
	const char *activation, *activation_normal;
	const char *positions, *window;
	int64_t positions_normal, window_normal;
	const struct size_key *sizes;
	const struct setting *settings;
	const char *dropouts[4];
	bool dropped;               /* where the file doesn't say */
};

/* ---- tables ---------------------------------------------------------------------------------------------- */

static const struct size_key gpt2_sizes[] = {
	SIZE("n_layer", layers, 12), SIZE("n_embd", hidden, 768), SIZE("n_head", heads, 12), SIZE_OR_NULL("n_inner", ffn, FOLLOWS),
	SIZE("vocab_size", vocab, 50257), SIZE("n_positions", positions, 1024), { 0 },
};
static const struct setting gpt2_settings[] = {
	{ "add_cross_attention", "false" }, { "scale_attn_by_inverse_layer_idx", "false" }, { "reorder_and_upcast_attn", "false" },
	{ "scale_attn_weights", "true" }, { "pruned_heads", "{}" }, { 0 },
};

#define ROTARY_SIZES(inner) SIZE("num_hidden_layers", layers, 32), SIZE("hidden_size", hidden, 4096), SIZE("num_attention_heads", heads, 32), \
	SIZE("intermediate_size", ffn, inner)
static const struct size_key llama_sizes[] = {
	ROTARY_SIZES(11008), SIZE("vocab_size", vocab, 32000), SIZE_OR_NULL("num_key_value_heads", kv_heads, FOLLOWS),
	SIZE_OR_NULL("head_dim", head_width, FOLLOWS), { 0 },
};
static const struct size_key mistral_sizes[] = {
	ROTARY_SIZES(14336), SIZE("vocab_size", vocab, 32000), SIZE_OR_NULL("num_key_value_heads", kv_heads, 8),
	SIZE_OR_NULL("head_dim", head_width, FOLLOWS), { 0 },
};
static const struct size_key qwen2_sizes[] = {
	ROTARY_SIZES(22016), SIZE("vocab_size", vocab, 151936), SIZE_OR_NULL("num_key_value_heads", kv_heads, 32),
	SIZE_OR_NULL("head_dim", head_width, FOLLOWS), { 0 },
};
#define ROTARY_SETTINGS { "hidden_act", "\"silu\"" }, { "attention_dropout", "0" }, { "attention_bias", "false" }, { "mlp_bias", "false" }, \
	{ "pretraining_tp", "1" }, { "partial_rotary_factor", "1" }, { "rope_parameters.partial_rotary_factor", "1" }
static const struct setting llama_settings[] = { ROTARY_SETTINGS, { 0 } };
static const struct setting qwen2_settings[] = {
	{ "hidden_act", "\"silu\"" }, { "attention_dropout", "0" }, { "use_sliding_window", "false" }, { "partial_rotary_factor", "1" },
	{ "rope_parameters.partial_rotary_factor", "1" }, { 0 },
};

#define LATENT_SIZES SIZE("kv_lora_rank", kv_rank, 512), SIZE_OR_NULL("q_lora_rank", q_rank, 1536), SIZE("qk_nope_head_dim", head_width, 128), \
	SIZE("qk_rope_head_dim", rope_width, 64), SIZE("v_head_dim", value_width, 128)
static const struct size_key deepseek_v2_sizes[] = {
	ROTARY_SIZES(11008), LATENT_SIZES, SIZE("vocab_size", vocab, 102400), SIZE("first_k_dense_replace", dense_layers, 0),
	SIZE("n_routed_experts", experts, 64), SIZE("num_experts_per_tok", top_k, REQUIRED), SIZE("n_shared_experts", shared_experts, 2),
	SIZE("moe_intermediate_size", expert_ffn, 1407), { 0 },
};
static const struct size_key deepseek_v3_sizes[] = {
	SIZE("num_hidden_layers", layers, 61), SIZE("hidden_size", hidden, 7168), SIZE("num_attention_heads", heads, 128),
	SIZE("intermediate_size", ffn, 18432), LATENT_SIZES, SIZE("vocab_size", vocab, 129280), SIZE("first_k_dense_replace", dense_layers, 3),
	SIZE("n_routed_experts", experts, 256), SIZE("num_experts_per_tok", top_k, 8), SIZE("n_shared_experts", shared_experts, 1),
	SIZE("moe_intermediate_size", expert_ffn, 2048), { 0 },
};
static const struct setting deepseek_v2_settings[] = { ROTARY_SETTINGS, { "moe_layer_freq", "1" }, { "scoring_func", "\"softmax\"" }, { 0 } };
static const struct setting deepseek_v3_settings[] = { ROTARY_SETTINGS, { "moe_layer_freq", "1" }, { "scoring_func", "\"sigmoid\"" }, { 0 } };

static const struct size_key bert_sizes[] = {
	SIZE("num_hidden_layers", layers, 12), SIZE("hidden_size", hidden, 768), SIZE("num_attention_heads", heads, 12),
	SIZE("intermediate_size", ffn, 3072), SIZE("vocab_size", vocab, 30522), SIZE("max_position_embeddings", positions, 512), { 0 },
};
static const struct setting bert_settings[] = {
	{ "type_vocab_size", "2" }, { "is_decoder", "false" }, { "add_cross_attention", "false" }, { "tie_word_embeddings", "true" },
	{ "position_embedding_type", "\"absolute\"" }, { "pruned_heads", "{}" }, { 0 },
};

static const struct size_key vit_sizes[] = {
	SIZE("num_hidden_layers", layers, 12), SIZE("hidden_size", hidden, 768), SIZE("num_attention_heads", heads, 12),
	SIZE("intermediate_size", ffn, 3072), SIZE("image_size", image, 224), SIZE("patch_size", patch, 16), { 0 },
};
static const struct setting vit_settings[] = {
	{ "qkv_bias", "true" }, { "num_channels", "3" }, { "hidden_dropout_prob", "0" }, { "attention_probs_dropout_prob", "0" },
	{ "pruned_heads", "{}" }, { 0 },
};

static const struct size_key t5_sizes[] = {
	SIZE("num_layers", layers, 6), SIZE("d_model", hidden, 512), SIZE("num_heads", heads, 8), SIZE("d_kv", head_width, 64), SIZE("d_ff", ffn, 2048),
	SIZE("vocab_size", vocab, 32128), { 0 },
};
static const struct setting t5_settings[] = {
	{ "feed_forward_proj", "\"relu\"" }, { "relative_attention_num_buckets", "32" }, { "is_encoder_decoder", "true" }, { "is_decoder", "false" },
	{ "tie_word_embeddings", "true" },   /* the library ties them in any case, and scales otherwise */
	{ 0 },
};

#define ROTARY .base = { .family = FAMILY_LLAMA, .flash = true }, .positions = "max_position_embeddings"
#define LATENT(sigmoid) .base = { .family = FAMILY_DEEPSEEK, .flash = true, .sigmoid_scores = sigmoid }, .positions = "max_position_embeddings"

static const struct type types[] = {
	{ .name = "gpt2", .architecture = "GPT2LMHeadModel", .base = { .family = FAMILY_GPT }, .tied = true, .activation = "activation_function",
		.activation_normal = "gelu_new", .sizes = gpt2_sizes, .settings = gpt2_settings, .dropped = true,
		.dropouts = { "resid_pdrop", "embd_pdrop", "attn_pdrop" } },
	{ .name = "llama", .architecture = "LlamaForCausalLM", ROTARY, .positions_normal = 2048, .sizes = llama_sizes, .settings = llama_settings },
	{ .name = "mistral", .architecture = "MistralForCausalLM", ROTARY, .positions_normal = 131072, .window = "sliding_window", .window_normal = 4096,
		.sizes = mistral_sizes, .settings = llama_settings },
	{ .name = "qwen2", .architecture = "Qwen2ForCausalLM", .base = { .family = FAMILY_LLAMA, .flash = true, .qkv_bias = true },
		.positions = "max_position_embeddings", .positions_normal = 32768, .sizes = qwen2_sizes, .settings = qwen2_settings },
	{ .name = "deepseek_v2", .architecture = "DeepseekV2ForCausalLM", LATENT(false), .positions_normal = 2048, .sizes = deepseek_v2_sizes,
		.settings = deepseek_v2_settings },
	{ .name = "deepseek_v3", .architecture = "DeepseekV3ForCausalLM", LATENT(true), .positions_normal = 4096, .sizes = deepseek_v3_sizes,
		.settings = deepseek_v3_settings },
	{ .name = "bert", .architecture = "BertForMaskedLM", .base = { .family = FAMILY_BERT }, .tied = true, .activation = "hidden_act",
		.activation_normal = "gelu", .sizes = bert_sizes, .settings = bert_settings, .dropped = true,
		.dropouts = { "hidden_dropout_prob", "attention_probs_dropout_prob" } },
	{ .name = "vit", .architecture = "ViTForImageClassification", .base = { .family = FAMILY_VIT }, .activation = "hidden_act",
		.activation_normal = "gelu", .sizes = vit_sizes, .settings = vit_settings },
	{ .name = "t5", .architecture = "T5ForConditionalGeneration", .base = { .family = FAMILY_T5, .activation = ACTIVATION_RELU }, .tied = true,
		.positions = "n_positions", .positions_normal = 512, .sizes = t5_sizes, .settings = t5_settings, .dropped = true,
		.dropouts = { "dropout_rate" } },
	{ 0 },
};

/* ---- values ---------------------------------------------------------------------------------------------- */

/* A value in a few words, as settings are compared and as messages say it. Texts of the file are cut short. */
static const char *describe(const json_t *value, char *text, size_t size)
{
	switch (json_typeof(value)) {
	case JSON_STRING: snprintf(text, size, "\"%.60s\"", json_string_value(value)); break;
	case JSON_INTEGER: snprintf(text, size, "%lld", (long long)json_integer_value(value)); break;
	case JSON_REAL: snprintf(text, size, "%.9g", json_real_value(value)); break;
	case JSON_OBJECT: snprintf(text, size, "%s", json_object_size(value) ? "an object" : "{}"); break;
	case JSON_ARRAY: snprintf(text, size, "a list"); break;
	default: snprintf(text, size, "%s", json_is_true(value) ? "true" : json_is_false(value) ? "false" : "null"); break;
	}
	return text;
}

/* The value of a key, or of a key in an object ("outer.inner"); NULL: there is none. */
static const json_t *value_of(const json_t *file, const char *key)
{
	const char *dot = strchr(key, '.');
	char outer[64];
	if (!dot)
		return json_object_get(file, key);
	snprintf(outer, sizeof outer, "%.*s", (int)(dot - key), key);
	return json_object_get(json_object_get(file, outer), dot + 1);
}

/* A whole number under a key. missing, null: what stands for these, REQUIRED where that is an error. */
static enum status take_number(const json_t *file, const char *key, int64_t least, int64_t most, int64_t missing, int64_t null, int64_t *number,
	struct error *error)
{
	const json_t *value = json_object_get(file, key);
	char text[80];
	*number = value ? null : missing;
	if (!value && missing == REQUIRED)
		return fail(error, BAD_INPUT, "%s is missing", key);
	if (!value || (json_is_null(value) && null != REQUIRED))
		return OK;
	*number = json_integer_value(value);
	if (!json_is_integer(value) || *number < least || *number > most)
		return fail(error, BAD_INPUT, "%s is %s: expected a number from %lld to %lld", key, describe(value, text, sizeof text), (long long)least,
			(long long)most);
	return OK;
}

/* ---- one file ---------------------------------------------------------------------------------------------- */

static enum status take_sizes(const json_t *file, const struct type *type, struct model_config *config, struct error *error)
{
	enum status status = OK;
	for (const struct size_key *size = type->sizes; size->key && status == OK; size++) {
		int64_t least = 1, most = 1;
#define X(name, low, high, help) \
		if (size->field == offsetof(struct model_config, name)) { \
			least = low; \
			most = high; \
		}
		MODEL_SIZES(X)
#undef X
		if (size->field == offsetof(struct model_config, layers))
			most = LAYERS_MOST;
		status = take_number(file, size->key, least, most, size->normal, size->null, (int64_t *)((char *)config + size->field), error);
	}
	return status;
}

static enum status check_settings(const json_t *file, const struct type *type, struct error *error)
{
	for (const struct setting *setting = type->settings; setting->key; setting++) {
		const json_t *value = value_of(file, setting->key);
		char text[80];
		if (value && strcmp(describe(value, text, sizeof text), setting->value) != 0)
			return fail(error, BAD_INPUT, "%s is %s: only %s is covered for model_type \"%s\"", setting->key, text, setting->value, type->name);
	}
	return OK;
}

/* The file may be of a model with another head: its parameters are others. */
static enum status check_architecture(const json_t *file, const struct type *type, struct error *error)
{
	const json_t *value = json_object_get(file, "architectures"), *first = json_array_get(value, 0);
	char text[80];
	if (!value || json_is_null(value))
		return OK;
	if (json_array_size(value) != 1 || !json_is_string(first))
		return fail(error, BAD_INPUT, "architectures: expected a list of one name");
	if (strcmp(json_string_value(first), type->architecture) != 0)
		return fail(error, BAD_INPUT, "architectures is %s: only \"%s\" is covered for model_type \"%s\"", describe(first, text, sizeof text),
			type->architecture, type->name);
	return OK;
}

/* Dropout layers stand everywhere or nowhere. */
static enum status take_dropout(const json_t *file, const struct type *type, struct model_config *config, struct error *error)
{
	for (int i = 0; i < 4 && type->dropouts[i]; i++) {
		const json_t *value = json_object_get(file, type->dropouts[i]);
		double share = value ? json_number_value(value) : 0.1;
		char text[80];
		if (value && (!json_is_number(value) || share < 0 || share >= 1))
			return fail(error, BAD_INPUT, "%s is %s: expected a number from 0 to below 1", type->dropouts[i], describe(value, text, sizeof text));
		if (i > 0 && config->dropout != (share > 0))
			return fail(error, BAD_INPUT, "%s is %s 0, %s is not: dropout is covered everywhere or nowhere", type->dropouts[i],
				share > 0 ? "above" : "not above", type->dropouts[0]);
		config->dropout = share > 0;
	}
	return OK;
}

static enum status take_activation(const json_t *file, const struct type *type, struct model_config *config, struct error *error)
{
	static const struct { const char *name; enum model_activation activation; } known[] = { { "gelu", ACTIVATION_GELU },
		{ "gelu_pytorch_tanh", ACTIVATION_GELU }, { "gelu_new", ACTIVATION_TANH }, { "relu", ACTIVATION_RELU } };
	const json_t *value = type->activation ? json_object_get(file, type->activation) : NULL;
	const char *name = value ? json_string_value(value) : type->activation_normal;
	char text[80];
	if (!type->activation)
		return OK;
	for (size_t i = 0; i < sizeof known / sizeof *known; i++)
		if (name && strcmp(name, known[i].name) == 0) {
			config->activation = known[i].activation;
			return OK;
		}
	return fail(error, BAD_INPUT, "%s is %s: only gelu, gelu_new, gelu_pytorch_tanh and relu are covered", type->activation,
		describe(value, text, sizeof text));
}

static enum status take_tied(const json_t *file, const struct type *type, struct model_config *config, struct error *error)
{
	const json_t *value = json_object_get(file, "tie_word_embeddings");
	char text[80];
	if (value && !json_is_boolean(value))
		return fail(error, BAD_INPUT, "tie_word_embeddings is %s: expected true or false", describe(value, text, sizeof text));
	config->tied = value ? json_is_true(value) : type->tied;
	return OK;
}

/* The sequence: what the model can take. Learned positions end there; so does attention without its sliding window. */
static enum status take_sequence(const json_t *file, const struct type *type, struct hugging_face *model, struct error *error)
{
	int64_t positions = model->config.positions, window = 0;
	model->seq_most = positions;
	model->seq_key = positions ? type->sizes == gpt2_sizes ? "n_positions" : "max_position_embeddings" : NULL;
	enum status status = OK;
	if (type->positions)
		status = take_number(file, type->positions, 2, INT64_C(1) << 40, type->positions_normal, REQUIRED, &positions, error);
	if (status == OK && type->window)
		status = take_number(file, type->window, 2, INT64_C(1) << 40, type->window_normal, FOLLOWS, &window, error);
	if (status == OK && window) {
		model->seq_most = window;
		model->seq_key = type->window;
		positions = window < positions ? window : positions;
	}
	model->config.seq = positions < HUGGING_FACE_SEQ ? positions : HUGGING_FACE_SEQ;
	if (status == OK && positions == 1)
		return fail(error, BAD_INPUT, "%s is 1: expected at least 2", model->seq_key);
	return status;
}

/* Keys that bind two values, or stand for a count. */
static enum status take_others(const json_t *file, struct model_config *config, struct error *error)
{
	int64_t number;
	enum status status = OK;
	if (config->family == FAMILY_VIT) {
		const json_t *labels = json_object_get(file, "id2label");
		int64_t count = json_is_object(labels) ? (int64_t)json_object_size(labels) : 2;
		status = take_number(file, "num_labels", 2, 1 << 30, count, REQUIRED, &config->classes, error);
		if (status == OK && config->classes < 2)
			return fail(error, BAD_INPUT, "id2label has %lld labels: expected at least 2", (long long)count);
	}
	if (config->family == FAMILY_T5) {
		status = take_number(file, "num_decoder_layers", 1, LAYERS_MOST, config->layers, FOLLOWS, &number, error);
		if (status == OK && number && number != config->layers)
			return fail(error, BAD_INPUT, "num_decoder_layers is %lld: only as many as num_layers (%lld) are covered", (long long)number,
				(long long)config->layers);
	}
	const json_t *layers = config->qkv_bias ? json_object_get(file, "layer_types") : NULL;
	for (size_t i = 0; status == OK && i < json_array_size(layers); i++) {
		const char *word = json_string_value(json_array_get(layers, i));
		if (!word || strcmp(word, "full_attention") != 0)
			return fail(error, BAD_INPUT, "layer_types: only \"full_attention\" is covered");
	}
	return status;
}

static const struct type *type_of(const json_t *file, struct error *error)
{
	const json_t *value = json_object_get(file, "model_type");
	char text[80], names[200] = "";
	if (!value) {
		fail(error, BAD_INPUT, "model_type is missing: not the config.json of a Hugging Face model");
		return NULL;
	}
	for (const struct type *type = types; type->name; type++) {
		if (json_is_string(value) && strcmp(json_string_value(value), type->name) == 0)
			return type;
		snprintf(names + strlen(names), sizeof names - strlen(names), "%s%s", *names ? ", " : "", type->name);
	}
	fail(error, BAD_INPUT, "model_type is %s: only %s are covered", describe(value, text, sizeof text), names);
	return NULL;
}

static enum status take_file(const json_t *file, struct hugging_face *model, struct error *error)
{
	const struct type *type = type_of(file, error);
	if (!type)
		return BAD_INPUT;
	*model = (struct hugging_face) { .name = type->name, .config = type->base };
	struct model_config *config = &model->config;
	config->batch = 1;
	config->dropout = type->dropped;
	enum status status = check_architecture(file, type, error);
	if (status == OK)
		status = check_settings(file, type, error);
	if (status == OK)
		status = take_sizes(file, type, config, error);
	if (status == OK)
		status = take_activation(file, type, config, error);
	if (status == OK)
		status = take_dropout(file, type, config, error);
	if (status == OK)
		status = take_tied(file, type, config, error);
	if (status == OK)
		status = take_others(file, config, error);
	return status == OK && config->family != FAMILY_VIT ? take_sequence(file, type, model, error) : status;
}

enum status hugging_face_read(const char *text, size_t size, struct hugging_face *model, struct error *error)
{
	json_error_t problem;
	json_memory_failed();
	json_t *file = json_loadb(text, size, JSON_REJECT_DUPLICATES, &problem);
	enum status status = OK;
	if (json_memory_failed()) {
		status = fail_memory(error);
	} else if (!file) {
		status = fail(error, BAD_INPUT, "not JSON: %s", problem.text);
		if (error)
			error->line = problem.line > 0 ? (unsigned)problem.line : 0;
	} else if (!json_is_object(file)) {
		status = fail(error, BAD_INPUT, "not the config.json of a Hugging Face model: expected an object");
	} else {
		status = take_file(file, model, error);
	}
	json_decref(file);
	return status;
}

/* ---- paths ---------------------------------------------------------------------------------------------------- */

static enum status read_path(const char *path, char **text, size_t *size, struct error *error)
{
	struct error why = { 0 };
	struct input *input = input_open(path, &why);
	*text = input ? input_all(input, BYTES_MOST, size, &why) : NULL;
	input_close(input);
	return *text ? OK : fail(error, why.status, "%s", why.text);
}

bool hugging_face_is(const char *path)
{
	struct stat state;
	char *text = NULL;
	size_t size;
	if (stat(path, &state) != 0 || S_ISDIR(state.st_mode) || !S_ISREG(state.st_mode))
		return stat(path, &state) == 0 && S_ISDIR(state.st_mode);
	json_t *file = read_path(path, &text, &size, NULL) == OK ? json_loadb(text, size, 0, NULL) : NULL;
	bool is = json_is_string(json_object_get(file, "model_type"));
	json_memory_failed();
	json_decref(file);
	mem_free(text);
	return is;
}

enum status hugging_face_open(const char *path, struct hugging_face *model, struct error *error)
{
	struct stat state;
	char inside[4096], *text;
	size_t size;
	bool folder = stat(path, &state) == 0 && S_ISDIR(state.st_mode);
	if (folder && snprintf(inside, sizeof inside, "%s/config.json", path) >= (int)sizeof inside)
		return fail(error, BAD_INPUT, "the path is too long");
	enum status status = read_path(folder ? inside : path, &text, &size, error);
	if (status != OK && folder && status == BAD_INPUT)
		return fail(error, BAD_INPUT, "a folder without a config.json that can be read");
	if (status == OK)
		status = hugging_face_read(text, size, model, error);
	mem_free(text);
	return status;
}

enum status hugging_face_fits(const struct hugging_face *model, int64_t seq, struct error *error)
{
	if (!model->seq_most || seq <= model->seq_most)
		return OK;
	return fail(error, BAD_INPUT, "a sequence of %lld is longer than %s, which is %lld", (long long)seq, model->seq_key, (long long)model->seq_most);
}
