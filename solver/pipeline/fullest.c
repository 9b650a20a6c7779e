/* fullest.c: the moments of a single microbatch when most is alive. */
#include "configuration.h"

bool config_gathers(const struct config *config)
{
	return config->zero >= 3 && config->dp * config->cp * config->ep > LARGER(config->replicate, 1);
}

bool config_splits(const struct config *config)
{
	return schedule_split((enum schedule)config->schedule) && config->pp > 1;
}

/* Kernels that add weight gradients into their sums have them in what they keep for that. */
int64_t config_working(const struct block_term *term, const struct config *config, const struct overheads *overheads)
{
	return term->working[config_splits(config) || (overheads->cached && config_sums_gradients(config))];
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

bool config_one_device(const struct config *config)
{
	return config->dp * config->tp * config->pp * config->cp * config->ep == 1;
}

static bool gradients_wait(const struct passing *passing)
{
	return passing->model->joint || !config_one_device(passing->config);
}

static bool is_away(const struct passing *passing, uint32_t b)
{
	FOR(chunk, passing->config->chunks) {
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
	int64_t most = 0, waiting = 0;
	BLOCKS_BACK(b, passing) {
		const struct block_term *term = &passing->model->terms->block[b];
		waiting = (gradients_wait(passing) ? waiting : 0) + term->waiting;
		most = larger_of(most, waiting + term->updating);
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
		const struct block_term *term = &passing->model->terms->block[b];
		int64_t working = config_working(term, config, overheads);
		if (left + working + gradients > most) {
			most = left + working + gradients;
			memory->activations = left;
			memory->transient = working;
			memory->gradients = gradients;
		}
		gradients += gradients_wait(passing) ? term->waiting : 0;
		left -= is_away(passing, b) ? 0 : term->cost->saved - (overheads->small ? 0 : term->cost->saved_small);
	}
	if (update > most) {
		memory->activations = 0;
		memory->gradients = SMALLER(gradients, update);
		memory->transient = update - memory->gradients;
	}
}

/* A backward pass in two parts holds what its first part does before there is a gradient of a weight; these come as
 * what they are made of goes. */
static void fullest_split(const struct passing *passing, struct rank_memory *memory)
{
	int64_t gradients = 0, update = update_most(passing);
	BLOCKS_BACK(b, passing)
		gradients += passing->model->terms->block[b].waiting;
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
