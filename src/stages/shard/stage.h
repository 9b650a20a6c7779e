/* stage.h: the shard stage: scenario -> mesh -> sharding -> the graph of one device.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     stage   how the step is split
 *     job     what its files share
 *     search  searches of one mesh
 *     published  tap and minred over all meshes
 *     rivals  other shardings that are worth a plan of auto
 *     sharded its result
 *     build   from a decision to the graph of a device
 *     pins    pinned placements
 *     why     what a tensor's other places would cost */
#pragma once

#include "sharded.h"
#include "src/scenario/shard_mesh.h"
#include "src/stages/base/stages.h"

/* Percent of the time of collectives that can run beside computation (gradients to their update, parameters before
 * their use) which computation doesn't hide after all. */
#define SHARD_EXPOSED 25

/* How long ops take on the scenario's device, and how many microbatches share what is done once a step. Not to be moved
 * while it is open. */
struct shard_clock {
	uint32_t microbatches;
	struct machine machine;
	struct op_times times;
	struct op_clock clock;
};
enum status shard_clock_open(const struct stage_context *stage, const struct units *units,
	const struct scenario *scenario, struct shard_clock *clock);
void shard_clock_close(struct shard_clock *clock);

#define SHARD_FEW 24       /* equal layers that stand for all of a deep step: the first and the last ones */
/* Whether auto may choose by few of the equal layers, which a search has found: what is left is a small part of the
 * step, and nothing else that the scenario asks for depends on their number. O(1). */
bool shard_is_deep(const struct shared_units *shared, const struct scenario *scenario);
/* The units of a graph: a new reference, from the store where they are there. NULL when out of memory. */
struct shared_units *shared_units_find(struct stage_context *stage, struct graph *graph);
struct shared_units *shared_units_retain(struct shared_units *shared);
void shared_units_release(void *shared);

/* Adds to a key what sharding depends on besides the graph. */
void shard_key_add(struct key *key, const struct scenario *scenario, const struct plan_wish *wish, bool quick);

/* Shards a graph as the scenario asks. quick: by roles alone, whatever the strategy. A new reference (its key is the
 * caller's to set), or NULL: BAD_INPUT or INFEASIBLE with the reason: degrees that don't multiply to the number of
 * devices, a placement pin that can't be kept. */
struct sharded *stage_shard(struct stage_context *stage, struct graph *graph, const struct scenario *scenario,
	const struct plan_wish *wish, bool quick, struct error *error);

/* The bound that a proof's price shows of a mixture, without a search. *whole: its limit is the one that plans of this
 * scenario keep to. LIMIT: too large to be verified so. */
enum status shard_price_again(struct stage_context *stage, const struct sharded *sharded,
	const struct scenario *scenario, const struct plan_wish *wish, const struct price *price,
	const struct mixture *mixture, int64_t *bound, bool *whole, struct error *error);
/* Which shardings a bound on the estimated step is of that holds of all that keep so many bytes (< 0: any); static
 * text. */
const char *shard_bound_among(const struct scenario *scenario, int64_t limit);
/* What no sharding of the mesh of a sharding costs less than, by a mixture, or as a search shows it that is made again;
 * proof.bound -1: nothing is proved. */
enum status shard_bound_again(struct stage_context *stage, const struct sharded *sharded,
	const struct scenario *scenario, const struct plan_wish *wish, const struct mixture *mixture, struct shown *shown,
	struct error *error);
/* The same of what auto has found, where its mesh is searched with all axes at once; from the store where it is there.
 * LIMIT: only what is stored is wanted. */
enum status shard_show(struct stage_context *stage, const struct sharded *sharded, const struct scenario *scenario,
	int64_t margin, struct shown *shown, struct error *error);

/* The same for a decision that is already made: takes over sharding. */
struct sharded *sharded_of(
	struct shared_units *shared, struct sharding *sharding, const struct shard_clock *clock, struct error *error);

/* The placement pins as a search takes them, into pin[scenario->pins]. BAD_INPUT as below. */
enum status shard_pins_find(const struct scenario *scenario, const struct units *units, const struct mesh *mesh,
	struct placement_pin *pin, uint32_t *pins, struct error *error);
/* Puts what the placement pins ask for into a sharding. BAD_INPUT with the pin's tensor and what is in the way. */
enum status shard_pins_apply(
	const struct scenario *scenario, const struct units *units, struct sharding *sharding, struct error *error);

/* why: why a tensor lies as it does: what each other placement on an axis would cost, if nothing else changed. */

#define PLACE_CHOICES 26

struct place_choice {
	int8_t on;                  /* on the axis that is asked about */
	bool chosen;
	bool possible;              /* else its pieces would not be equal, or no collectives lead there */
	int64_t bytes;              /* of one device */
	int64_t time, sent;         /* of the collectives around the tensor: picoseconds, bytes that each device sends */
};

/* The places that a tensor of the sharded graph may have on an axis: first the chosen one, then R and the others by
 * time. An op that can be split to write it so is taken to be split; else its result is brought there. Returns how
 * many. O(places * readers). */
uint32_t sharded_choices(
	const struct sharded *sharded, uint32_t tensor, uint32_t axis, struct place_choice choice[PLACE_CHOICES]);
