/* shard_mesh.h: the mesh that the knobs ask for. */
#pragma once

#include "scenario.h"

/* The axis of the knob replicate: dp is its size times that of the axis "dp". */
#define MESH_REPLICATE "copies"

/* Degrees of parallelism, all at least 1; their product is the number of devices. */
struct degrees { int64_t dp, tp, cp, ep, pp; };

/* What the knobs say, with "auto" filled in for the strategies that experts write by hand: data and zero put all
 * devices that are left into dp; megatron makes tp as large as a node and the model's heads and ffn allow. BAD_INPUT
 * where the product can't be the number of devices. */
enum status degrees_of_scenario(
	const struct scenario *scenario, const struct units *units, struct degrees *degrees, struct error *error);

#define DEGREES_MAX 64
/* The degrees that a search may choose from: dp beside tp or cp, as far as the knobs leave them open; meshes whose
 * inner axis fills a node come first. At most `most` of them; returns how many. */
uint32_t degrees_of_search(const struct scenario *scenario, struct degrees degrees[DEGREES_MAX], uint32_t most);

/* Groups of devices that hold the same (HSDP): what replicate asks for, 1 where no strategy splits anything. */
int64_t scenario_copies(const struct scenario *scenario);

/* The mesh: axes of more than one member, dp outermost, then ep, cp, tp; the innermost fill a node first. Links as the
 * knobs and the device's preset have them. roles[i] is what an expert splits on axis i. */
void mesh_of_degrees(const struct scenario *scenario, const struct degrees *degrees, struct mesh *mesh,
	struct axis_roles roles[MESH_AXES]);

/* What an expert splits on the axes of such a mesh. */
void roles_of_mesh(const struct scenario *scenario, const struct mesh *mesh, struct axis_roles roles[MESH_AXES]);

/* The least extent of a unit with that role: what a degree has to divide. 0 where no op has one. O(units). */
int64_t least_extent(const struct units *units, enum factor_role role);

/* The step is cut into microbatches or over pipeline ranks. */
bool scenario_pipelines(const struct scenario *scenario);
/* The step is cut over pipeline ranks, whose memory follows from the cuts. */
bool scenario_cuts(const struct scenario *scenario);
/* There is a mesh: several devices and a strategy, or a pipeline, whose ranks may have one device each. */
bool scenario_shards(const struct scenario *scenario);
/* The strategy of a scenario that shards: the knob's words are "none" (a pipeline alone) and then the strategies. */
enum shard_strategy scenario_strategy(const struct scenario *scenario);
/* ZeRO's stage: strategy=zero without one is stage 3. */
uint8_t scenario_zero(const struct scenario *scenario);
/* The strategy decides by itself: tap, minred, auto. */
bool scenario_searches(const struct scenario *scenario);
/* The order that plans get: the knob's, or what order=auto stands for. ORDER_AUTO: the fastest found, with the effort
 * of a comparison. */
enum order_strategy scenario_order(const struct scenario *scenario);
/* Orders for time are sought. */
static inline bool scenario_seeks_time(const struct scenario *scenario)
{
	enum order_strategy order = scenario_order(scenario);
	return order == ORDER_AUTO || order == ORDER_FAST;
}
/* Shardings are sought for a step in an order for time, in which computation doesn't wait for the reduction of a
 * gradient just to cast it. */
bool scenario_casts_late(const struct scenario *scenario);
