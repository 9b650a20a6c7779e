/* recompute.h: verifies what a plan file says of recomputation. */
#pragma once

#include "state.h"

/* The times of the step and of what runs again, summed anew; that every op reads what it read before anything ran
 * again; and the bound from its certificate. fitted: NULL where the scenario computes nothing again. */
enum status check_recompute(struct check *check, const struct fitted *fitted, const struct graph *recomputed);
/* A bound's certificate, of that step. What isn't one is BAD_INPUT. */
enum status check_read_certificate(
	struct check *check, const struct graph *step, const json_t *json, struct fit_certificate *certificate);
/* Its bound against the extra time, once peaks are known. */
enum status check_recompute_proof(struct check *check);
/* Where copies to the host were chosen: the extra time with the waits for them, which are so many picoseconds in the
 * file's order. */
enum status check_waits(struct check *check, int64_t waits);
