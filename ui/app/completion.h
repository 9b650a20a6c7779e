/* completion.h: what could follow at the `:` prompt. */
#ifndef TIDEMARK_APP_COMPLETION_H
#define TIDEMARK_APP_COMPLETION_H

#include "ui/screen/line_edit.h"
#include "ui/views/view.h"

#define COMPLETIONS 40

struct completion {
	char line[COMPLETIONS][LINE_SIZE];    /* whole lines that continue the one typed */
	uint32_t count;
};

/* Continuations of the line's last word: commands, knobs and their values, names of ops and tensors, views. */
void completion_find(const char *line, const struct model *model, struct completion *completion);
/* A hint for what is being typed: the knob's sentence, the command's arguments; "" where there is none. */
const char *completion_hint(const char *line);

#endif
