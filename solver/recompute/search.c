/* search.c: what all parts of the search share, and mixing cuts. */

#include "search.h"

enum status recompute_search_new(const struct recompute_step *step, struct recompute_network *network,
	struct recompute_replay *replay, struct control *control, struct recompute_search *search)
{
	struct arena *arena = &search->arena;
	*search = (struct recompute_search){
		.step = step, .network = network, .replay = replay, .control = control, .extra = INT64_MAX
	};
	return ROOMS(arena, step->storages, search->best, search->lowest, search->state, search->dropped, search->list,
		search->score) ? recompute_fold_find(step, &search->fold) : NO_MEMORY;
}

void recompute_search_free(struct recompute_search *search)
{
	recompute_fold_free(&search->fold);
	arena_free(&search->arena);
}

void recompute_allow(struct recompute_search *search, uint64_t ticks)
{
	uint64_t now = search->control->ticks;
	search->limit = now + ticks < search->end ? now + ticks : now < search->end ? search->end : now;
}

bool recompute_goes_on(const struct recompute_search *search)
{
	return search->status == OK && search->control->ticks < search->limit;
}

/* Plays states and counts what that takes; false where the search can't go on, or the states make no sense. The result
 * is in search->replay. */
static bool recompute_play_counted(struct recompute_search *search, const uint8_t *state)
{
	uint64_t before = search->replay->ticks;
	enum status status = recompute_play(search->replay, search->base, state);
	bool stop = control_spend(search->control, search->replay->ticks - before);
	if (status != OK || stop)
		search->status = status != OK ? status : control_status(search->control);
	return status == OK && search->replay->valid;
}

bool recompute_look(
	struct recompute_search *search, uint8_t *state, uint32_t storage, uint8_t to, int64_t *extra, int64_t *peak)
{
	uint8_t was = state[storage];
	state[storage] = to;
	bool valid = recompute_play_counted(search, state);
	state[storage] = was;
	*extra = search->replay->extra;
	*peak = search->replay->peak;
	return valid;
}

void recompute_sort(uint32_t *list, const double *score, uint32_t count, uint32_t *scratch)
{
	for (uint32_t width = 1; width < count; width *= 2) {
		for (uint32_t from = 0; from < count; from += 2 * width) {
			uint32_t a = from, middle = SMALLER(from + width, count), b = middle,
					 end = SMALLER(from + 2 * width, count);
			FOR_FROM(at, from, end)
				scratch[at] = b == end || (a < middle && score[list[a]] >= score[list[b]]) ? list[a++] : list[b++];
		}
		COPY(list, scratch, count);
	}
}

bool recompute_try(struct recompute_search *search, const uint8_t *state)
{
	const struct recompute_replay *replay = search->replay;
	bool valid = recompute_play_counted(search, state), fits = valid && replay->peak <= search->cap;
	if (valid && replay->peak < search->lowest_peak) {
		memmove(search->lowest, state, search->step->storages);
		search->lowest_peak = replay->peak;
	}
	bool better = fits &&
		(replay->extra < search->extra || (replay->extra == search->extra && replay->peak < search->peak));
	if (better) {
		memmove(search->best, state, search->step->storages);
		search->extra = replay->extra;
		search->peak = replay->peak;
	}
	return fits;
}

void recompute_search_begin(struct recompute_search *search, const struct recompute_base *base, int64_t cap)
{
	bool had = search->extra < INT64_MAX;
	search->base = base;
	search->cap = cap;
	search->extra = search->lowest_peak = INT64_MAX;
	if (had)
		recompute_try(search, search->best);
}

void recompute_states_of(const struct recompute_step *step, const bool *kept, uint8_t *state)
{
	FOR(s, step->storages)
		state[s] = kept[s] || !step->droppable[s] ? RECOMPUTE_KEEP : RECOMPUTE_HOLD;
}

/* ---- mixing two cuts ---- */

/* Storages made before the position follow heavy. */
static bool try_switch(struct recompute_search *search, const bool *heavy, const bool *light, uint32_t position)
{
	const struct recompute_step *step = search->step;
	FOR(s, step->storages) {
		bool early = step->droppable[s] && search->base->made[s] < position;
		search->state[s] = !step->droppable[s] || (early ? heavy : light)[s] ? RECOMPUTE_KEEP : search->dropped[s];
	}
	return recompute_try(search, search->state);
}

/* Positions where the two differ, ascending, into list. */
static uint32_t list_differences(struct recompute_search *search, const bool *heavy, const bool *light)
{
	const struct recompute_step *step = search->step;
	uint32_t count = 0;
	FOR(i, step->ops)
		FOR_ITEMS(s, &step->makes, search->base->order[i])
			if (step->droppable[s] && heavy[s] != light[s] && (count == 0 || search->list[count - 1] != i))
				search->list[count++] = i;
	return count;
}

/* Two cuts on both sides of the cap: what is made before a switch point follows the heavier, the rest the lighter one;
 * the point by bisection. */
static void recompute_search_mix(struct recompute_search *search, const bool *heavy, const bool *light)
{
	uint32_t count = list_differences(search, heavy, light), low = 0, high = count;
	if (count == 0) {
		try_switch(search, heavy, light, 0);
		return;
	}
	while (low < high && recompute_goes_on(search)) {
		uint32_t middle = low + (high - low) / 2;
		if (try_switch(search, heavy, light, search->list[middle]))
			high = middle;
		else
			low = middle + 1;
	}
	/* What fits is not quite ordered along the switch point. */
	for (uint32_t step = 0; step <= 8 && recompute_goes_on(search); step = step ? 2 * step : 1)
		if (low + step <= count)
			try_switch(search, heavy, light, low + step < count ? search->list[low + step] : UINT32_MAX);
}

/* ---- cuts of a dual ---- */

#define CANDIDATES 8
#define ROUNDS 5

static void recompute_search_add_candidate(
	const struct recompute_dual *dual, uint32_t column, uint32_t *list, uint32_t *count)
{
	FOR(i, *count)
		if (list[i] == column)
			return;
	if (*count == CANDIDATES)
		return;
	uint32_t at = (*count)++;
	for (; at > 0 && dual->column[list[at - 1]].time > dual->column[column].time; at--)
		list[at] = list[at - 1];
	list[at] = column;
}

/* The columns of the mix, the fastest one that fits as relaxed, and the heaviest; the lightest first. */
static uint32_t recompute_search_choose_columns(const struct recompute_dual *dual, uint32_t *list)
{
	uint32_t count = 0, fits = NONE, heaviest = 0;
	FOR(c, dual->columns) {
		const struct recompute_column *column = &dual->column[c];
		if (column->most <= dual->cap && (fits == NONE || column->time < dual->column[fits].time))
			fits = c;
		heaviest = column->time > dual->column[heaviest].time ? c : heaviest;
	}
	if (fits != NONE)
		recompute_search_add_candidate(dual, fits, list, &count);
	recompute_search_add_candidate(dual, heaviest, list, &count);
	FOR(c, dual->columns)
		if (dual->column[c].share > 1e-7)
			recompute_search_add_candidate(dual, c, list, &count);
	return count;
}

/* What the replay needs at its moments beyond the relaxed plan is added to what is fixed. */
static void learn_transients(
	struct recompute_search *search, const bool *kept, int64_t *fixed, int64_t *relaxed, bool half)
{
	const struct recompute_base *base = search->base;
	const struct recompute_step *step = search->step;
	recompute_states_of(step, kept, search->state);
	if (!recompute_play_counted(search, search->state))
		return;
	recompute_dual_profile(base, base->fixed, kept, relaxed);
	FOR(i, step->ops) {
		int64_t more = search->replay->profile[i] - relaxed[i], with = base->fixed[i] + LARGER(more, 0);
		with = with < search->cap ? with : search->cap - 1;
		with = LARGER(with, base->fixed[i]);
		fixed[i] = half ? (fixed[i] + with) / 2 : with;
	}
}

/* What a cut keeps; the rest is dropped as the search has it. */
static void states_of_cut(struct recompute_search *search, const bool *kept)
{
	FOR(s, search->step->storages)
		search->state[s] = kept[s] || !search->step->droppable[s] ? RECOMPUTE_KEEP : search->dropped[s];
}

static void recompute_search_kept_of(const struct recompute_search *search, bool *kept)
{
	FOR(s, search->step->storages)
		kept[s] = search->step->droppable[s] && search->best[s] == RECOMPUTE_KEEP &&
			(!search->step->copies || search->step->saved[s]);
}

static void mix_columns(struct recompute_search *search, const struct recompute_dual *dual)
{
	uint32_t list[CANDIDATES], count = recompute_search_choose_columns(dual, list);
	FOR(light, count) {
		states_of_cut(search, dual->column[list[light]].kept);
		recompute_try(search, search->state);
		for (uint32_t heavy = light + 1; heavy < count && recompute_goes_on(search); heavy++)
			recompute_search_mix(search, dual->column[list[heavy]].kept, dual->column[list[light]].kept);
	}
}

void recompute_primal(struct recompute_search *search, struct recompute_dual *dual)
{
	const struct recompute_step *step = search->step;
	HELD int64_t *MAKE(fixed, step->ops), *MAKE(relaxed, step->ops);
	HELD bool *MAKE(kept, step->storages);
	struct recompute_dual next = { 0 }, *now = dual;
	memset(search->dropped, RECOMPUTE_HOLD, step->storages);
	if (!fixed || !relaxed || !kept)
		search->status = NO_MEMORY;
	for (int round = 0; round < ROUNDS && search->status == OK && recompute_goes_on(search); round++) {
		bool had = search->extra < INT64_MAX;
		int64_t before = search->extra;
		mix_columns(search, now);
		if (search->status != OK || (search->extra < INT64_MAX && (double)search->extra <= dual->bound * 1.002 + 1))
			break;
		if (round > 2 && had && search->extra == before)
			break;
		if (search->extra < INT64_MAX)
			recompute_search_kept_of(search, kept);
		else
			COPY(kept, now->column[now->columns - 1].kept, step->storages);
		learn_transients(search, kept, fixed, relaxed, round > 0);
		recompute_dual_free(&next);
		enum status status = recompute_dual_solve(
			search->base, search->network, search->cap, fixed, dual, search->control, &next);
		if (status == INFEASIBLE)
			break;
		if (status != OK)
			search->status = status;
		now = &next;
	}
	recompute_dual_free(&next);
}

/* How the best states drop what they drop; what they keep would be held. */
static void drop_as_best(struct recompute_search *search)
{
	FOR(s, search->step->storages)
		search->dropped[s] = search->best[s] == RECOMPUTE_KEEP ? RECOMPUTE_HOLD : search->best[s];
}

void recompute_reprice(struct recompute_search *search, const struct recompute_dual *warm)
{
	const struct recompute_step *step = search->step;
	const struct recompute_base *base = search->base;
	int64_t *MAKE(fixed, step->ops), *MAKE(relaxed, step->ops),
			before = INT64_MAX;
	HELD bool *MAKE(kept, step->storages);
	search->status = fixed && relaxed && kept ? search->status : NO_MEMORY;
	while (search->status == OK && search->extra < before && search->extra > 0 && recompute_goes_on(search)) {
		struct recompute_dual next;
		before = search->extra;
		drop_as_best(search);
		recompute_search_kept_of(search, kept);
		memcpy(search->state, search->best, step->storages);
		if (!recompute_play_counted(search, search->state))
			break;
		recompute_dual_profile(base, base->fixed, kept, relaxed);
		FOR(i, step->ops)
			fixed[i] = base->fixed[i] + (search->replay->profile[i] > relaxed[i] ? search->replay->profile[i] - relaxed[i] : 0);
		enum status status = recompute_dual_solve(base, search->network, search->cap, fixed, warm, search->control, &next);
		if (status == OK)
			mix_columns(search, &next);
		else if (status != INFEASIBLE)
			search->status = status;
		recompute_dual_free(&next);
	}
	mem_free(fixed);
	mem_free(relaxed);
}
