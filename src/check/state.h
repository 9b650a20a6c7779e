/* state.h: what the parts of the plan checker share. For this folder only. */
#pragma once

#include "src/base/json.h"

#include "src/stages/table.h"
#include "src/stages/fit/plan_time.h"
#include "src/stages/pipeline/pipelined.h"
#include "src/stages/shard/stage.h"

struct check {
	const struct graph *input;
	struct graph *graph; /* as planned */
	struct pipelined
		*pipelined; /* NULL where the step is not cut into microbatches or ranks, or the graph given is a rank's */
	struct sharded *sharded; /* NULL where the step is not split, or the graph given is a device's */
	const char *rules_file;
	const char *path; /* of the plan file */
	bool as_planned;  /* the graph given is the planned one: its scenario's stages aren't looked at */
	bool numbers;     /* nothing is planned again */
	bool other;       /* the file is another version's, whose words and searches may differ from ours */
	struct rules *rules;
	uint32_t made; /* bits: the stages that made the planned graph, in the order of made.c's table */
	const json_t *plan;
	struct scenario scenario; /* with the pipeline rank that the plan is of */
	struct scenario asked;    /* as the file has it */
	FILE *report;
	struct error *error;
	uint32_t *position;      /* [ops] */
	uint32_t *order;         /* [ops] */
	uint32_t items;          /* what needs an address: storages, then the workspaces of ops */
	uint32_t *first, *last;  /* [items], NONE: never there */
	int64_t *bytes, *offset; /* [items] */
	int64_t *load; /* [ops] bytes alive at each step */
	int64_t peak;
	uint32_t peak_position;
	int64_t ahead;                /* bytes of parameters gathered a layer ahead; -1: not known */
	bool recomputes, recomputes_to_cap, recomputes_on_ranks; /* the scenario makes ops run again; as few as a cap takes,
																in one graph; or on each of a pipeline's ranks */
	uint32_t waiting; /* buffers of the host */
	bool copies;      /* offload=on has chosen copies to the host: */
	int64_t reruns, pinned_stall; /* picoseconds of what runs again; of waits for other copies, in the program's order */
	int64_t over;      /* bytes that the plan needs above its cap; < 0: it fits, or there is no cap */
	const char *notes; /* what the stages say of the planned graph, in the arena; NULL: not known */
	struct arena arena;
};

/* INFEASIBLE, with what is wrong. */
enum status check_wrong(struct check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reports what holds; what was not looked at; what is believed without a proof. */
void check_passed(const struct check *check, const char *what);
void check_skipped(const struct check *check, const char *what);
void check_trusted(const struct check *check, const char *what);
/* What the file says in words follows from the rest. Another version may put it in other words, but not with other
 * numbers. */
enum status check_words(struct check *check, const char *what, const char *said, const char *expected);
/* The member at a path of two keys, or NULL; an integer there, else BAD_INPUT; compared with what it must be. */
const json_t *check_member(const struct check *check, const char *part, const char *key);
enum status check_integer(struct check *check, const char *part, const char *key, int64_t *value);
enum status check_expect(struct check *check, const char *part, const char *key, int64_t expected);

/* again: the part of the plan checker that plans again. */

/* Plans the file's scenario anew and compares every member but the free ones. After all other parts. INFEASIBLE with
 * the first member that differs; BAD_INPUT, NO_MEMORY. Skipped, and said so, where the file says that its plan was cut
 * short, or where the planned graph was given. */
enum status check_again(struct check *check);
/* Whether it will. */
bool check_plans_again(const struct check *check);

/* asked: the part of the plan checker that looks at the graph and at what was asked for. */

/* True where the graph that was given is the planned one, not the input. */
bool check_given_as_planned(struct check *check);
/* Name, counts and fingerprint of the graph that was read; the planned graph's, once it is made. */
enum status check_input_graph(struct check *check);
enum status check_planned_graph(struct check *check);
/* Reads every knob and pin into check->scenario: each must be there, with a value that it can have, written as plan
 * files write it. */
enum status check_scenario(struct check *check);
/* The names of the strategies, and the verdict on the memory cap. */
enum status check_fit(struct check *check);

/* layout: the part of the plan checker that looks at buffers. */

/* After the order and its lifetimes are checked. INFEASIBLE, BAD_INPUT with what is wrong; NO_MEMORY. */
enum status check_layout(struct check *check);
enum status check_host(struct check *check);

/* made: what each stage made of a graph, held against what it was given. */

/* A witness of stage_transform(); context is the struct check. By matching: every op computes the
 * same value from the same versions, sizes are those that were asked for. Splits over devices and pipeline ranks have
 * checks of their own. */
enum status made_check(void *context, const char *step, const struct graph *before, const struct graph *after);

/* Says what held, and what the matching can't show. */
void made_report(const struct check *check);

/* pipeline: the part of the plan checker that looks at microbatches and pipeline ranks. */

/* The ranks' graphs by their own words, their passes on streams, the schedule played anew from the file's times of
 * pieces, the step summed up, and what the file says of ranks. shard: that member of the file. INFEASIBLE, BAD_INPUT
 * with what is wrong; NO_MEMORY. */
enum status pipeline_check_claims(const json_t *shard, const struct pipelined *pipelined, const struct sharded *sharded,
	const struct scenario *scenario, const struct rules *rules, struct error *error);

/* plan_members: a plan file has no members but those that plan files have. For this folder only. */

/* Every object of the file is walked through: a member that no plan file has there, or that no plan of such a scenario
 * has (a pipeline of a step on one rank), is a claim that nothing here looks at. OK or INFEASIBLE. After all that finds
 * out what the plan has: recomputation, copies to the host, ranks. O(size of the file * rows). */
enum status check_members(struct check *check);

/* recompute: verifies what a plan file says of recomputation. */

/* The times of the step and of what runs again, summed anew; that every op reads what it read before anything ran
 * again; and the bound from its certificate. fitted: NULL where the scenario computes nothing again. */
enum status check_recompute(struct check *check, const struct fitted *fitted, const struct graph *recomputed);
/* Its bound against the extra time, once peaks are known. */
enum status check_recompute_proof(struct check *check);
/* Where copies to the host were chosen: the extra time with the waits for them, which are so many picoseconds in the
 * file's order. */
enum status check_waits(struct check *check, int64_t waits);

/* savings: the part of the plan checker that looks at what a plan is compared with, and at its peak by kinds. */

/* After lifetimes and layout are checked: the program order's peak, the peak without workspace, the caching allocator's
 * bytes, the peak by kinds of a step that is on one rank, and the notes. INFEASIBLE, BAD_INPUT, NO_MEMORY. */
enum status check_savings(struct check *check);

/* Whether the program's own order keeps the order pins, and so is what is compared with. O(pins). */
bool check_program_keeps_pins(const struct check *check);

/* PyTorch's caching allocator within a limit: reserved, breaks and retries of what is got; false: out of memory.
 * O(buffers * blocks). */
bool check_allocator(const struct buffers *buffers, bool expandable, int64_t limit, struct allocated *got);
/* The file's order over three steps. In the arena; OK or NO_MEMORY. */
enum status check_three_steps(
	const struct check *check, bool state_first, struct arena *arena, struct buffers *buffers);

/* sizes: a step at another batch or sequence, held against the one that it was made of. */

/* What is there from the start and isn't an input has its shape and bytes; every op that touches another shape has a
 * rule that the new shapes fit, and the FLOPs that follow from it where it had those; bytes follow the shapes; inputs
 * that changed have the samples and the length that were asked for (0: none was). INFEASIBLE with the tensor or op.
 * O(graph). */
enum status sizes_check(struct check *check, const struct graph *before,
	const struct graph *after, int64_t batch, int64_t sequence);
/* The same of a step that was captured at several batches, held against the capture that it was made of: the same ops,
 * and every extent and workspace has grown as the file says. */
enum status sizes_check_captured(struct check *check, const struct graph *before,
	const struct graph *after, int64_t batch);

/* speed: verifies the member "speed" of plan files. */

/* After the order and the times of a split step were verified. OK, INFEASIBLE or NO_MEMORY. O(graph). */
enum status check_speed(struct check *check);

/* streams: the memory of a step whose streams are played: what is alive by time, not by place in the order. */

/* Positions, inclusive, at which a storage is alive; NONE: never. position [ops]. O(its users). */
struct life { uint32_t first, last; };
struct life storage_life(const struct graph *graph, const uint32_t *position, uint32_t storage);

/* The most bytes alive at any moment of a simulated step. Memory comes and goes with computation, in the order; where
 * the host's link reads or writes a storage, that storage is alive as long as the copy takes, too. Computation's own
 * time stands still at a wait for a copy. order, position [ops]; bytes [storages]. -1 when out of memory. O(size log
 * size). */
int64_t peak_by_time(const struct graph *graph, const uint32_t *order, const uint32_t *position, const int64_t *bytes,
	bool workspace, int64_t alignment, const struct step_model *model, const struct step_time *time);

/* With copies to the host: no moment of the step as simulated holds more than the peak that the plan says. */
enum status check_streams(struct check *check);

/* values: a step and what a stage made of it, run beside each other on symbols. */

/* How the step that was made may differ, besides copies of ops that run again, and copies to the host and back. */
enum values_allowed {
	VALUES_CASTS = 1,      /* new casts: a value counts as the same in another format */
	VALUES_COPIES = 2,     /* new copies of a tensor, and sums over a dim that was 1 */
	VALUES_TWINS = 4,      /* a view that another one equals is left out */
	VALUES_UPDATES = 8,    /* other ops of the update phase */
	VALUES_GRADIENTS = 16, /* ... and of the backward pass; copies that only it read may be gone */
	VALUES_SUMS = 32,      /* new additions in place: gradients of several microbatches */
	VALUES_REGROUPED =
		128, /* sums of gradients in another order, twins of views that are new, and releases that are gone */
	VALUES_STATES = 256, /* optimizer state that lives in the host */
	VALUES_FORMATS = 512, /* with VALUES_CASTS: casts that views are taken of, and releases of casts */
	VALUES_NEEDLESS = 1024, /* copies for reshapes that are aliases: with one sample, nothing but dims of 1 changes */
	VALUES_SEPARATE = 64 /* what was written in place is memory of its own, and older names hold what they held */
};

/* A storage holds a symbol. What an op makes are symbols of the op, by its name, and of what it reads, in which version
 * and through which views. Every op of `before` must be in `after`, of the same type, and read the same symbols; every
 * copy those of the op that it repeats; a new op must be one that is allowed. Nothing here is shared with the stages.
 * INFEASIBLE with the op, NO_MEMORY. O(graph). */
enum status values_check(
	struct check *check, const struct graph *before, const struct graph *after, unsigned allowed);

/* shard: the part of the plan checker that looks at how a step is split over devices. */

/* What a plan file says of its sharding. */
struct shard_claim { const json_t *shard; const struct scenario *scenario; };

/* A shard_decider (src/stages/base/stages.h) that takes the file's own decision, context being a claim: every split and
 * placement is looked at, what is impossible is INFEASIBLE with its name. */
enum status shard_decision(void *context, const struct units *units, struct sharding *sharding, struct error *error);

/* Compares the sums of a file with what its own placements, and the collectives of the graph that a device runs, add up
 * to. */
enum status shard_check(
	const json_t *shard, const struct sharded *sharded, const struct graph *graph, struct error *error);
/* Collectives by axis and kind, the bytes that stay by their reason, what frameworks call the places. */
enum status shard_check_sums(
	const json_t *shard, const struct sharded *sharded, const struct graph *graph, struct error *error);
/* A step that is not split says so. */
enum status shard_check_unsplit(const json_t *shard, struct error *error);
/* Runs the simulated step event by event, and compares a file's times with it. */
enum status shard_check_time(
	const json_t *shard, const struct sharded *sharded, const struct plan_time *time, struct error *error);
/* shard.step_bound: what no order of the graph goes below, from its stations. */
enum status shard_check_step_bound(const json_t *bound, const struct plan_time *time, struct error *error);
/* Verifies a bound that the file claims: by the multiplier of its certificate where that shows it, else by searching
 * again; planned_again: what plans the scenario again does so. *how: text that says so; NULL: it claims none. */
enum status shard_check_bound(const json_t *shard, struct stage_context *stage, const struct sharded *sharded,
	const struct scenario *scenario, const struct plan_wish *wish, bool planned_again, const char **how,
	struct error *error);
