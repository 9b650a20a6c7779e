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

/* Reducing gradients into shards, and between groups of them each device's share. */
static int64_t scatter_time(
	const struct mesh_axis *axis, const struct mesh_axis *copies, int64_t gradients, uint32_t count)
{
	int64_t scatter = collectives_time(axis, COLLECTIVE_REDUCE_SCATTER, gradients, count);
	return copies->size > 1 ? scatter + collectives_time(copies, COLLECTIVE_ALL_REDUCE, gradients / axis->size, count)
		: scatter;
}

void config_axes_find(const struct config_model *model, const struct config *config, struct config_terms *terms)
{
	FOR(class, STATE_CLASSES) {
		uint32_t groups = config_group(config, class) / config_shards(config, class);
		terms->of[class] = (struct class_axes) { config_group(config, class) > 1, class_axis(model, config, class),
			config_axis(model, groups, config->tp * config->cp * config->ep * config->dp / groups) };
	}
}

struct state_traffic config_block_traffic(
	const struct config_terms *terms, const struct config *config, const struct block_cost *cost)
{
	struct state_traffic traffic = { 0 };
	FOR(class, STATE_CLASSES) {
		const struct mesh_axis *axis = &terms->of[class].axis;
		const struct block_reads *forward = &cost->forward_reads, *backward = &cost->backward_reads;
		int64_t gradients = cost->states.gradient[class];
		uint32_t count = cost->parameters[class], zero = config->zero;
		if (!terms->of[class].shares)
			continue;
		int64_t scatter = zero > 0 ? scatter_time(axis, &terms->of[class].copies, gradients, count) : 0;
		traffic.made += count;
		traffic.read += forward->count[class];
		traffic.once += zero == 0 ? collectives_time(axis, COLLECTIVE_ALL_REDUCE, gradients, count)
			: zero == 1 ? scatter
			: 0;
		/* nobody has room for whole gradients: every microbatch's are reduced at once */
		traffic.each += zero >= 2 ? scatter : 0;
		if (zero == 1 || zero == 2)
			traffic.updated += collectives_time(axis, COLLECTIVE_ALL_GATHER, cost->states.parameter[class], count);
		if (zero >= 3)
			traffic.forward += collectives_time(axis, COLLECTIVE_ALL_GATHER, forward->bytes[class], forward->count[class]);
		if (zero >= 3 && !config->keeps)
			traffic.gather += collectives_time(axis, COLLECTIVE_ALL_GATHER, backward->bytes[class], backward->count[class]);
	}
	return traffic;
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

/* How much longer one microbatch's passes through a rank take for collectives beside them. */
static int64_t exposed_passes(
	const struct config_model *model, const struct config *config, const uint32_t *first, uint32_t rank)
{
	struct streams streams = { 0 };
	struct reduction reduction = { 0 };    /* of the block before */
	int64_t passes = 0;
	FOR(chunk, config->chunks)
		for (uint32_t piece = config_piece(config, rank, chunk), b = first[piece]; b < first[piece + 1]; b++) {
			const struct block_term *term = &model->terms->block[b];
			run_block(&streams, term->traffic.forward, term->traffic.read, term->forward);
			passes += term->forward;
		}
	FOR_DOWN(chunk, config->chunks)
		for (uint32_t piece = config_piece(config, rank, chunk), b = first[piece + 1]; b-- > first[piece];) {
			const struct block_term *term = &model->terms->block[b];
			run_block(&streams, term->traffic.gather, term->traffic.read, term->backward);
			run_reduction(&streams, &reduction);
			reduction = (struct reduction) { streams.begun, streams.time,
				term->traffic.each + (config->zero == 0 ? term->traffic.once : 0), term->traffic.made };
			passes += term->backward;
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
	int64_t forward = 0, before = 0, after = 0, unscaled = 0,
			passes = config->zero == 0 ? exposed_passes(model, config, first, rank) : 0;
	FOR(chunk, config->chunks)
		FOR_SPAN(b, first, config_piece(config, rank, chunk)) {
			const struct block_term *term = &model->terms->block[b];
			forward += term->cost->forward - term->cost->forward_link;
			before += config->zero == 1 ? term->traffic.once : 0;
			after += term->traffic.updated;
			unscaled += term->unscaled;
		}
	after = larger_of(0, after - forward / 1000 * overheads->updated);
	/* What each gradient of one pass is unscaled for goes on beside the reduction of the others. So do updates, for the
	 * first of which the last gradient goes before what still waits. */
	if (!config_sums_gradients(config))
		passes = model->joint ? larger_of(0, passes - unscaled)
			: larger_of(smaller_of(passes, model->terms->block[first[rank]].traffic.once), passes - update);
	return passes +
		(model->joint ? before + larger_of(0, after - update) : larger_of(0, before + after - update));
}
