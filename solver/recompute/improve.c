/* improve.c: single storages changed while the replay agrees: fill, swap; and cuts at prices changed at random. */
#include <math.h>
#include <stdlib.h>

#include "search.h"

#define PATIENCE \
	4000000 /* ticks that cuts at other prices may bring nothing, and as many as went before the last that did */

/* ---- fill ---- */

/* Storages that are not kept, with the time that keeping them saves for a byte: as played where there are few, else
 * their writers' time. */
static uint32_t list_dropped(struct recompute_search *search, bool played)
{
	const struct recompute_step *step = search->step;
	uint32_t count = 0;
	for (uint32_t s = 0; s < step->storages && search->status == OK; s++) {
		if (!step->droppable[s] || search->state[s] == RECOMPUTE_KEEP || step->fixed[s] == RECOMPUTE_DROPPED)
			continue;
		int64_t extra, peak, bytes = step->bytes[s] > 0 ? recompute_kept_bytes(step, s) : 1,
							 gain = recompute_write_time(step, s);
		if (played &&
			(!recompute_look(search, search->state, s, RECOMPUTE_KEEP, &extra, &peak) || peak > search->cap ||
				extra > search->extra))
			continue;
		if (played)
			gain = search->extra - extra;
		if (gain <= 0)
			continue;
		search->score[s] = (double)gain / (double)bytes;
		search->list[count++] = s;
	}
	return count;
}

static bool fill_once(struct recompute_search *search)
{
	const struct recompute_step *step = search->step;
	uint64_t each = search->replay->length + search->replay->instances;
	bool played = (uint64_t)step->storages * each < (search->limit - search->control->ticks) / 4;
	int64_t before = search->extra;
	memcpy(search->state, search->best, step->storages);
	uint32_t count = list_dropped(search, played), *MAKE(scratch, count);
	if (!scratch) {
		search->status = NO_MEMORY;
		return false;
	}
	recompute_sort(search->list, search->score, count, scratch);
	mem_free(scratch);
	for (uint32_t i = 0; i < count && recompute_goes_on(search); i++) {
		uint32_t s = search->list[i];
		for (uint8_t to = RECOMPUTE_KEEP; to < search->best[s]; to++) {
			int64_t now = search->extra;
			memcpy(search->state, search->best, step->storages);
			search->state[s] = to;
			recompute_try(search, search->state);
			if (search->extra < now)
				break;
		}
	}
	return search->extra < before;
}

void recompute_fill(struct recompute_search *search)
{
	if (search->extra == INT64_MAX || search->extra == 0)
		return;
	for (int pass = 0; pass < 3 && recompute_goes_on(search); pass++)
		if (!fill_once(search))
			break;
}

/* ---- all of few ---- */

/* The states that a storage may have here; what is never worth keeping is not kept. */
static uint32_t choices(const struct recompute_search *search, uint32_t storage, uint8_t *choice)
{
	uint32_t count = 0;
	if (search->step->fixed[storage] != RECOMPUTE_DROPPED && !search->base->dominated[storage])
		choice[count++] = RECOMPUTE_KEEP;
	choice[count++] = RECOMPUTE_HOLD;
	choice[count++] = RECOMPUTE_EACH;
	return count;
}

void recompute_enumerate(struct recompute_search *search)
{
	const struct recompute_step *step = search->step;
	uint64_t plays = 1, each = search->replay->length + search->replay->instances + 1,
			 most = (search->limit - search->control->ticks) / each;
	uint32_t count = 0, turn = 0, index[RECOMPUTE_FEW] = { 0 };
	uint8_t choice[3];
	for (uint32_t s = 0; s < step->storages && plays <= most; s++) {
		search->state[s] = RECOMPUTE_KEEP;
		if (!step->droppable[s])
			continue;
		if (count == RECOMPUTE_FEW)
			return;
		plays *= choices(search, s, choice);
		search->state[s] = choice[0];
		search->list[count++] = s;
	}
	while (plays <= most && turn < count && recompute_goes_on(search)) {
		recompute_try(search, search->state);
		for (turn = 0; turn < count; turn++) {
			uint32_t some = choices(search, search->list[turn], choice);
			index[turn] = (index[turn] + 1) % some;
			search->state[search->list[turn]] = choice[index[turn]];
			if (index[turn] > 0)
				break;
		}
	}
}

/* ---- swap ---- */

/* Drops one storage, then keeps others as long as that fits; false where the result is no better. */
static bool swap_one(struct recompute_search *search, uint32_t storage, const uint32_t *dropped, uint32_t drops)
{
	const struct recompute_step *step = search->step;
	int64_t before = search->extra, extra, peak;
	uint8_t *state = search->state;
	memcpy(state, search->best, step->storages);
	state[storage] = RECOMPUTE_HOLD;
	if (!recompute_goes_on(search) || !recompute_look(search, state, storage, RECOMPUTE_HOLD, &extra, &peak))
		return false;
	for (uint32_t i = 0; i < drops && recompute_goes_on(search); i++) {
		int64_t now, top, far = llabs((long long)(step->bytes[dropped[i]] - step->bytes[storage]));
		if (dropped[i] == storage || far > 2 * step->bytes[storage] || state[dropped[i]] == RECOMPUTE_KEEP)
			continue;
		if (!recompute_look(search, state, dropped[i], RECOMPUTE_KEEP, &now, &top) || top > search->cap || now >= extra)
			continue;
		state[dropped[i]] = RECOMPUTE_KEEP;
		extra = now;
	}
	if (extra < before)
		recompute_try(search, state);
	return search->extra < before;
}

void recompute_swap(struct recompute_search *search)
{
	const struct recompute_step *step = search->step;
	HELD uint32_t *MAKE(kept, step->storages), *MAKE(dropped, step->storages);
	HELD uint32_t *MAKE(scratch, step->storages);
	uint64_t random = step->storages;
	bool better = search->extra < INT64_MAX && search->extra > 0;
	if (!kept || !dropped || !scratch)
		search->status = NO_MEMORY;
	while (better && search->status == OK && recompute_goes_on(search)) {
		uint32_t keeps = 0, drops = 0;
		better = false;
		FOR(s, step->storages) {
			if (!step->saved[s] || step->bytes[s] <= RECOMPUTE_SMALL || step->fixed[s] == RECOMPUTE_DROPPED)
				continue;
			search->score[s] = (double)recompute_write_time(step, s) / (double)recompute_kept_bytes(step, s);
			if (search->best[s] == RECOMPUTE_KEEP)
				kept[keeps++] = s;
			else
				dropped[drops++] = s;
		}
		recompute_sort(dropped, search->score, drops, scratch);
		for (uint32_t i = keeps; i > 1; i--) {
			uint32_t with = (uint32_t)(random_next(&random) % i), was = kept[i - 1];
			kept[i - 1] = kept[with];
			kept[with] = was;
		}
		for (uint32_t i = 0; i < keeps && !better && recompute_goes_on(search); i++)
			better = swap_one(search, kept[i], dropped, drops);
	}
}

/* ---- cuts at other prices ---- */

static double normal(uint64_t *random)
{
	double u = random_part(random), v = random_part(random);
	return sqrt(-2 * log(LARGER(u, 1e-300))) * cos(6.283185307179586 * v);
}

static void perturb_prices(const struct recompute_step *step, const int64_t *price, uint64_t *random, int64_t *other)
{
	static const double spread[] = { 0.1, 0.3, 0.6, 1 };
	double wide = spread[random_next(random) % 4], all = random_part(random) * 1.8 - 0.3;
	FOR(s, step->storages) {
		double value = price[s] > step->total ? (double)price[s] : (double)price[s] * exp(all + wide * normal(random));
		other[s] = step->droppable[s] ? value > (double)step->total ? step->total + 1 : (int64_t)value : 0;
	}
}

static uint64_t hash_kept(const struct recompute_step *step, const bool *kept)
{
	uint64_t hash = 1;
	FOR(s, step->storages)
		if (kept[s])
			hash = hash_join(hash, s);
	return hash;
}

static bool seen_before(uint64_t *seen, uint32_t *count, uint64_t hash)
{
	FOR(i, *count)
		if (seen[i] == hash)
			return true;
	seen[(*count)++] = hash;
	return false;
}

/* Fills from states that fit though others are better; what was best stays best unless the result is. */
static void fill_from(struct recompute_search *search, uint8_t *keep)
{
	const struct recompute_step *step = search->step;
	int64_t extra = search->extra, peak = search->peak;
	memcpy(keep, search->best, step->storages);
	search->extra = INT64_MAX;
	if (recompute_try(search, search->state))
		recompute_fill(search);
	if (search->extra < extra)
		return;
	memcpy(search->best, keep, step->storages);
	search->extra = extra;
	search->peak = peak;
}

void recompute_perturb(struct recompute_search *search, const struct recompute_dual *dual, uint32_t tries)
{
	const struct recompute_step *step = search->step;
	HELD int64_t *MAKE(price, step->storages), *MAKE(other, step->storages);
	HELD double *MAKE(sum, step->ops + 1u);
	HELD uint64_t *MAKE(seen, tries);
	int64_t value;
	double one = 1;
	uint64_t random = step->ops + 1u;
	HELD bool *MAKE(kept, step->storages);
	HELD uint8_t *MAKE(keep, step->storages);
	uint32_t known = 0;
	if (!(price && other && sum && seen && kept && keep))
		search->status = NO_MEMORY;
	if (search->status == NO_MEMORY || dual->moments == 0)
		return;
	FOR(m, dual->moments)
		one = dual->price[m] > 0 ? 0 : one;
	recompute_dual_prices(
		search->base, dual->moment, one > 0 ? &one : dual->price, one > 0 ? 1 : dual->moments, sum, price);
	uint64_t begin = search->control->ticks, found = begin;
	for (uint32_t i = 0; i < tries && recompute_goes_on(search) &&
		search->control->ticks - found < PATIENCE + (found - begin);
		i++) {
		perturb_prices(step, price, &random, other);
		enum status status = recompute_cut(search->network, other, step->time, step->saved, search->control, &value, kept);
		search->status = status != OK ? status : search->status;
		if (status != OK || seen_before(seen, &known, hash_kept(step, kept)))
			continue;
		int64_t before = search->extra;
		recompute_states_of(step, kept, search->state);
		if (!recompute_try(search, search->state))
			continue;
		int64_t extra = search->replay->extra;
		if (extra <= before || (double)extra < 1.3 * (double)before) {
			recompute_states_of(step, kept, search->state);
			fill_from(search, keep);
		}
		found = search->extra < before ? search->control->ticks : found;
	}
}
