/* fuzz_buffers_csv.c: anything read as a CSV of buffers is refused or gets a layout that the checker accepts. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "solver/layout/pools/pools.h"
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

static void lay_out_linked(const struct buffers_csv *csv)
{
	OWN(linked_layout) result = { 0 };
	struct control control = { 0 };
	struct error error = { 0 };
	struct layout_options options = { .strategy = LAYOUT_BEST, .alignment = 1, .effort = 20000 };
	enum status status = layout_solve_linked(&csv->buffers, &csv->links, &options, &control, &result, &error);
	if (status == OK && layout_check_links(&csv->buffers, &csv->links, 1, result.offset, result.donor, result.layout.arena, &error) != OK) {
		fprintf(stderr, "linked: %s\n", error.text);
		abort();
	}
}

/* Pools with capacities made from the sizes. */
static void lay_out_in_pools(const struct buffers_csv *csv)
{
	int64_t capacity[16] = { 0 };
	if (csv->pools == 0 || csv->pools > 16 || csv->buffers.n == 0 || csv->buffers.n > 60)
		return;
	for (uint32_t p = 0; p + 1 < csv->pools; p++)
		capacity[p] = csv->buffers.size[p % csv->buffers.n] / 2 + 1 + csv->buffers.size[csv->buffers.n / 2];
	struct layout_pools pools = { csv->pools, capacity, csv->candidates, csv->spill_cost };
	OWN(pooled_layout) result = { 0 };
	struct control control = { 0 };
	struct error error = { 0 };
	struct layout_options options = { .strategy = LAYOUT_BEST, .alignment = 1, .effort = 20000 };
	enum status status = layout_solve_pools(&csv->buffers, &csv->links, &pools, &options, &control, &result, &error);
	if (status == OK && layout_check_pools(&csv->buffers, &csv->links, &pools, 1, &result, &error) != OK) {
		fprintf(stderr, "pools: %s\n", error.text);
		abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	OWN(buffers_csv) csv;
	struct error error;
	if (buffers_csv_read((const char *)data, size, NULL, 0, &csv, &error) == OK && csv.buffers.n < 300) {
		lay_out(&csv.buffers, LAYOUT_BEST);
		lay_out(&csv.buffers, LAYOUT_ROAM);
		lay_out(&csv.buffers, LAYOUT_LLFB);
		lay_out_linked(&csv);
		lay_out_in_pools(&csv);
	}
	return 0;
}
