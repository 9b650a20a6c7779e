/* frequency.h: the tensors or the ops of a plan counted by what they are: kind, type of number, module, operator,
 * phase. */
#pragma once

#include "row_filter.h"

struct frequency_row {
	const char *value;      /* of the field; the graph's */
	uint32_t length;        /* bytes of the value that count: of a module its first parts */
	uint32_t count;         /* of ops, or of tensors that are storages of their own */
	int64_t bytes, at_peak; /* of these tensors, or of what these ops make; of what of it is alive at the peak */
};

struct frequency {
	enum row_field field;   /* counted by; ROW_NAME: off */
	bool ops;               /* ops are counted */
	int parts;              /* of a module's path that count */
	struct frequency_row *row;  /* [rows] most bytes at the peak first */
	uint32_t rows, selected, top;
	uint64_t serial;        /* of the plan counted */
	char filter[100];
};

void frequency_free(struct frequency *frequency);
/* Counts what passes; kept until plan, field or filter change. False when out of memory. O(n log n) of tensors or ops.
 */
bool frequency_count(
	struct frequency *frequency, const struct plan *plan, const struct row_filter *filter, const char *text);
void frequency_draw(struct frequency *frequency, const struct plan *plan, struct frame *frame);
/* The word for row_filter.h that shows the selected row's tensors, into text; "" where there is none. Returns text. */
char *frequency_word(const struct frequency *frequency, char *text, size_t size);
