/* again.c: a plan file's scenario is planned anew, and all that follows is compared, member by member.
 *
 * This is the one part of the check that is not independent: it calls the planner. What numbers add up to is for the
 * other parts; here stand the claims of the search, which nothing else in the file shows: how much effort was spent,
 * which step won, what candidates came to, the margin that choices kept free, what pipeline ranks that are not in the
 * file come to. The planner is deterministic, so they are true if they follow again. */
#include "state.h"

#include "members.h"
#include "src/decide/planner.h"
#include "src/write/factors.h"
#include "src/write/plan_json.h"

/* Members at the top that say nothing of the plan, and why. All others are compared. */
static const struct free_member FREE[] = {
	{ "run", "seconds and what was kept from before differ from run to run: check.c has looked at its shape" },
	{ "version", "a file of another is not planned again; older ones say none" },
	{ NULL, NULL },
};

/* ---- planning ---- */

/* The plan as its file would be, NULL when out of memory. */
static json_t *file_of(struct check *check, const struct plan *plan, enum status *status)
{
	struct factors factors;
	bool with_factors = json_object_get(check->plan, "factors") != NULL;
	struct written written;
	*status = with_factors ? factors_of_graph(plan->graph, check->rules_file, &factors, check->error) : OK;
	if (*status != OK)
		return NULL;
	written_begin(&written);
	bool whole = written.stream && plan_write_json(plan, with_factors ? &factors : NULL, false, written.stream);
	json_t *file = written_json(&written);
	if (with_factors)
		factors_free(&factors);
	*status = file && whole ? OK : fail_memory(check->error);
	return file;
}

/* What the dims carry follows from the graph alone. */
static enum status check_factors(struct check *check)
{
	const json_t *said = json_object_get(check->plan, "factors");
	struct factors factors;
	struct written written;
	enum status status = said ? factors_of_graph(check->graph, check->rules_file, &factors, check->error) : OK;
	if (status != OK || !said)
		return status;
	written_begin(&written);
	struct json json = { .stream = written.stream };
	if (written.stream) {
		json_open_object(&json, NULL);
		factors_write_json(&factors, check->graph, &json);
		json_end(&json);
	}
	json_t *again = written_json(&written);
	if (!again)
		status = fail_memory(check->error);
	else if (!json_equal(said, json_object_get(again, "factors")))
		status = check_wrong(check, "factors does not say what the dims of this graph carry");
	json_decref(again);
	factors_free(&factors);
	return status;
}

bool check_plans_again(const struct check *check)
{
	bool limited = json_true_in(check->plan, "limited");
	return !limited && !check->as_planned && !check->numbers && !check->other;
}

enum status check_again(struct check *check)
{
	if (!check_plans_again(check)) {
		check_skipped(check,
			"whether the scenario's strategies and efforts lead to just this plan; knobs that its numbers don't depend "
			"on, names of winners, notes, what was looked at on the way, "
			"pipeline ranks that are not in the file, and fit_margin_bytes");
		return check_factors(check);
	}
	struct planner planner = { .store = store_new(), .rules_file = check->rules_file };
	struct error error = { .status = NO_MEMORY };
	struct plan *plan = planner.store
		? planner_run(&planner, (struct graph *)(uintptr_t)check->input, &check->asked, PLAN_COMPLETE, &error)
		: NULL;
	enum status status = plan ? OK : error.status;
	json_t *again = plan ? file_of(check, plan, &status) : NULL;
	if (!plan && status != NO_MEMORY)
		status = check_wrong(check, "the scenario leads to no plan: %.300s", error.text);
	else if (!plan)
		status = fail_memory(check->error);
	THEN(status, compare_files(check->plan, again, FREE, check->error));
	json_decref(again);
	plan_release(plan);
	planner_done(&planner);
	if (status == OK)
		check_passed(check, "planned again: the scenario leads to just this plan (not independent: this asks the planner)");
	return status;
}
