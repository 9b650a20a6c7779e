/* report.h: a plan as text for people, and the timeline as CSV. */
#pragma once

#include <stdio.h>

#include "src/plan/plan.h"

/* The report of `plan` and of `tidemark GRAPH` where standard output is no terminal. utf8: draw with block characters.
 */
bool report_write(const struct plan *plan, bool utf8, FILE *stream);
