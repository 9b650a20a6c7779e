/* trace.h: what PyTorch's profiler saw: the Chrome trace that torch.profiler exports (Kineto), with the shapes of
 * operands (record_shapes=True).
 *
 * An operator is an event of the category cpu_op, with the shapes of its operands. On a GPU its time is that of the
 * kernels that it launched, which name it by their "External id"; on a processor, its own. Operators lie in each other
 * as their events do. Collectives are kernels that say what they are
 * ("Collective name", "In msg nelems", "Group size"), or Gloo's annotations. Times in the file are microseconds. */
#pragma once

#include "solver/graph/graph.h"
#include "solver/graph/collective.h"

struct trace_tensor { const int64_t *shape; uint8_t dims, dtype; };  /* dtype DTYPE_COUNT: not known */

struct trace_op {
	const char *type;                /* "aten.mm" */
	const struct trace_tensor *operand;
	uint32_t operands;               /* tensors; of what isn't one, nothing is kept */
	uint32_t parent;                 /* the op that it lies in, before it in the list; NONE */
	uint32_t kernels;                /* on a GPU: in it and in what lies in it */
	double seconds;
	bool shaped;                     /* its operands' shapes are known: none of them is a list of tensors */
	bool fused;                      /* a compiler's kernel: not an operator, but what several became */
	bool moves;                      /* writes its second operand over its first */
	bool waits;                      /* a collective on the host: what lies in it waits for others */
	double start, lasts;             /* microseconds, on the host */
	uint64_t id, thread;
};

struct trace_collective {
	enum collective_kind kind;
	int64_t from, to;                /* bytes of a member's operand and result */
	uint32_t size;                   /* members */
	const uint32_t *rank;            /* of the first members, or NULL where the trace doesn't say who they are */
	uint32_t ranks; /* how many of them are there: of large groups the trace has the first and the last, "[0, 8, ...,
					   504]" */
	double seconds;
};

struct trace {
	struct trace_op *op;
	struct trace_collective *collective;
	uint32_t ops, collectives;
	uint32_t kernels, unowned;       /* unowned: of no op in the trace */
	double unowned_seconds;
	bool shapes;                     /* any op has shapes */
	char device[100];                /* of the GPU: "NVIDIA H100 80GB HBM3"; "" where there is none */
	int64_t device_memory;           /* bytes; 0: not said */
	struct arena arena;
};

/* Reads a trace's text. BAD_INPUT with the line, or NO_MEMORY; free it in any case. O(n log n) of its events. */
enum status trace_read(const char *text, size_t size, struct trace *trace, struct error *error);
void trace_free(struct trace *trace);
