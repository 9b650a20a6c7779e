/* boxes.h: buffers joined into boxes. For this folder only. */
#pragma once

#include "model.h"

/* A buffer of the model, room that may stay empty, or two boxes joined: one on the other, or one after the other at the
 * same place. */
struct box {
	uint32_t first, last;      /* sections */
	int64_t size;
	uint32_t left, right;      /* the boxes that it is joined of, or NONE */
	bool stacked;              /* right stands on left; else it comes after left */
	bool real;                 /* a buffer is in it */
	bool joined;               /* it is a part of another box */
};

struct layout_boxes {
	uint32_t n;                /* buffers of the model: boxes 0 .. n - 1 */
	uint32_t count;
	size_t room;
	struct box *box;
	uint32_t *top;             /* the outermost boxes with buffers in them */
	struct layout_model model; /* of these; model.origin indexes top */
	int64_t scale;             /* units of the joined model in one of model's */
};

/* Joins what fits together without waste, again and again: boxes with one life are stacked, and a box that ends where
 * an equally high one starts hands its place over. Layouts of what is left, usually much smaller, are layouts of the
 * whole, not the other way round. capacity > 0: what the load leaves free below it counts as boxes, too. variant:
 * another number breaks ties in another way. For models without pins, alignment and gaps. OK or NO_MEMORY. O(n log n)
 * for each of the rounds, the depth of the boxes. Free with layout_boxes_free(), after an error too. */
enum status layout_boxes_build(
	const struct layout_model *model, int64_t capacity, uint32_t variant, struct layout_boxes *boxes);
void layout_boxes_free(struct layout_boxes *boxes);

/* From offsets of boxes->model to offsets of the buffers. */
enum status layout_boxes_unpack(const struct layout_boxes *boxes, const int64_t *coarse, int64_t *offset);
