/* nest.h: which buffer that is left lives within some sections? For this folder only. */
#pragma once

#include "model.h"

/* Sections are halved again and again, down to single ones: a binary tree. A buffer belongs to the lowest node that
 * holds its life. Within a node everything crosses the middle, so that one end of a life is all that most questions
 * look at. */
struct nest_pair { uint32_t turn, end; };

struct nest {
	const struct layout_model *model;
	uint32_t *turn;            /* [n] by buffer */
	uint32_t leaves; /* a power of two >= sections; section s is node leaves + s, node v has children 2 v and 2 v + 1 */
	uint32_t *best;            /* [2 leaves] lowest turn in the node and below, or NONE */
	uint32_t *start;           /* [2 leaves + 1] the node's buffers, m of them, in the arrays below */
	uint32_t *first, *last;    /* [n] ends of lives, ascending within a node */
	uint32_t *by_first, *by_last; /* [n] by buffer: its place in these */
	/* A tournament per node at 2 start: leaves m .. 2 m - 1, root 1. */
	struct nest_pair *firsts;  /* [2 n] lowest turn, lowest last section, in order of first sections */
	struct nest_pair *lasts;   /* [2 n] lowest turn, lowest ~first section, in order of last sections */
	struct arena arena;
};

/* All buffers of a model without gaps. O(n + sections), but for the sorting. */
enum status nest_build(struct nest *nest, const struct layout_model *model, const uint32_t *order);
void nest_free(struct nest *nest);

/* The lowest turn of a buffer that lives within sections [first, last), or NONE. O(log^2 n), but for the node that the
 * two ends part at, which is searched by branch and bound. */
uint32_t nest_best(const struct nest *nest, uint32_t first, uint32_t last);

/* The same of those that are alive at section `over`. */
uint32_t nest_best_over(const struct nest *nest, uint32_t first, uint32_t last, uint32_t over);

/* Takes a buffer out. O(log n). */
void nest_remove(struct nest *nest, uint32_t buffer);
