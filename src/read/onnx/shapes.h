/* shapes.h: sizes of an ONNX model's tensors that the file doesn't say: by operator, from operands, attributes, and
 * small integers that are worked out on the way (Shape, Gather, Concat, arithmetic), as onnx.shape_inference does with
 * data_prop. Symbolic dims stay unknown: --dim gives them sizes. */
#pragma once

#include "solver/graph/graph.h"
#include "src/base/wire.h"

enum { ONNX_VALUES_MOST = 64 };  /* integers of one tensor that are followed */

/* What is known of a tensor before it is made. */
struct onnx_shape {
	const char *name;             /* that it had first: what a branch makes is called as outside of it */
	int64_t dim[DIMS_MAX];
	const int64_t *value;         /* of a small tensor of integers, in row order; NULL: not known */
	const double *real;           /* the same of floating-point numbers in the file */
	uint32_t values;
	uint8_t dims, dtype;
	bool known, typed;            /* known: all dims */
	bool weight, input, output, inferred;
	uint32_t tensor;              /* of the draft, NONE: not yet */
};

/* A node: its op without the domain, its NodeProto, its operands and results (NONE: left out). */
struct onnx_node {
	const char *op;
	struct wire body;
	const uint32_t *in, *out;
	uint32_t ins, outs;
};

/* Our dtype of a TensorProto's, -1: none. */
int onnx_dtype(uint64_t type);
/* Fills dims, dtype and, of small tensors, values from a TensorProto; its name in *name (may be NULL). BAD_INPUT: too
 * many dims. */
enum status onnx_tensor(struct wire body, struct onnx_shape *shape, struct wire *name, struct arena *arena);
/* Fills the results that are not known yet, as far as operands tell; shape is the table that operands and results are
 * numbers of. NO_MEMORY or OK. */
enum status onnx_infer(const struct onnx_node *node, struct onnx_shape *shape, struct arena *arena);
