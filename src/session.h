/* session.h: a graph, a scenario, and the plans of every scenario so far.
 *
 * A worker thread solves; everybody else reads immutable plans. All functions belong to one
 * thread (the user interface's); only the worker runs beside it, inside the session.
 */
#ifndef TIDEMARK_SESSION_H
#define TIDEMARK_SESSION_H

#include "plan.h"

struct session;

/* What the status line says about the worker. */
struct session_status {
	bool solving, stale;          /* stale: the newest plan belongs to an older scenario */
	char stage[48];               /* "order: cuts" */
	double fraction;              /* of the stage, 0..1, or < 0 */
	int64_t best, bound;          /* bytes, or < 0 */
	uint32_t reused, solved;      /* sub-problems of the newest plan: from the store, anew */
	char message[300];            /* the last command's error or answer, "" if none */
};

/* Takes over one reference of graph. path is for the session log, NULL where there is none. NULL when out of memory. */
struct session *session_new(struct graph *graph, const char *path, const struct scenario *scenario, struct error *error);
void session_free(struct session *session);

/* Readable (poll) whenever there is a new plan or progress; session_poll() empties it. */
int session_wake_fd(const struct session *session);
/* Takes what the worker published; true when the newest plan changed. */
bool session_poll(struct session *session);
/* The newest plan, valid until the next session_poll() unless retained; NULL before the first. */
const struct plan *session_plan(const struct session *session);
/* The plan pinned with `baseline`, or NULL. */
const struct plan *session_baseline(const struct session *session);
/* Every plan kept for the Runs view, oldest first. */
uint32_t session_runs(const struct session *session);
const struct plan *session_run(const struct session *session, uint32_t i);

const struct scenario *session_scenario(const struct session *session);
void session_status(const struct session *session, struct session_status *status);

/* Runs one line of the session language: `set k=v`, `pin ...`, `unpin N`, `undo`, `redo`, `baseline`, `export KIND FILE`, ...
 * Changing commands start the worker and return at once. The answer or error stands in the status message too. */
enum status session_command(struct session *session, const char *line, struct error *error);
/* Stops the worker; the best plan so far stays. Returns within 100 ms. */
void session_cancel(struct session *session);
/* Blocks until the worker has nothing to do: batch use and replay. */
void session_wait(struct session *session);

/* What undo and redo restore beside the scenario: the cursor of the screen, opaque to the session. */
void session_set_cursor(struct session *session, uint32_t op, uint32_t tensor);
void session_cursor(const struct session *session, uint32_t *op, uint32_t *tensor);

#endif
