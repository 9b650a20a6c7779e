/* launch.c: reads launch configurations: YAML and JSON by libyaml, TOML as YAML, arguments of a shell. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <yaml.h>

#include "launch.h"
#include "src/base/source.h"
#include "src/base/words.h"

#define FILE_MOST  ((size_t)1 << 20)
#define NAME_MOST  256
#define NODES_MOST 100000 /* with those that aliases repeat */

static enum status launch_wrong(struct error *error, unsigned line, const char *text)
{
	refuse(error, "%s", text);
	error->line = line;
	return BAD_INPUT;
}

/* ---- YAML, JSON, TOML ---- */

static enum status launch_walk(
	struct launch *launch, yaml_document_t *document, int index, struct words path, struct error *error)
{
	const yaml_node_t *node = yaml_document_get_node(document, index), *key;
	unsigned line = (unsigned)node->start_mark.line + 1;
	char value[NAME_MOST] = "";
	struct words list = { value, sizeof value, 0 };
	size_t length = path.at;
	if (++launch->nodes > NODES_MOST || length > NAME_MOST / 2)
		return launch_wrong(error, line, "too much, or too many levels");
	if (node->type == YAML_SCALAR_NODE)
		return launch_take(launch, path.text, (const char *)node->data.scalar.value, line, error);
	if (node->type == YAML_SEQUENCE_NODE)
		for (const yaml_node_item_t *item = node->data.sequence.items.start; item < node->data.sequence.items.top; item++)
			if ((key = yaml_document_get_node(document, *item))->type == YAML_SCALAR_NODE)
				words_add(&list, "%s%s", list.at ? "+" : "", (const char *)key->data.scalar.value);
	if (node->type == YAML_SEQUENCE_NODE)
		return launch_take(launch, path.text, value, line, error);
	for (const yaml_node_pair_t *pair = node->data.mapping.pairs.start; pair < node->data.mapping.pairs.top; pair++) {
		key = yaml_document_get_node(document, pair->key);
		path.at = length;
		if (key->type == YAML_SCALAR_NODE)
			words_add(&path, "%s%s", length ? "." : "", (const char *)key->data.scalar.value);
		TRY(launch_walk(launch, document, pair->value, path, error));
		path.text[length] = '\0';
	}
	return OK;
}

static enum status launch_read_yaml(struct launch *launch, const char *text, struct error *error)
{
	char path[NAME_MOST] = "";
	yaml_parser_t parser;
	yaml_document_t document;
	enum status status = OK;
	if (!yaml_parser_initialize(&parser))
		return fail_memory(error);
	yaml_parser_set_input_string(&parser, (const unsigned char *)text, strlen(text));
	if (!yaml_parser_load(&parser, &document)) {
		status = parser.error == YAML_MEMORY_ERROR ? fail_memory(error)
			: launch_wrong(error, (unsigned)parser.problem_mark.line + 1, parser.problem);
	} else {
		if (yaml_document_get_root_node(&document))
			status = launch_walk(launch, &document, 1, (struct words){ path, sizeof path, 0 }, error);
		yaml_document_delete(&document);
	}
	yaml_parser_delete(&parser);
	return status;
}

static bool launch_is_name(const char *word, size_t length)
{
	FOR_SIZE(i, length)
		if (!isalnum((unsigned char)word[i]) && !strchr("_-.\"", word[i]))
			return false;
	return length > 0;
}

/* "[table]". */
static bool launch_is_table(const char *at)
{
	const char *name = at + strspn(at, "[");
	size_t length = strcspn(name, "]\n");
	return *at == '[' && name[length] == ']' && isalpha((unsigned char)*name) && launch_is_name(name, length);
}

/* Tables are keys, what is in them comes behind a blank; a line stays a line. */
static enum status launch_read_toml(struct launch *launch, const char *text, struct error *error)
{
	size_t size = strlen(text) * 2 + 8;
	const char *blank = "";
	char *yaml = mem_alloc(size, 1);
	if (!yaml)
		return fail_memory(error);
	struct words words = { yaml, size, 0 };
	for (const char *at = text; *at; at += *at == '\n') {
		at += strspn(at, " \t");
		int length = (int)strcspn(at, "\n"), key = (int)strcspn(at, " \t=\n");
		const char *equals = at + key + strspn(at + key, " \t");
		if (launch_is_table(at))
			words_add(&words, "%.*s:\n", (int)strcspn(at + strspn(at, "["), "]"), at + strspn(at, "["));
		else if (launch_is_name(at, (size_t)key) && *equals == '=')
			words_add(&words, "%s%.*s: %.*s\n", blank, key, at, length - (int)(equals + 1 - at), equals + 1);
		else
			words_add(&words, "%s%.*s\n", blank, length, at);
		blank = launch_is_table(at) ? " " : blank;
		at += length;
	}
	enum status status = launch_read_yaml(launch, yaml, error);
	mem_free(yaml);
	return status;
}

/* ---- arguments ---- */

/* $NAME, ${NAME}, ${NAME:-word}: what the script sets it to. */
static void launch_expand(const char *text, char *word)
{
	char name[80], *other = strstr(word, ":-");
	if (*word != '$')
		return;
	PRINT_TO(name, "%.*s=", (int)strcspn(word + 1 + (word[1] == '{'), ":}"), word + 1 + (word[1] == '{'));
	for (const char *at = text; (at = strstr(at, name)); at++) {
		size_t length = strcspn(at + strlen(name), " \t\r\n;#");
		const char *value = at + strlen(name) + (at[strlen(name)] == '"'), *inner = strstr(value, ":-");
		if (at > text && !strchr(" \t\n", at[-1]))
			continue;
		value = inner && inner < value + length ? inner + 2 + (inner[2] == '"') : value;
		length = strcspn(value, " \t\r\n;#\"}");
		if (*value != '$' && length < 80) {
			snprintf(word, NAME_MOST, "%.*s", (int)length, value);
			return;
		}
	}
	if (other) {
		memmove(word, other + 2, strlen(other + 2) + 1);
		word[strcspn(word, "}")] = '\0';
	}
}

static enum status launch_read_arguments(struct launch *launch, const char *text, struct error *error)
{
	char option[NAME_MOST] = "", value[NAME_MOST] = "", word[NAME_MOST];
	unsigned line = 1, where = 1;
	for (const char *at = text;;) {
		size_t length = strcspn(at, " \t\r\n\"'()[],;\\");
		if (*at && (length == 0 || *at == '#')) {
			at += *at == '#' ? strcspn(at, "\n") : (line += *at == '\n', 1);
			continue;
		}
		PRINT_TO(word, "%.*s", length < sizeof word ? (int)length : 0, at);
		char *equals = strchr(word, '=');
		bool begins = strncmp(word, "--", 2) == 0, sets = equals && *word != '$';
		if ((begins || sets || !*at) && *option)
			TRY(launch_take(launch, option, *value ? value : "true", where, error));
		if (!*at)
			return OK;
		at += length;
		if (begins || sets) {
			PRINT_TO(option, "%.*s", begins ? (int)strcspn(word, "=") : 0, word);
			memmove(word, equals ? equals + 1 : "", equals ? strlen(equals + 1) + 1 : 1);
			value[0] = '\0';
			where = line;
		}
		struct words words = { value, sizeof value, strlen(value) };
		launch_expand(text, word);
		if (line == where || !*value)   /* further values are on its line */
			words_add(&words, "%s%s", words.at && *word ? "+" : "", word);
		where = *value ? where : line;
	}
}

/* ---- what it comes to ---- */

static int64_t launch_number(const struct launch *launch, enum launch_slot slot, int64_t otherwise)
{
	int64_t number = strtoll(launch->value[slot], NULL, 10);
	return number > 0 ? number : otherwise;
}

/* "knob=" and a number, where it's more than `least`. */
static enum status launch_set(struct launch *launch, const char *knob, int64_t value, int64_t least)
{
	return value > least ? launch_add(launch, false, 0, "%s%lld", knob, (long long)value) : OK;
}

static enum status launch_recompute(struct launch *launch)
{
	const char *how = launch->value[LAUNCH_recompute], *what = launch->value[LAUNCH_what];
	const char *share = launch->value[LAUNCH_share];
	bool titan = launch->launcher == LAUNCHER_torchtitan, selective = strcmp(how, "selective") == 0;
	int64_t every = launch_number(launch, LAUNCH_every, 1);
	if (!*how)
		return OK;
	if (strcmp(how, "knapsack") == 0)
		return launch_add(launch, false, 0, "recompute=knapsack:%.0f%%", *share ? 100 * strtod(share, NULL) : 50);
	if (titan && selective)
		return strcmp(what, "op") == 0 ? launch_add(launch, false, 0, "recompute=products")
			: launch_set(launch, "recompute=every:", launch_number(launch, LAUNCH_what, 2), 0);
	if (selective && *what && strcmp(what, "core_attn") != 0)
		return launch_add(launch, false, 0, "recompute=ops:%s", what);
	if (!selective && every > 1 && strcmp(launch->value[LAUNCH_method], "uniform") == 0)
		return launch_set(launch, "recompute=layers:", every, 0);
	return launch_add(launch, false, 0, "recompute=%s", how);
}

/* wide: devices that have samples of their own. */
static enum status launch_batch(struct launch *launch, int64_t wide, int64_t pp, struct error *error)
{
	int64_t batch = launch_number(launch, LAUNCH_batch, 0), local = launch_number(launch, LAUNCH_local, 0);
	int64_t micro = local && pp > 1 ? launch_number(launch, LAUNCH_piece, 1) : launch_number(launch, LAUNCH_micro, local);
	int64_t count = launch_number(launch, LAUNCH_accumulation, 0);
	if (!batch)
		batch = (local ? local : micro * (count ? count : 1)) * wide;
	if (batch && micro && batch % (micro * wide) != 0)
		return refuse(error, "%lld samples a step can't be microbatches of %lld on each of %lld devices",
			(long long)batch, (long long)micro, (long long)wide);
	if (micro)
		count = batch / (micro * wide);
	TRY(launch_set(launch, "batch=", batch, 0));
	return launch_set(launch, "microbatches=", count, 0);
}

/* shard: devices that share states. */
static int64_t launch_zero(const struct launch *launch, int64_t shard)
{
	int64_t zero = launch_number(launch, LAUNCH_zero, 0);
	bool fsdp = !*launch->value[LAUNCH_zero] && strcmp(launch->value[LAUNCH_kind], "fsdp") == 0;
	if (launch->launcher == LAUNCHER_torchtitan || fsdp)
		return shard > 1 ? 3 : 0;
	return zero == 4 ? launch_number(launch, LAUNCH_kind, 0) : zero;   /* 4: Megatron's FSDP says apart what it cuts */
}

static enum status launch_pipeline(struct launch *launch, int64_t pp)
{
	int64_t each = launch_number(launch, LAUNCH_chunk_layers, 0), layers = launch_number(launch, LAUNCH_layers, 0);
	int64_t chunks = each && layers ? layers / pp / each : launch_number(launch, LAUNCH_chunks, 1);
	const char *schedule = chunks > 1 ? "interleaved" : launch->value[LAUNCH_schedule];
	TRY(launch_set(launch, "chunks=", pp > 1 ? chunks : 1, 1));
	return pp > 1 && *schedule ? launch_add(launch, false, 0, "schedule=%s", schedule) : OK;
}

/* Axes of the mesh, strategy and ZeRO stage; wide: devices of all axes but tp, pp and cp; shard: that share states. */
static enum status launch_mesh(struct launch *launch, int64_t devices, int64_t wide, int64_t shard)
{
	int64_t tp = launch_number(launch, LAUNCH_tp, 1), pp = launch_number(launch, LAUNCH_pp, 1);
	int64_t cp = launch_number(launch, LAUNCH_cp, 1), ep = launch_number(launch, LAUNCH_ep, 1);
	int64_t zero = launch_zero(launch, shard * cp);
	TRY(launch_add(launch, false, 0, "strategy=%s", tp * cp * ep > 1 ? "megatron" : zero ? "zero"
		: devices > pp ? "data" : "none"));
	TRY(launch_set(launch, "dp=", wide / ep, 0));
	TRY(launch_set(launch, "tp=", tp, 0));
	TRY(launch_set(launch, "pp=", pp, 0));
	TRY(launch_set(launch, "cp=", cp, 0));
	TRY(launch_set(launch, "ep=", ep, 0));
	if (tp > 1 && launch->launcher != LAUNCHER_torchtitan)
		TRY(launch_add(launch, false, 0, "sp=%s", *launch->value[LAUNCH_sp] ? "on" : "off"));
	TRY(launch_set(launch, "zero=", zero, -1));
	return launch_set(launch, "replicate=", zero ? wide / shard : 1, 1);
}

static enum status launch_degrees(struct launch *launch, int64_t devices, struct error *error)
{
	int64_t tp = launch_number(launch, LAUNCH_tp, 1), pp = launch_number(launch, LAUNCH_pp, 1), inner;
	int64_t cp = launch_number(launch, LAUNCH_cp, 1), ep = launch_number(launch, LAUNCH_ep, 1);
	int64_t nodes = launch_number(launch, LAUNCH_nodes, 1), copies = launch_number(launch, LAUNCH_replicate, 1);
	int64_t shard = launch_number(launch, LAUNCH_shard, 0), node = launch_number(launch, LAUNCH_per_node, 0);
	int64_t said = launch_number(launch, LAUNCH_devices, nodes * node);
	if (__builtin_mul_overflow(tp * pp, cp, &inner) || inner > 1 << 20 || copies * (shard + ep) > 1 << 20)
		return refuse(error, "more than 2^20 devices");
	if (devices > 1)   /* who sets them before the file wants those */
		said = devices;
	if (said == 0) {
		said = inner * copies * (shard ? shard : ep);
		TRY(launch_add(launch, true, 0, "no number of devices: counted with %d; say devices=N before it", (int)said));
	}
	devices = said;
	int64_t wide = devices / inner;
	if (strcmp(launch->value[LAUNCH_shard], "node") == 0)
		shard = wide / nodes;
	if (launch->launcher == LAUNCHER_deepspeed && shard)
		copies = wide / shard;
	shard = shard ? shard : wide / copies;
	if (wide % ep != 0 || wide * inner != devices || shard < 1 || (copies > 1 && copies * shard != wide))
		return refuse(error, "%d devices can't be tp %d x pp %d x cp %d, with ep %d and %d replicas; devices=N before "
			"it counts instead", (int)devices,
			(int)tp, (int)pp, (int)cp, (int)ep, (int)copies);
	TRY(launch_set(launch, "devices=", devices, 0));
	TRY(launch_set(launch, "devices_per_node=", node ? node : devices / nodes, node || nodes > 1 ? 0 : devices));
	TRY(launch_mesh(launch, devices, wide, shard));
	TRY(launch_pipeline(launch, pp));
	return launch_batch(launch, wide, pp, error);
}

static enum status launch_resolve(struct launch *launch, int64_t devices, struct error *error)
{
	static const char *const software[LAUNCHER_COUNT] = { [LAUNCHER_torchtitan] = "torchtitan",
		[LAUNCHER_megatron] = "megatron-lm", [LAUNCHER_nemo] = "megatron-bridge" };
	const char *precision = launch->value[*launch->value[LAUNCH_dtype] ? LAUNCH_dtype : LAUNCH_precision];
	bool whole = launch->launcher == LAUNCHER_deepspeed || launch->launcher == LAUNCHER_megatron;
	TRY(launch_degrees(launch, devices, error));
	if (*precision || whole)
		TRY(launch_add(launch, false, 0, "precision=%s", *precision ? precision : "fp32"));
	for (int slot = LAUNCH_reshard_after_forward; slot < LAUNCH_SLOT_COUNT; slot++)
		if (*launch->value[slot])
			TRY(launch_add(launch, false, 0, "%s=%s", launch_slot_names[slot], launch->value[slot]));
	TRY(launch_recompute(launch));
	return software[launch->launcher] ? launch_add(launch, false, 0, "software=%s", software[launch->launcher]) : OK;
}

/* ---- which of them ---- */

static enum status launch_read_knobs(struct launch *launch, char *text)
{
	unsigned line = 1;
	for (char *at = text, *next; at; at = next, line++) {
		next = strchr(at, '\n');
		if (next)
			*next++ = '\0';
		at += strspn(at, " \t");
		size_t length = strcspn(at, "#\r");
		while (length > 0 && strchr(" \t", at[length - 1]))
			length--;
		if (length > 0)
			TRY(launch_add(launch, false, line, "%.*s", (int)length, at));
	}
	return OK;
}

static enum status launch_read_text(struct launch *launch, char *text, int64_t devices, struct error *error)
{
	const char *at = text;
	for (;; at += strcspn(at, "\n")) {
		at += strspn(at, " \t\r\n");
		if (*at != '#' && strncmp(at, "---\n", 4) != 0)
			break;
	}
	size_t key = strcspn(at, ":\n");
	bool table = launch_is_table(at), options = strstr(text, "--");
	bool yaml = *at == '{' || (at[key] == ':' && strchr(" \r\n", at[key + 1]) && launch_is_name(at, key));
	if (yaml || table || options)
		TRY(yaml ? launch_read_yaml(launch, text, error) : table ? launch_read_toml(launch, text, error)
			: launch_read_arguments(launch, text, error));
	if (!launch->known)
		return yaml || table ? refuse(error, "no key of it is known: neither knobs, one a line, nor a "
			"launcher's") : launch_read_knobs(launch, text);
	if (table || (launch->launcher == LAUNCHER_nemo && options))
		launch->launcher = table ? LAUNCHER_torchtitan : LAUNCHER_megatron;
	return launch_resolve(launch, devices, error);
}

enum status launch_read(struct launch *launch, const char *path, int64_t devices, struct error *error)
{
	size_t size;
	*launch = (struct launch){ .launcher = LAUNCHER_any };
	char *text = input_text(path, FILE_MOST, &size, error);
	if (!text)
		return error->status;
	enum status status = memchr(text, 0, size) ? refuse(error, "holds a byte 0: it isn't text")
		: launch_read_text(launch, text, devices, error);
	mem_free(text);
	return status == NO_MEMORY ? fail_memory(error) : status;
}
