/* order_rows.h: ops down, lifetimes across: the rows of a schedule. */
#pragma once

#include "details.h"
#include "schedule.h"
#include "view.h"

enum { ORDER_AMOUNT = 10 };        /* columns of an amount of bytes */

struct order_rows {
	const struct order_schedule *schedule;
	const struct order_roam *roam;   /* its segments have rules among the rows */
	uint32_t ran;                    /* so many ops have run; those behind are faint */
	uint32_t listed;                 /* ops with a row */
	uint32_t top;                    /* first row shown: of an op or of a segment's rule */
	int page;                        /* rows of a page, set by drawing */
	struct details details;          /* what stands behind the lanes, set by drawing */
};

/* Draws the rows around the shared cursor, which scrolls them. */
void order_rows_draw(struct frame *frame, struct rect rect, struct order_rows *rows, const struct model *model);
/* The position whose row is at a line of the rows, or NONE. */
uint32_t order_rows_at(const struct order_rows *rows, int y);
/* "makes 64.0 MiB  left.out, ...": the sum of some items, and as many names as fit. */
void order_items_draw(struct frame *frame, int y, const struct model *model, const struct problem *problem,
	const char *verb, enum role role, const uint32_t *item, uint32_t count);
/* The line above candidates; says which details of them fit. */
void order_candidates_title(
	struct frame *frame, int y, const struct model *model, uint32_t count, struct details *details);
/* An op that could run: what it needs, and what it leaves behind against the bytes before it. */
void order_candidate_draw(struct frame *frame, int y, const struct model *model, const struct candidate *candidate,
	int64_t before, bool chosen, const struct details *details);
