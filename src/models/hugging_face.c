/* hugging_face.c: maps a config.json to a built-in family, by the table of types.
 *
 * Sizes and switches are taken over. Settings that the family's builder has no switch for must be what it writes, else
 * the file is refused with the key. Dropout probabilities are one switch of ours: all 0 or none. Keys that are known to
 * change nothing (tokens, caches, initialisation, the stored weights' type) are passed over; all others are named in
 * the model's notes. */
#include <stdarg.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "hugging_face.h"
#include "src/base/json.h"
#include "src/base/words.h"
#include "src/read/dot_child.h"
#include "src/read/input.h"

#define BYTES_MOST ((size_t)16 << 20)
#define LAYERS_MOST 4096 /* a file is not asked for, as --layers is: what it may cost is bounded */

/* ---- values ---- */

/* A value in a few words, as settings are compared and as messages say it. Texts of the file are cut short. */
static const char *hugging_face_describe(const json_t *value, char *text, size_t size)
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
static const json_t *hugging_face_value_of(const json_t *file, const char *key)
{
	const char *dot = strchr(key, '.');
	char outer[64];
	if (!dot)
		return json_object_get(file, key);
	PRINT_TO(outer, "%.*s", (int)(dot - key), key);
	return json_object_get(json_object_get(file, outer), dot + 1);
}

/* A whole number under a key. missing, null: what stands for these, HF_REQUIRED where that is an error. */
static enum status hugging_face_take_number(const json_t *file, const char *key, int64_t least, int64_t most,
	int64_t missing, int64_t null, int64_t *number, struct error *error)
{
	const json_t *value = json_object_get(file, key);
	char text[80];
	if (!value && missing == HF_KEEP)
		return OK;
	*number = value ? null : missing;
	if (!value && missing == HF_REQUIRED)
		return refuse(error, "%s is missing", key);
	if (!value || (json_is_null(value) && null != HF_REQUIRED))
		return OK;
	*number = json_integer_value(value);
	if (!json_is_integer(value) || *number < least || *number > most)
		return refuse(error, "%s is %s: expected a number from %lld to %lld", key,
			hugging_face_describe(value, text, sizeof text), (long long)least, (long long)most);
	return OK;
}

/* ---- keys ---- */

/* One more line of the model's notes; what has no room is left out. */
__attribute__((format(printf, 2, 3)))
static void hugging_face_note(struct hugging_face *model, const char *format, ...)
{
	char line[512];
	size_t used = strlen(model->notes);
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(line, sizeof line, format, arguments);
	va_end(arguments);
	for (char *at = line; *at; at++)
		*at = (unsigned char)*at < ' ' ? ' ' : *at;
	if (used + strlen(line) + 2 <= sizeof model->notes)
		snprintf(model->notes + used, sizeof model->notes - used, "%s%s", used ? "\n" : "", line);
}

static enum status hugging_face_take_sizes(
	const json_t *file, const struct hf_type *type, struct model_config *config, struct error *error)
{
	enum status status = OK;
	for (const struct hf_size *size = type->sizes; size->key && status == OK; size++) {
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
		status = hugging_face_take_number(
			file, size->key, least, most, size->normal, size->null, (int64_t *)((char *)config + size->field), error);
	}
	return status;
}

static enum status check_settings(const json_t *file, const struct hf_type *type, struct error *error)
{
	for (const struct hf_setting *setting = type->settings; setting->key; setting++) {
		const json_t *value = hugging_face_value_of(file, setting->key);
		char text[80];
		if (value && strcmp(hugging_face_describe(value, text, sizeof text), setting->value) != 0)
			return refuse(error, "%s is %s: only %s is covered for model_type \"%s\"", setting->key, text,
				setting->value, type->name);
	}
	return OK;
}

/* The file may be of a model with another head: its parameters are others. */
static enum status check_architecture(const json_t *file, const struct hf_type *type, struct error *error)
{
	const json_t *value = json_object_get(file, "architectures"), *first = json_array_get(value, 0);
	char text[80];
	if (!value || json_is_null(value))
		return OK;
	if (json_array_size(value) != 1 || !json_is_string(first))
		return refuse(error, "architectures: expected a list of one name");
	/* Until transformers 3 the class had another name. */
	bool older = type->base.family == FAMILY_T5 && strcmp(json_string_value(first), "T5WithLMHeadModel") == 0;
	/* An encoder's class that says the next token has the same parameters; without is_decoder it sees all tokens. */
	size_t stem = strcspn(type->architecture, "F");
	const char *behind = strncmp(json_string_value(first), type->architecture, stem) == 0
		? json_string_value(first) + stem : "";
	older |= type->base.family == FAMILY_BERT &&
		(strcmp(behind, "ForCausalLM") == 0 || strcmp(behind, "LMHeadModel") == 0);
	if (!older && strcmp(json_string_value(first), type->architecture) != 0)
		return refuse(error, "architectures is %s: only \"%s\" is covered for model_type \"%s\"",
			hugging_face_describe(first, text, sizeof text), type->architecture, type->name);
	return OK;
}

/* Dropout layers stand everywhere or nowhere. */
static enum status take_dropout(
	const json_t *file, const struct hf_type *type, struct model_config *config, struct error *error)
{
	for (int i = 0; i < 4 && type->dropouts[i]; i++) {
		const json_t *value = json_object_get(file, type->dropouts[i]);
		double share = value ? json_number_value(value) : type->dropped ? 0.1 : 0;
		char text[80];
		if (value && (!json_is_number(value) || share < 0 || share >= 1))
			return refuse(error, "%s is %s: expected a number from 0 to below 1", type->dropouts[i],
				hugging_face_describe(value, text, sizeof text));
		if (i > 0 && config->dropout != (share > 0))
			return refuse(error, "%s is %s 0, %s is not: dropout is covered everywhere or nowhere", type->dropouts[i],
				share > 0 ? "above" : "not above", type->dropouts[0]);
		config->dropout = share > 0;
	}
	return OK;
}

static enum status take_switches(
	const json_t *file, const struct hf_type *type, struct model_config *config, struct error *error)
{
	for (const struct hf_switch *row = type->switches; row->key; row++) {
		const json_t *value = json_object_get(file, row->key);
		bool *field = (bool *)((char *)config + row->field);
		char text[80];
		*field = value ? row->cap ? json_is_number(value) : json_is_true(value) : row->normal;
		if (value && !(row->cap ? json_is_null(value) || json_number_value(value) > 0 : json_is_boolean(value)))
			return refuse(error, "%s is %s: expected %s", row->key,
				hugging_face_describe(value, text, sizeof text),
				row->cap ? "a number above 0 or null" : "true or false");
	}
	return OK;
}

static bool activation_named(const char *name, enum model_activation *activation)
{
	static const struct {
		const char *name;
		enum model_activation activation;
	} known[] = { { "gelu", ACTIVATION_GELU }, { "gelu_pytorch_tanh", ACTIVATION_GELU },
		{ "gelu_python", ACTIVATION_GELU }, { "gelu_new", ACTIVATION_TANH }, { "gelu_fast", ACTIVATION_TANH },
		{ "relu", ACTIVATION_RELU }, { "relu2", ACTIVATION_RELU_SQUARED } };
	for (size_t i = 0; name && i < COUNT_OF(known); i++)
		if (strcmp(name, known[i].name) == 0) {
			*activation = known[i].activation;
			return true;
		}
	return false;
}

/* A gate is a silu or a gelu; without one the layer's own non-linearity is named. */
static enum status take_activation(
	const json_t *file, const struct hf_type *type, struct model_config *config, struct error *error)
{
	const json_t *value = type->activation ? json_object_get(file, type->activation) : NULL;
	const char *name = value ? json_string_value(value) : type->activation_normal;
	bool gated = config->family == FAMILY_LLAMA && !config->plain;
	bool silu = gated && name && (strcmp(name, "silu") == 0 || strcmp(name, "swish") == 0);
	enum model_activation activation;
	char text[80];
	if (!type->activation)
		return OK;
	config->gelu_gate = gated && !silu;
	if (silu)
		return OK;
	if (!activation_named(name, &activation) || (gated && activation != ACTIVATION_GELU))
		return refuse(error, "%s is %s: only %s are covered", type->activation,
			hugging_face_describe(value, text, sizeof text),
			gated ? "silu, gelu and gelu_pytorch_tanh" : "gelu, gelu_new, gelu_fast, gelu_pytorch_tanh, relu and relu2");
	config->activation = gated ? config->activation : activation;
	return OK;
}

/* Of a model of several parts the whole may say it: it does in files of transformers 5, and where it says true. */
static enum status take_tied(const json_t *file, const json_t *whole, const struct hf_type *type,
	struct hugging_face *model, struct error *error)
{
	const json_t *value = json_object_get(whole, "tie_word_embeddings");
	const char *version = json_string_value(json_object_get(whole, "transformers_version"));
	bool decides = version && strtol(version, NULL, 10) >= 5;
	if (!value || (json_is_false(value) && !decides))
		value = json_object_get(file, "tie_word_embeddings") ? json_object_get(file, "tie_word_embeddings") : value;
	struct model_config *config = &model->config;
	char text[80];
	if (value && !json_is_boolean(value))
		return refuse(error, "tie_word_embeddings is %s: expected true or false",
			hugging_face_describe(value, text, sizeof text));
	config->tied = value ? json_is_true(value) : type->tied;
	if (config->family == FAMILY_T5 && !config->tied) {
		hugging_face_note(model,
			"lm_head shares the embedding, as in transformers 5; in transformers 4 it was %lld parameters of its own",
			(long long)(config->vocab * config->hidden));
		config->tied = config->unscaled = true;
	}
	return OK;
}

/* The sequence: what the model can take. Learned positions end there. */
static enum status take_sequence(
	const json_t *file, const struct hf_type *type, struct hugging_face *model, struct error *error)
{
	int64_t positions = model->config.positions;
	model->seq_most = positions;
	model->seq_key = positions ? model->config.family == FAMILY_GPT ? "n_positions" : "max_position_embeddings" : NULL;
	if (type->positions)
		TRY(hugging_face_take_number(
			file, type->positions, 2, INT64_C(1) << 40, type->positions_normal, HF_REQUIRED, &positions, error));
	model->config.seq = SMALLER(positions, HUGGING_FACE_SEQ);
	if (positions == 1)
		return refuse(error, "%s is 1: expected at least 2", model->seq_key);
	return OK;
}

/* Windows change neither parameters nor what one kernel of attention keeps: they are said. */
static enum status take_window(
	const json_t *file, const struct hf_type *type, struct hugging_face *model, struct error *error)
{
	const json_t *kinds = type->window ? json_object_get(file, "layer_types") : NULL;
	size_t layers = json_array_size(kinds), sliding = 0;
	int64_t window = 0, positions = 0;
	FOR_SIZE(i, layers) {
		const char *word = json_string_value(json_array_get(kinds, i));
		if (!word || (strcmp(word, "full_attention") != 0 && strcmp(word, "sliding_attention") != 0))
			return refuse(error, "layer_types: only \"full_attention\" and \"sliding_attention\" are covered");
		sliding += strcmp(word, "sliding_attention") == 0;
	}
	if (layers && (int64_t)layers != model->config.layers)
		return refuse(error, "layer_types has %zu layers, not %lld", layers, (long long)model->config.layers);
	if (!type->window || (type->window_asked && !json_is_true(json_object_get(file, "use_sliding_window"))) ||
		(layers && !sliding))
		return OK;
	TRY(hugging_face_take_number(
		file, type->window, 1, INT64_C(1) << 40, type->window_normal, HF_FOLLOWS, &window, error));
	TRY(hugging_face_take_number(
		file, type->positions, 2, INT64_C(1) << 40, type->positions_normal, HF_REQUIRED, &positions, error));
	if (window && window < positions)
		hugging_face_note(model,
			"attention within windows of %lld tokens is counted as attention to all: for longer sequences its time is "
			"too long, its memory right where it is one kernel",
			(long long)window);
	return OK;
}

/* The part of a head that positions turn, cut as the library cuts it. */
static enum status take_rotary(
	const json_t *file, const struct hf_type *type, struct model_config *config, struct error *error)
{
	static const char *const keys[] = { "rope_parameters.partial_rotary_factor", "partial_rotary_factor", "rotary_pct" };
	double part = type->rotary_normal;
	char text[80];
	for (size_t i = 0; part > 0 && i < COUNT_OF(keys); i++) {
		const json_t *value = hugging_face_value_of(file, keys[i]);
		if (!value)
			continue;
		part = json_number_value(value);
		if (!json_is_number(value) || part <= 0 || part > 1)
			return refuse(error, "%s is %s: expected a number above 0, at most 1", keys[i],
				hugging_face_describe(value, text, sizeof text));
		break;
	}
	int64_t head = config->head_width ? config->head_width : config->heads ? config->hidden / config->heads : 0;
	if (part > 0 && (int64_t)((double)head * part) < 2)
		return refuse(error, "partial_rotary_factor: less than two of a head's %lld numbers have positions",
			(long long)head);
	if (part > 0)
		config->rope_width = (int64_t)((double)head * part);
	return OK;
}

/* "dense" or "sparse" for every layer, and the last layer that has experts. */
static enum status take_layer_kinds(const json_t *file, struct model_config *config, struct error *error)
{
	const json_t *kinds = json_object_get(file, "mlp_layer_types"), *end = json_object_get(file, "moe_layer_end_index");
	int64_t last = json_is_integer(end) ? json_integer_value(end) : -1;
	size_t layers = json_array_size(kinds);
	if (layers && (int64_t)layers != config->layers)
		return refuse(error, "mlp_layer_types has %zu layers, not %lld", layers, (long long)config->layers);
	if (layers > 64 * MODEL_DENSE_WORDS || (last >= 0 && config->layers > 64 * MODEL_DENSE_WORDS))
		return refuse(error, "mlp_layer_types: at most %d layers", 64 * MODEL_DENSE_WORDS);
	config->dense_layers = layers ? 0 : config->dense_layers;
	FOR_SIZE(i, layers) {
		const char *word = json_string_value(json_array_get(kinds, i));
		if (!word || (strcmp(word, "dense") != 0 && strcmp(word, "sparse") != 0))
			return refuse(error, "mlp_layer_types: expected \"dense\" or \"sparse\"");
		if (*word == 'd')
			config->dense[i / 64] |= UINT64_C(1) << i % 64;
	}
	for (int64_t i = last + 1; last >= 0 && i < config->layers; i++)
		config->dense[i / 64] |= UINT64_C(1) << i % 64;
	return OK;
}

/* Numbers of layers without experts. */
static enum status take_dense_layers(const json_t *file, struct model_config *config, struct error *error)
{
	const json_t *list = json_object_get(file, "mlp_only_layers");
	FOR_SIZE(i, json_array_size(list)) {
		const json_t *value = json_array_get(list, i);
		int64_t layer = json_is_integer(value) ? json_integer_value(value) : -1;
		if (layer < 0 || layer >= 64 * MODEL_DENSE_WORDS)
			return refuse(error, "mlp_only_layers: expected numbers of layers, below %d", 64 * MODEL_DENSE_WORDS);
		config->dense[layer / 64] |= UINT64_C(1) << layer % 64;
	}
	if (list && !json_is_array(list) && !json_is_null(list))
		return refuse(error, "mlp_only_layers: expected a list");
	return OK;
}

/* "relu", "gated-gelu": the library's gelu there is gelu_new. */
static enum status take_projection(const json_t *file, struct model_config *config, struct error *error)
{
	const json_t *value = json_object_get(file, "feed_forward_proj");
	const char *name = json_string_value(value);
	bool gated = name && strncmp(name, "gated-", 6) == 0;
	char text[80];
	if (!value)
		return OK;
	name = !gated ? name : strcmp(name, "gated-gelu") == 0 ? "gelu_new" : name + 6;
	if (!activation_named(name, &config->activation))
		return refuse(error, "feed_forward_proj is %s: expected relu, gelu or gated-gelu",
			hugging_face_describe(value, text, sizeof text));
	config->gated = gated;
	return OK;
}

/* Keys of one family alone. */
static enum status take_others(
	const json_t *file, const struct hf_type *type, struct hugging_face *model, struct error *error)
{
	struct model_config *config = &model->config;
	if (config->family == FAMILY_VIT) {
		const json_t *labels = json_object_get(file, "id2label");
		int64_t count = json_is_object(labels) ? (int64_t)json_object_size(labels) : 2;
		TRY(hugging_face_take_number(file, "num_labels", 2, 1 << 30, count, HF_REQUIRED, &config->classes, error));
		if (config->classes < 2)
			return refuse(error, "id2label has %lld labels: expected at least 2", (long long)count);
	}
	if (config->family == FAMILY_T5)
		TRY(take_projection(file, config, error));
	int64_t every = json_integer_value(json_object_get(file, "moe_layer_freq"));
	if (json_integer_value(json_object_get(file, "n_group")) > 1)
		config->router_nodes = json_integer_value(json_object_get(file, "topk_group"));
	if (config->family == FAMILY_DEEPSEEK && every > 1)
		hugging_face_note(model,
			"moe_layer_freq is %lld: as in transformers, which doesn't read it, every layer behind the first dense "
			"ones has experts",
			(long long)every);
	if (config->decoder_layers > LAYERS_MOST)
		return refuse(error, "num_decoder_layers: at most %d", LAYERS_MOST);
	if (config->residual == RESIDUAL_PARALLEL && json_is_false(json_object_get(file, "use_parallel_residual")))
		config->residual = RESIDUAL_ONE_AFTER_THE_OTHER;
	const json_t *width = json_object_get(file, "word_embed_proj_dim");
	if (json_is_integer(width) && json_integer_value(width) != config->hidden)
		return refuse(error, "word_embed_proj_dim is %lld: only hidden_size, %lld, is covered",
			(long long)json_integer_value(width), (long long)config->hidden);
	if (type->heads_fill && config->head_width && config->head_width != config->hidden / config->heads)
		return refuse(error,
			"head_dim is %lld: only hidden_size / num_attention_heads, %lld, is covered for model_type \"%s\"",
			(long long)config->head_width, (long long)(config->hidden / config->heads), type->name);
	config->positions += type->more_positions;
	if (config->shared_plain && config->shared_experts)
		config->shared_ffn = config->shared_experts * config->expert_ffn;
	TRY(take_layer_kinds(file, config, error));
	TRY(take_rotary(file, type, config, error));
	TRY(take_dense_layers(file, config, error));
	return take_window(file, type, model, error);
}

/* ---- keys nobody knows ---- */

/* The part of a dotted key before the dot is the key of the file. */
static bool same_key(const char *known, const char *key)
{
	return known && strlen(key) == strcspn(known, ".") && strncmp(known, key, strlen(key)) == 0;
}

static bool is_known(const struct hf_type *type, const char *key)
{
	for (const struct hf_size *row = type->sizes; row->key; row++)
		if (same_key(row->key, key))
			return true;
	for (const struct hf_switch *row = type->switches; row->key; row++)
		if (same_key(row->key, key))
			return true;
	for (const struct hf_setting *row = type->settings; row->key; row++)
		if (same_key(row->key, key))
			return true;
	for (int i = 0; i < 4 && type->dropouts[i]; i++)
		if (same_key(type->dropouts[i], key))
			return true;
	return same_key(type->activation, key) || same_key(type->inner, key) || hf_harmless(key);
}

static void note_unknown(json_t *file, const struct hf_type *type, struct hugging_face *model)
{
	char names[300] = "";
	const char *key;
	json_t *value;
	int more = 0;
	json_object_foreach(file, key, value) {
		size_t used = strlen(names);
		/* dropouts of other heads, and nothing, change nothing */
		if (is_known(type, key) || json_is_null(value) || json_is_false(value) ||
			(strstr(key, "drop") && json_number_value(value) == 0))
			continue;
		if (used + strlen(key) + 8 > sizeof names)
			more++;
		else
			snprintf(names + used, sizeof names - used, "%s%s", used ? ", " : "", key);
	}
	if (*names && more)
		hugging_face_note(model, "keys that are not understood, and may change the model: %s and %d more", names, more);
	else if (*names)
		hugging_face_note(model, "keys that are not understood, and may change the model: %s", names);
}

/* ---- one file ---- */

static const struct hf_type *type_named(const char *name)
{
	/* text models that are others with positions in three parts, which change no size */
	static const struct {
		const char *name, *as;
	} kin[] = { { "qwen2_vl_text", "qwen2" }, { "qwen2_5_vl_text", "qwen2" }, { "qwen3_vl_text", "qwen3" },
		{ "qwen3_vl_moe_text", "qwen3_moe" }, { "qwen2_vl", "qwen2" }, { "qwen2_5_vl", "qwen2" },
		{ "kimi_k2", "deepseek_v3" }, { "iquestcoder", "llama" }, { "internlm3", "llama" }, { "glm4v_text", "glm4" },
		{ "glm4v_moe_text", "glm4_moe" } };
	for (size_t i = 0; name && i < COUNT_OF(kin); i++)
		if (strcmp(name, kin[i].name) == 0)
			name = kin[i].as;
	for (const struct hf_type *type = hf_types; name && type->name; type++)
		if (strcmp(name, type->name) == 0)
			return type;
	return NULL;
}

/* What no type here has; "" where a file says nothing of such. */
static const char *missing_part(json_t *file)
{
	static const struct {
		const char *key, *what;
	} signs[] = { { "mamba", ", with state-space layers (Mamba)" }, { "ssm", ", with state-space layers (Mamba)" },
		{ "state_size", ", with state-space layers (Mamba)" }, { "linear_", ", with layers of linear attention" },
		{ "lru_width", ", with recurrent layers" }, { "rwkv", ", with recurrent layers" },
		{ "index_topk", ", with sparse attention" } };
	const json_t *kinds = json_object_get(file, "layer_types");
	const char *key;
	json_t *value;
	json_object_foreach(file, key, value)
		FOR(i, COUNT_OF(signs))
			if (strstr(key, signs[i].key) && !json_is_null(value))
				return signs[i].what;
	FOR_SIZE(i, json_array_size(kinds))
		if ((key = json_string_value(json_array_get(kinds, i))) && strcmp(key, "linear_attention") == 0)
			return signs[3].what;
	return "";
}

/* The model's type and *keys, the object that has its sizes: of a model of several parts the text model's. */
static const struct hf_type *type_of(json_t *file, json_t **keys, struct error *error)
{
	const json_t *value = json_object_get(file, "model_type");
	const char *name = json_string_value(value), *inner;
	char text[80];
	json_t *part = json_object_get(file, "text_config");
	const struct hf_type *type = NULL;
	*keys = file;
	if (!value) {
		refuse(error, "model_type is missing: not the config.json of a Hugging Face model");
		return NULL;
	}
	if (json_is_object(part) && (inner = json_string_value(json_object_get(part, "model_type"))) &&
		(type = type_named(inner)))
		*keys = part;
	else if ((type = type_named(name)) && type->inner)
		*keys = json_object_get(file, type->inner);
	if (type)
		return type;
	refuse(error,
		"model_type is %s: not built in%s; python3 -m tidemark_torch FILE (samples/torch) captures its step from "
		"transformers; tidemark(1) lists under model what is built in",
		hugging_face_describe(value, text, sizeof text), missing_part(json_is_object(part) ? part : file));
	return NULL;
}

static enum status take_keys(
	json_t *file, const json_t *whole, const struct hf_type *type, struct hugging_face *model, struct error *error)
{
	struct model_config *config = &model->config;
	TRY(check_settings(file, type, error));
	TRY(hugging_face_take_sizes(file, type, config, error));
	TRY(take_switches(file, type, config, error));
	TRY(take_activation(file, type, config, error));
	TRY(take_dropout(file, type, config, error));
	TRY(take_tied(file, whole, type, model, error));
	TRY(take_others(file, type, model, error));
	if (config->family != FAMILY_VIT)
		TRY(take_sequence(file, type, model, error));
	note_unknown(file, type, model);
	return OK;
}

/* The first whole number above 0 under one of those keys, of the text model or of all; 0: there is none. */
static int64_t hugging_face_size_of(json_t *file, const char *const key[4])
{
	int64_t size = 0;
	for (int i = 0; i < 4 && key[i] && size <= 0; i++) {
		const json_t *inner = json_object_get(json_object_get(file, "text_config"), key[i]);
		size = json_integer_value(inner ? inner : json_object_get(file, key[i]));
	}
	return LARGER(size, 0);
}

/* Of a type that isn't built in what commands ask for. */
static enum status hugging_face_unknown(json_t *file, struct hugging_face *model)
{
	int64_t positions = hugging_face_size_of(
		file, (const char *const[4]){ "max_position_embeddings", "n_positions", "max_seq_len", "model_max_length" });
	const char *name = json_string_value(json_object_get(file, "model_type"));
	*model = (struct hugging_face) { .unknown = true, .name = model->type, .config = { .family = FAMILY_COUNT,
		.flash = true, .batch = 1, .seq = SMALLER(positions ? positions : 2048, HUGGING_FACE_SEQ),
		.vocab = hugging_face_size_of(file, (const char *const[4]){ "vocab_size" }),
		.layers = hugging_face_size_of(
			file, (const char *const[4]){ "num_hidden_layers", "n_layer", "n_layers", "num_layers" }) } };
	PRINT_TO(model->type, "%s", name ? name : "");
	return BAD_INPUT;
}

static enum status hugging_face_take_file(json_t *file, struct hugging_face *model, struct error *error)
{
	json_t *keys;
	const struct hf_type *type = type_of(file, &keys, error);
	if (!type)
		return hugging_face_unknown(file, model);
	*model = (struct hugging_face) { .name = type->name, .config = type->base };
	model->config.batch = 1;
	model->config.dropout = type->dropped;
	/* A kin's class is its own: of those that keep the text model's sizes outside of any part, too. */
	const char *name = json_string_value(json_object_get(file, "model_type"));
	bool kin = name && strcmp(name, model->name) != 0;
	bool part = (keys != file && !type->inner) || (kin && json_object_get(file, "vision_config"));
	enum status status = part || kin ? OK : check_architecture(file, type, error);
	if (part)
		hugging_face_note(model, "the text model alone (%s): what makes tokens of images or sound is left out", type->name);
	if (type->assumed)
		hugging_face_note(model, "%s", type->assumed);
	if (json_is_object(json_object_get(file, "quantization_config")))
		hugging_face_note(model, "weights are counted as --precision has them, not as quantization_config stores them");
	if (status == OK)
		status = json_is_object(keys) ? take_keys(keys, file, type, model, error)
			: refuse(error, "%s is missing: expected an object", type->inner);
	if (model->config.experts)
		hugging_face_note(model, "every expert gets its fair share of the tokens (a capacity factor of 1); the "
			"load-balancing loss is left out");
	return status;
}

enum status hugging_face_read(const char *text, size_t size, struct hugging_face *model, struct error *error)
{
	struct error why = { 0 };
	json_t *file = json_read_text(text, size, "JSON", &why);
	enum status status = why.status;
	if (!file && error)
		*error = why;
	else if (file && !json_is_object(file))
		status = refuse(error, "not the config.json of a Hugging Face model: expected an object");
	else if (file)
		status = hugging_face_take_file(file, model, error);
	json_decref(file);
	return status;
}

/* ---- paths ---- */

/* Python writes Infinity and NaN into its JSON: zeros here. */
static void hugging_face_plain(char *at)
{
	for (bool quoted = false; *at; at++) {
		size_t length = strncmp(at, "Infinity", 8) == 0 ? 8 : strncmp(at, "NaN", 3) == 0 ? 3 : 0;
		quoted ^= *at == '"';
		if (quoted && *at == '\\' && at[1])
			at++;
		else if (!quoted && length)
			*(char *)memset(at, ' ', length) = '0';
	}
}

static enum status read_path(const char *path, char **text, size_t *size, struct error *error)
{
	struct error why = { 0 };
	*text = input_text(path, BYTES_MOST, size, &why);
	if (!*text)
		return fail(error, why.status, "%s", why.text);
	hugging_face_plain(*text);
	return OK;
}

bool hugging_face_is(const char *path)
{
	struct stat state = { 0 };
	char *text = NULL;
	size_t size;
	if (stat(path, &state) != 0 || !S_ISREG(state.st_mode))
		return S_ISDIR(state.st_mode);
	json_t *file = read_path(path, &text, &size, NULL) == OK ? json_loadb(text, size, 0, NULL) : NULL;
	bool is = json_is_string(json_object_get(file, "model_type"));
	json_memory_failed();
	json_decref(file);
	mem_free(text);
	return is;
}

/* A type that isn't built in may be one of the reader's in Python, which builds one layer of two tokens to tell. */
static enum status hugging_face_rare(
	const char *path, const char *text, size_t size, struct hugging_face *model, struct error *error)
{
	struct read_options options = { .dims = 2, .dim = { "seq=2", "layers=1" } };
	struct error why = { 0 };
	OWN(graph) *graph = python_child_graph("families", text, size, &options, &why);
	if (!graph)
		return why.status == BAD_INPUT && strcmp(why.text, "model_type") == 0 ? BAD_INPUT
			: fail(error, why.status, "%s", why.text);
	PRINT_TO(model->path, "%s", path);
	model->config.file = model->path;
	*error = (struct error){ 0 };
	return OK;
}

enum status hugging_face_open(const char *path, struct hugging_face *model, struct error *error)
{
	struct stat state;
	char inside[4096], *text;
	size_t size;
	bool folder = stat(path, &state) == 0 && S_ISDIR(state.st_mode);
	model->unknown = false;
	if (folder && PRINT_TO(inside, "%s/config.json", path) >= (int)sizeof inside)
		return refuse(error, "the path is too long");
	enum status status = read_path(folder ? inside : path, &text, &size, error);
	if (status != OK && folder && status == BAD_INPUT)
		return refuse(error, "a folder without a config.json that can be read");
	if (status == OK)
		status = hugging_face_read(text, size, model, error);
	if (status == BAD_INPUT && model->unknown)
		status = hugging_face_rare(folder ? inside : path, text, size, model, error);
	mem_free(text);
	return status;
}

enum status hugging_face_fits(const struct hugging_face *model, int64_t seq, struct error *error)
{
	if (!model->seq_most || seq <= model->seq_most)
		return OK;
	return refuse(error, "a sequence of %lld is longer than %s, which is %lld", (long long)seq, model->seq_key,
		(long long)model->seq_most);
}

struct model_config hugging_face_config(const struct hugging_face *model)
{
	struct model_config config = model->config;
	config.format = "Hugging Face config.json";
	config.assumed = *model->notes ? model->notes : NULL;
	return config;
}
