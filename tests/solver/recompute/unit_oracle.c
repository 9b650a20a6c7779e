/* unit_oracle.c: random steps against the least extra time over all orders and reruns, found by Dijkstra's algorithm
 * over what has run and what is in memory. */
#include "tests/common/fit_step.h"

#define MOST_FORWARD 12
#define SLOTS (1u << 20)
#define MEGA 1000000

/* ---- steps ----------------------------------------------------------------------------------- */

struct tiny {
	struct graph *graph;
	int64_t time[64];
	uint32_t traits[64];
	int64_t copies[64]; /* [storages] what stays from the pass for a later op takes so much more until the last op */
	uint32_t forward;
};

static uint32_t add_tensor(struct draft *draft, const char *kind, uint32_t number, int64_t bytes, enum kind of)
{
	char name[20];
	snprintf(name, sizeof name, "%s%u", kind, number);
	return draft_tensor(draft,
		&(struct tensor){
			.name = name, .bytes = bytes, .alias = NONE, .kind = (uint8_t)of, .dtype = DTYPE_F32, .has_bytes = true });
}

static uint32_t add_op(
	struct tiny *tiny, struct draft *draft, const char *kind, uint32_t number, enum phase phase, int64_t time)
{
	char name[20];
	snprintf(name, sizeof name, "%s%u", kind, number);
	uint32_t op = draft_op(draft,
		&(struct op){
			.name = name, .type = "aten.mm.default", .module = "", .phase = (uint8_t)phase, .has_phase = true });
	tiny->time[op] = time;
	return op;
}

/* A chain with skips, and its backward pass, which reads some of it: every op needs the one before, so all orders run
 * first times in this one. */
static void make_tiny(struct tiny *tiny, uint64_t *random, uint32_t forward, bool flushes)
{
	OWN(draft) *draft = draft_new();
	struct error error = { 0 };
	uint32_t made[MOST_FORWARD], skip[MOST_FORWARD], last = add_tensor(draft, "x", 0, 1000, KIND_INPUT);
	*tiny = (struct tiny){ .forward = forward };
	for (uint32_t i = 0; i < forward; i++) {
		uint32_t op = add_op(tiny, draft, "f", i, PHASE_FORWARD, (int64_t)(1 + random_next(random) % 10) * 1000);
		draft_read(draft, op, last);
		skip[i] = i > 1 && random_next(random) % 2 ? (uint32_t)(random_next(random) % (i - 1)) : NONE;
		if (skip[i] != NONE)
			draft_read(draft, op, made[skip[i]]);
		last = made[i] = add_tensor(draft, "a", i, (int64_t)(1 + random_next(random) % 9) * MEGA, KIND_ACTIVATION);
		draft_write(draft, op, last);
	}
	for (uint32_t i = forward; i-- > 0;) {
		uint32_t op = add_op(tiny, draft, "b", i, PHASE_BACKWARD, (int64_t)(1 + random_next(random) % 10) * 1000);
		draft_read(draft, op, last);
		if (last != made[i] && random_next(random) % 4)
			draft_read(draft, op, made[i]);
		if (skip[i] != NONE && random_next(random) % 4)
			draft_read(draft, op, made[skip[i]]);
		last = add_tensor(draft, "g", i, (int64_t)(1 + random_next(random) % 6) * MEGA, KIND_GRADIENT);
		draft_write(draft, op, last);
	}
	if (flushes)
		draft_read(draft, add_op(tiny, draft, "flush", 0, PHASE_UPDATE, 0), last);
	tiny->graph = graph_build(draft, &error);
	cr_assert_not_null(tiny->graph, "%s", error.text);
}

/* ---- the oracle ------------------------------------------------------------------------------ */

struct search {
	const struct tiny *tiny;
	uint64_t *key;             /* [SLOTS] memory << 8 | ops that ran first, + 1 */
	int32_t *cost;             /* [SLOTS] */
	uint64_t *heap;            /* cost << 32 | slot */
	uint32_t count, states;
	uint64_t stays;            /* storages that may stay from the pass for a later op */
};

static uint32_t slot_of(struct search *search, uint64_t key)
{
	uint32_t at = (uint32_t)hash_mix(key) % SLOTS;
	while (search->key[at] && search->key[at] != key + 1)
		at = (at + 1) % SLOTS;
	if (!search->key[at]) {
		search->key[at] = key + 1;
		search->cost[at] = INT32_MAX;
		search->states++;
	}
	return at;
}

/* A state that got cheaper is in the heap twice. */
static void put(struct search *search, uint64_t key, int32_t cost)
{
	uint32_t slot = slot_of(search, key), at = search->count;
	uint64_t entry = (uint64_t)cost << 32 | slot;
	cr_assert_lt(search->count, 4 * SLOTS);
	if (cost >= search->cost[slot])
		return;
	search->cost[slot] = cost;
	for (search->count++; at > 0 && search->heap[(at - 1) / 2] > entry; at = (at - 1) / 2)
		search->heap[at] = search->heap[(at - 1) / 2];
	search->heap[at] = entry;
}

static uint32_t take(struct search *search)
{
	uint64_t top = search->heap[0], last = search->heap[--search->count];
	uint32_t at = 0;
	for (uint32_t child; (child = 2 * at + 1) < search->count; at = child) {
		child += child + 1 < search->count && search->heap[child + 1] < search->heap[child];
		if (last <= search->heap[child])
			break;
		search->heap[at] = search->heap[child];
	}
	search->heap[at] = last;
	return (uint32_t)top;
}

static int64_t bytes_of(const struct graph *graph, uint64_t memory)
{
	int64_t bytes = 0;
	for (uint32_t s = 0; s < graph->storages; s++)
		bytes += memory >> s & 1 && !graph->storage[s].persistent ? graph->storage[s].bytes : 0;
	return bytes;
}

/* One op after a state: the next one for the first time, or one of the pass again. */
static void run_from(struct search *search, uint64_t memory, uint32_t ran, int32_t cost, uint32_t op, int64_t room)
{
	const struct graph *graph = search->tiny->graph;
	uint64_t reads = 0, writes = 0;
	FOR_ROW(i, &graph->reads, op)
		if (!graph->storage[graph->tensor[graph->reads.item[i]].storage].persistent)
			reads |= UINT64_C(1) << graph->tensor[graph->reads.item[i]].storage;
	FOR_ROW(i, &graph->writes, op)
		writes |= UINT64_C(1) << graph->tensor[graph->writes.item[i]].storage;
	bool again = op < ran;
	if ((reads & ~memory) || (again && !(writes & ~memory)) || bytes_of(graph, memory | writes) > room)
		return;
	uint64_t left = !again && op + 1 == search->tiny->forward ? search->stays : UINT64_MAX;
	put(search, ((memory | writes) & left) << 8 | (ran + !again), cost + (again ? (int32_t)search->tiny->time[op] : 0));
}

/* The least extra time under a cap; -1: nothing fits; -2: too many states. late: nothing runs again before the pass is
 * over. */
static int64_t oracle_of(const struct tiny *tiny, int64_t cap, uint64_t stays, bool late)
{
	const struct graph *graph = tiny->graph;
	struct search search = { .tiny = tiny,
		.key = mem_alloc(SLOTS, sizeof *search.key),
		.cost = mem_alloc(SLOTS, sizeof *search.cost),
		.heap = mem_alloc(4u * SLOTS, sizeof *search.heap),
		.stays = stays };
	int64_t found = -1, room = cap - graph->persistent_bytes;
	put(&search, 0, 0);
	while (search.count > 0 && found == -1) {
		uint32_t slot = take(&search);
		uint64_t memory = (search.key[slot] - 1) >> 8;
		uint32_t ran = (uint32_t)((search.key[slot] - 1) & 255);
		int32_t cost = search.cost[slot];
		if (ran == graph->ops)
			found = cost;
		if (search.states > SLOTS / 2)
			found = -2;
		for (uint32_t op = 0; op <= ran && op < graph->ops && found == -1; op++)
			if (op == ran || (graph->op[op].phase == PHASE_FORWARD && (!late || ran >= tiny->forward)))
				run_from(&search, memory, ran, cost, op, room);
		for (uint32_t s = 0; s < graph->storages && found == -1; s++)
			if (memory >> s & 1)
				put(&search, (memory & ~(UINT64_C(1) << s)) << 8 | ran, cost);
	}
	mem_free(search.key);
	mem_free(search.cost);
	mem_free(search.heap);
	return found;
}

static int64_t oracle(const struct tiny *tiny, int64_t cap)
{
	return oracle_of(tiny, cap, UINT64_MAX, false);
}

/* The same where what stays from the pass takes its copies, too, over all sets that may stay. */
static int64_t oracle_with_copies(const struct tiny *tiny, int64_t cap)
{
	const struct graph *graph = tiny->graph;
	uint64_t copied = 0;
	int64_t best = -1;
	for (uint32_t s = 0; s < graph->storages; s++)
		copied |= (uint64_t)(tiny->copies[s] > 0) << s;
	for (uint64_t set = copied;; set = (set - 1) & copied) {
		int64_t left = cap, found;
		for (uint32_t s = 0; s < graph->storages; s++)
			left -= set >> s & 1 ? tiny->copies[s] : 0;
		found = left < graph->persistent_bytes ? -1 : oracle_of(tiny, left, set | ~copied, true);
		if (found == -2)
			return -2;
		best = found >= 0 && (best < 0 || found < best) ? found : best;
		if (set == 0)
			return best;
	}
}

/* ---- comparing ------------------------------------------------------------------------------- */

struct tally { uint32_t cases, optimal, proved, missed, impossible, tight, left_out; double worst; };

/* The plan's graph runs again what it says, within the peak that it says. */
static void check_graph(struct recompute_solver *solver, const struct recompute_plan *plan, int64_t cap, uint64_t seed)
{
	struct error error = { 0 };
	int64_t extra = 0;
	if (plan->extra == INT64_MAX)
		return;
	OWN(graph) *graph = recompute_plan_graph(solver, plan, &error);
	cr_assert_not_null(graph, "seed %lu: %s", (unsigned long)seed, error.text);
	for (uint32_t op = 0; op < graph->ops; op++)
		extra += graph->op[op].recomputed ? solver->step.time[graph_find_op(solver->step.graph, graph->op[op].of)] : 0;
	cr_assert_eq(extra, plan->extra, "seed %lu: the graph takes %ld more, the plan says %ld", (unsigned long)seed,
		(long)extra, (long)plan->extra);
	int64_t peak = whole_program_peak(graph);
	cr_assert(peak <= plan->peak && peak <= cap, "seed %lu: the graph takes %ld bytes, the plan says %ld",
		(unsigned long)seed, (long)peak, (long)plan->peak);
}

static void compare(const struct tiny *tiny, int64_t cap, struct tally *tally, uint64_t seed)
{
	struct recompute_input input = { .graph = tiny->graph, .time = tiny->time, .traits = tiny->traits, .alignment = 1 };
	struct recompute_search_options options = { .ticks = 400000 };
	struct control control = { 0 };
	OWN(recompute_solver) solver;
	OWN(recompute_plan) plan;
	struct error error = { 0 };
	int64_t best = oracle(tiny, cap);
	cr_assert_eq(recompute_solver_new(&input, &solver), OK);
	cr_assert_eq(recompute_solve(&solver, cap, &options, &control, &plan), OK);
	cr_assert_eq(recompute_check(&input, cap, plan.impossible ? 0 : plan.bound, &plan.certificate, &error), OK,
		"seed %lu: %s", (unsigned long)seed, error.text);
	if (best >= 0) {
		cr_assert_not(plan.impossible, "seed %lu: what fits is said to be impossible", (unsigned long)seed);
		cr_assert_leq(plan.bound, best, "seed %lu: bound %ld above the optimum %ld", (unsigned long)seed,
			(long)plan.bound, (long)best);
		cr_assert_geq(plan.extra, best, "seed %lu: plan %ld below the optimum %ld", (unsigned long)seed,
			(long)plan.extra, (long)best);
		tally->optimal += plan.extra == best;
		tally->proved += plan.proved;
		tally->missed += plan.extra == INT64_MAX;
		tally->tight += plan.bound == best;
		double over = plan.extra == INT64_MAX ? 0 : (double)(plan.extra - best) / (double)solver.step.total;
		tally->worst = over > tally->worst ? over : tally->worst;
	} else if (best == -1) {
		cr_assert_eq(plan.extra, INT64_MAX, "seed %lu: a plan where nothing fits", (unsigned long)seed);
	}
	tally->cases += best >= 0;
	tally->impossible += best == -1;
	tally->left_out += best == -2;
	check_graph(&solver, &plan, cap, seed);
}

Test(fit_oracle, no_bound_is_above_the_optimum_and_no_plan_below)
{
	struct tally tally = { 0 };
	for (uint64_t round = 0; round < test_rounds(12, 300); round++) {
		uint64_t seed = test_seed() + round, random = seed;
		struct tiny tiny;
		make_tiny(&tiny, &random, 3 + (uint32_t)(random_next(&random) % (round % 10 == 0 ? MOST_FORWARD - 2 : 5)), false);
		int64_t peak = whole_program_peak(tiny.graph);
		static const int percent[] = { 95, 80, 65 };
		compare(&tiny, tiny.graph->persistent_bytes + (peak - tiny.graph->persistent_bytes) * percent[round % 3] / 100,
			&tally, seed);
		graph_release(tiny.graph);
	}
	printf("%u steps that fit: %u plans optimal (%u proved), %u not found, the others at most %.1f %% of the step "
		   "above; %u bounds tight; %u fit in no way, %u too large for the oracle\n",
		tally.cases, tally.optimal, tally.proved, tally.missed, 100 * tally.worst, tally.tight, tally.impossible,
		tally.left_out);
	cr_assert_gt(tally.cases, tally.impossible / 2);
	cr_assert_geq(tally.optimal * 2, tally.cases, "%u of %u optimal", tally.optimal, tally.cases);
}

/* ---- microbatches in flight ------------------------------------------------------------------ */

/* Of an activation so many microbatches less one are held: as many of all; or of each its own number. */
static void hold_copies(struct tiny *tiny, uint64_t *random, bool alike)
{
	const struct graph *graph = tiny->graph;
	int64_t held = 2 + (int64_t)(random_next(random) % 4);
	for (uint32_t s = 0; s < graph->storages; s++) {
		int64_t own = alike ? held : 1 + (int64_t)(random_next(random) % 5);
		bool stays = graph->storage[s].allocator != NONE && graph->op[graph->storage[s].allocator].phase == PHASE_FORWARD;
		tiny->copies[s] = stays ? (own - 1) * graph->storage[s].bytes : 0;
	}
}

struct copied { uint32_t cases, bounds, tight, impossible; double reached; };

static void compare_copied(const struct tiny *tiny, int64_t cap, struct copied *tally, uint64_t seed)
{
	struct recompute_input input = { .graph = tiny->graph,
		.time = tiny->time,
		.traits = tiny->traits,
		.alignment = 1,
		.copies = tiny->copies,
		.flush = tiny->graph->ops - 1 };
	struct recompute_search_options options = { .ticks = 400000 };
	struct control control = { 0 };
	struct error error = { 0 };
	OWN(recompute_solver) solver;
	OWN(recompute_plan) plan;
	int64_t best = oracle_with_copies(tiny, cap);
	cr_assert_eq(recompute_solver_new(&input, &solver), OK);
	cr_assert_eq(recompute_solve(&solver, cap, &options, &control, &plan), OK);
	cr_assert_eq(recompute_check(&input, cap, plan.impossible ? 0 : plan.bound, &plan.certificate, &error), OK,
		"seed %lu: %s", (unsigned long)seed, error.text);
	if (plan.bound > 0 && !plan.impossible)
		cr_assert_eq(recompute_check(&input, cap, plan.bound + 1 + plan.bound / 1000, &plan.certificate, &error), BAD_INPUT,
			"seed %lu: proves more than it says", (unsigned long)seed);
	if (best >= 0) {
		cr_assert_not(plan.impossible, "seed %lu: what fits is said to be impossible", (unsigned long)seed);
		cr_assert_leq(plan.bound, best, "seed %lu: bound %ld above the optimum %ld", (unsigned long)seed,
			(long)plan.bound, (long)best);
		cr_assert_geq(plan.extra, best, "seed %lu: plan %ld below the optimum %ld", (unsigned long)seed,
			(long)plan.extra, (long)best);
	}
	tally->cases += best >= 0;
	tally->impossible += best == -1;
	tally->bounds += best > 0 && plan.bound > 0;
	tally->tight += best > 0 && plan.bound == best;
	tally->reached += best > 0 ? (double)plan.bound / (double)best : 0;
}

Test(fit_oracle, no_bound_with_copies_is_above_the_optimum)
{
	struct copied tally = { 0 };
	for (uint64_t round = 0; round < test_rounds(4, 200); round++) {
		uint64_t seed = test_seed() + round, random = seed;
		static const int percent[] = { 70, 55, 45, 35 };
		struct tiny tiny;
		make_tiny(&tiny, &random, 3 + (uint32_t)(random_next(&random) % 3), true);
		hold_copies(&tiny, &random, round % 2 == 0);
		int64_t most = whole_program_peak(tiny.graph) - tiny.graph->persistent_bytes;
		for (uint32_t s = 0; s < tiny.graph->storages; s++)
			most += tiny.copies[s];
		compare_copied(&tiny, tiny.graph->persistent_bytes + most / 100 * percent[round % 4], &tally, seed);
		graph_release(tiny.graph);
	}
	printf(
		"%u steps with copies that fit, %u in no way: %u bounds above 0, %u tight, %.2f of the optimum in the mean\n",
		tally.cases, tally.impossible, tally.bounds, tally.tight, tally.reached / (tally.cases > 0 ? tally.cases : 1));
	cr_assert_gt(tally.bounds, 0);
}
