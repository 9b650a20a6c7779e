/* unit_snapshot.c: PyTorch's memory snapshots: what is read out of them, and what is refused. */
#include <string.h>

#include "src/read/input.h"
#include "src/read/snapshot/snapshot.h"
#include "tests/common/named.h"
#include "tests/common/support.h"
#include "tests/fuzz/as_file.h"

/* ---- pickles made here ----------------------------------------------------------------------- */

struct pickle { unsigned char data[(1 << 20) + 16]; size_t size; };

static void put(struct pickle *pickle, const void *data, size_t size)
{
	cr_assert(pickle->size + size <= sizeof pickle->data);
	memcpy(pickle->data + pickle->size, data, size);
	pickle->size += size;
}

#define PUT(pickle, text) put(pickle, text, sizeof text - 1)

static void put_text(struct pickle *pickle, const char *text)
{
	unsigned char head[2] = { 0x8c, (unsigned char)strlen(text) };
	put(pickle, head, 2);
	put(pickle, text, strlen(text));
}

static void put_number(struct pickle *pickle, const char *key, int64_t number)
{
	unsigned char long1[11] = { 0x8a, number < 0 ? 9 : 8 };   /* without a sign, as addresses have none */
	for (int i = 0; i < 8; i++)
		long1[i + 2] = (unsigned char)((uint64_t)number >> 8 * i);
	put_text(pickle, key);
	put(pickle, long1, number < 0 ? 11 : 10);
}

static void put_event(struct pickle *pickle, const char *action, int64_t address, int64_t size)
{
	PUT(pickle, "}\x94(");
	put_text(pickle, "action");
	put_text(pickle, action);
	put_number(pickle, "addr", address);
	put_number(pickle, "size", size);
	PUT(pickle, "u");
}

static void begin(struct pickle *pickle)
{
	*pickle = (struct pickle){ 0 };
	PUT(pickle, "\x80\x04}\x94(");
}

/* One segment of that many bytes, with a block in use at its beginning. */
static void put_segments(struct pickle *pickle, int64_t address, int64_t bytes, int64_t used)
{
	put_text(pickle, "segments");
	PUT(pickle, "](}(");
	put_number(pickle, "address", address);
	put_number(pickle, "total_size", bytes);
	put_text(pickle, "blocks");
	PUT(pickle, "](}(");
	put_number(pickle, "size", used);
	put_text(pickle, "state");
	put_text(pickle, "active_allocated");
	PUT(pickle, "u}(");
	put_number(pickle, "size", bytes - used);
	put_text(pickle, "state");
	put_text(pickle, "inactive");
	PUT(pickle, "ueue");
}

static void begin_trace(struct pickle *pickle)
{
	put_text(pickle, "device_traces");
	PUT(pickle, "](](");
}

static void end(struct pickle *pickle)
{
	PUT(pickle, "eeu.");
}

static struct source source_of(const struct pickle *pickle, struct text_left *left)
{
	*left = (struct text_left){ (const char *)pickle->data, pickle->size };
	return source_of_text(left);
}

static enum status read_all(
	struct pickle *pickle, struct buffers_csv *csv, struct snapshot_facts *facts, struct error *error)
{
	struct snapshot snapshot;
	struct text_left left;
	*csv = (struct buffers_csv){ 0 };
	*error = (struct error){ 0 };
	enum status status = snapshot_read(source_of(pickle, &left), &snapshot, error);
	if (status == OK)
		status = snapshot_buffers(&snapshot, -1, csv, facts, error);
	if (status == OK)
		status = snapshot_addresses(&snapshot, facts, csv, error);
	if (status == OK)
		status = snapshot_rows(csv, error);
	snapshot_free(&snapshot);
	return status;
}

/* ---- what is read ---------------------------------------------------------------------------- */

static struct pickle pickle;

Test(snapshot, lives_last_from_alloc_to_free_completed_and_beyond_the_trace_on_both_sides)
{
	OWN(buffers_csv) csv;
	struct snapshot_facts facts;
	struct error error;
	begin(&pickle);
	put_segments(&pickle, 4096, 1 << 20, 700);
	begin_trace(&pickle);
	put_event(&pickle, "segment_alloc", 1 << 21, 1 << 20);
	put_event(&pickle, "alloc", 8192, 1000);
	put_event(&pickle, "free_completed", 65536, 300);    /* allocated before the trace */
	put_event(&pickle, "free_requested", 8192, 1000);
	put_event(&pickle, "snapshot", 0, 0);
	put_event(&pickle, "free_completed", 8192, 1000);
	put_event(&pickle, "segment_free", 1 << 21, 1 << 20);
	put_event(&pickle, "alloc", 8192, 10);
	end(&pickle);
	cr_assert_eq(read_all(&pickle, &csv, &facts, &error), OK, "%s", error.text);
	static const int64_t expected[][3] = { { 1, 5, 1000 }, { 0, 2, 300 }, { 7, 8, 10 }, { 0, 8, 700 } };
	cr_assert_eq(csv.buffers.n, 4);
	for (uint32_t i = 0; i < 4; i++) {
		cr_expect_eq(csv.buffers.lower[i], expected[i][0]);
		cr_expect_eq(csv.buffers.upper[i], expected[i][1]);
		cr_expect_eq(csv.buffers.size[i], expected[i][2]);
	}
	cr_expect_eq(facts.peak, 2000);
	cr_expect_eq(facts.rounded_peak, 1024 + 512 + 1024);
	cr_expect_eq(facts.reserved, 2 << 20);
	cr_expect_eq(facts.before, 2);
	cr_expect_eq(facts.after, 2);
	cr_expect_eq(csv.row[0].length, strlen("0,1,5,1000"));
	cr_expect(memcmp(csv.row[0].text, "0,1,5,1000", csv.row[0].length) == 0);
}

/* Intel's devices have them. */
Test(snapshot, addresses_above_2_63_are_addresses)
{
	OWN(buffers_csv) csv;
	struct snapshot_facts facts;
	struct error error;
	int64_t high = (int64_t)UINT64_C(0xffffe80000000000);
	begin(&pickle);
	put_segments(&pickle, high, 1 << 20, 512);
	begin_trace(&pickle);
	put_event(&pickle, "alloc", high + 1024, 1000);
	put_event(&pickle, "free_completed", high + 1024, 1000);
	end(&pickle);
	cr_assert_eq(read_all(&pickle, &csv, &facts, &error), OK, "%s", error.text);
	cr_assert_eq(csv.buffers.n, 2);
	cr_expect_eq(facts.peak, 1512);
}

/* As python -m torch.cuda._memory_viz wraps it. */
static void wrap(const struct pickle *from, struct pickle *page, const char *head, const char *tail)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	page->size = strlen(head);
	memcpy(page->data, head, page->size);
	for (size_t i = 0; i < from->size + 3 - from->size % 3; i += 3) {
		uint32_t bits = 0;
		for (size_t k = 0; k < 3; k++)
			bits = bits << 8 | (i + k < from->size ? (unsigned char)from->data[i + k] : 0);
		for (int k = 3; k >= 0; k--)
			page->data[page->size++] = letters[bits >> 6 * k & 63];
	}
	memcpy(page->data + page->size, tail, strlen(tail));
	page->size += strlen(tail);
}

Test(snapshot, the_page_that_shows_a_snapshot_holds_it)
{
	static const char head[] =
		"\n<!DOCTYPE html>\n<script type=\"module\">\nimport {add_local_files} from \"https://x/MemoryViz.js\"\nconst "
		"local_files = [{\"name\": \"snapshot.pickle\", \"base64\": \"";
	static struct pickle page;
	static const struct {
		const char *head, *tail, *what;
	} bad[] = { { head, "", "the page ends within its snapshot" }, { head, "?\"}]", NULL },
		{ "<html>", "", "the page holds no snapshot in base64" } };
	struct buffers_csv csv;
	struct snapshot_facts facts;
	struct error error;
	for (size_t more = 0; more < 3; more++) {
		begin(&pickle);
		begin_trace(&pickle);
		for (int i = 0; i < 300; i++)
			put_event(&pickle, "alloc", 4096 * (i + 1), 1000 + i);
		for (size_t i = 0; i < more; i++)
			put_event(&pickle, "free_completed", 4096, 1000);
		end(&pickle);
		pickle.size += more;     /* what follows is no part of it */
		wrap(&pickle, &page, head, "\"}]\n</script>");
		cr_assert_eq(read_all(&page, &csv, &facts, &error), OK, "%s", error.text);
		cr_expect_eq(facts.peak, 300 * 1000 + 299 * 150);
		buffers_csv_free(&csv);
	}
	pickle.size = 100;
	for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
		wrap(&pickle, &page, bad[i].head, bad[i].tail);
		cr_assert_eq(read_all(&page, &csv, &facts, &error), BAD_INPUT);
		cr_expect(!bad[i].what || strstr(error.text, bad[i].what), "%s", error.text);
		buffers_csv_free(&csv);
	}
}

/* The peak of random traces, counted beside the reader. */
Test(snapshot, peaks_are_those_of_the_trace)
{
	uint64_t seed = test_seed();
	for (int round = 0; round < 50; round++) {
		int64_t size[64] = { 0 }, now = 0, peak = 0;
		struct buffers_csv csv;
		struct snapshot_facts facts;
		struct snapshot snapshot;
		struct text_left left;
		struct error error;
		uint32_t allocated = 0;
		begin(&pickle);
		begin_trace(&pickle);
		for (int i = 0; i < 500; i++) {
			int slot = (int)(random_next(&seed) % 64);
			bool alloc = size[slot] == 0;
			size[slot] = alloc ? ((int64_t)(random_next(&seed) % 200) + 1) * 512 : size[slot];
			put_event(&pickle, alloc ? "alloc" : "free_completed", 1 + slot * INT64_C(1048576), size[slot]);
			now += alloc ? size[slot] : -size[slot];
			peak = now > peak ? now : peak;
			allocated += alloc;
			size[slot] = alloc ? size[slot] : 0;
		}
		end(&pickle);
		cr_assert_eq(read_all(&pickle, &csv, &facts, &error), OK, "%s", error.text);
		cr_assert_eq(facts.peak, peak, "round %d, seed %llu", round, (unsigned long long)test_seed());
		cr_assert_eq(csv.buffers.n, allocated, "round %d", round);
		cr_assert_eq(facts.before, 0);
		struct allocated whole, grown;
		cr_assert(layout_holds(&csv.buffers, false, -1, &whole) && layout_holds(&csv.buffers, true, -1, &grown));
		buffers_csv_free(&csv);
		cr_assert_eq(snapshot_read(source_of(&pickle, &left), &snapshot, &error), OK);
		struct graph *graph = snapshot_graph(&snapshot, 0, SNAPSHOT_ALLOCS_MOST, &error),
					 *grouped = snapshot_graph(&snapshot, 0, 20, &error);
		snapshot_free(&snapshot);
		cr_assert(graph && grouped, "%s", error.text);
		cr_assert(grouped->ops >= 20 && grouped->ops < graph->ops && grouped->tensors <= graph->tensors);
		cr_assert_eq(grouped->about.intake.caching[0], whole.reserved,
			"round %d: the allocator is simulated with each buffer, joined or not", round);
		cr_assert_eq(grouped->about.intake.caching[1], grown.reserved);
		cr_assert_eq(graph->about.intake.caching[0], 0);
		cr_assert_eq(program_peak(grouped), peak, "round %d, seed %llu: in groups %lld", round,
			(unsigned long long)test_seed(), (long long)program_peak(grouped));
		graph_release(grouped);
		cr_assert_eq(graph->ops, allocated + 1);
		cr_assert_eq(program_peak(graph), peak, "round %d, seed %llu: as a graph", round, (unsigned long long)test_seed());
		graph_release(graph);
	}
}

/* What is alive at a step: rounded up or not. */
static int64_t alive_at(const struct buffers *buffers, int64_t step, bool rounded)
{
	int64_t sum = 0;
	for (uint32_t i = 0; i < buffers->n; i++)
		sum += buffers->lower[i] <= step && step < buffers->upper[i]
			? rounded ? align_up(buffers->size[i], SNAPSHOT_ALIGNMENT) : buffers->size[i]
			: 0;
	return sum;
}

static void check_sums(const struct buffers_csv *csv, const struct snapshot_facts *facts, uint32_t events)
{
	const struct buffers *buffers = &csv->buffers;
	int64_t peak[2] = { 0, 0 }, first = 0;
	for (uint32_t step = 0; step < events; step++)
		for (int k = 0; k < 2; k++) {
			int64_t sum = alive_at(buffers, step, k == 1);
			first = k == 0 && sum > peak[0] ? step : first;
			peak[k] = sum > peak[k] ? sum : peak[k];
		}
	cr_assert_eq(facts->peak, peak[0]);
	cr_assert_eq(facts->rounded_peak, peak[1]);
	cr_assert_eq(facts->peak_event, first);
	for (uint32_t i = 0; i < buffers->n; i++) {
		int64_t sum = alive_at(buffers, buffers->lower[i], true) - align_up(buffers->size[i], SNAPSHOT_ALIGNMENT);
		cr_assert(facts->origin[i].before || facts->alive[i] == sum, "%lld and %lld", (long long)facts->alive[i],
			(long long)sum);
	}
}

/* Traces that begin and end in the middle, with frees that are missing and frees of nothing: sums kept along the trace
 * are those of the lives. */
Test(snapshot, sums_along_a_trace_are_those_of_the_lives)
{
	uint64_t seed = test_seed();
	for (int round = 0; round < 50; round++) {
		struct buffers_csv csv;
		struct snapshot_facts facts;
		struct error error;
		begin(&pickle);
		begin_trace(&pickle);
		for (int i = 0; i < 200; i++)
			put_event(&pickle, random_next(&seed) % 2 ? "alloc" : "free_completed",
				1 + (int64_t)(random_next(&seed) % 24) * 1048576, (int64_t)(random_next(&seed) % 3000) + 1);
		end(&pickle);
		cr_assert_eq(read_all(&pickle, &csv, &facts, &error), OK, "%s", error.text);
		cr_assert_gt(facts.before, 0);
		check_sums(&csv, &facts, 200);
		buffers_csv_free(&csv);
	}
}

/* Frames and lists of them are shared through the memo, as PyTorch writes them. */
Test(snapshot, stack_traces_say_who_asked)
{
	static const char *const path[] = { "tests/corpus/snapshot/stacks_2.pickle", "tests/corpus/snapshot/stacks_5.pickle" };
	for (int i = 0; i < 2; i++) {
		struct error error = { 0 };
		struct graph *graph = graph_open(path[i], NULL, &error);
		cr_assert(graph, "%s: %s", path[i], error.text);
		cr_expect_eq(graph->ops, 5, "an op for each allocation, and one for what came before");
		cr_expect_str_eq(
			op_named(graph, "forward.1")->src, "/home/u/model.py:6 in forward", "the innermost frame of one's own");
		cr_expect_str_eq(op_named(graph, "forward.1")->module, "main.forward");
		cr_expect_eq(op_named(graph, "main.3")->phase, PHASE_BACKWARD);
		cr_expect_eq(op_named(graph, "main.4")->phase, PHASE_UPDATE);
		cr_expect_eq(tensor_named(graph, "b4")->kind, KIND_OUTPUT, "never given back");
		cr_expect_eq(tensor_named(graph, "b5")->kind, KIND_BUFFER, "there all the time");
		cr_expect_eq(program_peak(graph), 9608);
		graph_release(graph);
		cr_expect_null(graph_open(path[i], &(struct read_options){ .graph = 2 }, &error), "there is one device");
		cr_expect_eq(error.status, BAD_INPUT);
	}
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void expect_refused(struct pickle *bad, const char *reason)
{
	OWN(buffers_csv) csv;
	struct snapshot_facts facts;
	struct error error;
	cr_expect_eq(read_all(bad, &csv, &facts, &error), BAD_INPUT, "%s", reason);
	cr_expect(strstr(error.text, reason), "%s, not: %s", reason, error.text);
}

#define REFUSED(text, reason) \
	do { \
		pickle = (struct pickle){ 0 }; \
		PUT(&pickle, text); \
		expect_refused(&pickle, reason); \
	} while (0)

Test(snapshot, nothing_is_called)
{
	REFUSED("\x80\x02" "cos\nsystem\n(X\4\0\0\0truetR.", "(GLOBAL)");
	REFUSED("\x80\x04\x8c\2os\x8c\6system\x93.", "(STACK_GLOBAL)");
	REFUSED("\x80\x02)R.", "(REDUCE)");
	REFUSED("\x80\x02)\x81.", "(NEWOBJ)");
	REFUSED("\x80\x02}}b.", "(BUILD)");
	REFUSED("\x80\x02(ios\nsystem\n.", "(INST)");
	REFUSED("\x80\x02\x82\1.", "(EXT1)");
	REFUSED("\x80\x02P1\n.", "(PERSID)");
	REFUSED("\x80\x05\x97.", "(NEXT_BUFFER)");
}

Test(snapshot, broken_pickles_are_refused)
{
	REFUSED("", "truncated");
	REFUSED("\x80\x02", "truncated");
	REFUSED("\x80\x06.", "not a pickle of protocols");
	REFUSED("\x80\x02\xff.", "0xff is not an opcode");
	REFUSED("\x80\x02.", "more than one value, or none");
	REFUSED("\x80\x02" "0", "empty stack");
	REFUSED("\x80\x02u", "misses a mark");
	REFUSED("\x80\x02(u", "sets a key in what is not a dict");
	REFUSED("\x80\x02}(Nu", "without a value");
	REFUSED("\x80\x02NNa", "appends to what is not a list");
	REFUSED("\x80\x02](N\x86", "empty stack");
	REFUSED("\x80\x02]r\xff\xff\xff\xff.", "memo skips");
	REFUSED("\x80\x02h\1.", "what isn't there");
	REFUSED("\x80\x02]q\0h\0Na.", "out of its memo");
	REFUSED("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff" "abc", "truncated");
	REFUSED("\x80\x04\x8e\0\0\0\0\0\0\0\x80" "abc", "truncated");
	REFUSED("\x80\x02\x8b\xff\xff\xff\xff" "abc", "truncated");
	REFUSED("\x80\x02}.", "not a memory snapshot");
	REFUSED("\x80\x04}\x8c\x0d" "device_traces]s.", "no events");
	REFUSED("\x80\x04}\x8c\x0d" "device_traces]Nas.", "no events");
	REFUSED("\x80\x04}\x8c\x0d" "device_tracesNs.", "not a list of lists");
}

Test(snapshot, a_stack_has_an_end)
{
	pickle = (struct pickle){ .data = "\x80\x02", .size = sizeof pickle.data };
	memset(pickle.data + 2, 'N', sizeof pickle.data - 2);
	expect_refused(&pickle, "stack of more than a million");
	memset(pickle.data + 2, '(', sizeof pickle.data - 2);
	expect_refused(&pickle, "nested too deeply");
}

Test(snapshot, sizes_have_limits)
{
	begin(&pickle);
	begin_trace(&pickle);
	put_event(&pickle, "alloc", 0, INT64_MIN);
	end(&pickle);
	expect_refused(&pickle, "an event's size");
	begin(&pickle);
	begin_trace(&pickle);
	for (int i = 0; i < 3; i++)
		put_event(&pickle, "alloc", i, BYTES_MAX / 2);
	end(&pickle);
	expect_refused(&pickle, "add up to more than 2^60");
	begin(&pickle);
	begin_trace(&pickle);
	put_event(&pickle, "segment_alloc", 0, BYTES_MAX);
	put_event(&pickle, "segment_map", 0, BYTES_MAX);
	end(&pickle);
	expect_refused(&pickle, "segments add up");
}

Test(snapshot, memory_may_end_anywhere)
{
	begin(&pickle);
	put_segments(&pickle, 4096, 1 << 20, 700);
	begin_trace(&pickle);
	for (int i = 0; i < 40; i++)
		put_event(&pickle, i % 2 ? "free_completed" : "alloc", 1 << 22, 512);
	end(&pickle);
	EACH_REFUSAL(refused) {
		OWN(buffers_csv) csv;
		struct snapshot_facts facts;
		struct error error;
		refused.status = read_all(&pickle, &csv, &facts, &error);
	}
}

Test(snapshot, kept_as_json)
{
	static const char text[] = " {\"segments\": [], \"device_traces\": [[{\"action\": \"alloc\", \"addr\": 4096, \"size\": 512, "
		"\"frames\": [{\"filename\": \"a.py\", \"line\": 3, \"name\": \"f\"}], \"time_us\": 1.5, \"category\": null, "
		"\"user\": true}, {\"action\": \"free_completed\", \"addr\": 4096, \"size\": 512}]]}";
	for (size_t cut = sizeof text - 1; cut > 1; cut -= cut > 100 ? 40 : 1) {
		char path[40];
		struct snapshot snapshot = { 0 };
		struct error error = { 0 };
		int descriptor = as_file(text, cut, path);
		struct input *input = input_open(path, &error);
		enum status status = snapshot_of_input(input, false, &snapshot, &error);
		cr_expect_eq(status, cut == sizeof text - 1 ? OK : BAD_INPUT, "%zu: %s", cut, error.text);
		cr_expect_eq(snapshot.events, status == OK ? 2 : 0);
		cr_expect(status == OK || error.text[0]);
		snapshot_free(&snapshot);
		input_close(input);
		close(descriptor);
	}
}
