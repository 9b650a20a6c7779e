/* segments.h: what ROAM chose (order=roam): segments, waists, and where each update branch went and why. */
#ifndef TIDEMARK_WRITE_SEGMENTS_H
#define TIDEMARK_WRITE_SEGMENTS_H

#include <stdio.h>

#include "src/plan/plan.h"

/* --view segments of the text, csv, dot, svg, pdf and png exports. BAD_INPUT for plans of other orders. */
enum status segments_text(const struct plan *plan, FILE *stream, struct error *error);
enum status segments_csv(const struct plan *plan, FILE *stream, struct error *error);
enum status segments_dot(const struct plan *plan, FILE *stream, struct error *error);

#endif
