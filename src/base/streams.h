/* streams.h: streams into memory, and into a compressed file. */
#pragma once

#include <stdio.h>

#include "solver/base/base.h"

/* text_stream: a stream into memory that says when memory was out. open_memstream() of the C library may lose a part
 * of the text then, or all of it, and report success. */

/* As open_memstream(): once the stream is closed, *text has what was written and a NUL, of *length bytes; free() it,
 * whatever fclose() said. fclose() fails when any of it could not be kept. NULL, and *text NULL, when out of memory. */
FILE *text_stream(char **text, size_t *length);

/* gzip_stream: a stream whose bytes are compressed into a file. */

/* What is written to the stream goes to the descriptor as gzip, without a name or a time: equal bytes give equal files.
 * fclose() ends it and closes the descriptor; it fails, with errno, where not all could be written. NULL: no memory;
 * the descriptor is closed then, too. */
FILE *gzip_stream(int descriptor);
/* True of names that end in ".gz". */
bool gzip_named(const char *path);
