/* labels.h: names beside points, clear of each other. */
#ifndef TIDEMARK_DRAW_LABELS_H
#define TIDEMARK_DRAW_LABELS_H

#include "canvas.h"

/* The place that names may take, and the base lines of those that stand. Points. */
struct labels {
	double left, right, top, bottom;
	struct { double left, right, y; } at[300];
	int count;
};

/* Keeps names off a mark of that size around (x, y). */
void label_avoid(struct labels *labels, double x, double y, double size);
/* Draws a name of that size in the nearest free place beside (x, y), right of it first; nothing where all are taken. */
void label_point(struct labels *labels, struct canvas *canvas, double x, double y, double size, const char *colour, const char *name);

#endif
