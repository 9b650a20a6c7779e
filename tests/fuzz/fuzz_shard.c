/* fuzz_shard.c: the reader of sharding problems takes anything: a problem or an error; what it takes the solver solves. */
#include <stdlib.h>

#include "src/read/problems/problem_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void must(bool condition)
{
	if (!condition)
		abort();
}

static void solve(const struct shard_problem *problem)
{
	struct error error = { 0 };
	struct control control = { 0 };
	struct shard_options options = { .effort = 20000 };
	OWN(shard_plan) plan;
	int64_t cost, peak, bound;
	enum status status = shard_solve(problem, &options, &control, &plan, &error);
	must(status == OK || status == LIMIT || status == INFEASIBLE);
	if (status != INFEASIBLE) {
		must(shard_bound(problem, &plan.certificate, &bound, &error) == OK && (bound == plan.bound || plan.searched));
		if (plan.choice)
			must(shard_evaluate(problem, plan.choice, &cost, &peak, &error) == OK && cost == plan.cost && plan.bound <= cost);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OWN(shard_problem) problem;
	struct error error;
	enum status status = problem_json_read((const char *)data, size, &problem, &error);
	must(status == OK || (status == BAD_INPUT && error.text[0]));
	if (status == OK)
		solve(&problem);
	return 0;
}
