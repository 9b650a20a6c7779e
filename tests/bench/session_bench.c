/* session_bench.c: how long after a turned knob the explorer has a first plan, one whose step is within 2 % of the
 * complete one's, and that.
 *
 *   session_bench GRAPH LINE ...     one row per line of the session language; what ran before stays in the store */
#include <poll.h>
#include <stdio.h>

#include "src/base/clock.h"
#include "src/read/input.h"
#include "src/tidemark.h"

struct moment {
	double wall, cpu;              /* seconds; cpu: of all threads */
};

static struct moment since(struct moment begin)
{
	return (struct moment){ clock_seconds(CLOCK_MONOTONIC) - begin.wall,
		clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - begin.cpu };
}

static int64_t session_time(const struct session *session)
{
	const struct plan *plan = session_plan(session);
	return plan ? plan_step_time(plan) : 0;
}

#define SHOWN_MOST 64

/* Waits for the plan of the present scenario; *first: when any plan of it was there, *near: one within 2 % of it. */
static struct moment wait_for_plan(
	struct session *session, struct moment begin, struct moment *first, struct moment *near)
{
	struct session_status status;
	struct pollfd wake = { .fd = session_wake_fd(session), .events = POLLIN };
	struct moment shown[SHOWN_MOST];
	int64_t time[SHOWN_MOST];
	int plans = 0;
	do {
		poll(&wake, 1, 1000);
		if (session_poll(session) && plans < SHOWN_MOST) {
			shown[plans] = since(begin);
			time[plans++] = session_time(session);
		}
		session_status(session, &status);
	} while (status.solving);
	struct moment done = since(begin);
	*first = plans > 0 ? shown[0] : done;
	*near = done;
	for (int i = plans; i-- > 0 && time[i] <= session_time(session) + session_time(session) / 50; )
		*near = shown[i];
	return done;
}

static void row(struct session *session, const char *line)
{
	struct error error = { 0 };
	struct moment begin = since((struct moment) { 0, 0 }), first, near, done;
	if (line && session_command(session, line, &error) != OK) {
		printf("| %s | %s |\n", line, error.text);
		return;
	}
	done = wait_for_plan(session, begin, &first, &near);
	const struct plan *plan = session_plan(session);
	printf("| %s | %.0f | %.0f | %.0f | %.0f | %.0f | %.0f | %.1f |\n", line ? line : "(opened)",
		1e3 * first.wall, 1e3 * first.cpu,
		1e3 * near.wall, 1e3 * near.cpu, 1e3 * done.wall, 1e3 * done.cpu, plan ? (double)plan_arena(plan) / (1 << 20) : -1);
}

int main(int argc, char **argv)
{
	struct error error = { 0 };
	struct scenario scenario;
	struct graph *graph = argc > 1 ? graph_open(argv[1], NULL, &error) : NULL;
	if (!graph) {
		fprintf(stderr, "session_bench: %s\n", argc > 1 ? error.text : "which GRAPH?");
		return 2;
	}
	printf("%s: %u ops, %u tensors. From a command to its plan, in ms (wall, CPU):\n\n"
		   "| command | first | CPU | within 2 %% | CPU | complete | CPU | arena MiB |\n|---|--:|--:|--:|--:|--:|--:|--:|\n",
		graph->name, graph->ops, graph->tensors);
	scenario_init(&scenario);
	struct session *session = session_new(graph, argv[1], &scenario, &(struct session_options){ 0 }, &error);
	scenario_done(&scenario);
	if (!session) {
		fprintf(stderr, "session_bench: %s\n", error.text);
		return 4;
	}
	row(session, NULL);
	for (int i = 2; i < argc; i++)
		row(session, argv[i]);
	session_free(session);
	return 0;
}
