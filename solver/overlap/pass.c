/* pass.c: list scheduling along an order that keeps the memory limit.
 *
 * The rest of the order is what makes a choice safe: an op at place p runs now, at place c, if all ops between, which
 * run one place later then, keep the limit with its results alive. What it was the last to need is free from then on.
 */

#include "overlap.h"
#include "solver/base/sort.h"

#define TRIES 12           /* ops that a place is offered before the next of the order gets it */

/* Ops with nothing missing: what takes computation no time, what can run now, what would wait, and what is too far away
 * in the order to be offered yet: parameters that would be gathered too early apart. What is near stays near, since ops
 * that are taken forward come from behind. */
enum pool { POOL_FREE, POOL_READY, POOL_WAITS, POOL_FAR, POOL_FAR_GATHERS, POOLS };

struct passing {
	const struct overlap_terms *terms;
	const struct overlap_rule *rule;
	const struct problem *problem;
	const struct step_costs *costs;
	const uint32_t *release;
	uint32_t *order;              /* [ops] done up to `at` */
	uint32_t *line, *slot;        /* [ops] slots with what is left as it would run, among what is done; op -> slot */
	uint32_t at, first;           /* the slot of the first op that is left */
	uint32_t gone, high;          /* ops done behind it, and the last slot of one */
	uint32_t far[2];              /* the last slots that are not far away: the window's, that of gathers */
	int64_t now;                  /* computation is free */
	int64_t link[STREAMS_MAX];    /* and each link */
	int64_t *ready, *end, *begin; /* [ops] picoseconds */
	uint32_t *missing;            /* [ops] that must be done before it; NONE: it is done itself */
	uint32_t *rank;               /* [ops] place in the order that it goes along */
	int64_t *live;                /* [ops] by slot: bytes while the op runs; of those done far below any limit */
	int64_t *relief;              /* [ops + 1] by slot: scratch, 0 between uses */
	uint32_t *mark;               /* [ops + 1] where it is not */
	struct order_heap pool[POOLS];
	uint8_t *in;                  /* [ops] which of them, whose places and keys are the same lists: it's in one at most */
	uint32_t *left;               /* [items] users that are not done */
	int64_t alive;                /* bytes between two ops */
	uint32_t last;                /* the last op that computed, or NONE */
	uint32_t worst;               /* the slot of an op before which another one did not fit */
};

#define PASS_DONE (INT64_MIN / 2)

/* ---- what passes share ---- */

/* Whether no order is above the limit: all that is ever alive, at once. */
static bool is_roomy(const struct overlap_request *request)
{
	const struct problem *problem = request->problem;
	int64_t left = request->limit - problem->base, workspace = 0;
	FOR_WHILE(item, problem->items, left >= 0)
		left -= problem->size[item];
	FOR(op, problem->ops)
		workspace = larger_of(workspace, problem->workspace[op]);
	return left >= workspace;
}

static enum status pass_make_room(struct arena *arena, const struct problem *problem, struct passing *passing)
{
	uint32_t ops = problem->ops;
	NEED(ROOMS(arena, ops + (size_t)1, passing->missing, passing->rank, passing->mark, passing->line, passing->slot,
		passing->live, passing->ready, passing->end, passing->begin, passing->relief) &&
		ROOM(arena, passing->left, problem->items) && ROOM(arena, passing->in, ops));
	TRY(order_heap_init(passing->pool, ops, arena));
	FOR_INT(p, POOLS - 1) {
		passing->pool[p + 1] = passing->pool[0];
		NEED(ROOM(arena, passing->pool[p + 1].op, ops));
	}
	return OK;
}

static void pass_find_bytes(const struct problem *problem, struct overlap_terms *terms)
{
	FOR(op, problem->ops) {
		terms->adds[op] = problem->workspace[op];
		FOR_ITEMS(item, &problem->products, op) {
			terms->adds[op] += problem->size[item];
			terms->stays[op] += problem->live_out[item] || csr_length(&problem->users, item) > 0 ? problem->size[item] : 0;
		}
	}
}

enum status overlap_terms_find(const struct overlap_request *request, struct overlap_terms *terms)
{
	const struct graph *graph = request->graph;
	const struct step_costs *costs = request->costs;
	const uint32_t *program = request->problem->program;
	*terms = (struct overlap_terms) { .request = request, .roomy = is_roomy(request) };
	NEED(ROOMS(&terms->arena, graph->ops, terms->whole, terms->tail, terms->early, terms->stays, terms->adds) &&
		ROOM(&terms->arena, terms->room, 1));
	pass_find_bytes(request->problem, terms);
	FOR(p, graph->ops) {
		uint32_t op = program[p];
		terms->early[op] = (costs->stream[op] > 0 || costs->time[op] == 0) && graph_operands(graph, op) > 0;
		FOR_ITEMS(before, &graph->pred, op)
			terms->early[op] &= terms->early[before];
	}
	FOR_DOWN(p, graph->ops) {
		uint32_t op = program[p];
		terms->whole[op] = costs->time[op];
		FOR(a, costs->axes)
			terms->whole[op] += costs->inside[(size_t)op * costs->axes + a];
		FOR_ITEMS(item, &graph->succ, op) {
			int64_t after = terms->tail[item];
			terms->tail[op] = LARGER(after, terms->tail[op]);
		}
		terms->tail[op] += terms->whole[op];
	}
	return pass_make_room(&terms->arena, request->problem, terms->room);
}

void overlap_terms_free(struct overlap_terms *terms)
{
	arena_free(&terms->arena);
}

/* ---- bytes ---- */

static bool pass_computes(const struct passing *passing, uint32_t op)
{
	return passing->costs->stream[op] == 0 && passing->costs->time[op] > 0;
}

static bool pass_sends(const struct passing *passing, uint32_t op)
{
	return passing->costs->stream[op] > 0 && passing->costs->time[op] > 0;
}

static bool pass_is_done(const struct passing *passing, uint32_t op)
{
	return passing->missing[op] == NONE;
}

/* The last slot below `to`, that of op, at which another op that is left needs the item; -1: none does; `to` where one
 * behind it does. */
static int64_t other_use(const struct passing *passing, uint32_t item, uint32_t op, uint32_t to)
{
	const struct csr *users = &passing->problem->users;
	int64_t last = -1;
	/* backwards: of what all layers use the last one mostly needs it behind `to` */
	for (uint32_t i = users->start[item + 1]; i-- > users->start[item];) {
		uint32_t user = users->item[i];
		if (user == op || pass_is_done(passing, user))
			continue;
		if (passing->slot[user] > to)
			return to;
		last = LARGER(passing->slot[user], last);
	}
	return last;
}

/* Bytes that the op of a slot is spared if op runs before it. */
static int64_t relief_at(const struct passing *passing, uint32_t op, uint32_t slot)
{
	const struct problem *problem = passing->problem;
	int64_t bytes = 0;
	FOR_ITEMS(item, &problem->uses, op)
		if (!problem->live_out[item] && other_use(passing, item, op, passing->slot[op]) < slot)
			bytes += problem->size[item];
	return bytes;
}

/* relief[s]: bytes that ops from the slot s on are spared, but not those before, if op runs before them. Returns how
 * many slots have such. */
static uint32_t pass_find_relief(struct passing *passing, uint32_t op)
{
	const struct problem *problem = passing->problem;
	uint32_t to = passing->slot[op], marks = 0;
	FOR_ITEMS(item, &problem->uses, op) {
		int64_t last = problem->live_out[item] || problem->size[item] == 0 ? to : other_use(passing, item, op, to);
		if (last + 1 >= to)
			continue;
		uint32_t slot = (uint32_t)larger_of(last + 1, passing->first);
		if (passing->relief[slot] == 0)
			passing->mark[marks++] = slot;
		passing->relief[slot] += problem->size[item];
	}
	return marks;
}

/* Whether op may run now; then live[] is as if it did, else nothing changes. */
static bool move_live(struct passing *passing, uint32_t op)
{
	uint32_t to = passing->slot[op], worst = passing->worst;
	int64_t limit = passing->terms->request->limit, stays = passing->terms->stays[op], more = stays;
	/* most often it's where the last one didn't fit that the next one doesn't, too */
	if (passing->alive + passing->terms->adds[op] > limit ||
		(worst < to && passing->live[worst] + stays - relief_at(passing, op, worst) > limit))
		return false;
	uint32_t marks = pass_find_relief(passing, op), slot = passing->first;
	for (; slot < to; slot++) {
		more -= passing->relief[slot];
		if (passing->live[slot] + more > limit)
			break;
	}
	bool fits = slot == to;
	passing->worst = fits ? worst : slot;
	more = stays;
	for (slot = passing->first; fits && slot < to; slot++) {
		more -= passing->relief[slot];
		passing->live[slot] += more;
	}
	while (marks > 0)
		passing->relief[passing->mark[--marks]] = 0;
	return fits;
}

/* Whether op may run now, before all that is left. */
static bool take_forward(struct passing *passing, uint32_t op)
{
	return passing->slot[op] == passing->first || passing->terms->roomy || move_live(passing, op);
}

/* ---- time ---- */

static void run_collective(struct passing *passing, uint32_t op)
{
	int64_t *link = &passing->link[passing->costs->stream[op]], from = passing->ready[op];
	/* As the simulation has it: not before the op in front of it in the order begins; parameters are gathered a layer
	 * ahead. */
	uint32_t after = passing->terms->early[op] ? passing->release[op] : passing->last;
	if (after != NONE && !pass_is_done(passing, after))
		after = passing->last;
	if (after != NONE && passing->begin[after] > from)
		from = passing->begin[after];
	passing->begin[op] = LARGER(from, *link);
	*link = passing->end[op] = passing->begin[op] + passing->costs->time[op];
}

static void pass_run_op(struct passing *passing, uint32_t op)
{
	if (pass_sends(passing, op)) {
		run_collective(passing, op);
	} else if (passing->costs->time[op] == 0) {
		passing->begin[op] = passing->end[op] = passing->ready[op];
	} else {
		passing->begin[op] = LARGER(passing->ready[op], passing->now);
		passing->now = passing->end[op] = passing->begin[op] + passing->costs->time[op];
		passing->last = op;
	}
	FOR(a, passing->costs->axes) {
		int64_t inside = passing->costs->inside[(size_t)op * passing->costs->axes + a], *link = &passing->link[1 + a];
		if (inside > 0)
			*link = passing->end[op] = (passing->end[op] > *link ? passing->end[op] : *link) + inside;
	}
}

static bool gathers(const struct passing *passing, uint32_t op)
{
	return pass_sends(passing, op) && passing->terms->early[op];
}

static int64_t urgency(const struct passing *passing, uint32_t op)
{
	int64_t tail = passing->terms->tail[op];
	if (passing->rule->noise)
		tail += tail / 256 * (int64_t)(hash_join(passing->rule->seed, op) % (passing->rule->noise + 1));
	return tail;
}

static void pass_put(struct passing *passing, enum pool pool, uint32_t op, int64_t key, int64_t second)
{
	passing->in[op] = (uint8_t)pool;
	order_heap_put(&passing->pool[pool], op, key, second);
}

/* Puts an op where it is offered from: first what takes computation no time, then what begins first, then by the rule.
 */
static void pass_offer(struct passing *passing, uint32_t op)
{
	int64_t rank = passing->rank[op], rule = passing->rule->urgent ? -urgency(passing, op) : rank;
	if (!pass_computes(passing, op))
		pass_put(passing, POOL_FREE, op, -urgency(passing, op), rank);
	else if (passing->ready[op] <= passing->now)
		pass_put(passing, POOL_READY, op, rule, rank);
	else
		pass_put(passing, POOL_WAITS, op, passing->ready[op], rule);
}

static bool is_far(const struct passing *passing, uint32_t op)
{
	uint32_t slot = passing->slot[op];
	return slot > passing->far[0] || (slot > passing->far[1] && gathers(passing, op));
}

static void open_op(struct passing *passing, uint32_t op)
{
	if (is_far(passing, op))
		pass_put(passing, gathers(passing, op) ? POOL_FAR_GATHERS : POOL_FAR, op, passing->rank[op], 0);
	else
		pass_offer(passing, op);
}

/* Moves ops to the pools where they belong by now. */
static void sort_pools(struct passing *passing)
{
	struct order_heap *waits = &passing->pool[POOL_WAITS];
	for (int p = POOL_FAR; p < POOLS; p++) {
		struct order_heap *far = &passing->pool[p];
		for (uint32_t op = order_heap_top(far); op != NONE && !is_far(passing, op); op = order_heap_top(far)) {
			order_heap_remove(far, op);
			pass_offer(passing, op);
		}
	}
	for (uint32_t op = order_heap_top(waits); op != NONE && passing->ready[op] <= passing->now;
		op = order_heap_top(waits)) {
		order_heap_remove(waits, op);
		pass_offer(passing, op);
	}
}

/* The first slot from there on whose op is left, or behind all. */
static uint32_t pass_skip_done(const struct passing *passing, uint32_t slot)
{
	while (slot < passing->problem->ops && pass_is_done(passing, passing->line[slot]))
		slot++;
	return slot;
}

#define GAPS 4             /* slots, of which one is such an op's: what is left moves together */

/* Where many ops behind the first are done. */
static void pass_close_gaps(struct passing *passing)
{
	uint32_t ops = passing->problem->ops, to = passing->high + 1, marked[3], *const mark[3] = { &passing->far[0],
		&passing->far[1], &passing->worst };
	if (passing->gone * GAPS < passing->high - passing->first)
		return;
	FOR_INT(i, 3)
		marked[i] = *mark[i] < ops ? passing->line[*mark[i]] : NONE;
	for (uint32_t slot = to; slot-- > passing->first;) {
		uint32_t op = passing->line[slot];
		if (pass_is_done(passing, op))
			continue;
		passing->line[--to] = op;
		passing->live[to] = passing->live[slot];
		passing->slot[op] = to;
	}
	FOR_INT(i, 3)
		if (marked[i] != NONE)
			*mark[i] = pass_is_done(passing, marked[i]) ? NONE : passing->slot[marked[i]];
	passing->first = to;
	passing->gone = 0;
}

static void pass_leave(struct passing *passing, uint32_t op)
{
	uint32_t ops = passing->problem->ops, slot = passing->slot[op];
	passing->missing[op] = NONE;
	passing->live[slot] = PASS_DONE;
	FOR_INT(i, 2)
		if (slot <= passing->far[i] && passing->far[i] < ops)
			passing->far[i] = pass_skip_done(passing, passing->far[i] + 1);
	if (slot == passing->first) {
		passing->first = pass_skip_done(passing, slot);
		passing->gone -= passing->first - slot - 1;
	} else {
		passing->gone++;
		passing->high = LARGER(slot, passing->high);
		pass_close_gaps(passing);
	}
}

/* The op runs: bytes, time, what it lets run. */
static void pass_finish(struct passing *passing, uint32_t op)
{
	const struct problem *problem = passing->problem;
	passing->order[passing->at++] = op;
	if (passing->pool->place[op] != NONE)
		order_heap_remove(&passing->pool[passing->in[op]], op);
	pass_leave(passing, op);
	passing->alive += passing->terms->stays[op];
	FOR_ITEMS(item, &problem->uses, op)
		if (--passing->left[item] == 0 && !problem->live_out[item])
			passing->alive -= problem->size[item];
	pass_run_op(passing, op);
	FOR_ITEMS(next, &problem->succ, op) {
		if (passing->end[op] > passing->ready[next])
			passing->ready[next] = passing->end[op];
		if (--passing->missing[next] == 0)
			open_op(passing, next);
	}
}

/* ---- choice ---- */

/* Whether something more urgent could begin well before the op would end. */
static bool is_in_the_way(const struct passing *passing, uint32_t op)
{
	const struct order_heap *waits = &passing->pool[POOL_WAITS];
	int64_t begin = LARGER(passing->ready[op], passing->now), time = passing->costs->time[op];
	bool found = false;
	for (uint32_t i = 0; passing->rule->patient && pass_computes(passing, op) && i < waits->count && !found; i++) {
		uint32_t other = waits->op[i];
		found = passing->ready[other] > begin && passing->ready[other] - begin < time / 4 &&
			passing->terms->tail[other] > passing->terms->tail[op] + time;
	}
	return found;
}

/* Takes the best op that could run out of its pool; NONE: there is none. */
static uint32_t pass_take_best(struct passing *passing)
{
	for (int p = POOL_FREE; p <= POOL_WAITS; p++) {
		uint32_t op = order_heap_top(&passing->pool[p]);
		if (op == NONE)
			continue;
		order_heap_remove(&passing->pool[p], op);
		return op;
	}
	return NONE;
}

/* What is to run next. */
static uint32_t pass_choose(struct passing *passing)
{
	uint32_t tried[TRIES], tries = 0, taken = NONE;
	sort_pools(passing);
	while (taken == NONE && tries < TRIES) {
		uint32_t op = pass_take_best(passing);
		if (op == NONE)
			break;
		if (!is_in_the_way(passing, op) && take_forward(passing, op))
			taken = op;
		else
			tried[tries++] = op;
	}
	while (tries > 0)
		pass_offer(passing, tried[--tries]);
	return taken == NONE ? passing->line[passing->first] : taken;
}

static enum status pass_prepare(struct passing *passing, const uint32_t *from)
{
	const struct problem *problem = passing->problem;
	uint32_t ops = problem->ops, *far = passing->far;
	NEED(passing->terms->roomy || problem_peak(problem, from, passing->live, &(uint32_t){ 0 }) >= 0);
	far[0] = SMALLER(passing->rule->window, ops);
	far[1] = SMALLER(passing->rule->gather, ops);
	CLEAR(passing->ready, ops);
	passing->alive = problem->base;
	FOR(item, problem->items) {
		passing->left[item] = csr_length(&problem->users, item);
		passing->alive += problem->producer[item] == NONE && (passing->left[item] > 0 || problem->live_out[item])
			? problem->size[item]
			: 0;
	}
	FOR(p, ops) {
		passing->line[p] = from[p];
		passing->rank[from[p]] = passing->slot[from[p]] = p;
		passing->missing[from[p]] = csr_length(&problem->pred, from[p]);
	}
	FOR(p, ops)
		if (passing->missing[from[p]] == 0)
			open_op(passing, from[p]);
	return OK;
}

enum status overlap_pass(const struct overlap_terms *terms, const struct overlap_rule *rule, const uint32_t *from,
	const uint32_t *release, uint32_t *order)
{
	const struct overlap_request *request = terms->request;
	struct passing passing = *terms->room;
	passing.terms = terms;
	passing.rule = rule;
	passing.problem = request->problem;
	passing.costs = request->costs;
	passing.release = release;
	passing.order = order;
	passing.last = passing.worst = NONE;
	TRY(pass_prepare(&passing, from));
	while (passing.at < request->problem->ops)
		pass_finish(&passing, pass_choose(&passing));
	return OK;
}
