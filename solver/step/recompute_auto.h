/* recompute_auto.h: what to compute again so that a step fits, at the fewest extra FLOPs. */
#ifndef TIDEMARK_STEP_RECOMPUTE_AUTO_H
#define TIDEMARK_STEP_RECOMPUTE_AUTO_H

#include "recompute.h"

/* What each layer may do: levels of dropping, from nothing to everything in it. A level drops the storages that cost at
 * most so many FLOPs a byte to write anew, with or without attention scores. Equal layers are one class. */
struct recompute_menu {
	uint32_t layers, levels, classes;
	uint32_t *class_of;             /* [layers] */
	uint32_t *class_size;           /* [classes] */
	struct recompute_cost *cost;    /* [classes * levels]: bytes saved and FLOPs run again in one layer */
	double *threshold;              /* [levels] FLOPs a byte; < 0: nothing */
	bool *attention;                /* [levels] */
	struct arena arena;
};

/* A level for every layer. */
struct recompute_choice {
	uint32_t *level;                /* [layers]; the caller's */
	int64_t bytes, flops;           /* saved and run again */
	int64_t bound;                  /* no choice of levels that saves as much runs fewer FLOPs again */
	bool proved;                    /* flops is the least: within 10^-6 of the bound */
};

/* The choice that saves at least `bytes` at the fewest FLOPs: an integer program over how many layers of each class
 * take each level, so its size doesn't depend on the depth. INFEASIBLE when all levels together save less; the choice then
 * saves most. The first layers of a class drop most: at their turn in the backward pass the least is alive. */
enum status recompute_menu_choose(const struct recompute_menu *menu, int64_t bytes, struct control *control,
	struct recompute_choice *choice);

struct recompute_point {
	int64_t bytes, flops, bound;    /* as in the choice */
	int64_t peak;                   /* of the step so recomputed, in program order */
	bool proved;
};

/* The step with its program-order peak at or below cap: chooses, applies, and asks for the deficit more, at most eight
 * times. *point describes the result. INFEASIBLE with the step of the lowest peak found when none fits. */
struct graph *recompute_to_fit(const struct graph *step, const struct activations *activations,
	const struct recompute_options *options,
	int64_t cap, struct control *control, struct recompute_point *point, struct error *error);

/* The curve of memory against FLOPs: points [count] from saving nothing to saving all that can be saved. */
enum status recompute_curve(const struct graph *step, const struct activations *activations,
	const struct recompute_options *options,
	uint32_t count, struct control *control, struct recompute_point *points, struct error *error);

#endif
