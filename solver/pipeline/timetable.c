/* timetable.c: bytes and questions on played schedules. */
#include <string.h>

#include "timetable.h"

static bool timetable_allocate(struct timetable *timetable)
{
	size_t cells = (size_t)timetable->ranks * timetable->slots;
	if (!(ROOM(&timetable->arena, timetable->slot, cells) && ROOM(&timetable->arena, timetable->bytes, 2 * cells) &&
		ROOM(&timetable->arena, timetable->send, (size_t)timetable->ranks * timetable->chunks) &&
		ROOM(&timetable->arena, timetable->fixed, 2 * (size_t)timetable->ranks) &&
		ROOM(&timetable->arena, timetable->peak, timetable->ranks)))
		return false;
	timetable->after = timetable->bytes + cells;
	timetable->busy = timetable->fixed + timetable->ranks;
	return true;
}

static int64_t of_weights(const struct timetable_bytes *bytes, uint32_t piece)
{
	return bytes->weight ? bytes->weight[piece] : bytes->kept[piece];
}

static int64_t between(const struct timetable_bytes *bytes, uint32_t piece)
{
	return bytes->between ? bytes->between[piece] : 0;
}

/* Bytes that a slot adds when it begins. */
static int64_t taken(const struct timetable_bytes *bytes, const struct pipeline_slot *slot)
{
	return slot->pass == PASS_FORWARD ? bytes->kept[slot->piece]
		: slot->pass == PASS_INPUT ? between(bytes, slot->piece)
		: 0;
}

/* Bytes that nobody needs when it is over. */
static int64_t timetable_freed(const struct timetable_bytes *bytes, const struct pipeline_slot *slot)
{
	switch (slot->pass) {
	case PASS_FORWARD: return 0;
	case PASS_BACKWARD: return bytes->kept[slot->piece];
	case PASS_INPUT: return bytes->kept[slot->piece] - of_weights(bytes, slot->piece);
	default: return of_weights(bytes, slot->piece) + between(bytes, slot->piece);
	}
}

/* Bytes of one rank, slot by slot. */
static void timetable_weigh(struct timetable *timetable, uint32_t rank, const struct timetable_bytes *bytes)
{
	size_t base = (size_t)rank * timetable->slots;
	int64_t held = timetable->fixed[rank] = bytes->fixed[rank];
	FOR(i, timetable->slots) {
		const struct pipeline_slot *slot = &timetable->slot[base + i];
		held += taken(bytes, slot);
		timetable->bytes[base + i] = held + bytes->working[rank];
		held -= timetable_freed(bytes, slot);
		timetable->after[base + i] = held;
		timetable->busy[rank] += slot->end - slot->begin;
		if (timetable->bytes[base + i] > timetable->bytes[base + timetable->peak[rank]])
			timetable->peak[rank] = i;
	}
	if (timetable_peak(timetable, rank) > timetable_peak(timetable, timetable->worst))
		timetable->worst = rank;
}

enum status timetable_build(const struct pipeline *pipeline, const struct timetable_bytes *bytes, int64_t after,
	struct timetable *timetable, struct error *error)
{
	struct pipeline_plan plan;
	*timetable = (struct timetable) { .schedule = pipeline->schedule, .ranks = pipeline->ranks, .chunks = pipeline->chunks,
		.microbatches = pipeline->microbatches, .blocking = pipeline->blocking };
	enum status status = pipeline_run(pipeline, &plan, error);
	if (status != OK)
		return status == NO_MEMORY ? fail_memory(error) : status;
	timetable->slots = plan.slots;
	timetable->folded = plan.folded;
	timetable->split = plan.split;
	timetable->pipeline_time = plan.time;
	timetable->time = plan.time + after;
	if (!timetable_allocate(timetable)) {
		pipeline_free(&plan);
		timetable_free(timetable);
		return fail_memory(error);
	}
	COPY(timetable->slot, plan.slot, (size_t)plan.slots * pipeline->ranks);
	COPY(timetable->send, pipeline->send, (size_t)pipeline->ranks * pipeline->chunks);
	pipeline_free(&plan);
	FOR(rank, timetable->ranks)
		timetable_weigh(timetable, rank, bytes);
	return OK;
}

void timetable_free(struct timetable *timetable)
{
	arena_free(&timetable->arena);
	*timetable = (struct timetable) { 0 };
}

void timetable_add(struct timetable *timetable, uint32_t rank, int64_t fixed, int64_t working)
{
	size_t base = (size_t)rank * timetable->slots;
	timetable->fixed[rank] += fixed;
	FOR(i, timetable->slots) {
		timetable->bytes[base + i] += fixed + working;
		timetable->after[base + i] += fixed;
	}
	timetable->worst = 0;
	FOR_FROM(other, 1, timetable->ranks)
		if (timetable_peak(timetable, other) > timetable_peak(timetable, timetable->worst))
			timetable->worst = other;
}

int64_t timetable_peak(const struct timetable *timetable, uint32_t rank)
{
	return timetable->bytes[(size_t)rank * timetable->slots + timetable->peak[rank]];
}

uint32_t timetable_at(const struct timetable *timetable, uint32_t rank, int64_t time)
{
	uint32_t low = 0, high = timetable->slots;
	while (high - low > 1) {
		uint32_t middle = low + (high - low) / 2;
		if (timetable_slot(timetable, rank, middle)->begin <= time)
			low = middle;
		else
			high = middle;
	}
	return low;
}

void timetable_shares(
	const struct timetable *timetable, uint32_t rank, int64_t from, int64_t to, int64_t share[PASS_COUNT])
{
	CLEAR(share, PASS_COUNT);
	FOR_FROM(i, timetable_at(timetable, rank, from), timetable->slots) {
		const struct pipeline_slot *slot = timetable_slot(timetable, rank, i);
		int64_t begin = LARGER(slot->begin, from), end = SMALLER(slot->end, to);
		if (slot->begin >= to)
			break;
		share[slot->pass] += end > begin ? end - begin : 0;
	}
}

int64_t timetable_most(const struct timetable *timetable, uint32_t rank, int64_t from, int64_t to)
{
	const int64_t *bytes = timetable->bytes + (size_t)rank * timetable->slots,
				  *after = timetable->after + (size_t)rank * timetable->slots;
	uint32_t i = timetable_at(timetable, rank, from);
	int64_t most = from < timetable_slot(timetable, rank, i)->begin ? timetable->fixed[rank] : 0;
	for (; i < timetable->slots && timetable_slot(timetable, rank, i)->begin < to; i++) {
		int64_t end = timetable_slot(timetable, rank, i)->end;
		if (end > from && bytes[i] > most)
			most = bytes[i];
		if (end < to && after[i] > most &&
			(i + 1 == timetable->slots || timetable_slot(timetable, rank, i + 1)->begin > from))
			most = after[i];
	}
	return most;
}

uint32_t timetable_bubble(const struct timetable *timetable)
{
	double busy = 0;
	FOR(rank, timetable->ranks)
		busy += (double)timetable->busy[rank];
	double all = (double)timetable->pipeline_time * timetable->ranks;
	return all > 0 ? (uint32_t)(1000 * (1 - busy / all) + 0.5) : 0;
}

/* ---- why a slot begins when it does ---- */

/* Where a microbatch goes forward through a piece, or where its gradients are made that go back from there. */
static uint32_t timetable_slot_of(const struct timetable *timetable, uint32_t piece, uint32_t microbatch, bool backward)
{
	uint32_t rank = piece_rank(piece, timetable->ranks, timetable->folded);
	FOR(i, timetable->slots) {
		const struct pipeline_slot *slot = timetable_slot(timetable, rank, i);
		bool same = backward ? slot->pass == PASS_BACKWARD || slot->pass == PASS_INPUT : slot->pass == PASS_FORWARD;
		if (slot->piece == piece && slot->microbatch == microbatch && same)
			return i + slots_together(slot) - 1;    /* what is sent leaves behind all of them */
	}
	return NONE;
}

/* What goes to the next piece, or back, arrives so much later; nothing is sent to where it is. */
static int64_t timetable_sending(const struct timetable *timetable, uint32_t piece, bool backward)
{
	uint32_t pieces = timetable->ranks * timetable->chunks, from = backward ? piece - 1 : piece;
	bool ends = backward ? piece == 0 : piece + 1 == pieces;
	return ends ||
			piece_rank(from, timetable->ranks, timetable->folded) ==
				piece_rank(from + 1, timetable->ranks, timetable->folded)
		? 0
		: timetable->send[from];
}

/* Takes a piece's slot as the reason where it is there no earlier than the reason so far. */
static void timetable_consider(const struct timetable *timetable, uint32_t piece, uint32_t microbatch, bool backward,
	bool here, struct slot_reason *reason)
{
	uint32_t rank = piece_rank(piece, timetable->ranks, timetable->folded),
			 i = timetable_slot_of(timetable, piece, microbatch, backward);
	int64_t ready = timetable_slot(timetable, rank, i)->end + (here ? 0 : timetable_sending(timetable, piece, backward));
	if (reason->wait == WAIT_START || ready >= reason->ready)
		*reason = (struct slot_reason) { WAIT_INPUT, rank, i, ready };
}

/* What a slot reads of other pieces, and of its own forward pass. */
static void consider_operands(
	const struct timetable *timetable, const struct pipeline_slot *slot, struct slot_reason *reason)
{
	bool backward = slot->pass == PASS_BACKWARD || slot->pass == PASS_INPUT;
	if (slot->pass == PASS_FORWARD && slot->piece > 0)
		timetable_consider(timetable, slot->piece - 1, slot->microbatch, false, false, reason);
	if (backward)
		timetable_consider(timetable, slot->piece, slot->microbatch, false, true, reason);
	if (backward && slot->piece + 1 < timetable->ranks * timetable->chunks)
		timetable_consider(timetable, slot->piece + 1, slot->microbatch, true, false, reason);
}

struct slot_reason timetable_reason(const struct timetable *timetable, uint32_t rank, uint32_t i)
{
	const struct pipeline_slot *slot = timetable_slot(timetable, rank, i);
	struct slot_reason reason = { WAIT_START, rank, i, 0 };
	if (i > 0) {
		const struct pipeline_slot *before = timetable_slot(timetable, rank, i - 1);
		bool sends = before->pass != PASS_WEIGHT;
		int64_t sent = timetable->blocking && sends
			? timetable_sending(timetable, before->piece, before->pass != PASS_FORWARD)
			: 0;
		reason = (struct slot_reason) { WAIT_BUSY, rank, i - 1, before->end + sent };
	}
	consider_operands(timetable, slot, &reason);
	if (slot->pass == PASS_FORWARD && slots_together(slot) > 1)    /* it begins when the pass beside it can */
		consider_operands(timetable, slot + 1, &reason);
	return reason;
}
