/* strategies.c: what published strategies keep. */
#include <math.h>

#include "search.h"
#include "strategies.h"

/* ---- groups of layers ---- */

/* Whether an op of another group reads it. */
static bool strategies_crosses(
	const struct recompute_step *step, const struct activations *activations, uint32_t every, uint32_t s, bool *outside)
{
	uint32_t maker = step->graph->storage[s].allocator,
			 group = maker == NONE ? NONE : activations_group(activations, maker, every);
	bool crosses = false;
	FOR_ITEMS(user, &step->graph->users, s)
		crosses |= step->forward[user] && activations_group(activations, user, every) != group;
	*outside = group == NONE;
	return crosses;
}

void recompute_keep_groups(
	const struct recompute_step *step, const struct activations *activations, uint32_t every, bool *keep)
{
	bool outside;
	FOR(s, step->storages)
		keep[s] = strategies_crosses(step, activations, every, s, &outside) || outside;
}

void recompute_states_nested(const struct recompute_step *step, const struct activations *activations, uint32_t every,
	double price, uint8_t *state)
{
	bool outside;
	FOR(s, step->storages) {
		bool crosses = strategies_crosses(step, activations, every, s, &outside),
			 cheap = (double)recompute_write_time(step, s) < price * (double)step->bytes[s];
		state[s] = (uint8_t)(!step->droppable[s] || (outside && !crosses && !step->fixed[s]) ? RECOMPUTE_KEEP
			: crosses ? RECOMPUTE_HOLD
			: cheap ? RECOMPUTE_AGAIN
			: RECOMPUTE_LATE);
	}
}

void recompute_keep_every(
	const struct recompute_step *step, const struct activations *activations, uint32_t every, bool *keep)
{
	recompute_keep_groups(step, activations, 1, keep);
	FOR(s, step->storages) {
		uint32_t maker = step->graph->storage[s].allocator, layer = maker == NONE ? NONE : activations->layer[maker];
		keep[s] |= layer != NONE && (layer + 1) % every != 0;
	}
}

uint32_t recompute_root_of_layers(const struct activations *activations)
{
	uint32_t root = (uint32_t)lround(sqrt((double)activations->layers));
	return root > 0 ? root : 1;
}

/* ---- PyTorch's memory budget ---- */

#define SHARES 10000 /* the solver counts memory in shares of what the default saves */
#define FIRST_BANNED 1u

#define CUTS 3

struct budget {
	const struct joint *joint;
	const struct graph *graph;
	const struct activations *activations;
	struct control *control;
	double least, span;    /* bytes of the inputs; bytes that the default saves beyond them */
	uint32_t cuts;         /* made so far: with ever fewer bans, whatever the share */
	bool *cut[CUTS];       /* [nodes] saved */
	bool *saved, *allowed; /* [nodes] of one share */
	uint32_t *banned;      /* [nodes] by the last of the cuts */
	uint32_t *item, items; /* nodes that may be allowed to run again, largest first */
	uint32_t most;         /* shares that the knapsack was filled up to */
	uint64_t *taken;       /* [items][most / 64 + 1], NULL before */
	struct arena arena;
};

static double bytes_saved(const struct budget *budget, const bool *saved)
{
	double bytes = 0;
	FOR(n, budget->joint->nodes)
		bytes += saved[n] ? (double)budget->joint->node[n].bytes : 0;
	return bytes;
}

static int strategies_larger_first(const struct joint *joint, const uint32_t *banned, uint32_t a, uint32_t b)
{
	int64_t first = joint->node[a].bytes, second = joint->node[b].bytes;
	return first != second ? (first < second) - (first > second) : (banned[a] > banned[b]) - (banned[a] < banned[b]);
}

/* Merges sorted halves: the solver's ties follow the order in which nodes were banned. */
static void sort_items(const struct budget *budget, uint32_t *item, uint32_t count, uint32_t *scratch)
{
	if (count < 2)
		return;
	uint32_t half = count / 2, a = 0, b = half;
	sort_items(budget, item, half, scratch);
	sort_items(budget, item + half, count - half, scratch);
	FOR(i, count) {
		bool second = a == half ||
			(b < count && strategies_larger_first(budget->joint, budget->banned, item[b], item[a]) < 0);
		scratch[i] = second ? item[b++] : item[a++];
	}
	COPY(item, scratch, count);
}

/* Whether a banned node's results lie in memory of the inputs. */
static bool in_input(const struct budget *budget, const struct joint_node *node)
{
	if (node->input)
		return true;
	return node->tensor != NONE && budget->graph->storage[budget->graph->tensor[node->tensor].storage].allocator == NONE;
}

static enum status find_items(struct budget *budget)
{
	const struct joint *joint = budget->joint;
	ROOM(&budget->arena, budget->item, joint->nodes);
	HELD uint32_t *MAKE(scratch, joint->nodes);
	for (uint32_t n = 0; n < joint->nodes && budget->item && scratch; n++)
		if (budget->banned[n] >= FIRST_BANNED && joint->node[n].distance < JOINT_FAR && !in_input(budget, &joint->node[n]))
			budget->item[budget->items++] = n;
	NEED(budget->item && scratch);
	sort_items(budget, budget->item, budget->items, scratch);
	return OK;
}

/* FLOPs as PyTorch's counter has them: of products, convolutions and attentions; 1 of all else. */
static float runtime_of(const struct budget *budget, uint32_t node)
{
	const struct joint_node *record = &budget->joint->node[node];
	int64_t flops = record->expensive ? budget->activations->flops[record->op] : 0;
	return (float)(LARGER(flops, 1));
}

/* An item's memory in shares; what exceeds all of them is most + 1. */
static uint32_t strategies_size_of(const struct budget *budget, uint32_t item)
{
	double size = nearbyint((double)budget->joint->node[budget->item[item]].bytes / budget->span * SHARES);
	return size > budget->most ? budget->most + 1 : (uint32_t)size;
}

/* The knapsack by dynamic programming, in single precision as there. One table answers all shares up to its last. */
static enum status fill_knapsack(struct budget *budget)
{
	size_t words = budget->most / 64 + 1;
	HELD float *MAKE(best, budget->most + 1);
	NEED(ROOM(&budget->arena, budget->taken, (size_t)budget->items * words) && best);
	FOR(i, budget->items) {
		uint32_t bytes = strategies_size_of(budget, i);
		float runtime = runtime_of(budget, budget->item[i]);
		for (uint32_t j = budget->most + 1; j-- > bytes;) {
			float with = best[j - bytes] + runtime;
			if (with > best[j]) {
				best[j] = with;
				budget->taken[i * words + j / 64] |= UINT64_C(1) << (j % 64);
			}
		}
		TRY(control_spend(budget->control, budget->most) ? control_status(budget->control) : OK);
	}
	return OK;
}

/* What is not taken at a share may run again. */
static void allow_rest(struct budget *budget, uint32_t share)
{
	size_t words = budget->most / 64 + 1;
	CLEAR(budget->allowed, budget->joint->nodes);
	for (uint32_t i = budget->items, j = share; i-- > 0;) {
		bool in = budget->taken[i * words + j / 64] >> (j % 64) & 1;
		budget->allowed[budget->item[i]] = !in;
		j -= in ? strategies_size_of(budget, i) : 0;
	}
}

/* The cuts that no share changes, up to this one. */
static enum status make_cuts(struct budget *budget, uint32_t cuts)
{
	static const struct joint_bans bans[CUTS] = { { true, true, true, true, true },
		{ .not_generated = true, .reductions = true }, { .reductions = true } };
	enum status status = OK;
	for (; budget->cuts < cuts && status == OK; budget->cuts++) {
		bool *saved = budget->cut[budget->cuts] = arena_alloc(&budget->arena, budget->joint->nodes, sizeof *saved);
		status = saved ? joint_cut(budget->joint, &bans[budget->cuts], NULL, budget->control, saved, budget->banned)
			: NO_MEMORY;
		budget->span = budget->cuts == 0 && status == OK ? bytes_saved(budget, saved) - budget->least : budget->span;
	}
	return status == OK && cuts == CUTS && !budget->item ? find_items(budget) : status;
}

/* choose_saved_values_set(): ever fewer bans, and where these are not enough, a knapsack among what is still banned.
 * *saved: lent. */
static enum status choose_saved(struct budget *budget, double share, const bool **saved)
{
	static const struct joint_bans last = { .reductions = true };
	FOR(i, CUTS) {
		enum status status = make_cuts(budget, i + 1);
		*saved = status == OK ? budget->cut[i] : NULL;
		bool enough = status != OK ||
			(i == 0 ? share >= 1 || budget->span <= 0
			: (bytes_saved(budget, *saved) - budget->least) / budget->span < share);
		if (enough)
			return status;
	}
	if (budget->items == 0)
		return OK;
	TRY(budget->taken ? OK : fill_knapsack(budget));
	allow_rest(budget, (uint32_t)nearbyint(share * SHARES));
	*saved = budget->saved;
	return joint_cut(budget->joint, &last, budget->allowed, budget->control, budget->saved, budget->banned);
}

static enum status keep_budgets(
	struct budget *budget, const int64_t *percent, uint32_t count, uint32_t storages, bool *keep)
{
	const struct joint *joint = budget->joint;
	FOR(n, joint->inputs)
		budget->least += (double)joint->node[n].bytes;
	FOR(i, count) {
		double share = SMALLER((double)percent[i] / 100, 1);
		uint32_t shares = (uint32_t)nearbyint(share * SHARES);
		budget->most = LARGER(shares, budget->most);
	}
	FOR(i, count) {
		const bool *saved = NULL;
		if (percent[i] <= 0)
			continue;
		TRY(choose_saved(budget, (double)percent[i] / 100, &saved));
		FOR(n, joint->nodes)
			if (saved[n] && joint->node[n].tensor != NONE)
				keep[(size_t)i * storages + budget->graph->tensor[joint->node[n].tensor].storage] = true;
	}
	return OK;
}

enum status recompute_keep_knapsack(const struct recompute_step *step, const struct activations *activations,
	const struct rules *rules, const int64_t *percent, uint32_t count, struct control *control, bool *keep)
{
	struct joint joint;
	enum status status = joint_find(step->graph, step->forward, rules, &joint);
	struct budget budget = { .joint = &joint, .graph = step->graph, .activations = activations, .control = control };
	CLEAR(keep, (size_t)count * step->storages);
	if (status == OK) {
		status = ROOMS(&budget.arena, joint.nodes, budget.saved, budget.allowed, budget.banned)
				? keep_budgets(&budget, percent, count, step->storages, keep) : NO_MEMORY;
	}
	arena_free(&budget.arena);
	joint_free(&joint);
	return status;
}

/* ---- states ---- */

enum status recompute_states_keeping(
	const struct recompute_step *step, const bool *keep, struct control *control, uint8_t *state)
{
	struct recompute_network network;
	int64_t *MAKE(price, step->storages), value;
	HELD bool *MAKE(kept, step->storages);
	enum status status = price && kept ? recompute_network_new(step, false, &network) : NO_MEMORY;
	if (price && kept) {
		FOR(s, step->storages)
			price[s] = keep[s] ? 0 : step->total + 1;
		status = status == OK ? recompute_cut(&network, price, step->time, step->saved, control, &value, kept) : status;
		recompute_network_free(&network);
	}
	if (status == OK)
		recompute_states_of(step, kept, state);
	mem_free(price);
	return status;
}

/* ---- all of them ---- */

static const int64_t budgets[] = { 0, 10, 20, 30, 40, 50, 60, 70, 80, 90, 100 };
#define BUDGETS ((uint32_t)COUNT_OF(budgets))
#define GROUPINGS 8u
#define MODES 2u /* selective and full, as recompute_choose() has them */

/* What is saved and dropped, and what nobody saves but what crosses layers, is written anew. */
static void states_of_mode(const struct recompute_step *step, const struct activations *activations,
	enum recompute mode, bool *drop, uint8_t *state)
{
	recompute_choose(step->graph, activations, &(struct recompute_options){ .mode = mode }, drop);
	FOR(s, step->storages) {
		bool hold = activations->saved[s] ? drop[s] : !activations->anchor[s];
		state[s] = (uint8_t)(step->droppable[s] && (hold || step->fixed[s] == RECOMPUTE_DROPPED) &&
					step->fixed[s] != RECOMPUTE_SAVED
				? RECOMPUTE_HOLD
				: RECOMPUTE_KEEP);
	}
}

static enum status states_of_all(const struct recompute_step *step, const struct activations *activations,
	const struct rules *rules, struct control *control, bool *keep, uint8_t *state, uint32_t *count)
{
	uint32_t root = recompute_root_of_layers(activations);
	size_t one = step->storages;
	states_of_mode(step, activations, RECOMPUTE_SELECTIVE, keep, state);
	states_of_mode(step, activations, RECOMPUTE_FULL, keep, state + one);
	*count = MODES;
	for (uint32_t every = 1; every <= activations->layers; every++) {
		if (every >= GROUPINGS && every != root)
			continue;
		recompute_keep_groups(step, activations, every, keep);
		TRY(recompute_states_keeping(step, keep, control, state + one * (*count)++));
	}
	for (uint32_t every = 2; every < GROUPINGS && every <= activations->layers; every++) {
		recompute_keep_every(step, activations, every, keep);
		TRY(recompute_states_keeping(step, keep, control, state + one * (*count)++));
	}
	TRY(recompute_keep_knapsack(step, activations, rules, budgets, BUDGETS, control, keep));
	FOR(i, BUDGETS)
		TRY(recompute_states_keeping(step, keep + one * i, control, state + one * (*count)++));
	return OK;
}

enum status recompute_published_states(const struct recompute_step *step, const struct activations *activations,
	const struct rules *rules, struct control *control, uint8_t **state, uint32_t *count)
{
	HELD bool *MAKE(keep, (size_t)step->storages * BUDGETS);
	MAKE(*state, (size_t)step->storages * (MODES + 2 * GROUPINGS + BUDGETS));
	*count = 0;
	return keep && *state ? states_of_all(step, activations, rules, control, keep, *state, count) : NO_MEMORY;
}
