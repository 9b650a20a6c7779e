/* fx.h: PyTorch's FX graphs as torch.compile logs them: readable text with dtypes, shapes and places in the source.
 *
 * The same text is in what TORCH_LOGS=aot_graphs,aot_joint_graph prints, in the payloads of a TORCH_TRACE log, and
 * in each fx_graph_readable.py of a TORCH_COMPILE_DEBUG folder, which says a graph's kind and compilation by its own
 * folder's name. Everything lies in the log's arena.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     fx            FX graphs of PyTorch
 *     fx_size       symbolic sizes
 *     fx_text       finds them in logs
 *     fx_folder     collects them from a folder
 *     fx_phases     which ops of a graph with both passes are of which
 *     fx_step       joins forward and backward
 *     places        placements as DTensor writes them */
#pragma once

#include "solver/graph/graph.h"

enum fx_kind {
	FX_FORWARD,
	FX_BACKWARD,
	FX_JOINT,
	FX_INFERENCE,
	FX_OTHER
}; /* other: of a stage before or behind these */
enum fx_role { FX_PLAIN, FX_PARAMETER, FX_BUFFER };

/* A tensor: an input, or what a statement makes. */
struct fx_value {
	const char *name;
	int64_t dim[DIMS_MAX];
	uint8_t dims, dtype, role; /* role: enum fx_role, of inputs of newer logs */
	bool typed, unsized;       /* unsized: of a symbolic size that nobody gave */
	bool input;
	uint32_t node; /* that makes it, of its graph; NONE for an input */
	unsigned line;
	struct axis_places
		places; /* of a DTensor; dim has one device's sizes where the mesh is known, else the whole tensor's */
};

struct fx_node {
	const char *name, *type, *src; /* type: "aten.mm.default" */
	uint32_t read, reads;          /* range of fx_graph.argument: values */
	const char
		*text; /* the last quoted text among the arguments, which is the name of a collective's group; NULL: none */
	int64_t group;   /* the first integer among the arguments, which is a collective's size; 0: none */
	uint32_t listed; /* entries of the first list among them */
	bool gradient;   /* of one that torch.func takes: its place in the source says so */
	unsigned line;
};

struct fx_graph {
	const char *id; /* of the compilation: "0/0" */
	const char *hints; /* what its symbols were when it was compiled, "s77=6, s27=17"; "" where nobody says */
	enum fx_kind kind;
	bool autograd; /* compiled autograd traced it, a backward pass: "!" before the number of its compilation, or its
					  ops, say so */
	struct fx_value *value;
	struct fx_node *node;
	uint32_t *argument, *result; /* result: values, NONE for None */
	uint32_t values, nodes, arguments, results;
	size_t value_room, node_room, argument_room, result_room;
	unsigned line;
};

#define FX_SYMBOLS 4

struct fx_log {
	struct arena arena;
	struct fx_graph *graph;
	uint32_t graphs;
	size_t room;
	char symbol[FX_SYMBOLS][24]; /* the first ones without a number */
	uint32_t symbols;
	bool fused;               /* Inductor ran behind these graphs */
	uint32_t mesh[MESH_AXES]; /* of the DTensors: the sizes "mesh0=8" of dim; 0: nobody says */
	const char *const *dim;   /* [dims] of fx_add(), which must live on */
	uint32_t dims;
};

/* Finds the graphs in a text. dim: "s0=8" for symbolic sizes, which go before what the log says of them. OK also where
 * there are none; BAD_INPUT for a graph that makes no sense. O(size). */
enum status fx_read(
	const char *text, size_t size, const char *const *dim, uint32_t dims, struct fx_log *log, struct error *error);
void fx_free(struct fx_log *log);
#define fx_log_drop fx_free

/* What a file's name says of the graphs in it. */
struct fx_origin {
	const char *id;    /* stands before the compilations that the text names, or in their place */
	enum fx_kind kind; /* of the first graph; FX_OTHER: nothing is said */
};
/* The same for one more text: its graphs come behind those of the log, which is empty at first. */
enum status fx_add(struct fx_log *log, const char *text, size_t size, const struct fx_origin *origin,
	const char *const *dim, uint32_t dims, struct error *error);
/* Everything below a folder: the fx_graph_readable.py of TORCH_COMPILE_DEBUG=1, or without any of them the logs that
 * TORCH_TRACE=FOLDER leaves. BAD_INPUT where there is neither, with the file's name and line in the text where one
 * can't be read. No link is followed. O(size). */
enum status fx_folder_read(
	const char *path, const char *const *dim, uint32_t dims, struct fx_log *log, struct error *error);

/* The step number `wanted` of a log, from 1 (0: the one with the most ops): a forward graph with its backward graph, a
 * joint graph, or one without gradients. NULL with *error, which lists the steps where there is none of that number. */
struct graph *fx_step(const struct fx_log *log, uint32_t wanted, struct error *error);

/* fx_phases: which ops of a graph that holds both passes are of which. */

/* The phase of each node of a joint graph, or of one whose gradients torch.func took. *phase is NULL where nothing in
 * the graph says it. O(size). */
enum status fx_phases(struct arena *arena, const struct fx_graph *graph, uint8_t **phase);

/* fx_size: symbolic sizes as PyTorch prints them: "s77", "2*s0 + 1", "8*(((u0 + u1 + 71)//8))", "Max(1, s0)". */

/* What the caller knows: "s77=8" a symbol, "u*=64" all whose names begin so; the first that matches counts. */
struct fx_sizes { const char *const *dim; uint32_t dims; };

/* The value of an expression; false where it has a symbol without a number (*symbol, of *length letters, is the first
 * one), no such grammar, or a value below 0 or above 2^62. Sums, products, floor division (a division that isn't whole,
 * too), remainders, powers; Max, Min, FloorDiv, CeilDiv, Mod, PythonMod, ModularIndexing, floor, ceiling. O(length *
 * dims). */
bool fx_size(const struct fx_sizes *sizes, const char *text, const char *end, int64_t *value, const char **symbol,
	size_t *length);

/* places: placements as PyTorch's DTensor writes them. */

/* "S(0)RP(sum)", a word for each axis of the mesh: at most that many, up to what is no such word. "_S(1, 4)" is cut in
 * blocks; of "S(1)[0]" the order of several cuts of a dim is left out. Returns how many there were. O(length). */
uint32_t places_read(const char *text, uint32_t most, struct axis_places *places);

/* The type of the op that turns one place on an axis into another, "comm.all_gather"; NULL where every device cuts its
 * own piece, or nothing changes. O(1). */
const char *place_move(struct axis_place from, struct axis_place to);
