/* growth_members.h: members of records that say how a step grows with its batch: tidemark(5). BAD_INPUT, without words,
 * where one isn't as Tidemark writes it; what is read becomes a known key. */
#pragma once

#include "device_members.h"

/* "batches": those at which the step was captured, its own among them, ascending. All zero: none. */
enum status record_line(const struct value *record, int64_t batch, int64_t line[LINE_BATCHES], struct keys *known);
/* "per_sample" of a tensor, in by[]; *grows is that, or NULL where there is none. */
enum status record_tensor_growth(const struct value *record, const struct tensor *tensor, int64_t by[DIMS_MAX + 1],
	const int64_t **grows, struct keys *known);
/* The same of an op, with places among the numbers of its arguments, and "workspace_at"; in the arena. NO_MEMORY, too.
 */
enum status record_op_growth(struct arena *arena, const struct value *record, const struct op *op, int64_t batch,
	const struct op_growth **grows, struct keys *known);
