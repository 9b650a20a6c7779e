/* fuzz_check.c: `check` takes anything: right, wrong, or no plan file.
 *
 * An input that begins with '{' is a plan file. Any other is a list of edits, ten bytes each, of a plan that is made
 * once, so that edits reach every part of the checker: which plan (first byte of the input), which value, what becomes
 * of it, eight bytes of it. */
#include <jansson.h>
#include <string.h>

#include "src/check/check.h"
#include "src/models/models.h"
#include "src/decide/planner.h"
#include "src/read/input.h"
#include "src/write/plan_json.h"
#include "as_file.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Small steps: a plan takes milliseconds, so that runs are spent on the checker. */
static const struct { const char *graph, *words[6]; } plans[] = {
	{ "samples/diamond.jsonl", { "order=program" } },
	{ "samples/chain.jsonl", { "devices=4", "strategy=zero" } },
	{ "samples/chain.jsonl", { "devices=4", "strategy=data", "pp=2", "microbatches=4", "batch=8" } },
	{ "samples/chain.jsonl", { "recompute=full", "batch=16" } },
	{ "samples/chain.jsonl", { "recompute=auto", "memory=120MiB", "order=list" } },
	{ "gpt", { "devices=2", "strategy=data", "pp=2", "microbatches=4", "schedule=zbv" } },
	{ "samples/chain.jsonl", { "devices=4", "strategy=auto", "order=fast" } },
	{ "samples/chain.jsonl", { "offload conv1.out", "in_place=off" } },
	{ "gpt", { "loss_chunks=2", "float8=on", "layout=caching" } },
	{ "gpt", { "devices=4", "strategy=zero", "zero=3", "replicate=2", "reshard_after_forward=off", "prefetch=2" } },
	{ "gpt", { "devices=4", "strategy=tap", "tp=2", "reduce_dtype=param", "precision=mixed", "kernels=eager" } },
	{ "gpt", { "accumulation=2", "optimizer=sgd", "precision=bf16", "layout=llfb" } },
};
enum { PLANS = sizeof plans / sizeof *plans };
static struct { struct graph *graph; char *text; size_t size; } base[PLANS];

static struct graph *tiny_model(struct error *error)
{
	static const struct model_training adam = { .optimizer = OPTIMIZER_ADAM };
	struct model_config config = model_find("gpt")->config;
	config.layers = 2, config.hidden = config.heads = 4, config.batch = 4, config.seq = 4, config.vocab = 8;
	return model_step("gpt", &config, &adam, error);
}

/* The plan of that number, made when it is asked for first. */
static void make_plan(int i)
{
	struct error error = { 0 };
	OWN(planner) planner = { .store = store_new() };
	OWN(scenario) scenario;
	scenario_init(&scenario);
	for (int k = 0; k < 6 && plans[i].words[k]; k++)
		must((strchr(plans[i].words[k], ' ') ? scenario_pin : scenario_set)(&scenario, plans[i].words[k], &error) == OK);
	base[i].graph = strcmp(plans[i].graph, "gpt") == 0 ? tiny_model(&error) : graph_open(plans[i].graph, NULL, &error);
	OWN(plan) *plan = base[i].graph ? planner_run(&planner, base[i].graph, &scenario, PLAN_COMPLETE, &error) : NULL;
	if (!plan)
		fprintf(stderr, "%s\n", error.text);
	must(plan != NULL);
	FILE *stream = open_memstream(&base[i].text, &base[i].size);
	must(stream && plan_write_json(plan, NULL, false, stream) && fclose(stream) == 0);
}

/* The value number n (counting down) in a tree, with its place. */
struct found { json_t *parent, *value; const char *key; size_t index; };

static bool find(json_t *tree, uint32_t *n, struct found *found)
{
	const char *key;
	json_t *value;
	size_t i;
	json_object_foreach(tree, key, value) {
		*found = (struct found){ tree, value, key, 0 };
		if ((*n)-- == 0 || find(value, n, found))
			return true;
	}
	json_array_foreach(tree, i, value) {
		*found = (struct found){ tree, value, NULL, i };
		if ((*n)-- == 0 || find(value, n, found))
			return true;
	}
	return false;
}

static void edit(json_t *plan, const uint8_t bytes[10])
{
	uint32_t n = (uint32_t)(bytes[0] | bytes[1] << 8) % 5000;
	int64_t number;
	struct found at;
	json_t *value = NULL;
	if (!find(plan, &n, &at))
		return;
	memcpy(&number, bytes + 2, sizeof number);
	switch (bytes[9] % 8) {
	case 0: value = json_integer(number); break;
	case 1: value = json_integer(number % 100); break;
	case 2: value = json_null(); break;
	case 3: value = json_stringn_nocheck((const char *)bytes + 2, strnlen((const char *)bytes + 2, 7)); break;
	case 4: value = json_array(); break;
	case 5: value = json_integer(json_integer_value(at.value) + number % 3); break;
	case 6: value = json_real((double)number * 1e-12); break;
	default: break;
	}
	if (value && at.key)
		json_object_set_new(at.parent, at.key, value);
	else if (value)
		json_array_set_new(at.parent, at.index, value);
	else if (at.key)
		json_object_del(at.parent, at.key);
	else
		json_array_remove(at.parent, at.index);
}

static void check(const struct graph *graph, const void *text, size_t size)
{
	struct error error = { 0 };
	char path[40];
	int descriptor = as_file(text, size, path);
	struct check_options options = { .numbers = true };
	struct check_outcome outcome;
	enum status status = plan_check(graph, path, &options, &outcome, &error);
	must(status == OK || ((status == BAD_INPUT || status == INFEASIBLE) && error.text[0]));
	close(descriptor);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	bool is_file = size > 0 && *data == '{';
	int which = size && !is_file ? *data % PLANS : 0;
	if (!base[which].text)
		make_plan(which);
	if (is_file) {
		check(base[0].graph, data, size);
		return 0;
	}
	json_t *plan = json_loadb(base[which].text, base[which].size, 0, NULL);
	for (size_t at = 1; at + 10 <= size && at < 200; at += 10)
		edit(plan, data + at);
	char *text = json_dumps(plan, JSON_COMPACT);
	if (text)
		check(base[which].graph, text, strlen(text));
	free(text);
	json_decref(plan);
	return 0;
}
