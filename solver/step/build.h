/* build.h: writing ops into a draft with few words: model builders and graph-to-graph stages.
 *
 * The first failure sticks in `status` and makes every later call a no-op that returns NONE, so a
 * builder is straight-line code and its caller looks at the status once, at the end. */
#pragma once

#include "solver/rules/rules.h"

struct shape {
	uint8_t dims;
	int64_t dim[DIMS_MAX];
};
#define SHAPE(...) \
	(struct shape){ (uint8_t)(sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t)), { __VA_ARGS__ } }
#define SCALAR ((struct shape){ 0 })

/* The inputs of build_op(): their array and count. NONE among them is an argument left out. */
#define IN(...) \
	(const uint32_t[]){ __VA_ARGS__ }, (uint32_t)(sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t))

/* Operands and results that FLOPs are counted from; ops with more keep unknown FLOPs. */
#define BUILD_ARGUMENTS 64

struct build {
	struct draft *draft;
	enum status status; /* OK, NO_MEMORY, or BAD_INPUT: a tensor above BYTES_MAX */
	enum phase phase;   /* of the ops to come; with it the kind of what they write */
	const char *module; /* of the ops to come */
	const char *src;    /* likewise, or NULL */
	const struct graph
		*source; /* where set, no name of its ops is given to others: they are copied later (its tensors, first) */
	uint32_t op;      /* the last op begun: outputs are added to it */
	uint32_t outputs; /* of that op so far */
	const struct rules *rules; /* where set, the ops begun with build_op() get their FLOPs: end with build_finish() */
	uint32_t inputs, argument[BUILD_ARGUMENTS]; /* of the op whose FLOPs aren't counted yet: inputs, then outputs */
	bool counts, in_place;
	struct binding binding;
};

/* Elements of a shape, or -1 on overflow. */
int64_t shape_elements(const struct shape *shape);
bool shape_equal(const struct shape *a, const struct shape *b);

/* The ops to come are of an op's phase and module, from its place in the source. */
static inline void build_beside(struct build *build, const struct op *op)
{
	build->phase = op->phase;
	build->module = op->module;
	build->src = op->src;
}

/* A tensor that no op writes. */
uint32_t build_leaf(struct build *build, const char *name, enum kind kind, enum dtype dtype, struct shape shape);
/* Begins an op that reads the inputs; the name comes from the type ("aten.mm.default": mm_17). */
uint32_t build_op(struct build *build, const char *type, const uint32_t *input, uint32_t inputs);
/* One more input of the last op, before its outputs. */
void build_read(struct build *build, uint32_t tensor);
/* One more output of the last op: fresh memory, a view of a tensor, or a tensor written in place (a new name of it). */
uint32_t build_output(struct build *build, enum dtype dtype, struct shape shape);
uint32_t build_output_like(struct build *build, uint32_t tensor);
uint32_t build_view(struct build *build, uint32_t of, struct shape shape);
uint32_t build_inplace(struct build *build, uint32_t of);
/* The last op writes a tensor in place without a new name (running statistics). */
void build_touch(struct build *build, uint32_t tensor);

/* Counts the last op's FLOPs, of which it does just so many of so many: attention in one kernel skips what a causal
 * mask hides. */
void build_share(struct build *build, int64_t done, int64_t whole);
/* The last op makes a tensor that is in the draft already. */
void build_write(struct build *build, uint32_t tensor);
/* Counts the FLOPs of the op that was begun last, from the shapes of its arguments. What begins an op does so by
 * itself; for ops that go into the draft otherwise. */
void build_count_flops(struct build *build);
/* Counts the last op's FLOPs and frees what counting took. */
void build_finish(struct build *build);

/* An op with one output like its first input: in fresh memory, or in the first input's. */
uint32_t build_map(struct build *build, const char *type, const uint32_t *input, uint32_t inputs);
uint32_t build_map_inplace(struct build *build, const char *type, const uint32_t *input, uint32_t inputs);
/* An op that is a view of its input, and one whose output has that shape and the input's dtype. */
uint32_t build_reshape(struct build *build, const char *type, uint32_t of, struct shape shape);
uint32_t build_to_shape(struct build *build, const char *type, uint32_t of, struct shape shape);

/* What is known of a tensor; a failed build answers with a scalar. */
struct shape build_shape(const struct build *build, uint32_t tensor);
enum dtype build_dtype(const struct build *build, uint32_t tensor);
/* Sets the kind of a tensor: an output, a gradient that is an accumulator. */
void build_kind(struct build *build, uint32_t tensor, enum kind kind);

/* draft_tensor() and draft_op(): NONE when out of memory, which build->status then says. */
uint32_t build_add_tensor(struct build *build, const struct tensor *record);
uint32_t build_add_op(struct build *build, const struct op *record);
/* Copies one op of a graph: tensor[t] is the draft's tensor for the graph's tensor t. NONE when it fails.
 * Control edges are left out: their ends may not exist in the draft yet; build_copy_control() adds them. */
uint32_t build_copy_op(struct build *build, const struct graph *graph, uint32_t op, const uint32_t *tensor);
/* Gives the copy of an op its arguments with other names, those of the draft's tensors say; texts go to the arena. */
void build_rename(struct build *build, struct arena *arena, const struct graph *graph, uint32_t op, uint32_t copy,
	const struct renaming *renaming);
void build_rename_by(struct build *build, struct arena *arena, const struct graph *graph, uint32_t op, uint32_t copy,
	const uint32_t *tensor);
/* The control edges among copied ops: op[i] is the draft's op for the graph's op i, or NONE where it was dropped. */
void build_copy_control(struct build *build, const struct graph *graph, const uint32_t *op);

/* The beginning of a copy of a graph: a draft, and room in the arena for what its tensors and ops are there. False
 * where memory is out: build->status, for build_like(), says so. */
bool build_copy_begin(
	struct build *build, const struct graph *graph, struct arena *arena, uint32_t **tensor, uint32_t **op);
/* Copies all tensors of a graph; tensor: [graph->tensors], what they are in the draft. */
void build_copy_tensors(struct build *build, const struct graph *graph, uint32_t *tensor);
/* The end of a copy of a graph: the draft becomes a graph that says of itself what that one does. Frees the draft. NULL
 * with the error: build->status, or what graph_build() says. */
struct graph *build_like(struct build *build, const struct graph *graph, struct error *error);
