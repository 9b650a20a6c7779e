/* pipeline.h: the part of the plan checker that looks at microbatches and pipeline ranks. */
#pragma once

#include <jansson.h>

#include "src/stages/pipeline/pipelined.h"

/* The ranks' graphs by their own words, the schedule played anew from the file's times of pieces, the step summed up,
 * and what the file says of ranks. shard: that member of the file. INFEASIBLE, BAD_INPUT with what is wrong; NO_MEMORY.
 */
enum status pipeline_check_claims(
	const json_t *shard, const struct pipelined *pipelined, const struct rules *rules, struct error *error);
