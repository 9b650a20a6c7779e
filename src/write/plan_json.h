/* plan_json.h: the plan file (docs/design.md section 7): written for scripts, read again by `check`. */
#pragma once

#include "src/base/json.h"
#include "src/plan/plan.h"

/* factors: of the planned graph's dims, or NULL to leave them out. with_run: also the run part, the only one that may
 * differ between two equal runs. False on a stream error. */
bool plan_write_json(const struct plan *plan, const struct factors *factors, bool with_run, FILE *stream);

/* recompute_json: what recomputation costs, in plan files. */

/* The member "recompute", where the plan computes something again or was asked to: how much time, and for
 * recompute=auto the bound under every plan of the cap with its certificate. Nothing where the plan has none. */
void recompute_write_json(const struct plan *plan, struct json *json);

/* pipeline_json: what plan files and reports say of pipelines. */

/* The members "pipeline" (where there is one) and "stages" of a plan file's "shard". */
void pipeline_write_json(const struct plan *plan, struct json *json);
/* The report's part: ranks with memory and time. Nothing without a pipeline. */
void pipeline_write_text(const struct plan *plan, FILE *stream);

/* shard_json: the "shard" part of plan files: written from a plan, and read back by the checker. */

/* The members of "shard" up to "stages". */
void shard_write_json(const struct plan *plan, struct json *json);

/* Reads mesh, splits and placements of a plan file's "shard". The placements of tensors that ops write follow from the
 * splits and must agree. BAD_INPUT: not a plan of this graph. INFEASIBLE: an axis, a split or a placement that is not
 * possible, error says which. */
enum status shard_read_json(const json_t *shard, const struct scenario *scenario, const struct units *units,
	struct sharding *sharding, struct error *error);

/* schedule_rows: schedules in the words of torch.distributed.pipelining: a row a rank, of cells such as 0F3. */

/* The cells of a rank's slots, with commas between them, no newline. Read again by schedule_csv_read(). */
void schedule_row_write(const struct pipeline_slot *slot, uint32_t slots, FILE *stream);

/* sharding_words: placements in the words of the frameworks that execute them. */

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
