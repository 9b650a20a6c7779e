/* log.h: the commands of a session, in memory and, as it goes, in a file that survives a crash. */
#pragma once

#include "solver/base/base.h"
#include "src/plan/plan.h"

/* The first line of a session file, before its version. A file without it is of version 1. */
#define SESSION_HEAD "# tidemark session "
#define SESSION_VERSION 1u

struct session_log;

/* A log in memory; with_file: also under $XDG_STATE_HOME/tidemark/sessions (or ~/.local/state). A log that can't have
 * a file has none. NULL when out of memory. */
struct session_log *log_new(bool with_file);
/* Marks the file as ended and closes it. */
void log_free(struct session_log *log);
/* Appends one line and flushes it. */
void log_add(struct session_log *log, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Appends the line of an export, and around it the effort that the plan has reached in the background, so that a replay
 * writes the same bytes. */
void log_export(struct session_log *log, const struct plan *plan, const struct scenario *asked, const char *line);
/* Writes the lines so far to a file; replace: one that is there may be replaced. As output_open(). */
enum status log_save(const struct session_log *log, const char *path, bool replace, struct error *error);

/* The newest session file of this user, or NULL; *ended: whether its program left in good order. Free with mem_free().
 */
char *log_newest(bool *ended);
