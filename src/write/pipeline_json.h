/* pipeline_json.h: what plan files and reports say of pipelines. */
#pragma once

#include <stdio.h>

#include "src/base/json.h"
#include "src/plan/plan.h"

/* The members "pipeline" (where there is one) and "stages" of a plan file's "shard". */
void pipeline_write_json(const struct plan *plan, struct json *json);
/* The report's part: ranks with memory and time. Nothing without a pipeline. */
void pipeline_write_text(const struct plan *plan, FILE *stream);
