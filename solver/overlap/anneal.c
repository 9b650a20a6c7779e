/* anneal.c: see play.h. Changes bring an op to where computation waits, or a collective elsewhere, with what they
 * need or what needs them; a few move any op to any place. */
#include <math.h>

#include "play.h"

#define COOLING 300.0      /* the last temperature is so much lower than the first */
#define TAKEN_MOST 12      /* ops that move at once */
#define FILLS 4            /* of 8 changes: something computed goes to where computation waits */
#define SENDS 3            /* a collective goes elsewhere; the rest is any op */
#define WAYS_LOG 10        /* moves go over 2, 4 .. 1024 places at most */

struct annealing {
	struct lineup *line;
	struct play *play;
	int64_t limit, now;        /* bytes; picoseconds of the order as it stands */
	uint64_t random;
	uint32_t *wait, waits;     /* [ops] those that computation waits before */
	uint32_t *sent, sends;     /* [ops] collectives */
	bool *taken;               /* [ops] scratch */
	int64_t fastest;           /* picoseconds, and */
	uint32_t *best;            /* [ops] in which order */
};

/* Ops that computation waits before, as of the order as it stands. */
static void find_waits(struct annealing *annealing)
{
	annealing->waits = 0;
	FOR(i, annealing->line->count)
		if (annealing->play->computes[i] && annealing->play->gap[i] > 0)
			annealing->wait[annealing->waits++] = i;
}

static bool has_taken(const struct annealing *annealing, const struct csr *arcs, uint32_t op)
{
	bool found = false;
	FOR_ITEMS(arc, arcs, op)
		found |= annealing->taken[arc];
	return found;
}

/* Takes the op at `from` to `to`, before what is there if that is ahead, else behind it, and with it what of the
 * ops between has to come along. False, and nothing changes, where what is there would have to. */
static bool take_along(struct annealing *annealing, uint32_t from, uint32_t to)
{
	struct lineup *line = annealing->line;
	bool ahead = to < from, fits = true;
	const struct csr *arcs = ahead ? &line->succ : &line->pred;
	uint32_t list[TAKEN_MOST], count = 1;
	list[0] = line->order[from];
	annealing->taken[list[0]] = true;
	for (uint32_t p = from; p != to && fits;) {
		p += ahead ? -1u : 1u;
		uint32_t op = line->order[p];
		if (!has_taken(annealing, arcs, op))
			continue;
		fits = p != to && count < TAKEN_MOST;
		if (fits) {
			annealing->taken[op] = true;
			list[count++] = op;
		}
	}
	FOR(i, count)
		annealing->taken[list[i]] = false;
	if (!fits)
		return false;
	lineup_keep(line, ahead ? to : from, ahead ? from : to);
	FOR_DOWN(i, count)   /* the last one found stands nearest */
		lineup_move(line, line->place[list[i]], ahead ? to + (count - 1 - i) : to - (count - 1 - i));
	return true;
}

static uint32_t some_way(struct annealing *annealing)
{
	return 1 + random_below(&annealing->random, 2u << random_below(&annealing->random, WAYS_LOG));
}

/* Something computed goes to where computation waits. */
static bool fill_wait(struct annealing *annealing)
{
	const struct lineup *line = annealing->line;
	uint32_t place = line->place[annealing->wait[random_below(&annealing->random, annealing->waits)]],
			 by = some_way(annealing);
	if (random_next(&annealing->random) & 1)
		return place + by < line->count && annealing->play->computes[line->order[place + by]] &&
			take_along(annealing, place + by, place);
	return place >= by + 1 && annealing->play->computes[line->order[place - by - 1]] &&
		take_along(annealing, place - by - 1, place - 1);
}

/* A collective goes ahead with what it needs, or back with what needs it. */
static bool move_collective(struct annealing *annealing)
{
	const struct lineup *line = annealing->line;
	uint32_t from = line->place[annealing->sent[random_below(&annealing->random, annealing->sends)]],
			 by = some_way(annealing);
	if (random_next(&annealing->random) & 1)
		return from + by < line->count && take_along(annealing, from, from + by);
	return from >= by && take_along(annealing, from, from - by);
}

/* Any op goes elsewhere. */
static bool move_any(struct annealing *annealing)
{
	struct lineup *line = annealing->line;
	uint32_t from = random_below(&annealing->random, line->count), op = line->order[from], low = 0, high = line->count - 1;
	uint32_t way = 2u << random_below(&annealing->random, WAYS_LOG);
	FOR_ITEMS(before, &line->pred, op)
		low = LARGER(line->place[before] + 1, low);
	FOR_ITEMS(after, &line->succ, op)
		high = SMALLER(line->place[after] - 1, high);
	low = from > way && from - way > low ? from - way : low;
	high = SMALLER(from + way, high);
	uint32_t to = low + random_below(&annealing->random, high - low + 1);
	if (to == from)
		return false;
	lineup_keep(line, SMALLER(from, to), LARGER(to, from));
	lineup_move(line, from, to);
	return true;
}

/* One change, kept or not. */
static void overlap_anneal_change(struct annealing *annealing, double temperature)
{
	uint32_t kind = random_below(&annealing->random, 8);
	if (!(kind < FILLS && annealing->waits > 0 ? fill_wait(annealing)
		: kind < FILLS + SENDS && annealing->sends > 0 ? move_collective(annealing)
		: move_any(annealing)))
		return;
	double allowed = -temperature * log(1 - random_part(&annealing->random));
	int64_t most = annealing->now + (int64_t)allowed,
			time = lineup_peak(annealing->line) > annealing->limit ? INT64_MAX : play_step(annealing->play, most);
	if (time > most) {
		lineup_undo(annealing->line);
		return;
	}
	if (time != annealing->now)
		find_waits(annealing);
	annealing->now = time;
}

static enum status overlap_anneal_prepare(struct annealing *annealing, struct arena *arena)
{
	const struct lineup *line = annealing->line;
	NEED(ROOMS(arena, line->count, annealing->wait, annealing->sent, annealing->taken, annealing->best));
	FOR(i, line->count)
		if (annealing->play->sends[i])
			annealing->sent[annealing->sends++] = i;
	annealing->fastest = annealing->now = play_step(annealing->play, INT64_MAX);
	COPY(annealing->best, line->order, line->count);
	find_waits(annealing);
	return OK;
}

static void overlap_anneal_cool(struct annealing *annealing, const struct anneal_effort *effort)
{
	const struct lineup *line = annealing->line;
	for (uint64_t i = 0; i < effort->plays && annealing->fastest > effort->bound; i++) {
		if (control_spend(effort->control, annealing->play->nodes))
			return;
		overlap_anneal_change(annealing, (double)effort->hot * pow(COOLING, -(double)i / (double)effort->plays));
		if (annealing->now >= annealing->fastest)
			continue;
		annealing->fastest = annealing->now;
		COPY(annealing->best, line->order, line->count);
	}
}

enum status overlap_anneal(struct lineup *line, struct play *play, const struct anneal_effort *effort, uint32_t *order)
{
	OWN(arena) arena = { 0 };
	struct annealing annealing = { .line = line, .play = play, .limit = effort->limit, .random = line->count };
	lineup_set(line, order);
	TRY(overlap_anneal_prepare(&annealing, &arena));
	int64_t first = annealing.fastest;
	if (line->count > 1)
		overlap_anneal_cool(&annealing, effort);
	if (annealing.fastest == first)
		return OK;
	COPY(line->order, annealing.best, line->count);
	lineup_write(line, order);
	return OK;
}
