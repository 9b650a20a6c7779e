/* columns_file.h: the user's sets of columns, and which of them is shown, kept between runs. */
#pragma once

#include "ui/views/columns.h"

/* Reads a file, where there is one, into empty sets. Lines that say nothing are told of on standard error where warn is
 * set, and left out. */
void columns_file_load(struct column_sets *sets, const char *path, bool warn);
/* Writes all of it. LIMIT: it can't be written; error says why. */
enum status columns_file_save(struct column_sets *sets, const char *path, struct error *error);
