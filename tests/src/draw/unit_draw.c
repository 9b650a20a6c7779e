/* unit_draw.c: drawings, thinned timelines and exports of random plans. */
#include "tests/common/random_graph.h"
#include "src/draw/groups.h"
#include "src/write/data.h"
#include "src/decide/planner.h"
#include "src/plan/timeline.h"
#include "tests/common/support.h"

/* ---- layers in a row ------------------------------------------------------------------ */

struct builder { struct draft *draft; uint32_t ops, last; };

/* An op that reads the last result and makes the next one. */
static void add(struct builder *builder, const char *module, const char *type, enum phase phase, int64_t bytes)
{
	char name[40];
	snprintf(name, sizeof name, "op%u", builder->ops);
	struct op op = { .name = name, .type = type, .module = module, .flops = -1, .phase = (uint8_t)phase };
	uint32_t id = draft_op(builder->draft, &op);
	snprintf(name, sizeof name, "t%u", builder->ops++);
	struct tensor tensor = { .name = name, .alias = NONE, .bytes = bytes, .kind = KIND_ACTIVATION, .has_bytes = true };
	uint32_t result = draft_tensor(builder->draft, &tensor);
	cr_assert(builder->last == NONE || draft_read(builder->draft, id, builder->last) == OK);
	cr_assert_eq(draft_write(builder->draft, id, result), OK);
	builder->last = result;
}

#define ALL_DIFFER (-2)

/* Layers of a fc, a relu and an op of the layer's own, forward and backward; the layer `odd` is larger. */
static struct graph *layers(int count, int odd)
{
	struct builder builder = { .draft = draft_new(), .last = NONE };
	char path[40];
	add(&builder, "embed", "embedding", PHASE_FORWARD, 7);
	for (int i = 0; i < 2 * count; i++) {
		int layer = i < count ? i : 2 * count - 1 - i;
		enum phase phase = i < count ? PHASE_FORWARD : PHASE_BACKWARD;
		snprintf(path, sizeof path, "h.%d.fc", layer);
		add(&builder, path, "mm", phase, odd == ALL_DIFFER ? 100 + layer : layer == odd ? 200 : 100);
		snprintf(path, sizeof path, "h.%d.act", layer);
		add(&builder, path, "relu", phase, 50);
		snprintf(path, sizeof path, "h.%d", layer);
		add(&builder, path, "add", phase, 50);
	}
	add(&builder, "head", "mm", PHASE_BACKWARD, 7);
	struct graph *graph = graph_build(builder.draft, NULL);
	draft_free(builder.draft);
	return graph;
}

static uint32_t find_module(const struct modules *modules, const char *path)
{
	for (uint32_t i = 0; i < modules->count; i++)
		if (strcmp(modules->module[i].path, path) == 0)
			return i;
	return NONE;
}

Test(draw, equal_layers_in_a_row_are_one)
{
	OWN(graph) *graph = layers(12, -1);
	struct drawing drawing;
	struct error error;
	struct draw_options options = { .detail = DRAW_MODULES };
	cr_assert_eq(drawing_make(graph, NULL, &options, &drawing, &error), OK);
	cr_expect_eq(drawing.nodes, 2 + 2 * 3);
	const struct modules *modules = &drawing.modules;
	uint32_t first = find_module(modules, "h.0"), fifth = find_module(modules, "h.5.fc");
	cr_expect_eq(modules->module[first].repeats, 12);
	cr_expect_str_eq(modules->module[modules->module[first].last_of_row].path, "h.11");
	cr_expect_str_eq(modules->module[modules->module[fifth].normal].path, "h.0.fc");
	cr_expect(modules_repeat(modules, fifth, find_module(modules, "h.0.act")));
	cr_expect_not(modules_repeat(modules, fifth, find_module(modules, "h.5.act")));
	cr_expect_not(modules_repeat(modules, fifth, find_module(modules, "head")));
	for (uint32_t i = 0; i < drawing.nodes; i++)
		cr_expect_eq(drawing.node[i].ops, 1);
	drawing_free(&drawing);
	options.unfold = true;
	cr_assert_eq(drawing_make(graph, NULL, &options, &drawing, &error), OK);
	cr_expect_eq(drawing.nodes, 2 + 24 * 3);
	drawing_free(&drawing);
}

Test(draw, a_layer_that_differs_stands_for_itself)
{
	OWN(graph) *graph = layers(12, 6);
	OWN(drawing) drawing;
	struct error error;
	cr_assert_eq(drawing_make(graph, NULL, &(struct draw_options){ .detail = DRAW_MODULES }, &drawing, &error), OK);
	cr_expect_eq(drawing.modules.module[find_module(&drawing.modules, "h.0")].repeats, 6);
	cr_expect_eq(drawing.modules.module[find_module(&drawing.modules, "h.6")].repeats, 1);
	cr_expect_eq(drawing.modules.module[find_module(&drawing.modules, "h.7")].repeats, 5);
}

static int layer_of(const struct drawing *drawing, uint32_t node)
{
	int layer = -1;
	sscanf(drawing->modules.module[drawing->node[node].module].path, "h.%d", &layer);
	return layer;
}

Test(draw, boxes_of_a_long_chain_stand_below_each_other)
{
	for (int count = 4; count <= 8; count += 4) {
		OWN(graph) *graph = layers(count, ALL_DIFFER);
		OWN(drawing) drawing;
		struct cluster_pair *pair;
		struct error error;
		uint32_t pairs;
		cr_assert_eq(drawing_make(graph, NULL, &(struct draw_options){ .detail = DRAW_MODULES }, &drawing, &error), OK);
		cr_assert_eq(cluster_stack(&drawing, &pair, &pairs), OK);
		cr_expect_eq(pairs, count < 6 ? 0 : 2 * ((uint32_t)count - 1), "%u",
			pairs);   /* each pass of a layer above the next one's other pass */
		for (uint32_t i = 0; i < pairs; i++) {
			cr_expect_neq(
				graph->op[drawing.node[pair[i].above].first].phase, graph->op[drawing.node[pair[i].below].first].phase);
			cr_expect_eq(layer_of(&drawing, pair[i].below), layer_of(&drawing, pair[i].above) + 1);
		}
		mem_free(pair);
	}
}

Test(draw, hops_count_data_dependencies)
{
	OWN(graph) *graph = layers(4, -1);
	struct drawing drawing;
	struct error error;
	cr_assert_eq(drawing_make(graph, NULL, &(struct draw_options){ .detail = DRAW_OPS, .around = "op5", .hops = 3 },
					 &drawing, &error),
		OK);
	cr_expect_eq(drawing.nodes, 7);
	cr_expect_eq(drawing.edges, 6);
	drawing_free(&drawing);
	cr_expect_eq(drawing_make(graph, NULL, &(struct draw_options){ .around = "nobody" }, &drawing, &error), BAD_INPUT);
	drawing_free(&drawing);
	cr_expect_eq(drawing_make(graph, NULL, &(struct draw_options){ .alive = true }, &drawing, &error), BAD_INPUT);
	drawing_free(&drawing);
}

/* ---- random graphs ------------------------------------------------------------------------ */

static struct rules *rules;    /* read once, for all plans of a test */

static struct plan *plan_of(struct graph *graph, struct store *store)
{
	struct planner planner = { .store = store, .rules = rules };
	struct scenario scenario;
	struct error error;
	scenario_init(&scenario);
	struct plan *plan = planner_run(&planner, graph, &scenario, PLAN_QUICK, &error);
	rules = planner.rules;
	cr_assert_not_null(plan, "%s", error.text);
	return plan;
}

/* Without rows of layers the nodes have an order: modules were gathered without making cycles. */
static bool acyclic(const struct drawing *drawing)
{
	uint32_t waiting[200] = { 0 }, done = 0;
	bool ran[200] = { false };
	for (uint32_t i = 0; i < drawing->edges; i++)
		waiting[drawing->edge[i].to]++;
	for (bool any = true; any; ) {
		any = false;
		for (uint32_t node = 0; node < drawing->nodes; node++) {
			if (ran[node] || waiting[node])
				continue;
			ran[node] = any = true;
			done++;
			for (uint32_t i = 0; i < drawing->edges; i++)
				waiting[drawing->edge[i].to] -= drawing->edge[i].from == node;
		}
	}
	return done == drawing->nodes;
}

Test(draw, every_op_is_in_a_node_and_nodes_make_no_cycle)
{
	uint64_t seed = test_seed(), random = seed;
	for (int round = 0; round < 300; round++) {
		struct graph *graph = random_graph(&random, 5 + (uint32_t)(random_next(&random) % 60));
		if (!graph)
			continue;
		OWN(drawing) drawing;
		struct error error;
		struct draw_options options = { .detail = round % 2 ? DRAW_OPS : DRAW_MODULES, .unfold = true };
		cr_assert_eq(drawing_make(graph, NULL, &options, &drawing, &error), OK);
		uint32_t ops = 0;
		for (uint32_t op = 0; op < graph->ops; op++)
			cr_assert_lt(drawing.node_of[op], drawing.nodes);
		for (uint32_t node = 0; node < drawing.nodes; node++)
			ops += drawing.node[node].ops;
		cr_expect_eq(ops, graph->ops);
		cr_expect(acyclic(&drawing), "seed %llu round %d", (unsigned long long)seed, round);
		HELD struct draw_place *place = draw_places(&drawing);
		for (uint32_t a = 0; a < drawing.nodes; a++)
			for (uint32_t b = 0; b < a; b++)
				cr_assert(place[a].x < place[b].x || place[a].x > place[b].x || place[a].y < place[b].y || place[a].y > place[b].y);
		graph_release(graph);
	}
}

static enum status write_all(const struct plan *plan, FILE *stream, struct error *error)
{
	enum status status = OK;
	struct export_options options = { 0 };
	struct draw_options draw[] = { { 0 }, { .alive = true }, { .detail = DRAW_OPS, .positions = true } };
	for (size_t i = 0; i < sizeof draw / sizeof *draw && status == OK; i++)
		status = draw_write(plan->graph, plan, &draw[i], stream, NULL, error);
	/* Every row of the table that needs neither tidemark-dot nor a plan for several devices. */
	for (int i = 0; i < export_view_count && status == OK; i++) {
		const struct export_view *view = &export_views[i];
		bool figure = view->figure && view->kinds >> EXPORT_svg & 1;
		for (int kind = 0; kind < EXPORT_KIND_COUNT && status == OK; kind++) {
			bool alone = figure ? kind == EXPORT_svg : kind < EXPORT_svg;
			if (!(view->kinds >> kind & 1) || !alone || (view->name && !strchr("tm", *view->name)))
				continue;
			options.view = view->name;
			status = view->write(&(struct export_job){ plan, &options, (enum export_kind_id)kind, stream, error });
		}
	}
	return status;
}

Test(draw, running_out_of_memory_leaks_nothing)
{
	uint64_t random = test_seed();
	OWN(store) *store = store_new();
	OWN(graph) *graph = random_graph(&random, 20);
	cr_assert_not_null(graph);
	OWN(plan) *plan = plan_of(graph, store);
	FILE *stream = fopen("/dev/null", "w");
	struct error error;
	EACH_REFUSAL(refused)
		refused.status = write_all(plan, stream, &error);
	fclose(stream);
	rules_free(rules);
}

/* ---- timelines ------------------------------------------------------------------------------- */

Test(timeline, groups_add_up_to_the_live_bytes)
{
	uint64_t random = test_seed();
	for (int round = 0; round < 100; round++) {
		OWN(store) *store = store_new();
		struct graph *graph = random_graph(&random, 1 + (uint32_t)(random_next(&random) % 40));
		if (graph) {
			OWN(plan) *plan = plan_of(graph, store);
			int64_t (*bytes)[GROUP_COUNT] = timeline_groups(plan);
			for (uint32_t i = 0; i < plan->graph->ops; i++) {
				int64_t sum = 0;
				for (int group = 0; group < GROUP_COUNT; group++)
					sum += bytes[i][group];
				cr_expect_eq(sum, plan->ordered->live[i]);
				cr_expect_eq(bytes[i][GROUP_WORKSPACE], plan->graph->op[plan->ordered->result.order[i]].workspace);
			}
			mem_free(bytes);
			graph_release(graph);
		}
	}
	rules_free(rules);
}

Test(timeline, thinning_keeps_the_peak_and_every_stretchs_extremes)
{
	uint64_t seed = test_seed(), random = seed;
	static int64_t live[5000];
	uint32_t keep[2000];
	for (int round = 0; round < 500; round++) {
		uint32_t count = 1 + (uint32_t)(random_next(&random) % 5000),
				 most = 8 + (uint32_t)(random_next(&random) % 1992), peak = 0;
		for (uint32_t i = 0; i < count; i++) {
			live[i] = (int64_t)(random_next(&random) % (round % 2 ? 10 : 1000000));
			if (live[i] > live[peak])
				peak = i;
		}
		uint32_t kept = timeline_thin(live, count, most, keep);
		bool found = false;
		cr_assert(kept >= 1 && kept <= most, "seed %llu", (unsigned long long)seed);
		for (uint32_t i = 0; i < kept; i++) {
			cr_assert(keep[i] < count && (i == 0 || keep[i] > keep[i - 1]));
			found |= keep[i] == peak;
		}
		cr_assert(found && keep[0] == 0 && keep[kept - 1] == count - 1, "seed %llu round %d", (unsigned long long)seed,
			round);
	}
}
