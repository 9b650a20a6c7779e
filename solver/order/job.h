/* job.h: one run of the orderer: the best order and bound so far. */
#pragma once

#include "cut.h"
#include "model.h"

/* memory: a store of answers for one run, where the caller has none. */

struct order_memory {
	struct order_answer *answer; /* a hash table */
};

/* A store in memory, empty. It forgets what it has no memory for. Free with order_memory_free(). */
struct order_store order_memory_store(struct order_memory *memory);
void order_memory_free(struct order_memory *memory);

#define SEED_BETWEEN (ORDER_ROAM + 1) /* the strategies before it give the other seeds */
#define SEEDS (SEED_BETWEEN + 1)

struct order_job {
	const struct problem *problem;
	const struct order_options *options;
	struct control control;        /* the call's own: its ticks start at 0 */
	uint64_t effort;               /* control.limit at most; 0: that isn't changed */
	int64_t gap;                   /* when control.limit was set */
	struct order_model model, reversed;
	int64_t *alive;                /* op -> LB2; NULL until computed */
	uint32_t *order;               /* the best so far */
	int64_t peak;
	const char *winner;
	int64_t bound;
	struct order_certificate certificate;
	uint32_t *seed[SEEDS];         /* the seeds' orders, repaired in place; NULL: none */
	int64_t seed_peak[SEEDS];
	uint32_t *count;               /* scratch [items] */
	int64_t *live;                 /* scratch [ops] */
	struct order_store own;        /* answers of this run, in memory */
	struct order_memory memory;
	uint32_t solved, reused;
	struct arena arena;
};

/* Takes over the order if it is better than the best so far. */
void order_job_offer(struct order_job *job, const uint32_t *order, const char *winner);
/* Raises the bound, with what proves it (and the op at which). */
void order_job_raise(struct order_job *job, int64_t bound, enum order_proof proof, uint32_t op);
/* From here on the run of a large problem ends where 7/8 of what was spent, and 1/8 of the effort at least, brought the
 * best order and the bound no nearer to each other; half, and 1/32, where at most 0.1 % is left between them. */
void order_job_hurry(struct order_job *job);
/* Nothing is left to gain: proved, or the bound is above the ceiling that was asked for. */
bool order_job_done(const struct order_job *job);

/* Answers to sub-problems, from this run or from the caller's store. An answer begins with the ticks it took, which
 * are charged when the caller's store saves them, so that a store changes times but no results. A run that was
 * stopped keeps nothing: status is the answer's. */
bool order_job_find(struct order_job *job, const uint64_t key[2], void *answer, size_t bytes);
void order_job_keep(struct order_job *job, const uint64_t key[2], const void *answer, size_t bytes, enum status status);

/* begin: seeds and first bounds of a run. */

/* One seed's order, by its strategy; the program's order and "updates between", or all simple orders; and LB2. */
enum status order_seed(const struct order_job *job, enum order_strategy strategy, uint32_t *order);
enum status order_run_seeds(struct order_job *job, bool all);
enum status order_run_alive(struct order_job *job);

/* Raises the bound by the cuts at ops where the least live bytes of all known orders are highest: no cut at an op is
 * above these. At most so many cuts. */
enum status order_run_cuts(struct order_job *job, uint32_t cuts);

/* best: seeds, bounds, and the steps that close the gap between them. */

/* The best order that the effort allows. LIMIT when neither a proof nor a decision was reached. */
enum status order_run_best(struct order_job *job);

/* bound: the certainly-alive bound LB2. */

/* alive: [ops]; for each op the bytes that are live while it runs in every order: base, its workspace, and each
 * item touched by it or an op before it, and by it or an op after it. topological: any valid order.
 * O((arcs + uses) * ops / 512) time, O(ops + items) memory. CANCELLED and LIMIT leave alive incomplete. */
enum status order_bound_alive(const struct order_model *model, const uint32_t *topological,
	struct control *control, int64_t *alive);

/* inductor: the orders that PyTorch's Inductor tries (torch/_inductor/memory.py, 2.15; reorder_for_peak_memory), to
 * the op. */

/* Its topological_sort_lpmf (after Oh and Ha, DAC 2006): among the ready ops the one that raises the peak so far least,
 * then the one that grows the live bytes least, then the earliest. The peak so far begins at what the step keeps at its
 * end. O(arcs + ops * ready ops). */
enum status order_inductor_lpmf(const struct problem *problem, uint32_t *order);
/* Its topological_sort_bfs: the ready op whose predecessors ran first, compared place by place. O(arcs log ops) on all
 * but contrived inputs. */
enum status order_inductor_bfs(const struct problem *problem, uint32_t *order);
/* Its topological_sort_dfs: depth first from the op that touches fewest bytes, operands in the same order. O(arcs log
 * ops). */
enum status order_inductor_dfs(const struct problem *problem, uint32_t *order);

/* repair: min-cut repair T7. */

/* Improves an order in place by moving, for an op v at its peak, the ops of v's cheapest state before v and the others
 * behind; offers every improvement to the job, and raises its bound by the cuts. Stops when the job is done, when an
 * op at the peak cannot do better, after `failures` rounds in a row without a better order, or at the control's end.
 * cut must have been made with prices. Each round takes a few max-flows. */
enum status order_repair(struct order_job *job, struct order_cut *cut, uint32_t *order, uint32_t failures);

/* roam: ROAM's orderer, as published (arXiv 2310.19295). */

/* Offers ROAM's order to the job, copies it into order [ops], which may be NULL, and fills roam with its segments and
 * branches, to be freed with mem_free. roam NULL: only segments and branches, no leaves. LB2 must have been run. */
enum status order_run_roam(struct order_job *job, uint32_t *order, struct order_roam *roam);

/* seeds: fast orders that the deeper steps start from. */

enum order_greedy_rule {
	ORDER_GREEDY_LIST,     /* least growth (most freed minus allocated), then most successors: XLA's list scheduler */
	ORDER_GREEDY_LPMF      /* least peak so far, then least growth: PyTorch Inductor's LPMF */
};

/* Greedy orders; order is [ops]. Ties go to the smaller number, or to the larger where prefer_late is set (for
 * reversed models, so that ties keep program order). O(arcs log ops) on all but contrived inputs. */
enum status order_greedy(
	const struct order_model *model, enum order_greedy_rule rule, bool prefer_late, uint32_t *order);

/* The list rule for all ops but those of sequence [length], which run in that order among themselves; dependencies
 * allow it. O(arcs log ops), as above. */
enum status order_greedy_beside(
	const struct order_model *model, const uint32_t *sequence, uint32_t length, uint32_t *order);

/* Always the ready op of the smallest (group, priority); priority is a permutation. group may be NULL. O(arcs + ops log
 * ops). */
enum status order_by_priority(
	const struct order_model *model, const uint8_t *group, const uint32_t *priority, uint32_t *order);

/* Post-order depth-first search from the last ops, the operand with most other users and largest total size
 * first: XLA's DFS memory scheduler. O(arcs + ops log ops). */
enum status order_depth_first(const struct order_model *model, uint32_t *order);

/* series: the least peak of a series-parallel step. */

/* Finds the best order and proves it, or does nothing where the step isn't series-parallel. */
enum status order_run_series(struct order_job *job);

/* shave: precedences that every order within a threshold keeps, and the bound that follows. */

/* Raises the bound of the run by precedence shaving, first to the best peak, else by halving what is left. all: tries
 * all pairs of ops and spends half of the effort at most; else those that keep ops at the peak from their cheapest
 * states, an eighth of the effort at most, and offers the orders seen on the way. OK, also where nothing was gained;
 * CANCELLED; NO_MEMORY. Memory O(problem + edges); time O(ops) maximum flows a pass, and one short augmentation for
 * each pair. */
enum status order_run_shaving(struct order_job *job, bool all);

/* tournament: the best ready op among those whose need fits. */

/* A complete binary tree over the ops, sorted by the need they start with. Each node knows the range of needs below
 * it and its best op: the least by key, then by second, then the smaller number (the larger if late). */
struct order_tournament {
	uint32_t leaves;           /* a power of two; node 1 is the root, node leaves + i leaf i */
	uint32_t *slot;            /* op -> its leaf's node */
	int64_t *least, *most;     /* node -> range of needs of the ops in it that take part */
	uint32_t *best;            /* node -> op, or NONE */
	int64_t *key, *second;     /* op -> */
	bool late;
};

/* need: [ops], what the leaves are sorted by; nothing takes part yet. O(ops log ops). */
enum status order_tournament_init(
	struct order_tournament *tournament, uint32_t ops, const int64_t *need, struct arena *arena);
/* Lets op take part with these keys, or changes them. O(log ops). */
void order_tournament_put(struct order_tournament *tournament, uint32_t op, int64_t need, int64_t key, int64_t second);
void order_tournament_remove(struct order_tournament *tournament, uint32_t op);
/* The best op of those that need no more than room, or NONE. O(log ops) while needs stay near those at the start. */
uint32_t order_tournament_best(const struct order_tournament *tournament, int64_t room);

static inline bool order_tournament_has(const struct order_tournament *tournament, uint32_t op)
{
	return tournament->best[tournament->slot[op]] != NONE;
}
/* The least need of all; INT64_MAX without ops. */
static inline int64_t order_tournament_least(const struct order_tournament *tournament)
{
	return tournament->least[1];
}

/* waists: memory-insensitive ops: comparable with every other op, so that the problem falls apart there. */

/* True when op is in path [count]; place says where ops of the path are, and may hold anything for the others. */
static inline bool order_on_path(const uint32_t *path, uint32_t count, const uint32_t *place, uint32_t op)
{
	return place[op] < count && path[place[op]] == op;
}

/* Which ops of a set are comparable with all others of it (MAGIS' narrow waist nw = 0): waist [count], by position.
 * path lists the set's ops in a topological order, and place [ops] is its inverse. lowest [count + 1] becomes, for
 * each position, the least position behind the last predecessor of an op from there on: lowest[i + 1] > i says that
 * all ops behind i depend on it. Dependencies through ops outside the set don't count. O(arcs of the set). */
void order_find_waists(const struct order_model *model, const uint32_t *path, uint32_t count, const uint32_t *place,
	uint32_t *lowest, bool *waist);

/* window: a stretch of an order as a problem of its own, with its first and last state fixed. */

/* The ops of an order's positions first .. first + ops - 1, numbered from 0 in that order. Items touched before the
 * window are there from its start, items touched behind it stay to its end, and what it does not touch is base. */
struct order_window {
	struct order_model model;
	uint32_t first;
	uint64_t key[2];           /* equal for windows that differ in their ops' numbers and in base only */
	struct arena arena;
};

/* Cuts a window out of an order. live is the order's profile, position its inverse. Free with order_window_free().
 * O(the window's items and their users). */
enum status order_window_cut(struct order_window *window, const struct order_model *model, const uint32_t *order,
	const uint32_t *position, const int64_t *live, uint32_t first, uint32_t ops);
void order_window_free(struct order_window *window);

/* Replaces the window's stretch of the order by an order of the window; local is used up. */
void order_window_apply(const struct order_window *window, uint32_t *order, uint32_t *local);

/* Looks for an order of the window that stays within threshold, in the store first. OK: found, in order (the window's
 * numbers). INFEASIBLE: none exists. LIMIT: unknown after so many states in each direction. */
enum status order_window_solve(
	struct order_job *job, const struct order_window *window, int64_t threshold, uint32_t states, uint32_t *order);

/* Improves an order in place by windows around its peak, small ones first, while that helps and the job is not done,
 * and offers what it finds to the job. */
enum status order_improve_windows(struct order_job *job, uint32_t *order, uint32_t states);

/* search: exact search for an order that stays within a threshold. */

struct order_search_limits {
	uint32_t states;           /* distinct states kept, at most */
	uint64_t moves;            /* ops kept on the ways between them, at most */
};

/* Looks for an order of which no live bytes exceed the threshold. OK: found, in order [ops]. INFEASIBLE: none exists,
 * and *bound is a threshold below which that stays so: every order peaks at *bound or more. LIMIT: unknown. CANCELLED.
 * *states: how many were visited. Depth first over downsets, with safe moves (T3) and safe runs (T4); a state is
 * known by a 128-bit hash of its ops. Memory is bounded by limits, time is exponential in general. */
enum status order_search_within(const struct order_model *model, int64_t threshold,
	const struct order_search_limits *limits, struct control *control, uint32_t *order, int64_t *bound,
	uint32_t *states);

/* The least peak: thresholds from `bound`, a lower bound, upwards, reusing what was searched. OK: order has the least
 * peak, *bound. LIMIT: *bound is still a lower bound, raised as far as was proved; stops above `ceiling` as well
 * (INFEASIBLE: every order peaks at *bound > ceiling). */
enum status order_search_least(const struct order_model *model, int64_t ceiling,
	const struct order_search_limits *limits, struct control *control, uint32_t *order, int64_t *bound,
	uint32_t *states);
