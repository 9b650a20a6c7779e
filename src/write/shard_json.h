/* shard_json.h: the "shard" part of plan files: written from a plan, and read back by the checker. */
#pragma once

#include <jansson.h>

#include "src/base/json.h"
#include "src/plan/plan.h"

/* The members of "shard" up to "stages". */
void shard_write_json(const struct plan *plan, struct json *json);

/* Reads mesh, splits and placements of a plan file's "shard". The placements of tensors that ops write follow from the
 * splits and must agree. BAD_INPUT: not a plan of this graph. INFEASIBLE: an axis, a split or a placement that is not
 * possible, error says which. */
enum status shard_read_json(const json_t *shard, const struct scenario *scenario, const struct units *units,
	struct sharding *sharding, struct error *error);
