/* unit_read_options.c: how a graph is read, from words and to words; a session that is taken up reads its graph the
 * same way. */
#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/read/input.h"
#include "src/tidemark.h"

Test(read_options, words_and_back)
{
	static const char *const words[] = { "", " --graph 2", " --fusions open",
		" --graph 7 --fusions open --dim batch=8 --dim s0=12" };
	for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
		struct read_options options = { 0 };
		struct error error = { 0 };
		char text[1200];
		cr_assert_eq(read_options_parse(&options, words[i], &error), OK, "%s", error.text);
		cr_expect_str_eq(read_options_text(&options, text, sizeof text), words[i]);
	}
}

Test(read_options, what_is_wrong_is_said)
{
	static const struct { const char *words, *said; } wrong[] = {
		{ "--graph 0", "--graph 0: expected a number" },
		{ "--graph two", "expected a number" },
		{ "--graph", "expected a number" },
		{ "--dim s0", "expected NAME=SIZE" },
		{ "--dim =8", "expected NAME=SIZE" },
		{ "--dim s0=0", "expected NAME=SIZE" },
		{ "--dim s0=8x", "expected NAME=SIZE" },
		{ "--fusions half", "closed or open" },
		{ "--other 1", "expected --graph, --dim or --fusions" },
		{ "graph=2", "behind the file" },
	};
	for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
		struct read_options options = { 0 };
		struct error error = { 0 };
		cr_expect_eq(read_options_parse(&options, wrong[i].words, &error), BAD_INPUT, "%s", wrong[i].words);
		cr_expect_not_null(strstr(error.text, wrong[i].said), "%s: %s", wrong[i].words, error.text);
	}
	struct read_options options = { 0 };
	for (int i = 0; i < READ_DIMS_MOST; i++)
		cr_assert_eq(read_options_take(&options, "dim", "a=1", NULL), OK);
	cr_expect_eq(read_options_take(&options, "dim", "a=1", NULL), BAD_INPUT);
}

/* Bytes of the graph that a session's own file gives back; the file is written to path. */
static int64_t taken_up(struct session *session, const char *path)
{
	struct error error = { 0 };
	struct scenario scenario;
	char line[300];
	snprintf(line, sizeof line, "save %s", path);
	cr_assert_eq(session_command(session, line, &error), OK, "%s", error.text);
	scenario_init(&scenario);
	OWN(session) *again = session_new(NULL, NULL, &scenario, &(struct session_options){ 0 }, &error);
	struct input *input = input_open(path, &error);
	struct source source = input_source(input);
	cr_assert_eq(session_replay(again, &source, false, NULL, NULL, &error), OK, "%s", error.text);
	input_close(input);
	session_wait(again);
	session_poll(again);
	cr_assert_not_null(session_plan(again));
	int64_t peak = plan_peak(session_plan(again));
	return peak;
}

Test(read_options, a_session_reads_its_graph_the_same_way)
{
	struct error error = { 0 };
	struct scenario scenario;
	struct read_options options = { 0 };
	char path[] = "/tmp/tidemark-read-XXXXXX";
	close(mkstemp(path));
	cr_assert_eq(read_options_take(&options, "dim", "s0=64", &error), OK);
	scenario_init(&scenario);
	struct graph *graph = graph_open("tests/corpus/fx/symbols.py", &options, &error);
	struct session *session = session_new(
		graph, "tests/corpus/fx/symbols.py", &scenario, &(struct session_options){ .reading = &options }, &error);
	int64_t of_64 = taken_up(session, path);
	cr_assert_eq(session_command(session, "open tests/corpus/fx/symbols.py --dim s0=8", &error), OK, "%s", error.text);
	int64_t of_8 = taken_up(session, path);
	cr_assert_eq(session_command(session, "open tests/corpus/fx/symbols.py", &error), OK, "%s", error.text);
	int64_t unknown = taken_up(session, path);
	cr_expect(of_64 > of_8 && of_8 > unknown, "%lld > %lld > %lld", (long long)of_64, (long long)of_8, (long long)unknown);
	cr_expect_eq(session_command(session, "open tests/corpus/fx/symbols.py --dim s0", &error), BAD_INPUT);
	session_free(session);
	unlink(path);
}
