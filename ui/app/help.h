/* help.h: the `?` overlay: the commands that are valid here, narrowed by typing, run by Enter. */
#pragma once

#include "ui/screen/line_edit.h"
#include "ui/views/view.h"

struct help {
	struct line_edit filter;
	uint32_t selected, top;
	int page;
};

void help_open(struct help *help);
/* Handles a key. Returns the command to run (Enter), or COMMAND_COUNT; *close tells that the overlay is done. */
enum command_id help_key(
	struct help *help, const struct model *model, unsigned context, const struct key_press *key, bool *close);
/* Draws over the whole screen; returns the column and row of the cursor in x and y. */
void help_draw(struct help *help, const struct model *model, unsigned context, struct frame *frame, int *x, int *y);
