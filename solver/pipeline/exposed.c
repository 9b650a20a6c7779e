/* exposed.c: what of the collectives of states computation doesn't hide. */
#include "configuration.h"

/* Devices that share the states of a class of parameters. */
static uint32_t config_group(const struct config *config, uint32_t class)
{
	return config->dp * (class & WHOLE_ON_CONTEXT ? config->cp : 1) * (class & WHOLE_ON_EXPERTS ? config->ep : 1);
}

uint32_t config_shards(const struct config *config, uint32_t class)
{
	return config_group(config, class) / (config->zero > 0 && config->replicate > 1 ? config->replicate : 1);
}

bool config_sums_gradients(const struct config *config)
{
	return config->microbatches > 1;
}

bool config_by_passes(const struct config *config)
{
	return config->microbatches > 1 || config->pp > 1;
}

int64_t config_late_gradients(const struct config *config, const struct block_cost *cost, uint32_t class)
{
	const struct block_waiting *waiting = &cost->waiting[class];
	int64_t reduced = waiting->late_gradient / (config->zero >= 1 ? config_shards(config, class) : 1);
	return waiting->products < waiting->late && waiting->products < reduced ? waiting->late_gradient : 0;
}

struct mesh_axis config_axis(const struct config_model *model, uint32_t size, uint32_t inside)
{
	uint32_t near = 1;
	for (uint32_t i = 2; i <= size && (uint64_t)i * inside <= model->devices_per_node; i++)
		if (size % i == 0)
			near = i;
	return (
		struct mesh_axis){ .size = size, .near_size = near, .near = model->machine->near, .far = model->machine->far };
}

/* The devices that share a class of parameters, less those of other groups of copies. From the inside out the axes are
 * tensor, context, experts, data: experts that are whole over the context axis have the expert axis between it and the
 * data axis. */
static struct mesh_axis class_axis(const struct config_model *model, const struct config *config, uint32_t class)
{
	uint32_t shards = config_shards(config, class),
			 between = config->tp * (class & WHOLE_ON_CONTEXT ? 1 : config->cp) *
		(class & WHOLE_ON_EXPERTS ? 1 : config->ep);
	if (!(class & WHOLE_ON_CONTEXT) || (class & WHOLE_ON_EXPERTS) || config->ep < 2 || config->cp < 2)
		return config_axis(model, shards, between);
	struct mesh_axis context = config_axis(model, config->cp, config->tp),
					 data = config_axis(model, shards / config->cp, config->tp * config->cp * config->ep);
	data.size = shards;
	data.near_size = context.near_size == config->cp ? config->cp * data.near_size : context.near_size;
	return data;
}

/* What is left of collectives behind so many thousandths of a pass of so much computation. */
static int64_t exposed_beyond(int64_t collectives, int64_t compute, uint32_t share)
{
	return larger_of(0, collectives - compute / 1000 * share);
}

/* Each tensor is a collective of its own. */
static int64_t collectives_time(
	const struct mesh_axis *axis, enum collective_kind collective, int64_t bytes, uint32_t count)
{
	return count > 0 ? count * collective_time(axis, collective, bytes / count) : 0;
}

/* Of a class of parameters the collectives of one step, and of one microbatch's passes. */
struct state_traffic {
	int64_t once, updated, forward, gather, each, late;
};   /* forward, gather: before the passes; each: behind the backward pass; late: of gradients made late */

/* Reducing gradients into shards, and between groups of them each device's share. */
static int64_t scatter_time(
	const struct mesh_axis *axis, const struct mesh_axis *copies, int64_t gradients, uint32_t count)
{
	int64_t scatter = collectives_time(axis, COLLECTIVE_REDUCE_SCATTER, gradients, count);
	return copies->size > 1 ? scatter + collectives_time(copies, COLLECTIVE_ALL_REDUCE, gradients / axis->size, count)
		: scatter;
}

static void add_traffic(const struct config_model *model, const struct config *config, uint32_t begin, uint32_t end,
	uint32_t class, struct state_traffic *traffic)
{
	uint32_t groups = config_group(config, class) / config_shards(config, class);
	struct mesh_axis axis = class_axis(model, config, class),
					 copies = config_axis(model, groups, config->tp * config->cp * config->ep * config->dp / groups);
	int64_t parameters = 0, gradients = 0, late = 0, forward = 0, backward = 0;
	uint32_t count = 0, lates = 0, forwards = 0, backwards = 0;
	for (uint32_t b = begin; b < end; b++) {
		const struct block_cost *cost = &model->cost[b];
		parameters += cost->states.parameter[class];
		gradients += cost->states.gradient[class];
		count += cost->parameters[class];
		int64_t made_late = model->joint && !config_by_passes(config) ? config_late_gradients(config, cost, class) : 0;
		late += made_late;
		lates += made_late > 0 ? cost->waiting[class].count : 0;
		forward += cost->forward_reads.bytes[class];
		forwards += cost->forward_reads.count[class];
		backward += cost->backward_reads.bytes[class];
		backwards += cost->backward_reads.count[class];
	}
	gradients = larger_of(0, gradients - late);
	count = count > lates ? count - lates : 0;
	int64_t scatter = scatter_time(&axis, &copies, gradients, count);
	traffic->once += config->zero == 0 ? collectives_time(&axis, COLLECTIVE_ALL_REDUCE, gradients, count)
		: config->zero == 1 ? scatter
		: 0;
	traffic->late += config->zero == 0 ? collectives_time(&axis, COLLECTIVE_ALL_REDUCE, late, lates)
		: scatter_time(&axis, &copies, late, lates);
	traffic->updated += config->zero == 1 || config->zero == 2
		? collectives_time(&axis, COLLECTIVE_ALL_GATHER, parameters, count)
		: 0;
	traffic->forward += config->zero >= 3 ? collectives_time(&axis, COLLECTIVE_ALL_GATHER, forward, forwards) : 0;
	/* nobody has room for whole gradients: every microbatch's are reduced at once */
	traffic->each += config->zero >= 2 ? scatter : 0;
	traffic->gather += config->zero >= 3 && !config->keeps
		? collectives_time(&axis, COLLECTIVE_ALL_GATHER, backward, backwards)
		: 0;
}

/* Where nothing is repeated, block by block: one stream for these collectives beside the passes. What a block reads is
 * gathered from when the block before begins; gradients of a block are reduced when it ends, after what is waited for.
 */
struct streams {
	int64_t time, begun, free;
};   /* of the passes; when the block before began; when the stream is free */

static void run_block(struct streams *streams, int64_t gather, int64_t takes)
{
	if (gather > 0)
		streams->free = larger_of(streams->free, streams->begun) + gather;
	streams->time = gather > 0 ? larger_of(streams->time, streams->free) : streams->time;
	streams->begun = streams->time;
	streams->time += takes;
}

static struct state_traffic block_traffic(const struct config_model *model, const struct config *config, uint32_t block)
{
	struct state_traffic traffic = { 0 };
	for (uint32_t class = 0; class < STATE_CLASSES; class++)
		if (config_group(config, class) > 1)
			add_traffic(model, config, block, block + 1, class, &traffic);
	return traffic;
}

/* Where all updates wait for the last gradient they run one behind the other, and what one has made is gathered beside
 * the next. Else a reduction that the next update waits for goes first, and gathers last. */
static int64_t exposed_once(const struct config_model *model, const struct config *config,
	const struct overheads *overheads, int64_t update, const struct rank_memory *memory, uint32_t blocks)
{
	struct streams streams = { 0 };
	int64_t passes = 0, forward = 0, updated = 0, lately = 0, at_update = 0, reduce = 0,
			ready = 0;   /* what was reduced last but waits: how long it takes, since when */
	for (uint32_t b = 0; b < blocks; b++) {
		int64_t there = forward_time(model, config, &model->cost[b]),
				back = model->cost[b].backward + across_time(model, config, &model->cost[b], true);
		run_block(&streams, block_traffic(model, config, b).forward, there);
		passes += there + back;
		forward += model->cost[b].forward - model->cost[b].forward_link;
	}
	for (uint32_t b = blocks; b-- > 0;) {
		struct state_traffic traffic = block_traffic(model, config, b);
		run_block(&streams, traffic.gather, model->cost[b].backward + across_time(model, config, &model->cost[b], true));
		streams.free = reduce > 0 ? larger_of(streams.free, ready) + reduce : streams.free;
		int64_t last = config->zero == 1 && !memory->early ? traffic.once : 0;
		reduce = traffic.once - last + traffic.each + traffic.late / 1000 * (1000 - memory->late);
		at_update += last;
		ready = streams.time;
		updated += traffic.updated;
		lately += traffic.late / 1000 * memory->late;
	}
	streams.free = reduce > 0 ? larger_of(streams.free, ready) + reduce : streams.free;
	return larger_of(streams.free, streams.time) - passes + lately + larger_of(0, at_update - (model->joint ? 0 : update))
		+ larger_of(0, exposed_beyond(updated, forward, overheads->updated) - (model->joint ? update : 0));
}

int64_t config_exposed_time(const struct config_model *model, const struct config *config,
	const struct overheads *overheads, int64_t update, const struct rank_memory *memory, const uint32_t *first,
	uint32_t rank)
{
	struct state_traffic traffic = { 0 };
	int64_t backward = 0, forward = 0;
	if (!config_by_passes(config))
		return exposed_once(model, config, overheads, update, memory, first[1]);
	for (uint32_t chunk = 0; chunk < config->chunks; chunk++) {
		uint32_t piece = config_piece(config, rank, chunk), begin = first[piece], end = first[piece + 1];
		for (uint32_t b = begin; b < end; b++) {
			forward += model->cost[b].forward - model->cost[b].forward_link;
			backward += model->cost[b].backward - model->cost[b].backward_link;
		}
		for (uint32_t class = 0; class < STATE_CLASSES; class++)
			if (config_group(config, class) > 1)
				add_traffic(model, config, begin, end, class, &traffic);
	}
	return exposed_beyond(traffic.once, backward, overheads->overlap) +
		exposed_beyond(traffic.updated, forward, overheads->updated) +
		config->microbatches *
		(exposed_beyond(traffic.forward, forward, overheads->overlap) +
			exposed_beyond(traffic.gather + traffic.each, backward, overheads->overlap));
}
