/* unit_graph.c: building graphs, their dependencies, and the memory that an order needs. */
#include <string.h>

#include "tests/common/order_valid.h"
#include "tests/common/random_graph.h"
#include "solver/graph/problem.h"
#include "tests/common/support.h"

static uint32_t tensor(struct draft *draft, const char *name, int64_t bytes, enum kind kind, uint32_t alias)
{
	struct tensor record = {
		.name = name, .bytes = bytes, .kind = (uint8_t)kind, .alias = alias, .has_bytes = true, .line = 7
	};
	return draft_tensor(draft, &record);
}

static uint32_t op(struct draft *draft, const char *name)
{
	struct op record = { .name = name, .type = "f", .flops = -1, .line = 9 };
	return draft_op(draft, &record);
}

static struct graph *build(struct draft *draft, struct error *error)
{
	struct graph *graph = graph_build(draft, error);
	draft_free(draft);
	return graph;
}

static bool depends(const struct graph *graph, const char *later, const char *earlier)
{
	uint32_t on = graph_find_op(graph, earlier), id = graph_find_op(graph, later);
	FOR_ROW(i, &graph->pred, id)
		if (graph->pred.item[i] == on)
			return true;
	return false;
}

/* Fingerprints in plan files and sweeps rest on these numbers: new names stand behind the old ones. */
Test(graph, numbers_of_dtypes_and_kinds_are_only_added_to)
{
	static const char *const dtypes[] = { "f64", "f32", "f16", "bf16", "f8e4m3", "f8e5m2", "i64", "i32", "i16", "i8", "i4",
		"u64", "u32", "u16", "u8", "u4", "bool", "c64", "c128", "opaque" };
	static const char *const kinds[] = { "input", "parameter", "buffer", "constant", "optimizer", "gradient", "activation",
		"temporary", "output" };
	FOR(i, COUNT_OF(dtypes))
		cr_expect_str_eq(dtype_names[i], dtypes[i]);
	FOR(i, COUNT_OF(kinds))
		cr_expect_str_eq(kind_names[i], kinds[i]);
}

/* The graph that lends may be given back by all others. */
Test(graph, texts_that_are_lent_outlive_their_draft)
{
	struct draft *draft = draft_new();
	int64_t shape[] = { 4, 2 };
	draft_tensor(draft, &(struct tensor){ .name = "given", .bytes = 8, .alias = NONE, .shape = shape, .dims = 2 });
	op(draft, "f");
	struct graph *lender = build(draft, NULL);
	draft = draft_new();
	draft_lend(draft, lender);
	draft_tensor(draft, &lender->tensor[0]);
	draft_op(draft, &lender->op[0]);
	char name[] = "made";
	struct tensor other = lender->tensor[0];
	other.name = draft_text(draft, name);
	draft_tensor(draft, &other);
	name[0] = 'f';
	OWN(graph) *graph = build(draft, NULL);
	cr_assert_eq(graph->tensor[0].name, lender->tensor[0].name, "no copy");
	cr_assert_eq(graph->tensor[0].shape, graph->tensor[1].shape, "equal shapes once");
	graph_release(lender);
	cr_assert(strcmp(graph->op[0].name, "f") == 0 && strcmp(graph->tensor[1].name, "made") == 0);
	cr_assert_eq(graph_find_tensor(graph, "given"), 0);
	cr_assert_eq(graph->tensor[0].shape[1], 2);
}

Test(graph, views_share_the_storage_of_their_root)
{
	struct draft *draft = draft_new();
	uint32_t a = tensor(draft, "a", 100, KIND_ACTIVATION, NONE), b = tensor(draft, "b", 100, KIND_ACTIVATION, a);
	uint32_t c = tensor(draft, "c", 40, KIND_OUTPUT, b);
	uint32_t make = op(draft, "make"), view = op(draft, "view");
	draft_write(draft, make, a);
	draft_read(draft, view, a);
	draft_write(draft, view, b);
	draft_write(draft, view, c);
	OWN(graph) *graph = build(draft, NULL);
	cr_assert_eq(graph->storages, 1);
	cr_assert_eq(graph->storage[0].bytes, 100);
	cr_assert(graph->storage[0].live_out, "a tensor of kind output keeps the storage to the end");
	cr_assert_eq(graph->storage[0].allocator, make);
	cr_assert_eq(csr_length(&graph->members, 0), 3);
}

/* What moving a view between devices costs follows from its shape. */
Test(graph, views_without_bytes_have_those_of_their_shapes)
{
	static const int64_t matrix[] = { 8, 16 }, half[] = { 8, 8 }, wide[] = { 4, 8, 16 };
	struct draft *draft = draft_new();
	uint32_t a = draft_tensor(draft,
		&(struct tensor){ .name = "a",
			.bytes = 256,
			.dtype = DTYPE_F16,
			.dims = 2,
			.shape = matrix,
			.has_bytes = true,
			.alias = NONE });
	uint32_t b = draft_tensor(
		draft, &(struct tensor){ .name = "b", .dtype = DTYPE_F16, .dims = 2, .shape = half, .alias = a });
	uint32_t c = draft_tensor(
		draft, &(struct tensor){ .name = "c", .dtype = DTYPE_OPAQUE, .dims = 3, .shape = wide, .alias = b });
	uint32_t d = draft_tensor(draft, &(struct tensor) { .name = "d", .dtype = DTYPE_OPAQUE, .alias = c });
	uint32_t e = draft_tensor(draft,
		&(struct tensor){
			.name = "e", .bytes = 3, .has_bytes = true, .dtype = DTYPE_F16, .dims = 2, .shape = half, .alias = a });
	OWN(graph) *graph = build(draft, NULL);
	cr_expect_eq(graph->tensor[b].bytes, 128);
	cr_expect_eq(graph->tensor[c].bytes, 1024, "an expanded view of a's format");
	cr_expect_eq(graph->tensor[d].bytes, 256, "all of a");
	cr_expect_eq(graph->tensor[e].bytes, 3, "as stated");
	cr_expect_eq(graph->storage[0].bytes, 256);
}

Test(graph, an_in_place_write_keeps_its_place_among_all_who_touch_the_storage)
{
	struct draft *draft = draft_new();
	uint32_t w = tensor(draft, "w", 8, KIND_PARAMETER, NONE), v = tensor(draft, "v", 8, KIND_PARAMETER, w);
	uint32_t n = tensor(draft, "n", 8, KIND_PARAMETER, w);
	uint32_t read = op(draft, "read"), view = op(draft, "view"), update = op(draft, "update"), late = op(draft, "late");
	draft_read(draft, read, w);
	draft_read(draft, view, w);
	draft_write(draft, view, v);
	draft_read(draft, update, w);
	draft_write(draft, update, n);
	draft_inplace(draft, update, n, w);
	draft_read(draft, late, v);
	OWN(graph) *graph = build(draft, NULL);
	cr_assert(depends(graph, "update", "read"), "write after read");
	cr_assert(depends(graph, "update", "view"), "write after read through a view");
	cr_assert(depends(graph, "late", "update"), "read after write, through a name that was there before");
}

Test(graph, refuses_two_writers_cycles_and_absurd_sizes)
{
	struct error error = { 0 };
	struct draft *draft = draft_new();
	uint32_t a = tensor(draft, "a", 1, KIND_ACTIVATION, NONE);
	draft_write(draft, op(draft, "p"), a);
	draft_write(draft, op(draft, "q"), a);
	cr_assert_null(build(draft, &error));
	cr_assert(strstr(error.text, "two writers") && strstr(error.text, "\"p\"") && strstr(error.text, "\"q\""), "%s",
		error.text);
	cr_assert_eq(error.line, 9);

	draft = draft_new();
	uint32_t p = op(draft, "p"), q = op(draft, "q"), r = op(draft, "r"), free_op = op(draft, "free");
	draft_after(draft, p, q);
	draft_after(draft, q, r);
	draft_after(draft, r, p);
	draft_after(draft, r, free_op);
	cr_assert_null(build(draft, &error));
	cr_assert(strstr(error.text, "cycle of 3 ops") && strstr(error.text, "\"q\"") && !strstr(error.text, "free"), "%s",
		error.text);

	draft = draft_new();
	tensor(draft, "big", BYTES_MAX, KIND_ACTIVATION, NONE);
	tensor(draft, "one", 1, KIND_ACTIVATION, NONE);
	cr_assert_null(build(draft, &error));
	cr_assert(strstr(error.text, "add up"), "%s", error.text);

	draft = draft_new();
	tensor(draft, "less", -1, KIND_ACTIVATION, NONE);
	cr_assert_null(build(draft, &error));
	cr_assert_eq(error.line, 7);

	draft = draft_new();
	uint32_t x = tensor(draft, "x", 1, KIND_ACTIVATION, 1);
	tensor(draft, "y", 1, KIND_ACTIVATION, x);
	cr_assert_null(build(draft, &error));
	cr_assert(strstr(error.text, "alias"), "%s", error.text);
}

Test(graph, a_broken_program_order_moves_to_the_nearest_valid_one)
{
	struct draft *draft = draft_new();
	uint32_t a = tensor(draft, "a", 1, KIND_ACTIVATION, NONE);
	draft_read(draft, op(draft, "use"), a);
	op(draft, "other");
	draft_write(draft, op(draft, "make"), a);
	OWN(graph) *graph = build(draft, NULL);
	cr_assert_eq(graph->repaired, 1);
	cr_assert_str_eq(graph->op[0].name, "other");
	cr_assert_str_eq(graph->op[1].name, "make");
	cr_assert_str_eq(graph->op[2].name, "use");
}

/* ---- memory, against the definition taken literally ------------------------------------------ */

/* Live bytes while the op at a position runs: each storage asked anew whether it is alive. */
static int64_t live_by_definition(const struct graph *graph, const uint32_t *position, uint32_t at, int64_t alignment)
{
	int64_t bytes = 0;
	for (uint32_t s = 0; s < graph->storages; s++) {
		const struct storage *storage = &graph->storage[s];
		uint32_t last = 0;
		bool touched = false;
		for (uint32_t id = 0; id < graph->ops; id++)
			FOR_ROW(i, &graph->touches, id)
				if (graph->touches.item[i] == s) {
					touched = true;
					last = position[id] > last ? position[id] : last;
				}
		bool made = storage->allocator == NONE || position[storage->allocator] <= at;
		bool needed = storage->live_out || (touched && last >= at);
		if (storage->persistent || (made && needed))
			bytes += align_up(storage->bytes, alignment);
	}
	return bytes;
}

static void random_order(const struct problem *problem, uint64_t *random, uint32_t *order)
{
	uint32_t ready[64], count = 0, done = 0, waiting[64];
	for (uint32_t id = 0; id < problem->ops; id++)
		if ((waiting[id] = csr_length(&problem->pred, id)) == 0)
			ready[count++] = id;
	while (count) {
		uint32_t pick = (uint32_t)(random_next(random) % count), id = ready[pick];
		ready[pick] = ready[--count];
		order[done++] = id;
		FOR_ROW(i, &problem->succ, id)
			if (--waiting[problem->succ.item[i]] == 0)
				ready[count++] = problem->succ.item[i];
	}
}

static void compare_with_definition(
	const struct graph *graph, const struct memory_rules *rules, uint64_t *random, uint64_t seed)
{
	OWN(problem) problem;
	uint32_t order[64], position[64], first[200], last[200], peak_position;
	int64_t live[64], peak = -1;
	cr_assert_eq(problem_of_graph(graph, rules, &problem, NULL), OK);
	random_order(&problem, random, order);
	cr_assert(problem_order_valid(&problem, order), "SEED=%llu", (unsigned long long)seed);
	for (uint32_t i = 0; i < graph->ops; i++)
		position[order[i]] = i;
	int64_t told = problem_peak(&problem, order, live, &peak_position);
	for (uint32_t i = 0; i < graph->ops; i++) {
		int64_t expected = live_by_definition(graph, position, i, rules->alignment);
		expected += rules->workspace ? align_up(graph->op[order[i]].workspace, rules->alignment) : 0;
		cr_assert_eq(live[i], expected, "position %u: %lld, by definition %lld (SEED=%llu)", i, (long long)live[i],
			(long long)expected, (unsigned long long)seed);
		peak = expected > peak ? expected : peak;
	}
	cr_assert_eq(told, peak);
	cr_assert_eq(live[peak_position], peak);
	cr_assert_eq(problem_lifetimes(&problem, order, first, last), OK);
	for (uint32_t i = 0; i < graph->ops; i++) {
		int64_t sum = problem.base + problem.workspace[order[i]];
		for (uint32_t item = 0; item < problem.items; item++)
			sum += first[item] <= i && i <= last[item] ? problem.size[item] : 0;
		cr_assert_eq(sum, live[i], "lifetimes disagree at %u (SEED=%llu)", i, (unsigned long long)seed);
	}
}

Test(graph, live_bytes_are_what_the_definition_says)
{
	uint64_t random = test_seed();
	for (int round = 0; round < 3000; round++) {
		uint64_t seed = random;
		OWN(graph) *graph = random_graph(&random, 1 + (uint32_t)(random_next(&random) % 14));
		struct memory_rules rules = { .alignment = round % 2 ? 1 : 8, .workspace = round % 3 != 0 };
		cr_assert_not_null(graph);
		compare_with_definition(graph, &rules, &random, seed);
		OWN(graph) *apart = graph_without_inplace(graph, NULL);
		cr_assert_not_null(apart);
		compare_with_definition(apart, &rules, &random, seed);
		for (uint32_t id = 0; id < apart->ops; id++)
			for (uint32_t i = apart->inplace_start[id]; i < apart->inplace_start[id + 1]; i++)
				cr_assert(apart->inplace[i].out == NONE || apart->storage[apart->tensor[apart->inplace[i].in].storage].persistent);
	}
}

Test(graph, order_pins_hold_or_are_refused)
{
	uint64_t random = test_seed();
	for (int round = 0; round < 1000; round++) {
		OWN(graph) *graph = random_graph(&random, 12);
		uint32_t a = (uint32_t)(random_next(&random) % 12), b = (uint32_t)(random_next(&random) % 12);
		struct order_pin pin = { a, b };
		struct memory_rules rules = { .alignment = 1, .pin = &pin, .pins = a != b };
		struct problem problem;
		struct error error;
		enum status status = problem_of_graph(graph, &rules, &problem, &error);
		if (status == OK) {
			uint32_t at[12];
			cr_assert(problem_order_valid(&problem, problem.program));
			for (uint32_t i = 0; i < 12; i++)
				at[problem.program[i]] = i;
			cr_assert(a == b || at[a] < at[b]);
			problem_free(&problem);
		} else {
			cr_assert_eq(status, INFEASIBLE);
			cr_assert(strstr(error.text, "contradict"));
		}
	}
}

Test(graph, every_allocation_may_fail)
{
	EACH_REFUSAL(refused) {
		uint64_t random = test_seed();
		OWN(graph) *graph = random_graph(&random, 20);
		OWN(graph) *apart = graph ? graph_without_inplace(graph, NULL) : NULL;
		struct memory_rules rules = { .alignment = 1, .workspace = true };
		OWN(problem) problem = { 0 };
		refused.status = apart ? problem_of_graph(apart, &rules, &problem, NULL) : NO_MEMORY;
	}
}
