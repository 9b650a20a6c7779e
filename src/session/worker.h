/* worker.h: the thread that solves. It owns planner and store; the other side sees immutable plans only.
 *
 * A request supersedes the one before it, which is cancelled. For each request the worker publishes a plan from the
 * store, or first a quick one, what leads while shardings are compared, and the complete one; where asked to, it goes
 * on with more effort until both proofs stand. Between requests it makes previews. */
#pragma once

#include "src/stages/base/stages.h"

struct worker;

struct worker_state {
	bool busy;
	uint64_t finished; /* the newest request whose complete plan (or failure) was published */
	struct progress progress;
};

/* NULL when the thread can't be started or memory is out. solver NULL: order_solve(); rules_file: a user's operator
 * rules, or NULL. */
struct worker *worker_new(order_solver *solver, const char *rules_file);
/* Cancels and joins. */
void worker_free(struct worker *worker);

/* Asks for the plan of a scenario (both are copied or retained); returns the request's number, 0 when out of memory. */
uint64_t worker_request(struct worker *worker, struct graph *graph, const struct scenario *scenario, bool raise_effort);
/* Stops solving; what is best so far is published as a limited plan. */
void worker_cancel(struct worker *worker);
/* Readable when something was published. */
int worker_wake_fd(const struct worker *worker);
/* The newest plan published since the last call, as a new reference, or NULL. *request: the one it belongs to, or 0.
 * *failed: that or a later request, of which was said since the last call that it has no plan, with the reason; or 0.
 * Empties the wake fd. */
struct plan *worker_take(struct worker *worker, uint64_t *request, uint64_t *failed, struct error *error);
/* What a scenario would come to: exactly where the plan is in the store; else about, solved with the least effort, or
 * as far from a plan as the model of whole configurations says. */
struct preview {
	uint64_t number;   /* of the call that asked for it */
	bool known, exact; /* known: false where it has no plan */
	int64_t peak_bytes, arena_bytes;
	int64_t time; /* picoseconds of a step that is split over devices, else -1 */
};

/* Asks for a preview, in place of one that still waits; returns its number, 0 when out of memory. from: a plan of the
 * same graph whose distance the model of whole configurations knows in milliseconds, or NULL: the scenario is solved.
 * It is made while nothing is asked of the worker (raising the effort stops for it), and given up for the next request.
 */
uint64_t worker_preview(
	struct worker *worker, struct graph *graph, const struct scenario *scenario, const struct plan *from);
/* The newest preview since the last call; false when there is none. */
bool worker_take_preview(struct worker *worker, struct preview *preview);
/* Blocks until no preview waits or is being made. */
void worker_wait_preview(struct worker *worker);
void worker_state(struct worker *worker, struct worker_state *state);
/* Blocks until request number n is finished. */
void worker_wait(struct worker *worker, uint64_t n);
