/* beside.c: two plans laid over each other. */

#include "beside.h"

/* ---- the steps, and where their phases begin ---- */

static enum phase phase_at(const struct plan *plan, uint32_t position)
{
	return plan->graph->op[plan->ordered->result.order[position]].phase;
}

/* The ops [*from, *to) of the step that op is of, as the program has them: a new one begins with the forward op behind
 * an update that backward ops follow. Returns how many there are. */
static uint32_t beside_step_of(const struct graph *graph, uint32_t op, uint32_t *from, uint32_t *to)
{
	uint32_t last_backward = 0, steps = 1;
	bool updated = false;
	FOR(i, graph->ops)
		if (graph->op[i].phase == PHASE_BACKWARD)
			last_backward = i;
	*from = 0;
	*to = graph->ops;
	FOR(i, last_backward) {
		updated |= graph->op[i].phase == PHASE_UPDATE;
		if (!updated || graph->op[i].phase != PHASE_FORWARD)
			continue;
		if (i <= op)
			*from = i;
		else if (*to == graph->ops)
			*to = i;
		updated = false;
		steps++;
	}
	return steps;
}

/* The positions of the step with the peak. */
static uint32_t find_step(const struct plan *plan, uint32_t *first, uint32_t *end)
{
	uint32_t from, to, ops = plan->graph->ops;
	const uint32_t *order = plan->ordered->result.order;
	*first = *end = 0;
	if (ops == 0)
		return 0;
	uint32_t steps = beside_step_of(plan->graph, order[plan->ordered->peak_position], &from, &to);
	for (*first = 0; order[*first] < from || order[*first] >= to; )
		++*first;
	for (*end = ops; order[*end - 1] < from || order[*end - 1] >= to; )
		--*end;
	return steps;
}

/* Where backward begins: a planned order may have some of its ops earlier, and forward ops behind. So few as can be
 * stand on the wrong side of it. */
static uint32_t beside_find_backward(const struct plan *plan, uint32_t first, uint32_t end)
{
	int64_t wrong = 0, least = 0;
	uint32_t border = first;
	FOR_FROM(i, first, end) {
		enum phase phase = phase_at(plan, i);
		wrong += phase == PHASE_BACKWARD ? 1 : phase == PHASE_FORWARD ? -1 : 0;
		if (wrong < least) {
			least = wrong;
			border = i + 1;
		}
	}
	return border;
}

static void beside_find_parts(const struct plan *plan, int side, struct beside *beside, bool *backward)
{
	uint32_t first, end, to;
	beside->steps[side] = find_step(plan, &first, &end);
	uint32_t from = beside_find_backward(plan, first, end);
	for (to = end; to > from && phase_at(plan, to - 1) != PHASE_BACKWARD; to--)
		;
	*backward = from < to;
	uint32_t border[BESIDE_PARTS + 1] = { first, *backward ? from : end, *backward ? to : end, end };
	FOR_INT(i, BESIDE_PARTS) {
		beside->part[i].first[side] = border[i];
		beside->part[i].end[side] = border[i + 1];
	}
}

/* Without a backward pass in both, all is one stretch. */
static void join_parts(struct beside *beside)
{
	FOR_INT(side, 2) {
		uint32_t end = beside->part[BESIDE_UPDATE].end[side];
		beside->part[BESIDE_FORWARD].end[side] = end;
		for (int i = BESIDE_BACKWARD; i < BESIDE_PARTS; i++)
			beside->part[i].first[side] = beside->part[i].end[side] = end;
	}
}

static void beside_find_peaks(const struct plan *plan, int side, struct beside *beside)
{
	beside->peak[side] = plan_peak(plan);
	beside->peak_position[side] = plan->ordered->peak_position;
	FOR_INT(i, BESIDE_PARTS) {
		struct beside_stretch *part = &beside->part[i];
		part->peak[side] = -1;
		FOR_FROM(at, part->first[side], part->end[side])
			if (plan->ordered->live[at] > part->peak[side])
				part->peak[side] = plan->ordered->live[at];
	}
}

uint32_t beside_position(const struct beside *beside, int side, uint32_t position)
{
	const struct beside_stretch *part = &beside->part[0];
	while (part < &beside->part[BESIDE_PARTS - 1] && position >= part->end[side])
		part++;
	uint32_t theirs = part->end[!side] - part->first[!side], ours = part->end[side] - part->first[side];
	uint32_t begin = beside->part[0].first[!side], end = beside->part[BESIDE_PARTS - 1].end[!side];
	if (position < part->first[side] || ours == 0)
		return begin;
	uint64_t into = position < part->end[side] ? position - part->first[side] : ours - 1;
	uint32_t at = part->first[!side] + (uint32_t)(into * theirs / ours);
	return at < end ? at : end > begin ? end - 1 : begin;
}

/* ---- what holds the peaks ---- */

struct alive { const char *place; int64_t bytes, rounded; };

static const char *beside_place_of(const struct graph *graph, uint32_t storage)
{
	const struct storage *it = &graph->storage[storage];
	if (it->allocator == NONE)
		return it->persistent ? kind_names[it->kind] : "there before the first op";
	const struct op *op = &graph->op[it->allocator];
	return op->src ? op->src : *op->module ? op->module : op->type;
}

static int by_size_and_place(const void *a, const void *b)
{
	const struct alive *left = a, *right = b;
	if (left->rounded != right->rounded)
		return left->rounded > right->rounded ? -1 : 1;
	int order = strcmp(left->place, right->place);
	return order ? order : (left->bytes < right->bytes) - (left->bytes > right->bytes);
}

COMPARATOR(beside_by_place, struct alive, strcmp(a->place, b->place))

COMPARATOR(beside_larger, struct beside_holder, COMPARE(b->bytes, a->bytes, strcmp(a->place, b->place)))

/* What is alive at the peak, sorted; NULL when out of memory. */
static struct alive *beside_list_alive(const struct plan *plan, uint32_t *count)
{
	const struct graph *graph = plan->graph;
	uint32_t *MAKE(storage, graph->storages);
	struct alive *MAKE(alive, graph->storages);
	if (!storage || !alive) {
		mem_free(storage);
		mem_free(alive);
		return NULL;
	}
	*count = plan->ordered->peak_position == NONE ? 0 : plan_alive(plan, plan->ordered->peak_position, storage);
	if (*count == NONE) {
		mem_free(storage);
		mem_free(alive);
		return NULL;
	}
	FOR(i, *count) {
		int64_t bytes = graph->storage[storage[i]].bytes;
		alive[i] = (struct alive){ beside_place_of(graph, storage[i]), bytes, align_up(bytes, BESIDE_ALIGNMENT) };
	}
	mem_free(storage);
	qsort(alive, *count, sizeof *alive, by_size_and_place);
	return alive;
}

/* Takes pairs out of two sorted lists; same_place: of those with equal places alone. */
static void take_pairs(struct beside *beside, struct alive *list[2], uint32_t count[2], bool same_place)
{
	uint32_t at[2] = { 0, 0 }, kept[2] = { 0, 0 };
	while (at[0] < count[0] && at[1] < count[1]) {
		const struct alive *one = &list[0][at[0]], *other = &list[1][at[1]];
		int order = one->rounded != other->rounded ? one->rounded > other->rounded ? -1 : 1
			: same_place ? strcmp(one->place, other->place)
			: 0;
		FOR_INT(side, 2)
			if (order == 0)
				beside->paired[side] += list[side][at[side]++].bytes;
			else if ((order < 0) == (side == 0))
				list[side][kept[side]++] = list[side][at[side]++];
		beside->pairs += order == 0;
	}
	FOR_INT(side, 2) {
		while (at[side] < count[side])
			list[side][kept[side]++] = list[side][at[side]++];
		count[side] = kept[side];
	}
}

/* Adds up what has no pair, by place. */
static enum status beside_hold(struct beside *beside, int side, struct alive *alive, uint32_t count)
{
	struct beside_holder *holder;
	uint32_t holders = 0;
	NEED(ROOM(&beside->arena, holder, (size_t)count + 1));
	qsort(alive, count, sizeof *alive, beside_by_place);
	FOR(i, count) {
		if (holders == 0 || !text_is(holder[holders - 1].place, alive[i].place))
			holder[holders++].place = alive[i].place;
		holder[holders - 1].bytes += alive[i].bytes;
		holder[holders - 1].buffers++;
	}
	FOR(i, holders) {
		holder[i].place = arena_text(&beside->arena, holder[i].place, strlen(holder[i].place));
		NEED(holder[i].place);
	}
	qsort(holder, holders, sizeof *holder, beside_larger);
	beside->holder[side] = holder;
	beside->holders[side] = holders;
	return OK;
}

static void weigh_rest(const struct plan *plan, int side, struct beside *beside)
{
	int64_t known = beside->paired[side];
	uint32_t at = beside->peak_position[side];
	beside->workspace[side] = at == NONE ? 0 : plan->graph->op[plan->ordered->result.order[at]].workspace;
	FOR(i, beside->holders[side])
		known += beside->holder[side][i].bytes;
	beside->rest[side] = beside->peak[side] - known - beside->workspace[side];
}

enum status beside_make(const struct plan *one, const struct plan *other, struct beside *beside)
{
	const struct plan *const plan[2] = { one, other };
	struct alive *alive[2] = { NULL, NULL };
	uint32_t count[2] = { 0, 0 };
	enum status status = OK;
	bool backward[2];
	*beside = (struct beside){ 0 };
	FOR_INT(side, 2)
		beside_find_parts(plan[side], side, beside, &backward[side]);
	beside->phases = backward[0] && backward[1];
	if (!beside->phases)
		join_parts(beside);
	FOR_INT(side, 2) {
		beside_find_peaks(plan[side], side, beside);
		alive[side] = beside_list_alive(plan[side], &count[side]);
	}
	if (alive[0] && alive[1]) {
		take_pairs(beside, alive, count, true);
		take_pairs(beside, alive, count, false);
	}
	for (int side = 0; side < 2 && status == OK; side++) {
		status = alive[side] ? beside_hold(beside, side, alive[side], count[side]) : NO_MEMORY;
		weigh_rest(plan[side], side, beside);
	}
	mem_free(alive[0]);
	mem_free(alive[1]);
	return status;
}

void beside_free(struct beside *beside)
{
	arena_free(&beside->arena);
	*beside = (struct beside){ 0 };
}
