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

/* Each tensor is a collective of its own. */
static int64_t collectives_time(
	const struct mesh_axis *axis, enum collective_kind collective, int64_t bytes, uint32_t count)
{
	return count > 0 ? count * collective_time(axis, collective, bytes / count) : 0;
}

/* Of a class of parameters the collectives of one step, and of one microbatch's passes. */
struct state_traffic {
	int64_t once, updated;
	int64_t forward, gather, each;   /* forward, gather: before the passes; each: behind the backward pass */
	uint32_t read, made;         /* how many parameters a pass gathers, how many gradients are reduced */
};

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
	int64_t parameters = 0, gradients = 0, forward = 0, backward = 0;
	uint32_t count = 0, forwards = 0, backwards = 0;
	for (uint32_t b = begin; b < end; b++) {
		const struct block_cost *cost = &model->cost[b];
		parameters += cost->states.parameter[class];
		gradients += cost->states.gradient[class];
		count += cost->parameters[class];
		forward += cost->forward_reads.bytes[class];
		forwards += cost->forward_reads.count[class];
		backward += cost->backward_reads.bytes[class];
		backwards += cost->backward_reads.count[class];
	}
	traffic->read += forwards;
	traffic->made += count;
	int64_t scatter = scatter_time(&axis, &copies, gradients, count);
	traffic->once += config->zero == 0 ? collectives_time(&axis, COLLECTIVE_ALL_REDUCE, gradients, count)
		: config->zero == 1 ? scatter
		: 0;
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

/* Block by block: one stream for these collectives beside the passes. What a block reads is gathered from when the
 * block before begins; gradients are reduced when they are there, after what is waited for. */
struct streams { int64_t time, begun, free; };   /* of the passes; when the last block began; when the stream is free */

/* Its first op waits for one of what is gathered, its last one for all. */
static void run_block(struct streams *streams, int64_t gather, uint32_t count, int64_t takes)
{
	int64_t begin = streams->time, end;
	if (gather > 0) {
		streams->free = larger_of(streams->free, streams->begun) + gather;
		begin = larger_of(begin, streams->free - gather + gather / count);
	}
	end = begin + takes;
	streams->time = gather > 0 ? larger_of(end, streams->free + takes / count) : end;
	streams->begun = begin;
}

/* What a block reduces, one gradient when it is there, the last one behind the block. */
struct reduction { int64_t begin, end, takes; uint32_t count; };

static void run_reduction(struct streams *streams, const struct reduction *of)
{
	if (of->takes > 0)
		streams->free = larger_of(larger_of(streams->free, of->begin + (of->end - of->begin) / of->count) + of->takes,
			of->end + of->takes / of->count);
}

static struct state_traffic block_traffic(const struct config_model *model, const struct config *config, uint32_t block)
{
	struct state_traffic traffic = { 0 };
	for (uint32_t class = 0; class < STATE_CLASSES; class++)
		if (config_group(config, class) > 1)
			add_traffic(model, config, block, block + 1, class, &traffic);
	return traffic;
}

/* How much longer one microbatch's passes through a rank take for collectives beside them. */
static int64_t exposed_passes(
	const struct config_model *model, const struct config *config, const uint32_t *first, uint32_t rank)
{
	struct streams streams = { 0 };
	struct reduction reduction = { 0 };    /* of the block before */
	int64_t passes = 0;
	for (uint32_t chunk = 0; chunk < config->chunks; chunk++)
		for (uint32_t piece = config_piece(config, rank, chunk), b = first[piece]; b < first[piece + 1]; b++) {
			int64_t takes = forward_time(model, config, &model->cost[b]);
			struct state_traffic traffic = { 0 };
			if (config->zero >= 3)
				traffic = block_traffic(model, config, b);
			run_block(&streams, traffic.forward, traffic.read, takes);
			passes += takes;
		}
	for (uint32_t chunk = config->chunks; chunk-- > 0;)
		for (uint32_t piece = config_piece(config, rank, chunk), b = first[piece + 1]; b-- > first[piece];) {
			struct state_traffic traffic = block_traffic(model, config, b);
			int64_t takes = model->cost[b].backward + across_time(model, config, &model->cost[b], true);
			run_block(&streams, traffic.gather, traffic.read, takes);
			run_reduction(&streams, &reduction);
			reduction = (struct reduction) { streams.begun, streams.time,
				traffic.each + (config->zero == 0 ? traffic.once : 0), traffic.made };
			passes += takes;
		}
	run_reduction(&streams, &reduction);
	return larger_of(streams.free, streams.time) - passes;
}

int64_t config_exposed_each(
	const struct config_model *model, const struct config *config, const uint32_t *first, uint32_t rank)
{
	return config->zero >= 2 ? exposed_passes(model, config, first, rank) : 0;
}

int64_t config_exposed_time(const struct config_model *model, const struct config *config,
	const struct overheads *overheads, int64_t update, const uint32_t *first, uint32_t rank)
{
	struct state_traffic traffic = { 0 };
	int64_t forward = 0, passes = config->zero == 0 ? exposed_passes(model, config, first, rank) : 0;
	for (uint32_t chunk = 0; chunk < config->chunks; chunk++) {
		uint32_t piece = config_piece(config, rank, chunk), begin = first[piece], end = first[piece + 1];
		for (uint32_t b = begin; b < end; b++)
			forward += model->cost[b].forward - model->cost[b].forward_link;
		for (uint32_t class = 0; class < STATE_CLASSES; class++)
			if (config_group(config, class) > 1)
				add_traffic(model, config, begin, end, class, &traffic);
	}
	int64_t before = config->zero == 1 ? traffic.once : 0,
			after = larger_of(0, traffic.updated - forward / 1000 * overheads->updated);
	return passes +
		(model->joint ? before + larger_of(0, after - update) : larger_of(0, before + after - update));
}
