/* details.h: columns behind a name, of an op or a tensor, where a view has width to spare: dims, life, operator,
 * module, place in the program. */
#pragma once

#include "columns.h"
#include "view.h"

enum { DETAILS = 6 };

struct details {
	enum column column[DETAILS];
	int x[DETAILS], width[DETAILS], count;
	int from; /* the column at which they begin; where there are none, the end */
};

/* Of the columns that are wanted, the most wanted first, those that fit between from and end, which they end at. What
 * nothing in the graph has is left out. */
void details_arrange(
	const enum column *wanted, int count, const struct plan_index *index, int from, int end, struct details *details);
/* of_ops: rows are ops, not tensors. */
void details_titles(struct frame *frame, int y, const struct details *details, bool of_ops);
/* Dims are those of the op's first result. */
void details_of_op(struct frame *frame, int y, const struct details *details, const struct plan *plan, uint32_t op);

/* tensor_values: a tensor's value in each column of the table of tensors. Bytes, places and addresses are those of
 * its storage. */

/* A number to sort by; of columns of words 0. O(1). */
int64_t tensor_value(const struct plan *plan, uint32_t id, enum column column);
/* What is sorted by the alphabet: name, operator, module, place in the program, "" where there is none. NULL: a column
 * of numbers. */
const char *tensor_words(const struct plan *plan, uint32_t id, enum column column);
/* What is in the cell. */
void tensor_value_text(const struct plan *plan, uint32_t id, enum column column, char *text, size_t size);
