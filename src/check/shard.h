/* shard.h: the part of the plan checker that looks at how a step is split over devices. */
#pragma once

#include <jansson.h>

#include "src/stages/fit/plan_time.h"
#include "src/stages/shard/stage.h"

/* What a plan file says of its sharding. */
struct shard_claim { const json_t *shard; const struct scenario *scenario; };

/* A shard_decider (src/stages/stages.h) that takes the file's own decision, context being a claim: every split and
 * placement is looked at, what is impossible is INFEASIBLE with its name. */
enum status shard_decision(void *context, const struct units *units, struct sharding *sharding, struct error *error);

/* Compares the sums of a file with what its own placements, and the collectives of the graph that a device runs, add up
 * to. */
enum status shard_check(
	const json_t *shard, const struct sharded *sharded, const struct graph *graph, struct error *error);
/* Collectives by axis and kind, the bytes that stay by their reason, what frameworks call the places, launchers' flags.
 */
enum status shard_check_sums(const json_t *shard, const struct sharded *sharded, const struct graph *graph,
	const struct scenario *scenario, struct error *error);
/* A step that is not split says so. */
enum status shard_check_unsplit(const json_t *shard, struct error *error);
/* Runs the simulated step event by event, and compares a file's times with it. */
enum status shard_check_time(
	const json_t *shard, const struct sharded *sharded, const struct plan_time *time, struct error *error);
/* shard.step_bound: what no order of the graph goes below, from its stations. */
enum status shard_check_step_bound(const json_t *bound, const struct plan_time *time, struct error *error);
/* Verifies a bound that the file claims: by the multiplier of its certificate where that shows it, else by searching
 * again; planned_again: what plans the scenario again does so. *how: text that says so; NULL: it claims none. */
enum status shard_check_bound(const json_t *shard, struct stage_context *stage, const struct sharded *sharded,
	const struct scenario *scenario, const struct plan_wish *wish, bool planned_again, const char **how,
	struct error *error);
