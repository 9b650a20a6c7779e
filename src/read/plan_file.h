/* plan_file.h: plan files as JSON. */
#pragma once

#include "src/base/json.h"

#include "input.h"

/* The JSON object of a plan file, plain or gz, "-" for standard input; nothing in it was looked at. NULL and *error: it
 * can't be read (BAD_INPUT with the line), or memory ends. Give it back with json_decref(). */
json_t *plan_file_read(const char *path, struct error *error);
/* The same of an input that is open; it stays open. */
json_t *plan_file_take(struct input *input, struct error *error);
