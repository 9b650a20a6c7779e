/* dual.h: the least extra time along one order, relaxed: prices at a few moments, one minimum cut for each set of
 * prices.
 *
 * A storage that is kept lies in memory at every moment between its last reader of the pass and its first one after it.
 * Moments where the relaxed plan is above the cap get a price per byte; the cut at these prices is a column of the
 * master program (Kelley's cutting planes), whose optimum mixes columns. It equals the LP relaxation of integer
 * programs as Checkmate's (Jain et al., MLSys 2020) that fix the order, on all graphs it was compared on. */
#pragma once

#include "base_order.h"
#include "network.h"

#define FIT_MOMENTS 24     /* most moments with a price */
#define FIT_COLUMNS 96     /* most cuts */

struct fit_column {
	int64_t time;              /* of what runs again, picoseconds */
	int64_t most;              /* bytes at the fullest moment, relaxed */
	double share;              /* of the master's mix */
	bool *kept;                /* [storages] */
	int64_t *profile;          /* [ops] bytes by position, relaxed */
};

struct fit_dual {
	const struct fit_base *base;
	struct fit_network *network;
	const int64_t
		*fixed;      /* [ops] bytes by position whatever is kept: the base's, or with what was seen to come on top */
	int64_t cap;
	uint32_t columns, moments;
	struct fit_column column[FIT_COLUMNS];
	uint32_t moment[FIT_MOMENTS];  /* positions */
	double price[FIT_MOMENTS];     /* picoseconds a byte, of the best bound */
	double bound;              /* picoseconds; as far as floating point goes, and for this order */
	uint32_t best;             /* column of the best bound */
	double *sums;              /* [ops + 1] scratch */
	int64_t *prices;           /* [storages] scratch */
	struct arena arena;
};

/* Prices of storages at moments, rounded down; more than the step's time for what is dominated. price: [storages]; sum:
 * [ops + 1] scratch. O(ops + storages). */
void fit_dual_prices(const struct fit_base *base, const uint32_t *moment, const double *lambda, uint32_t moments,
	double *sum, int64_t *price);
/* Bytes by position with what is kept, relaxed. O(ops + storages). */
void fit_dual_profile(const struct fit_base *base, const int64_t *fixed, const bool *kept, int64_t *profile);

/* Solves the dual at a cap. fixed: NULL for the base's. warm: moments of another cap's dual to begin with, or NULL. OK;
 * INFEASIBLE where what is fixed is above the cap at some moment; CANCELLED, LIMIT, NO_MEMORY. Free with
 * fit_dual_free() in any case. Some 5 to 20 cuts. */
enum status fit_dual_solve(const struct fit_base *base, struct fit_network *network, int64_t cap, const int64_t *fixed,
	const struct fit_dual *warm, struct control *control, struct fit_dual *dual);
void fit_dual_free(struct fit_dual *dual);
