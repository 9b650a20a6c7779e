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
#include "src/decide/planner.h"
#include "src/read/input.h"
#include "src/scenario/knobs.h"
#include "src/stages/fit/stage.h"
#include "tests/common/forged_step.h"
#include "tests/common/planned.h"
#include "tests/common/support.h"

/* What may be changed without a word from `check`, by the beginning of its path, and why. */
static const struct { const char *path, *why; } FREE[] = {
	{ "run", "seconds, and what was kept from before, differ from run to run" },
	{ "version", "another version's plan is not planned again, and check says so" },
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
			scenario_put(&scenario, id, json_integer_value(value));
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
	forge("gpt1", "devices=4 strategy=minred order=list layout=bestfit", test_rounds(800, 4));
}
Test(forged, searched_under_a_cap)
{
	forge("gpt1", "devices=2 strategy=auto memory=3MiB order=list layout=bestfit", test_rounds(400, 4));
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
	if (test_rounds(0, 1))    /* a plan of it takes seconds; on ranks it is much the same */
		forge("gpt1", "microbatches=4 recompute=auto memory=2850KiB order=list layout=bestfit", 20);
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
		{ "mobilenet_v2_b1_adam.jsonl.gz", "offload=states" },
		{ "gpt", "devices=4 strategy=zero device=h100-80gb" },
		{ "gpt", "devices=4 strategy=tap" },
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
