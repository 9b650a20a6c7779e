/* speed.h: verifies the member "speed" of plan files. */
#pragma once

#include "state.h"

/* After the order and the times of a split step were verified. OK, INFEASIBLE or NO_MEMORY. O(graph). */
enum status check_speed(struct check *check);
