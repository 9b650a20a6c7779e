/* scenario.h: all knobs and pins together: what a plan depends on besides the graph.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     knobs         the table of knobs
 *     aliases       short words for settings
 *     scenario      knob values and pins
 *     pins          checks the names in pins
 *     device_table  the table of device presets
 *     software_table the table of software
 *     profiles      what software reaches of chips' peaks
 *     devices       machine and mesh of a scenario
 *     own_device    figures of a device that a user gives, and files of them
 *     device_figures its figures as a table for people
 *     shard_mesh    from knobs to the degrees of the mesh
 *     idle_knobs    knobs that are set and change nothing */
#pragma once

#include "devices.h"
#include "solver/layout/layout.h"
#include "solver/order/order.h"
#include "solver/pipeline/pipeline.h"
#include "solver/recompute/step.h"
#include "solver/shard/find.h"
#include "solver/step/recompute.h"

#define KNOBS_MOST 48     /* so that what names no knob (knobs.h) doesn't depend on which there are */
#define KNOB_GIVEN (-1)   /* "given": as the graph or the device preset has it; also "none" and "auto": see words */

/* Stages of the data flow, in order (docs/design.md section 2). */
#define STAGES(X) \
	X(READ, "read") X(TRAIN, "train") X(SCALE, "scale") X(RECOMPUTE, "recompute") X(SHARD, "shard") X(ORDER, \
		"order") X(LAYOUT, "layout")
#define X(id, name) STAGE_##id,
enum stage { STAGES(X) STAGE_COUNT };
#undef X
extern const char *const stage_names[STAGE_COUNT];

/* What gives a plan its memory: the knob's words. */
enum allocator { ALLOCATOR_AUTO, ALLOCATOR_PLAN, ALLOCATOR_PYTORCH, ALLOCATOR_EXPANDABLE };

/* What offload= may send to the host: saved activations, optimizer state. */
enum { HOSTS_SAVED = 1, HOSTS_STATES = 2 };

#define EFFORT_DEFAULT 3  /* the solvers' own default */
#define EFFORT_MAX 10

/* Whose results depend on a knob, which is part of their keys. */
enum {
	BY_TRAIN = 1, BY_SCALE = 2, BY_UPDATE = 4, BY_CHUNKS = 8, BY_RECOMPUTE = 16, BY_FIT = 32, BY_SHARD = 64,
	BY_SEARCH = 128, BY_PIPELINE = 256, BY_LAYOUT = 512,
	BY_MACHINE = 1024,  /* whatever takes times of the device */
	BY_LIMIT = 2048,    /* or the memory cap */
	BY_MEMORY = 4096,   /* or counts a graph's memory */
	BY_ARENA = 8192     /* what orders and lays out to choose */
};


/* Pins, in the words of the prompt and of session files (docs/design.md section 4). */
#define PINS(X) \
	X(ORDER, "pin op A before B", "op A runs before op B") \
	X(OFFSET, "pin tensor T at OFFSET", "tensor T's memory starts at that offset of the arena") \
	X(BEHIND, "pin tensor A behind B", "tensor A's memory starts where tensor B's ends") \
	X(PLACEMENT, "pin tensor T shard D on AXIS", "tensor T is sharded along dim D on that mesh axis; none: it " \
		"stays whole") \
	X(RECOMPUTE, "pin layer N recompute", "layer N's activations are computed again") \
	X(RERUN, "pin type T recompute", "with recompute=ops, ops of type T are recomputed: aten.gelu, or gelu") \
	X(SCHEDULE, "pin schedule from FILE", "with schedule=file, what pipeline ranks do is in that CSV of " \
		"torch.distributed.pipelining") \
	X(FIGURE, "figure NAME VALUE", "the device's figure of that name has this value in place of the preset's: figure " \
		"launch 2us") \
	X(RESIDENT, "keep T resident", "tensor T is never recomputed or offloaded") \
	X(OFFLOAD, "offload T", "tensor T waits in host memory between uses")
#define X(id, syntax, help) PIN_##id,
enum pin_kind { PINS(X) PIN_KINDS };
#undef X

struct pin {
	enum pin_kind kind;
	char *a, *b;           /* names: op A, op B; tensor T, axis; tensors A, B; layer N; type T; figure, value;
							  file, its schedule as a plan file has it or NULL */
	int64_t number;        /* offset or dim */
};

struct scenario {
	int64_t value[KNOBS_MOST];    /* by enum knob_id */
	struct pin *pin;
	uint32_t pins;
	struct device_preset device;  /* of knobs and pins: its preset with the figures of its own; memory: the whole */
	struct machine machine;       /* what it can do: the same with what measured steps of the software take */
};

void scenario_init(struct scenario *scenario);                     /* defaults, no pins */
void scenario_done(struct scenario *scenario);
#define scenario_drop scenario_done
enum status scenario_copy(struct scenario *to, const struct scenario *from);
/* Values of knobs that many ask for, so that these depend on no other knob. */
#define ASKED_KNOBS(X) \
	X(devices) X(microbatches) X(accumulation) X(slack) X(prefetch) X(effort) X(recompute) X(offload) X(rank) X(device)
#define X(id) int64_t scenario_##id(const struct scenario *scenario);
ASKED_KNOBS(X)
#undef X
/* The graph as its orders are sought: with in_place=off without writes into what isn't persistent. A new reference or
 * NULL. */
struct graph *scenario_graph(const struct scenario *scenario, struct graph *graph, struct error *error);
/* The memory cap, the knob's or the device preset's, less the reserve; -1 where there is none. */
int64_t scenario_budget(const struct scenario *scenario);
/* A memory cap that no part of the graph comes near was probably meant in GiB: "memory=24 is 24 B; for 24 GiB write
 * memory=24GiB". "" where there is no such doubt. graph NULL: of any graph. Returns text. O(storages). */
char *scenario_doubt(const struct scenario *scenario, const struct graph *graph, char *text, size_t size);
/* What gives plans of the graph their memory. auto: where PyTorch runs it on a GPU its expandable segments, or those
 * that a snapshot shows; elsewhere their own addresses. */
enum allocator scenario_allocator(const struct scenario *scenario, const struct graph *graph);
struct memory_rules scenario_memory_rules(const struct scenario *scenario);
/* The whole memory of a device: the knob, or the preset's; -1: any amount. */
int64_t scenario_device_memory(const struct scenario *scenario);
/* "knob=value". "recompute=ops:T+U" sets the knob and puts "pin type T recompute" and so on in place of what pins of
 * this kind were there; "schedule=@FILE" sets schedule=file and "pin schedule from FILE"; "device=@FILE" sets the
 * preset and the figures that the file has, which device=PRESET takes away; "FIGURE=VALUE" sets a figure of the device
 * (own_device.h). BAD_INPUT for an unknown knob (the nearest
 * named), a bad value, or a knob that can't be turned yet; with a line in the error where a file is wrong. */
enum status scenario_set(struct scenario *scenario, const char *assignment, struct error *error);
/* The value of that knob or figure, as scenario_set() reads it. Returns text; NULL: no such name. */
char *scenario_value_text(const struct scenario *scenario, const char *name, char *text, size_t size);
/* Parses a pin's words and appends it. BAD_INPUT says what was expected. Names are not looked up here. */
enum status scenario_pin(struct scenario *scenario, const char *text, struct error *error);
/* The device is its preset again: pins of figures go, but for those of where it stands, from FIGURE_NODE on. */
void scenario_drop_figures(struct scenario *scenario);
/* Leaves out what measured steps of the software take on its chip: so that chips compare. OK or NO_MEMORY. */
enum status scenario_by_data_sheets(struct scenario *scenario, struct error *error);
/* Removes pin number n (from 1, as the list shows them). */
enum status scenario_unpin(struct scenario *scenario, uint32_t n, struct error *error);
/* What recompute=ops names beside types of ops and parts of modules' paths. Megatron-LM's recompute_modules, as its
 * TransformerConfig explains them. X(id, word, help); those with "and what they give" keep no result (its
 * CheckpointWithoutOutput), of the others what leaves is kept, as by a checkpoint around them. */
#define RERUN_WORDS(X) \
	X(CORE_ATTENTION, "core_attn", "attention between its projections: scores, or the one kernel") \
	X(NORMS, "layernorm", "norms and what they give") \
	X(MLP, "mlp", "feed-forward layers without experts") \
	X(MOE, "moe", "mixtures: router, experts, what moves tokens, shared experts") \
	X(SHARED_EXPERTS, "shared_experts", "experts that every token goes to") \
	X(MOE_ACT, "moe_act", "activations between products of experts and what they give") \
	X(MLA_UP_PROJ, "mla_up_proj", "latent attention's projections from its low ranks, positions, and what they give: " \
		"queries, keys, values")
#define X(id, word, help) RERUN_##id,
enum rerun_word { RERUN_WORDS(X) RERUN_COUNT };
#undef X
/* Which of them it is, or -1. */
int rerun_word(const char *name);
/* A part of a module's path ("mlp"): where it ends in the path, or 0. */
size_t module_part(const char *module, const char *name);
bool module_is_named(const char *module, const char *name);
/* By its type: whole, or without overload, the mark of ops in place, or what comes before the name; or as a norm where
 * these are named: in a module that is called so ("input_layernorm", "ln_1"). */
bool op_is_named(const struct op *op, const char *name);
/* The pin's words, as scenario_pin() reads them. Returns text. */
char *pin_text(const struct pin *pin, char *text, size_t size);

/* Another graph comes: takes away the pins whose names were those of the one before and aren't those of the next.
 * Returns how many. */
uint32_t pins_drop(struct scenario *scenario, const struct graph *before, const struct graph *next);
/* Names in pins that the graph doesn't have: BAD_INPUT with the nearest names. */
enum status check_pins(const struct graph *graph, const struct scenario *scenario, struct error *error);
