/* ilp.c: how often each arc is taken, as an integer program; a walk from the counts.
 *
 * Columns are points of open buckets (once) and arcs of links (up to length times). Arcs balance at every state but the first and the
 * last one of the walk, so their counts are a walk and cycles; rows that make a cycle reach the walk are added where they are missing.
 * Any connected balanced set of arcs is a walk (Euler), and its order does not matter to cost or usage.
 */
#include <math.h>
#include <string.h>

#include "solver/base/milp.h"
#include "search.h"

#define POINTS_MAX 400000
#define COLUMNS_MAX 12000
#define ROUNDS 60
#define NODES_MOST 20000
#define NODES_LEAST 100        /* of GLPK's search tree: not begun where effort doesn't allow so many */
#define NODE_TICKS 50          /* for each row and column: about what one takes */

struct piece { uint32_t bucket, column, columns; };   /* columns are the front's points in order */

struct walk_columns {
	struct chain_front front;
	uint32_t arc, arcs;        /* columns, the points of the root in order */
	uint32_t *tail, *head, *point; /* [arcs] state with its block, blocks x states; point of the front */
	uint32_t *begin, *end;     /* [blocks * states] columns, NONE: none */
};

struct program {
	struct chain_search *search;
	struct milp milp;
	struct chain_front core;
	struct piece *piece;
	uint32_t pieces;
	struct walk_columns *walk; /* [links] */
	int64_t *cost, *usage;     /* [columns] of those that are chosen for these */
	int64_t *base;             /* [columns] what is taken off the cost in the program */
	uint32_t *value;           /* [variables of the core] column of the variable's first value, NONE: not shared */
	int64_t unit, below, bases; /* costs are less than below; bases: what they are counted from, all together */
	int64_t slack;             /* how much of the limit is not used to be safe from rounding */
	uint32_t memory_row;
	struct arena arena;
};

/* ---- columns --------------------------------------------------------------------------------------------------- */

static uint32_t add_choice(struct program *program, double high, const struct chain_point *point, int64_t base)
{
	uint32_t column = milp_add_column(&program->milp, 0, high, (double)(point->cost - base) / (double)program->unit, true);
	if (column < COLUMNS_MAX) {
		program->cost[column] = point->cost;
		program->usage[column] = point->usage;
	}
	return column;
}

static int64_t least_cost(const struct chain_point *point, uint32_t from, uint32_t to)
{
	int64_t least = INT64_MAX;
	for (uint32_t i = from; i < to; i++)
		least = point[i].cost < least ? point[i].cost : least;
	return least;
}

static void count_cost(struct program *program, uint32_t first, uint32_t last, int64_t base, uint32_t times)
{
	program->bases += base * times;
	for (uint32_t column = first; column < last && column < COLUMNS_MAX; column++)
		program->base[column] = base;
}

static void share(struct program *program, uint32_t var)
{
	if (program->value[var] != NONE)
		return;
	uint32_t domain = program->search->model->core.domain[var], first = NONE;
	for (uint32_t i = 0; i < domain; i++) {
		uint32_t column = milp_add_column(&program->milp, 0, 1, 0, false);
		first = i ? first : column;
	}
	program->value[var] = first;
	milp_add_row(&program->milp, 1, 1);
	for (uint32_t i = 0; i < domain; i++)
		milp_add_entry(&program->milp, first + i, 1);
}

static enum status add_pieces(struct program *program)
{
	const struct chain_tree *tree = &program->search->core;
	const struct chain_front *front = &program->core;
	program->piece = arena_alloc(&program->arena, tree->buckets, sizeof *program->piece);
	if (!program->piece)
		return NO_MEMORY;
	for (uint32_t i = 0; i < tree->buckets; i++) {
		const struct chain_bucket *bucket = &tree->bucket[i];
		if (!front->start[i] || (!bucket->open && bucket->var != NONE))
			continue;
		const uint32_t *start = front->start[i];
		size_t rows = chain_front_rows(front, bucket);
		struct piece *piece = &program->piece[program->pieces++];
		*piece = (struct piece) { i, program->milp.columns, start[rows] - start[0] };
		if (program->milp.columns + piece->columns >= COLUMNS_MAX)
			return LIMIT;
		int64_t base = least_cost(front->point, start[0], start[rows]);
		for (uint32_t j = start[0]; j < start[rows]; j++)
			add_choice(program, 1, &front->point[j], base);
		count_cost(program, piece->column, program->milp.columns, base, 1);
		for (uint32_t j = 0; j < bucket->count; j++)
			share(program, bucket->scope[j]);
	}
	return OK;
}

/* Arcs of a link, and columns for where its walk begins and ends. */
static enum status add_arcs(struct program *program, uint32_t number)
{
	const struct chain_link *link = &program->search->model->link[number];
	struct walk_columns *walk = &program->walk[number];
	const struct chain_tree *tree = &program->search->copy[number].tree;
	const uint32_t *start = walk->front.start[tree->buckets - 1];
	size_t states = (size_t)link->blocks * link->states, square = (size_t)link->states * link->states;
	walk->arcs = walk->front.points ? start[states * link->states] - start[0] : 0;
	walk->arc = program->milp.columns;
	if (program->milp.columns + walk->arcs + 2 * states >= COLUMNS_MAX)
		return LIMIT;
	walk->tail = arena_alloc(&program->arena, walk->arcs, sizeof *walk->tail);
	walk->head = arena_alloc(&program->arena, walk->arcs, sizeof *walk->head);
	walk->point = arena_alloc(&program->arena, walk->arcs, sizeof *walk->point);
	walk->begin = arena_alloc(&program->arena, states, sizeof *walk->begin);
	walk->end = arena_alloc(&program->arena, states, sizeof *walk->end);
	if (!walk->tail || !walk->head || !walk->point || !walk->begin || !walk->end)
		return NO_MEMORY;
	memset(walk->begin, 0xff, states * sizeof *walk->begin);
	memset(walk->end, 0xff, states * sizeof *walk->end);
	int64_t base = walk->arcs ? least_cost(walk->front.point, start[0], start[states * link->states]) : 0;
	uint32_t arc = 0;
	for (size_t row = 0; row < states * link->states && walk->arcs; row++)
		for (uint32_t i = start[row]; i < start[row + 1]; i++, arc++) {
			uint32_t block = (uint32_t)(row / square) * link->states;
			walk->tail[arc] = block + (uint32_t)(row % square / link->states);
			walk->head[arc] = block + (uint32_t)(row % link->states);
			walk->point[arc] = i;
			add_choice(program, link->length, &walk->front.point[i], base);
		}
	count_cost(program, walk->arc, program->milp.columns, base, link->length);
	for (uint32_t i = 0; i < walk->arcs; i++) {
		if (walk->begin[walk->tail[i]] == NONE)
			walk->begin[walk->tail[i]] = milp_add_column(&program->milp, 0, 1, 0, true);
		if (walk->end[walk->head[i]] == NONE)
			walk->end[walk->head[i]] = milp_add_column(&program->milp, 0, 1, 0, true);
	}
	const struct chain_factor *factor = &program->search->model->core.factor[link->factor];
	for (uint32_t i = 0; i < factor->count; i++)
		share(program, factor->var[i]);
	return OK;
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static void tie_pieces(struct program *program, uint32_t *value)
{
	const struct chain_tree *tree = &program->search->core;
	for (uint32_t i = 0; i < program->pieces; i++) {
		const struct piece *piece = &program->piece[i];
		const struct chain_bucket *bucket = &tree->bucket[piece->bucket];
		const uint32_t *start = program->core.start[piece->bucket];
		size_t rows = chain_front_rows(&program->core, bucket);
		for (uint32_t j = 0; j < (bucket->count ? bucket->count : 1); j++)
			for (uint32_t k = 0; k < (bucket->count ? tree->graph->domain[bucket->scope[j]] : 1); k++) {
				milp_add_row(&program->milp, bucket->count ? 0 : 1, bucket->count ? 0 : 1);
				if (bucket->count)
					milp_add_entry(&program->milp, program->value[bucket->scope[j]] + k, -1);
				for (size_t row = 0; row < rows; row++) {
					if (start[row] == start[row + 1])
						continue;
					chain_front_digits(&program->core, bucket, row, value);
					for (uint32_t point = start[row]; point < start[row + 1]; point++)
						if (!bucket->count || value[bucket->scope[j]] == k)
							milp_add_entry(&program->milp, piece->column + point - start[0], 1);
				}
			}
	}
}

/* Every arc that comes to a state, or the beginning, is followed by one that leaves it, or the end. */
static void balance(struct program *program, const struct walk_columns *walk, uint32_t states)
{
	for (uint32_t state = 0; state < states; state++) {
		if (walk->begin[state] == NONE && walk->end[state] == NONE)
			continue;
		milp_add_row(&program->milp, 0, 0);
		for (uint32_t i = 0; i < walk->arcs; i++)
			if ((walk->head[i] == state) != (walk->tail[i] == state))
				milp_add_entry(&program->milp, walk->arc + i, walk->head[i] == state ? 1 : -1);
		if (walk->begin[state] != NONE)
			milp_add_entry(&program->milp, walk->begin[state], 1);
		if (walk->end[state] != NONE)
			milp_add_entry(&program->milp, walk->end[state], -1);
	}
}

static void count_arcs(struct program *program, const struct chain_link *link, const struct walk_columns *walk)
{
	for (uint32_t block = 0; block < link->blocks; block++) {
		milp_add_row(&program->milp, 0, 0);
		for (uint32_t i = 0; i < walk->arcs; i++)
			if (walk->tail[i] / link->states == block)
				milp_add_entry(&program->milp, walk->arc + i, 1);
		for (uint32_t state = block * link->states; state < (block + 1) * link->states; state++)
			if (walk->begin[state] != NONE)
				milp_add_entry(&program->milp, walk->begin[state], -(double)link->length);
	}
}

/* The value of the factor's variable in an entry of the factor's table. */
static uint32_t digit(const struct chain_graph *graph, const struct chain_factor *factor, uint32_t at, size_t entry)
{
	for (uint32_t i = factor->count; --i > at;)
		entry /= graph->domain[factor->var[i]];
	return (uint32_t)(entry % graph->domain[factor->var[at]]);
}

/* The walk's ends are the values of the core's variables. */
static void tie_walk(struct program *program, const struct chain_link *link, const struct walk_columns *walk)
{
	const struct chain_graph *core = &program->search->model->core;
	const struct chain_factor *factor = &core->factor[link->factor];
	uint32_t middle = link->outs + link->tails + link->heads;
	for (uint32_t i = 0; i < factor->count; i++)
		for (uint32_t k = 0; k < core->domain[factor->var[i]]; k++) {
			const uint32_t *column = i < middle ? walk->begin : walk->end;
			milp_add_row(&program->milp, 0, 0);
			milp_add_entry(&program->milp, program->value[factor->var[i]] + k, -1);
			for (uint32_t state = 0; state < link->blocks * link->states; state++) {
				size_t block = state / link->states, within = state % link->states;
				size_t entry = (block * link->states + (i < middle ? within : 0)) * link->states + (i < middle ? 0 : within);
				if (column[state] != NONE && digit(core, factor, i, entry) == k)
					milp_add_entry(&program->milp, column[state], 1);
			}
		}
	if (factor->count)
		return;
	milp_add_row(&program->milp, 1, 1);
	if (walk->begin[0] != NONE)
		milp_add_entry(&program->milp, walk->begin[0], 1);
}

static void limit_usage(struct program *program)
{
	double limit = (double)(program->search->limit > 0 ? program->search->limit : 1);
	program->memory_row = program->milp.rows;
	milp_add_row(&program->milp, -(double)INFINITY, (double)(program->search->limit - program->slack) / limit);
	for (uint32_t i = 0; i < program->milp.columns && i < COLUMNS_MAX; i++)
		if (program->usage[i])
			milp_add_entry(&program->milp, i, (double)program->usage[i] / limit);
}

/* Only what is better than the best plan so far: most of the search tree is cut off. */
static void limit_cost(struct program *program)
{
	milp_add_row(&program->milp, -(double)INFINITY, (double)(program->below - 1 - program->bases) / (double)program->unit);
	for (uint32_t i = 0; i < program->milp.columns && i < COLUMNS_MAX; i++)
		if (program->cost[i] != program->base[i])
			milp_add_entry(&program->milp, i, (double)(program->cost[i] - program->base[i]) / (double)program->unit);
}

static enum status write_program(struct program *program)
{
	const struct chain_model *model = program->search->model;
	uint32_t *value = arena_alloc(&program->arena, model->core.vars, sizeof *value);
	program->value = arena_alloc(&program->arena, model->core.vars, sizeof *program->value);
	program->cost = arena_alloc(&program->arena, COLUMNS_MAX, sizeof *program->cost);
	program->usage = arena_alloc(&program->arena, COLUMNS_MAX, sizeof *program->usage);
	program->base = arena_alloc(&program->arena, COLUMNS_MAX, sizeof *program->base);
	if (!value || !program->value || !program->cost || !program->usage || !program->base)
		return NO_MEMORY;
	memset(program->value, 0xff, model->core.vars * sizeof *program->value);
	enum status status = add_pieces(program);
	for (uint32_t i = 0; i < model->links && status == OK; i++)
		status = add_arcs(program, i);
	if (status != OK || program->milp.columns >= COLUMNS_MAX)
		return status != OK ? status : LIMIT;
	tie_pieces(program, value);
	for (uint32_t i = 0; i < model->links; i++) {
		balance(program, &program->walk[i], model->link[i].blocks * model->link[i].states);
		count_arcs(program, &model->link[i], &program->walk[i]);
		tie_walk(program, &model->link[i], &program->walk[i]);
	}
	limit_usage(program);
	limit_cost(program);
	return OK;
}

/* ---- connectivity ---------------------------------------------------------------------------------------------- */

/* Marks the states that used arcs join with this one, whatever their direction. */
static void reach(const struct walk_columns *walk, const uint32_t *times, uint32_t state, uint32_t mark, uint32_t *marks)
{
	bool changed = true;
	marks[state] = mark;
	while (changed) {
		changed = false;
		for (uint32_t i = 0; i < walk->arcs; i++) {
			uint32_t a = walk->tail[i], b = walk->head[i];
			if (!times[i] || (marks[a] == mark) == (marks[b] == mark))
				continue;
			marks[a] = marks[b] = mark;
			changed = true;
		}
	}
}

static void cut(struct program *program, const struct chain_link *link, const struct walk_columns *walk, const uint32_t *marks, uint32_t mark)
{
	milp_add_row(&program->milp, 0, (double)INFINITY);
	for (uint32_t i = 0; i < walk->arcs; i++) {
		bool from = marks[walk->tail[i]] == mark, to = marks[walk->head[i]] == mark;
		if (to)
			milp_add_entry(&program->milp, walk->arc + i, from ? -1.0 / link->length : 1);
	}
	for (uint32_t state = 0; state < link->blocks * link->states; state++)
		if (marks[state] == mark && walk->begin[state] != NONE)
			milp_add_entry(&program->milp, walk->begin[state], 1);
}

/* Adds a row for every set of arcs that the walk does not reach; how many, or NONE: out of memory. */
static uint32_t add_cuts(struct program *program, uint32_t number, const double *solution)
{
	const struct chain_link *link = &program->search->model->link[number];
	const struct walk_columns *walk = &program->walk[number];
	uint32_t states = link->blocks * link->states, cuts = 0;
	uint32_t *times = mem_alloc(walk->arcs, sizeof *times), *marks = mem_alloc(states, sizeof *marks);
	for (uint32_t i = 0; i < walk->arcs && times && marks; i++)
		times[i] = (uint32_t)lround(solution[walk->arc + i]);
	for (uint32_t state = 0; state < states && times && marks; state++)
		if (walk->begin[state] != NONE && solution[walk->begin[state]] > 0.5)
			reach(walk, times, state, 1, marks);
	for (uint32_t i = 0; i < walk->arcs && times && marks; i++)
		if (times[i] && !marks[walk->tail[i]]) {
			reach(walk, times, walk->tail[i], 2 + cuts, marks);
			cut(program, link, walk, marks, 2 + cuts++);
		}
	bool full = times && marks;
	mem_free(times);
	mem_free(marks);
	return full ? cuts : NONE;
}

/* ---- the choice ------------------------------------------------------------------------------------------------ */

/* Hierholzer's algorithm: arcs in the order of a walk, from the back. */
static enum status order_arcs(const struct walk_columns *walk, uint32_t states, uint32_t begin, uint32_t *times, uint32_t length, uint32_t *order)
{
	struct arena arena = { 0 };
	uint32_t *state = arena_alloc(&arena, (size_t)length + 2, sizeof *state), *arc = arena_alloc(&arena, (size_t)length + 2, sizeof *arc);
	uint32_t *next = arena_alloc(&arena, states, sizeof *next), depth = 1, left = length;
	struct csr leaving;
	uint32_t *item = arena_alloc(&arena, walk->arcs, sizeof *item);
	enum status status = state && arc && next && item ? OK : NO_MEMORY;
	for (uint32_t i = 0; i < walk->arcs && status == OK; i++)
		item[i] = i;
	if (status == OK)
		status = csr_of_pairs(&arena, states, walk->arcs, walk->tail, item, &leaving);
	if (status == OK) {
		state[0] = begin;
		arc[0] = NONE;
	}
	while (status == OK && depth) {
		uint32_t here = state[depth - 1];
		while (next[here] < csr_length(&leaving, here) && !times[leaving.item[leaving.start[here] + next[here]]])
			next[here]++;
		if (next[here] < csr_length(&leaving, here)) {
			uint32_t taken = leaving.item[leaving.start[here] + next[here]];
			times[taken]--;
			state[depth] = walk->head[taken];
			arc[depth++] = taken;
		} else if (arc[--depth] != NONE) {
			order[--left] = arc[depth];
		}
	}
	arena_free(&arena);
	return status;
}

static enum status read_path(struct program *program, uint32_t number, const double *solution, struct chain_choice *choice)
{
	const struct chain_link *link = &program->search->model->link[number];
	const struct walk_columns *walk = &program->walk[number];
	const struct chain_tree *tree = &program->search->copy[number].tree;
	struct chain_path *path = &choice->path[number];
	uint32_t *times = arena_alloc(&program->arena, walk->arcs, sizeof *times), *kind = arena_alloc(&program->arena, walk->arcs, sizeof *kind);
	uint32_t begin = NONE;
	path->arc = arena_alloc(&choice->arena, link->length, sizeof *path->arc);
	path->value = arena_alloc(&choice->arena, walk->arcs, sizeof *path->value);
	if (!times || !kind || !path->arc || !path->value)
		return NO_MEMORY;
	for (uint32_t state = 0; state < link->blocks * link->states; state++)
		if (walk->begin[state] != NONE && solution[walk->begin[state]] > 0.5)
			begin = state;
	for (uint32_t i = 0; i < walk->arcs; i++) {
		times[i] = (uint32_t)lround(solution[walk->arc + i]);
		if (!times[i])
			continue;
		uint32_t *value = arena_alloc(&choice->arena, link->graph.vars, sizeof *value);
		if (!value)
			return NO_MEMORY;
		size_t row = (size_t)walk->tail[i] * link->states + walk->head[i] % link->states;
		chain_front_digits(&walk->front, &tree->bucket[tree->buckets - 1], row, value);
		chain_front_decode(&walk->front, tree->buckets - 1, walk->point[i], value, NULL);
		kind[i] = path->kinds;
		path->value[path->kinds++] = value;
	}
	enum status status = order_arcs(walk, link->blocks * link->states, begin, times, link->length, path->arc);
	for (uint32_t i = 0; i < link->length && status == OK; i++)
		path->arc[i] = kind[path->arc[i]];
	return status;
}

static enum status read_choice(struct program *program, const double *solution, struct chain_choice *choice)
{
	const struct chain_search *search = program->search;
	const struct chain_tree *tree = &search->core;
	*choice = (struct chain_choice) { 0 };
	choice->core = arena_alloc(&choice->arena, search->model->core.vars, sizeof *choice->core);
	choice->path = arena_alloc(&choice->arena, search->model->links, sizeof *choice->path);
	if (!choice->core || !choice->path)
		return NO_MEMORY;
	for (uint32_t var = 0; var < search->model->core.vars; var++)
		for (uint32_t i = 0; program->value[var] != NONE && i < search->model->core.domain[var]; i++)
			if (solution[program->value[var] + i] > 0.5)
				choice->core[var] = i;
	for (uint32_t i = 0; i < program->pieces; i++) {
		const struct piece *piece = &program->piece[i];
		uint32_t first = program->core.start[piece->bucket][0];
		for (uint32_t j = 0; j < piece->columns; j++) {
			if (solution[piece->column + j] < 0.5)
				continue;
			uint32_t row = 0;
			while (program->core.start[piece->bucket][row + 1] <= first + j)
				row++;
			chain_front_digits(&program->core, &tree->bucket[piece->bucket], row, choice->core);
			chain_front_decode(&program->core, piece->bucket, first + j, choice->core, NULL);
		}
	}
	enum status status = OK;
	for (uint32_t i = 0; i < search->model->links && status == OK; i++)
		status = read_path(program, i, solution, choice);
	if (status == OK)
		chain_choice_sum(search->model, choice);
	return status;
}

/* ---- solving --------------------------------------------------------------------------------------------------- */

/* Solves, adds what is missing, and solves again. */
static enum status solve(struct program *program, struct chain_choice *choice, bool *tried)
{
	struct control *control = program->search->control;
	enum status status = OK;
	*tried = true;
	for (int round = 0; round < ROUNDS; round++) {
		uint64_t size = program->milp.rows + program->milp.columns + UINT64_C(1);
		uint64_t nodes = control->limit > control->ticks ? (control->limit - control->ticks) / (size * NODE_TICKS) : 0;
		struct milp_limits limits = { .nodes = (uint32_t)(nodes < NODES_MOST ? nodes : NODES_MOST) };
		if (nodes < NODES_LEAST)
			break;
		struct milp_solution solution;
		uint32_t cuts = 0;
		uint64_t before = control->ticks;
		status = milp_solve(&program->milp, &limits, control, &solution);
		/* A node is charged as one look at the program; it takes longer. */
		control_spend(control, (control->ticks - before) / size * NODE_TICKS * size);
		*tried &= status == OK || status == INFEASIBLE;
		bool have = (status == OK || status == LIMIT) && solution.value;
		for (uint32_t i = 0; i < program->search->model->links && have && cuts != NONE; i++) {
			uint32_t more = add_cuts(program, i, solution.value);
			cuts = more == NONE ? NONE : cuts + more;
		}
		if (cuts == NONE)
			status = NO_MEMORY;
		else if (have && !cuts)
			status = read_choice(program, solution.value, choice);
		milp_solution_free(&solution);
		if (!have || cuts == NONE || status == NO_MEMORY)
			return status;
		if (cuts)
			continue;
		if (choice->usage <= program->search->limit)
			return OK;
		/* Within GLPK's tolerance only: ask for a little more room. */
		program->slack += choice->usage - program->search->limit;
		program->milp.row[program->memory_row].high = (double)(program->search->limit - program->slack) / (double)(program->search->limit > 0 ?
			program->search->limit : 1);
		chain_choice_free(choice);
		*tried = false;
	}
	*tried = false;
	return LIMIT;
}

static enum status build_fronts(struct program *program, int64_t most)
{
	struct chain_search *search = program->search;
	uint32_t links = search->model->links;
	struct chain_room room = { POINTS_MAX, 0, 0 };
	program->walk = arena_alloc(&program->arena, links, sizeof *program->walk);
	enum status status = program->walk ? chain_front_build(&program->core, &search->core, NULL, most, room, search->control) : NO_MEMORY;
	for (uint32_t i = 0; i < links && status == OK; i++)
		status = chain_front_build(&program->walk[i].front, &search->copy[i].tree, NULL, most, room, search->control);
	return status;
}

enum status chain_ilp(struct chain_search *search, int64_t most, int64_t below, int64_t unit, struct chain_choice *choice, bool *tried,
	uint32_t *arcs)
{
	struct program program = { .search = search, .below = below, .unit = unit > 0 ? unit : 1 };
	*choice = (struct chain_choice) { 0 };
	*tried = false;
	enum status status = build_fronts(&program, most);
	if (status == OK)
		status = write_program(&program);
	if (status == OK)
		status = solve(&program, choice, tried);
	*arcs = 0;
	for (uint32_t i = 0; i < search->model->links && program.walk; i++) {
		*arcs += program.walk[i].arcs;
		chain_front_free(&program.walk[i].front);
	}
	chain_front_free(&program.core);
	milp_free(&program.milp);
	arena_free(&program.arena);
	if (status != OK)
		chain_choice_free(choice);
	return status;
}
