/* gzip_stream.h: a stream whose bytes are compressed into a file. */
#pragma once

#include <stdio.h>

#include "solver/base/base.h"

/* What is written to the stream goes to the descriptor as gzip, without a name or a time: equal bytes give equal files.
 * fclose() ends it and closes the descriptor; it fails, with errno, where not all could be written. NULL: no memory;
 * the descriptor is closed then, too. */
FILE *gzip_stream(int descriptor);
/* True of names that end in ".gz". */
bool gzip_named(const char *path);
