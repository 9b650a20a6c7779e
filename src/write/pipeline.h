/* pipeline.h: --view pipeline: the schedule of a plan's pipeline and what its ranks hold meanwhile. */
#pragma once

#include "src/draw/canvas.h"
#include "export.h"

/* One function a format, of the plan's schedule. BAD_INPUT where it has none: what is in the way. */
enum status pipeline_csv(const struct export_job *job);
enum status pipeline_json(const struct export_job *job);
/* A track for each rank, and a counter of its bytes, in Chrome's trace format. */
enum status pipeline_trace(const struct export_job *job);
/* The order of every rank's passes, a row each. */
enum status schedule_csv(const struct export_job *job);
enum status pipeline_picture(const struct export_job *job);
