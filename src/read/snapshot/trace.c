/* trace.c: the memory events of a profiler's trace (torch.profiler with profile_memory=True, Chrome JSON) as a
 * snapshot.
 *
 * A trace is a list of JSON objects, of which three kinds matter: "[memory]" with address, bytes (negative where
 * memory is given back) and totals; spans of ops and of Python functions, in which it lies; and "ProfilerStep#N". Of
 * several steps the one with the most memory events is taken, the later one of equals. What was allocated before it
 * and lives on is a block of a segment, as what a snapshot finds at its end. */
#include <inttypes.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>

#include "snapshot.h"
#include "src/base/json.h"

#define CHUNK ((size_t)64 << 10)
#define OBJECT_MOST ((size_t)4 << 20) /* bytes of one event */
#define CPU UINT32_MAX
#define FRAMES_MOST 200

struct moment {
	double at; /* microseconds */
	int64_t address, bytes, allocated, reserved, thread;
	uint32_t device, order, stack;
};
struct span { double from, to; int64_t thread; uint32_t frame; bool step; };

struct tracing {
	struct source source;
	struct snapshot *snapshot;
	struct error *error;
	struct moment *moment;
	struct span *span;
	char *object; /* the text of the event that is read */
	size_t moments, spans, moment_room, span_room, length, object_room, have, at;
	uint32_t line;
	char chunk[CHUNK];
};

/* ---- one event after the other ---- */

/* The next byte; EOF at the end, or with *error. */
static int trace_byte(struct tracing *tracing)
{
	if (tracing->at == tracing->have) {
		ssize_t got = tracing->source.read(tracing->source.context, tracing->chunk, CHUNK, tracing->error);
		tracing->at = 0;
		tracing->have = got > 0 ? (size_t)got : 0;
		if (got <= 0)
			return EOF;
	}
	tracing->line += tracing->chunk[tracing->at] == '\n';
	return (unsigned char)tracing->chunk[tracing->at++];
}

static int trace_visible(struct tracing *tracing)
{
	int byte;
	while ((byte = trace_byte(tracing)) != EOF && strchr(" \t\r\n", byte))
		;
	return byte;
}

/* Moves behind "traceEvents": [. */
static enum status trace_find_events(struct tracing *tracing)
{
	static const char key[] = "\"traceEvents\"";
	size_t matched = 0;
	for (int byte; matched < sizeof key; ) {
		if ((byte = matched == sizeof key - 1 ? trace_visible(tracing) : trace_byte(tracing)) == EOF)
			return refuse(tracing->error, "the trace has no traceEvents");
		matched = byte == (matched == sizeof key - 1 ? ':' : key[matched]) ? matched + 1 : byte == *key;
	}
	return trace_visible(tracing) == '[' ? OK : refuse(tracing->error, "traceEvents is not a list");
}

/* The text of the next event; *more is false behind the last one. */
static enum status trace_next(struct tracing *tracing, bool *more)
{
	int byte, depth = 1;
	bool text = false, escaped = false;
	while ((byte = trace_byte(tracing)) != EOF && strchr(" \t\r\n,", byte))
		;
	*more = byte != ']';
	tracing->length = 0;
	for (; *more && depth > 0; byte = depth > 0 ? trace_byte(tracing) : 0) {
		if (byte == EOF || (tracing->length == 0 && byte != '{'))
			return refuse(tracing->error, byte == EOF ? "the trace ends within its events" : "an event is not an object");
		if (tracing->length >= OBJECT_MOST)
			return refuse(tracing->error, "an event has more than %zu bytes", OBJECT_MOST);
		if (!mem_reserve(&tracing->object, &tracing->object_room, tracing->length + 2, 1))
			return fail_memory(tracing->error);
		if (!text && tracing->length > 0)
			depth += (byte == '{') - (byte == '}');
		text ^= byte == '"' && !escaped;
		escaped = byte == '\\' && !escaped;
		tracing->object[tracing->length++] = (char)byte;
		tracing->object[tracing->length] = '\0';
	}
	return OK;
}

/* ---- what an event says ---- */

static int64_t trace_number(const json_t *from, const char *key)
{
	return json_integer_value(json_object_get(from, key));
}

static enum status trace_add_moment(struct tracing *tracing, const json_t *event)
{
	const json_t *args = json_object_get(event, "args");
	struct moment moment = { .at = json_number_value(json_object_get(event, "ts")),
		.address = trace_number(args, "Addr"),
		.bytes = trace_number(args, "Bytes"),
		.allocated = trace_number(args, "Total Allocated"),
		.reserved = trace_number(args, "Total Reserved"),
		.order = (uint32_t)tracing->moments,
		.thread = trace_number(event, "tid") };
	int64_t id = trace_number(args, "Device Id"), most = BYTES_MAX;
	moment.device = trace_number(args, "Device Type") == 0 ? CPU : id > 0 && id < 4096 ? (uint32_t)id : 0;
	if (!json_is_integer(json_object_get(args, "Addr")) || moment.bytes > most || moment.bytes < -most ||
		moment.allocated > most || moment.allocated < -most)
		return refuse(tracing->error, "a [memory] event lacks Addr, or its bytes are out of range");
	if (moment.bytes == 0)
		return OK;
	if (tracing->moments >= UINT32_MAX / 8 ||
		!mem_reserve(&tracing->moment, &tracing->moment_room, tracing->moments + 1, sizeof moment))
		return fail_memory(tracing->error);
	tracing->moment[tracing->moments++] = moment;
	return OK;
}

/* "model.py(12): forward" of Python, and the name of an op. */
static uint32_t trace_frame(struct tracing *tracing, const char *name)
{
	struct stacks *stacks = &tracing->snapshot->stacks;
	const char *close = strstr(name, "): "), *open = close;
	while (open && open > name && *open != '(')
		open--;
	if (!close || *open != '(')
		return stacks_frame(stacks, 0, stacks_text(stacks, name, strlen(name)), 0);
	return stacks_frame(stacks, stacks_text(stacks, name, (size_t)(open - name)),
		stacks_text(stacks, close + 3, strlen(close + 3)), strtol(open + 1, NULL, 10));
}

static enum status trace_add_span(struct tracing *tracing, const json_t *event)
{
	const char *name = json_string_value(json_object_get(event, "name"));
	double from = json_number_value(json_object_get(event, "ts")), time = json_number_value(json_object_get(event, "dur"));
	if (!name || !isfinite(from) || !(time > 0))
		return OK;
	if (tracing->spans >= UINT32_MAX / 8 ||
		!mem_reserve(&tracing->span, &tracing->span_room, tracing->spans + 1, sizeof *tracing->span))
		return fail_memory(tracing->error);
	bool step = strncmp(name, "ProfilerStep#", 13) == 0;
	tracing->span[tracing->spans++] =
		(struct span){ from, from + time, trace_number(event, "tid"), step ? 0 : trace_frame(tracing, name), step };
	return OK;
}

/* Most events of a trace say nothing here: they aren't even parsed. */
static enum status trace_parse(struct tracing *tracing)
{
	bool memory = strstr(tracing->object, "\"[memory]\"") != NULL;
	if (!memory && !strstr(tracing->object, "cpu_op\"") && !strstr(tracing->object, "\"python_function\"") &&
		!strstr(tracing->object, "\"user_annotation\""))
		return OK;
	json_t *event = json_loadb(tracing->object, tracing->length, 0, NULL);
	if (!event)
		return json_memory_failed() ? fail_memory(tracing->error) : refuse(tracing->error,
			"the event that ends here is no JSON");
	enum status status = memory ? trace_add_moment(tracing, event) : trace_add_span(tracing, event);
	json_decref(event);
	return status;
}

/* ---- who asks for memory ---- */

static int trace_by_time(const void *a, const void *b)
{
	const struct moment *left = a, *right = b;
	if (left->at != right->at)
		return left->at < right->at ? -1 : 1;
	return left->order < right->order ? -1 : left->order > right->order;
}

/* Thread by thread, the outer span before what is in it. */
static int trace_by_nesting(const void *a, const void *b)
{
	const struct span *left = a, *right = b;
	if (left->thread != right->thread)
		return left->thread < right->thread ? -1 : 1;
	if (left->from != right->from)
		return left->from < right->from ? -1 : 1;
	return left->to > right->to ? -1 : left->to < right->to;
}

static int trace_by_thread(const void *a, const void *b)
{
	const struct moment *left = a, *right = b;
	return left->thread != right->thread ? left->thread < right->thread ? -1 : 1 : trace_by_time(a, b);
}

/* Gives every moment the spans around it as its stack. Both are in the order of threads and times. */
static void trace_find_stacks(struct tracing *tracing)
{
	const struct span *open[FRAMES_MOST];
	uint32_t frame[FRAMES_MOST], depth = 0;
	size_t next = 0;
	FOR_SIZE(i, tracing->moments) {
		struct moment *moment = &tracing->moment[i];
		for (; next < tracing->spans && (tracing->span[next].thread < moment->thread ||
				(tracing->span[next].thread == moment->thread && tracing->span[next].from <= moment->at)); next++) {
			const struct span *span = &tracing->span[next];
			while (depth && (open[depth - 1]->thread != span->thread || open[depth - 1]->to < span->from))
				depth--;
			if (!span->step && depth < FRAMES_MOST)
				open[depth++] = span;
		}
		while (depth && (open[depth - 1]->thread != moment->thread || open[depth - 1]->to < moment->at))
			depth--;
		FOR(k, depth)
			frame[k] = open[depth - 1 - k]->frame;
		moment->stack = depth ? stacks_add(&tracing->snapshot->stacks, 0, frame, depth) : 0;
	}
}

/* ---- one step of them ---- */

/* The step with the most moments; all of the trace where none is marked. */
static void trace_choose(const struct tracing *tracing, double *from, double *to)
{
	size_t most = 0;
	*from = -HUGE_VAL;
	*to = HUGE_VAL;
	FOR_SIZE(i, tracing->spans) {
		const struct span *span = &tracing->span[i];
		size_t count = 0;
		for (size_t k = 0; span->step && k < tracing->moments; k++)
			count += tracing->moment[k].at >= span->from && tracing->moment[k].at < span->to;
		if (count > 0 && (count > most || (count == most && span->from > *from))) {
			most = count;
			*from = span->from;
			*to = span->to;
		}
	}
}

static enum status trace_add_event(struct tracing *tracing, const struct moment *moment)
{
	struct snapshot *snapshot = tracing->snapshot;
	if (!mem_reserve(&snapshot->event, &snapshot->event_room, (size_t)snapshot->events + 1, sizeof *snapshot->event))
		return fail_memory(tracing->error);
	bool more = moment->bytes > 0;
	snapshot->event[snapshot->events++] = (struct snapshot_event){ moment->address, more ? moment->bytes : -moment->bytes,
		more ? SNAPSHOT_ALLOC : SNAPSHOT_FREE_COMPLETED, moment->stack };
	return OK;
}

static enum status trace_add_block(struct tracing *tracing, int64_t address, int64_t size, uint32_t stack)
{
	struct snapshot *snapshot = tracing->snapshot;
	if (!mem_reserve(&snapshot->block, &snapshot->block_room, (size_t)snapshot->blocks + 1, sizeof *snapshot->block))
		return fail_memory(tracing->error);
	snapshot->block[snapshot->blocks++] = (struct snapshot_block){ address, size, stack, true, true };
	return OK;
}

static int trace_by_address(const void *a, const void *b)
{
	const struct moment *left = a, *right = b;
	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return trace_by_time(a, b);
}

/* Blocks of what is there as the step begins: at each address the last that was allocated before it, or what is given
 * back later though the trace never saw it allocated. What the trace never names is one block. O(n log n). */
static enum status trace_find_before(struct tracing *tracing, uint32_t device, double from)
{
	struct moment *moment = tracing->moment;
	size_t first = 0;
	while (moment[first].device != device)
		first++;
	int64_t unnamed = moment[first].allocated - moment[first].bytes;
	qsort(moment, tracing->moments, sizeof *moment, trace_by_address);
	enum status status = OK;
	for (size_t i = 0, next; i < tracing->moments && status == OK; i = next) {
		const struct moment *there = NULL, *opening = NULL;
		for (next = i; next < tracing->moments && moment[next].address == moment[i].address; next++) {
			if (moment[next].device != device)
				continue;
			unnamed += !opening && moment[next].bytes < 0 && unnamed > 0 ? moment[next].bytes : 0;
			opening = opening ? opening : &moment[next];
			if (moment[next].at < from)
				there = moment[next].bytes > 0 ? &moment[next] : NULL;
		}
		if (opening && opening->at >= from && opening->bytes < 0)
			there = opening;
		if (there)
			status = trace_add_block(
				tracing, there->address, llabs(there->bytes), there->bytes > 0 ? there->stack : 0);
	}
	qsort(moment, tracing->moments, sizeof *moment, trace_by_time);
	return status == OK && unnamed > 0 ? trace_add_block(tracing, INT64_MIN, unnamed, 0) : status;
}

static enum status trace_take_device(struct tracing *tracing, uint32_t device, double from, double to)
{
	struct snapshot *snapshot = tracing->snapshot;
	uint32_t number = device == CPU ? 0 : device, first = snapshot->events, blocks = snapshot->blocks;
	int64_t reserved = 0;
	FOR_SIZE(i, tracing->moments) {
		const struct moment *moment = &tracing->moment[i];
		if (moment->device != device || moment->at < from || moment->at >= to)
			continue;
		reserved = LARGER(moment->reserved, reserved);
		TRY(trace_add_event(tracing, moment));
	}
	if (snapshot->events == first)
		return OK;
	TRY(trace_find_before(tracing, device, from));
	if (!mem_reserve(&snapshot->trace, &snapshot->trace_room, (size_t)snapshot->traces + 1, sizeof *snapshot->trace) ||
		!mem_reserve(&snapshot->segment, &snapshot->segment_room, (size_t)snapshot->segments + 1, sizeof *snapshot->segment))
		return fail_memory(tracing->error);
	snapshot->trace[snapshot->traces++] = (struct snapshot_trace){
		.first = first, .events = snapshot->events - first, .device = number };
	snapshot->segment[snapshot->segments++] =
		(struct snapshot_segment){ INT64_MIN, LARGER(reserved, 0), blocks, snapshot->blocks - blocks, number };
	return OK;
}

/* What grows from step to step of the whole trace, of which one is taken. */
static enum status trace_find_growth(struct tracing *tracing, uint32_t device)
{
	struct snapshot *snapshot = tracing->snapshot, whole = { .stacks = snapshot->stacks };
	size_t marks = 0;
	int64_t *MAKE(mark, tracing->spans);
	OWN(buffers_csv) csv = { 0 };
	struct snapshot_facts facts;
	char *grows = NULL;
	tracing->snapshot = &whole;
	enum status status = mark ? trace_take_device(tracing, device, -HUGE_VAL, HUGE_VAL) : fail_memory(tracing->error);
	FOR_SIZE(i, status == OK ? tracing->spans : 0) {
		if (!tracing->span[i].step)
			continue;
		FOR_SIZE(k, tracing->moments)
			mark[marks] += tracing->moment[k].device == device && tracing->moment[k].at < tracing->span[i].to;
		marks++;
	}
	if (status == OK && whole.traces) {
		whole.trace->mark = mark;
		whole.trace->marks = (uint32_t)marks;
		status = snapshot_buffers(&whole, -1, &csv, &facts, tracing->error);
	}
	if (status == OK && whole.traces)
		status = (grows = arena_text(&snapshot->stacks.arena, facts.grows, strlen(facts.grows))) ? OK
			: fail_memory(tracing->error);
	if (snapshot->traces)
		snapshot->trace[snapshot->traces - 1].grows = grows;
	tracing->snapshot = snapshot;
	whole.stacks = (struct stacks){ 0 };
	snapshot_free(&whole);
	mem_free(mark);
	return status;
}

/* The devices in their order; the host's memory only where no other device has any. */
static enum status trace_take(struct tracing *tracing)
{
	double from, to;
	uint32_t device = 0;
	bool others = false;
	FOR_SIZE(i, tracing->moments)
		others |= tracing->moment[i].device != CPU;
	trace_choose(tracing, &from, &to);
	while (others) {
		TRY(trace_take_device(tracing, device, from, to));
		TRY(isfinite(from) ? trace_find_growth(tracing, device) : OK);
		uint32_t next = CPU;
		FOR_SIZE(i, tracing->moments)
			if (tracing->moment[i].device > device && tracing->moment[i].device < next)
				next = tracing->moment[i].device;
		if ((device = next) == CPU)
			break;
	}
	TRY(others ? OK : trace_take_device(tracing, CPU, from, to));
	return others || !isfinite(from) ? OK : trace_find_growth(tracing, CPU);
}

static enum status trace_follow(struct tracing *tracing)
{
	TRY(trace_find_events(tracing));
	enum status status = OK;
	for (bool more = true; more && status == OK; ) {
		status = trace_next(tracing, &more);
		status = more && status == OK ? trace_parse(tracing) : status;
	}
	if (status == BAD_INPUT && tracing->error)
		tracing->error->line = tracing->line + 1;
	TRY(status);
	if (tracing->moments == 0)
		return refuse(tracing->error,
			"this trace says what ran when, not what a step holds: profile with profile_memory=True (and "
			"with_stack=True), or capture the step with tidemark_torch (samples/torch); "
			"python -m tidemark_torch calibrate takes a device's speed from it");
	if (tracing->spans)
		qsort(tracing->span, tracing->spans, sizeof *tracing->span, trace_by_nesting);
	qsort(tracing->moment, tracing->moments, sizeof *tracing->moment, trace_by_thread);
	trace_find_stacks(tracing);
	qsort(tracing->moment, tracing->moments, sizeof *tracing->moment, trace_by_time);
	TRY(trace_take(tracing));
	return tracing->snapshot->stacks.no_memory ? fail_memory(tracing->error) : OK;
}

enum status trace_read(struct source source, struct snapshot *snapshot, struct error *error)
{
	*snapshot = (struct snapshot){ 0 };
	struct tracing *MAKE(tracing, 1);
	if (!tracing)
		return fail_memory(error);
	tracing->source = source;
	tracing->snapshot = snapshot;
	tracing->error = error;
	enum status status = trace_follow(tracing);
	if (status != OK && error->status == OK)
		error->status = status;
	mem_free(tracing->object);
	mem_free(tracing->moment);
	mem_free(tracing->span);
	mem_free(tracing);
	return status;
}
