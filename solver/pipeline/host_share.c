/* host_share.c: activations and optimizer states in the host's memory. */
#include "configuration.h"

static bool host_share_sends(const struct config_model *model, const struct config *config, int what)
{
	return (config->offload & what) && model->machine->host.rate > 0;
}

static int64_t pass_time(const struct config_model *model, uint32_t begin, uint32_t end, bool backward)
{
	int64_t sum = 0;
	FOR_FROM(b, begin, end)
		sum += backward ? model->terms->block[b].cost->backward : model->terms->block[b].cost->forward;
	return sum;
}

uint32_t host_away_until(const struct config_model *model, const struct config *config, uint32_t begin, uint32_t end)
{
	int64_t out = 0, carried = 0, latest = INT64_MAX, now = 0;
	uint32_t until = begin;
	if (!host_share_sends(model, config, OFFLOAD_ACTIVATIONS))
		return begin;
	int64_t forward = pass_time(model, begin, end, false),
			behind = pass_time(model, begin, end, true);   /* behind: of the backward passes before a block's */
	FOR_FROM(b, begin, end) {
		const struct block_cost *cost = model->terms->block[b].cost;
		int64_t copy = machine_host_time(model->machine, cost->saved);
		now += cost->forward;
		behind -= cost->backward;
		out = larger_of(out, now) + copy;
		/* that of an earlier block comes back behind those of the blocks up to here */
		latest = SMALLER(behind + carried, latest);
		carried += copy;
		if (out > forward || latest < carried)
			break;
		until = b + 1;
	}
	return until;
}

static void send_activations(const struct config_model *model, const struct config *config, const uint32_t *first,
	uint32_t rank, const struct in_flight *at_most, struct rank_memory *memory)
{
	int64_t largest = 0;
	FOR_WHILE(chunk, config->chunks, host_share_sends(model, config, OFFLOAD_ACTIVATIONS)) {
		uint32_t piece = config_piece(config, rank, chunk),
				 until = host_away_until(model, config, first[piece], first[piece + 1]);
		struct in_flight in_flight = at_most ? at_most[piece] : config_in_flight(config, rank, chunk);
		FOR_FROM(b, first[piece], until) {
			const struct block_cost *cost = model->terms->block[b].cost;
			int64_t bytes = in_flight.input * (cost->saved - cost->saved_weight) + in_flight.weight * cost->saved_weight;
			memory->activations -= bytes;
			memory->host += bytes;
			largest = larger_of(largest, cost->saved);
		}
	}
	memory->activations += SMALLER(2 * largest, memory->host);
}

void host_send_away(const struct config_model *model, const struct config *config, const uint32_t *first, uint32_t rank,
	const struct in_flight *at_most, struct rank_memory *memory)
{
	int64_t largest = 0;
	send_activations(model, config, first, rank, at_most, memory);
	if (!host_share_sends(model, config, OFFLOAD_OPTIMIZER))
		return;
	FOR(chunk, config->chunks)
		for (uint32_t piece = config_piece(config, rank, chunk), b = first[piece]; b < first[piece + 1]; b++)
			largest = larger_of(largest, model->terms->block[b].states.optimizer);
	memory->host += memory->optimizer;
	memory->optimizer = SMALLER(2 * largest, memory->optimizer);
}

int64_t host_streamed_update(
	const struct config_model *model, const struct config *config, int64_t update, uint32_t begin, uint32_t end)
{
	int64_t states = 0, largest = 0;
	for (uint32_t b = begin; b < end && host_share_sends(model, config, OFFLOAD_OPTIMIZER); b++) {
		states += model->terms->block[b].states.optimizer;
		largest = larger_of(largest, model->terms->block[b].states.optimizer);
	}
	return states == 0
		? update
		: larger_of(update, machine_host_time(model->machine, states)) + machine_host_time(model->machine, largest);
}
