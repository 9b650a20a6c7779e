/* unit_loss_chunks.c: a step with its loss in chunks computes what it did, on one device and on two, and holds a part
 * of the logits at a time. */
#include <math.h>
#include <string.h>

#include "solver/shard/find.h"
#include "solver/step/loss_chunks.h"
#include "src/models/models.h"
#include "tests/common/support.h"
#include "tests/common/two_devices.h"

static struct graph *tiny(const char *name, int64_t batch, bool fused)
{
	struct model_config config = two_layers(name, 6, batch);
	config.fused = fused;
	return step_of_config(name, config, (struct model_training){ .optimizer = OPTIMIZER_ADAM });
}

/* With modules that predict further tokens: a loss of each. */
static struct graph *further(int64_t modules, bool fused)
{
	struct model_config config = two_layers("llama", 6, 2);
	config.fused = fused;
	config.mtp_layers = modules;
	config.vocab = 20;
	return step_of_config("llama", config, (struct model_training){ .optimizer = OPTIMIZER_ADAM });
}

static struct graph *chunked(
	struct graph *graph, const struct rules *rules, uint32_t chunks, struct loss_chunks_report *report)
{
	OWN(factors) factors;
	struct error error = { 0 };
	cr_assert_eq(factors_find(graph, rules, &factors), OK);
	struct graph *result = loss_chunks_apply(graph, rules, &factors, chunks, report, &error);
	cr_assert_not_null(result, "%s", error.text);
	return result;
}

/* Every tensor that both have is the same but for rounding: chunks change the order of sums. */
static void compare(const struct graph *graph, const struct graph *chunks, const struct rules *rules,
	const struct axis_roles *roles, const char *what)
{
	OWN(on_two) before, after;
	uint32_t compared = 0, persistent = 0;
	run_on_two(graph, rules, "tp", roles, &before);
	run_on_two(chunks, rules, "tp", roles, &after);
	for (uint32_t t = 0; t < graph->tensors; t++) {
		uint32_t there = graph_find_tensor(chunks, graph->tensor[t].name);
		persistent += graph->tensor[t].kind == KIND_PARAMETER;
		if (there == NONE)
			continue;
		struct cell *a = &before.run.dense.cell[t], *b = &after.run.dense.cell[there];
		cr_assert_eq(a->shape.count, b->shape.count);
		for (int64_t i = 0; i < a->shape.count; i++) {
			double x = a->memory[a->place[i]], y = b->memory[b->place[i]];
			cr_assert_lt(fabs(x - y), 1e-9 * (1 + fabs(x)), "%s: %s, element %ld: %g, in chunks %g", what,
				graph->tensor[t].name, (long)i, x, y);
		}
		compared++;
	}
	cr_expect_gt(compared, persistent, "%s", what);
}

/* Bytes of the largest tensor that ops make and that has the classes. */
static int64_t largest(const struct graph *graph, int64_t classes)
{
	int64_t most = 0;
	for (uint32_t t = 0; t < graph->tensors; t++) {
		const struct tensor *tensor = &graph->tensor[t];
		bool has = tensor->dims > 0 && tensor->shape[tensor->dims - 1] == classes;
		if (has && tensor->kind == KIND_ACTIVATION && tensor->bytes > most)
			most = tensor->bytes;
	}
	return most;
}

Test(loss_chunks, a_step_computes_the_same_in_chunks)
{
	static const struct { const char *name; int64_t batch; bool fused; uint32_t chunks, made;
	} cases[] = { { "llama", 2, true, 2, 2 }, { "llama", 1, false, 3, 3 }, { "gpt", 2, false, 2, 2 },
		{ "gpt", 3, false, 4, 3 }, { "gpt", 2, true, 6, 5 }, { "bert", 2, false, 3, 3 } };
	struct rules *rules = test_rules();
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct loss_chunks_report report;
		OWN(graph) *graph = tiny(cases[i].name, cases[i].batch, cases[i].fused),
				   *result = chunked(graph, rules, cases[i].chunks, &report);
		cr_expect_eq(report.chunks, cases[i].made, "%s in %u chunks: %s", cases[i].name, report.chunks, report.why);
		cr_expect_leq(largest(result, 16) * report.chunks, largest(graph, 16) * 3 / 2, "%s", cases[i].name);
		cr_expect_str_eq(result->name, graph->name);
		/* a loss in one kernel is not executed in parts of its classes */
		compare(graph, result, rules, cases[i].fused ? &roles_data : &roles_tensor_sp, cases[i].name);
	}
}

/* Every loss has its own chunks: none holds all of its logits. */
Test(loss_chunks, all_losses_of_a_step_are_cut)
{
	struct rules *rules = test_rules();
	for (int64_t modules = 1; modules <= 2; modules++)
		for (int fused = 0; fused < 2; fused++) {
			struct loss_chunks_report report;
			OWN(graph) *graph = further(modules, fused), *result = chunked(graph, rules, 3, &report);
			cr_expect_eq(report.chunks, 3, "%s", report.why);
			cr_expect_eq(loss_region_losses(graph, rules), 1 + modules);
			cr_expect_leq(largest(result, 20) * report.chunks, largest(graph, 20) * 3 / 2, "%lld of %lld bytes",
				(long long)largest(result, 20), (long long)largest(graph, 20));
			compare(graph, result, rules, fused ? &roles_data : &roles_tensor_sp, "modules that predict further tokens");
		}
}

/* Forward and backward passes of a chunk follow each other: no chunk's backward pass waits for another's loss. */
Test(loss_chunks, a_chunk_does_not_wait_for_the_next)
{
	struct rules *rules = test_rules();
	struct loss_chunks_report report;
	OWN(graph) *graph = tiny("gpt", 2, false), *result = chunked(graph, rules, 5, &report);
	uint32_t last = NONE;
	for (uint32_t op = 0; op < result->ops; op++) {
		const char *at = strstr(result->op[op].name, ".chunk");
		uint32_t chunk = at ? (uint32_t)strtoul(at + 6, NULL, 10) : NONE;
		cr_expect(!at || last == NONE || chunk >= last, "%s", result->op[op].name);
		last = at ? chunk : last;
	}
	cr_expect_eq(last, 4);
	cr_expect_eq(result->repaired, 0);
}

Test(loss_chunks, what_cannot_be_cut_stays_and_says_why)
{
	struct rules *rules = test_rules();
	struct loss_chunks_report report;
	OWN(graph) *graph = tiny("vit", 1, false), *same = chunked(graph, rules, 4, &report);
	cr_expect_eq(same, graph);
	cr_expect(strstr(report.why, "one row"), "%s", report.why);
}

Test(loss_chunks, every_failed_allocation_is_reported_and_nothing_leaks)
{
	struct rules *rules = test_rules();
	OWN(graph) *graph = tiny("gpt", 2, false);
	OWN(factors) factors;
	cr_assert_eq(factors_find(graph, rules, &factors), OK);
	OWN(graph) *result = NULL;
	for (long n = 0; !result; n += 1 + n / 8) {
		struct loss_chunks_report report;
		struct error error = { 0 };
		long before = memory_blocks();
		memory_allow(n);
		result = loss_chunks_apply(graph, rules, &factors, 3, &report, &error);
		memory_allow(-1);
		cr_assert(result || error.status == NO_MEMORY);
		cr_assert(result || memory_blocks() == before, "leak after %ld allocations", n);
	}
}
