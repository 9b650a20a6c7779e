/* slack.h: free bytes per slot, under changes of ranges and questions for the least in a range. */
#pragma once

#include "solver/base/base.h"

/* In blocks: a range touches each block whole, by one number, or in part. Both operations O(sqrt(slots)). */
struct shard_slack;

struct shard_slack *shard_slack_new(struct arena *arena, uint32_t slots);
/* Sets every slot to limit - load. */
void shard_slack_set(struct shard_slack *slack, const double *load, double limit);
void shard_slack_add(struct shard_slack *slack, uint32_t begin, uint32_t end, double bytes);
/* HUGE_VAL for an empty range. */
double shard_slack_least(const struct shard_slack *slack, uint32_t begin, uint32_t end);

/* Fisher and Yates's shuffle. */
void shard_shuffle(uint32_t *item, uint32_t count, uint64_t *random);
