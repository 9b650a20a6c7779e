/* exact.c: small steps exactly. */

#include "exact.h"
#include "solver/base/heap.h"

#define STATES (1u << 17)
#define BIT(i) (UINT64_C(1) << (i))

struct node {
	uint64_t ran, memory;      /* ops that ran, storages in memory */
	int64_t cost;
	uint32_t parent, move;     /* 2 * op + again; NONE: a storage was dropped */
};

struct exact {
	const struct fit_step *step;
	int64_t room;              /* of the cap, for what comes and goes */
	uint32_t bits, storage[FIT_EXACT_OPS]; /* storages by bit */
	uint64_t droppable, steady_out;        /* bits; steady_out: wanted at the end */
	uint64_t views, all;                   /* ops */
	uint64_t pred[FIT_EXACT_OPS], touches[FIT_EXACT_OPS], makes[FIT_EXACT_OPS]; /* by op */
	uint64_t forbids[FIT_EXACT_OPS];       /* by op: once one of these ran, it can't run again */
	uint64_t users[FIT_EXACT_OPS];         /* by bit: ops that touch it */
	struct node *node;         /* [STATES] */
	uint32_t *slot, nodes;     /* [2 * STATES] node + 1 by hash */
	bool full;                 /* a state was left out for want of room */
	struct order_heap heap;
	struct arena arena;
};

/* ---- the step in bits ------------------------------------------------------------------------ */

static bool is_simple(const struct fit_step *step)
{
	bool simple = step->ops <= FIT_EXACT_OPS && !step->in_place && step->changes.start[step->ops] == 0;
	for (uint32_t op = 0; op < step->ops && simple; op++)
		simple = !step->random[op] && step->mask[op] == NONE;
	for (uint32_t s = 0; s < step->storages && simple; s++)
		simple = !step->droppable[s] || (csr_length(&step->writers, s) == 1 && step->fixed[s] == FIT_FREE);
	return simple;
}

/* False where there are too many storages. */
static bool number_storages(struct exact *exact, uint32_t *bit)
{
	const struct fit_step *step = exact->step;
	for (uint32_t s = 0; s < step->storages; s++) {
		bit[s] = NONE;
		if (step->bytes[s] == 0 && !step->droppable[s])
			continue;
		if (exact->bits == FIT_EXACT_OPS)
			return false;
		exact->droppable |= step->droppable[s] ? BIT(exact->bits) : 0;
		exact->steady_out |= step->graph->storage[s].live_out ? BIT(exact->bits) : 0;
		exact->storage[exact->bits] = s;
		bit[s] = exact->bits++;
	}
	return true;
}

static uint64_t fit_exact_mask_of(const struct csr *rows, uint32_t row, const uint32_t *bit)
{
	uint64_t mask = 0;
	FOR_ROW(i, rows, row)
		if (!bit || bit[rows->item[i]] != NONE)
			mask |= BIT(bit ? bit[rows->item[i]] : rows->item[i]);
	return mask;
}

static void read_ops(struct exact *exact, const uint32_t *bit)
{
	const struct fit_step *step = exact->step;
	for (uint32_t op = 0; op < step->ops; op++) {
		exact->all |= BIT(op);
		exact->views |= step->view[op] ? BIT(op) : 0;
		exact->pred[op] = fit_exact_mask_of(&step->graph->pred, op, NULL);
		exact->makes[op] = fit_exact_mask_of(&step->makes, op, bit);
		exact->touches[op] = step->view[op] ? 0 : fit_exact_mask_of(&step->touches, op, bit);
		for (uint32_t b = 0; b < exact->bits; b++)
			exact->users[b] |= exact->touches[op] >> b & 1 ? BIT(op) : 0;
		FOR_ROW(i, &step->steady, op)
			for (uint32_t other = 0; other < step->ops; other++)
				FOR_ROW(k, &step->overwrites, other)
					exact->forbids[op] |= step->overwrites.item[k] == step->steady.item[i] ? BIT(other) : 0;
	}
}

static int64_t fit_exact_bytes_of(const struct exact *exact, uint64_t memory)
{
	int64_t bytes = 0;
	for (; memory; memory &= memory - 1)
		bytes += exact->step->bytes[exact->storage[__builtin_ctzll(memory)]];
	return bytes;
}

/* ---- states ---------------------------------------------------------------------------------- */

/* Views run as soon as they can: they take nothing. */
static uint64_t with_views(const struct exact *exact, uint64_t ran)
{
	for (uint64_t before = 0; before != ran;) {
		before = ran;
		for (uint64_t left = exact->views & ~ran; left; left &= left - 1) {
			uint32_t op = (uint32_t)__builtin_ctzll(left);
			ran |= (exact->pred[op] & ~ran) == 0 ? BIT(op) : 0;
		}
	}
	return ran;
}

/* Storages that an op reads that has yet to run, or one that may have to run again for such. */
static uint64_t useful(const struct exact *exact, uint64_t ran)
{
	uint64_t wanted = exact->steady_out;
	for (uint64_t left = exact->all & ~ran; left; left &= left - 1)
		wanted |= exact->touches[__builtin_ctzll(left)];
	for (uint64_t before = 0; before != wanted;) {
		before = wanted;
		for (uint32_t op = exact->step->ops; op-- > 0;)
			if (exact->step->forward[op] && (exact->makes[op] & exact->droppable & wanted))
				wanted |= exact->touches[op];
	}
	return wanted;
}

static uint32_t find_node(struct exact *exact, uint64_t ran, uint64_t memory)
{
	uint32_t mask = 2 * STATES - 1, at = (uint32_t)hash_join(hash_mix(ran), memory) & mask;
	for (; exact->slot[at]; at = (at + 1) & mask) {
		const struct node *node = &exact->node[exact->slot[at] - 1];
		if (node->ran == ran && node->memory == memory)
			return exact->slot[at] - 1;
	}
	if (exact->nodes == STATES) {
		exact->full = true;
		return NONE;
	}
	exact->node[exact->nodes] = (struct node){ ran, memory, INT64_MAX, NONE, NONE };
	exact->slot[at] = ++exact->nodes;
	return exact->nodes - 1;
}

static void fit_exact_reach(
	struct exact *exact, uint64_t ran, uint64_t memory, int64_t cost, uint32_t parent, uint32_t move)
{
	ran = with_views(exact, ran);
	memory &= useful(exact, ran);
	uint32_t node = find_node(exact, ran, memory);
	if (node == NONE || exact->node[node].cost <= cost)
		return;
	exact->node[node] = (struct node){ ran, memory, cost, parent, move };
	order_heap_put(&exact->heap, node, cost, -__builtin_popcountll(ran));
}

/* True where the op could run but for the memory. */
static bool fit_exact_run_op(struct exact *exact, uint32_t from, uint32_t op, int64_t below)
{
	const struct fit_step *step = exact->step;
	struct node node = exact->node[from];
	bool again = node.ran >> op & 1;
	uint64_t makes = exact->makes[op];
	if ((exact->touches[op] & ~node.memory) || (!again && (exact->pred[op] & ~node.ran)))
		return false;
	if (again &&
		(!step->forward[op] || step->view[op] || (exact->forbids[op] & node.ran) ||
			!(makes & exact->droppable & ~node.memory)))
		return false;
	if (again && node.cost + step->time[op] >= below)
		return false;
	if (fit_exact_bytes_of(exact, node.memory) + fit_exact_bytes_of(exact, makes) + step->workspace[op] > exact->room)
		return true;
	uint64_t stays = again ? makes & exact->droppable : makes;
	fit_exact_reach(
		exact, node.ran | BIT(op), node.memory | stays, node.cost + (again ? step->time[op] : 0), from, 2 * op + again);
	return false;
}

static void fit_exact_expand(struct exact *exact, uint32_t from, int64_t below)
{
	bool blocked = false;
	struct node node = exact->node[from];
	for (uint32_t op = 0; op < exact->step->ops; op++)
		if (!(exact->views >> op & 1))
			blocked |= fit_exact_run_op(exact, from, op, below);
	uint64_t free = exact->droppable;    /* and what only ops that run again may read */
	for (uint32_t b = 0; b < exact->bits; b++)
		free |= (exact->users[b] & ~node.ran) == 0 ? BIT(b) : 0;
	for (uint64_t left = blocked ? node.memory & free & ~exact->steady_out : 0; left; left &= left - 1)
		fit_exact_reach(exact, node.ran, node.memory & ~(left & -left), node.cost, from, NONE);
}

/* ---- what was found -------------------------------------------------------------------------- */

static void fit_exact_add_run(struct fit_sequence *sequence, uint32_t run, uint64_t stays)
{
	sequence->run[sequence->length] = run;
	sequence->stays[sequence->length++] = stays;
}

static void add_views(const struct exact *exact, uint64_t *ran, struct fit_sequence *sequence)
{
	for (uint64_t before = 0; before != *ran;) {
		before = *ran;
		for (uint64_t left = exact->views & ~*ran; left; left &= left - 1) {
			uint32_t op = (uint32_t)__builtin_ctzll(left);
			if (exact->pred[op] & ~*ran)
				continue;
			*ran |= BIT(op);
			fit_exact_add_run(sequence, 2 * op, 0);
		}
	}
}

/* Which of an op's results a state that lacks them is to get. */
static uint64_t results_missing(const struct exact *exact, uint32_t op, uint64_t memory)
{
	const struct fit_step *step = exact->step;
	uint64_t bits = 0;
	FOR_ROW(i, &step->makes, op)
		for (uint32_t b = 0; b < exact->bits; b++)
			if (exact->storage[b] == step->makes.item[i] && (exact->droppable & ~memory) >> b & 1)
				bits |= UINT64_C(1) << (i - step->makes.start[op]);
	return bits;
}

static enum status write_sequence(const struct exact *exact, uint32_t goal, struct fit_sequence *sequence)
{
	const struct fit_step *step = exact->step;
	uint32_t moves = 0, *path;
	uint64_t ran = 0;
	for (uint32_t at = goal; exact->node[at].parent != NONE; at = exact->node[at].parent)
		moves++;
	path = mem_alloc(moves, sizeof *path);
	sequence->run = mem_alloc(moves + step->ops, sizeof *sequence->run);
	sequence->stays = mem_alloc(moves + step->ops, sizeof *sequence->stays);
	bool fine = path && sequence->run && sequence->stays;
	for (uint32_t at = goal, i = moves; fine && i-- > 0; at = exact->node[at].parent)
		path[i] = at;
	if (fine)
		add_views(exact, &ran, sequence);
	for (uint32_t i = 0; i < moves && fine; i++) {
		const struct node *node = &exact->node[path[i]], *before = &exact->node[node->parent];
		if (node->move == NONE)
			continue;
		uint32_t op = node->move / 2;
		int64_t bytes = step->persistent + fit_exact_bytes_of(exact, before->memory) +
			fit_exact_bytes_of(exact, exact->makes[op]) + step->workspace[op];
		sequence->peak = bytes > sequence->peak ? bytes : sequence->peak;
		fit_exact_add_run(sequence, node->move, node->move & 1 ? results_missing(exact, op, before->memory) : 0);
		ran |= BIT(op);
		add_views(exact, &ran, sequence);
	}
	mem_free(path);
	sequence->extra = exact->node[goal].cost;
	return fine ? OK : NO_MEMORY;
}

/* ---- the search ------------------------------------------------------------------------------ */

static enum status fit_exact_search(
	struct exact *exact, int64_t below, uint64_t ticks, struct control *control, struct fit_sequence *sequence)
{
	uint64_t end = control->ticks + ticks, start = 0;
	for (uint32_t b = 0; b < exact->bits; b++)
		start |= exact->step->graph->storage[exact->storage[b]].allocator == NONE ? BIT(b) : 0;
	fit_exact_reach(exact, 0, start, 0, NONE, NONE);
	while (exact->heap.count > 0 && control->ticks < end) {
		uint32_t top = order_heap_top(&exact->heap);
		order_heap_remove(&exact->heap, top);
		if (exact->node[top].ran == exact->all) {
			sequence->all = true;
			return write_sequence(exact, top, sequence);
		}
		fit_exact_expand(exact, top, below);
		if (control_spend(control, exact->step->ops))
			return control_status(control) == LIMIT ? OK : control_status(control);
	}
	sequence->all = exact->heap.count == 0 && !exact->full;
	return OK;
}

enum status fit_exact(const struct fit_step *step, int64_t cap, int64_t below, uint64_t ticks, struct control *control,
	struct fit_sequence *sequence)
{
	struct exact exact = { .step = step, .room = cap - step->persistent };
	uint32_t *bit = arena_alloc(&exact.arena, step->storages, sizeof *bit);
	enum status status = bit ? OK : NO_MEMORY;
	*sequence = (struct fit_sequence){ 0 };
	if (status == OK && !step->copies && is_simple(step) && number_storages(&exact, bit)) {
		exact.node = arena_alloc(&exact.arena, STATES, sizeof *exact.node);
		exact.slot = arena_alloc(&exact.arena, 2 * STATES, sizeof *exact.slot);
		status = exact.node && exact.slot ? order_heap_init(&exact.heap, STATES, &exact.arena) : NO_MEMORY;
		if (status == OK) {
			read_ops(&exact, bit);
			status = fit_exact_search(&exact, below, ticks, control, sequence);
		}
	}
	arena_free(&exact.arena);
	return status;
}
