/* search.c: exact search for an order that stays within a threshold.
 *
 * A state is the set of ops that have run. From a state every ready op that fits under the threshold leads on. Most
 * states need no choice:
 *   safe move (T3)  a ready op that fits and does not raise the live bytes may run at once
 *   safe run (T4)   so may an op and what it alone makes ready, when the way fits and ends no higher than it began:
 *                   the end is then the lowest of all states between, and reaching it loses nothing
 * A blocked state remembers the least threshold that would let it go on, so that the least of all of them is a lower
 * bound once everything is searched, and raising the threshold continues where the search stopped. */

#include "job.h"

#define NO_STATE UINT32_MAX
#define RUN_LENGTH 12      /* ops on the way that a safe run is sought over, safe moves not counted */

struct state {
	uint64_t hash[2];
	int64_t live;
	int64_t blocked;       /* the least live bytes of an op that did not fit; INT64_MAX: none */
	uint64_t first;        /* its ops after its parent's: move[first .. first + moves - 1] */
	uint32_t moves, parent, depth;
};

struct search {
	struct order_walk walk;
	const struct order_model *model;
	const struct order_search_limits *limits;
	struct control *control;
	int64_t threshold;
	/* the walk's state */
	uint32_t *ready, *ready_place; /* ops that may run; op -> index or NONE */
	uint32_t *calm, *calm_place;   /* ready ops that do not raise the live bytes */
	uint32_t ready_count, calm_count;
	uint32_t *trail;               /* ops run, in order */
	uint32_t done;
	uint64_t hash[2];
	uint32_t at;                   /* the state where the walk stands, NO_STATE: between states */
	/* all states */
	struct state *state;
	uint32_t count, room;
	uint32_t *move;
	uint64_t move_count;
	size_t move_room;
	uint32_t *table, table_size;   /* hash -> state + 1 */
	uint32_t *stack, depth;        /* states to expand */
	uint32_t *children, child_count;
	uint32_t *way;                 /* scratch: states from one to another */
	uint32_t *option;              /* scratch [ops]: the ready ops of the state that is expanded */
	uint32_t found;                /* a state in which everything has run, or NO_STATE */
	uint64_t spent;                /* ticks since the last look at the control */
	struct arena arena;
};

/* ---- the walk ---- */

static void order_search_list_add(uint32_t *list, uint32_t *place, uint32_t *count, uint32_t op)
{
	if (place[op] != NONE)
		return;
	place[op] = *count;
	list[(*count)++] = op;
}

static void list_drop(uint32_t *list, uint32_t *place, uint32_t *count, uint32_t op)
{
	if (place[op] == NONE)
		return;
	uint32_t last = list[--*count];
	list[place[op]] = last;
	place[last] = place[op];
	place[op] = NONE;
}

/* Puts a ready op into or out of the calm ones. */
static void sort_in(struct search *search, uint32_t op)
{
	if (search->ready_place[op] != NONE && order_walk_growth(&search->walk, op) <= 0)
		order_search_list_add(search->calm, search->calm_place, &search->calm_count, op);
	else
		list_drop(search->calm, search->calm_place, &search->calm_count, op);
}

static void set_ready(struct search *search, uint32_t op, bool ready)
{
	if (ready)
		order_search_list_add(search->ready, search->ready_place, &search->ready_count, op);
	else
		list_drop(search->ready, search->ready_place, &search->ready_count, op);
	sort_in(search, op);
}

static void toggle_hash(struct search *search, uint32_t op)
{
	search->hash[0] ^= hash_mix(op + UINT64_C(0x2545f4914f6cdd1d));
	search->hash[1] ^= hash_mix(~(uint64_t)op * UINT64_C(0x9e6c63d0876a9a47));
}

static void sort_changed(struct search *search)
{
	FOR(i, search->walk.changes)
		if (search->ready_place[search->walk.changed[i]] != NONE)
			sort_in(search, search->walk.changed[i]);
	search->spent += 4 + search->walk.changes;
}

static void order_search_run(struct search *search, uint32_t op)
{
	const struct csr *succ = &search->model->succ;
	order_walk_run(&search->walk, op);
	set_ready(search, op, false);
	sort_changed(search);
	FOR_ITEMS(after, succ, op)
		if (search->walk.waiting[after] == 0)
			set_ready(search, after, true);
	toggle_hash(search, op);
	search->trail[search->done++] = op;
}

static void order_search_take_back(struct search *search)
{
	const struct csr *succ = &search->model->succ;
	uint32_t op = search->trail[--search->done];
	FOR_ITEMS(after, succ, op)
		if (search->walk.waiting[after] == 0)
			set_ready(search, after, false);
	order_walk_undo(&search->walk, op);
	sort_changed(search);
	set_ready(search, op, true);
	toggle_hash(search, op);
}

static bool order_search_fits(const struct search *search, uint32_t op)
{
	return search->walk.live + order_walk_need(&search->walk, op) <= search->threshold;
}

/* ---- safe moves and runs ---- */

static bool depends_on(const struct search *search, uint32_t op, const uint32_t *since, uint32_t count)
{
	FOR_ITEMS(before, &search->model->pred, op)
		FOR(j, count)
			if (before == since[j])
				return true;
	return false;
}

/* Runs calm ops that fit until there are none: all, or those that became ready through ops run since `from` on the
 * trail. */
static void run_safe_moves(struct search *search, bool all, uint32_t from)
{
	for (uint32_t i = 0; i < search->calm_count;) {
		uint32_t op = search->calm[i];
		search->spent++;
		if (order_search_fits(search, op) &&
			(all || depends_on(search, op, search->trail + from, search->done - from))) {
			order_search_run(search, op);
			i = 0;
		} else {
			i++;
		}
	}
}

/* Among ops that depend on the ops run since `from`: the fitting one that grows least, or NONE. */
static uint32_t next_of_run(const struct search *search, uint32_t from)
{
	uint32_t best = NONE;
	FOR_FROM(i, from, search->done)
		FOR_ITEMS(op, &search->model->succ, search->trail[i]) {
			if (search->ready_place[op] == NONE || !order_search_fits(search, op))
				continue;
			int64_t growth = order_walk_growth(&search->walk, op);
			if (best == NONE || growth < order_walk_growth(&search->walk, best)
			    || (growth == order_walk_growth(&search->walk, best) && op < best))
				best = op;
		}
	return best;
}

/* Runs op and on from it, if that leads back to the live bytes it started from; else leaves the state as it is.
 *
 * The way is a chain of stages: each stage's op depends on the stage before, and its safe moves on the op. A state
 * between start and end that lacks a stage's op lies within the stages before it; adding what it lacks of those
 * only lowers it, and they end above the start: so no state between is lower than the end. */
static bool run_safely(struct search *search, uint32_t op)
{
	uint32_t start = search->done;
	int64_t live = search->walk.live;
	FOR_WHILE(length, RUN_LENGTH, op != NONE) {
		uint32_t stage = search->done;
		order_search_run(search, op);
		run_safe_moves(search, false, stage);
		if (search->walk.live <= live)
			return true;
		op = next_of_run(search, stage);
	}
	while (search->done > start)
		order_search_take_back(search);
	return false;
}

/* Everything that may run without a choice. */
static void close_state(struct search *search)
{
	run_safe_moves(search, true, 0);
	for (uint32_t i = 0; i < search->ready_count;) {
		uint32_t op = search->ready[i];
		search->spent++;
		if (order_search_fits(search, op) && run_safely(search, op)) {
			run_safe_moves(search, true, 0);
			i = 0;
		} else {
			i++;
		}
	}
}

/* ---- states ---- */

static uint32_t *order_search_table_slot(const struct search *search, const uint64_t hash[2])
{
	uint32_t mask = search->table_size - 1, slot = (uint32_t)hash[0] & mask;
	while (search->table[slot]) {
		const struct state *state = &search->state[search->table[slot] - 1];
		if (state->hash[0] == hash[0] && state->hash[1] == hash[1])
			break;
		slot = (slot + 1) & mask;
	}
	return &search->table[slot];
}

static bool grow_states(struct search *search)
{
	uint32_t room = search->room ? 2 * search->room : 256;
	struct state *state = mem_resize(search->state, room, sizeof *state);
	search->state = state ? state : search->state;
	uint32_t *stack = state ? mem_resize(search->stack, room, sizeof *stack) : NULL;
	search->stack = stack ? stack : search->stack;
	uint32_t *children = stack ? mem_resize(search->children, room, sizeof *children) : NULL;
	search->children = children ? children : search->children;
	uint32_t *way = children ? mem_resize(search->way, room, sizeof *way) : NULL;
	search->way = way ? way : search->way;
	uint32_t *table = way ? mem_alloc(2 * (size_t)room, sizeof *table) : NULL;
	if (!table)
		return false;
	mem_free(search->table);
	search->table = table;
	search->table_size = 2 * room;
	search->room = room;
	FOR(i, search->count)
		*order_search_table_slot(search, search->state[i].hash) = i + 1;
	return true;
}

/* Notes the walk's state, reached from parent by what the trail holds since `from`. *id: NO_STATE if it is known. */
static enum status note_state(struct search *search, uint32_t parent, uint32_t from, uint32_t *id)
{
	*id = NO_STATE;
	if (search->count == search->room && !grow_states(search))
		return NO_MEMORY;
	uint32_t *slot = order_search_table_slot(search, search->hash), moves = search->done - from;
	if (*slot)
		return OK;
	if (search->count >= search->limits->states || search->move_count + moves > search->limits->moves)
		return LIMIT;
	NEED(GROWN(search->move, search->move_room, search->move_count + moves));
	*id = search->count++;
	*slot = *id + 1;
	if (search->done == search->model->ops)
		search->found = *id;
	search->state[*id] = (struct state) {
		.hash = { search->hash[0], search->hash[1] }, .live = search->walk.live, .blocked = INT64_MAX,
		.first = search->move_count, .moves = moves, .parent = parent,
		.depth = parent == NO_STATE ? 0 : search->state[parent].depth + 1,
	};
	COPY(search->move + search->move_count, search->trail + from, moves);
	search->move_count += moves;
	return OK;
}

/* Moves the walk to a state: back to the common ancestor, then forward. */
static void order_search_go_to(struct search *search, uint32_t target)
{
	uint32_t length = 0, at = search->at;
	const struct state *state = search->state;
	while (at != target) {
		if (at == NO_STATE || (target != NO_STATE && state[target].depth > state[at].depth)) {
			search->way[length++] = target;
			target = state[target].parent;
		} else {
			FOR(i, state[at].moves)
				order_search_take_back(search);
			at = state[at].parent;
		}
	}
	while (length > 0) {
		at = search->way[--length];
		FOR(i, state[at].moves)
			order_search_run(search, search->move[state[at].first + i]);
	}
	search->at = at;
}

/* ---- expanding ---- */

/* Tells the control what was spent, now and then: what one state leads to may take as long as all the rest. */
static enum status look_up(struct search *search)
{
	if (search->spent <= 4096)
		return OK;
	bool stop = control_spend(search->control, search->spent / 2);
	search->spent = 0;
	return stop ? control_status(search->control) : OK;
}

/* Tries one ready op from the state where the walk stands. */
static enum status try_op(struct search *search, uint32_t op)
{
	uint32_t parent = search->at, from = search->done, child;
	order_search_run(search, op);
	close_state(search);
	enum status status = note_state(search, parent, from, &child);
	if (status == OK && child != NO_STATE)
		search->children[search->child_count++] = child;
	while (search->done > from)
		order_search_take_back(search);
	return status;
}

/* Pushes the children so that the lowest is expanded first. */
static void push_children(struct search *search)
{
	uint32_t *child = search->children, count = search->child_count;
	FOR_FROM(i, 1, count) {
		uint32_t id = child[i], j = i;
		for (; j > 0 && search->state[child[j - 1]].live < search->state[id].live; j--)
			child[j] = child[j - 1];
		child[j] = id;
	}
	FOR(i, count)
		search->stack[search->depth++] = child[i];
}

static enum status order_search_expand(struct search *search, uint32_t id)
{
	order_search_go_to(search, id);
	uint32_t from = search->done, closed;
	search->child_count = 0;
	search->state[id].blocked = INT64_MAX;
	close_state(search);
	if (search->done > from) {
		/* A raised threshold made moves safe that were not: one child, and no choice. */
		enum status status = note_state(search, id, from, &closed);
		while (search->done > from)
			order_search_take_back(search);
		if (status == OK && closed != NO_STATE)
			search->stack[search->depth++] = closed;
		return status;
	}
	int64_t blocked = INT64_MAX;
	/* Trying an op puts it back elsewhere in the list: work on a copy of it. */
	uint32_t count = search->ready_count;
	COPY(search->option, search->ready, count);
	enum status status = OK;
	FOR_WHILE(i, count, status == OK) {
		uint32_t op = search->option[i];
		int64_t live = search->walk.live + order_walk_need(&search->walk, op);
		if (live > search->threshold)
			blocked = SMALLER(live, blocked);
		else if ((status = try_op(search, op)) == OK)
			status = look_up(search);
	}
	search->state[id].blocked = blocked;
	push_children(search);
	return status;
}

/* Expands states until everything has run, none is left, or a limit is met. */
static enum status expand_all(struct search *search)
{
	while (search->depth > 0 && search->found == NO_STATE) {
		enum status status = order_search_expand(search, search->stack[--search->depth]);
		TRY(status == OK ? look_up(search) : status);
	}
	return search->found == NO_STATE ? INFEASIBLE : OK;
}

/* The least threshold that lets any state go on; INT64_MAX: none would. */
static int64_t least_blocked(const struct search *search)
{
	int64_t least = INT64_MAX;
	FOR(id, search->count)
		least = SMALLER(search->state[id].blocked, least);
	return least;
}

/* Raises the threshold and puts the states that it frees back to work. */
static void raise_threshold(struct search *search, int64_t threshold)
{
	search->threshold = threshold;
	FOR_DOWN(id, search->count)
		if (search->state[id].blocked <= threshold)
			search->stack[search->depth++] = id;
}

static enum status search_start(struct search *search, const struct order_model *model,
	const struct order_search_limits *limits, struct control *control)
{
	struct arena *arena = &search->arena;
	*search = (struct search) { .model = model, .limits = limits, .control = control, .at = NO_STATE, .found = NO_STATE };
	NEED(order_walk_start(&search->walk, model, arena) == OK);
	NEED(ROOMS(arena, model->ops, search->ready, search->ready_place, search->calm, search->calm_place, search->trail,
		search->option));
	FOR(op, model->ops)
		search->ready_place[op] = search->calm_place[op] = NONE;
	FOR(op, model->ops)
		if (search->walk.waiting[op] == 0)
			set_ready(search, op, true);
	return OK;
}

static void search_end(struct search *search)
{
	mem_free(search->state);
	mem_free(search->move);
	mem_free(search->table);
	mem_free(search->stack);
	mem_free(search->children);
	mem_free(search->way);
	arena_free(&search->arena);
}

enum status order_search_least(const struct order_model *model, int64_t ceiling,
	const struct order_search_limits *limits, struct control *control, uint32_t *order, int64_t *bound,
	uint32_t *states)
{
	struct search search;
	uint32_t root;
	enum status status = search_start(&search, model, limits, control);
	search.threshold = LARGER(*bound, search.walk.live);
	if (status == OK && search.threshold > ceiling) {
		*bound = search.threshold;
		status = INFEASIBLE;
	}
	THEN(status, note_state(&search, NO_STATE, 0, &root));
	if (status == OK) {
		search.at = root;
		search.stack[search.depth++] = root;
		while ((status = expand_all(&search)) == INFEASIBLE) {
			*bound = least_blocked(&search);
			if (*bound > ceiling)
				break;
			raise_threshold(&search, *bound);
		}
	}
	if (status == OK) {
		order_search_go_to(&search, search.found);
		COPY(order, search.trail, model->ops);
		*bound = search.threshold;
	}
	*states = search.count;
	search_end(&search);
	return status;
}

enum status order_search_within(const struct order_model *model, int64_t threshold,
	const struct order_search_limits *limits, struct control *control, uint32_t *order, int64_t *bound,
	uint32_t *states)
{
	*bound = threshold;
	return order_search_least(model, threshold, limits, control, order, bound, states);
}
