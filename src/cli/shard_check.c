/* shard_check.c: a solved sharding problem as JSON, and the check of such a file. */
#include "shard_check.h"

#include <inttypes.h>
#include <string.h>

#include "src/check/compare.h"
#include "src/check/members.h"
#include "src/read/plan_file.h"
#include "src/read/problems/problem_json.h"

#define INPUT_MOST ((size_t)2 << 30)

/* Members that say nothing of the choice, and why. */
static const struct free_member FREE[] = {
	{ "seconds", "how long it took differs from run to run" },
	{ NULL, NULL },
};

/* All members that such a file may have. */
static const struct member_row MEMBERS[] = {
	{ "", "cost lower_bound bound_by proved limited seconds asked? usage_limit peak_usage solution certificate?", 0 },
	{ "asked", "seconds", 0 },
	{ "certificate", "by shift moments multipliers messages", 0 },
};

enum status shard_problem_open(const char *path, struct shard_problem *problem, struct error *error)
{
	size_t size;
	*problem = (struct shard_problem) { 0 };
	struct input *input = input_open(path, error);
	if (!input)
		return error->status;
	bool begins = input_begins_json(input);
	const char *begin = input_peek(input, &size);
	HELD char *text = begins ? input_all(input, INPUT_MOST, &size, error) : NULL;
	enum status status = text || !begins ? problem_json_read(text ? text : begin, size, problem, error) : error->status;
	input_close(input);
	return status;
}

/* ---- writing ---------------------------------------------------------------------------------------------------- */

static json_t *integers(const int64_t *value, size_t count)
{
	json_t *array = json_array();
	for (size_t i = 0; i < count; i++)
		json_array_append_new(array, json_integer(value[i]));
	return array;
}

static json_t *certificate_json(const struct shard_problem *problem, const struct shard_certificate *certificate)
{
	json_t *messages = json_array();
	for (uint32_t edge = 0; edge < problem->edges; edge++)
		json_array_append_new(messages, integers(certificate->message + certificate->start[edge],
							 certificate->start[edge + 1] - certificate->start[edge]));
	return json_pack("{s:s, s:i, s:o, s:o, s:o}", "by", "dual", "shift", (int)certificate->shift, "moments",
			 integers(certificate->moment, certificate->moments), "multipliers",
			 integers(certificate->multiplier, certificate->moments), "messages", messages);
}

json_t *shard_json(const struct shard_problem *problem, const struct shard_plan *plan, bool limited, double seconds, double asked, bool whole)
{
	json_t *object = json_object();
	json_t *solution = json_array();
	for (uint32_t node = 0; node < problem->nodes && plan->choice; node++)
		json_array_append_new(solution, json_integer(plan->choice[node]));
	json_object_set_new(object, "cost", plan->choice ? json_integer(plan->cost) : json_null());
	json_object_set_new(object, "lower_bound", json_integer(plan->bound));
	json_object_set_new(object, "bound_by", json_string(plan->searched ? "search" : "dual"));
	json_object_set_new(object, "proved", json_boolean(plan->proved));
	json_object_set_new(object, "limited", json_boolean(limited));
	json_object_set_new(object, "seconds", json_real(seconds));
	if (asked > 0)
		json_object_set_new(object, "asked", json_pack("{s:f}", "seconds", asked));
	json_object_set_new(object, "usage_limit", problem->limit < 0 ? json_null() : json_integer(problem->limit));
	json_object_set_new(object, "peak_usage", plan->choice ? json_integer(plan->peak) : json_null());
	json_object_set_new(object, "solution", plan->choice ? solution : json_null());
	if (!plan->choice)
		json_decref(solution);
	if (whole)
		json_object_set_new(object, "certificate", certificate_json(problem, &plan->certificate));
	return object;
}

/* ---- certificates ------------------------------------------------------------------------------------------------ */

/* The integers of an array, which may be NULL; false when something else is in it. */
static bool take_integers(const json_t *array, int64_t *value)
{
	size_t i;
	const json_t *item;
	json_array_foreach(array, i, item) {
		if (!json_is_integer(item))
			return false;
		value[i] = json_integer_value(item);
	}
	return true;
}

static enum status take_messages(const json_t *messages, const struct shard_problem *problem, struct shard_certificate *certificate)
{
	size_t i;
	const json_t *row;
	certificate->start = mem_alloc((size_t)problem->edges + 1, sizeof *certificate->start);
	NEED(certificate->start);
	if (json_array_size(messages) != problem->edges)
		return BAD_INPUT;
	json_array_foreach(messages, i, row)
		certificate->start[i + 1] = certificate->start[i] + json_array_size(row);
	certificate->message = mem_alloc(certificate->start[problem->edges], sizeof *certificate->message);
	NEED(certificate->message);
	json_array_foreach(messages, i, row)
		if (!take_integers(row, certificate->message + certificate->start[i]))
			return BAD_INPUT;
	return OK;
}

static enum status take_certificate(const json_t *object, const struct shard_problem *problem, struct shard_certificate *certificate)
{
	const json_t *moments = json_object_get(object, "moments"), *multipliers = json_object_get(object, "multipliers");
	json_int_t shift = json_integer_value(json_object_get(object, "shift"));
	size_t count = json_array_size(moments);
	if (count != json_array_size(multipliers) || count > problem->nodes || shift < 0 || shift > 63)
		return BAD_INPUT;
	certificate->shift = (unsigned)shift;
	certificate->moments = (uint32_t)count;
	certificate->moment = mem_alloc(count, sizeof *certificate->moment);
	certificate->multiplier = mem_alloc(count, sizeof *certificate->multiplier);
	NEED(certificate->moment && certificate->multiplier);
	if (!take_integers(moments, certificate->moment) || !take_integers(multipliers, certificate->multiplier))
		return BAD_INPUT;
	return take_messages(json_object_get(object, "messages"), problem, certificate);
}

/* ---- claims ------------------------------------------------------------------------------------------------------- */

struct shard_file {
	const struct shard_problem *problem;
	const json_t *file;
	FILE *report;
	struct error *error;
};

static enum status expect(const struct shard_file *check, const char *key, bool there, int64_t is)
{
	const json_t *value = json_object_get(check->file, key);
	if (there ? !json_is_integer(value) : !json_is_null(value))
		return fail(check->error, BAD_INPUT, "not a file of tidemark shard: \"%s\" is %s", key, there ? "no integer" : "not null");
	if (there && json_integer_value(value) != is)
		return fail(check->error, INFEASIBLE, "%s is %" PRId64 ", but it must be %" PRId64, key, (int64_t)json_integer_value(value), is);
	return OK;
}

static enum status check_choice(const struct shard_file *check)
{
	const struct shard_problem *problem = check->problem;
	const json_t *solution = json_object_get(check->file, "solution"), *item;
	bool found = !json_is_null(solution);
	int64_t cost = 0, peak = 0;
	size_t i;
	if (found && json_array_size(solution) != problem->nodes)
		return fail(check->error, INFEASIBLE, "solution does not give every node a strategy");
	uint32_t *choice = mem_alloc(problem->nodes, sizeof *choice);
	NEED_IN(check->error, choice);
	json_array_foreach(solution, i, item) {
		json_int_t value = json_is_integer(item) ? json_integer_value(item) : -1;
		choice[i] = value < 0 || value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
	}
	enum status status = found ? shard_evaluate(problem, choice, &cost, &peak, check->error) : OK;
	mem_free(choice);
	status = status == BAD_INPUT ? INFEASIBLE : status;
	THEN(status, expect(check, "cost", found, cost));
	THEN(status, expect(check, "peak_usage", found, peak));
	THEN(status, expect(check, "usage_limit", problem->limit >= 0, problem->limit));
	if (status == OK && found)
		fprintf(check->report, "ok  cost %" PRId64 ", peak usage %" PRId64 ": summed anew\n", cost, peak);
	return status;
}

/* What the certificate in the file proves; INT64_MIN: there is none. */
static enum status prove(const struct shard_file *check, int64_t *bound)
{
	struct shard_certificate certificate = { 0 };
	const json_t *object = json_object_get(check->file, "certificate");
	*bound = INT64_MIN;
	if (!object)
		return OK;
	enum status status = take_certificate(object, check->problem, &certificate);
	if (status != OK)
		fail(check->error, status, "%s", status == NO_MEMORY ? status_text(status) : "the certificate is of the wrong form");
	else
		status = shard_bound(check->problem, &certificate, bound, check->error);
	shard_certificate_free(&certificate);
	return status;
}

/* again: the problem will be solved again, which shows bounds by search. */
static enum status check_bound(const struct shard_file *check, bool again)
{
	const json_t *lower = json_object_get(check->file, "lower_bound"), *proved = json_object_get(check->file, "proved"), *cost = json_object_get(check->file, "cost");
	const char *by = json_string_value(json_object_get(check->file, "bound_by"));
	int64_t claimed = json_integer_value(lower), bound;
	bool search = by && strcmp(by, "search") == 0, reached = json_is_integer(cost) && json_integer_value(cost) == claimed;
	if (!json_is_integer(lower) || !json_is_boolean(proved) || !by || !(search || strcmp(by, "dual") == 0))
		return fail(check->error, BAD_INPUT, "not a file of tidemark shard: lower_bound, bound_by or proved is missing");
	if (json_is_true(proved) != reached || (json_is_integer(cost) && json_integer_value(cost) < claimed))
		return fail(check->error, INFEASIBLE, "lower_bound %" PRId64 " or \"proved\" contradicts the cost", claimed);
	TRY(prove(check, &bound));
	if (bound >= claimed)
		fprintf(check->report, "ok  lower bound %" PRId64 ": from its certificate, in integers\n", claimed);
	else if (!search && bound != INT64_MIN)
		return fail(check->error, INFEASIBLE, "lower_bound says %" PRId64 ", the certificate proves %" PRId64, claimed, bound);
	else if (!again && bound != INT64_MIN)
		fprintf(check->report, "--  not looked at: the search behind lower bound %" PRId64 "; the certificate alone proves %" PRId64 "\n", claimed, bound);
	else if (!again)
		fprintf(check->report, "--  not looked at: lower bound %" PRId64 ", for which the file has no certificate (files of --output have it)\n", claimed);
	return OK;
}

/* How long it was searched for is not looked at; but it is a number, and nothing else stands there. */
static enum status check_rest(const struct shard_file *check)
{
	const json_t *asked = json_object_get(check->file, "asked"), *certificate = json_object_get(check->file, "certificate");
	const char *by = json_string_value(json_object_get(certificate, "by"));
	bool fine = json_is_boolean(json_object_get(check->file, "limited")) && json_is_number(json_object_get(check->file, "seconds"))
		&& (!asked || json_is_number(json_object_get(asked, "seconds"))) && (!certificate || (by && strcmp(by, "dual") == 0));
	enum status status = members_check(check->file, MEMBERS, sizeof MEMBERS / sizeof *MEMBERS, 0, check->error);
	return status == OK && !fine ? fail(check->error, BAD_INPUT, "not a file of tidemark shard: limited, seconds, asked or the certificate's \"by\" is wrong") : status;
}

static enum status solve_again(const struct shard_file *check)
{
	struct control control = { 0 };
	struct shard_plan plan;
	struct shard_options options = { .effort = SHARD_EFFORT_DEFAULT };
	enum status status = shard_solve(check->problem, &options, &control, &plan, check->error);
	json_t *again = NULL;
	if (status == OK || status == LIMIT) {
		again = shard_json(check->problem, &plan, status != OK, 0, 0, json_object_get(check->file, "certificate") != NULL);
		status = again ? compare_files(check->file, again, FREE, check->error) : fail_memory(check->error);
	} else if (status != NO_MEMORY) {
		status = fail(check->error, INFEASIBLE, "the problem, solved again, leads to no choice");
	}
	json_decref(again);
	shard_plan_free(&plan);
	if (status == OK)
		fprintf(check->report, "ok  solved again: the problem leads to just this file (not independent: this asks the solver)\n");
	return status;
}

enum status shard_check_file(const struct shard_problem *problem, const char *path, bool numbers, FILE *report, struct check_outcome *outcome, struct error *error)
{
	json_t *file = plan_file_read(path, error);
	struct shard_file check = { problem, file, report, error };
	bool again = !numbers && file && !json_object_get(file, "asked");
	enum status status = file ? check_choice(&check) : error->status;
	THEN(status, check_bound(&check, again));
	THEN(status, check_rest(&check));
	if (status == OK && again)
		status = solve_again(&check);
	else if (status == OK)
		fprintf(report, "--  not looked at: how it was searched for\n");
	*outcome = (struct check_outcome){ .partly = json_object_get(file, "asked") != NULL };
	json_decref(file);
	return status;
}
