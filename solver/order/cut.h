/* cut.h: the cheapest state in which an op can run: the minimum cut bound T2. */
#pragma once

#include "solver/base/max_flow.h"
#include "order.h"

/* A problem, and the flow network of the last cut: of what its op leaves open. Most ops must run before it, or behind
 * it, and nothing flows between two of either. */
struct order_cut {
	const struct problem *problem;
	struct max_flow flow;
	uint32_t nodes;            /* ops, then the start and the end, then one per item with several users */
	uint32_t *item_node;       /* item -> its node, or NONE */
	uint32_t *item_arc;        /* item -> its first arc, or NONE; then one arc per user */
	bool prices;               /* moving an op costs a unit */
	int64_t scale;             /* a byte in units of the network */
	int64_t constant;          /* bytes that are alive in every state */
	uint8_t *side;             /* [nodes] enum flow_side */
	uint32_t *stack;           /* scratch [ops] */
	struct arena arena;
};

/* prices: among cheapest states prefer those near an order. O(problem). */
enum status order_cut_init(struct order_cut *cut, const struct problem *problem, bool prices);
void order_cut_free(struct order_cut *cut);

/* The least bytes live while op runs, over all states in which it can: base + products + workspace + cut. Exact, and
 * a lower bound under every order's peak. The state's ops are then those with cut->flow.reached[op].
 * position: op -> place in an order; with it, ops further than `distance` from op's place keep their side, so that the
 * result is no bound unless distance >= ops, and, with prices, few ops change sides. NULL: no order.
 * O(problem), and one max-flow. */
enum status order_cut_at(struct order_cut *cut, uint32_t op, const uint32_t *position, uint32_t distance,
	struct control *control, int64_t *bytes);

/* split [ops]: an order with the state of the last cut, at op, before op and everything else behind it, each as they
 * stand. Returns op's place. O(ops). */
uint32_t order_cut_split(const struct order_cut *cut, const uint32_t *order, uint32_t op, uint32_t *split);

/* The certificate of the last cut, which must have been made without prices and positions. */
enum status order_cut_certificate(const struct order_cut *cut, uint32_t op, struct order_certificate *certificate);
