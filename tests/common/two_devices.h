/* two_devices.h: steps of small models, executed on two devices. */
#pragma once

#include "lockstep.h"
#include "model_steps.h"
#include "solver/shard/find.h"

/* Two layers of width 8. */
static inline struct model_config two_layers(const char *name, int64_t seq, int64_t batch)
{
	return sized_model(name,
		(struct model_config){ .layers = 2,
			.hidden = 8,
			.ffn = 8,
			.heads = 2,
			.kv_heads = 2,
			.head_width = 4,
			.vocab = 16,
			.seq = seq,
			.positions = seq,
			.batch = batch });
}

/* A step as two devices ran it. */
struct on_two { struct lockstep run; struct units units; struct sharding sharding; struct graph *device; };

/* Two devices that divide a step by roles along an axis: they must compute what one does. */
static inline void run_on_two(const struct graph *graph, const struct rules *rules, const char *axis,
	const struct axis_roles *roles, struct on_two *ran)
{
	struct mesh mesh = {
		.axes = 1, .padding = true, .axis = { { .size = 2, .near_size = 2, .near = { 1, 1 }, .far = { 1, 1 } } }
	};
	struct error error = { 0 };
	snprintf(mesh.axis[0].name, sizeof mesh.axis[0].name, "%s", axis);
	cr_assert_eq(units_find(graph, rules, &ran->units), OK);
	cr_assert_eq(split_by_roles(&ran->units, &mesh, roles, &ran->sharding), OK);
	ran->device = device_graph_build(&ran->units, &ran->sharding, 0, &error);
	cr_assert_not_null(ran->device, "%s", error.text);
	cr_assert(
		lockstep_run(&ran->run, &ran->units, &ran->sharding, ran->device, rules), "%s: %s", graph->name, ran->run.why);
}

static inline void on_two_drop(struct on_two *ran)
{
	lockstep_free(&ran->run);
	graph_release(ran->device);
	sharding_free(&ran->sharding);
	units_free(&ran->units);
}
