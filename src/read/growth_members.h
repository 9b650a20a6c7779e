/* growth_members.h: members of records that say how a step grows with its batch: tidemark(5). Each reads what is as Tidemark writes it, and adds its key to those that are known. */
#pragma once

#include "device_members.h"

/* "batches": [batch, the other one at which the step was captured]. The other one; 0: none. */
int64_t record_grown(const struct value *record, int64_t batch, struct keys *known);
/* "per_sample" of a tensor: what it says, in by[]. NULL: nothing. */
const int64_t *record_tensor_growth(const struct value *record, const struct tensor *tensor, int64_t by[DIMS_MAX + 1], struct keys *known);
/* The same of an op, with places among the numbers of its arguments; in the arena. */
enum status record_op_growth(struct arena *arena, const struct value *record, const struct arguments *arguments, const struct op_growth **grows, struct keys *known);
