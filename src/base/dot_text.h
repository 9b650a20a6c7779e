/* dot_text.h: texts of any content in DOT. In a DOT string a backslash before a quote can't be written, and an
 * empty value is no value; so, as in Graphviz labels, texts hold HTML entities: &amp; &#92; and, for an empty text,
 * &empty;. */
#pragma once

#include <stdio.h>

#include "solver/base/base.h"

/* Writes text as a DOT string with quotes. more: further characters to write as entities (":," in lists), or NULL. */
void dot_write_text(FILE *stream, const char *text, const char *more);
/* The part of such a text without its quotes, for strings that are put together. */
void dot_write_part(FILE *stream, const char *text, const char *more);
