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

/* A page of 20 MiB for each of two streams more, which none fills. */
#define UNIT_PAGES (INT64_C(40) << 20)

/* What the layer or other block before end gathers, from begin on. The first and the last block are the root's. */
static int64_t unit_gathers(const struct config_model *model, uint32_t end, uint32_t *begin)
{
	int64_t sum = 0;
	for (*begin = end; *begin > 1;) {
		uint32_t layer = --*begin - model->layer;
		sum += model->terms->block[*begin].gathered;
		if (layer >= model->layers * model->period || layer % model->period == 0)
			break;
	}
	return sum;
}

static void raise_moment(int64_t left, int64_t working, int64_t gradients, int64_t gathered, struct rank_memory *most)
{
	if (left + working + gradients + gathered > most->activations + most->transient + most->gradients + most->gathered) {
		most->activations = left;
		most->transient = working;
		most->gradients = gradients;
		most->gathered = gathered;
	}
}

/* Of the moments when a block works, and of the update, the fullest. Gradients of the blocks behind are there.
 *
 * fully_shard (src/plan/fsdp.c): beside a unit its parameters and, flat, the next one's are whole, and flat gradients
 * of the one behind until its own are reduced; the last one's parameters, flat too, since the forward pass; the root's
 * to the end. */
static void fullest_whole(const struct passing *passing, struct rank_memory *memory)
{
	const struct config_model *model = passing->model;
	const struct block_term *all = model->terms->block;
	bool units = model->terms->units;
	uint32_t last = model->blocks - 1, begin = units ? last : NONE, next;
	int64_t left = memory->activations, gradients = 0, reduced = 0, flat = 0, less = 0, update = update_most(passing),
			root = UNIT_PAGES + all[0].gathered + all[last].gathered, ahead = unit_gathers(model, last, &next),
			whole = memory->gathered;
	if (units)
		whole = root + 2 * ahead + unit_gathers(model, next, &(uint32_t){ 0 });
	memory->activations = memory->transient = memory->gradients = memory->gathered = 0;
	BLOCKS_BACK(b, passing) {
		const struct block_term *term = &all[b];
		raise_moment(left, config_working(term, passing->config, passing->overheads), gradients, whole, memory);
		gradients += units ? term->cost->made : gradients_wait(passing) ? term->waiting : 0;
		if (b >= host_away_until(model, passing->config, passing->first[piece_of_b], passing->first[piece_of_b + 1]))
			left -= term->cost->saved - (passing->overheads->small ? 0 : term->cost->saved_small);
		flat += term->flat;
		less += term->cost->made - term->waiting;
		if (b != begin)
			continue;
		if (b < last) {
			raise_moment(left, 0, gradients += flat - reduced, whole, memory);
			gradients -= less;
			reduced = flat;
			whole = root + ahead;
		}
		begin = next;
		ahead = unit_gathers(model, next, &next);
		whole += b < last ? ahead : 0;
		flat = less = 0;
	}
	if (units)
		raise_moment(left, 0, gradients + all[0].flat + all[last].flat - reduced, root, memory);
	gradients = SMALLER(gradients, update);
	raise_moment(0, update - gradients, gradients, units ? 0 : whole, memory);
}

/* A backward pass in two parts holds what its first part does before there is a gradient of a weight; these come as
 * what they are made of goes. */
static void fullest_split(const struct passing *passing, struct rank_memory *memory)
{
	int64_t gradients = 0, update = update_most(passing);
	BLOCKS_BACK(b, passing)
		gradients += passing->model->terms->block[b].waiting;
	memory->gradients = 0;
	raise_moment(0, larger_of(0, update - gradients), gradients, memory->gathered, memory);
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
