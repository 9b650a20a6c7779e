/* problem.h: what an orderer sees of a graph.
 *
 * Items are the storages that come and go: bytes > 0 and not persistent. Persistent storages
 * are the constant `base`. Sub-problems (segments, windows around the peak) are problems too.
 *
 *   state S       a set of executed ops closed under predecessors
 *   mem(S)        base + sum of item sizes with: producer in S (or NONE), and a user outside S or live_out
 *   live(v at S)  mem(S) + sizes of v's products + workspace[v]; then S becomes S + v
 *   peak          the maximum of live over the order; and of mem of the empty set when there are no ops
 * An item is freed right after its last user has run. An item without users that is not live_out is freed
 * right after its producer. */
#pragma once

#include "graph.h"

struct problem {
	uint32_t ops, items;
	int64_t base;          /* bytes that are always there */
	struct csr pred, succ; /* op -> ops, ascending, no duplicates; acyclic. Holds order pins too. */
	struct csr uses;       /* op -> items it touches but does not produce, ascending */
	struct csr products;   /* op -> items it produces, ascending */
	struct csr users;      /* item -> ops that touch it, ascending, without the producer */
	uint32_t *producer;    /* item -> op, or NONE: there from the start */
	int64_t *size;         /* item -> bytes > 0, rounded up to the alignment */
	bool *live_out;        /* item -> stays to the end */
	int64_t *workspace;    /* op -> bytes while it runs */
	uint8_t *phase;        /* op -> enum phase */
	bool *view;            /* op -> it only gives memory new names; NULL: nobody says */
	uint32_t *program; /* the program order: a topological order of the ops (identity unless pins or parts forbid) */
	uint32_t *storage; /* item -> storage of the graph it came from (NONE in abstract problems) */
	struct arena arena;
};

/* "a runs before b". */
struct order_pin { uint32_t before, after; };

struct memory_rules {
	int64_t alignment; /* >= 1: sizes are rounded up to it in peak, bound and arena alike */
	bool workspace;    /* count ops' workspace */
	const struct order_pin *pin;
	uint32_t pins;
};

/* The whole graph, which has to outlive it, as a problem. INFEASIBLE with the names on the cycle when the pins
 * contradict the dependencies or each other. Free with problem_free(). O(graph). */
enum status problem_of_graph(
	const struct graph *graph, const struct memory_rules *rules, struct problem *problem, struct error *error);
void problem_free(struct problem *problem);
#define problem_drop problem_free

/* ---- evaluation ---- */

/* Live bytes of an order, as defined above. live: [ops] by position, may be NULL.
 * Returns the peak, or -1 when out of memory; *peak_position is the first position that has it (NONE without ops).
 * The order must be valid. O(problem). */
int64_t problem_peak(const struct problem *problem, const uint32_t *order, int64_t *live, uint32_t *peak_position);

/* The positions, inclusive, between which each item is alive under an order: first and last [items]. */
enum status problem_lifetimes(const struct problem *problem, const uint32_t *order, uint32_t *first, uint32_t *last);
