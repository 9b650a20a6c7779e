/* background.h: calls on threads of their own. */
#pragma once

#include "solver/base/base.h"

struct background;

/* Runs the call; context must live until background_end(). cancel is set when the result isn't wanted any more. NULL
 * where there is no memory or no thread. The thread takes no signals. */
struct background *background_start(void (*run)(void *context, const atomic_bool *cancel), void *context);
bool background_done(const struct background *background);
void background_cancel(struct background *background);
/* Waits for the call and frees. */
void background_end(struct background *background);

/* Makes so many calls, on as many threads as there are processors, and waits for them. */
void background_all(uint32_t count, void (*call)(void *context, uint32_t i), void *context);
