/* figure.h: figures of src/draw/canvas.h as PDF and PNG, by Cairo and Pango: any script, fonts embedded. It is here,
 * not in tidemark, whose start these libraries would slow down. */
#pragma once

#include <stdio.h>

#include "solver/base/base.h"

/* A drawing list begins with this word. */
bool figure_is(const char *content, size_t size);
/* Draws a list as "pdf" or "png". Equal lists give equal bytes: a PDF is dated by SOURCE_DATE_EPOCH, or 1970.
 * BAD_INPUT: not a list. */
enum status figure_draw(const char *content, const char *format, FILE *stream, struct error *error);
