/* bound.c: the certainly-alive bound LB2.
 *
 * An item is alive while op v runs in every order when v or an ancestor touches it (so it exists) and v or a
 * descendant touches it (so it is still needed). Ops are taken in blocks of 512 columns along a topological
 * order: bit v of reached[u] says that u is v or before v, bit v of reaching[u] that u is v or after v. Along
 * such an order an item's columns form few runs, so they are summed as differences at the ends of runs. */

#include "job.h"

#define WORDS 8
#define COLUMNS (64u * WORDS)

struct row {
	uint64_t word[WORDS];
};

struct bound {
	const struct order_model *model;
	const uint32_t *topological;
	struct row *reached, *reaching; /* op -> columns */
	int64_t *difference;            /* [COLUMNS + 1] */
};

static inline void row_join(struct row *row, const struct row *other)
{
	FOR_INT(i, WORDS)
		row->word[i] |= other->word[i];
}

/* reached and reaching for the columns first .. first + COLUMNS - 1 of the topological order. */
static void spread_block(struct bound *bound, uint32_t first, uint32_t columns)
{
	const struct order_model *model = bound->model;
	CLEAR(bound->reached, model->ops);
	CLEAR(bound->reaching, model->ops);
	FOR(column, columns) {
		uint32_t op = bound->topological[first + column];
		bound->reached[op].word[column / 64] |= UINT64_C(1) << column % 64;
		bound->reaching[op].word[column / 64] |= UINT64_C(1) << column % 64;
	}
	/* Nothing before the block is after it, and nothing behind it before it. */
	FOR_DOWN(n, first + columns) {
		uint32_t op = bound->topological[n];
		FOR_ITEMS(item, &model->succ, op)
			row_join(&bound->reached[op], &bound->reached[item]);
	}
	FOR_FROM(n, first, model->ops) {
		uint32_t op = bound->topological[n];
		FOR_ITEMS(each, &model->pred, op)
			row_join(&bound->reaching[op], &bound->reaching[each]);
	}
}

/* The columns at which the item is certainly alive. */
static struct row certain_columns(const struct bound *bound, uint32_t item)
{
	const struct order_model *model = bound->model;
	struct row before = { { 0 } }, after = { { 0 } };
	if (model->from_start[item])
		memset(&before, 0xff, sizeof before);
	if (model->to_end[item])
		memset(&after, 0xff, sizeof after);
	FOR_ITEMS(user, &model->users, item) {
		row_join(&before, &bound->reached[user]);
		row_join(&after, &bound->reaching[user]);
	}
	FOR_INT(i, WORDS)
		before.word[i] &= after.word[i];
	return before;
}

/* Adds size to the difference where a run of columns begins, and takes it off where it ends. */
static void add_runs(struct bound *bound, const struct row *row, int64_t size)
{
	uint64_t carry = 0;
	FOR(i, WORDS) {
		uint64_t word = row->word[i], edges = word ^ (word << 1 | carry);
		carry = word >> 63;
		for (; edges; edges &= edges - 1) {
			uint32_t bit = (uint32_t)__builtin_ctzll(edges);
			bound->difference[64 * i + bit] += word >> bit & 1 ? size : -size;
		}
	}
}

static void sum_block(struct bound *bound, uint32_t first, uint32_t columns, int64_t *alive)
{
	const struct order_model *model = bound->model;
	CLEAR(bound->difference, (COLUMNS + 1));
	FOR(item, model->items) {
		struct row row = certain_columns(bound, item);
		add_runs(bound, &row, model->size[item]);
	}
	int64_t sum = model->base;
	FOR(column, columns) {
		uint32_t op = bound->topological[first + column];
		sum += bound->difference[column];
		alive[op] = sum + model->workspace[op];
	}
}

enum status order_bound_alive(const struct order_model *model, const uint32_t *topological,
	struct control *control, int64_t *alive)
{
	OWN(arena) arena = { 0 };
	struct bound bound = { .model = model, .topological = topological };
	NEED(ROOMS(&arena, model->ops, bound.reached, bound.reaching) && ROOM(&arena, bound.difference, COLUMNS + 1));
	uint64_t block_ticks = 2 * (uint64_t)model->pred.start[model->ops] + 2 * (uint64_t)model->users.start[model->items];
	for (uint32_t first = 0; first < model->ops; first += COLUMNS) {
		uint32_t columns = SMALLER(model->ops - first, COLUMNS);
		spread_block(&bound, first, columns);
		sum_block(&bound, first, columns, alive);
		if (control_spend(control, block_ticks / 8) && first + columns < model->ops)
			TRY(control_status(control));
	}
	return OK;
}
