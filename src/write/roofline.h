/* roofline.h: --view roofline: a step's time by phase and by what limits it, as a figure and as a table. */
#pragma once

#include "export.h"
#include "src/stages/fit/plan_time.h"

/* What a plan's step takes on a device; of a pipeline on the rank that the plan shows. OK or NO_MEMORY. O(graph). */
enum status roofline_shares(
	const struct plan *plan, const struct export_options *options, struct step_shares *shares, struct error *error);
/* Of the step, and of a pipeline the rank. Returns text. */
char *roofline_name(const struct plan *plan, char *text, size_t size);
enum status roofline_csv(const struct export_job *job);
enum status roofline_picture(const struct export_job *job);
