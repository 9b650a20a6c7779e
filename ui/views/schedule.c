/* schedule.c: evaluating an order step by step. */
#include "order_rows.h"

/* ---- lanes: first fit, largest items first ---- */

/* A segment tree over positions; each node holds the lanes taken in all of its range, and those taken anywhere in it.
 */
struct taken {
	uint64_t *whole, *some;
	uint32_t size; /* a power of two >= positions */
};

/* Lanes taken somewhere in [from, to]; with mark != 0 these are taken there afterwards. Nodes are visited from an
 * explicit stack: two per level at most. */
static uint64_t schedule_visit(struct taken *taken, uint32_t from, uint32_t to, uint64_t mark)
{
	struct { uint32_t node, low, high; } stack[80];
	uint64_t found = 0;
	int depth = 0;
	stack[depth].node = 1;
	stack[depth].low = 0;
	stack[depth++].high = taken->size - 1;
	while (depth > 0) {
		depth--;
		uint32_t node = stack[depth].node, low = stack[depth].low, high = stack[depth].high, middle = low + (high - low) / 2;
		if (to < low || high < from)
			continue;
		taken->some[node] |= mark;
		if (from <= low && high <= to) {
			found |= taken->some[node];
			taken->whole[node] |= mark;
			continue;
		}
		found |= taken->whole[node];
		stack[depth].node = 2 * node;
		stack[depth].low = low;
		stack[depth++].high = middle;
		stack[depth].node = 2 * node + 1;
		stack[depth].low = middle + 1;
		stack[depth++].high = high;
	}
	return found;
}

struct sized { int64_t bytes; uint32_t item; };

COMPARATOR(schedule_largest_first, struct sized, COMPARE(b->bytes, a->bytes, COMPARE(a->item, b->item, 0)))

static enum status assign_lanes(struct order_schedule *schedule)
{
	const struct problem *problem = schedule->problem;
	OWN(arena) scratch = { 0 };
	struct taken taken = { .size = 1 };
	while (taken.size < problem->ops)
		taken.size *= 2;
	struct sized *list = NULL;
	bool enough = ROOMS(&scratch, 2 * (size_t)taken.size, taken.whole, taken.some) &&
		ROOM(&scratch, list, problem->items);
	schedule->lanes = 0;
	for (uint32_t i = 0; enough && i < problem->items; i++)
		list[i] = (struct sized){ problem->size[i], i };
	if (enough)
		qsort(list, problem->items, sizeof *list, schedule_largest_first);
	for (uint32_t i = 0; enough && i < problem->items; i++) {
		uint32_t item = list[i].item;
		schedule->lane[item] = LANES;
		if (schedule->first[item] == NONE)
			continue;
		uint64_t used = schedule_visit(&taken, schedule->first[item], schedule->last[item], 0);
		if (~used == 0)
			continue;
		schedule->lane[item] = (uint8_t)__builtin_ctzll(~used);
		if (schedule->lane[item] >= schedule->lanes)
			schedule->lanes = schedule->lane[item] + 1;
		schedule_visit(&taken, schedule->first[item], schedule->last[item], UINT64_C(1) << schedule->lane[item]);
	}
	return enough ? OK : NO_MEMORY;
}

/* ---- the order ---- */

static enum status schedule_evaluate(struct order_schedule *schedule)
{
	const struct problem *problem = schedule->problem;
	FOR(i, problem->ops)
		schedule->position[schedule->order[i]] = i;
	schedule->peak = problem_peak(problem, schedule->order, schedule->live, &schedule->peak_position);
	if (schedule->peak < 0)
		return NO_MEMORY;
	TRY(problem_lifetimes(problem, schedule->order, schedule->first, schedule->last));
	return assign_lanes(schedule);
}

enum status schedule_of(const struct problem *problem, const uint32_t *order, struct order_schedule *schedule)
{
	*schedule = (struct order_schedule){ .problem = problem };
	struct arena *arena = &schedule->arena;
	bool enough = ROOMS(arena, problem->ops, schedule->order, schedule->position, schedule->live) &&
		ROOMS(arena, problem->items, schedule->first, schedule->last, schedule->lane);
	if (enough) {
		COPY(schedule->order, order, problem->ops);
		enough = schedule_evaluate(schedule) == OK;
	}
	if (!enough)
		schedule_free(schedule);
	return enough ? OK : NO_MEMORY;
}

enum status schedule_new(const struct plan *plan, struct order_schedule *schedule)
{
	return schedule_of(&plan->ordered->problem, plan->ordered->result.order, schedule);
}

void schedule_free(struct order_schedule *schedule)
{
	arena_free(&schedule->arena);
	*schedule = (struct order_schedule){ 0 };
}

static void exchange(struct order_schedule *schedule, uint32_t position)
{
	uint32_t op = schedule->order[position];
	schedule->order[position] = schedule->order[position + 1];
	schedule->order[position + 1] = op;
}

static enum status swap(struct order_schedule *schedule, uint32_t position)
{
	const struct problem *problem = schedule->problem;
	if (position + 1 >= problem->ops)
		return BAD_INPUT;
	FOR_ITEMS(before, &problem->pred, schedule->order[position + 1])
		if (before == schedule->order[position])
			return BAD_INPUT;
	exchange(schedule, position);
	enum status status = schedule_evaluate(schedule);
	if (status == OK)
		schedule->moves++;
	else
		exchange(schedule, position);
	return status;
}

/* ---- a move in words ---- */

struct life { uint32_t first, last; };

static bool lives(struct life life, uint32_t position)
{
	return life.first <= position && position <= life.last;
}

/* The largest item that lives while an op runs in one order and not in the other; NONE. there: lifetimes and place of
 * the op where it lives. */
static uint32_t largest_gained(const struct problem *problem, const struct life *there, uint32_t at,
	const struct life *elsewhere, uint32_t other_place)
{
	uint32_t largest = NONE;
	FOR(i, problem->items)
		if (lives(there[i], at) && !lives(elsewhere[i], other_place) &&
			(largest == NONE || problem->size[i] > problem->size[largest]))
			largest = i;
	return largest;
}

static void copy_lives(const struct order_schedule *schedule, struct life *life)
{
	FOR(i, schedule->problem->items)
		life[i] = (struct life){ schedule->first[i], schedule->last[i] };
}

/* "peak 93.0 -> 137 MiB: left.out is now alive while right runs" */
static void tell_move(const struct order_schedule *schedule, const struct plan *plan, const struct life *before,
	const struct life *after, uint32_t position, const struct order_schedule *was, char *text, size_t size)
{
	const struct graph *graph = plan->graph;
	const struct problem *problem = schedule->problem;
	uint32_t early = schedule->order[position], late = schedule->order[position + 1];
	const char *from = BYTES(was->peak), *to = BYTES(schedule->peak);
	if (schedule->peak == was->peak) {
		snprintf(text, size, "the peak stays %s: %s runs with %s alive, then %s with %s", to, graph->op[early].name,
			BYTES(schedule->live[position]), graph->op[late].name,
			BYTES(schedule->live[position + 1]));
		return;
	}
	/* The swapped ops' places are exchanged, all others' are the same. */
	bool rose = schedule->peak > was->peak;
	uint32_t at = rose ? schedule->peak_position : was->peak_position,
			 other = at == position ? position + 1
			: at == position + 1 ? position
			: at;
	uint32_t op = rose ? schedule->order[at] : schedule->order[other];
	uint32_t item = rose ? largest_gained(problem, after, at, before, other)
		: largest_gained(problem, before, at, after, other);
	char change[120];
	int64_t difference = schedule->peak - was->peak;
	if (!text_is(from, to))
		PRINT_TO(change, "peak %s -> %s", from, to);
	else
		PRINT_TO(change, "the peak %s by %s, rounded it stays %s", rose ? "rises" : "falls",
			BYTES(rose ? difference : -difference), to);
	if (item == NONE)
		snprintf(text, size, "%s, at %s", change, graph->op[op].name);
	else
		snprintf(text, size, "%s: %s is %s alive while %s runs", change,
			graph->tensor[graph->storage[problem->storage[item]].root].name, rose ? "now" : "no longer",
			graph->op[op].name);
}

/* Why two ops that follow each other can't change places: "relu reads conv.out, which conv makes". Where they share no
 * such tensor, it is a write in place, a declared dependency or a constraint. */
static void tell_dependency(const struct graph *graph, uint32_t early, uint32_t late, char *text, size_t size)
{
	FOR_ITEMS(read, &graph->reads, late)
		if (graph->tensor[read].writer == early) {
			snprintf(text, size, "%s reads %s, which %s makes", graph->op[late].name,
				graph->tensor[read].name, graph->op[early].name);
			return;
		}
	snprintf(text, size, "%s has to run behind %s", graph->op[late].name, graph->op[early].name);
}

enum status schedule_swap(
	struct order_schedule *schedule, uint32_t position, const struct plan *plan, char *text, size_t size)
{
	struct order_schedule was = { .peak = schedule->peak, .peak_position = schedule->peak_position };
	struct life *before = mem_alloc(schedule->problem->items ? schedule->problem->items : 1, 2 * sizeof *before), *after;
	NEED(before);
	after = before + schedule->problem->items;
	copy_lives(schedule, before);
	enum status status = swap(schedule, position);
	copy_lives(schedule, after);
	if (status == OK)
		tell_move(schedule, plan, before, after, position, &was, text, size);
	else if (status == BAD_INPUT && position + 1 < schedule->problem->ops)
		tell_dependency(plan->graph, schedule->order[position], schedule->order[position + 1], text, size);
	else
		snprintf(text, size, "%s", status_text(NO_MEMORY));
	mem_free(before);
	return status;
}

/* Moves the op at a position to an earlier one; those between go one place back. */
static void schedule_pull(struct order_schedule *schedule, uint32_t from, uint32_t to)
{
	uint32_t op = schedule->order[from];
	memmove(schedule->order + to + 1, schedule->order + to, (from - to) * sizeof *schedule->order);
	schedule->order[to] = op;
}

enum status schedule_run(struct order_schedule *schedule, uint32_t position, uint32_t op)
{
	uint32_t from = schedule->position[op];
	schedule_pull(schedule, from, position);
	enum status status = schedule_evaluate(schedule);
	if (status == OK)
		return OK;
	memmove(schedule->order + position, schedule->order + position + 1, (from - position) * sizeof *schedule->order);
	schedule->order[from] = op;
	return status;
}

/* ---- one step ---- */

static int64_t products(const struct problem *problem, uint32_t op)
{
	int64_t sum = 0;
	FOR_ITEMS(product, &problem->products, op)
		sum += problem->size[product];
	return sum;
}

int64_t schedule_before(const struct order_schedule *schedule, uint32_t position)
{
	const struct problem *problem = schedule->problem;
	uint32_t op = schedule->order[position];
	return schedule->live[position] - products(problem, op) - problem->workspace[op];
}

/* True when the op is the last of the item's users to run, all ops before the position having run. */
static bool frees(const struct order_schedule *schedule, uint32_t item, uint32_t op, uint32_t position)
{
	const struct problem *problem = schedule->problem;
	if (problem->live_out[item])
		return false;
	FOR_ITEMS(user, &problem->users, item)
		if (user != op && schedule->position[user] >= position)
			return false;
	return true;
}

static uint32_t collect_freed(
	const struct order_schedule *schedule, uint32_t op, uint32_t position, uint32_t *list, int64_t *bytes)
{
	const struct problem *problem = schedule->problem;
	const struct csr *const rows[] = { &problem->uses, &problem->products };
	uint32_t count = 0;
	*bytes = 0;
	FOR_INT(r, 2)
		FOR_ITEMS(item, rows[r], op) {
			if (!frees(schedule, item, op, position))
				continue;
			*bytes += problem->size[item];
			if (list)
				list[count] = item;
			count++;
		}
	return count;
}

uint32_t schedule_freed(const struct order_schedule *schedule, uint32_t position, uint32_t *list)
{
	int64_t bytes;
	return collect_freed(schedule, schedule->order[position], position, list, &bytes);
}

COMPARATOR(least_first, struct candidate,
	COMPARE(a->during, b->during, COMPARE(a->after, b->after, COMPARE(a->op, b->op, 0))))

uint32_t schedule_ready(const struct order_schedule *schedule, uint32_t position, struct candidate *list)
{
	const struct problem *problem = schedule->problem;
	int64_t before = schedule_before(schedule, position), freed;
	uint32_t count = 0;
	FOR_FROM(i, position, problem->ops) {
		uint32_t op = schedule->order[i];
		bool ready = true;
		FOR_ITEMS(item, &problem->pred, op)
			ready = ready && schedule->position[item] < position;
		if (!ready)
			continue;
		collect_freed(schedule, op, position, NULL, &freed);
		int64_t made = products(problem, op);
		list[count++] = (struct candidate){ op, before + made + problem->workspace[op], before + made - freed, 0 };
	}
	qsort(list, count, sizeof *list, least_first);
	return count;
}

const char *schedule_why(
	const struct order_schedule *schedule, const struct candidate *list, uint32_t count, uint32_t chosen, bool solved)
{
	bool least_after = true, all_below = true;
	FOR(i, count) {
		least_after = least_after && list[chosen].after <= list[i].after;
		all_below = all_below && list[i].during <= schedule->peak;
	}
	if (count == 1)
		return "the only op that can run";
	if (list[chosen].during == list[0].during && least_after)
		return "none needs less, none frees more";
	if (least_after)
		return "frees most";
	if (list[chosen].during == list[0].during)
		return "none needs less while it runs";
	if (!solved)
		return "chosen by hand: others need or leave less";
	return all_below ? "all stay within the peak; later ops count" : "it opens the way to ops that free more";
}
