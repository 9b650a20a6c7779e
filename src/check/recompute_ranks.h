/* recompute_ranks.h: verifies the bound on what runs again on the ranks of a pipeline. */
#pragma once

#include "state.h"

/* The ranks' graphs of one microbatch by their own words; in each no more copies and time than there are; every rank's
 * bound from its certificate, and their sum. recomputed: the device's graph that is planned. */
enum status check_rank_bounds(struct check *check, const struct fitted *fitted);
