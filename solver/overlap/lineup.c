/* lineup.c: see play.h. When an op moves, those that it passes move by one place, and their live bytes change by what
 * it touches alone. */

#include "play.h"

/* ---- which ops ---- */

static bool is_light(const struct overlap_request *request, uint32_t op)
{
	const struct problem *problem = request->problem;
	const struct step_costs *costs = request->costs;
	bool light = costs->time[op] == 0 && csr_length(&problem->products, op) == 0 && problem->workspace[op] == 0 &&
		csr_length(&problem->pred, op) <= 1;
	FOR(a, costs->axes)
		light &= costs->inside[(size_t)op * costs->axes + a] == 0;
	return light;
}

static enum status number_ops(const struct overlap_request *request, struct lineup *line)
{
	const struct problem *problem = line->problem;
	NEED(ROOMS(&line->arena, problem->ops, line->op, line->at));
	FOR(p, problem->ops) {
		uint32_t op = problem->program[p], pred = problem->pred.start[op];
		if (!is_light(request, op)) {
			line->at[op] = line->count;
			line->op[line->count++] = op;
		} else {
			line->at[op] = csr_length(&problem->pred, op) > 0 ? line->at[problem->pred.item[pred]] : NONE;
		}
	}
	return OK;
}

static enum status find_arcs(struct lineup *line, struct arena *scratch)
{
	const struct problem *problem = line->problem;
	uint32_t pairs = 0, most = problem->pred.start[problem->ops], *MAKE_IN(scratch, row, most),
			 *MAKE_IN(scratch, item, most);
	NEED(row && item);
	FOR(i, line->count)
		FOR_ITEMS(before, &problem->pred, line->op[i]) {
			uint32_t other = line->at[before];
			if (other == NONE)
				continue;
			row[pairs] = i;
			item[pairs++] = other;
		}
	TRY(csr_of_pairs(&line->arena, line->count, pairs, row, item, &line->pred));
	csr_unique(&line->pred, line->count);
	return csr_transpose(&line->arena, &line->pred, line->count, line->count, &line->succ);
}

static enum status lineup_find_uses(struct lineup *line, struct arena *scratch)
{
	const struct problem *problem = line->problem;
	uint32_t pairs = 0, most = problem->users.start[problem->items], *MAKE_IN(scratch, row, most),
			 *MAKE_IN(scratch, item, most);
	NEED(row && item);
	FOR(s, problem->items) {
		uint32_t maker = problem->producer[s] == NONE ? NONE : line->at[problem->producer[s]];
		FOR_ITEMS(each, &problem->users, s) {
			uint32_t user = line->at[each];
			if (user == NONE || user == maker)
				continue;
			row[pairs] = s;
			item[pairs++] = user;
		}
	}
	TRY(csr_of_pairs(&line->arena, problem->items, pairs, row, item, &line->users));
	csr_unique(&line->users, problem->items);
	return csr_transpose(&line->arena, &line->users, problem->items, line->count, &line->uses);
}

static void find_bytes(struct lineup *line)
{
	const struct problem *problem = line->problem;
	FOR(i, line->count) {
		line->adds[i] = problem->workspace[line->op[i]];
		FOR_ITEMS(item, &problem->products, line->op[i]) {
			line->adds[i] += problem->size[item];
			line->stays[i] += problem->live_out[item] || csr_length(&line->users, item) > 0 ? problem->size[item] : 0;
		}
	}
}

enum status lineup_new(const struct overlap_request *request, struct lineup *line)
{
	OWN(arena) scratch = { 0 };
	*line = (struct lineup) { .problem = request->problem, .low = 1 };
	TRY(number_ops(request, line));
	TRY(find_arcs(line, &scratch));
	TRY(lineup_find_uses(line, &scratch));
	NEED(ROOMS(&line->arena, line->count, line->order, line->place, line->old_order) && ROOMS(&line->arena,
		line->count + (size_t)2, line->stays, line->adds, line->before, line->old_before, line->relief));
	find_bytes(line);
	return OK;
}

void lineup_free(struct lineup *line)
{
	arena_free(&line->arena);
}

/* ---- orders ---- */

/* The last place of an op but `but` that needs the item; -1: there is none. */
static int64_t last_use(const struct lineup *line, uint32_t item, uint32_t but)
{
	int64_t last = -1;
	FOR_ITEMS(user, &line->users, item)
		last = user != but && (int64_t)line->place[user] > last ? (int64_t)line->place[user] : last;
	return last;
}

void lineup_place(struct lineup *line, const uint32_t *order)
{
	uint32_t places = 0;
	FOR(p, line->problem->ops) {
		uint32_t at = line->at[order[p]];
		if (at == NONE || line->op[at] != order[p])
			continue;
		line->place[at] = places;
		line->order[places++] = at;
	}
}

void lineup_set(struct lineup *line, const uint32_t *order)
{
	const struct problem *problem = line->problem;
	lineup_place(line, order);
	line->before[0] = problem->base;
	CLEAR(line->relief, (line->count + (size_t)2));
	FOR(item, problem->items) {
		bool used = csr_length(&line->users, item) > 0;
		line->before[0] += problem->producer[item] == NONE && (used || problem->live_out[item]) ? problem->size[item] : 0;
		if (used && !problem->live_out[item])
			line->relief[last_use(line, item, NONE)] += problem->size[item];
	}
	FOR(p, line->count)
		line->before[p + 1] = line->before[p] + line->stays[line->order[p]] - line->relief[p];
	line->low = 1;
	line->high = 0;
}

/* Views behind what they hang on, as soon as all they need is there. */
void lineup_write(const struct lineup *line, uint32_t *order)
{
	const struct problem *problem = line->problem;
	uint32_t count = 0, next = 0;
	FOR(p, problem->ops) {
		uint32_t op = problem->program[p];
		if (line->at[op] == NONE)
			order[count++] = op;
	}
	next = count;
	FOR(p, line->count)
		for (order[count++] = line->op[line->order[p]]; next < count; next++)
			FOR_ITEMS(view, &problem->succ, order[next])
				if (line->at[view] == line->order[p] && line->op[line->order[p]] != view)
					order[count++] = view;
}

void lineup_keep(struct lineup *line, uint32_t low, uint32_t high)
{
	line->low = low;
	line->high = high;
	COPY(line->old_order + low, line->order + low, high - low + (size_t)1);
	COPY(line->old_before + low, line->before + low, high - low + (size_t)1);
}

void lineup_undo(struct lineup *line)
{
	for (uint32_t p = line->low; p <= line->high; p++) {
		line->order[p] = line->old_order[p];
		line->before[p] = line->old_before[p];
		line->place[line->order[p]] = p;
	}
}

/* relief[k - low]: bytes of what op touches that nobody but it needs at the place k any more, of places low .. high.
 * Returns the same at high + 1. */
static int64_t lineup_find_relief(struct lineup *line, uint32_t op, uint32_t low, uint32_t high)
{
	const struct problem *problem = line->problem;
	CLEAR(line->relief, high - low + (size_t)2);
	FOR_ITEMS(item, &line->uses, op) {
		int64_t last = problem->live_out[item] ? (int64_t)high + 1 : last_use(line, item, op);
		if (last <= (int64_t)high)
			line->relief[last < (int64_t)low ? 0 : last + 1 - (int64_t)low] += problem->size[item];
	}
	for (uint32_t j = 1; j <= high - low + 1; j++)
		line->relief[j] += line->relief[j - 1];
	return line->relief[high - low + 1];
}

void lineup_move(struct lineup *line, uint32_t from, uint32_t to)
{
	uint32_t op = line->order[from], low = SMALLER(from, to), high = LARGER(to, from);
	int64_t stays = line->stays[op], freed = lineup_find_relief(line, op, low, high), first = line->before[to];
	if (from < to) {
		first = line->before[to + 1] - stays + freed;
		FOR_FROM(p, from, to) {
			line->before[p] = line->before[p + 1] - stays + line->relief[p + 1 - low];
			line->order[p] = line->order[p + 1];
			line->place[line->order[p]] = p;
		}
	} else {
		for (uint32_t p = from; p > to; p--) {
			line->before[p] = line->before[p - 1] + stays - line->relief[p - 1 - low];
			line->order[p] = line->order[p - 1];
			line->place[line->order[p]] = p;
		}
	}
	line->before[to] = first;
	line->order[to] = op;
	line->place[op] = to;
}

int64_t lineup_peak(const struct lineup *line)
{
	int64_t peak = 0;
	for (uint32_t p = line->low; p <= line->high; p++)
		peak = larger_of(peak, line->before[p] + line->adds[line->order[p]]);
	return peak;
}
