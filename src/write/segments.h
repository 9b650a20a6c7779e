/* segments.h: what ROAM chose (order=roam): segments, waists, and where each update branch went and why. */
#pragma once

#include "export.h"

/* --view segments, as text, as CSV and as a drawing's DOT. BAD_INPUT for plans of other orders. */
enum status segments_text(const struct export_job *job);
enum status segments_csv(const struct export_job *job);
enum status segments_dot(const struct plan *plan, FILE *stream, struct error *error);
