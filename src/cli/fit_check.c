/* fit_check.c: `tidemark check GRAPH FIT.json`: the changes that `tidemark fit` has planned.
 *
 * A row has no order and no layout, so its bytes can only be planned again. Its plan is verified by `tidemark plan`
 * with the row's knobs, and `tidemark check` of that. */
#include "fit_check.h"

#include <inttypes.h>

#include "src/check/members.h"
#include "src/models/open.h"
#include "src/scenario/knobs.h"

static const struct free_member FREE[] = { { NULL, NULL } }; /* none: all follows again */

/* ---- what was asked ---- */

void fit_write_asked(struct json *json, const struct scenario *scenario, const struct fit_asked *asked)
{
	OWN(scenario) usual;
	scenario_init(&usual);
	json_open_object(json, "asked");
	json_open_array(json, "set");
	FOR_INT(id, KNOB_COUNT)
		if (scenario->value[id] != usual.value[id])
			json_write_text(json, NULL, PRINTED(600, "%s=%s", knobs[id].name,
				knob_text(id, scenario->value[id], TEXT(512))));
	json_close(json);
	json_open_array(json, "pins");
	FOR(i, scenario->pins)
		json_write_text(json, NULL, pin_text(&scenario->pin[i], TEXT(512)));
	json_close(json);
	json_write_integer(json, "devices", asked->devices);
	if (asked->most != KNOB_COUNT)
		json_write_text(json, "max", knobs[asked->most].name);
	if (asked->smallest)
		json_write_bool(json, "smallest_device", true);
	json_close(json);
}

static enum status fit_check_bad(struct error *error, const char *what)
{
	return refuse(error, "not a file of tidemark fit: %s", what);
}

static enum status take_words(const json_t *words, enum status (*take)(struct scenario *, const char *, struct error *),
	struct scenario *scenario, struct error *error)
{
	size_t i;
	const json_t *word;
	if (!json_is_array(words))
		return fit_check_bad(error, "\"asked\" is missing or wrong");
	json_array_foreach(words, i, word)
		if (!json_is_string(word) || take(scenario, json_string_value(word), error) != OK)
			return error->status == NO_MEMORY ? NO_MEMORY : fit_check_bad(error, "a knob or pin in \"asked\" is wrong");
	return OK;
}

static enum status fit_check_take_asked(
	const json_t *object, struct scenario *scenario, struct fit_asked *asked, struct error *error)
{
	const json_t *devices = json_object_get(object, "devices"), *most = json_object_get(object, "max"),
				 *smallest = json_object_get(object, "smallest_device");
	TRY(take_words(json_object_get(object, "set"), scenario_set, scenario, error));
	TRY(take_words(json_object_get(object, "pins"), scenario_pin, scenario, error));
	const char *knob = json_string_value(most);
	*asked = (struct fit_asked){ json_integer_value(devices), json_is_true(smallest),
		knob ? knob_find(knob) : KNOB_COUNT };
	bool fine = json_is_integer(devices) && asked->devices >= 1 && asked->devices <= knobs[K_devices].maximum &&
		(!smallest || asked->smallest) && !(asked->smallest && most) &&
		(!most || asked->most == K_batch || asked->most == K_seq) &&
		(asked->smallest || scenario_budget(scenario) >= 0);
	return fine ? OK : fit_check_bad(error, "\"asked\" is missing or wrong");
}

/* ---- sums ---- */

/* A way fits if its bytes are within the cap, and is over by what they are above it. */
static enum status check_way(const json_t *way, int64_t cap, struct error *error)
{
	const json_t *arena = json_object_get(way, "needed_bytes"), *over = json_object_get(way, "over_bytes"),
				 *fits = json_object_get(way, "fits");
	if (!json_is_integer(arena) || !json_is_integer(over) || !json_is_boolean(fits))
		return fit_check_bad(error, "a change has no bytes");
	int64_t bytes = json_integer_value(arena), is = bytes > cap ? bytes - cap : 0;
	if (json_is_true(fits) != (bytes <= cap) || json_integer_value(over) != is)
		return fail(error, INFEASIBLE,
			"a change needs %" PRId64 " bytes of %" PRId64 ", but fits or over_bytes says otherwise", bytes, cap);
	return OK;
}

/* A preset fits what is within its own memory. */
static enum status check_device(const json_t *device, struct error *error)
{
	const json_t *arena = json_object_get(device, "needed_bytes"), *memory = json_object_get(device, "memory_bytes"),
				 *fits = json_object_get(device, "fits");
	if (json_is_false(json_object_get(device, "planned")))
		return OK;
	if (!json_is_integer(arena) || !json_is_integer(memory) || !json_is_boolean(fits) ||
		json_is_true(fits) != (json_integer_value(arena) <= json_integer_value(memory)))
		return fail(error, INFEASIBLE, "a device's memory, the step's bytes on it and \"fits\" contradict each other");
	return OK;
}

/* The largest fits, the next one doesn't. */
static enum status check_most(const json_t *file, int64_t cap, struct error *error)
{
	const json_t *arena = json_object_get(file, "needed_bytes"), *next = json_object_get(file, "next_needed_bytes");
	if ((arena && json_integer_value(arena) > cap) || (next && json_integer_value(next) <= cap))
		return fail(error, INFEASIBLE, "the largest doesn't fit, or the next one does");
	return OK;
}

static enum status fit_check_sums(const json_t *file, const struct fit_asked *asked, struct error *error)
{
	const json_t *rows = json_object_get(file, asked->smallest ? "devices" : "ways"), *row,
				 *memory = json_object_get(file, "memory_bytes"), *arena = json_object_get(file, "needed_bytes");
	int64_t cap = json_integer_value(memory);
	size_t i;
	if (!asked->smallest && !json_is_integer(memory))
		return fit_check_bad(error, "it has no cap");
	if (asked->most != KNOB_COUNT)
		return check_most(file, cap, error);
	if (!json_is_array(rows))
		return fit_check_bad(error, "it has no rows");
	if (!asked->smallest &&
		(!json_is_integer(arena) || json_true_in(file, "fits") != (json_integer_value(arena) <= cap)))
		return fail(error, INFEASIBLE, "the step's bytes, the cap and \"fits\" contradict each other");
	json_array_foreach(rows, i, row)
		TRY(asked->smallest ? check_device(row, error) : check_way(row, cap, error));
	return OK;
}

/* ---- once more ---- */

static enum status fit_check_write_again(struct graph *graph, const struct scenario *scenario,
	const struct fit_asked *asked, const char *path, const char *rules_file, FILE *stream, struct error *error)
{
	const struct fit_question question = { (uint32_t)asked->devices, open_is_model(path) ? path : NULL, NULL };
	OWN(planner) planner = { .store = store_new(), .rules_file = rules_file };
	struct fit_list list = { 0 };
	enum status status = planner.store ? OK : fail_memory(error);
	if (status == OK && (asked->smallest || asked->most != KNOB_COUNT)) {
		status = fit_most_write_json(asked, &planner, graph, scenario, stream, error);
		status = status == INFEASIBLE && asked->most != KNOB_COUNT ? OK : status;
	} else if (status == OK) {
		status = fit_list_find(&planner, graph, scenario, &question, &list, error);
		if (status == OK)
			fit_write_json(stream, scenario, asked, &list);
		fit_list_free(&list);
	}
	return status;
}

static enum status plan_again(struct graph *graph, const json_t *file, const struct scenario *scenario,
	const struct fit_asked *asked, const char *path, const char *rules_file, struct error *error)
{
	struct written written;
	written_begin(&written);
	NEEDED(error, written.stream);
	enum status status = fit_check_write_again(graph, scenario, asked, path, rules_file, written.stream, error);
	json_t *again = written_json(&written);
	if (status == OK)
		status = again ? compare_files(file, again, FREE, error) : fail_memory(error);
	else if (status != NO_MEMORY)
		status = fail(error, INFEASIBLE, "what was asked leads to no such file");
	json_decref(again);
	return status;
}

/* ---- all of it ---- */

bool fit_is_file(const json_t *file)
{
	return !json_object_get(file, "tidemark") &&
		(json_object_get(file, "ways") || json_object_get(file, "most") || json_object_get(file, "smallest") ||
			json_object_get(file, "asked"));
}

enum status fit_check_file(struct graph *graph, const char *path, const json_t *file, const char *rules_file,
	bool numbers, FILE *report, struct error *error)
{
	OWN(scenario) scenario;
	struct fit_asked asked;
	scenario_init(&scenario);
	TRY(fit_check_take_asked(json_object_get(file, "asked"), &scenario, &asked, error));
	TRY(fit_check_sums(file, &asked, error));
	report_passed(report, "what fits, and by how much the rest is over");
	if (json_true_in(file, "limited")) {
		report_skipped(report, "the changes: the list was cut short");
	} else if (numbers) {
		report_skipped(
			report, "bytes and times of the changes; each is planned and checked by itself with its knobs");
	} else {
		TRY(plan_again(graph, file, &scenario, &asked, path, rules_file, error));
		report_passed(report,
			"planned again: what was asked leads to just this file (not independent: this asks the planner; "
			"check a change by a plan of it)");
	}
	return OK;
}
