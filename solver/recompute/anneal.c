/* anneal.c: changes at random, also ones that make a plan slower or too large for a while (simulated annealing,
 * Kirkpatrick et al. 1983).
 *
 * Near a floor what has to change hangs together: a boundary can go only where everything behind it is written more
 * than once. Single changes don't find that. What is above the cap costs a price, which rises as the temperature falls.
 */
#include <math.h>

#include "search.h"

#define COOLING 300      /* the last temperature is so much lower than the first */
#define FEWEST_PLAYS 200 /* below, there is no use in it */

struct annealing {
	struct recompute_search *search;
	uint8_t *state, *next; /* [storages] */
	uint32_t *list, count; /* storages that may change */
	double cost;           /* of state */
	double price;          /* picoseconds for a byte above the cap */
	uint64_t random;
};

/* What may change: what is large, and not decided by a caller. */
static void list_storages(struct annealing *annealing)
{
	const struct recompute_step *step = annealing->search->step;
	FOR(s, step->storages)
		if (step->droppable[s] && step->fixed[s] == RECOMPUTE_FREE && step->bytes[s] > RECOMPUTE_SMALL)
			annealing->list[annealing->count++] = s;
}

static void set_state(struct annealing *annealing, uint32_t storage, uint8_t to)
{
	if (to != RECOMPUTE_KEEP || !annealing->search->base->dominated[storage])
		annealing->next[storage] = to;
}

/* One storage, or all of its kind, to any state. */
static void change_some(struct annealing *annealing)
{
	const struct recompute_fold *fold = &annealing->search->fold;
	uint32_t storage = annealing->list[random_below(&annealing->random, annealing->count)];
	uint8_t to = (uint8_t)random_below(&annealing->random, RECOMPUTE_STATES);
	if (fold->of[storage] != NONE && random_below(&annealing->random, 2) == 0) {
		FOR_ITEMS(member, &fold->members, fold->of[storage])
			set_state(annealing, member, to);
		return;
	}
	set_state(annealing, storage, to);
}

static double recompute_anneal_cost_of(const struct annealing *annealing)
{
	const struct recompute_search *search = annealing->search;
	double over = (double)(search->replay->peak - search->cap);
	return (double)search->replay->extra + (over > 0 ? annealing->price * over : 0);
}

static void recompute_anneal_move(struct annealing *annealing, double temperature)
{
	struct recompute_search *search = annealing->search;
	memcpy(annealing->next, annealing->state, search->step->storages);
	change_some(annealing);
	if (random_below(&annealing->random, 3) == 0)
		change_some(annealing);
	if (memcmp(annealing->next, annealing->state, search->step->storages) == 0)
		return;
	recompute_try(search, annealing->next);
	if (search->status != OK || !search->replay->valid)
		return;
	double cost = recompute_anneal_cost_of(annealing);
	if (cost > annealing->cost && random_part(&annealing->random) >= exp((annealing->cost - cost) / temperature))
		return;
	memcpy(annealing->state, annealing->next, search->step->storages);
	annealing->cost = cost;
}

static void recompute_anneal_cool(struct annealing *annealing, uint64_t begin, double hot)
{
	struct recompute_search *search = annealing->search;
	double span = (double)(search->limit - begin);
	while (recompute_goes_on(search)) {
		double done = (double)(search->control->ticks - begin) / span;
		recompute_anneal_move(annealing, hot * pow(COOLING, -done));
		search->control->ticks++;
	}
}

void recompute_anneal(struct recompute_search *search, double slope, double hot)
{
	const struct recompute_step *step = search->step;
	struct annealing annealing = { .search = search,
		.state = mem_alloc(step->storages, sizeof *annealing.state),
		.next = mem_alloc(step->storages, sizeof *annealing.next),
		.list = mem_alloc(step->storages, sizeof *annealing.list),
		.random = step->ops };
	uint64_t begin = search->control->ticks, each = search->replay->length + search->replay->instances + 1;
	bool fine = annealing.state && annealing.next && annealing.list;
	search->status = fine ? search->status : NO_MEMORY;
	if (fine)
		list_storages(&annealing);
	double steep = (double)step->total / (double)(search->cap - step->persistent + 1);
	annealing.price = 4 * LARGER(slope, steep);
	if (fine && annealing.count > 0 && recompute_goes_on(search) && (search->limit - begin) / each >= FEWEST_PLAYS) {
		memcpy(annealing.state, search->extra < INT64_MAX ? search->best : search->lowest, step->storages);
		recompute_try(search, annealing.state);
		annealing.cost = recompute_anneal_cost_of(&annealing);
		recompute_anneal_cool(&annealing, begin, hot);
	}
	mem_free(annealing.state);
	mem_free(annealing.next);
	mem_free(annealing.list);
}
