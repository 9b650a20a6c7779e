/* search.h: states of storages that fit a cap along a base order, at little extra time. */
#pragma once

#include "bound.h"

/* base_order: orders of a step's ops that recomputation is decided along, and what they say of every storage. */

struct recompute_base {
	const struct recompute_step *step;
	uint32_t *order, *position; /* [ops] */
	uint64_t fingerprint; /* of the order */
	/* Of droppable storages, positions in the order; NONE: there is none. */
	uint32_t *made, *last_forward; /* [storages] */
	uint32_t *first_read, *last_read; /* [storages] by ops after the pass */
	uint32_t *asked; /* [storages] the first position at which a replay may ask for its state: it, or what is made of it,
						is read after the pass */
	uint32_t *overwritten; /* [storages] the first position after the pass that writes it in place; NONE: none does */
	/* A kept storage is charged for the positions from..until, inclusive, and for nothing where from > until. */
	uint32_t *from, *until;
	uint32_t window; /* positions that the backward pass of a layer takes, about: RECOMPUTE_LATE stays over no more */
	bool *dominated; /* [storages] what its readers make takes no more bytes and less time: never worth keeping for
						itself */
	int64_t *fixed; /* [ops] bytes at each position whatever is kept, persistent ones included */
	/* What ops of the pass never touch comes and goes as the order says. Ops that touch nothing else are passed over by
	 * a replay. */
	uint32_t *active, actives; /* positions of the other ops, ascending */
	int64_t *outer;        /* [ops] bytes at each position of what the pass never touches, and workspace */
	int64_t *outer_before; /* [ops] of it between the op before and this one */
	int64_t *gap; /* [actives] most outer bytes at positions behind the active one and before the next, 0 where there
					 are none */
	uint32_t *gap_at;   /* [actives] that position */
	struct csr read_at; /* droppable storage -> positions of its readers after the pass, ascending */
	struct arena arena;
};

/* Of any order [ops]; it is copied. Where it is not topological, what an op needs moves before it. Views move down to
 * right before the first op that needs them. OK or NO_MEMORY. O(step). Free with recompute_base_free(), also after
 * NO_MEMORY.
 */
enum status recompute_base_of(const struct recompute_step *step, const uint32_t *order, struct recompute_base *base);
void recompute_base_free(struct recompute_base *base);
#define recompute_base_drop recompute_base_free

/* The program order with every update as soon as what it needs is there. casts: gradients are cast to a wider type
 * right before their updates alone, as where all are checked together before the first update. order: [ops]. OK;
 * INFEASIBLE: nothing is cast so; NO_MEMORY. O(arcs log ops). */
enum status recompute_order_early(const struct recompute_step *step, bool casts, uint32_t *order);

/* dual: the least extra time along one order, relaxed: prices at a few moments, one minimum cut for each set of
 * prices.
 *
 * A storage that is kept lies in memory at every moment between its last reader of the pass and its first one after it.
 * Moments where the relaxed plan is above the cap get a price per byte; the cut at these prices is a column of the
 * master program (Kelley's cutting planes), whose optimum mixes columns. It equals the LP relaxation of integer
 * programs as Checkmate's (Jain et al., MLSys 2020) that fix the order, on all graphs it was compared on. */

#define RECOMPUTE_MOMENTS 24 /* most moments with a price */
#define RECOMPUTE_COLUMNS 96 /* most cuts */

struct recompute_column {
	int64_t time;     /* of what runs again, picoseconds */
	int64_t most;     /* bytes at the fullest moment, relaxed */
	double share;     /* of the master's mix */
	bool *kept;       /* [storages] */
	int64_t *profile; /* [ops] bytes by position, relaxed */
};

struct recompute_dual {
	const struct recompute_base *base;
	struct recompute_network *network;
	const int64_t
		*fixed; /* [ops] bytes by position whatever is kept: the base's, or with what was seen to come on top */
	int64_t cap;
	uint32_t columns, moments;
	struct recompute_column column[RECOMPUTE_COLUMNS];
	uint32_t moment[RECOMPUTE_MOMENTS]; /* positions */
	double price[RECOMPUTE_MOMENTS];    /* picoseconds a byte, of the best bound */
	double bound;    /* picoseconds; as far as floating point goes, and for this order */
	uint32_t best;   /* column of the best bound */
	double *sums;    /* [ops + 1] scratch */
	int64_t *prices; /* [storages] scratch */
	struct arena arena;
};

/* Prices of storages at moments, rounded down; more than the step's time for what is dominated. price: [storages]; sum:
 * [ops + 1] scratch. O(ops + storages). */
void recompute_dual_prices(const struct recompute_base *base, const uint32_t *moment, const double *lambda,
	uint32_t moments, double *sum, int64_t *price);
/* Bytes by position with what is kept, relaxed. O(ops + storages). */
void recompute_dual_profile(
	const struct recompute_base *base, const int64_t *fixed, const bool *kept, int64_t *profile);

/* Solves the dual at a cap. fixed: NULL for the base's. warm: moments of another cap's dual to begin with, or NULL. OK;
 * INFEASIBLE where what is fixed is above the cap at some moment; CANCELLED, LIMIT, NO_MEMORY. Free with
 * recompute_dual_free() in any case. Some 5 to 20 cuts. */
enum status recompute_dual_solve(const struct recompute_base *base, struct recompute_network *network, int64_t cap,
	const int64_t *fixed, const struct recompute_dual *warm, struct control *control, struct recompute_dual *dual);
void recompute_dual_free(struct recompute_dual *dual);

/* fold: storages that play the same part in equal layers, so that one change can be made in all of them at once. */

struct recompute_fold {
	uint32_t classes;
	struct csr members; /* class -> droppable storages, ascending; only classes of two and more */
	uint32_t most;      /* members of the largest class */
	uint32_t *of;       /* [storages] class, or NONE */
	struct arena arena;
};

/* Storages are equal when their sizes are, the ops that touch them, and so on for some steps outwards: colours are
 * refined (Weisfeiler and Leman 1968). It is no proof of symmetry: a search plays what it changes. OK or NO_MEMORY.
 * O(step). Free with recompute_fold_free() in any case. */
enum status recompute_fold_find(const struct recompute_step *step, struct recompute_fold *fold);
void recompute_fold_free(struct recompute_fold *fold);

#define RECOMPUTE_FEW 16
#define RECOMPUTE_SMALL 4096 /* bytes: storages below are left to the cuts */

struct recompute_search {
	const struct recompute_step *step;
	const struct recompute_base *base;
	struct recompute_network *network;
	struct recompute_replay *replay;
	struct control *control; /* cancellation; ticks are counted in it */
	int64_t cap;
	uint64_t limit, end; /* control->ticks at which a part of the search ends, and at which all parts do */
	/* The best states that fit, and what they come to; extra is INT64_MAX while nothing fits. */
	uint8_t *best; /* [storages] */
	int64_t extra, peak;
	uint8_t *lowest; /* [storages] while nothing fits: the states with the lowest peak that was seen */
	int64_t lowest_peak;
	/* scratch */
	uint8_t *state;   /* [storages] */
	uint8_t *dropped; /* [storages] the state of what cuts don't keep */
	uint32_t *list;   /* [storages] */
	double *score;    /* [storages] */
	struct recompute_fold fold;
	enum status status; /* NO_MEMORY or CANCELLED stop everything */
	struct arena arena;
};

/* OK or NO_MEMORY. Free with recompute_search_free() in any case. */
enum status recompute_search_new(const struct recompute_step *step, struct recompute_network *network,
	struct recompute_replay *replay, struct control *control, struct recompute_search *search);
void recompute_search_free(struct recompute_search *search);

/* Another base order and cap: what was best stays if it fits there. */
void recompute_search_begin(struct recompute_search *search, const struct recompute_base *base, int64_t cap);
/* Plays states; true where they fit, which makes them the best if they are. */
bool recompute_try(struct recompute_search *search, const uint8_t *state);
/* True while the part of the search may go on. A part is so many ticks. */
void recompute_allow(struct recompute_search *search, uint64_t ticks);
bool recompute_goes_on(const struct recompute_search *search);

/* Plays states with one changed, which is taken back; true where they make sense. */
bool recompute_look(
	struct recompute_search *search, uint8_t *state, uint32_t storage, uint8_t to, int64_t *extra, int64_t *peak);
/* The list [count] by score, highest first; ties stay in their order. scratch: [count]. O(count log count). */
void recompute_sort(uint32_t *list, const double *score, uint32_t count, uint32_t *scratch);

/* What a cut keeps, as states: all else that can be dropped is held. */
void recompute_states_of(const struct recompute_step *step, const bool *kept, uint8_t *state);

/* ---- parts of the search: each makes the best better, or leaves it ---- */

/* Cuts of a dual mixed in pairs, the dual anew with the transients that the replay showed, until near the dual's bound.
 */
void recompute_primal(struct recompute_search *search, struct recompute_dual *dual);
/* The best states' own transients as what is fixed: cuts at the prices that come of it, mixed, as long as that is
 * faster. warm: as recompute_dual_solve(). */
void recompute_reprice(struct recompute_search *search, const struct recompute_dual *warm);
/* From states that do not fit: the change that takes away most of what is above the cap for its time, until nothing is.
 */
void recompute_repair(struct recompute_search *search, const uint8_t *start);
/* Storages back to kept, or from again to held, while that fits: most time for a byte first. */
void recompute_fill(struct recompute_search *search);
/* All choices of keep, hold and each where they are few enough to be played in what is allowed: at most RECOMPUTE_FEW
 * storages. */
void recompute_enumerate(struct recompute_search *search);
/* One kept storage dropped and others kept in its place. */
void recompute_swap(struct recompute_search *search);
/* Cuts at prices changed at random around a dual's, filled: for few large storages, where two cuts are coarse (GRASP,
 * Feo and Resende 1995). */
void recompute_perturb(struct recompute_search *search, const struct recompute_dual *dual, uint32_t tries);
/* Changes at random from the best, or the lowest, slower ones too (simulated annealing). slope: picoseconds that a byte
 * of cap is worth; hot: a slowdown in picoseconds that is taken rather often in the beginning. */
void recompute_anneal(struct recompute_search *search, double slope, double hot);

/* late_updates: updates that wait for reruns. */

/* The same order, but for updates of what an op of the forward pass reads: they move behind the last op that may ask
 * for that op to run again, and what they need from other updates with them, so that no temporary of theirs waits.
 * order: [ops]. False: out of memory. O(arcs). */
bool recompute_updates_late(const struct recompute_step *step, uint32_t *order);

/* floor: the least memory in which an op can run, in any order with any recomputation; and the proof that nothing
 * fits below it.
 *
 * Look at the first moment that an op z runs. The ops that ran by then are a set S that holds z's ancestors and with
 * every op its ancestors. What is written once in every plan, by an op of S, and read by an op outside of S (z among
 * them) is there; so is what z reads. What plans may write again may be gone. The least of that over all S is a minimum
 * cut, that of an order's bound T2 (solver/order/cut.h) in a problem in which what may be written again weighs nothing:
 * a gradient stays until its update, or its update is done and what that makes stays, or what the gradient is made of
 * does. */

/* *above: no plan of the step keeps the cap while the op runs; then *certificate is the proof, its arcs the caller's.
 * loose: recompute_bounds' step. OK, CANCELLED, LIMIT, NO_MEMORY. One flow on the step's ops. */
enum status recompute_floor(const struct recompute_step *loose, uint32_t op, int64_t cap, struct control *control,
	bool *above, struct recompute_certificate *certificate);

/* replay: a choice of states played out along an order of the step's ops: what runs when, the memory at every moment,
 * the extra time. */

struct recompute_instance { int64_t bytes; uint32_t first, last; };

struct recompute_replay {
	const struct recompute_step *step;
	/* results of the last recompute_play() */
	bool valid;    /* every op that runs again finds what it read at first */
	int64_t peak;  /* bytes, persistent ones included */
	int64_t extra; /* picoseconds of ops that run again */
	int64_t
		*profile; /* [ops] by position of the base order: most bytes while the op, or what runs again before it, runs */
	uint32_t peak_position; /* the first with the peak */
	uint32_t length;        /* of the sequence: of the base's active ops and reruns, or of all */
	uint32_t *run;          /* [length] ops in the order they run, 2 * op + 1: again */
	uint64_t *
		stays; /* [length] of an op that runs again: which of its recompute_step.makes stay, by bit; the others die at once */
	uint64_t ticks; /* memory accesses, roughly */
	/* scratch */
	uint32_t *at; /* [length] position in the base order */
	size_t run_room, at_room, stays_room;
	struct recompute_instance *instance;
	size_t instances, instance_room;
	uint32_t *current; /* [storages] instance that is read now, or NONE */
	uint32_t *version; /* [storages] writers that ran again in the current instance; 0: it is from the pass, or gone */
	uint32_t *seed; /* [ops] instance of a random op's saved state, or NONE */
	uint32_t *when; /* [ops] position in the sequence of its first run */
	uint32_t *late; /* [storages] something after the pass, or that runs again, touches it: where there are copies */
	bool *needed;            /* [storages] in the closure of what is read after the pass */
	bool sought;             /* needed is of these states */
	uint32_t *out, outs;     /* storages that are there after the step */
	uint32_t *loose, looses; /* storages to be forgotten after this op unless read again soon */
	struct recompute_want { uint32_t storage, version; } *stack;
	size_t stack_room;
	int64_t *born, *died; /* [length + 2] bytes of instances, by their first place and the one behind their last */
	size_t born_room, died_room;
	int64_t copied; /* bytes of the copies of what is kept and late */
	uint32_t *cell; /* current, version, late, loose and seed lie there */
	/* The last play along an order: the next one takes back what it wrote since states first differ, and goes on from
	 * there. Before the first op after the pass all states are alike. */
	struct recompute_past {
		uint64_t order; /* recompute_base.fingerprint; 0: there is none */
		uint8_t *state; /* [storages] */
		struct recompute_mark {
			uint32_t length, looses;
			size_t instances, changes;
			int64_t extra, copied;
		} *mark; /* [ops] before the base's active ops, from turn to end */
		uint32_t turn, end, since; /* since: the sequence's length at the last mark */
		uint32_t sought; /* the active op at which needed was found, or NONE */
		struct recompute_change { uint32_t cell, was; } *change; /* cells, and behind them when instances end */
		size_t changes, room;
	} past;
	bool failed; /* out of memory */
	struct arena arena;
};

/* OK or NO_MEMORY. Free with recompute_replay_free(), also after NO_MEMORY. */
enum status recompute_replay_new(const struct recompute_step *step, struct recompute_replay *replay);
void recompute_replay_free(struct recompute_replay *replay);
#define recompute_replay_drop recompute_replay_free

/* Plays the states [storages] (enum recompute_state; of droppable ones only) along the base order. Before an op after
 * the pass, what it reads and isn't there runs again, what that reads first, in the order of the forward pass. A result
 * that is kept is written a second time into memory that dies at once. Memory as in problem.h: an instance lives from
 * its maker to its last reader. OK or NO_MEMORY. O(sequence). */
enum status recompute_play(struct recompute_replay *replay, const struct recompute_base *base, const uint8_t *state);
/* The same with every op in the sequence. */
enum status recompute_play_all(
	struct recompute_replay *replay, const struct recompute_base *base, const uint8_t *state);
