/* unit_units.c: what ops can be split along, and shardings by roles. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/shard/find.h"
#include "src/models/models.h"
#include "tests/common/model_steps.h"
#include "tests/common/native_text.h"
#include "tests/common/support.h"

static const struct model_training adam = { .optimizer = OPTIMIZER_ADAM };

/* A model small enough for every test, whose sizes are all different and all divide by 4. */
static struct model_config small(const char *name)
{
	struct model_config config = model_find(name)->config;
	config.layers = 2;
	config.batch = 8;
	if (config.seq)
		config.seq = 64;
	return config;
}

static const struct mesh mesh = { .axes = 2,
	.axis = { { .name = "dp", .size = 4, .near_size = 1 }, { .name = "tp", .size = 4, .near_size = 4 } } };

static void check_legal(const struct units *units, const struct sharding *sharding, const char *name)
{
	const struct graph *graph = units->graph;
	for (uint32_t t = 0; t < graph->tensors; t++)
		cr_assert(placement_divides(units, &mesh, t, sharding->produced[t]), "%s: %s", name, graph->tensor[t].name);
	for (uint32_t op = 0; op < graph->ops; op++)
		for (uint32_t k = 0; k < op_arguments(graph, op); k++) {
			uint32_t reads = csr_length(&graph->reads, op);
			bool read = k < reads;
			uint32_t t = read ? graph->reads.item[graph->reads.start[op] + k]
				: graph->writes.item[graph->writes.start[op] + k - reads];
			struct placement placement = read ? sharding->needed[graph->reads.start[op] + k] : sharding->produced[t];
			cr_assert(placement_divides(units, &mesh, t, placement), "%s: %s of %s", name, graph->tensor[t].name,
				graph->op[op].name);
			for (int a = 0; a < MESH_AXES; a++)
				cr_assert_eq(placement.on[a], units_place(units, op, sharding->split[op].on[a], k));
		}
}

Test(units, shardings_by_roles_are_legal_on_every_model)
{
	static const char *const models[] = { "gpt", "llama", "bert", "t5", "vit", "moe", "resnet18", "dlrm" };
	struct rules *rules = test_rules();
	for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
		OWN(graph) *graph = step_of_config(models[m], small(models[m]), adam);
		OWN(units) units;
		cr_assert_eq(units_find(graph, rules, &units), OK);
		for (uint8_t zero = 0; zero <= 3; zero++) {
			struct axis_roles roles[2] = { roles_data, zero % 2 ? roles_tensor_sp : roles_tensor };
			roles[0].zero = zero;
			OWN(sharding) sharding;
			cr_assert_eq(split_by_roles(&units, &mesh, roles, &sharding), OK);
			check_legal(&units, &sharding, models[m]);
			int64_t whole = 0, local = 0;
			for (uint32_t t = 0; t < graph->tensors; t++)
				if (graph->tensor[t].kind == KIND_OPTIMIZER && graph->tensor[t].writer == NONE) {
					whole += graph->tensor[t].bytes;
					local += placement_bytes(&units, &mesh, t, sharding.produced[t]);
				}
			if (zero > 0)
				cr_expect_leq(local * 38, whole * 10, "%s: optimizer state %ld of %ld", models[m], (long)local, (long)whole);
		}
	}
}

static int count_changes(
	const struct units *units, const struct sharding *sharding, int8_t from, bool from_shard, int8_t to, bool to_shard)
{
	const struct graph *graph = units->graph;
	int changes = 0;
	for (uint32_t op = 0; op < graph->ops; op++)
		FOR_ROW(i, &graph->reads, op) {
			uint32_t t = graph->reads.item[i];
			int8_t is = sharding->produced[t].on[1], wanted = sharding->needed[i].on[1];
			bool activation = graph->op[op].phase == PHASE_FORWARD && graph->op[op].module[0] == 'h' &&
				graph->tensor[t].writer != NONE;
			changes += activation && is != wanted && (from_shard ? is >= 0 : is == from) &&
				(to_shard ? wanted >= 0 : wanted == to);
		}
	return changes;
}

/* Korthikanti et al. 2022, figure 5: per layer two all-gathers before the column-split products, two reduce-scatters
 * behind the row-split ones. */
Test(units, megatron_with_sequence_parallelism_has_four_collectives_a_layer)
{
	struct rules *rules = test_rules();
	struct model_config config = small("gpt");
	OWN(graph) *graph = step_of_config("gpt", config, adam);
	OWN(units) units;
	OWN(sharding) sharding;
	cr_assert_eq(units_find(graph, rules, &units), OK);
	struct axis_roles roles[2] = { roles_data, roles_tensor_sp };
	cr_assert_eq(split_by_roles(&units, &mesh, roles, &sharding), OK);
	cr_expect_eq(count_changes(&units, &sharding, 0, true, PLACE_WHOLE, false), 2 * (int)config.layers);
	cr_expect_eq(count_changes(&units, &sharding, PLACE_PARTIAL, false, 0, true), 2 * (int)config.layers);
	char text[30];
	uint32_t weight = graph_find_tensor(graph, "h.0.attn.c_attn.weight");
	cr_assert_neq(weight, NONE);
	cr_expect_str_eq(placement_text(&units, weight, sharding.produced[weight].on[1], text, sizeof text), "S(0:3)");
	weight = graph_find_tensor(graph, "h.0.mlp.c_proj.weight");
	cr_expect_str_eq(placement_text(&units, weight, sharding.produced[weight].on[1], text, sizeof text), "S(1)");
	cr_expect_eq(placement_bytes(&units, &mesh, weight, sharding.produced[weight]) * 4, graph->tensor[weight].bytes);
	cr_expect_eq(placement_copies(&mesh, sharding.produced[weight]), 4);
}

/* GShard: tokens go to their experts and back by all-to-all, and their gradients the same way. */
Test(units, expert_parallelism_has_four_exchanges_a_layer)
{
	struct rules *rules = test_rules();
	struct model_config config = small("moe");
	config.batch = 16;
	OWN(graph) *graph = step_of_config("moe", config, adam);
	OWN(units) units;
	OWN(sharding) sharding;
	cr_assert_eq(units_find(graph, rules, &units), OK);
	struct axis_roles roles[2] = { roles_data, roles_experts };
	cr_assert_eq(split_by_roles(&units, &mesh, roles, &sharding), OK);
	check_legal(&units, &sharding, "moe");
	uint32_t exchanges = 0;
	for (uint32_t t = 0; t < graph->tensors; t++) {
		bool exchanged = false;
		for (uint32_t op = 0; op < graph->ops; op++)
			FOR_ROW(i, &graph->reads, op) {
				int8_t is = sharding.produced[t].on[1], wanted = sharding.needed[i].on[1];
				exchanged |= graph->reads.item[i] == t && is >= 0 && wanted >= 0 && is != wanted;
			}
		exchanges += exchanged;
	}
	cr_expect_eq(exchanges, 4 * 2, "%u", exchanges);
	uint32_t up = graph_find_tensor(graph, "h.0.moe.experts.up");
	cr_assert_neq(up, NONE);
	cr_expect_eq(units.part[units.part_start[up] + (uint32_t)sharding.produced[up].on[1]].role, ROLE_EXPERTS);
}

/* All that a class stands for, as text. */
static void describe(const struct units *units, uint32_t id, bool is_op, FILE *out)
{
	const struct graph *graph = units->graph;
	uint32_t arguments = is_op ? op_arguments(graph, id) : 1, reads = is_op ? csr_length(&graph->reads, id) : 0;
	if (is_op)
		fprintf(out, "%s %d %lld %lld %u %d", graph->op[id].type, graph->op[id].phase, (long long)graph->op[id].flops,
			(long long)graph->op[id].workspace, reads, units->linear[id]);
	for (uint32_t u = 0; is_op && u < unit_count(units, id); u++) {
		const struct unit *unit = &units->unit[units->unit_start[id] + u];
		fprintf(out, " [%lld %lld %d %d %d", (long long)unit->size, (long long)unit->points, unit->role, unit->reduced,
			unit->inside);
		for (uint32_t k = 0; k < arguments; k++)
			fprintf(out, " %d", units_place(units, id, (int8_t)u, k));
	}
	for (uint32_t k = 0; k < arguments; k++) {
		uint32_t t = !is_op ? id
			: k < reads ? graph->reads.item[graph->reads.start[id] + k]
			: graph->writes.item[graph->writes.start[id] + k - reads];
		fprintf(out, " (%lld %d %d", (long long)graph->tensor[t].bytes, graph->tensor[t].dtype, graph_in_host(graph, t));
		for (uint32_t d = 0; d < graph->tensor[t].dims; d++)
			fprintf(out, " %lld", graph->tensor[t].shape ? (long long)graph->tensor[t].shape[d] : -1);
		for (uint32_t i = units->part_start[t]; i < units->part_start[t + 1]; i++)
			fprintf(out, " %lld.%d.%d.%d", (long long)units->part[i].size, units->part[i].dim, units->part[i].role,
				units->part[i].even);
	}
}

/* Members of a class have the text of its first member, and no two classes have the same. */
static void check_classes(const struct units *units, bool are_ops)
{
	uint32_t members = are_ops ? units->graph->ops : units->graph->tensors,
			 classes = are_ops ? units->op_classes : units->tensor_classes;
	const uint32_t *class = are_ops ? units->op_class : units->tensor_class;
	char **text = calloc(classes, sizeof *text);
	for (uint32_t i = 0; i < members; i++) {
		char *own;
		size_t size;
		FILE *out = open_memstream(&own, &size);
		describe(units, i, are_ops, out);
		fclose(out);
		cr_assert_lt(class[i], classes);
		for (uint32_t c = 0; c < classes; c++)
			cr_assert(!text[c] || (strcmp(text[c], own) == 0) == (c == class[i]), "%u and class %u: %s", i, c, own);
		if (text[class[i]])
			free(own);
		else
			text[class[i]] = own;
	}
	for (uint32_t c = 0; c < classes; c++) {
		cr_assert_not_null(text[c]);
		free(text[c]);
	}
	free(text);
}

Test(units, classes_are_what_is_alike)
{
	static const char *const models[] = { "gpt", "llama", "moe", "resnet18" };
	struct rules *rules = test_rules();
	for (size_t m = 0; m < sizeof models / sizeof *models; m++) {
		OWN(graph) *graph = step_of_config(models[m], small(models[m]), adam);
		OWN(units) units;
		cr_assert_eq(units_find(graph, rules, &units), OK);
		check_classes(&units, true);
		check_classes(&units, false);
		cr_assert_lt(
			3 * units.op_classes, 2 * graph->ops, "%s: %u classes of %u ops", models[m], units.op_classes, graph->ops);
	}
}

Test(units, allocation_failures_leave_nothing)
{
	struct rules *rules = test_rules();
	struct model_config config = small("gpt");
	config.layers = 1;
	OWN(graph) *graph = step_of_config("gpt", config, adam);
	long before = memory_blocks();
	enum status status = NO_MEMORY;
	for (long n = 0; status == NO_MEMORY; n += 1 + n / 8) {
		struct units units;
		struct sharding sharding;
		struct axis_roles roles[2] = { roles_data, roles_tensor };
		memory_allow(n);
		status = units_find(graph, rules, &units);
		if (status == OK) {
			status = split_by_roles(&units, &mesh, roles, &sharding);
			if (status == OK)
				sharding_free(&sharding);
			units_free(&units);
		}
		memory_allow(-1);
		cr_assert_eq(memory_blocks(), before);
	}
	cr_expect_eq(status, OK);
}

/* Two names of one memory of dims 28 and 192: the second's 28 is 4 x 7. */
Test(units, placements_coincide_across_finer_parts)
{
	uint32_t start[] = { 0, 2, 5 };
	struct part part[] = { { .size = 28, .dim = 0 }, { .size = 192, .dim = 1 }, { .size = 4, .dim = 0 },
		{ .size = 7, .dim = 0 }, { .size = 192, .dim = 1 } };
	struct units units = { .part_start = start, .part = part };
	static const struct { int8_t a[2], b[2]; bool same;
	} cases[] = { { { 0, 1 }, { 0, 2 }, true }, { { 1, 1 }, { 2, 2 }, true }, { { 0, 1 }, { 1, 2 }, false },
		{ { 0, 0 }, { 0, 0 }, false }, { { 1, 0 }, { 0, 2 }, false }, { { PLACE_WHOLE, 1 }, { PLACE_WHOLE, 2 }, true },
		{ { PLACE_WHOLE, 1 }, { PLACE_PARTIAL, 2 }, false }, { { PLACE_WHOLE, 1 }, { 0, 2 }, false } };
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		struct placement a, b;
		memset(&a, PLACE_WHOLE, sizeof a);
		memset(&b, PLACE_WHOLE, sizeof b);
		memcpy(a.on, cases[i].a, 2);
		memcpy(b.on, cases[i].b, 2);
		cr_expect_eq(placements_coincide(&units, &mesh, 0, a, 1, b), cases[i].same, "case %zu", i);
		cr_expect_eq(placements_coincide(&units, &mesh, 1, b, 0, a), cases[i].same, "case %zu, turned", i);
	}
}

/* Rows of 8 images in windows of 7, and of the gradient in pairs: images are what both rows have in common. The noise
 * reads x for its format alone. */
static const char windows[] =
	"{\"k\":\"graph\",\"v\":1}\n"
	"{\"k\":\"tensor\",\"id\":\"x\",\"dtype\":\"f32\",\"shape\":[8,14,14,3],\"kind\":\"input\"}\n"
	"{\"k\":\"tensor\",\"id\":\"y\",\"dtype\":\"f32\",\"shape\":[8,14,14,5],\"kind\":\"input\"}\n"
	"{\"k\":\"tensor\",\"id\":\"windows\",\"dtype\":\"f32\",\"shape\":[8,2,7,2,7,3]}\n"
	"{\"k\":\"tensor\",\"id\":\"pairs\",\"dtype\":\"f32\",\"shape\":[8,7,2,7,2,5]}\n"
	"{\"k\":\"tensor\",\"id\":\"rows\",\"dtype\":\"f32\",\"shape\":[1568,3]}\n"
	"{\"k\":\"tensor\",\"id\":\"grads\",\"dtype\":\"f32\",\"shape\":[1568,5]}\n"
	"{\"k\":\"tensor\",\"id\":\"turned\",\"dtype\":\"f32\",\"shape\":[5,1568]}\n"
	"{\"k\":\"tensor\",\"id\":\"weight\",\"dtype\":\"f32\",\"shape\":[5,3],\"kind\":\"gradient\"}\n"
	"{\"k\":\"tensor\",\"id\":\"noise\",\"dtype\":\"f32\",\"shape\":[8,1,1,1]}\n"
	"{\"k\":\"tensor\",\"id\":\"dropped\",\"dtype\":\"f32\",\"shape\":[8,14,14,3],\"kind\":\"output\"}\n"
	"{\"k\":\"op\",\"id\":\"cut\",\"op\":\"aten.view.default\",\"in\":[\"x\"],\"out\":[\"windows\"]}\n"
	"{\"k\":\"op\",\"id\":\"pair\",\"op\":\"aten.view.default\",\"in\":[\"y\"],\"out\":[\"pairs\"]}\n"
	"{\"k\":\"op\",\"id\":\"flat\",\"op\":\"aten.view.default\",\"in\":[\"windows\"],\"out\":[\"rows\"]}\n"
	"{\"k\":\"op\",\"id\":\"flat_2\",\"op\":\"aten.view.default\",\"in\":[\"pairs\"],\"out\":[\"grads\"]}\n"
	"{\"k\":\"op\",\"id\":\"t\",\"op\":\"aten.t.default\",\"in\":[\"grads\"],\"out\":[\"turned\"]}\n"
	"{\"k\":\"op\",\"id\":\"mm\",\"op\":\"aten.mm.default\",\"in\":[\"turned\",\"rows\"],\"out\":[\"weight\"]}\n"
	"{\"k\":\"op\",\"id\":\"new\",\"op\":\"aten.new_empty.default\",\"in\":[\"x\"],\"out\":[\"noise\"]}\n"
	"{\"k\":\"op\",\"id\":\"drop\",\"op\":\"aten.mul.Tensor\",\"in\":[\"x\",\"noise\"],\"out\":[\"dropped\"]}\n"
	"{\"k\":\"end\",\"ops\":8,\"tensors\":10}\n";

/* The one unit of 8 of an op; NONE unless there is just one. */
static uint32_t unit_of_images(const struct units *units, uint32_t op)
{
	uint32_t found = NONE, count = 0;
	for (uint32_t u = 0; u < unit_count(units, op); u++)
		if (units->unit[units->unit_start[op] + u].size == 8) {
			found = u;
			count++;
		}
	return count == 1 ? found : NONE;
}

Test(units, what_is_cut_in_different_ways_is_split_along_what_is_common)
{
	struct error error;
	struct rules *rules = test_rules();
	OWN(graph) *graph = graph_of_text(windows, sizeof windows - 1, &error);
	OWN(units) units;
	cr_assert_not_null(graph, "%s", error.text);
	cr_assert_eq(units_find(graph, rules, &units), OK);
	uint32_t mm = graph_find_op(graph, "mm"), new = graph_find_op(graph, "new");
	uint32_t sum = unit_of_images(&units, mm), images = unit_of_images(&units, new);
	cr_assert_neq(sum, NONE);
	cr_expect(units.unit[units.unit_start[mm] + sum].reduced);
	cr_expect_eq(units_place(&units, mm, (int8_t)sum, 0), 1, "behind the columns of the turned gradient");
	cr_expect_eq(units_place(&units, mm, (int8_t)sum, 1), 0);
	cr_expect_eq(units_place(&units, mm, (int8_t)sum, 2), PLACE_PARTIAL);
	for (uint32_t u = 0; u < unit_count(&units, mm); u++)
		cr_expect_neq(units.unit[units.unit_start[mm] + u].size, 7, "a 7 is the outer one here, the inner one there");
	cr_assert_neq(images, NONE);
	cr_expect_eq(units_place(&units, new, (int8_t)images, 0), 0, "what is read for its format alone is not gathered");
	cr_expect_eq(units_place(&units, new, (int8_t)images, 1), 0);
	uint32_t x = graph->reads.item[graph->reads.start[new]];
	cr_expect_eq(
		unit_count(&units, new), units.part_start[x + 1] - units.part_start[x], "x may be cut along any of its parts");
	for (uint32_t u = 0; u < unit_count(&units, new); u++)
		cr_expect(u == images || units_place(&units, new, (int8_t)u, 1) == PLACE_WHOLE);
}
