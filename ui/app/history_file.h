/* history_file.h: the prompt's lines and the chosen columns, kept between runs. */
#pragma once

#include "ui/screen/line_edit.h"
#include "ui/views/columns.h"

/* Reads the newest lines of a file, if it is there. A file that has grown long is cut to them. */
void history_load(struct history *history, const char *path);
/* Adds a line to the file. Several programs may do so at once. What can't be written is not kept. */
void history_append(const char *path, const char *line);

/* The columns that were chosen last, kept between runs. What can't be read is left out. */
void columns_load(struct column_set *set, const char *path);
/* LIMIT: they can't be written; error says why. */
enum status columns_save(struct column_set *set, const char *path, struct error *error);
