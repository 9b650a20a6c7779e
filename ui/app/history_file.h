/* history_file.h: the prompt's lines, kept between runs. */
#pragma once

#include "ui/screen/line_edit.h"

/* Reads the newest lines of a file, if it is there. A file that has grown long is cut to them. */
void history_load(struct history *history, const char *path);
/* Adds a line to the file. Several programs may do so at once. What can't be written is not kept. */
void history_append(const char *path, const char *line);
