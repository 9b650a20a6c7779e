/* columns_chooser.h: the list in which columns of the table of tensors are shown, hidden and moved. */
#pragma once

#include "columns.h"
#include "view.h"

struct columns_chooser {
	bool open;
	enum column at;          /* under the cursor */
	uint32_t top;
	int page;
};

void columns_chooser_draw(struct columns_chooser *chooser, const struct column_sets *sets, struct frame *frame);
/* Opens it, and while it is open changes model->columns; false for commands that it doesn't know. */
bool columns_chooser_command(struct columns_chooser *chooser, struct model *model, enum command_id command);
