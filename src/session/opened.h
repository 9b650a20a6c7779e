/* opened.h: the file that a session's graph was read from, and whether it is still as it was then. */
#pragma once

#include "src/read/read_options.h"
#include "src/scenario/scenario.h"

/* What tells one state of a file from the next; all zero: there is none. */
struct file_state { int64_t bytes, seconds, nanoseconds; uint64_t file; };

struct opened {
	char path[4096]; /* whole; "": no file, or standard input, which can't be read again */
	struct read_options reading;
	struct file_state read, seen; /* as it was read; as opened_changed() last spoke of it */
};

/* Notes the file. Call before it is read: what changes meanwhile is seen later. path or reading may be NULL. */
void opened_note(struct opened *opened, const char *path, const struct read_options *reading);
/* The words behind `open`: a file, in quotes or as it is, up to the words of its options. BAD_INPUT where these make no
 * sense. */
enum status opened_words(
	const char *argument, char *path, size_t size, struct read_options *reading, struct error *error);
/* True once for each new state of the file. One that is gone has not changed. */
bool opened_changed(struct opened *opened);
/* A session of somebody else must not choose which of the user's files are read, nor wait for a pipe. folder:
 * the session's own; NULL: any. OK or BAD_INPUT. */
enum status opened_check_source(const char *folder, const char *path, struct error *error);
/* Nor which of them it replaces; the file that is open never. */
enum status opened_check_target(
	const struct opened *opened, const char *folder, const char *path, struct error *error);

/* scenario_lines: what follows `set`, `reset` and `unpin` at the prompt and in session files. */

/* The first assignment of such a line, "" where it's 200 bytes or longer; how far on the next one begins. */
size_t scenario_line_word(const char *argument, char word[200]);
/* "k=v l=w ...": an assignment reaches to the word with the next '='. */
enum status scenario_line_set(struct scenario *scenario, const char *argument, struct error *error);
/* A knob's name, or nothing: all of them. */
enum status scenario_line_reset(struct scenario *scenario, const char *argument, struct error *error);
/* A pin's number, from 1 on. */
enum status scenario_line_unpin(struct scenario *scenario, const char *argument, struct error *error);
