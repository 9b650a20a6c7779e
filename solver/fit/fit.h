/* fit.h: the least slowdown at which a training step fits a cap, by computing activations again; and a bound under
 * every such plan.
 *
 * At prices for memory at a few moments, what to keep and what to compute again is one minimum cut (network.h). A dual
 * finds the prices along an order of the ops (search.h), its cuts are mixed and improved while a replay fits (search.h,
 * search.h), along several orders: the program's, updates early, and what an orderer makes of the recomputed step. One
 * moment alone bounds every plan in any order (bound.h). Times are those that the caller gives for the ops.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     fit         a cap in, a plan and its bound out
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

struct fit_plan;

/* An order for a recomputed step's graph, and its planned peak: order [graph->ops]. ceiling > 0: orders with a higher
 * peak are of no use. What is not OK ends the search. */
typedef enum status fit_orderer(
	void *context, struct graph *graph, int64_t ceiling, struct control *control, uint32_t *order, int64_t *peak);

struct fit_options {
	fit_orderer *orderer;      /* NULL: only the engine's own orders */
	void *context;
	bool played; /* what fits in an orderer's order alone is no plan: the step will run in the order that it is given
					in, or its copies' windows are along that */
	uint64_t ticks;            /* effort for a cap; 0: FIT_EFFORT_DEFAULT */
	bool coarse;               /* the cuts along the own orders alone, for a first look */
	/* Of fit_curve() alone. */
	const uint8_t *candidate;  /* [candidates * storages] for fit_consider() at every cap */
	uint32_t candidates;
	void (*solved)(void *context,
		const struct fit_plan
			*plan); /* NULL, or told of every plan, from the smallest cap up; with the orderer's context */
};

#define FIT_EFFORT_DEFAULT UINT64_C(40000000)

#define FIT_BASES 6
#define FIT_OWN_BASES 2

struct fit_solver {
	struct fit_step step;
	struct fit_network network;
	struct fit_replay replay;
	struct fit_search search;
	struct fit_bounds bounds;
	struct fit_base base[FIT_BASES];   /* early, program, then orderers' */
	uint32_t bases;
	uint32_t *order;           /* [ops] scratch */
	struct arena arena;
};

struct fit_plan {
	int64_t extra, peak; /* picoseconds; bytes as replayed, or in the orderer's order where that alone fits. extra is
							INT64_MAX where nothing fits: then state is of the lowest peak that was seen */
	int64_t bound;             /* picoseconds: no plan under the cap takes less */
	bool proved;               /* extra == bound */
	bool impossible;           /* proved that nothing fits */
	double slope;              /* picoseconds that a byte more of cap is worth */
	struct fit_certificate certificate;
	uint8_t *state;            /* [storages] */
	uint32_t *order;           /* [ops] base order */
};

/* What caps share: the step, its networks, its orders. OK or NO_MEMORY. Free with fit_solver_free() in any case. */
enum status fit_solver_new(const struct fit_input *input, struct fit_solver *solver);
/* The same for replays and duals along the own orders alone: without bounds, which fit_bound(), fit_solve() and
 * fit_curve() need. */
enum status fit_solver_begin(const struct fit_input *input, struct fit_solver *solver);
void fit_solver_free(struct fit_solver *solver);
#define fit_solver_drop fit_solver_free
/* One more base order [ops], in the last one's place where there are FIT_BASES. False: out of memory. */
bool fit_add_base(struct fit_solver *solver, const uint32_t *order);

/* The fastest plan found under the cap. OK, also where none was found; CANCELLED, NO_MEMORY. The result depends on the
 * input, the cap and the options alone. Free with fit_plan_free() in any case. */
enum status fit_solve(struct fit_solver *solver, int64_t cap, const struct fit_options *options,
	struct control *control, struct fit_plan *plan);
void fit_plan_free(struct fit_plan *plan);
#define fit_plan_drop fit_plan_free

/* For caps that nothing keeps: the lowest peak found, and its extra time; nothing is proved. OK, CANCELLED, NO_MEMORY.
 * Free with fit_plan_free() in any case. */
enum status fit_least(
	struct fit_solver *solver, const struct fit_options *options, struct control *control, struct fit_plan *plan);

/* Other choices as candidates, those of published strategies say: state [count * storages]. What fits, as played or in
 * the orderer's order, and is faster than the plan becomes the plan, improved where it can be. What takes less than the
 * bound can't fit and is not looked at. The status as fit_solve()'s. */
enum status fit_consider(struct fit_solver *solver, int64_t cap, const uint8_t *state, uint32_t count,
	const struct fit_options *options, struct control *control, struct fit_plan *plan);

/* The same for several caps: plan [caps]. A plan found for a cap is one for all larger caps, so that none is slower
 * than one of a smaller cap. Free all plans in any case. */
enum status fit_curve(struct fit_solver *solver, const int64_t *cap, uint32_t caps, const struct fit_options *options,
	struct control *control, struct fit_plan *plan);

/* The plan's graph: fit_apply(). */
struct graph *fit_plan_graph(struct fit_solver *solver, const struct fit_plan *plan, struct error *error);
