/* safe_text.h: names come from files that anyone may have written. A text is *clean* when it is valid UTF-8 without
 * characters that steer what shows it: controls (C0, delete, C1), line and paragraph separators, and the marks that
 * turn the direction of writing around. */
#pragma once

#include <stdio.h>

#include "solver/base/base.h"

enum { UNREADABLE = 0xfffd }; /* what stands for a byte that is no UTF-8, and for what is hidden */

/* The character at *text, which moves behind it; UNREADABLE for a byte that is no UTF-8 (it alone is passed); 0 at the
 * end. */
uint32_t text_next(const char **text);
/* A character that a clean text doesn't have. */
bool text_hidden(uint32_t character);
/* A character's UTF-8 and a terminator; returns how many bytes, without that. */
int text_encode(uint32_t character, char bytes[5]);
/* Writes it. */
void text_put(FILE *stream, uint32_t character);

/* Writes a text with UNREADABLE for what is hidden; keep: controls that may stay ("\n\t"). */
void text_write_clean(FILE *stream, const char *text, const char *keep);
/* The same into a buffer, cut off between characters. Returns buffer. */
char *text_clean(const char *text, char *buffer, size_t size);
