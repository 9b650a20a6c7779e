/* history_file.h: the prompt's lines, kept between runs. */
#pragma once

#include "ui/screen/line_edit.h"
#include "ui/views/columns.h"

/* Reads the newest lines of a file, if it is there. A file that has grown long is cut to them. */
void history_load(struct history *history, const char *path);
/* Adds a line to the file. Several programs may do so at once. What can't be written is not kept. */
void history_append(const char *path, const char *line);

/* columns_file: the user's sets of columns, and which of them is shown, kept between runs. */

/* Reads a file, where there is one, into empty sets. Lines that say nothing are told of on standard error where warn is
 * set, and left out. */
void columns_file_load(struct column_sets *sets, const char *path, bool warn);
/* Writes all of it. LIMIT: it can't be written; error says why. */
enum status columns_file_save(struct column_sets *sets, const char *path, struct error *error);
