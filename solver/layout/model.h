/* model.h: what the layout algorithms see of the buffers. For this folder only.
 *
 * Time is cut into sections, the maximal sets of pieces that are alive together: two pieces overlap in time iff they
 * share a section. Sizes are divided by their greatest common divisor. Buffers of size 0 are gone. A component is a
 * model of its own: sections count from its own first. */
#pragma once

#include "layout.h"

/* A piece: sections [first, last). */
struct span { uint32_t first, last; };

struct layout_model {
	uint32_t n, sections;
	uint32_t *first, *last;    /* [n] sections from the first to the last piece, gaps included; half-open */
	int64_t *size;             /* [n] > 0 */
	int64_t *width;            /* [n] steps from the first piece's start to the last one's end */
	int64_t *alignment;        /* [n] >= 1 */
	int64_t *fixed;            /* [n] or -1 */
	uint32_t *span_start;      /* [n + 1] */
	struct span *span;         /* by first section within a buffer */
	int64_t *load;             /* [sections] sum of what is alive */
	int64_t *time;             /* [sections] a step at which all of the section is alive */
	uint32_t *origin;          /* [n] the buffer's number in the caller's arrays, or in the model it is a part of */
	int64_t unit;              /* bytes per unit of size */
	int64_t max_load;
	uint32_t max_section;      /* the first one with max_load */
	uint32_t pins;             /* buffers with a fixed offset */
	bool aligned;              /* some alignment > 1 */
	bool gapped;               /* some buffer has several pieces */
	struct arena arena;
};

/* The model of all buffers with size > 0; sizes and offsets are multiples of `alignment` (see layout_options).
 * BAD_INPUT and INFEASIBLE (a pin that breaks its alignment) as in layout_solve. O(pieces log pieces). */
enum status layout_model_build(
	const struct buffers *buffers, int64_t alignment, struct layout_model *model, struct error *error);

/* A part of a model: the buffers listed, which live within sections [first, last) and are all that does. */
enum status layout_model_part(const struct layout_model *whole, const uint32_t *buffer, uint32_t n, uint32_t first,
	uint32_t last, struct layout_model *part);

/* The same for buffers some of which live on outside: what of them lies within counts. Each has some piece there.
 * pin: [n of the whole] where a buffer is pinned, in units of the whole, or -1; NULL: where it is pinned in the whole.
 */
enum status layout_model_clip(const struct layout_model *whole, const uint32_t *buffer, uint32_t n, uint32_t first,
	uint32_t last, const int64_t *pin, struct layout_model *part);

void layout_model_free(struct layout_model *model);
#define layout_model_drop layout_model_free

/* The highest unit in use. */
int64_t layout_model_height(const struct layout_model *model, const int64_t *offset);

/* ---- orders ---- */

/* Ranks buffers by up to three keys, each descending, ties by number: T the largest load of the sections it lives in,
 * W lifetime (width), A area, Z size, O overlapping buffers, C sections, L late start, E early start.
 * order: [n] buffers, best first. O(n log n). */
enum status layout_sort(const struct layout_model *model, const char *keys, uint32_t *order);
