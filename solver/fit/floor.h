/* floor.h: the least memory in which an op can run, in any order with any recomputation; and the proof that nothing
 * fits below it.
 *
 * Look at the first moment that an op z runs. The ops that ran by then are a set S that holds z's ancestors and with
 * every op its ancestors. What is written once in every plan, by an op of S, and read by an op outside of S (z among
 * them) is there; so is what z reads. What plans may write again may be gone. The least of that over all S is a minimum
 * cut, that of an order's bound T2 (solver/order/cut.h) in a problem in which what may be written again weighs nothing:
 * a gradient stays until its update, or its update is done and what that makes stays, or what the gradient is made of
 * does. */
#pragma once

#include "bound.h"

/* *above: no plan of the step keeps the cap while the op runs; then *certificate is the proof, its arcs the caller's.
 * loose: fit_bounds' step. OK, CANCELLED, LIMIT, NO_MEMORY. One flow on the step's ops. */
enum status fit_floor(const struct fit_step *loose, uint32_t op, int64_t cap, struct control *control, bool *above,
	struct fit_certificate *certificate);
