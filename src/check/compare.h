/* compare.h: a file against the one that what it asks for leads to. */
#pragma once

#include <jansson.h>

#include "solver/base/base.h"

/* A member at the top that may differ, and why. */
struct free_member { const char *name, *why; };

/* OK where all members but the free ones (up to one without a name) are equal; INFEASIBLE with the first that differs.
 * O(size). */
enum status compare_files(
	const json_t *file, const json_t *again, const struct free_member *free_members, struct error *error);
