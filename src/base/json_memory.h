/* json_memory.h: memory that ends inside jansson. It answers with a syntax error, or, where a text is copied, with a
 * wrong result and no error at all; so a flag says that an allocation failed, and whoever parsed asks for it. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "solver/base/base.h"

/* Once, before any other call of jansson: its memory is ours (mem_alloc) from then on. */
void json_memory_watch(void);
/* Whether an allocation of jansson's failed on this thread since the last call. */
bool json_memory_failed(void);

/* What is wrong with a text that jansson doesn't read, in words of ours: its own name its macros and functions. */
const char *json_wrong(const json_error_t *problem);

/* The text as one JSON value, or NULL with its line in error: BAD_INPUT "not WHAT: ..." or OUT_OF_MEMORY. No object has
 * a key twice. */
json_t *json_read_text(const char *text, size_t size, const char *what, struct error *error);
