/* growth.c: what every step of a trace leaves behind, by the place that asks for it.
 *
 * A step ends where the trace marks it; where it marks none, where a forward pass follows an update, or the trace ends
 * behind one; where nobody says what an update is, where allocations repeat. A place grows where it holds no less at
 * any step's end than at the one before, and more at least at the last one and at half of them: what is made once
 * (optimizer state) doesn't, nor what comes and goes (gradients). */
#include <inttypes.h>
#include <stdlib.h>

#include "snapshot.h"
#include "src/base/words.h"

#define ENDS_MOST   17 /* the last ones of a long trace */
#define ENDS_LEAST  3
#define PLACES_SAID 3

struct ends { int64_t at[ENDS_MOST]; uint32_t count; }; /* events before which a step ended */

static void growth_end(struct ends *ends, int64_t at)
{
	if (ends->count == ENDS_MOST)
		memmove(ends->at, ends->at + 1, (--ends->count) * sizeof *ends->at);
	ends->at[ends->count++] = at;
}

/* ---- where steps end ---- */

/* By what stacks say. phase: room for one a stack. O(events). */
static void growth_by_updates(
	const struct stacks *stacks, const struct snapshot_event *event, uint32_t events, uint8_t *phase, struct ends *ends)
{
	bool updated = false;
	for (uint32_t i = 1; i <= stacks->stack_count; i++)
		phase[i] = (uint8_t)snapshot_phase(stacks, i);
	FOR(i, events) {
		if (event[i].action != SNAPSHOT_ALLOC || !event[i].stack)
			continue;
		if (updated && phase[event[i].stack] == PHASE_FORWARD)
			growth_end(ends, i);
		updated = phase[event[i].stack] == PHASE_UPDATE || (updated && phase[event[i].stack] != PHASE_FORWARD);
	}
	if (updated)
		growth_end(ends, events);
}

/* The shortest period of the end of a list of `count` keys, latest first, that covers most of what any covers, and how
 * many times; 0: it has none. z: room for as many. O(count). */
static uint32_t growth_period(const uint64_t *key, uint32_t count, uint32_t *z, uint32_t *times)
{
	uint32_t left = 0, right = 0, most = 0, period = 0;
	FOR_FROM(i, 1, count) {
		z[i] = i < right ? SMALLER(z[i - left], right - i) : 0;
		while (i + z[i] < count && key[z[i]] == key[i + z[i]])
			z[i]++;
		if (i + z[i] > right) {
			left = i;
			right = i + z[i];
		}
		if (z[i] >= (ENDS_LEAST - 1) * (uint64_t)i)
			most = LARGER(i + z[i], most);
	}
	for (uint32_t i = 1; i < count && !period; i++)
		if (z[i] >= (ENDS_LEAST - 1) * (uint64_t)i && i + z[i] >= most - most / 8)
			period = i;
	*times = period ? (period + z[period]) / period : 0;
	return period;
}

/* By allocations that repeat, those of equal stacks, or of equal sizes where there is none. */
static enum status growth_by_repeats(
	const struct snapshot_event *event, uint32_t events, struct ends *ends, struct error *error)
{
	uint64_t *MAKE(key, events);
	uint32_t *MAKE(index, events), *MAKE(z, events), count = 0, times = 0;
	enum status status = key && index && z ? OK : fail_memory(error);
	for (uint32_t i = status == OK ? events : 0; i-- > 0;)
		if (event[i].action == SNAPSHOT_ALLOC) {
			key[count] = event[i].stack ? event[i].stack : (uint64_t)event[i].size << 32;
			index[count++] = i;
		}
	uint32_t period = count ? growth_period(key, count, z, &times) : 0;
	for (uint32_t i = times; i-- > 0;)
		growth_end(ends, index[i * period] + 1);
	mem_free(key);
	mem_free(index);
	mem_free(z);
	return status;
}

static enum status growth_find_ends(
	const struct snapshot *snapshot, const struct snapshot_trace *trace, struct ends *ends, struct error *error)
{
	const struct snapshot_event *event = snapshot->event + trace->first;
	FOR(i, trace->marks)
		growth_end(ends, trace->mark[i]);
	if (ends->count)
		return OK;
	uint8_t *MAKE(phase, (size_t)snapshot->stacks.stack_count + 1);
	if (!phase)
		return fail_memory(error);
	growth_by_updates(&snapshot->stacks, event, trace->events, phase, ends);
	mem_free(phase);
	return ends->count ? OK : growth_by_repeats(event, trace->events, ends, error);
}

/* ---- what grows ---- */

struct growing { int64_t held[ENDS_MOST], bytes; uint32_t frame; }; /* held: at each end */

static int growth_larger(const void *a, const void *b)
{
	const struct growing *left = a, *right = b;
	return left->bytes != right->bytes ? left->bytes > right->bytes ? -1 : 1 : left->frame < right->frame ? -1 : 1;
}

/* held: bytes at each end. */
static bool growth_grows(const int64_t *held, uint32_t ends)
{
	uint32_t more = 0;
	FOR_FROM(k, 1, ends) {
		if (held[k] < held[k - 1])
			return false;
		more += held[k] > held[k - 1];
	}
	return more * 2 >= ends - 1 && held[ends - 1] > held[ends - 2];
}

static void growth_say(
	const struct stacks *stacks, const struct growing *all, uint32_t count, uint32_t ends, struct words *words)
{
	int64_t sum = 0, rest = 0, steps = ends - 1;
	FOR(i, count) {
		sum += all[i].bytes;
		rest += i < PLACES_SAID ? 0 : all[i].bytes;
	}
	words_add(words, "%s more each step, over %" PRId64 " steps", BYTES(sum / steps), steps);
	for (uint32_t i = 0; i < count && i < PLACES_SAID; i++) {
		char place[300];
		stacks_frame_text(stacks, all[i].frame, place, sizeof place);
		words_add(words, "%s %s by %s", i ? ";" : ":", BYTES(all[i].bytes / steps), *place ? place : "no stack trace");
	}
	if (count > PLACES_SAID)
		words_add(words, "; %s by %" PRIu32 " further places", BYTES(rest / steps), count - PLACES_SAID);
}

enum status snapshot_growth(const struct snapshot *snapshot, const struct snapshot_trace *trace,
	const struct buffers_csv *csv, const struct snapshot_origin *origin, struct words *words, struct error *error)
{
	const struct buffers *buffers = &csv->buffers;
	struct ends ends = { .count = 0 };
	uint32_t frames = snapshot->stacks.frames + 1, count = 0;
	TRY(growth_find_ends(snapshot, trace, &ends, error));
	if (ends.count < ENDS_LEAST)
		return OK;
	struct growing *MAKE(all, frames);
	enum status status = all ? OK : fail_memory(error);
	for (uint32_t i = 0; status == OK && i < buffers->n; i++) {
		uint32_t frame = stacks_place(&snapshot->stacks, origin[i].stack);
		FOR(k, ends.count)
			if (buffers->lower[i] < ends.at[k] && ends.at[k] <= buffers->upper[i])
				all[frame].held[k] += buffers->size[i];
	}
	for (uint32_t i = 0; status == OK && i < frames; i++)
		if (growth_grows(all[i].held, ends.count)) {
			all[i].bytes = all[i].held[ends.count - 1] - all[i].held[0];
			all[i].frame = i;
			all[count++] = all[i];
		}
	if (count) {
		qsort(all, count, sizeof *all, growth_larger);
		growth_say(&snapshot->stacks, all, count, ends.count, words);
	}
	mem_free(all);
	return status;
}
