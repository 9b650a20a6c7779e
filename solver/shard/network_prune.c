/* network_prune.c: strategies that another one of the same node is never worse than, whatever the neighbours do.
 *
 * Dead-end elimination (Desmet et al., Nature 356, 1992) with Goldstein's criterion: s goes where for some t cost(t) -
 * cost(s) plus, for each edge, the most that t pays more than s is not above zero, and t takes no more memory. Most
 * pairs are told apart by a witness on each edge: what t pays more where s pays least is no more than the most. Others
 * are told apart as soon as the most on some edges and the witnesses on the rest are above zero. A node is looked at
 * again only where something beside it went since. */

#include "network_build.h"

#define TILE 16                    /* strategies whose tables are turned together: as many rows stay in the cache */

/* An edge of the node at hand, seen from it. */
struct side {
	int64_t *pay;                  /* [own strategies][others] what the pair costs; others that are gone are forbidden */
	int64_t *across;               /* [others][own strategies] the same: strategies are compared column by column */
	uint32_t own;
	int64_t *partners;             /* [others] how many own strategies may go with it */
	uint32_t others; /* strategies of the neighbour that are left, and those that went since the node is looked at */
	int64_t times;                 /* edges of a copy of the node */
	bool sometimes, loop,
		step; /* may be missing in some copies; leads to the node itself, to that of the copy before */
	uint32_t witness;              /* the neighbour's strategy with which the one at hand pays least */
	uint32_t last;                 /* ... that last told two apart */
	int64_t low;                   /* what the witness shows that t pays more */
};

struct pruning {
	struct network *network;
	struct csr near;               /* node -> 2 * edge, and 1 where the node is its "to" */
	bool *gone;                    /* [choices] */
	struct side *side;             /* [edges of the node] */
	uint32_t sides;
	bool witnessed;                /* there is a witness on every edge */
	uint32_t *rival, rivals, by; /* strategies that may dominate the one at hand: all, or those that may go with the
									witness of side `by` (1 more), */
	uint32_t with;                 /* which is this one */
	uint32_t *looked, *lost, time; /* [nodes] when it was last looked at, and lost a strategy */
	int64_t *room;                 /* for the tables of the sides */
	size_t rooms;
	uint32_t dropped;
};

/* True where an edge may be missing in some copies of the node. */
static bool sometimes(const struct chain_edge *edge, bool is_from)
{
	uint8_t where = is_from ? edge->from_where : edge->to_where;
	return edge->step || where == CHAIN_FIRST || where == CHAIN_LAST;
}

/* Edges of a copy of the node: one to each copy of the other end, where only that has several. */
static int64_t network_prune_times(const struct shard_chain *chain, const struct chain_edge *edge, bool is_from)
{
	uint8_t own = is_from ? edge->from_where : edge->to_where, far = is_from ? edge->to_where : edge->from_where;
	return own != CHAIN_EVERY && far == CHAIN_EVERY ? chain->copies[chain->segment[is_from ? edge->to : edge->from]] : 1;
}

/* The strategies of an edge's other end that are left, and what each pair costs, row by row. */
static void open_side(const struct pruning *pruning, uint32_t node, uint32_t near, int64_t *room, struct side *side)
{
	const struct shard_chain *chain = &pruning->network->chain;
	const struct chain_edge *edge = &chain->edge[near / 2];
	bool is_from = near % 2 == 0;
	uint32_t other = is_from ? edge->to : edge->from, own = chain_strategies(chain, node),
			 columns = chain_strategies(chain, edge->to);
	*side = (struct side){ .pay = room,
		.own = own,
		.times = network_prune_times(chain, edge, is_from),
		.sometimes = sometimes(edge, is_from),
		.loop = edge->from == edge->to,
		.step = edge->step };
	FOR(j, chain_strategies(chain, other))
		side->others += side->loop || !pruning->gone[chain->first[other] + j];
	side->across = room + (size_t)own * side->others;
	side->partners = side->across + (size_t)own * side->others;
	CLEAR(side->partners, side->others);
	for (uint32_t begin = 0; begin < own; begin += TILE) {
		uint32_t end = SMALLER(begin + TILE, own);
		for (uint32_t j = 0, at = 0; j < chain_strategies(chain, other); j++) {
			bool gone = pruning->gone[chain->first[other] + j];
			if (gone && !side->loop)
				continue;
			const int64_t *pair = &chain->pair[edge->table + (is_from ? j : (size_t)j * columns)];
			int64_t *across = side->across + (size_t)at * own;
			int64_t partners = 0;
			FOR_FROM(i, begin, end) {
				int64_t pays = gone ? SHARD_FORBIDDEN : pair[is_from ? (size_t)i * columns : i];
				across[i] = pays;
				room[(size_t)i * side->others + at] = pays;
				partners += pays < SHARD_FORBIDDEN;
			}
			side->partners[at] += partners;
			at++;
		}
	}
}

/* The edges of a node, and their tables. */
static enum status open_sides(struct pruning *pruning, uint32_t node)
{
	const struct shard_chain *chain = &pruning->network->chain;
	size_t own = chain_strategies(chain, node), wanted = 0;
	FOR_ITEMS(item, &pruning->near, node) {
		const struct chain_edge *edge = &chain->edge[item / 2];
		uint32_t other = item % 2 == 0 ? edge->to : edge->from;
		wanted += (2 * own + 1) * (chain_strategies(chain, other));
	}
	if (wanted > pruning->rooms) {
		mem_free(pruning->room);
		MAKE(pruning->room, wanted);
		pruning->rooms = pruning->room ? wanted : 0;
		NEED(pruning->room);
	}
	int64_t *room = pruning->room;
	pruning->sides = pruning->rivals = 0;
	FOR_ITEMS(each, &pruning->near, node) {
		struct side *side = &pruning->side[pruning->sides++];
		open_side(pruning, node, each, room, side);
		room += (2 * own + 1) * side->others;
	}
	return OK;
}

/* The most that t pays more than s on an edge; SHARD_FORBIDDEN where s may and t may not; some number above `enough`
 * where it is more than that. */
static int64_t most_more(struct side *side, uint32_t s, uint32_t t, int64_t enough)
{
	const int64_t *of_s = side->pay + (size_t)s * side->others, *of_t = side->pay + (size_t)t * side->others;
	int64_t most = INT64_MIN;
	uint32_t last = side->last;
	if (last < side->others && of_s[last] < SHARD_FORBIDDEN && of_t[last] - of_s[last] > enough)
		return SHARD_FORBIDDEN;
	FOR(i, side->others) {
		if (of_s[i] >= SHARD_FORBIDDEN)
			continue;
		int64_t more = of_t[i] - of_s[i];
		most = LARGER(more, most);
		if (of_t[i] >= SHARD_FORBIDDEN || more > enough) {
			side->last = i;
			return SHARD_FORBIDDEN;
		}
	}
	return most;
}

/* Where s pays least on each edge. */
static void find_witnesses(struct pruning *pruning, uint32_t s)
{
	pruning->witnessed = true;
	for (struct side *side = pruning->side; side < pruning->side + pruning->sides; side++) {
		const int64_t *pay = side->pay + (size_t)s * side->others;
		int64_t least = SHARD_FORBIDDEN;
		side->witness = NONE;
		FOR(j, side->others)
			if (pay[j] < least) {
				least = pay[j];
				side->witness = j;
			}
		pruning->witnessed &= side->witness != NONE;
	}
}

/* What the witnesses show that t costs more than s, at least: above zero, t doesn't dominate. INT64_MIN: they tell
 * nothing. */
static int64_t least_more(const struct pruning *pruning, int64_t more, uint32_t s, uint32_t t)
{
	if (!pruning->witnessed)
		return INT64_MIN;
	for (struct side *side = pruning->side; side < pruning->side + pruning->sides; side++) {
		const int64_t *column = side->across + (size_t)side->witness * side->own;
		int64_t of_t = column[t], least = of_t - column[s];
		if (of_t >= SHARD_FORBIDDEN)
			return SHARD_FORBIDDEN;
		if (side->sometimes && least < 0)
			least = 0;
		if (least > CHAIN_COST_MAX / side->times)
			return SHARD_FORBIDDEN;
		if (least < -CHAIN_COST_MAX / side->times)
			return INT64_MIN;
		side->low = least * side->times;
		more += side->low;
	}
	return more;
}

/* The largest number that, `times` times, leaves the sum at zero or below. */
static int64_t most_left(int64_t sum, int64_t low, int64_t times)
{
	int64_t left = low - sum;
	return left >= 0 ? left / times : -((-left + times - 1) / times);
}

/* least: what least_more() says. Edge by edge the most takes the place of what the witness shows, until the sum is
 * above zero. */
static bool dominates(const struct pruning *pruning, int64_t more, int64_t least, uint32_t t, uint32_t s)
{
	bool known = least != INT64_MIN;
	more = known ? least : more;
	for (struct side *side = pruning->side; side < pruning->side + pruning->sides; side++) {
		int64_t low = known ? side->low : 0;
		if (side->loop && !side->step)
			return false;
		int64_t most = most_more(side, s, t, known ? most_left(more, low, side->times) : SHARD_FORBIDDEN);
		if (most >= SHARD_FORBIDDEN)
			return false;
		if (side->sometimes && most < 0)
			most = 0;
		if (most == INT64_MIN)  /* nothing goes with s */
			return true;
		if (most != 0 && (most > CHAIN_COST_MAX / side->times || most < -CHAIN_COST_MAX / side->times))
			return false;
		more += most * side->times - low;
	}
	return more <= 0;
}

/* True where a neighbour lost a strategy since the node was last looked at: nothing else makes one dominate another. */
static bool to_look_at(const struct pruning *pruning, uint32_t node)
{
	const struct shard_chain *chain = &pruning->network->chain;
	bool any = pruning->looked[node] == 0;
	FOR_ITEMS(item, &pruning->near, node) {
		const struct chain_edge *edge = &chain->edge[item / 2];
		any |= pruning->lost[item % 2 == 0 ? edge->to : edge->from] >= pruning->looked[node];
	}
	return any;
}

/* A strategy of the node at hand goes. */
static void network_prune_drop(struct pruning *pruning, uint32_t node, uint32_t s)
{
	const struct shard_chain *chain = &pruning->network->chain;
	uint32_t count = chain_strategies(chain, node);
	pruning->gone[chain->first[node] + s] = true;
	pruning->lost[node] = pruning->time;
	pruning->dropped++;
	for (struct side *side = pruning->side; side < pruning->side + pruning->sides; side++)
		FOR_WHILE(i, count, side->loop)
			side->pay[(size_t)i * side->others + s] = side->across[(size_t)s * side->own + i] = SHARD_FORBIDDEN;
}

/* The strategies that may go with one of the witnesses: on the side where they are fewest. No other one dominates. */
static void network_prune_find_rivals(struct pruning *pruning, uint32_t count)
{
	uint32_t by = 0, with = NONE;
	int64_t fewest = INT64_MAX;
	FOR_WHILE(i, pruning->sides, pruning->witnessed) {
		const struct side *side = &pruning->side[i];
		if (side->partners[side->witness] < fewest) {
			fewest = side->partners[side->witness];
			by = i + 1;
			with = side->witness;
		}
	}
	if (pruning->rivals > 0 && pruning->by == by && pruning->with == with)
		return;
	const int64_t *column = by > 0 ? pruning->side[by - 1].across + (size_t)with * count : NULL;
	pruning->by = by;
	pruning->with = with;
	pruning->rivals = 0;
	FOR(t, count)
		if (!column || column[t] < SHARD_FORBIDDEN)
			pruning->rival[pruning->rivals++] = t;
}

static bool is_dominated(struct pruning *pruning, uint32_t node, uint32_t s)
{
	const struct shard_chain *chain = &pruning->network->chain;
	uint32_t first = chain->first[node], count = chain->first[node + 1] - first;
	find_witnesses(pruning, s);
	network_prune_find_rivals(pruning, count);
	FOR(i, pruning->rivals) {
		uint32_t t = pruning->rival[i];
		if (t == s || pruning->gone[first + t] || chain->usage[first + t] > chain->usage[first + s])
			continue;
		int64_t more = chain->cost[first + t] - chain->cost[first + s], least = least_more(pruning, more, s, t);
		if (least <= 0 && dominates(pruning, more, least, t, s))
			return true;
	}
	return false;
}

static enum status prune_node(struct pruning *pruning, uint32_t node, struct control *control)
{
	const struct shard_chain *chain = &pruning->network->chain;
	uint32_t first = chain->first[node], count = chain->first[node + 1] - first;
	if (!to_look_at(pruning, node))
		return OK;
	pruning->looked[node] = ++pruning->time;
	TRY(open_sides(pruning, node));
	FOR(s, count) {
		if (control && control_status(control) == CANCELLED)
			return CANCELLED;
		if (!pruning->gone[first + s] && is_dominated(pruning, node, s))
			network_prune_drop(pruning, node, s);
	}
	return OK;
}

static enum status find_near(struct pruning *pruning, struct arena *arena)
{
	const struct shard_chain *chain = &pruning->network->chain;
	uint32_t *MAKE(row, 2 * (size_t)chain->edges),
			 *item = mem_alloc(2 * (size_t)chain->edges, sizeof *item), pairs = 0;
	FOR_WHILE(e, chain->edges, row && item)
		FOR(end, 2) {
			row[pairs] = end ? chain->edge[e].to : chain->edge[e].from;
			item[pairs++] = 2 * e + end;
		}
	enum status status = row && item ? csr_of_pairs(arena, chain->nodes, pairs, row, item, &pruning->near) : NO_MEMORY;
	mem_free(row);
	mem_free(item);
	return status;
}

/* Closes the gaps: choices and tables keep their order. */
static void compact(struct pruning *pruning)
{
	struct network *network = pruning->network;
	struct shard_chain *chain = &network->chain;
	size_t at = 0;
	FOR(e, chain->edges) {
		struct chain_edge *edge = &chain->edge[e];
		size_t from = edge->table;
		edge->table = at;
		FOR_SPAN(i, chain->first, edge->from)
			for (uint32_t j = chain->first[edge->to]; j < chain->first[edge->to + 1]; j++, from++)
				if (!pruning->gone[i] && !pruning->gone[j])
					chain->pair[at++] = chain->pair[from];
	}
	chain->pairs = at;
	int64_t *pair = mem_resize(chain->pair, at, sizeof *pair);
	chain->pair = pair ? pair : chain->pair;
	uint32_t kept = 0, begin = 0;
	FOR(node, chain->nodes) {
		uint32_t end = chain->first[node + 1];
		FOR_FROM(i, begin, end)
			if (!pruning->gone[i]) {
				chain->cost[kept] = chain->cost[i];
				chain->usage[kept] = chain->usage[i];
				network->choice[kept++] = network->choice[i];
			}
		begin = end;
		chain->first[node + 1] = kept;
	}
}

enum status network_prune(struct network *network, struct control *control)
{
	OWN(arena) arena = { 0 };
	struct pruning pruning = { .network = network };
	enum status status = find_near(&pruning, &arena);
	uint32_t before = NONE;
	if (!(ROOMS(&arena, network->chain.first[network->chain.nodes], pruning.gone, pruning.rival) &&
		ROOM(&arena, pruning.side, 2 * (size_t)network->chain.edges) &&
		ROOMS(&arena, network->chain.nodes, pruning.looked, pruning.lost)))
		status = NO_MEMORY;
	for (int round = 0; round < 4 && status == OK && before != pruning.dropped; round++) {
		before = pruning.dropped;
		FOR_WHILE(node, network->chain.nodes, status == OK)
			status = prune_node(&pruning, node, control);
	}
	if (status == OK) {
		compact(&pruning);
		network->dropped = pruning.dropped;
	}
	mem_free(pruning.room);
	return status;
}
