/* attempt.h: a part of a layout, and the best that was found for it so far. For this folder only. */
#pragma once

#include "steps.h"

struct attempt {
	struct layout_model part;
	int64_t *offset, *trial;
	uint32_t *order;
	int64_t height;          /* of offset; INT64_MAX: none yet */
	int64_t enough;          /* a layout this high will do */
	int64_t bound;           /* none is lower */
	struct layout_core core; /* why it is above the load */
	const char *strategy;
	const struct layout_recipe *dive; /* the best dive so far, or NULL */
};

/* Lays the part out by options->strategy until it is within `enough` or the effort is spent; offset, height and
 * strategy are the best layout's, bound and core what was proved on the way. LIMIT and CANCELLED leave what was found.
 */
enum status layout_attempt(struct attempt *attempt, const struct layout_options *options, struct control *control);

/* One layout, without limits. */
enum status layout_attempt_first(struct attempt *attempt);
