/* schedules.c: the order of every rank's passes. */
#include <string.h>

#include "pipeline.h"

/* A list that grows; counts of what is in it. */
struct list {
	const struct pipeline *pipeline;
	uint32_t rank, at;
	struct pipeline_slot *slot;
	uint32_t forward[2], backward[2], weight[2];   /* passes of a chunk so far, of schedules with two */
};

/* ---- GPipe, 1F1B, interleaved ---- */

/* Slot number k of a rank's forward (or backward) passes: groups of as many microbatches as ranks go through the chunks
 * in turn (Megatron, arXiv 2104.04473, figure 4). */
static struct pipeline_slot schedules_turn(const struct pipeline *pipeline, uint32_t rank, uint32_t k, bool backward)
{
	uint32_t group = pipeline->ranks * pipeline->chunks, chunk = pipeline->chunks > 1 ? k % group / pipeline->ranks : 0;
	uint32_t microbatch = pipeline->chunks > 1 ? k / group * pipeline->ranks + k % pipeline->ranks : k;
	if (backward)
		chunk = pipeline->chunks - 1 - chunk;
	if (backward && pipeline->schedule == SCHEDULE_GPIPE)
		microbatch = pipeline->microbatches - 1 - microbatch;
	return (struct pipeline_slot){ .piece = chunk * pipeline->ranks + rank,
		.microbatch = microbatch,
		.pass = backward ? PASS_BACKWARD : PASS_FORWARD };
}

/* Forward passes before the first backward one. */
static uint32_t warm_up(const struct pipeline *pipeline, uint32_t rank)
{
	uint32_t passes = pipeline->microbatches * pipeline->chunks, behind = pipeline->ranks - 1 - rank;
	uint32_t wanted = behind;
	if (pipeline->schedule == SCHEDULE_GPIPE)
		wanted = passes;
	else if (pipeline->chunks > 1)
		wanted = 2 * behind + (pipeline->chunks - 1) * pipeline->ranks;
	return SMALLER(wanted, passes);
}

static void list_turns(const struct pipeline *pipeline, struct pipeline_slot *slot, uint32_t rank)
{
	uint32_t passes = pipeline->microbatches * pipeline->chunks, forward = 0, backward = 0, at = 0;
	while (forward < warm_up(pipeline, rank))
		slot[at++] = schedules_turn(pipeline, rank, forward++, false);
	while (backward < passes) {
		if (forward < passes)
			slot[at++] = schedules_turn(pipeline, rank, forward++, false);
		slot[at++] = schedules_turn(pipeline, rank, backward++, true);
	}
}

/* ---- one pass after the other ---- */

static uint32_t piece_of(const struct list *list, uint32_t chunk)
{
	return rank_piece(list->rank, chunk, list->pipeline->ranks, chunk > 0);
}

static void schedules_add(struct list *list, uint32_t chunk, enum pass pass, uint32_t microbatch)
{
	list->slot[list->at++] = (struct pipeline_slot){
		.piece = piece_of(list, chunk), .microbatch = microbatch, .pass = (uint8_t)pass
	};
}

/* The next forward pass of a chunk, if there is one. */
static void forward(struct list *list, uint32_t chunk)
{
	if (list->forward[chunk] < list->pipeline->microbatches)
		schedules_add(list, chunk, PASS_FORWARD, list->forward[chunk]++);
}

/* The next gradients of a chunk's input, of what has gone forward. */
static void input(struct list *list, uint32_t chunk)
{
	if (list->backward[chunk] < list->forward[chunk])
		schedules_add(list, chunk, PASS_INPUT, list->backward[chunk]++);
}

/* ---- orders without gradients of weights ---- */

/* ZB1P, ZB2P: after the warm-up one forward, one backward pass; the more forward passes go ahead, the smaller the
 * bubble. */
static void list_one_chunk(struct list *list)
{
	uint32_t behind = list->pipeline->ranks - list->rank,
			 ahead = list->pipeline->schedule == SCHEDULE_ZB2P ? 2 * behind - 1 : behind;
	FOR(i, ahead)
		forward(list, 0);
	while (list->backward[0] < list->pipeline->microbatches) {
		input(list, 0);
		forward(list, 0);
	}
}

/* ZBV: forward passes go down the V and up again as early as they can; then chunk 0 and chunk 1 take turns (arXiv
 * 2405.15362, figure 5). */
static void list_zbv(struct list *list)
{
	uint32_t m = list->pipeline->microbatches, ranks = list->pipeline->ranks, rank = list->rank;
	FOR(i, 2 * (ranks - rank) - 1)
		forward(list, 0);
	FOR(i, rank) {
		forward(list, 1);
		forward(list, 0);
	}
	FOR(i, ranks - rank) {
		forward(list, 1);
		input(list, 1);
	}
	while (list->forward[1] < list->forward[0] || list->forward[0] < m) {
		forward(list, 0);
		input(list, 0);
		forward(list, 1);
		input(list, 1);
	}
	while (list->backward[0] < m || list->backward[1] < m) {
		input(list, 0);
		input(list, 1);
	}
}

/* V-Half, V-Min: a block of passes that is repeated every six units of time, a forward pass, gradients of the input and
 * of the weights of two chunks each. What a rank does lags behind its neighbour's by so many units: the sum of the four
 * lags is how long activations wait, and so the memory (arXiv 2405.15362, section 3). The gaps at the turns keep any
 * two passes of a rank apart, modulo six. */
struct building_block {
	uint8_t lag[4], gap[3];
};   /* forward down, forward up, backward down, backward up; gaps at the turns */

static struct building_block building_block(enum schedule schedule, uint32_t ranks)
{
	if (schedule == SCHEDULE_V_MIN)
		return ranks % 3 == 0 ? (struct building_block){ { 1, 1, 1, 1 }, { 3, 1, 3 } }
			: (struct building_block){ { 1, 1, 1, 1 }, { 1, 1, 1 } };
	return ranks % 2 == 0 ? (struct building_block){ { 1, 2, 1, 2 }, { 4, 1, 5 } }
		: (struct building_block){ { 1, 2, 1, 2 }, { 1, 1, 2 } };
}

/* When a rank runs the first microbatch, in units: chunk 0 and 1 forward, chunk 1 and 0 backward. */
static void block_times(enum schedule schedule, uint32_t ranks, uint32_t rank, uint64_t time[4])
{
	struct building_block block = building_block(schedule, ranks);
	uint64_t last = ranks - 1, at = 0;
	FOR_INT(i, 4) {
		uint64_t way = i % 2 ? last - rank : rank;
		time[i] = at + block.lag[i] * way;
		at += block.lag[i] * last + (i < 3 ? block.gap[i] : 0);
	}
}

static void list_block(struct list *list)
{
	static const struct {
		uint8_t chunk, pass;
	} steps[4] = { { 0, PASS_FORWARD }, { 1, PASS_FORWARD }, { 1, PASS_INPUT }, { 0, PASS_INPUT } };
	uint32_t m = list->pipeline->microbatches, done[4] = { 0 };
	uint64_t time[4];
	block_times(list->pipeline->schedule, list->pipeline->ranks, list->rank, time);
	for (uint32_t left = 4 * m; left > 0; left--) {
		int next = -1;
		FOR_INT(i, 4)
			if (done[i] < m && (next < 0 || time[i] + 6 * (uint64_t)done[i] < time[next] + 6 * (uint64_t)done[next]))
				next = i;
		schedules_add(list, steps[next].chunk, (enum pass)steps[next].pass, done[next]++);
	}
}

/* Pieces that a rank may have in flight, until gradients of weights make room. */
static uint32_t schedules_most_held(enum schedule schedule, uint32_t ranks)
{
	switch (schedule) {
	case SCHEDULE_ZB1P: return ranks;
	case SCHEDULE_ZB2P: return 2 * ranks - 1;
	case SCHEDULE_V_HALF: return ranks % 2 ? ranks + 1 : ranks + 2;
	case SCHEDULE_V_MIN: return (ranks + 1) / 3 * 2 + 2;
	default: return 2 * ranks;
	}
}

/* ---- gradients of weights fill the gaps ---- */

/* A schedule as it is played: what is left of each rank's order, and the gradients of weights that wait. */
struct filling {
	const struct pipeline *pipeline;
	uint32_t pieces, passes, slots, most;     /* passes, slots: of a rank, without and with gradients of weights */
	struct pipeline_slot *order, *slot;       /* [ranks * passes], [ranks * slots] */
	uint32_t *next, *filled, *weights, *held; /* [ranks]; weights: in order of the gradients of inputs */
	uint32_t *scan;                           /* [ranks] where in order the next of these stands */
	int64_t *free_at;                         /* [ranks] */
	int64_t *begin;                           /* [ranks] what schedules_choose() says, and of what */
	bool *fills;
	int64_t *done[2];                         /* [pieces * microbatches] with sending; -1: not yet */
};

/* When the operands of a rank's next pass are there; -1: not known yet. */
static int64_t schedules_ready(const struct filling *filling, const struct pipeline_slot *slot)
{
	uint32_t m = filling->pipeline->microbatches;
	size_t at = (size_t)slot->piece * m + slot->microbatch;
	if (slot->pass == PASS_FORWARD)
		return slot->piece == 0 ? 0 : filling->done[0][at - m];
	return filling->done[0][at] < 0 ? -1 : slot->piece + 1 == filling->pieces ? 0 : filling->done[1][at + m];
}

/* What a rank does next, and when: gradients of weights where the next pass has to wait, or memory is full. INT64_MAX:
 * it can't do anything yet. */
static int64_t schedules_choose(const struct filling *filling, uint32_t rank, bool *weights)
{
	const struct pipeline_slot *next = &filling->order[(size_t)rank * filling->passes + filling->next[rank]];
	bool any = filling->next[rank] < filling->passes;
	int64_t begin = any ? schedules_ready(filling, next) : -1, free_at = filling->free_at[rank];
	bool waiting = filling->weights[rank] > 0;
	*weights = waiting &&
		(begin < 0 || begin > free_at || (next->pass == PASS_FORWARD && filling->held[rank] >= filling->most));
	if (*weights)
		return free_at;
	return begin < 0 ? INT64_MAX : begin > free_at ? begin : free_at;
}

/* The oldest gradients of weights that wait. */
static struct pipeline_slot oldest(struct filling *filling, uint32_t rank)
{
	const struct pipeline_slot *order = filling->order + (size_t)rank * filling->passes;
	while (order[filling->scan[rank]].pass != PASS_INPUT)
		filling->scan[rank]++;
	struct pipeline_slot slot = order[filling->scan[rank]++];
	slot.pass = PASS_WEIGHT;
	return slot;
}

static void schedules_look(struct filling *filling, uint32_t rank)
{
	filling->begin[rank] = schedules_choose(filling, rank, &filling->fills[rank]);
}

/* Then what the rank and the one that waits for the result do next is another matter. */
static void schedules_run(struct filling *filling, uint32_t rank)
{
	int64_t begin = filling->begin[rank];
	bool weights = filling->fills[rank];
	const struct pipeline *pipeline = filling->pipeline;
	bool folded = pipeline->chunks > 1;
	struct pipeline_slot slot = weights ? oldest(filling, rank)
		: filling->order[(size_t)rank * filling->passes + filling->next[rank]++];
	size_t at = (size_t)slot.piece * pipeline->microbatches + slot.microbatch;
	int64_t end = begin + pipeline_duration(pipeline, &slot), send = 0;
	if (slot.pass == PASS_FORWARD && slot.piece + 1 < filling->pieces)
		send = pipeline_send(pipeline, folded, slot.piece);
	else if (slot.pass == PASS_INPUT && slot.piece > 0)
		send = pipeline_send(pipeline, folded, slot.piece - 1);
	if (!weights)
		filling->done[slot.pass == PASS_INPUT][at] = end + send;
	filling->free_at[rank] = end + (pipeline->blocking ? send : 0);
	filling->held[rank] += slot.pass == PASS_FORWARD ? 1u : weights ? -1u : 0;
	filling->weights[rank] += slot.pass == PASS_INPUT ? 1u : weights ? -1u : 0;
	filling->slot[(size_t)rank * filling->slots + filling->filled[rank]++] = slot;
	schedules_look(filling, rank);
	if (slot.pass == PASS_FORWARD && slot.piece + 1 < filling->pieces)
		schedules_look(filling, piece_rank(slot.piece + 1, pipeline->ranks, folded));
	else if (slot.pass == PASS_INPUT && slot.piece > 0)
		schedules_look(filling, piece_rank(slot.piece - 1, pipeline->ranks, folded));
}

/* Passes in the order of time, so that a rank knows of all that is ready when it becomes free. */
static void schedules_fill(struct filling *filling)
{
	uint32_t ranks = filling->pipeline->ranks;
	FOR(rank, ranks)
		schedules_look(filling, rank);
	for (uint64_t left = (uint64_t)ranks * filling->slots; left > 0; left--) {
		uint32_t first = 0;
		FOR_FROM(rank, 1, ranks)
			first = filling->begin[rank] < filling->begin[first] ? rank : first;
		if (filling->begin[first] == INT64_MAX)
			return;    /* ranks wait for each other: the player says so */
		schedules_run(filling, first);
	}
}

static enum status list_filled(const struct pipeline *pipeline, uint32_t slots, struct pipeline_slot *slot)
{
	struct filling filling = { .pipeline = pipeline,
		.pieces = pipeline->ranks * pipeline->chunks,
		.passes = slots / 3 * 2,
		.slots = slots,
		.most = schedules_most_held(pipeline->schedule, pipeline->ranks),
		.slot = slot };
	size_t cells = (size_t)filling.pieces * pipeline->microbatches;
	struct arena arena = { 0 };
	if (!(ROOM(&arena, filling.order, (size_t)pipeline->ranks * filling.passes + 1) &&
		ROOM(&arena, filling.next, 5 * (size_t)pipeline->ranks) &&
		ROOM(&arena, filling.free_at, 2 * (size_t)pipeline->ranks) && ROOM(&arena, filling.fills, pipeline->ranks) &&
		ROOM(&arena, filling.done[0], 2 * cells))) {
		arena_free(&arena);
		return NO_MEMORY;
	}
	uint32_t **const counts[] = { &filling.filled, &filling.weights, &filling.held, &filling.scan };
	FOR(i, COUNT_OF(counts))
		*counts[i] = filling.next + (i + 1) * pipeline->ranks;
	filling.begin = filling.free_at + pipeline->ranks;
	filling.done[1] = filling.done[0] + cells;
	FOR_SIZE(i, 2 * cells)
		filling.done[0][i] = -1;
	FOR(rank, pipeline->ranks) {
		struct list list = { .pipeline = pipeline, .rank = rank, .slot = filling.order + (size_t)rank * filling.passes };
		if (pipeline->chunks < 2)
			list_one_chunk(&list);
		else if (pipeline->schedule == SCHEDULE_ZBV)
			list_zbv(&list);
		else
			list_block(&list);
	}
	schedules_fill(&filling);
	arena_free(&arena);
	return OK;
}

/* ---- DualPipeV ---- */

static void weights(struct list *list, uint32_t chunk)
{
	if (list->weight[chunk] < list->backward[chunk])
		schedules_add(list, chunk, PASS_WEIGHT, list->weight[chunk]++);
}

/* A whole backward pass, or without gradients of weights. */
static void backward(struct list *list, uint32_t chunk, bool whole)
{
	input(list, chunk);
	if (!whole)
		return;
	list->slot[list->at - 1].joined = true;
	/* the microbatch's own weights, not the oldest that wait: none does, as long as passes are whole */
	schedules_add(list, chunk, PASS_WEIGHT, list->backward[chunk] - 1);
	list->weight[chunk]++;
}

static void schedules_overlap(struct list *list, uint32_t there, uint32_t back)
{
	forward(list, there);
	list->slot[list->at - 1].overlapped = true;
	backward(list, back, true);
}

/* The oldest gradients of weights of either chunk. */
static void any_weights(struct list *list)
{
	FOR(i, list->at) {
		const struct pipeline_slot *slot = &list->slot[i];
		uint32_t chunk = slot->piece >= list->pipeline->ranks;
		if (slot->pass == PASS_INPUT && !slot->joined && slot->microbatch == list->weight[chunk]) {
			weights(list, chunk);
			return;
		}
	}
}

/* The eight steps of DualPipe (DeepSeek-V3, arXiv 2412.19437, section 3.2.1), folded into a V. */
static void list_dualpipev(struct list *list)
{
	uint32_t ranks = list->pipeline->ranks, rank = list->rank, behind = ranks - 1 - rank;
	FOR(i, 2 * behind)
		forward(list, 0);
	FOR(i, rank + 1) {
		forward(list, 0);
		forward(list, 1);
	}
	FOR(i, behind) {
		input(list, 1);
		weights(list, 1);
		forward(list, 1);
	}
	FOR(i, list->pipeline->microbatches - 2 * ranks + rank + 1) {
		if (i == 0 && behind == 0) {
			forward(list, 0);
			backward(list, 1, true);
		} else {
			schedules_overlap(list, 0, 1);
		}
		schedules_overlap(list, 1, 0);
	}
	FOR(i, behind) {
		backward(list, 1, true);
		schedules_overlap(list, 1, 0);
	}
	bool whole = true;    /* the second half of what is left makes gradients of weights later */
	FOR(i, rank + 1) {
		whole = whole && !(i == (rank + 1) / 2 && rank % 2 == 1);
		backward(list, 1, whole);
		whole = whole && !(i == (rank + 1) / 2 && rank % 2 == 0);
		backward(list, 0, whole);
	}
	FOR(i, behind) {
		any_weights(list);
		backward(list, 0, whole);
	}
	FOR(i, rank + 1)
		any_weights(list);
}

/* ---- all ---- */

enum status schedule_list(const struct pipeline *pipeline, uint32_t slots, struct pipeline_slot *slot)
{
	if (schedule_split(pipeline->schedule) && pipeline->schedule != SCHEDULE_DUALPIPEV)
		return list_filled(pipeline, slots, slot);
	FOR(rank, pipeline->ranks) {
		struct list list = { .pipeline = pipeline, .rank = rank, .slot = slot + (size_t)rank * slots };
		if (pipeline->schedule == SCHEDULE_DUALPIPEV)
			list_dualpipev(&list);
		else
			list_turns(pipeline, list.slot, rank);
	}
	return OK;
}

/* ---- in flight, without playing ---- */

/* Of GPipe, 1F1B, interleaved. */
static uint32_t turns_in_flight(
	enum schedule schedule, uint32_t p, uint32_t v, uint32_t m, uint32_t rank, uint32_t chunk)
{
	uint32_t most;
	if (schedule == SCHEDULE_GPIPE)
		return m;
	if (v < 2)
		return SMALLER(p - rank, m);
	/* groups of p microbatches go through the chunks in turn; a rank is 2 (p - rank - 1) + 1 pieces ahead in its last
	 * chunk */
	uint32_t ahead = 2 * (p - rank - 1) + 1;
	if (chunk + 1 < v)
		most = p + (chunk == 0 && ahead > p ? ahead - p : 0);
	else
		most = SMALLER(ahead, p);
	return SMALLER(most, m);
}

/* Of two chunks in a V, until gradients of inputs: what a microbatch waits, in microbatches. */
static uint32_t folded_in_flight(enum schedule schedule, uint32_t p, uint32_t rank, uint32_t chunk)
{
	uint64_t time[4];
	if (schedule == SCHEDULE_ZBV)
		return chunk == 0 ? 2 * p - rank - 1 : rank + 1;
	if (schedule == SCHEDULE_DUALPIPEV)
		return chunk == 0 ? 2 * p - rank : rank + 1;
	block_times(schedule, p, rank, time);
	return (uint32_t)((chunk == 0 ? time[3] - time[0] : time[2] - time[1]) / 6) + 1;
}

struct in_flight schedule_in_flight(
	enum schedule schedule, uint32_t ranks, uint32_t chunks, uint32_t microbatches, uint32_t rank, uint32_t chunk)
{
	uint32_t m = microbatches, input, weight;
	if (ranks == 1)
		return (struct in_flight) { 1, 1, 0 };
	if (!schedule_split(schedule)) {
		input = turns_in_flight(schedule, ranks, chunks, m, rank, chunk);
		return (struct in_flight) { input, input, 0 };
	}
	if (schedule == SCHEDULE_ZB1P || schedule == SCHEDULE_ZB2P) {
		weight = schedules_most_held(schedule, ranks);
		input = schedule == SCHEDULE_ZB2P ? 2 * (ranks - rank) - 1 : ranks - rank;
	} else {
		uint32_t most = schedule == SCHEDULE_DUALPIPEV ? 2 * ranks + 1 : schedules_most_held(schedule, ranks),
				 second = folded_in_flight(schedule, ranks, rank, 1);
		second = SMALLER(second, m);
		uint32_t first = SMALLER(most - second, m);
		weight = chunk == 0 ? first : most - first;
		input = chunk > 0 || schedule == SCHEDULE_ZBV || schedule == SCHEDULE_DUALPIPEV
			? weight
			: folded_in_flight(schedule, ranks, rank, 0);
		input = SMALLER(input, weight);
	}
	input = SMALLER(input, m);
	weight = SMALLER(weight, m);
	return (struct in_flight) { input, weight, weight - input + 1 };
}
