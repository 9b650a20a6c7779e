/* unit_trace.c: traces of torch.profiler, made at random, against what a list of their allocations says. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>

#include "src/read/snapshot/snapshot.h"
#include "tests/common/support.h"

static enum status read_text(const char *text, struct snapshot *snapshot, struct error *error)
{
	struct text_left left = { text, strlen(text) };
	return trace_read(source_of_text(&left), snapshot, error);
}

static void refused(const char *text, const char *why)
{
	struct snapshot snapshot;
	struct error error = { 0 };
	cr_assert_eq(read_text(text, &snapshot, &error), BAD_INPUT, "%s", text);
	cr_assert(strstr(error.text, why), "%s: %s", text, error.text);
	unsigned lines = 1;
	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	cr_assert(lines == 1 || error.line == lines, "%s: line %u", text, error.line);
	snapshot_free(&snapshot);
}

#define MEMORY(at, bytes, address, total) \
	"{\"ph\":\"i\",\"name\":\"[memory]\",\"tid\":7,\"ts\":" #at ",\"args\":{\"Total Reserved\":4096,\"Total Allocated\":" #total \
	",\"Bytes\":" #bytes ",\"Device Id\":0,\"Device Type\":1,\"Addr\":" #address "}}"
#define SPAN(kind, called, from, time) \
	"{\"ph\":\"X\",\"cat\":\"" kind "\",\"name\":\"" called "\",\"tid\":7,\"ts\":" #from ",\"dur\":" #time "}"

Test(trace, names_ops_by_the_spans_around_them)
{
	struct snapshot snapshot;
	struct error error = { 0 };
	char text[200];
	cr_assert_eq(read_text("{\"a\": \"traceEvents\", \"traceEvents\" : [" SPAN("cpu_op", "aten::mm", 10, 5) ", " SPAN(
		"python_function", "model.py(12): forward", 8, 9) "," MEMORY(11, 512, 1000, 512) "," MEMORY(30, 64, 5000, 576) "]}",
		&snapshot, &error), OK, "%s", error.text);
	cr_assert_eq(snapshot.traces, 1);
	cr_assert_eq(snapshot.events, 2);
	uint32_t stack = snapshot.event[0].stack;
	cr_assert_str_eq(stacks_frame_text(&snapshot.stacks, stacks_place(&snapshot.stacks, stack), text, sizeof text),
		"model.py:12 in forward");
	cr_assert(stacks_within(&snapshot.stacks, stack, "aten::mm"));
	cr_assert_eq(snapshot.event[1].stack, 0, "no span is around it");
	snapshot_free(&snapshot);
}

Test(trace, what_is_wrong_is_said)
{
	refused("{}", "no traceEvents");
	refused("{\"traceEvents\": 3}", "not a list");
	refused("{\"traceEvents\": [", "ends within");
	refused("{\"traceEvents\": [3]}", "not an object");
	refused("{\"traceEvents\": [{\"name\": \"[memory]\", \"args\": {", "ends within");
	refused("{\"traceEvents\": [\n{},\n{\"name\": \"[memory]\",\n,}]}", "is no JSON");
	refused("{\"traceEvents\": []}", "profile_memory=True");
	refused("{\"traceEvents\": [" SPAN("cpu_op", "aten::mm", 10, 5) "]}", "profile_memory=True");
	refused("{\"traceEvents\": [{\"name\": \"[memory]\", oops}]}", "no JSON");
	refused("{\"traceEvents\": [{\"name\": \"[memory]\", \"args\": {\"Bytes\": 3}}]}", "lacks Addr");
	refused("{\"traceEvents\": [" MEMORY(1, 2305843009213693952, 3, 4) "]}", "out of range");
	refused("{\"traceEvents\": [" MEMORY(1, -8, 3, 9223372036854775807) "]}", "out of range");
}

/* ---- at random: three steps of two devices, with what was there before and what stays ---- */

enum { ADDRESSES = 12, EVENTS = 240 };

struct maker {
	uint64_t rng;
	int64_t size[2][ADDRESSES]; /* what lies there now, 0: nothing */
	int64_t total[2];
	char *text;
	size_t length, room;
};

static uint32_t trace_below(struct maker *maker, uint32_t limit)
{
	return (uint32_t)(random_next(&maker->rng) % limit);
}

__attribute__((format(printf, 2, 3))) static void trace_put(struct maker *maker, const char *format, ...)
{
	va_list list;
	va_start(list, format);
	maker->length += (size_t)vsnprintf(maker->text + maker->length, maker->room - maker->length, format, list);
	va_end(list);
}

/* A random allocation or release; the text says it. Returns the device. */
static uint32_t one_event(struct maker *maker, int time)
{
	uint32_t device = trace_below(maker, 2), place = trace_below(maker, ADDRESSES);
	int64_t *size = &maker->size[device][place], change = *size ? -*size : 512 * (1 + (int64_t)trace_below(maker, 40));
	*size = *size ? 0 : change;
	maker->total[device] += change;
	trace_put(maker, "%s{\"ph\":\"i\",\"name\":\"[memory]\",\"tid\":7,\"ts\":%d.5,\"args\":{\"Total Reserved\":0,"
		"\"Total Allocated\":%" PRId64 ",\"Bytes\":%" PRId64 ",\"Device Id\":%u,\"Device Type\":1,\"Addr\":%u}}",
		time ? "," : "", time, maker->total[device], change, device, 1000 + 100000 * (2 * place + device));
	return device;
}

/* Makes the events, and the peaks of the three steps: what is there behind some event of the device. */
static void make_events(struct maker *maker, const int bound[4], int64_t peak[3][2], uint32_t count[3])
{
	for (int time = 0; time < EVENTS; time++) {
		uint32_t device = one_event(maker, time);
		for (int step = 0; step < 3; step++)
			if (time >= bound[step] && time < bound[step + 1]) {
				count[step]++;
				peak[step][device] = maker->total[device] > peak[step][device] ? maker->total[device] : peak[step][device];
			}
	}
}

static void check_peaks(const struct maker *maker, const int64_t peak[2], uint64_t seed)
{
	struct snapshot snapshot;
	struct error error = { 0 };
	cr_assert_eq(read_text(maker->text, &snapshot, &error), OK, "seed %" PRIu64 ": %s", seed, error.text);
	cr_assert_eq(snapshot.traces, 2);
	for (int device = 0; device < 2; device++) {
		struct buffers_csv csv;
		struct snapshot_facts facts;
		cr_assert_eq(snapshot_buffers(&snapshot, device, &csv, &facts, &error), OK, "%s", error.text);
		cr_assert_eq(facts.peak, peak[device], "seed %" PRIu64 ", device %d: %" PRId64 " of %" PRId64, seed, device,
			facts.peak, peak[device]);
		buffers_csv_free(&csv);
	}
	snapshot_free(&snapshot);
}

static void check_random(uint64_t seed)
{
	struct maker maker = { .rng = seed, .room = 1 << 17 };
	int64_t peak[3][2] = { { 0 } };
	uint32_t count[3] = { 0 };
	int bound[4] = { 20 + (int)trace_below(&maker, 30) }, chosen = 0;
	maker.text = malloc(maker.room);
	for (int device = 0; device < 2; device++)
		for (int place = 0; place < ADDRESSES; place++)
			if (trace_below(&maker, 3) == 0)
				maker.total[device] += maker.size[device][place] = 512 * (1 + (int64_t)trace_below(&maker, 9));
	for (int i = 1; i < 4; i++)
		bound[i] = bound[i - 1] + 30 + (int)trace_below(&maker, 30);
	trace_put(&maker, "{\"traceEvents\":[");
	make_events(&maker, bound, peak, count);
	for (int step = 0; step < 3; step++) {
		trace_put(&maker, "," SPAN("user_annotation", "ProfilerStep#%d", %d, %d), step, bound[step],
			bound[step + 1] - bound[step]);
		chosen = count[step] >= count[chosen] ? step : chosen;
	}
	trace_put(&maker, "]}");
	check_peaks(&maker, peak[chosen], seed);
	free(maker.text);
}

Test(trace, peaks_of_a_step_are_those_of_its_allocations)
{
	uint64_t seed = test_seed();
	for (uint64_t i = 0; i < 300; i++)
		check_random(seed + i);
}

/* ---- what grows -------------------------------------------------------------------------------- */

struct leak { int64_t bytes; bool marked; };

static void put_moment(struct maker *maker, int time, int address, int64_t bytes)
{
	maker->total[0] += bytes;
	trace_put(maker, "," MEMORY(%d, %d, %d, %d), time, (int)maker->total[0], (int)bytes, address);
}

/* Six steps of four activations and a gradient, with state made in the first; each leaves that many bytes behind. */
static void make_leak(struct maker *maker, struct leak leak)
{
	int at = 10, state = 1, kept = 1000;
	trace_put(maker, "{\"traceEvents\":[" SPAN("python_function", "model.py(3): forward", 0, 1));
	for (int step = 0; step < 6; step++) {
		int from = at;
		for (int i = 0; i < 4; i++, at += 2) {
			trace_put(maker, "," SPAN("python_function", "model.py(%d): forward", %d, 1), 3 + i, at);
			put_moment(maker, at, 16 * (10 + i), 512 * (1 + i));
		}
		if (leak.bytes) {
			trace_put(maker, "," SPAN("python_function", "log.py(44): keep", %d, 1), at);
			put_moment(maker, at, 16 * kept++, leak.bytes);
		}
		at += 2;
		if (step == 0) {
			trace_put(maker, "," SPAN("python_function", "adam.py(9): state", %d, 1), at);
			put_moment(maker, at, 16 * state, 4096);
		}
		for (int i = 0; i < 4; i++)
			put_moment(maker, ++at, 16 * (10 + i), -512 * (1 + i));
		at += 10;
		if (leak.marked)
			trace_put(maker, "," SPAN("user_annotation", "ProfilerStep#%d", %d, %d), step, from, at - from);
	}
	trace_put(maker, "]}");
}

static void check_leak(struct leak leak, const char *says)
{
	struct maker maker = { .room = 1 << 17 };
	struct snapshot snapshot;
	struct buffers_csv csv;
	struct snapshot_facts facts;
	struct error error = { 0 };
	maker.text = malloc(maker.room);
	make_leak(&maker, leak);
	cr_assert_eq(read_text(maker.text, &snapshot, &error), OK, "%s", error.text);
	cr_assert_eq(snapshot_buffers(&snapshot, -1, &csv, &facts, &error), OK, "%s", error.text);
	cr_assert_str_eq(facts.grows, says);
	buffers_csv_free(&csv);
	snapshot_free(&snapshot);
	free(maker.text);
}

Test(trace, what_every_step_leaves_behind_has_its_place)
{
	check_leak((struct leak){ 0, true }, "");
	check_leak((struct leak){ 0, false }, "");
	check_leak((struct leak){ 3072, true }, "3.00 KiB more each step, over 5 steps: 3.00 KiB by log.py:44 in keep");
	check_leak((struct leak){ 3072, false }, "3.00 KiB more each step, over 4 steps: 3.00 KiB by log.py:44 in keep");
}
