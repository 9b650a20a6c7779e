/* labels.h: names beside points, clear of each other. */
#pragma once

#include "canvas.h"

struct label_box { double left, right, top, bottom; };

/* The place that names may take, and what is there already. Points. */
struct labels {
	double left, right, top, bottom;
	struct label_box taken[300];                  /* names and marks: nothing may lie on them */
	bool mark[300];                               /* of them */
	struct { double x, y, to_x, to_y; } line[300];/* curves: names keep off them where there is room */
	int count, lines;
};

/* Keeps names off a mark of that size around (x, y). */
void label_avoid(struct labels *labels, double x, double y, double size);
/* Keeps names off a line, where they find another place near by. */
void label_avoid_line(struct labels *labels, double x, double y, double to_x, double to_y);
/* Draws a name of that size in the free place that is nearest to (x, y), right of it first; a thin line leads there
 * from afar. Nothing where all places are taken. O(places x (marks + lines)). */
void label_point(struct labels *labels, struct canvas *canvas, double x, double y, double size, const char *colour,
	const char *name);
