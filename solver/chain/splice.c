/* splice.c: a plan between two, one too large and one that fits: some copies of a segment from the one, all else from
 * the other.
 *
 * Both weigh about the same at the best price, but their copies may lie in different states: no mixture is cheap but
 * one long run of each, with two dear changes. */
#include <string.h>

#include "search.h"

/* What a copy of the segment uses in a plan. */
static int64_t splice_usage_of(
	const struct shard_chain *chain, const size_t *start, const uint32_t *choice, uint32_t segment, uint32_t copy)
{
	int64_t sum = 0;
	FOR(node, chain->nodes)
		if (chain->segment[node] == segment)
			sum += chain->usage[chain->first[node] + choice[start[node] + copy]];
	return sum;
}

enum status chain_splice(const struct shard_chain *chain, const struct chain_plan *under, const uint32_t *over,
	uint32_t segment, uint32_t *choice, int64_t *cost, int64_t *usage)
{
	uint32_t copies = chain->copies[segment], end = 1;
	struct chain_plan plan = { .start = under->start, .choice = choice };
	struct error error;
	*usage = 0;
	FOR(node, chain->nodes)
		FOR(copy, chain_copies(chain, node))
			*usage += chain->usage[chain->first[node] + under->choice[under->start[node] + copy]];
	while (end + 1 < copies) {
		int64_t more = splice_usage_of(chain, under->start, over, segment, end) -
			splice_usage_of(chain, under->start, under->choice, segment, end);
		if (*usage + more > chain->limit)
			break;
		*usage += more;
		end++;
	}
	COPY(choice, under->choice, under->start[chain->nodes]);
	FOR(node, chain->nodes)
		if (chain->segment[node] == segment && copies > 2)
			COPY(choice + under->start[node] + 1, over + under->start[node] + 1, end - 1);
	return shard_chain_evaluate(chain, &plan, cost, usage, &error);
}
