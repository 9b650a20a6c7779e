/* slack.c: range addition and range minimum by square-root decomposition. */
#include <math.h>

#include "primal.h"

enum { BLOCK = 128 };

struct shard_slack {
	uint32_t slots;
	double *value;         /* [slots] less what was added to the whole block */
	double *added, *least; /* [blocks] to every slot of the block; the least of its slots, with added */
};

struct shard_slack *shard_slack_new(struct arena *arena, uint32_t slots)
{
	struct shard_slack *slack;
	if (!ROOM(arena, slack, 1))
		return NULL;
	slack->slots = slots;
	return ROOM(arena, slack->value, slots) && ROOMS(arena, (size_t)slots / BLOCK + 1, slack->added,
		slack->least) ? slack : NULL;
}

static uint32_t block_end(const struct shard_slack *slack, uint32_t block)
{
	uint32_t end = (block + 1) * BLOCK;
	return SMALLER(end, slack->slots);
}

static double slack_least_of(const struct shard_slack *slack, uint32_t block, uint32_t begin, uint32_t end)
{
	double least = HUGE_VAL;
	FOR_FROM(i, begin, end)
		least = SMALLER(slack->value[i], least);
	return least + slack->added[block];
}

void shard_slack_set(struct shard_slack *slack, const double *load, double limit)
{
	FOR(i, slack->slots)
		slack->value[i] = limit - load[i];
	for (uint32_t block = 0; block * BLOCK < slack->slots; block++) {
		slack->added[block] = 0;
		slack->least[block] = slack_least_of(slack, block, block * BLOCK, block_end(slack, block));
	}
}

void shard_slack_add(struct shard_slack *slack, uint32_t begin, uint32_t end, double bytes)
{
	for (uint32_t block = begin / BLOCK; begin < end; block++, begin = block * BLOCK) {
		uint32_t last = block_end(slack, block) < end ? block_end(slack, block) : end;
		if (begin == block * BLOCK && last == block_end(slack, block)) {
			slack->added[block] += bytes;
			slack->least[block] += bytes;
			continue;
		}
		FOR_FROM(i, begin, last)
			slack->value[i] += bytes;
		slack->least[block] = slack_least_of(slack, block, block * BLOCK, block_end(slack, block));
	}
}

double shard_slack_least(const struct shard_slack *slack, uint32_t begin, uint32_t end)
{
	double least = HUGE_VAL;
	for (uint32_t block = begin / BLOCK; begin < end; block++, begin = block * BLOCK) {
		uint32_t last = block_end(slack, block) < end ? block_end(slack, block) : end;
		bool whole = begin == block * BLOCK && last == block_end(slack, block);
		double part = whole ? slack->least[block] : slack_least_of(slack, block, begin, last);
		least = SMALLER(part, least);
	}
	return least;
}

void shard_shuffle(uint32_t *item, uint32_t count, uint64_t *random)
{
	for (uint32_t i = count; i > 1; i--) {
		uint32_t other = (uint32_t)(random_next(random) % i), held = item[i - 1];
		item[i - 1] = item[other];
		item[other] = held;
	}
}
