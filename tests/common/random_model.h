/* random_model.h: small random forward graphs of operators with rules: products, norms, views, tables, in-place writes.
 * For tests. */
#pragma once

#include <stdio.h>

#include "solver/step/train.h"

#define RANDOM_ELEMENTS 600

struct random_model {
	struct build build;
	uint64_t *random;
	uint32_t there[200], count, leaves;
};

static inline uint32_t random_leaf(struct random_model *model, enum kind kind, enum dtype dtype, struct shape shape)
{
	char name[24];
	snprintf(name, sizeof name, "given.%u", model->leaves++);
	return build_leaf(&model->build, name, kind, dtype, shape);
}

static inline uint32_t random_x(struct random_model *model)
{
	uint32_t recent = model->count > 6 && random_below(model->random, 3) ? model->count - 6 : 0;
	return model->there[recent + random_below(model->random, model->count - recent)];
}

static inline void random_keep_tensor(struct random_model *model, uint32_t tensor)
{
	struct shape shape = build_shape(&model->build, tensor);
	if (tensor != NONE && shape_elements(&shape) <= RANDOM_ELEMENTS && model->count < 200)
		model->there[model->count++] = tensor;
}

static inline int64_t random_extent(struct random_model *model)
{
	static const int64_t extents[] = { 2, 4, 4, 6, 8, 12 };
	return extents[random_below(model->random, 6)];
}

/* [rows, width] of a tensor; a view where it isn't so already. */
static inline uint32_t random_matrix(struct random_model *model, uint32_t x)
{
	struct shape shape = build_shape(&model->build, x);
	int64_t width = shape.dims ? shape.dim[shape.dims - 1] : 1;
	return shape.dims == 2
		? x
		: build_reshape(&model->build, "aten.view.default", x, SHAPE(shape_elements(&shape) / width, width));
}

static inline uint32_t random_linear(struct random_model *model, uint32_t x)
{
	struct build *build = &model->build;
	struct shape shape = build_shape(build, x);
	if (shape.dims == 0)
		return NONE;
	int64_t out = random_extent(model), in = shape.dim[shape.dims - 1];
	if (random_below(model->random, 4) == 0) {
		build_op(build, "aten.linear.default", IN(x, random_leaf(model, KIND_PARAMETER, DTYPE_F32, SHAPE(out, in)),
			random_below(model->random, 2) ? random_leaf(model, KIND_PARAMETER, DTYPE_F32, SHAPE(out)) : NONE));
		shape.dim[shape.dims - 1] = out;
		return build_output(build, DTYPE_F32, shape);
	}
	uint32_t weight = random_leaf(model, KIND_PARAMETER, DTYPE_F32, SHAPE(out, in));
	weight = build_reshape(build, "aten.t.default", weight, SHAPE(in, out));
	uint32_t rows = random_matrix(model, x),
			 bias = random_below(model->random, 2) ? random_leaf(model, KIND_PARAMETER, DTYPE_F32, SHAPE(out)) : NONE;
	build_op(build, bias == NONE ? "aten.mm.default" : "aten.addmm.default", IN(bias, rows, weight));
	uint32_t y = build_output(build, DTYPE_F32, SHAPE(build_shape(build, rows).dim[0], out));
	shape.dim[shape.dims - 1] = out;
	return shape.dims == 2 ? y : build_reshape(build, "aten._unsafe_view.default", y, shape);
}

static inline uint32_t random_map(struct random_model *model, uint32_t x)
{
	static const char *const types[] = { "aten.relu.default", "aten.gelu.default", "aten.tanh.default",
		"aten.neg.default", "aten.mul.Tensor", "aten.add.Tensor", "aten.div.Tensor", "aten.sigmoid.default",
		"aten.clone.default", "aten.silu.default", "aten.exp.default" };
	return build_map(&model->build, types[random_below(model->random, 11)], IN(x));
}

/* With another tensor of the same shape, or a parameter that broadcasts. */
static inline uint32_t random_pair(struct random_model *model, uint32_t x, const char *type)
{
	struct build *build = &model->build;
	struct shape shape = build_shape(build, x), other = shape;
	uint32_t y = NONE;
	for (int tries = 0; tries < 8 && y == NONE; tries++) {
		uint32_t candidate = random_x(model);
		struct shape of = build_shape(build, candidate);
		if (shape_equal(&of, &shape))
			y = candidate;
	}
	if (y == NONE || random_below(model->random, 3) == 0) {
		for (int d = 0; d < other.dims; d++)
			other.dim[d] = random_below(model->random, 3) ? other.dim[d] : 1;
		if (other.dims > 0 && random_below(model->random, 2))
			other = SHAPE(other.dim[other.dims - 1]);
		y = random_leaf(model, random_below(model->random, 2) ? KIND_PARAMETER : KIND_BUFFER, DTYPE_F32, other);
	}
	return build_map(build, type, IN(x, y));
}

static inline uint32_t random_norm(struct random_model *model, uint32_t x)
{
	struct build *build = &model->build;
	struct shape shape = build_shape(build, x), statistics = shape;
	if (shape.dims < 2)
		return NONE;
	int64_t width = shape.dim[shape.dims - 1];
	bool rms = random_below(model->random, 2);
	uint32_t weight = random_leaf(model, KIND_PARAMETER, DTYPE_F32, SHAPE(width));
	uint32_t bias = rms ? NONE : random_leaf(model, KIND_PARAMETER, DTYPE_F32, SHAPE(width));
	statistics.dim[shape.dims - 1] = 1;
	uint32_t y = build_map(
		build, rms ? "aten._fused_rms_norm.default" : "aten.native_layer_norm.default", IN(x, weight, bias));
	for (int i = rms; i < 2; i++)
		build_output(build, DTYPE_F32, statistics);
	return y;
}

static inline uint32_t random_reduction(struct random_model *model, uint32_t x)
{
	struct build *build = &model->build;
	struct shape shape = build_shape(build, x);
	static const char *const types[] = { "aten.sum.dim_IntList", "aten.sum.dim_IntList", "aten.mean.dim",
		"aten.amax.default" };
	if (shape.dims == 0)
		return NONE;
	int d = (int)random_below(model->random, shape.dims);
	if (random_below(model->random, 2)) {
		shape.dim[d] = 1;
	} else {
		for (int i = d; i + 1 < shape.dims; i++)
			shape.dim[i] = shape.dim[i + 1];
		shape.dims--;
	}
	return build_to_shape(build, types[random_below(model->random, 4)], x, shape);
}

static inline uint32_t random_view(struct random_model *model, uint32_t x)
{
	struct build *build = &model->build;
	struct shape shape = build_shape(build, x), to = shape;
	if (shape.dims == 0)
		return NONE;
	int d = (int)random_below(model->random, shape.dims);
	if (random_below(model->random, 2) && d + 1 < shape.dims) {                /* merge */
		to.dim[d] *= to.dim[d + 1];
		for (int i = d + 1; i + 1 < shape.dims; i++)
			to.dim[i] = shape.dim[i + 1];
		to.dims--;
	} else if (shape.dim[d] % 2 == 0 && shape.dims < 5) {              /* split */
		for (int i = shape.dims; i > d; i--)
			to.dim[i] = shape.dim[i - 1];
		int64_t inner = shape.dim[d] % 4 == 0 && random_below(model->random, 2) ? 4 : 2;
		to.dim[d] /= inner;
		to.dim[d + 1] = inner;
		to.dims++;
	}
	return build_reshape(build, "aten.view.default", x, to);
}

static inline uint32_t random_permutation(struct random_model *model, uint32_t x)
{
	struct build *build = &model->build;
	struct shape shape = build_shape(build, x);
	if (shape.dims < 2)
		return NONE;
	int a = (int)random_below(model->random, shape.dims), b = (int)random_below(model->random, shape.dims);
	int64_t dim = shape.dim[a];
	shape.dim[a] = shape.dim[b];
	shape.dim[b] = dim;
	return a == b ? NONE
		: build_reshape(build, random_below(model->random, 2) ? "aten.transpose.int" : "aten.permute.default",
						x, shape);
}

static inline uint32_t random_cut(struct random_model *model, uint32_t x)
{
	struct build *build = &model->build;
	struct shape shape = build_shape(build, x), part = shape;
	if (shape.dims == 0)
		return NONE;
	int d = (int)random_below(model->random, shape.dims);
	if (shape.dim[d] < 2)
		return NONE;
	if (random_below(model->random, 3) == 0) {
		part.dim[d] -= 1 + (int64_t)random_below(model->random, (uint32_t)shape.dim[d] - 1);
		return build_reshape(build, "aten.slice.Tensor", x, part);
	}
	if (random_below(model->random, 4) == 0) {
		for (int i = d; i + 1 < shape.dims; i++)
			part.dim[i] = shape.dim[i + 1];
		part.dims--;
		return build_reshape(build, "aten.select.int", x, part);
	}
	uint32_t pieces = shape.dim[d] % 3 == 0 && random_below(model->random, 2) ? 3
		: shape.dim[d] % 2 == 0 ? 2
		: 1,
			 result = NONE;
	build_op(build, "aten.split.Tensor", IN(x));
	for (uint32_t i = 0; i < pieces; i++) {
		part.dim[d] = shape.dim[d] / pieces;
		uint32_t piece = build_view(build, x, part);
		if (i + 1 < pieces)
			random_keep_tensor(model, piece);
		result = piece;
	}
	return result;
}

static inline uint32_t random_join(struct random_model *model, uint32_t x)
{
	struct build *build = &model->build;
	struct shape shape = build_shape(build, x);
	if (shape.dims == 0)
		return NONE;
	int d = (int)random_below(model->random, shape.dims);
	uint32_t y = random_map(model, x);
	if (random_below(model->random, 3) == 0 && shape.dims < 5) {
		build_op(build, "aten.stack.default", IN(x, y));
		for (int i = shape.dims; i > d; i--)
			shape.dim[i] = shape.dim[i - 1];
		shape.dim[d] = 2;
		shape.dims++;
	} else {
		build_op(build, "aten.cat.default", IN(x, y));
		shape.dim[d] *= 2;
	}
	return build_output(build, DTYPE_F32, shape);
}

static inline uint32_t random_expansion(struct random_model *model, uint32_t x)
{
	struct build *build = &model->build;
	struct shape shape = build_shape(build, x), wide = shape;
	if (shape.dims > 4)
		return NONE;
	for (int i = shape.dims; i > 0; i--)
		wide.dim[i] = shape.dim[i - 1];
	wide.dims++;
	wide.dim[0] = 1;
	x = build_reshape(build, "aten.unsqueeze.default", x, wide);
	wide.dim[0] = 2;
	x = build_reshape(build, "aten.expand.default", x, wide);
	return random_below(model->random, 2) ? x : build_map(build, "aten.clone.default", IN(x));
}

static inline uint32_t random_lookup(struct random_model *model)
{
	struct build *build = &model->build;
	int64_t rows = random_extent(model), width = random_extent(model);
	uint32_t ids = random_leaf(model, KIND_INPUT, DTYPE_I64, SHAPE(4, 4)),
			 table = random_leaf(model, KIND_PARAMETER, DTYPE_F32, SHAPE(rows, width));
	build_op(build, "aten.embedding.default", IN(table, ids));
	return build_output(build, DTYPE_F32, SHAPE(4, 4, width));
}

/* Scores of a tensor with itself. */
static inline uint32_t random_scores(struct random_model *model, uint32_t x)
{
	struct build *build = &model->build;
	struct shape shape = build_shape(build, x);
	if (shape.dims != 3)
		return NONE;
	uint32_t turned = build_reshape(build, "aten.transpose.int", x, SHAPE(shape.dim[0], shape.dim[2], shape.dim[1]));
	build_op(build, "aten.bmm.default", IN(x, turned));
	return build_output(build, DTYPE_F32, SHAPE(shape.dim[0], shape.dim[1], shape.dim[1]));
}

/* Overwrites a tensor, or a view of it, that an op made. */
static inline uint32_t random_overwrite(struct random_model *model, uint32_t x)
{
	struct build *build = &model->build;
	static const char *const types[] = { "aten.relu_.default", "aten.mul_.Tensor", "aten.add_.Tensor",
		"aten.sigmoid_.default" };
	if (build->status != OK || kind_persistent(draft_tensor_at(build->draft, x)->kind))
		return NONE;
	if (random_below(model->random, 3) == 0)
		return build_map_inplace(build, "aten.add_.Tensor", IN(x, build_map(build, "aten.tanh.default", IN(x))));
	return build_map_inplace(build, types[random_below(model->random, 4)], IN(x));
}

/* A buffer is updated in place, with and without a new name, and read. */
static inline uint32_t random_statistics(struct random_model *model)
{
	struct build *build = &model->build;
	uint32_t buffer = random_leaf(model, KIND_BUFFER, DTYPE_F32, SHAPE(random_extent(model), random_extent(model)));
	uint32_t next = build_map_inplace(build, "aten.mul_.Tensor", IN(buffer));
	if (random_below(model->random, 2))
		next = build_map_inplace(build, "aten.add_.Tensor", IN(random_below(model->random, 2) ? next : buffer));
	return build_map(build, "aten.tanh.default", IN(random_below(model->random, 2) ? next : buffer));
}

static inline void random_model_op(struct random_model *model)
{
	struct build *build = &model->build;
	uint32_t x = random_x(model), y = NONE;
	switch (random_below(model->random, 20)) {
	case 0: case 1: y = random_linear(model, x); break;
	case 2: case 3: y = random_map(model, x); break;
	case 4: y = random_pair(model, x, "aten.add.Tensor"); break;
	case 5: y = random_pair(model, x, random_below(model->random, 2) ? "aten.mul.Tensor" : "aten.sub.Tensor"); break;
	case 6: y = random_norm(model, x); break;
	case 7: y = random_reduction(model, x); break;
	case 8: case 9: y = random_view(model, x); break;
	case 10: y = random_permutation(model, x); break;
	case 11: y = random_cut(model, x); break;
	case 12: y = random_join(model, x); break;
	case 13: y = random_expansion(model, x); break;
	case 14: y = random_lookup(model); break;
	case 15: y = random_scores(model, x); break;
	case 16: case 17: y = random_overwrite(model, x); break;
	case 18: y = random_statistics(model); break;
	default:
		y = build_shape(build, x).dims
			? build_map(
				  build, random_below(model->random, 2) ? "aten._softmax.default" : "aten._log_softmax.default", IN(x))
				: NONE;
	}
	random_keep_tensor(model, y);
}

/* A forward graph of about `ops` ops; half the time it ends in a number that can be trained on. NULL when out of
 * memory. */
static inline struct graph *random_forward(uint64_t *random, uint32_t ops)
{
	struct random_model model = { .random = random };
	struct build *build = &model.build;
	build->draft = draft_new();
	if (!build->draft)
		return NULL;
	build->phase = PHASE_FORWARD;
	uint32_t x = random_leaf(&model, KIND_INPUT, DTYPE_F32, SHAPE(4, random_extent(&model), random_extent(&model)));
	random_keep_tensor(&model, x);
	random_keep_tensor(&model, random_linear(&model, x));
	for (uint32_t i = 0; i < ops; i++)
		random_model_op(&model);
	uint32_t last = model.there[model.count - 1];
	struct shape shape = build_shape(build, last);
	if (shape.dims > 0)
		last = build_to_shape(build, "aten.mean.default", last, SCALAR);
	build_kind(build, build_map(build, "aten.clone.default", IN(last)), KIND_OUTPUT);
	struct graph *graph = build->status == OK ? graph_build(build->draft, NULL) : NULL;
	build_finish(build);
	draft_free(build->draft);
	return graph;
}

/* A random forward graph, or a training step of one. */
static inline struct graph *random_step(uint64_t *random, uint32_t ops, const struct rules *rules)
{
	struct graph *forward = random_forward(random, ops), *step = NULL;
	struct train_options options = { .rules = rules,
		.update = { .optimizer = (enum optimizer)(1 + random_next(random) % (OPTIMIZER_COUNT - 1)) } };
	if (forward && random_next(random) % 2)
		step = train_step(forward, &options, NULL);
	if (!step)
		return forward;
	graph_release(forward);
	return step;
}
