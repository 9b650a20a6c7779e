/* labels.c: names beside points: of places around a point the free one that costs least, by its distance, by the lines
 * under it and by what its leader crosses. */
#include <float.h>
#include <math.h>

#include "figure.h"

#define BESIDE  4.5 /* from a point to its name */
#define APART   1.0 /* two names */
#define LED     5.0 /* beyond BESIDE: from there on a line leads to the name */
#define GREY    "#999999"
#define COVERS  14.0 /* what a line below a name costs, in points of distance */
#define FOREIGN 9.0  /* what another mark that is nearer than its own costs */
#define CROSSES 40.0 /* what a name or mark below a leader costs */

static void labels_take(struct labels *labels, struct label_box box, bool mark)
{
	if (labels->count == (int)(sizeof labels->taken / sizeof *labels->taken))
		return;
	labels->taken[labels->count] = box;
	labels->mark[labels->count++] = mark;
}

void label_avoid(struct labels *labels, double x, double y, double size)
{
	labels_take(labels, (struct label_box){ x - size / 2, x + size / 2, y - size / 2, y + size / 2 }, true);
}

void label_avoid_line(struct labels *labels, double x, double y, double to_x, double to_y)
{
	int i = labels->lines;
	if (i == (int)(sizeof labels->line / sizeof *labels->line))
		return;
	labels->line[i].x = x, labels->line[i].y = y, labels->line[i].to_x = to_x, labels->line[i].to_y = to_y;
	labels->lines++;
}

static bool labels_overlap(const struct label_box *a, const struct label_box *b)
{
	return a->left < b->right + APART && b->left < a->right + APART && a->top < b->bottom + APART &&
		b->top < a->bottom + APART;
}

/* Liang and Barsky's clipping: does a piece of the line lie in the box? */
static bool labels_meets(const struct label_box *box, double x, double y, double to_x, double to_y)
{
	const double step[] = { x - to_x, to_x - x, y - to_y, to_y - y },
				 room[] = { x - box->left, box->right - x, y - box->top, box->bottom - y };
	double first = 0, last = 1;
	FOR_INT(side, 4) {
		if (step[side] == 0 && room[side] < 0)
			return false;
		if (step[side] < 0)
			first = fmax(first, room[side] / step[side]);
		else if (step[side] > 0)
			last = fmin(last, room[side] / step[side]);
	}
	return first < last;
}

/* Where a leader ends: the point of the box that is nearest. */
static struct canvas_point nearest_of(const struct label_box *box, double x, double y)
{
	return (struct canvas_point){ fmin(fmax(x, box->left), box->right), fmin(fmax(y, box->top), box->bottom) };
}

/* How far two boxes are apart. */
static double gap(const struct label_box *a, const struct label_box *b)
{
	return hypot(
		fmax(0, fmax(a->left - b->right, b->left - a->right)), fmax(0, fmax(a->top - b->bottom, b->top - a->bottom)));
}

/* DBL_MAX where it can't stand. */
static double labels_cost_of(const struct labels *labels, const struct label_box *box, double x, double y)
{
	struct canvas_point end = nearest_of(box, x, y);
	double away = hypot(end.x - x, end.y - y), cost = away;
	bool led = away > BESIDE + LED;
	if (box->left < labels->left + 1 || box->right > labels->right - 1 || box->top < labels->top + 1 ||
		box->bottom > labels->bottom - 1)
		return DBL_MAX;
	FOR_INT(i, labels->count) {
		const struct label_box *taken = &labels->taken[i];
		bool own = x >= taken->left && x <= taken->right && y >= taken->top && y <= taken->bottom;
		if (labels_overlap(box, taken))
			return DBL_MAX;
		cost += led && !own && labels_meets(taken, x, y, end.x, end.y) ? CROSSES : 0;
		cost += labels->mark[i] && !own && gap(box, taken) < away ? FOREIGN : 0;
	}
	FOR_INT(i, labels->lines)
		if (labels_meets(box, labels->line[i].x, labels->line[i].y, labels->line[i].to_x, labels->line[i].to_y))
			cost += COVERS;
	return cost;
}

/* The places: right, left, above and below, ever farther; on equal terms the first stays. */
static double labels_place(
	const struct labels *labels, double x, double y, double wide, double high, struct label_box *best)
{
	static const struct {
		double side, level;
	} around[] = { { 1, -0.3 }, { 1, -1 }, { 1, 1 }, { -1, -0.3 }, { -1, -1 }, { -1, 1 }, { 0, -1 }, { 0, 1 },
		{ 0.5, -1 }, { 0.5, 1 }, { -0.5, -1 }, { -0.5, 1 } };
	double least = DBL_MAX;
	for (double far = BESIDE; far < 60; far += 4)
		FOR(i, COUNT_OF(around)) {
			double across = around[i].side, left = x + across * (far + wide / 2) - wide / 2,
				   top = y + around[i].level * (fabs(across) == 1 ? far - BESIDE + high * 0.6 : far + high / 2) -
				high / 2;
			struct label_box box = { left, left + wide, top, top + high };
			double cost = labels_cost_of(labels, &box, x, y) + 0.001 * (double)i + (across < 0 ? 1 : 0);
			if (cost < least) {
				least = cost;
				*best = box;
			}
		}
	return least;
}

void label_point(
	struct labels *labels, struct canvas *canvas, double x, double y, double size, const char *colour, const char *name)
{
	const struct canvas_line leader = { GREY, 0.4, false };
	struct label_box box;
	if (!*name || labels_place(labels, x, y, canvas_text_width(size, name), size, &box) >= DBL_MAX)
		return;
	struct canvas_point end = nearest_of(&box, x, y);
	if (hypot(end.x - x, end.y - y) > BESIDE + LED)
		canvas_path(canvas, (struct canvas_point[]){ { x, y }, end }, 2, NULL, &leader);
	labels_take(labels, box, false);
	canvas_text(canvas, box.left, box.bottom - 0.2 * size, size, ANCHOR_START, false, colour, name);
}
