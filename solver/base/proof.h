/* proof.h: what is proved of a result: how far it can be from the best.
 *
 * Orders, layouts, shardings and whole plans say it in the same words. The certificate itself, from which `bound` can
 * be worked out again, is beside the proof in the solver's own result: what it holds differs from solver to solver.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What value and bound count. Only numbers of one quantity may be compared: a bound on an estimate says nothing of the
 * simulated step. id, name in plan files. */
#define QUANTITIES(X) \
	X(NONE, "none")                              /* nothing was minimised */ \
	X(LIVE_PEAK, "live peak")                    /* most bytes alive at once, over the order */ \
	X(ARENA, "arena")                            /* highest byte in use of a layout */ \
	/* what stays on a device through the step, as sharding counts it */ \
	X(KEPT, "kept bytes") \
	X(TRAFFIC, "estimated communication")         /* the collectives of a sharding alone, summed */ \
	X(ESTIMATE, "estimated step")                 /* a sharding's costs, op by op and tensor by tensor, summed */ \
	/* the same of a microbatch, with its share of what a step does once */ \
	X(MICROBATCH, "estimated microbatch") \
	X(STEP, "simulated step") /* the planned step, op by op on its streams */

#define X(id, name) QUANTITY_##id,
enum quantity { QUANTITIES(X) QUANTITY_COUNT };
#undef X
extern const char *const quantity_names[QUANTITY_COUNT];

struct proof {
	enum quantity quantity;
	int64_t value;  /* of the result; < 0: there is none */
	int64_t bound;  /* nothing that was allowed has less; < 0: nothing is proved */
	const char *by; /* static text: how the bound came about */
};

/* Whether the result is proved to be the best. */
static inline bool proof_closed(const struct proof *proof)
{
	return proof->value >= 0 && proof->value == proof->bound;
}

/* A price of bytes, beta / alpha: by itself it shows that nothing within `limit` bytes costs less than `priced`. alpha
 * 0: none. */
struct price {
	int64_t alpha, beta;
	int64_t priced; /* picoseconds */
	int64_t limit;  /* bytes; < 0: any */
};
