/* onnx.h: reads ONNX models: ops and the shapes of tensors, never the weights' values, and no file beside it.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     values  attributes of nodes, numbers of small tensors
 *     infer   operands and results of a node
 *     arrays  sizes of arrays that are cut, joined and turned
 *     signals  shapes of what resamples images and takes signals apart
 *     shapes  sizes that files don't say, by operator
 *     places  where weights of other files are said to lie
 *     onnx    reads models */
#pragma once

#include "solver/graph/graph.h"

/* The graph of a ModelProto in memory, forward or training, as it stands. Sizes are the file's (value_info), or follow
 * from the operands of ops that work element by element and of matrix products; those that are unknown are counted.
 * dim: "batch=8" for symbolic sizes. NULL with *error. O(size without weights). */
struct graph *onnx_read(const void *data, size_t size, const char *const *dim, uint32_t dims, struct error *error);
