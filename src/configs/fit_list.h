/* fit_list.h: changes of knobs that make a step fit its memory cap, each of them planned. */
#pragma once

#include "src/plan/planner.h"
#include "src/stages/notes.h"

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
	char set[FIT_SET_SIZE];       /* "devices=8 strategy=zero zero=1": words as --set takes them */
	const char *group;            /* changes of one group exclude each other */
	enum fit_meaning meaning;
	int64_t done, whole;          /* one step does done / whole of the work of the step asked for */
	bool planned, fits;           /* planned false: reason says why not */
	bool above; /* not planned, as a bound proves that no plan of it keeps the cap: arena is that bound */
	int64_t arena;                /* bytes that its plan needs, on the device that needs most */
	int64_t step;                 /* picoseconds of a step, simulated */
	int64_t extra;                /* picoseconds more than now, for the same work */
	char *forbids;                /* of the search alone: NULL in lists */
	const char *advice;           /* with forbids */
	char reason[sizeof((struct error *)0)->text];   /* of what is planned: what is guessed in it, notes_guesses() */
};

struct fit_list {
	int64_t budget, arena, step;  /* the limit; the step as it is: bytes and picoseconds */
	bool captured;                /* as it is: program order, PyTorch's allocator */
	bool fits;                    /* as it is; no change was planned then */
	struct fit_way *way; /* [ways]: those that fit by extra time, then the others by what is missing, then what is
							proved to be above, then what can't be planned */
	uint32_t ways, fitting, useless; /* useless: changes planned that save nothing, not in the list */
	char *forbids; /* the op whose operands alone are above the cap, whatever is computed again; NULL: none is known */
	const char *advice;           /* what would help such an op; NULL where none is known */
	char guesses[GUESSES_BYTES];  /* in the plan of the scenario as it is */
};

/* Told with every change planned: the list so far, sorted, lent for the call, from any thread, one at a time. */
struct fit_watch {
	void (*found)(void *context, const struct fit_list *list);
	void *context;
};

/* Plans the step as it is: one captured from PyTorch in its program's order with PyTorch's caching allocator, unless
 * the scenario sets order or layout, any other as the scenario says. Where that is above the limit, every change of the
 * table: singly, and where no single one fits, pairs of those that come nearest. devices > 1: also what spreads the
 * step over so many. The scenario must have a cap (scenario_budget()). OK, CANCELLED, NO_MEMORY, or what planning the
 * scenario itself says. Equal input gives equal lists. Some 15 plans on two threads, at most 15 more for pairs; a
 * change that bounds prove to be above the cap is planned only where nothing fits and it is one of the nearest. watch
 * may be NULL. Free with fit_list_free() in any case. */
enum status fit_list_find(struct planner *planner, struct graph *graph, const struct scenario *scenario,
	uint32_t devices, const struct fit_watch *watch, struct fit_list *list, struct error *error);
/* OK or NO_MEMORY. */
enum status fit_list_copy(struct fit_list *to, const struct fit_list *from);
void fit_list_free(struct fit_list *list);
