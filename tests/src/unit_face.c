/* unit_face.c: a whole program on src/tidemark.h alone: open, set, plan, ask, export, check. */
#include <stdio.h>
#include <unistd.h>

#include "src/tidemark.h"
#include "tests/common/support.h"

Test(face, plans_exports_and_checks)
{
	struct error error = { 0 };
	const struct session_options options = { 0 };
	OWN(session) *session = session_new(NULL, NULL, NULL, &options, &error);
	cr_assert_not_null(session, "%s", error.text);
	static const char *const lines[] = { "open samples/diamond.jsonl", "set order=best batch=2" };
	FOR(i, COUNT_OF(lines))
		cr_assert_eq(session_command(session, lines[i], &error), OK, "%s: %s", lines[i], error.text);
	session_wait(session);
	session_poll(session);
	const struct plan *plan = session_plan(session);
	cr_assert_not_null(plan, "%s", session_problem(session));
	cr_expect_eq(plan->ordered->result.peak, plan->ordered->result.proof.bound, "the best order of a small graph is proved");

	char path[] = "/tmp/tidemark-face-XXXXXX", line[100];
	FILE *report = tmpfile();
	close(mkstemp(path));
	snprintf(line, sizeof line, "export json %s", path);
	cr_assert_eq(session_command(session, line, &error), OK, "%s", error.text);
	struct check_outcome outcome;
	const struct check_options checks = { .report = report };
	cr_expect_eq(plan_check(plan->input, path, &checks, &outcome, &error), OK, "%s", error.text);
	cr_expect_not(outcome.partly);
	fclose(report);
	remove(path);
}
