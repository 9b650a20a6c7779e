/* unit_shorten.c: steps that equal layers were left out of, held against steps of models with fewer layers; what can't
 * be cut down is refused. */
#include <stdlib.h>
#include <string.h>

#include "solver/graph/problem.h"
#include "solver/graph/shorten.h"
#include "solver/rules/units.h"
#include "tests/common/model_steps.h"
#include "tests/common/support.h"

/* The segments of a graph, labelled as the planner does. */
static void find(const struct graph *graph, struct fold *fold)
{
	struct units units;
	cr_assert_eq(units_find(graph, test_rules(), &units), OK);
	cr_assert_eq(fold_find(graph, units_label, &units, 3, fold), OK);
	units_free(&units);
}

static enum status cut(const struct graph *graph, uint32_t copies, struct shortened *shortened, struct error *error)
{
	struct fold fold;
	uint32_t kept[8];
	find(graph, &fold);
	cr_assert(fold.segments > 0 && fold.segments <= 8);
	for (uint32_t s = 0; s < fold.segments; s++)
		kept[s] = copies < fold.segment[s].copies ? copies : fold.segment[s].copies;
	enum status status = graph_shorten(graph, &fold, kept, shortened, error);
	fold_free(&fold);
	return status;
}

static uint32_t copies_of(const struct graph *graph)
{
	struct fold fold;
	find(graph, &fold);
	uint32_t copies = fold.segment[0].copies;
	fold_free(&fold);
	return copies;
}

static int by_type(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static const char **types_of(const struct graph *graph)
{
	const char **type = mem_alloc(graph->ops, sizeof *type);
	cr_assert_not_null(type);
	for (uint32_t op = 0; op < graph->ops; op++)
		type[op] = graph->op[op].type;
	qsort(type, graph->ops, sizeof *type, by_type);
	return type;
}

/* Ops, tensors, bytes and the peak of the program's order. */
static void expect_alike(const struct graph *made, const struct graph *wanted, const char *name)
{
	cr_assert_eq(made->ops, wanted->ops, "%s: %u ops, the model has %u", name, made->ops, wanted->ops);
	cr_expect_eq(made->tensors, wanted->tensors, "%s", name);
	cr_expect_eq(made->persistent_bytes, wanted->persistent_bytes, "%s", name);
	cr_expect_eq(program_peak(made), program_peak(wanted), "%s: %lld, the model's is %lld", name,
		(long long)program_peak(made), (long long)program_peak(wanted));
	const char **ours = types_of(made), **theirs = types_of(wanted);
	for (uint32_t op = 0; op < made->ops; op++)
		cr_assert_str_eq(ours[op], theirs[op], "%s", name);
	mem_free(ours);
	mem_free(theirs);
}

Test(shorten, what_is_left_is_the_step_of_a_model_with_fewer_layers)
{
	static const char *const names[] = { "gpt", "bert-base", "llama3-8b", "vit-b-16", "moe", "deepseek" };
	struct error error = { 0 };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		struct graph *whole = step_of_sizes(names[i], (struct model_config){ .layers = 12 });
		uint32_t copies = copies_of(whole);
		for (uint32_t left = SHORTEN_LEAST; left < copies; left += 2) {
			struct graph *wanted = step_of_sizes(names[i], (struct model_config){ .layers = 12 - copies + left });
			struct shortened shortened;
			cr_assert_eq(cut(whole, left, &shortened, &error), OK, "%s: %s", names[i], error.text);
			expect_alike(shortened.graph, wanted, names[i]);
			for (uint32_t op = 0; op < shortened.graph->ops; op++)
				cr_assert_str_eq(shortened.graph->op[op].name, whole->op[shortened.op[op]].name);
			for (uint32_t tensor = 0; tensor < shortened.graph->tensors; tensor++)
				cr_assert_str_eq(shortened.graph->tensor[tensor].name, whole->tensor[shortened.tensor[tensor]].name);
			shortened_free(&shortened);
			graph_release(wanted);
		}
		graph_release(whole);
	}
}

/* A graph again, with an op behind it that reads the gradient of every layer's first weight. */
static struct graph *with_norm(const struct graph *graph, struct error *error)
{
	struct draft *draft = draft_new();
	struct tensor sum = { .name = "sum", .bytes = 4, .kind = KIND_OUTPUT, .alias = NONE };
	struct op norm = { .name = "norm", .type = "norm", .flops = -1, .phase = PHASE_BACKWARD };
	for (uint32_t tensor = 0; tensor < graph->tensors; tensor++)
		draft_tensor(draft, &graph->tensor[tensor]);
	uint32_t last = draft_tensor(draft, &sum);
	for (uint32_t op = 0; op < graph->ops; op++) {
		draft_op(draft, &graph->op[op]);
		FOR_ROW(i, &graph->reads, op)
			draft_read(draft, op, graph->reads.item[i]);
		FOR_ROW(i, &graph->writes, op)
			draft_write(draft, op, graph->writes.item[i]);
		for (uint32_t i = graph->inplace_start[op]; i < graph->inplace_start[op + 1]; i++)
			draft_inplace(draft, op, graph->inplace[i].out, graph->inplace[i].in);
	}
	uint32_t op = draft_op(draft, &norm);
	draft_write(draft, op, last);
	for (uint32_t tensor = 0; tensor < graph->tensors; tensor++)
		if (graph->tensor[tensor].kind == KIND_GRADIENT && graph->tensor[tensor].writer != NONE)
			draft_read(draft, op, tensor);
	struct graph *result = graph_build(draft, error);
	draft_free(draft);
	return result;
}

Test(shorten, what_is_read_from_every_layer_keeps_them_all)
{
	struct error error = { 0 };
	struct graph *step = step_of_sizes("gpt", (struct model_config){ .layers = 8 }), *graph = with_norm(step, &error);
	struct shortened shortened;
	cr_assert_not_null(graph, "%s", error.text);
	cr_expect_eq(cut(graph, 4, &shortened, &error), INFEASIBLE);
	cr_expect_str_eq(error.text, "a layer that is left out is read from outside");
	shortened_free(&shortened);
	graph_release(graph);
	graph_release(step);
}

Test(shorten, running_out_of_memory_leaks_nothing)
{
	struct graph *graph = step_of_sizes("gpt", (struct model_config){ .layers = 6 });
	struct fold fold;
	find(graph, &fold);
	EACH_REFUSAL(refused) {
		struct shortened shortened;
		struct error error;
		uint32_t copies[] = { 3 };
		refused.status = graph_shorten(graph, &fold, copies, &shortened, &error);
		shortened_free(&shortened);
	}
	fold_free(&fold);
	graph_release(graph);
}
