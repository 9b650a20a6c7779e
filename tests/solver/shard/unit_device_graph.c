/* unit_device_graph.c: the graph of one device computes what the whole step computes. */
#include <stdio.h>

#include "tests/common/lockstep.h"
#include "tests/common/random_model.h"
#include "tests/common/support.h"

/* Builds the graph of device 0 and executes it on all. */
static struct lockstep run_sharding(
	const struct units *units, const struct sharding *sharding, const struct rules *rules, const char *what)
{
	struct error error = { 0 };
	struct lockstep run;
	OWN(graph) *local = device_graph_build(units, sharding, 0, &error);
	cr_assert_not_null(local, "%s: %s", what, error.text);
	cr_assert_eq(local->repaired, 0, "%s: %u ops out of order", what, local->repaired);
	cr_assert_eq(device_graph_check(units, sharding, rules, local, &error), OK, "%s: %s", what, error.text);
	bool same = lockstep_run(&run, units, sharding, local, rules);
	cr_assert(same, "%s: %s", what, run.why);
	lockstep_free(&run);
	return run;
}

Test(device_graph, random_steps_compute_the_dense_result)
{
	struct rules *rules = test_rules();
	uint64_t seed = test_seed(), split = 0, collectives = 0;
	for (uint32_t round = 0; round < 400; round++) {
		uint64_t random = seed + round;
		char what[60];
		OWN(units) units;
		OWN(sharding) sharding;
		OWN(graph) *graph = random_step(&random, 1 + round % 12, rules);
		struct mesh mesh = random_mesh(&random);
		cr_assert_eq(units_find(graph, rules, &units), OK);
		cr_assert_eq(random_sharding(&units, &mesh, &random, &sharding), OK);
		snprintf(what, sizeof what, "SEED=%lu round %u", (unsigned long)seed, round);
		struct lockstep run = run_sharding(&units, &sharding, rules, what);
		split += run.ops_split;
		collectives += run.collectives;
	}
	printf("%lu splits, %lu collectives\n", (unsigned long)split, (unsigned long)collectives);
	cr_assert_gt(split, 8000);
	cr_assert_gt(collectives, 8000);
}

Test(device_graph, one_device_runs_the_whole_step)
{
	struct rules *rules = test_rules();
	uint64_t random = test_seed();
	for (uint32_t round = 0; round < 50; round++) {
		OWN(units) units;
		OWN(sharding) sharding;
		struct mesh mesh = { .axes = 1, .axis = { { .name = "dp", .size = 1, .near_size = 1 } } };
		OWN(graph) *graph = random_step(&random, 12, rules);
		cr_assert_eq(units_find(graph, rules, &units), OK);
		cr_assert_eq(random_sharding(&units, &mesh, &random, &sharding), OK);
		struct error error = { 0 };
		OWN(graph) *local = device_graph_build(&units, &sharding, 0, &error);
		cr_assert_eq(error.status, OK);
		cr_assert_eq(local->fingerprint, graph->fingerprint);
		cr_assert_eq(program_peak(local), program_peak(graph));
	}
}

Test(device_graph, nothing_leaks_where_memory_ends)
{
	struct rules *rules = test_rules();
	uint64_t random = test_seed() + 3;
	OWN(units) units;
	OWN(sharding) sharding;
	struct mesh mesh = random_mesh(&random);
	OWN(graph) *graph = random_step(&random, 10, rules);
	cr_assert_eq(units_find(graph, rules, &units), OK);
	cr_assert_eq(random_sharding(&units, &mesh, &random, &sharding), OK);
	EACH_REFUSAL(refused) {
		struct error error = { .status = BAD_INPUT };
		OWN(graph) *local = device_graph_build(&units, &sharding, 0, &error);
		refused.status = error.status;
		cr_assert_eq(refused.status == OK, local != NULL);
	}
}

static bool copy_op(struct draft *draft, const struct graph *graph, uint32_t op)
{
	if (draft_op(draft, &graph->op[op]) == NONE)
		return false;
	FOR_ROW(i, &graph->reads, op)
		if (draft_read(draft, op, graph->reads.item[i]) != OK)
			return false;
	FOR_ROW(i, &graph->writes, op)
		if (draft_write(draft, op, graph->writes.item[i]) != OK)
			return false;
	FOR_ROW(i, &graph->after, op)
		if (draft_after(draft, op, graph->after.item[i]) != OK)
			return false;
	for (uint32_t i = graph->inplace_start[op]; i < graph->inplace_start[op + 1]; i++)
		if (draft_inplace(draft, op, graph->inplace[i].out, graph->inplace[i].in) != OK)
			return false;
	return true;
}

/* The graph as a draft again, to be changed; one tensor (NONE: none) has another name. */
static struct draft *draft_of(const struct graph *graph, uint32_t renamed)
{
	struct draft *draft = draft_new();
	if (!draft || draft_describe(draft, graph->name, graph->source, graph->extra, &graph->about) != OK)
		goto failed;
	for (uint32_t tensor = 0; tensor < graph->tensors; tensor++) {
		struct tensor copy = graph->tensor[tensor];
		copy.name = tensor == renamed ? "another" : copy.name;
		if (draft_tensor(draft, &copy) == NONE)
			goto failed;
	}
	for (uint32_t op = 0; op < graph->ops; op++)
		if (!copy_op(draft, graph, op))
			goto failed;
	return draft;
failed:
	draft_free(draft);
	return NULL;
}

/* A graph of a device with one thing wrong: the size of a tensor, or what a collective is or says. */
static struct graph *spoiled(const struct graph *local, uint32_t way, uint64_t *random)
{
	uint32_t id = (uint32_t)(random_next(random) % local->ops);
	static const struct collective nowhere = { .axis = "none", .group = NONE, .rank = NONE, .moved = -1 };
	while (!local->op[id].collective)
		id = (id + 1) % local->ops;
	OWN(draft) *draft = draft_of(local, way == 4 ? local->writes.item[local->writes.start[id]] : NONE);
	struct op *op = draft_op_at(draft, id);
	if (way == 0)
		draft_tensor_at(draft, (uint32_t)(random_next(random) % local->tensors))->bytes++;
	else if (way == 1)
		op->type = collective_types[op->collective->kind == COLLECTIVE_SLICE ? COLLECTIVE_ALL_GATHER : COLLECTIVE_SLICE];
	else if (way == 2)
		op->collective = &nowhere;
	else if (way == 3)
		op->type = "aten.clone";
	struct graph *graph = graph_build(draft, NULL);
	return graph;
}

Test(device_graph, the_checker_finds_what_is_wrong)
{
	struct rules *rules = test_rules();
	uint64_t seed = test_seed();
	uint32_t spoilt = 0;
	for (uint32_t round = 0; round < 100; round++) {
		uint64_t random = seed + round;
		OWN(units) units;
		OWN(sharding) sharding;
		struct error error = { 0 };
		OWN(graph) *graph = random_step(&random, 8, rules);
		struct mesh mesh = random_mesh(&random);
		cr_assert_eq(units_find(graph, rules, &units), OK);
		cr_assert_eq(random_sharding(&units, &mesh, &random, &sharding), OK);
		OWN(graph) *local = device_graph_build(&units, &sharding, 0, &error);
		for (uint32_t way = 0; way < 5 && local->ops > graph->ops; way++) {
			struct graph *other = spoiled(local, way, &random);
			/* a result of another name is as good, unless it was a name of the step */
			enum status expected = way == 4 ? OK : INFEASIBLE;
			cr_assert_eq(device_graph_check(&units, &sharding, rules, other, &error), expected,
				"SEED=%lu round %u way %u: %s", (unsigned long)seed, round, way, error.text);
			graph_release(other);
			spoilt++;
		}
		/* the same graph against another decision */
		if (graph->ops > 0 && local->ops > graph->ops) {
			OWN(sharding) whole;
			cr_assert_eq(sharding_new(&units, &mesh, &whole), OK);
			cr_assert_eq(device_graph_check(&units, &whole, rules, local, &error), INFEASIBLE);
		}
	}
	cr_assert_gt(spoilt, 300);
}
