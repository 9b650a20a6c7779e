/* solve.c: one network, solved; axes one after the other. */

#include "job.h"
#include "solver/base/names.h"

#define FULL_PAIRS 60000.0      /* pairs of strategies of several axes up to which nothing else is tried */
#define MOST_PAIRS 3e7          /* of ops that all axes at once may make */
#define MOST_PAIRS_OF_THREE 2e5  /* of three axes and more: each pair's resharding is a search of its own */
#define SUM_PAIRS 250000.0      /* up to which a sum over all axes is searched so: the estimate counts */
#define FULL_OPS 150             /* graphs up to here are searched in full, see struct network_options */
#define ROUNDS_MAX 4
#define AXIS_SHARE 10 /* one axis of several takes a tenth of the effort: its proof would count for nothing */
#define MIXTURES_MAX 4           /* that are searched beside the first */
#define CANDIDATE_SHARE 8        /* auto compares plans: the last thousandth of an estimate tells nothing of them */

/* Splits of large graphs that hardly ever pay are left out. */
static bool solve_is_narrow(const struct sharding_job *job)
{
	return job->units->graph->ops > FULL_OPS;
}

/* What no search leaves out. */
static enum status split_usually(struct sharding_job *job)
{
	const struct axis_roles *usual = solve_is_narrow(job) ? job->options->usual : NULL;
	return usual ? split_by_roles(job->units, job->mesh, usual, &job->usual) : OK;
}

enum status sharding_job_begin(struct sharding_job *job, const struct units *units, const struct mesh *mesh,
	const struct sharding_options *options, struct control *control, struct sharding_report *report,
	struct error *error)
{
	*report = (struct sharding_report) { .proof = { QUANTITY_NONE, -1, -1, "" }, .least_usage = -1, .space = "" };
	*job = (struct sharding_job){ .units = units,
		.mesh = mesh,
		.options = options,
		.control = control,
		.report = report,
		.error = error,
		.sum = sharding_sum_new(units, options->clock, options->exposed, options->microbatches),
		.effort = options->effort ? options->effort : SHARDING_EFFORT_DEFAULT };
	job->mixture = options->mixture;
	job->by_axes = options->by_axes;
	MAKE(job->memo, 1);
	return job->sum && job->memo && reshard_memo_begin(job->memo, units, mesh) == OK ? split_usually(job) : NO_MEMORY;
}

void sharding_job_end(struct sharding_job *job)
{
	sharding_sum_free(job->sum);
	sharding_free(&job->usual);
	sharding_free(&job->aside);
	if (job->memo)
		reshard_memo_end(job->memo);
	mem_free(job->memo);
}

/* ---- one network ---- */

/* All of it, before any strategy is left out. */
static enum status build_whole(struct sharding_job *job, const struct sharding_aim *aim, struct network *network)
{
	const struct sharding_options *options = job->options;
	struct network_options wanted = { .free = aim->free,
		.base = aim->base,
		.fold = options->fold,
		.clock = options->clock,
		.exposed = options->exposed,
		.microbatches = options->microbatches,
		.pins = options->pins + aim->pins,
		.narrow = solve_is_narrow(job),
		.usual = job->usual.split ? &job->usual : NULL,
		.strict = aim->memory || aim->limit >= 0,
		.control = job->control };
	struct placement_pin *MAKE(pin, wanted.pins);
	NEED(pin);
	if (options->pins > 0)
		COPY(pin, options->pin, options->pins);
	if (aim->pins > 0)
		COPY(pin + options->pins, aim->pin, aim->pins);
	wanted.pin = pin;
	wanted.mixture = job->mixture;
	wanted.clock.late_casts &= job->apart;
	wanted.memo = job->memo;
	enum status status = network_build(job->units, job->mesh, &wanted, network, job->error);
	if (status == LIMIT && wanted.fold) {
		wanted.fold = NULL;
		status = network_build(job->units, job->mesh, &wanted, network, job->error);
	}
	mem_free(pin);
	return status;
}

static enum status solve_build(struct sharding_job *job, const struct sharding_aim *aim, struct network *network)
{
	TRY(build_whole(job, aim, network));
	enum status status = network_prune(network, job->control);
	if (status == OK && aim->memory)
		network_weigh_memory(network);
	job->report->nodes = network->chain.nodes;
	job->report->folded = 0;
	FOR(node, network->chain.nodes)
		if (network->node[node].kind == NETWORK_OP && network->chain.segment[node] != NONE)
			job->report->folded += network->chain.copies[network->chain.segment[node]] - 1;
	if (status != OK)
		network_free(network);
	return status;
}

static size_t edge_pairs(const struct shard_chain *chain, const struct chain_edge *edge)
{
	return (size_t)chain_strategies(chain, edge->from) * chain_strategies(chain, edge->to);
}

/* A bound: the least of every node and edge. */
static int64_t least_costs(const struct shard_chain *chain)
{
	int64_t sum = 0;
	FOR(node, chain->nodes)
		sum += least_of(chain->cost + chain->first[node], chain_strategies(chain, node), SHARD_FORBIDDEN) *
			chain_copies(chain, node);
	FOR(e, chain->edges)
		sum += least_of(chain->pair + chain->edge[e].table, edge_pairs(chain, &chain->edge[e]), SHARD_FORBIDDEN) *
			chain_times(chain, &chain->edge[e]);
	return sum;
}

/* What prices leave open is searched: between them and the best plan, or all of it where tables would be too large.
 * shows: a bound counts: one given other axes doesn't, nor one of a sum that may be above the estimate. */
static enum status solve_chain(
	struct sharding_job *job, const struct network *network, bool shows, struct chain_plan *plan)
{
	uint64_t effort = job->effort;
	enum status status = LIMIT;
	if (step_runs("chain.prices"))
		status = shard_chain_solve(&network->chain, effort / 40, job->control, plan, job->error);
	if (status != LIMIT)
		return status;
	OWN(chain_plan) priced = *plan;
	effort /= priced.choice ? 16 : has_several_axes(job->mesh) ? 2 : 1;
	if (job->options->strategy == STRATEGY_AUTO && !priced.choice)
		effort /= CANDIDATE_SHARE;
	enum chain_wants wants = !shows ? CHAIN_PLAN : job->options->alone && network->chain.limit < 0 ? CHAIN_BOUND
		: CHAIN_BOTH;
	status = shard_chain_rough(&network->chain, effort, wants, job->control, plan, job->error);
	return priced.choice && status != NO_MEMORY ? chain_plan_join(plan, &priced) : status;
}

static bool mixture_is_of_estimate(const struct mesh *mesh, const struct mixture *mixture)
{
	bool is = true;
	FOR_INT(k, HIDINGS) {
		int sum = 0;
		FOR(a, mesh->axes)
			sum += mesh->axis[a].size > 1 ? mixture->axis[k][a] : 0;
		is &= sum <= mixture->over[k];
	}
	return is;
}

/* What the report's bound is of. A mixture of the sum over all axes may be above the estimate. */
static void note_mixture(struct sharding_job *job)
{
	job->report->mixture = job->mixture;
	job->report->of_estimate = (job->apart || !job->options->clock.late_casts) &&
		mixture_is_of_estimate(job->mesh, &job->mixture);
}

enum status sharding_solve(
	struct sharding_job *job, const struct sharding_aim *aim, struct sharding *sharding, struct sharding_cost *cost)
{
	struct network network;
	*sharding = (struct sharding) { 0 };
	*cost = (struct sharding_cost) { 0 };
	TRY(solve_build(job, aim, &network));
	if (control_status(job->control) == CANCELLED) {
		network_free(&network);
		return CANCELLED;
	}
	OWN(chain_plan) plan = { 0 };
	network.chain.limit = aim->limit;
	note_mixture(job);
	bool shows = !aim->base && !job->options->unproved &&
		(job->report->of_estimate || job->options->strategy != STRATEGY_AUTO);
	enum status status = solve_chain(job, &network, shows, &plan);
	cost->usage = plan.usage;
	job->report->proof.bound = plan.bound_kind ? plan.bound : -1;
	job->report->proof.by = plan.bound_kind ? plan.bound_kind : "";
	if (status != INFEASIBLE && (!plan.bound_kind || plan.bound < least_costs(&network.chain))) {
		job->report->proof.bound = least_costs(&network.chain);
		job->report->proof.by = chain_bound_names[CHAIN_LEAST];
	}
	job->report->proof.quantity = aim->memory ? QUANTITY_KEPT : QUANTITY_ESTIMATE;
	job->report->price = (struct price){ plan.alpha, plan.beta, plan.priced, aim->limit };
	if (plan.choice) {
		enum status decoded = network_decode(&network, &plan, aim->base, sharding);
		if (decoded == OK)
			decoded = sharding_sum_cost(job->sum, sharding, cost);
		status = decoded == OK ? status : decoded;
		job->report->proof.value = plan.cost;
	}
	network_free(&network);
	return status;
}

static uint8_t all_axes(const struct mesh *mesh)
{
	uint8_t axes = 0;
	FOR(a, mesh->axes)
		axes |= (uint8_t)((mesh->axis[a].size > 1) << a);
	return axes;
}

enum status sharding_priced(const struct units *units, const struct mesh *mesh, const struct sharding_options *options,
	int64_t limit, int64_t alpha, int64_t beta, int64_t *bound, struct error *error)
{
	struct sharding_report report;
	struct sharding_job job = {
		.units = units, .mesh = mesh, .options = options, .report = &report, .error = error, .apart = true
	};
	struct sharding_aim aim = { .free = all_axes(mesh), .limit = limit };
	struct network network;
	job.mixture = options->mixture;
	enum status status = split_usually(&job);
	THEN(status, build_whole(&job, &aim, &network));
	sharding_free(&job.usual);
	TRY(status);
	network.chain.limit = limit;
	status = shard_chain_valid(&network.chain, error);
	THEN(status, shard_chain_bound(&network.chain, alpha, beta, bound, error));
	network_free(&network);
	return status;
}

/* ---- all axes ---- */

/* About how many pairs of strategies the ops of a network have. */
static double pairs_at_once(const struct sharding_job *job)
{
	const struct fold *fold = job->options->fold;
	double pairs = 0;
	FOR(op, job->units->graph->ops) {
		double choices = 1;
		FOR(a, job->mesh->axes)
			choices *= job->mesh->axis[a].size > 1 ? unit_count(job->units, op) + 1 + (job->units->linear[op] != LINEAR_NOT) : 1;
		if (!fold || fold->segment_of[op] == NONE || fold->copy_of[op] == 0)
			pairs += choices * choices;
	}
	return pairs;
}

static bool solve_better(const struct sharding_job *job, const struct sharding_cost *a, const struct sharding_cost *b,
	int64_t limit, bool memory)
{
	int64_t a_time = sharding_time(a, !job->apart), b_time = sharding_time(b, !job->apart);
	bool a_fits = limit < 0 || a->usage <= limit, b_fits = limit < 0 || b->usage <= limit;
	if (a_fits != b_fits)
		return a_fits;
	if (memory || !a_fits)
		return a->usage != b->usage ? a->usage < b->usage : a_time < b_time;
	return a_time + a->ties < b_time + b->ties;
}

static bool went_on(enum status status)
{
	return status == OK || status == INFEASIBLE || status == LIMIT;
}

/* Decides one axis anew; true where that is better. */
static bool solve_improve(struct sharding_job *of, uint32_t axis, int64_t limit, bool memory,
	struct sharding *sharding, struct sharding_cost *cost, enum status *status)
{
	struct sharding_job part = *of, *job = &part;
	part.effort /= AXIS_SHARE;
	struct sharding_aim aim = { (uint8_t)(1 << axis), sharding, limit, memory, NULL, 0 };
	struct sharding found;
	struct sharding_cost of_found;
	*status = sharding_solve(job, &aim, &found, &of_found);
	if (*status == INFEASIBLE && !memory) {  /* as near as this axis gets */
		sharding_free(&found);
		aim.memory = true;
		aim.limit = -1;
		*status = sharding_solve(job, &aim, &found, &of_found);
	}
	if (found.split && solve_better(job, &of_found, cost, limit, memory)) {
		sharding_free(sharding);
		*sharding = found;
		*cost = of_found;
		return true;
	}
	sharding_free(&found);
	return false;
}

/* One axis after the other, innermost first, from the sharding at hand. */
static enum status solve_descend(struct sharding_job *job, int64_t limit, bool memory,
	struct sharding *sharding, struct sharding_cost *cost)
{
	enum status status = OK;
	uint32_t idle = 0, axes = job->mesh->axes;
	for (uint32_t step = 0; (status == OK || status == LIMIT) && step < ROUNDS_MAX * axes && idle < axes; step++) {
		uint32_t axis = axes - 1 - step % axes;
		if (job->mesh->axis[axis].size < 2)
			idle++;
		else
			idle = solve_improve(job, axis, limit, memory, sharding, cost, &status) ? 1 : idle + 1;
	}
	if (status == OK && limit >= 0 && cost->usage > limit)
		status = INFEASIBLE;
	return status;
}

/* The same from what experts write by hand. */
static enum status descend_from(
	struct sharding_job *job, int64_t limit, bool memory, struct sharding *sharding, struct sharding_cost *cost)
{
	TRY(sharding_sum_cost(job->sum, sharding, cost));
	if (job->options->pins > 0)  /* the start need not keep to pins */
		cost->total = cost->summed = cost->usage = INT64_MAX / 2;
	return solve_descend(job, limit, memory, sharding, cost);
}

/* Whether starts differ in the innermost axis alone, which is decided first: they lead to the same. */
static bool solve_starts_alike(const struct sharding_job *job, const struct sharding *a, const struct sharding *b)
{
	bool alike = a->each_axes == b->each_axes && a->regather_axes == b->regather_axes;
	for (uint32_t axis = 0; axis + 1 < job->mesh->axes; axis++) {
		FOR(op, job->units->graph->ops)
			alike &= a->split[op].on[axis] == b->split[op].on[axis];
		FOR(tensor, job->units->graph->tensors)
			alike &= a->produced[tensor].on[axis] == b->produced[tensor].on[axis];
	}
	return alike;
}

/* From both of an expert's. */
static enum status descend_twice(struct sharding_job *job, int64_t limit, bool memory,
	struct sharding *sharding, struct sharding_cost *cost)
{
	struct axis_roles data[MESH_AXES];
	FOR(a, job->mesh->axes) {
		data[a] = roles_data;
		data[a].stays = job->options->roles[a].stays;
		data[a].narrow = job->options->roles[a].narrow;
		data[a].zero = 3;
	}
	OWN(sharding) other = { 0 };
	TRY(split_by_roles(job->units, job->mesh, job->options->roles, sharding));
	TRY(split_by_roles(job->units, job->mesh, data, &other));
	bool alike = solve_starts_alike(job, sharding, &other);
	enum status status = descend_from(job, limit, memory, sharding, cost);
	/* minred begins with nothing split */
	if (!went_on(status) || alike || job->options->strategy == STRATEGY_MINRED)
		return status;
	struct sharding_cost of_other;
	struct sharding_report first = *job->report;
	enum status again = descend_from(job, limit, memory, &other, &of_other);
	if (went_on(again) && solve_better(job, &of_other, cost, limit, memory)) {
		sharding_free(sharding);
		*sharding = other;
		other = (struct sharding) { 0 };
		*cost = of_other;
		return again;
	}
	*job->report = first;
	return status;
}

static enum status copy_start(const struct sharding_job *job, struct sharding *sharding, struct sharding_cost *cost)
{
	sharding_free(sharding);
	TRY(sharding_copy(job->units, job->start, sharding));
	return sharding_sum_cost(job->sum, sharding, cost);
}

/* All axes together, for the bound and a start; where that isn't wanted or is too large, nothing: LIMIT. */
static enum status search_together(struct sharding_job *job, const struct sharding_aim *aim, bool at_once,
	struct sharding *sharding, struct sharding_cost *cost)
{
	job->report->proof.bound = -1;
	job->report->proof.by = "";
	job->report->price = (struct price){ .limit = aim->limit };
	if (at_once)
		return sharding_solve(job, aim, sharding, cost);
	*sharding = (struct sharding) { 0 };
	return LIMIT;
}

/* From what is at hand, from the start alone (near), or from what experts write; and from the start where none of that
 * keeps the limit. */
static enum status search_by_axes(struct sharding_job *job, int64_t limit, bool memory, bool near,
	struct sharding *sharding, struct sharding_cost *cost)
{
	enum status status = near ? copy_start(job, sharding, cost) : OK;
	THEN(status, sharding->split ? solve_descend(job, limit, memory, sharding, cost)
		: descend_twice(job, limit, memory, sharding, cost));
	if (!went_on(status) || !job->start || limit < 0 || (sharding->split && cost->usage <= limit))
		return status;
	TRY(copy_start(job, sharding, cost));
	return solve_descend(job, limit, memory, sharding, cost);
}

/* All axes together; then axis by axis what is exact, and sees no need for copies to be written out. */
static enum status search_several(struct sharding_job *job, const struct sharding_aim *aim,
	struct sharding *sharding, struct sharding_cost *cost)
{
	bool summed = job->options->strategy == STRATEGY_AUTO && !job->apart && !aim->memory;
	bool at_once = !job->by_axes && pairs_at_once(job) <=
		(__builtin_popcount(aim->free) > 2 ? MOST_PAIRS_OF_THREE : summed ? SUM_PAIRS : MOST_PAIRS);
	enum status status = search_together(job, aim, at_once, sharding, cost);
	struct sharding_report together = *job->report;
	if ((status == OK && proof_closed(&together.proof)) || status == NO_MEMORY || status == CANCELLED ||
		status == INFEASIBLE || job->options->alone)
		return status;
	status = search_by_axes(
		job, aim->limit, aim->memory, !at_once && job->by_axes && job->start, sharding, cost);
	job->report->proof.bound = together.proof.bound < 0 ? -1 : together.proof.bound;
	job->report->proof.by = together.proof.by;
	job->report->price = together.price;
	job->report->nodes = (uint32_t)larger_of(together.nodes, job->report->nodes);
	job->report->proof.value = aim->memory ? job->report->proof.value : sharding_time(cost, !job->apart) + cost->ties;
	return status;
}

static bool wants_apart(const struct sharding_job *job)
{
	return job->options->apart && (has_several_axes(job->mesh) || job->options->clock.late_casts);
}

/* Keeps a copy of what was found for the least sum, where its estimate is the least so far. OK or NO_MEMORY. */
static enum status set_aside(
	struct sharding_job *job, int64_t limit, const struct sharding *sharding, const struct sharding_cost *cost)
{
	if (!wants_apart(job) || job->apart || !sharding->split || (limit >= 0 && cost->usage > limit))
		return OK;
	if (job->aside.split && sharding_estimate(&job->cost_of_aside) <= sharding_estimate(cost))
		return OK;
	sharding_free(&job->aside);
	job->cost_of_aside = *cost;
	return sharding_copy(job->units, sharding, &job->aside);
}

enum status sharding_search(struct sharding_job *job, int64_t limit, bool memory,
	struct sharding *sharding, struct sharding_cost *cost)
{
	struct sharding_aim aim = { .free = all_axes(job->mesh), .limit = limit, .memory = memory };
	job->report->space = job->units->graph->ops > FULL_OPS ? "splits of every op that may pay" : "every split of every op";
	if (!has_several_axes(job->mesh) || pairs_at_once(job) <= FULL_PAIRS || !job->options->roles)
		return sharding_solve(job, &aim, sharding, cost);
	return search_several(job, &aim, sharding, cost);
}

/* ---- mixtures ---- */

/* How far the next step of every class goes, in halves of a percent. */
struct mixing { int step[HIDINGS]; };

/* Takes so many percent from the others' shares, from each its part, and gives them to one. */
static void solve_shift(int *share, int shares, int to, int percent)
{
	int others = 100 - share[to];
	share[to] += percent;
	FOR_INT(i, shares) {
		int part = i == to || others == 0 ? 0 : percent * share[i] / others;
		others -= i == to ? 0 : share[i];
		share[i] -= part;
		percent -= part;
	}
}

/* The next mixture: what is found tells of every class which of its sums is the longest, and that one gets a larger
 * share: first all, then half as much more each time. False: each is the one that was minimised. */
static bool solve_mix(struct sharding_job *job, const struct sharding_cost *cost, struct mixing *mixing)
{
	struct mixture *mixture = &job->mixture;
	bool any = false;
	FOR_INT(k, HIDINGS) {
		int share[1 + MESH_AXES] = { 100 - mixture->over[k] },
					  axes = job->apart ? (int)job->mesh->axes : 1; /* in a sum over all axes they have one */
		int longest = sharding_longest(cost, k, !job->apart), to = longest == SERIAL ? 0 : 1 + longest;
		FOR_INT(a, axes)
			share[1 + a] = mixture->axis[k][a];
		int percent = (mixing->step[k] + (to == 0)) / 2, left = 100 - share[to];
		if (left == 0)
			continue;
		solve_shift(share, 1 + axes, to, SMALLER(percent, left));
		mixture->over[k] = (uint8_t)(100 - share[0]);
		FOR_INT(a, (int)job->mesh->axes)
			mixture->axis[k][a] = (uint8_t)share[1 + (job->apart ? a : 0)];
		mixing->step[k] /= 2;
		any = true;
	}
	return any;
}

/* Whether a report says more of the estimate than another one. */
static bool shows_more(const struct sharding_report *a, const struct sharding_report *b)
{
	return a->of_estimate != b->of_estimate ? a->of_estimate && a->proof.bound >= 0 : a->proof.bound > b->proof.bound;
}

/* Takes the better of two results over; the report with the higher bound stays, where both are of the same shardings.
 */
static void solve_keep_better(struct sharding_job *job, int64_t limit, struct sharding *other,
	const struct sharding_cost *of_other, const struct sharding_report *before, struct sharding *sharding,
	struct sharding_cost *cost)
{
	if (other->split && (!sharding->split || solve_better(job, of_other, cost, limit, false))) {
		sharding_free(sharding);
		*sharding = *other;
		*cost = *of_other;
	} else {
		sharding_free(other);
	}
	if (shows_more(before, job->report))
		*job->report = *before;
	job->report->proof.value = sharding_time(cost, !job->apart) + cost->ties;
}

/* More searches with other mixtures, near what is at hand, as long as they may find less. last: what the last mixture
 * has led to. */
static enum status search_mixtures(struct sharding_job *job, int64_t limit, enum status status, struct mixing *mixing,
	struct sharding_cost last, struct sharding *sharding, struct sharding_cost *cost)
{
	bool by_axes = job->by_axes;
	const struct sharding *start = job->start;
	job->by_axes = true;   /* one with all axes at once has the bound */
	job->start = sharding;
	/* Where nothing keeps the limit, a mixture of times changes nothing. */
	for (int round = 0; round < MIXTURES_MAX && step_runs("shard.mixtures") && sharding->split &&
		(limit < 0 || cost->usage <= limit) &&
		went_on(status) && solve_mix(job, &last, mixing);
		round++) {
		struct sharding other;
		struct sharding_report before = *job->report;
		int64_t best = sharding_time(cost, !job->apart) + cost->ties;
		enum status found = sharding_search(job, limit, false, &other, &last);
		bool there = other.split;
		found = set_aside(job, limit, &other, &last) == OK ? found : NO_MEMORY;
		solve_keep_better(job, limit, &other, &last, &before, sharding, cost);
		status = found == NO_MEMORY || found == CANCELLED ? found : status;
		if (!there || (job->apart && sharding_time(cost, !job->apart) + cost->ties == best))
			break;
		status = status == OK && found == OK ? OK : status == INFEASIBLE ? found : status;
	}
	job->by_axes = by_axes;
	job->start = start;
	return status;
}

#define STEP(percent) { .step = { 2 * (percent), 2 * (percent), 2 * (percent) } }

enum status sharding_search_time(
	struct sharding_job *job, int64_t limit, struct sharding *sharding, struct sharding_cost *cost)
{
	struct mixing mixing = STEP(100);
	job->mixture = job->options->mixture;
	sharding_free(&job->aside);
	enum status status = sharding_search(job, limit, false, sharding, cost);
	status = set_aside(job, limit, sharding, cost) == OK ? status : NO_MEMORY;
	return search_mixtures(job, limit, status, &mixing, *cost, sharding, cost);
}

/* ---- axes side by side ---- */

#define WORTHLESS_PERCENT 2   /* so little, at most, is not worth a search */

/* Whether another search can hardly find less: by the bound, or as there is little communication. */
static bool solve_hardly_pays(const struct sharding_job *job, const struct sharding_cost *cost)
{
	int64_t bound = job->report->of_estimate ? job->report->proof.bound : -1,
			least = larger_of(bound, cost->compute);
	return sharding_estimate(cost) - least <= cost->total / 100 * WORTHLESS_PERCENT;
}

/* One more search, from a start or from what experts write (NULL); what it finds takes the sharding's place where it is
 * better. */
static enum status search_beside(struct sharding_job *job, int64_t limit, const struct sharding *start,
	struct sharding *sharding, struct sharding_cost *cost, struct sharding_cost *of_other)
{
	struct sharding other;
	struct sharding_report before = *job->report;
	const struct sharding *start_before = job->start;
	job->start = start;
	enum status status = sharding_search(job, limit, false, &other, of_other);
	job->start = start_before;
	solve_keep_better(job, limit, &other, of_other, &before, sharding, cost);
	return status;
}

/* Mixtures of the estimate, one axis after the other where there are several. */
static enum status search_estimate(
	struct sharding_job *job, int64_t limit, struct sharding *sharding, struct sharding_cost *cost)
{
	bool several = has_several_axes(job->mesh), by_axes = job->by_axes;
	struct mixing mixing = several ? (struct mixing) STEP(50) : (struct mixing) STEP(100);
	struct sharding_cost last;
	bool pays = !solve_hardly_pays(job, cost);
	job->mixture = several ? (struct mixture) { 0 } : job->options->mixture;
	job->by_axes = true;
	enum status status = pays || !several ? search_beside(job, limit, NULL, sharding, cost, &last) : OK;
	if (pays && went_on(status))
		status = search_mixtures(job, limit, OK, &mixing, last, sharding, cost);
	job->by_axes = by_axes;
	/* all axes at once, too: without it 2 of 34 plans are 0.7 and 1.2 % slower */
	if (went_on(status) && several && !by_axes)
		status = search_beside(job, limit, sharding, sharding, cost, &last);
	return status;
}

enum status sharding_search_apart(
	struct sharding_job *job, int64_t limit, struct sharding *sharding, struct sharding_cost *cost)
{
	*sharding = job->aside;
	*cost = job->cost_of_aside;
	job->aside = (struct sharding) { 0 };
	if (!sharding->split)
		return OK;
	job->apart = true;
	enum status status = search_estimate(job, limit, sharding, cost);
	job->apart = false;
	return status == NO_MEMORY || status == CANCELLED ? status : OK;
}
