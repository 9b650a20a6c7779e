/* unit_lines.c: lines of any length, devices, directories; jansson without memory. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "src/base/json.h"
#include "src/base/lines.h"
#include "src/read/input.h"
#include "src/scenario/knobs.h"
#include "src/session/config.h"
#include "tests/common/support.h"

static void write_file(const char *path, const char *text, size_t size)
{
	FILE *file = fopen(path, "w");
	fwrite(text, 1, size, file);
	fclose(file);
}

/* "a", a line of `longest` letters, "b": the long one is whole, or refused as a whole, and the next is the next. */
Test(lines, none_is_split_where_a_buffer_ends)
{
	char path[] = "/tmp/tidemark-lines-XXXXXX";
	close(mkstemp(path));
	for (size_t longest = LINE_MOST - 3; longest < LINE_MOST + 4; longest++) {
		char text[LINE_MOST + 100];
		size_t size = (size_t)snprintf(text, sizeof text, "a\r\n%0*d\nb", (int)longest, 7);
		struct lines lines;
		struct error error = { 0 };
		write_file(path, text, size);
		cr_assert_eq(lines_open(&lines, path, &error), OK, "%s", error.text);
		cr_assert_eq(lines_next(&lines, &error), 1);
		cr_assert_str_eq(lines.text, "a\r");
		int got = lines_next(&lines, &error);
		cr_assert_eq(got, longest <= LINE_MOST ? 1 : -1, "%zu", longest);
		cr_assert(got < 0 ? error.line == 2 && strstr(error.text, "longer than") : strlen(lines.text) == longest);
		cr_assert_eq(lines_next(&lines, &error), 1);
		cr_assert_str_eq(lines.text, "b");
		cr_assert_eq(lines.number, 3);
		cr_assert_eq(lines_next(&lines, &error), 0);
		lines_close(&lines);
	}
	remove(path);
}

Test(lines, a_directory_a_device_and_a_byte_0_are_refused)
{
	struct lines lines;
	struct error error = { 0 };
	cr_assert_eq(lines_open(&lines, "/tmp", &error), BAD_INPUT);
	cr_assert_str_eq(error.text, "is a directory");
	cr_assert_eq(lines_open(&lines, "/nowhere/at/all", &error), BAD_INPUT);
	cr_assert_eq(lines_open(&lines, "/dev/zero", &error), OK);
	cr_assert_eq(lines_next(&lines, &error), -1);
	cr_assert_eq(lines_next(&lines, &error), 0);
	lines_close(&lines);
	char path[] = "/tmp/tidemark-lines-XXXXXX";
	close(mkstemp(path));
	write_file(path, "\xef\xbb\xbfx\n\xef\xbb\xbfy\n", 10);   /* a byte order mark stands at the beginning alone */
	cr_assert_eq(lines_open(&lines, path, &error), OK);
	cr_assert(lines_next(&lines, &error) == 1 && strcmp(lines.text, "x") == 0);
	cr_assert(lines_next(&lines, &error) == 1 && strcmp(lines.text, "\xef\xbb\xbfy") == 0);
	lines_close(&lines);
	write_file(path, "x\0y\nz\n", 6);
	cr_assert_eq(lines_open(&lines, path, &error), OK);
	cr_assert_eq(lines_next(&lines, &error), -1);
	cr_assert_eq(lines_next(&lines, &error), 1);
	cr_assert_str_eq(lines.text, "z");
	lines_close(&lines);
	remove(path);
}

/* The tail of a long line isn't taken for a statement. */
Test(lines, a_long_line_of_the_configuration_is_one_warning)
{
	char path[] = "/tmp/tidemark-config-XXXXXX", text[6000];
	struct user_config config;
	close(mkstemp(path));
	memset(text, 'x', sizeof text);
	memcpy(text + 5000, " set order program\n", 19);
	write_file(path, text, 5019);
	cr_assert_eq(config_read(&config, path), 1);
	cr_assert_eq(config.scenario.value[K_order], knobs[K_order].normal);
	scenario_done(&config.scenario);
	cr_assert_eq(config_read(&config, "/nowhere/at/all"), 0);
	scenario_done(&config.scenario);
	cr_assert_eq(config_read(&config, "/tmp"), 1);
	scenario_done(&config.scenario);
	remove(path);
}

/* Every allocation of jansson's fails once: never a wrong graph, never another status than out of memory. */
/* Of jansson, unit_record. */
Test(lines, memory_that_ends_while_a_graph_is_read_is_said)
{
	struct error error = { 0 };
	json_memory_watch();
	long before = memory_blocks();
	struct graph *whole = graph_open("samples/diamond.jsonl", NULL, &error);
	cr_assert_not_null(whole, "%s", error.text);
	for (long n = 0;; n = memory_next(n)) {
		error = (struct error){ 0 };
		memory_allow(n);
		struct graph *graph = graph_open("samples/diamond.jsonl", NULL, &error);
		memory_allow(-1);
		if (graph) {
			cr_assert_eq(graph->fingerprint, whole->fingerprint, "allocation %ld", n);
			graph_release(graph);
			cr_assert_gt(n, 20, "%ld", n);
			break;
		}
		cr_assert_eq(error.status, NO_MEMORY, "allocation %ld: %s", n, error.text);
		cr_assert(*error.text, "allocation %ld: no word", n);
	}
	graph_release(whole);
	cr_assert_eq(memory_blocks(), before);
	cr_assert_not(json_memory_failed());
}

Test(lines, a_byte_order_mark_is_skipped)
{
	char path[] = "/tmp/tidemark-mark-XXXXXX", text[20000];
	struct error error = { 0 };
	FILE *file = fopen("samples/diamond.jsonl", "r");
	size_t size = fread(text + 3, 1, sizeof text - 3, file) + 3;
	fclose(file);
	text[0] = '\xef', text[1] = '\xbb', text[2] = '\xbf';
	close(mkstemp(path));
	write_file(path, text, size);
	struct graph *marked = graph_open(path, NULL, &error), *plain = graph_open("samples/diamond.jsonl", NULL, &error);
	cr_assert_not_null(marked, "%s", error.text);
	cr_assert_eq(marked->fingerprint, plain->fingerprint);
	graph_release(marked);
	graph_release(plain);
	remove(path);
}
