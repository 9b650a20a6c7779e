/* recompute.c: the least slowdown at which a training step fits a cap. */

#include <math.h>

#include "apply.h"
#include "recompute.h"
#include "solver/base/names.h"
#include "strategies.h"

#define PLAYS 6000 /* of a round of changes at random; of a large step a quarter */
#define FAR 1e-2   /* a simple strategy's plan that is so far from the bound, as a share of the step, is poor */
#define CLOSE 5e-4 /* one this near takes seconds for the next thousandth of a percent */
#define ANNEALINGS 4
/* Of them, as shares of what the plan is above the bound: some leave a valley where what has to change hangs together,
 * some look around. */
#define HEATS { 0.1, 1, 0.1, 2 }
#define SMALL_STEP 1000 /* ops that a replay plays: below, searches cost little */
#define TINY_STEP 300   /* below, they cost nothing */
#define FLOORS 3        /* ops whose cheapest state is looked at where nothing was found */
#define HOPELESS 4      /* what is above the cap, as a share of what the cap leaves */
#define ORDERED_FIRST 2 /* of a large step: candidates ordered before what that brings decides about more */
#define HALVINGS 6 /* of what is between what always stays and the lowest peak so far */
#define DEEPER UINT64_C(50000) /* ticks of searches in full for each op, and for at most */
#define DEEPER_OPS 3600u /* so many */
#define CLOSE_TO 4096    /* a range that is so small a part of what always stays is searched no more */
#define OPEN 20      /* a plan above the bound by such a part of the step, and */
#define PATIENT 50   /* of what is open such a part that the last search closed: less, and no other one is tried */
#define NESTS 4  /* prices of a byte below which what is cheap is written for every reader, by sixteenths */
#define REACH 32 /* an order may take off so small a share of what the cap leaves, whatever it took off others */

/* ---- one cap ---- */

struct solving {
	struct recompute_solver *solver;
	const struct recompute_search_options *options;
	struct control *control;
	struct recompute_plan *plan;
	int64_t cap;
	uint64_t ticks;
	uint32_t best;       /* base of the best states, or NONE */
	uint64_t ordered;    /* the last states that the orderer had, hashed: it would give the same base again */
	uint32_t candidates; /* candidates that the orderer had */
	int64_t gained;      /* the most that its order took off a candidate's peak as played */
	struct recompute_dual *dual; /* along the base at hand; NULL: none fits */
	bool hard; /* that base is searched for long */
	double near; /* the options', or as near as what it begins with was */
	bool repaired; /* that was made to fit: changes at random leave it as it is */
	bool idle;   /* recompute_note_idle() */
};

/* A plan so near the bound, as a share of it and as a share of the step, that no search makes it noticeably faster. */
static bool is_near(const struct solving *solving, double of_bound, double of_step)
{
	const struct recompute_search *search = &solving->solver->search;
	int64_t extra = SMALLER(search->extra, solving->plan->extra);
	double gap = (double)(extra - solving->plan->bound);
	return extra < INT64_MAX &&
		gap <= (double)solving->plan->bound * of_bound + (double)solving->solver->step.total * of_step;
}

static bool is_done(const struct solving *solving)
{
	bool tiny = solving->solver->base[0].actives < TINY_STEP, large = solving->solver->base[0].actives >= SMALL_STEP;
	return is_near(solving, 0.001, tiny ? 5e-5 : 2e-4) || (large && is_near(solving, 0, CLOSE)) ||
		is_near(solving, 0, solving->near);
}

/* Nothing fits, and what was tried is so far above the cap that no change of single storages mends it; of small steps
 * more is tried, for the lowest peak. */
static bool recompute_is_hopeless(const struct solving *solving)
{
	const struct recompute_plan *plan = solving->plan;
	return solving->solver->base[0].actives >= SMALL_STEP && plan->extra == INT64_MAX &&
		plan->peak - solving->cap > (solving->cap - solving->solver->step.persistent) / HOPELESS;
}

static void recompute_try_all(struct solving *solving, enum recompute_state state)
{
	struct recompute_search *search = &solving->solver->search;
	const struct recompute_step *step = &solving->solver->step;
	FOR(s, step->storages)
		search->state[s] = (uint8_t)(!step->droppable[s] ? RECOMPUTE_KEEP
			: step->fixed[s] == RECOMPUTE_DROPPED && state == RECOMPUTE_KEEP ? RECOMPUTE_HOLD
			: state);
	recompute_try(search, search->state);
}

/* From states that do not fit to some that do, first from those with the lowest peak. */
static void repair_all(struct solving *solving)
{
	const struct recompute_dual *dual = solving->dual;
	struct recompute_search *search = &solving->solver->search;
	const struct recompute_step *step = &solving->solver->step;
	uint8_t *MAKE(start, step->storages);
	if (!start) {
		search->status = NO_MEMORY;
		return;
	}
	recompute_allow(search, solving->ticks / 4);
	if (search->lowest_peak < INT64_MAX) {
		memcpy(start, search->lowest, step->storages);
		recompute_repair(search, start);
	}
	uint32_t heaviest = 0, columns = dual ? dual->columns : 0;
	FOR(c, columns)
		heaviest = dual->column[c].time > dual->column[heaviest].time ? c : heaviest;
	uint32_t begin[] = { dual ? dual->best : 0, heaviest, columns - 1 };
	for (int i = 0; i < 6 && columns > 0 && search->status == OK; i++) {
		recompute_allow(search, solving->ticks / 4);
		recompute_states_of(step, dual->column[begin[i / 2]].kept, start);
		for (uint32_t s = 0; s < step->storages && i % 2 == 0; s++)
			start[s] = start[s] == RECOMPUTE_HOLD ? RECOMPUTE_LATE : start[s];
		recompute_repair(search, start);
	}
	mem_free(start);
}

/* ---- along one base: the dual's cuts, mixed and improved ---- */

static void base_mix(struct solving *solving)
{
	struct recompute_search *search = &solving->solver->search;
	recompute_allow(search, solving->ticks / 4);
	if (solving->dual)
		recompute_primal(search, solving->dual);
}

static bool base_nest_helps(const struct solving *solving)
{
	return solving->solver->search.extra == INT64_MAX;
}

/* All that is dropped is held. Where that doesn't fit within twice the time of the bound, the turn leaves no room for
 * what layers begin with: it is written anew behind it, at best for each layer. What repairs come to is another valley,
 * so they come first. */
static void base_nest(struct solving *solving)
{
	struct recompute_search *search = &solving->solver->search;
	const struct recompute_step *step = search->step;
	const struct activations *activations = solving->options->activations;
	double price = 0;
	recompute_try_all(solving, RECOMPUTE_HOLD);
	bool poor = !solving->options->coarse && !is_near(solving, 1, FAR);
	uint32_t layers = activations && poor ? activations->layers : 0;
	if (poor)
		repair_all(solving);
	int64_t held = search->extra;
	FOR(s, step->storages)
		if (step->bytes[s] > RECOMPUTE_SMALL)
			price = LARGER(price, (double)recompute_write_time(step, s) / (double)step->bytes[s]);
	for (uint32_t every = 1; every <= layers && search->extra == held; every += (every + 1) / 2)
		for (int i = NESTS; i >= 0 && search->status == OK; i--) {
			recompute_states_nested(step, activations, every, ldexp(price, -4 * i), search->state);
			recompute_try(search, search->state);
		}
}

static bool base_reprice_helps(const struct solving *solving)
{
	return !is_near(solving, 0.002, 2e-4);
}

static void base_reprice(struct solving *solving)
{
	struct recompute_search *search = &solving->solver->search;
	recompute_allow(search, solving->ticks / (solving->hard ? 4 : 8));
	recompute_reprice(search, solving->dual);
	recompute_fill(search);
}

static bool base_perturb_helps(const struct solving *solving)
{
	return solving->hard && solving->dual && !solving->repaired && !is_done(solving);
}

static void base_perturb(struct solving *solving)
{
	recompute_allow(&solving->solver->search, solving->ticks / 2);
	recompute_perturb(&solving->solver->search, solving->dual, 600);
}

/* docs/benchmarks.md says what each is worth. helps: NULL: always. halves: of the effort, for it and what follows; 0:
 * as before. */
struct recompute_part {
	const char *name;
	uint64_t halves;
	bool (*helps)(const struct solving *solving);
	void (*run)(struct solving *solving);
};

static const struct recompute_part on_base[] = {
	{ "recompute.mix", 0, NULL, base_mix },
	{ "recompute.nest", 0, base_nest_helps, base_nest },
	{ "recompute.reprice", 0, base_reprice_helps, base_reprice },
	{ "recompute.perturb", 0, base_perturb_helps, base_perturb },
};

static void recompute_run(struct solving *solving, const struct recompute_part *part, size_t parts)
{
	struct recompute_search *search = &solving->solver->search;
	for (; parts > 0 && search->status == OK; part++, parts--) {
		if ((part->helps && !part->helps(solving)) || !step_runs(part->name))
			continue;
		if (part->halves)
			search->end = solving->control->ticks + solving->ticks / 2 * part->halves;
		part->run(solving);
	}
}

static void solve_base(struct solving *solving, uint32_t number)
{
	struct recompute_solver *solver = solving->solver;
	struct recompute_search *search = &solver->search;
	struct recompute_dual dual;
	recompute_search_begin(search, &solver->base[number], solving->cap);
	if (solving->best != NONE)
		recompute_try(search, solving->plan->state);
	recompute_try_all(solving, RECOMPUTE_KEEP);
	if (search->extra == 0 || search->status != OK)
		return;
	enum status status = recompute_dual_solve(
		&solver->base[number], &solver->network, solving->cap, NULL, NULL, solving->control, &dual);
	solving->dual = status == OK ? &dual : NULL;
	if (status != OK && status != INFEASIBLE)
		search->status = status;
	recompute_run(solving, on_base, COUNT_OF(on_base));
	solving->dual = NULL;
	recompute_dual_free(&dual);
}

static void recompute_take(
	struct solving *solving, const uint8_t *state, const uint32_t *order, int64_t extra, int64_t peak)
{
	struct recompute_plan *plan = solving->plan;
	plan->extra = extra;
	plan->peak = peak;
	memmove(plan->state, state, solving->solver->step.storages);
	memmove(plan->order, order, solving->solver->step.ops * sizeof *order);
}

/* Keeps what is best so far; the search begins anew on every base, so that none hides what another finds. */
static void recompute_take_best(struct solving *solving, uint32_t number)
{
	struct recompute_search *search = &solving->solver->search;
	struct recompute_plan *plan = solving->plan;
	bool fits = search->extra < INT64_MAX,
		 better = fits && (search->extra < plan->extra || (search->extra == plan->extra && search->peak < plan->peak));
	bool lower = !fits && plan->extra == INT64_MAX && search->lowest_peak < plan->peak;
	if (!better && !lower)
		return;
	recompute_take(solving, fits ? search->best : search->lowest, solving->solver->base[number].order, search->extra,
		fits ? search->peak : search->lowest_peak);
	solving->best = number;
}

static void search_base(struct solving *solving, uint32_t number, bool hard)
{
	solving->hard = hard;
	solve_base(solving, number);
	recompute_take_best(solving, number);
}

/* The orderer's order of states along an order is one more base. Where their graph fits in that order though it didn't
 * fit as played, and nothing is faster, they are the plan: the cap is on what a planner makes of it. ceiling: as
 * recompute_orderer. */
static enum status order_states(
	struct solving *solving, const uint8_t *state, const uint32_t *along, int64_t ceiling, bool *added)
{
	struct recompute_solver *solver = solving->solver;
	struct recompute_plan plan = { .state = (uint8_t *)(uintptr_t)state, .order = (uint32_t *)(uintptr_t)along };
	struct error error = { 0 };
	OWN(graph) *graph = recompute_plan_graph(solver, &plan, &error);
	enum status status = graph ? OK : error.status;
	HELD uint32_t *order = graph ? mem_alloc(graph->ops, sizeof *order) : NULL;
	int64_t peak = 0, extra = solver->replay.extra, played = solver->replay.peak;
	*added = false;
	status = graph && !order ? NO_MEMORY : status;
	if (status == OK)
		status = solving->options->orderer(solving->options->context, graph, ceiling, solving->control, order, &peak);
	solving->gained = status == OK && played - peak > solving->gained ? played - peak : solving->gained;
	solving->candidates++;
	bool fits = peak <= solving->cap, lower = solving->plan->extra == INT64_MAX && peak < solving->plan->peak;
	if (status == OK && !solving->options->played && (fits ? extra < solving->plan->extra : lower)) {
		recompute_take(solving, state, along, fits ? extra : INT64_MAX, peak);
		solving->best = 0;
	}
	if (status == OK)
		status = recompute_order_back(&solver->step, graph, order, solver->order);
	if (status == OK) {
		*added = recompute_add_base(solver, solver->order);
		status = *added ? OK : NO_MEMORY;
	}
	return status;
}

static uint64_t hash_plan(const struct solving *solving)
{
	const struct recompute_step *step = &solving->solver->step;
	uint64_t hash = 1;
	FOR(s, step->storages)
		hash = hash_join(hash, solving->plan->state[s]);
	FOR(op, step->ops)
		hash = hash_join(hash, solving->plan->order[op]);
	return hash;
}

/* The same of the plan so far, once. */
static enum status order_plan(struct solving *solving, bool *added)
{
	uint64_t hash = hash_plan(solving);
	*added = false;
	if (hash == solving->ordered)
		return OK;
	solving->ordered = hash;
	return order_states(solving, solving->plan->state, solving->plan->order, 0, added);
}

/* Whether any order might fit what the states keep. */
static bool recompute_may(const struct solving *solving, const uint8_t *state)
{
	const struct recompute_solver *solver = solving->solver;
	HELD bool *MAKE(kept, solver->step.storages);
	FOR_WHILE(s, solver->step.storages, kept)
		kept[s] = solver->step.droppable[s] && state[s] == RECOMPUTE_KEEP;
	bool may = !kept || recompute_bound_peak(&solver->bounds, kept) <= solving->cap;
	return may;
}

static bool allocate_plan(const struct recompute_solver *solver, struct recompute_plan *plan)
{
	*plan = (struct recompute_plan){ .extra = INT64_MAX, .peak = INT64_MAX, .certificate = { .op = NONE } };
	MAKE(plan->state, solver->step.storages);
	MAKE(plan->order, solver->step.ops);
	return plan->state && plan->order;
}

/* The plan's states of a larger cap, repaired along one base. */
static void repair_along(struct solving *solving, uint32_t number, const uint8_t *state)
{
	struct recompute_search *search = &solving->solver->search;
	recompute_search_begin(search, &solving->solver->base[number], solving->cap);
	recompute_allow(search, solving->ticks / 4);
	recompute_repair(search, state);
	recompute_allow(search, solving->ticks / 8);
	recompute_reprice(search, NULL);
	recompute_fill(search);
	recompute_allow(search, solving->ticks / 16);
	recompute_swap(search);
	recompute_take_best(solving, number);
}

/* Near a floor the cuts know too little of what a block needs for a moment: plans of somewhat larger caps, repaired
 * down to this one. */
static void recompute_descend(struct solving *solving)
{
	struct recompute_solver *solver = solving->solver;
	static const int percent[] = { 20, 12, 7, 4, 2, -1, -3 };
	struct recompute_plan *plan = solving->plan, larger;
	struct recompute_search *search = &solver->search;
	for (size_t i = 0; i < COUNT_OF(percent) && search->status == OK && !is_near(solving, 0.003, 3e-4);
		i++) {
		struct solving other = *solving;
		bool added = false;
		if (!allocate_plan(solver, &larger)) {
			search->status = NO_MEMORY;
			return;
		}
		other.plan = &larger;
		other.best = NONE;
		other.cap = solving->cap + (solving->cap - solver->step.persistent) / 100 * percent[i];
		larger.bound = plan->bound;
		search_base(&other, 0, false);
		if (search->status == OK && !is_near(&other, 0.1, 1e-3))
			search_base(&other, 1, false);
		if (search->status == OK && larger.extra < INT64_MAX && solving->options->orderer)
			search->status = order_plan(&other, &added);
		for (uint32_t b = 0; b < solver->bases && search->status == OK && larger.extra < INT64_MAX; b++)
			if (b < RECOMPUTE_OWN_BASES || b + 1 == solver->bases)
				repair_along(solving, b, larger.state);
		recompute_plan_free(&larger);
	}
}

/* The best plan, changed at random along the order that it has and along those that an orderer makes of it and of what
 * comes out. */
static void anneal(struct solving *solving, uint64_t plays)
{
	struct recompute_solver *solver = solving->solver;
	struct recompute_search *search = &solver->search;
	static const double heat[ANNEALINGS] = HEATS;
	uint32_t number = solving->best == NONE ? 0 : solving->best;
	bool added = false;
	recompute_search_begin(search, &solver->base[number], solving->cap);
	recompute_try(search, solving->plan->state);
	recompute_allow(search, solving->ticks / 2);
	if (!is_near(solving, 0, 0))
		recompute_enumerate(search);
	recompute_take_best(solving, number);
	for (int round = 0; round < ANNEALINGS && search->status == OK && !is_near(solving, 0.002, 2e-4); round++) {
		recompute_search_begin(search, &solver->base[number], solving->cap);
		recompute_try(search, solving->plan->state);
		recompute_allow(search, plays * (search->replay->length + search->replay->instances + 1));
		double gap = search->extra < INT64_MAX ? (double)(search->extra - solving->plan->bound)
			: 0.1 * (double)solver->step.total;
		recompute_anneal(search, solving->plan->slope, gap * heat[round]);
		recompute_allow(search, solving->ticks / 16);
		recompute_reprice(search, NULL);
		recompute_fill(search);
		recompute_take_best(solving, number);
		if (search->status == OK && solving->options->orderer)
			search->status = order_plan(solving, &added);
		number = added ? solver->bases - 1 : (uint32_t)round % solver->bases;
	}
}

/* ---- one cap: a table of steps ---- */

static bool recompute_start_helps(const struct solving *solving)
{
	return solving->options->start && solving->options->start->extra < INT64_MAX && !solving->plan->impossible;
}

/* What a larger cap's plan drops, and what this cap asks for besides. */
static void recompute_start(struct solving *solving)
{
	struct recompute_solver *solver = solving->solver;
	const struct recompute_plan *start = solving->options->start;
	uint32_t number = RECOMPUTE_OWN_BASES - 1;
	while (number > 0 && memcmp(solver->base[number].order, start->order, solver->step.ops * sizeof *start->order) != 0)
		number--;
	double gap = (double)(start->extra - start->bound) / (double)LARGER(solver->step.total, 1);
	solving->near = LARGER(solving->near, gap + CLOSE);
	FOR(s, solver->step.storages)
		solver->search.state[s] = solver->step.droppable[s] ? start->state[s] : RECOMPUTE_KEEP;
	repair_along(solving, number, solver->search.state);
	solving->repaired = solving->plan->extra < INT64_MAX;
}

static bool recompute_bases_help(const struct solving *solving)
{
	return !recompute_start_helps(solving) || !is_done(solving);
}

/* Along the solver's own orders; where no order fits what is lowest is shown, not searched for. */
static void recompute_search_bases(struct solving *solving)
{
	struct recompute_search *search = &solving->solver->search;
	bool impossible = solving->plan->impossible;
	if (impossible)
		search->end = solving->control->ticks + solving->ticks / 32;
	for (uint32_t i = 0; i < RECOMPUTE_OWN_BASES && search->status == OK; i++) {
		search_base(solving, i, false);
		if (impossible || is_near(solving, 0.01, 1e-4) || recompute_is_hopeless(solving))
			break;
	}
}

static bool recompute_floor_helps(const struct solving *solving)
{
	return solving->plan->extra == INT64_MAX && !solving->plan->impossible && !solving->solver->step.copies;
}

/* An op where the lowest plan is highest may be above the cap in any order, whatever is computed again. */
static void recompute_prove_impossible(struct solving *solving)
{
	struct recompute_solver *solver = solving->solver;
	const struct recompute_base *base = &solver->base[solving->best == NONE ? 0 : solving->best];
	struct recompute_plan *plan = solving->plan;
	enum status status = recompute_play(&solver->replay, base, plan->state);
	for (int n = 0; n < FLOORS && status == OK && !plan->impossible; n++) {
		struct recompute_certificate floor = { .op = NONE };
		uint32_t most = 0;
		FOR_FROM(i, 1, solver->step.ops)
			most = solver->replay.profile[i] > solver->replay.profile[most] ? i : most;
		solver->replay.profile[most] = 0;
		status = recompute_floor(
			&solver->bounds.loose, base->order[most], solving->cap, solving->control, &plan->impossible, &floor);
		if (!plan->impossible)
			continue;
		mem_free(plan->certificate.arc);
		plan->certificate = floor;
		plan->bound = 0;
		plan->slope = 0;
	}
	solver->search.status = status;
}

static bool recompute_orders_help(const struct solving *solving)
{
	return !solving->plan->impossible && !solving->options->coarse && solving->options->orderer;
}

static bool recompute_is_small(const struct solving *solving)
{
	return solving->solver->base[0].actives < SMALL_STEP;
}

/* Of a large step above its bound, but not far: a part of the search closed hardly anything of what is open. */
static void recompute_note_idle(struct solving *solving, int64_t before)
{
	const struct recompute_plan *plan = solving->plan;
	int64_t open = before - plan->bound;
	solving->idle = !recompute_is_small(solving) && is_near(solving, 1, FAR) &&
		open > solving->solver->step.total / OPEN && before - plan->extra < open / PATIENT;
}

/* An orderer's orders of the best states so far: each is one more base. */
static void recompute_search_orders(struct solving *solving)
{
	struct recompute_search *search = &solving->solver->search;
	int64_t first = solving->plan->extra;
	bool added = false;
	for (int round = 0; round < 3 && search->status == OK && !is_near(solving, 0.002, 2e-4) && !is_done(solving);
		round++) {
		int64_t extra = solving->plan->extra, peak = solving->plan->peak;
		search->status = order_plan(solving, &added);
		if (search->status == OK && added)
			search_base(solving, solving->solver->bases - 1, false);
		if ((solving->plan->extra == extra && solving->plan->peak == peak) || recompute_is_hopeless(solving))
			break;
	}
	recompute_note_idle(solving, first);
}

static bool recompute_hard_helps(const struct solving *solving)
{
	return !solving->plan->impossible && !solving->options->coarse && !recompute_is_hopeless(solving) &&
		!solving->idle;
}

/* For long, along all orders; of a large step they bring much the same. */
static void recompute_search_hard(struct solving *solving)
{
	bool tiny = solving->solver->base[0].actives < TINY_STEP;
	int64_t first = solving->plan->extra;
	for (uint32_t i = solving->solver->bases; i-- > 0 && solving->solver->search.status == OK && !is_done(solving);) {
		int64_t extra = solving->plan->extra;
		search_base(solving, i, true);
		if (!tiny && extra < INT64_MAX && solving->plan->extra == extra)
			break;
	}
	recompute_note_idle(solving, first);
}

static bool recompute_anneal_helps(const struct solving *solving)
{
	return recompute_hard_helps(solving) && !solving->repaired && !is_done(solving);
}

static bool recompute_descend_helps(const struct solving *solving)
{
	bool small = recompute_is_small(solving);
	return recompute_anneal_helps(solving) && !is_near(solving, small ? 0.003 : 1, small ? 2e-4 : FAR);
}

static void recompute_anneal_plan(struct solving *solving)
{
	anneal(solving, recompute_is_small(solving) ? PLAYS : PLAYS / 4);
}

static const struct recompute_part of_cap[] = {
	{ "recompute.start", 1, recompute_start_helps, recompute_start },
	{ "recompute.bases", 3, recompute_bases_help, recompute_search_bases },
	{ "recompute.floor", 0, recompute_floor_helps, recompute_prove_impossible },
	{ "recompute.orders", 0, recompute_orders_help, recompute_search_orders },
	{ "recompute.hard", 0, recompute_hard_helps, recompute_search_hard },
	{ "recompute.descend", 2, recompute_descend_helps, recompute_descend },
	{ "recompute.anneal", 2, recompute_anneal_helps, recompute_anneal_plan },
};

/* Orders made for another cap go: a cap's answer depends on the cap alone. */
static void forget_orders(struct recompute_solver *solver)
{
	while (solver->bases > RECOMPUTE_OWN_BASES)
		recompute_base_free(&solver->base[--solver->bases]);
}

enum status recompute_solve(struct recompute_solver *solver, int64_t cap,
	const struct recompute_search_options *options, struct control *control, struct recompute_plan *plan)
{
	struct solving solving = { solver, options, control, plan, cap,
		options->ticks ? options->ticks : RECOMPUTE_EFFORT_DEFAULT, NONE, 0, 0, 0, NULL, false,
		options->near, false, false };
	NEED(allocate_plan(solver, plan));
	forget_orders(solver);
	solver->bounds.best = 0;
	solver->search.control = control;
	solver->search.status = OK;
	solver->search.extra = INT64_MAX;
	FOR(op, solver->step.ops)
		plan->order[op] = op;
	enum status status = recompute_bound(&solver->bounds, cap, control, &plan->bound, &plan->slope, &plan->certificate);
	plan->impossible = status == INFEASIBLE;
	if (status == CANCELLED) {    /* what is there of a bound has no certificate */
		plan->bound = 0;
		plan->certificate.op = NONE;
	}
	status = status == INFEASIBLE ? OK : status;
	if (status == OK) {
		recompute_run(&solving, of_cap, COUNT_OF(of_cap));
		status = solver->search.status;
	}
	plan->proved = plan->extra <= plan->bound;
	return status;
}

/* The lower of two plans stays in the first's place. */
static void keep_lower(struct recompute_plan *plan, struct recompute_plan *other)
{
	struct recompute_plan goes = other->peak < plan->peak ? *plan : *other;
	*plan = other->peak < plan->peak ? *other : *plan;
	recompute_plan_free(&goes);
}

enum status recompute_least(struct recompute_solver *solver, const struct recompute_search_options *options,
	struct control *control, struct recompute_plan *plan)
{
	struct recompute_search_options look = *options;
	struct recompute_plan other;
	OWN(recompute_base) base = { 0 };
	int64_t low = solver->step.persistent, proved = low;
	uint64_t ticks = 0, most = DEEPER * SMALLER(solver->step.ops, DEEPER_OPS);
	look.coarse = true;
	enum status status = recompute_solve(solver, low, &look, control, plan);
	for (int n = 0; status == OK && (n <= HALVINGS || (ticks < most && plan->peak - low > 1 + low / CLOSE_TO)); n++) {
		look.coarse = n < HALVINGS;
		look.ticks = most / (ticks < most / 4 ? 4 : 16);
		low = n == HALVINGS ? proved : low;
		int64_t cap = low + (plan->peak - low) / 2;
		uint64_t begin = control->ticks;
		status = recompute_solve(solver, cap, &look, control, &other);
		cap = other.impossible ? LARGER(cap, other.certificate.bytes - 1) : cap;
		low = other.extra == INT64_MAX ? cap : low;
		proved = other.impossible ? cap : proved;
		keep_lower(plan, &other);
		ticks += look.coarse ? 0 : control->ticks - begin;
	}
	if (status == OK)
		status = recompute_base_of(&solver->step, plan->order, &base);
	if (status == OK)
		status = recompute_play(&solver->replay, &base, plan->state);
	plan->extra = solver->replay.extra;
	return status;
}

/* Whether the orderer may bring what was just played below the cap, by what it took off others. */
static bool in_reach(const struct solving *solving)
{
	const struct recompute_solver *solver = solving->solver;
	int64_t room = (solving->cap - solver->step.persistent) / REACH;
	return solver->base[0].actives < SMALL_STEP || solving->candidates < ORDERED_FIRST ||
		solver->replay.peak - solving->cap <= 2 * solving->gained + room;
}

/* One choice along one of the engine's own orders. */
static enum status consider_along(struct solving *solving, const uint8_t *state, uint32_t number)
{
	struct recompute_solver *solver = solving->solver;
	struct recompute_plan *plan = solving->plan;
	struct recompute_replay *replay = &solver->replay;
	enum status status = recompute_play(replay, &solver->base[number], state);
	bool added;
	if (status != OK || !replay->valid || replay->extra >= plan->extra || replay->extra < plan->bound)
		return status;
	if (replay->peak > solving->cap)
		return solving->options->orderer && !solving->options->played && in_reach(solving) && recompute_may(solving, state)
			? order_states(solving, state, solver->base[number].order, solving->cap, &added)
			: OK;
	recompute_take(solving, state, solver->base[number].order, replay->extra, replay->peak);
	solving->best = number;
	return OK;
}

/* Candidates by their peaks as played, the lowest first. */
static enum status rank_candidates(
	struct recompute_solver *solver, const uint8_t *state, uint32_t count, uint32_t *rank)
{
	HELD int64_t *MAKE(peak, count);
	enum status status = peak ? OK : NO_MEMORY;
	for (uint32_t i = 0, at; i < count && status == OK; i++) {
		status = recompute_play(
			&solver->replay, &solver->base[RECOMPUTE_OWN_BASES - 1], state + (size_t)i * solver->step.storages);
		peak[i] = solver->replay.peak;
		for (at = i; at > 0 && peak[rank[at - 1]] > peak[i]; at--)
			rank[at] = rank[at - 1];
		rank[at] = i;
	}
	return status;
}

enum status recompute_consider(struct recompute_solver *solver, int64_t cap, const uint8_t *state, uint32_t count,
	const struct recompute_search_options *options, struct control *control, struct recompute_plan *plan)
{
	struct solving solving = { solver, options, control, plan, cap,
		options->ticks ? options->ticks : RECOMPUTE_EFFORT_DEFAULT, NONE, 0, 0, 0, NULL, false,
		options->near, false, false };
	bool large = solver->base[0].actives >= SMALL_STEP;
	uint32_t *MAKE(rank, count);
	enum status status = rank ? rank_candidates(solver, state, count, rank) : NO_MEMORY;
	solver->search.control = control;
	solver->search.status = OK;
	for (uint32_t i = 0; i < count && status == OK && plan->extra > plan->bound; i++) {
		uint32_t before = solving.candidates;
		for (uint32_t b = RECOMPUTE_OWN_BASES; b-- > 0 && status == OK &&
			!(large && solving.candidates > before);) /* an orderer makes much the same of either */
			status = consider_along(&solving, state + (size_t)rank[i] * solver->step.storages, b);
	}
	mem_free(rank);
	if (status == OK && solving.best != NONE) {
		solver->search.end = control->ticks + solving.ticks / 2;
		anneal(&solving, large ? PLAYS / 4 : PLAYS);
		status = solver->search.status;
	}
	plan->proved = plan->extra <= plan->bound;
	return status;
}

void recompute_plan_free(struct recompute_plan *plan)
{
	mem_free(plan->state);
	mem_free(plan->order);
	mem_free(plan->certificate.arc);
	*plan = (struct recompute_plan){ 0 };
}

struct graph *recompute_plan_graph(
	struct recompute_solver *solver, const struct recompute_plan *plan, struct error *error)
{
	struct recompute_base base;
	struct graph *graph = NULL;
	enum status status = recompute_base_of(&solver->step, plan->order, &base);
	status = status == OK ? recompute_play_all(&solver->replay, &base, plan->state) : status;
	if (status == OK)
		graph = recompute_build(&solver->replay, plan->state, error);
	else
		fail_memory(error);
	recompute_base_free(&base);
	return graph;
}
