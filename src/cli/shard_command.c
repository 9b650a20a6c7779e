/* shard_command.c: `tidemark shard PROBLEM.json`: one strategy per node for any problem of the contest's format. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <string.h>
#include <time.h>

#include "batch.h"
#include "src/base/output.h"
#include "src/read/input.h"
#include "src/read/problems/problem_json.h"
#include "options.h"
#include "src/base/words.h"
#include "src/base/json_memory.h"

#define INPUT_MOST ((size_t)2 << 30)

struct request {
	struct command_line line;
	const char *problem, *verify;
};

static int take_option(void *context, int row, const char *value)
{
	(void)row;
	((struct request *)context)->verify = value;
	return EXIT_FINE;
}

static void print_more(void)
{
	putchar('\n');
	words_print(stdout, "", 0, "Chooses a strategy for every node of a sharding problem (\"-\": standard input) at the least total cost within its memory limit, and proves a "
		"lower bound. A file written by --output has the certificate's multipliers and messages, too.");
}

static enum status read_problem(const char *path, struct shard_problem *problem, struct error *error)
{
	size_t size;
	*problem = (struct shard_problem) { 0 };
	struct input *input = input_open(path, error);
	if (!input)
		return error->status;
	char *text = input_all(input, INPUT_MOST, &size, error);
	input_close(input);
	enum status status = text ? problem_json_read(text, size, problem, error) : error->status;
	mem_free(text);
	return status;
}

/* ---- writing ----------------------------------------------------------------------------------------------------- */

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

static json_t *plan_json(const struct shard_problem *problem, const struct shard_plan *plan, bool limited, double seconds, bool whole)
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
	json_object_set_new(object, "usage_limit", problem->limit < 0 ? json_null() : json_integer(problem->limit));
	json_object_set_new(object, "peak_usage", plan->choice ? json_integer(plan->peak) : json_null());
	json_object_set_new(object, "solution", plan->choice ? solution : json_null());
	if (!plan->choice)
		json_decref(solution);
	if (whole)
		json_object_set_new(object, "certificate", certificate_json(problem, &plan->certificate));
	return object;
}

/* To a file, or to standard output where path is NULL. Takes the object. */
static enum status write_json(json_t *object, const char *path, struct error *error)
{
	struct output output;
	/* What was left out for want of memory makes a wrong object, not none. */
	enum status status = object && !json_memory_failed() ? output_open(&output, path, true, error) : fail_memory(error);
	if (status == OK) {
		bool dumped = json_dumpf(object, output.stream, JSON_REAL_PRECISION(6)) == 0;
		putc('\n', output.stream);
		status = output_close(&output, dumped || ferror(output.stream) ? OK : fail_memory(error), error);
	}
	json_decref(object);
	return status;
}

static enum status write_text(const struct shard_problem *problem, const struct shard_plan *plan, double seconds, struct error *error)
{
	struct output output;
	enum status status = output_open(&output, NULL, true, error);
	if (status != OK)
		return status;
	printf("%s: %" PRIu32 " nodes, %" PRIu32 " edges\n", problem->name ? problem->name : "problem", problem->nodes, problem->edges);
	if (plan->choice)
		printf("cost         %" PRId64 "%s\npeak usage   %" PRId64 "\n", plan->cost, plan->proved ? ", proved optimal" : "", plan->peak);
	else
		printf("cost         none found\n");
	if (problem->limit >= 0)
		printf("usage limit  %" PRId64 "\n", problem->limit);
	printf("lower bound  %" PRId64, plan->bound);
	if (plan->choice && !plan->proved && plan->cost > 0)
		printf(" (gap %.3f %%)", 100 * (double)(plan->cost - plan->bound) / (double)plan->cost);
	printf("\nseconds      %.2f\n", seconds);
	return output_close(&output, OK, error);
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

/* ---- solving ---------------------------------------------------------------------------------------------------- */

static int report(const struct request *request, const struct shard_problem *problem, const struct shard_plan *plan, bool limited,
		  double seconds)
{
	struct error error = { 0 };
	enum status status = request->line.json ? write_json(plan_json(problem, plan, limited, seconds, false), NULL, &error)
		: write_text(problem, plan, seconds, &error);
	if (status == OK && request->line.output)
		status = write_json(plan_json(problem, plan, limited, seconds, true), request->line.output, &error);
	if (status != OK)
		return complain(NULL, &error, status);
	if (batch_signal())
		return batch_signal();
	if (plan->choice)
		return EXIT_FINE;
	complain_line("%s: no choice within the usage limit was found", request->problem);
	return EXIT_LIMIT;
}

static int solve(const struct request *request, const struct shard_problem *problem)
{
	struct error error = { 0 };
	struct shard_plan plan;
	struct control control = { .cancel = batch_cancel() };
	struct shard_options options = { .effort = request->line.seconds > 0 ? UINT64_MAX / 2 : SHARD_EFFORT_DEFAULT };
	double start = now();
	batch_progress(&control);
	enum status status = shard_solve(problem, &options, &control, &plan, &error);
	batch_progress_done();
	int code;
	if (status == OK || status == LIMIT || status == CANCELLED)
		code = report(request, problem, &plan, status != OK, now() - start);
	else
		code = complain(request->problem, &error, status);
	shard_plan_free(&plan);
	return code;
}

/* ---- verifying ------------------------------------------------------------------------------------------------- */

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
	if (!certificate->start)
		return NO_MEMORY;
	if (json_array_size(messages) != problem->edges)
		return BAD_INPUT;
	json_array_foreach(messages, i, row)
		certificate->start[i + 1] = certificate->start[i] + json_array_size(row);
	certificate->message = mem_alloc(certificate->start[problem->edges], sizeof *certificate->message);
	if (!certificate->message)
		return NO_MEMORY;
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
	if (!certificate->moment || !certificate->multiplier)
		return NO_MEMORY;
	if (!take_integers(moments, certificate->moment) || !take_integers(multipliers, certificate->multiplier))
		return BAD_INPUT;
	return take_messages(json_object_get(object, "messages"), problem, certificate);
}

static enum status verify_bound(const json_t *object, const struct shard_problem *problem, struct error *error)
{
	struct shard_certificate certificate = { 0 };
	int64_t bound = 0, claimed = json_integer_value(json_object_get(object, "lower_bound"));
	enum status status = take_certificate(json_object_get(object, "certificate"), problem, &certificate);
	if (status != OK)
		fail(error, status, status == NO_MEMORY ? "out of memory" : "the certificate is missing or of the wrong form");
	else
		status = shard_bound(problem, &certificate, &bound, error);
	const char *by = json_string_value(json_object_get(object, "bound_by"));
	if (status == OK && by && strcmp(by, "search") == 0) {
		printf("lower bound %" PRId64 ": by search; the certificate alone proves %" PRId64 "\n", claimed, bound);
		claimed = bound;
	}
	if (status == OK && bound < claimed)
		status = fail(error, BAD_INPUT, "lower_bound says %" PRId64 ", the certificate proves %" PRId64, claimed, bound);
	if (status == OK)
		printf("lower bound %" PRId64 ": verified\n", bound);
	shard_certificate_free(&certificate);
	return status;
}

static enum status verify_cost(const json_t *object, const struct shard_problem *problem, struct error *error)
{
	const json_t *solution = json_object_get(object, "solution"), *item;
	int64_t cost, peak, claimed = json_integer_value(json_object_get(object, "cost"));
	size_t i;
	if (json_array_size(solution) != problem->nodes)
		return fail(error, BAD_INPUT, "solution does not give every node a strategy");
	uint32_t *choice = mem_alloc(problem->nodes, sizeof *choice);
	if (!choice)
		return fail_memory(error);
	json_array_foreach(solution, i, item) {
		json_int_t value = json_is_integer(item) ? json_integer_value(item) : -1;
		choice[i] = value < 0 || value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
	}
	enum status status = shard_evaluate(problem, choice, &cost, &peak, error);
	mem_free(choice);
	if (status == OK && cost != claimed)
		return fail(error, BAD_INPUT, "cost says %" PRId64 ", the solution costs %" PRId64, claimed, cost);
	if (status == OK)
		printf("cost %" PRId64 ", peak usage %" PRId64 ": verified\n", cost, peak);
	return status;
}

static int verify(const struct request *request, const struct shard_problem *problem)
{
	struct error error = { 0 };
	json_error_t wrong;
	errno = 0;
	json_t *object = json_load_file(request->verify, 0, &wrong);
	enum status status;
	if (json_memory_failed() || (!object && errno == ENOMEM)) {
		json_decref(object);
		return complain(request->verify, &error, fail_memory(&error));
	}
	if (!object) {
		error.line = wrong.line > 0 ? (unsigned)wrong.line : 0;
		return complain(request->verify, &error, fail(&error, BAD_INPUT, "%s", wrong.text));
	}
	status = verify_cost(object, problem, &error);
	if (status == OK)
		status = verify_bound(object, problem, &error);
	json_decref(object);
	if (status == NO_MEMORY)
		return complain(request->verify, &error, status);
	return status == OK ? EXIT_FINE : (complain(request->verify, &error, status), EXIT_CONSTRAINT);
}

int shard_command(int argc, char **argv)
{
	struct request request = { .line = { .command = SUBCOMMAND_shard, .take = take_option, .context = &request, .help = print_more } };
	struct shard_problem problem;
	struct error error = { 0 };
	int code = command_line_parse(&request.line, argc, argv);
	if (code != EXIT_FINE || request.line.helped)
		return code;
	request.problem = *request.line.operand;
	/* While a problem is read, signals end the program at once: there is nothing yet that could be printed. */
	enum status status = read_problem(request.problem, &problem, &error);
	batch_limit(request.line.seconds);
	if (status == OK)
		code = request.verify ? verify(&request, &problem) : solve(&request, &problem);
	else
		code = complain(request.problem, &error, status);
	shard_problem_free(&problem);
	return code;
}
