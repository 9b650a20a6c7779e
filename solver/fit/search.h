/* search.h: states of storages that fit a cap along a base order, at little extra time. */
#pragma once

#include "dual.h"
#include "fold.h"
#include "replay.h"

#define FIT_FEW 16
#define FIT_SMALL 4096     /* bytes: storages below are left to the cuts */

struct fit_search {
	const struct fit_step *step;
	const struct fit_base *base;
	struct fit_network *network;
	struct fit_replay *replay;
	struct control *control;   /* cancellation; ticks are counted in it */
	int64_t cap;
	uint64_t limit, end;       /* control->ticks at which a part of the search ends, and at which all parts do */
	/* The best states that fit, and what they come to; extra is INT64_MAX while nothing fits. */
	uint8_t *best;             /* [storages] */
	int64_t extra, peak;
	uint8_t *lowest;           /* [storages] while nothing fits: the states with the lowest peak that was seen */
	int64_t lowest_peak;
	/* scratch */
	uint8_t *state;            /* [storages] */
	uint8_t *dropped;          /* [storages] the state of what cuts don't keep */
	uint32_t *list;            /* [storages] */
	double *score;             /* [storages] */
	struct fit_fold fold;
	enum status status;        /* NO_MEMORY or CANCELLED stop everything */
	struct arena arena;
};

/* OK or NO_MEMORY. Free with fit_search_free() in any case. */
enum status fit_search_new(const struct fit_step *step, struct fit_network *network, struct fit_replay *replay,
	struct control *control, struct fit_search *search);
void fit_search_free(struct fit_search *search);

/* Another base order and cap: what was best stays if it fits there. */
void fit_search_begin(struct fit_search *search, const struct fit_base *base, int64_t cap);
/* Plays states; true where they fit, which makes them the best if they are. */
bool fit_try(struct fit_search *search, const uint8_t *state);
/* True while the part of the search may go on. A part is so many ticks. */
void fit_allow(struct fit_search *search, uint64_t ticks);
bool fit_goes_on(const struct fit_search *search);

/* Plays states and counts what that takes; false where the search can't go on, or the states make no sense. The result
 * is in search->replay. */
bool fit_play_counted(struct fit_search *search, const uint8_t *state);
/* The same with one state changed, which is taken back. */
bool fit_look(struct fit_search *search, uint8_t *state, uint32_t storage, uint8_t to, int64_t *extra, int64_t *peak);
/* The list [count] by score, highest first; ties stay in their order. scratch: [count]. O(count log count). */
void fit_sort(uint32_t *list, const double *score, uint32_t count, uint32_t *scratch);

/* What a cut keeps, as states: all else that can be dropped is held. */
void fit_states_of(const struct fit_step *step, const bool *kept, uint8_t *state);

/* ---- parts of the search: each makes the best better, or leaves it ---- */

/* Cuts of a dual mixed in pairs, the dual anew with the transients that the replay showed, until near the dual's bound.
 */
void fit_primal(struct fit_search *search, struct fit_dual *dual);
/* The best states' own transients as what is fixed: cuts at the prices that come of it, mixed, as long as that is
 * faster. warm: as fit_dual_solve(). */
void fit_reprice(struct fit_search *search, const struct fit_dual *warm);
/* From states that do not fit: the change that takes away most of what is above the cap for its time, until nothing is.
 */
void fit_repair(struct fit_search *search, const uint8_t *start);
/* Storages back to kept, or from again to held, while that fits: most time for a byte first. */
void fit_fill(struct fit_search *search);
/* All choices of keep, hold and each where they are few enough to be played in what is allowed: at most FIT_FEW
 * storages. */
void fit_enumerate(struct fit_search *search);
/* Any other state for a storage, or for all equal ones, while that fits and is faster. */
void fit_refine(struct fit_search *search);
/* One kept storage dropped and others kept in its place. */
void fit_swap(struct fit_search *search);
/* Up to four changes at once, which together fill what the cap leaves: of single storages, of neighbours, and where
 * cuts of a dual along the order differ. bound, slope: of the cap. */
void fit_exchange(struct fit_search *search, const struct fit_dual *dual, int64_t bound, double slope);
/* Cuts at prices changed at random around a dual's, filled: for few large storages, where two cuts are coarse (GRASP,
 * Feo and Resende 1995). */
void fit_perturb(struct fit_search *search, const struct fit_dual *dual, uint32_t tries);
/* Changes at random from the best, or the lowest, slower ones too (simulated annealing). slope: picoseconds that a byte
 * of cap is worth; hot: a slowdown in picoseconds that is taken rather often in the beginning. */
void fit_anneal(struct fit_search *search, double slope, double hot);
