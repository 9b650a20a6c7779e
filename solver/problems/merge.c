/* merge.c: clusters of nodes that follow each other. */
#include "model.h"

struct merging {
	const struct shard_problem *problem;
	const struct shard_group *group;
	uint32_t groups;
	bool *alive;
	struct csr follows; /* node -> the first of groups over which it follows a neighbour */
	struct shard_merge *merge;
	struct arena scratch;
};

uint32_t shard_group_end(const struct shard_group *group, uint32_t groups, uint32_t i)
{
	uint32_t end = i + 1;
	while (end < groups && group[end].low == group[i].low && group[end].high == group[i].high)
		end++;
	return end;
}

bool shard_group_allows(const struct shard_problem *problem, const struct shard_group *group, uint32_t groups,
	uint32_t i, uint32_t p, uint32_t q)
{
	for (uint32_t j = i, end = shard_group_end(group, groups, i); j < end; j++) {
		uint32_t edge = group[j].edge, width = shard_strategies(problem, problem->to[edge]);
		bool along = problem->from[edge] == group[i].low;
		if (problem->pair[problem->table[edge] + (along ? (size_t)p * width + q : (size_t)q * width + p)] >= SHARD_FORBIDDEN)
			return false;
	}
	return true;
}

static uint32_t group_end(const struct merging *merging, uint32_t i)
{
	return shard_group_end(merging->group, merging->groups, i);
}

static bool merge_allowed(const struct merging *merging, uint32_t i, uint32_t p, uint32_t q)
{
	return shard_group_allows(merging->problem, merging->group, merging->groups, i, p, q);
}

/* The only partner of a strategy at the other end of the group, or NONE. */
static uint32_t partner(const struct merging *merging, uint32_t i, bool of_low, uint32_t p)
{
	const struct shard_problem *problem = merging->problem;
	uint32_t other = of_low ? merging->group[i].high : merging->group[i].low, found = NONE;
	FOR(q, shard_strategies(problem, other)) {
		if (!merging->alive[problem->first[other] + q] ||
			!(of_low ? merge_allowed(merging, i, p, q) : merge_allowed(merging, i, q, p)))
			continue;
		if (found != NONE)
			return NONE;
		found = q;
	}
	return found;
}

static bool merge_follows(const struct merging *merging, uint32_t i)
{
	const struct shard_problem *problem = merging->problem;
	FOR_INT(side, 2) {
		uint32_t node = side == 0 ? merging->group[i].low : merging->group[i].high;
		FOR(p, shard_strategies(problem, node))
			if (merging->alive[problem->first[node] + p] && partner(merging, i, side == 0, p) == NONE)
				return false;
	}
	return true;
}

static enum status find_followers(struct merging *merging)
{
	struct arena *arena = &merging->scratch;
	uint32_t *row;
	uint32_t *item, pairs = 0;
	NEED(ROOMS(arena, 2 * (size_t)merging->groups, row, item));
	for (uint32_t i = 0; i < merging->groups; i = group_end(merging, i)) {
		if (!merge_follows(merging, i))
			continue;
		row[pairs] = merging->group[i].low;
		row[pairs + 1] = merging->group[i].high;
		item[pairs] = item[pairs + 1] = i;
		pairs += 2;
	}
	return csr_of_pairs(arena, merging->problem->nodes, pairs, row, item, &merging->follows);
}

static void number_first(struct merging *merging, uint32_t node)
{
	const struct shard_problem *problem = merging->problem;
	uint32_t member = 0;
	FOR_SPAN(i, problem->first, node)
		merging->merge->member[i] = merging->alive[i] ? member++ : NONE;
}

/* The node's members are those of its partners at the other end of group i. */
static void number_like(struct merging *merging, uint32_t node, uint32_t i)
{
	const struct shard_problem *problem = merging->problem;
	bool low = merging->group[i].low == node;
	uint32_t other = low ? merging->group[i].high : merging->group[i].low;
	FOR(p, shard_strategies(problem, node)) {
		uint32_t at = problem->first[node] + p;
		merging->merge->member[at] = merging->alive[at]
			? merging->merge->member[problem->first[other] + partner(merging, i, low, p)]
			: NONE;
	}
}

static void grow_clusters(struct merging *merging)
{
	struct shard_merge *merge = merging->merge;
	uint32_t nodes = merging->problem->nodes, count = 0, done = 0;
	FOR(node, nodes)
		merge->cluster[node] = merge->up[node] = NONE;
	FOR(start, nodes) {
		if (merge->cluster[start] != NONE)
			continue;
		merge->cluster[start] = merge->clusters;
		number_first(merging, start);
		for (merge->order[count++] = start; done < count; done++)
			FOR_ITEMS(i, &merging->follows, merge->order[done]) {
				uint32_t node = merge->order[done];
				uint32_t other = merging->group[i].low == node ? merging->group[i].high : merging->group[i].low;
				if (merge->cluster[other] != NONE)
					continue;
				merge->cluster[other] = merge->clusters;
				merge->up[other] = i;
				number_like(merging, other, i);
				merge->order[count++] = other;
			}
		merge->clusters++;
	}
}

/* The strategy of a node that is a member, or NONE. */
static uint32_t with_member(const struct merging *merging, uint32_t node, uint32_t member)
{
	const struct shard_problem *problem = merging->problem;
	FOR_SPAN(i, problem->first, node)
		if (merging->alive[i] && merging->merge->member[i] == member)
			return i - problem->first[node];
	return NONE;
}

/* Kills strategies whose cluster's strategy an edge inside the cluster forbids. */
static bool kill_inside(struct merging *merging)
{
	const struct shard_problem *problem = merging->problem;
	const struct shard_merge *merge = merging->merge;
	bool killed = false;
	for (uint32_t i = 0; i < merging->groups; i = group_end(merging, i)) {
		uint32_t low = merging->group[i].low, high = merging->group[i].high;
		FOR_WHILE(p, shard_strategies(problem, low), merge->cluster[low] == merge->cluster[high]) {
			uint32_t at = problem->first[low] + p, q = merging->alive[at] ? with_member(merging, high, merge->member[at]) : NONE;
			if (!merging->alive[at] || (q != NONE && merge_allowed(merging, i, p, q)))
				continue;
			merging->alive[at] = false;
			killed = true;
		}
	}
	return killed;
}

enum status shard_merge_find(const struct shard_problem *problem, const struct shard_group *group, uint32_t groups,
	bool *alive, struct arena *arena, struct shard_merge *merge, bool *again)
{
	struct merging merging = { .problem = problem, .group = group, .groups = groups, .alive = alive, .merge = merge };
	*merge = (struct shard_merge) { 0 };
	*again = false;
	enum status status = ROOMS(arena, problem->nodes, merge->cluster, merge->up, merge->order) &&
		ROOM(arena, merge->member, problem->first[problem->nodes]) ? find_followers(&merging) : NO_MEMORY;
	if (status == OK) {
		grow_clusters(&merging);
		*again = kill_inside(&merging);
	}
	arena_free(&merging.scratch);
	return status;
}
