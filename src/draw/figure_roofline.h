/* figure_roofline.h: a step's time by phase and by what limits it, as a figure of a paper's width. */
#pragma once

#include "canvas.h"
#include "src/stages/fit/plan_time.h"

extern const char *const roofline_colours[STEP_LIMITS];

/* "gpt2: step 87.3 ms, computation 80.1 ms". */
void roofline_title(const struct step_shares *shares, const char *name, char *text, size_t size);
/* A bar for each phase that takes time, stacked by what its ops are limited by. */
enum status figure_roofline(
	const struct step_shares *shares, const char *name, struct canvas_paper paper, FILE *stream, struct error *error);
