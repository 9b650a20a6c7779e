/* json_text.h: a text in JSON. */
#ifndef TIDEMARK_BASE_JSON_TEXT_H
#define TIDEMARK_BASE_JSON_TEXT_H

#include <stdio.h>

/* Writes text as a JSON string with quotes. */
void json_write_text(FILE *stream, const char *text);

#endif
