/* stage.h: recomputation that fits a step into the memory cap at the least slowdown, and what recomputation costs in
 * plans.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     stage     recomputation that fits the step into the cap
 *     strategy_stage  recomputation by published strategies
 *     planned   recomputation chosen by what order and layout make of it
 *     notes     what is told of it
 *     offload   what recomputation leaves to the host
 *     plan_time the simulated time of a step
 *     passes    what runs in each pass of a step that accumulates
 *     traffic   what each device sends */
#pragma once

#include "solver/recompute/recompute.h"
#include "src/stages/base/notes.h"
#include "src/stages/base/stages.h"

/* Of a pipeline: a rank's graph of one microbatch, and what runs again in it at least. */
struct fitted_rank {
	struct graph *step;
	struct recompute_input input;        /* with copies of the other microbatches in flight; its arrays are in the arena */
	uint32_t *storage;             /* [storages] of the device, or NONE; in the arena */
	int64_t bound;                 /* picoseconds */
	bool impossible;
	struct recompute_certificate certificate;
	struct arena arena;
};

/* What recomputation costs, and what proves that less would not do. Shared. */
struct fitted {
	struct graph *step, *recomputed; /* before ops were copied, and after */
	struct recompute_input input;        /* of the step; its times are below */
	int64_t *time, *sure;          /* [ops] picoseconds; sure: 0 for what may hide behind computation */
	uint32_t *traits;              /* [ops] */
	int64_t total, extra;          /* picoseconds of the step, and of what runs again, with waits for the host */
	struct recompute_link link;          /* offload=on: input.link is this */
	int64_t stall;                 /* picoseconds of extra that computation waits for the host, in the program's order */
	int64_t pinned_stall;          /* picoseconds that it waits for what pins send there, not in stall */
	uint32_t away;                 /* storages that wait in the host */
	int64_t moved;                 /* bytes of them */
	int64_t alone;                 /* with away: picoseconds that recomputation without the host takes at least */
	bool capped;                   /* recompute=auto: the rest is known */
	int64_t cap, replayed;         /* bytes: what it had to fit into, its peak in the order that it was chosen along */
	int64_t bound;                 /* picoseconds: any plan of the cap takes so much more */
	bool proved, impossible;
	bool planned; /* chosen by the arena that order and layout came to: cap is the whole one, whatever the margin */
	bool left_out;                 /* order and layout weren't tried for all choices, as the step has many ops */
	double slope;                  /* picoseconds that a byte more of cap is worth */
	struct recompute_certificate certificate;
	struct fitted_rank *rank; /* [ranks] of a pipeline, or of microbatches, in place of the certificate; the bound is
								 their sum, of one microbatch, along these cuts */
	uint32_t ranks;
	atomic_uint references;
};

/* Of a step, with times, before anything is decided: nothing is pinned. A new reference, or NULL when out of memory. */
struct fitted *fitted_of_step(
	struct graph *step, const struct scenario *scenario, const struct sharded *sharded, const struct rules *rules);
/* Of a step with what pins of another step say of it, whose tensors it has under their names; options: of that other
 * step. A new reference, or NULL with *error. */
struct fitted *fitted_of_pinned(struct stage_context *stage, struct graph *step, const struct graph *other,
	const struct scenario *scenario, const struct sharded *sharded, const struct recompute_options *options,
	struct error *error);
/* All stays, and the plan shows that it keeps the cap. fitted: with what pins make run again, as extra. */
void fitted_keep(struct fitted *fitted, int64_t cap);
struct fitted *fitted_retain(struct fitted *fitted);
void fitted_release(void *fitted);

/* A step's ops that run again in a graph made from it, in picoseconds, with waits for the host in the program's order.
 * O(ops). */
int64_t fitted_extra(const struct fitted *fitted, const struct graph *graph);

/* Of these waits in a plan's order, where copies to the host were chosen: extra becomes what the plan takes. waits:
 * plan_time_host_waits() of the plan. */
static inline int64_t fitted_stall(const struct fitted *fitted, int64_t waits)
{
	return fitted->away > 0 && waits > fitted->pinned_stall ? waits - fitted->pinned_stall : 0;
}

/* The step with what the options ask for computed again: by recompute_apply(), or, where their mode is auto, what fits
 * the cap less the wish's margin. sharded: NULL where the graph is not of a device. A new reference, *fitted too; or
 * NULL with *error. */
struct graph *stage_fit(struct stage_context *stage, const struct plan_wish *wish, struct graph *step,
	const struct scenario *scenario, const struct sharded *sharded, const struct activations *activations,
	const struct recompute_options *options, struct fitted **fitted, struct error *error);

/* Everything that stage_fit() reads of a scenario beside pins. */
void fit_key_add(struct key *key, const struct scenario *scenario, int64_t margin);

/* notes: what is told of recomputation that fits a step into the memory cap. */

/* left: bytes of the cap that were left to the layout, of the wish. */
void fit_notes(char notes[NOTES_BYTES], const struct fitted *fitted, const struct scenario *scenario, int64_t left);

/* offload: what recomputation leaves to the host: with offload=on, storages wait in its memory so that less runs
 * again. */

/* The link of the scenario's device to the host, and what a copy of each storage takes: time [storages] of the link is
 * allocated with mem_alloc(). OK or NO_MEMORY. */
enum status host_link_of(const struct graph *step, const struct scenario *scenario, struct recompute_link *link);

/* offload=states: the step with its optimizer state in the host, each parameter's on the device while it is updated,
 * which is as soon as its gradient is there. As offload_states(); a new reference, or NULL with *error. */
struct graph *stage_offload_states(struct stage_context *stage, struct graph *step, const struct scenario *scenario,
	const struct sharded *sharded, uint32_t *states, int64_t *bytes, struct error *error);

/* The step with storages in the host, those with which the rest costs least under the cap; the step itself where none
 * helps. It fits on its own if that is possible, and then no more is away than must be. fitted: of the step, with its
 * link; solver: of its input without the link. A new reference, or NULL with *error. Some 10 graphs and 30 cuts. */
struct graph *offload_choose(struct stage_context *stage, const struct scenario *scenario,
	const struct sharded *sharded, const struct activations *activations, const struct recompute_options *options,
	const struct fitted *fitted, struct recompute_solver *solver, int64_t cap, struct error *error);

/* The same storages away as in a graph found with recomputation, with windows for what runs again there. A new
 * reference, or NULL with *error. */
struct graph *offload_again(struct stage_context *stage, const struct scenario *scenario, const struct sharded *sharded,
	const struct activations *activations, const struct recompute_options *options, const struct fitted *fitted,
	const struct recompute_step *step, const struct graph *found, struct error *error);

/* Of a graph found with recomputation and more memory: what made first can wait in the host without a stall goes there,
 * with `fewest` no more of it than the cap asks for, where it can be kept so. *peak: what is then needed. The windows
 * are those of the graph as it runs, reruns included. A new reference, or NULL with *error. Some 10 graphs. */
struct graph *offload_after(struct stage_context *stage, const struct scenario *scenario, const struct sharded *sharded,
	const struct recompute_options *options, const struct fitted *fitted, struct graph *found, int64_t cap, bool fewest,
	int64_t *peak, struct error *error);

/* Picoseconds that computation waits for the host in a graph's program order. -1 when out of memory. */
int64_t host_stall(const struct graph *graph, const struct scenario *scenario, const struct sharded *sharded,
	const struct rules *rules);

/* planned: recomputation chosen by what order and layout make of it. */

/* Orders and layouts that add much to the peak bring a choice that fits by its replay above the cap, and one that
 * doesn't below it. So what published strategies choose, and cuts for a row of caps, are ordered and laid out as the
 * scenario asks; the fastest of them that keeps the cap is taken where it is faster than the graph, which is given up
 * then, or where nothing fits the cap less the margin. Where that leaves nothing of the cap, the least memory is taken
 * of the graph, of the lowest ones and of the step that keeps all. Not of a device's graph: what is beside its
 * arena, gathered ahead or buffers of groups, is known of plans alone. fitted: of the graph; becomes that of the
 * result, with the bound under the whole cap. NULL with *error. */
struct graph *fit_planned(struct stage_context *stage, const struct scenario *scenario,
	const struct activations *activations, int64_t margin, struct graph *graph, struct fitted *fitted,
	struct error *error);

/* The choice of the least peak, whatever the cap, as the plan's, with its extra time; the bound stays. solver: of the
 * step. OK, CANCELLED or NO_MEMORY. */
enum status fit_planned_least(struct stage_context *stage, const struct scenario *scenario, struct fitted *fitted,
	const struct recompute_search_options *options, struct recompute_solver *solver, struct recompute_plan *plan);

/* strategy_stage: recomputation by published strategies. */

/* The input's step in which all else runs again, along its program order. A new reference, or NULL with *error. */
struct graph *strategy_apply(struct stage_context *stage, const struct recompute_input *input,
	const struct activations *activations, const struct recompute_options *options, struct error *error);
