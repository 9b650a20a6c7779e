/* stress_session.c: random use of sessions, for the thread sanitizer (Criterion doesn't run under it), and what memory
 * many plans of a large graph take.
 *
 *   stress_session [ROUNDS]           SEED= sets the seed; aborts where something is inconsistent
 *   stress_session GRAPH CHANGES [quick]   so many random changes of knobs, each planned to its end; aborts where the
 * program is above what `store` allows; quick: heuristics alone, whose results weigh as much */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/read/input.h"
#include "tests/common/random_graph.h"
#include "src/scenario/knobs.h"
#include "src/tidemark.h"

static void must(bool condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "stress_session: %s\n", what);
	abort();
}

static const char *const lines[] = {
	"set order=list",
	"set order=best",
	"set order=roam",
	"set layout=bestfit",
	"set layout=best",
	"set layout=roam",
	"set alignment=512",
	"set alignment=1",
	"reset",
	"undo",
	"undo",
	"redo",
	"baseline",
	"set in_place=off",
	"set workspace=off",
	"set memory=1KiB",
	"set layout_effort=0",
	"pin op op1 before op7",
	"unpin 1",
	"set order_effort=5",
	"set store=256KiB",
};

static void use(struct session *session, uint64_t *random)
{
	struct session_status status;
	session_command(session, lines[random_next(random) % (sizeof lines / sizeof *lines)], NULL);
	if (random_next(random) % 3 == 0)
		session_preview(session, random_next(random) % 2 ? K_alignment : K_workspace, random_next(random) % 2);
	if (random_next(random) % 5 == 0)
		session_cancel(session);
	if (random_next(random) % 7 == 0)
		session_wait(session);
	if (random_next(random) % 3 == 0)
		usleep((useconds_t)(random_next(random) % 2000));
	session_poll(session);
	session_status(session, &status);
	const struct plan *plan = session_plan(session);
	must(!plan || plan->ordered->live[plan->ordered->peak_position] == plan_peak(plan),
		"a plan's peak is not where it says");
	for (uint32_t i = 0; i < session_runs(session); i++)
		must(session_run(session)[i]->complete, "an unfinished plan among the runs");
}

/* Bytes of this process in memory. */
static int64_t resident(void)
{
	long pages = 0;
	FILE *file = fopen("/proc/self/statm", "r");
	if (!file || fscanf(file, "%*d %ld", &pages) != 1)
		pages = 0;
	if (file)
		fclose(file);
	return (int64_t)pages * sysconf(_SC_PAGESIZE);
}

/* Kept results and kept runs are within `store` each; the step that is planned at the moment, with its graphs, comes on
 * top: as much again and what it took at first. */
static int many_changes(const char *path, long changes, bool quick, uint64_t random)
{
	static const char *const knob[] = { "order=program", "order=list", "order=lpmf", "order=best", "layout=bestfit",
		"layout=llfb", "layout=best", "layout=caching", "alignment=1", "alignment=256", "alignment=512", "in_place=on",
		"in_place=off", "batch=1", "batch=2", "batch=4", "batch=8", "precision=given", "precision=bf16",
		"precision=mixed", "recompute=none", "recompute=selective", "recompute=full", "optimizer=given",
		"optimizer=sgd", "workspace=on", "workspace=off" };
	struct session_options options = { .interactive = false };
	OWN(scenario) scenario;
	struct error error;
	char line[100];
	int64_t first = 0, most = 0, store;
	scenario_init(&scenario);
	store = scenario.value[K_store];
	if (quick)
		must(scenario_set(&scenario, "order=list", &error) == OK &&
				scenario_set(&scenario, "layout=bestfit", &error) == OK,
			"no knobs");
	struct graph *graph = graph_open(path, NULL, &error);
	OWN(session) *session = graph ? session_new(graph, path, &scenario, &options, &error) : NULL;
	must(session != NULL, "no session");
	for (long i = 0; i <= changes; i++) {
		session_wait(session);
		int64_t now = resident();
		first = i == 0 ? now : first;
		most = now > most ? now : most;
		if (i % 100 == 0 || i == changes)
			printf("%ld changes: %lld MiB resident, %lld at most, %u runs kept\n", i, (long long)(now >> 20),
				(long long)(most >> 20), session_runs(session)),
				fflush(stdout);
		must(most < 3 * store + 2 * first, "more memory than the store may take");
		do
			snprintf(line, sizeof line, "set %s", knob[random_next(&random) % (sizeof knob / sizeof *knob)]);
		while (quick && strstr(line, "=best") && !strstr(line, "=bestfit"));
		session_command(session, line, NULL);
	}
	return 0;
}

int main(int argc, char **argv)
{
	const char *seed = getenv("SEED");
	uint64_t random = seed ? strtoull(seed, NULL, 0) : 20261121;
	if (argc > 2)
		return many_changes(argv[1], strtol(argv[2], NULL, 10), argc > 3, random);
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 20;
	printf("%ld sessions, SEED=%llu\n", rounds, (unsigned long long)random);
	for (long round = 0; round < rounds; round++) {
		struct session_options options = { .interactive = round % 2 };
		struct scenario scenario;
		struct error error;
		scenario_init(&scenario);
		OWN(session) *session = session_new(random_graph(&random, 20), NULL, &scenario, &options, &error);
		must(session != NULL, "no session");
		for (int turn = 0; turn < 100; turn++)
			use(session, &random);
		session_command(session, "reset", NULL);
		session_command(session, "set order=lpmf", NULL);
		session_wait(session);
		must(session_plan(session) && session_plan(session)->scenario.value[K_order] == ORDER_LPMF,
			"the last change has no plan");
	}
	return 0;
}
