/* fold_bench.c: a built-in model's layers found as copies, and sharded over 8 devices: folded, and with every copy
 * written out. fold_bench MODEL LAYERS ... Two rows for each number of layers: without a limit of memory, and with one
 * halfway between the least memory and that of the fastest sharding. CPU seconds. "in all" is all of sharding_find():
 * networks, solves, placements of all ops, sums over them. "unfolded" is the same exact elimination on the network of
 * all layers, where its tables fit. */
#include <stdio.h>
#include <stdlib.h>

#include "solver/cost/op_time.h"
#include "solver/graph/fold.h"
#include "solver/shard/cost.h"
#include "solver/shard/find.h"
#include "src/base/clock.h"
#include "src/models/models.h"
#include "src/scenario/devices.h"

#define EFFORT UINT64_C(10000000)
#define UNFOLDED_OPS 8000      /* larger networks are not written out */

struct bench {
	struct graph *graph;
	struct rules *rules;
	struct units units;
	struct mesh mesh;
	struct machine machine;
	struct op_times times;
	struct fold fold;
	double found;              /* seconds to find the fold */
};

static bool set_up(struct bench *bench, const char *name, int64_t layers)
{
	const struct model_preset *preset = model_find(name);
	struct model_training training = { .optimizer = OPTIMIZER_ADAM };
	struct error error = { 0 };
	if (!preset)
		return false;
	struct model_config config = preset->config;
	config.layers = layers;
	config.batch = 8;
	bench->graph = model_step(name, &config, &training, &error);
	if (!bench->graph)
		return false;
	bench->machine = device_preset(DEVICE_A100_80).machine;
	mesh_add_axis(&bench->mesh, "tp", 8, 1, 8, &bench->machine);
	bench->rules = rules_new();
	if (!bench->rules || units_find(bench->graph, bench->rules, &bench->units) != OK ||
	    op_times_find(&bench->units, bench->rules, &bench->machine, &bench->times) != OK)
		return false;
	double start = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
	enum status status = fold_find(bench->graph, units_label, &bench->units, 2, &bench->fold);
	bench->found = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
	return status == OK;
}

static void tear_down(struct bench *bench)
{
	fold_free(&bench->fold);
	op_times_free(&bench->times);
	units_free(&bench->units);
	rules_free(bench->rules);
	graph_release(bench->graph);
}

struct result { enum status status; int64_t cost, bound, usage; bool proved, choice; uint32_t nodes; double seconds; };

static struct result solve(const struct bench *bench, bool folded, int64_t limit)
{
	struct network network;
	struct network_options options = { .free = 1,
		.fold = folded ? &bench->fold : NULL,
		.clock = op_times_clock(&bench->times),
		.exposed = 30,
		.narrow = true };
	struct error error = { 0 };
	struct control control = { 0 };
	struct chain_plan plan;
	struct result result = { .status = network_build(&bench->units, &bench->mesh, &options, &network, &error) };
	if (result.status != OK)
		return result;
	network_prune(&network, NULL);
	network.chain.limit = limit;
	double start = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
	result.status = shard_chain_solve(&network.chain, EFFORT, &control, &plan, &error);
	result.seconds = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
	result.cost = plan.cost;
	result.bound = plan.bound;
	result.usage = plan.usage;
	result.proved = plan.proved;
	result.choice = plan.choice != NULL;
	result.nodes = network.chain.nodes;
	chain_plan_free(&plan);
	network_free(&network);
	return result;
}

/* Seconds of the whole strategy "auto". */
static double shard(const struct bench *bench, int64_t limit)
{
	struct sharding_options options = { .strategy = STRATEGY_AUTO, .roles = &roles_tensor, .memory = limit, .exposed = 30,
		.clock = op_times_clock(&bench->times), .fold = &bench->fold };
	struct control control = { 0 };
	struct error error = { 0 };
	struct sharding sharding;
	struct sharding_report report;
	double start = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
	sharding_find(&bench->units, &bench->mesh, &options, &control, &sharding, &report, &error);
	double taken = clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - start;
	sharding_free(&sharding);
	sharding_report_free(&report);
	return taken;
}

static void print_row(const struct bench *bench, const char *name, int64_t layers, int64_t limit)
{
	const struct fold_segment *segment = bench->fold.segment;
	struct result folded = solve(bench, true, limit), unfolded = { 0 };
	bool both = bench->graph->ops <= UNFOLDED_OPS;
	if (both)
		unfolded = solve(bench, false, limit);
	printf("| %s | %lld | %u | %u x %u | %.3f | %s | %.6g | %.2g | %.3f | %.3f |", name, (long long)layers,
		bench->graph->ops, bench->fold.segments ? segment->copies : 0, bench->fold.segments ? segment->ops : 0,
		bench->found, limit < 0 ? "" : "halfway", folded.choice ? (double)folded.cost * 1e-9 : 0.0,
		folded.choice ? 100.0 * (double)(folded.cost - folded.bound) / (double)folded.cost : 0.0, folded.seconds,
		shard(bench, limit));
	if (both && unfolded.choice && folded.choice)
		printf(" %.3f | %.5f |\n", unfolded.seconds, (double)folded.cost / (double)unfolded.cost);
	else
		printf(" | |\n");
	fflush(stdout);
}

int main(int argc, char **argv)
{
	if (argc < 3) {
		fprintf(stderr, "fold_bench MODEL LAYERS ...\n");
		return 2;
	}
	printf("| model | layers | ops | copies x ops | found in s | memory | step ms | gap %% | folded s | in all s | "
		   "unfolded s | folded / unfolded cost |\n");
	printf("|---|---|---|---|---|---|---|---|---|---|---|---|\n");
	for (int i = 2; i < argc; i++) {
		struct bench bench = { 0 };
		int64_t layers = strtoll(argv[i], NULL, 10);
		if (!set_up(&bench, argv[1], layers)) {
			fprintf(stderr, "fold_bench: %s with %lld layers can't be built\n", argv[1], (long long)layers);
			return 1;
		}
		print_row(&bench, argv[1], layers, -1);
		int64_t most = solve(&bench, true, -1).usage, least = solve(&bench, true, 0).usage;
		if (least < most)
			print_row(&bench, argv[1], layers, least + (most - least) / 2);
		tear_down(&bench);
	}
	return 0;
}
