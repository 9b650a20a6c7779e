/* layout_command.c: `tidemark layout FILE`: offsets for any set of buffers, of a CSV or a PyTorch memory snapshot. */
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "batch.h"
#include "src/read/problems/buffers_csv.h"
#include "src/base/json_memory.h"
#include "src/base/output.h"
#include "src/base/safe_text.h"
#include "solver/layout/pools/pools.h"
#include "layout_snapshot.h"
#include "src/read/detect.h"
#include "src/read/input.h"
#include "help.h"
#include "options.h"
#include "src/base/words.h"

/* Without --time the exact search stops at this effort: some ten seconds. */
#define COMMAND_EFFORT LAYOUT_EFFORT(5)
#define INPUT_MOST ((size_t)1 << 30)

struct request {
	struct command_line line;
	const char *path;
	struct layout_options options;
	struct slice pool[POOLS_MOST]; /* names */
	int64_t room[POOLS_MOST];    /* their capacities, 0: none */
	uint32_t pools;
	int64_t device;              /* of a snapshot, -1: any */
	bool snapshot;               /* it was read from one */
	struct snapshot_report report; /* of it */
};

static void print_more(void)
{
	putchar('\n');
	words_print(stdout, "", 0, "Gives every buffer of a MiniMalloc CSV (\"-\": standard input; gz or not) an offset and writes the CSV back with an offset column. "
		"The arena is as small as can be, or, with a capacity, the first that is within it. Columns group, inplace, pool and spill_cost: see tidemark(5).");
	words_print(stdout, "", 0, "Of a PyTorch memory snapshot (torch.cuda.memory._dump_snapshot) it plans the buffers of the trace, and says what they were given and what "
		"they need. With --json, and of snapshots, the CSV is written only with -o. Sizes take units: 24GiB, 24GB.");
	help_print_words("S, for --strategy", layout_strategy_names, layout_strategy_help, LAYOUT_STRATEGY_COUNT);
}

/* ---- arguments -------------------------------------------------------------------------------------- */

/* Bytes, at least one, with the units of knobs. */
static bool parse_bytes(const char *text, int64_t *bytes)
{
	struct error error;
	return knob_parse(K_memory, text, bytes, &error) == OK && *bytes > 0;
}

static int parse_strategy(const char *text)
{
	for (int i = 0; i < LAYOUT_STRATEGY_COUNT; i++)
		if (strcmp(text, layout_strategy_names[i]) == 0)
			return i;
	complain_line("layout: no strategy %s; there are:", text);
	for (int i = 0; i < LAYOUT_STRATEGY_COUNT; i++)
		fprintf(stderr, "  %-12s%s\n", layout_strategy_names[i], layout_strategy_help[i]);
	return -1;
}

/* NAME or NAME:BYTES, a new name each time. */
static bool parse_pool(struct request *request, const char *text)
{
	const char *colon = strrchr(text, ':');
	struct slice name = { text, colon ? (size_t)(colon - text) : strlen(text) };
	if (request->pools == POOLS_MOST || name.length == 0 || memchr(text, ',', name.length) || memchr(text, '|', name.length))
		return false;
	for (uint32_t p = 0; p < request->pools; p++)
		if (request->pool[p].length == name.length && memcmp(request->pool[p].text, text, name.length) == 0)
			return false;
	request->pool[request->pools] = name;
	return !colon ? request->pools++ < POOLS_MOST : parse_bytes(colon + 1, &request->room[request->pools++]);
}

static int take_option(void *context, int row, const char *value)
{
	struct request *request = context;
	bool fine = true;
	int strategy;
	switch (row) {
	case OPTION_capacity: fine = parse_bytes(value, &request->options.capacity); break;
	case OPTION_alignment: fine = parse_bytes(value, &request->options.alignment); break;
	case OPTION_pool: fine = parse_pool(request, value); break;
	case OPTION_device_number: return option_number(&request->line, row, value, 0, UINT32_MAX - 1, &request->device);
	default:
		strategy = parse_strategy(value);
		request->options.strategy = (enum layout_strategy)strategy;
		return strategy < 0 ? EXIT_USAGE : EXIT_FINE;
	}
	return fine ? EXIT_FINE : usage_error("layout", row == OPTION_pool ? "--%s %s: expected NAME or NAME:BYTES, such as hbm:24GiB, each name once" : "--%s %s: expected bytes, such as 24GiB",
		option_rows[row].name, value);
}

static int parse_arguments(struct request *request, int argc, char **argv)
{
	request->line = (struct command_line){ .command = SUBCOMMAND_layout, .take = take_option, .context = request, .help = print_more };
	int code = command_line_parse(&request->line, argc, argv);
	if (code != EXIT_FINE || request->line.helped)
		return code;
	if (request->pools && request->options.capacity)
		return usage_error("layout", "pools have their own capacities: --pool NAME:N");
	request->path = *request->line.operand;
	request->options.effort = request->line.seconds > 0 ? UINT64_MAX : COMMAND_EFFORT;
	return EXIT_FINE;
}

/* ---- running -------------------------------------------------------------------------------------------- */

/* Snapshots are read as a stream: a recording may have gigabytes. */
static enum status read_snapshot(struct request *request, struct input *input, struct buffers_csv *csv, struct error *error)
{
	struct snapshot snapshot;
	enum status status = snapshot_read(input_source(input), &snapshot, error);
	if (status == OK)
		status = snapshot_buffers(&snapshot, request->device, csv, &request->report.facts, error);
	if (status == OK && snapshot_report_places(&request->report, &snapshot, csv) != OK)
		status = fail_memory(error);
	if (status == OK && request->pools)
		status = fail(error, BAD_INPUT, "a snapshot is of one memory: it can't be laid out in pools");
	snapshot_free(&snapshot);
	request->snapshot = true;
	if (request->options.alignment == 0)
		request->options.alignment = SNAPSHOT_ALIGNMENT;
	return status;
}

static enum status read_csv(struct request *request, struct input *input, struct buffers_csv *csv, struct error *error)
{
	size_t size;
	char *text = input_all(input, INPUT_MOST, &size, error);
	enum status status = text ? buffers_csv_read(text, size, request->pools ? request->pool : NULL, request->pools, csv, error) : error->status;
	mem_free(text);
	if (request->options.alignment == 0)
		request->options.alignment = 1;
	return status;
}

static enum status read_buffers(struct request *request, struct buffers_csv *csv, struct error *error)
{
	size_t size;
	struct input *input = input_open(request->path, error);
	if (!input)
		return error->status;
	const char *start = input_peek(input, &size);
	enum input_kind kind = input_detect(start, size);
	bool pickle = kind == INPUT_SNAPSHOT || kind == INPUT_PICKLE;
	enum status status = pickle ? read_snapshot(request, input, csv, error) : read_csv(request, input, csv, error);
	input_close(input);
	return status;
}

static double seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Offsets of the file's buffers. */
static const int64_t *offsets(const struct linked_layout *result)
{
	return result->offset ? result->offset : result->layout.offset;
}

/* What the layout is of: the file's buffers, or what they are joined to. */
static const struct buffers *solved(const struct buffers_csv *csv, const struct linked_layout *result)
{
	return result->compounds.whole ? &result->compounds.buffers : &csv->buffers;
}

/* Calls visit for each of the file's buffers in the core. */
static void each_of_core(const struct buffers_csv *csv, const struct linked_layout *result, void (*visit)(void *context, struct slice id),
			 void *context)
{
	const struct layout *layout = &result->layout;
	const uint32_t *whole = result->compounds.whole;
	for (uint32_t k = 0; k < layout->core_count; k++) {
		if (!whole)
			visit(context, csv->id[layout->core[k]]);
		for (uint32_t i = 0; whole && i < csv->buffers.n; i++)
			if (whole[i] == layout->core[k])
				visit(context, csv->id[i]);
	}
}

static void add_name(void *context, struct slice id)
{
	json_t *name = json_stringn(id.text, id.length);
	json_array_append_new(context, name ? name : json_string("?"));
}

#define CHECK_NODES 5000000    /* some seconds for a core of 64 buffers */

/* Whether a second, independent computation confirms that the core needs what the certificate says. */
static bool core_confirmed(const struct request *request, const struct buffers_csv *csv, const struct linked_layout *result)
{
	const struct layout *layout = &result->layout;
	const struct buffers *buffers = solved(csv, result);
	if (layout->ground == LAYOUT_PROOF_MOMENT)
		return layout_check_moment(buffers, request->options.alignment, layout->witness) >= layout->proof.bound;
	int64_t capacity = layout->ground == LAYOUT_PROOF_LOAD ? request->options.capacity : layout->proof.bound - 1;
	return layout_check_core(buffers, layout->core, layout->core_count, request->options.alignment, capacity, CHECK_NODES) == INFEASIBLE;
}

/* Who has taken whose place, by id. */
static json_t *taken_places(const struct buffers_csv *csv, const uint32_t *taken_from)
{
	json_t *taken = json_object();
	for (uint32_t i = 0; i < csv->buffers.n; i++)
		if (taken_from[i] != NONE) {
			struct slice donor = csv->id[taken_from[i]];
			json_object_setn_new(taken, csv->id[i].text, csv->id[i].length, json_stringn(donor.text, donor.length));
		}
	return taken;
}

static json_t *offset_list(const struct buffers_csv *csv, const int64_t *offset)
{
	json_t *list = json_array();
	for (uint32_t i = 0; i < csv->buffers.n; i++)
		json_array_append_new(list, json_integer(offset[i]));
	return list;
}

static bool dump(json_t *object)
{
	/* What was left out for want of memory makes a wrong object, not none. */
	errno = 0;
	bool done = !json_memory_failed() && object && json_dumpf(object, stdout, JSON_REAL_PRECISION(6)) == 0 && putchar('\n') == '\n';
	json_decref(object);
	return done;
}

static bool print_json(const struct request *request, const struct buffers_csv *csv, const struct linked_layout *result, bool limited,
		       double time)
{
	const struct layout *layout = &result->layout;
	json_t *certificate = json_pack("{s:s, s:I}", "by", layout_proof_names[layout->ground], "moment",
					(json_int_t)(layout->ground == LAYOUT_PROOF_MOMENT ? layout->witness : layout->moment));
	if (layout->core_count) {
		json_t *names = json_array();
		each_of_core(csv, result, add_name, names);
		json_object_set_new(certificate, "core", names);
		json_object_set_new(certificate, "irreducible", json_boolean(layout->irreducible));
		json_object_set_new(certificate, "confirmed", json_boolean(core_confirmed(request, csv, result)));
	}
	bool infeasible = request->options.capacity > 0 && result->bound > request->options.capacity;
	json_t *object = json_pack("{s:s, s:b, s:I, s:I, s:I, s:b, s:b, s:f, s:o, s:o}", "strategy", layout->strategy, "infeasible", infeasible,
				   "arena_bytes", (json_int_t)layout->arena, "bound_bytes", (json_int_t)result->bound, "load_bytes",
				   (json_int_t)layout->load, "proved", result->proved, "limited", limited, "seconds", time,
				   "certificate", certificate, "offsets", offset_list(csv, offsets(result)));
	if (object && result->donor)
		json_object_set_new(object, "inplace", taken_places(csv, result->donor));
	if (object && request->snapshot)
		json_object_set_new(object, "snapshot", snapshot_json(&request->report, layout->arena));
	return dump(object);
}

static bool write_csv(const struct request *request, const struct buffers_csv *csv, const struct buffers_result *result)
{
	struct output output;
	struct error error = { 0 };
	if (!request->line.output && (request->line.json || request->snapshot))
		return true;
	enum status status = output_open(&output, request->line.output, true, &error);
	if (status == OK) {
		buffers_csv_write(csv, result, output.stream);
		status = output_close(&output, OK, &error);
	}
	if (status != OK)
		complain(NULL, &error, status);
	return status == OK;
}

/* JSON goes to standard output; true when all of it was taken. */
static bool flush_json(bool written)
{
	struct error error = { 0 };
	if (written && fflush(stdout) == 0)
		return true;
	fail(&error, LIMIT, "can't write standard output: %s", errno ? strerror(errno) : "out of memory");
	complain(NULL, &error, LIMIT);
	return false;
}

static void count_name(void *context, struct slice id)
{
	*(uint32_t *)context += id.text != NULL;
}

static void say_name(void *context, struct slice id)
{
	char name[300];
	snprintf(name, sizeof name, " %.*s", (int)id.length, id.text);
	text_write_clean(context, name, "");
}

/* Names buffers in messages as the file does. */
static void say_core(const struct request *request, const struct buffers_csv *csv, const struct linked_layout *result)
{
	const struct layout *layout = &result->layout;
	if (!layout->core_count)
		return;
	uint32_t count = 0;
	each_of_core(csv, result, count_name, &count);
	if (layout->ground == LAYOUT_PROOF_LOAD)
		fprintf(stderr, "tidemark: layout: these %" PRIu32 " are alive together at %" PRId64 " and alone do not fit", count, layout->moment);
	else
		fprintf(stderr, "tidemark: layout: these %" PRIu32 " alone need at least %" PRId64, count, layout->proof.bound);
	fprintf(stderr, "%s%s:", layout->irreducible ? ", none of them can be left out" : "",
		core_confirmed(request, csv, result) ? " (confirmed independently)" : "");
	each_of_core(csv, result, say_name, stderr);
	fputc('\n', stderr);
}

/* What contradicts what, with names as the file has them. */
static void say_why(const char *path, const struct buffers_csv *csv, const struct linked_layout *result, const struct error *error)
{
	const struct layout_clash *clash = &result->layout.clash;
	char reason[300];
	if (clash->kind == LAYOUT_CLASH_NONE) {
		complain_line("%s: %s", path, error->text);
		return;
	}
	struct slice a = csv->id[clash->buffer[0]], b = csv->id[clash->buffer[1]];
	complain_line("%s: %.*s and %.*s %s", path, (int)a.length, a.text, (int)b.length, b.text,
		layout_clash_text(clash, reason, sizeof reason));
}

static int fail_input(const char *path, enum status status, const struct error *error)
{
	struct error nothing = { 0 };
	if (status == NO_MEMORY && !*error->text)
		fail_memory(&nothing);
	return complain(path, *error->text ? error : &nothing, status);
}

/* A wrong layout is worse than none: nothing goes out that the independent checker doesn't confirm. */
static enum status fail_wrong(const struct request *request, enum status status, const struct error *error)
{
	if (status == NO_MEMORY) {
		complain(request->path, error, NO_MEMORY);
		return LIMIT;
	}
	complain_line("%s: the layout that was found is wrong, please report it: %s", request->path, error->text);
	return LIMIT;
}

static int report(const struct request *request, const struct buffers_csv *csv, const struct linked_layout *result, enum status status,
		  const struct error *error, double time)
{
	int64_t capacity = request->options.capacity;
	if (offsets(result)) {
		bool limited = status == CANCELLED || status == LIMIT;
		struct buffers_result written = { offsets(result), result->donor, NULL };
		bool card = request->snapshot && !request->line.json && !(request->line.output && strcmp(request->line.output, "-") == 0);
		if (card)
			snapshot_print(&request->report, request->options.alignment, &result->layout, stdout);
		if (card && !flush_json(true))
			return EXIT_LIMIT;
		if ((request->line.json && !flush_json(print_json(request, csv, result, limited, time))) || !write_csv(request, csv, &written))
			return EXIT_LIMIT;
	}
	if (batch_signal())
		return batch_signal();
	if (status == INFEASIBLE) {
		say_why(request->path, csv, result, error);
		say_core(request, csv, result);
		return EXIT_CONSTRAINT;
	}
	if (!offsets(result))
		return EXIT_LIMIT;
	if (capacity > 0 && result->layout.arena > capacity) {
		complain_line("%s: no layout found within %" PRId64 " bytes, the best has %" PRId64, request->path, capacity,
			result->layout.arena);
		return EXIT_CONSTRAINT;
	}
	return EXIT_FINE;
}

/* ---- pools ------------------------------------------------------------------------------------------------ */

/* What each pool holds. */
static json_t *pool_list(const struct request *request, const struct buffers_csv *csv, const struct pooled_layout *result)
{
	json_t *pools = json_array();
	for (uint32_t p = 0; p < csv->pools; p++) {
		const struct linked_layout *linked = &result->part[p].linked;
		json_t *pool = json_pack("{s:s%, s:s, s:i, s:I, s:I, s:I, s:b}", "name", csv->pool[p].text, csv->pool[p].length, "strategy",
					 linked->layout.strategy, "buffers", (int)result->part[p].n, "arena_bytes",
					 (json_int_t)linked->layout.arena, "bound_bytes", (json_int_t)linked->bound, "load_bytes",
					 (json_int_t)linked->layout.load, "proved", linked->proved);
		if (pool && request->room[p])
			json_object_set_new(pool, "capacity_bytes", json_integer(request->room[p]));
		json_array_append_new(pools, pool);
	}
	return pools;
}

/* Bytes that are not in the pool they like best. */
static int64_t spilled_bytes(const struct buffers_csv *csv, const struct pooled_layout *result)
{
	int64_t bytes = 0;
	for (uint32_t i = 0; i < csv->buffers.n; i++) {
		bool listed = csv->candidates.start && csr_length(&csv->candidates, i) > 0;
		bytes += result->pool[i] == (listed ? csv->candidates.item[csv->candidates.start[i]] : 0) ? 0 : csv->buffers.size[i];
	}
	return bytes;
}

static bool print_pools(const struct request *request, const struct buffers_csv *csv, const struct pooled_layout *result, bool limited,
			double time)
{
	json_t *chosen = json_array();
	for (uint32_t i = 0; i < csv->buffers.n; i++)
		json_array_append_new(chosen, json_stringn(csv->pool[result->pool[i]].text, csv->pool[result->pool[i]].length));
	json_t *object = json_pack("{s:o, s:{s:I, s:I, s:I, s:b}, s:b, s:f, s:o, s:o}", "pools", pool_list(request, csv, result), "spill", "cost",
				   (json_int_t)result->cost, "bound", (json_int_t)result->bound, "bytes",
				   (json_int_t)spilled_bytes(csv, result), "proved", result->proved, "limited", limited, "seconds", time,
				   "pool", chosen, "offsets", offset_list(csv, result->offset));
	if (object && result->donor)
		json_object_set_new(object, "inplace", taken_places(csv, result->donor));
	return dump(object);
}

static int report_pools(const struct request *request, const struct buffers_csv *csv, const struct pooled_layout *result, enum status status,
			const struct error *error, double time)
{
	struct buffers_result written = { result->offset, result->donor, result->pool };
	if (result->offset && ((request->line.json && !flush_json(print_pools(request, csv, result, status == CANCELLED, time)))
			       || !write_csv(request, csv, &written)))
		return EXIT_LIMIT;
	if (batch_signal())
		return batch_signal();
	if (result->offset)
		return EXIT_FINE;
	complain_line("%s: %s", request->path, error->text);
	if (result->overflow != NONE) {
		struct slice name = csv->pool[result->overflow];
		complain_line("layout: pool %.*s would have to hold %" PRId64 " bytes at %" PRId64 ", and has %" PRId64,
			(int)name.length, name.text, result->overflow_bytes, result->overflow_step, request->room[result->overflow]);
	}
	return EXIT_CONSTRAINT;
}

static int solve_pools(const struct request *request, const struct buffers_csv *csv)
{
	struct control control = { .cancel = batch_cancel() };
	struct pooled_layout result;
	struct error error = { 0 };
	int64_t *room = mem_alloc(csv->pools, sizeof *room);
	if (!room)
		return fail_input(request->path, NO_MEMORY, &error);
	memcpy(room, request->room, request->pools * sizeof *room);
	struct layout_pools pools = { csv->pools, room, csv->candidates, csv->spill_cost };
	double start = seconds();
	enum status status = layout_solve_pools(&csv->buffers, &csv->links, &pools, &request->options, &control, &result, &error);
	enum status checked = result.offset ? layout_check_pools(&csv->buffers, &csv->links, &pools, request->options.alignment, &result, &error) : OK;
	if (checked != OK) {
		fail_wrong(request, checked, &error);
		pooled_layout_free(&result);
		mem_free(room);
		return EXIT_LIMIT;
	}
	int exit_status = status == NO_MEMORY || status == BAD_INPUT ? fail_input(request->path, status, &error)
				: report_pools(request, csv, &result, status, &error, seconds() - start);
	pooled_layout_free(&result);
	mem_free(room);
	return exit_status;
}

/* ---- without pools ------------------------------------------------------------------------------------------ */

/* What is true of a pooled layout is to be true of one, too. The simulated allocator rounds sizes in its own way. */
static enum status confirm(const struct request *request, const struct buffers_csv *csv, const struct linked_layout *result)
{
	bool simulated = request->options.strategy == LAYOUT_CACHING || request->options.strategy == LAYOUT_EXPANDABLE;
	struct error error = { 0 };
	enum status status = simulated ? OK : layout_check_links(&csv->buffers, &csv->links, request->options.alignment, offsets(result), result->donor,
		result->layout.arena, &error);
	return status == OK ? OK : fail_wrong(request, status, &error);
}

static enum status solve(const struct request *request, const struct buffers_csv *csv, struct linked_layout *result, struct error *error)
{
	struct control control = { .cancel = batch_cancel() };
	if (csv->links.behind || csv->links.donors.start)
		return layout_solve_linked(&csv->buffers, &csv->links, &request->options, &control, result, error);
	enum status status = layout_solve(&csv->buffers, &request->options, &control, &result->layout, error);
	result->bound = result->layout.proof.bound;
	result->proved = proof_closed(&result->layout.proof);
	return status;
}

static int solve_one(const struct request *request, const struct buffers_csv *csv)
{
	struct linked_layout result = { 0 };
	struct error error = { 0 };
	double start = seconds();
	enum status status = solve(request, csv, &result, &error);
	double time = seconds() - start;
	if (offsets(&result) && confirm(request, csv, &result) != OK) {
		linked_layout_free(&result);
		return EXIT_LIMIT;
	}
	int exit_status = status == NO_MEMORY || status == BAD_INPUT ? fail_input(request->path, status, &error)
				: report(request, csv, &result, status, &error, time);
	linked_layout_free(&result);
	return exit_status;
}

int layout_command(int argc, char **argv)
{
	struct request request = { .options = { .strategy = LAYOUT_BEST }, .device = -1 };
	struct buffers_csv csv = { 0 };
	struct error error = { 0 };
	int exit_status = parse_arguments(&request, argc, argv);
	if (exit_status != EXIT_FINE || request.line.helped)
		return exit_status;
	enum status status = read_buffers(&request, &csv, &error);
	if (status != OK) {
		exit_status = fail_input(request.path, status, &error);
	} else if (csv.pools && request.options.capacity) {
		complain_line("%s: pools have their own capacities: --pool NAME:N", request.path);
		exit_status = EXIT_USAGE;
	} else {
		batch_limit(request.line.seconds);
		exit_status = csv.pools ? solve_pools(&request, &csv) : solve_one(&request, &csv);
	}
	buffers_csv_free(&csv);
	return exit_status;
}
