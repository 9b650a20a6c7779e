/* runs_slowdown.h: the pane of the Runs view that shows time over memory, with a cap to move along it. */
#pragma once

#include "view.h"

struct slowdown_pane {
	int64_t cap;               /* under the cursor; 0: the plan's memory cap, or its peak */
	int64_t column;            /* bytes of a column when it was drawn last */
};

void slowdown_draw(struct frame *frame, struct rect rect, struct slowdown_pane *pane, const struct model *model);
/* Moves the cap, or sets it; false for other commands. */
bool slowdown_command(struct slowdown_pane *pane, struct model *model, enum command_id command);
