/* decide.h: the plan of a scenario: candidates, each a wish and what it comes to, of which one is taken.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     planner    a run: rules and store, then a choice
 *     decide     what its files share
 *     shortlist  which of several plans is taken: the one comparison
 *     assemble   one pass through the stages
 *     choose     the table of candidates, and the loop over them
 *     shallow    what is chosen for a step with few of its equal layers
 *     rounds     how much of the cap is left to order and layout
 *     variants   other scenarios that answer the one asked for: all kept, each schedule
 *     moves      shardings of small graphs, judged by plans alone
 *     slowdown   time over memory: bound, plans, published strategies */
#pragma once

#include "src/stages/table.h"
#include "src/plan/verdict.h"

/* shortlist: which of several plans is taken: the one place that compares them.
 *
 * Of plans at most a thousandth slower than the fastest the one that needs least memory is taken. "As fast" is no
 * order (a as fast as b, b as c, yet c not as a): so what may still be taken is kept until all are known. */

/* Bytes as plan_needs() counts them, and picoseconds of a step; INT64_MAX: unknown. Of a plan, or estimated. */
struct outcome { int64_t needs, time; };

/* What is sought: the fastest plan within limit bytes, or the smallest; where nothing is within the limit, the
 * smallest. */
struct goal {
	enum { GOAL_SMALLEST, GOAL_FASTEST } of;
	int64_t limit;              /* of what a plan needs (verdict.h); < 0: none */
};

/* < 0: a is better than b, by memory and by the time of the step, nothing else; 0: neither is. */
int outcome_order(const struct goal *goal, const struct outcome *a, const struct outcome *b);
bool outcome_better(const struct goal *goal, const struct outcome *a, const struct outcome *b);
struct outcome plan_outcome(const struct plan *plan);

/* Plans that may be taken: within the limit none that another one beats in time and memory, or by more than a
 * thousandth of the time; while none is within it, the smallest. Which one is taken doesn't depend on the order in
 * which they came, but for equal ones: the first. */
struct shortlist {
	struct goal goal;
	int64_t lead;               /* picoseconds: orders of slower steps needn't be laid out; 0: any may be taken */
	uint32_t plans;
	struct plan *plan[32];      /* owned; more than any search finds */
};

/* Takes the plan over; NULL: nothing happens. */
void shortlist_add(struct shortlist *list, struct plan *plan);
/* Adds all plans of another list, which is empty then. */
void shortlist_join(struct shortlist *list, struct shortlist *other);
/* The fastest within the limit, or else the smallest: what others have to beat. Lent; NULL: the list is empty. */
struct plan *shortlist_leader(const struct shortlist *list);
/* The one that is taken, or NULL; the list is empty then. */
struct plan *shortlist_take(struct shortlist *list);
void shortlist_drop(struct shortlist *list);
/* The one of two plans, either of which may be NULL, that is taken within a limit; gives back the other. */
struct plan *better_of(int64_t limit, struct plan *first, struct plan *second);

/* Whether a plan needs more than the memory cap; or so much more than a limit that no order and no layout takes off it
 * what heuristics' arena has above that. */
bool plan_is_over(const struct plan *plan);
bool plan_is_far(const struct plan *quick, int64_t limit);
bool bytes_are_far(int64_t bytes, int64_t limit);

#define HUGE_OPS 100000     /* of a device's graph: each candidate is planned once */

/* assemble: one pass through the stages, without a choice between plans. */

/* What a run plans, and with what. */
struct planning {
	struct stage_context *stage;
	struct graph *input;
	const struct scenario *scenario;
	struct error *error;
	struct planner *planner;    /* is told of leaders; NULL: of another scenario */
	bool state_first;           /* plans are judged with the optimizer's state made before the first step */
};
/* Nothing else is looked for. */
static inline bool plan_is_enough(const struct planning *planning, const struct plan *plan)
{
	return planning->stage->any && !plan_is_over(plan);
}
/* The end of a choice: the plan (may be NULL), limited where it was cancelled; what ends every run leaves none. */
struct plan *planning_keep(const struct planning *planning, struct plan *plan);

/* Of graph and scenario. */
uint64_t plan_fingerprint(const struct graph *graph, const struct scenario *scenario);

/* Order and layout of a transformed graph; of a pipeline those of all ranks that differ. quick: by heuristics alone. A
 * new reference or NULL. */
struct plan *plan_transformed(
	const struct planning *planning, struct transformed *transformed, const struct plan_wish *wish, bool quick);
/* In every order that may be taken: adds to a list. What went wrong is the error's status. */
void plan_each_order(const struct planning *planning, struct transformed *transformed, const struct plan_wish *wish,
	bool quick, struct shortlist *list);
/* All stages. A new reference or NULL. */
struct plan *plan_once(const struct planning *planning, const struct plan_wish *wish, bool quick);
/* Picoseconds of a step in an order that a few passes find, mostly within 3 % of what a search comes to; -1: none, or
 * the error's status. What is below lead is added to a list, which may be NULL. */
int64_t plan_glance(const struct planning *planning, const struct plan *plan, int64_t lead, struct shortlist *list);
/* Another plan of the same results, for whoever looks on while it is compared: not complete. NULL: no memory. */
struct plan *plan_so_far(const struct planning *planning, const struct plan *plan);
/* What the plan that was chosen says besides: the step in the program's order, and where orders for time were sought
 * the bound on the step. OK or NO_MEMORY. O(plan). */
enum status plan_finish(struct plan *plan, const struct rules *rules);

/* Tells the planner's owner, who looks on, that a plan leads (planner.c). */
void planner_lead(const struct planning *planning, const struct plan *best);
bool planner_is_watched(const struct planning *planning);

/* What the first pass of choose_plan() wishes. */
struct plan_wish first_wish(const struct scenario *scenario);

/* The best plan of a scenario whose schedule is named: what a first pass finds, rounds that fit choices to the memory
 * cap, rivals of a sharding. rival: a plan of another schedule, which spares candidates that can't be better than it,
 * or NULL. A new reference, or NULL with the error's status. Cancelled with a plan at hand: that, limited. */
struct plan *choose_plan(const struct planning *planning, const struct plan *rival);
/* The same by heuristics alone, without rivals. */
struct plan *choose_quickly(const struct planning *planning);

/* The plan of auto for the same step with few of its equal layers, under a budget that is as much smaller, and its
 * sharding drawn out to all layers. first: a sharding of a step for which shard_is_deep() holds. NULL: layers are
 * not equal in all that counts, or the error's status. O(step) beside the plan. */
struct plan *choose_shallow(const struct planning *planning, const struct sharded *first, struct sharding *told);

/* variants: other scenarios whose plans answer the one asked for. */

/* A copy to be changed, and what plans it; not to be moved. */
struct variant { struct planning planning; struct scenario scenario; };
/* False: no memory. Else scenario_done(&variant->scenario). */
bool variant_open(struct variant *variant, const struct planning *planning);
/* Makes a variant's scenario one for a smaller step that is such a part of the whole: nothing changes that step any
 * more, as the whole one was changed already, and its budget is that part. */
void variant_of_part(struct scenario *scenario, double part);

/* choose_plan() or choose_quickly(). With recompute=auto the better one of that and of the plan that recompute=none
 * comes to, whose orders, cuts and shardings are sought for a step that keeps all: what keeps the cap so is not always
 * found on the way to what runs again. Under a search for shardings the step with all kept comes first, and where the
 * cap leaves it its fastest plan there is nothing else to look for. */
struct plan *choose_fit(const struct planning *planning, const struct plan *rival, bool quick);

/* The step is cut over pipeline ranks, and their schedule is to be found. */
bool has_free_schedule(const struct scenario *scenario);

/* The plan of the fastest step that keeps the cap among those that choose_plan() finds for every named schedule, of the
 * interleaved one with the numbers of pieces that searches try (of more than 4 the fastest; plans of heuristics have up
 * to 4) unless the knob says how many; where none keeps it, the one that needs least. So it is no worse than any of
 * these by name. The fastest is planned first, and others are left out where they can't be better: without a search for
 * shardings, those whose step takes as long, and those that heuristics find a quarter above the cap. quick: plans of
 * heuristics alone. The plan's scenario is the one asked for. A new reference, or NULL with the error's status. */
struct plan *choose_schedule(const struct planning *planning, bool quick);

/* rounds: plans with other margins of the memory cap: what one has shown decides on the next. */

/* Whether a search over shardings counts what stays, which may be more or less than an arena: it starts without the
 * cap. */
bool starts_without_cap(const struct scenario *scenario);

/* As long as that helps. Takes over the first plan; returns the best that fits, or that with the smallest arena. A
 * round that is cancelled, or that the pins forbid, leaves the best so far. *compared: rises by the plans made. NULL
 * where no run goes on. */
struct plan *rounds_fit(const struct planning *planning, struct plan *first, bool quick, uint32_t *compared);
/* Adds plans of auto's search within other limits of what stays, without rivals; first: the one without a cap. The
 * margin of the best of them; MARGIN_NO_CAP: there is none. *compared as above. */
int64_t rounds_limits(
	const struct planning *planning, const struct plan *first, struct shortlist *list, uint32_t *compared);

/* moves: shardings found by moves, each judged by a plan: where estimates of what stays say too little of the
 * arena. */

/* What moves are made of and where they led. */
struct shard_moves {
	struct sharding found;      /* no split: nothing better */
	const struct plan *from;    /* the start that it comes from */
	uint32_t plans;             /* made by heuristics alone */
	bool left_out;              /* some start's plans are too dear */
};

/* From each start (plans without a pipeline over ranks, of one graph) ops and tensors that nothing writes are split
 * otherwise, one or two of them at a time; each sharding gets an order and a layout by heuristics. From a start above
 * the cap a move counts that takes less memory and less time than the best plan; from any, one that keeps the cap in
 * less time. best: the best plan so far. Nothing on graphs whose plans are too dear: the ops of all plans are bounded;
 * moves->left_out says so. OK, NO_MEMORY, CANCELLED. Free moves->found in any case. */
enum status moves_find(const struct planning *planning, const struct plan *const *start, uint32_t starts,
	const struct plan *best, struct shard_moves *moves);
