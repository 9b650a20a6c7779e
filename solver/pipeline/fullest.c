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

/* Program order has updates behind all passes. A step on one device runs in the order of least memory: there updates
 * wait for nothing but gradients that they read, and casts for updates. */
static bool one_device(const struct config *config)
{
	return config->dp * config->tp * config->pp * config->cp * config->ep == 1;
}

static bool gradients_wait(const struct passing *passing)
{
	return passing->model->joint || !one_device(passing->config);
}

/* A block's gradients until the update: whole up to ZeRO's stage 1. */
static int64_t waiting_of(const struct config *config, const struct block_cost *cost)
{
	int64_t sum = 0;
	for (uint32_t class = 0; class < STATE_CLASSES; class++)
		sum += one_device(config) ? cost->states.uncast[class]
			: config_share(cost->states.gradient[class], config->zero >= 2 ? config_shards(config, class) : 1);
	return sum;
}

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

/* The most that the update takes: gradients of the blocks that come later, and what an op takes beside. */
static int64_t update_most(const struct passing *passing)
{
	const struct config *config = passing->config;
	uint32_t group = config->zero >= 1 ? config->dp * config->cp * config->ep : 1;
	int64_t most = 0, waiting = 0;
	BLOCKS_BACK(b, passing) {
		waiting = (gradients_wait(passing) ? waiting : 0) + waiting_of(config, &passing->model->cost[b]);
		most = larger_of(most, waiting + config_share(passing->model->cost[b].update_transient, group));
	}
	return most;
}

/* Of the moments when a block works, and of the update, the fullest. Gradients of the blocks behind are there. Sets
 * activations, transient and gradients to what they are then. */
static void fullest_whole(const struct passing *passing, struct rank_memory *memory)
{
	const struct config *config = passing->config;
	const struct overheads *overheads = passing->overheads;
	int64_t most = -1, left = memory->activations, gradients = 0, update = update_most(passing);
	BLOCKS_BACK(b, passing) {
		const struct block_cost *cost = &passing->model->cost[b];
		int64_t working = config_working(cost, config, overheads);
		if (left + working + gradients > most) {
			most = left + working + gradients;
			memory->activations = left;
			memory->transient = working;
			memory->gradients = gradients;
		}
		gradients += gradients_wait(passing) ? waiting_of(config, cost) : 0;
		left -= is_away(passing, b) ? 0 : cost->saved - (overheads->small ? 0 : cost->saved_small);
	}
	if (update > most) {
		memory->activations = 0;
		memory->gradients = gradients < update ? gradients : update;
		memory->transient = update - memory->gradients;
	}
}

/* A backward pass in two parts holds what its first part does before there is a gradient of a weight; these come as
 * what they are made of goes. */
static void fullest_split(const struct passing *passing, struct rank_memory *memory)
{
	int64_t gradients = 0, update = update_most(passing);
	BLOCKS_BACK(b, passing)
		gradients += waiting_of(passing->config, &passing->model->cost[b]);
	memory->gradients = 0;
	if (larger_of(update, gradients) > memory->activations + memory->transient) {
		memory->activations = 0;
		memory->gradients = gradients;
		memory->transient = larger_of(0, update - gradients);
	}
}

void fullest_moment(const struct config_model *model, const struct config *config, const struct overheads *overheads,
	const uint32_t *first, uint32_t rank, struct rank_memory *memory)
{
	struct passing passing = { model, config, overheads, first, rank };
	if (config_splits(config))
		fullest_split(&passing, memory);
	else
		fullest_whole(&passing, memory);
}
