/* values.h: attributes of ONNX nodes, and TensorProtos: dims, types, and the numbers of small ones. */
#pragma once

#include "shapes.h"

/* The AttributeProto of a name; false where the node has none. O(node). */
bool onnx_attribute(struct wire node, const char *name, struct wire *attribute);
/* Its integer, or normal. */
int64_t onnx_int(struct wire node, const char *name, int64_t normal);
/* Its text compared. */
bool onnx_word(struct wire node, const char *name, const char *word);
/* Its list of integers: how many, at most `most`; -1 where there is none, or more of them. */
int onnx_ints(struct wire node, const char *name, int64_t *list, int most);
