/* fullest.c: the moments of a single microbatch when most is alive. */
#include "configuration.h"

bool config_gathers(const struct config *config)
{
	return config->zero >= 3 && config->dp * config->cp * config->ep > (config->replicate > 1 ? config->replicate : 1);
}

bool config_splits(const struct config *config)
{
	return schedule_split((enum schedule)config->schedule) && config->pp > 1;
}

/* Kernels that add weight gradients into their sums have them in what they keep for that. */
int64_t config_working(const struct block_cost *cost, const struct config *config, const struct overheads *overheads)
{
	const struct block_working *working = config_splits(config) || (overheads->cached && config_sums_gradients(config))
		? &cost->input
		: &cost->both;
	return !overheads->transient
		? 0
		: working->most[config_sums_gradients(config)][overheads->gathered && config_gathers(config)];
}

#define EARLY_SHARE \
	16   /* a smaller share of gradients than that is no reason to reduce them early: what else moves outweighs it */

/* How gradients of a single microbatch wait for an update: whole, as ZeRO's stage 1 has them in program order; reduced
 * as soon as they are there; or not made yet where that takes less. */
enum waits { WAITS_WHOLE, WAITS_REDUCED, WAITS_LATE };

/* A block's gradients while they wait for an update: not cast yet where that takes less. */
static int64_t waiting_of(const struct config *config, const struct block_cost *cost, enum waits waits)
{
	int64_t sum = 0;
	for (uint32_t class = 0; class < STATE_CLASSES; class++) {
		const struct block_waiting *waiting = &cost->waiting[class];
		if (waits == WAITS_WHOLE) {
			sum += cost->states.gradient[class];
			continue;
		}
		int64_t later = waits == WAITS_LATE ? config_late_gradients(config, cost, class) : 0,
				here = waiting->bytes - (later > 0 ? waiting->late : 0);
		int64_t reduced = config_share(
			cost->states.gradient[class] - later, config->zero >= 1 ? config_shards(config, class) : 1);
		sum += (later > 0 ? waiting->products : 0) + (reduced < here ? reduced : here);
	}
	return sum;
}

/* A rank's blocks as its backward pass goes through them. */
struct passing {
	const struct config_model *model;
	const struct config *config;
	const struct overheads *overheads;
	const uint32_t *first;
	uint32_t rank;
};

#define BLOCKS_BACK(b, passing) \
	for (uint32_t chunk_of_##b = (passing)->config->chunks; chunk_of_##b-- > 0;) \
		for (uint32_t piece_of_##b = config_piece((passing)->config, (passing)->rank, chunk_of_##b), \
			b = (passing)->first[piece_of_##b + 1]; b-- > (passing)->first[piece_of_##b];)

static bool is_away(const struct passing *passing, uint32_t b)
{
	for (uint32_t chunk = 0; chunk < passing->config->chunks; chunk++) {
		uint32_t piece = config_piece(passing->config, passing->rank, chunk), begin = passing->first[piece],
				 end = passing->first[piece + 1];
		if (b >= begin && b < end)
			return b < host_away_until(passing->model, passing->config, begin, end);
	}
	return false;
}

/* The most that the update takes where gradients wait for it: blocks whose ops take more are updated later, when the
 * gradients of others are gone. O(blocks x different sizes of what an update takes). */
static int64_t update_most(const struct passing *passing, enum waits waits)
{
	const struct config *config = passing->config;
	uint32_t group = config->zero >= 1 ? config->dp * config->cp * config->ep : 1;
	int64_t most = 0;
	for (int64_t takes = INT64_MAX, next; takes >= 0; takes = next) {
		int64_t waiting = 0;
		next = -1;
		BLOCKS_BACK(b, passing) {
			const struct block_cost *cost = &passing->model->cost[b];
			if (cost->update_transient < takes)
				next = larger_of(next, cost->update_transient);
			else if (passing->model->joint || waits == WAITS_WHOLE)
				waiting += waiting_of(config, cost, waits);
		}
		if (takes < INT64_MAX)
			most = larger_of(most, waiting + config_share(takes, group));
	}
	return most;
}

/* Of the moments when a block works, and of the update, the fullest. Gradients of the blocks behind are there if all
 * updates wait for all of them. Sets activations, transient and gradients to what they are then; returns their sum. */
static int64_t fullest_fullest(const struct passing *passing, enum waits waits, struct rank_memory *memory)
{
	const struct config *config = passing->config;
	const struct overheads *overheads = passing->overheads;
	bool wait = passing->model->joint || waits == WAITS_WHOLE;
	int64_t most = -1, left = memory->activations, gradients = 0, update = update_most(passing, waits);
	BLOCKS_BACK(b, passing) {
		const struct block_cost *cost = &passing->model->cost[b];
		int64_t working = config_working(cost, config, overheads);
		if (left + working + gradients > most) {
			most = left + working + gradients;
			memory->activations = left;
			memory->transient = working;
			memory->gradients = gradients;
		}
		gradients += wait ? waiting_of(config, cost, waits) : 0;
		left -= is_away(passing, b) ? 0 : cost->saved - (overheads->small ? 0 : cost->saved_small);
	}
	if (update > most) {
		memory->activations = 0;
		memory->gradients = gradients < update ? gradients : update;
		memory->transient = update - memory->gradients;
	}
	return larger_of(most, update);
}

/* A backward pass in two parts holds what its first part does before there is a gradient of a weight; these come as
 * what they are made of goes. */
static void fullest_split(const struct passing *passing, struct rank_memory *memory)
{
	int64_t gradients = 0, update = update_most(passing, WAITS_LATE);
	BLOCKS_BACK(b, passing)
		gradients += passing->model->joint ? waiting_of(passing->config, &passing->model->cost[b], WAITS_LATE) : 0;
	memory->gradients = 0;
	if (larger_of(update, gradients) > memory->activations + memory->transient) {
		memory->activations = 0;
		memory->gradients = gradients;
		memory->transient = larger_of(0, update - gradients);
	}
}

/* With what waits least. As many gradients are made late as take what is above that. An order that reduces gradients
 * early reduces all. */
void fullest_moment(const struct config_model *model, const struct config *config, const struct overheads *overheads,
	const uint32_t *first, uint32_t rank, struct rank_memory *memory)
{
	struct passing passing = { model, config, overheads, first, rank };
	struct rank_memory whole = *memory, reduced = *memory;
	if (config_splits(config)) {
		fullest_split(&passing, memory);
		return;
	}
	int64_t saves = 0, reduces = 0, most = fullest_fullest(&passing, WAITS_WHOLE, &whole),
			middle = fullest_fullest(&passing, WAITS_REDUCED, &reduced),
			least = fullest_fullest(&passing, WAITS_LATE, memory);
	BLOCKS_BACK(b, &passing) {
		int64_t early = waiting_of(config, &model->cost[b], WAITS_REDUCED);
		saves += model->joint ? early - waiting_of(config, &model->cost[b], WAITS_LATE) : 0;
		reduces += waiting_of(config, &model->cost[b], WAITS_WHOLE) - (model->joint ? early : 0);
	}
	memory->late = saves <= 0 || middle <= least ? 0
		: middle - least >= saves ? 1000
		: (uint32_t)((double)(middle - least) / (double)saves * 1000);
	memory->early = most - middle > reduces / EARLY_SHARE;
}
