/* cost.c: what an HLO instruction computes, and which operand's memory it may write. */
#include <stdlib.h>

#include "flat.h"

static bool listed(const struct hlo_instruction *instruction, const char *const *list)
{
	for (; *list; list++)
		if (opcode(instruction, *list))
			return true;
	return false;
}

/* An element of the result depends on the elements of the operands at its place. */
static const char *const elementwise[] = {
	"abs", "add", "and", "atan2", "cbrt", "ceil", "clamp", "compare", "convert", "copy", "cosine", "divide", "erf", "exponential", "exponential-minus-one", "floor",
	"is-finite", "log", "log-plus-one", "logistic", "maximum", "minimum", "multiply", "negate", "not", "or", "popcnt", "power", "remainder", "round-nearest-afz",
	"round-nearest-even", "rsqrt", "select", "shift-left", "shift-right-arithmetic", "shift-right-logical", "sign", "sine", "sqrt", "subtract", "tan", "tanh", "xor",
	NULL };
/* What moves data, or makes it of nothing. */
static const char *const moves[] = {
	"parameter", "constant", "tuple", "get-tuple-element", "bitcast", "bitcast-convert", "broadcast", "concatenate", "copy", "copy-start", "copy-done", "dynamic-slice",
	"dynamic-update-slice", "gather", "iota", "pad", "reshape", "reverse", "slice", "transpose", "after-all", "partition-id", "replica-id", "optimization-barrier",
	"all-gather", "all-to-all", "collective-permute", "all-gather-start", "all-gather-done", "collective-permute-start", "collective-permute-done", "send", "recv",
	"send-done", "recv-done", "infeed", "outfeed", "domain", NULL };

static bool same_dims(const struct hlo_shape *a, const struct hlo_shape *b)
{
	return !a->tuple && !b->tuple && a->rank == b->rank && memcmp(a->dim, b->dim, a->rank * sizeof *a->dim) == 0;
}

/* ---- memory ------------------------------------------------------------------------- */

static const struct hlo_instruction *through_bitcasts(const struct hlo_computation *computation, uint32_t id)
{
	const struct hlo_instruction *instruction = &computation->instruction[id];
	while (opcode(instruction, "bitcast") && instruction->operands == 1)
		instruction = &computation->instruction[instruction->operand[0]];
	return instruction;
}

/* How often an instruction is read in its computation. */
static uint32_t uses(const struct hlo_computation *computation, const struct hlo_instruction *of)
{
	uint32_t id = (uint32_t)(of - computation->instruction), count = 0;
	for (uint32_t i = 0; i < computation->instructions; i++)
		for (uint32_t k = 0; k < computation->instruction[i].operands; k++)
			count += computation->instruction[i].operand[k] == id;
	return count;
}

/* The parameter that an update of a slice, the root of array k, writes into; NONE where it is another thing. */
static uint32_t updated_parameter(const struct hlo_computation *computation, uint32_t k)
{
	const struct hlo_instruction *root = &computation->instruction[computation->root];
	if (opcode(root, "tuple") && root->operands == root->shape->leaves && k < root->operands)
		root = &computation->instruction[root->operand[k]];
	root = through_bitcasts(computation, (uint32_t)(root - computation->instruction));
	if ((!opcode(root, "dynamic-update-slice") && !opcode(root, "scatter")) || root->operands < 1)
		return NONE;
	const struct hlo_instruction *into = through_bitcasts(computation, root->operand[0]);
	return opcode(into, "parameter") && uses(computation, into) == 1 ? into->index : NONE;
}

/* Parameter p of a computation of one array is read only at the place that is written, on all ways to the root. O(instructions). */
static bool place_by_place(const struct flat *flat, const struct hlo_computation *computation, uint32_t parameter)
{
	const struct hlo_shape *whole = computation->instruction[computation->root].shape;
	bool *apart = flat->apart, fine = false;   /* apart: read elsewhere too */
	memset(apart, 0, computation->instructions * sizeof *apart);
	for (uint32_t i = computation->instructions; i-- > 0;) {
		const struct hlo_instruction *instruction = &computation->instruction[i];
		bool here = listed(instruction, elementwise) && same_dims(instruction->shape, whole) && !apart[i];
		for (uint32_t k = 0; k < instruction->operands; k++)
			apart[instruction->operand[k]] |= !here || !same_dims(computation->instruction[instruction->operand[k]].shape, whole);
		if (opcode(instruction, "parameter") && instruction->index == parameter)
			fine = !apart[i] && i != computation->root;
	}
	return fine;
}

bool hlo_updates(const struct flat *flat, const struct flat_op *op, uint32_t k, uint32_t argument)
{
	const struct hlo_instruction *instruction = op->of;
	uint32_t leaf = flat->tensor[flat->argument[op->write + k]].leaf;
	if (opcode(instruction, "dynamic-update-slice") || opcode(instruction, "scatter"))
		return argument == 0;
	return opcode(instruction, "fusion") && instruction->calls == 1 && instruction->call[0] != NONE && op->reads == instruction->operands
		&& updated_parameter(&flat->module->computation[instruction->call[0]], leaf) == argument;
}

uint32_t hlo_shares(const struct flat *flat, const struct flat_op *op, uint32_t k, uint32_t *from)
{
	const struct hlo_instruction *instruction = op->of;
	bool fusion = opcode(instruction, "fusion") && instruction->calls == 1 && instruction->call[0] != NONE;
	uint32_t leaf = flat->tensor[flat->argument[op->write + k]].leaf, read = (*from)++;
	if (opcode(instruction, "while")) {
		*from = NONE;
		return read == 0 && leaf < op->reads ? leaf : NONE;
	}
	/* From here on an argument is an operand. */
	if (read >= op->reads || op->reads != instruction->operands)
		return NONE;
	if (opcode(instruction, "dynamic-update-slice") || opcode(instruction, "scatter"))
		return read == 0 ? 0 : NONE;
	const struct hlo_shape *out = flat->tensor[flat->argument[op->write + k]].shape;
	for (; read < op->reads; read = (*from)++) {
		const struct hlo_shape *in = op->in->instruction[instruction->operand[read]].shape;
		if (!fusion && listed(instruction, elementwise) && same_dims(in, out))
			return read;
		if (fusion && updated_parameter(&flat->module->computation[instruction->call[0]], leaf) == read)
			return read;
		if (fusion && op->writes == 1 && same_dims(in, out) && place_by_place(flat, &flat->module->computation[instruction->call[0]], read))
			return read;
	}
	return NONE;
}

/* ---- work ------------------------------------------------------------------------------ */

static int64_t product(int64_t a, int64_t b)
{
	int64_t result;
	return a < 0 || b < 0 ? -1 : __builtin_mul_overflow(a, b, &result) ? INT64_MAX / 4 : result;
}

static int64_t elements(const struct hlo_shape *shape)
{
	int64_t count = 1;
	for (int i = 0; i < shape->rank; i++)
		count = product(count, shape->dim[i]);
	return shape->tuple ? 0 : count;
}

/* The dims that a list "1,2" names, multiplied. */
static int64_t named_dims(const struct hlo_shape *shape, const char *list)
{
	int64_t count = 1;
	while (list && *list) {
		char *end;
		long dim = strtol(list, &end, 10);
		if (end == list || dim < 0 || dim >= shape->rank)
			return -1;
		count = product(count, shape->dim[dim]);
		list = end + strspn(end, ", ");
	}
	return count;
}

/* Of "b01f_01io->b01f" what an output element sums up: all dims of the kernel but its outputs. */
static int64_t convolved(const struct hlo_shape *kernel, const char *labels)
{
	const char *middle = labels ? strchr(labels, '_') : NULL, *outputs = middle ? strchr(middle, 'o') : NULL;
	int64_t all = elements(kernel);
	if (!outputs || outputs - middle - 1 >= kernel->rank || kernel->dim[outputs - middle - 1] < 1)
		return -1;
	return all / kernel->dim[outputs - middle - 1];
}

static int64_t sum(int64_t a, int64_t b)
{
	return a < 0 || b < 0 ? -1 : a > INT64_MAX / 4 - b ? INT64_MAX / 4 : a + b;
}

static int64_t whole(const struct hlo_module *module, uint32_t computation, int64_t *memo)
{
	if (computation == NONE)
		return -1;
	if (memo[computation] != -2)
		return memo[computation];
	memo[computation] = -1;   /* of one that calls itself */
	const struct hlo_computation *inner = &module->computation[computation];
	int64_t total = 0;
	for (uint32_t i = 0; i < inner->instructions && total >= 0; i++)
		total = sum(total, hlo_flops(module, inner, &inner->instruction[i], memo));
	return memo[computation] = total;
}

int64_t hlo_flops(const struct hlo_module *module, const struct hlo_computation *computation, const struct hlo_instruction *instruction, int64_t *memo)
{
	const struct hlo_shape *first = instruction->operands ? computation->instruction[instruction->operand[0]].shape : NULL;
	int64_t out = elements(instruction->shape);
	if (listed(instruction, moves))
		return 0;
	if (listed(instruction, elementwise))
		return out;
	if (opcode(instruction, "dot") && first)
		return product(2, product(out, named_dims(first, instruction->lhs_contracting)));
	if (opcode(instruction, "convolution") && instruction->operands == 2)
		return product(2, product(out, convolved(computation->instruction[instruction->operand[1]].shape, instruction->labels)));
	if (opcode(instruction, "fusion") || opcode(instruction, "call"))
		return instruction->calls ? whole(module, instruction->call[0], memo) : -1;
	if (opcode(instruction, "while"))
		return instruction->calls ? product(whole(module, instruction->call[0], memo), instruction->trips ? instruction->trips : 1) : -1;
	if (opcode(instruction, "custom-call") || opcode(instruction, "conditional") || opcode(instruction, "async-start"))
		return -1;
	/* Reductions and the like read each element once. */
	int64_t in = first ? elements(first) : 0;
	return in > out ? in : out;
}
