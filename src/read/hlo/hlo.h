/* hlo.h: an XLA HLO module as its text gives it: computations of instructions. graph.c makes a graph of it. Protos
 * become text first, in src/read/python/hlo.py.
 *
 * Everything lies in the module's arena. Indices are checked by the readers: an operand stands before its user, a
 * called computation exists.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     hlo         modules; shapes
 *     scan        words and shapes of their text
 *     text        reads their text
 *     groups      who takes part in a collective
 *     assignment  where XLA puts each array
 *     flat        a module as a list of ops over arrays
 *     cost        what an instruction computes, and in whose memory
 *     graph       from a flat module to a graph
 *     folder      which file of a folder of dumps is the step */
#pragma once

#include "solver/graph/graph.h"

/* An array, or a tuple of parts. Tokens are tuples of nothing. */
struct hlo_shape {
	bool tuple;
	uint8_t rank, dtype;
	bool unsized;           /* of a dtype without a size, or with unbounded dims */
	uint32_t parts, leaves; /* leaves: arrays in it, 1 for an array */
	struct hlo_shape *part;
	uint32_t layout; /* equal for equal orders of dims, tiles and memories of one file; 0: the file says none */
	int64_t dim[DIMS_MAX];
	int64_t bytes;
};

/* A leaf of the result (of the entry, or of an instruction) that is written where a leaf of a parameter (an operand)
 * lies. */
struct hlo_alias { uint32_t output, parameter, leaf; };

struct hlo_instruction {
	const char *name, *opcode;
	struct hlo_shape *shape;
	uint32_t *operand, operands; /* instructions of the same computation */
	uint32_t *call, calls;       /* computations: of a while the body, then the condition */
	const char *op_name, *src;   /* NULL: nobody says */
	const char *lhs_contracting; /* "1", "0,1": of a dot */
	const char *labels;          /* dim_labels of a convolution */
	struct hlo_alias *alias;     /* arrays that must lie where one of an operand does; parameter: which operand */
	uint32_t aliases;
	int64_t trips;   /* of a while, where XLA knows it; else 0 */
	uint32_t index;  /* parameter number, or part of a tuple */
	uint32_t group;  /* devices that take part in a collective, 0: nobody says */
	uint32_t shards; /* devices that its sharding cuts it over; 0: none */
	unsigned line;
};

struct hlo_computation {
	const char *name;
	struct hlo_instruction *instruction;
	uint32_t instructions, root;
};

/* Where XLA puts an array of an instruction: a byte in all of its allocations, one behind another. */
struct hlo_place { const struct hlo_instruction *of; uint32_t leaf; int64_t address; };

struct hlo_module {
	struct arena arena;
	const char *name;
	struct hlo_computation *computation;
	uint32_t computations, entry;
	struct hlo_alias *alias;
	uint32_t aliases;
	uint32_t devices; /* partitions times replicas, or as many as a collective or a sharding names at least */
	bool scheduled;
	bool unpartitioned; /* it calls what XLA's partitioner takes out */
	/* What XLA itself planned, where the file says it: bytes by purpose, and addresses: see hlo.h. */
	bool assigned;
	int64_t arguments, temporary, outputs, constants;
	struct hlo_place *place; /* [places], in the arena */
	uint32_t places;
};

#define HLO_DEPTH 40 /* of nested tuples and calls, at most */

/* Reads the text of a module. Errors say the line. The module is valid only on OK; hlo_free() in any case. O(size). */
enum status hlo_text_read(const char *text, size_t size, struct hlo_module *module, struct error *error);
void hlo_free(struct hlo_module *module);
#define hlo_module_drop hlo_free

/* The dtype of an XLA type's name, DTYPE_COUNT where it has no size of its own ("token", "opaque"). */
int hlo_dtype(const char *name, size_t length);
/* Adds a part of a layout, as the file writes it, to hlo_shape.layout. */
uint32_t hlo_layout(uint32_t layout, const char *text, size_t size);
/* The module runs on so many devices at least; above HLO_DEVICES_MOST that isn't believed. */
#define HLO_DEVICES_MOST (1u << 20)
void hlo_add_devices(struct hlo_module *module, uint32_t devices);
/* Whether the partitioner takes calls of this target out: what opens and ends a shard_map, or says a sharding. */
bool hlo_partitioned_away(const char *target, size_t length);
/* Fills leaves and bytes from the rest; false where the size overflows. */
bool hlo_shape_finish(struct hlo_shape *shape);

/* The step: fusions closed (one op each) or open (an op for each instruction in it). NULL with *error. */
struct graph *hlo_graph(const struct hlo_module *module, bool open_fusions, const char *format, struct error *error);

/* assignment: XLA's own buffer assignment: where each array of a module lies, as the text that lies beside a dump says
 * it. */

/* Fills in the module's sums and places. Its allocations are put one behind another: arguments, constants, results,
 * temporaries. What the module doesn't have is left out; memory of single threads is not the step's. OK, BAD_INPUT
 * (it is none), NO_MEMORY. O(size log instructions). */
enum status hlo_assignment_text(const char *text, size_t size, struct hlo_module *module, struct error *error);

/* The address of array `leaf` of an instruction, -1 where the assignment has none. O(log places). */
int64_t hlo_address(const struct hlo_module *module, const struct hlo_instruction *instruction, uint32_t leaf);

/* scan: the characters, words and shapes of HLO text. */

/* A part of the text. */
struct span { const char *at, *end; };

struct scanner {
	const char *at, *end;
	unsigned line;
	struct error *error;
	struct arena *arena;
};

/* BAD_INPUT with the line, NO_MEMORY. */
enum status scan_bad(struct scanner *scanner, const char *format, ...) __attribute__((format(printf, 2, 3)));
enum status scan_no_memory(struct scanner *scanner);

size_t scan_length(struct span span);
bool scan_is(struct span span, const char *text);
bool scan_starts(const struct scanner *scanner, const char *text);
/* White space and comments. */
void scan_skip(struct scanner *scanner);
/* Behind blanks, that character or nothing. */
bool scan_take(struct scanner *scanner, char c);
bool scan_name_character(char c);
/* A name without its %. */
struct span scan_word(struct scanner *scanner);
/* To the next comma or closing bracket that no bracket or quotes enclose. */
struct span scan_balanced(struct scanner *scanner);
/* False for what is no whole number of 63 bits. */
bool scan_number(struct span span, int64_t *number);
/* A copy in the arena, NULL when out of memory. */
const char *scan_keep(struct scanner *scanner, struct span span);
/* The part between the brackets around a value. */
struct span scan_inside(struct span span);
/* What stands between `before` and the next `until`. */
struct span scan_find(struct span in, const char *before, char until);

/* An array's or tuple's shape with its layout; depth 0 for the outermost. */
enum status scan_shape(struct scanner *scanner, int depth, struct hlo_shape *shape);

/* groups: how many devices take part in a collective, as the text of a module says it. */

/* devices: in all groups together, as far as that is said. 0: nobody says. */
struct hlo_groups { uint32_t size, devices; };

/* The next whole number from *at on; false where there is none before `end`. Above 2^32 it is 2^32 - 1. */
bool hlo_next_number(const char **at, const char *end, uint64_t *number);

/* "{{0,1,2,3}}", "[2,4]<=[8]" or "mesh['a'=4,'b'=2], device_ids=([2,4]T(1,0)) {'b'}". value: up to the first comma
 * outside of brackets; end: of the file. O(length of the line). */
struct hlo_groups hlo_groups_text(struct span value, const char *end);

/* folder: what XLA leaves in a folder with --xla_dump_to: which of its files is the step. */

/* The chosen module. list: a line on each where there are several, else "". number: which of them it is, from 1 on. */
struct hlo_folder {
	char path[4096];
	char *list;
	uint32_t modules, number;
};

/* Modules after optimization, as proto (which has the buffer assignment) or text; where there are none of these,
 * before. wanted: the module, from 1 on in the order of their names; 0: that of the largest file. Without any *found
 * stays with no modules, which is OK. BAD_INPUT: no module of that number. Free with hlo_folder_free(), after an error
 * too. O(files log files). */
enum status hlo_folder_find(const char *path, uint32_t wanted, struct hlo_folder *found, struct error *error);
void hlo_folder_free(struct hlo_folder *found);
