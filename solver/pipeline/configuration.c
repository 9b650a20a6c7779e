/* configuration.c: memory and time of one configuration. */
#include <string.h>

#include "configuration.h"
#include "schedules.h"

const struct overheads overheads_all = { .overlap = 800, .transient = true, .small = true, .gathered = true, .vectors = true };

struct in_flight config_in_flight(const struct config *config, uint32_t rank, uint32_t chunk)
{
	return schedule_in_flight((enum schedule)config->schedule, config->pp, config->chunks, config->microbatches, rank, chunk);
}

static uint32_t piece_at(const struct config *config, uint32_t rank, uint32_t chunk)
{
	return rank_piece(rank, chunk, config->pp, schedule_folded((enum schedule)config->schedule));
}

/* Devices that share the states of a class of parameters. */
static uint32_t group_of(const struct config *config, uint32_t class)
{
	return config->dp * (class & WHOLE_ON_CONTEXT ? config->cp : 1) * (class & WHOLE_ON_EXPERTS ? config->ep : 1);
}

static int64_t share(int64_t bytes, uint32_t devices)
{
	return (bytes + devices - 1) / devices;
}

/* ---- memory -------------------------------------------------------------------------------------------------------- */

static void add_states(const struct config *config, const struct block_states *states, int64_t sign, struct rank_memory *memory)
{
	for (uint32_t class = 0; class < STATE_CLASSES; class++) {
		uint32_t group = group_of(config, class);
		memory->parameters += sign * share(states->parameter[class], config->zero >= 3 ? group : 1);
		memory->gradients += sign * share(states->gradient[class], config->zero >= 2 ? group : 1);
		memory->optimizer += sign * share(states->optimizer[class], config->zero >= 1 ? group : 1);
	}
}

static int64_t reads_of(const struct block_reads *reads)
{
	int64_t sum = 0;
	for (uint32_t class = 0; class < STATE_CLASSES; class++)
		sum += reads->bytes[class];
	return sum;
}

static int64_t larger(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

/* Parameters lie in shards and are gathered to be read. */
static bool gathers(const struct config *config)
{
	return config->zero >= 3 && config->dp * config->cp * config->ep > 1;
}

/* Gradients are added up over microbatches, and wait for the pipeline's end. Where neither is, updates may run as soon as they can. */
static bool sums_gradients(const struct config *config)
{
	return config->microbatches > 1 || config->pp > 1;
}

static int64_t working_of(const struct block_cost *cost, const struct config *config, const struct overheads *overheads)
{
	return !overheads->transient ? 0 : overheads->gathered && gathers(config) ? cost->transient_gathered : cost->transient;
}

/* Short-lived tensors beside the activations that are left: a block's come when those of the blocks behind it are freed. */
static int64_t transient_of(const struct config_model *model, const struct config *config, const struct overheads *overheads, uint32_t begin, uint32_t end)
{
	int64_t most = 0, freed = 0;
	for (uint32_t b = end; b-- > begin && overheads->transient;) {
		most = larger(most, working_of(&model->cost[b], config, overheads) - freed);
		freed += model->cost[b].saved;
	}
	return most;
}

/* Where gradients aren't added up: of the moments when a block works, and of the update, the fullest. Gradients of the blocks behind are there if all updates
 * wait for all of them. Sets activations, transient and gradients to what they are then. */
static void fullest_moment(const struct config_model *model, const struct config *config, const struct overheads *overheads, uint32_t begin, uint32_t end,
	struct rank_memory *memory)
{
	int64_t most = -1, left = memory->activations, gradients = 0, update = 0;
	for (uint32_t b = end; b-- > begin;) {
		struct rank_memory of = { 0 };
		int64_t working = working_of(&model->cost[b], config, overheads);
		if (left + working + gradients > most) {
			most = left + working + gradients;
			memory->activations = left;
			memory->transient = working;
			memory->gradients = gradients;
		}
		add_states(config, &model->cost[b].states, 1, &of);
		gradients += model->joint ? of.gradients : 0;
		left -= model->cost[b].saved - (overheads->small ? 0 : model->cost[b].saved_small);
		update = larger(update, share(model->cost[b].update_transient, config->zero >= 1 ? config->dp * config->cp * config->ep : 1));
	}
	if (gradients + update > most) {
		memory->activations = 0;
		memory->transient = update;
		memory->gradients = gradients;
	}
}

static void add_block(const struct config_model *model, const struct config *config, const struct overheads *overheads, uint32_t block,
	struct in_flight in_flight, bool with_shared, struct rank_memory *memory)
{
	const struct block_cost *cost = &model->cost[block];
	add_states(config, &cost->states, 1, memory);
	if (!overheads->vectors)
		add_states(config, &cost->vectors, -1, memory);
	if (with_shared)
		add_states(config, &cost->shared, 1, memory);
	memory->activations += in_flight.weight * (cost->saved - (overheads->small ? 0 : cost->saved_small)) + in_flight.between * cost->between;
	if (overheads->gathered && gathers(config) && !sums_gradients(config))
		memory->gathered = larger(memory->gathered, larger(reads_of(&cost->forward_reads), reads_of(&cost->backward_reads)));
}

/* The weights of every kind of block of a rank, once. */
static int64_t cached_gradients(const struct config_model *model, const struct config *config, const uint32_t *first, uint32_t rank)
{
	int64_t sum = 0, seen[8];
	uint32_t kinds = 0;
	for (uint32_t chunk = 0; chunk < config->chunks; chunk++)
		for (uint32_t piece = piece_at(config, rank, chunk), b = first[piece]; b < first[piece + 1]; b++) {
			bool known = model->cost[b].matrices == 0;
			for (uint32_t i = 0; i < kinds; i++)
				known |= seen[i] == model->cost[b].matrices;
			if (known || kinds == sizeof seen / sizeof *seen)
				continue;
			seen[kinds++] = model->cost[b].matrices;
			sum += model->cost[b].matrices;
		}
	return sum;
}

/* Groups of devices that a device has buffers for. */
static int64_t groups_of(const struct config *config)
{
	return (config->dp > 1) + (config->tp > 1) + (config->pp > 1) + (config->cp > 1) + (config->ep > 1);
}

static void add_overheads(const struct config *config, const struct overheads *overheads, struct rank_memory *memory)
{
	bool reduced = config->dp > 1 || config->cp > 1 || config->ep > 1;
	memory->context = overheads->context;
	memory->communication = overheads->communication * groups_of(config);
	memory->buckets = !reduced ? 0 : 2 * overheads->bucket < memory->gradients ? 2 * overheads->bucket : memory->gradients;
	memory->workspace = overheads->workspace;
	memory->fragmentation = (memory->activations + memory->transient) / 1000 * overheads->fragmentation;
	memory->overhead = memory->context + memory->communication + memory->buckets + memory->workspace + memory->cached + memory->fragmentation;
}

void config_rank_memory(const struct config_model *model, const struct config *config, const struct overheads *overheads, const uint32_t *first,
	uint32_t rank, struct rank_memory *memory)
{
	*memory = (struct rank_memory) { 0 };
	for (uint32_t chunk = 0; chunk < config->chunks; chunk++) {
		uint32_t piece = piece_at(config, rank, chunk);
		struct in_flight in_flight = config_in_flight(config, rank, chunk);
		memory->transient = larger(memory->transient, transient_of(model, config, overheads, first[piece], first[piece + 1]));
		for (uint32_t b = first[piece]; b < first[piece + 1]; b++) {
			uint32_t with = model->cost[b].shared_with;
			bool here = false;
			for (uint32_t c = 0; c < config->chunks && with != NONE; c++)
				here |= with >= first[piece_at(config, rank, c)] && with < first[piece_at(config, rank, c) + 1];
			add_block(model, config, overheads, b, in_flight, with != NONE && !here, memory);
		}
	}
	memory->cached = overheads->cached ? cached_gradients(model, config, first, rank) : 0;
	add_overheads(config, overheads, memory);
	if (!sums_gradients(config) && overheads->transient)
		fullest_moment(model, config, overheads, first[0], first[1], memory);
	memory->total = memory->parameters + memory->gradients + memory->optimizer + memory->activations + memory->transient + memory->gathered
		+ memory->overhead;
}

/* ---- cuts ------------------------------------------------------------------------------------------------------------ */

static int64_t block_time(const struct block_cost *cost)
{
	return cost->forward + cost->backward;
}

struct cutting {
	const struct config_model *model;
	const struct config *config;
	uint32_t pieces, blocks;
	int64_t fixed;              /* bytes of every rank */
	int64_t *time, *state, *saved;  /* [blocks + 1] sums */
	int64_t *best;              /* [(pieces + 1) * (blocks + 1)] the slowest piece of the first k pieces over the first i blocks */
	uint32_t *from;             /* of best the last piece's first block; in fill() see there */
};

static bool fits(const struct cutting *cutting, uint32_t piece, uint32_t begin, uint32_t end)
{
	uint32_t chunk = piece / cutting->config->pp, rank = piece_rank(piece, cutting->config->pp, schedule_folded((enum schedule)cutting->config->schedule));
	int64_t limit = cutting->model->limit;
	int64_t bytes = cutting->state[end] - cutting->state[begin]
		+ (cutting->saved[end] - cutting->saved[begin]) * config_in_flight(cutting->config, rank, chunk).weight;
	return limit < 0 || cutting->config->chunks > 1 || bytes <= limit - cutting->fixed;
}

/* best[k + 1][end] over all begins that fit, the first of which is least: best[k][begin] grows with begin and the piece's time falls: they cross
 * once. */
static void extend(struct cutting *cutting, uint32_t k, uint32_t least, uint32_t end)
{
	uint32_t width = cutting->blocks + 1, low = least, high = end - 1;
	const int64_t *before = cutting->best + (size_t)k * width;
	int64_t *best = cutting->best + (size_t)(k + 1) * width + end;
	while (low < high) {
		uint32_t middle = (low + high) / 2;
		if (before[middle] >= cutting->time[end] - cutting->time[middle])
			high = middle;
		else
			low = middle + 1;
	}
	for (uint32_t begin = low > least ? low - 1 : low; begin <= low; begin++) {
		int64_t slowest = larger(before[begin], cutting->time[end] - cutting->time[begin]);
		if (before[begin] < INT64_MAX && slowest < *best) {
			*best = slowest;
			cutting->from[(size_t)(k + 1) * width + end] = begin;
		}
	}
}

/* Blocks from the front, as many to a piece as the slowest allows: the fewest pieces for the first i blocks are from[i]. False where a
 * block alone takes longer. O(blocks). */
static bool fill(struct cutting *cutting, int64_t slowest)
{
	uint32_t pieces = 0, begin = 0;
	cutting->from[0] = 0;
	for (uint32_t i = 1; i <= cutting->blocks; i++) {
		if (i == 1 || cutting->time[i] - cutting->time[begin] > slowest) {
			begin = i - 1;
			pieces++;
		}
		if (cutting->time[i] - cutting->time[begin] > slowest)
			return false;
		cutting->from[i] = pieces;
	}
	return pieces <= cutting->pieces;
}

/* Without a limit: bisects the slowest piece's time; then from the back, each piece as long as it allows. */
static void cut_evenly(struct cutting *cutting, uint32_t *first)
{
	int64_t low = -1, high = cutting->time[cutting->blocks];
	while (high - low > 1) {
		int64_t middle = low + (high - low) / 2;
		if (fill(cutting, middle))
			high = middle;
		else
			low = middle;
	}
	fill(cutting, high);
	first[cutting->pieces] = cutting->blocks;
	for (uint32_t k = cutting->pieces, end = cutting->blocks; k-- > 0; end = first[k]) {
		uint32_t begin = end - 1;
		while (begin > k && cutting->time[end] - cutting->time[begin - 1] <= high)
			begin--;
		first[k] = begin;
	}
}

/* With the limit; true where a cut was found. */
static bool cut(struct cutting *cutting, uint32_t *first)
{
	uint32_t width = cutting->blocks + 1, n = cutting->pieces;
	for (size_t i = 0; i < (size_t)(n + 1) * width; i++)
		cutting->best[i] = INT64_MAX;
	cutting->best[0] = 0;
	for (uint32_t k = 0; k < n; k++)
		for (uint32_t end = k + 1, least = k; end + (n - k - 1) <= cutting->blocks; end++) {
			while (least < end && !fits(cutting, k, least, end))   /* the first begin that fits grows with the end */
				least++;
			if (least < end)
				extend(cutting, k, least, end);
		}
	if (cutting->best[(size_t)n * width + cutting->blocks] == INT64_MAX)
		return false;
	first[n] = cutting->blocks;
	for (uint32_t k = n; k-- > 0;)
		first[k] = cutting->from[(size_t)(k + 1) * width + first[k + 1]];
	return true;
}

static bool all_fit(const struct cutting *cutting, const uint32_t *first)
{
	bool fine = true;
	for (uint32_t k = 0; k < cutting->pieces; k++)
		fine = fine && fits(cutting, k, first[k], first[k + 1]);
	return fine;
}

/* False where no cut keeps the limit: each piece takes all blocks that fit it. What fits still does with fewer blocks, and what fits a piece fits
 * the next, which holds no more of them at once: a piece that nothing is left for, or whose next block is too large, shares the one before. */
static bool can_fit(const struct cutting *cutting)
{
	uint32_t begin = 0;
	for (uint32_t k = 0; k < cutting->pieces && begin < cutting->blocks; k++) {
		uint32_t end = begin;
		while (end < cutting->blocks && fits(cutting, k, begin, end + 1))
			end++;
		begin = end;
	}
	return begin == cutting->blocks;
}

enum status config_cut(const struct config_model *model, const struct config *config, const struct overheads *overheads, uint32_t *first)
{
	struct arena arena = { 0 };
	struct cutting cutting = { .model = model, .config = config, .pieces = config->pp * config->chunks, .blocks = model->blocks };
	size_t width = cutting.blocks + (size_t)1, cells = (cutting.pieces + (size_t)1) * width;
	if (cutting.pieces > cutting.blocks)
		return INFEASIBLE;
	if (model->even && model->layers > 0) {
		if (model->layers % cutting.pieces != 0)
			return INFEASIBLE;
		for (uint32_t k = 0; k <= cutting.pieces; k++)
			first[k] = k == 0 ? 0 : k == cutting.pieces ? model->blocks : model->layer + k * (model->layers / cutting.pieces) * model->period;
		return OK;
	}
	cutting.time = arena_alloc(&arena, 3 * width, sizeof *cutting.time);
	cutting.from = arena_alloc(&arena, width, sizeof *cutting.from);
	if (!cutting.time || !cutting.from) {
		arena_free(&arena);
		return NO_MEMORY;
	}
	cutting.state = cutting.time + width;
	cutting.saved = cutting.state + width;
	for (uint32_t b = 0; b < model->blocks; b++) {
		struct rank_memory memory = { 0 };
		add_block(model, config, overheads, b, (struct in_flight) { 1, 1, 1 }, model->cost[b].shared_with != NONE, &memory);
		cutting.time[b + 1] = cutting.time[b] + block_time(&model->cost[b]);
		cutting.state[b + 1] = cutting.state[b] + memory.parameters + memory.gradients + memory.optimizer;
		cutting.saved[b + 1] = cutting.saved[b] + memory.activations;
		cutting.fixed = larger(cutting.fixed, overheads->context + overheads->workspace + overheads->communication * groups_of(config)
			+ memory.gathered + transient_of(model, config, overheads, b, b + 1));
	}
	cut_evenly(&cutting, first);
	if (!all_fit(&cutting, first) && can_fit(&cutting)) {
		cutting.best = arena_alloc(&arena, cells, sizeof *cutting.best);
		cutting.from = arena_alloc(&arena, cells, sizeof *cutting.from);
		if (!cutting.best || !cutting.from) {
			arena_free(&arena);
			return NO_MEMORY;
		}
		cut(&cutting, first);
	}
	arena_free(&arena);
	return OK;
}

/* ---- time -------------------------------------------------------------------------------------------------------------- */

/* The devices that share a class's states, as one axis outside those that cut it. */
static struct mesh_axis group_axis(const struct config_model *model, const struct config *config, uint32_t class)
{
	uint32_t group = group_of(config, class), inside = config->tp * config->cp * config->ep * config->dp / group, near = 1;
	for (uint32_t i = 2; i <= group && (uint64_t)i * inside <= model->devices_per_node; i++)
		if (group % i == 0)
			near = i;
	return (struct mesh_axis) { .size = group, .near_size = near, .near = model->machine->near, .far = model->machine->far };
}

/* What is left of collectives behind a pass of so much computation. */
static int64_t beyond(int64_t collectives, int64_t compute, const struct overheads *overheads)
{
	return larger(0, collectives - compute / 1000 * overheads->overlap);
}

/* Each tensor is a collective of its own. */
static int64_t collectives_time(const struct mesh_axis *axis, enum collective_kind collective, int64_t bytes, uint32_t count)
{
	return count > 0 ? count * collective_time(axis, collective, bytes / count) : 0;
}

/* Of a class of parameters the collectives of one step, and of one microbatch's passes. */
struct state_traffic { int64_t once, updated, forward, gather, each; };   /* forward, gather: before the passes; each: behind the backward pass */

static void add_traffic(const struct config_model *model, const struct config *config, uint32_t begin, uint32_t end, uint32_t class, struct state_traffic *traffic)
{
	struct mesh_axis axis = group_axis(model, config, class);
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
	int64_t scatter = collectives_time(&axis, COLLECTIVE_REDUCE_SCATTER, gradients, count);
	traffic->once += config->zero == 0 ? collectives_time(&axis, COLLECTIVE_ALL_REDUCE, gradients, count) : config->zero == 1 ? scatter : 0;
	traffic->updated += config->zero == 1 || config->zero == 2 ? collectives_time(&axis, COLLECTIVE_ALL_GATHER, parameters, count) : 0;
	traffic->forward += config->zero >= 3 ? collectives_time(&axis, COLLECTIVE_ALL_GATHER, forward, forwards) : 0;
	/* nobody has room for whole gradients: every microbatch's are reduced at once */
	traffic->each += config->zero >= 2 ? scatter : 0;
	traffic->gather += config->zero >= 3 ? collectives_time(&axis, COLLECTIVE_ALL_GATHER, backward, backwards) : 0;
}

/* Where nothing is repeated, block by block: one stream for these collectives beside the passes. What a block reads is gathered from when the block before begins;
 * gradients of a block are reduced when it ends, after what is waited for. */
struct streams { int64_t time, begun, free; };   /* of the passes; when the block before began; when the stream is free */

static void run_block(struct streams *streams, int64_t gather, int64_t takes)
{
	if (gather > 0)
		streams->free = larger(streams->free, streams->begun) + gather;
	streams->time = gather > 0 ? larger(streams->time, streams->free) : streams->time;
	streams->begun = streams->time;
	streams->time += takes;
}

static struct state_traffic block_traffic(const struct config_model *model, const struct config *config, uint32_t block)
{
	struct state_traffic traffic = { 0 };
	for (uint32_t class = 0; class < STATE_CLASSES; class++)
		if (group_of(config, class) > 1)
			add_traffic(model, config, block, block + 1, class, &traffic);
	return traffic;
}

static int64_t exposed_once(const struct config_model *model, const struct config *config, uint32_t blocks)
{
	struct streams streams = { 0 };
	int64_t passes = 0, updated = 0, reduce = 0, ready = 0;   /* what was reduced last but waits: how long it takes, since when */
	for (uint32_t b = 0; b < blocks; b++) {
		run_block(&streams, block_traffic(model, config, b).forward, model->cost[b].forward);
		passes += model->cost[b].forward + model->cost[b].backward;
	}
	for (uint32_t b = blocks; b-- > 0;) {
		struct state_traffic traffic = block_traffic(model, config, b);
		run_block(&streams, traffic.gather, model->cost[b].backward);
		streams.free = reduce > 0 ? larger(streams.free, ready) + reduce : streams.free;
		reduce = traffic.once + traffic.each;
		ready = streams.time;
		updated += traffic.updated;
	}
	streams.free = reduce > 0 ? larger(streams.free, ready) + reduce : streams.free;
	return larger(streams.free, streams.time) - passes + updated;
}

/* What reducing a rank's gradients and gathering its parameters takes beyond what computation hides: gradients once a step behind one backward pass, or
 * behind that of every microbatch; parameters behind the pass that reads them. Those that an update has made are gathered behind nothing. */
static int64_t exposed_time(const struct config_model *model, const struct config *config, const struct overheads *overheads, uint32_t begin,
	uint32_t end)
{
	struct state_traffic traffic = { 0 };
	int64_t backward = 0, forward = 0;
	if (!sums_gradients(config))
		return exposed_once(model, config, end);
	for (uint32_t b = begin; b < end; b++) {
		forward += model->cost[b].forward - model->cost[b].forward_link;
		backward += model->cost[b].backward - model->cost[b].backward_link;
	}
	for (uint32_t class = 0; class < STATE_CLASSES; class++)
		if (group_of(config, class) > 1)
			add_traffic(model, config, begin, end, class, &traffic);
	return beyond(traffic.once, backward, overheads) + traffic.updated
		+ config->microbatches * (beyond(traffic.forward, forward, overheads) + beyond(traffic.gather + traffic.each, backward, overheads));
}

/* The update of so many devices together: between powers of two in proportion to a device's share. */
static int64_t shared_update(const int64_t time[UPDATE_SHARES], uint32_t group)
{
	int i = 0;
	while (i + 2 < UPDATE_SHARES && (UINT32_C(2) << i) <= group)
		i++;
	double low = 1.0 / (double)(UINT32_C(1) << i), share = 1.0 / group;
	return share >= low ? time[i] : time[i + 1] + (int64_t)((double)(time[i] - time[i + 1]) * (share - low / 2) / (low / 2));
}

static int64_t update_time(const struct config_model *model, const struct config *config, uint32_t begin, uint32_t end)
{
	int64_t sum = 0;
	for (uint32_t b = begin; b < end; b++)
		for (uint32_t class = 0; class < STATE_CLASSES; class++)
			sum += shared_update(model->cost[b].update[class], config->zero >= 1 ? group_of(config, class) : 1);
	return sum;
}

int64_t config_send_time(const struct config_model *model, const struct config *config, int64_t bytes)
{
	uint32_t stage = config->dp * config->tp * config->cp * config->ep;
	struct mesh_axis axis = { .size = 2, .near_size = 2 * stage <= model->devices_per_node ? 2 : 1, .near = model->machine->near, .far = model->machine->far };
	return config->pp > 1 ? collective_time(&axis, COLLECTIVE_SEND, bytes) : 0;
}

/* Times of pieces. */
struct pieces { int64_t *forward, *backward, *weight, *send; };

static enum status pieces_find(const struct config_model *model, const struct config *config, const uint32_t *first, struct arena *arena,
	struct pieces *pieces)
{
	uint32_t n = config->pp * config->chunks;
	pieces->forward = arena_alloc(arena, 4 * (size_t)n, sizeof *pieces->forward);
	if (!pieces->forward)
		return NO_MEMORY;
	pieces->backward = pieces->forward + n;
	pieces->weight = pieces->backward + n;
	pieces->send = pieces->weight + n;
	for (uint32_t k = 0; k < n; k++) {
		for (uint32_t b = first[k]; b < first[k + 1]; b++) {
			pieces->forward[k] += model->cost[b].forward;
			pieces->backward[k] += model->cost[b].backward;
			pieces->weight[k] += model->cost[b].weight;
		}
		pieces->send[k] = k + 1 < n ? config_send_time(model, config, model->cost[first[k + 1] - 1].send) : 0;
	}
	return OK;
}

/* The busiest rank's work for one microbatch. */
static int64_t busiest(const struct config *config, const struct pieces *pieces)
{
	int64_t most = 0;
	for (uint32_t r = 0; r < config->pp; r++) {
		int64_t work = 0;
		for (uint32_t c = 0; c < config->chunks; c++)
			work += pieces->forward[piece_at(config, r, c)] + pieces->backward[piece_at(config, r, c)];
		most = larger(most, work);
	}
	return most;
}

/* One microbatch through all pieces once a round, the slowest rank for the others; interleaved rounds are chunks times shorter. Gradients of weights
 * fill what ranks wait, as far as the schedule's bubble goes with equal pieces (arXiv 2401.10241, 2405.15362). */
static int64_t closed_form(const struct config *config, const struct pieces *pieces)
{
	uint32_t n = config->pp * config->chunks;
	int64_t all = 0, most = busiest(config, pieces), bubble;
	for (uint32_t k = 0; k < n; k++)
		all += pieces->forward[k] + pieces->backward[k] + 2 * pieces->send[k];
	int64_t forward = 0;
	for (uint32_t k = 0; k < n; k++)
		forward += pieces->forward[k] + pieces->send[k];
	bubble = larger(0, all - most);
	switch (config->schedule) {    /* no less than until the last rank has something to do */
	case SCHEDULE_ZB1P: bubble /= 3; break;
	case SCHEDULE_ZB2P: bubble = forward * (config->pp - 1) / config->pp; break;
	case SCHEDULE_ZBV: bubble = forward * (config->pp - 1) / n; break;
	case SCHEDULE_V_HALF: bubble /= 2; break;
	case SCHEDULE_V_MIN: bubble = bubble * 2 / 3; break;
	case SCHEDULE_DUALPIPEV: bubble /= 3; break;
	default: bubble = -1; break;
	}
	if (bubble >= 0)
		return (int64_t)config->microbatches * most + bubble;
	return config->chunks > 1 ? (int64_t)config->microbatches * most + larger(0, all - most) / config->chunks
		: (config->microbatches - 1) * most + all;
}

static enum status schedule_time(const struct config *config, const struct pieces *pieces, bool exact, int64_t *time)
{
	struct pipeline pipeline = { .schedule = (enum schedule)config->schedule, .ranks = config->pp, .chunks = config->chunks,
		.microbatches = config->microbatches, .forward = pieces->forward, .backward = pieces->backward, .weight = pieces->weight, .send = pieces->send };
	struct pipeline_plan plan;
	struct error ignored;
	*time = closed_form(config, pieces);
	if (!exact || config->pp == 1)
		return OK;
	enum status status = pipeline_run(&pipeline, &plan, &ignored);
	if (status == OK) {
		*time = plan.time;
		pipeline_free(&plan);
	}
	return status == NO_MEMORY ? NO_MEMORY : OK;
}

enum status config_evaluate(const struct config_model *model, const struct config *config, const struct overheads *overheads,
	const uint32_t *first, bool exact, struct config_result *result)
{
	struct arena arena = { 0 };
	struct pieces pieces;
	*result = (struct config_result) { 0 };
	for (uint32_t rank = 0; rank < config->pp; rank++) {
		struct rank_memory memory;
		config_rank_memory(model, config, overheads, first, rank, &memory);
		if (rank == 0)
			result->first = memory;
		result->last = memory;
		if (rank == 0 || memory.total > result->worst.total) {
			result->worst = memory;
			result->worst_rank = rank;
		}
	}
	for (uint32_t rank = 0; rank < config->pp; rank++) {
		int64_t exposed = 0, update = 0, link = 0, flops = 0;
		for (uint32_t c = 0; c < config->chunks; c++) {
			uint32_t begin = first[piece_at(config, rank, c)], end = first[piece_at(config, rank, c) + 1];
			exposed += exposed_time(model, config, overheads, begin, end);
			update += update_time(model, config, begin, end);
			for (uint32_t b = begin; b < end; b++) {
				link += (model->cost[b].forward_link + model->cost[b].backward_link) * config->microbatches;
				flops += model->cost[b].flops * config->microbatches;
			}
		}
		result->exposed = larger(result->exposed, exposed);
		result->update = larger(result->update, update);
		result->link = larger(result->link, link);
		result->flops = larger(result->flops, flops);
	}
	enum status status = pieces_find(model, config, first, &arena, &pieces);
	if (status == OK)
		status = schedule_time(config, &pieces, exact, &result->time);
	if (status == OK) {
		result->bubble = larger(0, result->time - config->microbatches * busiest(config, &pieces));
		result->time += result->exposed + result->update;
	}
	arena_free(&arena);
	return status;
}

/* ---- slot by slot ------------------------------------------------------------------------------------------------------- */

static int64_t kept_of(const struct config_model *model, const struct overheads *overheads, uint32_t begin, uint32_t end)
{
	int64_t sum = 0;
	for (uint32_t b = begin; b < end; b++)
		sum += model->cost[b].saved - (overheads->small ? 0 : model->cost[b].saved_small);
	return sum;
}

enum status config_timetable(const struct config_model *model, const struct config *config, const struct overheads *overheads,
	const uint32_t *first, struct timetable *timetable, struct error *error)
{
	struct arena arena = { 0 };
	struct pieces pieces;
	struct config_result result;
	uint32_t ranks = config->pp, n = ranks * config->chunks;
	int64_t *fixed = arena_alloc(&arena, 2 * ((size_t)ranks + n), sizeof *fixed);
	enum status status = fixed ? pieces_find(model, config, first, &arena, &pieces) : NO_MEMORY;
	if (status == OK)
		status = config_evaluate(model, config, overheads, first, false, &result);
	if (status != OK) {
		arena_free(&arena);
		return fail(error, status, "out of memory");
	}
	int64_t *working = fixed + ranks, *kept = working + ranks, *between = kept + n;
	for (uint32_t rank = 0; rank < ranks; rank++) {
		struct rank_memory memory;
		config_rank_memory(model, config, overheads, first, rank, &memory);
		int64_t saved = sums_gradients(config) ? memory.activations : kept_of(model, overheads, first[0], first[1]);
		fixed[rank] = memory.parameters + memory.optimizer + memory.gathered + memory.overhead + (sums_gradients(config) ? memory.gradients : 0);
		working[rank] = memory.total - fixed[rank] - saved;
	}
	for (uint32_t k = 0; k < n; k++) {
		kept[k] = kept_of(model, overheads, first[k], first[k + 1]);
		for (uint32_t b = first[k]; b < first[k + 1]; b++)
			between[k] += model->cost[b].between;
	}
	struct pipeline pipeline = { .schedule = (enum schedule)config->schedule, .ranks = ranks, .chunks = config->chunks,
		.microbatches = config->microbatches, .forward = pieces.forward, .backward = pieces.backward, .weight = pieces.weight, .send = pieces.send };
	struct timetable_bytes bytes = { .fixed = fixed, .working = working, .kept = kept, .between = between };
	status = timetable_build(&pipeline, &bytes, result.exposed + result.update, timetable, error);
	arena_free(&arena);
	return status;
}
