/* repair.c: from states that do not fit to some that do, by changes of storages, or of all equal ones at once. */

#include "search.h"

#define PEAK_STORAGES 24 /* of those in memory at the peak, looked at one by one */
#define TOGETHER 1.25 /* a change of equal storages is preferred to one of a single storage that is so much better */

static double recompute_repair_excess(const struct recompute_search *search)
{
	double sum = 0;
	FOR(i, search->step->ops)
		if (search->replay->profile[i] > search->cap)
			sum += (double)(search->replay->profile[i] - search->cap);
	return sum;
}

static bool in_memory(const struct recompute_search *search, const uint8_t *state, uint32_t storage, uint32_t position)
{
	const struct recompute_base *base = search->base;
	uint32_t first = base->made[storage], last = base->last_read[storage];
	if (state[storage] == RECOMPUTE_KEEP)
		return first <= position && (last == NONE ? position <= base->until[storage] : position <= last);
	return base->first_read[storage] != NONE && base->first_read[storage] <= position && position <= last;
}

/* Storages worth a try: those in memory at the peak first, large ones first. */
static uint32_t recompute_repair_list_candidates(
	struct recompute_search *search, const uint8_t *state, uint32_t position, uint32_t most)
{
	const struct recompute_step *step = search->step;
	uint32_t count = 0;
	FOR(s, step->storages) {
		if (!step->droppable[s] || step->bytes[s] <= RECOMPUTE_SMALL || step->fixed[s] == RECOMPUTE_DROPPED)
			continue;
		search->score[s] = (double)recompute_kept_bytes(step, s) * (in_memory(search, state, s, position) ? 1000 : 1);
		search->list[count++] = s;
	}
	uint32_t *MAKE(scratch, count);
	if (!scratch) {
		search->status = NO_MEMORY;
		return 0;
	}
	recompute_sort(search->list, search->score, count, scratch);
	mem_free(scratch);
	return SMALLER(count, most);
}

/* ---- changes ---- */

/* Storages that all get a state. */
struct change { const uint32_t *storage; uint32_t count; uint8_t to; double score; };

struct repairing {
	struct recompute_search *search;
	uint8_t *state, *trial; /* [storages] */
	double excess;          /* of the state */
	int64_t time;
};

/* False where it changes nothing, or nothing that can be meant: what is not saved is written for a rerun, and may go
 * after it. */
static bool changes_something(const struct repairing *repairing, const struct change *change)
{
	const struct recompute_search *search = repairing->search;
	bool some = false;
	FOR(i, change->count) {
		uint32_t s = change->storage[i];
		some |= repairing->state[s] != change->to && !(change->to == RECOMPUTE_KEEP && search->base->dominated[s]);
	}
	return some;
}

/* How much it takes away for its time; 0: nothing, or it can't be played. */
static void recompute_repair_weigh(struct repairing *repairing, struct change *change)
{
	struct recompute_search *search = repairing->search;
	change->score = 0;
	if (!changes_something(repairing, change))
		return;
	memcpy(repairing->trial, repairing->state, search->step->storages);
	FOR(i, change->count)
		if (!(change->to == RECOMPUTE_KEEP && search->base->dominated[change->storage[i]]))
			repairing->trial[change->storage[i]] = change->to;
	recompute_try(search,
		repairing->trial); /* what fits by it may be the fastest, though another change takes more away for its time */
	if (search->status != OK || !search->replay->valid)
		return;
	double less = repairing->excess - recompute_repair_excess(search),
		   cost = (double)(search->replay->extra - repairing->time), least = (double)search->step->total * 1e-5;
	change->score = less > 0 ? less / LARGER(cost, least) : 0;
}

static void weigh_all(
	struct repairing *repairing, const uint32_t *storage, uint32_t count, double factor, struct change *best)
{
	for (uint8_t to = RECOMPUTE_KEEP; to < RECOMPUTE_STATES && recompute_goes_on(repairing->search); to++) {
		struct change change = { storage, count, to, 0 };
		recompute_repair_weigh(repairing, &change);
		change.score *= factor;
		if (change.score > best->score)
			*best = change;
	}
}

/* The change that takes most away for its time; score 0: none takes anything away. */
static struct change best_change(struct repairing *repairing)
{
	struct recompute_search *search = repairing->search;
	const struct recompute_fold *fold = &search->fold;
	struct change best = { 0 };
	uint64_t each = search->replay->length + search->replay->instances;
	uint64_t most = (search->limit - search->control->ticks) / (each * 16 + 1);
	uint32_t few = fold->classes ? PEAK_STORAGES : 500,
			 singles = most < PEAK_STORAGES ? PEAK_STORAGES
			: most < few ? (uint32_t)most
			: few;
	uint32_t count = recompute_repair_list_candidates(search, repairing->state, search->replay->peak_position, singles);
	FOR(c, fold->classes)
		weigh_all(repairing, fold->members.item + fold->members.start[c], csr_length(&fold->members, c), TOGETHER, &best);
	FOR(i, count)
		weigh_all(repairing, &search->list[i], 1, 1, &best);
	return best;
}

static void apply_change(struct repairing *repairing, const struct change *change)
{
	FOR(i, change->count)
		if (!(change->to == RECOMPUTE_KEEP && repairing->search->base->dominated[change->storage[i]]))
			repairing->state[change->storage[i]] = change->to;
}

void recompute_repair(struct recompute_search *search, const uint8_t *start)
{
	const struct recompute_step *step = search->step;
	struct repairing repairing = { .search = search, .state = mem_alloc(step->storages, sizeof *repairing.state),
		.trial = mem_alloc(step->storages, sizeof *repairing.trial) };
	if (!repairing.state || !repairing.trial)
		search->status = NO_MEMORY;
	else
		memcpy(repairing.state, start, step->storages);
	while (search->status == OK && !recompute_try(search, repairing.state) && search->replay->valid &&
		recompute_goes_on(search)) {
		repairing.excess = recompute_repair_excess(search);
		repairing.time = search->replay->extra;
		struct change change = best_change(&repairing);
		if (change.score <= 0)
			break;
		apply_change(&repairing, &change);
	}
	mem_free(repairing.state);
	mem_free(repairing.trial);
}
