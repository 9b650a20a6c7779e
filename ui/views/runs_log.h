/* runs_log.h: how a run's order came about: best and bound over the effort. */
#pragma once

#include "view.h"

/* A row for each improvement, the newest at the bottom, and the layout's result below them. */
void runs_log_draw(struct frame *frame, struct rect rect, const struct plan *plan);
