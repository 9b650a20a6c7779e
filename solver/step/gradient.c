/* gradient.c: the backward ops of one forward op.
 *
 * Most ops have one backward kernel, which reads what the operator rules say is saved. The others are
 * differentiated here, as autograd does, into several ops; what these read is saved: mm(g, b') for the
 * gradient of a is written only when a needs one, hence b is kept only then. Views differentiate to views
 * and cost nothing. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>

#include "train.h"

/* ---- shorthands ---- */

/* An op in fresh memory with the shape and dtype of a forward tensor. */
static uint32_t like(
	const struct gradient *g, const char *type, uint32_t tensor, const uint32_t *input, uint32_t inputs)
{
	build_op(g->build, type, input, inputs);
	return build_output_like(g->build, tensor);
}

/* Sums a gradient over the dims that broadcasting added, down to the shape of a forward tensor. */
static uint32_t sum_to(const struct gradient *g, uint32_t gradient, uint32_t tensor)
{
	struct build *build = g->build;
	struct shape from = build_shape(build, gradient), to = build_shape(build, tensor);
	if (build->status != OK || gradient == NONE || shape_equal(&from, &to))
		return gradient;
	struct shape kept = from;
	bool sums = false;
	FOR_INT(i, from.dims) {
		int j = i - (from.dims - to.dims);
		if (j < 0 || (to.dim[j] == 1 && from.dim[i] != 1)) {
			kept.dim[i] = 1;
			sums = true;
		}
	}
	if (sums)
		gradient = build_to_shape(build, "aten.sum.dim_IntList", gradient, kept);
	return shape_equal(&kept, &to) ? gradient : build_reshape(build, "aten.view.default", gradient, to);
}

/* A view with the last two dims exchanged. */
static uint32_t transposed(const struct gradient *g, uint32_t tensor)
{
	struct shape shape = build_shape(g->build, tensor);
	if (shape.dims < 2)
		return tensor;
	int64_t last = shape.dim[shape.dims - 1];
	shape.dim[shape.dims - 1] = shape.dim[shape.dims - 2];
	shape.dim[shape.dims - 2] = last;
	return build_reshape(g->build, shape.dims == 2 ? "aten.t.default" : "aten.transpose.int", tensor, shape);
}

static bool gradient_needs(const struct gradient *g, uint32_t input)
{
	return input < g->ins && g->needs[input];
}

static uint32_t zeros(const struct gradient *g, uint32_t tensor)
{
	return like(g, "aten.new_zeros.default", tensor, NULL, 0);
}

/* ---- linear algebra ---- */

/* c = a b, also batched: da = dc b', db = a' dc. */
static void step_gradient_product(const struct gradient *g, uint32_t a, uint32_t b)
{
	bool grouped = rules_find(g->rules, g->type)->cost == COST_GROUPED;
	const char *type = grouped ? g->type
		: build_shape(g->build, g->in[a]).dims == 2 ? "aten.mm.default"
		: "aten.bmm.default";
	if (gradient_needs(g, a))
		g->to[a] = like(g, type, g->in[a], IN(g->from[0], transposed(g, g->in[b])));
	if (gradient_needs(g, b))
		g->to[b] = like(g, type, g->in[b], IN(transposed(g, g->in[a]), g->from[0]));
}

/* A derivative of one line. */
#define DERIVATIVE(name, ...) static void name(const struct gradient *g) { __VA_ARGS__; }

DERIVATIVE(gradient_matmul, step_gradient_product(g, 0, 1))

static void addmm(const struct gradient *g)
{
	step_gradient_product(g, 1, 2);
	if (gradient_needs(g, 0))
		g->to[0] = sum_to(g, g->from[0], g->in[0]);
}

/* ---- normalisation ---- */

/* One backward op with the gradients of the input, and of weight and bias where they are wanted. */
static void norm(const struct gradient *g, const char *type, const uint32_t *input, uint32_t inputs)
{
	build_op(g->build, type, input, inputs);
	FOR_WHILE(i, g->ins, i < 3)
		if (gradient_needs(g, i))
			g->to[i] = build_output_like(g->build, g->in[i]);
}

static uint32_t input_or_none(const struct gradient *g, uint32_t i)
{
	return i < g->ins ? g->in[i] : NONE;
}

static uint32_t output_or_none(const struct gradient *g, uint32_t i)
{
	return i < g->outs ? g->out[i] : NONE;
}

DERIVATIVE(gradient_layer_norm, norm(g, "aten.native_layer_norm_backward.default", IN(g->from[0], g->in[0],
	output_or_none(g, 1), output_or_none(g, 2), input_or_none(g, 1), input_or_none(g, 2))))
DERIVATIVE(group_norm, norm(g, "aten.native_group_norm_backward.default", IN(g->from[0], g->in[0],
	output_or_none(g, 1), output_or_none(g, 2), input_or_none(g, 1))))
DERIVATIVE(rms_norm, norm(g, "aten._fused_rms_norm_backward.default", IN(g->from[0], g->in[0],
	output_or_none(g, 1), input_or_none(g, 1))))

/* ---- element by element ---- */

static void gradient_pass(const struct gradient *g)
{
	FOR(i, g->ins)
		if (gradient_needs(g, i)) {
			g->to[i] = sum_to(g, g->from[0], g->in[i]);
			if (build_dtype(g->build, g->to[i]) != build_dtype(g->build, g->in[i])) /* of a sum of two formats */
				g->to[i] = like(g, "aten._to_copy.default", g->in[i], IN(g->to[i]));
		}
}

static void subtract(const struct gradient *g)
{
	if (gradient_needs(g, 1))
		g->to[1] = sum_to(g, build_map(g->build, "aten.neg.default", IN(g->from[0])), g->in[1]);
	if (gradient_needs(g, 0))
		g->to[0] = sum_to(g, g->from[0], g->in[0]);
}

DERIVATIVE(negate, g->to[0] = build_map(g->build, "aten.neg.default", IN(g->from[0])))
DERIVATIVE(cast, g->to[0] = like(g, "aten._to_copy.default", g->in[0], IN(g->from[0])))

static void gradient_multiply(const struct gradient *g)
{
	FOR_DOWN(i, g->ins)
		if (gradient_needs(g, i)) {
			uint32_t other = g->ins > 1 ? g->in[1 - i] : NONE;
			g->to[i] = sum_to(g, build_map(g->build, "aten.mul.Tensor", IN(g->from[0], other)), g->in[i]);
		}
}

/* q = a / b: da = g / b, db = -g q / b, with q computed anew from a. */
static void gradient_divide(const struct gradient *g)
{
	if (gradient_needs(g, 1)) {
		uint32_t quotient = like(g, "aten.div.Tensor", g->out[0], IN(g->in[0], g->in[1]));
		quotient = like(g, "aten.div.Tensor", g->out[0], IN(quotient, g->in[1]));
		uint32_t negative = build_map(g->build, "aten.neg.default", IN(g->from[0]));
		g->to[1] = sum_to(g, build_map(g->build, "aten.mul.Tensor", IN(negative, quotient)), g->in[1]);
	}
	if (gradient_needs(g, 0))
		g->to[0] = sum_to(g, build_map(g->build, "aten.div.Tensor", IN(g->from[0], input_or_none(g, 1))), g->in[0]);
}

static void gradient_power(const struct gradient *g)
{
	uint32_t slope = build_map(g->build, "aten.pow.Tensor_Scalar", IN(g->in[0]));
	slope = build_map(g->build, "aten.mul.Scalar", IN(slope));
	g->to[0] = build_map(g->build, "aten.mul.Tensor", IN(g->from[0], slope));
}

/* y = f(x) with dy/dx = h(x) written as one op of another name. */
static void by_slope(const struct gradient *g, const char *type, uint32_t of)
{
	uint32_t slope = build_map(g->build, type, IN(of));
	g->to[0] = build_map(g->build, "aten.mul.Tensor", IN(g->from[0], slope));
}

DERIVATIVE(sine, by_slope(g, "aten.cos.default", g->in[0]))
DERIVATIVE(cosine, by_slope(g, "aten.sin.default", g->in[0]))
DERIVATIVE(absolute, by_slope(g, "aten.sgn.default", g->in[0]))
DERIVATIVE(gradient_logarithm, g->to[0] = build_map(g->build, "aten.div.Tensor", IN(g->from[0], g->in[0])))
DERIVATIVE(exponential, g->to[0] = build_map(g->build, "aten.mul.Tensor", IN(g->from[0], g->out[0])))

static void square_root(const struct gradient *g)
{
	uint32_t twice = build_map(g->build, "aten.mul.Tensor", IN(g->out[0]));
	g->to[0] = build_map(g->build, "aten.div.Tensor", IN(g->from[0], twice));
}

/* 1/x and 1/sqrt(x): a power of the result. */
static void reciprocal(const struct gradient *g)
{
	uint32_t slope = build_map(g->build, "aten.pow.Tensor_Scalar", IN(g->out[0]));
	g->to[0] = build_map(g->build, "aten.mul.Tensor", IN(g->from[0], slope));
}

static void extremum(const struct gradient *g)
{
	struct shape shape = build_shape(g->build, g->out[0]);
	build_op(g->build, "aten.ge.Tensor", IN(g->in[0], input_or_none(g, 1)));
	uint32_t mask = build_output(g->build, DTYPE_BOOL, shape);
	FOR_DOWN(i, g->ins)
		if (gradient_needs(g, i))
			g->to[i] = sum_to(g, build_map(g->build, "aten.masked_fill.Scalar", IN(g->from[0], mask)), g->in[i]);
}

static void where(const struct gradient *g)
{
	FOR_FROM(i, 1, g->ins)
		if (gradient_needs(g, i))
			g->to[i] = sum_to(g, build_map(g->build, "aten.where.self", IN(g->from[0], g->in[0])), g->in[i]);
}

DERIVATIVE(masked_fill,
	g->to[0] = sum_to(g, build_map(g->build, "aten.masked_fill.Scalar", IN(g->from[0], input_or_none(g, 1))), g->in[0]))

/* ---- lookups, selections, scatters ---- */

/* Zeros of the input's shape into which the gradient is added at the indices. */
static void scatter_add(const struct gradient *g, const char *type, uint32_t indices)
{
	uint32_t base = zeros(g, g->in[0]);
	g->to[0] = build_map_inplace(g->build, type, IN(base, indices, g->from[0]));
}

DERIVATIVE(index_rows, scatter_add(g, "aten._index_put_impl_.default", input_or_none(g, 1)))
DERIVATIVE(index_select, scatter_add(g, "aten.index_add_.default", input_or_none(g, 1)))
DERIVATIVE(gradient_gather, scatter_add(g, "aten.scatter_add_.default", input_or_none(g, 1)))

/* index_add(base, index, source): the base's gradient passes, the source's is looked up. */
static void index_add(const struct gradient *g)
{
	if (gradient_needs(g, 2))
		g->to[2] = like(g, "aten.index_select.default", g->in[2], IN(g->from[0], g->in[1]));
	if (gradient_needs(g, 0))
		g->to[0] = g->from[0];
}

/* topk, sort, max over a dim: values and indices. */
static void pick(const struct gradient *g)
{
	if (g->from[0] != NONE)
		scatter_add(g, "aten.scatter_.src", output_or_none(g, 1));
}

/* ---- reductions ---- */

/* The gradient with the reduced dims back, as a view without memory of its own. */
static uint32_t expanded(const struct gradient *g)
{
	struct shape full = build_shape(g->build, g->in[0]), reduced = build_shape(g->build, g->from[0]);
	uint32_t gradient = g->from[0];
	if (reduced.dims != full.dims) {
		struct shape kept = full;
		int j = reduced.dims - 1;
		for (int i = full.dims - 1; i >= 0; i--) {
			bool there = j >= 0 && reduced.dim[j] == full.dim[i];
			kept.dim[i] = there ? full.dim[i] : 1;
			j -= there;
		}
		gradient = build_reshape(g->build, "aten.unsqueeze.default", gradient, kept);
	}
	return build_reshape(g->build, "aten.expand.default", gradient, full);
}

DERIVATIVE(total, g->to[0] = expanded(g))
DERIVATIVE(mean, g->to[0] = like(g, "aten.div.Scalar", g->in[0], IN(expanded(g))))

/* amax, logsumexp, norm, prod: from input and result. */
static void reduction(const struct gradient *g)
{
	uint32_t weight = like(g, "aten.sub.Tensor", g->in[0], IN(g->in[0], g->out[0]));
	g->to[0] = build_map(g->build, "aten.mul.Tensor", IN(weight, g->from[0]));
}

static void variance(const struct gradient *g)
{
	uint32_t centred = like(g, "aten.sub.Tensor", g->in[0], IN(g->in[0]));
	g->to[0] = build_map(g->build, "aten.mul.Tensor", IN(centred, g->from[0]));
}

DERIVATIVE(same_again, g->to[0] = like(g, g->type, g->in[0], IN(g->from[0])))

/* ---- views, splits, joins ---- */

DERIVATIVE(reshape,
	g->to[0] = build_reshape(g->build, "aten._reshape_alias.default", g->from[0], build_shape(g->build, g->in[0])))
DERIVATIVE(permute, g->to[0] = build_reshape(g->build, g->type, g->from[0], build_shape(g->build, g->in[0])))
DERIVATIVE(slice, g->to[0] = like(g, "aten.slice_backward.default", g->in[0], IN(g->from[0])))

/* The gradient of padding drops it again. */
DERIVATIVE(gradient_narrow,
	g->to[0] = build_reshape(g->build, "aten.slice.Tensor", g->from[0], build_shape(g->build, g->in[0])))
DERIVATIVE(take_one, g->to[0] = like(g, "aten.select_backward.default", g->in[0], IN(g->from[0])))

/* split, chunk, unbind: parts without a gradient are zeros. */
static void gradient_split(const struct gradient *g)
{
	struct build *build = g->build;
	HELD uint32_t *MAKE(parts, g->outs);
	if (!parts) {
		build->status = NO_MEMORY;
		return;
	}
	FOR(i, g->outs)
		parts[i] = g->from[i] != NONE ? g->from[i] : zeros(g, g->out[i]);
	g->to[0] = like(g, "aten.cat.default", g->in[0], parts, g->outs);
}

static void gradient_join(const struct gradient *g)
{
	bool as_many_dims = build_shape(g->build, g->in[0]).dims == build_shape(g->build, g->from[0]).dims;
	const char *type = as_many_dims ? "aten.slice.Tensor" : "aten.select.int";
	FOR(i, g->ins)
		if (gradient_needs(g, i))
			g->to[i] = build_reshape(g->build, type, g->from[0], build_shape(g->build, g->in[i]));
}

/* ---- ops with one backward kernel, and opaque ones ---- */

/* One word of a rule's `saved`: "i1|2", "o0", "i0*", "x:f32(b c)". */
struct saved {
	char where; /* 'i' operand, 'o' result, 'x' neither */
	bool shape_only;
	uint32_t index, other; /* other: kept only if that operand needs a gradient; NONE: always */
};

/* Takes the next word off a list of them; false at its end. */
static bool next_saved(const char **text, struct saved *saved)
{
	const char *at = *text + strspn(*text, " ");
	if (!*at)
		return false;
	char *end = NULL;
	*saved = (struct saved){ .where = *at, .other = NONE };
	if (*at != 'x') {
		saved->index = (uint32_t)strtoul(at + 1, &end, 10);
		at = end;
		if (*at == '|') {
			saved->other = (uint32_t)strtoul(at + 1, &end, 10);
			at = end;
		}
		saved->shape_only = *at == '*';
		at += saved->shape_only;
	} else {
		at += strcspn(at, ")");
		at += *at == ')';
	}
	*text = at;
	return true;
}

static void read_one(struct build *build, uint32_t tensor)
{
	if (tensor != NONE)
		build_read(build, tensor);
}

static void read_saved(const struct gradient *g, const char *text)
{
	struct saved saved;
	while (next_saved(&text, &saved)) {
		if ((saved.shape_only && g->policy == GRADIENT_IDEAL) || (saved.other != NONE && !gradient_needs(g, saved.other)))
			continue;
		if (saved.where == 'i')
			read_one(g->build, input_or_none(g, saved.index));
		else if (saved.where == 'o')
			read_one(g->build, output_or_none(g, saved.index));
	}
}

/* False for operands that the rule gives none: the scores that only say where tokens go. */
static bool passes_to(const struct rule *rule, uint32_t input)
{
	if (!rule || strcmp(rule->gradients, "*") == 0)
		return true;
	for (const char *at = rule->gradients; *at;) {
		char *end;
		if (strtoul(at, &end, 10) == input && end != at)
			return true;
		at = *end ? end + 1 : end;
	}
	return false;
}

/* One backward op that reads the gradients and what the rule saves; without a rule, all operands and results. */
static void kernel(const struct gradient *g, const struct rule *rule)
{
	char type[160];
	const char *word = strchr(g->type, '.') ? strchr(g->type, '.') + 1 : g->type;
	int length = (int)strcspn(word, ".");
	length -= length > 1 && word[length - 1] == '_';
	if (rule && rule->backward)
		PRINT_TO(type, "%s.default", rule->backward);
	else
		PRINT_TO(type, "%.*s%.*s_backward%s", (int)(word - g->type), g->type, SMALLER(100, length),
			word, word > g->type ? ".default" : "");
	build_op(g->build, type, g->from, g->outs);
	if (rule)
		read_saved(g, rule->saved);
	FOR_WHILE(i, g->ins + g->outs, !rule)
		read_one(g->build, i < g->ins ? g->in[i] : g->out[i - g->ins]);
	FOR(i, g->ins)
		if (gradient_needs(g, i) && passes_to(rule, i))
			g->to[i] = build_output_like(g->build, g->in[i]);
	if (g->done > 0 && g->done < g->whole)
		build_share(g->build, g->done, g->whole);
}

/* ---- the table of derivatives that take more than one kernel ---- */

struct derivative {
	const char *names;
	void (*expand)(const struct gradient *gradient);
};

static const struct derivative derivatives[] = {
	{ "_fused_rms_norm", rms_norm },
	{ "_reshape_alias _unsafe_view flatten reshape squeeze unsqueeze view", reshape },
	{ "_to_copy", cast },
	{ "abs", absolute },
	{ "add alias clone contiguous expand", gradient_pass },
	{ "addmm baddbmm", addmm },
	{ "amax logsumexp", reduction },
	{ "bmm grouped_mm matmul mm", gradient_matmul },
	{ "cat stack", gradient_join },
	{ "chunk split split_with_sizes unbind", gradient_split },
	{ "constant_pad_nd", gradient_narrow },
	{ "cos", cosine },
	{ "cumsum flip roll tril triu", same_again },
	{ "div", gradient_divide },
	{ "exp", exponential },
	{ "gather", gradient_gather },
	{ "index", index_rows },
	{ "index_add", index_add },
	{ "index_select", index_select },
	{ "log", gradient_logarithm },
	{ "masked_fill", masked_fill },
	{ "max min sort topk", pick },
	{ "maximum minimum", extremum },
	{ "mean", mean },
	{ "mul", gradient_multiply },
	{ "native_group_norm", group_norm },
	{ "native_layer_norm", gradient_layer_norm },
	{ "neg rsub", negate },
	{ "permute t transpose", permute },
	{ "pow", gradient_power },
	{ "reciprocal rsqrt", reciprocal },
	{ "select", take_one },
	{ "sin", sine },
	{ "slice", slice },
	{ "sqrt", square_root },
	{ "sub", subtract },
	{ "sum", total },
	{ "var", variance },
	{ "where", where },
};

/* ONNX operators whose derivative is that of an aten one of another name; the others agree but for capitals. */
static const struct { const char *onnx, *aten; } renamed[] = {
	{ "Cast", "_to_copy" }, { "Concat", "cat" }, { "Identity", "alias" }, { "Max", "maximum" }, { "Min", "minimum" },
	{ "ReduceMean", "mean" }, { "ReduceSum", "sum" }, { "Sum", "add" }, { "Transpose", "permute" },
	{ "Gather", "" }, { "Expand", "expand" }, { "TopK", "topk" },
};

/* "Concat" -> "cat". False where the aten operator of that name is another one. */
static bool aten_name(const char *onnx, size_t length, char *name, size_t size)
{
	FOR(i, COUNT_OF(renamed))
		if (strlen(renamed[i].onnx) == length && strncmp(onnx, renamed[i].onnx, length) == 0) {
			snprintf(name, size, "%s", renamed[i].aten);
			return *name != '\0';
		}
	for (size_t i = 0; i <= length; i++)
		name[i] = i < length ? (char)tolower((unsigned char)onnx[i]) : '\0';
	return true;
}

/* Of "aten.relu_.default": by the middle word, in-place variants under their base name. NULL: none. */
static const struct derivative *find_derivative(const char *type)
{
	char text[64];
	const char *word = strchr(type, '.') ? strchr(type, '.') + 1 : type;
	size_t length = strcspn(word, ".");
	if (length >= sizeof text)
		return NULL;
	PRINT_TO(text, "%.*s", (int)length, word);
	if (text_begins(type, "onnx.") ? !aten_name(word, length, text, sizeof text)
		: !text_begins(type, "aten.") && !text_begins(type, "tidemark."))
		return NULL;
	length = strlen(text);
	if (length > 1 && text[length - 1] == '_')
		text[length - 1] = '\0';
	FOR(i, COUNT_OF(derivatives))
		if (word_listed(derivatives[i].names, text))
			return &derivatives[i];
	return NULL;
}

bool gradient_passes(const struct rules *rules, const char *type)
{
	const struct rule *rule = rules_find(rules, type);
	return !rule || *rule->gradients;
}

bool gradient_keeps_input(const struct rules *rules, const char *type, const bool *needed, uint32_t count)
{
	const struct rule *rule = rules_find(rules, type);
	if (!rule)
		return true;
	const char *text = rule->saved;
	struct saved saved;
	while (next_saved(&text, &saved))
		if (saved.where == 'i' && saved.index == 0 && !saved.shape_only &&
		    (saved.other == NONE || (saved.other < count && needed[saved.other])))
			return true;
	return false;
}

void gradient_expand(const struct gradient *gradient)
{
	const struct rule *rule = rules_find(gradient->rules, gradient->type);
	const struct derivative *derivative = rule ? find_derivative(gradient->type) : NULL;
	if (!derivative)
		kernel(gradient, rule);
	else if (gradient->from[0] != NONE || derivative->expand == gradient_split) /* some parts may have no gradient */
		derivative->expand(gradient);
}
