/* model.h: the orderers' view of a problem, the same forward and backward in time.
 *
 * An item is alive in a state S exactly when some op that touches it is in S and some is not, where an
 * item that is there from the start counts as touched by an op before all others, and a live-out item as
 * touched by one after all others. Complementing S and reversing all arcs keeps that, so a reversed model
 * is a model, and every algorithm here also works from the end (T5). */
#pragma once

#include "solver/graph/problem.h"

struct order_model {
	uint32_t ops, items;
	int64_t base;
	struct csr pred, succ;     /* op -> ops */
	struct csr touch;          /* op -> items */
	struct csr users;          /* item -> ops that touch it, the producer included */
	const int64_t *size;       /* item -> bytes */
	const bool *from_start;    /* item -> there before the first op */
	const bool *to_end;        /* item -> still there after the last op */
	const int64_t *workspace;  /* op -> bytes while it runs */
};

/* The model of a problem. Its new arrays live in arena, the rest is the problem's. O(problem). */
enum status order_model_of(const struct problem *problem, struct arena *arena, struct order_model *model);

/* The same problem with time reversed: shares all arrays. An order of it, read backwards, is an order of the model. */
struct order_model order_model_reversed(const struct order_model *model);

/* Live bytes at each position of an order, as problem_peak() defines them, into live [ops]. Returns the peak.
 * count is scratch of [items]. O(model). */
int64_t order_profile(const struct order_model *model, const uint32_t *order, uint32_t *count, int64_t *live);

/* ---- walking from state to state ---- */

struct order_walk {
	const struct order_model *model;
	int64_t live;              /* bytes of the state */
	uint32_t *waiting;         /* op -> predecessors not yet run */
	uint32_t *left;            /* item -> ops that touch it and have not run */
	uint32_t *rest;            /* item -> their ids, exclusive-ored: the last one's id when left is 1 */
	int64_t *opens;            /* op -> bytes of the items it would be the first to touch */
	int64_t *closes;           /* op -> bytes of the items it would be the last to touch */
	uint32_t *changed;         /* ops whose opens or closes the last order_walk_run changed, repeats possible */
	uint32_t changes;
};

/* Sets the walk to the state where nothing has run. Arrays live in arena. O(model). */
enum status order_walk_start(struct order_walk *walk, const struct order_model *model, struct arena *arena);
/* Runs a ready op, or takes back the op run last. O(its items and their users). */
void order_walk_run(struct order_walk *walk, uint32_t op);
void order_walk_undo(struct order_walk *walk, uint32_t op);

/* Bytes that op needs above the state's while it runs, and by how much the state grows. */
static inline int64_t order_walk_need(const struct order_walk *walk, uint32_t op)
{
	return walk->opens[op] + walk->model->workspace[op];
}
static inline int64_t order_walk_growth(const struct order_walk *walk, uint32_t op)
{
	return walk->opens[op] - walk->closes[op];
}

/* Reads an order from its end. */
void order_turn(uint32_t *order, uint32_t ops);
