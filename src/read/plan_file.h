/* plan_file.h: plan files as JSON. */
#ifndef TIDEMARK_READ_PLAN_FILE_H
#define TIDEMARK_READ_PLAN_FILE_H

#include <jansson.h>

#include "solver/base/base.h"

/* The JSON object of a plan file, plain or gz, "-" for standard input; nothing in it was looked at. NULL and *error: it can't be read (BAD_INPUT with the
 * line), or memory ends. Give it back with json_decref(). */
json_t *plan_file_read(const char *path, struct error *error);

#endif
