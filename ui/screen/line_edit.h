/* line_edit.h: one line of text being typed, with history. */
#pragma once

#include "frame.h"

/* A key press: its name as the command table writes it ("q", "^L", "F1", "PgUp", "click", "wheel-up"), the character it
 * types, or 0, and the cell under the mouse where it is one of its keys. */
struct key_press {
	char name[16];
	uint32_t code;
	int x, y;
};

#define LINE_SIZE 300
#define HISTORY_LINES 50

struct line_edit {
	char text[LINE_SIZE];
	size_t length, cursor; /* bytes */
	uint32_t recalled;     /* how far back in the history; 0: the line being typed */
	char typed[LINE_SIZE]; /* that line, while an older one is shown */
};

struct history {
	char line[HISTORY_LINES][LINE_SIZE]; /* a ring */
	uint32_t count, next;
};

void line_set(struct line_edit *line, const char *text);
/* Edits; false for keys that are none of its business (Enter, Esc, Tab). history may be NULL. */
bool line_key(struct line_edit *line, const struct key_press *key, const struct history *history);
void history_add(struct history *history, const char *line);
/* Draws "label text" in a row of the current window; returns the column of the cursor. */
int line_draw(struct frame *frame, int y, const char *label, const struct line_edit *line);
