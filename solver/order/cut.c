/* cut.c: the cheapest state in which an op can run: the minimum cut bound T2.
 *
 * A state is the sources' side of a cut. An item costs its bytes when its producer is inside and a user is not:
 * producer -> item with its bytes, item -> each user without limit. A later op inside forces the earlier: later ->
 * earlier without limit. To run op v, v's ancestors must be inside, v and its descendants outside. */

#include "cut.h"

#define START(cut) ((cut)->problem->ops)
#define END(cut) ((cut)->problem->ops + 1)

/* ---- the network ---- */

/* Bytes of all items must stay below FLOW_UNLIMITED when scaled; when they would not, there are no prices. */
static int64_t choose_scale(const struct problem *problem, bool prices)
{
	int64_t sum = 1, scale = prices ? (int64_t)problem->ops + 1 : 1;
	FOR(item, problem->items)
		sum += problem->size[item];
	return sum < BYTES_MAX / scale ? scale : 1;
}

static uint32_t order_cut_number_nodes(struct order_cut *cut)
{
	const struct problem *problem = cut->problem;
	uint32_t nodes = problem->ops + 2;
	FOR(item, problem->items) {
		bool shared = !problem->live_out[item] && csr_length(&problem->users, item) > 1;
		cut->item_node[item] = shared ? nodes++ : NONE;
	}
	return nodes;
}

/* Whether flow may pass an arc: nothing flows between two nodes that are both before the op, or both behind it. */
static bool keeps(const struct order_cut *cut, uint32_t from, uint32_t to)
{
	return cut->side[from] == FLOW_FREE || cut->side[from] != cut->side[to];
}

/* Arcs of an item: all or none of them. */
static uint32_t pairs_of(const struct order_cut *cut, uint32_t item)
{
	const struct problem *problem = cut->problem;
	uint32_t producer = problem->producer[item] == NONE ? START(cut) : problem->producer[item],
			 node = cut->item_node[item];
	uint32_t users = csr_length(&problem->users, item);
	if (problem->live_out[item])
		return producer != START(cut) && keeps(cut, producer, END(cut));
	if (node == NONE)
		return users == 1 && keeps(cut, producer, csr_at(&problem->users, item, 0));
	bool any = keeps(cut, producer, node);
	FOR_ITEMS(user, &problem->users, item)
		any |= keeps(cut, node, user);
	return any ? 1 + users : 0;
}

static void order_cut_add_item(struct order_cut *cut, uint32_t item)
{
	const struct problem *problem = cut->problem;
	struct max_flow *flow = &cut->flow;
	int64_t bytes = problem->size[item] * cut->scale;
	uint32_t producer = problem->producer[item] == NONE ? START(cut) : problem->producer[item],
			 node = cut->item_node[item];
	cut->item_arc[item] = NONE;
	if (pairs_of(cut, item) == 0)
		return;
	uint32_t to = problem->live_out[item] ? END(cut)
		: node != NONE ? node
		: csr_at(&problem->users, item, 0);
	cut->item_arc[item] = flow_add(flow, producer, to, bytes, 0);
	if (to == node)
		FOR_ITEMS(user, &problem->users, item)
			flow_add(flow, node, user, FLOW_UNLIMITED, 0);
}

/* Leaving the side it is on in the order costs an op that is free to do so one unit. position: op -> place, or NULL: no
 * prices. */
static void add_prices(struct order_cut *cut, uint32_t op, const uint32_t *position)
{
	FOR_WHILE(other, cut->problem->ops, position)
		if (cut->side[other] == FLOW_FREE && position[other] < position[op])
			flow_add(&cut->flow, START(cut), other, 1, 0);
		else if (cut->side[other] == FLOW_FREE)
			flow_add(&cut->flow, other, END(cut), 1, 0);
}

static void add_dependencies(struct order_cut *cut)
{
	const struct problem *problem = cut->problem;
	FOR(op, problem->ops)
		FOR_ITEMS(before, &problem->pred, op)
			if (keeps(cut, op, before))
				flow_add(&cut->flow, op, before, FLOW_UNLIMITED, 0);
}

static uint32_t count_pairs(const struct order_cut *cut, bool prices)
{
	const struct problem *problem = cut->problem;
	uint32_t pairs = 0;
	FOR(item, problem->items)
		pairs += pairs_of(cut, item);
	FOR(op, problem->ops) {
		pairs += prices && cut->side[op] == FLOW_FREE;
		FOR_ITEMS(before, &problem->pred, op)
			pairs += keeps(cut, op, before);
	}
	return pairs;
}

/* The network of what the sides leave open. */
static enum status order_cut_build(struct order_cut *cut, uint32_t op, const uint32_t *position)
{
	const uint32_t *prices = cut->prices ? position : NULL;
	flow_free(&cut->flow);
	TRY(flow_init(&cut->flow, cut->nodes, count_pairs(cut, prices != NULL)));
	FOR(item, cut->problem->items)
		order_cut_add_item(cut, item);
	add_prices(cut, op, prices);
	add_dependencies(cut);
	return flow_ready(&cut->flow);
}

enum status order_cut_init(struct order_cut *cut, const struct problem *problem, bool prices)
{
	*cut = (struct order_cut) { .problem = problem, .scale = choose_scale(problem, prices) };
	struct arena *arena = &cut->arena;
	cut->prices = prices && cut->scale > 1;
	NEED(ROOMS(arena, problem->items, cut->item_node, cut->item_arc) && ROOM(arena, cut->stack, problem->ops));
	cut->nodes = order_cut_number_nodes(cut);
	NEED(ROOM(arena, cut->side, cut->nodes));
	FOR(item, problem->items)
		cut->constant += problem->live_out[item] && problem->producer[item] == NONE ? problem->size[item] : 0;
	return OK;
}

void order_cut_free(struct order_cut *cut)
{
	flow_free(&cut->flow);
	arena_free(&cut->arena);
}

/* ---- one cut ---- */

static void order_cut_mark_reachable(struct order_cut *cut, const struct csr *arcs, uint32_t op, uint8_t mark)
{
	uint32_t depth = 0;
	cut->stack[depth++] = op;
	while (depth > 0) {
		uint32_t at = cut->stack[--depth];
		FOR_ITEMS(other, arcs, at) {
			if (cut->side[other] != mark) {
				cut->side[other] = mark;
				cut->stack[depth++] = other;
			}
		}
	}
}

/* The sides of ops and items, given the op that must run between them. */
static void order_cut_mark_sides(struct order_cut *cut, uint32_t op, const uint32_t *position, uint32_t distance)
{
	const struct problem *problem = cut->problem;
	memset(cut->side, FLOW_FREE, cut->nodes);
	cut->side[START(cut)] = FLOW_SOURCE;
	cut->side[END(cut)] = FLOW_SINK;
	order_cut_mark_reachable(cut, &problem->pred, op, FLOW_SOURCE);
	order_cut_mark_reachable(cut, &problem->succ, op, FLOW_SINK);
	cut->side[op] = FLOW_SINK;
	for (uint32_t other = 0; position && distance < problem->ops && other < problem->ops; other++) {
		if (position[other] + distance < position[op])
			cut->side[other] = FLOW_SOURCE;
		else if (position[other] > position[op] + distance)
			cut->side[other] = FLOW_SINK;
	}
	FOR(item, problem->items) {
		uint32_t node = cut->item_node[item], producer = problem->producer[item];
		if (node == NONE)
			continue;
		bool used = producer == NONE || cut->side[producer] == FLOW_SOURCE;
		FOR_ITEMS(user, &problem->users, item)
			used &= cut->side[user] == FLOW_SOURCE;
		if (used)
			cut->side[node] = FLOW_SOURCE;
		else if (producer != NONE && cut->side[producer] == FLOW_SINK)
			cut->side[node] = FLOW_SINK;
	}
}

enum status order_cut_at(struct order_cut *cut, uint32_t op, const uint32_t *position, uint32_t distance,
	struct control *control, int64_t *bytes)
{
	const struct problem *problem = cut->problem;
	order_cut_mark_sides(cut, op, position, distance);
	TRY(order_cut_build(cut, op, position));
	int64_t value = 0;
	control_spend(control, cut->flow.arcs / 4);
	enum status status = flow_maximise(&cut->flow, cut->side, control, &value);
	*bytes = problem->base + cut->constant + problem->workspace[op] + value / cut->scale;
	FOR_ITEMS(product, &problem->products, op)
		*bytes += problem->size[product];
	return status;
}

uint32_t order_cut_split(const struct order_cut *cut, const uint32_t *order, uint32_t op, uint32_t *split)
{
	const bool *inside = cut->flow.reached;
	uint32_t place = 0;
	FOR(i, cut->problem->ops)
		if (inside[order[i]])
			split[place++] = order[i];
	uint32_t count = place;
	split[count++] = op;
	FOR(i, cut->problem->ops)
		if (!inside[order[i]] && order[i] != op)
			split[count++] = order[i];
	return place;
}

/* ---- the certificate ---- */

static void add_certificate_arc(
	struct order_certificate *certificate, uint32_t item, uint32_t from, uint32_t to, int64_t flow)
{
	if (flow > 0)
		certificate->arc[certificate->arcs++] = (struct order_arc) { item, from, to, flow };
}

/* Flow from one item to its users, in the order in which add_item made the arcs. */
static void certify_item(const struct order_cut *cut, uint32_t item, struct order_certificate *certificate)
{
	const struct problem *problem = cut->problem;
	uint32_t arc = cut->item_arc[item];
	if (problem->live_out[item] && problem->producer[item] == NONE)
		add_certificate_arc(certificate, item, NONE, NONE, problem->size[item]);
	else if (arc != NONE && cut->item_node[item] != NONE)
		FOR_ROW(i, &problem->users, item)
			add_certificate_arc(certificate, item, NONE, problem->users.item[i],
				flow_on(&cut->flow, arc + 2 * (1 + i - problem->users.start[item])));
	else if (arc != NONE)
		add_certificate_arc(
			certificate, item, NONE, problem->live_out[item] ? NONE : cut->flow.to[arc], flow_on(&cut->flow, arc));
}

/* Dependencies are the last arcs. */
static uint32_t first_dependency(const struct order_cut *cut)
{
	const struct problem *problem = cut->problem;
	uint32_t kept = 0;
	FOR(op, problem->ops)
		FOR_ITEMS(before, &problem->pred, op)
			kept += keeps(cut, op, before);
	return cut->flow.arcs - 2 * kept;
}

enum status order_cut_certificate(const struct order_cut *cut, uint32_t op, struct order_certificate *certificate)
{
	const struct problem *problem = cut->problem;
	*certificate = (struct order_certificate) { .proof = ORDER_PROOF_CUT, .op = op };
	MAKE(certificate->arc, (size_t)cut->flow.arcs / 2 + problem->items);
	NEED(certificate->arc);
	FOR(item, problem->items)
		certify_item(cut, item, certificate);
	uint32_t arc = first_dependency(cut);
	FOR(later, problem->ops)
		FOR_ITEMS(before, &problem->pred, later) {
			if (!keeps(cut, later, before))
				continue;
			add_certificate_arc(certificate, NONE, later, before, flow_on(&cut->flow, arc));
			arc += 2;
		}
	struct order_arc *shrunk = mem_resize(certificate->arc, certificate->arcs, sizeof *shrunk);
	certificate->arc = shrunk ? shrunk : certificate->arc;
	return OK;
}
