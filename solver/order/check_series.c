/* check_series.c: verifies, without the solver, that no order of a series-parallel step stays below a bound.
 *
 * A part of the step lies between two ops that everything else passes by. Its profiles are what can be live along an
 * order of it: points between ops (even) and while one runs (odd), and whether the part still waits to read what the
 * op before it made for several parts. Points between their neighbours are left out, and profiles that another one
 * undercuts at its own pace: whatever runs beside them could do with the other one. */
#include "order.h"

struct point {
	int64_t bytes;
	bool waits;
};

struct profile {
	struct point *at;
	uint32_t points;
	struct profile *next;
};

struct part {
	uint32_t from, to;
	bool whole;                    /* no part of another one yet */
	struct profile *profiles;
};

struct series_check {
	const struct problem *problem;
	int64_t most;                  /* bytes without base */
	int64_t *common;               /* op -> bytes that several parts read; the last one: the start */
	struct part *part;
	uint32_t parts;
	struct arena arena;
};

static bool check_series_under(struct point a, struct point b)
{
	return a.bytes <= b.bytes && a.waits <= b.waits;
}

static bool check_series_between(struct point low, struct point at, struct point high)
{
	return check_series_under(low, at) && check_series_under(at, high);
}

/* Leaves out pairs of points between the two around them. */
static void check_series_tidy(struct profile *profile)
{
	struct point *at = profile->at;
	for (uint32_t i = 0; i + 3 < profile->points;) {
		const struct point *a = &at[i], *d = &at[i + 3];
		bool up = check_series_between(*a, at[i + 1], *d) && check_series_between(*a, at[i + 2], *d);
		bool down = check_series_between(*d, at[i + 1], *a) && check_series_between(*d, at[i + 2], *a);
		if (up || down) {
			memmove(&at[i + 1], d, (profile->points - i - 3) * sizeof *d);
			profile->points -= 2;
			i = i > 3 ? i - 3 : 0;
		} else {
			i++;
		}
	}
}

/* Whether one profile can be followed under another, from both starts to both ends. */
static enum status check_series_undercuts(const struct profile *low, const struct profile *high, bool *does)
{
	HELD bool *MAKE(reached, (size_t)low->points * high->points);
	NEED(reached);
	FOR(i, low->points)
		FOR(j, high->points) {
			const bool *here = &reached[(size_t)i * high->points + j], *above = here - high->points;
			bool way = i + j == 0 || (i && *above) || (j && here[-1]) || (i && j && above[-1]);
			reached[(size_t)i * high->points + j] = way && check_series_under(low->at[i], high->at[j]);
		}
	*does = reached[(size_t)low->points * high->points - 1];
	return OK;
}

static enum status check_series_collect(struct profile **list, struct profile *profile)
{
	bool does = false;
	check_series_tidy(profile);
	for (struct profile **at = list; *at;) {
		TRY(check_series_undercuts(*at, profile, &does));
		if (does)
			return OK;
		TRY(check_series_undercuts(profile, *at, &does));
		if (does)
			*at = (*at)->next;
		else
			at = &(*at)->next;
	}
	profile->next = *list;
	*list = profile;
	return OK;
}

/* A profile that begins as another one does (NULL: with nothing). */
static struct profile *check_series_new(struct arena *arena, const struct profile *begin, uint32_t more)
{
	struct profile *profile = arena_alloc(arena, 1, sizeof *profile);
	if (!profile || !ROOM(arena, profile->at, more + (begin ? begin->points : 0)))
		return NULL;
	if (begin)
		COPY(profile->at, begin->at, begin->points);
	profile->points = begin ? begin->points : 0;
	return profile;
}

static void check_series_point(struct profile *profile, int64_t bytes, bool waits)
{
	profile->at[profile->points++] = (struct point){ bytes, waits };
}

/* All ways to run two parts' profiles beside each other, op by op. */
static enum status check_series_beside(struct series_check *check, const struct profile *x, const struct profile *y,
	int64_t common, struct profile **list)
{
	OWN(arena) arena = { 0 };
	uint32_t columns = y->points / 2 + 1, cells = (x->points / 2 + 1) * columns;
	struct profile **cell, *begin = check_series_new(&arena, NULL, 1);
	NEED(begin && ROOM(&arena, cell, cells));
	check_series_point(begin, x->at[0].bytes + y->at[0].bytes, x->at[0].waits || y->at[0].waits);
	cell[0] = begin;
	FOR(c, cells) {
		uint32_t i = c / columns * 2, j = c % columns * 2;
		for (const struct profile *way = cell[c]; way; way = way->next)
			for (int x_runs = 0; x_runs < 2; x_runs++) {
				const struct point *at = x_runs ? &x->at[i] : &y->at[j], rest = x_runs ? y->at[j] : x->at[i];
				if (x_runs ? i + 1 == x->points : j + 1 == y->points)
					continue;
				bool waits = at[0].waits || rest.waits;
				if (at[1].bytes + rest.bytes + (waits ? common : 0) > check->most)
					continue;
				struct profile *next = check_series_new(&arena, way, 2);
				NEED(next);
				check_series_point(next, at[1].bytes + rest.bytes, waits);
				check_series_point(next, at[2].bytes + rest.bytes, at[2].waits || rest.waits);
				TRY(check_series_collect(&cell[x_runs ? c + columns : c + 1], next));
			}
	}
	for (const struct profile *way = cell[cells - 1]; way; way = way->next) {
		struct profile *kept = check_series_new(&check->arena, way, 0);
		NEED(kept);
		TRY(check_series_collect(list, kept));
	}
	return OK;
}

/* A profile of the part before an op, the op, and one of the part behind it. */
static enum status check_series_row(struct series_check *check, const struct part *part, const struct profile *x,
	const struct profile *y, struct profile **list)
{
	const struct problem *problem = check->problem;
	struct profile *row = check_series_new(&check->arena, x, y->points + 1);
	struct point last = x->at[x->points - 1];
	int64_t bytes = last.bytes + problem->workspace[part->to];
	NEED(row);
	FOR_ITEMS(product, &problem->products, part->to)
		bytes += problem->size[product];
	if (bytes + (last.waits ? check->common[part->from] : 0) > check->most)
		return OK;
	check_series_point(row, bytes, last.waits);
	FOR(i, y->points) {
		bytes = y->at[i].bytes + (y->at[i].waits ? check->common[part->to] : 0);
		if (bytes > check->most)
			return OK;
		check_series_point(row, bytes, false);
	}
	return check_series_collect(list, row);
}

/* Adds a part: beside the one that there is between the same ops. */
static enum status check_series_add(struct series_check *check, struct part part)
{
	FOR(i, check->parts) {
		struct part *other = &check->part[i];
		if (!other->whole || other->from != part.from || other->to != part.to)
			continue;
		struct profile *merged = NULL;
		for (const struct profile *x = other->profiles; x; x = x->next)
			for (const struct profile *y = part.profiles; y; y = y->next)
				TRY(check_series_beside(check, x, y, check->common[part.from], &merged));
		other->profiles = merged;
		return OK;
	}
	check->part[check->parts++] = part;
	return OK;
}

/* Joins the two parts at an op that has one on each side. */
static enum status check_series_at(struct series_check *check, uint32_t op, bool *joined)
{
	struct part *into = NULL, *out = NULL;
	uint32_t ends = 0;
	FOR(i, check->parts) {
		struct part *part = &check->part[i];
		if (!part->whole || (part->from != op && part->to != op))
			continue;
		ends++;
		*(part->to == op ? &into : &out) = part;
	}
	if (ends != 2 || !into || !out)
		return OK;
	struct part whole = { into->from, out->to, true, NULL };
	for (const struct profile *x = into->profiles; x; x = x->next)
		for (const struct profile *y = out->profiles; y; y = y->next)
			TRY(check_series_row(check, into, x, y, &whole.profiles));
	into->whole = out->whole = false;
	*joined = true;
	return check_series_add(check, whole);
}

static bool check_series_has(const struct csr *rows, uint32_t row, uint32_t item)
{
	FOR_ITEMS(each, rows, row)
		if (each == item)
			return true;
	return false;
}

/* The part without ops between op and one that waits for it, or the end: what only that one reads. BAD_INPUT: what
 * several read hasn't the same readers, which is more than this can judge. */
static enum status check_series_direct(struct series_check *check, uint32_t op, uint32_t to)
{
	const struct problem *problem = check->problem;
	struct profile *profile = check_series_new(&check->arena, NULL, 1);
	struct point point = { 0 };
	uint32_t first = NONE;
	NEED(profile);
	check->common[op] = 0;
	for (uint32_t i = 0; op < problem->ops && i < csr_length(&problem->products, op); i++) {
		uint32_t item = problem->products.item[problem->products.start[op] + i];
		bool reads = to < problem->ops ? check_series_has(&problem->users, item, to) : problem->live_out[item];
		bool alone = csr_length(&problem->users, item) + problem->live_out[item] < 2;
		if (alone) {
			point.bytes += reads ? problem->size[item] : 0;
			continue;
		}
		check->common[op] += problem->size[item];
		if (first != NONE && reads != point.waits)
			return BAD_INPUT;
		first = item;
		point.waits = reads;
	}
	check_series_point(profile, point.bytes, point.waits);
	return check_series_add(check, (struct part){ op, to, true, profile });
}

static enum status check_series_parts(struct series_check *check)
{
	const struct problem *problem = check->problem;
	uint32_t start = problem->ops, end = problem->ops + 1;
	FOR(item, problem->items)
		if (problem->producer[item] == NONE)
			return BAD_INPUT;
	FOR(op, problem->ops) {
		bool stays = csr_length(&problem->succ, op) == 0;
		FOR_ITEMS(product, &problem->products, op)
			stays |= problem->live_out[product];
		if (csr_length(&problem->pred, op) == 0)
			TRY(check_series_direct(check, start, op));
		FOR_ITEMS(after, &problem->succ, op)
			TRY(check_series_direct(check, op, after));
		if (stays)
			TRY(check_series_direct(check, op, end));
	}
	for (bool joined = true; joined;) {
		joined = false;
		FOR(op, problem->ops)
			TRY(check_series_at(check, op, &joined));
	}
	return OK;
}

enum status order_check_series(const struct problem *problem, int64_t bound, struct error *error)
{
	struct series_check check = { .problem = problem, .most = bound - 1 - problem->base };
	size_t parts = problem->succ.start[problem->ops] + 3 * (size_t)problem->ops + 1;
	enum status status = NO_MEMORY;
	if (ROOM(&check.arena, check.common, problem->ops + 1) && ROOM(&check.arena, check.part, parts))
		status = check_series_parts(&check);
	uint32_t left = 0;
	bool within = false;
	FOR(i, check.parts) {
		left += check.part[i].whole;
		within |= check.part[i].whole && check.part[i].profiles;
	}
	arena_free(&check.arena);
	if (status == NO_MEMORY)
		return fail_memory(error);
	if (status != OK || left > 1)
		return refuse(error, "the step isn't series-parallel");
	return within ? refuse(error, "an order takes less than that") : OK;
}
