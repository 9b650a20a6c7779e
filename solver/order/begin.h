/* begin.h: seeds and first bounds of a run. */
#pragma once

#include "job.h"

/* One seed's order, by its strategy; all of them, kept for the repair; and LB2. Seeds run whatever the effort. */
enum status order_seed(const struct order_job *job, enum order_strategy strategy, uint32_t *order);
enum status order_run_seeds(struct order_job *job);
enum status order_run_alive(struct order_job *job);

/* Raises the bound by the cuts at ops where the best order is highest, so many of them. */
enum status order_run_cuts(struct order_job *job, uint32_t ops);
