/* snapshot.h: PyTorch memory snapshots (torch.cuda.memory._dump_snapshot): what the allocator did, as buffers to be
 * planned.
 *
 * A snapshot is a pickled dict. `device_traces` has a list of events for each device: alloc, free_requested,
 * free_completed, segment_alloc, segment_free, segment_map, segment_unmap and others, with addr and size; sizes of
 * allocations are those asked for. `segments` is what is reserved at the end, with its blocks (active_allocated,
 * inactive, ...). Events may be missing at the beginning: the recorder keeps the latest ones only. What was there
 * before is known from its free, or from the blocks at the end.
 *
 * A buffer's life is counted in events: from that of its alloc to that of its free_completed, which gives the memory
 * back.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     pickle     walks over a Python pickle, builds nothing
 *     stacks     stack traces, each once
 *     snapshot   reads snapshots
 *     json       reads snapshots kept as JSON
 *     trace      reads traces of torch.profiler
 *     buffers    buffers and lives out of a trace
 *     growth     what every step leaves behind
 *     addresses  real addresses as offsets in one memory
 *     groups     the allocations of a long trace in groups
 *     graph      a trace as a graph, and what holds its peak */
#pragma once

#include "solver/graph/graph.h"
#include "src/base/source.h"
#include "src/base/words.h"
#include "src/read/problems/buffers_csv.h"

/* stacks: the stack traces of a snapshot, each once. Numbers count from 1; 0 is none, what is above a limit, and what
 * there was no memory for, which is noted. */

/* A place in the source. name: the function. Texts are numbers, too. */
struct stack_frame { uint32_t file, name; int64_t line; };

/* Open addressing by hash; equal hashes stand behind each other. */
struct stack_table {
	struct { uint64_t hash; uint32_t id; } *slot;
	size_t slots, used;
};

struct stacks {
	struct arena arena;
	struct names text_names;
	const char **text;
	struct stack_frame *frame;
	uint32_t *item; /* frames of all stacks, the innermost one first */
	struct { uint32_t first, count; } *stack;
	struct stack_table by_frame, by_stack;
	size_t text_room, frame_room, item_room, stack_room;
	uint32_t texts, frames, items, stack_count;
	bool no_memory; /* something is missing because memory ended */
};

#define STACK_FRAMES_MOST 1000 /* of one stack; what is further out is left away */

/* The number of a text, a frame, a stack, which is new or was there before. Expected O(length). */
uint32_t stacks_text(struct stacks *stacks, const char *text, size_t length);
uint32_t stacks_frame(struct stacks *stacks, uint32_t file, uint32_t name, int64_t line);
/* A stack with count frames further out than those of `inner` (0: none). */
uint32_t stacks_add(struct stacks *stacks, uint32_t inner, const uint32_t *frame, uint32_t count);
void stacks_free(struct stacks *stacks);

/* The number of the innermost frame that is neither the framework's nor another library's; of the innermost one where
 * there is no such. */
uint32_t stacks_place(const struct stacks *stacks, uint32_t stack);
/* "model.py:6 in forward"; "" of frame 0. Returns text. */
char *stacks_frame_text(const struct stacks *stacks, uint32_t frame, char *text, size_t size);
/* The functions of the program's own frames from the outermost to the innermost, with dots between; "" where there are
 * none. Returns text. */
char *stacks_path(const struct stacks *stacks, uint32_t stack, char *text, size_t size);
/* A frame's function, or "". */
const char *stacks_function(const struct stacks *stacks, uint32_t frame);
/* Whether a frame's file, or its function, has that word in its name. */
bool stacks_within(const struct stacks *stacks, uint32_t stack, const char *word);
/* The phase that a stack's frames tell. */
enum phase snapshot_phase(const struct stacks *stacks, uint32_t stack);

/* What PyTorch's allocator rounds sizes to and aligns addresses at. */
#define SNAPSHOT_ALIGNMENT 512

enum snapshot_action {
	SNAPSHOT_OTHER,
	SNAPSHOT_ALLOC,
	SNAPSHOT_FREE_REQUESTED,
	SNAPSHOT_FREE_COMPLETED,
	SNAPSHOT_SEGMENT_ALLOC,
	SNAPSHOT_SEGMENT_FREE,
	SNAPSHOT_SEGMENT_MAP,
	SNAPSHOT_SEGMENT_UNMAP
};

struct snapshot_event { int64_t address, size; enum snapshot_action action; uint32_t stack; }; /* of stacks */
struct snapshot_block {
	int64_t address, size;
	uint32_t stack;
	bool active, placed;
}; /* placed: the file says its address */
struct snapshot_segment { int64_t address, bytes; uint32_t first_block, blocks, device; };
/* grows: what is known of it from a longer trace, lent; NULL: nothing. */
struct snapshot_trace {
	uint32_t first, events, device, marks;
	const int64_t *mark; /* [marks] events before which a step has ended, ascending; lent */
	const char *grows;
};

struct snapshot {
	struct snapshot_event *event;
	struct snapshot_block *block;
	struct snapshot_segment *segment;
	struct snapshot_trace *trace; /* of devices that have events, in their order */
	uint32_t events, blocks, segments, traces;
	size_t event_room, block_room, segment_room, trace_room;
	struct stacks stacks;
};

/* Reads a snapshot as a stream, or the page that torch.cuda._memory_viz makes of it. BAD_INPUT: no pickle that
 * snapshot.h reads, no snapshot, no events in it, sizes out of range. Free with snapshot_free(), after an error too.
 * O(bytes); 24 bytes of memory for an event, four for an entry of the memo, and each stack trace once. */
enum status snapshot_read(struct source source, struct snapshot *snapshot, struct error *error);
/* The same of a file that is open, a trace or a snapshot, also one that was kept as JSON. */
enum status snapshot_of_input(struct input *input, bool trace, struct snapshot *snapshot, struct error *error);
/* The same from a trace of torch.profiler with profile_memory=True (trace.c): one step of it, its devices in order; an
 * op's name, and with with_stack=True Python's functions, are frames. Free with snapshot_free(), after an error too.
 * O(bytes + events log events). */
enum status trace_read(struct source source, struct snapshot *snapshot, struct error *error);
void snapshot_free(struct snapshot *snapshot);

/* What a device's trace says itself. */
struct snapshot_facts {
	uint32_t device, devices; /* the device taken; devices with events */
	uint32_t events, buffers;
	uint32_t before; /* buffers that were there before the first event */
	uint32_t after;  /* buffers still there behind the last one */
	int64_t peak;    /* the largest sum of sizes asked for at once */
	int64_t rounded_peak; /* the same with sizes rounded up to SNAPSHOT_ALIGNMENT: as torch.cuda.memory_allocated()
							 counts */
	int64_t reserved;   /* the largest sum of segments at once */
	const char *segments; /* which of PyTorch's the trace reserves; NULL: none */
	int64_t peak_event; /* the first with that peak */
	char grows[1200];   /* what every step leaves behind, by place, in words; "": nothing */
	struct snapshot_origin *origin; /* [buffers], as long as the CSV lives */
	int64_t
		*alive; /* [buffers], likewise: bytes of what else is alive where the trace allocates each, sizes rounded up */
};

/* Where a buffer comes from. before: it was there before the first event. */
struct snapshot_origin { int64_t address; uint32_t stack; bool before; };

/* The buffers of a device (-1: of the one with the most events). BAD_INPUT: there is no such device, or sizes add up to
 * too much. Free the CSV with buffers_csv_free(), after an error too. Expected O(events). */
enum status snapshot_buffers(const struct snapshot *snapshot, int64_t device, struct buffers_csv *csv,
	struct snapshot_facts *facts, struct error *error);

/* Says in words what holds more memory after every step, by place; nothing where no step's end or too few are known.
 * NO_MEMORY. O(events + buffers). */
enum status snapshot_growth(const struct snapshot *snapshot, const struct snapshot_trace *trace,
	const struct buffers_csv *csv, const struct snapshot_origin *origin, struct words *words, struct error *error);

/* Makes the buffers as if read from a CSV with columns id, lower, upper and size; ids count from 0. O(buffers). */
enum status snapshot_rows(struct buffers_csv *csv, struct error *error);

/* Fills buffers.hint with the real addresses, as offsets in a memory that has what segments and buffers of the trace
 * ever covered and nothing else; -1 where that is more than 2^60 bytes. O(events log events). */
enum status snapshot_addresses(
	const struct snapshot *snapshot, const struct snapshot_facts *facts, struct buffers_csv *csv, struct error *error);

/* A place in the source with what it holds at the peak: frame of stacks, 0 for what has no stack trace. */
struct snapshot_holder { uint32_t frame, buffers; int64_t bytes; };
/* The places that hold most at the peak, at most `most`, the largest first; returns how many, NONE when out of memory.
 * O(buffers). */
uint32_t snapshot_holders(const struct snapshot *snapshot, const struct buffers_csv *csv,
	const struct snapshot_facts *facts, struct snapshot_holder *holder, uint32_t most);

/* Allocations in a row that become one op. What comes and goes within such a row lies in a workspace. */
struct snapshot_groups {
	uint32_t groups, allocs;
	uint32_t *alloc;    /* [allocs] buffers that the trace allocates, in its order */
	uint32_t *first;    /* [groups + 1] group i has alloc[first[i]] to alloc[first[i + 1] - 1] */
	int64_t *workspace; /* [groups] bytes */
};
/* One for each allocation where there are at most `most`; else longer ones, of which none takes more than the trace's
 * peak: a longer one takes what is alive anywhere in it, and its workspace. OK or NO_MEMORY. O(n log n). Free with
 * snapshot_groups_free(), after an error too. */
enum status snapshot_group(
	const struct buffers *buffers, const struct snapshot_facts *facts, uint32_t most, struct snapshot_groups *groups);
void snapshot_groups_free(struct snapshot_groups *groups);
/* Whether a buffer that a group of several allocates goes into its workspace: it is given back before `end`, the first
 * event behind the group, and isn't alive at the peak. */
bool snapshot_within(const struct buffers *buffers, const struct snapshot_facts *facts, uint32_t buffer, int64_t end);

/* More allocations than so many are put together: it is what people and planners can take, and as many as PyTorch's own
 * viewer shows. */
#define SNAPSHOT_ALLOCS_MOST 300000

/* The trace as a graph: an op for each allocation, or for a group of them where there are more than `most`, in the
 * trace's order and no other, named by the place in the source that asks for the largest, and the buffers as tensors;
 * of groups, buffers of the same two groups are one, but for those alive at the peak. wanted: the device, from 1 on, of
 * those that have events; 0: the one with the most. NULL with *error. O(events log events). */
struct graph *snapshot_graph(const struct snapshot *snapshot, uint32_t wanted, uint32_t most, struct error *error);

/* pickle: walks over a Python pickle (protocols 2 to 5) without building anything from it and without calling
 * anything.
 *
 * The machine of pickletools.py, as far as dicts, lists, tuples, sets, texts, bytes and numbers need it. Whatever would
 * import, call or build an object (GLOBAL, REDUCE, BUILD, ...) ends the walk. A value on the stack has 24 bytes,
 * whatever it is: texts are words that the reader knows, or what the visitor keeps of them; dicts and lists are what
 * the visitor notes in them. The memo has four bytes per entry, and a limit. So memory is that of the memo, of a stack
 * with a limit, and what the visitor keeps. */

enum pickle_kind { PICKLE_OTHER, PICKLE_NUMBER, PICKLE_WORD, PICKLE_DICT, PICKLE_LIST };

struct pickle_value {
	uint8_t kind;
	bool again;     /* a dict or list out of the memo: what is noted in it is not known any more */
	uint8_t note;   /* the visitor's own, 0 in a new dict or list */
	uint32_t count; /* of a list: its items so far */
	uint32_t kept; /* the visitor's own number, 0 in a new dict or list: unlike note and number, the memo has it, too */
	uint32_t memo;  /* of the pickle machine */
	int64_t number; /* a number; the word's index; the visitor's own, 0 in a new dict or list */
};
#define PICKLE_TEXT_MOST 4096

/* The visitor sees each dict and list when its members come, what is inside first. Anything but OK ends the walk. */
struct pickle_visitor {
	const char *const *words; /* texts to know, at most 200 of at most 30 bytes; NULL ends them */
	/* count pairs of key and value come to the dict */
	enum status (*pairs)(
		void *context, struct pickle_value *dict, const struct pickle_value *pair, uint32_t count, struct error *error);
	/* count items come to the list, behind list->count others */
	enum status (*items)(
		void *context, struct pickle_value *list, const struct pickle_value *item, uint32_t count, struct error *error);
	/* A text of at most PICKLE_TEXT_MOST bytes that is no word: the number to keep, 0: none. NULL: none of them is of
	 * interest. */
	uint32_t (*text)(void *context, const char *text, size_t length);
	void *context;
};

/* Reads one pickle, up to its STOP; *root is what it is. BAD_INPUT with the byte in error's text where it is truncated,
 * isn't a pickle of these protocols, wants to call something, or needs a stack of more than a million values. O(bytes).
 */
enum status pickle_walk(
	struct source source, const struct pickle_visitor *visitor, struct pickle_value *root, struct error *error);
