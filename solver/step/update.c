/* update.c: the ops of an optimizer's weight update. */
#include <stdio.h>

#include "recompute.h"
#include "update.h"

#define X(id, name) name,
const char *const optimizer_names[OPTIMIZER_COUNT] = { OPTIMIZERS(X) };
#undef X

/* What one update works on: weight is the parameter or its master copy, under its latest name. */
struct step {
	struct build *build;
	const char *name; /* the parameter's */
	uint32_t weight, gradient, found_inf;
	bool holds;
	enum dtype dtype, moments;
	struct shape shape;
};

/* A tensor that the optimizer keeps from step to step: "wte.weight.exp_avg". */
static uint32_t update_state_of(const struct step *step, const char *word, enum dtype dtype, struct shape shape)
{
	char name[512];
	PRINT_TO(name, "%.480s.%s", step->name, word);
	return build_leaf(step->build, name, KIND_OPTIMIZER, dtype, shape);
}

/* A moment. */
static uint32_t update_state(const struct step *step, const char *word, struct shape shape)
{
	return update_state_of(step, word, step->moments, shape);
}

static void add_to_weight(const struct step *step, uint32_t change)
{
	build_map_inplace(step->build, "aten.add_.Tensor", IN(step->weight, change, step->found_inf));
}

static void momentum(const struct step *step)
{
	uint32_t velocity = update_state(step, "momentum_buffer", step->shape);
	velocity = build_map_inplace(step->build, "aten.mul_.Tensor", IN(velocity));
	velocity = build_map_inplace(step->build, "aten.add_.Tensor", IN(velocity, step->gradient));
	add_to_weight(step, velocity);
}

static void update_adam(const struct step *step)
{
	struct build *build = step->build;
	uint32_t first = update_state(step, "exp_avg", step->shape), second = update_state(step, "exp_avg_sq", step->shape);
	first = build_map_inplace(build, "aten.mul_.Tensor", IN(first));
	first = build_map_inplace(build, "aten.add_.Tensor", IN(first, step->gradient));
	second = build_map_inplace(build, "aten.mul_.Tensor", IN(second));
	second = build_map_inplace(build, "aten.addcmul_.default", IN(second, step->gradient));
	uint32_t deviation = build_map(build, "aten.sqrt.default", IN(second));
	deviation = build_map(build, "aten.div.Tensor", IN(deviation));
	deviation = build_map_inplace(build, "aten.add_.Tensor", IN(deviation));
	build_map_inplace(build, "aten.addcdiv_.default", IN(step->weight, first, deviation, step->found_inf));
}

/* The second moment alone, as a mean or as a sum. */
static void scaled_by_squares(const struct step *step, const char *word, bool mean)
{
	struct build *build = step->build;
	uint32_t squares = update_state(step, word, step->shape);
	if (mean)
		squares = build_map_inplace(build, "aten.mul_.Tensor", IN(squares));
	squares = build_map_inplace(build, "aten.addcmul_.default", IN(squares, step->gradient));
	uint32_t deviation = build_map(build, "aten.sqrt.default", IN(squares));
	deviation = build_map_inplace(build, "aten.add_.Tensor", IN(deviation));
	build_map_inplace(build, "aten.addcdiv_.default", IN(step->weight, step->gradient, deviation, step->found_inf));
}

/* One row or column of sums of the second moment, brought up to date; its inverse square root. */
static uint32_t factored(const struct step *step, const char *word, uint32_t square, struct shape shape)
{
	struct build *build = step->build;
	uint32_t moment = update_state(step, word, shape);
	uint32_t mean = build_to_shape(build, "aten.mean.dim", square, shape);
	moment = build_map_inplace(build, "aten.lerp_.Scalar", IN(moment, mean));
	return build_map(build, "aten.rsqrt.default", IN(moment));
}

static void adafactor(const struct step *step)
{
	struct build *build = step->build;
	struct shape row = step->shape, column = step->shape;
	uint32_t square = build_map(build, "aten.pow.Tensor_Scalar", IN(step->gradient)), change;
	if (step->shape.dims < 2) {
		uint32_t moment = update_state(step, "exp_avg_sq", step->shape);
		moment = build_map_inplace(build, "aten.lerp_.Scalar", IN(moment, square));
		change = build_map(build, "aten.rsqrt.default", IN(moment));
	} else {
		row.dim[row.dims - 1] = 1;
		column.dim[column.dims - 2] = 1;
		uint32_t rows = factored(step, "exp_avg_sq_row", square, row);
		uint32_t columns = factored(step, "exp_avg_sq_col", square, column);
		build_op(build, "aten.mul.Tensor", IN(rows, columns));
		change = build_output(build, step->dtype, step->shape);
	}
	change = build_map_inplace(build, "aten.mul_.Tensor", IN(change, step->gradient));
	add_to_weight(step, change);
}

static void update_lion(const struct step *step)
{
	struct build *build = step->build;
	uint32_t moment = update_state(step, "exp_avg", step->shape);
	build_map_inplace(build, "aten.mul_.Tensor", IN(step->weight));
	uint32_t change = build_map(build, "aten.lerp.Scalar", IN(moment, step->gradient));
	add_to_weight(step, build_map_inplace(build, "aten.sign_.default", IN(change)));
	build_map_inplace(build, "aten.lerp_.Scalar", IN(moment, step->gradient));
}

/* The variable of a temporary gets another value, or ends. */
static void update_drop(const struct step *step, uint32_t held)
{
	if (step->holds && held != NONE)
		build_op(step->build, RELEASE_TYPE, IN(held));
}

/* The moment's nearest orthogonal matrix, by five steps of Newton and Schulz in bf16 (Jordan et al. 2024). */
static void update_muon(const struct step *step)
{
	struct build *build = step->build;
	const int64_t *dim = step->shape.dim;
	bool tall = dim[0] > dim[1];
	int64_t side = SMALLER(dim[0], dim[1]), length = LARGER(dim[0], dim[1]);
	uint32_t moment = update_state(step, "momentum_buffer", step->shape);
	moment = build_map_inplace(build, "aten.lerp_.Scalar", IN(moment, step->gradient));
	uint32_t x = build_map(build, "aten.lerp.Scalar", IN(step->gradient, moment)), sum = x, gram = NONE, change = NONE;
	if (build_dtype(build, x) != DTYPE_BF16) {
		build_op(build, "aten._to_copy.default", IN(x));
		x = build_output(build, DTYPE_BF16, step->shape);
	}
	uint32_t norm = build_map(build, "aten.clamp.default",
		IN(build_to_shape(build, "aten.linalg_vector_norm.default", x, SCALAR)));
	x = build_map_inplace(build, "aten.div_.Tensor", IN(x, norm));
	if (tall)
		x = build_reshape(build, "aten.permute.default", x, SHAPE(side, length));
	for (int i = 0; i < 5; i++) {
		uint32_t turned = build_reshape(build, "aten.permute.default", x, SHAPE(length, side));
		build_op(build, "aten.mm.default", IN(x, turned));
		uint32_t old[] = { gram, change };
		gram = build_output(build, DTYPE_BF16, SHAPE(side, side));
		update_drop(step, old[0]);
		change = build_map(build, "aten.addmm.default", IN(gram, gram, gram));
		update_drop(step, old[1]);
		x = build_map(build, "aten.addmm.default", IN(x, change, x));
	}
	update_drop(step, sum);
	update_drop(step, gram);
	if (tall)
		x = build_reshape(build, "aten.permute.default", x, step->shape);
	build_map_inplace(build, "aten.mul_.Tensor", IN(step->weight));
	add_to_weight(step, x);
}

/* One kernel; the maps of numbers are one for all parameters. */
static void update_8bit(const struct step *step)
{
	struct build *build = step->build;
	bool narrow = shape_elements(&step->shape) >= 4096;
	int64_t elements = shape_elements(&step->shape), row = narrow ? elements / step->shape.dim[0] : 1;
	struct shape blocks = row % 256 == 0 ? SHAPE(step->shape.dim[0], row / 256) : SHAPE((elements + 255) / 256);
	static const char *const words[] = { "state1", "state2", "absmax1", "absmax2" }, *const maps[] = { "qmap1", "qmap2" };
	uint32_t state[COUNT_OF(words)] = { NONE, NONE, NONE, NONE };
	for (size_t i = 0; i < (narrow ? 4 : 2); i++)
		state[i] = update_state_of(step, words[i], narrow && i < 2 ? DTYPE_U8 : DTYPE_F32, i < 2 ? step->shape : blocks);
	build_op(build, narrow ? "bitsandbytes.optimizer_update_8bit_blockwise.default"
		: "bitsandbytes.optimizer_update_32bit.default", IN(step->weight, step->gradient));
	FOR(i, 6)
		if (narrow || i < 2) {
			uint32_t map = i < 4 ? state[i] : draft_find_tensor(build->draft, maps[i - 4]);
			build_read(build, map != NONE ? map : build_leaf(build, maps[i - 4], KIND_OPTIMIZER, DTYPE_F32, SHAPE(256)));
		}
	build_inplace(build, step->weight);
	FOR(i, narrow ? 4 : 2)
		build_touch(build, state[i]);
}

/* One parameter; found_inf: the flag of loss scaling, or NONE. */
static void update_one(struct build *build, const struct update_options *options, uint32_t found_inf,
	uint32_t parameter, uint32_t gradient)
{
	if (build->status != OK)
		return;
	bool master = update_has_master(build, options, parameter);
	struct step step = {
		.build = build, .name = draft_tensor_at(build->draft, parameter)->name, .weight = parameter, .gradient = gradient,
		.found_inf = found_inf, .holds = options->held,
		.shape = build_shape(build, parameter), .dtype = master ? DTYPE_F32 : build_dtype(build,
			parameter),
	};
	step.moments = options->narrow_moments && dtype_bits[step.dtype] > 16 ? DTYPE_BF16 : step.dtype;
	enum optimizer optimizer = options->optimizer;
	char module[512]; /* without the parameter's own name, which may end in a number */
	const char *dot = strrchr(step.name, '.');
	PRINT_TO(module, "%.*s", dot ? (int)SMALLER(dot - step.name, 500) : 0, step.name);
	if (optimizer == OPTIMIZER_MUON && (step.shape.dims != 2 || !module_in_layer(module)))
		optimizer = OPTIMIZER_ADAMW;
	uint32_t copy = NONE;
	if (master)
		step.weight = copy = update_state_of(&step, "master", step.dtype, step.shape);
	if (optimizer == OPTIMIZER_ADAMW)
		step.weight = build_map_inplace(build, "aten.mul_.Tensor", IN(step.weight));
	switch (optimizer) {
	case OPTIMIZER_SGD:
		add_to_weight(&step, step.gradient);
		break;
	case OPTIMIZER_MOMENTUM:
		momentum(&step);
		break;
	case OPTIMIZER_ADAFACTOR:
		adafactor(&step);
		break;
	case OPTIMIZER_RMSPROP:
		scaled_by_squares(&step, "square_avg", true);
		break;
	case OPTIMIZER_ADAGRAD:
		scaled_by_squares(&step, "sum", false);
		break;
	case OPTIMIZER_LION:
		update_lion(&step);
		break;
	case OPTIMIZER_MUON:
		update_muon(&step);
		break;
	case OPTIMIZER_ADAMW8BIT:
		update_8bit(&step);
		break;
	default:
		update_adam(&step);
		break;
	}
	if (master)
		build_map_inplace(build, "aten.copy_.default", IN(parameter, copy));
}

uint32_t update_gradient(
	struct build *build, const struct update_options *options, uint32_t parameter, uint32_t gradient)
{
	enum dtype dtype = update_has_master(build, options, parameter) ? DTYPE_F32 : build_dtype(build, gradient);
	if (build->status != OK)
		return NONE;
	if (options->accumulate) {
		char name[512];
		PRINT_TO(name, "%.480s.grad", draft_tensor_at(build->draft, parameter)->name);
		if (draft_find_tensor(build->draft, name) != NONE) /* the gradient itself has that name */
			PRINT_TO(name, "%.480s.grad.sum", draft_tensor_at(build->draft, parameter)->name);
		uint32_t sum = build_leaf(build, name, KIND_GRADIENT, dtype, build_shape(build, parameter));
		return build_map_inplace(build, "aten.add_.Tensor", IN(sum, gradient));
	}
	if (dtype == build_dtype(build, gradient))
		return gradient;
	build_op(build, "aten._to_copy.default", IN(gradient));
	return build_output(build, dtype, build_shape(build, parameter));
}

uint32_t update_unscale(struct build *build, const uint32_t *parameter, uint32_t *gradient, uint32_t count)
{
	build->module = "loss_scale";
	build->src = NULL;
	uint32_t scale = build_leaf(build, "loss_scale", KIND_OPTIMIZER, DTYPE_F32, SCALAR);
	build_op(build, "aten.zeros.default", NULL, 0);
	uint32_t found_inf = build_output(build, DTYPE_F32, SCALAR);
	FOR_WHILE(i, count, build->status == OK) {
		build->module = draft_tensor_at(build->draft, parameter[i])->name;
		build->src = NULL;
		build_op(build, "aten._amp_foreach_non_finite_check_and_unscale_.default", IN(gradient[i], found_inf, scale));
		gradient[i] = build_inplace(build, gradient[i]);
		build_touch(build, found_inf);
	}
	return found_inf;
}

void update_all(struct build *build, const struct update_options *options, const uint32_t *parameter,
	uint32_t *gradient, uint32_t count)
{
	if (options->optimizer == OPTIMIZER_NONE) {
		FOR(i, count)
			build_kind(build, gradient[i], KIND_OUTPUT);
		return;
	}
	uint32_t found_inf = options->loss_scaling ? update_unscale(build, parameter, gradient, count) : NONE;
	FOR_WHILE(i, count, build->status == OK) {
		build->module = draft_tensor_at(build->draft, parameter[i])->name;
		build->src = NULL;
		update_one(build, options, found_inf, parameter[i], gradient[i]);
	}
}
