/* sweep_merge.h: the pieces of one sweep, put together. */
#pragma once

#include <stdint.h>

/* Writes the lines of all files to output (NULL: standard output), one for each scenario, in the order of their
 * numbers. The files are all JSON lines or all CSV, plain or gz. A last line without its end is told and left out;
 * equal lines for one scenario are one. total: of the sweep's scenarios, 0 where it isn't known. EXIT_FINE;
 * EXIT_CONSTRAINT: written, but scenarios are missing, standard error says which; EXIT_INPUT: a line is none of a
 * sweep, or two lines differ for one scenario, and nothing is written; EXIT_LIMIT. O(n log n) time for n lines, and
 * memory for all of them. */
int sweep_merge(char *const *path, int count, uint64_t total, const char *output);
