/* shapes.h: sizes of an ONNX model's tensors that the file doesn't say: by operator, from operands, attributes, and
 * small integers that are worked out on the way (Shape, Gather, Concat, arithmetic), as onnx.shape_inference does with
 * data_prop. Symbolic dims stay unknown: --dim gives them sizes. */
#pragma once

#include "solver/graph/graph.h"
#include "src/base/wire.h"

enum { ONNX_VALUES_MOST = 64 }; /* integers of one tensor that are followed */

/* What is known of a tensor before it is made. */
struct onnx_shape {
	const char *name; /* that it had first: what a branch makes is called as outside of it */
	int64_t dim[DIMS_MAX];
	const int64_t *value; /* of a small tensor of integers, in row order; NULL: not known */
	const double *real;   /* the same of floating-point numbers in the file */
	uint32_t values;
	uint8_t dims, dtype;
	bool known, typed; /* known: all dims */
	bool weight, input, output, inferred;
	uint32_t tensor; /* of the draft, NONE: not yet */
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

/* values: attributes of ONNX nodes, and TensorProtos: dims, types, and the numbers of small ones. */

/* The AttributeProto of a name; false where the node has none. O(node). */
bool onnx_attribute(struct wire node, const char *name, struct wire *attribute);
/* Its integer, or normal. */
int64_t onnx_int(struct wire node, const char *name, int64_t normal);
/* Its text compared. */
bool onnx_word(struct wire node, const char *name, const char *word);
/* Its list of integers: how many, at most `most`; -1 where there is none, or more of them. */
int onnx_ints(struct wire node, const char *name, int64_t *list, int most);

/* infer: what the parts of ONNX's shape inference share: operands and results of a node. All are O(values followed).
 */

struct infer {
	const struct onnx_node *node;
	struct onnx_shape *shape;
	struct arena *arena;
	bool failed; /* out of memory */
};

/* An operand whose shape and type are known, NULL where there is none; whether there is one at all. */
const struct onnx_shape *infer_operand(const struct infer *infer, uint32_t i);
bool infer_has(const struct infer *infer, uint32_t i);
/* One whose integers, or floating-point numbers, are known, as many as its shape says; else NULL. */
const struct onnx_shape *infer_integers(const struct infer *infer, uint32_t i);
const struct onnx_shape *infer_reals(const struct infer *infer, uint32_t i);

/* A result gets a shape; one that has one keeps it, and gets the dtype where that is missing (-1: it stays so). */
void infer_result(struct infer *infer, uint32_t i, const struct onnx_shape *made, int dtype);
/* Room for the numbers of the first result, NULL where they are too many or memory is out. */
int64_t *infer_result_values(struct infer *infer, uint32_t count);
double *infer_result_reals(struct infer *infer, uint32_t count);
/* The first result has the first operand's integers: its element at c is that at base + sum of c[i] * stride[i]. */
void infer_pick(struct infer *infer, const struct onnx_shape *made, int64_t base, const int64_t *stride);
/* How far apart neighbours along each dim lie; of a shape with few elements. */
void infer_strides(const struct onnx_shape *shape, int64_t *stride);

/* The product of dims; false where one is below 0, or it overflows. */
bool infer_product(const int64_t *dim, int count, int64_t *elements);
/* Broadcasts *made with b; false where they don't agree. */
bool infer_widen(struct onnx_shape *made, const struct onnx_shape *b);
/* An axis counted from the end where it is negative; -1 where there is none. */
int infer_axis(int64_t axis, int dims);
/* Integers of an attribute, or of an operand in later opsets; -1: not known, -2: neither is there. */
int infer_list(const struct infer *infer, const char *name, uint32_t i, int64_t *list, int most);

/* arrays.c: each fills the results of the ops that the table in shapes.c gives it. */
void infer_bit_cast(struct infer *infer);
void infer_cast(struct infer *infer);
void infer_comparison(struct infer *infer);
void infer_concat(struct infer *infer);
void infer_constant(struct infer *infer);
void infer_constant_of_shape(struct infer *infer);
void infer_elementwise(struct infer *infer);
void infer_expand(struct infer *infer);
void infer_flatten(struct infer *infer);
void infer_gather(struct infer *infer);
void infer_gather_nd(struct infer *infer);
void infer_like_indices(struct infer *infer);
void infer_pad(struct infer *infer);
void infer_range(struct infer *infer);
void infer_reshape(struct infer *infer);
void infer_same(struct infer *infer);
void infer_shape_op(struct infer *infer);
void infer_size_op(struct infer *infer);
void infer_slice(struct infer *infer);
void infer_split(struct infer *infer);
void infer_squeeze(struct infer *infer);
void infer_tile(struct infer *infer);
void infer_transpose(struct infer *infer);
void infer_truth(struct infer *infer);
void infer_unsqueeze(struct infer *infer);
void infer_where(struct infer *infer);
void infer_whole(struct infer *infer);

/* signals.c, likewise. */
void infer_affine_grid(struct infer *infer);
void infer_dft(struct infer *infer);
void infer_grid_sample(struct infer *infer);
void infer_roi_align(struct infer *infer);
void infer_stft(struct infer *infer);
void infer_window(struct infer *infer);

/* places: where the data of weights that lie in other files are said to lie. */

/* What is wrong with where a weight lies in another file (external_data 13: key 1, value 2), which must lie beside the
 * model. NULL: nothing. The file isn't opened in any case, be it there or a link to elsewhere. */
const char *onnx_place_wrong(struct wire tensor);
