/* pipeline.c: pipeline schedules as lists of slots per rank, timed by their dependencies. */
#include "pipeline.h"

#define X(id, name) name,
const char *const schedule_names[SCHEDULE_COUNT] = { SCHEDULES(X) };
#undef X

/* What is needed to time slots. */
struct timing {
	const struct pipeline *pipeline;
	struct pipeline_plan *plan;
	uint32_t pieces;
	int64_t *done[2];            /* [pieces * microbatches] end of forward and backward, with sending; -1: not yet */
	uint32_t *next;              /* [ranks] slot to time */
	int64_t *free_at;            /* [ranks] */
};

static struct pipeline_slot *slots_of(struct pipeline_plan *plan, uint32_t rank)
{
	return plan->slot + (size_t)rank * plan->slots;
}

/* Slot number k of a rank's forward (or backward) passes: groups of as many microbatches as ranks go through the chunks in turn
 * (Megatron, arXiv 2104.04473, figure 4). */
static struct pipeline_slot pass(const struct pipeline *pipeline, uint32_t rank, uint32_t k, bool backward)
{
	uint32_t group = pipeline->ranks * pipeline->chunks, chunk = pipeline->chunks > 1 ? k % group / pipeline->ranks : 0;
	uint32_t microbatch = pipeline->chunks > 1 ? k / group * pipeline->ranks + k % pipeline->ranks : k;
	if (backward)
		chunk = pipeline->chunks - 1 - chunk;
	if (backward && pipeline->schedule == SCHEDULE_GPIPE)
		microbatch = pipeline->microbatches - 1 - microbatch;
	return (struct pipeline_slot) { .piece = chunk * pipeline->ranks + rank, .microbatch = microbatch, .backward = backward };
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
	return wanted < passes ? wanted : passes;
}

static void list_slots(const struct pipeline *pipeline, struct pipeline_plan *plan, uint32_t rank)
{
	struct pipeline_slot *slot = slots_of(plan, rank);
	uint32_t passes = pipeline->microbatches * pipeline->chunks, forward = 0, backward = 0, at = 0;
	while (forward < warm_up(pipeline, rank))
		slot[at++] = pass(pipeline, rank, forward++, false);
	while (backward < passes) {
		if (forward < passes)
			slot[at++] = pass(pipeline, rank, forward++, false);
		slot[at++] = pass(pipeline, rank, backward++, true);
	}
}

/* When the input of a slot is there; -1: not yet known. */
static int64_t ready(const struct timing *timing, const struct pipeline_slot *slot)
{
	uint32_t m = timing->pipeline->microbatches;
	size_t at = (size_t)slot->piece * m + slot->microbatch;
	if (!slot->backward)
		return slot->piece == 0 ? 0 : timing->done[0][at - m];
	int64_t own = timing->done[0][at], gradient = slot->piece + 1 == timing->pieces ? 0 : timing->done[1][at + m];
	return own < 0 || gradient < 0 ? -1 : own > gradient ? own : gradient;
}

static bool time_slot(struct timing *timing, uint32_t rank)
{
	const struct pipeline *pipeline = timing->pipeline;
	struct pipeline_slot *slot = &slots_of(timing->plan, rank)[timing->next[rank]];
	int64_t begin = ready(timing, slot);
	if (begin < 0)
		return false;
	slot->begin = begin > timing->free_at[rank] ? begin : timing->free_at[rank];
	slot->end = slot->begin + (slot->backward ? pipeline->backward : pipeline->forward)[slot->piece];
	int64_t send = 0;
	if (slot->backward ? slot->piece > 0 : slot->piece + 1 < timing->pieces)
		send = pipeline->send[slot->backward ? slot->piece - 1 : slot->piece];
	timing->done[slot->backward][(size_t)slot->piece * pipeline->microbatches + slot->microbatch] = slot->end + send;
	timing->free_at[rank] = slot->end + (pipeline->blocking ? send : 0);
	timing->next[rank]++;
	return true;
}

static void count_in_flight(const struct pipeline *pipeline, struct pipeline_plan *plan, uint32_t *held)
{
	for (uint32_t rank = 0; rank < pipeline->ranks; rank++) {
		uint32_t all = 0;
		for (uint32_t i = 0; i < plan->slots; i++) {
			const struct pipeline_slot *slot = &slots_of(plan, rank)[i];
			held[slot->piece] += slot->backward ? -1u : 1u;
			all += slot->backward ? -1u : 1u;
			if (held[slot->piece] > plan->piece_in_flight[slot->piece])
				plan->piece_in_flight[slot->piece] = held[slot->piece];
			if (all > plan->in_flight[rank])
				plan->in_flight[rank] = all;
		}
	}
}

static bool begin(struct timing *timing, struct pipeline_plan *plan)
{
	const struct pipeline *pipeline = timing->pipeline;
	size_t cells = (size_t)timing->pieces * pipeline->microbatches;
	plan->slots = 2 * pipeline->microbatches * pipeline->chunks;
	plan->slot = arena_alloc(&plan->arena, (size_t)plan->slots * pipeline->ranks, sizeof *plan->slot);
	plan->in_flight = arena_alloc(&plan->arena, pipeline->ranks, sizeof *plan->in_flight);
	plan->piece_in_flight = arena_alloc(&plan->arena, timing->pieces, sizeof *plan->piece_in_flight);
	timing->next = arena_alloc(&plan->arena, timing->pieces, sizeof *timing->next);
	timing->free_at = arena_alloc(&plan->arena, pipeline->ranks, sizeof *timing->free_at);
	for (int i = 0; i < 2; i++)
		timing->done[i] = arena_alloc(&plan->arena, cells, sizeof *timing->done[i]);
	if (!plan->slot || !plan->in_flight || !plan->piece_in_flight || !timing->next || !timing->free_at || !timing->done[0] || !timing->done[1])
		return false;
	for (size_t i = 0; i < 2 * cells; i++)
		timing->done[i / cells][i % cells] = -1;
	return true;
}

/* Times slots rank by rank as far as their inputs are known, until all are. */
static void time_all(struct timing *timing)
{
	for (bool moved = true; moved;) {
		moved = false;
		for (uint32_t rank = 0; rank < timing->pipeline->ranks; rank++)
			while (timing->next[rank] < timing->plan->slots && time_slot(timing, rank))
				moved = true;
	}
}

enum status pipeline_run(const struct pipeline *pipeline, struct pipeline_plan *plan, struct error *error)
{
	*plan = (struct pipeline_plan) { 0 };
	struct timing timing = { .pipeline = pipeline, .plan = plan, .pieces = pipeline->ranks * pipeline->chunks };
	if (pipeline->chunks > 1 && (pipeline->schedule != SCHEDULE_INTERLEAVED || pipeline->ranks < 2))
		return fail(error, BAD_INPUT, "a rank can have several pieces of the model only with schedule=interleaved and at least 2 ranks");
	if (pipeline->chunks > 1 && pipeline->microbatches % pipeline->ranks != 0)
		return fail(error, BAD_INPUT, "the interleaved schedule needs microbatches that are a multiple of the %u pipeline ranks, not %u",
			pipeline->ranks, pipeline->microbatches);
	if (!begin(&timing, plan)) {
		pipeline_free(plan);
		return NO_MEMORY;
	}
	for (uint32_t rank = 0; rank < pipeline->ranks; rank++)
		list_slots(pipeline, plan, rank);
	time_all(&timing);
	for (uint32_t rank = 0; rank < pipeline->ranks; rank++) {
		int64_t work = 0;
		for (uint32_t i = 0; i < plan->slots; i++)
			work += slots_of(plan, rank)[i].end - slots_of(plan, rank)[i].begin;
		plan->ideal = work > plan->ideal ? work : plan->ideal;
		plan->time = timing.free_at[rank] > plan->time ? timing.free_at[rank] : plan->time;
	}
	for (uint32_t s = 0; s < timing.pieces; s++)
		timing.next[s] = 0;
	count_in_flight(pipeline, plan, timing.next);
	return OK;
}

void pipeline_free(struct pipeline_plan *plan)
{
	arena_free(&plan->arena);
	*plan = (struct pipeline_plan) { 0 };
}
