/* batch.h: what the subcommands without a screen share: options, planning under signals and a time limit. */
#pragma once

#include "src/base/complain.h"
#include "src/decide/planner.h"
#include "src/models/open.h"

/* The scenario part of a command line: --set and --pin. Prints what is wrong; an exit status or EXIT_FINE. */
int batch_set(
	struct scenario *scenario, const char *assignment); /* also @FILE: one of them or of a launcher, src/read/launch.h */
/* Calls set for every setting of such a file, up to the first that fails, and tells its notes; an exit status. */
int batch_set_lines(
	const char *path, int64_t devices, int (*set)(void *context, const char *assignment), void *context);
int batch_pin(struct scenario *scenario, const char *text);

/* Asks on standard error whether a memory cap was meant in GiB: see scenario_doubt(). graph NULL: it isn't known. */
void batch_doubt(const struct scenario *scenario, const struct graph *graph);

/* Seconds of --time: a positive number, else a usage error. */
int batch_seconds(const char *command, const char *text, double *seconds);

/* From now on SIGTERM, SIGINT and the end of the time limit (seconds > 0) set the flag that solvers poll. */
void batch_limit(double seconds);
/* From here on SIGTERM and SIGINT end the program at once again, and take what is not written whole away: pictures can
 * take minutes. */
void batch_limit_signals_end(void);
const atomic_bool *batch_cancel(void);
/* 143 or 130 after a signal, else 0. */
int batch_signal(void);
/* Shows progress on standard error where it is a terminal. */
void batch_progress(struct control *control);
void batch_progress_done(void);

/* Plans once, as deep as asked for or to the limit; NULL after complaining, *exit_code set. */
struct plan *batch_plan(struct graph *graph, const char *path, const struct scenario *scenario, const char *rules_file,
	enum planner_depth depth, int *exit_code);

/* EXIT_CONSTRAINT when the plan is over its memory cap, or the signal's status, else EXIT_FINE. Standard error says
 * why, and that a plan was cut short. */
int plan_exit(const struct plan *plan);
