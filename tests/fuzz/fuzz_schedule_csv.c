/* fuzz_schedule_csv.c: a schedule's CSV is refused with a reason, or can be played, by the checker, too, and is written
 * as it was read. */
#include <string.h>

#include "must.h"
#include "solver/pipeline/check.h"
#include "src/read/schedule_csv.h"
#include "src/write/plan_json.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Times that differ from piece to piece. */
static void play(const struct pipeline_order *order)
{
	uint32_t pieces = order->ranks * order->chunks;
	int64_t *time = malloc(4 * (size_t)pieces * sizeof *time);
	struct held *held = malloc(order->ranks * sizeof *held);
	OWN(pipeline_plan) plan;
	struct error error = { 0 };
	must(time && held, "out of memory");
	for (uint32_t k = 0; k < pieces; k++) {
		time[k] = 3 + k % 5;
		time[pieces + k] = 7 + k % 3;
		time[2 * (size_t)pieces + k] = 1 + k % 4;
		time[3 * (size_t)pieces + k] = k % 2;
	}
	struct pipeline pipeline = { .schedule = SCHEDULE_FILE,
		.ranks = order->ranks,
		.chunks = order->chunks,
		.microbatches = order->microbatches,
		.forward = time,
		.backward = time + pieces,
		.weight = time + 2 * (size_t)pieces,
		.send = time + 3 * (size_t)pieces,
		.order = order };
	must(pipeline_run(&pipeline, &plan, &error) == OK, "what is read can't be played");
	must(pipeline_check_time(&pipeline, held, NULL) == plan.time, "the checker plays it otherwise");
	free(time);
	free(held);
}

static void write_again(const struct pipeline_order *order)
{
	char *text = NULL;
	size_t size = 0;
	struct schedule_csv again;
	struct error error = { 0 };
	FILE *stream = open_memstream(&text, &size);
	must(stream != NULL, "out of memory");
	for (uint32_t r = 0; r < order->ranks; r++) {
		schedule_row_write(order->slot + (size_t)r * order->slots, order->slots, stream);
		putc('\n', stream);
	}
	must(fclose(stream) == 0, "out of memory");
	must(schedule_csv_read(text, size, &again, &error) == OK, "what is written can't be read");
	must(again.order.slots == order->slots && again.order.folded == order->folded &&
			memcmp(again.order.slot, order->slot, (size_t)order->ranks * order->slots * sizeof *order->slot) == 0,
		"what is written is another schedule");
	schedule_csv_free(&again);
	free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct schedule_csv csv;
	struct error error = { 0 };
	enum status status = size <= 4096 ? schedule_csv_read((const char *)data, size, &csv, &error) : CANCELLED;
	if (status == CANCELLED)
		return 0;
	must(status == OK || error.text[0], "refused without a reason");
	if (status == OK) {
		play(&csv.order);
		write_again(&csv.order);
	}
	schedule_csv_free(&csv);
	return 0;
}
