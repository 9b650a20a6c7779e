/* fit_list.h: changes of knobs that make a step fit its memory cap, each of them planned. */
#pragma once

#include "src/plan/planner.h"

/* What a change does to the training run. */
#define FIT_MEANINGS(X) \
	X(SAME, "same", "same results") \
	X(ROUNDED, "rounded", "same results but for rounding") \
	X(SPLIT, "split", "same results but for rounding; batch norm sees smaller batches") \
	X(SPREAD, "devices", "same results but for rounding, on more devices") \
	X(RUN, "run", "changes the run")
#define X(id, name, text) FIT_MEANING_##id,
enum fit_meaning { FIT_MEANINGS(X) FIT_MEANING_COUNT };
#undef X
extern const char *const fit_meaning_names[FIT_MEANING_COUNT], *const fit_meaning_texts[FIT_MEANING_COUNT];

#define FIT_SET_SIZE 128

struct fit_way {
	char set[FIT_SET_SIZE];  /* "devices=8 strategy=zero zero=1": words as --set takes them */
	const char *group;  /* changes of one group exclude each other */
	enum fit_meaning meaning;
	int64_t done, whole;  /* one step does done / whole of the work of the step asked for */
	bool planned, fits;  /* planned false: reason says why not */
	bool above; /* not planned, as a bound proves that no plan of it keeps the cap: arena is that bound */
	int64_t arena;  /* bytes that its plan needs, on the device that needs most */
	int64_t step;  /* picoseconds of a step, simulated */
	int64_t extra;  /* picoseconds more than now, for the same work */
	char *forbids;  /* of the search alone: NULL in lists */
	const char *advice;  /* with forbids */
	char reason[sizeof((struct error *)0)->text];   /* of what is planned: what is guessed in it, notes_guesses() */
};

struct fit_list {
	int64_t budget, arena, step;  /* the limit; the step as it is: bytes and picoseconds */
	int64_t ours;  /* bytes that the scenario's own plan needs: arena, but of a captured step */
	bool captured;  /* as it is: program order, PyTorch's allocator */
	bool fits;  /* as it is; no change was planned then */
	struct fit_way *way; /* [ways]: those that fit by extra time, of those within 0.1 % the one that needs least first;
							then the others by what is missing, then what is proved to be above, then what can't be planned */
	uint32_t ways, fitting, useless; /* useless: changes planned that save nothing, not in the list */
	char *forbids; /* the op whose operands alone are above the cap, whatever is computed again; NULL: none is known */
	const char *advice;  /* what would help such an op; NULL where none is known */
	char guesses[GUESSES_BYTES];  /* in the plan of the scenario as it is */
};

/* Told with every change planned: the list so far, sorted, lent for the call, from any thread, one at a time. */
struct fit_watch {
	void (*found)(void *context, const struct fit_list *list);
	void *context;
};

/* Plans the step as it is: one captured from PyTorch in its program's order, unless
 * the scenario sets order or layout, any other as the scenario says. Where that is above the limit, every change of the
 * table: singly, and where no single one fits, pairs of those that come nearest. devices > 1: also what spreads the
 * step over so many. The scenario must have a cap (scenario_budget()). OK, CANCELLED, NO_MEMORY, or what planning the
 * scenario itself says. Equal input gives equal lists. Some 15 plans on two threads, at most 15 more for pairs; a
 * change that bounds prove to be above the cap is planned only where nothing fits and it is one of the nearest. watch
 * may be NULL. Free with fit_list_free() in any case. */
enum status fit_list_find(struct planner *planner, struct graph *graph, const struct scenario *scenario,
	uint32_t devices, const struct fit_watch *watch, struct fit_list *list, struct error *error);
/* Picoseconds of a plan's step, simulated; -1: out of memory. */
int64_t fit_step_of(const struct plan *plan, const struct rules *rules, struct error *error);
/* OK or NO_MEMORY. */
enum status fit_list_copy(struct fit_list *to, const struct fit_list *from);
void fit_list_free(struct fit_list *list);

/* fit_most: the largest batch or sequence that fits, and the device presets on which a step fits. Every answer is
 * planned. */

struct fit_most {
	int64_t most;  /* the largest value that was planned and fits; 0: not even the smallest */
	int64_t
		next; /* the smallest above it that was planned and doesn't, or can't be; 0: the search ended at its limit */
	int64_t arena, step, budget;  /* of the most: bytes, picoseconds; the cap */
	int64_t next_arena;  /* < 0: it can't be planned, reason says why */
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
	uint32_t device;  /* index of the preset */
	int64_t memory, arena, step;  /* bytes of the preset less the reserve; of the plan */
	bool planned, fits;
	char guesses[GUESSES_BYTES];
};

/* The presets, least memory first and of equal ones the slowest first, with the step planned on each. device has room
 * for DEVICE_COUNT of them, *devices receives how many there are. OK, CANCELLED, NO_MEMORY, or what planning says where
 * no preset can be planned. */
enum status fit_devices_find(struct planner *planner, struct graph *graph, const struct scenario *scenario,
	struct fit_device *device, uint32_t *devices, struct error *error);

/* way_out: when a plan doesn't fit the memory cap: the smallest change that does. */

/* Searches all configurations on the plan's devices for those that fit by the model, and names the one that differs
 * least from the plan's: "tp 1 -> 2, zero 0 -> 1 (2.31 GiB by the model, 0.0412 s a step)"; "" where none fits, or the
 * step can't be cut. Returns text. Seconds. */
char *plan_way_out(const struct plan *plan, const char *rules_file, const atomic_bool *cancel, char *text, size_t size);
