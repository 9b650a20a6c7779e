/* recompute.h: the least slowdown at which a training step fits a cap, by computing activations again; and a bound
 * under every such plan.
 *
 * At prices for memory at a few moments, what to keep and what to compute again is one minimum cut (network.h). A dual
 * finds the prices along an order of the ops (search.h), its cuts are mixed and improved while a replay fits (search.h,
 * search.h), along several orders: the program's, updates early, and what an orderer makes of the recomputed step. One
 * moment alone bounds every plan in any order (bound.h). Times are those that the caller gives for the ops.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     recompute         a cap in, a plan and its bound out
 *     solver      what caps share
 *     curve       several caps, a pool of plans
 *     step        what of a step can be dropped, and what makes and reads it
 *     network     what to keep at given prices: a minimum cut
 *     base_order  orders that recomputation is decided along
 *     late_updates updates that wait for reruns
 *     replay      a choice played out along an order
 *     dual        prices at a few moments, and their cuts
 *     fold        storages that play the same part in equal layers
 *     search      cuts mixed while a replay fits
 *     repair      changes until a replay fits
 *     improve     single storages changed while a replay fits
 *     anneal      changes at random, near a floor
 *     strategies  what published strategies keep
 *     joint       the two passes as PyTorch's partitioner sees them
 *     offload     what waits in the host's memory, and when
 *     floor       what must be there while an op runs, whatever is computed again
 *     bound       the bound under every plan, and its certificate
 *     check       checks a certificate without the solver
 *     apply       the step as a graph in which ops run again */
#pragma once

#include "search.h"

struct recompute_plan;

/* An order for a recomputed step's graph, and its planned peak: order [graph->ops]. ceiling > 0: orders with a higher
 * peak are of no use. What is not OK ends the search. */
typedef enum status recompute_orderer(
	void *context, struct graph *graph, int64_t ceiling, struct control *control, uint32_t *order, int64_t *peak);

struct recompute_search_options {
	recompute_orderer *orderer; /* NULL: only the engine's own orders */
	void *context;
	bool played; /* what fits in an orderer's order alone is no plan: the step will run in the order that it is given
					in, or its copies' windows are along that */
	uint64_t ticks; /* effort for a cap; 0: RECOMPUTE_EFFORT_DEFAULT */
	bool coarse;    /* the cuts along the own orders alone, for a first look */
	double near;    /* a plan that is so small a part of the step above the bound is done; 0: as recompute.c has it */
	const struct recompute_plan *start; /* of a larger cap, repaired down to this one; what comes as near to the bound as
										   it did is done. NULL: none */
	const struct activations *activations; /* whose layers begin with what is written anew once; NULL: none */
	/* Of recompute_curve() alone. */
	const uint8_t *candidate; /* [candidates * storages] for recompute_consider() at every cap */
	uint32_t candidates;
	void (*solved)(void *context,
		const struct recompute_plan
			*plan); /* NULL, or told of every plan, from the smallest cap up; with the orderer's context */
};

#define RECOMPUTE_EFFORT_DEFAULT UINT64_C(40000000)

#define RECOMPUTE_BASES 6
#define RECOMPUTE_OWN_BASES 2

struct recompute_solver {
	struct recompute_step step;
	struct recompute_network network;
	struct recompute_replay replay;
	struct recompute_search search;
	struct recompute_bounds bounds;
	struct recompute_base base[RECOMPUTE_BASES]; /* early, program, then orderers' */
	uint32_t bases;
	uint32_t *order; /* [ops] scratch */
	struct arena arena;
};

struct recompute_plan {
	int64_t extra, peak; /* picoseconds; bytes as replayed, or in the orderer's order where that alone fits. extra is
							INT64_MAX where nothing fits: then state is of the lowest peak that was seen */
	int64_t bound;   /* picoseconds: no plan under the cap takes less */
	bool proved;     /* extra == bound */
	bool impossible; /* proved that nothing fits */
	double slope;    /* picoseconds that a byte more of cap is worth */
	struct recompute_certificate certificate;
	uint8_t *state;  /* [storages] */
	uint32_t *order; /* [ops] base order */
};

/* What caps share: the step, its networks, its orders. OK or NO_MEMORY. Free with recompute_solver_free() in any case.
 */
enum status recompute_solver_new(const struct recompute_input *input, struct recompute_solver *solver);
/* The same for replays and duals along the own orders alone: without bounds, which recompute_bound(), recompute_solve()
 * and recompute_curve() need. */
enum status recompute_solver_begin(const struct recompute_input *input, struct recompute_solver *solver);
void recompute_solver_free(struct recompute_solver *solver);
#define recompute_solver_drop recompute_solver_free
/* One more base order [ops], in the last one's place where there are RECOMPUTE_BASES. False: out of memory. */
bool recompute_add_base(struct recompute_solver *solver, const uint32_t *order);

/* The fastest plan found under the cap. OK, also where none was found; CANCELLED: the best so far. It depends on the
 * input, the cap and the options alone. Free with recompute_plan_free() in any case. */
enum status recompute_solve(struct recompute_solver *solver, int64_t cap,
	const struct recompute_search_options *options, struct control *control, struct recompute_plan *plan);
void recompute_plan_free(struct recompute_plan *plan);
#define recompute_plan_drop recompute_plan_free

/* For caps that nothing keeps: the lowest peak found, and its extra time; nothing is proved. OK, CANCELLED, NO_MEMORY.
 * Free with recompute_plan_free() in any case. */
enum status recompute_least(struct recompute_solver *solver, const struct recompute_search_options *options,
	struct control *control, struct recompute_plan *plan);

/* Other choices as candidates, those of published strategies say: state [count * storages]. What fits, as played or in
 * the orderer's order, and is faster than the plan becomes the plan, improved where it can be. What takes less than the
 * bound can't fit and is not looked at. The status as recompute_solve()'s. */
enum status recompute_consider(struct recompute_solver *solver, int64_t cap, const uint8_t *state, uint32_t count,
	const struct recompute_search_options *options, struct control *control, struct recompute_plan *plan);

/* The same for several caps: plan [caps]. A plan found for a cap is one for all larger caps, so that none is slower
 * than one of a smaller cap. Free all plans in any case. */
enum status recompute_curve(struct recompute_solver *solver, const int64_t *cap, uint32_t caps,
	const struct recompute_search_options *options, struct control *control, struct recompute_plan *plan);

/* The plan's graph: recompute_build(). */
struct graph *recompute_plan_graph(
	struct recompute_solver *solver, const struct recompute_plan *plan, struct error *error);
