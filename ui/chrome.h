/* chrome.h: what stands around the views: tabs, status line, footer. */
#ifndef TIDEMARK_CHROME_H
#define TIDEMARK_CHROME_H

#include "view.h"

/* Each draws into the one row of the current window. */
void chrome_tabs(struct frame *frame, const struct model *model, int view);
void chrome_status(struct frame *frame, const struct model *model);
/* The keys of the contexts, most useful first, as many as fit; generated from the command table. */
void chrome_footer(struct frame *frame, unsigned context);

/* Why a command can't run now, or NULL. Static text. */
const char *command_unavailable(const struct model *model, enum command_id command);

#endif
