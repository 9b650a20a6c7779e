/* savings.h: the part of the plan checker that looks at what a plan is compared with, and at its peak by kinds. */
#pragma once

#include "solver/layout/layout.h"
#include "state.h"

/* After lifetimes and layout are checked: the program order's peak, the peak without workspace, the caching allocator's
 * bytes, the peak by kinds of a step that is on one rank, and the notes. INFEASIBLE, BAD_INPUT, NO_MEMORY. */
enum status check_savings(struct check *check);

/* Whether the program's own order keeps the order pins, and so is what is compared with. O(pins). */
bool check_program_keeps_pins(const struct check *check);

/* Bytes that PyTorch's caching allocator reserves for the buffers in the file's order; -1: out of memory. O(buffers *
 * blocks). */
int64_t check_allocator(const struct check *check, bool expandable);
/* The same for others, which may be of several streams. */
int64_t check_allocator_of(const struct buffers *buffers, bool expandable);
