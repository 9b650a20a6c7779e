/* scale_values.h: the new extents of all factors and dims. */
#pragma once

#include "scale.h"

struct scale_values {
	int64_t *value;        /* [factors] */
	int64_t *shape;        /* [dims] new extents, by factors->dim_start */
	bool *changed;         /* [tensors] */
	uint32_t capacities;   /* factors that are taken for an expert's slots */
	uint32_t reserves;     /* recurrent layers whose reserve is scaled like their operand, since its form isn't known */
	struct arena arena;
};

/* BAD_INPUT with the reason as graph_scale(). Free the arena also on failure. */
enum status scale_values_find(const struct graph *graph, const struct rules *rules, const struct factors *factors,
	const struct scale_request *request, struct scale_values *values, struct error *error);
