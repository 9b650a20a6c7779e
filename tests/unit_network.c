/* unit_network.c: the sharding problem of a graph against every placement of small ones, and its independent sum. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#include "random_step.h"
#include "solver/network.h"
#include "solver/sharding_cost.h"
#include "support.h"

static const struct link fast = { 1000, 100000000000 };

static struct mesh mesh_of(uint32_t first, uint32_t second)
{
	struct mesh mesh = { .axes = second > 1 ? 2 : 1 };
	uint32_t size[2] = { first, second };
	for (uint32_t a = 0; a < mesh.axes; a++)
		mesh.axis[a] = (struct mesh_axis) { .name = "a", .size = size[a], .near_size = size[a], .near = fast, .far = fast };
	mesh.axis[1].near.rate /= 3;
	return mesh;
}

/* An element takes a hundred picoseconds, a product of matrices one a multiplication. */
static int64_t element_time(const void *context, const struct units *units, const struct mesh *mesh, uint32_t op, struct split split)
{
	const struct graph *graph = units->graph;
	uint32_t tensor = graph->reads.item[graph->reads.start[op]];
	int64_t time = strstr(graph->op[op].type, "mm") ? 512 : strcmp(graph->op[op].type, "aten.t.default") ? 6400 : 0;
	(void)tensor;
	for (uint32_t a = 0; a < mesh->axes; a++)
		if (split.on[a] >= 0)
			time /= mesh->axis[a].size;
	return time * *(const int64_t *)context;
}

/* ---- every placement ---------------------------------------------------------------------------------------------- */

struct trying {
	const struct units *units;
	struct sharding sharding;
	struct op_clock clock;
	int64_t best, least, limit;
	uint32_t kept[8], kepts;
	uint64_t tried;
};

static bool legal(const struct trying *trying, uint32_t op)
{
	const struct graph *graph = trying->units->graph;
	const struct sharding *sharding = &trying->sharding;
	FOR_ROW(i, &graph->reads, op)
		if (!placement_divides(trying->units, &sharding->mesh, graph->reads.item[i], sharding->needed[i]))
			return false;
	FOR_ROW(i, &graph->writes, op) {
		uint32_t tensor = graph->writes.item[i];
		if (!placement_divides(trying->units, &sharding->mesh, tensor, sharding->produced[tensor]))
			return false;
		for (uint32_t a = 0; a < sharding->mesh.axes; a++)
			if (graph->op[op].phase == PHASE_UPDATE && sharding->produced[tensor].on[a] == PLACE_PARTIAL)
				return false;
	}
	return true;
}

static void try_all(struct trying *trying, uint32_t at)
{
	const struct graph *graph = trying->units->graph;
	struct mesh *mesh = &trying->sharding.mesh;
	if (at == graph->ops + trying->kepts) {
		struct sharding_cost cost;
		cr_assert_eq(sharding_cost(trying->units, &trying->sharding, trying->clock, 100, &cost), OK);
		trying->tried++;
		if ((trying->limit < 0 || cost.usage <= trying->limit) && cost.total + cost.ties < trying->best)
			trying->best = cost.total + cost.ties;
		if (cost.usage < trying->least)
			trying->least = cost.usage;
		return;
	}
	uint32_t tensor = at < graph->ops ? NONE : trying->kept[at - graph->ops];
	int low = at < graph->ops && trying->units->linear[at] ? -2 : -1;
	int high = at < graph->ops ? (int)unit_count(trying->units, at)
		: (int)(trying->units->part_start[tensor + 1] - trying->units->part_start[tensor]);
	for (int first = low; first < high; first++)
		for (int second = mesh->axes > 1 ? low : -1; second < (mesh->axes > 1 ? high : 0); second++) {
			int8_t on[MESH_AXES] = { (int8_t)first, (int8_t)second, -1, -1 };
			if (at < graph->ops) {
				struct split split;
				memcpy(split.on, on, sizeof on);
				sharding_set(&trying->sharding, trying->units, at, split);
				if (legal(trying, at))
					try_all(trying, at + 1);
			} else {
				memcpy(trying->sharding.produced[tensor].on, on, sizeof on);
				if (placement_divides(trying->units, mesh, tensor, trying->sharding.produced[tensor]))
					try_all(trying, at + 1);
			}
		}
}

static bool is_read(const struct graph *graph, uint32_t tensor)
{
	for (uint32_t i = 0; i < graph->reads.start[graph->ops]; i++)
		if (graph->reads.item[i] == tensor)
			return true;
	return false;
}

static void brute_force(const struct units *units, const struct mesh *mesh, struct op_clock clock, int64_t limit, struct trying *trying)
{
	*trying = (struct trying) { .units = units, .clock = clock, .best = INT64_MAX, .least = INT64_MAX, .limit = limit };
	cr_assert_eq(sharding_new(units, mesh, &trying->sharding), OK);
	for (uint32_t t = 0; t < units->graph->tensors; t++)
		if (units->graph->tensor[t].writer == NONE && is_read(units->graph, t)) {
			trying->kept[trying->kepts++] = t;
		} else if (units->graph->tensor[t].writer == NONE) {  /* least memory */
			trying->sharding.produced[t].on[0] = 0;
			trying->sharding.produced[t].on[1] = mesh->axes > 1 ? 1 : PLACE_WHOLE;
		}
	try_all(trying, 0);
	sharding_free(&trying->sharding);
}

/* ---- the network ---------------------------------------------------------------------------------------------------- */

/* Solves a network and sums its sharding anew; the network's cost. */
static int64_t solve(const struct units *units, const struct mesh *mesh, const struct network_options *options, int64_t limit, bool prune,
	struct sharding_cost *cost)
{
	struct network network;
	struct chain_plan plan;
	struct sharding sharding;
	struct control control = { 0 };
	struct error error = { 0 };
	cr_assert_eq(network_build(units, mesh, options, &network, &error), OK, "%s", error.text);
	if (prune)
		cr_assert_eq(network_prune(&network), OK);
	network.chain.limit = limit;
	cr_assert_eq(shard_chain_solve(&network.chain, 0, &control, &plan, &error), OK, "%s", error.text);
	cr_assert(plan.proved);
	cr_assert_eq(network_decode(&network, &plan, NULL, &sharding), OK);
	cr_assert_eq(sharding_cost(units, &sharding, options->clock, options->exposed, cost), OK);
	int64_t found = plan.cost;
	sharding_free(&sharding);
	chain_plan_free(&plan);
	network_free(&network);
	return found;
}

static int64_t least_usage(const struct units *units, const struct mesh *mesh, const struct network_options *options)
{
	struct network network;
	struct chain_plan plan;
	struct control control = { 0 };
	struct error error = { 0 };
	cr_assert_eq(network_build(units, mesh, options, &network, &error), OK, "%s", error.text);
	network_weigh_memory(&network);
	cr_assert_eq(shard_chain_solve(&network.chain, 0, &control, &plan, &error), OK, "%s", error.text);
	int64_t least = plan.cost;
	chain_plan_free(&plan);
	network_free(&network);
	return least;
}

/* Readers of a tensor: with more than three of them two copies may be shared, and the network prices one. */
static uint32_t most_readers(const struct graph *graph)
{
	uint32_t most = 0;
	for (uint32_t t = 0; t < graph->tensors; t++) {
		uint32_t readers = 0;
		for (uint32_t op = 0; op < graph->ops; op++) {
			bool reads = false;
			FOR_ROW(i, &graph->reads, op)
				reads |= graph->reads.item[i] == t;
			readers += reads;
		}
		most = readers > most ? readers : most;
	}
	return most;
}

Test(network, small_steps_cost_the_least_of_all_their_placements)
{
	struct rules *rules = rules_new();
	uint64_t seed = test_seed(), random = seed;
	uint64_t placements = 0;
	for (uint32_t round = 0; round < 250; round++) {
		int64_t scale = (int64_t)(random_next(&random) % 200);
		bool two = random_next(&random) % 8 == 0;
		struct graph *graph = random_step(&random, two || round % 3 ? 1 : round % 40 == 0 ? 3 : 2, 8);
		struct mesh mesh = two ? mesh_of(2, 2) : mesh_of(random_next(&random) % 2 ? 2 : 4, 1);
		struct network_options options = { .free = 3, .clock = { element_time, &scale }, .exposed = 100 };
		struct units units;
		struct trying trying;
		struct sharding_cost cost;
		cr_assert(graph);
		cr_assert_eq(units_find(graph, rules, &units), OK);
		brute_force(&units, &mesh, options.clock, -1, &trying);
		placements += trying.tried;
		for (int prune = 0; prune < 2; prune++) {
			int64_t found = solve(&units, &mesh, &options, -1, prune, &cost);
			cr_assert(cost.total + cost.ties <= found && found >= trying.best, "SEED=%lu round %u: network %ld, sum %ld, best %ld", (unsigned long)seed,
				round, (long)found, (long)(cost.total + cost.ties), (long)trying.best);
			cr_assert(most_readers(graph) > 3 || found == trying.best, "SEED=%lu round %u: network %ld, best of all %ld", (unsigned long)seed,
				round, (long)found, (long)trying.best);
		}
		cr_assert_eq(least_usage(&units, &mesh, &options), trying.least, "SEED=%lu round %u", (unsigned long)seed, round);
		units_free(&units);
		graph_release(graph);
	}
	cr_log_info("%lu placements", (unsigned long)placements);
	rules_free(rules);
}

Test(network, failed_allocations_are_reported_and_nothing_leaks)
{
	struct rules *rules = rules_new();
	uint64_t random = 7;
	int64_t scale = 3;
	struct graph *graph = random_step(&random, 6, 8);
	struct mesh mesh = mesh_of(4, 2);
	struct network_options options = { .free = 3, .clock = { element_time, &scale }, .exposed = 50 };
	struct units units;
	cr_assert_eq(units_find(graph, rules, &units), OK);
	long before = memory_blocks();
	enum status status = NO_MEMORY;
	for (long n = 0; status == NO_MEMORY; n++) {
		struct network network;
		struct error error;
		memory_allow(n);
		status = network_build(&units, &mesh, &options, &network, &error);
		if (status == OK) {
			status = network_prune(&network);
			network_free(&network);
		}
		memory_allow(-1);
		cr_assert(status == OK || status == NO_MEMORY);
		cr_assert_eq(memory_blocks(), before, "leak after %ld allocations", n);
	}
	units_free(&units);
	graph_release(graph);
	rules_free(rules);
}

Test(network, contradictory_pins_name_their_tensor)
{
	struct rules *rules = rules_new();
	uint64_t random = 7;
	int64_t scale = 3;
	struct graph *graph = random_step(&random, 6, 8);
	struct mesh mesh = mesh_of(4, 1);
	uint32_t w = graph_find_tensor(graph, "w");
	struct placement_pin pin[2] = { { w, 0, 0 }, { w, 0, 1 } };
	struct network_options options = { .free = 1, .clock = { element_time, &scale }, .exposed = 100, .pin = pin, .pins = 2 };
	struct units units;
	struct network network;
	struct error error;
	cr_assert_eq(units_find(graph, rules, &units), OK);
	cr_assert_eq(network_build(&units, &mesh, &options, &network, &error), INFEASIBLE);
	cr_assert(strstr(error.text, "w "), "%s", error.text);
	options.pins = 1;
	cr_assert_eq(network_build(&units, &mesh, &options, &network, &error), OK);
	cr_assert_eq(network.chain.first[network.kept_node[w] + 1] - network.chain.first[network.kept_node[w]], 1);
	network_free(&network);
	units_free(&units);
	graph_release(graph);
	rules_free(rules);
}
