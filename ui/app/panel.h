/* panel.h: the control panel: every knob with its value, generated from the knob table. */
#pragma once

#include "ui/views/view.h"

struct panel {
	uint32_t selected;     /* place of a knob, or of a group's title */
	uint32_t top;          /* first row shown */
	unsigned open;         /* bit g: group g is unfolded */
	char narrow[100];      /* only knobs with this text are shown; "" shows all that is not folded */
	int page, width;
};

/* has_keys: the panel has the keyboard, and shows its cursor and the knob's sentence. */
void panel_draw(struct panel *panel, const struct model *model, bool has_keys, struct frame *frame);
/* The other value of the selected knob in a direction (-1 or 1) whose effect is worth knowing; false where there is
 * none. */
bool panel_asks(
	const struct panel *panel, const struct model *model, int direction, enum knob_id *knob, int64_t *value);
/* Shows only the knobs whose name, group, words or sentence has the text, and selects the best (the one of that name
 * first); "" shows all again. */
void panel_narrow(struct panel *panel, const char *text);
/* The next knob that has the text, in a direction; false where there is none. */
bool panel_find(struct panel *panel, const char *text, int direction);
/* A click at a cell of the panel: selects a knob, turns it where its arrows are. */
void panel_click(struct panel *panel, struct model *model, int x, int y);
/* Moves, or requests "set knob=value". False for commands it doesn't know. */
bool panel_command(struct panel *panel, struct model *model, enum command_id command);
