/* chrome.h: what stands around the views: tabs, status line, footer. */
#pragma once

#include "ui/views/view.h"

/* Each draws into the one row of the current window. */
void chrome_tabs(struct frame *frame, const struct model *model, int view);
void chrome_status(struct frame *frame, const struct model *model);
/* The same as places in the row, for the mouse. Returns how many. */
struct footer_item { enum command_id command; int x, width; };
int chrome_footer_items(int width, unsigned context, struct footer_item item[COMMAND_COUNT]);
/* The keys of the contexts, most useful first, as many as fit; generated from the command table. */
void chrome_footer(struct frame *frame, unsigned context);

/* The view whose tab is at a column of the first row, or -1. */
int chrome_tab_at(int width, int view, int x);

/* Why a command can't run now, or NULL. Static text. */
const char *command_unavailable(const struct model *model, enum command_id command);
