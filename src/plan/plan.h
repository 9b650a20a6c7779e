/* plan.h: the immutable result of one scenario on one graph. The screen, reports and exports read nothing else.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     plan            the result; questions that all readers ask
 *     verdict         whether it fits its device
 *     why_not         the op for which a step can't keep its limit
 *     fsdp            what PyTorch reserves where fully_shard runs the step
 *     routing         the peak where one expert gets every token
 *     parts           the peaks of the step's parts
 *     weigh           how much memory plans keep
 *     host_pool       host memory of offloaded tensors
 *     speed           samples and tokens a second, and what is reached of the peak
 *     timeline        live bytes over the order
 *     timetable       the schedule slot by slot
 *     beside          two plans of different graphs, laid over each other
 *     came_to         what "given" and "auto" stand for
 *     idle            knobs that change nothing in a plan */
#pragma once

#include "src/base/words.h"
#include "src/stages/fit/plan_time.h"
#include "src/stages/base/notes.h"
#include "src/stages/pipeline/pipelined.h"
#include "src/stages/base/results.h"

/* speed: how fast a step is: its time, samples and tokens per second, and the share of the devices' peak that is
 * reached. */

struct plan_speed {
	int64_t
		time; /* picoseconds of a step; < 0: unknown, as of a memory snapshot, whose ops are allocations, or too many */
	int64_t samples, tokens;    /* of a step, of all devices; 0: no input says so */
	int64_t model_flops; /* of matrix products of a step, of all devices, without what runs again; attention counts
							whole, also where a mask hides half. -1: some product doesn't know its own */
	uint32_t devices;
	double mfu; /* model FLOPs utilisation (Chowdhery et al., arXiv 2204.02311, appendix B): the share of the time in
				 * which the devices would do these products at their peak, each in its format; < 0: unknown */
};

/* graph: the whole step that is not split yet, of a microbatch. passes: how often its forward and backward passes run
 * in a step (microbatches, or accumulation). Tokens are the elements of the largest input of integers with two dims,
 * samples the first dim of that, else of the largest input. O(graph). */
struct plan_speed plan_speed_of(const struct graph *graph, const struct rules *rules, const struct scenario *scenario,
	int64_t passes, uint32_t devices, int64_t time);
/* Tokens, or else samples, of a second and one device; 0 where neither is known. */
double plan_speed_rate(const struct plan_speed *speed);

/* What a pipeline rank comes to in its plan; of ranks that are alike but for names and microbatches in flight one is
 * planned, the others follow its order. */
struct planned_rank {
	int64_t peak, arena;          /* bytes; arena < 0: the rank was not laid out itself */
	int64_t bytes[KIND_COUNT], workspace; /* at the peak */
};

/* An op that needs more than a limit leaves, in every order. */
struct why_not {
	char op[200];   /* its name, type, place in the source, module */
	char holds[400];   /* its operands, what stays beside them, by kind, and all else */
	const char *advice;   /* what helps such an op; NULL: there is none */
	int64_t least;   /* bytes, the lowest limit that this doesn't forbid */
	bool reruns;   /* nor does any recomputation help */
	bool planned;   /* the op is the fullest of the plan's order; of others it may be another one */
};
/* Of an op that needs so many bytes; 0: more than there is. O(storages). */
void why_not_of(const struct graph *graph, uint32_t op, int64_t least, const struct rules *rules, struct why_not *why);
/* One sentence, and the advice. Returns text. */
char *why_not_text(const struct why_not *why, char *text, size_t size);
#define WHY_NOT_TEXT 900

struct plan {
	struct graph *input;          /* as read */
	struct graph *graph;          /* as planned (the reported rank's per-device graph); input where no stage changed it */
	struct scenario scenario;

	/* The stages' results, shared with other plans and the store. */
	struct transformed *transformed;
	struct sharded *sharded;      /* these three are transformed's */
	struct pipelined *pipelined;
	struct fitted *fitted;
	struct ordered *ordered;      /* of graph */
	struct ordered *least;        /* the order of the least peak, which proves most; NULL: ordered has its own proof */
	struct laid_out *laid_out;    /* by storage of graph, then by op: its workspace */

	enum allocator allocator;     /* what gives it its memory */
	struct allocated pytorch[2];  /* in PyTorch's caching allocator, without and with expandable segments, over three
								   * steps, within the memory cap less what is beside; least 0: not played */
	bool state_first;             /* so they hold if the optimizer's state is made before the first step */
	bool fully_shard;             /* as PyTorch's fully_shard runs it (fsdp.h), with all that this gathers */
	uint32_t rank;                /* the pipeline rank that graph is of */
	struct planned_rank *by_rank; /* [pipelined->ranks] or NULL */
	struct traffic_sum traffic; /* what a device sends in the step; in a pipeline, for a microbatch on all ranks, not
								   counting what goes between these */
	struct plan_time
		*time; /* the step on a device, simulated; NULL where it is not split over devices, or a pipeline's */
	struct plan_speed speed;
	int64_t program_time; /* picoseconds of a step in the program's order, of ordered->program_peak; -1: unknown */
	int64_t stall; /* picoseconds that computation waits in this order for copies to the host of offload=on */
	struct shown shown;           /* of the sharding */
	uint32_t compared;            /* shardings whose plans were compared, this one included; 0: there was just one */
	uint32_t schedules;           /* schedule=auto: how many can be played and were compared; else 0 */
	int64_t fit_margin;           /* of the wish: choices were made with the cap less this */
	bool kept;                    /* recompute=auto: planned as recompute=none is, as that keeps the cap */
	struct stage_run run[STAGE_COUNT];
	char notes[NOTES_BYTES];      /* the stages', and what choosing between plans has to say: sentences, one a line */
	struct why_not why_not;
	int64_t routed_peak, routed_load[2]; /* routing_peak() of a step on one device; 0 or less: none */
	bool limited;                 /* cut short by --time, a cancel or a signal */
	bool complete;                /* false: a better plan of the same scenario may follow */
	uint64_t fingerprint;         /* of graph and scenario: equal plans have equal fingerprints */
	uint64_t serial;              /* rises with every plan that a session publishes */
	atomic_uint references;
};

/* The plan doesn't follow from graph and scenario alone. */
static inline bool plan_cut_short(const struct plan *plan)
{
	return plan->limited || !plan->complete;
}

/* Where no order keeps the limit, why_not: the op that shows it. O(storages). */
void plan_find_why_not(struct plan *plan, const struct rules *rules);

struct plan *plan_retain(struct plan *plan);
void plan_release(struct plan *plan);
DROP(plan, plan_release)

/* Bytes: the highest live bytes over the order, and the memory that the layout spans. */
static inline int64_t plan_peak(const struct plan *plan)
{
	return plan->ordered->result.peak;
}
static inline int64_t plan_arena(const struct plan *plan)
{
	return plan->laid_out->layout.arena;
}

/* What is proved of the order's peak, and what shows it. */
static inline const struct order_result *plan_bounded(const struct plan *plan)
{
	return plan->least ? &plan->least->result : &plan->ordered->result;
}
static inline struct proof plan_proof(const struct plan *plan)
{
	const struct proof *proof = &plan_bounded(plan)->proof;
	return (struct proof){ QUANTITY_LIVE_PEAK, plan_peak(plan), proof->bound, proof->by };
}
static inline int64_t plan_bound(const struct plan *plan)
{
	return plan_bounded(plan)->proof.bound;
}
/* No tensor of the file has a size: nothing is known of its memory. */
static inline bool plan_lacks_sizes(const struct plan *plan)
{
	return plan->input->tensors > 0 && plan->input->about.intake.missing >= plan->input->tensors;
}
static inline bool plan_is_proved(const struct plan *plan)
{
	return plan_bound(plan) == plan_peak(plan) && !plan_lacks_sizes(plan);
}

/* Floating-point operations of a step on a device: backward passes that are added up, and microbatches, count each; -1:
 * some op doesn't know its own. O(ops). */
int64_t plan_flops(const struct plan *plan);
/* Picoseconds of a step with all its passes, as simulated, or a pipeline's, whose microbatches alone count; -1: the
 * step is not split over devices. */
int64_t plan_step_time(const struct plan *plan);
/* Picoseconds of a step that go to what runs again, and to waits in the plan's order for copies to the host that
 * offload=on has chosen. */
int64_t plan_extra_time(const struct plan *plan);
/* What the order gains, apart from what the sharding does: "program order 76.0 ms, 4.28 GiB; planned 69.0 ms, 4.28
 * GiB": step and peak. Returns text. */
char *plan_gain_text(const struct plan *plan, char *text, size_t size);
/* What the bounds rest on: "what is alive at op 3", "an exhausted search of orders". An op
 * is named if its name has at most so many bytes, else numbered. Return text. */
char *plan_order_ground(const struct plan *plan, size_t longest, char *text, size_t size);
char *plan_layout_ground(const struct plan *plan, char *text, size_t size);
/* What the memory cap leaves to the arena: the knob, or the device preset's, less the reserve, what is gathered ahead
 * and buffers; -1 where there is no cap. */
int64_t plan_budget(const struct plan *plan);

/* The highest live bytes of an order where one expert gets every token and all have as much room as it; -1: there are
 * no experts' places, they have that room already, they take more than 2^60 bytes, or there is no memory for it. live:
 * [ops] bytes at each position. load: tokens that an expert has room for, and all. O(graph). */
int64_t routing_peak(const struct graph *graph, const struct rules *rules, const uint32_t *position,
	const int64_t *live, int64_t load[2]);

/* The highest live bytes while ops of a part of the step run, and where. "the rest": what the program gives no name. */
struct part_peak { const char *name; int64_t bytes; uint32_t position; };
#define PARTS_MOST 16
/* In the order in which they begin. Returns how many, at most PARTS_MOST; 0: no op says its part. O(ops * parts). */
uint32_t parts_find(
	const struct graph *graph, const uint32_t *order, const int64_t *live, struct part_peak part[PARTS_MOST]);

/* The highest live bytes of the plan's order without the ops' workspace: its storages alone. O(ops). */
int64_t plan_storage_peak(const struct plan *plan);
/* Live bytes at a position by kind of storage: [KIND_COUNT]. workspace: of the op there. O(storages). */
void plan_categories(const struct plan *plan, uint32_t position, int64_t bytes[KIND_COUNT], int64_t *workspace);

/* The storage behind an item of the order's problem (certificates speak of items). */
uint32_t plan_item_storage(const struct plan *plan, uint32_t item);

/* The storages alive at a position, largest first. list has room for graph->storages ids. Returns how many; NONE: out
 * of memory. */
uint32_t plan_alive(const struct plan *plan, uint32_t position, uint32_t *list);

static inline const char *storage_name(const struct plan *plan, uint32_t storage)
{
	return plan->graph->tensor[plan->graph->storage[storage].root].name;
}

/* Of an item of the layout (struct laid_out): its tensor's name, or that of the op whose workspace it is; its kind,
 * KIND_COUNT of a workspace. */
static inline const char *item_name(const struct plan *plan, uint32_t item)
{
	return item < plan->graph->storages ? storage_name(plan, item) : plan->graph->op[item - plan->graph->storages].name;
}
static inline int item_kind(const struct plan *plan, uint32_t item)
{
	return item < plan->graph->storages ? plan->graph->storage[item].kind : KIND_COUNT;
}

static inline bool alive_at(const struct plan *plan, uint32_t item, uint32_t position)
{
	return plan->laid_out->first[item] != NONE && plan->laid_out->first[item] <= position
		&& position <= plan->laid_out->last[item];
}

/* Why a storage is alive at a position. */
enum alive_reason {
	ALIVE_PERSISTENT,   /* parameter, optimizer state, input: always */
	ALIVE_PRODUCED,     /* this op writes it */
	ALIVE_USED,         /* this op reads it */
	ALIVE_CERTAIN,      /* in every order: made before this op, needed after it */
	ALIVE_CUT,          /* in the min cut that proves the bound: something as large must be */
	ALIVE_CHOICE        /* another order would free it earlier or make it later */
};
/* reason[i] of storage[i]. kept: what one position leaves to the next of the same plan, made at the first
 * (*kept NULL), freed by order_explainer_free(); or NULL. O(graph + count) and a max-flow. */
void plan_reasons(const struct plan *plan, uint32_t position, const uint32_t *storage, uint32_t count,
	struct order_explainer **kept, enum alive_reason *reason);
extern const char *const alive_reason_text[]; /* "always", "this op", "unavoidable" ... */

/* timetable: the schedule of a plan slot by slot, of a step in one piece its two passes: its peaks are the plan's. */

struct timetable;
/* rules_file: a user's operator rules, or NULL. NO_MEMORY, or the rules file's error. Free it in any case. O(plan). */
enum status plan_timetable(
	const struct plan *plan, const char *rules_file, struct timetable *timetable, struct error *error);

/* weigh: how much memory plans keep. */

/* How many of the newest of these plans, oldest first, keep at most `limit` bytes together, what they share counted
 * once; at least 1. What belongs to the graph as read isn't counted: it is there anyway. All of them when memory for
 * counting is out. O(plans). */
uint32_t plans_within(struct plan *const *plan, uint32_t plans, size_t limit);
