/* cost.c: what an HLO instruction computes, and which operand's memory it may write. */
#include <stdlib.h>

#include "flat.h"

static bool hlo_cost_listed(const struct hlo_instruction *instruction, const char *const *list)
{
	for (; *list; list++)
		if (opcode(instruction, *list))
			return true;
	return false;
}

/* An element of the result depends on the elements of the operands at its place. */
static const char *const elementwise[] = { "abs", "add", "and", "atan2", "cbrt", "ceil", "clamp", "compare", "convert",
	"copy", "cosine", "divide", "erf", "exponential", "exponential-minus-one", "floor", "is-finite", "log",
	"log-plus-one", "logistic", "maximum", "minimum", "multiply", "negate", "not", "or", "popcnt", "power", "remainder",
	"round-nearest-afz", "round-nearest-even", "rsqrt", "select", "shift-left", "shift-right-arithmetic",
	"shift-right-logical", "sign", "sine", "sqrt", "subtract", "tan", "tanh", "xor", NULL };
/* What moves data, or makes it of nothing. */
static const char *const moves[] = { "parameter", "constant", "tuple", "get-tuple-element", "bitcast",
	"bitcast-convert", "broadcast", "concatenate", "copy", "copy-start", "copy-done", "dynamic-slice",
	"dynamic-update-slice", "gather", "iota", "pad", "reshape", "reverse", "slice", "transpose", "after-all",
	"partition-id", "replica-id", "optimization-barrier", "all-gather", "all-to-all", "collective-permute",
	"all-gather-start", "all-gather-done", "collective-permute-start", "collective-permute-done", "send", "recv",
	"send-done", "recv-done", "infeed", "outfeed", "domain", NULL };

/* Element for element at the same place, as far as layouts are said. */
static bool same_dims(const struct hlo_shape *a, const struct hlo_shape *b)
{
	return !a->tuple && !b->tuple && a->rank == b->rank && memcmp(a->dim, b->dim, a->rank * sizeof *a->dim) == 0
		&& (a->layout == b->layout || !a->layout || !b->layout);
}

/* ---- memory ---- */

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
	FOR(i, computation->instructions)
		FOR(k, computation->instruction[i].operands)
			count += computation->instruction[i].operand[k] == id;
	return count;
}

/* The parameter that an update of a slice, the root of array k, writes into; NONE where it is another thing. */
static uint32_t hlo_cost_updated_parameter(const struct hlo_computation *computation, uint32_t k)
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

/* flat->apart: what of a computation is read elsewhere, too, than at the place of arrays of a shape where it is
 * written, on some way to the root. O(instructions). */
static void hlo_cost_find_apart(
	struct flat *flat, const struct hlo_computation *computation, const struct hlo_shape *whole)
{
	bool *apart = flat->apart;
	if (flat->apart_in == computation && same_dims(flat->apart_of, whole))
		return;
	flat->apart_in = computation;
	flat->apart_of = whole;
	CLEAR(apart, computation->instructions);
	for (uint32_t i = computation->instructions; i-- > 0;) {
		const struct hlo_instruction *instruction = &computation->instruction[i];
		bool results = i == computation->root && opcode(instruction, "tuple");
		bool here = hlo_cost_listed(instruction, elementwise) && same_dims(instruction->shape, whole) && !apart[i];
		for (uint32_t k = 0; k < instruction->operands && !results; k++)
			apart[instruction->operand[k]] |= !here ||
				!same_dims(computation->instruction[instruction->operand[k]].shape, whole);
	}
}

/* A parameter is read only at the place that is written. */
static bool place_by_place(
	struct flat *flat, const struct hlo_computation *computation, uint32_t parameter, const struct hlo_shape *whole)
{
	bool fine = false;
	hlo_cost_find_apart(flat, computation, whole);
	FOR(i, computation->instructions)
		if (computation->instruction[i].index == parameter && opcode(&computation->instruction[i], "parameter"))
			fine = !flat->apart[i] && i != computation->root;
	return fine;
}

/* Of an instruction other than a fusion: the operand over which array `leaf` can always be written; NONE. */
static uint32_t hlo_cost_written_over(const struct hlo_instruction *instruction, uint32_t leaf)
{
	if (opcode(instruction, "dynamic-update-slice"))
		return 0;
	if (opcode(instruction, "triangular-solve"))
		return 1;
	bool each = opcode(instruction, "scatter") || opcode(instruction, "sort") || opcode(instruction, "all-reduce-start");
	return each ? leaf : NONE;
}

bool hlo_shares(struct flat *flat, const struct flat_op *op, uint32_t k, uint32_t r)
{
	const struct hlo_instruction *instruction = op->of;
	uint32_t leaf = flat->tensor[flat->argument[op->write + k]].leaf;
	if (opcode(instruction, "while"))
		return r == leaf;
	if (opcode(instruction, "conditional")) /* what its branches hold besides is their workspace */
		return true;
	if (op->reads != instruction->operands)
		return false;
	const struct hlo_shape *out = flat->tensor[flat->argument[op->write + k]].shape,
						   *in = op->in->instruction[instruction->operand[r]].shape;
	FOR(i, instruction->aliases)
		if (instruction->alias[i].output == leaf && instruction->alias[i].parameter == r)
			return true;
	if (!opcode(instruction, "fusion"))
		return hlo_cost_written_over(instruction, leaf) == r ||
			(hlo_cost_listed(instruction, elementwise) && same_dims(in, out));
	if (instruction->calls != 1 || instruction->call[0] == NONE)
		return false;
	const struct hlo_computation *inside = &flat->module->computation[instruction->call[0]];
	return hlo_cost_updated_parameter(inside, leaf) == r || (same_dims(in, out) && place_by_place(flat, inside, r, out));
}

/* ---- work ---- */

static int64_t hlo_cost_product(int64_t a, int64_t b)
{
	int64_t result;
	return a < 0 || b < 0 ? -1 : __builtin_mul_overflow(a, b, &result) ? INT64_MAX / 4 : result;
}

static int64_t hlo_cost_elements(const struct hlo_shape *shape)
{
	int64_t count = 1;
	FOR_INT(i, shape->rank)
		count = hlo_cost_product(count, shape->dim[i]);
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
		count = hlo_cost_product(count, shape->dim[dim]);
		list = end + strspn(end, ", ");
	}
	return count;
}

/* Of "b01f_01io->b01f" what an output element sums up: all dims of the kernel but its outputs. */
static int64_t convolved(const struct hlo_shape *kernel, const char *labels)
{
	const char *middle = labels ? strchr(labels, '_') : NULL, *outputs = middle ? strchr(middle, 'o') : NULL;
	int64_t all = hlo_cost_elements(kernel);
	if (!outputs || outputs - middle - 1 >= kernel->rank || kernel->dim[outputs - middle - 1] < 1)
		return -1;
	return all / kernel->dim[outputs - middle - 1];
}

static int64_t hlo_cost_sum(int64_t a, int64_t b)
{
	return a < 0 || b < 0 ? -1 : a > INT64_MAX / 4 - b ? INT64_MAX / 4 : a + b;
}

static int64_t whole(const struct hlo_module *module, uint32_t computation, int64_t *memo)
{
	if (computation == NONE)
		return -1;
	if (memo[computation] != -2)
		return memo[computation];
	memo[computation] = -1; /* of one that calls itself */
	const struct hlo_computation *inner = &module->computation[computation];
	int64_t total = 0;
	for (uint32_t i = 0; i < inner->instructions && total >= 0; i++)
		total = hlo_cost_sum(total, hlo_flops(module, inner, &inner->instruction[i], memo));
	return memo[computation] = total;
}

int64_t hlo_flops(const struct hlo_module *module, const struct hlo_computation *computation,
	const struct hlo_instruction *instruction, int64_t *memo)
{
	const struct hlo_shape *first = instruction->operands ? computation->instruction[instruction->operand[0]].shape : NULL;
	int64_t out = hlo_cost_elements(instruction->shape);
	if (hlo_cost_listed(instruction, moves))
		return 0;
	if (hlo_cost_listed(instruction, elementwise))
		return out;
	if (opcode(instruction, "dot") && first)
		return hlo_cost_product(2, hlo_cost_product(out, named_dims(first, instruction->lhs_contracting)));
	if (opcode(instruction, "convolution") && instruction->operands == 2)
		return hlo_cost_product(2,
			hlo_cost_product(
				out, convolved(computation->instruction[instruction->operand[1]].shape, instruction->labels)));
	if (opcode(instruction, "fusion") || opcode(instruction, "call"))
		return instruction->calls ? whole(module, instruction->call[0], memo) : -1;
	if (opcode(instruction, "while"))
		return instruction->calls
			? hlo_cost_product(whole(module, instruction->call[0], memo), instruction->trips ? instruction->trips : 1)
			: -1;
	if (opcode(instruction, "custom-call") || opcode(instruction, "conditional") || opcode(instruction, "async-start"))
		return -1;
	/* Reductions and the like read each element once. */
	int64_t in = first ? hlo_cost_elements(first) : 0;
	return LARGER(in, out);
}
