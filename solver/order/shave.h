/* shave.h: precedences that every order within a threshold keeps, and the bound that follows. */
#pragma once

#include "job.h"

/* Raises the bound of the run by precedence shaving, first to the best peak, else by halving what is left. Spends an
 * eighth of the effort at most. OK, also where nothing was gained; CANCELLED; NO_MEMORY. Memory O(problem + edges);
 * time O(ops) maximum flows a pass, and one short augmentation for each pair of an op and another one that it leaves
 * free. */
enum status order_run_shaving(struct order_job *job);
