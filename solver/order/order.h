/* order.h: in what order should the ops run?
 *
 * Every orderer takes a struct problem and returns an order with its peak, a proven lower bound
 * under every order's peak, and the certificate of that bound. Bounds are in the problem's own
 * bytes: problem->base is included in peak and bound alike.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     order       strategies, results, certificates; one run
 *     model       a problem, the same forward and backward in time
 *     begin       seeds and first bounds of a run
 *     seeds       the simple orders
 *     greedy      list scheduling by memory
 *     inductor    the orders that PyTorch's Inductor tries
 *     tournament  the best ready op among those that fit
 *     bound       the bound of what is certainly alive (LB2)
 *     cut         the bound of the cheapest state of an op (T2)
 *     shave       precedences that every good order keeps, and their bound
 *     best        strategy best: seeds, bounds, what closes the gap
 *     repair      min-cut repair
 *     window      a stretch of an order, solved exactly
 *     waists      ops at which the problem falls apart
 *     search      exact search within a threshold
 *     roam        ROAM's orderer
 *     job         best order and bound so far; answers found before
 *     memory      a store of answers for one run
 *     series      the least peak of a series-parallel step
 *     explain     why an item is alive while an op runs
 *     check       checks a certificate without the solver */
#pragma once

#include "solver/base/proof.h"
#include "solver/graph/problem.h"

#define ORDER_STRATEGIES(X) /* name of the knob's value, what it does */ \
	X(AUTO, "auto", "best on one device; program on several, as frameworks run it; with strategy=auto the fastest found " \
		"within the memory cap, or else within the program order's peak") \
	X(PROGRAM, "program", "the order of the file") \
	X(UPDATES_LAST, "updates-last", "forward, backward, then weight updates, else program order") \
	X(LIST, "list", "greedy: the ready op that frees most") \
	X(LPMF, "lpmf", "greedy: the ready op that raises the peak least, then the live bytes least") \
	X(DFS, "dfs", "depth first, the largest operand first") \
	X(REVERSE_LPMF, "reverse-lpmf", "lpmf, built from the last op to the first") \
	X(ROAM, "roam", "segments, weight-update assignment and exact leaves, as in the ROAM paper") \
	X(BEST, "best", "min-cut repair, exact windows and exact search") \
	X(FAST, "fast", "the shortest simulated step found among orders within the memory cap, with more effort than auto; " \
		"begins with best") \
	X(INDUCTOR_LPMF, "inductor-lpmf", "PyTorch Inductor's lpmf, op by op") \
	X(INDUCTOR_BFS, "inductor-bfs", "Inductor's bfs: the ready op whose operands are oldest") \
	X(INDUCTOR_DFS, "inductor-dfs", "Inductor's dfs: depth first, what touches least bytes first")

#define X(id, name, help) ORDER_##id,
enum order_strategy { ORDER_STRATEGIES(X) ORDER_STRATEGY_COUNT };
#undef X
extern const char *const order_strategy_names[ORDER_STRATEGY_COUNT];

/* What proves a bound, and its name in plan files. */
#define ORDER_PROOFS(X) \
	X(NONE, "none")        /* only base and the largest working set, which needs no proof */ \
	X(ALIVE, "alive")      /* LB2: the items certainly alive while `op` runs */ \
	X(CUT, "cut")          /* a flow below the minimum cut at `op` */ \
	X(PRECEDENCE, "precedence") /* precedences that follow from one another, then a flow below the minimum cut at `op` */ \
	X(SERIES, "series")    /* the step is series-parallel: reduced again to check it */ \
	X(SEARCH, "search")    /* an exhausted search: re-run it to check it */ \
	X(CONTRADICTED, "contradicted") /* nothing is proved: whoever runs the step needs less than this graph can */
#define X(id, name) ORDER_PROOF_##id,
enum order_proof { ORDER_PROOFS(X) ORDER_PROOF_COUNT };
#undef X
extern const char *const order_proof_names[ORDER_PROOF_COUNT];

/* One arc of the certificate's flow network (the network is described at order_check_certificate). */
struct order_arc {
	uint32_t item;         /* from this item's memory, or NONE for a dependency arc */
	uint32_t from;         /* dependency arcs: the later op; otherwise NONE */
	uint32_t to;           /* the op that the flow enters; NONE: the end of the step (live-out items) */
	int64_t flow;          /* > 0 */
};

struct order_certificate {
	enum order_proof proof;
	uint32_t op;           /* ALIVE, CUT: the op at which the bound holds; NONE otherwise */
	uint32_t arcs;         /* CUT, PRECEDENCE */
	struct order_arc *arc; /* of PRECEDENCE: op `from` waits for op `to`; flow 0: by the cut at `from`, 1: at `to` */
};

/* The parts of ROAM's plan: `order=roam` fills them, other strategies leave them empty. */
struct order_segment {
	uint32_t first, last;  /* positions in the order, inclusive */
	uint32_t waist;        /* the memory-insensitive op that ends it, or NONE for the last one of its main path */
	uint8_t phase;         /* PHASE_FORWARD or PHASE_BACKWARD: the main path it belongs to */
	int64_t peak;          /* bytes, base included */
	bool exact;            /* its leaf problems were all solved to optimality */
};
enum order_branch_reason {
	ORDER_BRANCH_AT_ONCE,  /* where it became ready it raised neither the peak nor the live bytes behind it */
	ORDER_BRANCH_DELAYED,  /* it did there, and does not where it runs */
	ORDER_BRANCH_NEEDED,   /* an op of the main path needs it there */
	ORDER_BRANCH_LAST      /* it was delayed to the end */
};
extern const char *const order_branch_reasons[4]; /* a few words each */

struct order_branch {
	uint32_t op;           /* the branch's first op (a side or weight-update branch) */
	uint32_t ops;          /* how many ops it has */
	uint32_t earliest, latest, segment; /* window of segments, and the one chosen */
	bool delayed;          /* it did not run where it became ready */
	enum order_branch_reason why; /* it runs where it does */
};
struct order_roam {
	uint32_t segments, branches;
	struct order_segment *segment;
	struct order_branch *branch;
	uint32_t *branch_of;   /* [ops] the op's branch, or NONE on the main paths */
};

struct order_result {
	uint32_t *order;       /* [ops] */
	int64_t peak;          /* bytes */
	struct proof proof;    /* live peak: bound <= every order's peak */
	const char *winner;    /* static text: the heuristic or step that found the order */
	struct order_certificate certificate;
	struct order_roam roam;
	uint32_t solved, reused; /* sub-problems searched, and answered from the store */
};
void order_result_free(struct order_result *result);
#define order_result_drop order_result_free

/* Answers to sub-problems, kept by the caller between runs (and shared by equal layers within one).
 * The key is a fingerprint of everything the answer depends on; the payload is opaque bytes. */
struct order_store {
	void *context;
	/* Copies at most `bytes` of the payload under key, and returns how many; 0: not there. */
	size_t (*find)(void *context, const uint64_t key[2], void *data, size_t bytes);
	void (*keep)(void *context, const uint64_t key[2], const void *data, size_t bytes);
};

#define ORDER_EFFORT_DEFAULT UINT64_C(200000000) /* ticks: about three seconds */

struct order_options {
	enum order_strategy strategy;
	uint64_t ticks;        /* effort for this call; 0: ORDER_EFFORT_DEFAULT */
	int64_t ceiling;       /* > 0: a bound above it ends the run with the best order so far */
	bool brief;            /* nothing that mostly proves */
	uint32_t node_limit;   /* ROAM's largest leaf in ops; 0: 100 */
	uint32_t delay_radius; /* by how many segments ROAM's branches wait, plus one; 0: to the end */
	const struct order_store *store; /* may be NULL */
	/* Makes so many calls, in any order, also at the same time; NULL: one after another. */
	void (*side_by_side)(uint32_t count, void (*call)(void *context, uint32_t i), void *context);
	/* Called with every better order or bound, from the solving thread, with the ticks spent so far; may be NULL. */
	void (*improved)(void *context, uint64_t ticks, int64_t peak, int64_t bound, const char *winner);
	void *context;
};

/* Orders the ops. OK; LIMIT when effort ran out before a proof (the result is valid and complete);
 * CANCELLED with the best so far (result->order is NULL only if not even program order was evaluated);
 * NO_MEMORY with an empty result. Free the result in any case. */
enum status order_solve(const struct problem *problem, const struct order_options *options,
	struct control *control, struct order_result *result);

/* The first plan: the best of all seeds and the bound LB2, O(arcs log ops + ops * arcs / 512); above 20,000 ops the
 * bound is that of a few cuts instead, which keeps it near linear. */
enum status order_quick(const struct problem *problem, struct control *control, struct order_result *result);

/* ---- checking: no code shared with the solver ---- */

/* Verifies a bound from its certificate. BAD_INPUT, with the reason, when it does not hold.
 *
 * ALIVE: an item is certainly alive at op v when it is there from the start or produced by v or an
 * ancestor of v, and live-out or used by v or a descendant of v. Their sum, base and workspace are the bound.
 *
 * CUT: the network's nodes are ops and items. Arcs: item -> user and live-out item -> end, together at most the
 * item's bytes out of its producer; later op -> earlier op of a dependency, unlimited. Sources: v's ancestors
 * and what is there from the start; sinks: v, v's descendants and the end. Any flow that keeps conservation and
 * capacities is below every cut, and each cut is the live memory before v in some order's state; hence
 * base + flow + v's products + workspace is a bound. O(problem).
 *
 * PRECEDENCE: by induction, an order whose peak is below the bound keeps each precedence: the state at the op where it
 * was found, with the other op forced to the wrong side and all earlier precedences kept, needs the bound or more. And
 * so does the state at `op` with all of them: hence there is no such order. A maximum flow for each.
 *
 * SERIES, SEARCH and NONE carry nothing to verify: the first two are BAD_INPUT here (re-run them; tidemark-check merges
 * the parts of SERIES by code of its own), NONE accepts the largest single working set. */
enum status order_check_certificate(const struct problem *problem, const struct order_certificate *certificate,
	int64_t bound, struct error *error);

/* Why an item is alive at a position of an order. */
enum order_reason {
	ORDER_DEAD,            /* it is not */
	ORDER_CERTAIN,         /* in every order it is alive while this op runs */
	ORDER_IN_CUT,          /* part of the cheapest state in which this op can run */
	ORDER_CHOICE           /* another order would have freed it, or not yet made it */
};
/* Reasons at one position after the other of an order: what can be kept between them is. problem and order must live as
 * long. NULL when out of memory; O(problem). order_explainer_at() fills reason [items]: a max-flow that starts from the
 * last one's. */
struct order_explainer;
struct order_explainer *order_explainer_new(const struct problem *problem, const uint32_t *order);
void order_explainer_free(struct order_explainer *explainer);
enum status order_explainer_at(
	struct order_explainer *explainer, uint32_t position, struct control *control, enum order_reason *reason);
