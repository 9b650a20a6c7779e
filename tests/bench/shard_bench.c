/* shard_bench.c: solves a sharding problem of the contest on intra-operator parallelism (IOPDDL), and checks the choice
 * and the bound. shard_bench PROBLEM.json[.gz] [SECONDS]
 * {"problem": {"nodes": {"intervals": [[begin, end]..], "costs": [[..]..], "usages": [[..]..]}, "edges": {"nodes":
 * [[from, to]..], "costs": [[..]..]}, "usage_limit": ..}}. Prints cost, bound, gap in percent and seconds; the choice,
 * one strategy a node, with CHOICE=1. */
#include <inttypes.h>
#include <jansson.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/common/shard_walk.h"
#include "src/base/clock.h"
#include "src/read/input.h"

static void fine(bool condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "shard_bench: %s\n", what);
	exit(3);
}

/* Lists of integers one behind another; where each begins goes to start, if there is one. */
static int64_t *join(const json_t *lists, size_t *start, uint32_t *first)
{
	size_t count = 0, used = 0, i, k;
	json_t *list, *number;
	json_array_foreach(lists, i, list)
		count += json_array_size(list);
	int64_t *value = mem_alloc(count, sizeof *value);
	fine(value, "out of memory");
	json_array_foreach(lists, i, list) {
		json_array_foreach(list, k, number)
			value[used++] = json_integer_value(number);
		if (start)
			start[i + 1] = used;
		if (first)
			first[i + 1] = (uint32_t)used;
	}
	return value;
}

static void read_problem(const char *path, struct shard_problem *problem)
{
	struct error error = { 0 };
	size_t size, i;
	struct input *input = input_open(path, &error);
	fine(input, error.text);
	char *text = input_all(input, (size_t)2 << 30, &size, &error);
	fine(text, error.text);
	json_t *whole = json_loadb(text, size, 0, NULL), *file = json_object_get(whole, "problem"),
		   *nodes = json_object_get(file, "nodes"), *pair;
	json_t *edges = json_object_get(file, "edges"), *limit = json_object_get(file, "usage_limit"),
		   *costs = json_object_get(nodes, "costs");
	fine(json_is_array(costs), "not a problem of the contest's form");
	problem->nodes = (uint32_t)json_array_size(costs);
	problem->edges = (uint32_t)json_array_size(json_object_get(edges, "nodes"));
	problem->first = mem_alloc(problem->nodes + 1, sizeof *problem->first);
	problem->table = mem_alloc((size_t)problem->edges + 1, sizeof *problem->table);
	problem->begin = mem_alloc(problem->nodes, sizeof *problem->begin);
	problem->end = mem_alloc(problem->nodes, sizeof *problem->end);
	problem->from = mem_alloc(problem->edges, sizeof *problem->from);
	problem->to = mem_alloc(problem->edges, sizeof *problem->to);
	fine(problem->first && problem->table && problem->begin && problem->end && problem->from && problem->to,
		"out of memory");
	problem->cost = join(costs, NULL, problem->first);
	problem->usage = join(json_object_get(nodes, "usages"), NULL, problem->first);
	problem->pair = join(json_object_get(edges, "costs"), problem->table, NULL);
	json_array_foreach(json_object_get(nodes, "intervals"), i, pair) {
		problem->begin[i] = json_integer_value(json_array_get(pair, 0));
		problem->end[i] = json_integer_value(json_array_get(pair, 1));
	}
	json_array_foreach(json_object_get(edges, "nodes"), i, pair) {
		problem->from[i] = (uint32_t)json_integer_value(json_array_get(pair, 0));
		problem->to[i] = (uint32_t)json_integer_value(json_array_get(pair, 1));
	}
	problem->limit = json_is_integer(limit) ? json_integer_value(limit) : -1;
	fine(shard_problem_valid(problem, &error) == OK, error.text);
	json_decref(whole);
	mem_free(text);
	input_close(input);
}

static atomic_bool cancel;

static void stop(int number)
{
	(void)number;
	atomic_store(&cancel, true);
}

int main(int argc, char **argv)
{
	struct error error = { 0 };
	OWN(shard_problem) problem = { 0 };
	OWN(shard_plan) plan;
	int64_t cost = 0, peak = 0, bound = 0;
	fine(argc > 1, "shard_bench PROBLEM.json[.gz] [SECONDS]");
	read_problem(argv[1], &problem);
	double begin = clock_seconds(CLOCK_MONOTONIC);
	struct control control = { .cancel = &cancel };
	signal(SIGALRM, stop);
	alarm(argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0);
	struct shard_options options = { .effort = argc > 2 ? UINT64_MAX / 2 : SHARD_EFFORT_DEFAULT,
		.walk = shard_primal_walk };
	enum status status = shard_solve(&problem, &options, &control, &plan, &error);
	fine(status == OK || status == LIMIT || status == CANCELLED, error.text);
	fine(plan.choice, "no choice within the usage limit was found");
	fine(shard_evaluate(&problem, plan.choice, &cost, &peak, &error) == OK && cost == plan.cost && peak == plan.peak,
		"the choice doesn't cost that");
	fine(plan.searched || (shard_bound(&problem, &plan.certificate, &(struct control){ 0 }, &bound, &error) == OK &&
		bound == plan.bound),
		"the certificate doesn't prove the bound");
	printf("%" PRId64 " %" PRId64 " %.3f %.1f\n", cost, plan.bound,
		cost ? 100 * (double)(cost - plan.bound) / (double)cost : 0, clock_seconds(CLOCK_MONOTONIC) - begin);
	for (uint32_t node = 0; getenv("CHOICE") && node < problem.nodes; node++)
		printf("%" PRIu32 "%c", plan.choice[node], node + 1 < problem.nodes ? ' ' : '\n');
	return 0;
}
