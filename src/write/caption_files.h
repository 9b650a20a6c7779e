/* caption_files.h: what a caption says of files that a figure is drawn of: each line's plan and knobs, or a sweep's
 * colours and values. */
#pragma once

#include "export.h"
#include "src/base/words.h"

/* Of plan files over each other: a line each, with its colour, its peak and the knobs that aren't at their defaults.
 * Standard input was read by the figure: of it nothing is said. BAD_INPUT where one is no plan file. */
enum status caption_add_plans(char *const *path, int paths, struct words *words, struct error *error);
/* Of a sweep's figure: what its colours are, and the values of the knobs that it varies. BAD_INPUT where it is no
 * sweep. */
enum status caption_add_sweep(const char *path, bool pareto, struct words *words, struct error *error);
