/* text_stream.h: a stream into memory that says when memory was out. open_memstream() of the C library may lose a part
 * of the text then, or all of it, and report success. */
#pragma once

#include <stdio.h>

/* As open_memstream(): once the stream is closed, *text has what was written and a NUL, of *length bytes; free() it,
 * whatever fclose() said. fclose() fails when any of it could not be kept. NULL, and *text NULL, when out of memory. */
FILE *text_stream(char **text, size_t *length);
