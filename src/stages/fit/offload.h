/* offload.h: what recomputation leaves to the host: with offload=on, storages wait in its memory so that less runs
 * again. */
#pragma once

#include "stage.h"

/* The link of the scenario's device to the host, and what a copy of each storage takes: time [storages] of the link is
 * allocated with mem_alloc(). OK or NO_MEMORY. */
enum status host_link_of(const struct graph *step, const struct scenario *scenario, struct fit_link *link);

/* The step with storages in the host, those with which the rest costs least under the cap; the step itself where none
 * helps. It fits on its own if that is possible, and then no more is away than must be. fitted: of the step, with its
 * link; solver: of its input without the link. A new reference, or NULL with *error. Some 10 graphs and 30 cuts. */
struct graph *offload_choose(struct stage_context *stage, const struct scenario *scenario,
	const struct sharded *sharded, const struct activations *activations, const struct recompute_options *options,
	const struct fitted *fitted, struct fit_solver *solver, int64_t cap, struct error *error);

/* The same storages away as in a graph found with recomputation, with windows for what runs again there. A new
 * reference, or NULL with *error. */
struct graph *offload_again(struct stage_context *stage, const struct scenario *scenario, const struct sharded *sharded,
	const struct activations *activations, const struct recompute_options *options, const struct fitted *fitted,
	const struct fit_step *step, const struct graph *found, struct error *error);

/* Of a graph found with recomputation and more memory: what made first can wait in the host without a stall goes there,
 * with `fewest` no more of it than the cap asks for, where it can be kept so. *peak: what is then needed. The windows
 * are those of the graph as it runs, reruns included. A new reference, or NULL with *error. Some 10 graphs. */
struct graph *offload_after(struct stage_context *stage, const struct scenario *scenario, const struct sharded *sharded,
	const struct recompute_options *options, const struct fitted *fitted, struct graph *found, int64_t cap, bool fewest,
	int64_t *peak, struct error *error);

/* Picoseconds that computation waits for the host in a graph's program order. -1 when out of memory. */
int64_t host_stall(const struct graph *graph, const struct scenario *scenario, const struct sharded *sharded,
	const struct rules *rules);
