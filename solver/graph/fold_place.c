/* fold_place.c: which copy every op belongs to.
 *
 * A shift says which ops are equal, not where a copy begins: that may be anywhere around a ring of ops, and rings (the
 * forward stream, the backward stream) are cut where the fewest tensors cross. All others go where most of their
 * arguments are. */

#include "fold_steps.h"

#define FAR 100 /* cost of a tensor that goes further than to the next copy */
#define PASSES 4

/* An argument between two orbits, as it is in the middle of the reader's: copy of the reader - copy of the writer is
 * shift
 * + offset of the reader - offset of the writer. */
struct link {
	uint32_t from, to; /* orbits */
	int32_t shift;
	uint32_t
		tensor; /* what the middle of the writer writes there: one number for all readers, wherever their middle is */
};

struct placing {
	const struct fold_run *run;
	struct fold_orbits *orbits;
	struct link *link;
	uint32_t links;
	struct csr from, to; /* orbit -> links that leave it, that come to it */
	uint32_t *ring;      /* [orbits] strongly connected component; NONE where there is just the orbit */
	uint32_t rings;
	bool *placed;
	uint32_t *mark, stamp; /* [tensors] for counting a tensor once */
	struct arena *arena;
};

static uint32_t fold_place_length_of(const struct fold_orbits *orbits, uint32_t orbit)
{
	return orbits->start[orbit + 1] - orbits->start[orbit];
}

static uint32_t fold_place_middle_of(const struct fold_orbits *orbits, uint32_t orbit)
{
	return orbits->item[orbits->start[orbit] + fold_place_length_of(orbits, orbit) / 2];
}

/* ---- links ---- */

static void fold_place_add_link(struct placing *placing, uint32_t from, uint32_t to, uint32_t tensor)
{
	const struct fold_orbits *orbits = placing->orbits;
	const struct graph *graph = placing->run->graph;
	if (orbits->orbit[from] != NONE && graph->tensor[tensor].writer != NONE)
		tensor = graph->writes.item[graph->writes.start[fold_place_middle_of(orbits, orbits->orbit[from])] +
			placing->run->place[tensor]];
	if (orbits->orbit[from] == NONE || orbits->orbit[to] == NONE || orbits->orbit[from] == orbits->orbit[to])
		return;
	placing->link[placing->links++] = (struct link) { orbits->orbit[from], orbits->orbit[to],
		(int32_t)orbits->index[to] - (int32_t)orbits->index[from], tensor };
}

/* Arguments of the op in the middle of every orbit. A tensor that nothing writes joins its readers, as if the first one
 * had written it: one that all copies share joins nothing. */
static enum status fold_place_find_links(struct placing *placing)
{
	const struct graph *graph = placing->run->graph;
	const struct fold_orbits *orbits = placing->orbits;
	size_t most = 0;
	FOR(orbit, orbits->orbits)
		most += graph_operands(graph, fold_place_middle_of(orbits, orbit));
	uint32_t *row, *item;
	NEED(ROOMS(placing->arena, most, row, item, placing->link));
	FOR(orbit, orbits->orbits) {
		uint32_t op = fold_place_middle_of(orbits, orbit), next = fold_place_length_of(orbits, orbit) / 2 + 1;
		uint32_t other = next < fold_place_length_of(orbits, orbit) ? orbits->item[orbits->start[orbit] + next] : NONE;
		FOR(i, graph_operands(graph, op)) {
			uint32_t tensor = graph_operand(graph, op, i), writer = graph->tensor[tensor].writer;
			bool shared = other != NONE && graph_operand(graph, other, i) == tensor;
			if (!shared)
				fold_place_add_link(placing,
					writer != NONE ? writer : placing->run->reader[placing->run->reader_start[tensor]].op, op, tensor);
		}
	}
	FOR(i, placing->links) {
		row[i] = placing->link[i].from;
		item[i] = i;
	}
	enum status status = csr_of_pairs(placing->arena, orbits->orbits, placing->links, row, item, &placing->from);
	FOR(i, placing->links)
		row[i] = placing->link[i].to;
	return status != OK ? status : csr_of_pairs(placing->arena, orbits->orbits, placing->links, row, item, &placing->to);
}

/* ---- rings: Tarjan's algorithm without recursion ---- */

struct tarjan { uint32_t *number, *low, *stack, *path, *next, numbered, depth, height; };

static void close_component(struct placing *placing, struct tarjan *tarjan, uint32_t root)
{
	uint32_t members = 0, orbit;
	do {
		orbit = tarjan->stack[--tarjan->height];
		tarjan->low[orbit] = NONE;
		placing->ring[orbit] = placing->rings;
		members++;
	} while (orbit != root);
	if (members > 1)
		placing->rings++;
	else
		placing->ring[root] = NONE;
}

static void search_from(struct placing *placing, struct tarjan *tarjan, uint32_t root)
{
	tarjan->path[tarjan->depth++] = root;
	while (tarjan->depth) {
		uint32_t orbit = tarjan->path[tarjan->depth - 1];
		if (tarjan->number[orbit] == NONE) {
			tarjan->number[orbit] = tarjan->low[orbit] = tarjan->numbered++;
			tarjan->stack[tarjan->height++] = orbit;
			tarjan->next[orbit] = placing->from.start[orbit];
		}
		if (tarjan->next[orbit] < placing->from.start[orbit + 1]) {
			uint32_t to = placing->link[placing->from.item[tarjan->next[orbit]++]].to;
			if (tarjan->number[to] == NONE)
				tarjan->path[tarjan->depth++] = to;
			else if (tarjan->low[to] != NONE && tarjan->low[to] < tarjan->low[orbit])
				tarjan->low[orbit] = tarjan->low[to];
			continue;
		}
		tarjan->depth--;
		uint32_t low = tarjan->low[orbit];
		if (low == tarjan->number[orbit])
			close_component(placing, tarjan, orbit);
		else if (tarjan->depth && low < tarjan->low[tarjan->path[tarjan->depth - 1]])
			tarjan->low[tarjan->path[tarjan->depth - 1]] = low;
	}
}

static enum status find_rings(struct placing *placing)
{
	uint32_t orbits = placing->orbits->orbits;
	struct tarjan tarjan = { 0 };
	uint32_t **lists[] = { &tarjan.number, &tarjan.low, &tarjan.stack, &tarjan.path, &tarjan.next, &placing->ring };
	FOR(i, COUNT_OF(lists))
		if (!(*lists[i] = arena_alloc(placing->arena, (size_t)orbits + 1, sizeof **lists[i])))
			return NO_MEMORY;
	FILL_NONE(tarjan.number, orbits);
	FOR(orbit, orbits)
		if (tarjan.number[orbit] == NONE)
			search_from(placing, &tarjan, orbit);
	return OK;
}

/* ---- costs ---- */

static int32_t fold_place_distance(const struct placing *placing, const struct link *link)
{
	const int32_t *offset = placing->orbits->offset;
	return link->shift + offset[link->to] - offset[link->from];
}

static uint32_t fold_place_count(struct placing *placing, const struct link *link)
{
	int32_t away = fold_place_distance(placing, link);
	if (away == 0 || !placing->placed[link->from] || !placing->placed[link->to])
		return 0;
	if (away < -1 || away > 1)
		return FAR;
	if (placing->mark[link->tensor] == placing->stamp)
		return 0;
	placing->mark[link->tensor] = placing->stamp;
	return 1;
}

/* Tensors that cross from one copy to another among the links at these orbits. */
static uint64_t fold_place_cost_of(struct placing *placing, const uint32_t *orbit, uint32_t orbits)
{
	uint64_t cost = 0;
	placing->stamp++;
	FOR(i, orbits) {
		FOR_ITEMS(link, &placing->from, orbit[i])
			cost += fold_place_count(placing, &placing->link[link]);
		FOR_ITEMS(item, &placing->to, orbit[i])
			cost += fold_place_count(placing, &placing->link[item]);
	}
	return cost;
}

/* ---- cutting rings ---- */

static int32_t floor_div(int64_t a, int64_t b)
{
	return (int32_t)(a >= 0 ? a / b : -((-a + b - 1) / b));
}

/* Where an orbit stands along the stream, in the middle; backward streams run against the copies. */
static int64_t position_of(const struct placing *placing, uint32_t orbit, bool backward)
{
	int64_t level = placing->run->level[fold_place_middle_of(placing->orbits, orbit)];
	return backward ? -level : level;
}

/* Levels from one copy to the next: the most common in the ring. */
static int64_t period_of(const struct placing *placing, const uint32_t *orbit, uint32_t orbits)
{
	int64_t best = 0;
	uint32_t votes = 0;
	FOR(i, orbits) {
		uint32_t length = fold_place_length_of(placing->orbits, orbit[i]), at = placing->orbits->start[orbit[i]] + length / 2;
		int64_t period = (int64_t)placing->run->level[placing->orbits->item[at]] -
			placing->run->level[placing->orbits->item[at - 1]];
		/* Boyer and Moore's majority vote */
		if (!votes)
			best = period;
		if (period == best)
			votes++;
		else
			votes--;
	}
	return best;
}

static void fold_place_cut_at(
	struct placing *placing, const uint32_t *orbit, uint32_t orbits, int64_t cut, int64_t period, bool backward)
{
	FOR(i, orbits)
		placing->orbits->offset[orbit[i]] = floor_div(position_of(placing, orbit[i], backward) - cut, period) -
			(int32_t)(fold_place_length_of(placing->orbits, orbit[i]) / 2);
}

/* The first cut to try: so that most arguments from and to orbits that are placed already stay in the same copy.
 * Returns how many there are. */
static int64_t first_cut(
	const struct placing *placing, const uint32_t *orbit, uint32_t orbits, int64_t period, bool backward, int64_t *cut)
{
	const struct csr *rows[] = { &placing->from, &placing->to };
	int64_t sum = 0, votes = 0;
	FOR(i, orbits)
		FOR_INT(side, 2)
			FOR_ITEMS(item, rows[side], orbit[i]) {
				const struct link *link = &placing->link[item];
				uint32_t other = side ? link->from : link->to;
				if (!placing->placed[other] || placing->ring[other] == placing->ring[orbit[i]])
					continue;
				/* The copy that the orbit's middle should be in, so that the link does not leave it. */
				int64_t copy = (int64_t)placing->orbits->offset[other] + (side ? -link->shift : link->shift) +
					fold_place_length_of(placing->orbits, orbit[i]) / 2;
				sum += position_of(placing, orbit[i], backward) - copy * period;
				votes++;
			}
	*cut = votes ? sum / votes - period : 0;
	return votes;
}

/* Copies that have an op of every orbit so far. */
static int64_t fold_place_copies_of(const struct placing *placing)
{
	const struct fold_orbits *orbits = placing->orbits;
	int64_t low = INT32_MIN, high = INT32_MAX;
	FOR(orbit, orbits->orbits) {
		int64_t first = orbits->offset[orbit], last = first + fold_place_length_of(orbits, orbit);
		if (!placing->placed[orbit])
			continue;
		low = LARGER(first, low);
		high = SMALLER(last, high);
	}
	return high > low ? high - low : 0;
}

/* True when it has to wait until something beside it is placed. */
static bool place_ring(struct placing *placing, const uint32_t *orbit, uint32_t orbits, bool alone)
{
	int64_t period = period_of(placing, orbit, orbits), best = 0;
	bool backward = period < 0;
	uint64_t least = UINT64_MAX;
	int64_t from;
	period = backward ? -period : period;
	if (!period || (!first_cut(placing, orbit, orbits, period, backward, &from) && !alone))
		return period != 0;
	FOR(i, orbits)
		placing->placed[orbit[i]] = true;
	for (int64_t cut = from - period / 2; cut < from + 2 * period; cut++) {
		fold_place_cut_at(placing, orbit, orbits, cut, period, backward);
		/* Among equals the one that leaves the most whole copies. */
		uint64_t cost = (fold_place_cost_of(placing, orbit, orbits) << 32) + (UINT64_C(1) << 31) -
			(uint64_t)fold_place_copies_of(placing);
		if (cost < least) {
			least = cost;
			best = cut;
		}
	}
	fold_place_cut_at(placing, orbit, orbits, best, period, backward);
	return false;
}

/* ---- all others ---- */

/* The offset at which the fewest arguments cross, of those that make one of them not cross. */
static bool place_beside(struct placing *placing, uint32_t orbit)
{
	const struct csr *rows[] = { &placing->from, &placing->to };
	int32_t before = placing->orbits->offset[orbit], best = before;
	uint64_t least = UINT64_MAX;
	bool was = placing->placed[orbit];
	placing->placed[orbit] = true;
	if (was)
		least = fold_place_cost_of(placing, &orbit, 1);
	FOR_INT(side, 2)
		FOR_ITEMS(item, rows[side], orbit) {
			const struct link *link = &placing->link[item];
			uint32_t other = side ? link->from : link->to;
			if (!placing->placed[other] || other == orbit)
				continue;
			placing->orbits->offset[orbit] = side ? placing->orbits->offset[other] - link->shift
				: placing->orbits->offset[other] + link->shift;
			uint64_t cost = fold_place_cost_of(placing, &orbit, 1);
			if (cost < least) {
				least = cost;
				best = placing->orbits->offset[orbit];
			}
		}
	placing->orbits->offset[orbit] = best;
	placing->placed[orbit] = was || least != UINT64_MAX;
	return placing->placed[orbit] && (!was || best != before);
}

/* Orbits beside those that are placed; with those of rings, which usually move as one, or without. */
static bool fold_place_spread(struct placing *placing, bool rings)
{
	uint32_t orbits = placing->orbits->orbits;
	bool any = false;
	for (bool changed = true; changed; any |= changed) {
		changed = false;
		FOR(orbit, orbits)
			changed |= !placing->placed[orbit] && (rings || placing->ring[orbit] == NONE) && place_beside(placing, orbit);
		FOR_DOWN(orbit, orbits)
			changed |= !placing->placed[orbit] && (rings || placing->ring[orbit] == NONE) && place_beside(placing, orbit);
	}
	return any;
}

static void fold_place_others(struct placing *placing)
{
	fold_place_spread(placing, true);
	FOR_INT(pass, PASSES)
		FOR(orbit, placing->orbits->orbits)
			if (placing->ring[orbit] == NONE && placing->placed[orbit])
				place_beside(placing, orbit);
}

/* The forward stream first, then every ring that has something placed beside it. */
static enum status place_rings(struct placing *placing)
{
	uint32_t orbits = placing->orbits->orbits;
	uint32_t *member;
	bool *done, alone = true;
	NEED(ROOM(placing->arena, member, orbits) && ROOM(placing->arena, done, placing->rings));
	for (bool progress = true; progress;) {
		progress = false;
		/* Tarjan's algorithm finds what is written last first: the forward stream is among the last. */
		FOR_DOWN(ring, placing->rings) {
			uint32_t members = 0;
			FOR_WHILE(orbit, orbits, !done[ring])
				if (placing->ring[orbit] == ring)
					member[members++] = orbit;
			if (!members || place_ring(placing, member, members, alone))
				continue;
			done[ring] = progress = true;
			alone &= !placing->placed[member[0]];
		}
		progress |= fold_place_spread(placing, false);
	}
	return OK;
}

enum status fold_place(const struct fold_run *run, struct fold_orbits *orbits, struct arena *arena)
{
	struct placing placing = { .run = run, .orbits = orbits, .arena = arena };
	TRY(ROOM(arena, placing.placed, orbits->orbits) &&
		ROOM(arena, placing.mark, run->graph->tensors) ? fold_place_find_links(&placing) : NO_MEMORY);
	TRY(find_rings(&placing));
	TRY(place_rings(&placing));
	fold_place_others(&placing);
	FOR(orbit, orbits->orbits)
		if (!placing.placed[orbit]) {
			/* Nothing of this part is placed: it begins at its own first op. */
			placing.placed[orbit] = true;
			fold_place_others(&placing);
		}
	return OK;
}
