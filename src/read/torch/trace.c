/* trace.c: a Chrome trace, event by event. */
#include <ctype.h>
#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/json_memory.h"
#include "trace.h"

#define GROUP_MOST (1u << 20)

struct kernel { uint64_t id; double seconds; };

struct reading {
	struct trace *trace;
	struct error *error;
	const char *text, *at, *end;
	struct names types;
	const char **type;               /* by its number in types */
	struct kernel *kernel;
	size_t op_room, collective_room, kernel_room, type_room;
	uint32_t kernels, type_count;
	uint32_t group;                  /* of collectives that don't say: members of the groups, 0: they differ */
	bool found;                      /* the list of events */
};

static enum status torch_trace_wrong(struct reading *reading, const char *at, const char *what)
{
	enum status status = fail(reading->error, BAD_INPUT, "not a trace of torch.profiler: %.200s", what);
	if (reading->error)
		for (reading->error->line = 1; reading->text < at; reading->text++)
			reading->error->line += *reading->text == '\n';
	return status;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void torch_trace_skip_blanks(struct reading *reading)
{
	while (reading->at < reading->end && strchr(" \t\r\n", *reading->at) && *reading->at)
		reading->at++;
}

static bool torch_trace_take(struct reading *reading, char wanted)
{
	torch_trace_skip_blanks(reading);
	bool there = reading->at < reading->end && *reading->at == wanted;
	reading->at += there;
	return there;
}

/* The next value; NULL with *status where it is none. */
static json_t *torch_trace_next_value(struct reading *reading, enum status *status)
{
	json_error_t problem;
	torch_trace_skip_blanks(reading);
	json_memory_failed();
	json_t *value = reading->at < reading->end ? json_loadb(reading->at, (size_t)(reading->end - reading->at),
													 JSON_DISABLE_EOF_CHECK | JSON_DECODE_ANY, &problem)
													: NULL;
	if (json_memory_failed()) {
		json_decref(value);
		*status = fail_memory(reading->error);
		return NULL;
	}
	if (!value) {
		*status = torch_trace_wrong(
			reading, reading->at, reading->at < reading->end ? json_wrong(&problem) : "it ends too early");
		return NULL;
	}
	reading->at += problem.position;
	return value;
}

/* The member of an object under either of two names, which changed between versions. */
static const json_t *member(const json_t *object, const char *name, const char *other)
{
	const json_t *value = json_object_get(object, name);
	return value || !other ? value : json_object_get(object, other);
}

static double torch_trace_number_of(const json_t *object, const char *name)
{
	double value = json_number_value(json_object_get(object, name));
	return isfinite(value) ? value : 0;
}

static int64_t torch_trace_count_of(const json_t *object, const char *name)
{
	const json_t *value = json_object_get(object, name);
	return json_is_integer(value) && json_integer_value(value) > 0 && json_integer_value(value) <= BYTES_MAX
		? json_integer_value(value)
		: 0;
}

static uint64_t mixed(const json_t *value)
{
	uint64_t hash = 1;
	for (const char *at = json_string_value(value); at && *at; at++)
		hash = hash_join(hash, (uint64_t)(unsigned char)*at);
	return json_is_integer(value) ? hash_join(hash, (uint64_t)json_integer_value(value)) : hash;
}

/* ---- number formats -------------------------------------------------------------------------- */

/* "c10::BFloat16", "float", "Float", "bfloat16", "torch.float32": as C++, ATen and Python call them. */
static enum dtype torch_trace_dtype_of(const char *name)
{
	static const struct {
		const char *name;
		enum dtype dtype;
	} names[] = { { "float", DTYPE_F32 }, { "float32", DTYPE_F32 }, { "double", DTYPE_F64 }, { "float64", DTYPE_F64 },
		{ "half", DTYPE_F16 }, { "float16", DTYPE_F16 }, { "bfloat16", DTYPE_BF16 }, { "float8_e4m3fn", DTYPE_F8E4M3 },
		{ "float8_e5m2", DTYPE_F8E5M2 }, { "long int", DTYPE_I64 }, { "long", DTYPE_I64 }, { "long long", DTYPE_I64 },
		{ "int64", DTYPE_I64 }, { "int", DTYPE_I32 }, { "int32", DTYPE_I32 }, { "short", DTYPE_I16 },
		{ "int16", DTYPE_I16 }, { "signed char", DTYPE_I8 }, { "char", DTYPE_I8 }, { "int8", DTYPE_I8 },
		{ "unsigned char", DTYPE_U8 }, { "byte", DTYPE_U8 }, { "uint8", DTYPE_U8 }, { "bool", DTYPE_BOOL },
		{ "c10::complex<float>", DTYPE_C64 }, { "c10::complex<double>", DTYPE_C128 } };
	char lower[40] = "";
	if (!name)
		return DTYPE_COUNT;
	name += strncmp(name, "c10::", 5) == 0 && strncmp(name, "c10::complex", 12) != 0 ? 5
		: strncmp(name, "torch.", 6) == 0                                            ? 6
		: 0;
	for (size_t i = 0; i + 1 < sizeof lower && name[i]; i++)
		lower[i] = (char)tolower((unsigned char)name[i]);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strcmp(names[i].name, lower) == 0)
			return names[i].dtype;
	return DTYPE_COUNT;
}

/* ---- operators ------------------------------------------------------------------------------- */

/* A type's text, once for all ops that have it. NULL: out of memory. */
static const char *type_text(struct reading *reading, const char *name)
{
	char type[160];
	size_t length = 0;
	for (const char *at = name; *at && length + 1 < sizeof type; at += at[0] == ':' && at[1] == ':' ? 2 : 1)
		type[length++] = at[0] == ':' && at[1] == ':' ? '.' : *at;
	type[length] = '\0';
	uint32_t id = names_find(&reading->types, type);
	if (id != NONE)
		return reading->type[id];
	const char *copy = arena_text(&reading->trace->arena, type, length);
	if (!copy || !mem_reserve(&reading->type, &reading->type_room, (size_t)reading->type_count + 1, sizeof *reading->type)
	    || names_add(&reading->types, copy, reading->type_count) == NONE)
		return NULL;
	reading->type[reading->type_count++] = copy;
	return copy;
}

/* False: not a list of extents. */
static bool take_shape(struct arena *arena, const json_t *dims, struct trace_tensor *tensor)
{
	size_t count = json_array_size(dims);
	int64_t *shape = json_is_array(dims) && count <= DIMS_MAX ? arena_alloc(arena, count + 1, sizeof *shape) : NULL;
	for (size_t i = 0; shape && i < count; i++) {
		const json_t *extent = json_array_get(dims, i);
		shape[i] = json_integer_value(extent);
		if (!json_is_integer(extent) || shape[i] < 0 || shape[i] > BYTES_MAX)
			return false;
	}
	tensor->shape = shape;
	tensor->dims = (uint8_t)count;
	return shape != NULL;
}

/* The tensors among an op's arguments; those that were left out or are plain numbers have no format of tensors. */
static void take_operands(struct reading *reading, const json_t *arguments, struct trace_op *op)
{
	const json_t *dims = member(arguments, "Input Dims", "Input dims"),
				 *types = member(arguments, "Input type", "Input Type");
	size_t count = json_array_size(dims);
	struct trace_tensor *tensor = count > 0 && count == json_array_size(types) && count < 100
		? arena_alloc(&reading->trace->arena, count, sizeof *tensor)
		: NULL;
	op->operand = tensor;
	op->shaped = tensor != NULL;
	for (size_t i = 0; tensor && i < count; i++) {
		const char *word = json_string_value(json_array_get(types, i));
		struct trace_tensor *next = &tensor[op->operands];
		next->dtype = (uint8_t)torch_trace_dtype_of(word);
		if (word && strcmp(word, "TensorList") == 0)
			op->shaped = false;
		else if (next->dtype != DTYPE_COUNT && take_shape(&reading->trace->arena, json_array_get(dims, i), next))
			op->operands++;
		else if (next->dtype != DTYPE_COUNT)
			op->shaped = false;
	}
	reading->trace->shapes |= op->shaped && op->operands > 0;
}

/* What a compiler fused: Inductor's kernels are called so. And what every cast and copy comes to when it runs: of two
 * operands, where to and where from. */
#define FUSED_BEGINS "triton_"
#define MOVES "aten::copy_"

static enum status torch_trace_add_op(struct reading *reading, const json_t *event, const char *name, bool waits)
{
	struct trace *trace = reading->trace;
	const json_t *arguments = json_object_get(event, "args");
	if (trace->ops == NONE - 1 || !mem_reserve(&trace->op, &reading->op_room, (size_t)trace->ops + 1, sizeof *trace->op))
		return fail_memory(reading->error);
	struct trace_op *op = &trace->op[trace->ops++];
	*op = (struct trace_op){ .type = type_text(reading, name),
		.parent = NONE,
		.waits = waits,
		.moves = strcmp(name, MOVES) == 0,
		.fused = strncmp(name, FUSED_BEGINS, strlen(FUSED_BEGINS)) == 0,
		.start = torch_trace_number_of(event, "ts"),
		.lasts = fmax(0, torch_trace_number_of(event, "dur")),
		.id = (uint64_t)json_integer_value(member(arguments, "External id", "external id")),
		.thread = hash_join(mixed(json_object_get(event, "pid")), mixed(json_object_get(event, "tid"))) };
	take_operands(reading, arguments, op);
	return op->type ? OK : fail_memory(reading->error);
}

/* ---- collectives ----------------------------------------------------------------------------- */

/* "_allgather_base", "all_to_allv", "reduce_scatter_tensor_coalesced": what they begin with, less underscores.
 * COLLECTIVE_OTHER: none that is known. */
static enum collective_kind torch_trace_kind_of(const char *name)
{
	static const struct {
		const char *begins;
		enum collective_kind kind;
	} names[] = { { "allreduce", COLLECTIVE_ALL_REDUCE }, { "allgather", COLLECTIVE_ALL_GATHER },
		{ "reducescatter", COLLECTIVE_REDUCE_SCATTER }, { "alltoall", COLLECTIVE_ALL_TO_ALL } };
	char plain[40] = "";
	size_t length = 0;
	for (; *name && length + 1 < sizeof plain; name++)
		if (isalpha((unsigned char)*name))
			plain[length++] = (char)tolower((unsigned char)*name);
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (strncmp(plain, names[i].begins, strlen(names[i].begins)) == 0)
			return names[i].kind;
	return COLLECTIVE_OTHER;
}

/* "[0, 1, 2]", "[0, 8, ..., 504]" or a list: the ranks before the dots. None where there are no dots and not as many as
 * the group has members. */
static enum status take_ranks(struct reading *reading, const json_t *list, struct trace_collective *collective)
{
	const char *text = json_string_value(list), *dots = text ? strstr(text, "...") : NULL;
	bool any = text ? strlen(text) >= (dots ? 1 : collective->size) : json_array_size(list) == collective->size;
	uint32_t count = 0,
			 room = text && strlen(text) / 2 < collective->size ? (uint32_t)(strlen(text) / 2) + 1 : collective->size;
	uint32_t *rank = any ? arena_alloc(&reading->trace->arena, room, sizeof *rank) : NULL;
	if (any && !rank)
		return fail_memory(reading->error);
	for (; any && !text && count < collective->size; count++)
		rank[count] = (uint32_t)json_integer_value(json_array_get(list, count));
	for (const char *at = text; any && text && count < room; count++) {
		char *end;
		at += strcspn(at, "0123456789");
		if (!*at || (dots && at > dots))
			break;
		rank[count] = (uint32_t)strtoul(at, &end, 10);
		at = end;
	}
	bool whole = dots ? count < collective->size : count == collective->size;
	collective->rank = any && whole && count > 0 ? rank : NULL;
	collective->ranks = collective->rank ? count : 0;
	return OK;
}

static enum status add_collective(struct reading *reading, const struct trace_collective *collective)
{
	struct trace *trace = reading->trace;
	if (collective->kind == COLLECTIVE_OTHER || collective->size < 2 || collective->size > GROUP_MOST ||
		collective->from <= 0 || collective->to <= 0 || collective->seconds <= 0)
		return OK;
	if (trace->collectives == NONE - 1 ||
		!mem_reserve(
			&trace->collective, &reading->collective_room, (size_t)trace->collectives + 1, sizeof *trace->collective))
		return fail_memory(reading->error);
	trace->collective[trace->collectives++] = *collective;
	return OK;
}

/* NCCL's. Elements of what comes in and goes out. */
static enum status torch_trace_take_message(struct reading *reading, const json_t *event, const json_t *arguments)
{
	enum dtype dtype = torch_trace_dtype_of(json_string_value(json_object_get(arguments, "dtype")));
	int64_t bits = dtype == DTYPE_COUNT ? 0 : dtype_bits[dtype], size = torch_trace_count_of(arguments, "Group size"),
			most = BYTES_MAX / 64;
	int64_t in = torch_trace_count_of(arguments, "In msg nelems"), out = torch_trace_count_of(arguments, "Out msg nelems");
	if (in > most || out > most || size > GROUP_MOST)
		return OK;
	struct trace_collective collective = { .kind = torch_trace_kind_of(
											   json_string_value(json_object_get(arguments, "Collective name"))),
		.from = in * bits / 8,
		.to = out * bits / 8,
		.size = (uint32_t)size,
		.seconds = torch_trace_number_of(event, "dur") * 1e-6 };
	if (size > 1 && take_ranks(reading, json_object_get(arguments, "Process Group Ranks"), &collective) != OK)
		return NO_MEMORY;
	return add_collective(reading, &collective);
}

/* Gloo's annotations have the operand alone, and no group. */
static enum status take_gloo(struct reading *reading, const json_t *event, const char *name)
{
	struct trace_op op = { 0 };
	int64_t bytes = 1;
	take_operands(reading, json_object_get(event, "args"), &op);
	if (op.operands != 1 || reading->group < 2)
		return OK;
	for (int i = 0; i < op.operand->dims && bytes <= BYTES_MAX / 64; i++)
		bytes = op.operand->shape[i] > 0 && bytes > BYTES_MAX / 64 / op.operand->shape[i]
			? BYTES_MAX
			: bytes * op.operand->shape[i];
	if (bytes > BYTES_MAX / 64 / reading->group)
		return OK;
	bytes = bytes * dtype_bits[op.operand->dtype] / 8;
	struct trace_collective collective = { .kind = torch_trace_kind_of(name),
		.from = bytes,
		.to = bytes,
		.size = reading->group,
		.seconds = torch_trace_number_of(event, "dur") * 1e-6 };
	if (collective.kind == COLLECTIVE_ALL_GATHER)
		collective.to *= reading->group;
	if (collective.kind == COLLECTIVE_REDUCE_SCATTER)
		collective.to /= reading->group;
	return add_collective(reading, &collective);
}

/* ---- events ---------------------------------------------------------------------------------- */

static enum status add_kernel(struct reading *reading, const json_t *event)
{
	const json_t *arguments = json_object_get(event, "args");
	double seconds = fmax(0, torch_trace_number_of(event, "dur")) * 1e-6;
	reading->trace->kernels++;
	if (json_is_string(json_object_get(arguments, "Collective name")))
		return torch_trace_take_message(reading, event, arguments);
	NEED_IN(reading->error,
		mem_reserve(&reading->kernel, &reading->kernel_room, (size_t)reading->kernels + 1, sizeof *reading->kernel));
	reading->kernel[reading->kernels++] = (struct kernel){
		(uint64_t)json_integer_value(member(arguments, "External id", "external id")), seconds
	};
	return OK;
}

static enum status take_event(struct reading *reading, const json_t *event)
{
	const char *phase = json_string_value(json_object_get(event, "ph")),
			   *category = json_string_value(json_object_get(event, "cat"));
	const char *name = json_string_value(json_object_get(event, "name"));
	if (!phase || *phase != 'X' || !category || !name)
		return OK;
	if (strcmp(category, "kernel") == 0 || strcmp(category, "gpu_memcpy") == 0 || strcmp(category, "gpu_memset") == 0)
		return reading->kernels < NONE - 1 ? add_kernel(reading, event) : OK;
	if (strcmp(category, "cpu_op") == 0)
		return torch_trace_add_op(reading, event, name, false);
	if (strcmp(category, "user_annotation") == 0 && strncmp(name, "gloo:", 5) == 0) {
		TRY(take_gloo(reading, event, name + 5));
		return torch_trace_add_op(reading, event, name, true);
	}
	return OK;
}

static enum status take_events(struct reading *reading)
{
	enum status status = OK;
	reading->found = true;
	if (!torch_trace_take(reading, '['))
		return torch_trace_wrong(reading, reading->at, "traceEvents is no list");
	if (torch_trace_take(reading, ']'))
		return OK;
	do {
		json_t *event = torch_trace_next_value(reading, &status);
		if (event)
			status = take_event(reading, event);
		json_decref(event);
	} while (status == OK && torch_trace_take(reading, ','));
	return status != OK || torch_trace_take(reading, ']')
		? status
		: torch_trace_wrong(reading, reading->at, "the list of events isn't closed");
}

/* ---- the rest of the file -------------------------------------------------------------------- */

static void take_device(struct trace *trace, const json_t *list)
{
	const json_t *first = json_array_get(list, 0);
	const char *name = json_string_value(json_object_get(first, "name"));
	if (name)
		snprintf(trace->device, sizeof trace->device, "%s", name);
	trace->device_memory = torch_trace_count_of(first, "totalGlobalMem");
}

/* Groups that all have as many members. */
static void take_groups(struct reading *reading, const json_t *said)
{
	const json_t *groups = json_object_get(said, "pg_config");
	int64_t size = torch_trace_count_of(said, "world_size");
	for (size_t i = 0; i < json_array_size(groups); i++) {
		int64_t members = torch_trace_count_of(json_array_get(groups, i), "pg_size");
		size = i == 0 || members == size ? members : 0;
	}
	reading->group = size <= GROUP_MOST ? (uint32_t)size : 0;
}

static enum status take_member(struct reading *reading, const char *key)
{
	enum status status = OK;
	if (strcmp(key, "traceEvents") == 0)
		return take_events(reading);
	json_t *value = torch_trace_next_value(reading, &status);
	if (value && strcmp(key, "deviceProperties") == 0)
		take_device(reading->trace, value);
	if (value && strcmp(key, "distributedInfo") == 0)
		take_groups(reading, value);
	json_decref(value);
	return status;
}

static enum status torch_trace_take_file(struct reading *reading)
{
	enum status status = OK;
	torch_trace_skip_blanks(reading);
	if (reading->at < reading->end && *reading->at == '[')       /* the older form: the events alone */
		return take_events(reading);
	if (!torch_trace_take(reading, '{'))
		return torch_trace_wrong(reading, reading->at, "expected an object with traceEvents");
	do {
		json_t *key = torch_trace_next_value(reading, &status);
		if (key && (!json_is_string(key) || !torch_trace_take(reading, ':')))
			status = torch_trace_wrong(reading, reading->at, "expected a name and a colon");
		THEN(status, take_member(reading, json_string_value(key)));
		json_decref(key);
	} while (status == OK && torch_trace_take(reading, ','));
	if (status == OK && !torch_trace_take(reading, '}'))
		status = torch_trace_wrong(reading, reading->at, "it isn't closed");
	return status == OK && !reading->found ? torch_trace_wrong(reading, reading->at, "there are no traceEvents") : status;
}

/* ---- what lies in what ----------------------------------------------------------------------- */

static int torch_trace_by_start(const void *left, const void *right)
{
	const struct trace_op *a = left, *b = right;
	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	if (a->start < b->start || a->start > b->start)
		return a->start < b->start ? -1 : 1;
	if (a->lasts < b->lasts || a->lasts > b->lasts)
		return a->lasts > b->lasts ? -1 : 1;
	return (a->id > b->id) - (a->id < b->id);
}

static void find_parents(struct trace *trace)
{
	uint32_t inner = NONE;
	if (trace->ops > 0)
		qsort(trace->op, trace->ops, sizeof *trace->op, torch_trace_by_start);
	for (uint32_t i = 0; i < trace->ops; i++) {
		struct trace_op *op = &trace->op[i];
		while (inner != NONE &&
			(trace->op[inner].thread != op->thread || trace->op[inner].start + trace->op[inner].lasts <= op->start))
			inner = trace->op[inner].parent;
		op->parent = inner;
		inner = i;
	}
}

struct owner { uint64_t id; uint32_t op; };

static int torch_trace_by_id(const void *left, const void *right)
{
	const struct owner *a = left, *b = right;
	return (a->id > b->id) - (a->id < b->id);
}

static enum status give_kernels(struct reading *reading)
{
	struct trace *trace = reading->trace;
	struct owner *owner = mem_alloc((size_t)trace->ops + 1, sizeof *owner);
	NEED_IN(reading->error, owner);
	for (uint32_t i = 0; i < trace->ops; i++)
		owner[i] = (struct owner){ trace->op[i].id, i };
	qsort(owner, trace->ops, sizeof *owner, torch_trace_by_id);
	for (uint32_t k = 0; k < reading->kernels; k++) {
		struct owner wanted = { reading->kernel[k].id, 0 },
					 *found = wanted.id ? bsearch(&wanted, owner, trace->ops, sizeof *owner, torch_trace_by_id) : NULL;
		trace->unowned += !found;
		trace->unowned_seconds += found ? 0 : reading->kernel[k].seconds;
		if (found) {
			trace->op[found->op].kernels++;
			trace->op[found->op].seconds += reading->kernel[k].seconds;
		}
	}
	for (uint32_t i = trace->ops; i-- > 0;)
		if (trace->op[i].parent != NONE) {
			trace->op[trace->op[i].parent].kernels += trace->op[i].kernels;
			trace->op[trace->op[i].parent].seconds += trace->op[i].seconds;
		}
	mem_free(owner);
	return OK;
}

enum status trace_read(const char *text, size_t size, struct trace *trace, struct error *error)
{
	struct reading reading = { .trace = trace, .error = error, .text = text, .at = text, .end = text + size };
	*trace = (struct trace){ 0 };
	enum status status = torch_trace_take_file(&reading);
	if (status == OK)
		find_parents(trace);
	if (status == OK && trace->kernels > 0)
		status = give_kernels(&reading);
	for (uint32_t i = 0; status == OK && trace->kernels == 0 && i < trace->ops; i++)
		trace->op[i].seconds = trace->op[i].lasts * 1e-6;
	names_free(&reading.types);
	mem_free(reading.type);
	mem_free(reading.kernel);
	return status;
}

void trace_free(struct trace *trace)
{
	mem_free(trace->op);
	mem_free(trace->collective);
	arena_free(&trace->arena);
	*trace = (struct trace){ 0 };
}
