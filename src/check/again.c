/* again.c: a plan file's scenario is planned anew, and all that follows is compared, member by member.
 *
 * This is the one part of the check that is not independent: it calls the planner. What numbers add up to is for the other parts; here stand the
 * claims of the search, which nothing else in the file shows: how much effort was spent, which step won, what candidates came to, the margin
 * that choices kept free, what pipeline ranks that are not in the file come to. The planner is deterministic, so they are true if they follow again. */
#include "again.h"

#include <stdlib.h>
#include <string.h>

#include "src/plan/planner.h"
#include "src/write/factors.h"
#include "src/write/plan_json.h"
#include "src/base/text_stream.h"

/* Members at the top that say nothing of the plan, and why. All others are compared. */
static const struct { const char *name, *why; } FREE[] = {
	{ "run", "seconds and what was kept from before differ from run to run" },
};

static bool is_free(const char *name)
{
	for (size_t i = 0; i < sizeof FREE / sizeof *FREE; i++)
		if (strcmp(FREE[i].name, name) == 0)
			return true;
	return false;
}

/* ---- comparing ------------------------------------------------------------------------------------------------------- */

#define PATH_MOST 300

/* The path grows and shrinks with the walk: path[0..length] is that of the values at hand. */
struct walk {
	struct check *check;
	char path[PATH_MOST];
};

static enum status compare(struct walk *walk, size_t length, const json_t *file, const json_t *again);

static size_t grown(size_t length, int more)
{
	size_t after = length + (more > 0 ? (size_t)more : 0);
	return after < PATH_MOST ? after : PATH_MOST - 1;
}

static size_t into_member(struct walk *walk, size_t length, const char *name)
{
	return grown(length, snprintf(walk->path + length, PATH_MOST - length, "%s%.60s", length ? "." : "", name));
}

static size_t into_element(struct walk *walk, size_t length, size_t i)
{
	return grown(length, snprintf(walk->path + length, PATH_MOST - length, "[%zu]", i));
}

static enum status differs(struct walk *walk, const json_t *file, const json_t *again)
{
	char *ours = json_dumps(file, JSON_ENCODE_ANY | JSON_COMPACT), *theirs = json_dumps(again, JSON_ENCODE_ANY | JSON_COMPACT);
	enum status status = check_wrong(walk->check, "%.200s is %.80s, but the scenario leads to %.80s", walk->path, ours ? ours : "nothing", theirs ? theirs : "nothing");
	free(ours);
	free(theirs);
	return status;
}

static enum status compare_objects(struct walk *walk, size_t length, const json_t *file, const json_t *again)
{
	const char *name;
	json_t *value;
	enum status status = OK;
	json_object_foreach((json_t *)(uintptr_t)again, name, value) {
		size_t inner = into_member(walk, length, name);
		if ((length > 0 || !is_free(name)) && (status = compare(walk, inner, json_object_get(file, name), value)) != OK)
			return status;
	}
	json_object_foreach((json_t *)(uintptr_t)file, name, value) {
		into_member(walk, length, name);
		if ((length > 0 || !is_free(name)) && !json_object_get(again, name))
			return check_wrong(walk->check, "%.200s is no member that a plan of this scenario has", walk->path);
	}
	return OK;
}

static enum status compare(struct walk *walk, size_t length, const json_t *file, const json_t *again)
{
	enum status status = OK;
	walk->path[length] = '\0';
	if (!file)
		return check_wrong(walk->check, "%.200s is missing", walk->path);
	if (json_is_object(file) && json_is_object(again))
		return compare_objects(walk, length, file, again);
	if (!json_is_array(file) || !json_is_array(again) || json_array_size(file) != json_array_size(again))
		return json_equal(file, again) ? OK : differs(walk, file, again);
	for (size_t i = 0; i < json_array_size(again) && status == OK; i++) {
		size_t inner = into_element(walk, length, i);
		status = compare(walk, inner, json_array_get(file, i), json_array_get(again, i));
	}
	return status;
}

/* ---- planning ------------------------------------------------------------------------------------------------------------ */

/* The plan as its file would be, NULL when out of memory. */
static json_t *file_of(struct check *check, const struct plan *plan, enum status *status)
{
	struct factors factors;
	bool with_factors = json_object_get(check->plan, "factors") != NULL;
	char *text = NULL;
	size_t size = 0;
	json_t *file = NULL;
	*status = with_factors ? factors_of_graph(plan->graph, check->rules_file, &factors, check->error) : OK;
	if (*status != OK)
		return NULL;
	FILE *stream = text_stream(&text, &size);
	if (stream) {
		bool written = plan_write_json(plan, with_factors ? &factors : NULL, false, stream);
		if (fclose(stream) == 0 && written)
			file = json_loadb(text, size, 0, NULL);
	}
	free(text);
	if (with_factors)
		factors_free(&factors);
	*status = file ? OK : fail_memory(check->error);
	return file;
}

enum status check_again(struct check *check)
{
	if (json_is_true(json_object_get(check->plan, "limited")) || check->as_planned || check->numbers) {
		check_skipped(check, "whether the scenario's strategies and efforts lead to just this plan, what they looked at on the way, and fit_margin_bytes");
		return OK;
	}
	struct planner planner = { .store = store_new(), .rules_file = check->rules_file };
	struct error error = { .status = NO_MEMORY };
	struct plan *plan = planner.store ? planner_run(&planner, (struct graph *)(uintptr_t)check->input, &check->asked, PLAN_COMPLETE, &error) : NULL;
	enum status status = plan ? OK : error.status;
	json_t *again = plan ? file_of(check, plan, &status) : NULL;
	if (!plan && status != NO_MEMORY)
		status = check_wrong(check, "the scenario leads to no plan: %.300s", error.text);
	else if (!plan)
		status = fail_memory(check->error);
	struct walk walk = { .check = check };
	if (status == OK)
		status = compare(&walk, 0, check->plan, again);
	json_decref(again);
	plan_release(plan);
	planner_done(&planner);
	if (status == OK)
		check_passed(check, "planned again: the scenario leads to just this plan (not independent: this asks the planner)");
	return status;
}
