/* pipeline.c: pipeline schedules timed by their dependencies. */
#include <string.h>

#include "pipeline.h"

#define X(id, name, folded, split, help) name,
const char *const schedule_names[SCHEDULE_COUNT + 2] = { SCHEDULES(X) "file", "auto" };
#undef X
const char *const pass_names[PASS_COUNT] = { "forward", "backward", "input gradients", "weight gradients" };

bool schedule_folded(enum schedule schedule)
{
#define X(id, name, folded, split, help) folded,
	static const bool table[SCHEDULE_COUNT + 2] = { SCHEDULES(X) };
#undef X
	return table[schedule];
}

bool schedule_split(enum schedule schedule)
{
#define X(id, name, folded, split, help) split,
	static const bool table[SCHEDULE_COUNT + 2] = { SCHEDULES(X) };
#undef X
	return table[schedule];
}

/* What is needed to time slots. */
struct timing {
	const struct pipeline *pipeline;
	struct pipeline_plan *plan;
	uint32_t pieces;
	int64_t *done[2];            /* [pieces * microbatches] end of forward and backward, with sending; -1: not yet */
	uint32_t *next;              /* [ranks] slot to time */
	int64_t *free_at;            /* [ranks] */
};

static struct pipeline_slot *slots_of(const struct pipeline_plan *plan, uint32_t rank)
{
	return plan->slot + (size_t)rank * plan->slots;
}

static int64_t pipeline_weight_of(const struct pipeline *pipeline, uint32_t piece)
{
	return pipeline->weight ? pipeline->weight[piece] : pipeline->backward[piece] / 2;
}

int64_t pipeline_duration(const struct pipeline *pipeline, const struct pipeline_slot *slot)
{
	switch (slot->pass) {
	case PASS_FORWARD: return pipeline->forward[slot->piece];
	case PASS_BACKWARD: return pipeline->backward[slot->piece];
	case PASS_INPUT: return pipeline->backward[slot->piece] - pipeline_weight_of(pipeline, slot->piece);
	default: return pipeline_weight_of(pipeline, slot->piece);
	}
}

/* Of a pass its collectives. */
static int64_t pipeline_link_of(const struct pipeline *pipeline, const struct pipeline_slot *slot)
{
	const int64_t *link = slot->pass == PASS_FORWARD ? pipeline->forward_link : pipeline->backward_link;
	return link && slot->pass != PASS_WEIGHT ? smaller_of(link[slot->piece], pipeline_duration(pipeline, slot)) : 0;
}

/* Two passes at a time: each takes its time, one computes after the other, and one uses the links after the other (two
 * jobs of two machines: no less). DeepSeek-V3 orders them so that all of the rest overlaps (arXiv 2412.19437,
 * section 3.2.1). */
int64_t pipeline_together(int64_t one, int64_t one_link, int64_t other, int64_t other_link)
{
	int64_t link = one_link + other_link, most = larger_of(larger_of(one, other), larger_of(link, one + other - link));
	return most;
}

/* Picoseconds of so many slots that are one action. */
static int64_t action_duration(const struct pipeline *pipeline, const struct pipeline_slot *slot, uint32_t count)
{
	int64_t time[2] = { 0 }, link[2] = { 0 };
	FOR(i, count) {
		bool second = slot[i].piece != slot->piece || slot[i].microbatch != slot->microbatch;
		time[second] += pipeline_duration(pipeline, &slot[i]);
		link[second] += pipeline_link_of(pipeline, &slot[i]);
	}
	return pipeline_together(time[0], link[0], time[1], link[1]);
}

/* When the input of a slot is there; -1: not yet known. */
static int64_t pipeline_ready(const struct timing *timing, const struct pipeline_slot *slot)
{
	uint32_t m = timing->pipeline->microbatches;
	size_t at = (size_t)slot->piece * m + slot->microbatch;
	if (slot->pass == PASS_FORWARD)
		return slot->piece == 0 ? 0 : timing->done[0][at - m];
	if (slot->pass == PASS_WEIGHT)    /* of what this rank has done: an order that says otherwise stops here */
		return timing->done[1][at] < 0 ? -1 : 0;
	int64_t gradient = slot->piece + 1 == timing->pieces ? 0 : timing->done[1][at + m];
	return timing->done[0][at] < 0 ? -1 : gradient;
}

/* What leaves behind a slot arrives so much later. */
static int64_t pipeline_sending(const struct timing *timing, const struct pipeline_slot *slot)
{
	bool folded = timing->plan->folded;
	if (slot->pass == PASS_WEIGHT)
		return 0;
	if (slot->pass != PASS_FORWARD)
		return slot->piece > 0 ? pipeline_send(timing->pipeline, folded, slot->piece - 1) : 0;
	return slot->piece + 1 < timing->pieces ? pipeline_send(timing->pipeline, folded, slot->piece) : 0;
}

uint32_t slots_together(const struct pipeline_slot *slot)
{
	bool overlapped = slot->overlapped && !(slot[1].piece == slot->piece && slot[1].microbatch == slot->microbatch);
	return overlapped ? slot[1].joined ? 3 : 2 : slot->joined ? 2 : 1;
}

static bool time_action(struct timing *timing, uint32_t rank)
{
	const struct pipeline *pipeline = timing->pipeline;
	struct pipeline_slot *slot = &slots_of(timing->plan, rank)[timing->next[rank]];
	uint32_t count = slots_together(slot);
	int64_t at = timing->free_at[rank], sends = 0;
	FOR(i, count) {
		int64_t begin = i > 0 && slot[i].pass == PASS_WEIGHT ? 0 : pipeline_ready(timing, &slot[i]);
		if (begin < 0)
			return false;
		at = LARGER(begin, at);
	}
	int64_t begin = at, all = 0, sum = 0, time = action_duration(pipeline, slot, count);
	FOR(i, count)
		all += pipeline_duration(pipeline, &slot[i]);
	FOR(i, count) {    /* of what overlaps each has its share */
		sum += pipeline_duration(pipeline, &slot[i]);
		slot[i].begin = at;
		at = slot[i].end = begin + (all == time ? sum : (int64_t)((double)time * ((double)sum / (double)all)));
	}
	slot[count - 1].end = at = begin + time;
	FOR(i, count) {
		int64_t send = pipeline_sending(timing, &slot[i]);
		if (slot[i].pass != PASS_WEIGHT)
			timing->done[slot[i].pass != PASS_FORWARD]
						[(size_t)slot[i].piece * pipeline->microbatches + slot[i].microbatch] = at + send;
		sends += send;
	}
	timing->free_at[rank] = at + (pipeline->blocking ? sends : 0);
	timing->next[rank] += count;
	return true;
}

/* What is held of a piece while slots run. */
struct holding { uint32_t input, weight, between; };

static void more(uint32_t *most, uint32_t now)
{
	*most = now > *most ? now : *most;
}

static void pipeline_take(const struct pipeline_slot *slot, struct holding *held, struct in_flight *most)
{
	switch (slot->pass) {
	case PASS_FORWARD: held->input++, held->weight++; break;
	case PASS_INPUT: held->between++; break;
	default: break;
	}
	more(&most->input, held->input);
	more(&most->weight, held->weight);
	more(&most->between, held->between);
}

static void pipeline_leave(const struct pipeline_slot *slot, struct holding *held)
{
	held->input -= slot->pass == PASS_INPUT || slot->pass == PASS_BACKWARD;
	held->weight -= slot->pass == PASS_WEIGHT || slot->pass == PASS_BACKWARD;
	held->between -= slot->pass == PASS_WEIGHT;
}

/* What a rank holds altogether: until gradients of weights are done, then until those of inputs, then between. */
static uint64_t held_by(
	const struct holding *held, uint32_t rank, uint32_t ranks, uint32_t chunks, bool folded, uint32_t *pieces)
{
	uint64_t input = 0, between = 0;
	*pieces = 0;
	FOR(chunk, chunks) {
		const struct holding *of = &held[rank_piece(rank, chunk, ranks, folded)];
		*pieces += of->weight;
		input += of->input;
		between += of->between;
	}
	return ((uint64_t)*pieces << 40) + (input << 20) + between;
}

static void count_rank(const struct timing *timing, uint32_t rank, struct holding *held)
{
	const struct pipeline *pipeline = timing->pipeline;
	struct pipeline_plan *plan = timing->plan;
	uint64_t most = 0;
	FOR(i, plan->slots) {
		const struct pipeline_slot *slot = &slots_of(plan, rank)[i];
		uint32_t pieces;
		pipeline_take(slot, &held[slot->piece], &plan->piece_in_flight[slot->piece]);
		uint64_t now = held_by(held, rank, pipeline->ranks, pipeline->chunks, plan->folded, &pieces);
		FOR_WHILE(chunk, pipeline->chunks, now > most) {
			uint32_t piece = rank_piece(rank, chunk, pipeline->ranks, plan->folded);
			plan->at_most[piece] = (struct in_flight) { held[piece].input, held[piece].weight, held[piece].between };
		}
		most = LARGER(now, most);
		more(&plan->in_flight[rank], pieces);
		pipeline_leave(slot, &held[slot->piece]);
	}
}

static enum status count_in_flight(const struct timing *timing)
{
	struct pipeline_plan *plan = timing->plan;
	struct holding *MAKE_IN(&plan->arena, held, timing->pieces);
	FOR_WHILE(rank, timing->pipeline->ranks, held)
		count_rank(timing, rank, held);
	return held ? OK : NO_MEMORY;
}

static bool pipeline_begin(struct timing *timing, struct pipeline_plan *plan)
{
	const struct pipeline *pipeline = timing->pipeline;
	size_t cells = (size_t)timing->pieces * pipeline->microbatches;
	plan->folded = pipeline->order ? pipeline->order->folded : schedule_folded(pipeline->schedule);
	plan->split = pipeline->order ? pipeline->order->split : schedule_split(pipeline->schedule);
	plan->slots = (plan->split ? 3 : 2) * pipeline->microbatches * pipeline->chunks;
	ROOM(&plan->arena, plan->slot, (size_t)plan->slots * pipeline->ranks);
	ROOM(&plan->arena, plan->in_flight, pipeline->ranks);
	ROOM(&plan->arena, plan->piece_in_flight, timing->pieces);
	ROOM(&plan->arena, plan->at_most, timing->pieces);
	ROOM(&plan->arena, timing->next, timing->pieces);
	ROOM(&plan->arena, timing->free_at, pipeline->ranks);
	FOR_INT(i, 2)
		ROOM(&plan->arena, timing->done[i], cells);
	if (!plan->slot || !plan->in_flight || !plan->piece_in_flight || !plan->at_most || !timing->next ||
		!timing->free_at || !timing->done[0] || !timing->done[1])
		return false;
	FOR_SIZE(i, 2 * cells)
		timing->done[i / cells][i % cells] = -1;
	return true;
}

/* Times slots rank by rank as far as their inputs are known. True: until the last. */
static bool time_all(struct timing *timing)
{
	uint32_t done = 0;
	for (bool moved = true; moved;) {
		moved = false;
		done = 0;
		FOR(rank, timing->pipeline->ranks) {
			while (timing->next[rank] < timing->plan->slots && time_action(timing, rank))
				moved = true;
			done += timing->next[rank] == timing->plan->slots;
		}
	}
	return done == timing->pipeline->ranks;
}

enum status schedule_possible(
	enum schedule schedule, uint32_t ranks, uint32_t chunks, uint32_t microbatches, struct error *error)
{
	bool folded = schedule_folded(schedule);
	if (schedule >= SCHEDULE_COUNT)
		return OK;
	if (chunks > 1 && ((schedule != SCHEDULE_INTERLEAVED && !folded) || ranks < 2))
		return refuse(error,
			"a rank can have several pieces of the model only with schedule=interleaved, or in a V, and at least 2 "
			"ranks");
	if (folded && chunks != 2)
		return refuse(error, "schedule=%s has two pieces of the model on each of at least 2 pipeline ranks",
			schedule_names[schedule]);
	if (!folded && chunks > 1 && microbatches % ranks != 0)
		return refuse(error,
			"the interleaved schedule needs microbatches that are a multiple of the %u pipeline ranks, not %u", ranks,
			microbatches);
	if (schedule == SCHEDULE_DUALPIPEV && microbatches < 2 * ranks)
		return refuse(error,
			"schedule=dualpipev needs at least twice as many microbatches as the %u pipeline ranks, not %u", ranks,
			microbatches);
	return OK;
}

bool schedule_tries_chunks(uint32_t layers, uint32_t ranks, uint32_t chunks)
{
	uint32_t pieces = ranks * chunks;
	bool even = layers > 0 &&
		(layers % pieces == 0 ||
			(layers + 2) % pieces == 0); /* what is before and behind them as a layer each: config_cut() */
	return chunks > 1 && (chunks <= 6 || (even && chunks <= SCHEDULE_CHUNKS_MAX));
}

static enum status list(const struct pipeline *pipeline, struct pipeline_plan *plan)
{
	if (!pipeline->order)
		return schedule_list(pipeline, plan->slots, plan->slot);
	COPY(plan->slot, pipeline->order->slot, (size_t)plan->slots * pipeline->ranks);
	return OK;
}

/* The first rank that can't go on. */
static struct pipeline_stuck find_stuck(const struct timing *timing)
{
	uint32_t rank = 0;
	while (rank + 1 < timing->pipeline->ranks && timing->next[rank] == timing->plan->slots)
		rank++;
	const struct pipeline_slot *slot = &slots_of(timing->plan, rank)[timing->next[rank]];
	for (uint32_t i = 0; i + 1 < slots_together(slot) && pipeline_ready(timing, slot) >= 0;
		i++) /* of a pair, the one that waits */
		slot++;
	return (struct pipeline_stuck) { rank, slot->piece, slot->microbatch, (enum pass)slot->pass };
}

enum status pipeline_run(const struct pipeline *pipeline, struct pipeline_plan *plan, struct error *error)
{
	struct pipeline_stuck ignored;
	return pipeline_play(pipeline, plan, &ignored, error);
}

enum status pipeline_play(
	const struct pipeline *pipeline, struct pipeline_plan *plan, struct pipeline_stuck *stuck, struct error *error)
{
	*plan = (struct pipeline_plan) { 0 };
	struct timing timing = { .pipeline = pipeline, .plan = plan, .pieces = pipeline->ranks * pipeline->chunks };
	enum status status = pipeline->order
		? OK
		: schedule_possible(pipeline->schedule, pipeline->ranks, pipeline->chunks, pipeline->microbatches, error);
	THEN(status, pipeline_begin(&timing, plan) ? list(pipeline, plan) : NO_MEMORY);
	if (status == OK && !time_all(&timing)) {
		*stuck = find_stuck(&timing);
		status = refuse(error, "pipeline ranks wait for each other in this schedule");
	}
	FOR_WHILE(rank, pipeline->ranks, status == OK) {
		int64_t work = 0;
		FOR(i, plan->slots)
			work += slots_of(plan, rank)[i].end - slots_of(plan, rank)[i].begin;
		plan->ideal = LARGER(work, plan->ideal);
		plan->time = LARGER(timing.free_at[rank], plan->time);
	}
	THEN(status, count_in_flight(&timing));
	if (status != OK)
		pipeline_free(plan);
	return status;
}

int64_t pipeline_idle(const struct pipeline_plan *plan, uint32_t ranks)
{
	int64_t most = 0;
	FOR(rank, ranks) {
		const struct pipeline_slot *slot = slots_of(plan, rank);
		int64_t idle = slot[plan->slots - 1].end - slot[0].begin;
		FOR(i, plan->slots)
			idle -= slot[i].end - slot[i].begin;
		most = LARGER(idle, most);
	}
	return most;
}

int64_t pipeline_bound(const struct pipeline *pipeline, bool folded)
{
	uint32_t ranks = pipeline->ranks, pieces = ranks * pipeline->chunks;
	int64_t there = 0, back = 0, bound = 0;
	FOR(k, pieces) {
		int64_t send = k + 1 < pieces ? pipeline_send(pipeline, folded, k) : 0;
		if (k < ranks) {    /* a rank's first piece */
			int64_t work = 0, link = 0;
			FOR(chunk, pipeline->chunks) {
				uint32_t piece = rank_piece(piece_rank(k, ranks, folded), chunk, ranks, folded);
				int64_t one = pipeline->forward_link ? pipeline->forward_link[piece] + pipeline->backward_link[piece] : 0;
				work += pipeline->microbatches * (pipeline->forward[piece] + pipeline->backward[piece] - one);
				link += pipeline->microbatches * one;
			}
			work = larger_of(work, link);
			bound = LARGER(there + work, bound);
		}
		there += pipeline->forward[k] + send;
		back += pipeline->backward[k] - (k > 0 ? pipeline_weight_of(pipeline, k) : 0) + send;
	}
	return LARGER(there + back, bound);
}

void pipeline_free(struct pipeline_plan *plan)
{
	arena_free(&plan->arena);
	*plan = (struct pipeline_plan) { 0 };
}
