/* sharding_solve.c: one network, solved; axes one after the other. */
#include <string.h>

#include "sharding_job.h"

#define FULL_PAIRS 60000.0      /* pairs of strategies that all axes at once may make */
#define FULL_OPS 150             /* graphs up to here are searched in full, see struct network_options */
#define ROUNDS_MAX 4

/* ---- one network ---------------------------------------------------------------------------------------------------- */

static enum status build(struct sharding_job *job, const struct sharding_aim *aim, struct network *network)
{
	const struct sharding_options *options = job->options;
	struct network_options wanted = { .free = aim->free, .base = aim->base, .fold = options->fold, .clock = options->clock,
		.exposed = options->exposed, .pins = options->pins + aim->pins, .narrow = job->units->graph->ops > FULL_OPS,
		.strict = aim->memory || aim->limit >= 0 };
	struct placement_pin *pin = mem_alloc(wanted.pins, sizeof *pin);
	if (!pin)
		return NO_MEMORY;
	if (options->pins > 0)
		memcpy(pin, options->pin, options->pins * sizeof *pin);
	if (aim->pins > 0)
		memcpy(pin + options->pins, aim->pin, aim->pins * sizeof *pin);
	wanted.pin = pin;
	enum status status = network_build(job->units, job->mesh, &wanted, network, job->error);
	if (status == LIMIT && wanted.fold) {
		wanted.fold = NULL;
		status = network_build(job->units, job->mesh, &wanted, network, job->error);
	}
	mem_free(pin);
	if (status != OK)
		return status;
	uint32_t choices = network->chain.first[network->chain.nodes];
	status = network_prune(network);
	if (status == OK && aim->memory)
		network_weigh_memory(network);
	job->report->nodes = network->chain.nodes;
	job->report->choices = choices;
	job->report->dropped = network->dropped;
	job->report->folded = 0;
	for (uint32_t node = 0; node < network->chain.nodes; node++)
		if (network->node[node].kind == NETWORK_OP && network->chain.segment[node] != NONE)
			job->report->folded += network->chain.copies[network->chain.segment[node]] - 1;
	if (status != OK)
		network_free(network);
	return status;
}

/* Where the exact solver's tables would be too large: copies written out, multipliers and a local search. */
static enum status solve_roughly(struct sharding_job *job, const struct network *network, struct chain_plan *plan)
{
	struct shard_problem problem;
	struct shard_plan rough;
	struct shard_options options = { job->effort };
	size_t *start = arena_alloc(&plan->arena, network->chain.nodes + (size_t)1, sizeof *start);
	enum status status = start ? shard_chain_unfold(&network->chain, &problem, start, job->error) : NO_MEMORY;
	if (status != OK)
		return status;
	status = shard_solve(&problem, &options, job->control, &rough, job->error);
	if (rough.choice && !(plan->choice = arena_alloc(&plan->arena, problem.nodes, sizeof *plan->choice)))
		status = NO_MEMORY;
	if (rough.choice && plan->choice)
		memcpy(plan->choice, rough.choice, problem.nodes * sizeof *plan->choice);
	plan->start = start;
	plan->cost = rough.cost;
	plan->usage = rough.peak;
	plan->bound = rough.bound;
	plan->proved = rough.proved;
	plan->bound_kind = rough.searched ? "exhausted search" : "local polytope and multipliers";
	shard_plan_free(&rough);
	shard_problem_free(&problem);
	return status;
}

static enum status solve_chain(struct sharding_job *job, const struct network *network, struct chain_plan *plan)
{
	enum status status = shard_chain_solve(&network->chain, job->effort / 40, job->control, plan, job->error);
	if (status != LIMIT || plan->choice)
		return status;
	chain_plan_free(plan);
	*plan = (struct chain_plan) { 0 };
	return solve_roughly(job, network, plan);
}

enum status sharding_solve(struct sharding_job *job, const struct sharding_aim *aim, struct sharding *sharding, struct sharding_cost *cost)
{
	struct network network;
	*sharding = (struct sharding) { 0 };
	*cost = (struct sharding_cost) { 0 };
	enum status status = build(job, aim, &network);
	if (status != OK)
		return status;
	struct chain_plan plan = { 0 };
	network.chain.limit = aim->limit;
	status = solve_chain(job, &network, &plan);
	cost->usage = plan.usage;
	if (plan.choice) {
		enum status decoded = network_decode(&network, &plan, aim->base, sharding);
		if (decoded == OK)
			decoded = sharding_cost(job->units, sharding, job->options->clock, job->options->exposed, cost);
		status = decoded == OK ? status : decoded;
		job->report->objective = plan.cost;
		job->report->bound = plan.bound;
		job->report->proved = plan.proved;
		job->report->bound_kind = plan.bound_kind;
	}
	chain_plan_free(&plan);
	network_free(&network);
	return status;
}

/* ---- all axes ------------------------------------------------------------------------------------------------------- */

static uint8_t all_axes(const struct mesh *mesh)
{
	uint8_t axes = 0;
	for (uint32_t a = 0; a < mesh->axes; a++)
		axes |= (uint8_t)((mesh->axis[a].size > 1) << a);
	return axes;
}

/* About how many pairs of strategies the ops of a network have. */
static double pairs_at_once(const struct sharding_job *job)
{
	const struct fold *fold = job->options->fold;
	double pairs = 0;
	for (uint32_t op = 0; op < job->units->graph->ops; op++) {
		double choices = 1;
		for (uint32_t a = 0; a < job->mesh->axes; a++)
			choices *= job->mesh->axis[a].size > 1 ? unit_count(job->units, op) + 1 + job->units->linear[op] : 1;
		if (!fold || fold->segment_of[op] == NONE || fold->copy_of[op] == 0)
			pairs += choices * choices;
	}
	return pairs;
}

static bool better(const struct sharding_cost *a, const struct sharding_cost *b, int64_t limit, bool memory)
{
	bool a_fits = limit < 0 || a->usage <= limit, b_fits = limit < 0 || b->usage <= limit;
	if (a_fits != b_fits)
		return a_fits;
	if (memory || !a_fits)
		return a->usage != b->usage ? a->usage < b->usage : a->total < b->total;
	return a->total + a->ties < b->total + b->ties;
}

/* Decides one axis anew; true where that is better. */
static bool improve(struct sharding_job *job, uint32_t axis, int64_t limit, bool memory, const struct placement_pin *pin, uint32_t pins,
	struct sharding *sharding, struct sharding_cost *cost, enum status *status)
{
	struct sharding_aim aim = { (uint8_t)(1 << axis), sharding, limit, memory, pin, pins };
	struct sharding found;
	struct sharding_cost of_found;
	*status = sharding_solve(job, &aim, &found, &of_found);
	if (*status == INFEASIBLE && !memory) {  /* as near as this axis gets */
		sharding_free(&found);
		aim.memory = true;
		aim.limit = -1;
		*status = sharding_solve(job, &aim, &found, &of_found);
	}
	if (found.split && better(&of_found, cost, limit, memory)) {
		sharding_free(sharding);
		*sharding = found;
		*cost = of_found;
		return true;
	}
	sharding_free(&found);
	return false;
}

/* One axis after the other, innermost first, from a sharding by roles. */
static enum status descend(struct sharding_job *job, const struct axis_roles *roles, int64_t limit, bool memory, const struct placement_pin *pin,
	uint32_t pins, struct sharding *sharding, struct sharding_cost *cost)
{
	enum status status = split_by_roles(job->units, job->mesh, roles, sharding);
	if (status == OK)
		status = sharding_cost(job->units, sharding, job->options->clock, job->options->exposed, cost);
	bool pinned = job->options->pins + pins > 0;
	if (pinned)  /* the start need not keep to pins */
		cost->total = cost->usage = INT64_MAX / 2;
	uint32_t idle = 0, axes = job->mesh->axes;
	for (uint32_t step = 0; (status == OK || status == LIMIT) && step < ROUNDS_MAX * axes && idle < axes; step++) {
		uint32_t axis = axes - 1 - step % axes;
		if (job->mesh->axis[axis].size < 2)
			idle++;
		else
			idle = improve(job, axis, limit, memory, pin, pins, sharding, cost, &status) ? 1 : idle + 1;
		job->report->rounds = step / axes + 1;
	}
	job->report->proved = false;
	job->report->bound = -1;  /* each axis has one of its own */
	if (status == OK && limit >= 0 && cost->usage > limit)
		status = INFEASIBLE;
	return status;
}

enum status sharding_search(struct sharding_job *job, int64_t limit, bool memory, const struct placement_pin *pin, uint32_t pins,
	struct sharding *sharding, struct sharding_cost *cost)
{
	uint8_t axes = all_axes(job->mesh);
	if (__builtin_popcount(axes) <= 1 || pairs_at_once(job) <= FULL_PAIRS || !job->options->roles) {
		struct sharding_aim aim = { axes, NULL, limit, memory, pin, pins };
		job->report->space = job->units->graph->ops > FULL_OPS ? "splits of every op that may pay" : "every split of every op";
		return sharding_solve(job, &aim, sharding, cost);
	}
	job->report->space = "splits of every op that may pay, one axis after the other";
	struct axis_roles data[MESH_AXES];
	for (uint32_t a = 0; a < job->mesh->axes; a++) {
		data[a] = roles_data;
		data[a].zero = 3;
	}
	enum status status = descend(job, job->options->roles, limit, memory, pin, pins, sharding, cost);
	if (status != OK && status != INFEASIBLE && status != LIMIT)
		return status;
	struct sharding other;
	struct sharding_cost of_other;
	struct sharding_report first = *job->report;
	enum status again = descend(job, data, limit, memory, pin, pins, &other, &of_other);
	if ((again == OK || again == INFEASIBLE || again == LIMIT) && better(&of_other, cost, limit, memory)) {
		sharding_free(sharding);
		*sharding = other;
		*cost = of_other;
		return again;
	}
	sharding_free(&other);
	*job->report = first;
	return status;
}
