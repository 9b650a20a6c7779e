/* begin.h: seeds and first bounds of a run. */
#pragma once

#include "job.h"

/* One seed's order, by its strategy; the program's order and "updates between", or all simple orders; and LB2. */
enum status order_seed(const struct order_job *job, enum order_strategy strategy, uint32_t *order);
enum status order_run_seeds(struct order_job *job, bool all);
enum status order_run_alive(struct order_job *job);

/* Raises the bound by the cuts at ops where the least live bytes of all known orders are highest: no cut at an op is
 * above these. At most so many cuts. */
enum status order_run_cuts(struct order_job *job, uint32_t cuts);
