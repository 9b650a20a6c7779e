/* build.c: writing ops into a draft with few words. */
#include <stdio.h>

#include "build.h"

#define NAME_MAX_LENGTH 256

static const uint8_t kind_of_phase[PHASE_COUNT] = {
	[PHASE_FORWARD] = KIND_ACTIVATION, [PHASE_BACKWARD] = KIND_GRADIENT,
	[PHASE_UPDATE] = KIND_TEMPORARY, [PHASE_COMMUNICATION] = KIND_TEMPORARY,
};

int64_t shape_elements(const struct shape *shape)
{
	int64_t elements = 1;
	FOR_INT(i, shape->dims)
		if (shape->dim[i] < 0 || __builtin_mul_overflow(elements, shape->dim[i], &elements))
			return -1;
	return elements;
}

bool shape_equal(const struct shape *a, const struct shape *b)
{
	return a->dims == b->dims && memcmp(a->dim, b->dim, a->dims * sizeof *a->dim) == 0;
}

/* Keeps the first failure. */
static void build_fail(struct build *build, enum status status)
{
	THEN(build->status, status);
}

uint32_t build_add_tensor(struct build *build, const struct tensor *record)
{
	uint32_t id = draft_tensor(build->draft, record);
	if (id == NONE)
		build_fail(build, NO_MEMORY);
	return id;
}

uint32_t build_add_op(struct build *build, const struct op *record)
{
	uint32_t id = draft_op(build->draft, record);
	if (id == NONE)
		build_fail(build, NO_MEMORY);
	return id;
}

static uint32_t build_tensor(struct build *build, const char *name, enum kind kind, enum dtype dtype,
	const struct shape *shape, uint32_t alias)
{
	int64_t elements = shape_elements(shape), bits;
	if (elements < 0 || __builtin_mul_overflow(elements, (int64_t)dtype_bits[dtype], &bits) || bits / 8 > BYTES_MAX) {
		build_fail(build, BAD_INPUT);
		return NONE;
	}
	struct tensor tensor = {
		.name = name, .shape = shape->dim, .dims = shape->dims, .bytes = (bits + 7) / 8, .alias = alias, .writer = NONE,
		.kind = (uint8_t)kind, .dtype = (uint8_t)dtype, .has_shape = true, .has_dtype = true, .has_bytes = true,
	};
	return build_add_tensor(build, &tensor);
}

uint32_t build_leaf(struct build *build, const char *name, enum kind kind, enum dtype dtype, struct shape shape)
{
	if (build->status != OK)
		return NONE;
	return build_tensor(build, name, kind, dtype, &shape, NONE);
}

/* "aten.mm.default" -> "mm_17": the middle word and a number that makes it unique. */
static void step_build_op_name(struct build *build, const char *type, uint32_t number, char *name)
{
	const char *word = strchr(type, '.');
	word = word ? word + 1 : type;
	int length = (int)strcspn(word, ".");
	do {
		snprintf(name, NAME_MAX_LENGTH, "%.*s_%u", length, word, number++);
	} while (draft_find_op(build->draft, name) != NONE || (build->source && graph_find_op(build->source, name) != NONE));
}

void build_count_flops(struct build *build)
{
	struct rule_tensor tensor[BUILD_ARGUMENTS];
	struct error error;
	if (!build->counts || build->status != OK)
		return;
	build->counts = false;
	struct op *op = draft_op_at(build->draft, build->op);
	const struct rule *rule = rules_find(build->rules, op->type);
	uint32_t arguments = build->inputs + build->outputs;
	if (!rule || arguments > BUILD_ARGUMENTS)
		return;
	FOR(i, arguments) {
		const struct tensor *record = draft_tensor_at(build->draft, build->argument[i]);
		tensor[i] = (struct rule_tensor){ record->shape, record->dims };
	}
	enum status status = rule_bind(rule, tensor, build->inputs, build->outputs, build->in_place, &build->binding, &error);
	if (status == OK)
		op->flops = rule_flops(rule, &build->binding);
	else if (status == NO_MEMORY)
		build->status = status;
}

void build_share(struct build *build, int64_t done, int64_t whole)
{
	build_count_flops(build);
	if (build->status != OK || build->op == NONE || whole <= 0)
		return;
	struct op *op = draft_op_at(build->draft, build->op);
	op->flops = op->flops > 0 ? (int64_t)((double)op->flops * (double)done / (double)whole) : op->flops;
}

void build_finish(struct build *build)
{
	build_count_flops(build);
	binding_free(&build->binding);
}

uint32_t build_op(struct build *build, const char *type, const uint32_t *input, uint32_t inputs)
{
	if (build->status != OK)
		return NONE;
	build_count_flops(build);
	char name[NAME_MAX_LENGTH];
	step_build_op_name(build, type, build->op + 1, name);
	const char *module = build->module ? build->module : "";
	struct op op = { .name = name,
		.type = type,
		.module = module,
		.src = build->src,
		.phase = (uint8_t)build->phase,
		.has_phase = true,
		.has_module = *module != '\0',
		.flops = -1 };
	build->op = build_add_op(build, &op);
	build->outputs = 0;
	build->inputs = 0;
	build->in_place = false;
	build->counts = build->rules != NULL;
	FOR(i, inputs)
		if (input[i] != NONE)
			build_read(build, input[i]);
	return build->op;
}

void build_read(struct build *build, uint32_t tensor)
{
	if (build->status != OK)
		return;
	if (build->inputs < BUILD_ARGUMENTS)
		build->argument[build->inputs++] = tensor;
	else
		build->counts = false;
	build->status = draft_read(build->draft, build->op, tensor);
}

void build_write(struct build *build, uint32_t tensor)
{
	if (build->status != OK)
		return;
	if (build->inputs + build->outputs < BUILD_ARGUMENTS)
		build->argument[build->inputs + build->outputs] = tensor;
	build->outputs++;
	build->status = draft_write(build->draft, build->op, tensor);
}

static uint32_t add_output(
	struct build *build, enum kind kind, enum dtype dtype, const struct shape *shape, uint32_t alias)
{
	char name[NAME_MAX_LENGTH + 16];
	const char *op = draft_op_at(build->draft, build->op)->name;
	PRINT_TO(name, "%.*s", NAME_MAX_LENGTH, op);
	if (build->outputs > 0)
		PRINT_TO(name, "%.*s.%u", NAME_MAX_LENGTH, op, build->outputs);
	for (uint32_t n = build->outputs + 1; draft_find_tensor(build->draft, name) != NONE; n++)
		PRINT_TO(name, "%.*s.%u", NAME_MAX_LENGTH, op, n);
	uint32_t tensor = build_tensor(build, name, kind, dtype, shape, alias);
	if (tensor != NONE)
		build_write(build, tensor);
	return build->status == OK ? tensor : NONE;
}

uint32_t build_output(struct build *build, enum dtype dtype, struct shape shape)
{
	if (build->status != OK)
		return NONE;
	return add_output(build, kind_of_phase[build->phase], dtype, &shape, NONE);
}

uint32_t build_view(struct build *build, uint32_t of, struct shape shape)
{
	if (build->status != OK)
		return NONE;
	const struct tensor *base = draft_tensor_at(build->draft, of);
	return add_output(build, base->kind, base->dtype, &shape, base->alias == NONE ? of : base->alias);
}

uint32_t build_inplace(struct build *build, uint32_t of)
{
	if (build->status != OK)
		return NONE;
	uint32_t out = build_view(build, of, build_shape(build, of));
	build->in_place |= build->outputs == 1 && build->inputs > 0 && build->argument[0] == of;
	if (out != NONE)
		build->status = draft_inplace(build->draft, build->op, out, of);
	return out;
}

void build_touch(struct build *build, uint32_t tensor)
{
	THEN(build->status, draft_inplace(build->draft, build->op, NONE, tensor));
}

uint32_t build_output_like(struct build *build, uint32_t tensor)
{
	return build_output(build, build_dtype(build, tensor), build_shape(build, tensor));
}

uint32_t build_map(struct build *build, const char *type, const uint32_t *input, uint32_t inputs)
{
	build_op(build, type, input, inputs);
	return build_output_like(build, input[0]);
}

uint32_t build_map_inplace(struct build *build, const char *type, const uint32_t *input, uint32_t inputs)
{
	build_op(build, type, input, inputs);
	return build_inplace(build, input[0]);
}

uint32_t build_reshape(struct build *build, const char *type, uint32_t of, struct shape shape)
{
	build_op(build, type, IN(of));
	return build_view(build, of, shape);
}

uint32_t build_to_shape(struct build *build, const char *type, uint32_t of, struct shape shape)
{
	build_op(build, type, IN(of));
	return build_output(build, build_dtype(build, of), shape);
}

struct shape build_shape(const struct build *build, uint32_t tensor)
{
	struct shape shape = { 0 };
	if (build->status != OK || tensor == NONE)
		return shape;
	const struct tensor *record = draft_tensor_at(build->draft, tensor);
	shape.dims = record->dims;
	if (record->shape)
		COPY(shape.dim, record->shape, record->dims);
	return shape;
}

enum dtype build_dtype(const struct build *build, uint32_t tensor)
{
	if (build->status != OK || tensor == NONE)
		return DTYPE_F32;
	return draft_tensor_at(build->draft, tensor)->dtype;
}

void build_kind(struct build *build, uint32_t tensor, enum kind kind)
{
	if (build->status == OK)
		draft_tensor_at(build->draft, tensor)->kind = (uint8_t)kind;
}

uint32_t build_copy_op(struct build *build, const struct graph *graph, uint32_t op, const uint32_t *tensor)
{
	if (build->status != OK)
		return NONE;
	build_count_flops(build);
	build->op = draft_copy_op(build->draft, &graph->op[op], graph, op, tensor);
	if (build->op == NONE)
		build_fail(build, NO_MEMORY);
	return build->op;
}

void build_rename(struct build *build, struct arena *arena, const struct graph *graph, uint32_t op, uint32_t copy,
	const struct renaming *renaming)
{
	const struct arguments *arguments = graph->op[op].arguments;
	if (!arguments || build->status != OK)
		return;
	arguments = arguments_rename(arena, arguments, graph, renaming);
	build->status = arguments ? draft_op_arguments(build->draft, copy, arguments) : NO_MEMORY;
}

struct build_names {
	struct draft *draft;
	const uint32_t *tensor;
};

static const char *build_name(const void *context, uint32_t tensor, bool result)
{
	const struct build_names *names = context;
	(void)result;
	return draft_tensor_at(names->draft, names->tensor[tensor])->name;
}

void build_rename_by(struct build *build, struct arena *arena, const struct graph *graph, uint32_t op, uint32_t copy,
	const uint32_t *tensor)
{
	struct build_names names = { build->draft, tensor };
	build_rename(build, arena, graph, op, copy, &(struct renaming){ build_name, &names });
}

void build_copy_control(struct build *build, const struct graph *graph, const uint32_t *op)
{
	FOR_WHILE(i, graph->ops, build->status == OK)
		FOR_ITEMS(item, &graph->after, i)
			if (op[i] != NONE && op[item] != NONE)
				THEN(build->status, draft_after(build->draft, op[i], op[item]));
}

bool build_copy_begin(
	struct build *build, const struct graph *graph, struct arena *arena, uint32_t **tensor, uint32_t **op)
{
	build->op = NONE;
	build->draft = draft_new();
	build->status = ROOM(arena, *tensor, graph->tensors) && ROOM(arena, *op, graph->ops) && build->draft ? OK : NO_MEMORY;
	return build->status == OK;
}

void build_copy_tensors(struct build *build, const struct graph *graph, uint32_t *tensor)
{
	FOR_WHILE(t, graph->tensors, build->status == OK)
		tensor[t] = build_add_tensor(build, &graph->tensor[t]);
}

struct graph *build_like(struct build *build, const struct graph *graph, struct error *error)
{
	struct graph *result = NULL;
	THEN(build->status, build->draft ? draft_describe(build->draft, graph->name, graph->source, graph->extra,
		&graph->about) : NO_MEMORY);
	if (build->status == OK)
		result = graph_build(build->draft, error);
	else
		fail(error, build->status, "%s", build->status == BAD_INPUT ? "a tensor is too large" : status_text(build->status));
	draft_free(build->draft);
	return result;
}
