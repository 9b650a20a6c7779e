/* tensor_values.h: a tensor's value in each column of the table of tensors. Bytes, places and addresses are those of
 * its storage. */
#pragma once

#include "columns.h"
#include "view.h"

/* A number to sort by; of columns of words 0. O(1). */
int64_t tensor_value(const struct plan *plan, uint32_t id, enum column column);
/* What is sorted by the alphabet: name, operator, module, place in the program, "" where there is none. NULL: a column
 * of numbers. */
const char *tensor_words(const struct plan *plan, uint32_t id, enum column column);
/* What stands in the cell. */
void tensor_value_text(const struct plan *plan, uint32_t id, enum column column, char *text, size_t size);
