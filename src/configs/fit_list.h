/* fit_list.h: changes of knobs that make a step fit its memory cap, each of them planned. */
#pragma once

#include "src/decide/planner.h"

/* What a change does to the training run. */
#define FIT_MEANINGS(X) \
	X(SAME, "same", "same results") \
	X(ROUNDED, "rounded", "same results but for rounding") \
	X(SPLIT, "split", "same results but for rounding; batch norm, if any, sees smaller batches") \
	X(SPREAD, "devices", "same results but for rounding, on more devices") \
	X(RUN, "run", "other numbers") \
	X(ADAPTERS, "adapters", "other training: adapters alone are trained")
#define X(id, name, text) FIT_MEANING_##id,
enum fit_meaning { FIT_MEANINGS(X) FIT_MEANING_COUNT };
#undef X
extern const char *const fit_meaning_names[FIT_MEANING_COUNT], *const fit_meaning_texts[FIT_MEANING_COUNT];

#define FIT_SET_SIZE 160
#define FIT_PROGRAM "order=program "  /* changes of a step that is its program's as it is leave its order */

/* What a plan comes to. */
#define FIT_STATE_FIRST "tidemark_torch.make_state(optimizer) before the first step"
struct fit_came {
	int64_t needs, step;   /* bytes, the ledger's sum, on the device that needs most; picoseconds of a step */
	bool fits;   /* the device's memory, as far as is known */
	bool state_first;   /* if the optimizer's state is made before the first step */
	double rate;   /* tokens, or where it has none samples, of a second and all devices */
	bool tokens;
	char guesses[GUESSES_BYTES];   /* notes_guesses() */
	struct why_not proof;
};

struct fit_way {
	char set[FIT_SET_SIZE];   /* "devices=8 strategy=zero zero=1": words as --set takes them */
	char how[2 * FIT_SET_SIZE];   /* what to do in PyTorch */
	char model[FIT_SET_SIZE];   /* whose step it is a change of: "gpt2:lora=16"; "": of the one asked for */
	const char *group;   /* changes of one group exclude each other */
	bool pair;   /* of two groups */
	uint32_t row;   /* of the table, where what changes less of the run comes first in its group */
	enum fit_meaning meaning;
	int64_t done, whole;   /* one step does done / whole of the work of the step asked for */
	bool planned, fits;   /* planned false: reason says why not */
	bool above;   /* not planned, as a bound proves that no plan of it keeps the cap: came.needs is that bound */
	struct fit_came came;
	int64_t extra;   /* picoseconds more than now, for the same work */
	char reason[sizeof((struct error *)0)->text];
};

/* Its words without what all changes of such a step have. */
const char *fit_set(const struct fit_way *way);

struct fit_list {
	int64_t budget;   /* the device's memory */
	struct fit_came base;   /* the step as it is */
	int64_t ours;   /* bytes that it needs as the changes are planned: in expandable segments */
	bool captured;   /* as it is: program order, PyTorch's default segments */
	bool fits;   /* as it is; no change was planned then */
	bool tuned;   /* matrices are trained, so adapters could be */
	int64_t frozen, weights;   /* bytes and number of those that no update changes, of matrices, where some are */
	bool limited;   /* cancelled when some changes were planned */
	struct fit_way *way;   /* [ways]: those that fit by extra time, of those within 0.1 % the one that needs least
								first; then the others by what is missing, then what is proved to be above, then what
								can't be planned */
	uint32_t ways, fitting, useless;   /* fitting: of the step asked for; useless: changes planned that save nothing, not
										  in the list */
	uint32_t tried, all;   /* changes planned by now, of all that are to be */
	struct why_not proof;   /* of the step, whatever runs again */
};

/* Bytes that the best single change of a way's group takes off: by its plan, or at most by a bound. 0: none, or an
 * earlier way is of that group. O(ways). */
int64_t fit_frees(const struct fit_list *list, uint32_t number);

/* Told with every change planned: the list so far, sorted, and that change, lent for the call, from any thread, one at
 * a time. */
struct fit_watch {
	void (*found)(void *context, const struct fit_list *list, const struct fit_way *way);
	void *context;
};

/* What is asked beside graph and scenario. */
struct fit_question {
	uint32_t devices;   /* more than 1: also what spreads the step over so many */
	const char *model;   /* open_is_model(): the name that the graph was made by; NULL: a file's */
	const struct fit_watch *watch;   /* may be NULL */
};

/* Plans the step as it is: one that PyTorch runs in its program's order and default segments, unless the scenario sets
 * order, layout or allocator, any other as the scenario says. Where that is above the limit, every change of the table:
 * singly, and where none of them that keeps the results fits at less than a tenth more time, pairs of those that don't
 * and by the sum of what both take off may. Of a model also its adapters, the first of
 * three that fits. The scenario must have a cap (scenario_budget()). OK, NO_MEMORY, or what
 * planning the scenario itself says, CANCELLED among it; once that is planned, cancelling leaves the list so far.
 * Equal input gives equal lists. Some 20 plans on two threads, at most 16 more for pairs; a change that bounds prove to
 * be above the cap is not planned. Free with fit_list_free() in any case. */
enum status fit_list_find(struct planner *planner, struct graph *graph, const struct scenario *scenario,
	const struct fit_question *question, struct fit_list *list, struct error *error);
/* Plans a scenario. OK; BAD_INPUT or INFEASIBLE: it has no plan, *error says why; CANCELLED, NO_MEMORY. */
enum status fit_plan(struct planner *planner, struct graph *graph, const struct scenario *scenario,
	struct fit_came *came, struct error *error);
/* OK or NO_MEMORY. */
enum status fit_list_copy(struct fit_list *to, const struct fit_list *from);
void fit_list_free(struct fit_list *list);

/* fit_most: the largest batch or sequence that fits, and the device presets on which a step fits. Every answer is
 * planned. */

struct fit_most {
	int64_t most;  /* the largest value that was planned and fits; 0: not even the smallest */
	int64_t
		next; /* the smallest above it that was planned and doesn't, or can't be; 0: the search ended at its limit */
	int64_t budget;  /* the cap */
	int64_t by;      /* what the two differ by: long sequences are told apart by a part in 128 to 256 */
	struct fit_came came, after;  /* of both; after.needs < 0: it can't be planned, reason says why */
	bool proved;     /* the next wasn't planned: no recomputation needs less than after.needs */
	uint32_t plans;
	bool limited;  /* cancelled: a larger one may fit */
	char reason[sizeof((struct error *)0)->text];
};

/* knob: K_batch or K_seq, in steps of `by` (1, or what a mesh must divide; where that can't be planned, from four times
 * that on). Goes up or down by four from the step's own, then narrows by what was planned, as if memory rose with the
 * knob: most is planned and fits, most + most->by doesn't. The scenario has a cap. OK, also when cancelled with one
 * that fits; INFEASIBLE where not even one step of `by` fits, BAD_INPUT where it can't be planned, CANCELLED,
 * NO_MEMORY. At most some 4 log2(most / by) plans, of which all but one end where something fits. */
enum status fit_most_find(struct planner *planner, struct graph *graph, const struct scenario *scenario,
	int knob, int64_t by, struct fit_most *most, struct error *error);

struct fit_device {
	uint32_t device;  /* index of the preset */
	int64_t memory;  /* bytes of the preset */
	bool planned, fits;
	struct fit_came came;
	uint32_t deviation;   /* device_deviation(), and as text */
	char within[16];
};

/* The presets, least memory first and of equal ones the slowest first, with the step planned on each. device has room
 * for DEVICE_COUNT of them, *devices receives how many there are. OK, CANCELLED, NO_MEMORY, or what planning says where
 * no preset can be planned. */
enum status fit_devices_find(struct planner *planner, struct graph *graph, const struct scenario *scenario,
	struct fit_device *device, uint32_t *devices, struct error *error);
