/* unit_network.c: the sharding problem of a graph against every placement of small ones, and its independent sum. */
#include <string.h>

#include "tests/common/random_step.h"
#include "solver/shard/cost.h"
#include "tests/common/support.h"

static const struct link fast = { 1000, 100000000000 };

static struct mesh mesh_of(uint32_t first, uint32_t second)
{
	struct mesh mesh = { .axes = second > 1 ? 2 : 1, .padding = true };
	uint32_t size[2] = { first, second };
	for (uint32_t a = 0; a < mesh.axes; a++)
		mesh.axis[a] = (struct mesh_axis) { .name = "a", .size = size[a], .near_size = size[a], .near = fast, .far = fast };
	mesh.axis[1].near.rate /= 3;
	return mesh;
}

/* An element takes a hundred picoseconds, a product of matrices one a multiplication. */
static int64_t element_time(
	const void *context, const struct units *units, const struct mesh *mesh, uint32_t op, struct split split)
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

/* ---- every placement ------------------------------------------------------------------------- */

#define SPOTS 64

/* What stays and what it costs of placements that nothing beats in both: usage ascending, cost descending. */
struct spot { int64_t usage, cost; };

struct trying {
	const struct units *units;
	struct sharding sharding;
	struct sharding_sum *sum;
	struct spot spot[SPOTS];
	uint32_t spots;
	uint32_t kept[8], kepts;
	uint64_t tried;
	const struct mixture *mixture;   /* what counts instead of the estimate; or NULL */
};

static void note_spot(struct trying *trying, int64_t usage, int64_t cost)
{
	uint32_t at = 0, end;
	while (at < trying->spots && trying->spot[at].usage < usage)
		at++;
	if ((at > 0 && trying->spot[at - 1].cost <= cost) ||
		(at < trying->spots && trying->spot[at].usage == usage && trying->spot[at].cost <= cost))
		return;
	for (end = at; end < trying->spots && trying->spot[end].cost >= cost; end++)
		;
	cr_assert(trying->spots + 1 - (end - at) <= SPOTS);
	memmove(trying->spot + at + 1, trying->spot + end, (trying->spots - end) * sizeof *trying->spot);
	trying->spot[at] = (struct spot) { usage, cost };
	trying->spots += 1 - (end - at);
}

/* Hundredths of what a mixture counts, from the sums of the classes. */
static int64_t mixed(const struct sharding_cost *cost, const struct mixture *mixture)
{
	int64_t rest = cost->total, sum = 0;
	for (int k = 0; k < HIDINGS; k++) {
		int64_t serial = cost->hiding[k] + cost->apart.least[k], longest, axis[MESH_AXES];
		for (int a = 0; a < MESH_AXES; a++) {
			axis[a] = cost->apart.waited[k][a] + cost->apart.hidden[k][a];
			serial += cost->apart.waited[k][a];
		}
		longest = serial;
		sum += (100 - mixture->over[k]) * serial;
		for (int a = 0; a < MESH_AXES; a++) {
			longest = axis[a] > longest ? axis[a] : longest;
			sum += mixture->axis[k][a] * axis[a];
		}
		rest -= longest;
	}
	return 100 * (rest + cost->ties) + sum;
}

/* The least cost within a limit; < 0: any. */
static int64_t best_within(const struct trying *trying, int64_t limit)
{
	uint32_t at = trying->spots;
	while (limit >= 0 && at > 0 && trying->spot[at - 1].usage > limit)
		at--;
	return at > 0 ? trying->spot[at - 1].cost : INT64_MAX;
}

static bool legal(const struct trying *trying, uint32_t op)
{
	const struct graph *graph = trying->units->graph;
	const struct sharding *sharding = &trying->sharding;
	if (!split_divides(trying->units, &sharding->mesh, op, sharding->split[op]))
		return false;
	FOR_ROW(i, &graph->writes, op) {
		uint32_t tensor = graph->writes.item[i];
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
		cr_assert_eq(sharding_sum_cost(trying->sum, &trying->sharding, &cost), OK);
		trying->tried++;
		if (trying->mixture) {
			int64_t counted = mixed(&cost, trying->mixture);
			cr_assert_leq(counted, 100 * (cost.total + cost.ties), "a mixture is above the estimate");
			cr_assert_leq(cost.total, cost.summed);
			note_spot(trying, cost.usage, counted);
		} else {
			note_spot(trying, cost.usage, cost.total + cost.ties);
		}
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

static void brute_force(const struct units *units, const struct mesh *mesh, const struct network_options *options,
	const struct mixture *mixture, struct trying *trying)
{
	*trying = (struct trying){ .units = units,
		.sum = sharding_sum_new(units, options->clock, options->exposed, options->microbatches),
		.mixture = mixture };
	cr_assert(trying->sum && sharding_new(units, mesh, &trying->sharding) == OK);
	for (uint32_t t = 0; t < units->graph->tensors; t++)
		if (units->graph->tensor[t].writer == NONE && is_read(units->graph, t)) {
			trying->kept[trying->kepts++] = t;
		} else if (units->graph->tensor[t].writer == NONE) {  /* least memory */
			trying->sharding.produced[t].on[0] = 0;
			trying->sharding.produced[t].on[1] = mesh->axes > 1 ? 1 : PLACE_WHOLE;
		}
	try_all(trying, 0);
	sharding_sum_free(trying->sum);
	sharding_free(&trying->sharding);
}

/* ---- the network ----------------------------------------------------------------------------- */

/* Solves a network and sums its sharding anew; the network's cost, INT64_MAX where nothing fits the limit. */
static int64_t solve(const struct units *units, const struct mesh *mesh, const struct network_options *options,
	int64_t limit, bool prune, struct sharding_cost *cost)
{
	OWN(network) network;
	OWN(chain_plan) plan;
	struct sharding sharding;
	struct control control = { 0 };
	struct error error = { 0 };
	cr_assert_eq(network_build(units, mesh, options, &network, &error), OK, "%s", error.text);
	if (prune)
		cr_assert_eq(network_prune(&network, NULL), OK);
	network.chain.limit = limit;
	enum status status = shard_chain_solve(&network.chain, 0, &control, &plan, &error);
	if (status == LIMIT) {
		OWN(chain_plan) priced = plan;
		shard_chain_rough(&network.chain, 3000000, true, &control, &plan, &error);
		status = chain_plan_join(&plan, &priced);
	}
	cr_assert(status == OK || ((status == INFEASIBLE || status == LIMIT) && limit >= 0), "%s", error.text);
	int64_t found = INT64_MAX;
	if (status != INFEASIBLE) {
		cr_assert_eq(plan.proved, status == OK);
		cr_assert_eq(network_decode(&network, &plan, NULL, &sharding), OK);
		cr_assert_eq(sharding_cost(units, &sharding, options->clock, options->exposed, options->microbatches, cost), OK);
		found = plan.cost;
		sharding_free(&sharding);
	}
	return found;
}

static int64_t least_usage(const struct units *units, const struct mesh *mesh, const struct network_options *options)
{
	OWN(network) network;
	OWN(chain_plan) plan;
	struct control control = { 0 };
	struct error error = { 0 };
	cr_assert_eq(network_build(units, mesh, options, &network, &error), OK, "%s", error.text);
	network_weigh_memory(&network);
	cr_assert_eq(shard_chain_solve(&network.chain, 0, &control, &plan, &error), OK, "%s", error.text);
	int64_t least = plan.cost;
	return least;
}

/* Times that a tensor is read: with more than three two copies may be shared, and the network prices one. */
static uint32_t most_readers(const struct graph *graph)
{
	uint32_t most = 0;
	for (uint32_t t = 0; t < graph->tensors; t++) {
		uint32_t readers = 0;
		for (uint32_t i = 0; i < graph->reads.start[graph->ops]; i++)
			readers += graph->reads.item[i] == t;
		most = readers > most ? readers : most;
	}
	return most;
}

/* One random step, mesh and clock: the network against every placement, without and with a limit between least memory
 * and least time. Under a limit the network is strict: where a tensor is often read, it may count more than what stays,
 * and never less. */
static uint64_t compare(uint64_t seed, uint32_t round, const struct rules *rules, uint32_t *exact)
{
	uint64_t random = seed + round;
	int64_t scale = (int64_t)(random_next(&random) % 200);
	bool two = random_next(&random) % 8 == 0;
	int64_t extent = (int64_t[]) { 8, 8, 7, 9 }[random_next(&random) % 4];
	OWN(graph) *graph = random_step(&random, two || round % 8 ? 1 : round % 64 == 0 ? 3 : 2, extent);
	struct mesh mesh = two ? mesh_of(2, 2) : mesh_of(random_next(&random) % 2 ? 2 : 4, 1);
	struct network_options options = { .free = 3, .clock = { element_time, &scale }, .exposed = 100,
		.microbatches = round % 3 ? 1 : 1 + (uint32_t)(random_next(&random) % 8) };
	OWN(units) units;
	struct trying trying;
	struct sharding_cost cost = { 0 };
	cr_assert(graph);
	cr_assert_eq(units_find(graph, rules, &units), OK);
	brute_force(&units, &mesh, &options, NULL, &trying);
	int64_t least = trying.spot[0].usage, most = trying.spot[trying.spots - 1].usage;
	int64_t limits[2] = { -1, least + (int64_t)(random_next(&random) % (uint64_t)(most - least + 1)) };
	cr_assert_eq(least_usage(&units, &mesh, &options), least, "SEED=%lu round %u", (unsigned long)seed, round);
	for (int i = 0; i < 2; i++) {
		options.strict = i == 1;
		int64_t best = best_within(&trying, limits[i]), found = solve(&units, &mesh, &options, limits[i], round % 2, &cost);
		bool equal = i == 0 && most_readers(graph) <= 3;
		cr_assert(found >= best && (!equal || found == best),
			"SEED=%lu round %u limit %ld: network %ld, best of all %ld", (unsigned long)seed, round, (long)limits[i],
			(long)found, (long)best);
		cr_assert(cost.total + cost.ties <= found && (i == 0 || found == INT64_MAX || cost.usage <= limits[i]),
			"SEED=%lu round %u: %ld in %ld bytes, not %ld in %ld", (unsigned long)seed, round,
			(long)(cost.total + cost.ties), (long)cost.usage, (long)found, (long)limits[i]);
		*exact += found == best;
	}
	return trying.tried;
}

Test(network, small_steps_cost_the_least_of_all_their_placements)
{
	struct rules *rules = test_rules();
	uint64_t seed = test_seed(), placements = 0;
	uint32_t exact = 0;
	for (uint32_t round = 0; round < 2000; round++)
		placements += compare(seed, round, rules, &exact);
	printf("2000 steps, %lu placements; %u of 4000 least costs found\n", (unsigned long)placements, exact);
	cr_assert_gt(exact, 3950);
}

/* Shares of a class that add up to 100 at most, over the axes. */
static struct mixture random_mixture(uint64_t *random, uint32_t axes)
{
	struct mixture mixture = { 0 };
	for (int k = 0; k < HIDINGS; k++) {
		uint8_t over = random_next(random) % 3 ? (uint8_t)(random_next(random) % 101) : 100,
				first = axes > 1 ? (uint8_t)(random_next(random) % (over + 1u)) : over;
		mixture.over[k] = over;
		mixture.axis[k][0] = first;
		mixture.axis[k][1] = (uint8_t)(over - first);
	}
	return mixture;
}

/* What is minimised is never above what any placement comes to by the sums of the classes: so what is shown of a
 * mixture is a bound of the estimate. */
Test(network, the_least_of_a_mixture_is_a_bound_of_every_placement)
{
	struct rules *rules = test_rules();
	uint64_t seed = test_seed(), placements = 0;
	uint32_t near = 0, rounds = 800, few = 0;
	for (uint32_t round = 0; round < rounds; round++) {
		uint64_t random = seed + 77 * round;
		int64_t scale = (int64_t)(random_next(&random) % 200);
		bool two = random_next(&random) % 4 == 0;
		OWN(graph) *graph = random_step(&random, two || round % 8 ? 1 : 2, 8);
		struct mesh mesh = two ? mesh_of(2, 2) : mesh_of(4, 1);
		struct mixture mixture = random_mixture(&random, mesh.axes);
		struct network_options options = { .free = 3,
			.clock = { element_time, &scale, round % 2 },
			.exposed = 25,
			.microbatches = round % 3 ? 1 : 1 + (uint32_t)(random_next(&random) % 8),
			.mixture = mixture };
		OWN(units) units;
		struct trying trying;
		struct sharding_cost cost;
		cr_assert_eq(units_find(graph, rules, &units), OK);
		brute_force(&units, &mesh, &options, &mixture, &trying);
		int64_t best = best_within(&trying, -1), found = solve(&units, &mesh, &options, -1, round % 2, &cost);
		bool counted = most_readers(graph) <= 3;
		cr_assert(!counted || 100 * found <= best, "SEED=%lu round %u: network %ld, best of all %ld hundredths",
			(unsigned long)seed, round, (long)found, (long)best);
		few += counted;
		near += counted && 100 * found >= best - best / 1000 - 10000;
		placements += trying.tried;
	}
	printf("%u steps, %lu placements; of %u bounds %u are what a placement comes to\n", rounds,
		(unsigned long)placements, few, near);
	cr_assert_gt(near, few - few / 20);
}

Test(network, what_is_cancelled_ends_and_nothing_leaks)
{
	struct rules *rules = test_rules();
	uint64_t random = test_seed();
	int64_t scale = 3;
	OWN(graph) *graph = random_step(&random, 4, 8);
	struct mesh mesh = mesh_of(4, 2);
	atomic_bool cancel = true;
	struct control control = { .cancel = &cancel };
	struct network_options options = { .free = 3, .clock = { element_time, &scale }, .exposed = 50, .control = &control };
	OWN(units) units;
	OWN(network) network;
	struct error error;
	cr_assert_eq(units_find(graph, rules, &units), OK);
	long before = memory_blocks();
	cr_assert_eq(network_build(&units, &mesh, &options, &network, &error), CANCELLED);
	cr_assert_eq(memory_blocks(), before);
	cancel = false;
	cr_assert_eq(network_build(&units, &mesh, &options, &network, &error), OK);
}

Test(network, failed_allocations_are_reported_and_nothing_leaks)
{
	struct rules *rules = test_rules();
	uint64_t random = 7;
	int64_t scale = 3;
	OWN(graph) *graph = random_step(&random, 6, 8);
	struct mesh mesh = mesh_of(4, 2);
	struct network_options options = { .free = 3, .clock = { element_time, &scale }, .exposed = 50 };
	OWN(units) units;
	cr_assert_eq(units_find(graph, rules, &units), OK);
	EACH_REFUSAL(refused) {
		struct network network;
		struct error error;
		refused.status = network_build(&units, &mesh, &options, &network, &error);
		if (refused.status == OK) {
			refused.status = network_prune(&network, NULL);
			network_free(&network);
		}
	}
}

Test(network, contradictory_pins_name_their_tensor)
{
	struct rules *rules = test_rules();
	uint64_t random = 7;
	int64_t scale = 3;
	OWN(graph) *graph = random_step(&random, 6, 8);
	struct mesh mesh = mesh_of(4, 1);
	uint32_t w = graph_find_tensor(graph, "w");
	struct placement_pin pin[2] = { { w, 0, 0 }, { w, 0, 1 } };
	struct network_options options = {
		.free = 1, .clock = { element_time, &scale }, .exposed = 100, .pin = pin, .pins = 2
	};
	OWN(units) units;
	OWN(network) network;
	struct error error;
	cr_assert_eq(units_find(graph, rules, &units), OK);
	cr_assert_eq(network_build(&units, &mesh, &options, &network, &error), INFEASIBLE);
	cr_assert(strstr(error.text, "w "), "%s", error.text);
	options.pins = 1;
	cr_assert_eq(network_build(&units, &mesh, &options, &network, &error), OK);
	cr_assert_eq(network.chain.first[network.kept_node[w] + 1] - network.chain.first[network.kept_node[w]], 1);
}
