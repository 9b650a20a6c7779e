/* picture.h: a frame as an SVG picture, or as text with a terminal's colour sequences. */
#pragma once

#include "theme.h"

/* Writes the cells with a theme's colours: text in a fixed-pitch font, blocks, lines and backgrounds as shapes, so that
 * nothing depends on the viewer's font. x, y: where the cursor stands, x < 0: hidden. Equal frames give equal bytes. */
void picture_svg(
	const struct frame *frame, const struct palette *palette, enum theme theme, int x, int y, FILE *stream);
/* Lines with the sequences of ISO 6429 for colours and attributes, each line from a plain start to a plain end. */
void picture_ansi(const struct frame *frame, const struct palette *palette, FILE *stream);
