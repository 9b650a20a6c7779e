/* walk.c: min-plus powers of sets of points, and the best plan that they make.
 *
 * Where all copies stand in one state their order is free. Then some order has every run of copies use about its share
 * of the whole: two copies' difference above or below at most (take the next copy from those below the mean while the
 * sum is above its share, and the other way round; Steinitz's lemma for one dimension). Only such runs are kept,
 * whatever the length: but none may be dropped for one that uses less. */
#include <stdlib.h>
#include <string.h>

#include "search.h"

#define POINTS_MOST 60000
#define LOOKS_MOST 6000000

/* Cost and usage of all walks along a link that can be part of a nearly best plan: the powers of model.h once more,
 * with sets of points as entries. A walk of twice the length is two walks that meet. Points stay only where the best
 * plan that has them weighs no more than a limit. */
struct chain_walks {
	const struct chain_link *link;
	struct chain_front arcs; /* of single copies */
	/* All walks: value and trail are the two that a walk is made of; of a single copy: NONE and a point of arcs. */
	struct chain_point *point;
	uint32_t points, points_room;
	struct chain_room room;
	struct chain_point *whole; /* those of the link's length, by entry of its factor; value: which of the walks */
	uint32_t *start; /* [entries of the factor + 1] */
	uint32_t wholes, whole_room;
	struct chain_point *list; /* scratch */
	uint32_t list_room;
	uint64_t looked;
	struct arena arena;
};

/* Sets of points of one power, by entry of its matrix. */
struct sets { uint32_t *start; };

static bool walk_push(struct chain_point **list, uint32_t *room, uint32_t count, struct chain_point point)
{
	if (count == *room) {
		uint32_t larger = *room ? 2 * *room : 256;
		struct chain_point *moved = mem_resize(*list, larger, sizeof *moved);
		if (!moved)
			return false;
		*list = moved;
		*room = larger;
	}
	(*list)[count] = point;
	return true;
}

struct walking {
	struct chain_walks *walks;
	struct chain_search *search;
	const struct chain_power *power;
	int64_t limit;
	uint32_t listed;
	bool alone; /* one state: usage of a run of copies is in its share of low to high, give or take more */
	int64_t low, high, more;
	int64_t least, most; /* of the run at hand */
};

__extension__ typedef __int128 wide;

/* The range of a run of so many copies. */
static void walk_set_range(struct walking *walking, uint32_t copies)
{
	uint32_t length = walking->power->length;
	walking->least = walking->alone ? (int64_t)((wide)walking->low * copies / length) - walking->more : INT64_MIN;
	walking->most = walking->alone ? (int64_t)((wide)walking->high * copies / length) + walking->more + 1 : INT64_MAX;
}

/* Drops points that another one of the same usage is as good as. */
static uint32_t filter_equal(struct chain_point *list, uint32_t count)
{
	uint32_t kept = 0;
	if (count > 1)
		qsort(list, count, sizeof *list, chain_points_by_usage);
	for (uint32_t i = 0; i < count; i++)
		if (!kept || list[i].usage != list[kept - 1].usage)
			list[kept++] = list[i];
	return kept;
}

/* Every walk of a set followed by every one of another, into the list. around: of all that is outside. */
static enum status walk_meet(
	struct walking *walking, uint32_t left, uint32_t left_end, uint32_t right, uint32_t right_end, int64_t around)
{
	struct chain_walks *walks = walking->walks;
	walks->looked += (uint64_t)(left_end - left) * (right_end - right);
	if (walks->looked > walks->room.looks)
		return LIMIT;
	for (uint32_t i = left; i < left_end; i++)
		for (uint32_t j = right; j < right_end; j++) {
			struct chain_point point = { walks->point[i].cost + walks->point[j].cost,
				walks->point[i].usage + walks->point[j].usage, i, j };
			if (walking->search->alpha * point.cost + walking->search->beta * point.usage + around > walking->limit
				|| point.usage < walking->least || point.usage > walking->most || point.usage > walking->search->limit)
				continue;
			if (walking->listed >= 4 * walks->room.most)
				return LIMIT;
			NEED(walk_push(&walks->list, &walks->list_room, walking->listed++, point));
		}
	return OK;
}

/* The sets of a product of two powers. */
static enum status walk_multiply(struct walking *walking, const int64_t *left, const struct sets *lefts,
	const int64_t *right, const struct sets *rights, const int64_t *around, struct sets *result)
{
	struct chain_walks *walks = walking->walks;
	uint32_t states = walking->power->states;
	enum status status = OK;
	result->start = arena_alloc(&walks->arena, (size_t)states * states + 1, sizeof *result->start);
	NEED(result->start);
	for (size_t entry = 0; entry < (size_t)states * states && status == OK; entry++) {
		size_t from = entry / states, to = entry % states;
		result->start[entry] = walks->points;
		walking->listed = 0;
		for (uint32_t k = 0; k < states && !chain_blocked(around[entry]) && status == OK; k++) {
			int64_t a = left[from * states + k], b = right[k * states + to];
			size_t first = from * states + k, second = k * states + to;
			if (!chain_blocked(a) && !chain_blocked(b) && a + b + around[entry] <= walking->limit)
				status = walk_meet(walking, lefts->start[first], lefts->start[first + 1], rights->start[second],
					rights->start[second + 1], around[entry]);
		}
		if (status != OK)
			break;
		walking->listed = walking->alone ? filter_equal(walks->list, walking->listed)
			: chain_points_filter(walks->list, walking->listed);
		if (walks->points + walking->listed > walks->room.most)
			status = LIMIT;
		for (uint32_t i = 0; i < walking->listed && status == OK; i++)
			if (!walk_push(&walks->point, &walks->points_room, walks->points++, walks->list[i]))
				status = NO_MEMORY;
	}
	result->start[(size_t)states * states] = walks->points;
	return status;
}

/* The sets of single copies. */
static enum status copy_arcs(struct walking *walking, uint32_t block, struct sets *result)
{
	struct chain_walks *walks = walking->walks;
	size_t square = (size_t)walking->power->states * walking->power->states;
	const uint32_t *start = walks->arcs.start[walks->arcs.tree->buckets - 1] + block * square;
	result->start = arena_alloc(&walks->arena, square + 1, sizeof *result->start);
	NEED(result->start);
	for (size_t entry = 0; entry < square; entry++) {
		result->start[entry] = walks->points;
		for (uint32_t i = start[entry]; i < start[entry + 1]; i++) {
			struct chain_point point = { walks->arcs.point[i].cost, walks->arcs.point[i].usage, NONE, i };
			if (walks->points >= walks->room.most)
				return LIMIT;
			NEED(walk_push(&walks->point, &walks->points_room, walks->points++, point));
		}
	}
	result->start[square] = walks->points;
	return OK;
}

/* All walks of the link's length in one block, into last: of squares of the arcs' sets, and their products. */
static enum status walk_block(struct walking *walking, uint32_t block, struct sets *last)
{
	const struct chain_power *power = walking->power;
	struct sets *square = arena_alloc(&walking->walks->arena, power->squares, sizeof *square);
	uint32_t length = 0;
	enum status status = square ? copy_arcs(walking, block, &square[0]) : NO_MEMORY;
	for (uint32_t i = 1; i < power->squares && status == OK; i++) {
		walk_set_range(walking, 1u << i);
		status = walk_multiply(walking, power->square[i - 1], &square[i - 1], power->square[i - 1], &square[i - 1],
			power->square_around[i], &square[i]);
	}
	for (uint32_t i = 0; i < power->products && status == OK; i++) {
		struct sets before = *last;
		*last = square[power->bit[i]];
		walk_set_range(walking, length += 1u << power->bit[i]);
		if (i)
			status = walk_multiply(walking, power->product[i - 1], &before, power->square[power->bit[i]], &square[power->bit[i]],
				power->product_around[i], last);
	}
	return status;
}

/* What copies and everything else use at most, where all is a part of some plan. */
static int64_t most_usage(const struct chain_graph *graph)
{
	int64_t sum = 0;
	for (uint32_t i = 0; i < graph->factors; i++) {
		int64_t most = 0;
		for (size_t j = 0; graph->factor[i].usage && !graph->factor[i].weight && j < graph->factor[i].size; j++)
			most = graph->factor[i].usage[j] > most ? graph->factor[i].usage[j] : most;
		sum += most;
	}
	return sum;
}

/* The range of what a link's copies use together in plans that cost less than below, where all of a block's are in one
 * state. */
static void find_range(struct walking *walking, uint32_t number, uint32_t block, int64_t below)
{
	const struct chain_search *search = walking->search;
	const struct chain_front *arcs = &walking->walks->arcs;
	uint32_t states = walking->power->states, state = NONE;
	const uint32_t *start = arcs->start[arcs->tree->buckets - 1] + (size_t)block * states * states;
	int64_t least = INT64_MAX, most = 0;
	walking->alone = search->beta > 0;
	for (size_t entry = 0; entry < (size_t)states * states && walking->alone; entry++)
		for (uint32_t i = start[entry]; i < start[entry + 1]; i++) {
			walking->alone &= entry / states == entry % states && (state == NONE || state == entry % states);
			state = (uint32_t)(entry % states);
			least = arcs->point[i].usage < least ? arcs->point[i].usage : least;
			most = arcs->point[i].usage > most ? arcs->point[i].usage : most;
		}
	if (!walking->alone || state == NONE)
		return;
	int64_t others = most_usage(&search->model->core);
	for (uint32_t i = 0; i < search->model->links; i++)
		others += i == number ? 0 : most_usage(&search->model->link[i].graph) * search->model->link[i].length;
	wide whole = ((wide)search->weight - (wide)search->alpha * (below - 1)) / search->beta - 1 - others;
	walking->low = whole > 0 ? (int64_t)whole : 0;
	walking->high = search->limit;
	walking->more = 2 * (most - least);
}

/* Whether any walk of the block is within the limit. */
static bool walk_within(const struct chain_copy *copy, const struct chain_power *power, uint32_t block, int64_t limit)
{
	size_t square = (size_t)power->states * power->states;
	const int64_t *whole = power->product[power->products - 1], *around = copy->around + block * square;
	for (size_t i = 0; i < square; i++)
		if (!chain_blocked(whole[i]) && !chain_blocked(around[i]) && whole[i] + around[i] <= limit)
			return true;
	return false;
}

static enum status look_at_block(
	struct walking *walking, uint32_t number, uint32_t block, int64_t below, struct sets *last)
{
	struct chain_search *search = walking->search;
	struct chain_copy *copy = &search->copy[number];
	size_t square = (size_t)walking->power->states * walking->power->states;
	TRY(chain_power_keep(&copy->power[block]));
	chain_power_around(&copy->power[block], copy->around + block * square, copy->arc + block * square, search->control);
	find_range(walking, number, block, below);
	return walk_block(walking, block, last);
}

/* After passes up and down. limit: of the weight of a whole plan, below: of its cost. Free in any case. */
static enum status build_walks(struct chain_walks *walks, struct chain_search *search, uint32_t number, int64_t limit,
	int64_t below, struct chain_room room)
{
	const struct chain_link *link = &search->model->link[number];
	struct chain_copy *copy = &search->copy[number];
	size_t square = (size_t)link->states * link->states;
	*walks = (struct chain_walks) { .link = link, .room = room };
	enum status status = chain_front_build(&walks->arcs, &copy->tree, NULL, limit, room, search->control);
	walks->start = arena_alloc(&walks->arena, link->blocks * square + 1, sizeof *walks->start);
	NEED(walks->start);
	for (uint32_t block = 0; block < link->blocks && status == OK; block++) {
		struct walking walking = { .walks = walks, .search = search, .power = &copy->power[block], .limit = limit };
		struct sets last = { NULL };
		if (walk_within(copy, walking.power, block, limit))
			status = look_at_block(&walking, number, block, below, &last);
		for (size_t entry = 0; entry < square && status == OK; entry++) {
			walks->start[block * square + entry] = walks->wholes;
			for (uint32_t i = last.start ? last.start[entry] : 0; last.start && i < last.start[entry + 1] && status == OK; i++) {
				struct chain_point whole = { walks->point[i].cost, walks->point[i].usage, i, NONE };
				status = walk_push(&walks->whole, &walks->whole_room, walks->wholes++, whole) ? OK : NO_MEMORY;
			}
		}
	}
	walks->start[link->blocks * square] = walks->wholes;
	control_spend(search->control, walks->looked / 4 + 10 * (uint64_t)walks->points);
	return status;
}

static void free_walks(struct chain_walks *walks)
{
	chain_front_free(&walks->arcs);
	mem_free(walks->point);
	mem_free(walks->whole);
	mem_free(walks->list);
	arena_free(&walks->arena);
	*walks = (struct chain_walks) { 0 };
}

/* ---- paths ---- */

/* Arcs of a walk, points of arcs, from *next on. */
static void spell_out(const struct chain_walks *walks, uint32_t walk, uint32_t **next)
{
	if (walks->point[walk].value == NONE) {
		*(*next)++ = walks->point[walk].trail;
		return;
	}
	spell_out(walks, walks->point[walk].value, next);
	spell_out(walks, walks->point[walk].trail, next);
}

static enum status arc_values(const struct chain_walks *walks, uint32_t arc, uint32_t **value, struct arena *arena)
{
	const struct chain_tree *tree = walks->arcs.tree;
	const struct chain_bucket *root = &tree->bucket[tree->buckets - 1];
	const uint32_t *start = walks->arcs.start[tree->buckets - 1];
	size_t low = 0, high = root->size;
	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;
		*(start[middle] <= arc ? &low : &high) = middle;
	}
	*value = arena_alloc(arena, walks->link->graph.vars, sizeof **value);
	NEED(*value);
	chain_tree_digits(tree, root, low, *value);
	chain_front_decode(&walks->arcs, tree->buckets - 1, arc, *value, NULL);
	return OK;
}

/* The copies of a walk of the link's length, one after the other; what it needs lies in the arena. OK or NO_MEMORY. */
static enum status walk_path(
	const struct chain_walks *walks, uint32_t walk, struct chain_path *path, struct arena *arena)
{
	uint32_t length = walks->link->length, *next;
	HELD uint32_t *kind = mem_alloc(walks->arcs.points, sizeof *kind);
	next = path->arc = arena_alloc(arena, length, sizeof *path->arc);
	path->value = arena_alloc(arena, length < walks->arcs.points ? length : walks->arcs.points, sizeof *path->value);
	path->kinds = 0;
	enum status status = kind && path->arc && path->value ? OK : NO_MEMORY;
	if (status == OK)
		spell_out(walks, walk, &next);
	for (uint32_t i = 0; i < length && status == OK; i++) {
		uint32_t arc = path->arc[i];
		if (!kind[arc]) {
			status = arc_values(walks, arc, &path->value[path->kinds], arena);
			kind[arc] = ++path->kinds;
		}
		path->arc[i] = kind[arc] - 1;
	}
	return status;
}

/* ---- whole plans ---- */

/* The cheapest of the root's points within the limit, below below; NONE: there is none. */
static uint32_t walk_cheapest(const struct chain_front *core, const struct chain_search *search, int64_t below)
{
	const uint32_t *start = core->start[core->tree->buckets - 1];
	uint32_t best = NONE;
	for (uint32_t i = start[0]; i < start[1]; i++)
		if (core->point[i].usage <= search->limit && core->point[i].cost < (best == NONE ? below : core->point[best].cost))
			best = i;
	return best;
}

static enum status read_choice(const struct chain_search *search, const struct chain_front *core, uint32_t best,
	const struct chain_walks *walks, struct chain_choice *choice)
{
	const struct chain_model *model = search->model;
	uint32_t *taken = arena_alloc(&choice->arena, model->core.factors, sizeof *taken);
	choice->core = arena_alloc(&choice->arena, model->core.vars, sizeof *choice->core);
	choice->path = arena_alloc(&choice->arena, model->links, sizeof *choice->path);
	enum status status = taken && choice->core && choice->path ? OK : NO_MEMORY;
	if (status == OK)
		chain_front_decode(core, core->tree->buckets - 1, best, choice->core, taken);
	for (uint32_t i = 0; i < model->links && status == OK; i++)
		status = walk_path(&walks[i], walks[i].whole[taken[model->link[i].factor]].value, &choice->path[i], &choice->arena);
	if (status == OK)
		chain_choice_sum(model, choice);
	return status;
}

enum status chain_exact(struct chain_search *search, int64_t most, int64_t below, struct chain_choice *choice)
{
	struct chain_room room = { POINTS_MOST, LOOKS_MOST };
	const struct chain_model *model = search->model;
	struct arena arena = { 0 };
	struct chain_front core = { 0 };
	struct chain_walks *walks = arena_alloc(&arena, model->links, sizeof *walks);
	struct chain_given *given = arena_alloc(&arena, model->core.factors, sizeof *given);
	enum status status = walks && given ? OK : NO_MEMORY;
	*choice = (struct chain_choice) { 0 };
	for (uint32_t i = 0; i < model->links && status == OK; i++) {
		status = build_walks(&walks[i], search, i, most, below, room);
		given[model->link[i].factor] = (struct chain_given) { walks[i].start, walks[i].whole };
	}
	if (status == OK)
		status = chain_front_build(&core, &search->core, given, most, room, search->control);
	if (status == OK) {
		uint32_t best = walk_cheapest(&core, search, below);
		status = best == NONE ? INFEASIBLE : read_choice(search, &core, best, walks, choice);
	}
	for (uint32_t i = 0; i < model->links && walks; i++)
		free_walks(&walks[i]);
	chain_front_free(&core);
	arena_free(&arena);
	if (status != OK)
		chain_choice_free(choice);
	return status;
}
