/* outlook.h: what a scenario comes to as a whole configuration, by the model of these, which takes milliseconds where a
 * plan takes seconds; and of a plan the schedule slot by slot, as planned and simulated: its peaks are the plan's. */
#pragma once

#include "config_search.h"

/* Immutable once made and shared by counted references. */
struct outlook {
	struct config config;  /* that the scenario asks for */
	struct config_result result;  /* by the model; zero where planned */
	bool planned;  /* config has only what a plan says: degrees, microbatches, schedule */
	struct timetable timetable;  /* of a plan; else empty */
	struct machine machine;  /* memory: what a device has; < 0: any */
	uint64_t fingerprint;  /* of graph and scenario */
	atomic_uint references;
};

void outlook_release(struct outlook *outlook);
DROP(outlook, outlook_release)

/* Of a training step that is not split yet. stage: store, control and rules to use. mesh: how a plan of the scenario is
 * split already, which stands for degrees that the knobs leave open, or NULL. A new reference, or NULL: BAD_INPUT where
 * degrees, batch or schedule don't go together, or the graph isn't a step that can be cut; CANCELLED, NO_MEMORY. */
struct outlook *outlook_find(const struct stage_context *stage, struct graph *graph, const struct scenario *scenario,
	const struct mesh *mesh, struct error *error);
/* Of a plan, with a store of its own. rules_file: a user's operator rules, or NULL. NULL: NO_MEMORY, CANCELLED, or the
 * rules file's error. */
struct outlook *outlook_of_plan(
	const struct plan *plan, const char *rules_file, const atomic_bool *cancel, struct error *error);

/* Of what outlooks and searches depend on. */
uint64_t outlook_fingerprint(const struct graph *graph, const struct scenario *scenario);

/* The samples of a step: the knob, else what the graph has. 0 where out of memory. */
int64_t outlook_batch(const struct stage_context *stage, struct graph *graph, const struct scenario *scenario);
