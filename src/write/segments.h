/* segments.h: what ROAM chose (order=roam): segments, waists, and where each update branch went and why. */
#pragma once

#include "export.h"

/* --view segments. BAD_INPUT for plans of other orders. */
enum status segments_csv(const struct export_job *job);
