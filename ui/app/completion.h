/* completion.h: what could follow at the `:` prompt. */
#pragma once

#include "ui/screen/line_edit.h"
#include "ui/views/view.h"

#define COMPLETIONS 40
#define COMPLETION_NOTE 120

/* One continuation: the whole line with it, where its last word begins, and a line on what that is. */
struct candidate_line {
	char line[LINE_SIZE], note[COMPLETION_NOTE];
	uint16_t word;
	uint8_t rank;          /* 0: the word begins with what was typed; 1: contains it; 2: has its letters in their order */
};

struct completion {
	struct candidate_line offer[COMPLETIONS];   /* by rank */
	uint32_t count;
};

/* Continuations of the line's last word: commands, knobs and their values, kinds and views of exports, names of ops and
 * tensors, files. The words that have its letters in their order are there only where no word contains it. */
void completion_find(const char *line, const struct model *model, struct completion *completion);
/* The list, best at the top, in the lower rows of the rectangle; the one chosen (from 1 on; 0: none) is marked. Returns
 * the rows that it took. */
int completion_draw(struct frame *frame, struct rect rect, const struct completion *completion, uint32_t chosen);
/* A hint for what is being typed: the knob's sentence, the command's arguments; "" where there is none. */
const char *completion_hint(const char *line);
