/* sharding_words.h: placements in the words of the frameworks that execute them. */
#pragma once

#include "solver/cost/placement.h"

/* Each writes at most size bytes to text and returns it; NULL where the framework has no word for the placement. */

/* PyTorch: "[Shard(0), Replicate()]", one per mesh axis; a strided shard is _StridedShard(2, split_factor=3). NULL
 * where a part of a dim is cut into unequal pieces. */
char *sharding_dtensor(const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement placement,
	char *text, size_t size);
/* JAX: "P('dp', None)", one per dim. NULL for partial sums, strided shards and unequal pieces. */
char *sharding_partition_spec(const struct units *units, const struct mesh *mesh, uint32_t tensor,
	struct placement placement, char *text, size_t size);
/* XLA: "{devices=[4,1,2]<=[8] last_tile_dim_replicate}" (HloSharding, iota form). NULL for partial sums, strided shards
 * and unequal pieces of a part of a dim. */
char *sharding_hlo(const struct units *units, const struct mesh *mesh, uint32_t tensor, struct placement placement,
	char *text, size_t size);
