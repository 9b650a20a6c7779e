/* meet.c: a good plan out of more than can be enumerated: what is around a link and both halves of its walk meet in the middle.
 *
 * Of every set some points are kept only. For each point of what is around, the best pair of halves within the limit is found by going through
 * both from opposite ends (Horowitz, Sahni, JACM 21, 1974): millions of plans, whose usages lie close, without writing them down.
 */
#include <stdlib.h>

#include "walk.h"

#define POINTS_MOST 60000
#define BEAM 96                /* points of a set, fewer where that takes too long */
#define BEAM_LEAST 6
#define AROUND 256             /* points around an entry */
#define POINT_LOOKS 8          /* what sorting a point takes */
#define WALKS_MOST 1000000     /* pairs of walks looked at */
#define LOOKS_MOST 6000000     /* steps through halves */
#define PIECES_MOST 24         /* buckets around the link */
#define STATES_MOST 20000      /* of both ends together */

struct around {
	uint32_t pieces, bucket[PIECES_MOST]; /* with points of their own */
	uint32_t count, room;
	struct chain_point *list, *other; /* of one entry of the link; value: */
	uint32_t (*pick)[PIECES_MOST], (*pick_other)[PIECES_MOST]; /* points of the pieces that one is made of */
};

struct meeting {
	struct chain_search *search;
	const struct chain_link *link;
	int64_t most, cost;        /* plans cost less */
	struct chain_walks walks;
	struct chain_front core;
	struct around around;
	struct chain_point *left, *right; /* scratch: Pareto points of the sets at hand, trail: which walk */
	uint32_t *value;           /* of the core's variables */
	uint64_t looks;
	size_t entry;              /* of the best so far, NONE: there is none */
	uint32_t walk[2], pick[PIECES_MOST];
	struct arena arena;
};

/* Everything but the link hangs on its variables, bucket by bucket; false where it doesn't. */
static bool find_pieces(struct meeting *meeting)
{
	const struct chain_tree *tree = &meeting->search->core;
	const struct chain_factor *factor = &tree->graph->factor[meeting->link->factor];
	struct around *around = &meeting->around;
	for (uint32_t i = 0; i < tree->buckets; i++) {
		const struct chain_bucket *bucket = &tree->bucket[i];
		if ((!bucket->open && bucket->var != NONE) || !meeting->core.start[i])
			continue;
		for (uint32_t j = 0; j < bucket->count; j++) {
			bool known = false;
			for (uint32_t k = 0; k < factor->count; k++)
				known |= factor->var[k] == bucket->scope[j];
			if (!known)
				return false;
		}
		if (around->pieces == PIECES_MOST)
			return false;
		around->bucket[around->pieces++] = i;
	}
	return true;
}

/* Sets the link's variables as an entry of its factor says. */
static void set_values(struct meeting *meeting, size_t entry)
{
	const struct chain_graph *graph = meeting->search->core.graph;
	const struct chain_factor *factor = &graph->factor[meeting->link->factor];
	for (uint32_t i = factor->count; i-- > 0;) {
		meeting->value[factor->var[i]] = (uint32_t)(entry % graph->domain[factor->var[i]]);
		entry /= graph->domain[factor->var[i]];
	}
}

/* Joins the points of one piece to those at hand. */
static bool join_piece(struct meeting *meeting, uint32_t piece)
{
	const struct chain_tree *tree = &meeting->search->core;
	struct around *around = &meeting->around;
	const struct chain_bucket *bucket = &tree->bucket[around->bucket[piece]];
	const uint32_t *start = meeting->core.start[around->bucket[piece]];
	size_t row = chain_tree_row(tree, bucket, meeting->value);
	if (bucket->var != NONE)
		row = row * tree->graph->domain[bucket->var] + meeting->value[bucket->var];
	uint32_t count = 0, picks = 0;
	for (uint32_t i = 0; i < around->count; i++)
		for (uint32_t j = start[row]; j < start[row + 1]; j++) {
			const struct chain_point *a = &around->list[i], *b = &meeting->core.point[j];
			if (a->usage + b->usage > meeting->search->limit)
				continue;
			if (count == around->room)
				return false;
			around->other[count++] = (struct chain_point) { a->cost + b->cost, a->usage + b->usage, i, j };
		}
	meeting->looks += (uint64_t)POINT_LOOKS * count;
	count = chain_points_filter(around->other, count);
	count = chain_points_thin(tree, around->other, count, AROUND);
	for (uint32_t i = 0; i < count; i++, picks++) {
		for (uint32_t k = 0; k < piece; k++)
			around->pick_other[picks][k] = around->pick[around->other[i].value][k];
		around->pick_other[picks][piece] = around->other[i].trail;
		around->other[i].value = picks;
	}
	void *swap = around->list;
	around->list = around->other;
	around->other = swap;
	swap = around->pick;
	around->pick = around->pick_other;
	around->pick_other = swap;
	around->count = count;
	return true;
}

/* The points around the link's entry. */
static bool find_around(struct meeting *meeting, size_t entry)
{
	struct around *around = &meeting->around;
	set_values(meeting, entry);
	around->list[0] = (struct chain_point) { 0 };
	around->count = 1;
	for (uint32_t i = 0; i < around->pieces; i++)
		if (!join_piece(meeting, i))
			return false;
	return true;
}

/* A half's points between two states, those that others are as good as left out. */
static uint32_t half_points(struct meeting *meeting, const struct chain_half *half, uint32_t from, uint32_t to, struct chain_point *list)
{
	if (!half->start) {
		list[0] = (struct chain_point) { .trail = NONE };
		return from == to;
	}
	const uint32_t *start = half->start + (size_t)from * meeting->link->states + to;
	uint32_t count = start[1] - start[0];
	meeting->looks += (uint64_t)POINT_LOOKS * count;
	for (uint32_t i = 0; i < count; i++) {
		list[i] = meeting->walks.point[start[0] + i];
		list[i].trail = start[0] + i;
	}
	return chain_points_filter(list, count);
}

/* The best of the points around with a pair of halves. */
static void meet(struct meeting *meeting, size_t entry, uint32_t lefts, uint32_t rights)
{
	const struct around *around = &meeting->around;
	for (uint32_t i = 0; i < around->count && meeting->looks < LOOKS_MOST; i++) {
		uint32_t j = rights;
		meeting->looks += lefts + rights;
		for (uint32_t k = 0; k < lefts; k++) {
			int64_t cost = around->list[i].cost + meeting->left[k].cost;
			int64_t left = meeting->search->limit - around->list[i].usage - meeting->left[k].usage;
			while (j > 0 && meeting->right[j - 1].usage > left)
				j--;
			if (j == 0)
				break;
			if (cost + meeting->right[j - 1].cost >= meeting->cost)
				continue;
			meeting->cost = cost + meeting->right[j - 1].cost;
			meeting->entry = entry;
			meeting->walk[0] = meeting->left[k].trail;
			meeting->walk[1] = meeting->right[j - 1].trail;
			for (uint32_t p = 0; p < around->pieces; p++)
				meeting->pick[p] = around->pick[around->list[i].value][p];
		}
	}
}

static int64_t least_of(const struct meeting *meeting, const struct chain_half *half, uint32_t from, uint32_t to)
{
	return half->start ? half->least[(size_t)from * meeting->link->states + to] : from == to ? 0 : CHAIN_BLOCKED;
}

/* All states between the halves, for one entry of the link. */
static bool look_at_entry(struct meeting *meeting, size_t entry)
{
	uint32_t states = meeting->link->states, to = (uint32_t)(entry % states), from = (uint32_t)(entry / states % states);
	size_t block = entry / states / states;
	const struct chain_half *left = &meeting->walks.left[block], *right = &meeting->walks.right[block];
	int64_t outside = meeting->search->copy[0].around[entry];
	bool found = false;
	if (!left->start || chain_blocked(outside))
		return true;
	for (uint32_t k = 0; k < states; k++) {
		int64_t a = least_of(meeting, left, from, k), b = least_of(meeting, right, k, to);
		if (chain_blocked(a) || chain_blocked(b) || a + b + outside > meeting->most)
			continue;
		if (!found && !find_around(meeting, entry))
			return false;
		found = true;
		meet(meeting, entry, half_points(meeting, left, from, k, meeting->left), half_points(meeting, right, k, to, meeting->right));
	}
	return true;
}

static enum status read_choice(struct meeting *meeting, struct chain_choice *choice)
{
	const struct chain_model *model = meeting->search->model;
	choice->core = arena_alloc(&choice->arena, model->core.vars, sizeof *choice->core);
	choice->path = arena_alloc(&choice->arena, model->links, sizeof *choice->path);
	if (!choice->core || !choice->path)
		return NO_MEMORY;
	set_values(meeting, meeting->entry);
	for (uint32_t var = 0; var < model->core.vars; var++)
		choice->core[var] = meeting->value[var];
	for (uint32_t i = 0; i < meeting->around.pieces; i++)
		chain_front_decode(&meeting->core, meeting->around.bucket[i], meeting->pick[i], choice->core, NULL);
	enum status status = chain_walks_path(&meeting->walks, meeting->walk, meeting->walk[1] == NONE ? 1 : 2, &choice->path[0], &choice->arena);
	if (status == OK)
		chain_choice_sum(model, choice);
	return status;
}

struct entry { int64_t weight; size_t entry; };

static int by_weight(const void *left, const void *right)
{
	const struct entry *a = left, *b = right;
	return a->weight != b->weight ? (a->weight < b->weight ? -1 : 1) : (a->entry > b->entry) - (a->entry < b->entry);
}

/* The link's entries that are part of anything within most, the least weights first. */
static enum status look_at_entries(struct meeting *meeting)
{
	const struct chain_copy *copy = &meeting->search->copy[0];
	const struct chain_factor *factor = &meeting->search->core.graph->factor[meeting->link->factor];
	struct entry *list = arena_alloc(&meeting->arena, factor->size, sizeof *list);
	size_t count = 0;
	if (!list)
		return NO_MEMORY;
	for (size_t i = 0; i < factor->size; i++)
		if (!chain_blocked(factor->weight[i]) && !chain_blocked(copy->around[i]) && factor->weight[i] + copy->around[i] <= meeting->most)
			list[count++] = (struct entry) { factor->weight[i] + copy->around[i], i };
	if (count > 1)
		qsort(list, count, sizeof *list, by_weight);
	for (size_t i = 0; i < count && meeting->looks < LOOKS_MOST; i++)
		if (!look_at_entry(meeting, list[i].entry))
			return LIMIT;
	return OK;
}

static bool make_room(struct meeting *meeting)
{
	struct around *around = &meeting->around;
	uint32_t points = meeting->walks.points + 1;
	around->room = POINTS_MOST;
	around->list = arena_alloc(&meeting->arena, around->room, sizeof *around->list);
	around->other = arena_alloc(&meeting->arena, around->room, sizeof *around->other);
	around->pick = arena_alloc(&meeting->arena, AROUND, sizeof *around->pick);
	around->pick_other = arena_alloc(&meeting->arena, AROUND, sizeof *around->pick_other);
	meeting->left = arena_alloc(&meeting->arena, points, sizeof *meeting->left);
	meeting->right = arena_alloc(&meeting->arena, points, sizeof *meeting->right);
	meeting->value = arena_alloc(&meeting->arena, meeting->search->model->core.vars, sizeof *meeting->value);
	return around->list && around->other && around->pick && around->pick_other && meeting->left && meeting->right && meeting->value;
}

/* Halves of as many points as there is time for. */
static enum status find_halves(struct meeting *meeting, int64_t below)
{
	enum status status = LIMIT;
	for (uint32_t beam = BEAM; status == LIMIT && beam >= BEAM_LEAST; beam /= 4) {
		struct chain_room room = { POINTS_MOST, WALKS_MOST, beam };
		chain_walks_free(&meeting->walks);
		status = chain_walks_build(&meeting->walks, meeting->search, 0, meeting->most, below, room, true);
	}
	return status;
}

enum status chain_meet(struct chain_search *search, int64_t most, int64_t below, struct chain_choice *choice)
{
	const struct chain_model *model = search->model;
	struct meeting meeting = { .search = search, .most = most, .cost = below, .entry = SIZE_MAX };
	struct chain_room room = { POINTS_MOST, WALKS_MOST, BEAM };
	*choice = (struct chain_choice) { 0 };
	if (model->links != 1 || (uint64_t)model->link->blocks * model->link->states * model->link->states > STATES_MOST)
		return LIMIT;
	meeting.link = model->link;
	enum status status = chain_front_build(&meeting.core, &search->core, NULL, most, room, search->control);
	if (status == OK)
		status = find_pieces(&meeting) ? find_halves(&meeting, below) : LIMIT;
	if (status == OK && !make_room(&meeting))
		status = NO_MEMORY;
	if (status == OK)
		status = look_at_entries(&meeting);
	if (status == OK || status == LIMIT)
		status = meeting.entry != SIZE_MAX ? read_choice(&meeting, choice) : status == OK ? INFEASIBLE : LIMIT;
	control_spend(search->control, meeting.looks / 4);
	chain_walks_free(&meeting.walks);
	chain_front_free(&meeting.core);
	arena_free(&meeting.arena);
	if (status != OK)
		chain_choice_free(choice);
	return status;
}
