/* fuzz_buffers_csv.c: anything read as a CSV of buffers is refused or gets a layout that the checker accepts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/layout/layout.h"
#include "src/read/problems/buffers_csv.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void lay_out(const struct buffers *buffers, enum layout_strategy strategy)
{
	OWN(layout) layout = { 0 };
	struct control control = { 0 };
	struct error error = { 0 };
	struct layout_options options = { .strategy = strategy, .alignment = 1, .effort = 20000 };
	enum status status = layout_solve(buffers, &options, &control, &layout, &error);
	if (status == OK && layout_check(buffers, 1, &layout, &error) != OK) {
		fprintf(stderr, "%s: %s\n", layout_strategy_names[strategy], error.text);
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OWN(buffers_csv) csv;
	struct error error;
	if (buffers_csv_read((const char *)data, size, &csv, &error) == OK && csv.buffers.n < 300) {
		lay_out(&csv.buffers, LAYOUT_BEST);
		lay_out(&csv.buffers, LAYOUT_ROAM);
		lay_out(&csv.buffers, LAYOUT_LLFB);
	}
	return 0;
}
