/* shard_stage.h: the shard stage: scenario -> mesh -> sharding -> the graph of one device. */
#ifndef TIDEMARK_SHARD_STAGE_H
#define TIDEMARK_SHARD_STAGE_H

#include "shard_mesh.h"
#include "sharded.h"
#include "stages.h"

struct shared_units *shared_units_retain(struct shared_units *shared);
void shared_units_release(void *shared);

/* Adds to a key what sharding depends on besides the graph. */
void shard_key_add(struct key *key, const struct scenario *scenario, bool quick);

/* Shards a graph as the scenario asks. quick: by roles alone, whatever the strategy. A new reference (its key is the caller's to
 * set), or NULL: BAD_INPUT or INFEASIBLE with the reason: degrees that don't multiply to the number of devices, a placement pin that
 * can't be kept. */
struct sharded *stage_shard(struct stage_context *stage, struct graph *graph, const struct scenario *scenario, bool quick,
	struct error *error, enum status *status);

/* The same for a decision that is already made: takes over sharding. */
struct sharded *sharded_of(struct shared_units *shared, struct sharding *sharding, struct error *error, enum status *status);

/* Puts what the placement pins ask for into a sharding. BAD_INPUT with the pin's tensor and what is in the way. */
enum status shard_pins_apply(const struct scenario *scenario, const struct units *units, struct sharding *sharding, struct error *error);

#endif
