/* layout_bench.c: lays out the buffers of a CSV without some steps. layout_bench STEPS BUFFERS.csv[.gz] ...: a line for
 * each, arena, bound and CPU seconds; STEPS as `--set without=` has them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/base/names.h"
#include "src/base/clock.h"
#include "src/read/input.h"
#include "src/read/problems/buffers_csv.h"

#define MANY 100000        /* buffers, for which `tidemark layout` is what asks: with its effort */

static void bench(const char *path)
{
	struct error error = { 0 };
	struct control control = { 0 };
	struct layout_options options = { .strategy = LAYOUT_BEST, .alignment = 1, .effort = LAYOUT_EFFORT_DEFAULT };
	struct buffers_csv csv = { 0 };
	struct layout layout;
	size_t size = 0;
	struct input *input = input_open(path, &error);
	char *text = input ? input_all(input, (size_t)1 << 30, &size, &error) : NULL;
	double start = clock_seconds(CLOCK_PROCESS_CPUTIME_ID);
	if (!text || buffers_csv_read(text, size, &csv, &error) != OK) {
		fprintf(stderr, "layout_bench: %s: %s\n", path, error.text);
		exit(3);
	}
	if (csv.buffers.n >= MANY)
		options.effort = LAYOUT_EFFORT(5);
	if (layout_solve(&csv.buffers, &options, &control, &layout, &error) != OK ||
		layout_check(&csv.buffers, 1, &layout, &error) != OK) {
		fprintf(stderr, "layout_bench: %s: %s\n", path, error.text);
		exit(3);
	}
	printf("%" PRId64 " %" PRId64 " %.3f\n", layout.arena, layout.proof.bound,
		clock_seconds(CLOCK_PROCESS_CPUTIME_ID) - start);
	layout_free(&layout);
	buffers_csv_free(&csv);
	mem_free(text);
	input_close(input);
}

int main(int count, char **argument)
{
	if (count < 3)
		return 2;
	steps_leave_out(argument[1]);
	for (int i = 2; i < count; i++)
		bench(argument[i]);
	return 0;
}
