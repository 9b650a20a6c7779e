/* tikz.h: what all LaTeX sources of figures have in common. */
#pragma once

#include <stdio.h>

/* A document that is one figure, up to its first line: pdflatex and lualatex take it, with the class standalone or
 * without. packages: a line of LaTeX. */
void tikz_head(FILE *stream, const char *packages);
/* Its last line. */
void tikz_end(FILE *stream);
/* A text that LaTeX prints as it is; letters that pdflatex's fonts don't have become "?". */
void tikz_text(FILE *stream, const char *text);
