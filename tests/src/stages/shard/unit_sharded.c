/* unit_sharded.c: the shard stage from knobs to plan files: every plan passes the checker, and what is impossible is
 * refused by name. */
#include <jansson.h>
#include <string.h>

#include "src/models/models.h"
#include "src/plan/beside.h"
#include "src/decide/planner.h"
#include "src/plan/verdict.h"
#include "tests/common/model_steps.h"
#include "tests/common/planned.h"
#include "tests/common/support.h"

static struct graph *model(const char *name, int64_t batch)
{
	return step_of_sizes(
		name, (struct model_config){ .layers = 1, .batch = batch, .seq = model_find(name)->config.seq ? 32 : 0 });
}

static void refused(struct graph *graph, const char *words, const char *pin, const char *why)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(scenario) scenario;
	struct error error = { 0 };
	scenario_of(words, &scenario);
	if (pin)
		cr_assert_eq(scenario_pin(&scenario, pin, &error), OK, "%s", error.text);
	cr_assert_null(planner_run(&planner, graph, &scenario, PLAN_COMPLETE, &error));
	cr_assert_eq(error.status, BAD_INPUT);
	cr_assert(strstr(error.text, why), "%s", error.text);
}

Test(sharded, every_expert_plan_passes_the_check_on_the_input_and_on_the_device_graph)
{
	static const struct { const char *model, *words; } cases[] = {
		{ "gpt", "devices=4 strategy=data" },
		{ "gpt", "devices=8 strategy=megatron" },
		{ "gpt", "devices=4 strategy=zero" },
		{ "gpt", "devices=8 strategy=megatron tp=2 zero=1" },
		{ "gpt", "devices=8 strategy=data cp=2 zero=2" },
		{ "llama", "devices=8 strategy=megatron sp=off" },
		{ "moe", "devices=8 strategy=data ep=4" },
		{ "resnet18", "devices=4 strategy=zero zero=2" },
		{ "gpt", "devices=4 strategy=data in_place=off" },
		{ "gpt", "devices=8 strategy=tap" },
		{ "moe", "devices=2 strategy=minred microbatches=2" },
		{ "gpt", "devices=4 strategy=auto memory=900MiB" },
		{ "gpt", "devices=8 strategy=auto" },
		{ "moe", "devices=4 strategy=minred" },
	};
	OWN(planner) planner = { .store = store_new() };
	for (size_t i = 0; i < test_rounds(12, sizeof cases / sizeof *cases); i++) {
		struct error error = { 0 };
		OWN(graph) *graph = model(cases[i].model, 8);
		OWN(plan) *plan = plan_of_words(&planner, graph, cases[i].words);
		char *text = plan_text(plan);
		cr_assert_not_null(plan->transformed->sharded, "%s", cases[i].words);
		cr_assert(plan->traffic.bytes > 0 && plan->transformed->sharded->cost.redundant >= 0, "%s", cases[i].words);
		cr_assert_eq(check_plan_text(graph, text, &error), OK, "%s %s: %s", cases[i].model, cases[i].words, error.text);
		cr_assert_eq(check_plan_text(plan->graph, text, &error), OK, "%s %s: %s", cases[i].model, cases[i].words, error.text);
		free(text);
	}
}

/* With all-reduces inside ops: of a vocabulary that is padded, and of batches whose statistics are computed again. */
Test(sharded, the_traffic_takes_the_streams_time)
{
	static const struct {
		const char *model, *words;
	} cases[] = { { "gpt", "devices=8 strategy=megatron tp=8" }, { "resnet18", "devices=4 strategy=data" },
		{ "resnet18", "devices=4 strategy=data recompute=auto memory=170MiB" } };
	OWN(planner) planner = { .store = store_new() };
	for (size_t i = 0; i < test_rounds(2, sizeof cases / sizeof *cases); i++) {
		struct error error = { 0 };
		OWN(graph) *graph = model(cases[i].model, 8);
		OWN(plan) *plan = plan_of_words(&planner, graph, cases[i].words);
		cr_assert_eq(plan->time->time.busy[1], plan->traffic.time, "%s", cases[i].words);
		char *text = plan_text(plan);
		cr_assert_eq(check_plan_text(graph, text, &error), OK, "%s: %s", cases[i].words, error.text);
		cr_assert(i < 2 || strstr(text, ".again"), "nothing is computed again");
		free(text);
	}
}

/* Every device moves its own piece: an eighth of activations, where strategies without a search cut them. */
Test(sharded, what_is_offloaded_is_not_gathered_first)
{
	static const char *const words[] = { "strategy=data", "strategy=zero", "strategy=megatron tp=2",
		"strategy=auto tp=2", "strategy=auto", "strategy=tap" };
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = model("gpt", 8);
	for (size_t i = 0; i < test_rounds(3, sizeof words / sizeof *words); i++) {
		struct scenario scenario;
		struct error error = { 0 };
		char text[200];
		uint32_t pins = 0, moved = 0;
		snprintf(text, sizeof text, "devices=8 %s", words[i]);
		scenario_of(text, &scenario);
		for (uint32_t t = 0; t < graph->tensors; t++)
			if (graph->tensor[t].kind == KIND_ACTIVATION && graph->tensor[t].dims == 3 &&
				graph->tensor[t].bytes >= 8 * 32 * 768 * 4) {
				snprintf(text, sizeof text, "pin offload %.100s", graph->tensor[t].name);
				cr_assert_eq(scenario_pin(&scenario, text, &error), OK, "%s", error.text);
				pins++;
			}
		struct plan *plan = plan_with(&planner, graph, &scenario);
		for (uint32_t op = 0; op < plan->graph->ops; op++) {
			if (strcmp(plan->graph->op[op].type, "tidemark.offload") != 0)
				continue;
			const struct tensor *tensor = &plan->graph->tensor[plan->graph->reads.item[plan->graph->reads.start[op]]];
			cr_assert(strncmp(plan->graph->op[tensor->writer].type, "comm.", 5) != 0, "%s: %s", words[i], tensor->name);
			cr_assert(i > 2 || tensor->bytes * 8 == graph->tensor[graph_find_tensor(graph, tensor->name)].bytes,
				"%s: %s", words[i], tensor->name);
			moved++;
		}
		cr_assert(moved > 3 && moved <= pins, "%u of %u", moved, pins);
		char *file = plan_text(plan);
		cr_assert_eq(check_plan_text(graph, file, &error), OK, "%s: %s", words[i], error.text);
		free(file);
		plan_release(plan);
		scenario_done(&scenario);
	}
}

/* The plan file with one value of "shard" changed: path "placements", key a tensor. */
static void lie(
	const struct graph *graph, const char *text, const char *part, const char *key, json_t *value, const char *why)
{
	struct error error = { 0 };
	json_t *plan = json_loads(text, 0, NULL), *shard = json_object_get(plan, "shard");
	json_object_set_new(key ? json_object_get(shard, part) : shard, key ? key : part, value);
	char *changed = json_dumps(plan, 0);
	cr_assert_eq(check_plan_text(graph, changed, &error), INFEASIBLE, "%s %s: %s", part, key ? key : "", error.text);
	cr_assert(strstr(error.text, why), "%s", error.text);
	free(changed);
	json_decref(plan);
}

static const char *tensor_of_kind(const struct graph *graph, enum kind kind, uint8_t dims)
{
	uint32_t t = 0;
	while (graph->tensor[t].kind != kind || graph->tensor[t].dims != dims || graph->tensor[t].alias != NONE)
		t++;
	return graph->tensor[t].name;
}

Test(sharded, the_check_finds_what_is_not_so)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = model("gpt", 8);
	OWN(plan) *plan = plan_of_words(&planner, graph, "devices=4 strategy=data");
	char *text = plan_text(plan);
	const char *weight = tensor_of_kind(graph, KIND_PARAMETER, 2), *activation = tensor_of_kind(graph, KIND_ACTIVATION, 3);
	const char *writer = graph->op[graph->tensor[graph_find_tensor(graph, activation)].writer].name;
	lie(graph, text, "comm_bytes", NULL, json_integer(1), "comm_bytes is 1");
	lie(graph, text, "redundant_bytes", NULL, json_integer(1), "redundant_bytes is 1");
	lie(graph, text, "placements", weight, json_pack("[s]", "S(1)"), "staying_bytes");
	lie(graph, text, "placements", weight, json_pack("[s]", "S(7)"), "can't be placed as S(7)");
	lie(graph, text, "placements", activation, json_pack("[s]", "R"), "is placed otherwise than the split");
	lie(graph, text, "splits", writer, json_pack("[i]", 99), "has no unit 99");
	lie(graph, text, "splits", writer, json_pack("[n]"), "is placed otherwise than the split");
	lie(graph, text, "step_seconds", NULL, json_real(1), "step_seconds is 1.0");
	lie(graph, text, "estimated_seconds", NULL, json_real(1), "estimated_seconds is 1.0");
	lie(graph, text, "streams", NULL, json_array(), "must have 2 entries");
	lie(graph, text, "gathered_ahead_bytes", NULL, json_integer(1), "gathered_ahead_bytes is 1");
	lie(graph, text, "mesh", "dp", json_integer(8), "impossible size");
	lie(graph, text, "mesh", "dp", json_integer(2), "the scenario 4");
	free(text);
}

/* At equal mesh and ZeRO stage: minred's own measure, what stays, is within the slack below any expert's; and without
 * a mesh none of those it lists takes less. */
Test(sharded, minred_never_keeps_more_than_an_expert)
{
	static const struct {
		const char *model, *mesh;
		uint32_t slack;
	} cases[] = { { "gpt", "devices=4 dp=1 tp=4", 20 }, { "llama", "devices=4 dp=1 tp=4", 0 },
		{ "gpt", "devices=4 dp=1 tp=4", 0 }, { "resnet", "devices=4 dp=4 zero=1", 5 },
		{ "bert", "devices=4 dp=1 tp=4", 5 }, { "moe", "devices=4 dp=1 tp=4", 0 },
		{ "bert", "devices=4 dp=2 tp=2 zero=1", 0 } };
	OWN(planner) planner = { .store = store_new() };
	for (size_t i = 0; i < test_rounds(1, sizeof cases / sizeof *cases); i++) {
		OWN(graph) *graph = model(cases[i].model, 8);
		char words[200];
		snprintf(words, sizeof words, "%s strategy=megatron sp=on", cases[i].mesh);
		OWN(plan) *expert = plan_of_words(&planner, graph, words);
		snprintf(words, sizeof words, "%s strategy=minred slack=%u", cases[i].mesh, cases[i].slack);
		OWN(plan) *plan = plan_of_words(&planner, graph, words);
		int64_t limit = sharding_slack(expert->transformed->sharded->cost.usage, cases[i].slack);
		cr_assert_leq(plan->transformed->sharded->cost.usage, limit, "%s %s", cases[i].model, words);
	}
	OWN(graph) *graph = model("gpt", 8);
	OWN(plan) *plan = plan_of_words(&planner, graph, "devices=8 strategy=minred");
	const struct sharded *sharded = plan->transformed->sharded;
	cr_assert_geq(sharded->candidates, 4);
	for (uint32_t i = 0; i < sharded->candidates; i++)
		cr_assert_leq(sharded->cost.usage, sharding_slack(sharded->candidate[i].usage, 0), "%s", sharded->candidate[i].text);
}

Test(sharded, impossible_degrees_and_pins_are_refused_by_name)
{
	OWN(graph) *graph = model("gpt", 8);
	refused(graph, "devices=8 strategy=data tp=3", NULL, "tp 3 doesn't divide the 8 devices");
	refused(graph, "devices=8 strategy=data tp=2 dp=2", NULL, "tp 2 x dp 2 is not the 8 devices: leave one of them auto");
	refused(graph, "devices=4 strategy=data tp=16", NULL, "tp 16 is more than the 4 devices");
	refused(graph, "devices=7 strategy=data pp=2 tp=7", NULL, "pp 2 x tp 7 is more than the 7 devices");
	refused(graph, "devices=6 strategy=data pp=2 tp=2", NULL, "pp 2 x tp 2 doesn't divide the 6 devices");
	refused(graph, "devices=4 strategy=data", "pin tensor wte.weight shard 0 on tp", "the mesh's axes are dp");
	refused(graph, "devices=4 strategy=data padding=off", "pin tensor wte.weight shard 0 on dp",
		"can't be cut into 4 pieces");
	refused(graph, "devices=4 strategy=data", "pin tensor wte.weight shard 5 on dp", "has no dim 5: it has 2");
	refused(graph, "devices=4 strategy=data", "pin tensor nothing shard 0 on dp", "there is no tensor named \"nothing\"");
	refused(graph, "devices=1 strategy=data", "pin tensor wte.weight shard 0 on dp", "the step is not split");
}

Test(sharded, a_search_is_never_worse_than_the_experts_it_lists)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = model("gpt", 8);
	OWN(plan) *plan = plan_of_words(&planner, graph, "devices=8 strategy=auto"),
			  *least = plan_of_words(&planner, graph, "devices=8 strategy=minred"),
			  *loose = plan_of_words(&planner, graph, "devices=8 strategy=minred slack=50");
	cr_assert(plan->transformed->sharded->candidates > 4);
	cr_assert(plan->compared > 1);
	for (size_t e = 0; e < 3; e++) {   /* the planned step decides, not the estimate */
		OWN(plan) *expert = plan_of_words(&planner, graph,
			(const char *[]){ "devices=8 strategy=data", "devices=8 strategy=megatron", "devices=8 strategy=zero" }[e]);
		cr_assert(plan_step_time(plan) <= plan_step_time(expert), "expert %zu", e);
	}
	const struct sharding_cost *less = &least->sharded->cost, *more = &loose->sharded->cost;
	cr_assert(more->usage >= less->usage && more->usage <= less->usage + less->usage / 2);
	cr_assert(sharding_estimate(more) <= sharding_estimate(less), "more memory is never slower");
	for (uint32_t i = 0; i < least->sharded->candidates; i++)
		cr_assert(less->usage <= least->sharded->candidate[i].usage + less->usage / 1000, "%s",
			least->sharded->candidate[i].text);
}

static int64_t gradients_of(struct planner *planner, struct graph *graph, const char *words)
{
	OWN(plan) *plan = plan_of_words(planner, graph, words);
	int64_t bytes = plan->transformed->sharded->cost.gradients;
	return bytes;
}

/* Of several microbatches gradients are summed up as they are written: whole with ZeRO-1, which reduces them once a
 * step, in pieces with ZeRO-2. */
Test(sharded, sums_of_gradients_are_counted_until_they_are_reduced)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = model("resnet18", 8);
	int64_t once = gradients_of(&planner, graph, "devices=2 strategy=data zero=1"),
			whole = gradients_of(&planner, graph, "devices=2 strategy=data zero=1 microbatches=2"),
			pieces = gradients_of(&planner, graph, "devices=2 strategy=data zero=2 microbatches=2");
	cr_assert_eq(pieces, once, "%lld and %lld", (long long)pieces, (long long)once);
	cr_assert_geq(whole, once + once / 10 * 9, "%lld and %lld", (long long)whole, (long long)once);
}

/* Gradients and what is saved are not all there at once: what stays may be more than the arena, which alone the cap is
 * about. */
Test(sharded, the_cap_is_about_what_is_needed_not_about_what_stays)
{
	static const char *const expert[] = { "data", "megatron", "zero" };
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = model("resnet18", 32);
	struct error error = { 0 };
	const char *mesh = test_rounds(0, 1) ? "devices=4" : "devices=4 dp=4";
	char words[100];
	snprintf(words, sizeof words, "%s order=best strategy=auto", mesh);
	OWN(plan) *fastest = plan_of_words(&planner, graph, words);
	cr_assert_gt(fastest->transformed->sharded->cost.usage, plan_needs(fastest));
	int64_t cap[] = { plan_needs(fastest), plan_needs(fastest) + plan_needs(fastest) / 50 };
	for (size_t c = 0; c < test_rounds(1, sizeof cap / sizeof *cap); c++) {
		snprintf(words, sizeof words, "%s order=best strategy=auto memory=%lld", mesh, (long long)cap[c]);
		OWN(plan) *plan = plan_of_words(&planner, graph, words);
		cr_assert(plan_needs(plan) <= cap[c], "cap %lld: %lld", (long long)cap[c], (long long)plan_needs(plan));
		cr_assert(c > 0 || plan_step_time(plan) <= plan_step_time(fastest));
		for (size_t e = 0; e < sizeof expert / sizeof *expert; e++) {
			snprintf(words, sizeof words, "%s order=best strategy=%s", mesh, expert[e]);
			OWN(plan) *other = plan_of_words(&planner, graph, words);
			cr_assert(plan_needs(other) > cap[c] ||
					plan->transformed->sharded->cost.total <= other->transformed->sharded->cost.total,
				"cap %lld: %s", (long long)cap[c], expert[e]);
		}
		char *text = plan_text(plan);
		cr_assert_eq(check_plan_text(graph, text, &error), OK, "%s", error.text);
		free(text);
	}
}

/* Less samples than devices: communication alone would let every device run the whole step, so the only mesh is that of
 * tp. More patterns than a plan lists: what is chosen is listed. No expert's sharding is looked at. */
Test(sharded, tap_shares_the_work_and_lists_what_it_chose)
{
	static const char *const name[] = { "gpt", "bert", "dlrm", "llama" };
	OWN(planner) planner = { .store = store_new() };
	for (size_t m = 0; m < sizeof name / sizeof *name; m++) {
		OWN(graph) *graph = model(name[m], 1);
		OWN(plan) *plan = plan_of_words(&planner, graph, "devices=4 strategy=tap");
		const struct sharded *sharded = plan->transformed->sharded;
		struct error error = { 0 };
		uint32_t chosen = 0;
		cr_assert_eq(sharded->sharding.mesh.axes, 1);
		cr_assert_eq(mesh_axis_named(&sharded->sharding.mesh, "tp"), 0);
		for (uint32_t i = 0; i < sharded->candidates; i++) {
			const struct shard_candidate *candidate = &sharded->candidate[i];
			chosen += candidate->chosen;
			cr_assert(!candidate->chosen || candidate->possible, "%s: %s", name[m], candidate->text);
		}
		cr_assert(chosen >= 2 && sharded->patterns > 9, "%s: %u of %u", name[m], chosen, sharded->patterns);
		char *text = plan_text(plan);
		cr_assert_eq(check_plan_text(graph, text, &error), OK, "%s: %s", name[m], error.text);
		cr_assert(strstr(
			text, "\"search\": {\"space\": \"patterns of the weights of each unique subgraph\", \"folded_ops\": "));
		free(text);
	}
}

/* 12 heads and 50257 words over 8 devices: pieces of 2 and 6283, and what the file says is what its own scenario
 * allows. */
Test(sharded, what_does_not_divide_is_cut_all_the_same)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = model("gpt", 8);
	struct plan *on = plan_of_words(&planner, graph, "devices=8 strategy=megatron tp=8"),
				*off = plan_of_words(&planner, graph, "devices=8 strategy=megatron tp=8 padding=off");
	const struct sharded *padded = on->transformed->sharded, *plain = off->transformed->sharded;
	struct error error = { 0 };
	cr_assert(
		strstr(padded->notes, "vocabulary 50257 is not divisible by tp 8: every device counts the largest piece, 6283"),
		"%s", padded->notes);
	cr_assert(strstr(plain->notes, "vocabulary 50257 is not divisible by tp 8: it stays whole"), "%s", plain->notes);
	cr_assert(padded->cost.usage < plain->cost.usage && padded->cost.total < plain->cost.total);
	char *text = plan_text(on);
	cr_assert_eq(check_plan_text(graph, text, &error), OK, "%s", error.text);
	json_t *file = json_loads(text, 0, NULL);
	json_object_set_new(json_object_get(file, "scenario"), "padding", json_string("off"));
	char *changed = json_dumps(file, 0);
	cr_assert_eq(check_plan_text(graph, changed, &error), INFEASIBLE);
	cr_assert(strstr(error.text, "can't be cut into that many pieces"), "%s", error.text);
	free(changed);
	json_decref(file);
	free(text);
	plan_release(on);
	plan_release(off);
}

Test(sharded, a_pin_is_kept)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = model("gpt", 8);
	OWN(scenario) scenario;
	struct error error = { 0 };
	const char *activation = tensor_of_kind(graph, KIND_ACTIVATION, 3),
			   *other = tensor_of_kind(graph, KIND_ACTIVATION, 4);
	char pin[200], place[40];
	scenario_of("devices=4 strategy=data", &scenario);
	snprintf(pin, sizeof pin, "pin tensor %s shard none on dp", other);
	cr_assert_eq(scenario_pin(&scenario, pin, &error), OK);
	cr_assert_eq(scenario_pin(&scenario, "pin tensor wte.weight shard 1 on dp", &error), OK);
	snprintf(pin, sizeof pin, "pin tensor %s shard 1 on dp", activation);
	cr_assert_eq(scenario_pin(&scenario, pin, &error), OK);
	OWN(plan) *plan = plan_with(&planner, graph, &scenario);
	const struct sharded *sharded = plan->transformed->sharded;
	uint32_t weight = graph_find_tensor(sharded->shared->graph, "wte.weight"),
			 made = graph_find_tensor(sharded->shared->graph, activation),
			 whole = graph_find_tensor(sharded->shared->graph, other);
	cr_assert_str_eq(sharded_place(sharded, whole, sharded->sharding.produced[whole], place, sizeof place), "[R]");
	cr_assert_str_eq(sharded_place(sharded, weight, sharded->sharding.produced[weight], place, sizeof place), "[S(1)]");
	cr_assert_str_eq(sharded_place(sharded, made, sharded->sharding.produced[made], place, sizeof place), "[S(1)]");
	char *text = plan_text(plan);
	cr_assert_eq(check_plan_text(graph, text, &error), OK, "%s", error.text);
	free(text);
}

/* With all degrees given the experts write one sharding several times. */
Test(sharded, auto_plans_no_sharding_twice)
{
	static const char *const words[] = { "devices=8 strategy=auto dp=4 tp=2", "devices=4 strategy=auto",
		"devices=8 strategy=auto", "devices=8 strategy=auto dp=2 tp=4 zero=1" };
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = model("gpt", 8);
	uint32_t rivals = 0;
	for (size_t w = 0; w < sizeof words / sizeof *words && (rivals == 0 || w < test_rounds(1, 4)); w++) {
		OWN(plan) *plan = plan_of_words(&planner, graph, words[w]);
		const struct sharded *sharded = plan->transformed->sharded;   /* of a rival that won: without rivals */
		const struct units *units = &sharded->shared->units;
		rivals += sharded->rivals;
		for (uint32_t i = 0; i < sharded->rivals; i++) {
			cr_assert(sharding_equal(units, &sharded->rival[i], &sharded->rival[i]));
			cr_assert_not(sharding_equal(units, &sharded->rival[i], &sharded->sharding), "%s: rival %u is the first",
				words[w], i);
			for (uint32_t k = 0; k < i; k++)
				cr_assert_not(sharding_equal(units, &sharded->rival[i], &sharded->rival[k]),
					"%s: rivals %u and %u are one", words[w], k, i);
		}
	}
	cr_assert(rivals > 0, "nothing was compared");
}

/* What computation can't hide counts: with slow links an expert's estimate is near its simulated step. */
Test(sharded, estimates_are_near_the_step_where_links_are_slow)
{
	static const char *const words[] = { "devices=8 strategy=data intra_bandwidth=2GB/s",
		"devices=8 strategy=zero intra_bandwidth=2GB/s", "devices=4 strategy=data intra_bandwidth=500MB/s" };
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = model("gpt", 8);
	for (size_t w = 0; w < sizeof words / sizeof *words; w++) {
		OWN(plan) *plan = plan_of_words(&planner, graph, words[w]);
		int64_t step = plan_step_time(plan), estimate = plan->transformed->sharded->cost.total;
		cr_assert(estimate > step - step / 8 && estimate < step + step / 8, "%s: estimated %lld ps, simulated %lld",
			words[w], (long long)estimate, (long long)step);
	}
}

/* Over all meshes auto is hardly slower than on any one of them. */
Test(sharded, auto_finds_the_mesh)
{
	static const char *const links[] = { "2GB/s", "200GB/s" },
							 *const meshes[] = { "dp=8", "tp=8", "dp=4 tp=2", "cp=8", "dp=2 tp=4", "dp=2 cp=4" };
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = model("gpt", 8);
	for (size_t l = 0; l < test_rounds(1, sizeof links / sizeof *links); l++) {
		char words[200];
		snprintf(words, sizeof words, "devices=8 strategy=auto intra_bandwidth=%s", links[l]);
		OWN(plan) *best = plan_of_words(&planner, graph, words);
		for (size_t m = 0; m < test_rounds(1, sizeof meshes / sizeof *meshes); m++) {
			snprintf(words, sizeof words, "devices=8 strategy=auto intra_bandwidth=%s %s", links[l], meshes[m]);
			OWN(plan) *plan = plan_of_words(&planner, graph, words);
			cr_assert(plan_step_time(best) <= plan_step_time(plan) + plan_step_time(plan) / 100,
				"%s: %lld ps, over all meshes %lld", words, (long long)plan_step_time(plan),
				(long long)plan_step_time(best));
		}
	}
}

/* Every mesh of two devices has one axis, and is searched: whoever found the sharding that won, its mesh has a bound,
 * and check verifies it. */
Test(sharded, what_wins_has_the_bound_of_its_mesh)
{
	static const char *const words[] = { "devices=2 strategy=auto",
		"devices=2 strategy=auto intra_bandwidth=2GB/s", "devices=2 strategy=auto zero=1",
		"devices=2 strategy=auto microbatches=4" };
	static const char *const models[] = { "gpt", "llama", "bert" };
	uint32_t rivals = 0, plans = 0;
	for (size_t m = 0; m < test_rounds(2, 3); m++) {
		OWN(planner) planner = { .store = store_new() };
		OWN(graph) *graph = model(models[m], 8);
		for (size_t w = m % test_rounds(4, 1); w < sizeof words / sizeof *words; w += test_rounds(4, 1)) {
			struct error error = { 0 };
			OWN(plan) *plan = plan_of_words(&planner, graph, words[w]);
			const struct proof *proof = &plan->shown.proof;
			char *text = plan_text(plan);
			cr_assert(proof->quantity != QUANTITY_NONE && proof->bound <= proof->value, "%s %s", models[m], words[w]);
			cr_assert_eq(check_plan_text(graph, text, &error), OK, "%s %s: %s", models[m], words[w], error.text);
			plans++;
			rivals += strstr(plan->transformed->notes, "planned, ") != NULL;
			free(text);
		}
	}
	printf("%u of %u plans are a rival's\n", rivals, plans);
	cr_assert(rivals > 0);
}

/* Where nothing fits the cap, what comes nearest is no slower than what minred finds with as little memory. */
Test(sharded, below_every_cap_the_nearest_is_the_fastest_of_the_least_memory)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = model("gpt", 8);
	OWN(plan) *nearest = plan_of_words(&planner, graph, "devices=4 strategy=auto dp=1 cp=1 memory=1MiB"),
			  *least = plan_of_words(&planner, graph, "devices=4 strategy=minred dp=1 cp=1");
	int64_t ours = plan_arena(nearest), theirs = plan_arena(least);
	cr_assert(ours > 1 << 20 && ours <= theirs, "%lld against %lld", (long long)ours, (long long)theirs);
	cr_assert(ours < theirs || plan_step_time(nearest) <= plan_step_time(least));
}

/* Meshes without the pin's axis are no candidates; one that has it is found. */
Test(sharded, a_pin_chooses_among_the_meshes_of_a_search)
{
	static const char *const words[] = { "devices=2 strategy=auto", "devices=2 strategy=minred" };
	OWN(graph) *graph = model("gpt", 8);
	for (int i = 0; i < 2; i++) {
		OWN(planner) planner = { .store = store_new() };
		OWN(scenario) scenario;
		struct error error = { 0 };
		scenario_of(words[i], &scenario);
		cr_assert_eq(scenario_pin(&scenario, "pin tensor wte.weight shard 1 on tp", &error), OK);
		OWN(plan) *plan = plan_with(&planner, graph, &scenario);
		const struct sharded *sharded = plan->transformed->sharded;
		uint32_t weight = graph_find_tensor(sharded->shared->graph, "wte.weight"),
				 axis = mesh_axis_named(&sharded->sharding.mesh, "tp");
		cr_assert_neq(axis, NONE, "%s", words[i]);
		cr_assert_eq(sharded->sharding.produced[weight].on[axis], 1);
	}
	refused(graph, "devices=4 strategy=auto", "pin tensor wte.weight shard 5 on tp", "has no dim 5: it has 2");
}

Test(sharded, one_device_is_planned_as_ever_and_going_back_solves_nothing)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = model("gpt", 8);
	struct scenario scenario;
	struct error error;
	OWN(plan) *one = plan_of_words(&planner, graph, "devices=1 strategy=megatron"),
			  *whole = plan_of_words(&planner, graph, "devices=4");
	cr_assert(!one->transformed->sharded && !whole->transformed->sharded && one->graph == graph && whole->graph == graph);
	OWN(plan) *four = plan_of_words(&planner, graph, "devices=4 strategy=megatron"),
			  *two = plan_of_words(&planner, graph, "devices=2 strategy=megatron");
	cr_assert(four->ordered->problem.base < two->ordered->problem.base &&
		two->ordered->problem.base < one->ordered->problem.base);
	scenario_of("devices=4 strategy=megatron", &scenario);
	OWN(plan) *again = planner_run(&planner, graph, &scenario, PLAN_STORED, &error);
	cr_assert(again && again->transformed->sharded == four->transformed->sharded &&
		again->laid_out->offset == four->laid_out->offset);
	scenario_done(&scenario);
	OWN(plan) *linked = plan_of_words(&planner, graph, "devices=4 strategy=megatron intra_bandwidth=1GB/s");
	cr_assert(linked->traffic.time > four->traffic.time);
}

/* 32 heads of which 4 share keys and values are 8 x 4: tp cuts the 8, as Megatron-LM does, and nothing stays whole. */
Test(sharded, groups_of_queries_do_not_hinder_tensor_parallelism)
{
	OWN(planner) planner = { .store = store_new() };
	OWN(graph) *graph = step_of_sizes("llama",
		(struct model_config){ .layers = 1,
			.hidden = 64,
			.ffn = 64,
			.vocab = 64,
			.heads = 32,
			.kv_heads = 8,
			.head_width = 2,
			.seq = 16,
			.batch = 8 });
	struct plan *plan = plan_of_words(&planner, graph, "devices=8 strategy=megatron");
	const struct mesh *mesh = &plan->transformed->sharded->sharding.mesh;
	cr_expect(mesh->axes == 1 && mesh->axis[0].size == 8 && strcmp(mesh->axis[0].name, "tp") == 0, "%u axes, %s %u",
		mesh->axes, mesh->axis[0].name, mesh->axis[0].size);
	cr_expect(!strstr(plan->transformed->notes, "divisible"), "%s", plan->transformed->notes);
	plan_release(plan);
	plan = plan_of_words(&planner, graph, "devices=16 strategy=megatron tp=16");
	cr_expect(strstr(plan->transformed->notes, "heads 8 is not divisible by tp 16"), "%s", plan->transformed->notes);
	plan_release(plan);
}

Test(sharded, every_allocation_may_fail)
{
	OWN(graph) *graph = model("gpt", 4);
	EACH_REFUSAL(refused) {
		struct planner planner = { .store = store_new() };
		struct scenario scenario;
		struct error error;
		scenario_of("devices=4 strategy=megatron zero=1", &scenario);
		struct plan *plan = planner_run(&planner, graph, &scenario, PLAN_QUICK, &error);
		plan_release(plan);
		scenario_done(&scenario);
		planner_done(&planner);
		cr_assert(error.status == OK || error.status == NO_MEMORY, "refused.status %d: %s", error.status, error.text);
		if (error.status == OK && plan)
			break;
	}
}
