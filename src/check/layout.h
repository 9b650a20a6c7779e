/* layout.h: the part of the plan checker that looks at buffers. */
#pragma once

#include "state.h"

/* After the order and its lifetimes are checked. INFEASIBLE, BAD_INPUT with what is wrong; NO_MEMORY. */
enum status check_layout(struct check *check);
enum status check_host(struct check *check);
