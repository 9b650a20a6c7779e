/* repair.h: min-cut repair T7. */
#pragma once

#include "cut.h"
#include "job.h"

/* Improves an order in place by moving, for an op v at its peak, the ops of v's cheapest state before v and the others
 * behind; offers every improvement to the job, and raises its bound by the cuts. Stops when the job is done, when an
 * op at the peak cannot do better, after `failures` rounds in a row without a better order, or at the control's end.
 * cut must have been made with prices. Each round takes a few max-flows. */
enum status order_repair(struct order_job *job, struct order_cut *cut, uint32_t *order, uint32_t failures);
