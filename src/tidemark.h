/* tidemark.h: the program in one page, for its front ends and for bindings of other languages.
 *
 *     open    session_new(NULL, ...), session_command(session, "open gpt2", ...)
 *     set     session_command(session, "set batch=8 devices=4", ...): `tidemark help KNOB` says what there is
 *     plan    session_wait(session), session_poll(session): a worker thread solves, all others read immutable plans
 *     ask     session_plan(session): struct plan has every number that is shown anywhere
 *     export  session_command(session, "export json plan.json", ...): `tidemark help` lists kinds
 *     check   plan_check(session_plan(session)->input, "plan.json", ...), by code that shares nothing with the solvers
 *
 * A session is a graph, a scenario, and the plans of every scenario so far. All functions belong to one thread (the
 * user interface's); only the worker runs beside it, inside the session. tests/src/unit_face.c is a whole program. */
#pragma once

#include "src/check/check.h"
#include "src/plan/plan.h"
#include "src/read/read_options.h"

struct session;

/* What the status line says about the worker. */
struct session_status {
	bool solving, stale;     /* stale: the newest plan belongs to an older scenario */
	char stage[48];          /* "order: cuts" */
	double fraction;         /* of the stage, 0..1, or < 0 */
	uint32_t reused, solved; /* sub-problems of the newest plan: from the store, anew */
	char message[500];       /* the last command's error or answer, "" if none */
	char problem[500];       /* why the present scenario has no plan, "" where it has one or may get one */
};

/* What a session is for. */
struct session_options {
	const char *rules_file; /* a user's operator rules, or NULL; must outlive the session */
	const struct read_options *reading; /* how the graph was read, for the log, or NULL */
	const char
		*folder; /* what lines read and write is below it, or what they read below this folder; NULL: anywhere; lent */
	bool interactive; /* raise the effort in the background until the plan is proved; write a log */
	enum status (*order_solver)(
		const struct problem *, const struct order_options *, struct control *, struct order_result *);
	/* NULL: order_solve(); tests put others here */
};

/* Takes over one reference of graph (also when it fails; NULL: open one with the `open` command). path is where graph
 * came from, for the log. scenario NULL: every default. Solving starts at once. NULL and *error when out of memory or
 * the worker can't be started. */
struct session *session_new(struct graph *graph, const char *path, const struct scenario *scenario,
	const struct session_options *options, struct error *error);
void session_free(struct session *session);
DROP(session, session_free)

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
struct plan *const *session_run(const struct session *session);
/* Settings that were refused or stopped, the newest first; NULL: no more. */
enum { MISSED_MOST = 4 };
const char *session_missed(const struct session *session, uint32_t i);

const struct scenario *session_scenario(const struct session *session);
/* As in the options: a user's operator rules, or NULL. */
const char *session_rules_file(const struct session *session);
/* The file, or the built-in model, that is open; "" for standard input. */
const char *session_path(const struct session *session);
void session_status(const struct session *session, struct session_status *status);

/* Whether the session language has a word. */
bool session_knows(const char *word);
/* Runs one line of the session language: `set k=v`, `pin ...`, `unpin N`, `undo`, `redo`, `baseline`, `export KIND
 * FILE`, `reload`, ... Changing commands start the worker and return at once. The answer or error is in the status
 * message too. */
enum status session_command(struct session *session, const char *line, struct error *error);
/* Where the newest settings were refused, goes back to the newest before that weren't; the status message says why and
 * what stays. False: they weren't, or there are none. */
bool session_take_back(struct session *session);
/* Stops the worker; the best plan so far stays. Returns within 100 ms. */
void session_cancel(struct session *session);
/* Blocks until the plan of the present scenario is complete, or failed: batch use and replay. */
void session_wait(struct session *session);

/* True once whenever the graph's file has changed on disk: `reload` reads it again. */
bool session_file_changed(struct session *session);

/* Runs one line; nothing is noted for the status. Of a session file: execute_exports false leaves out `export` and
 * `save`. */
enum status session_line(struct session *session, const char *line, bool execute_exports, struct error *error);
/* Runs a session file, one command a line; stops at the first that fails, with its line in *error. execute_exports
 * false leaves out `export` and `save`: taking up a session that was broken off. after: called behind every line, or
 * NULL. */
struct source;
typedef void session_after(void *context, struct session *session, const char *line);
enum status session_replay(struct session *session, struct source *source, bool execute_exports, session_after *after,
	void *context, struct error *error);
/* Why there is no plan of the present scenario ("the order pins contradict ..."), "" where there is one. */
const char *session_problem(const struct session *session);

/* About what the present scenario with another value of a knob would come to: NULL while that is not known (then it is
 * worked out beside the plan, and the wake fd tells), known false where it has no plan. Asking about another knob gives
 * up the last question. Answers are kept until the scenario changes. */
struct preview;
const struct preview *session_preview(struct session *session, int knob, int64_t value);
/* True while an answer is being worked out; session_wait_preview() blocks until there is none. */
bool session_previewing(const struct session *session);
void session_wait_preview(struct session *session);

/* What undo and redo restore beside the scenario: the cursor of the screen, opaque to the session. */
void session_set_cursor(struct session *session, uint32_t op, uint32_t tensor);
void session_cursor(const struct session *session, uint32_t *op, uint32_t *tensor);
