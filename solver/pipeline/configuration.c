/* configuration.c: memory and time of one configuration. */

#include "configuration.h"

const struct overheads overheads_all = {
	.transient = true, .small = true, .gathered = true, .vectors = true
};

const char *const offload_names[OFFLOADS] = { "no", "activations", "optimizer", "all" };

struct in_flight config_in_flight(const struct config *config, uint32_t rank, uint32_t chunk)
{
	return schedule_in_flight(
		(enum schedule)config->schedule, config->pp, config->chunks, config->microbatches, rank, chunk);
}

/* ---- memory ---- */

static void configuration_add_states(
	const struct config *config, const struct block_states *states, int64_t sign, struct state_bytes *bytes)
{
	FOR(class, STATE_CLASSES) {
		if ((states->parameter[class] | states->gradient[class] | states->optimizer[class]) == 0)
			continue;
		uint32_t group = config_shards(config, class);
		bytes->parameters += sign * config_share(states->parameter[class], config->zero >= 3 ? group : 1);
		bytes->gradients += sign * config_share(states->gradient[class], config->zero >= 2 ? group : 1);
		bytes->optimizer += sign * config_share(states->optimizer[class], config->zero >= 1 ? group : 1);
	}
}

static int64_t configuration_reads_of(const struct config *config, const struct block_reads *reads)
{
	int64_t sum = 0;
	FOR(class, STATE_CLASSES)
		sum += config_shards(config, class) > 1 ? reads->bytes[class] : 0;
	return sum;
}

/* The backward pass of a piece, block by block from the end: the most that is alive beside all that is saved, where
 * *level was alive before. A block's short-lived tensors come when what those behind it saved is freed. A split pass
 * makes gradients of weights at its end: what they read stays until then, and those that take the most are made last.
 */
static int64_t backward_most(const struct config_model *model, const struct config *config,
	const struct overheads *overheads, uint32_t begin, uint32_t end, int64_t *level)
{
	int64_t most = 0, waiting = 0, weights = 0;
	uint32_t away = host_away_until(model, config, begin, end);
	for (uint32_t b = end; b-- > begin && overheads->transient;) {
		const struct block_term *term = &model->terms->block[b];
		const struct block_cost *cost = term->cost;
		most = larger_of(most, config_working(term, config, overheads) + *level);
		*level -= b < away ? 0 : cost->saved;
		if (config_splits(config)) {
			waiting += cost->saved_weight + cost->between;
			*level += cost->saved_weight + cost->between;
			most = larger_of(most, *level);
			weights = larger_of(weights, cost->saved_weight + cost->between + cost->weights);
		}
	}
	*level -= waiting;
	return larger_of(most, *level + weights);
}

/* Short-lived tensors of a rank's pieces beside the activations of all: a microbatch's pass goes back through the last
 * piece first. */
static int64_t transient_of(const struct config_model *model, const struct config *config,
	const struct overheads *overheads, const uint32_t *first, uint32_t rank)
{
	int64_t most = 0, level = 0;
	FOR_DOWN(chunk, config->chunks) {
		uint32_t piece = config_piece(config, rank, chunk);
		most = larger_of(most, backward_most(model, config, overheads, first[piece], first[piece + 1], &level));
	}
	return most;
}

static void configuration_hold(const struct state_bytes *bytes, struct rank_memory *memory)
{
	memory->parameters += bytes->parameters;
	memory->gradients += bytes->gradients;
	memory->optimizer += bytes->optimizer;
}

static void add_block(const struct config_model *model, const struct config *config, const struct overheads *overheads,
	uint32_t block, struct in_flight in_flight, bool with_shared, struct rank_memory *memory)
{
	const struct block_term *term = &model->terms->block[block];
	const struct block_cost *cost = term->cost;
	configuration_hold(&term->states, memory);
	if (with_shared)
		configuration_hold(&term->shared, memory);
	memory->activations += in_flight.input * (cost->saved - cost->saved_weight) + in_flight.weight * cost->saved_weight;
	if (in_flight.between > 1)     /* the gradients of the microbatch at hand come and go */
		memory->activations += (in_flight.between - 1) * cost->between;
	memory->activations -= overheads->small ? 0 : in_flight.weight * cost->saved_small;
	memory->gathered = config->keeps ? memory->gathered + term->gathered : larger_of(memory->gathered, term->gathered);
}

/* The weights of every kind of block of a rank, once. */
static int64_t cached_gradients(
	const struct config_model *model, const struct config *config, const uint32_t *first, uint32_t rank)
{
	int64_t sum = 0, seen[8];
	uint32_t kinds = 0;
	FOR(chunk, config->chunks)
		for (uint32_t piece = config_piece(config, rank, chunk), b = first[piece]; b < first[piece + 1]; b++) {
			int64_t matrices = model->terms->block[b].cost->matrices;
			bool known = matrices == 0;
			FOR(i, kinds)
				known |= seen[i] == matrices;
			if (known || kinds == COUNT_OF(seen))
				continue;
			seen[kinds++] = matrices;
			sum += matrices;
		}
	return sum;
}

/* Groups of devices that a device has buffers for. */
static int64_t configuration_groups_of(const struct config *config)
{
	uint32_t copies = LARGER(config->replicate, 1);
	return (config->dp / copies > 1) + (copies > 1) + (config->tp > 1) + (config->pp > 1) + (config->cp > 1) +
		(config->ep > 1);
}

static void add_overheads(const struct config *config, const struct overheads *overheads, struct rank_memory *memory)
{
	bool reduced = config->dp > 1 || config->cp > 1 || config->ep > 1;
	memory->context = overheads->context;
	memory->communication = overheads->communication * configuration_groups_of(config);
	memory->buckets = !reduced ? 0 : 2 * overheads->bucket < memory->gradients ? 2 * overheads->bucket : memory->gradients;
	memory->workspace = overheads->workspace;
	memory->fragmentation =
		(memory->activations + memory->transient) / 1000 * overheads->fragmentation + overheads->page;
	memory->overhead = memory->context + memory->communication + memory->buckets + memory->workspace + memory->cached +
		memory->fragmentation;
}

/* at_most[pieces]: as played, or NULL: by the schedule's definition. */
static void rank_memory(const struct config_model *model, const struct config *config,
	const struct overheads *overheads, const uint32_t *first, uint32_t rank, const struct in_flight *at_most,
	struct rank_memory *memory)
{
	*memory = (struct rank_memory) { 0 };
	FOR(chunk, config->chunks) {
		uint32_t piece = config_piece(config, rank, chunk);
		struct in_flight in_flight = at_most ? at_most[piece] : config_in_flight(config, rank, chunk);
		FOR_SPAN(b, first, piece) {
			uint32_t with = model->terms->block[b].shared_with;
			bool here = false;
			FOR_WHILE(c, config->chunks, with != NONE)
				here |= with >= first[config_piece(config, rank, c)] && with < first[config_piece(config, rank, c) + 1];
			add_block(model, config, overheads, b, in_flight, with != NONE && !here, memory);
		}
	}
	host_send_away(model, config, first, rank, at_most, memory);
	memory->transient = transient_of(model, config, overheads, first, rank);
	memory->cached = overheads->cached ? cached_gradients(model, config, first, rank) : 0;
	add_overheads(config, overheads, memory);
	if (!config_sums_gradients(config) && overheads->transient)
		fullest_moment(model, config, overheads, first, rank, memory);
	memory->total = memory->parameters + memory->gradients + memory->optimizer + memory->activations +
		memory->transient + memory->gathered + memory->overhead;
}

/* The model with terms, which lie in the arena where they are its own. */
static enum status configuration_open(const struct config_model *model, const struct config *config,
	const struct overheads *overheads, struct arena *arena, struct config_model *opened)
{
	struct config_terms *terms = model->terms ? NULL : arena_alloc(arena, 1, sizeof *terms);
	*opened = *model;
	if (model->terms)
		return OK;
	NEED(terms && ROOM(arena, terms->block, model->blocks));
	config_terms_find(model, config, overheads, terms);
	opened->terms = terms;
	return OK;
}

/* ---- cuts ---- */

/* Beside a backward pass in one part its gradients of weights hide how gradients of inputs are summed up; in two parts
 * these have to be there before the others begin (Transformer Engine's bulk overlap, ub_bulk_wgrad, is refused with
 * delay_wgrad_compute). */
static int64_t configuration_beside(const struct config *config, const struct block_term *term)
{
	return config_splits(config) ? term->cost->beside : 0;
}

struct cutting {
	const struct config_model *model;
	const struct config *config;
	uint32_t pieces, blocks;    /* stretches of blocks that are cut as one count as one block here */
	int64_t fixed;              /* bytes of every rank */
	int64_t *time, *state, *saved;  /* [blocks + 1] sums */
	int64_t *best; /* [(pieces + 1) * (blocks + 1)] the slowest piece of the first k pieces over the first i blocks */
	uint32_t *from;             /* of best the last piece's first block */
};

static bool configuration_fits(const struct cutting *cutting, uint32_t piece, uint32_t begin, uint32_t end)
{
	uint32_t chunk = piece / cutting->config->pp,
			 rank = piece_rank(piece, cutting->config->pp, schedule_folded((enum schedule)cutting->config->schedule));
	int64_t limit = cutting->model->limit;
	int64_t bytes = cutting->state[end] - cutting->state[begin]
		+ (cutting->saved[end] - cutting->saved[begin]) * config_in_flight(cutting->config, rank, chunk).weight;
	return limit < 0 || cutting->config->chunks > 1 || bytes <= limit - cutting->fixed;
}

/* best[k + 1][end] over all begins that fit, the first of which is least: best[k][begin] grows with begin and the
 * piece's time falls: they cross once. */
static void extend(struct cutting *cutting, uint32_t k, uint32_t least, uint32_t end)
{
	uint32_t width = cutting->blocks + 1, low = least, high = end - 1;
	const int64_t *before = cutting->best + (size_t)k * width;
	int64_t *best = cutting->best + (size_t)(k + 1) * width + end;
	BISECT(low, high, middle, before[middle] < cutting->time[end] - cutting->time[middle]);
	for (uint32_t begin = low > least ? low - 1 : low; begin <= low; begin++) {
		int64_t slowest = larger_of(before[begin], cutting->time[end] - cutting->time[begin]);
		if (before[begin] < INT64_MAX && slowest < *best) {
			*best = slowest;
			cutting->from[(size_t)(k + 1) * width + end] = begin;
		}
	}
}

/* Blocks from the front, as many to a piece as the slowest allows. False where these are more pieces. Sets *slowest to
 * the least that the slowest of such pieces takes, or to the least that would change one. O(blocks). */
static bool configuration_fill(const struct cutting *cutting, int64_t *slowest)
{
	uint32_t pieces = 1, begin = 0;
	int64_t most = 0, more = INT64_MAX;
	for (uint32_t i = 1; i <= cutting->blocks; i++) {
		int64_t time = cutting->time[i] - cutting->time[begin];
		if (time > *slowest && i - 1 > begin) {
			more = SMALLER(time, more);
			begin = i - 1;
			pieces++;
			time = cutting->time[i] - cutting->time[begin];
		}
		if (time > *slowest) {
			*slowest = time;
			return false;
		}
		most = larger_of(most, time);
	}
	*slowest = pieces <= cutting->pieces ? most : more;
	return pieces <= cutting->pieces;
}

/* Without a limit: bisects the slowest piece's time; then from the back, each piece as long as it allows. */
static void cut_evenly(struct cutting *cutting, uint32_t *first)
{
	int64_t low = cutting->time[cutting->blocks] / cutting->pieces, high = cutting->time[cutting->blocks];
	while (low < high) {
		int64_t slowest = low + (high - low) / 2;
		if (configuration_fill(cutting, &slowest))
			high = slowest;
		else
			low = slowest;
	}
	first[cutting->pieces] = cutting->blocks;
	for (uint32_t k = cutting->pieces, end = cutting->blocks; k-- > 0; end = first[k]) {
		uint32_t begin = end - 1;
		while (begin > k && cutting->time[end] - cutting->time[begin - 1] <= high)
			begin--;
		first[k] = begin;
	}
}

/* With the limit; true where a cut was found. */
static bool configuration_cut(struct cutting *cutting, uint32_t *first)
{
	uint32_t width = cutting->blocks + 1, n = cutting->pieces;
	FOR_SIZE(i, (size_t)(n + 1) * width)
		cutting->best[i] = INT64_MAX;
	cutting->best[0] = 0;
	FOR(k, n)
		for (uint32_t end = k + 1, least = k; end + (n - k - 1) <= cutting->blocks; end++) {
			while (least < end &&
				!configuration_fits(cutting, k, least, end)) /* the first begin that fits grows with the end */
				least++;
			if (least < end)
				extend(cutting, k, least, end);
		}
	if (cutting->best[(size_t)n * width + cutting->blocks] == INT64_MAX)
		return false;
	first[n] = cutting->blocks;
	FOR_DOWN(k, n)
		first[k] = cutting->from[(size_t)(k + 1) * width + first[k + 1]];
	return true;
}

static bool all_fit(const struct cutting *cutting, const uint32_t *first)
{
	bool fine = true;
	FOR(k, cutting->pieces)
		fine = fine && configuration_fits(cutting, k, first[k], first[k + 1]);
	return fine;
}

/* False where no cut keeps the limit: each piece takes all blocks that fit it. What fits still does with fewer blocks,
 * and what fits a piece fits the next, which holds no more of them at once: a piece that nothing is left for, or whose
 * next block is too large, shares the one before. */
static bool can_fit(const struct cutting *cutting)
{
	uint32_t begin = 0;
	FOR_WHILE(k, cutting->pieces, begin < cutting->blocks) {
		uint32_t end = begin;
		while (end < cutting->blocks && configuration_fits(cutting, k, begin, end + 1))
			end++;
		begin = end;
	}
	return begin == cutting->blocks;
}

/* As many layers for each piece; where that doesn't go, but does with what is before and behind them as a layer each,
 * so. */
static enum status cut_layers(const struct config_model *model, uint32_t pieces, uint32_t *first)
{
	uint32_t ends = model->layers % pieces != 0, each = (model->layers + 2 * ends) / pieces;
	if ((model->layers + 2 * ends) % pieces != 0 || each == 0 || (ends && each < 2 && pieces < 3))
		return INFEASIBLE;
	for (uint32_t k = 0; k <= pieces; k++)
		first[k] = k == 0 ? 0 : k == pieces ? model->blocks : model->layer + (k * each - ends) * model->period;
	return OK;
}

enum status config_cut(
	const struct config_model *given, const struct config *config, const struct overheads *overheads, uint32_t *first)
{
	OWN(arena) arena = { 0 };
	struct config_model opened, *model = &opened;
	struct cutting cutting = { .model = model, .config = config, .pieces = config->pp * config->chunks };
	TRY(configuration_open(given, config, overheads, &arena, model));
	if (cutting.pieces > model->blocks)
		return INFEASIBLE;
	if (model->even && model->layers > 0)
		return cut_layers(model, cutting.pieces, first);
	bool shared = model->cuts && overheads->inside == 0 && (config->chunks > 1 || model->limit < 0) &&
		config->chunks <= SCHEDULE_CHUNKS_MAX;
	uint32_t *cut = shared ? model->cuts->first + (size_t)config->chunks * model->cuts->width : NULL;
	if (shared && model->cuts->known[config->chunks]) {
		COPY(first, cut, (cutting.pieces + (size_t)1));
		return OK;
	}
	FOR(b, model->blocks)
		cutting.blocks += !model->cost[b].joined;
	size_t width = cutting.blocks + (size_t)1, cells = (cutting.pieces + (size_t)1) * width;
	ROOM(&arena, cutting.time, 3 * width);
	uint32_t *MAKE_IN(&arena, begin, width), number = 0;    /* begin[stretches]: its first block */
	if (cutting.pieces > cutting.blocks)
		return INFEASIBLE;
	NEED(cutting.time && begin);
	cutting.state = cutting.time + width;
	cutting.saved = cutting.state + width;
	FOR(b, model->blocks) {
		const struct block_term *term = &model->terms->block[b];
		struct rank_memory memory = { 0 };
		add_block(model, config, overheads, b, (struct in_flight) { 1, 1, 1 }, term->shared_with != NONE, &memory);
		cutting.time[number + 1] += term->forward + term->backward + configuration_beside(config, term);
		cutting.state[number + 1] += memory.parameters + memory.gradients +
			(config->offload & OFFLOAD_OPTIMIZER ? 0 : memory.optimizer);
		cutting.saved[number + 1] += memory.activations;
		if (!model->cost[b].joined && ++number < cutting.blocks) {
			begin[number] = b + 1;
			cutting.time[number + 1] = cutting.time[number];
			cutting.state[number + 1] = cutting.state[number];
			cutting.saved[number + 1] = cutting.saved[number];
		}
		int64_t level = 0;
		cutting.fixed = larger_of(cutting.fixed,
			overheads->context + overheads->workspace + overheads->communication * configuration_groups_of(config) +
				memory.gathered + backward_most(model, config, overheads, b, b + 1, &level));
	}
	cut_evenly(&cutting, first);
	if (!all_fit(&cutting, first) && can_fit(&cutting)) {
		ROOM(&arena, cutting.best, cells);
		ROOM(&arena, cutting.from, cells);
		NEED(cutting.best && cutting.from);
		configuration_cut(&cutting, first);
	}
	for (uint32_t k = 0; k <= cutting.pieces; k++)
		first[k] = first[k] < cutting.blocks ? begin[first[k]] : model->blocks;
	if (shared) {
		memcpy(cut, first, (cutting.pieces + (size_t)1) * sizeof *first);
		model->cuts->known[config->chunks] = true;
	}
	return OK;
}

enum status config_floor(const struct config_model *model, const struct config *config,
	const struct overheads *overheads, uint32_t *first, int64_t *bytes)
{
	const struct config_terms *terms = model->terms;
	uint32_t pieces = config->pp * config->chunks;
	/* of a single microbatch gradients and activations come and go */
	bool stay = config_sums_gradients(config) || !overheads->transient;
	int64_t held = config->schedule == SCHEDULE_GPIPE ? config->microbatches : 1, all = terms->states.parameters +
		terms->states.optimizer + (stay ? terms->states.gradients + held * terms->saved : 0);
	*bytes = all / config->pp + overheads->context + overheads->workspace +
		overheads->communication * configuration_groups_of(config);
	return model->even && model->layers > 0 ? cut_layers(model, pieces, first)
		: pieces > terms->stretches ? INFEASIBLE
		: OK;
}

/* ---- time ---- */

/* The update of so many devices together: between powers of two in proportion to a device's share. */
static int64_t shared_update(const int64_t time[UPDATE_SHARES], uint32_t group)
{
	int i = 0;
	while (i + 2 < UPDATE_SHARES && (UINT32_C(2) << i) <= group)
		i++;
	double low = 1.0 / (double)(UINT32_C(1) << i), share = 1.0 / group;
	return share >= low ? time[i]
		: time[i + 1] + (int64_t)((double)(time[i] - time[i + 1]) * (share - low / 2) / (low / 2));
}

int64_t config_send_time(const struct config_model *model, const struct config *config, int64_t bytes)
{
	uint32_t stage = config->dp * config->tp * config->cp * config->ep;
	struct mesh_axis axis = { .size = 2,
		.near_size = 2 * stage <= model->devices_per_node ? 2 : 1,
		.near = model->machine->near,
		.far = model->machine->far };
	return config->pp > 1 ? collective_time(&axis, COLLECTIVE_SEND, bytes) : 0;
}

/* Times of pieces; each: what of each microbatch a rank waits for collectives of states, the most. */
struct pieces { int64_t *forward, *backward, *weight, *send, *forward_link, *backward_link, each; };

static enum status pieces_find(const struct config_model *model, const struct config *config, const uint32_t *first,
	struct arena *arena, struct pieces *pieces)
{
	uint32_t n = config->pp * config->chunks;
	NEED(ROOM(arena, pieces->forward, 6 * (size_t)n));
	pieces->backward = pieces->forward + n;
	pieces->weight = pieces->backward + n;
	pieces->send = pieces->weight + n;
	pieces->forward_link = pieces->send + n;
	pieces->backward_link = pieces->forward_link + n;
	bool across = (uint64_t)config->ep * config->cp * config->tp > model->devices_per_node && config->ep > 1;
	int64_t held = across ? model->machine->dispatcher : 0;
	FOR(k, n) {
		FOR_SPAN(b, first, k) {
			const struct block_term *term = &model->terms->block[b];
			pieces->forward[k] += term->forward;
			pieces->backward[k] += term->backward + configuration_beside(config, term);
			pieces->weight[k] += term->cost->weight;
			pieces->forward_link[k] += term->cost->forward_link + term->forward - term->cost->forward;
			pieces->backward_link[k] += term->cost->backward_link + term->backward - term->cost->backward;
		}
		pieces->forward_link[k] -= dispatch_lost(
			held, pieces->forward[k] - pieces->forward_link[k], pieces->forward_link[k]);
		pieces->backward_link[k] -= dispatch_lost(
			held, pieces->backward[k] - pieces->backward_link[k], pieces->backward_link[k]);
		pieces->send[k] = k + 1 < n ? model->terms->block[first[k + 1] - 1].send : 0;
	}
	FOR(rank, config->pp) {
		int64_t each = config_exposed_each(model, config, first, rank);
		pieces->backward[config_piece(config, rank, 0)] += each;
		/* with experts states lie over two axes, whose waits are estimated too short: none is hidden as well */
		pieces->backward_link[config_piece(config, rank, 0)] += config->ep == 1 ? each : 0;
		pieces->each = larger_of(pieces->each, each);
	}
	return OK;
}

/* The busiest rank's work for one microbatch. */
static int64_t busiest(const struct config *config, const struct pieces *pieces)
{
	int64_t most = 0;
	FOR(r, config->pp) {
		int64_t work = 0;
		FOR(c, config->chunks) {
			uint32_t there = config_piece(config, r, c), back = config_piece(config, r, config->chunks - 1 - c);
			bool overlaps = config->schedule == SCHEDULE_DUALPIPEV;    /* a forward pass and the other piece's backward one */
			work += overlaps ? pipeline_together(pieces->forward[there], pieces->forward_link[there],
								   pieces->backward[back], pieces->backward_link[back])
								: pieces->forward[there] + pieces->backward[there];
		}
		most = larger_of(most, work);
	}
	return most;
}

/* One microbatch through all pieces once a round, the slowest rank for the others; interleaved rounds are chunks times
 * shorter. Gradients of weights fill what ranks wait, as far as the schedule's bubble goes with equal pieces (arXiv
 * 2401.10241, 2405.15362). */
static int64_t closed_form(const struct config *config, const struct pieces *pieces)
{
	uint32_t n = config->pp * config->chunks;
	int64_t all = 0, forward = 0, most = busiest(config, pieces), bubble;
	FOR(k, n) {
		all += pieces->backward[k] + pieces->send[k];
		forward += pieces->forward[k] + pieces->send[k];
	}
	all += forward;
	bubble = larger_of(0, all - most);
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
	return config->chunks > 1 ? (int64_t)config->microbatches * most + larger_of(0, all - most) / config->chunks
		: (config->microbatches - 1) * most + all;
}

/* The schedule's time, played or by its closed form. at_most[pieces]: of schedules that split the backward pass,
 * played, what is in flight; their gradients of weights fill gaps, so that it depends on times. *counted: it is filled
 * in. */
static enum status schedule_time(const struct config *config, const struct pieces *pieces, bool exact, int64_t *time,
	struct in_flight *at_most, bool *counted)
{
	struct pipeline pipeline = { .schedule = (enum schedule)config->schedule,
		.ranks = config->pp,
		.chunks = config->chunks,
		.microbatches = config->microbatches,
		.forward = pieces->forward,
		.backward = pieces->backward,
		.weight = pieces->weight,
		.send = pieces->send,
		.forward_link = pieces->forward_link,
		.backward_link = pieces->backward_link };
	struct pipeline_plan plan;
	struct error ignored;
	*time = closed_form(config, pieces);
	*counted = false;
	if (!exact || config->pp == 1)
		return OK;
	enum status status = pipeline_run(&pipeline, &plan, &ignored);
	if (status == OK) {
		*time = plan.time;
		*counted = schedule_split(pipeline.schedule);
		FOR_WHILE(k, pipeline.ranks * pipeline.chunks, *counted)
			at_most[k] = (struct in_flight){ plan.at_most[k].input > 0 ? plan.at_most[k].input : 1,
				plan.at_most[k].weight > 0 ? plan.at_most[k].weight : 1, plan.at_most[k].between };
		pipeline_free(&plan);
	}
	return status == NO_MEMORY ? NO_MEMORY : OK;
}

/* The ranks' memory: of the first, the last, and the one that needs the most. */
static void evaluate_memory(const struct config_model *model, const struct config *config,
	const struct overheads *overheads, const uint32_t *first, const struct in_flight *at_most,
	struct config_result *result)
{
	FOR(rank, config->pp) {
		struct rank_memory memory;
		rank_memory(model, config, overheads, first, rank, at_most, &memory);
		if (rank == 0)
			result->first = memory;
		result->last = memory;
		result->host = larger_of(result->host, memory.host);
		if (rank == 0 || memory.total > result->worst.total) {
			result->worst = memory;
			result->worst_rank = rank;
		}
	}
}

static double utilisation(const struct config_model *model, const struct config *config, int64_t time)
{
	double ideal = 0;
	FOR(b, model->blocks)
		ideal += (double)model->terms->block[b].cost->ideal;
	return time > 0
		? ideal * config->microbatches / ((double)config->tp * config->cp * config->ep * config->pp * (double)time)
		: 0;
}

/* ---- terms ---- */

static void hide(int64_t *time, int64_t *link, uint32_t inside)
{
	int64_t hidden = *link / 1000 * inside;
	*time -= hidden;
	*link -= hidden;
}

void config_hide(const struct overheads *overheads, struct block_cost *cost, uint32_t blocks)
{
	for (uint32_t b = 0, inside = overheads->inside; b < blocks; b++) {
		hide(&cost[b].forward, &cost[b].forward_link, inside);
		hide(&cost[b].backward, &cost[b].backward_link, inside);
		FOR_INT(pass, 2)
			cost[b].carried[pass] -= cost[b].carried[pass] / 1000 * inside;
		hide(&cost[b].weight, &cost[b].weight_link, inside);
		cost[b].beside = larger_of(cost[b].beside, cost[b].summed / 1000 * inside);
	}
}

static int alive_kind(const struct config *config)
{
	return config->zero >= 2 ? ALIVE_SHARDED
		: config_sums_gradients(config) ? ALIVE_SUMMED
		: config_one_device(config) ? ALIVE_BARE
		: ALIVE_OWN;
}

static void config_term_find(const struct config_model *model, const struct config *config,
	const struct overheads *overheads, const struct config_terms *terms, const struct block_cost *cost,
	struct block_term *term)
{
	int64_t across = across_time(model, config, cost, false), back = across_time(model, config, cost, true),
			forward_reads = configuration_reads_of(config, &cost->forward_reads);
	bool gathers = overheads->gathered && config_gathers(config);
	int alive = alive_kind(config);
	*term = (struct block_term) { .cost = cost, .shared_with = cost->shared_with, .forward = cost->forward + across,
		.backward = cost->backward + back, .link = cost->carried[0] + across + cost->carried[1] + back,
		.send = config_send_time(model, config, cost->send), .traffic = config_block_traffic(terms, config, cost),
		.updating = config_share(cost->update_transient, config->zero >= 1 ? config->dp * config->cp * config->ep : 1),
		.gathered = !gathers || terms->units ? 0
			: config->keeps ? forward_reads
			: larger_of(forward_reads, configuration_reads_of(config, &cost->backward_reads)) };
	if (overheads->transient) {
		term->working[0] = terms->units ? cost->whole : cost->both.most[alive][gathers];
		term->working[1] = cost->input.most[SMALLER(alive, ALIVE_SUMMED)][gathers];
	}
	configuration_add_states(config, &cost->states, 1, &term->states);
	if (!overheads->vectors)
		configuration_add_states(config, &cost->vectors, -1, &term->states);
	if (cost->shared_with != NONE)
		configuration_add_states(config, &cost->shared, 1, &term->shared);
	int64_t whole = 0;
	FOR(class, STATE_CLASSES) {
		uint32_t shards = config_shards(config, class);
		int64_t parameter = cost->states.parameter[class], uncast = cost->states.uncast[class],
				flat = cost->states.gradient[class], wide = config_share(flat, shards);
		term->update += shared_update(cost->update[class], config->zero >= 1 ? shards : 1);
		whole += cost->update[class][0];
		term->waiting += config_one_device(config) ? uncast : config->zero >= 2 ? wide : flat;
		if (!terms->units || shards == 1)
			continue;
		term->gathered += parameter;
		term->flat += flat;
		if (uncast < flat && cost->states.optimizer[class] >= flat) { /* its wide ones are the only parameters */
			term->states.parameters += wide - config_share(parameter, shards);
			term->states.optimizer -= wide;
		}
	}
	term->unscaled = whole > 0 ? (int64_t)((double)term->update * ((double)cost->unscaled / (double)whole)) : 0;
}

void config_terms_find(const struct config_model *model, const struct config *config, const struct overheads *overheads,
	struct config_terms *terms)
{
	config_axes_find(model, config, terms);
	terms->units = overheads->gathered && overheads->transient && config_gathers(config) && !config->keeps &&
		config->pp == 1 && config->microbatches == 1 && !config->offload && model->layers > 0;
	terms->states = (struct state_bytes){ 0 };
	terms->saved = terms->stretches = 0;
	FOR(b, model->blocks) {
		const struct block_cost *cost = &model->cost[b];
		struct block_term *term = &terms->block[b];
		if (cost->like > 0)
			*term = terms->block[b - cost->like];
		else
			config_term_find(model, config, overheads, terms, cost, term);
		term->shared_with = cost->shared_with;
		terms->states.parameters += term->states.parameters;
		terms->states.gradients += term->states.gradients;
		terms->states.optimizer += term->states.optimizer;
		terms->saved += cost->saved - (overheads->small ? 0 : cost->saved_small);
		terms->stretches += !cost->joined;
	}
}

/* ---- all of it ---- */

enum status config_evaluate(const struct config_model *given, const struct config *config,
	const struct overheads *overheads, const uint32_t *first, enum evaluation what, struct config_result *result)
{
	OWN(arena) arena = { 0 };
	struct config_model opened, *model = &opened;
	struct pieces pieces = { 0 };
	bool counted;
	struct in_flight *MAKE_IN(&arena, at_most, (size_t)config->pp * config->chunks);
	*result = (struct config_result) { 0 };
	NEED(at_most);
	TRY(configuration_open(given, config, overheads, &arena, model));
	if (what <= EVALUATE_FITTING) {
		evaluate_memory(model, config, overheads, first, NULL, result);
		if (what == EVALUATE_MEMORY || (model->limit >= 0 && result->worst.total > model->limit))
			return OK;
	}
	TRY(pieces_find(model, config, first, &arena, &pieces));
	TRY(schedule_time(config, &pieces, what == EVALUATE_PLAYED, &result->time, at_most, &counted));
	if (what > EVALUATE_FITTING)
		evaluate_memory(model, config, overheads, first, counted ? at_most : NULL, result);
	FOR(rank, config->pp) {
		int64_t updates = 0, update = 0, link = 0;
		FOR(c, config->chunks) {
			uint32_t begin = first[config_piece(config, rank, c)], end = first[config_piece(config, rank, c) + 1];
			int64_t piece = 0;
			FOR_FROM(b, begin, end) {
				const struct block_term *term = &model->terms->block[b];
				piece += term->update;
				int64_t late = config_splits(config) ? term->cost->summed / 1000 * overheads->inside : 0;
				link += (term->link + late) * config->microbatches;
			}
			updates += piece;
			update += host_streamed_update(model, config, piece, begin, end);
		}
		int64_t exposed = config_exposed_time(model, config, overheads, updates, first, rank);
		result->exposed = larger_of(result->exposed, exposed);
		result->update = larger_of(result->update, update);
		result->link = larger_of(result->link, link);
	}
	result->bubble = larger_of(0, result->time - config->microbatches * busiest(config, &pieces));
	result->time += result->exposed + result->update;
	result->exposed += config->microbatches * pieces.each;    /* in the schedule's passes */
	result->mfu = utilisation(model, config, result->time);
	return OK;
}
