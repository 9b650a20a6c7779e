/* output.h: the one way a file is written: whole or not at all. What is written goes to a new file in the same folder;
 * when all of it is on the disk, that takes the old file's place. The old file's mode is kept, symbolic links are
 * followed, and a signal that ends the program takes the unfinished file away. A file whose name ends in ".gz" is
 * compressed.
 *
 *     struct output output;
 *     status = output_open(&output, path, true, error);
 *     if (status == OK) {
 *         status = write_something(output.stream, error);
 *         status = output_close(&output, status, error);
 *     } */
#pragma once

#include <stdio.h>
#include <sys/types.h>

#include "solver/base/base.h"

struct output {
	FILE *stream;
	const char *name;       /* for messages; the caller's path */
	char *path, *temporary; /* NULL: standard output, a device or a pipe, which are written to as they are */
	int slot;               /* where signals look for it */
	unsigned mode;          /* of the old file */
	bool there;             /* there is an old file */
	int packed;             /* a second descriptor of a file that is compressed, else -1 */
};

/* For main(): standard streams that were closed are opened on /dev/null so that they fail to read or write as before,
 * and no file that is opened later takes their numbers, where messages or data would be written into it. A file that
 * reaches the limit of its size is an error of the write, not a signal. */
void output_prepare(void);

/* A signal that ends this program ends this process group, too (SIGKILL); until it is told that the group has ended. At
 * most eight at a time, others are left alone. Safe beside threads. */
void output_end_with_us(pid_t group);
void output_outlived(pid_t group);

/* Ends such groups; takes unfinished files away, too, before _exit(); and ends the program by this signal. May be
 * called by handlers of signals. */
void output_end_groups(void);
void output_take_away(void);
void output_end_by_signal(int number);

/* path NULL or "-": standard output. replace: a file that is there may be replaced, else that is BAD_INPUT. LIMIT: it
 * can't be written, error says why. After OK output_close() must follow. */
enum status output_open(struct output *output, const char *path, bool replace, struct error *error);

/* Whether both names lead to one file on the disk, by links, too. False where one isn't there. */
bool output_same_file(const char *a, const char *b);

/* status: what writing came to. OK: flushes, checks, and puts the file in its place; anything else: takes it away, and
 * the old file stays as it was. Returns status, or LIMIT with error where not all could be written. */
enum status output_close(struct output *output, enum status status, struct error *error);

/* picture_file: libraries without memory write half of a picture and say nothing. */

/* format "svg", "pdf" or "png": begins and ends as such a file does. True of any other format. */
bool picture_whole(const char *format, const char *text, size_t length);
