/* graph.h: the graph of one training step, immutable once built.
 *
 * A draft is the mutable form: readers, model builders and graph-to-graph stages
 * fill one and graph_build() turns it into a graph, checking every rule.
 *
 * Ops are numbered in program order, which is topological: every predecessor of
 * an op has a smaller number. A storage is the memory behind one or more tensors
 * (views and in-place results share it).
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     graph        the graph and its rules; drafts become graphs here
 *     draft        inside of a draft
 *     problem      what an orderer sees of a graph; live bytes, peak and lifetimes of an order
 *     inplace      the graph without writes in place
 *     collective   collectives and placements, as ops and tensors carry them
 *     arguments    what a captured op is called with
 *     growth       what a sample more adds to tensors and ops
 *     fold         equal layers: segments and their copies
 *     fold_steps   what the next three share
 *     fold_match   maps every op to the equal one of the next copy
 *     fold_place   where copies begin
 *     fold_verify  compares every copy with the one in the middle */
#pragma once

#include <string.h>

#include "solver/base/names.h"

/* collective: what an op that moves data between devices does, and where a tensor lies on their grid, in words that a
 * graph carries by itself. Files say the same by members of a record: see tidemark(5) and src/read/record.h. */

#define MESH_AXES 4 /* at most, of the grid of devices */

/* Changes of placement on one axis, and a send. Links are asked for the time of these; SLICE is local. */
#define COLLECTIVES(X) \
	X(ALL_GATHER, "all_gather") X(REDUCE_SCATTER, "reduce_scatter") X(ALL_REDUCE, "all_reduce") X(ALL_TO_ALL, \
		"all_to_all") \
	X(SEND, "send") X(SLICE, "slice")
/* What else an op may be that begins with "comm.": of a whole tensor one device keeps a summand and the others zeros;
 * the other end of a send; a word of somebody else. */
#define COLLECTIVES_MORE(X) X(KEEP_ONE, "keep_one") X(RECEIVE, "recv") X(OTHER, "")
#define X(id, name) COLLECTIVE_##id,
enum collective_kind { COLLECTIVES(X) COLLECTIVES_MORE(X) COLLECTIVE_KINDS, COLLECTIVE_COUNT = COLLECTIVE_KEEP_ONE };
#undef X
extern const char *const collective_names[COLLECTIVE_KINDS];
extern const char *const collective_types[COLLECTIVE_KINDS]; /* of ops: "comm.all_gather" */

/* Where a tensor lies on one axis: cut along a dim; or whole, or as partial sums. */
struct axis_place {
	int8_t dim;     /* PLACE_WHOLE, PLACE_PARTIAL, or the dim */
	int64_t blocks; /* > 1: each of so many blocks of the dim is cut alike */
};
#define PLACE_WHOLE (-1)   /* R */
#define PLACE_PARTIAL (-2) /* P */
/* On every axis; no axes: nobody says. */
struct axis_places {
	uint32_t axes;
	struct axis_place on[MESH_AXES];
};

/* An op of a type "comm.KIND": between devices of a mesh axis, or between pipeline ranks. */
struct collective {
	enum collective_kind kind; /* graph_build() takes it from the op's type */
	char axis[8];              /* "dp"; "": nobody says */
	uint32_t size;             /* devices that take part; 0: nobody says */
	uint32_t group;            /* the lowest of them, or NONE */
	uint32_t rank;             /* between pipeline ranks: the other end, or of a sum the rank itself; else NONE */
	int64_t moved;             /* bytes that this device sends; < 0: nobody says */
	struct axis_places from, to; /* the tensor before and behind it */
};

/* One that says nothing. */
static inline struct collective collective_unsaid(void)
{
	return (struct collective){ .kind = COLLECTIVE_OTHER, .group = NONE, .rank = NONE, .moved = -1 };
}

/* The kind of an op's type; COLLECTIVE_KINDS where it doesn't begin with "comm.". O(length). */
enum collective_kind collective_of_type(const char *type);

/* "R", "P", "S(1)", or "S(1:3)" for each of 3 blocks. Returns text. */
char *axis_place_text(struct axis_place place, char *text, size_t size);
/* arguments: what a captured op is called with and what its results are called, for those who run it. Files say it by
 * the members args, kwargs and result: see tidemark(5) and src/read/record.h. */

struct graph;

enum argument_kind {
	ARGUMENT_NOTHING,
	ARGUMENT_FALSE,
	ARGUMENT_TRUE,
	ARGUMENT_NUMBER,
	ARGUMENT_TEXT,
	ARGUMENT_TENSOR,
	ARGUMENT_LIST,
	ARGUMENT_MAP
};

/* Values stand one behind the other; those in a list or map follow it. */
struct argument {
	const char *key;  /* in a map; else NULL */
	const char *text; /* a text, a tensor's name, a number's digits; else NULL */
	uint32_t within;  /* of a list or map: how many values are in it, at any depth */
	uint8_t kind;     /* enum argument_kind */
};

/* Of the members that an op has: "args", "kwargs" and "result" are their keys. */
struct arguments {
	const struct argument *value;
	uint32_t values;
};

/* A copy with all its texts; NULL when out of memory. O(length). */
const struct arguments *arguments_copy(struct arena *arena, const struct arguments *arguments);

/* The new name of a tensor of the graph: read by the op or, if result is set, written by it. NULL: the argument is
 * left out (null), the result is dropped. */
struct renaming {
	const char *(*name)(const void *context, uint32_t tensor, bool result);
	const void *context;
};

/* The same with other names for tensors of the graph. Texts are lent: those of the arguments and those that renaming
 * gives. NULL when out of memory. O(length). */
const struct arguments *arguments_rename(
	struct arena *arena, const struct arguments *arguments, const struct graph *graph, const struct renaming *renaming);

/* The item-th positional argument; NULL where there is none. arguments may be NULL. O(length). */
const struct argument *arguments_item(const struct arguments *arguments, uint32_t item);
/* The integer that a value is; false where it is none. value may be NULL. */
bool argument_integer(const struct argument *value, int64_t *number);

/* The tensors of the item-th positional argument, where that is a list of nothing but tensors of the graph: how many,
 * the first `room` of them in tensor[]. 0 for everything else. O(length). */
uint32_t arguments_tensors(
	const struct arguments *arguments, const struct graph *graph, uint32_t item, uint32_t *tensor, uint32_t room);

#define KINDS(X) /* the first five are persistent: they live through the whole step, unless it replaces them */ \
	X(INPUT, "input") X(PARAMETER, "parameter") X(BUFFER, "buffer") X(CONSTANT, "constant") X(OPTIMIZER, "optimizer") \
	X(GRADIENT, "gradient") X(ACTIVATION, "activation") X(TEMPORARY, "temporary") X(OUTPUT, "output")
#define PHASES(X) X(FORWARD, "forward") X(BACKWARD, "backward") X(UPDATE, "update") X(COMMUNICATION, "communication")
#define DTYPES(X) /* name in files, bits per element */ \
	X(F64, "f64", 64) X(F32, "f32", 32) X(F16, "f16", 16) X(BF16, "bf16", 16) X(F8E4M3, "f8e4m3", 8) X(F8E5M2, "f8e5m2", \
		8) \
	X(I64, "i64", 64) X(I32, "i32", 32) X(I16, "i16", 16) X(I8, "i8", 8) X(I4, "i4", 4) \
	X(U64, "u64", 64) X(U32, "u32", 32) X(U16, "u16", 16) X(U8, "u8", 8) X(U4, "u4", 4) \
	X(BOOL, "bool", 8) X(C64, "c64", 64) X(C128, "c128", 128) X(OPAQUE, "opaque", 0)

#define X(id, name) KIND_##id,
enum kind { KINDS(X) KIND_COUNT };
#undef X
#define X(id, name) PHASE_##id,
enum phase { PHASES(X) PHASE_COUNT };
#undef X
#define X(id, name, bits) DTYPE_##id,
enum dtype { DTYPES(X) DTYPE_COUNT };
#undef X
extern const char *const kind_names[KIND_COUNT];
extern const char *const phase_names[PHASE_COUNT];
extern const char *const dtype_names[DTYPE_COUNT];
extern const uint8_t dtype_bits[DTYPE_COUNT];
/* The index of a name in one of the tables above, or in one with gaps (NULL); -1. */
int name_index(const char *const *names, int count, const char *name);

static inline bool kind_persistent(enum kind kind)
{
	return kind <= KIND_OPTIMIZER;
}

#define DIMS_MAX 16

/* What a tensor that was made from another has to do with it. */
enum relation {
	RELATION_NONE,
	RELATION_SUM,   /* the other's sum over all microbatches, or a name of it */
	RELATION_COPIES /* what other microbatches have of it */
};

/* How the elements of a tensor that is there from the start begin: all as a number that whoever runs the step may
 * replace, or as that one for good. */
enum starts { STARTS_UNSAID, STARTS_FILLED, STARTS_CONSTANT };

struct tensor {
	const char *name; /* unique among tensors */
	const char *of;   /* the tensor that it was made from, by its name; NULL: none. Not in files */
	const char *gradient_of; /* a captured gradient's parameter, by its name; NULL: nobody says */
	const char *extra; /* keys we don't know: JSON members `"a":1,"b":2` without braces, or NULL. For nobody but readers
						  and writers */
	const struct axis_places *places; /* where it lies on the grid of devices; NULL: whole on each, or nobody says */
	const int64_t *shape; /* [dims], or NULL where unknown */
	const int64_t *grows;  /* [dims + 1]: what a sample more adds to each extent, and to bytes where they don't follow from
	                        * these; NULL: nothing. See struct graph's line */
	double start;    /* what those who run the step begin with, as `starts` says */
	int64_t address; /* of a root, where the file's own layout puts it, if has_address: a byte of one memory */
	int64_t bytes;   /* of the tensor itself; a storage's bytes are its root's */
	uint32_t storage;
	uint32_t alias;  /* the tensor this one is a view of, or NONE for a root */
	uint32_t writer; /* the op that writes it, or NONE */
	unsigned line;   /* where it is in its file, 0 if nowhere */
	uint8_t dims, kind, dtype;
	uint8_t relation; /* enum relation, to that tensor */
	uint8_t starts;   /* enum starts; of a state or constant that was added to the step */
	bool replaced; /* there from the start and of a persistent kind, but freed after its last use: its new value lies
					  elsewhere */
	bool has_address, has_shape, has_dtype, has_bytes; /* stated by the file: a writer repeats just that */
};

/* Forgets what a file says of a tensor beside what the planner knows: of another tensor it isn't true. */
static inline void tensor_forget(struct tensor *tensor)
{
	tensor->extra = tensor->gradient_of = NULL;
	tensor->starts = STARTS_UNSAID;
}

/* What Tidemark adds to a model's step, besides collectives: copies to the host's memory and back, the end of a rank's
 * backward pass, and the state of a generator saved for an op that runs again. An offload that an OFFLOAD_WAIT reads
 * may begin as soon as what it copies is there; the memory is let go of by the wait, when the copy is out, and what
 * computes behind it in an order begins then. One that none reads lets go of it itself: computation waits for it. A
 * fetch into a FETCH_BUFFER may begin where that memory is allocated. */
#define ADDITIONS(X) X(NOTHING, "") X(OFFLOAD, "tidemark.offload") X(FETCH, "tidemark.fetch") X(FLUSH, \
	"pipeline.flush") \
	X(RANDOM_STATE, "tidemark.random_state") X(OFFLOAD_WAIT, "tidemark.offload_wait") X(FETCH_BUFFER, \
		"tidemark.fetch_buffer")
#define X(id, type) ADDED_##id,
enum added { ADDITIONS(X) ADDED_COUNT };
#undef X
extern const char *const added_types[ADDED_COUNT];

/* What a sample more adds to an op: to its FLOPs, and to numbers that it is called with, by their places among its
 * arguments' numbers. Its workspace as measured at several batches, which ascend. */
struct op_growth {
	int64_t flops;
	const struct number_growth { uint32_t place; int64_t by; } *number;
	const struct workspace_at { int64_t batch, bytes; } *workspace;
	uint32_t numbers, workspaces;
};

struct op {
	const char *name;   /* unique among ops */
	const char *type;   /* "aten.mm.default" */
	const char *module; /* dotted path, "" where unknown */
	const char *src;    /* where the program says it: "model.py:6 in forward"; NULL where unknown */
	const char *part;   /* of the step, as the program calls it: "validation"; NULL: it doesn't */
	const char *of; /* of one that runs an op again, or adds up its results over microbatches: that op, by its name.
					 * Between pipeline ranks: the tensor. Else NULL. Files say it of recomputed ops, by the name */
	const char *extra;
	const struct arguments *arguments; /* of a captured op; NULL: nobody says */
	const struct op_growth *grows;     /* NULL: nothing */
	const struct collective
		*collective; /* what an op "comm.KIND" does; NULL for all others, and for no others (graph_build) */
	int64_t flops;      /* < 0: unknown */
	int64_t workspace;  /* bytes used only while it runs; 0 where unknown */
	uint32_t in_flight; /* an offload's: microbatches whose copies wait in the host; 0: nobody says */
	unsigned line;
	uint8_t phase;
	uint8_t added;   /* enum added: graph_build() takes it from the type */
	bool recomputed; /* runs a forward op again */
	bool has_phase, has_module, has_workspace;
};

/* An op that does no work: it stands where a framework lets go of a storage later than after its last use, and reads
 * it. */
#define RELEASE_TYPE "tidemark.release"
static inline bool op_releases(const struct op *op)
{
	return strcmp(op->type, RELEASE_TYPE) == 0;
}

/* A write into existing storage: out is a new name of in's storage, or NONE (running statistics). */
struct inplace { uint32_t out, in; };

struct storage {
	int64_t bytes;
	uint32_t root;      /* the tensor that names it */
	uint32_t allocator; /* the op that writes the root; NONE: there from the start */
	uint8_t kind;       /* the root's */
	uint8_t phase;      /* the allocator's; forward where there is none */
	bool persistent;    /* resident from the first to the last op */
	bool live_out;      /* stays to the end (persistent, or a tensor of kind output) */
};

/* What its reader got of a graph and what it had to add: see src/read/card.h. */
struct intake {
	bool said; /* files repeat it */
	const char *format, *version; /* NULL: nobody says */
	uint32_t inferred, missing; /* tensors whose size was worked out, and those without one: they count as 0 bytes */
	bool derived;               /* the order is not the file's */
	const char *assumed;        /* a line each; NULL: nothing */
	const char *advice;         /* what supplies the rest; NULL */
	int64_t peak;               /* as the framework itself reports it, 0: it doesn't */
	const char *peak_by;        /* in what words; NULL */
	const char *grows;          /* what every step leaves behind, by place; NULL: nothing, or nobody says */
	int64_t caching[2]; /* bytes that PyTorch's caching allocator, simulated, reserves for all buffers of a trace where
						 * the tensors here are several of them each, without and with expandable segments; 0: the
						 * tensors here tell it */
	const char *segments; /* of a trace: "default" or "expandable"; NULL: it is none */
	const char
		*graphs; /* of a file with several, a line on each: --graph N takes the N-th, from 1 on; NULL: it has one */
	uint32_t graph;   /* which of them this is */
	bool graph_asked; /* somebody asked for that one */
};

/* What a graph says of itself besides its name. All zero: nothing. */
struct about {
	int64_t batch, sequence;   /* of the step; 0: nobody says, < 0: said to have none */
	const char *teaches, *asks;/* a lesson's sentence and its question; NULL: it is none */
	const char *synthesised;   /* how a training step was made of a forward graph; NULL: it wasn't */
	const char *one_sample;    /* why a capture of one sample failed; NULL: it didn't, or nobody says */
	const char *const *opaque; /* [opaques] types of its ops that no rule knows */
	uint32_t opaques;
	uint32_t router_nodes; /* a token's experts are on so many nodes at most; 0: on any number */
	uint32_t axes, device; /* of a grid of devices, the one whose graph this is */
	struct { char name[8]; uint32_t size; } axis[MESH_AXES];
	uint32_t ranks, rank; /* of a pipeline, likewise; 0 ranks: none */
	struct intake intake;
};

static inline bool about_says(const struct about *about)
{
	return about->batch || about->sequence || about->teaches || about->asks || about->synthesised || about->one_sample ||
		about->opaques || about->router_nodes || about->axes || about->ranks || about->intake.said;
}

#define LINE_BATCHES 3 /* captures of a step at several batches that lie on one line */

struct graph {
	const char *name, *source, *extra;
	struct about about;
	uint32_t ops, tensors, storages;
	struct op *op;
	struct tensor *tensor;
	struct storage *storage;
	struct csr reads, writes; /* op -> tensors, in the file's argument order */
	struct csr after;         /* op -> ops: declared control dependencies */
	uint32_t *inplace_start;  /* op -> inplace[inplace_start[op]..inplace_start[op + 1]) */
	struct inplace *inplace;
	struct csr pred, succ; /* op -> ops: data, control and in-place dependencies; ascending, no duplicates */
	struct csr touches;    /* op -> storages it reads or writes; ascending, no duplicates */
	struct csr users;      /* storage -> ops that touch it, ascending (the allocator included) */
	struct csr members;    /* storage -> its tensors, ascending */
	struct names op_names, tensor_names;
	uint32_t flush;           /* the op that ends a pipeline rank's backward pass, or NONE */
	int64_t persistent_bytes; /* of all persistent storages */
	uint32_t repaired;        /* ops that had to move because the file's order broke a dependency */
	int64_t
		line[LINE_BATCHES]; /* the batches at which the step was captured, ascending, then zeros: tensors and ops know
							 * what a sample more adds. All zero: nobody knows. Of a graph as it was read alone */
	struct graph *lender; /* kept alive, as texts here are its; or NULL */
	struct graph *other;  /* the same step as captured at another batch: one of the two has a line. NULL: none */
	uint64_t fingerprint; /* of everything a plan can depend on, names included */
	struct arena arena;
	atomic_uint references; /* graphs are shared between plans: see graph_release() */
};

/* ---- draft: the mutable form ---- */

struct draft;

struct draft *draft_new(void);
void draft_free(struct draft *draft);
DROP(draft, draft_free)
/* NULL leaves what was there. extra as in struct tensor. Copies what it is given. */
enum status draft_describe(
	struct draft *draft, const char *name, const char *source, const char *extra, const struct about *about);

/* Texts and arguments of the ops and tensors given from now on are the graph's, which the draft and what is built of it
 * keep alive, or are there for ever: none is copied. draft_text() makes others; NULL when out of memory. */
void draft_lend(struct draft *draft, const struct graph *graph);
const char *draft_text(struct draft *draft, const char *text);

/* Each copies what it is given. draft_tensor and draft_op return the new id, or NONE when out of memory.
 * storage, writer and grows of a tensor are ignored, as is grows of an op; alias must be an id given out before or
 * later (checked by graph_build). */
uint32_t draft_tensor(struct draft *draft, const struct tensor *tensor);
uint32_t draft_op(struct draft *draft, const struct op *op);
enum status draft_read(struct draft *draft, uint32_t op, uint32_t tensor);
enum status draft_write(struct draft *draft, uint32_t op, uint32_t tensor);
enum status draft_inplace(struct draft *draft, uint32_t op, uint32_t out, uint32_t in);
enum status draft_after(struct draft *draft, uint32_t op, uint32_t before);
/* An op that reads and writes what one of a graph does, but for control edges. tensor[t]: the draft's tensor for the
 * graph's; NULL: they have the same numbers. NONE when out of memory. */
uint32_t draft_copy_op(struct draft *draft, const struct op *record, const struct graph *graph, uint32_t op,
	const uint32_t *tensor);
/* Sets an op's arguments, or what it is of; copies them. */
enum status draft_op_arguments(struct draft *draft, uint32_t op, const struct arguments *arguments);
enum status draft_op_of(struct draft *draft, uint32_t op, const char *of);
/* Says what samples add, and at which batches that was seen; copies it. */
enum status draft_tensor_grows(struct draft *draft, uint32_t tensor, const int64_t *grows);
enum status draft_op_grows(struct draft *draft, uint32_t op, const struct op_growth *grows);
void draft_line(struct draft *draft, const int64_t line[LINE_BATCHES]);
/* ids by name among the records so far, NONE where there is none. Names are unique: adding a
 * second record of a name is found by graph_build. */
uint32_t draft_find_op(const struct draft *draft, const char *name);
uint32_t draft_find_tensor(const struct draft *draft, const char *name);
/* The records so far, to change numbers in place; texts and what else a pointer leads to, the draft holds. */
struct tensor *draft_tensor_at(struct draft *draft, uint32_t tensor);
struct op *draft_op_at(struct draft *draft, uint32_t op);

/* Builds the graph, or sets *error (with the record's line) and returns NULL. The graph takes over what the draft
 * holds: draft_free() is all that may be called with it then. Errors are two writers of one tensor, alias cycles, an
 * in-place pair that doesn't belong to the op, sizes that are negative, above BYTES_MAX or overflow in sum, a
 * dependency cycle (its ops named). A program order that breaks a dependency is repaired to the nearest topological
 * order (graph->repaired). O(ops + tensors + arguments), but O(k log k) for k displaced ops. */
struct graph *graph_build(struct draft *draft, struct error *error);

/* What it occupies, without what it is lent. O(1). */
size_t graph_bytes(const struct graph *graph);

/* A new reference; and giving one back, which frees the graph with the last. NULL is fine for release. */
struct graph *graph_retain(struct graph *graph);
void graph_release(struct graph *graph);
DROP(graph, graph_release)

/* The graph in which every in-place write to a non-persistent storage gets fresh memory of the
 * same size (docs/design.md section 6, in_place=off). Writes that make no new name stay as they are. */
struct graph *graph_without_inplace(const struct graph *graph, struct error *error);

/* ids by name, NONE where there is none. O(1). */
uint32_t graph_find_op(const struct graph *graph, const char *name);
uint32_t graph_find_tensor(const struct graph *graph, const char *name);

/* A tensor of no bytes that an offload wrote: what it stands for waits in the host's memory to be fetched. O(1). */
bool graph_in_host(const struct graph *graph, uint32_t tensor);

/* How many tensors an op reads, and writes; the k-th of them, and of both; what storage a tensor lies in. */
static inline uint32_t graph_operands(const struct graph *graph, uint32_t op)
{
	return csr_length(&graph->reads, op);
}
static inline uint32_t graph_results(const struct graph *graph, uint32_t op)
{
	return csr_length(&graph->writes, op);
}
static inline uint32_t graph_operand(const struct graph *graph, uint32_t op, uint32_t k)
{
	return csr_at(&graph->reads, op, k);
}
static inline uint32_t graph_result(const struct graph *graph, uint32_t op, uint32_t k)
{
	return csr_at(&graph->writes, op, k);
}
static inline uint32_t graph_argument(const struct graph *graph, uint32_t op, uint32_t k)
{
	uint32_t reads = graph_operands(graph, op);
	return k < reads ? graph_operand(graph, op, k) : graph_result(graph, op, k - reads);
}
static inline struct storage *graph_home(const struct graph *graph, uint32_t tensor)
{
	return &graph->storage[graph->tensor[tensor].storage];
}

/* A copy to the host that is there in the next step, too: optimizer state, not what waits between the passes. */
static inline bool offload_stays(const struct graph *graph, uint32_t op)
{
	return graph->op[op].added == ADDED_OFFLOAD && graph_results(graph, op) == 1 &&
		graph_home(graph, graph_result(graph, op, 0))->live_out;
}

static inline bool graph_writes_in_place(const struct graph *graph, uint32_t op, uint32_t storage)
{
	FOR_SPAN(i, graph->inplace_start, op)
		if (graph->tensor[graph->inplace[i].in].storage == storage)
			return true;
	return false;
}

/* The operand that an op writes a result over; NONE. */
static inline uint32_t graph_written_over(const struct graph *graph, uint32_t op, uint32_t tensor)
{
	FOR_SPAN(i, graph->inplace_start, op)
		if (graph->inplace[i].out == tensor)
			return graph->inplace[i].in;
	return NONE;
}

/* How many operands an op writes over. */
static inline uint32_t graph_pairs(const struct graph *graph, uint32_t op)
{
	return graph->inplace_start[op + 1] - graph->inplace_start[op];
}

/* Whether an op only names memory that is there. */
static inline bool graph_is_view(const struct graph *graph, uint32_t op)
{
	bool view = graph_results(graph, op) > 0 && graph_pairs(graph, op) == 0;
	FOR_ITEMS(written, &graph->writes, op)
		view &= graph->tensor[written].alias != NONE;
	return view;
}

/* Whether any op runs again. O(ops). */
static inline bool graph_reruns(const struct graph *graph)
{
	FOR(op, graph->ops)
		if (graph->op[op].recomputed)
			return true;
	return false;
}

/* Whether a framework ran it op by op while it was captured: memory is let go of later than after its last use
 * somewhere. O(ops). */
static inline bool graph_releases(const struct graph *graph)
{
	FOR(op, graph->ops)
		if (op_releases(&graph->op[op]))
			return true;
	return false;
}

static inline bool tensor_same_shape(const struct tensor *a, const struct tensor *b)
{
	return a->dims == b->dims && a->shape && b->shape && memcmp(a->shape, b->shape, a->dims * sizeof *a->shape) == 0;
}

/* Elements of a tensor; bytes where its shape is not known. */
static inline int64_t tensor_elements(const struct tensor *tensor)
{
	int64_t product = 1;
	for (int d = 0; d < tensor->dims && tensor->shape; d++)
		product *= tensor->shape[d];
	return tensor->shape ? product : tensor->bytes;
}

/* Whether an op casts a gradient to a wider format, as mixed precision does in front of the update. */
static inline bool graph_widens_gradient(const struct graph *graph, uint32_t op)
{
	if (graph_operands(graph, op) != 1 || graph_results(graph, op) != 1 || graph->op[op].phase == PHASE_FORWARD)
		return false;
	const struct tensor *from = &graph->tensor[graph_operand(graph, op, 0)],
						*to = &graph->tensor[graph_result(graph, op, 0)];
	return from->has_dtype && to->has_dtype && dtype_bits[to->dtype] > dtype_bits[from->dtype] &&
		graph->storage[to->storage].kind == KIND_GRADIENT && to->alias == NONE;
}
