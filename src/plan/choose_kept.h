/* choose_kept.h: recompute=auto against the step with all kept. */
#pragma once

#include "choose.h"

/* choose_plan(), or choose_quickly(). With recompute=auto the better one of that and of the plan that recompute=none
 * comes to, whose orders, cuts and shardings are sought for a step that keeps all: what keeps the cap so is not always
 * found on the way to what runs again. Under a search for shardings the step with all kept comes first, and where the
 * cap leaves it its fastest plan there is nothing else to look for. */
struct plan *choose_fit(const struct planning *planning, const struct plan *rival, bool quick);
