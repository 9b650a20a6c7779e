/* fuzz_snapshot.c: anything read as a memory snapshot is refused, or its buffers are ones that a layout can be found
 * for. */
#include <string.h>

#include "solver/layout/layout.h"
#include "src/read/snapshot/snapshot.h"
#include "must.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct bytes { const uint8_t *next; size_t left; };

/* In parts of some bytes, so that every opcode is cut somewhere. */
static ssize_t read_bytes(void *context, void *buffer, size_t size, struct error *error)
{
	struct bytes *bytes = context;
	size_t part = bytes->left < 7 ? bytes->left : 7;
	(void)error;
	part = part < size ? part : size;
	memcpy(buffer, bytes->next, part);
	bytes->next += part;
	bytes->left -= part;
	return (ssize_t)part;
}

static void lay_out(const struct buffers_csv *csv, const struct snapshot_facts *facts)
{
	OWN(layout) layout = { 0 };
	struct control control = { 0 };
	struct error error = { 0 };
	struct layout_options options = { .strategy = LAYOUT_BEST, .alignment = SNAPSHOT_ALIGNMENT, .effort = 20000 };
	enum status status = layout_solve(&csv->buffers, &options, &control, &layout, &error);
	must(status == OK || status == LIMIT, error.text);
	must(layout_check(&csv->buffers, SNAPSHOT_ALIGNMENT, &layout, &error) == OK, error.text);
	must(layout.load == facts->rounded_peak, "the trace's peak isn't the load of its buffers");
}

static void as_graph(const struct snapshot *snapshot)
{
	struct error error = { 0 };
	OWN(graph) *graph = snapshot_graph(snapshot, 0, snapshot->events % 2 ? 3 : SNAPSHOT_ALLOCS_MOST, &error);
	must(graph || (error.status == BAD_INPUT && error.text[0]), "no reason is given");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct snapshot snapshot;
	struct buffers_csv csv;
	struct snapshot_facts facts;
	struct error error = { 0 };
	struct bytes bytes = { data, size };
	bool trace = size > 0 && *data == '{';
	enum status status = (trace ? trace_read : snapshot_read)((struct source){ read_bytes, &bytes }, &snapshot, &error);
	must(status == OK || (status == BAD_INPUT && error.text[0]), "no reason is given");
	if (status == OK) {
		status = snapshot_buffers(&snapshot, -1, &csv, &facts, &error);
		if (status == OK)
			status = snapshot_addresses(&snapshot, &facts, &csv, &error);
		if (status == OK)
			status = snapshot_rows(&csv, &error);
		must(status == OK || (status == BAD_INPUT && error.text[0]), "no reason is given");
		if (status == OK && csv.buffers.n < 300) {
			struct snapshot_holder holder[3];
			must(snapshot_holders(&snapshot, &csv, &facts, holder, 3) <= 3, "out of memory");
			lay_out(&csv, &facts);
			as_graph(&snapshot);
		}
		buffers_csv_free(&csv);
	}
	snapshot_free(&snapshot);
	return 0;
}
