/* plot.h: the axes of a plot: numbers, grid, frame and names. */
#pragma once

#include "canvas.h"

/* Where the plot stands, in points, and what its edges stand for. y begins at least_y below. */
struct plot { double left, top, wide, high, least_x, most_x, least_y, most_y; };

enum plot_unit { PLOT_BYTES, PLOT_SECONDS };

double plot_x(const struct plot *plot, double value);
double plot_y(const struct plot *plot, double value);
/* left and wide: room for the upright axis' numbers on paper of that width, and `right` points beside the plot. least_y
 * and most_y are set. */
void plot_place(struct plot *plot, double width, double right, enum plot_unit unit);
/* The frame, and numbers and grid of the upright axis in the largest fitting unit; label and unit stand above. */
void plot_axes(const struct plot *plot, struct canvas *canvas, const char *label, enum plot_unit unit);
/* Bytes along the lower axis. */
void plot_byte_axis(const struct plot *plot, struct canvas *canvas, const char *label);
