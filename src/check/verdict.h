/* verdict.h: what a plan file says of its device's memory. */
#pragma once

#include "state.h"

/* After lifetimes, layout and time are checked: all that stands beside the plan is added up anew, from the scenario,
 * the mesh and the simulated allocator, and held against memory.fits and its numbers. Sets check->over. INFEASIBLE says
 * what is wrong. */
enum status check_verdict(struct check *check);
