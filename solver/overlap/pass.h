/* pass.h: one pass of list scheduling under a memory limit. */
#pragma once

#include "overlap.h"

/* What all passes of a run share. */
struct overlap_terms {
	bool roomy;               /* no order is above the limit */
	const struct overlap_request *request;
	int64_t *whole;            /* [ops] picoseconds with what an op communicates itself */
	int64_t *tail;             /* [ops] picoseconds from an op's begin to the end of the step, along the longest way */
	bool *early; /* [ops] nothing but views and collectives of what is there from the start: parameters are gathered */
	struct arena arena;
};
enum status overlap_terms_find(const struct overlap_request *request, struct overlap_terms *terms);
void overlap_terms_free(struct overlap_terms *terms);

/* How a pass chooses. */
struct overlap_rule {
	bool urgent; /* of what could run, that with the longest way to the end; else what comes first, as long as it need
					not wait */
	bool patient; /* waits for a more urgent op rather than to begin one that ends long after it could begin */
	uint32_t window;           /* places: the furthest that an op is taken forward at once */
	uint32_t gather;           /* places: the furthest that a gather of parameters is taken forward */
	uint32_t noise;            /* 1/256 of the way to the end, at random; 0: none */
	uint64_t seed;
	const char *name;
};

/* Goes along `from`, an order that keeps the limit, and takes ops forward so that computation waits less: only where
 * the peak of all that is left keeps the limit, too. So the result keeps it. release: of the model of `from`, when
 * parameters are gathered. order: [ops]. OK or NO_MEMORY. */
enum status overlap_pass(const struct overlap_terms *terms, const struct overlap_rule *rule, const uint32_t *from,
	const uint32_t *release, uint32_t *order);
