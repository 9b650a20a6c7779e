/* shard_command.c: `tidemark shard PROBLEM.json`: one strategy per node for any problem of the contest's format. */
#include <inttypes.h>
#include <jansson.h>

#include "src/base/clock.h"
#include "batch.h"
#include "src/base/output.h"
#include "options.h"
#include "shard_check.h"
#include "src/base/words.h"
#include "src/base/json_memory.h"

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

/* ---- writing ----------------------------------------------------------------------------------------------------- */

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
	TRY(output_open(&output, NULL, true, error));
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

/* ---- solving ---------------------------------------------------------------------------------------------------- */

static int report(const struct request *request, const struct shard_problem *problem, const struct shard_plan *plan, bool limited,
		  double seconds)
{
	struct error error = { 0 };
	enum status status = request->line.json ? write_json(shard_json(problem, plan, limited, seconds, request->line.seconds, false), NULL, &error)
		: write_text(problem, plan, seconds, &error);
	if (status == OK && request->line.output)
		status = write_json(shard_json(problem, plan, limited, seconds, request->line.seconds, true), request->line.output, &error);
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
	OWN(shard_plan) plan;
	struct control control = { .cancel = batch_cancel() };
	struct shard_options options = { .effort = request->line.seconds > 0 ? UINT64_MAX / 2 : SHARD_EFFORT_DEFAULT };
	double start = clock_seconds(CLOCK_MONOTONIC);
	batch_progress(&control);
	enum status status = shard_solve(problem, &options, &control, &plan, &error);
	batch_progress_done();
	int code;
	if (status == OK || status == LIMIT || status == CANCELLED)
		code = report(request, problem, &plan, status != OK, clock_seconds(CLOCK_MONOTONIC) - start);
	else
		code = complain(request->problem, &error, status);
	return code;
}

static int verify(const struct request *request, const struct shard_problem *problem)
{
	struct error error = { 0 };
	enum status status = shard_check_file(problem, request->verify, true, stdout, &(struct check_outcome){ .over = 0 }, &error);
	return status == OK ? EXIT_FINE : complain(request->verify, &error, status);
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
	enum status status = shard_problem_open(request.problem, &problem, &error);
	batch_limit(request.line.seconds);
	if (status == OK)
		code = request.verify ? verify(&request, &problem) : solve(&request, &problem);
	else
		code = complain(request.problem, &error, status);
	shard_problem_free(&problem);
	return code;
}
