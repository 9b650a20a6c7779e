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

/* Whether no order is above the limit: all that is ever alive, at once. */
static bool is_roomy(const struct overlap_request *request)
{
	const struct problem *problem = request->problem;
	int64_t left = request->limit - problem->base, workspace = 0;
	for (uint32_t item = 0; item < problem->items && left >= 0; item++)
		left -= problem->size[item];
	FOR(op, problem->ops)
		workspace = larger_of(workspace, problem->workspace[op]);
	return left >= workspace;
}

enum status overlap_terms_find(const struct overlap_request *request, struct overlap_terms *terms)
{
	const struct graph *graph = request->graph;
	const struct step_costs *costs = request->costs;
	const uint32_t *program = request->problem->program;
	*terms = (struct overlap_terms) { .request = request, .roomy = is_roomy(request) };
	NEED(ROOM(&terms->arena, terms->whole, graph->ops) && ROOM(&terms->arena, terms->tail, graph->ops) &&
		ROOM(&terms->arena, terms->early, graph->ops));
	FOR(p, graph->ops) {
		uint32_t op = program[p];
		terms->early[op] = (costs->stream[op] > 0 || costs->time[op] == 0) && csr_length(&graph->reads, op) > 0;
		FOR_ITEMS(before, &graph->pred, op)
			terms->early[op] &= terms->early[before];
	}
	for (uint32_t p = graph->ops; p-- > 0;) {
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
	return OK;
}

void overlap_terms_free(struct overlap_terms *terms)
{
	arena_free(&terms->arena);
}

struct passing {
	const struct overlap_terms *terms;
	const struct overlap_rule *rule;
	const struct problem *problem;
	const struct step_costs *costs;
	const uint32_t *release;
	uint32_t *order, *place;      /* [ops] done up to `at`; behind it the rest as it would run */
	int64_t *live;                /* [ops] by place: bytes while the op there runs */
	uint32_t at;
	int64_t now;                  /* computation is free */
	int64_t link[STREAMS_MAX];    /* and each link */
	int64_t *ready, *end, *begin; /* [ops] picoseconds */
	uint32_t *missing;            /* [ops] that must be done before it */
	uint32_t *rank;               /* [ops] in the order that it goes along */
	struct order_heap pool[POOLS];
	uint32_t *left;               /* [items] users that are not done */
	int64_t *relief;              /* [ops + 1] scratch */
	int64_t alive;                /* bytes between two ops */
	uint32_t last;                /* the last op that computed, or NONE */
	uint32_t worst;               /* a place at which an op moved before it did not fit */
	struct arena arena;
};

static bool pass_computes(const struct passing *passing, uint32_t op)
{
	return passing->costs->stream[op] == 0 && passing->costs->time[op] > 0;
}

static bool pass_sends(const struct passing *passing, uint32_t op)
{
	return passing->costs->stream[op] > 0 && passing->costs->time[op] > 0;
}

/* Bytes of its results that something needs later. */
static int64_t stays_of(const struct passing *passing, uint32_t op)
{
	const struct problem *problem = passing->problem;
	int64_t bytes = 0;
	FOR_ITEMS(item, &problem->products, op)
		bytes += problem->live_out[item] || csr_length(&problem->users, item) > 0 ? problem->size[item] : 0;
	return bytes;
}

static int64_t products_of(const struct passing *passing, uint32_t op)
{
	int64_t bytes = passing->problem->workspace[op];
	FOR_ITEMS(product, &passing->problem->products, op)
		bytes += passing->problem->size[product];
	return bytes;
}

/* The last place before `to` at which another op needs the item, or `at` - 1; to where one behind it does. */
static int64_t other_use(const struct passing *passing, uint32_t item, uint32_t op, uint32_t to)
{
	int64_t last = (int64_t)passing->at - 1;
	FOR_ITEMS(user, &passing->problem->users, item) {
		if (user == op)
			continue;
		if (passing->place[user] > to)
			return to;
		last = LARGER(passing->place[user], last);
	}
	return last;
}

/* Bytes that the op now at a place is spared if op runs before it. */
static int64_t relief_at(const struct passing *passing, uint32_t op, uint32_t place)
{
	const struct problem *problem = passing->problem;
	int64_t bytes = 0;
	FOR_ITEMS(item, &problem->uses, op)
		if (!problem->live_out[item] && other_use(passing, item, op, passing->place[op]) < place)
			bytes += problem->size[item];
	return bytes;
}

/* relief[j]: bytes that the op now at place at + j is spared if op runs before it. */
static void pass_find_relief(struct passing *passing, uint32_t op)
{
	const struct problem *problem = passing->problem;
	uint32_t at = passing->at, to = passing->place[op];
	CLEAR(passing->relief, (to - at + (size_t)1));
	FOR_ITEMS(item, &problem->uses, op) {
		int64_t last = problem->live_out[item] ? to : other_use(passing, item, op, to);
		if (last + 1 < to)
			passing->relief[last + 1 - at] += problem->size[item];
	}
	FOR_FROM(j, 1, to - at)
		passing->relief[j] += passing->relief[j - 1];
}

/* Whether op may run now; then live[] is as if it did, else nothing changes. */
static bool move_live(struct passing *passing, uint32_t op)
{
	uint32_t at = passing->at, to = passing->place[op];
	int64_t limit = passing->terms->request->limit, stays = stays_of(passing, op),
			first = passing->alive + products_of(passing, op);
	uint32_t worst = passing->worst;    /* most often it's there that the next one doesn't fit, too */
	if (first > limit || (worst >= at && worst < to &&
		passing->live[worst] + stays - relief_at(passing, op, worst) > limit))
		return false;
	pass_find_relief(passing, op);
	FOR_FROM(j, at, to)
		if (passing->live[j] + stays - passing->relief[j - at] > limit) {
			passing->worst = j;
			return false;
		}
	for (uint32_t j = to; j-- > at;)
		passing->live[j + 1] = passing->live[j] + stays - passing->relief[j - at];
	passing->live[at] = first;
	return true;
}

/* Whether op may run now; then it is put there, else nothing changes. */
static bool take_forward(struct passing *passing, uint32_t op)
{
	uint32_t at = passing->at, to = passing->place[op];
	if (to == at)
		return true;
	if (!passing->terms->roomy && !move_live(passing, op))
		return false;
	memmove(passing->order + at + 1, passing->order + at, (to - at) * sizeof *passing->order);
	FOR_FROM(j, at, to)
		passing->place[passing->order[j + 1]] = j + 1;
	passing->order[at] = op;
	passing->place[op] = at;
	return true;
}

/* ---- time ---- */

static void run_collective(struct passing *passing, uint32_t op)
{
	int64_t *link = &passing->link[passing->costs->stream[op]], from = passing->ready[op];
	/* As the simulation has it: not before the op in front of it in the order begins; parameters are gathered a layer
	 * ahead. */
	uint32_t after = passing->terms->early[op] ? passing->release[op] : passing->last;
	if (after != NONE && passing->place[after] >= passing->at)
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

/* Puts an op where it is offered from: first what takes computation no time, then what begins first, then by the rule.
 */
static void pass_offer(struct passing *passing, uint32_t op)
{
	struct order_heap *pool = passing->pool;
	int64_t rank = passing->rank[op], rule = passing->rule->urgent ? -urgency(passing, op) : rank;
	if (!pass_computes(passing, op))
		order_heap_put(&pool[POOL_FREE], op, -urgency(passing, op), rank);
	else if (passing->ready[op] <= passing->now)
		order_heap_put(&pool[POOL_READY], op, rule, rank);
	else
		order_heap_put(&pool[POOL_WAITS], op, passing->ready[op], rule);
}

static bool is_far(const struct passing *passing, uint32_t op)
{
	uint32_t ahead = passing->place[op] - passing->at;
	return ahead > passing->rule->window || (gathers(passing, op) && ahead > passing->rule->gather);
}

static void open_op(struct passing *passing, uint32_t op)
{
	if (is_far(passing, op))
		order_heap_put(&passing->pool[gathers(passing, op) ? POOL_FAR_GATHERS : POOL_FAR], op, passing->rank[op], 0);
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

/* The op at the place runs: bytes, time, what it lets run. */
static void pass_finish(struct passing *passing)
{
	const struct problem *problem = passing->problem;
	uint32_t op = passing->order[passing->at++];
	FOR_INT(p, POOLS)
		if (passing->pool[p].place[op] != NONE)
			order_heap_remove(&passing->pool[p], op);
	passing->alive += stays_of(passing, op);
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

/* Puts at the place what is to run there. */
static void pass_choose(struct passing *passing)
{
	uint32_t tried[TRIES], tries = 0;
	bool taken = false;
	sort_pools(passing);
	while (!taken && tries < TRIES) {
		uint32_t op = pass_take_best(passing);
		if (op == NONE)
			break;
		tried[tries++] = op;
		taken = !is_in_the_way(passing, op) && take_forward(passing, op);
	}
	while (tries > 0)
		pass_offer(passing, tried[--tries]);
}

static enum status pass_prepare(struct passing *passing, const uint32_t *from)
{
	const struct problem *problem = passing->problem;
	uint32_t ops = problem->ops;
	uint32_t **const ids[] = { &passing->place, &passing->missing, &passing->rank };
	int64_t **const times[] = { &passing->live, &passing->ready, &passing->end, &passing->begin };
	bool fine = true;
	FOR(i, COUNT_OF(ids))
		fine &= (*ids[i] = arena_alloc(&passing->arena, ops, sizeof(uint32_t))) != NULL;
	FOR(i, COUNT_OF(times))
		fine &= (*times[i] = arena_alloc(&passing->arena, ops, sizeof(int64_t))) != NULL;
	ROOM(&passing->arena, passing->left, problem->items);
	ROOM(&passing->arena, passing->relief, ops + (size_t)1);
	FOR_INT(p, POOLS)
		fine &= order_heap_init(&passing->pool[p], ops, &passing->arena) == OK;
	if (!fine || !passing->left || !passing->relief ||
		(!passing->terms->roomy && problem_peak(problem, from, passing->live, &(uint32_t){ 0 }) < 0))
		return NO_MEMORY;
	passing->alive = problem->base;
	FOR(item, problem->items) {
		passing->left[item] = csr_length(&problem->users, item);
		passing->alive += problem->producer[item] == NONE && (passing->left[item] > 0 || problem->live_out[item])
			? problem->size[item]
			: 0;
	}
	FOR(p, ops) {
		uint32_t op = passing->order[p] = from[p];
		passing->place[op] = passing->rank[op] = p;
		passing->missing[op] = csr_length(&problem->pred, op);
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
	struct passing passing = { .terms = terms, .rule = rule, .problem = request->problem, .costs = request->costs,
		.release = release, .order = order, .last = NONE };
	enum status status = pass_prepare(&passing, from);
	while (status == OK && passing.at < request->problem->ops) {
		pass_choose(&passing);
		pass_finish(&passing);
	}
	arena_free(&passing.arena);
	return status;
}
