/* choose_margin.h: how much of the memory cap choices leave to what order and layout add. */
#pragma once

#include "choose.h"

/* Whether a search over shardings counts what stays, which may be more or less than an arena: it starts without the
 * cap. */
bool starts_without_cap(const struct scenario *scenario);

/* Plans with other margins, as long as that helps: what the first plan has shown decides on the next. Takes over the
 * first plan; returns the best that fits, or that with the smallest arena. A round that is cancelled, or that the pins
 * forbid, leaves the best so far. *compared: rises by the plans made. NULL where no run goes on. */
struct plan *choose_margin(const struct planning *planning, struct plan *first, bool quick, uint32_t *compared);
