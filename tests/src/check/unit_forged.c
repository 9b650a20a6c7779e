/* unit_forged.c: plan files with one value changed, by type and by a plausible lie: `check` accepts none but those of a
 * table.
 *
 * `make test` tries a part of all changes, chosen by the seed; `make test-long` (LONG=1) tries all. */
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "solver/recompute/apply.h"
#include "src/check/check.h"
#include "src/check/state.h"
#include "src/models/models.h"
#include "src/plan/planner.h"
#include "src/read/input.h"
#include "src/stages/fit/stage.h"
#include "tests/common/model_steps.h"
#include "tests/common/planned.h"
#include "tests/common/support.h"

/* What may be changed without a word from `check`, by the beginning of its path, and why. */
static const struct { const char *path, *why; } FREE[] = {
	{ "run", "seconds, and what was kept from before, differ from run to run" },
};

/* What adds up with any value, and is bound by planning again alone: how a plan was searched for. */
static const struct { const char *path, *why; } SEARCHED[] = {
	{ "order.winner", "the name of the step that found the order" },
	{ "layout.winner", "the name of the step that found the layout" },
	{ "layout.buffers", "another place without an overlap is as good a layout" },
	{ "layout.workspaces", "another place without an overlap is as good a layout" },
	{ "order.ops", "another order with the same peak is as good an order" },
	{ "layout.certificate.by", "another proof may show the same" },
	{ "layout.certificate.core", "more or fewer names may show the same" },
	{ "layout.certificate.irreducible", "whether fewer would do is only searched for" },
	{ "layout.certificate.moment", "at another moment as much may be alive" },
	{ "layout.bound_bytes", "less than what is proved is true, too" },
	{ "order.bound_bytes", "less than what is proved is true, too" },
	{ "order.certificate", "another certificate may show the same" },
	{ "memory.fit_margin_bytes", "another margin may lead to the same choices" },
	{ "notes", "what a search says on the way" },
	{ "input", "what the summary says of the file that was read" },
	{ "shard.candidates", "what was looked at on the way" },
	{ "shard.curve", "what was looked at on the way" },
	{ "shard.search", "what was looked at on the way" },
	{ "shard.certificate", "what is claimed less than proved, and the words for it" },
	{ "shard.bound_seconds", "less than what is proved is true, too" },
	{ "shard.gap", "follows from the bound" },
	{ "shard.among", "what was searched" },
	{ "shard.quantity", "what was searched" },
	{ "shard.proved", "with a bound that is claimed less" },
	{ "shard.stages", "ranks that are not in the file are planned again" },
	{ "scenario.", "knobs that the planned graph and its numbers don't depend on" },
};

struct forgery {
	const struct graph *graph;
	json_t *plan;                /* changed in place, and back */
	const char *name;
	uint32_t tried, accepted, left_out, searched;
	uint32_t part;               /* one of so many changes is tried */
	uint64_t seed;
};

/* ---- plans ----------------------------------------------------------------------------------- */

static struct graph *graph_of(const char *name)
{
	struct error error = { 0 };
	if (strchr(name, '.')) {
		char path[200];
		snprintf(path, sizeof path, "samples/%s", name);
		struct graph *graph = graph_open(path, NULL, &error);
		cr_assert_not_null(graph, "%s", error.text);
		return graph;
	}
	bool small = strcmp(name, "gpt1") == 0;   /* for what is searched long */
	name = small ? "gpt" : name;
	struct model_config config = sized_model(name,
		(struct model_config){ .layers = small ? 1 : 2,
			.hidden = small ? 48 : 96,
			.batch = 8,
			.seq = small ? 32 : 128,
			.heads = 12,
			.vocab = small ? 128 : 512 });
	config.kv_heads = config.kv_heads ? 6 : 0;
	return step_of_config(name, config, (struct model_training){ .optimizer = OPTIMIZER_ADAM });
}

/* The file of a scenario's plan; NULL where there is none. */
static json_t *file_of(const struct graph *graph, const struct scenario *scenario)
{
	OWN(planner) planner = { .store = store_new() };
	struct error error;
	OWN(plan) *plan = planner_run(&planner, (struct graph *)(uintptr_t)graph, scenario, PLAN_COMPLETE, &error);
	char *text = plan ? plan_text(plan) : NULL;
	json_t *file = text ? json_loads(text, 0, NULL) : NULL;
	free(text);
	return file;
}

static enum status check(const struct forgery *forgery, bool numbers, struct error *error)
{
	char path[] = "/tmp/tidemark-forged-XXXXXX";
	FILE *stream = fdopen(mkstemp(path), "w");
	json_dumpf(forgery->plan, stream, JSON_COMPACT);
	fclose(stream);
	*error = (struct error){ 0 };
	enum status status = plan_check(forgery->graph, path, &(struct check_options){ .numbers = numbers },
		&(struct check_outcome){ .over = 0 }, error);
	remove(path);
	return status;
}

/* ---- what is accepted ------------------------------------------------------------------------ */

#define IN_TABLE(table, path) in_table((const char *const *)(table), sizeof (table) / sizeof *(table), path)

static bool in_table(const char *const *table, size_t rows, const char *path)
{
	for (size_t i = 0; i < rows; i++)
		if (strncmp(path, table[2 * i], strlen(table[2 * i])) == 0)
			return true;
	return false;
}

/* A knob that changes nothing: the file's scenario leads to all the rest of the file, so that what it says is true. */
static bool is_true(const struct forgery *forgery)
{
	const char *name;
	const json_t *value;
	OWN(scenario) scenario;
	scenario_init(&scenario);
	bool same = true;
	json_object_foreach(json_object_get(forgery->plan, "scenario"), name, value) {
		enum knob_id id = knob_find(name);
		if (id < KNOB_COUNT && json_is_integer(value))
			scenario.value[id] = json_integer_value(value);
		else if (id < KNOB_COUNT)
			same &= json_is_string(value) && knob_parse(id, json_string_value(value), &scenario.value[id], NULL) == OK;
	}
	size_t i;
	json_array_foreach(json_object_get(json_object_get(forgery->plan, "scenario"), "pins"), i, value)
		same &= json_is_string(value) && scenario_pin(&scenario, json_string_value(value), NULL) == OK;
	json_t *again = same ? file_of(forgery->graph, &scenario) : NULL;
	if (again)
		json_object_del(again, "run");
	same = again && json_equal(again, forgery->plan);
	json_decref(again);
	return same;
}

/* One file with one change. The first of every field is always tried. */
static void try_file(struct forgery *forgery, const char *path, const char *what, uint32_t number)
{
	struct error error;
	uint64_t hash = forgery->seed;
	for (const char *at = path; *at; at++)
		hash = (hash ^ (uint8_t)*at) * UINT64_C(1099511628211);
	hash = hash_mix(hash + number);
	if (hash % forgery->part != 0) {
		forgery->left_out++;
		return;
	}
	forgery->tried++;
	enum status status = check(forgery, true, &error);
	if (status == OK) {
		forgery->searched++;
		cr_expect(IN_TABLE(FREE, path) || IN_TABLE(SEARCHED, path) || strstr(what, "a member more"),
			"%s: %s %s adds up (SEED=%llu)", forgery->name, path, what, (unsigned long long)forgery->seed);
		status = check(forgery, false, &error);
	}
	cr_assert(status != NO_MEMORY, "%s: %s %s: out of memory", forgery->name, path, what);
	if (status != OK) {
		cr_assert(*error.text, "%s: %s %s is refused without a word", forgery->name, path, what);
		return;
	}
	forgery->accepted++;
	cr_expect(IN_TABLE(FREE, path) || (strncmp(path, "scenario.", 9) == 0 && is_true(forgery)),
		"%s: %s %s is accepted (SEED=%llu)", forgery->name, path, what, (unsigned long long)forgery->seed);
}

/* ---- changes --------------------------------------------------------------------------------- */

/* Where a value stands: a member of an object, or an element of an array. */
struct place { json_t *parent; const char *key; size_t index; };

static void put(const struct place *place, json_t *value)
{
	if (place->key)
		json_object_set(place->parent, place->key, value);
	else
		json_array_set(place->parent, place->index, value);
}

static void try_value(struct forgery *forgery, const char *path, const struct place *place, json_t *old, json_t *value,
	const char *what, uint32_t *number)
{
	bool sign = json_is_real(old) && json_is_real(value) &&
		signbit(json_real_value(old)) != signbit(json_real_value(value)); /* of 0, too */
	if (sign || !json_equal(old, value)) {
		char text[200], *dumped = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
		snprintf(text, sizeof text, "%s: %.100s", what, dumped ? dumped : "?");
		free(dumped);
		put(place, value);
		try_file(forgery, path, text, (*number)++);
		put(place, old);
	}
	json_decref(value);
}

static void try_types(
	struct forgery *forgery, const char *path, const struct place *place, json_t *old, uint32_t *number)
{
	json_t *other[] = { json_null(), json_true(), json_integer(7), json_string("x"), json_array(), json_object(),
		json_real(0.5) };
	for (size_t i = 0; i < sizeof other / sizeof *other; i++)
		if (json_typeof(other[i]) != json_typeof(old))
			try_value(forgery, path, place, old, other[i], "of another type", number);
		else
			json_decref(other[i]);
}

static void try_integers(
	struct forgery *forgery, const char *path, const struct place *place, json_t *old, uint32_t *number)
{
	int64_t v = json_integer_value(old);
	const int64_t lie[] = { v + 1, v - 1, v / 2, v < INT64_MAX / 2 ? v * 2 : v, 0, -1, 1000, INT64_MAX, INT64_MIN,
		BYTES_MAX, BYTES_MAX * 4 - 1 };
	for (size_t i = 0; i < sizeof lie / sizeof *lie; i++)
		try_value(forgery, path, place, old, json_integer(lie[i]), "a lie", number);
}

/* Words that stand elsewhere in such files, and those of the knob. */
static void try_words(
	struct forgery *forgery, const char *path, const struct place *place, json_t *old, uint32_t *number)
{
	static const char *const words[] = { "", "none", "given", "auto", "best", "program", "load", "search", "alive",
		"cut", "moment", "buffer", "yes", "no", "unknown", "dp", "tp", "all_reduce", "all_gather", "1f1b", "gpipe",
		"interleaved", "computation", "R", "P", "S(0)" };
	char text[600], word[64];
	snprintf(text, sizeof text, "%.500sx", json_string_value(old));
	try_value(forgery, path, place, old, json_string(text), "a lie", number);
	for (size_t i = 0; i < sizeof words / sizeof *words; i++)
		try_value(forgery, path, place, old, json_string(words[i]), "a lie", number);
	enum knob_id id = strncmp(path, "scenario.", 9) == 0 ? knob_find(path + 9) : KNOB_COUNT;
	for (int i = 0; id < KNOB_COUNT && knob_word(knobs[id].words, i, word, sizeof word) && *word; i++)
		try_value(forgery, path, place, old, json_string(word), "another word of the knob", number);
	if (id < KNOB_COUNT && knobs[id].type == KNOB_SWITCH)
		try_value(forgery, path, place, old, json_string(strcmp(json_string_value(old), "on") ? "on" : "off"), "turned",
			number);
	if (id < KNOB_COUNT && knobs[id].type != KNOB_CHOICE && knobs[id].type != KNOB_SWITCH)
		for (int64_t v = 1; v < 70; v *= 4)
			try_value(forgery, path, place, old, json_integer(v), "a number", number);
}

static void try_all(struct forgery *forgery, const char *path, const struct place *place);

#define MANY 12

/* Of many elements the first two, one in the middle and the last. */
static bool wanted(size_t i, size_t count)
{
	return count <= MANY || i < 2 || i == count / 2 || i == count - 1;
}

static void try_array(struct forgery *forgery, const char *path, json_t *array, uint32_t *number)
{
	size_t count = json_array_size(array);
	char inner[400];
	if (count > 0) {
		json_t *last = json_incref(json_array_get(array, count - 1)), *first = json_incref(json_array_get(array, 0));
		json_array_append(array, last);
		try_file(forgery, path, "the last one twice", (*number)++);
		json_array_remove(array, count);
		json_array_remove(array, count - 1);
		try_file(forgery, path, "without the last one", (*number)++);
		json_array_append(array, last);
		if (!json_equal(first, last)) {
			json_array_set(array, 0, last);
			json_array_set(array, count - 1, first);
			try_file(forgery, path, "first and last exchanged", (*number)++);
			json_array_set(array, 0, first);
			json_array_set(array, count - 1, last);
		}
		json_decref(first);
		json_decref(last);
	}
	for (size_t i = 0; i < count; i++) {
		snprintf(inner, sizeof inner, "%.350s[%zu]", path, i);
		if (wanted(i, count))
			try_all(forgery, inner, &(struct place){ array, NULL, i });
	}
}

static void try_object(struct forgery *forgery, const char *path, json_t *object, uint32_t *number)
{
	size_t count = json_object_size(object), i = 0;
	const char **name = malloc((count + 1) * sizeof *name), *key;
	json_t *value;
	char inner[400];
	json_object_foreach(object, key, value)
		name[i++] = strdup(key);
	json_object_set_new(object, "extra", json_integer(1));
	try_file(forgery, path, "with a member more", (*number)++);
	json_object_del(object, "extra");
	for (i = 0; i < count; i++) {
		bool chosen = strcmp(path, "scenario") == 0 || wanted(i, count);
		snprintf(inner, sizeof inner, "%.300s%s%.80s", path, *path ? "." : "", name[i]);
		value = json_incref(json_object_get(object, name[i]));
		if (chosen) {
			json_object_del(object, name[i]);
			try_file(forgery, inner, "left out", (*number)++);
			json_object_set(object, name[i], value);
			try_all(forgery, inner, &(struct place){ object, name[i], 0 });
		}
		json_decref(value);
	}
	for (i = 0; i < count; i++)
		free((char *)(uintptr_t)name[i]);
	free(name);
}

/* Every change of one value, then of those in it. */
static void try_all(struct forgery *forgery, const char *path, const struct place *place)
{
	json_t *old = place ? json_incref(place->key ? json_object_get(place->parent, place->key)
		: json_array_get(place->parent, place->index))
		: json_incref(forgery->plan);
	uint32_t number = 0;
	if (place)
		try_types(forgery, path, place, old, &number);
	if (json_is_integer(old))
		try_integers(forgery, path, place, old, &number);
	else if (json_is_string(old))
		try_words(forgery, path, place, old, &number);
	else if (json_is_boolean(old))
		try_value(forgery, path, place, old, json_boolean(!json_boolean_value(old)), "the contrary", &number);
	else if (json_is_real(old)) {
		double v = json_real_value(old);
		const double lie[] = { v * 1.01, v * 0.99, 0, -v, 1, v + 1e-12, 1e300 };
		for (size_t i = 0; i < sizeof lie / sizeof *lie; i++)
			try_value(forgery, path, place, old, json_real(lie[i]), "a lie", &number);
	} else if (json_is_array(old))
		try_array(forgery, path, old, &number);
	else if (json_is_object(old))
		try_object(forgery, path, old, &number);
	json_decref(old);
}

/* ---- steps that run things again ------------------------------------------------------------- */

/* Which value a tensor holds, if nothing is written in place: its own, or the one that a copy's op stands for. */
static uint64_t value_of(const struct graph *graph, uint32_t tensor)
{
	uint32_t writer = graph->tensor[tensor].writer;
	const char *name = writer == NONE ? graph->tensor[tensor].name
		: graph->op[writer].recomputed && graph->op[writer].of ? graph->op[writer].of
		: graph->op[writer].name;
	uint64_t hash = 1;
	for (; *name; name++)
		hash = hash_join(hash, (uint64_t)*name);
	for (uint32_t k = 0; writer != NONE && k < csr_length(&graph->writes, writer); k++)
		hash = graph->writes.item[graph->writes.start[writer] + k] == tensor ? hash_join(hash, k) : hash;
	return hash;
}

/* Whether the value of a tensor is looked at: running statistics and saved random states are not. */
static bool counts(const struct graph *graph, uint32_t tensor)
{
	uint32_t writer = graph->tensor[tensor].writer;
	return graph->storage[graph->tensor[tensor].storage].kind != KIND_BUFFER &&
		(writer == NONE || graph->op[writer].added != ADDED_RANDOM_STATE);
}

static bool is_read(const struct graph *graph, uint32_t op)
{
	FOR_ROW(i, &graph->writes, op)
		for (uint32_t k = 0; k < graph->reads.start[graph->ops]; k++)
			if (graph->reads.item[k] == graph->writes.item[i])
				return true;
	return false;
}

static struct rules *all_rules;

static void refused(const struct plan *plan, const json_t *file, const char *what, const char *op, const char *tensor)
{
	struct error error = { 0 };
	struct check check = {
		.plan = (json_t *)(uintptr_t)file, .asked = plan->scenario, .error = &error, .rules = all_rules
	};
	const struct fitted *fitted = plan->transformed->fitted;
	enum status status = check_recompute(&check, fitted, fitted->recomputed);
	arena_free(&check.arena);
	cr_assert_eq(
		status, INFEASIBLE, "%s: %s %s is accepted (SEED=%llu)", what, op, tensor, (unsigned long long)test_seed());
}

/* An op that reads something else, a copy that stands for another op, or for none. */
static void break_step(const struct plan *plan, const json_t *file, uint32_t rounds)
{
	struct graph *graph = plan->transformed->fitted->recomputed;
	uint64_t random = test_seed();
	uint32_t tried[3] = { 0 };
	for (uint32_t round = 0; round < rounds; round++) {
		uint32_t op = (uint32_t)(random_next(&random) % graph->ops), reads = csr_length(&graph->reads, op),
				 other = (uint32_t)(random_next(&random) % graph->tensors);
		uint32_t *read = &graph->reads.item[graph->reads.start[op] + (reads ? random_next(&random) % reads : 0)],
				 old = reads ? *read : other;
		struct op *copy = &graph->op[op], kept = *copy;
		bool writes = csr_length(&graph->writes, op) > 0 &&
			graph->tensor[graph->writes.item[graph->writes.start[op]]].storage == graph->tensor[other].storage;
		if (value_of(graph, old) != value_of(graph, other) && counts(graph, old) && counts(graph, other) && !writes
			&& copy->added != ADDED_RANDOM_STATE) {
			*read = other;
			refused(plan, file, "another tensor is read", copy->name, graph->tensor[other].name);
			*read = old;
			tried[0]++;
		}
		if (copy->recomputed && copy->of) {
			copy->of = graph->op[random_next(&random) % graph->ops].name;
			if (strcmp(copy->of, kept.of) != 0 && is_read(graph, op))
				refused(plan, file, "a copy of another op", copy->name, copy->of), tried[1]++;
			copy->of = kept.of;
			copy->recomputed = false;
			if (is_read(graph, op))
				refused(plan, file, "a copy of no op", copy->name, ""), tried[2]++;
			copy->recomputed = true;
		}
	}
	printf("    %u other reads, %u copies of other ops, %u of none: all refused\n", tried[0], tried[1], tried[2]);
	cr_assert(tried[0] > 10 && (tried[1] + tried[2] > 0 || plan->scenario.pins));
}

static void break_steps(const char *name, const char *words)
{
	OWN(scenario) scenario;
	struct error error;
	scenario_init(&scenario);
	scenario_add(&scenario, words);
	OWN(graph) *graph = graph_of(name);
	OWN(planner) planner = { .store = store_new() };
	OWN(plan) *plan = planner_run(&planner, graph, &scenario, PLAN_COMPLETE, &error);
	cr_assert(plan && plan->transformed->fitted, "%s", error.text);
	char *text = plan_text(plan);
	json_t *file = json_loads(text, 0, NULL);
	all_rules = rules_new();
	struct check check = { .plan = file, .asked = plan->scenario, .error = &error, .rules = all_rules };
	cr_assert_eq(check_recompute(&check, plan->transformed->fitted, plan->transformed->fitted->recomputed), OK, "%s",
		error.text);
	arena_free(&check.arena);
	printf("%s %s:\n", name, words);
	uint32_t masked = 0;
	for (uint32_t op = 0; op < plan->transformed->fitted->recomputed->ops; op++)
		masked += strcmp(plan->transformed->fitted->recomputed->op[op].type, RECOMPUTE_MASKED_TYPE) == 0;
	cr_assert_eq(masked > 0, strstr(words, "random=mask") != NULL);
	break_step(plan, file, test_rounds(150, 20000));
	rules_free(all_rules);
	json_decref(file);
	free(text);
}

Test(forged, a_step_that_computes_something_else_is_refused)
{
	break_steps("gpt", "recompute=full order=list layout=bestfit");
	break_steps("gpt", "recompute=selective order=list layout=bestfit");
	break_steps("gpt", "recompute=auto memory=32MiB allocator=plan");
	break_steps("gpt", "recompute=auto memory=32MiB allocator=plan random=mask");
	break_steps("chain.jsonl", "recompute=full layout=bestfit;offload conv1.out");
}

/* ---- stages that make something else --------------------------------------------------------- */

#define STAGES_MOST 16
static struct { const char *step; struct graph *before, *after; } seen[STAGES_MOST];
static uint32_t stages_seen;

static enum status see(void *context, const char *step, const struct graph *before, const struct graph *after)
{
	(void)context;
	cr_assert_lt(stages_seen, STAGES_MOST);
	seen[stages_seen].step = step;
	seen[stages_seen].before = graph_retain((struct graph *)(uintptr_t)before);
	seen[stages_seen++].after = graph_retain((struct graph *)(uintptr_t)after);
	return OK;
}

/* Made by an op that the stage did not add, or by one of a chunk; or there from the start. */
static bool is_given(const struct graph *before, const struct graph *after, uint32_t tensor)
{
	uint32_t writer = after->tensor[tensor].writer;
	return writer == NONE || graph_find_op(before, after->op[writer].name) != NONE ||
		strstr(after->op[writer].name, ".chunk");
}

/* An op of the step that was made reads something else, or is of another type; a tensor that was scaled has other
 * bytes. */
static void break_stage(struct check *check, uint32_t stage, uint32_t rounds)
{
	struct graph *before = seen[stage].before, *graph = seen[stage].after;
	bool train = strcmp(seen[stage].step, "train") == 0, scale = strcmp(seen[stage].step, "scale") == 0;
	uint64_t random = test_seed();
	uint32_t tried[3] = { 0 };
	for (uint32_t round = 0; round < rounds; round++) {
		uint32_t op = (uint32_t)(random_next(&random) % graph->ops), reads = csr_length(&graph->reads, op),
				 other = (uint32_t)(random_next(&random) % graph->tensors);
		bool chunk = strstr(graph->op[op].name, ".chunk") != NULL;
		if (reads == 0 || graph->op[op].phase == PHASE_UPDATE || (train && graph->op[op].phase != PHASE_FORWARD) ||
			!(chunk || graph_find_op(before, graph->op[op].name) != NONE))
			continue;
		uint32_t *read = &graph->reads.item[graph->reads.start[op] + random_next(&random) % reads], old = *read;
		bool differ = graph->tensor[old].storage != graph->tensor[other].storage && graph->tensor[old].bytes > 8 &&
			value_of(graph, old) != value_of(graph, other);
		if (differ && counts(graph, old) && counts(graph, other) && is_given(before, graph, old) &&
			is_given(before, graph, other)) {
			*read = other;
			cr_assert_eq(made_check(check, seen[stage].step, before, graph), INFEASIBLE,
				"%s: %s reads %s in place of %s (SEED=%llu)", seen[stage].step, graph->op[op].name,
				graph->tensor[other].name, graph->tensor[old].name, (unsigned long long)test_seed());
			*read = old;
			tried[0]++;
		}
		const char *type = graph->op[op].type;
		graph->op[op].type = "aten.forged.default";
		cr_assert_eq(made_check(check, seen[stage].step, before, graph), INFEASIBLE, "%s: %s has another type",
			seen[stage].step, graph->op[op].name);
		graph->op[op].type = type;
		tried[1]++;
		uint32_t same = graph_find_tensor(before, graph->tensor[other].name);
		if (scale && same != NONE && before->tensor[same].bytes != graph->tensor[other].bytes) {
			graph->tensor[other].bytes++;
			cr_assert_eq(made_check(check, seen[stage].step, before, graph), INFEASIBLE, "%s: %s has other bytes",
				seen[stage].step, graph->tensor[other].name);
			graph->tensor[other].bytes--;
			tried[2]++;
		}
	}
	printf("    %s: %u other reads, %u other types, %u other bytes: all refused\n", seen[stage].step, tried[0],
		tried[1], tried[2]);
	cr_assert(tried[0] > 0 && tried[1] > 0 && (tried[2] > 0 || !scale));
}

static uint32_t break_stages(const char *name, const char *words)
{
	struct error error = { 0 };
	struct control control = { 0 };
	struct graph *graph = graph_of(name);
	struct stage_context stage = { .store = store_new(), .control = &control, .rules = rules_new(), .witness = see };
	struct plan_wish wish = { .margin = MARGIN_NO_CAP };
	struct check check = { .error = &error, .rules = (struct rules *)(uintptr_t)stage.rules };
	uint32_t broken = 0;
	scenario_init(&check.scenario);
	scenario_add(&check.scenario, words);
	struct transformed *transformed = stage_transform(&stage, graph, &check.scenario, &wish, true, &error);
	cr_assert_not_null(transformed, "%s", error.text);
	printf("%s %s:\n", name, words);
	for (uint32_t i = 0; i < stages_seen; i++) {
		bool looked_at = strcmp(seen[i].step, "shard") != 0 && strncmp(seen[i].step, "recompute", 9) != 0 &&
			seen[i].before != seen[i].after;
		cr_assert_eq(made_check(&check, seen[i].step, seen[i].before, seen[i].after), OK, "%s: %s", seen[i].step, error.text);
		if (looked_at)
			break_stage(&check, i, test_rounds(25, 5000)), broken++;
		graph_release(seen[i].before);
		graph_release(seen[i].after);
	}
	stages_seen = 0;
	transformed_release(transformed);
	rules_free(check.rules);
	store_free(stage.store);
	scenario_done(&check.scenario);
	graph_release(graph);
	cr_assert_eq(memory_blocks(), 0);
	return broken;
}

Test(forged, a_stage_that_makes_something_else_is_refused)
{
	cr_assert_eq(break_stages("gpt", "batch=4 precision=bf16 loss_chunks=3 recompute=full in_place=off"), 4);
	cr_assert_eq(break_stages("gpt", "train=ideal float8=on"), 2);
	cr_assert_eq(break_stages("llama", "optimizer=sgd accumulation=2 devices=2 strategy=data"), 2);
}

/* ---- lies that agree with each other --------------------------------------------------------- */

static void scale(json_t *plan, const char *part, const char *key, double by)
{
	json_t *object = json_object_get(plan, part), *value = json_object_get(object, key);
	if (json_is_integer(value))
		json_object_set_new(object, key, json_integer((json_int_t)((double)json_integer_value(value) * by)));
	else if (json_is_real(value))
		json_object_set_new(object, key, json_real(json_real_value(value) * by));
}

/* The bound is claimed to be what was reached. */
static void prove(json_t *plan, const char *part, const char *reached, const char *bound)
{
	json_t *object = json_object_get(plan, part), *value = json_object_get(object, reached);
	if (!json_is_number(value) || json_equal(value, json_object_get(object, bound)))
		return;
	json_object_set(object, bound, value);
	json_object_set_new(object, "proved", json_true());
}

/* What the sharding's bound is of is claimed to be all that any axis carries, one axis after the other: such sums are
 * above the estimate. */
static void prove_by_all_axes(json_t *plan)
{
	json_t *shard = json_object_get(plan, "shard"),
		   *shares = json_object_get(json_object_get(shard, "certificate"), "over_percent");
	size_t axes = json_object_size(json_object_get(shard, "mesh"));
	for (size_t i = 0; axes > 1 && i < json_array_size(shares); i++)
		json_array_set_new(shares, i, json_integer(100));
	if (axes > 1 && shares) {
		prove(plan, "shard", "value_seconds", "bound_seconds");
		json_object_set_new(shard, "gap", json_real(0));
	}
}

static void lie(json_t *plan, int which)
{
	switch (which) {
	case 0: scale(plan, "memory", "peak_bytes", 0.9), scale(plan, "order", "peak_bytes", 0.9); break;
	case 1: scale(plan, "layout", "arena_bytes", 0.9), scale(plan, "layout", "bound_bytes", 0.9); break;
	case 2: prove(plan, "layout", "arena_bytes", "bound_bytes"); break;
	case 3: prove(plan, "order", "peak_bytes", "bound_bytes"); break;
	case 4:
		scale(plan, "shard", "step_seconds", 0.9), scale(plan, "shard", "computation_seconds", 0.9),
			scale(plan, "shard", "exposed_seconds", 0.9), scale(plan, "shard", "bound_seconds", 0.9);
		break;
	case 5: scale(plan, "recompute", "extra_seconds", 0.5), scale(plan, "recompute", "bound_seconds", 0.5); break;
	case 6: prove(plan, "recompute", "extra_seconds", "bound_seconds"); break;
	case 7: prove_by_all_axes(plan); break;
	default:
		scale(plan, "memory", "persistent_bytes", 0.5), scale(plan, "memory", "peak_bytes", 0.5),
			scale(plan, "order", "peak_bytes", 0.5), scale(plan, "order", "bound_bytes", 0.5);
	}
}

static void try_together(struct forgery *forgery)
{
	json_t *honest = forgery->plan;
	struct error error;
	for (int which = 0; which < 9; which++) {
		forgery->plan = json_deep_copy(honest);
		lie(forgery->plan, which);
		if (!json_equal(forgery->plan, honest))
			cr_expect_neq(check(forgery, false, &error), OK, "%s: lies %d that agree with each other are accepted",
				forgery->name, which);
		json_decref(forgery->plan);
	}
	forgery->plan = honest;
}

/* ---- the tests ------------------------------------------------------------------------------- */

/* A cap that a step keeps only if something runs again: of what is alive at its peak beside what is always there, 92 %.
 */
static int64_t cap_of(const struct graph *graph)
{
	OWN(scenario) scenario;
	scenario_init(&scenario);
	scenario_add(&scenario, "order=list layout=bestfit");
	json_t *file = file_of(graph, &scenario), *memory = json_object_get(file, "memory");
	int64_t peak = json_integer_value(json_object_get(memory, "peak_bytes")),
			always = json_integer_value(json_object_get(memory, "persistent_bytes"));
	json_decref(file);
	return always + (peak - always) * 92 / 100;
}

static void forge(const char *name, const char *words, uint32_t part)
{
	OWN(scenario) scenario;
	struct error error;
	scenario_init(&scenario);
	scenario_add(&scenario, words);
	OWN(graph) *graph = graph_of(name);
	if (scenario.value[K_recompute] == RECOMPUTE_AUTO && !strstr(words, "allocator="))
		scenario.value[K_allocator] = ALLOCATOR_PLAN; /* else the limit is lowered again and again, for each forgery */
	if (scenario.value[K_recompute] == RECOMPUTE_AUTO && !scenario.value[K_memory])
		scenario.value[K_memory] = cap_of(graph);
	char title[200];
	snprintf(title, sizeof title, "%.50s %.140s", name, words);
	struct forgery forgery = {
		.graph = graph, .plan = file_of(graph, &scenario), .name = title, .seed = test_seed(), .part = part
	};
	cr_assert_not_null(forgery.plan, "%s", title);
	cr_assert_eq(check(&forgery, false, &error), OK, "%s: %s", title, error.text);
	if (scenario.value[K_recompute] == RECOMPUTE_AUTO)
		cr_assert_gt(json_number_value(json_object_get(json_object_get(forgery.plan, "recompute"), "extra_seconds")), 0,
			"%s recomputes nothing", title);
	json_t *before = json_deep_copy(forgery.plan);
	try_all(&forgery, "", NULL);
	try_together(&forgery);
	cr_assert(json_equal(before, forgery.plan), "the file was not put right after a change");
	printf("%s: %u changes tried, %u left out; %u found by planning again alone, %u accepted\n", title, forgery.tried,
		forgery.left_out, forgery.searched - forgery.accepted, forgery.accepted);
	cr_assert_gt(forgery.tried, 5);
	json_decref(before);
	json_decref(forgery.plan);
}

Test(forged, one_device) { forge("diamond.jsonl", "", test_rounds(16, 1)); }
Test(forged, segments_and_branches) { forge("weight_update.jsonl", "order=roam", test_rounds(16, 1)); }
Test(forged, a_layout_proved_by_search) { forge("fragmentation.jsonl", "order=program", test_rounds(16, 1)); }
Test(forged, pins) { forge("chain.jsonl", ";pin tensor loss at 20MiB", test_rounds(16, 1)); }
#define WORKSPACES "../tests/corpus/native/workspace.jsonl"   /* ops that need scratch memory while they run */

Test(forged, workspaces) { forge(WORKSPACES, "order=program", test_rounds(16, 1)); }

/* At the place of a tensor that is live while the op runs; and none, two, or one of other bytes. */
Test(forged, a_workspace_over_what_is_live_is_refused)
{
	OWN(scenario) scenario;
	OWN(graph) *graph = graph_of(WORKSPACES);
	struct error error;
	scenario_init(&scenario);
	struct forgery forgery = { .graph = graph, .plan = file_of(graph, &scenario) };
	json_t *layout = json_object_get(forgery.plan, "layout"), *list = json_object_get(layout, "workspaces");
	cr_assert_eq(json_array_size(list), 3);
	for (size_t i = 0; i < 3; i++) {
		json_t *workspace = json_array_get(list, i), *offset = json_incref(json_object_get(workspace, "offset"));
		json_object_set_new(workspace, "offset", json_integer(0));    /* the input is there */
		cr_assert_eq(check(&forgery, true, &error), INFEASIBLE);
		cr_assert_not_null(strstr(error.text, "are live together and overlap"), "%s", error.text);
		json_object_set_new(workspace, "offset", offset);
	}
	json_t *first = json_incref(json_array_get(list, 0));
	json_array_append(list, first);
	cr_assert_eq(check(&forgery, true, &error), INFEASIBLE);
	cr_assert_str_eq(error.text, "there are two workspaces for \"o0\"");
	json_array_remove(list, 3);
	json_object_set_new(first, "bytes", json_integer(399));
	cr_assert_eq(check(&forgery, true, &error), INFEASIBLE);
	cr_assert_str_eq(error.text, "the workspace of \"o0\" has 399 bytes, but needs 400");
	json_array_remove(list, 0);
	cr_assert_eq(check(&forgery, true, &error), INFEASIBLE);
	cr_assert_str_eq(error.text, "there is no workspace for \"o0\"");
	json_decref(first);
	json_decref(forgery.plan);
}
Test(forged, the_caching_allocator)
{
	forge("chain.jsonl", "layout=caching in_place=off alignment=512", test_rounds(16, 1));
}
Test(forged, recomputed) { forge("gpt", "batch=4 precision=bf16 recompute=full layout=bestfit", test_rounds(400, 3)); }
Test(forged, recomputed_to_a_cap)
{
	forge("lessons/recompute.jsonl", "train=eager optimizer=sgd device=a100-40gb recompute=auto memory=280MiB",
		test_rounds(300, 1));
	if (test_rounds(0, 1))     /* a plan of it takes seconds */
		forge("gpt1", "recompute=auto order=list layout=bestfit", 3);
}
Test(forged, data_parallel) { forge("gpt", "devices=4 strategy=data order=fast layout=bestfit", test_rounds(400, 3)); }
Test(forged, tensor_parallel)
{
	forge("gpt", "devices=8 strategy=megatron tp=2 zero=1 order=list layout=bestfit", test_rounds(400, 3));
}
Test(forged, searched)
{
	forge("gpt1", "devices=4 strategy=minred curve=on order=list layout=bestfit", test_rounds(600, 4));
}
Test(forged, searched_under_a_cap)
{
	forge("gpt1", "devices=2 strategy=auto memory=3MiB order=list layout=bestfit", test_rounds(800, 4));
}
Test(forged, searched_over_two_axes)
{
	forge("gpt1", "devices=4 dp=2 tp=2 strategy=auto intra_bandwidth=2GB/s order=list layout=bestfit",
		test_rounds(800, 4));
}
Test(forged, offloaded) { forge("chain.jsonl", "layout=bestfit;offload conv1.out", test_rounds(40, 1)); }
Test(forged, pipelined_with_a_split_schedule)
{
	forge("gpt", "devices=2 pp=2 microbatches=2 strategy=data schedule=zbv order=list layout=bestfit",
		test_rounds(400, 3));
}
Test(forged, recomputed_on_ranks)
{
	forge("gpt1", "devices=2 pp=2 microbatches=4 strategy=data recompute=auto memory=2460KiB order=list layout=bestfit",
		test_rounds(450, 20));
}
Test(forged, recomputed_in_microbatches)
{
	forge("gpt1", "microbatches=4 recompute=auto memory=2850KiB order=list layout=bestfit", test_rounds(450, 20));
}
Test(forged, pipelined)
{
	forge("gpt", "devices=4 pp=2 microbatches=4 strategy=data order=list layout=bestfit", test_rounds(400, 3));
}

/* More kinds, with LONG=1 alone. */
Test(forged, more_kinds)
{
	static const struct { const char *name, *words; } more[] = {
		{ "fragmentation.jsonl", "layout=roam" },
		{ "gpt1", "recompute=sqrt" },
		{ "llama", "recompute=knapsack" },
		{ "gpt", "loss_chunks=4" },
		{ "llama", "loss_chunks=2 recompute=selective" },
		{ "gpt", "optimizer=sgd accumulation=4" },
		{ "llama", "seq=64 moments=bf16" },
		{ "gpt", "layout=expandable alignment=512" },
		{ "gpt", "float8=on" },
		{ "gpt1", "offload=on recompute=auto host_bandwidth=1GB/s" },
		{ "gpt", "devices=4 strategy=zero device=h100-80gb" },
		{ "gpt", "devices=4 strategy=tap curve=on" },
		{ "gpt1", "devices=4 strategy=auto order=fast" },
		{ "llama", "devices=4 cp=2 strategy=megatron" },
		{ "gpt", "devices=2 pp=2 microbatches=4 strategy=data schedule=zb1p" },
		{ "gpt", "devices=2 pp=2 microbatches=4 strategy=data schedule=v-half" },
		{ "gpt", "devices=2 pp=2 microbatches=4 strategy=data schedule=dualpipev" },
		{ "gpt", "devices=4 pp=2 microbatches=4 strategy=megatron schedule=gpipe rank=1" },
		{ "llama", "devices=2 pp=2 microbatches=2 strategy=data schedule=interleaved recompute=full" },
		{ "gpt", "devices=2 strategy=data microbatches=2 zero=2" },
		{ "gpt", "recompute=full devices=2 strategy=zero precision=mixed" },
		{ "gpt", "order=list layout=llfb workspace=off" },
	};
	for (size_t i = 0; test_rounds(0, 1) && i < sizeof more / sizeof *more; i++)
		forge(more[i].name, more[i].words, 200);
}
