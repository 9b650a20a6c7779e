/* verdict.h: what a plan needs, part by part, and whether that fits its device. */
#pragma once

#include "plan.h"

/* The parts of what a device needs: id, key in plan files, what is in reports. */
#define LEDGER(X) \
	X(PARAMETERS, "parameters", "") \
	X(GRADIENTS, "gradients", "") \
	X(OPTIMIZER, "optimizer", "optimizer state") \
	X(ACTIVATIONS, "activations", "") \
	X(OTHER, "other", "inputs, buffers, temporaries, workspace") \
	X(HOLES, "holes", "unused ranges of the arena at the peak") \
	X(AHEAD, "gathered_ahead", "parameters gathered a layer ahead") \
	X(BUFFERS, "buffers", "NCCL's, for each group of devices") \
	X(CONTEXT, "context", "contexts and libraries")
#define X(id, key, remark) PART_##id,
enum ledger_part { LEDGER(X) LEDGER_PARTS };
#undef X
static inline enum ledger_part ledger_part_of(enum kind kind)
{
	return kind == KIND_PARAMETER ? PART_PARAMETERS : kind == KIND_GRADIENT ? PART_GRADIENTS
		: kind == KIND_OPTIMIZER ? PART_OPTIMIZER : kind == KIND_ACTIVATION ? PART_ACTIVATIONS : PART_OTHER;
}
extern const struct ledger_words { const char *key, *remark; } ledger[LEDGER_PARTS];

/* Whether the plan runs within its memory cap (ANY: there is none). If not: with expandable segments, at its own
 * addresses, proved that no order does, or another plan may. */
enum fits { FITS_ANY, FITS_YES, FITS_EXPANDABLE, FITS_PLANNED, FITS_NO, FITS_UNKNOWN };
extern const char *const fits_text[];
static inline bool fits_runs(enum fits fits)
{
	return fits <= FITS_YES;
}

/* Bytes of the device that needs most. */
struct verdict {
	enum fits fits;
	bool state_first;           /* the optimizer's state is made before the first step: else it doesn't hold */
	bool guess;                 /* it rests on what nobody knows: the plan's notes say on what */
	enum allocator allocator;   /* that decides */
	int64_t part[LEDGER_PARTS]; /* add up to needed */
	int64_t needed, cap;        /* cap < 0: there is none */
	int64_t by[ALLOCATOR_EXPANDABLE + 1]; /* needed with each allocator; < 0: unknown */
	uint32_t retries;           /* how often in these steps cached memory goes back to the device */
};

/* The one place that decides. O(storages). */
struct verdict plan_verdict(const struct plan *plan);
/* The words, from the numbers: "FITS 3.85 of 80.0 GiB (as planned 3.80; default segments 4.02)". Returns text. */
char *verdict_text(const struct verdict *verdict, char *text, size_t size);
/* The same up to the cap. */
char *verdict_plan_text(const struct verdict *verdict, char *text, size_t size);
#define VERDICT_TEXT 240

/* Bytes that a plan needs of its cap less the reserve: what its allocator takes, what is gathered ahead, buffers. */
int64_t plan_needs(const struct plan *plan);
/* Plays the plan in PyTorch's allocator. OK or NO_MEMORY. O(plan log plan). */
enum status plan_allocate(struct plan *plan, bool expandable);
