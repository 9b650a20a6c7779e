/* exchange.c: several changes at once that fill what the cap leaves.
 *
 * Cuts leave a few storages' worth of the cap unused, and single changes are too large for it: then one storage goes
 * and two others come. Each kind of change is played once; what it costs in time and bytes adds up over layers, nearly.
 * By the price of a byte most kinds can't be part of a better plan. Of the others up to four are combined as numbers,
 * as in a knapsack, and the best sums are played; where none of these is better, sums of any number (search.h). */
#include <stdlib.h>

#include "search.h"

#define INSTANCES 30000    /* changes at most */
#define COMBINED 256          /* that are combined */
#define TRIES 96           /* combinations that are played in a round */
#define ROUNDS 12

struct part { uint32_t storage; uint8_t to; };

/* Parts that change together. Those of the same kind do the same in equal layers. */
struct change { uint64_t kind; uint32_t first, count; };

struct sort {
	uint32_t first, count;     /* of its changes */
	int64_t time, bytes;       /* that it adds */
	double cost;               /* of both, at the price of a byte */
	bool elsewhere; /* it takes another moment than the fullest above the cap, where what others take away doesn't help
					 */
};

/* Up to two kinds. */
struct sum { int64_t time, bytes; uint32_t kind[2]; };

struct combination { int64_t time; uint32_t sum[2]; uint64_t hash; };

struct exchange {
	struct fit_search *search;
	double slope;              /* picoseconds a byte */
	int64_t gap;               /* no change that costs more can be part of a better plan */
	uint8_t *from;             /* [storages] what the changes are changes of, */
	int64_t extra, peak;       /* what it comes to, */
	uint32_t fullest;          /* and where */
	struct part *part;
	uint32_t parts, part_room;
	struct change *change;
	uint32_t changes;
	struct sort *kind;
	uint32_t kinds;
	struct sum *sum;           /* by bytes */
	uint32_t *fastest;         /* [sums] of those up to this one */
	uint32_t sums;
	struct combination best[TRIES];
	uint32_t combinations;
	struct fit_item *item;     /* [kinds] */
	struct fit_sum *found;     /* [TRIES] */
	uint32_t *mark, stamp;     /* [storages] touched by the combination that is put together */
	uint32_t *stack;           /* [storages] */
	struct arena arena;
};

/* ---- changes ---- */

static uint64_t hash_part(const struct exchange *exchange, const struct part *part)
{
	const struct fit_fold *fold = &exchange->search->fold;
	uint32_t class = fold->of[part->storage];
	uint64_t what = class == NONE ? (uint64_t)fold->classes + part->storage : class;
	return hash_mix(hash_join(what, (uint64_t)exchange->from[part->storage] * FIT_STATES + part->to));
}

static bool may_change(const struct exchange *exchange, uint32_t storage)
{
	const struct fit_step *step = exchange->search->step;
	return step->droppable[storage] && step->fixed[storage] == FIT_FREE && step->bytes[storage] > FIT_SMALL;
}

static bool may_be(const struct exchange *exchange, uint32_t storage, uint8_t to)
{
	return to != exchange->from[storage] && !(to == FIT_KEEP && exchange->search->base->dominated[storage]);
}

static uint8_t other_state(const struct exchange *exchange, uint32_t storage)
{
	return exchange->from[storage] == FIT_KEEP ? FIT_HOLD : FIT_KEEP;
}

/* A part of the change that is being put together. */
static void exchange_add_part(struct exchange *exchange, uint32_t storage, uint8_t to)
{
	if (exchange->parts < exchange->part_room)
		exchange->part[exchange->parts++] = (struct part){ storage, to };
}

/* The parts from first on are one change. Sums of hashes: in whatever order. */
static void end_change(struct exchange *exchange, uint32_t first)
{
	uint64_t kind = 0;
	if (exchange->changes == INSTANCES || exchange->parts == exchange->part_room) {
		exchange->parts = first;
		return;
	}
	for (uint32_t i = first; i < exchange->parts; i++)
		kind += hash_part(exchange, &exchange->part[i]);
	if (exchange->parts > first)
		exchange->change[exchange->changes++] = (struct change){ kind, first, exchange->parts - first };
}

/* Single storages to any other state; and two, of which one is made of the other. */
static void list_near(struct exchange *exchange)
{
	const struct fit_step *step = exchange->search->step;
	for (uint32_t s = 0; s < step->storages; s++) {
		if (!may_change(exchange, s))
			continue;
		for (uint8_t to = FIT_KEEP; to < FIT_STATES; to++) {
			uint32_t first = exchange->parts;
			if (may_be(exchange, s, to))
				exchange_add_part(exchange, s, to);
			end_change(exchange, first);
		}
		FOR_ROW(w, &step->writers, s)
			FOR_ROW(i, &step->reads, step->writers.item[w]) {
				uint32_t other = step->reads.item[i], first = exchange->parts;
				if (other == s || !may_change(exchange, other) || !may_be(exchange, s, other_state(exchange, s)) ||
					!may_be(exchange, other, other_state(exchange, other)))
					continue;
				exchange_add_part(exchange, s, other_state(exchange, s));
				exchange_add_part(exchange, other, other_state(exchange, other));
				end_change(exchange, first);
			}
	}
}

static bool exchange_differs(const struct exchange *exchange, const bool *kept, uint32_t storage)
{
	return may_change(exchange, storage) && (exchange->from[storage] == FIT_KEEP) != kept[storage] &&
		may_be(exchange, storage, other_state(exchange, storage));
}

static void exchange_reach(struct exchange *exchange, const bool *kept, uint32_t storage, uint32_t *depth)
{
	if (exchange->mark[storage] == exchange->stamp || !exchange_differs(exchange, kept, storage))
		return;
	exchange->mark[storage] = exchange->stamp;
	exchange->stack[(*depth)++] = storage;
	exchange_add_part(exchange, storage, other_state(exchange, storage));
}

/* What hangs together of where a cut differs: one change. */
static void list_component(struct exchange *exchange, const bool *kept, const struct csr *made, uint32_t storage)
{
	const struct fit_step *step = exchange->search->step;
	uint32_t depth = 0, first = exchange->parts;
	exchange_reach(exchange, kept, storage, &depth);
	while (depth > 0) {
		uint32_t s = exchange->stack[--depth];
		FOR_ROW(w, &step->writers, s)
			FOR_ROW(i, &step->reads, step->writers.item[w])
				exchange_reach(exchange, kept, step->reads.item[i], &depth);
		FOR_ROW(i, made, s)
			exchange_reach(exchange, kept, made->item[i], &depth);
	}
	end_change(exchange, first);
}

/* storage -> those that ops of the pass make of it. */
static bool find_made(struct exchange *exchange, struct csr *made)
{
	const struct fit_step *step = exchange->search->step;
	uint32_t items = 0;
	made->start = arena_alloc(&exchange->arena, step->storages + 2u, sizeof *made->start);
	if (!made->start)
		return false;
	for (int fill = 0; fill < 2; fill++) {
		for (uint32_t s = 0; s < step->storages; s++)
			FOR_ROW(w, &step->writers, s)
				FOR_ROW(i, &step->reads, step->writers.item[w]) {
					uint32_t of = step->reads.item[i];
					if (fill)
						made->item[made->start[of + 1]++] = s;
					else
						made->start[of + 2]++, items++;
				}
		for (uint32_t s = 0; s <= step->storages && !fill; s++)
			made->start[s + 1] += made->start[s];
		if (!fill && !(made->item = arena_alloc(&exchange->arena, items + 1u, sizeof *made->item)))
			return false;
	}
	return true;
}

/* Where the cuts of a dual differ. */
static void list_cuts(struct exchange *exchange, const struct fit_dual *dual, const struct csr *made)
{
	for (uint32_t c = 0; c < dual->columns; c++) {
		exchange->stamp++;
		for (uint32_t s = 0; s < exchange->search->step->storages; s++)
			if (exchange->mark[s] != exchange->stamp)
				list_component(exchange, dual->column[c].kept, made, s);
	}
}

static int by_kind(const void *left, const void *right)
{
	const struct change *a = left, *b = right;
	if (a->kind != b->kind)
		return a->kind < b->kind ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/* ---- kinds ---- */

static void exchange_make(struct exchange *exchange, const struct change *change)
{
	for (uint32_t i = 0; i < change->count; i++)
		exchange->search->state[exchange->part[change->first + i].storage] = exchange->part[change->first + i].to;
}

/* Plays one change of each kind. */
static void weigh_kinds(struct exchange *exchange)
{
	struct fit_search *search = exchange->search;
	for (uint32_t i = 0, end; i < exchange->changes && fit_goes_on(search); i = end) {
		for (end = i + 1; end < exchange->changes && exchange->change[end].kind == exchange->change[i].kind; end++)
			;
		memcpy(search->state, exchange->from, search->step->storages);
		exchange_make(exchange, &exchange->change[i + (end - i) / 2]);
		fit_try(search, search->state);
		if (!search->replay->valid)
			continue;
		struct sort kind = { .first = i,
			.count = end - i,
			.time = search->replay->extra - exchange->extra,
			.bytes = search->replay->peak - exchange->peak };
		kind.elsewhere = search->replay->peak > search->cap &&
			search->replay->profile[exchange->fullest] < search->replay->peak;
		if (kind.bytes <= 0)
			kind.bytes = search->replay->profile[exchange->fullest] - exchange->peak;
		kind.cost = (double)kind.time + exchange->slope * (double)kind.bytes;
		if ((kind.time != 0 || kind.bytes != 0) && kind.cost <= (double)exchange->gap)
			exchange->kind[exchange->kinds++] = kind;
	}
}

static int exchange_by_cost(const void *left, const void *right)
{
	const struct sort *a = left, *b = right;
	if (a->cost < b->cost || a->cost > b->cost)
		return a->cost < b->cost ? -1 : 1;
	return a->first < b->first ? -1 : a->first > b->first;
}

/* ---- sums ---- */

static int exchange_by_bytes(const void *left, const void *right)
{
	const struct sum *a = left, *b = right;
	if (a->bytes != b->bytes)
		return a->bytes < b->bytes ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return memcmp(a->kind, b->kind, sizeof a->kind);
}

static void exchange_add_sums(struct exchange *exchange)
{
	const struct sort *kind = exchange->kind;
	exchange->sums = 0;
	exchange->sum[exchange->sums++] = (struct sum){ 0, 0, { NONE, NONE } };
	for (uint32_t i = 0; i < exchange->kinds; i++) {
		exchange->sum[exchange->sums++] = (struct sum){ kind[i].time, kind[i].bytes, { i, NONE } };
		for (uint32_t k = i; k < exchange->kinds; k++)
			if ((k > i || kind[i].count > 1) && kind[i].cost + kind[k].cost <= (double)exchange->gap)
				exchange->sum[exchange->sums++] = (struct sum){ kind[i].time + kind[k].time,
					kind[i].bytes + kind[k].bytes, { i, k } };
	}
	qsort(exchange->sum, exchange->sums, sizeof *exchange->sum, exchange_by_bytes);
	for (uint32_t i = 0; i < exchange->sums; i++)
		exchange->fastest[i] = i > 0 && exchange->sum[exchange->fastest[i - 1]].time <= exchange->sum[i].time
			? exchange->fastest[i - 1]
			: i;
	exchange->search->control->ticks += exchange->sums;
}

static void keep_combination(struct exchange *exchange, struct combination combination)
{
	struct combination *best = exchange->best;
	uint32_t at = exchange->combinations;
	for (uint32_t k = 0; k < 2; k++)
		for (uint32_t i = 0; i < 2; i++)
			combination.hash += hash_mix(exchange->sum[combination.sum[k]].kind[i]);
	for (uint32_t i = 0; i < exchange->combinations; i++)
		if (best[i].hash == combination.hash)
			return;
	if (at == TRIES && best[at - 1].time <= combination.time)
		return;
	at -= at == TRIES;
	for (; at > 0 && best[at - 1].time > combination.time; at--)
		best[at] = best[at - 1];
	best[at] = combination;
	exchange->combinations += exchange->combinations < TRIES;
}

/* For every sum the fastest other one that fits beside it. */
static void exchange_combine(struct exchange *exchange)
{
	int64_t room = exchange->search->cap - exchange->peak;
	uint32_t others = exchange->sums;
	exchange->combinations = 0;
	for (uint32_t i = 0; i < exchange->sums; i++) {
		while (others > 0 && exchange->sum[others - 1].bytes + exchange->sum[i].bytes > room)
			others--;
		if (others == 0)
			break;
		uint32_t with = exchange->fastest[others - 1];
		int64_t time = exchange->sum[i].time + exchange->sum[with].time;
		if (time < 0)
			keep_combination(exchange, (struct combination){ time, { i, with }, 0 });
	}
}

/* ---- the search ---- */

/* A change of the kind that touches nothing that others of the combination do, which is marked; NULL: there is none. */
static const struct change *exchange_find_apart(struct exchange *exchange, uint32_t number)
{
	const struct sort *kind = &exchange->kind[number];
	for (uint32_t i = 0; i < kind->count; i++) {
		const struct change *change = &exchange->change[kind->first + i];
		bool touched = false;
		for (uint32_t k = 0; k < change->count; k++)
			touched |= exchange->mark[exchange->part[change->first + k].storage] == exchange->stamp;
		if (touched)
			continue;
		for (uint32_t k = 0; k < change->count; k++)
			exchange->mark[exchange->part[change->first + k].storage] = exchange->stamp;
		return change;
	}
	return NULL;
}

static bool apply_kind(struct exchange *exchange, uint32_t number)
{
	const struct change *change = exchange_find_apart(exchange, number);
	if (change)
		exchange_make(exchange, change);
	return change != NULL;
}

static void try_combination(struct exchange *exchange, const struct combination *combination)
{
	struct fit_search *search = exchange->search;
	bool fine = true;
	exchange->stamp++;
	memcpy(search->state, exchange->from, search->step->storages);
	for (uint32_t k = 0; k < 2; k++)
		for (uint32_t i = 0; i < 2; i++) {
			uint32_t kind = exchange->sum[combination->sum[k]].kind[i];
			fine = fine && (kind == NONE || apply_kind(exchange, kind));
		}
	if (fine)
		fit_try(search, search->state);
}

static bool stand_apart(void *context, const uint32_t *kind, uint32_t count)
{
	struct exchange *exchange = context;
	bool apart = true;
	exchange->stamp++;
	for (uint32_t i = 0; i < count && apart; i++)
		apart = exchange_find_apart(exchange, kind[i]) != NULL;
	return apart;
}

static void try_sum(struct exchange *exchange, const struct fit_sum *sum)
{
	struct fit_search *search = exchange->search;
	bool fine = true;
	exchange->stamp++;
	memcpy(search->state, exchange->from, search->step->storages);
	for (uint32_t i = 0; i < sum->count && fine; i++)
		fine = apply_kind(exchange, sum->item[i]);
	if (fine)
		fit_try(search, search->state);
}

/* Any number of changes: many small ones make room for a large one. */
static void try_sums(struct exchange *exchange)
{
	struct fit_search *search = exchange->search;
	int64_t room = search->cap - exchange->peak;
	uint32_t sums;
	for (uint32_t i = 0; i < exchange->kinds; i++) {
		const struct sort *kind = &exchange->kind[i];
		exchange->item[i] = (struct fit_item){ kind->time, kind->bytes, kind->cost, kind->elsewhere };
	}
	enum status status = fit_sums(exchange->item, exchange->kinds, room, exchange->slope * (double)room, stand_apart,
		exchange, &search->control->ticks, exchange->found, TRIES, &sums);
	search->status = status != OK ? status : search->status;
	for (uint32_t i = 0; i < sums && fit_goes_on(search) && search->extra > exchange->extra + exchange->found[i].time; i++)
		try_sum(exchange, &exchange->found[i]);
}

/* True where something faster was found. */
static bool exchange_once(struct exchange *exchange, const struct fit_dual *dual, const struct csr *made)
{
	struct fit_search *search = exchange->search;
	int64_t before = search->extra;
	memcpy(exchange->from, search->best, search->step->storages);
	if (!fit_play_counted(search, exchange->from))
		return false;
	exchange->extra = search->replay->extra;
	exchange->peak = search->replay->peak;
	exchange->fullest = search->replay->peak_position;
	exchange->parts = exchange->changes = exchange->kinds = 0;
	list_cuts(exchange, dual, made);
	list_near(exchange);
	qsort(exchange->change, exchange->changes, sizeof *exchange->change, by_kind);
	weigh_kinds(exchange);
	qsort(exchange->kind, exchange->kinds, sizeof *exchange->kind, exchange_by_cost);
	exchange->kinds = exchange->kinds < COMBINED ? exchange->kinds : COMBINED;
	exchange_add_sums(exchange);
	exchange_combine(exchange);
	for (uint32_t i = 0;
		i < exchange->combinations && fit_goes_on(search) && search->extra > exchange->extra + exchange->best[i].time;
		i++)
		try_combination(exchange, &exchange->best[i]);
	if (search->extra == before)
		try_sums(exchange);
	return search->extra < before;
}

void fit_exchange(struct fit_search *search, const struct fit_dual *dual, int64_t bound, double slope)
{
	const struct fit_step *step = search->step;
	struct exchange exchange = { .search = search, .slope = slope, .part_room = 8 * INSTANCES };
	struct arena *arena = &exchange.arena;
	struct csr made = { 0 };
	exchange.from = arena_alloc(arena, step->storages, sizeof *exchange.from);
	exchange.part = arena_alloc(arena, exchange.part_room, sizeof *exchange.part);
	exchange.change = arena_alloc(arena, INSTANCES, sizeof *exchange.change);
	exchange.kind = arena_alloc(arena, INSTANCES, sizeof *exchange.kind);
	exchange.sum = arena_alloc(arena, COMBINED * (COMBINED + 3) / 2 + 1, sizeof *exchange.sum);
	exchange.fastest = arena_alloc(arena, COMBINED * (COMBINED + 3) / 2 + 1, sizeof *exchange.fastest);
	exchange.item = arena_alloc(arena, COMBINED, sizeof *exchange.item);
	exchange.found = arena_alloc(arena, TRIES, sizeof *exchange.found);
	exchange.mark = arena_alloc(arena, step->storages, sizeof *exchange.mark);
	exchange.stack = arena_alloc(arena, step->storages, sizeof *exchange.stack);
	bool fine = exchange.from && exchange.part && exchange.change && exchange.kind && exchange.sum &&
		exchange.fastest && exchange.item && exchange.found && exchange.mark && exchange.stack &&
		find_made(&exchange, &made);
	search->status = fine ? search->status : NO_MEMORY;
	for (int round = 0; round < ROUNDS && fine && search->extra < INT64_MAX && fit_goes_on(search); round++) {
		exchange.gap = search->extra - bound;
		if (exchange.gap <= 0 || !exchange_once(&exchange, dual, &made))
			break;
	}
	arena_free(arena);
}
