/* stress_session.c: random use of sessions, for the thread sanitizer (Criterion doesn't run under it).
 *
 *   stress_session [ROUNDS]     SEED= sets the seed; aborts where something is inconsistent
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "tests/common/random_graph.h"
#include "src/session/session.h"

static void must(bool condition, const char *what)
{
	if (condition)
		return;
	fprintf(stderr, "stress_session: %s\n", what);
	abort();
}

static const char *const lines[] = {
	"set order=list", "set order=best", "set order=roam", "set layout=bestfit", "set layout=best", "set layout=roam", "set alignment=512",
	"set alignment=1", "reset", "undo", "undo", "redo", "baseline", "set in_place=off", "set workspace=off", "set memory=1KiB",
	"set layout_effort=0", "pin op op1 before op7", "unpin 1", "set order_effort=5", "set store=256KiB",
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
	must(!plan || plan->ordered->live[plan->ordered->peak_position] == plan_peak(plan), "a plan's peak is not where it says");
	for (uint32_t i = 0; i < session_runs(session); i++)
		must(session_run(session, i)->complete, "an unfinished plan among the runs");
}

int main(int argc, char **argv)
{
	const char *seed = getenv("SEED");
	uint64_t random = seed ? strtoull(seed, NULL, 0) : 20261121;
	long rounds = argc > 1 ? strtol(argv[1], NULL, 10) : 20;
	printf("%ld sessions, SEED=%llu\n", rounds, (unsigned long long)random);
	for (long round = 0; round < rounds; round++) {
		struct session_options options = { .interactive = round % 2 };
		struct scenario scenario;
		struct error error;
		scenario_init(&scenario);
		struct session *session = session_new(random_graph(&random, 20), NULL, &scenario, &options, &error);
		must(session != NULL, "no session");
		for (int turn = 0; turn < 100; turn++)
			use(session, &random);
		session_command(session, "reset", NULL);
		session_command(session, "set order=lpmf", NULL);
		session_wait(session);
		must(session_plan(session) && session_plan(session)->scenario.value[K_order] == ORDER_LPMF, "the last change has no plan");
		session_free(session);
	}
	return 0;
}
