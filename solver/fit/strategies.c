/* strategies.c: what published strategies keep. */
#include <math.h>
#include <string.h>

#include "joint.h"
#include "search.h"
#include "strategies.h"

/* ---- groups of layers ------------------------------------------------------------------------------------------------- */

static uint32_t group_of(const struct activations *activations, uint32_t op, uint32_t every)
{
	return activations->layer[op] == NONE ? NONE : activations->layer[op] / every;
}

void fit_keep_groups(const struct fit_step *step, const struct activations *activations, uint32_t every, bool *keep)
{
	for (uint32_t s = 0; s < step->storages; s++) {
		uint32_t maker = step->graph->storage[s].allocator, group = maker == NONE ? NONE : group_of(activations, maker, every);
		keep[s] = group == NONE;
		FOR_ROW(i, &step->graph->users, s) {
			uint32_t user = step->graph->users.item[i];
			keep[s] |= step->forward[user] && group_of(activations, user, every) != group;
		}
	}
}

uint32_t fit_root_of_layers(const struct activations *activations)
{
	uint32_t root = (uint32_t)lround(sqrt((double)activations->layers));
	return root > 0 ? root : 1;
}

/* ---- types of ops ------------------------------------------------------------------------------------------------------- */

void fit_keep_but(const struct fit_step *step, const bool *again, bool *keep)
{
	for (uint32_t s = 0; s < step->storages; s++) {
		keep[s] = true;
		FOR_ROW(i, &step->writers, s)
			keep[s] &= !again[step->writers.item[i]];
	}
}

/* ---- PyTorch's memory budget ---------------------------------------------------------------------------------------------- */

#define SHARES 10000       /* the solver counts memory in shares of what the default saves */
#define FIRST_BANNED 1u

struct budget {
	const struct joint *joint;
	const struct graph *graph;
	const struct activations *activations;
	struct control *control;
	double share;              /* 0..1 */
	double least, span;        /* bytes of the inputs; bytes that the default saves beyond them */
	bool *saved, *allowed;     /* [nodes] */
	uint32_t *banned;          /* [nodes] */
	uint32_t *item, items;     /* nodes that may be allowed to run again, largest first */
	struct arena arena;
};

static double bytes_saved(const struct budget *budget)
{
	double bytes = 0;
	for (uint32_t n = 0; n < budget->joint->nodes; n++)
		bytes += budget->saved[n] ? (double)budget->joint->node[n].bytes : 0;
	return bytes;
}

static bool is_within(const struct budget *budget)
{
	return (bytes_saved(budget) - budget->least) / budget->span < budget->share;
}

static int larger_first(const struct joint *joint, const uint32_t *banned, uint32_t a, uint32_t b)
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
	for (uint32_t i = 0; i < count; i++) {
		bool second = a == half || (b < count && larger_first(budget->joint, budget->banned, item[b], item[a]) < 0);
		scratch[i] = second ? item[b++] : item[a++];
	}
	memcpy(item, scratch, count * sizeof *item);
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
	budget->item = arena_alloc(&budget->arena, joint->nodes, sizeof *budget->item);
	uint32_t *scratch = mem_alloc(joint->nodes, sizeof *scratch);
	for (uint32_t n = 0; n < joint->nodes && budget->item && scratch; n++)
		if (budget->banned[n] >= FIRST_BANNED && joint->node[n].distance < JOINT_FAR && !in_input(budget, &joint->node[n]))
			budget->item[budget->items++] = n;
	enum status status = budget->item && scratch ? OK : NO_MEMORY;
	if (status == OK)
		sort_items(budget, budget->item, budget->items, scratch);
	mem_free(scratch);
	return status;
}

/* FLOPs as PyTorch's counter has them: of products, convolutions and attentions; 1 of all else. */
static float runtime_of(const struct budget *budget, uint32_t node)
{
	const struct joint_node *record = &budget->joint->node[node];
	int64_t flops = record->expensive ? budget->activations->flops[record->op] : 0;
	return (float)(flops > 1 ? flops : 1);
}

/* The knapsack by dynamic programming, in single precision as there: what is not taken may run again. */
static enum status fill_knapsack(struct budget *budget)
{
	uint32_t most = (uint32_t)nearbyint(budget->share * SHARES);
	size_t words = most / 64 + 1;
	float *best = mem_alloc(most + 1, sizeof *best);
	uint64_t *taken = mem_alloc((size_t)budget->items * words, sizeof *taken);
	enum status status = best && taken ? OK : NO_MEMORY;
	for (uint32_t i = 0; i < budget->items && status == OK; i++) {
		double size = nearbyint((double)budget->joint->node[budget->item[i]].bytes / budget->span * SHARES);
		uint32_t bytes = size > most ? most + 1 : (uint32_t)size;
		float runtime = runtime_of(budget, budget->item[i]);
		for (uint32_t j = most + 1; j-- > bytes;) {
			float with = best[j - bytes] + runtime;
			if (with > best[j]) {
				best[j] = with;
				taken[i * words + j / 64] |= UINT64_C(1) << (j % 64);
			}
		}
		status = control_spend(budget->control, most) ? OK : control_status(budget->control);
	}
	for (uint32_t i = budget->items, j = most; i-- > 0 && status == OK;) {
		bool in = taken[i * words + j / 64] >> (j % 64) & 1;
		budget->allowed[budget->item[i]] = !in;
		j -= in ? (uint32_t)nearbyint((double)budget->joint->node[budget->item[i]].bytes / budget->span * SHARES) : 0;
	}
	mem_free(best);
	mem_free(taken);
	return status;
}

/* choose_saved_values_set(): ever fewer bans, and where these are not enough, a knapsack among what is still banned. */
static enum status choose_saved(struct budget *budget)
{
	const struct joint_bans bans[] = { { true, true, true, true, true }, { .not_generated = true, .reductions = true }, { .reductions = true } };
	for (uint32_t n = 0; n < budget->joint->inputs; n++)
		budget->least += (double)budget->joint->node[n].bytes;
	for (int i = 0; i < 3; i++) {
		enum status status = joint_cut(budget->joint, &bans[i], NULL, budget->control, budget->saved, budget->banned);
		budget->span = i == 0 ? bytes_saved(budget) - budget->least : budget->span;
		if (status != OK || (i == 0 ? budget->share >= 1 || budget->span <= 0 : is_within(budget)))
			return status;
	}
	enum status status = find_items(budget);
	if (status != OK || budget->items == 0)
		return status;
	status = fill_knapsack(budget);
	return status == OK ? joint_cut(budget->joint, &bans[2], budget->allowed, budget->control, budget->saved, budget->banned) : status;
}

enum status fit_keep_knapsack(const struct fit_step *step, const struct activations *activations, const struct rules *rules, int64_t percent,
	struct control *control, bool *keep)
{
	struct joint joint;
	enum status status = joint_find(step->graph, step->forward, rules, &joint);
	struct budget budget = { .joint = &joint, .graph = step->graph, .activations = activations, .control = control, .share = (double)percent / 100 };
	memset(keep, 0, step->storages * sizeof *keep);
	if (status == OK) {
		budget.saved = arena_alloc(&budget.arena, joint.nodes, sizeof *budget.saved);
		budget.allowed = arena_alloc(&budget.arena, joint.nodes, sizeof *budget.allowed);
		budget.banned = arena_alloc(&budget.arena, joint.nodes, sizeof *budget.banned);
		status = budget.saved && budget.allowed && budget.banned ? OK : NO_MEMORY;
	}
	if (status == OK && percent > 0)
		status = choose_saved(&budget);
	for (uint32_t n = 0; n < joint.nodes && status == OK; n++)
		if (budget.saved[n] && joint.node[n].tensor != NONE)
			keep[step->graph->tensor[joint.node[n].tensor].storage] = true;
	arena_free(&budget.arena);
	joint_free(&joint);
	return status;
}

/* ---- states --------------------------------------------------------------------------------------------------------------- */

enum status fit_states_keeping(const struct fit_step *step, const bool *keep, struct control *control, uint8_t *state)
{
	struct fit_network network;
	int64_t *price = mem_alloc(step->storages, sizeof *price), value;
	bool *kept = mem_alloc(step->storages, sizeof *kept);
	enum status status = price && kept ? fit_network_new(step, false, &network) : NO_MEMORY;
	if (price && kept) {
		for (uint32_t s = 0; s < step->storages; s++)
			price[s] = keep[s] ? 0 : step->total + 1;
		status = status == OK ? fit_cut(&network, price, step->time, step->saved, FIT_FEWEST, control, &value, kept) : status;
		fit_network_free(&network);
	}
	if (status == OK)
		fit_states_of(step, kept, state);
	mem_free(price);
	mem_free(kept);
	return status;
}
