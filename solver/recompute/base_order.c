/* base_order.c: orders of a step's ops, and what they say of every storage. */

#include "search.h"
#include "solver/base/sort.h"

/* ---- an order ---- */

static bool base_order_allocate(const struct recompute_step *step, struct recompute_base *base)
{
	struct arena *arena = &base->arena;
	*base = (struct recompute_base){ .step = step };
	return ROOMS(arena, step->ops, base->order, base->position, base->active, base->gap, base->gap_at) &&
		ROOMS(arena, step->storages, base->dominated, base->made, base->last_forward, base->first_read, base->last_read,
			base->asked, base->from, base->until, base->overwritten) &&
		ROOMS(arena, step->ops + 1u, base->fixed, base->outer, base->outer_before);
}

/* Every view right before the first op of the order that needs it; one that nothing needs stays. An order of a
 * recomputed step may have an op before what it needs here, as it reads a copy there: that comes first, then. */
static bool base_order_place(struct recompute_base *base, const uint32_t *order)
{
	const struct recompute_step *step = base->step;
	uint32_t *MAKE(stack, step->ops), count = 0;
	HELD bool *MAKE(placed, step->ops);
	FOR_WHILE(i, step->ops, stack && placed) {
		if (placed[order[i]] || (step->view[order[i]] && csr_length(&step->graph->succ, order[i]) > 0))
			continue;
		uint32_t depth = 0;
		stack[depth++] = order[i];
		while (depth > 0) {
			uint32_t op = stack[depth - 1], before = depth;
			for (uint32_t k = step->graph->pred.start[op + 1]; k-- > step->graph->pred.start[op];)
				if (!placed[step->graph->pred.item[k]] && depth < step->ops) {
					stack[depth++] = step->graph->pred.item[k];
					break;
				}
			if (depth > before)
				continue;
			base->order[count] = op;
			base->position[op] = count++;
			placed[op] = true;
			depth--;
		}
	}
	mem_free(stack);
	return count == step->ops;
}

/* ---- what it says of storages ---- */

static void find_ends(struct recompute_base *base)
{
	const struct recompute_step *step = base->step;
	FOR(s, step->storages)
		base->made[s] = base->last_forward[s] = base->first_read[s] = base->last_read[s] = base->overwritten[s] = NONE;
	FOR(i, step->ops) {
		uint32_t op = base->order[i];
		FOR_ITEMS(overwrite, &step->overwrites, op)
			if (base->overwritten[overwrite] == NONE)
				base->overwritten[overwrite] = i;
		FOR_ITEMS(make, &step->makes, op)
			base->made[make] = base->last_forward[make] = i;
		FOR_ITEMS(s, &step->touches, op) {
			if (step->forward[op] || !step->droppable[s]) {
				base->last_forward[s] = i;
				continue;
			}
			if (base->first_read[s] == NONE)
				base->first_read[s] = i;
			base->last_read[s] = i;
		}
	}
}

/* Bytes that are there whatever is kept: what can't be dropped, and the rest between its ends on either side of the
 * gap. */
static void add_fixed(struct recompute_base *base)
{
	const struct recompute_step *step = base->step;
	int64_t *change = base->fixed;
	FOR(s, step->storages) {
		int64_t bytes = step->bytes[s];
		uint32_t first = base->made[s] == NONE ? 0 : base->made[s], last = base->last_forward[s];
		if (bytes == 0 || last == NONE)
			continue;
		if (step->graph->storage[s].live_out)
			last = step->ops - 1;
		change[first] += bytes;
		change[last + 1] -= bytes;
		if (step->droppable[s] && base->first_read[s] != NONE) {
			change[base->first_read[s]] += bytes;
			change[base->last_read[s] + 1] -= bytes;
		}
	}
	int64_t live = step->persistent + step->copied;
	FOR(i, step->ops) {
		live += change[i] - (step->copied > 0 && i == base->position[step->flush] + 1 ? step->copied : 0);
		change[i] = live + step->workspace[base->order[i]];
	}
}

/* A view right before an op that touches what it names tells a replay nothing. */
static bool is_redundant(const struct recompute_base *base, uint32_t position)
{
	const struct recompute_step *step = base->step;
	uint32_t op = base->order[position];
	if (!step->view[op] || position + 1 == step->ops)
		return false;
	FOR_ITEMS(item, &step->inner, op) {
		bool touched = false;
		FOR_ITEMS(each, &step->inner, base->order[position + 1])
			touched |= each == item;
		if (!touched)
			return false;
	}
	return true;
}

/* Outer storages by position, and what a replay plays. */
static void find_outer(struct recompute_base *base)
{
	const struct recompute_step *step = base->step;
	int64_t *at = base->outer, *before = base->outer_before;
	FOR(s, step->storages) {
		uint32_t first = base->made[s] == NONE ? 0 : base->made[s], last = base->last_forward[s];
		if (!step->outer[s] || step->bytes[s] == 0 || last == NONE)
			continue;
		if (step->graph->storage[s].live_out)
			last = step->ops - 1;
		at[first] += step->bytes[s];
		at[last + 1] -= step->bytes[s];
		before[base->made[s] == NONE ? 0 : first + 1] += step->bytes[s];
		before[last + 1] -= step->bytes[s];
	}
	int64_t live = 0, earlier = 0;
	FOR(i, step->ops) {
		live += at[i];
		earlier += before[i];
		before[i] = earlier;
		at[i] = live + step->workspace[base->order[i]];
		uint32_t op = base->order[i];
		if ((csr_length(&step->inner, op) > 0 && !is_redundant(base, i)) || csr_length(&step->inner_makes, op) > 0 ||
			i == 0) {
			base->active[base->actives++] = i;
		} else if (at[i] > base->gap[base->actives - 1]) {
			base->gap[base->actives - 1] = at[i];
			base->gap_at[base->actives - 1] = i;
		}
	}
}

static void ask_at(uint32_t *asked, const struct csr *of, uint32_t op, uint32_t position)
{
	FOR_ITEMS(s, of, op)
		asked[s] = SMALLER(asked[s], position);
}

/* What runs again asks for all that it reads and makes. */
static void find_asked(struct recompute_base *base)
{
	const struct recompute_step *step = base->step;
	const struct csr *const made[] = { &step->makes, &step->changes };
	FOR(s, step->storages)
		base->asked[s] = NONE;
	FOR_DOWN(op, step->ops) {
		uint32_t position = step->forward[op] ? NONE : base->position[op];
		FOR_INT(k, step->forward[op] ? 2 : 0)
			FOR_ITEMS(s, made[k], op)
				position = SMALLER(base->asked[s], position);
		FOR_INT(k, step->forward[op] ? 2 : 0)
			ask_at(base->asked, made[k], op, position);
		ask_at(base->asked, &step->reads, op, position);
		ask_at(base->asked, &step->touches, op, position);
	}
}

/* A storage that is not read after the pass helps until the first such reader of what is made from it. */
static void find_gaps(struct recompute_base *base)
{
	const struct recompute_step *step = base->step;
	FOR(s, step->storages)
		base->until[s] = step->saved[s] ? base->first_read[s] : NONE;
	FOR_DOWN(op, step->ops) {
		uint32_t earliest = NONE;
		if (!step->forward[op] || step->view[op])
			continue;
		FOR_ITEMS(make, &step->makes, op)
			if (step->droppable[make] && base->until[make] < earliest)
				earliest = base->until[make];
		FOR_ITEMS(change, &step->changes, op)
			if (base->until[change] < earliest)
				earliest = base->until[change];
		FOR_ITEMS(s, &step->reads, op)
			if (!step->saved[s] && earliest < base->until[s])
				base->until[s] = earliest;
	}
	FOR(s, step->storages) {
		base->from[s] = base->last_forward[s] + 1;
		base->until[s] = base->until[s] == NONE ? base->last_forward[s] : base->until[s] - 1;
	}
}

/* Keep what its readers make instead: no more bytes, and less to run again. */
static bool find_dominated(struct recompute_base *base)
{
	const struct recompute_step *step = base->step;
	HELD int64_t *MAKE(made, step->storages);
	FOR_WHILE(op, step->ops, made) {
		int64_t bytes = 0;
		if (!step->forward[op] || step->view[op])
			continue;
		FOR_ITEMS(item, &step->makes, op)
			bytes += step->bytes[item];
		FOR_ITEMS(read, &step->reads, op)
			made[read] += bytes;
	}
	FOR_WHILE(s, step->storages, made)
		base->dominated[s] = step->droppable[s] && !step->saved[s] && made[s] <= step->bytes[s];
	return made != NULL;
}

static uint32_t base_order_find_window(const struct recompute_base *base)
{
	uint32_t turn = base->step->ops;
	while (turn > 0 && !base->step->forward[base->order[turn - 1]])
		turn--;
	return (base->step->ops - turn) / base->step->layers;
}

static bool base_order_list_readers(struct recompute_base *base)
{
	const struct recompute_step *step = base->step;
	uint32_t count = step->readers.start[step->storages], *MAKE(row, count),
			 *item = mem_alloc(count, sizeof *item);
	bool fine = row && item;
	FOR_WHILE(s, step->storages, fine)
		FOR_ROW(i, &step->readers, s) {
			row[i] = s;
			item[i] = base->position[step->readers.item[i]];
		}
	fine = fine && csr_of_pairs(&base->arena, step->storages, count, row, item, &base->read_at) == OK;
	if (fine)
		csr_unique(&base->read_at, step->storages);
	mem_free(row);
	mem_free(item);
	return fine;
}

enum status recompute_base_of(const struct recompute_step *step, const uint32_t *order, struct recompute_base *base)
{
	NEED(base_order_allocate(step, base) && base_order_place(base, order) && recompute_updates_late(step, base->order));
	FOR(i, step->ops)
		base->position[base->order[i]] = i;
	find_ends(base);
	add_fixed(base);
	find_outer(base);
	find_gaps(base);
	find_asked(base);
	base->window = base_order_find_window(base);
	base->fingerprint = 1;
	FOR(i, step->ops)
		base->fingerprint = hash_join(base->fingerprint, base->order[i]);
	return find_dominated(base) && base_order_list_readers(base) ? OK : NO_MEMORY;
}

void recompute_base_free(struct recompute_base *base)
{
	arena_free(&base->arena);
}

/* ---- updates early ---- */

struct earliest {
	const struct recompute_step *step;
	uint32_t *order, count;
	uint32_t *missing; /* [ops] predecessors that have not run */
	bool *queued;
	bool *casts; /* [ops] of the backward pass, for updates alone, and makes more bytes than it reads: a gradient in a
					wider type */
	bool *begins; /* [ops] an update that makes something of what is always there: it frees nothing, and waits for the
					 end */
	struct order_heap
		ready; /* updates that can run, the first of the program first; casts behind them, then what begins */
	struct arena arena;
};

static void wake(struct earliest *earliest, uint32_t op)
{
	earliest->queued[op] = true;
	order_heap_put(
		&earliest->ready, op, op + (int64_t)earliest->step->ops * (earliest->begins[op] ? 2 : earliest->casts[op]), 0);
}

/* A cast waits for the rest that an update needs. */
static void wake_cast(struct earliest *earliest, uint32_t op)
{
	const struct graph *graph = earliest->step->graph;
	bool wanted = false;
	if (earliest->missing[op] > 0 || earliest->queued[op])
		return;
	FOR_ITEMS(after, &graph->succ, op)
		wanted |= earliest->missing[after] == 1;
	if (wanted)
		wake(earliest, op);
}

static uint32_t base_order_take(struct earliest *earliest)
{
	uint32_t op = order_heap_top(&earliest->ready);
	order_heap_remove(&earliest->ready, op);
	return op;
}

static void finish_op(struct earliest *earliest, uint32_t op)
{
	const struct graph *graph = earliest->step->graph;
	earliest->order[earliest->count++] = op;
	FOR_ITEMS(next, &graph->succ, op) {
		uint32_t missing = --earliest->missing[next];
		if (missing == 0 && graph->op[next].phase == PHASE_UPDATE && !earliest->queued[next])
			wake(earliest, next);
		else if (missing == 0 && earliest->casts[next])
			wake_cast(earliest, next);
		for (uint32_t k = graph->pred.start[next]; missing == 1 && k < graph->pred.start[next + 1]; k++)
			if (earliest->casts[graph->pred.item[k]])
				wake_cast(earliest, graph->pred.item[k]);
	}
}

static void run_early(struct earliest *earliest)
{
	const struct graph *graph = earliest->step->graph;
	bool after = false;
	FOR(op, graph->ops)
		earliest->missing[op] = csr_length(&graph->pred, op);
	FOR(op, graph->ops) {
		if (graph->op[op].phase == PHASE_UPDATE || earliest->casts[op])
			continue;
		finish_op(earliest, op);
		/* What needs nothing waits for the backward pass. */
		FOR_WHILE(u, graph->ops, !after && graph->op[op].phase == PHASE_BACKWARD)
			if (graph->op[u].phase == PHASE_UPDATE && earliest->missing[u] == 0 && !earliest->queued[u])
				wake(earliest, u);
		after |= graph->op[op].phase == PHASE_BACKWARD;
		while (after && earliest->ready.count > 0 && !earliest->begins[order_heap_top(&earliest->ready)])
			finish_op(earliest, base_order_take(earliest));
	}
	FOR(u, graph->ops)
		if ((graph->op[u].phase == PHASE_UPDATE || earliest->casts[u]) && earliest->missing[u] == 0 && !earliest->queued[u])
			wake(earliest, u);
	while (earliest->ready.count > 0)
		finish_op(earliest, base_order_take(earliest));
}

/* Casts of gradients; false: there are none. */
static bool find_casts(struct earliest *earliest)
{
	const struct recompute_step *step = earliest->step;
	const struct graph *graph = step->graph;
	bool any = false;
	FOR(op, step->ops) {
		int64_t read = 0, made = 0;
		bool casts = graph->op[op].phase == PHASE_BACKWARD && csr_length(&graph->succ, op) > 0;
		FOR_ITEMS(after, &graph->succ, op)
			casts &= graph->op[after].phase == PHASE_UPDATE;
		FOR_ITEMS(touched, &step->touches, op)
			read += step->bytes[touched];
		FOR_ITEMS(make, &step->makes, op)
			made += step->bytes[make];
		earliest->casts[op] = casts && read > 0 && made > read;
		earliest->begins[op] = graph->op[op].phase == PHASE_UPDATE && made > 0 && read == 0 &&
			graph_operands(graph, op) > 0;
		any |= earliest->casts[op];
	}
	return any;
}

/* An op that is no update and needs one is not known to happen; then the program order stands. */
static bool is_valid(const struct earliest *earliest, uint32_t *position)
{
	const struct graph *graph = earliest->step->graph;
	bool valid = earliest->count == graph->ops;
	FOR(i, earliest->count)
		position[earliest->order[i]] = i;
	FOR_WHILE(op, graph->ops, valid)
		FOR_ITEMS(before, &graph->pred, op)
			valid &= position[before] < position[op];
	return valid;
}

enum status recompute_order_early(const struct recompute_step *step, bool casts, uint32_t *order)
{
	struct earliest earliest = { .step = step, .order = order };
	bool fine = ROOMS(&earliest.arena, step->ops, earliest.missing, earliest.queued, earliest.casts, earliest.begins) &&
		order_heap_init(&earliest.ready, step->ops, &earliest.arena) == OK;
	bool any = !casts || (fine && find_casts(&earliest));
	if (fine && any)
		run_early(&earliest);
	bool valid = fine && any && is_valid(&earliest, earliest.missing);
	FOR_WHILE(op, step->ops, !casts && !valid)
		order[op] = op;
	arena_free(&earliest.arena);
	return !fine ? NO_MEMORY : casts && !valid ? INFEASIBLE : OK;
}
