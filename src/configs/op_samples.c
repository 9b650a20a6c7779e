/* op_samples.c: ops of a trace by class and shape. */
#include <stdlib.h>
#include <string.h>

#include "op_samples.h"
#include "src/base/source.h"
#include "src/read/torch/trace.h"

#define TRACE_MOST ((size_t)4 << 30)

#define X(id, name) name,
const char *const sample_class_names[SAMPLE_CLASS_COUNT] = { SAMPLE_CLASSES(X) };
#undef X

#define OPERANDS_MOST 32

static int64_t tensor_bytes(const int64_t *shape, int dims, uint8_t dtype)
{
	int64_t bits = dtype < DTYPE_COUNT ? dtype_bits[dtype] : 0;
	for (int i = 0; i < dims; i++)
		bits = shape[i] > 0 && bits > BYTES_MAX / shape[i] ? BYTES_MAX : bits * shape[i];
	return bits / 8;
}

static int64_t operand_bytes(const struct trace_op *op)
{
	int64_t sum = 0;
	for (uint32_t i = 0; i < op->operands; i++)
		sum += tensor_bytes(op->operand[i].shape, op->operand[i].dims, op->operand[i].dtype);
	return sum < BYTES_MAX ? sum : BYTES_MAX;
}

static int op_samples_format_of(uint8_t dtype)
{
	static const int8_t formats[DTYPE_COUNT] = { [DTYPE_F64] = 1 + FORMAT_F64,
		[DTYPE_F32] = 1 + FORMAT_F32,
		[DTYPE_F16] = 1 + FORMAT_F16,
		[DTYPE_BF16] = 1 + FORMAT_BF16,
		[DTYPE_F8E4M3] = 1 + FORMAT_F8,
		[DTYPE_F8E5M2] = 1 + FORMAT_F8 };
	return formats[dtype] - 1;
}

/* The format of the operand with the most bytes that has one. */
static uint8_t format_of_op(const struct trace_op *op)
{
	int64_t most = -1;
	int found = FORMAT_F32;
	for (uint32_t i = 0; i < op->operands; i++) {
		int64_t bytes = tensor_bytes(op->operand[i].shape, op->operand[i].dims, op->operand[i].dtype);
		if (op_samples_format_of(op->operand[i].dtype) >= 0 && bytes > most) {
			most = bytes;
			found = op_samples_format_of(op->operand[i].dtype);
		}
	}
	return (uint8_t)found;
}

/* The op under its rule, with one result whose shape follows. False: the rule doesn't fit, or the shape is an
 * attribute. */
static bool op_samples_bind(const struct trace_op *op, const struct rule *rule, struct binding *binding)
{
	struct rule_tensor tensor[OPERANDS_MOST + 1];
	struct error ignored;
	if (!op->shaped || op->operands == 0 || op->operands > OPERANDS_MOST)
		return false;
	for (uint32_t i = 0; i < op->operands; i++)
		tensor[i] = (struct rule_tensor){ op->operand[i].shape, op->operand[i].dims };
	tensor[op->operands] = (struct rule_tensor){ NULL, -1 };
	return rule_bind(rule, tensor, op->operands, 1, false, binding, &ignored) == OK;
}

/* Bytes of the first result, in the format of the first operand; the first operand's where it is written in place. */
static int64_t op_samples_result_bytes(const struct trace_op *op, const struct binding *binding)
{
	int64_t bits = dtype_bits[op->operand[0].dtype];
	for (uint32_t d = binding->dim_start[op->operands]; d < binding->dim_start[op->operands + 1]; d++)
		bits = binding->dim[d].size > 0 && bits > BYTES_MAX / binding->dim[d].size ? BYTES_MAX : bits * binding->dim[d].size;
	return bits / 8;
}

/* What an op does. False: it isn't known, or it touches no data; ops in it may. */
static bool op_samples_classify(
	const struct trace_op *op, const struct rules *rules, struct binding *binding, struct op_sample *sample)
{
	const struct rule *rule = rules_find(rules, op->type);
	int64_t bytes = operand_bytes(op);
	*sample = (struct op_sample){ .format = format_of_op(op), .bytes = bytes, .seconds = op->seconds, .count = 1 };
	if (!rule) {
		sample->class = SAMPLE_FUSED;
		return op->fused && op->shaped && op->operands > 0;
	}
	if (rule->cost == COST_NONE || (rule->traits & (TRAIT_SOURCE | TRAIT_OPAQUE)))
		return false;
	if (op->moves && op->operands == 2 && op->shaped) {
		sample->class = SAMPLE_COPY;
		return true;
	}
	if ((rule->traits & TRAIT_CAST) ||
		!op_samples_bind(op, rule, binding))      /* a cast's result: what moves it, within, has both formats */
		return false;
	sample->flops = rule_flops(rule, binding);
	sample->bytes += op_samples_result_bytes(op, binding);
	sample->class = rule->cost == COST_ATTENTION || rule->cost == COST_ATTENTION_BACKWARD ? SAMPLE_ATTENTION
		: rule_contracts(rule) || rule->cost == COST_RECURRENCE ? SAMPLE_PRODUCT
		: rule->traits & TRAIT_COPY ? SAMPLE_COPY
		: SAMPLE_EAGER;
	return true;
}

static enum status op_samples_add_op(struct samples *samples, const struct op_sample *sample)
{
	NEED(mem_reserve(&samples->op, &samples->op_room, (size_t)samples->ops + 1, sizeof *samples->op));
	samples->op[samples->ops++] = *sample;
	samples->ops_of[sample->class]++;
	samples->seconds_of[sample->class] += sample->seconds;
	return OK;
}

/* The first op from outside that a rule knows has all the time of what lies in it. */
static enum status op_samples_add_ops(struct samples *samples, const struct trace *trace, const struct rules *rules)
{
	OWN(binding) binding = { 0 };
	HELD bool *in = mem_alloc((size_t)trace->ops + 1, sizeof *in);
	enum status status = in ? OK : NO_MEMORY;
	for (uint32_t i = 0; i < trace->ops && status == OK; i++) {
		const struct trace_op *op = &trace->op[i];
		struct op_sample sample;
		in[i] = (op->parent != NONE && in[op->parent]) || op->waits;
		if (in[i] || op->seconds <= 0)
			continue;
		if (op_samples_classify(op, rules, &binding, &sample)) {
			in[i] = true;
			status = op_samples_add_op(samples, &sample);
		}
	}
	/* An op without a part of it that is known. */
	for (uint32_t i = trace->ops; i-- > 0 && status == OK;)
		if (in[i] && trace->op[i].parent != NONE)
			in[trace->op[i].parent] = true;
	for (uint32_t i = 0; i < trace->ops && status == OK; i++)
		if (!in[i] && trace->op[i].seconds > 0 && trace->op[i].parent == NONE) {
			samples->others++;
			samples->other_seconds += trace->op[i].seconds;
		}
	return status;
}

/* Members of the group in the node of its first; 0: it doesn't divide the group. Where not all ranks are there, those
 * that are must leave that node, else they don't tell. */
static uint32_t near_members(const struct trace_collective *collective, uint32_t devices_per_node)
{
	uint32_t near = 0;
	for (uint32_t i = 0; i < collective->ranks; i++)
		near += collective->rank[i] / devices_per_node == collective->rank[0] / devices_per_node;
	if (collective->ranks < collective->size && near == collective->ranks)
		near = collective->size < devices_per_node ? collective->size : devices_per_node;
	return near > 0 && collective->size % near == 0 ? near : 0;
}

/* A record for each op; samples_join() makes one of those that are alike. O(ops). */
static enum status op_samples_add_trace(
	struct samples *samples, const struct trace *trace, const struct rules *rules, uint32_t devices_per_node)
{
	enum status status = op_samples_add_ops(samples, trace, rules);
	for (uint32_t i = 0; i < trace->collectives && status == OK; i++) {
		const struct trace_collective *from = &trace->collective[i];
		struct mesh_axis axis = { .size = from->size };
		struct collective_sample sample = { .kind = from->kind,
			.size = from->size,
			.near = near_members(from, devices_per_node),
			.seconds = from->seconds,
			.count = 1,
			.bytes = collective_of(&axis, from->kind, from->from, from->to) };
		if (sample.near == 0)
			continue;
		NEED(mem_reserve(&samples->collective, &samples->collective_room, (size_t)samples->collectives + 1, sizeof sample));
		samples->collective[samples->collectives++] = sample;
	}
	return status;
}

/* What is said of the device, once for all traces. */
static enum status add_device(struct samples *samples, const struct trace *trace, struct error *error)
{
	const char *name = trace->kernels > 0 ? trace->device : "";
	if (samples->traces > 0 && (strcmp(samples->device, name) != 0 || samples->gpu != (trace->kernels > 0)))
		return fail(error, BAD_INPUT, "this trace is of another device, \"%.90s\", than those before it, \"%.90s\"",
			trace->kernels > 0 ? name : "processor", samples->gpu ? samples->device : "processor");
	snprintf(samples->device, sizeof samples->device, "%s", name);
	samples->gpu = trace->kernels > 0;
	samples->memory = samples->gpu ? trace->device_memory : 0;
	samples->traces++;
	samples->kernels += trace->kernels;
	samples->unowned += trace->unowned;
	samples->unowned_seconds += trace->unowned_seconds;
	return OK;
}

enum status samples_read(struct samples *samples, const char *text, size_t size, const struct rules *rules,
	uint32_t devices_per_node, struct error *error)
{
	struct trace trace;
	enum status status = trace_read(text, size, &trace, error);
	if (status == OK && trace.ops + trace.collectives == 0)
		status = fail(error, BAD_INPUT, "no operators and no collectives are in that trace");
	if (status == OK && !trace.shapes && trace.collectives == 0)
		status = fail(error, BAD_INPUT, "the trace has no shapes of operands: profile with record_shapes=True");
	THEN(status, add_device(samples, &trace, error));
	if (status == OK && op_samples_add_trace(samples, &trace, rules, devices_per_node) != OK)
		status = fail_memory(error);
	trace_free(&trace);
	return status;
}

enum status samples_open(struct samples *samples, const char *path, const struct rules *rules,
	uint32_t devices_per_node, struct error *error)
{
	size_t size = 0;
	struct input *input = input_open(path, error);
	bool begins = input && input_begins_json(input);
	if (input && !begins) {
		fail(error, BAD_INPUT, "not a trace of torch.profiler: expected an object with traceEvents");
		error->line = 1;
	}
	char *text = begins ? input_all(input, TRACE_MOST, &size, error) : NULL;
	enum status status = text ? samples_read(samples, text, size, rules, devices_per_node, error) : error->status;
	mem_free(text);
	if (input)
		input_close(input);
	return status == OK || status == NO_MEMORY ? status : BAD_INPUT;
}

void samples_free(struct samples *samples)
{
	mem_free(samples->op);
	mem_free(samples->collective);
	*samples = (struct samples){ 0 };
}

struct op_work sample_work(const struct op_sample *sample)
{
	return (struct op_work){ .format = sample->format,
		.matrix = sample->class <= SAMPLE_ATTENTION,
		.attention = sample->class == SAMPLE_ATTENTION,
		.cast = sample->class == SAMPLE_COPY || sample->class == SAMPLE_FUSED };
}

/* ---- alike ----------------------------------------------------------------------------------- */

#define COMPARE(a, b) if ((a) != (b)) return (a) < (b) ? -1 : 1

static int same_op(const struct op_sample *a, const struct op_sample *b)
{
	COMPARE(a->class, b->class);
	COMPARE(a->format, b->format);
	COMPARE(a->flops, b->flops);
	COMPARE(a->bytes, b->bytes);
	return 0;
}

static int by_op(const void *left, const void *right)
{
	const struct op_sample *a = left, *b = right;
	int differ = same_op(a, b);
	return differ ? differ : (a->seconds > b->seconds) - (a->seconds < b->seconds);
}

static int same_collective(const struct collective_sample *a, const struct collective_sample *b)
{
	COMPARE(a->near, b->near);
	COMPARE(a->size, b->size);
	COMPARE(a->kind, b->kind);
	COMPARE(a->bytes, b->bytes);
	return 0;
}

static int by_collective(const void *left, const void *right)
{
	const struct collective_sample *a = left, *b = right;
	int differ = same_collective(a, b);
	return differ ? differ : (a->seconds > b->seconds) - (a->seconds < b->seconds);
}

void samples_join(struct samples *samples)
{
	uint32_t ops = 0, collectives = 0;
	if (samples->ops > 0)
		qsort(samples->op, samples->ops, sizeof *samples->op, by_op);
	if (samples->collectives > 0)
		qsort(samples->collective, samples->collectives, sizeof *samples->collective, by_collective);
	for (uint32_t i = 0, end; i < samples->ops; i = end) {
		for (end = i; end < samples->ops && same_op(&samples->op[i], &samples->op[end]) == 0; end++)
			;
		samples->op[ops] = samples->op[i + (end - i) / 2];
		samples->op[ops++].count = end - i;
	}
	for (uint32_t i = 0, end; i < samples->collectives; i = end) {
		for (end = i;
			end < samples->collectives && same_collective(&samples->collective[i], &samples->collective[end]) == 0;
			end++)
			;
		samples->collective[collectives] = samples->collective[i + (end - i) / 4];
		samples->collective[collectives++].count = end - i;
	}
	samples->ops = ops;
	samples->collectives = collectives;
}
