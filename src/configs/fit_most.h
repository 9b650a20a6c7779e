/* fit_most.h: the largest batch or sequence that fits, and the device presets on which a step fits. Every answer is
 * planned. */
#pragma once

#include "src/plan/planner.h"
#include "src/stages/notes.h"

struct fit_most {
	int64_t most;                 /* the largest value that was planned and fits; 0: not even the smallest */
	int64_t
		next; /* the smallest above it that was planned and doesn't, or can't be; 0: the search ended at its limit */
	int64_t arena, step, budget;  /* of the most: bytes, picoseconds; the cap */
	int64_t next_arena;           /* < 0: it can't be planned, reason says why */
	uint32_t plans;
	char guesses[GUESSES_BYTES], next_guesses[GUESSES_BYTES];   /* in these plans */
	char reason[sizeof((struct error *)0)->text];
};

/* knob: K_batch or K_seq, in steps of `by` (1, or what a mesh must divide; where that itself can't be planned, from its
 * double on). Bisection where lines through what was planned meet the cap, as if memory rose with the knob: most fits
 * and most + by doesn't, both planned. The scenario has a cap. OK, INFEASIBLE where not even one step of `by` fits,
 * BAD_INPUT where it can't be planned either, CANCELLED, NO_MEMORY. Some log2(most / by) plans and a few. */
enum status fit_most_find(struct planner *planner, struct graph *graph, const struct scenario *scenario,
	enum knob_id knob, int64_t by, struct fit_most *most, struct error *error);

struct fit_device {
	uint32_t device;              /* index of the preset */
	int64_t memory, arena, step;  /* bytes of the preset less the reserve; of the plan */
	bool planned, fits;
	char guesses[GUESSES_BYTES];
};

/* The presets, least memory first and of equal ones the slowest first, with the step planned on each. device has room
 * for DEVICE_COUNT of them, *devices receives how many there are. OK, CANCELLED, NO_MEMORY, or what planning says where
 * no preset can be planned. */
enum status fit_devices_find(struct planner *planner, struct graph *graph, const struct scenario *scenario,
	struct fit_device *device, uint32_t *devices, struct error *error);
