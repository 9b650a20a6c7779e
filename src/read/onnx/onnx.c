/* onnx.c: from an ONNX ModelProto to a graph; field numbers are those of onnx.proto. Lengths are checked by wire.c. */
#include <stdlib.h>

#include "onnx.h"
#include "shapes.h"
#include "solver/rules/rules.h"
#include "src/base/words.h"

#define SYMBOLS 3     /* that are asked for at once */
#define DEPTH_MOST 64 /* graphs in graphs: protocol buffers themselves end at a hundred messages in one another */

/* The names of a branch that is opened: two branches may use the same ones. */
struct scope { struct names names; struct scope *outer; };

struct reader {
	struct error *error;
	struct draft *draft;
	struct rules *rules;
	struct arena arena;
	const char *const *dim;
	uint32_t dims;
	struct names names;  /* tensors to shapes */
	struct scope *scope; /* of the branch that is being read; NULL: of none */
	unsigned depth;      /* of branches in branches */
	struct onnx_shape *shape;
	uint32_t shapes;
	size_t room;
	uint32_t inferred, missing, subgraphs, opened;
	char symbol[SYMBOLS][64]; /* of missing sizes, to be asked for: the first ones */
	struct wire producer, version;
	uint64_t ir, opset; /* opset: 0: not said */
	uint32_t functions; /* of the model's own */
};

static enum status onnx_bad(struct reader *reader, const char *what)
{
	return refuse(reader->error, "not an ONNX model: %s", what);
}

static size_t onnx_least(size_t a, size_t b)
{
	return SMALLER(a, b);
}

static const char *onnx_text_of(struct reader *reader, struct wire body)
{
	const unsigned char *nul = memchr(body.at, '\0', wire_size(body));
	return arena_text(&reader->arena, (const char *)body.at, nul ? (size_t)(nul - body.at) : wire_size(body));
}

static uint32_t find_shape(const struct reader *reader, const char *name)
{
	for (const struct scope *scope = reader->scope; scope; scope = scope->outer) {
		uint32_t id = names_find(&scope->names, name);
		if (id != NONE)
			return id;
	}
	return names_find(&reader->names, name);
}

/* The shape of a name, made where there is none; NULL when out of memory. */
static struct onnx_shape *onnx_shape_of(struct reader *reader, const char *name)
{
	uint32_t id = name ? find_shape(reader, name) : NONE;
	if (id != NONE)
		return &reader->shape[id];
	if (!name || !mem_reserve(&reader->shape, &reader->room, reader->shapes + 1, sizeof *reader->shape)
		|| names_add(reader->scope ? &reader->scope->names : &reader->names, name, reader->shapes) == NONE)
		return NULL;
	reader->shape[reader->shapes] = (struct onnx_shape){ .name = name, .tensor = NONE };
	return &reader->shape[reader->shapes++];
}

/* ---- what the file says of tensors ---- */

/* The name of a size that nobody gave; "unk__" stands for what shape inference gave up. */
static void keep_symbol(struct reader *reader, struct wire name)
{
	char text[64];
	PRINT_TO(text, "%.*s", (int)wire_size(name), (const char *)name.at);
	for (size_t i = 0; i < SYMBOLS && strncmp(text, "unk__", 5) != 0 && strcmp(reader->symbol[i], text) != 0; i++)
		if (!*reader->symbol[i]) {
			snprintf(reader->symbol[i], sizeof *reader->symbol, "%s", text);
			return;
		}
}

/* TensorShapeProto.Dimension: dim_value 1, dim_param 2. */
static bool read_dim(struct reader *reader, struct wire body, int64_t *size)
{
	struct wire_field field;
	bool known = false;
	while (wire_next(&body, &field)) {
		if (field.number == 1 && field.type == 0 && (int64_t)field.value >= 0) {
			*size = (int64_t)field.value;
			known = true;
		}
		for (uint32_t i = 0; i < reader->dims && field.number == 2 && field.type == 2; i++) {
			size_t length = strcspn(reader->dim[i], "=");
			if (length == wire_size(field.body) && memcmp(reader->dim[i], field.body.at, length) == 0) {
				*size = strtoll(reader->dim[i] + length + 1, NULL, 10);
				known = true;
			}
		}
		if (field.number == 2 && field.type == 2 && !known && wire_size(field.body) > 0 && wire_size(field.body) < 60)
			keep_symbol(reader, field.body);
	}
	return known;
}

/* TypeProto.Tensor: elem_type 1, shape 2. */
static enum status onnx_read_type(struct reader *reader, struct wire body, struct onnx_shape *shape)
{
	struct wire_field field, dim;
	while (wire_next(&body, &field)) {
		int dtype = field.number == 1 && field.type == 0 ? onnx_dtype(field.value) : -1;
		if (dtype >= 0) {
			shape->dtype = (uint8_t)dtype;
			shape->typed = true;
		}
		if (field.number != 2 || field.type != 2)
			continue;
		shape->known = true;
		shape->dims = 0;
		while (wire_next(&field.body, &dim)) {
			if (dim.number != 1 || dim.type != 2)
				continue;
			if (shape->dims == DIMS_MAX)
				return onnx_bad(reader, "a shape has too many dims");
			shape->known &= read_dim(reader, dim.body, &shape->dim[shape->dims++]);
		}
	}
	return OK;
}

/* ValueInfoProto: name 1, type 2, in which tensor_type is 1. */
static enum status read_value(struct reader *reader, struct wire body, struct onnx_shape **found)
{
	struct wire_field field, type;
	struct wire again = body;
	const char *name = NULL;
	while (wire_next(&again, &field))
		if (field.number == 1 && field.type == 2 && !(name = onnx_text_of(reader, field.body)))
			return fail_memory(reader->error);
	*found = onnx_shape_of(reader, name ? name : "");
	if (!(*found))
		return fail_memory(reader->error);
	while (wire_next(&body, &field))
		while (field.number == 2 && field.type == 2 && wire_next(&field.body, &type))
			if (type.number == 1 && type.type == 2)
				TRY(onnx_read_type(reader, type.body, *found));
	return OK;
}

/* A TensorProto: of small ones the numbers are looked at, of all others none, here or in another file. */
static enum status read_weight(struct reader *reader, struct wire body)
{
	struct onnx_shape read = { 0 };
	struct wire named = { 0 };
	enum status status = onnx_tensor(body, &read, &named, &reader->arena);
	if (status != OK)
		return status == NO_MEMORY ? fail_memory(reader->error) : onnx_bad(reader, "a weight has too many dims");
	const char *name = named.at ? onnx_text_of(reader, named) : "";
	const char *wrong = onnx_place_wrong(body);
	if (name && wrong) {
		char text[160];
		PRINT_TO(text, "the data of weight \"%.80s\" %s", name, wrong);
		return onnx_bad(reader, text);
	}
	struct onnx_shape *shape = name ? onnx_shape_of(reader, name) : NULL;
	if (!shape)
		return fail_memory(reader->error);
	read.name = shape->name;
	read.input = shape->input;
	read.output = shape->output;
	read.weight = true;
	read.tensor = shape->tensor;
	*shape = read;
	return OK;
}

static enum status read_tensors(struct reader *reader, struct wire graph)
{
	struct wire_field field;
	enum status status = OK;
	while (status == OK && wire_next(&graph, &field)) {
		struct onnx_shape *shape;
		if (field.type != 2)
			continue;
		if (field.number == 5)
			status = read_weight(reader, field.body);
		else if ((field.number == 11 || field.number == 12 || field.number == 13) &&
			(status = read_value(reader, field.body, &shape)) == OK) {
			shape->input |= field.number == 11;
			shape->output |= field.number == 12 && !reader->scope;
		}
	}
	return status == OK && graph.broken ? onnx_bad(reader, "its graph is broken") : status;
}

/* ---- what follows from operands ---- */

/* Element by element, with broadcasting: false where a dim is unknown or they don't agree. */
static bool onnx_broadcast(
	const struct onnx_shape *a, const struct onnx_shape *b, uint8_t leave, struct onnx_shape *out)
{
	uint8_t dims = LARGER(a->dims, b->dims);
	for (uint8_t i = 0; i + leave < dims; i++) {
		uint8_t from_end = (uint8_t)(dims - i);
		int64_t one = from_end <= a->dims ? a->dim[a->dims - from_end] : 1,
				two = from_end <= b->dims ? b->dim[b->dims - from_end] : 1;
		if (one != two && one != 1 && two != 1)
			return false;
		out->dim[i] = one == 1 ? two : one;
	}
	out->dims = dims;
	return true;
}

/* The next dim's letters of a rule's operand, without the mark that it is needed whole; at its end one of ",-" or
 * nothing. */
static char next_letter(const char **at)
{
	while (**at == '^' || **at == ' ')
		++*at;
	return **at ? *(*at)++ : '\0';
}

/* The first result is of the first operand's shape: "... v^, v -> ... v". Not where windows, groups or sums are named.
 */
static bool keeps_shape(const char *factors)
{
	const char *arrow = strstr(factors, "->"), *from = factors, *to = arrow ? arrow + 2 : NULL;
	if (!to)
		return false;
	for (;;) {
		char a = next_letter(&from), b = next_letter(&to);
		bool end_a = a == ',' || a == '-' || a == '\0', end_b = b == ',' || b == '\0';
		if (end_a || end_b)
			return end_a && end_b;
		if (a != b || strchr("@|(~+*?&!", a))
			return false;
	}
}

static void infer(struct reader *reader, const char *type, const uint32_t *in, uint32_t ins, uint32_t out)
{
	const struct rule *rule = rules_find(reader->rules, type);
	struct onnx_shape *result = &reader->shape[out];
	struct onnx_shape made = { 0 };
	bool known = rule && ins > 0 && !result->known, keeps = known && keeps_shape(rule->factors);
	for (uint32_t i = 0; known && i < (keeps ? 1 : ins); i++)
		known = in[i] != NONE && reader->shape[in[i]].known && reader->shape[in[i]].typed;
	if (!known)
		return;
	const struct onnx_shape *a = &reader->shape[in[0]], *b = ins > 1 ? &reader->shape[in[1]] : a;
	if (keeps) {
		made = *a;
	} else if (strcmp(rule->factors, "...* -> ...*") == 0) {
		made = *a;
		for (uint32_t i = 1; known && i < ins; i++) {
			struct onnx_shape wider = made;
			known = onnx_broadcast(&made, &reader->shape[in[i]], 0, &wider);
			made = wider;
		}
	} else if (rule->traits & TRAIT_PRODUCT && ins == 2 && a->dims >= 2 && b->dims >= 2 &&
		onnx_broadcast(a, b, 2, &made)) {
		made.dim[made.dims - 2] = a->dim[a->dims - 2];
		made.dim[made.dims - 1] = b->dim[b->dims - 1];
	} else {
		known = false;
	}
	if (!known)
		return;
	memcpy(result->dim, made.dim, sizeof made.dim);
	result->dims = made.dims;
	if (!result->typed)
		result->dtype = a->dtype;
	result->typed = result->known = result->inferred = true;
}

/* ---- the graph ---- */

static enum status onnx_add_tensor(struct reader *reader, uint32_t id, enum kind kind, uint32_t alias)
{
	struct onnx_shape *shape = &reader->shape[id];
	bool sized = shape->known && shape->typed;
	int64_t bits = sized ? dtype_bits[shape->dtype] : 0;
	for (uint8_t i = 0; i < shape->dims && sized; i++)
		if (shape->dim[i] < 0 || __builtin_mul_overflow(bits, shape->dim[i], &bits) || bits > BYTES_MAX)
			return refuse(reader->error, "the size of \"%.60s\" overflows", shape->name);
	size_t length = strlen(shape->name);
	char *unique = arena_alloc(&reader->arena, length + 25, 1);
	if (!unique)
		return fail_memory(reader->error);
	memcpy(unique, shape->name, length + 1);
	draft_unique(reader->draft, unique, length, draft_find_tensor); /* branches may have the same names */
	struct tensor tensor = { .name = unique,
		.alias = alias,
		.kind = (uint8_t)kind,
		.dtype = shape->typed ? shape->dtype : DTYPE_OPAQUE,
		.dims = shape->known ? shape->dims : 0,
		.shape = shape->known ? shape->dim : NULL,
		.has_shape = shape->known,
		.has_dtype = shape->typed,
		.has_bytes = true,
		.bytes = (bits + 7) / 8 };
	reader->missing += !sized;
	reader->inferred += sized && shape->inferred;
	shape->tensor = draft_tensor(reader->draft, &tensor);
	return shape->tensor == NONE ? fail_memory(reader->error) : OK;
}

/* What nothing in the graph makes: floating-point weights are parameters, others constants. */
static enum status onnx_add_leaf(struct reader *reader, uint32_t id)
{
	const struct onnx_shape *shape = &reader->shape[id];
	bool floating = shape->typed && (shape->dtype <= DTYPE_BF16);
	return onnx_add_tensor(reader, id, shape->weight ? floating ? KIND_PARAMETER : KIND_CONSTANT : KIND_INPUT, NONE);
}

/* Names of a node's inputs or outputs as shapes; NONE for one that is left out. */
static enum status onnx_read_names(
	struct reader *reader, struct wire node, uint32_t number, uint32_t **list, const char ***name, uint32_t *count)
{
	struct wire_field field;
	struct wire again = node;
	uint32_t most = 0;
	while (wire_next(&again, &field))
		most += field.number == number && field.type == 2;
	if (!(ROOM(&reader->arena, *list, most) && ROOM(&reader->arena, *name, most)))
		return fail_memory(reader->error);
	while (wire_next(&node, &field)) {
		if (field.number != number || field.type != 2)
			continue;
		const char *text = onnx_text_of(reader, field.body);
		struct onnx_shape *shape = text && *text ? onnx_shape_of(reader, text) : NULL;
		if (!text || (*text && !shape))
			return fail_memory(reader->error);
		(*name)[*count] = text;
		(*list)[(*count)++] = shape ? (uint32_t)(shape - reader->shape) : NONE;
	}
	return OK;
}

/* Ops of other domains whose sizes are told; others of their names may mean something else. */
static bool of_known_domain(const char *type)
{
	static const struct { const char *domain, *words; } known[] = {
		{ "com.microsoft.",
			" QuantizeLinear DequantizeLinear QLinearSigmoid QLinearLeakyRelu QLinearSoftmax QLinearAdd QLinearMul "
			"MatMulNBits FusedConv Gelu BiasGelu FastGelu QuickGelu "
			"ReluGrad GeluGrad FastGeluGrad BiasGeluGrad_dX TanhGrad SigmoidGrad DropoutGrad SoftmaxGrad "
			"SoftmaxGrad_13 LogSoftmaxGrad LogSoftmaxGrad_13 SoftmaxCrossEntropyLossGrad AdamOptimizer " },
		{ "ai.onnx.preview.training.", " Adagrad Adam Momentum " },
	};
	FOR(i, COUNT_OF(known)) {
		char word[80];
		size_t length = strlen(known[i].domain);
		if (strncmp(type, known[i].domain, length))
			continue;
		PRINT_TO(word, " %.70s ", type + length);
		return strstr(known[i].words, word) != NULL;
	}
	return false;
}

/* Of a node: its type "onnx.Conv" ("com.microsoft.Gelu" of another domain), of ONNX's own domain the op in it, its
 * name, and how many graphs its attributes hold. */
static enum status read_words(
	struct reader *reader, struct wire node, const char **type, const char **own, const char **name)
{
	struct wire_field field, attribute;
	struct wire words[8] = { { 0 } };
	while (wire_next(&node, &field)) {
		if (field.type == 2 && field.number < 8)
			words[field.number] = field.body;
		while (field.number == 5 && field.type == 2 && wire_next(&field.body, &attribute))
			reader->subgraphs += attribute.type == 2 && (attribute.number == 6 || attribute.number == 11);
	}
	char text[300];
	bool foreign = wire_size(words[7]) > 0;
	PRINT_TO(text, "%.*s.%.*s", foreign ? (int)onnx_least(wire_size(words[7]), 100) : 4,
		foreign ? (const char *)words[7].at : "onnx",
		(int)onnx_least(wire_size(words[4]), 150), words[4].at ? (const char *)words[4].at : "");
	*type = arena_text(&reader->arena, text, strlen(text));
	bool other = foreign && (wire_size(words[7]) != strlen("ai.onnx") || memcmp(words[7].at, "ai.onnx", 7) != 0);
	*own = *type && (!other || of_known_domain(*type)) ? strrchr(*type, '.') + 1 : NULL;
	*name = words[3].at ? onnx_text_of(reader, words[3]) : "";
	return *type && *name ? OK : fail_memory(reader->error);
}

/* ---- graphs inside of ops: what they read of outside ---- */

/* A name that an op's graph reads. Names are given once in a model, its inner graphs included: one that is known here
 * so far comes from here. */
static enum status read_captured(struct reader *reader, uint32_t op, struct wire named)
{
	const char *name = onnx_text_of(reader, named);
	uint32_t id = name && *name ? find_shape(reader, name) : NONE;
	if (!name)
		return fail_memory(reader->error);
	if (id == NONE || (reader->shape[id].tensor == NONE && !reader->shape[id].weight && !reader->shape[id].input))
		return OK;
	enum status status = reader->shape[id].tensor == NONE ? onnx_add_leaf(reader, id) : OK;
	return status != OK || draft_read(reader->draft, op, reader->shape[id].tensor) == OK ? status
		: fail_memory(reader->error);
}

static enum status read_inner_graphs(struct reader *reader, uint32_t op, struct wire node, unsigned depth);

/* GraphProto: node 1 with input 1; output 12 with name 1, which may be a tensor of outside as well. */
static enum status read_inner_graph(struct reader *reader, uint32_t op, struct wire graph, unsigned depth)
{
	struct wire_field field, part;
	TRY(depth > DEPTH_MOST ? onnx_bad(reader, "graphs are nested more than 64 deep") : OK);
	while (wire_next(&graph, &field)) {
		if (field.type != 2 || (field.number != 1 && field.number != 12))
			continue;
		struct wire inside = field.body;
		while (wire_next(&inside, &part))
			if (part.number == 1 && part.type == 2)
				TRY(read_captured(reader, op, part.body));
		if (field.number == 1)
			TRY(read_inner_graphs(reader, op, field.body, depth + 1));
	}
	return OK;
}

/* The graphs of a node: AttributeProto (5): g 6, graphs 11. O(bytes of the node). */
static enum status read_inner_graphs(struct reader *reader, uint32_t op, struct wire node, unsigned depth)
{
	struct wire_field field, attribute;
	while (wire_next(&node, &field))
		while (field.number == 5 && field.type == 2 && wire_next(&field.body, &attribute))
			if (attribute.type == 2 && (attribute.number == 6 || attribute.number == 11))
				TRY(read_inner_graph(reader, op, attribute.body, depth));
	return OK;
}

/* ---- nodes ---- */

static bool onnx_is_view(const struct reader *reader, const char *type)
{
	const struct rule *rule = rules_find(reader->rules, type);
	return rule && rule->cost == COST_NONE;
}

static enum status onnx_add_result(struct reader *reader, uint32_t op, uint32_t result, uint32_t alias)
{
	enum status status = onnx_add_tensor(
		reader, result, reader->shape[result].output ? KIND_OUTPUT : KIND_ACTIVATION, alias);
	return status != OK || draft_write(reader->draft, op, reader->shape[result].tensor) == OK
		? status
		: fail_memory(reader->error);
}

/* The branch of an `If` whose condition is known: AttributeProto "then_branch" or "else_branch", g 6. */
static bool find_branch(const struct reader *reader, struct wire node, uint32_t condition, struct wire *branch)
{
	const struct onnx_shape *shape = condition != NONE ? &reader->shape[condition] : NULL;
	struct wire attribute;
	struct wire_field field;
	if (!shape || !shape->value || shape->values != 1 || reader->depth >= DEPTH_MOST ||
		!onnx_attribute(node, shape->value[0] ? "then_branch" : "else_branch", &attribute))
		return false;
	while (wire_next(&attribute, &field))
		if (field.number == 6 && field.type == 2) {
			*branch = field.body;
			return true;
		}
	return false;
}

static enum status open_branch(struct reader *reader, struct wire graph, const uint32_t *out, uint32_t outs);

static enum status onnx_add_node(struct reader *reader, struct wire node)
{
	const char *type, *own, *name, **in_name, **out_name;
	uint32_t *in, *out, ins = 0, outs = 0, closed = reader->subgraphs;
	struct wire branch;
	TRY(read_words(reader, node, &type, &own, &name));
	TRY(onnx_read_names(reader, node, 1, &in, &in_name, &ins));
	TRY(onnx_read_names(reader, node, 2, &out, &out_name, &outs));
	if (own && ins == 1 && strcmp(own, "If") == 0 && find_branch(reader, node, in[0], &branch)) {
		reader->subgraphs = closed;
		return open_branch(reader, branch, out, outs);
	}
	char unique[400];
	uint32_t named = 0;
	while (named + 1 < outs && out[named] == NONE)
		named++;
	PRINT_TO(unique, "%.300s", *name ? name : outs && out[named] != NONE ? out_name[named] : type);
	draft_unique(reader->draft, unique, strlen(unique), draft_find_op);
	struct op op = { .name = unique, .type = type, .module = "", .flops = -1, .phase = PHASE_FORWARD, .has_phase = true };
	uint32_t id = draft_op(reader->draft, &op), source = NONE;
	if (id == NONE)
		return fail_memory(reader->error);
	FOR(i, ins) {
		if (in[i] == NONE)
			continue;
		if (reader->shape[in[i]].tensor == NONE)
			TRY(onnx_add_leaf(reader, in[i]));
		if (draft_read(reader->draft, id, reader->shape[in[i]].tensor) != OK)
			return fail_memory(reader->error);
		if (i == 0)
			source = reader->shape[in[0]].tensor;
	}
	TRY(read_inner_graphs(reader, id, node, 1));
	struct onnx_node known = { .op = own, .body = node, .in = in, .ins = ins, .out = out, .outs = outs };
	if (own && onnx_infer(&known, reader->shape, &reader->arena) != OK)
		return fail_memory(reader->error);
	FOR(i, outs) {
		if (out[i] == NONE)
			continue;
		if (reader->shape[out[i]].tensor != NONE)
			return refuse(reader->error, "\"%.60s\" is made twice, or after it is read", out_name[i]);
		if (i == 0)
			infer(reader, type, in, ins, out[i]);
		TRY(onnx_add_result(reader, id, out[i], onnx_is_view(reader, type) ? source : NONE));
	}
	return OK;
}

static enum status onnx_add_nodes(struct reader *reader, struct wire graph)
{
	struct wire_field field;
	while (wire_next(&graph, &field))
		if (field.number == 1 && field.type == 2)
			TRY(onnx_add_node(reader, field.body));
	return OK;
}

/* ---- branches that are taken ---- */

/* Names of a branch's results, in their order (ValueInfoProto: name 1). */
static const char *result_name(struct reader *reader, struct wire value)
{
	struct wire_field field;
	while (wire_next(&value, &field))
		if (field.number == 1 && field.type == 2)
			return onnx_text_of(reader, field.body);
	return "";
}

/* What the branch calls its results are those of the op, but for what is made outside. */
static enum status bind_results(struct reader *reader, struct wire graph, const uint32_t *out, uint32_t outs)
{
	struct wire_field field;
	for (uint32_t i = 0; i < outs && wire_next(&graph, &field);) {
		if (field.number != 12 || field.type != 2)
			continue;
		const char *name = result_name(reader, field.body);
		if (!name)
			return fail_memory(reader->error);
		if (*name && out[i] != NONE && find_shape(reader, name) == NONE)
			if (names_add(&reader->scope->names, name, out[i]) == NONE)
				return fail_memory(reader->error);
		i++;
	}
	return OK;
}

/* A result that is a tensor of outside, or another result: the same memory by another name. */
static enum status onnx_pass_on(struct reader *reader, uint32_t from, uint32_t result)
{
	if (reader->shape[from].tensor == NONE)
		TRY(onnx_add_leaf(reader, from));
	char unique[400];
	PRINT_TO(unique, "%.300s", reader->shape[result].name);
	draft_unique(reader->draft, unique, strlen(unique), draft_find_op);
	struct op op = {
		.name = unique, .type = "onnx.Identity", .module = "", .flops = -1, .phase = PHASE_FORWARD, .has_phase = true
	};
	uint32_t id = draft_op(reader->draft, &op);
	if (!(id != NONE && draft_read(reader->draft, id, reader->shape[from].tensor) == OK))
		return fail_memory(reader->error);
	struct onnx_node node = { .op = "Identity", .in = &from, .ins = 1, .out = &result, .outs = 1 };
	if (onnx_infer(&node, reader->shape, &reader->arena) != OK)
		return fail_memory(reader->error);
	return onnx_add_result(reader, id, result, reader->shape[from].tensor);
}

static enum status pass_results(struct reader *reader, struct wire graph, const uint32_t *out, uint32_t outs)
{
	struct wire_field field;
	for (uint32_t i = 0; i < outs && wire_next(&graph, &field);) {
		if (field.number != 12 || field.type != 2)
			continue;
		const char *name = result_name(reader, field.body);
		if (!name)
			return fail_memory(reader->error);
		uint32_t from = find_shape(reader, name);
		if (from != NONE && out[i] != NONE && from != out[i] && reader->shape[out[i]].tensor == NONE)
			TRY(onnx_pass_on(reader, from, out[i]));
		i++;
	}
	return OK;
}

/* Its ops stand in place of the `If`. */
static enum status open_branch(struct reader *reader, struct wire graph, const uint32_t *out, uint32_t outs)
{
	struct scope scope = { .outer = reader->scope };
	reader->scope = &scope;
	reader->depth++;
	reader->opened++;
	enum status status = bind_results(reader, graph, out, outs);
	if (status == OK)
		status = read_tensors(reader, graph);
	if (status == OK)
		status = onnx_add_nodes(reader, graph);
	if (status == OK)
		status = pass_results(reader, graph, out, outs);
	reader->depth--;
	reader->scope = scope.outer;
	names_free(&scope.names);
	return status;
}

static enum status onnx_describe(struct reader *reader, struct wire graph)
{
	struct wire_field field;
	const char *name = NULL;
	char version[200], advice[300], assumed[500];
	struct words words = { assumed, sizeof assumed, 0 };
	while (wire_next(&graph, &field))
		if (field.number == 2 && field.type == 2)
			name = onnx_text_of(reader, field.body);
	words_add(
		&words, "weights are parameters, their values are not looked at; views share memory with what they are of");
	if (reader->subgraphs)
		words_add(&words, "\n%u graph%s inside of ops (loops, branches) %s not opened: their memory is not counted",
			reader->subgraphs, reader->subgraphs == 1 ? "" : "s", reader->subgraphs == 1 ? "is" : "are");
	if (reader->opened)
		words_add(&words, "\n%u condition%s known: the branch that is taken replaces its If", reader->opened,
			reader->opened == 1 ? " is" : "s are");
	if (reader->functions)
		words_add(&words, "\n%u function%s of the model %s not opened: %s one op where it is called", reader->functions,
			reader->functions == 1 ? "" : "s", reader->functions == 1 ? "is" : "are",
			reader->functions == 1 ? "it is" : "each is");
	words = (struct words){ version, sizeof version, 0 };
	words_add(&words, "IR %llu", (unsigned long long)reader->ir);
	if (reader->opset)
		words_add(&words, ", opset %llu", (unsigned long long)reader->opset);
	if (wire_size(reader->producer))
		words_add(&words, ", by %.*s %.*s", (int)onnx_least(wire_size(reader->producer), 80),
			(const char *)reader->producer.at, (int)onnx_least(wire_size(reader->version), 40),
			reader->version.at ? (const char *)reader->version.at : "");
	words = (struct words){ advice, sizeof advice, 0 };
	for (size_t i = 0; i < SYMBOLS && *reader->symbol[i]; i++)
		words_add(&words, "--dim %s=SIZE ", reader->symbol[i]);
	if (**reader->symbol)
		words_add(&words, "give%s symbolic size%s", *reader->symbol[1] ? "" : "s a", *reader->symbol[1] ? "s" : "");
	else if (reader->functions)
		words_add(&words,
			"python -c \"import onnx, onnx.inliner as i; onnx.save(i.inline_local_functions(onnx.load('IN')), 'OUT')\" "
			"writes what the functions hold in their place");
	else
		PRINT_TO(advice,
			"python -c \"import onnx; onnx.shape_inference.infer_shapes_path('IN', 'OUT', data_prop=True)\" writes "
			"shapes into the file");
	struct about about = { .intake = { .said = true,
							   .format = "ONNX model",
							   .version = version,
							   .inferred = reader->inferred,
							   .missing = reader->missing,
							   .assumed = assumed,
							   .advice = reader->missing ? advice : NULL } };
	return draft_describe(reader->draft, name && *name ? name : "model", NULL, NULL, &about) == OK
		? OK
		: fail_memory(reader->error);
}

/* Of ONNX's own operators, which have no domain. */
static void read_opset(struct reader *reader, struct wire import)
{
	struct wire_field field;
	bool own = true;
	uint64_t version = 0;
	while (wire_next(&import, &field)) {
		if (field.number == 1 && field.type == 2)
			own = wire_size(field.body) == 0 || (wire_size(field.body) == 7 && memcmp(field.body.at, "ai.onnx", 7) == 0);
		else if (field.number == 2 && field.type == 0)
			version = field.value;
	}
	reader->opset = own ? version : reader->opset;
}

static enum status read_model(struct reader *reader, struct wire model)
{
	struct wire_field field;
	struct wire graph = { 0 };
	while (wire_next(&model, &field)) {
		if (field.number == 1 && field.type == 0)
			reader->ir = field.value;
		else if (field.number == 2 && field.type == 2)
			reader->producer = field.body;
		else if (field.number == 3 && field.type == 2)
			reader->version = field.body;
		else if (field.number == 7 && field.type == 2)
			graph = field.body;
		else if (field.number == 8 && field.type == 2)
			read_opset(reader, field.body);
		reader->functions += field.number == 25 && field.type == 2;
	}
	if (model.broken || !graph.at)
		return onnx_bad(reader, model.broken ? "it is truncated or broken" : "it has no graph");
	TRY(read_tensors(reader, graph));
	TRY(onnx_add_nodes(reader, graph));
	return onnx_describe(reader, graph);
}

struct graph *onnx_read(const void *data, size_t size, const char *const *dim, uint32_t dims, struct error *error)
{
	struct reader reader = { .error = error, .draft = draft_new(), .rules = rules_new(), .dim = dim, .dims = dims };
	struct graph *graph = NULL;
	*error = (struct error){ 0 };
	enum status status = reader.draft && reader.rules ? read_model(&reader, wire_of(data, size))
		: fail_memory(reader.error);
	if (status == OK)
		graph = graph_build(reader.draft, error);
	else
		error_set(error, status);
	draft_free(reader.draft);
	rules_free(reader.rules);
	names_free(&reader.names);
	mem_free(reader.shape);
	arena_free(&reader.arena);
	return graph;
}
