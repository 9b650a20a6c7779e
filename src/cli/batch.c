/* batch.c: what the subcommands without a screen share. */
#include <signal.h>
#include <sys/time.h>
#include <unistd.h>

#include "batch.h"
#include "src/base/output.h"
#include "src/base/source.h"
#include "src/read/launch.h"
#include "src/plan/verdict.h"

/* Signals and the time limit can only speak through globals; solvers get a pointer to the flag. */
static atomic_bool cancel;
static volatile sig_atomic_t caught;

int batch_set_lines(
	const char *path, int64_t devices, int (*set)(void *context, const char *assignment), void *context)
{
	OWN(launch) launch;
	struct error error = { 0 };
	int code = EXIT_FINE;
	if (launch_read(&launch, path, devices, &error) != OK)
		return complain(path, &error, error.status);
	FOR_WHILE(i, launch.lines, code == EXIT_FINE) {
		const struct error *said = &launch.line[i].said;
		if (launch.line[i].note)
			complain(path, said, BAD_INPUT);
		else if ((code = *said->text == '@' ? EXIT_USAGE : set(context, said->text)) != EXIT_FINE)
			complain_line("%s:%u: \"%s\" was to be set", path, said->line, said->text);
	}
	return code;
}

static int batch_set_line(void *context, const char *assignment)
{
	return batch_set(context, assignment);
}

int batch_set(struct scenario *scenario, const char *assignment)
{
	if (*assignment == '@')
		return batch_set_lines(assignment + 1, scenario_devices(scenario), batch_set_line, scenario);
	struct error error = { 0 };
	if (text_begins(assignment, "without=")) {
		steps_leave_out(strchr(assignment, '=') + 1);
		return EXIT_FINE;
	}
	if (scenario_set(scenario, assignment, &error) == OK)
		return EXIT_FINE;
	int code = complain(NULL, &error, error.status);
	return error.status == BAD_INPUT && error.line == 0 ? EXIT_USAGE
		: code; /* a line of a file is not the command line's fault */
}

int batch_pin(struct scenario *scenario, const char *text)
{
	struct error error = { 0 };
	if (scenario_pin(scenario, text, &error) == OK)
		return EXIT_FINE;
	complain(NULL, &error, BAD_INPUT);
	return EXIT_USAGE;
}

void batch_doubt(const struct scenario *scenario, const struct graph *graph)
{
	char doubt[160];
	if (*scenario_doubt(scenario, graph, doubt, sizeof doubt))
		complain_line("%s", doubt);
}

int batch_seconds(const char *command, const char *text, double *seconds)
{
	char *end;
	*seconds = strtod(text, &end);
	if (end == text || *end || !(*seconds > 0) || *seconds > 1e7)
		return usage_error(command, "--time %s: expected seconds, more than 0", text);
	return EXIT_FINE;
}

static void batch_on_signal(int number)
{
	if (number != SIGALRM && source_waits()) {
		output_end_by_signal(number);
		return;
	}
	if (number != SIGALRM)
		caught = number;
	atomic_store(&cancel, true);
}

void batch_limit(double seconds)
{
	struct sigaction action = { .sa_handler = batch_on_signal, .sa_flags = SA_RESTART };
	sigemptyset(&action.sa_mask);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGINT, &action, NULL);
	sigaction(SIGALRM, &action, NULL);
	if (seconds > 0 && seconds < 2e-6)
		seconds = 2e-6; /* a timer of 0 never ends */
	struct itimerval timer = { .it_value = { (time_t)seconds, (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6) } };
	setitimer(ITIMER_REAL, &timer, NULL);
}

void batch_limit_signals_end(void)
{
	signal(SIGTERM, SIG_DFL);
	signal(SIGINT, SIG_DFL);
}

const atomic_bool *batch_cancel(void)
{
	return &cancel;
}

int batch_signal(void)
{
	return caught ? 128 + caught : 0;
}

static void batch_show_progress(void *context, const struct progress *progress)
{
	(void)context;
	fprintf(stderr, "\r\033[K%s %3.0f %%  best %s  bound %s", progress->stage,
		progress->fraction < 0 ? 0 : 100 * progress->fraction, progress->best >= 0 ? BYTES(progress->best) : "",
		progress->bound >= 0 ? BYTES(progress->bound) : "");
}

void batch_progress(struct control *control)
{
	if (isatty(STDERR_FILENO))
		control->report = batch_show_progress;
}

void batch_progress_done(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

struct plan *batch_plan(struct graph *graph, const char *path, const struct scenario *scenario, const char *rules_file,
	enum planner_depth depth, int *exit_code)
{
	struct error error = { 0 };
	OWN(planner) planner = { .store = store_new(), .rules_file = rules_file, .once = true,
		.control = { .cancel = batch_cancel() } };
	struct plan *plan = NULL;
	batch_progress(&planner.control);
	if (planner.store)
		plan = planner_run(&planner, graph, scenario, depth, &error);
	else
		fail_memory(&error);
	batch_progress_done();
	if (!plan)
		*exit_code = batch_signal() && error.status == CANCELLED ? batch_signal() : complain(path, &error, error.status);
	return plan;
}

int plan_exit(const struct plan *plan)
{
	struct verdict verdict = plan_verdict(plan);
	if (plan->limited)
		complain_line("cut short: a better plan may exist");
	if (!fits_runs(verdict.fits)) {
		complain_line("%s", verdict_text(&verdict, TEXT(VERDICT_TEXT)));
		return batch_signal() ? batch_signal() : EXIT_CONSTRAINT;
	}
	return batch_signal();
}
