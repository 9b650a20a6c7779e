/* unit_child.c: running programs with limits, and drawing through tidemark-dot. */
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "src/base/clock.h"
#include "src/base/child.h"
#include "src/read/dot_child.h"
#include "src/base/safe_text.h"
#include "tests/common/support.h"

Test(child, passes_bytes_through)
{
	size_t size = 3 << 20;
	HELD char *input = mem_alloc(size, 1);
	uint64_t state = test_seed();
	for (size_t i = 0; i < size; i++)
		input[i] = (char)random_next(&state);
	struct child_result result;
	struct error error;
	const char *cat[] = { "cat", NULL };
	cr_assert_eq(child_run(NULL, cat, input, size, &(struct child_limits){ 0 }, &result, &error), OK);
	cr_expect_eq(result.code, 0);
	cr_assert_eq(result.length, size);
	cr_expect_eq(memcmp(result.output, input, size), 0);
	mem_free(result.output);
}

Test(child, reports_status_signal_and_message)
{
	static char input[1 << 20];
	struct child_result result;
	struct error error;
	const char *status[] = { "sh", "-c", "echo wrong >&2; exit 7", NULL };
	cr_assert_eq(child_run(NULL, status, input, sizeof input, &(struct child_limits){ 0 }, &result, &error), OK);
	cr_expect_eq(result.code, 7);
	cr_expect_str_eq(result.message, "wrong\n");
	mem_free(result.output);
	const char *dies[] = { "sh", "-c", "kill -9 $$", NULL };
	cr_assert_eq(child_run(NULL, dies, input, sizeof input, &(struct child_limits){ 0 }, &result, &error), OK);
	cr_expect_eq(result.code, 128 + 9);
	mem_free(result.output);
	const char *missing[] = { "/nowhere/program", NULL };
	cr_expect_eq(child_run(NULL, missing, "", 0, &(struct child_limits){ 0 }, &result, &error), LIMIT);
}

Test(child, is_stopped_by_time_and_by_too_much_output)
{
	struct child_result result;
	struct error error;
	double start = clock_seconds(CLOCK_MONOTONIC);
	const char *sleeper[] = { "sh", "-c", "sleep 60 & sleep 60", NULL };
	cr_expect_eq(child_run(NULL, sleeper, "", 0, &(struct child_limits){ .milliseconds = 100 }, &result, &error), LIMIT);
	const char *talker[] = { "cat", "/dev/zero", NULL };
	cr_expect_eq(child_run(NULL, talker, "", 0, &(struct child_limits){ .output = 100000 }, &result, &error), LIMIT);
	cr_expect_lt(clock_seconds(CLOCK_MONOTONIC) - start, 20);
	cr_expect_null(result.output);
}

static void *set_later(void *flag)
{
	nanosleep(&(struct timespec){ .tv_nsec = 50000000 }, NULL);
	atomic_store((atomic_bool *)flag, true);
	return NULL;
}

Test(child, is_stopped_by_the_flag)
{
	static atomic_bool flag;
	pthread_t thread;
	struct child_result result;
	struct error error;
	const char *sleeper[] = { "sleep", "60", NULL };
	double start = clock_seconds(CLOCK_MONOTONIC);
	cr_assert_eq(pthread_create(&thread, NULL, set_later, &flag), 0);
	cr_expect_eq(child_run(NULL, sleeper, "", 0, &(struct child_limits){ .cancel = &flag }, &result, &error), CANCELLED);
	cr_expect_lt(clock_seconds(CLOCK_MONOTONIC) - start, 10);
	pthread_join(thread, NULL);
}

/* It has said all, and stays: it is not waited for without end. */
Test(child, one_that_closes_its_output_but_stays_is_ended)
{
	const char *arguments[] = { "/bin/sh", "-c", "echo said; exec 0<&- 1>&- 2>&-; sleep 60", NULL };
	struct child_limits limits = { .milliseconds = 30000 };
	struct child_result result;
	struct error error = { 0 };
	double start = clock_seconds(CLOCK_MONOTONIC);
	cr_assert_eq(child_run(NULL, arguments, NULL, 0, &limits, &result, &error), OK, "%s", error.text);
	cr_expect_lt(clock_seconds(CLOCK_MONOTONIC) - start, 10);
	cr_expect_str_eq(result.output, "said\n");
	cr_expect(result.code != 0 && result.stayed);
	mem_free(result.output);
}

/* A flood of warnings is no reason to wait until the time is over. */
Test(child, one_that_warns_without_end_is_ended)
{
	const char *arguments[] = { "/bin/sh", "-c", "exec yes 'a warning of a library that never comes to an end' >&2",
		NULL };
	struct child_result result;
	struct error error = { 0 };
	double start = clock_seconds(CLOCK_MONOTONIC);
	cr_expect_eq(child_run(NULL, arguments, NULL, 0, &(struct child_limits){ .milliseconds = 60000 }, &result, &error), LIMIT);
	cr_expect_str_eq(error.text, "its warnings are too long");
	cr_expect_lt(clock_seconds(CLOCK_MONOTONIC) - start, 30);
	cr_expect_null(result.output);
}

/* Tests run in BUILD/tests/src/base, the programs are in BUILD: only what is named or lies beside is run. */
static void find_programs(void)
{
	char path[4096], value[5000];
	ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
	cr_assert_gt(length, 0);
	path[length] = '\0';
	for (int i = 0; i < 4; i++)
		*strrchr(path, '/') = '\0';
	snprintf(value, sizeof value, "%s/tidemark-dot", path);
	setenv("TIDEMARK_DOT", value, 1);
}

Test(dot_child, draws)
{
	find_programs();
	setenv("ASAN_OPTIONS", "detect_leaks=0", 1);   /* of fontconfig */
	const char *text = "digraph { a -> b }";
	char *picture;
	size_t length;
	struct error error;
	cr_assert_eq(
		dot_child_render(text, strlen(text), "svg", false, NULL, &picture, &length, &error), OK, "%s", error.text);
	cr_expect(strstr(picture, "</svg>"));
	mem_free(picture);
}

Test(safe_text, passes_one_byte_that_is_no_utf8)
{
	static const struct { const char *text; uint32_t character; int length; } cases[] = {
		{ "a", 'a', 1 },
		{ "é", 0xe9, 2 },
		{ "日", 0x65e5, 3 },
		{ "\U0001f600", 0x1f600, 4 },
		{ "\xc3", UNREADABLE, 1 },
		{ "\x80x", UNREADABLE, 1 },
		{ "\xc0\x80", UNREADABLE, 1 },
		{ "\xe0\x80\x80", UNREADABLE, 1 },
		{ "\xed\xa0\x80", UNREADABLE, 1 },
		{ "\xf4\x90\x80\x80", UNREADABLE, 1 },
		{ "\xff", UNREADABLE, 1 },
		{ "", 0, 0 },
	};
	for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
		const char *at = cases[i].text;
		cr_expect_eq(text_next(&at), cases[i].character, "case %zu", i);
		cr_expect_eq(at - cases[i].text, cases[i].length, "case %zu", i);
	}
	char buffer[8];
	cr_expect_str_eq(text_clean("a\x1b日", buffer, sizeof buffer), "a\ufffd日");
	cr_expect_str_eq(text_clean("a\x1b日", buffer, 7), "a\ufffd");
}

Test(dot_child, runs_no_program_that_is_merely_on_the_path)
{
	char folder[] = "/tmp/tidemark-path-XXXXXX", path[200], value[5000];
	struct error error = { 0 };
	cr_assert(mkdtemp(folder));
	snprintf(path, sizeof path, "%s/tidemark-dot", folder);
	FILE *program = fopen(path, "w");
	fputs("#!/bin/sh\necho '{}'\n", program);
	fclose(program);
	chmod(path, 0755);
	snprintf(value, sizeof value, "%s:%s", folder, getenv("PATH"));
	setenv("PATH", value, 1);
	unsetenv("TIDEMARK_DOT");
	char *picture;
	size_t length;
	cr_expect_eq(dot_child_render("digraph { a }", 13, "svg", false, NULL, &picture, &length, &error), LIMIT);
	cr_expect(strstr(error.text, "TIDEMARK_DOT"), "%s", error.text);
	/* Whatever the named one says, crashes or hangs on, is an error, too. */
	static const char *const scripts[] = { "echo nonsense", "kill -SEGV $$", "exit 7", "sleep 30",
		"echo '<svg'; sleep 30", "yes" };
	for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
		program = fopen(path, "w");
		fprintf(program, "#!/bin/sh\n%s\n", scripts[i]);
		fclose(program);
		setenv("TIDEMARK_DOT", path, 1);
		error = (struct error){ 0 };
		cr_expect_neq(dot_child_render("digraph { a }", 13, "svg", false, &(struct dot_limits){ .milliseconds = 700 },
			&picture, &length, &error), OK, "%s", scripts[i]);
		cr_expect(error.status != OK && *error.text, "%s", scripts[i]);
	}
	remove(path);
	remove(folder);
}
