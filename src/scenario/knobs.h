/* knobs.h: the knob table. One row is the only place that knows a knob: --set, the control panel, the
 * :set prompt with completion, scenario and session files and the man page are generated from it.
 *
 * A value is an int64_t in the knob's unit; words ("auto", "given", choices) are small negative numbers
 * or indices, see knob_parse() and knob_text(). */
#pragma once

#include "scenario.h"

enum knob_type {
	KNOB_CHOICE,   /* one of words; value = its index; a word with a number, "layers:2", may have another one:
					  knob_choice(), knob_number() */
	KNOB_SWITCH,   /* off, on */
	KNOB_NUMBER,   /* a plain integer */
	KNOB_BYTES,    /* 4MiB, 80GiB, 1500000 */
	KNOB_RATE,     /* bytes per second: 300GB/s (10^9), 250GiB/s */
	KNOB_TIME,     /* nanoseconds: 2.7us */
	KNOB_PERCENT   /* 5% */
};

/* The words of a solver's strategies, from its own table. */
#define STRATEGY_WORD(id, name, help) name "|"

#define SCHEDULE_WORD(id, name, folded, split, help) name "|"

/* X(id, group, type, words, minimum, maximum, default, first stale stage, whose keys it is in, help)
 * words: of a choice "a|b|c" (a last "|" is fine), where "b:2" takes a whole number from 1 and "c:50%" a percentage,
 * these unless told; of the others a single word for -1 ("given", "auto", "none") or NULL. */
#define KNOBS(X) \
	X(devices, "devices", NUMBER, NULL, 1, 1 << 20, 1, SHARD, BY_SHARD, "number of devices the step runs on") \
	X(device, "devices", CHOICE, "none|" DEVICES(DEVICE_WORD), 0, DEVICE_COUNT - 1, DEVICE_NONE, SHARD, BY_MACHINE, \
		"preset of memory, peak FLOP/s, memory bandwidth and links; none is an a100-80gb with any amount of memory; " \
		"device=@FILE reads what python -m tidemark_torch calibrate wrote") \
	X(software, "devices", CHOICE, SOFTWARES(SOFTWARE_WORD), 0, SOFTWARE_COUNT - 1, SOFTWARE_GIVEN, SHARD, BY_MACHINE, \
		"software whose measured steps say what is reached of any device's peaks, and with a name also what they take " \
		"of such times on this device") \
	X(memory, "devices", BYTES, "none", 0, BYTES_MAX, KNOB_GIVEN, SHARD, BY_LIMIT, \
		"memory cap of a device; a plan above it " \
		"breaks a constraint") \
	X(reserve, "devices", BYTES, "auto", 0, BYTES_MAX, KNOB_GIVEN, SHARD, BY_LIMIT, \
		"memory that contexts, libraries and " \
		"what nobody counts take; auto: the device preset's context, nothing of a memory below 4 GiB") \
	X(strategy, "parallelism", CHOICE, "none|" SHARD_STRATEGIES(STRATEGY_WORD), 0, STRATEGY_COUNT, 0, SHARD, BY_SHARD, \
		"how the model is split over devices") \
	X(dp, "parallelism", NUMBER, "auto", 1, 1 << 20, KNOB_GIVEN, SHARD, BY_SHARD, "data parallel degree") \
	X(tp, "parallelism", NUMBER, "auto", 1, 1 << 20, KNOB_GIVEN, SHARD, BY_SHARD, "tensor parallel degree") \
	X(pp, "parallelism", NUMBER, "auto", 1, 1 << 20, KNOB_GIVEN, SHARD, BY_SHARD | BY_PIPELINE, \
		"pipeline parallel degree") \
	X(cp, "parallelism", NUMBER, "auto", 1, 1 << 20, KNOB_GIVEN, SHARD, BY_SHARD, "context parallel degree") \
	X(ep, "parallelism", NUMBER, "auto", 1, 1 << 20, KNOB_GIVEN, SHARD, BY_SHARD, "expert parallel degree") \
	X(sp, "parallelism", CHOICE, "off|on|auto", 0, 2, 2, SHARD, BY_SHARD, \
		"sequence parallelism: splits what tensor parallelism " \
		"leaves whole") \
	X(padding, "parallelism", SWITCH, NULL, 0, 1, 1, SHARD, BY_SHARD, \
		"cut dims that an axis doesn't divide, such as 25 heads by " \
		"8; the last pieces are smaller, and every device counts the largest") \
	X(zero, "parallelism", NUMBER, NULL, 0, 3, 0, SHARD, BY_SHARD, \
		"ZeRO stage; 1 shards optimizer state, 2 also gradients, 3 " \
		"also parameters, over dp, cp and, except for experts, ep together") \
	X(replicate, "parallelism", NUMBER, NULL, 1, 1 << 20, 1, SHARD, BY_SHARD, \
		"hybrid sharding (HSDP): groups of dp devices; " \
		"ZeRO cuts states within a group, and groups hold copies whose gradients are summed") \
	X(reshard_after_forward, "parallelism", SWITCH, NULL, 0, 1, 1, SHARD, BY_SHARD, \
		"ZeRO stage 3: free gathered parameters " \
		"after the forward pass and gather them again for the backward pass; off keeps them, as in FSDP2") \
	X(reduce_dtype, "parallelism", CHOICE, "given|param", 0, 1, 0, SHARD, BY_SHARD, \
		"number format in which gradients are summed " \
		"over microbatches and devices: as the step casts them, fp32 in mixed precision; param is that of parameters, " \
		"half the bytes in memory and on the links") \
	X(prefetch, "parallelism", NUMBER, NULL, 0, 16, 1, SHARD, BY_PIPELINE, \
		"layers whose parameters are gathered ahead of their " \
		"use, with ZeRO stage 3; 0: a layer's are gathered when the layer before has been computed") \
	X(microbatches, "parallelism", NUMBER, NULL, 1, 1 << 20, 1, SHARD, BY_SCALE | BY_SHARD | BY_PIPELINE, \
		"number of microbatches that the batch is cut " \
		"into") \
	X(schedule, "parallelism", CHOICE, SCHEDULES(SCHEDULE_WORD) "file|auto", 0, SCHEDULE_AUTO, SCHEDULE_1F1B, SHARD, \
		BY_PIPELINE, \
		"pipeline schedule; auto is the one with the shortest step whose ranks keep the memory cap; schedule=@FILE reads " \
		"a CSV of torch.distributed.pipelining; zb1p, zb2p, zbv, v-half, v-min and dualpipev split backward passes into " \
		"gradients of inputs and of weights, those after zb2p put two pieces on a rank, in a V") \
	X(chunks, "parallelism", NUMBER, "auto", 1, 1 << 10, KNOB_GIVEN, SHARD, BY_PIPELINE, \
		"pieces of the model on each pipeline rank, for the interleaved schedule; auto is 2") \
	X(rank, "parallelism", NUMBER, "worst", 0, 1 << 20, KNOB_GIVEN, SHARD, BY_PIPELINE, \
		"pipeline rank that the plan shows; worst is the one with the largest arena") \
	X(slack, "parallelism", PERCENT, NULL, 0, 1000, 0, SHARD, BY_SEARCH, \
		"how much slower than the fastest a plan may be to save " \
		"memory") \
	X(train, "training", CHOICE, "given|eager|ideal", 0, 2, 0, TRAIN, BY_TRAIN, \
		"make the backward pass and the weight update by " \
		"rules; eager saves what PyTorch saves, ideal only what derivatives need") \
	X(batch, "training", NUMBER, "given", 1, 1 << 24, KNOB_GIVEN, SCALE, BY_SCALE, "samples per step") \
	X(seq, "training", NUMBER, "given", 1, 1 << 24, KNOB_GIVEN, SCALE, BY_SCALE, "sequence length") \
	X(precision, "training", CHOICE, "given|fp32|bf16|fp16|mixed|autocast", 0, 5, 0, SCALE, BY_UPDATE, \
		"number format of parameters and activations; mixed: fp16 beside fp32 parameters that the optimizer keeps; " \
		"autocast: of a step in fp32, as PyTorch runs it under torch.autocast in bf16") \
	X(optimizer, "training", CHOICE, "given|sgd|momentum|adam|adamw|adafactor|rmsprop|adagrad|lion|muon|adamw8bit", \
		0, 10, 0, SCALE, \
		BY_UPDATE, \
		"optimizer, which decides the state of each parameter; muon: of matrices in layers, AdamW of the rest; adamw8bit " \
		"as bitsandbytes keeps it") \
	X(moments, "training", CHOICE, "given|bf16", 0, 1, 0, SCALE, BY_UPDATE, \
		"number format of the moments that the optimizer " \
		"keeps; copies of the weights in fp32 stay as they are") \
	X(float8, "training", SWITCH, NULL, 0, 1, 0, RECOMPUTE, 0, "products of layers read 8-bit copies of their operands; " \
		"everything else stays in its precision") \
	X(loss_chunks, "training", NUMBER, NULL, 1, 1 << 12, 1, RECOMPUTE, BY_CHUNKS, \
		"chunks of the tokens in which the loss, the " \
		"projection before it and their gradients are computed one after the other, so that one chunk's logits are in " \
		"memory") \
	X(recompute, "training", CHOICE, RECOMPUTES(STRATEGY_WORD), 0, RECOMPUTE_COUNT - 1, RECOMPUTE_NONE, RECOMPUTE, \
		BY_RECOMPUTE, \
		"activations that the backward pass computes again instead of keeping them") \
	X(random, "training", CHOICE, RECOMPUTE_RANDOMS(STRATEGY_WORD), 0, RECOMPUTE_RANDOM_COUNT - 1, \
		RECOMPUTE_RANDOM_STATE, RECOMPUTE, BY_RECOMPUTE, \
		"recompute=auto: dropout is recomputed from its saved state, never, or from its mask") \
	X(offload, "training", CHOICE, "off|on|states|all", 0, 3, 0, RECOMPUTE, BY_FIT, \
		"what waits in the host's memory. on: with recompute=auto what is saved, where copies hide behind " \
		"computation; states: optimizer state, on the device while a parameter is updated, as soon as its gradient is " \
		"there; all: both") \
	X(accumulation, "training", NUMBER, NULL, 1, 1 << 20, 1, SCALE, BY_UPDATE | BY_PIPELINE, \
		"number of backward passes whose gradients are " \
		"added up before an update") \
	X(order, "order", CHOICE, ORDER_STRATEGIES(STRATEGY_WORD), 0, ORDER_STRATEGY_COUNT - 1, ORDER_AUTO, ORDER, 0, \
		"how the order of the ops is chosen") \
	X(effort, "order", NUMBER, NULL, 0, EFFORT_MAX, EFFORT_DEFAULT, ORDER, 0, \
		"work spent on the order, and on the layout; one more is about four times the work") \
	X(in_place, "order", SWITCH, NULL, 0, 1, 1, ORDER, BY_ARENA, \
		"let ops write into the memory of an input where the graph says " \
		"so") \
	X(workspace, "order", SWITCH, NULL, 0, 1, 1, ORDER, BY_MEMORY, "count the scratch memory of ops, where it is known") \
	X(layout, "layout", CHOICE, LAYOUT_STRATEGIES(STRATEGY_WORD), 0, LAYOUT_STRATEGY_COUNT - 1, LAYOUT_BEST, LAYOUT, \
		BY_LAYOUT, \
		"how offsets are chosen") \
	X(alignment, "layout", BYTES, NULL, 1, 1 << 30, 1, ORDER, BY_MEMORY, "all sizes are rounded up to a multiple of it") \
	X(allocator, "layout", CHOICE, "auto|plan|pytorch|expandable", 0, ALLOCATOR_EXPANDABLE, ALLOCATOR_AUTO, RECOMPUTE, \
		BY_ARENA, \
		"what gives a plan its memory, and so what fits: its own addresses, or PyTorch's caching allocator over three " \
		"steps; auto is expandable where PyTorch runs the step on a GPU, or what a snapshot shows, else plan") \
	X(store, "session", BYTES, NULL, 0, BYTES_MAX, INT64_C(512) << 20, READ, 0, \
		"memory for kept results, so that going back costs nothing")

#define X(id, ...) K_##id,
enum knob_id { KNOBS(X) KNOB_COUNT };
#undef X
_Static_assert(KNOB_COUNT <= KNOBS_MOST, "a scenario has no room for that many");

struct knob {
	const char *name, *group, *words, *help;
	enum knob_type type;
	enum stage stage;
	unsigned by;
	int64_t minimum, maximum, normal;
};
extern const struct knob knobs[KNOB_COUNT];
/* By enum knob_type, what a value looks like: "bytes, such as 24GiB or 24GB"; NULL for words and plain numbers. */
extern const char *const knob_units[];

/* The knob of that name ('-' and '_' are alike), or KNOB_COUNT. */
enum knob_id knob_find(const char *name);
/* BAD_INPUT: there is no such knob; the nearest is named. */
enum status knob_unknown(const char *name, struct error *error);
/* Text to value. BAD_INPUT with the range or the words that are allowed. */
enum status knob_parse(enum knob_id knob, const char *text, int64_t *value, struct error *error);
/* Value to the text that knob_parse() reads back. Returns text. */
char *knob_text(enum knob_id knob, int64_t value, char *text, size_t size);
/* Of a choice's value: the index of its word, and the number behind it, 0 where the word has none. */
int knob_choice(int64_t value);
int64_t knob_number(enum knob_id knob, int64_t value);
/* The i-th word of "a|b|c" into word; false when there are fewer. */
bool knob_word(const char *words, int i, char *word, size_t size);
/* One line on what a choice's word means, "" where the word says it itself (devices: device_text()). Returns text. */
char *knob_word_help(enum knob_id knob, int64_t value, char *text, size_t size);
/* The next value up (+1) or down (-1) as a widget steps: words in turn, numbers doubled and halved or by one. */
int64_t knob_step(enum knob_id knob, int64_t value, int direction);

/* Sets a knob; device and software never otherwise. */
void scenario_put(struct scenario *scenario, enum knob_id knob, int64_t value);
/* Whether two scenarios ask for the same plan, whatever effort is spent and whatever one knob is set to (KNOB_COUNT:
 * none). */
bool scenario_alike(const struct scenario *one, const struct scenario *other, enum knob_id but);
/* Effort rises by itself in the background, and the store changes no result: false for these. */
bool knob_matters(enum knob_id knob);

/* ---- aliases ---- */

#define ALIAS_SIZE 64
/* A knob by a name of another program: "bs" is batch. KNOB_COUNT: none. */
enum knob_id alias_of_knob(const char *name);
/* A device's preset as people name it: "h100" is h100-80gb, "4090" rtx4090-24gb; of several that with 80 GiB, else the
 * first. */
bool alias_of_device(const char *word, char name[ALIAS_SIZE]);
/* The one or two settings that a word stands for: "fsdp" is "strategy=zero zero=3", "8xh100" "devices=8
 * device=h100-80gb". False: none. */
bool alias_settings(const char *word, char *text, size_t size);
