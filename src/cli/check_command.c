/* check_command.c: `tidemark check`: a plan of a graph, a layout of buffers, changes that fit. What the first file is
 * decides. */
#include <inttypes.h>
#include <sys/stat.h>

#include "batch.h"
#include "fit_check.h"
#include "layout_result.h"
#include "options.h"
#include "src/check/members.h"
#include "src/read/detect.h"
#include "src/read/plan_file.h"
#include "src/tidemark.h"

/* layout_check: results of `tidemark layout` against the buffers that they are of.
 *
 * Places and sums are looked at by code that shares nothing with the solvers. What only a search can say (a bound above
 * what is alive, who won) is laid out again and compared. */

enum { OF_SNAPSHOT = 1 };

/* Members that say nothing of the layout, and why. */
static const struct free_member FREE[] = {
	{ "seconds", "how long it took differs from run to run" },
	{ NULL, NULL },
};

/* All members that such a file may have. */
static const struct member_row MEMBERS[] = {
	{ "", "asked seconds limited offsets strategy infeasible arena_bytes bound_bytes load_bytes proved certificate",
		0 },
	{ "", "snapshot", OF_SNAPSHOT },
	{ "asked", "strategy alignment_bytes capacity_bytes? device? seconds?", 0 },
	{ "certificate", "by moment core? irreducible? confirmed?", 0 },
	{ "snapshot", NULL, 0 }, /* looked at as a whole */
};

struct result_check {
	const struct layout_request *wanted; /* by the options of the check; zero: whatever the file says */
	struct layout_request request;
	struct buffers_csv csv;
	const json_t *file; /* NULL: the result is a CSV */
	int64_t *offset;
	struct buffers_sums sums;
	struct arena arena;
	FILE *report;
	struct error *error;
};

static enum status layout_check_bad(struct result_check *check, const char *what)
{
	return refuse(check->error, "not a result of tidemark layout: %s", what);
}

static enum status layout_check_differs(struct result_check *check, const char *what, int64_t said, int64_t is)
{
	return fail(check->error, INFEASIBLE, "%s is %" PRId64 ", but it must be %" PRId64, what, said, is);
}

/* ---- what was asked ---- */

static bool layout_check_take_bytes(const json_t *object, const char *key, int64_t *bytes)
{
	const json_t *value = json_object_get(object, key);
	if (!value)
		return true;
	*bytes = json_integer_value(value);
	return json_is_integer(value) && *bytes > 0 && *bytes <= BYTES_MAX;
}

static enum status layout_check_take_asked(struct result_check *check)
{
	struct layout_request *request = &check->request;
	const json_t *asked = json_object_get(check->file, "asked"), *device = json_object_get(asked, "device"),
		*seconds = json_object_get(asked, "seconds");
	const char *strategy = json_text_in(asked, "strategy");
	int index = strategy ? name_index(layout_strategy_names, LAYOUT_STRATEGY_COUNT, strategy) : -1;
	bool fine = index >= 0 && json_object_get(asked, "alignment_bytes") &&
		layout_check_take_bytes(asked, "alignment_bytes", &request->options.alignment) &&
		layout_check_take_bytes(asked, "capacity_bytes", &request->options.capacity);
	request->options.strategy = (enum layout_strategy)index;
	request->options.effort = COMMAND_EFFORT;
	request->device = device ? json_integer_value(device) : -1;
	request->seconds = seconds ? json_number_value(seconds) : 0;
	fine = fine && (!device || (json_is_integer(device) && request->device >= 0 && request->device < UINT32_MAX)) &&
		(!seconds || request->seconds > 0);
	return fine ? OK : layout_check_bad(check, "\"asked\" is missing or wrong");
}

static bool same_slice(struct slice a, struct slice b)
{
	return a.length == b.length && memcmp(a.text, b.text, a.length) == 0;
}

/* What the options of the check say, too, must be what the file is of. */
static enum status take_wanted(struct result_check *check)
{
	const struct layout_request *wanted = check->wanted;
	struct layout_request *request = &check->request;
	if (!check->file) {
		*request = *wanted;
		request->options.strategy = LAYOUT_BEST;
		return OK;
	}
	if (wanted->options.alignment && wanted->options.alignment != request->options.alignment)
		return layout_check_differs(check, "the alignment", request->options.alignment, wanted->options.alignment);
	return OK;
}

/* ---- places of a JSON object ---- */

static enum status layout_check_take_places(struct result_check *check)
{
	const json_t *offsets = json_object_get(check->file, "offsets");
	uint32_t n = check->csv.buffers.n;
	if (json_array_size(offsets) != n)
		return layout_check_bad(check, "it has places for another number of buffers");
	FOR(i, n) {
		const json_t *offset = json_array_get(offsets, i);
		if (!json_is_integer(offset))
			return layout_check_bad(check, "an offset is not an integer");
		check->offset[i] = json_integer_value(offset);
	}
	return OK;
}

/* ---- places of a CSV ---- */

/* Whether a row of the result is of the same buffer as the input's. */
static bool same_buffer(const struct buffers_csv *a, const struct buffers_csv *b, uint32_t i)
{
	const struct buffers *x = &a->buffers, *y = &b->buffers;
	uint32_t pieces = x->piece_start ? x->piece_start[i + 1] - x->piece_start[i] : 0;
	bool same = same_slice(a->id[i], b->id[i]) && x->lower[i] == y->lower[i] && x->upper[i] == y->upper[i] &&
		x->size[i] == y->size[i] && (x->alignment ? x->alignment[i] : 1) == (y->alignment ? y->alignment[i] : 1) &&
		pieces == (y->piece_start ? y->piece_start[i + 1] - y->piece_start[i] : 0);
	return same && (pieces == 0 || memcmp(x->piece + x->piece_start[i], y->piece + y->piece_start[i],
		pieces * sizeof *x->piece) == 0);
}

static enum status layout_check_take_row(struct result_check *check, const struct buffers_csv *result, uint32_t i)
{
	if (!same_buffer(&check->csv, result, i))
		return fail(check->error, INFEASIBLE, "line %u is not of the same buffer as line %u of the input",
			result->line[i], check->csv.line[i]);
	if (!result->buffers.fixed || result->buffers.fixed[i] < 0)
		return fail(check->error, INFEASIBLE, "line %u has no offset", result->line[i]);
	check->offset[i] = result->buffers.fixed[i];
	return OK;
}

static enum status take_csv(struct result_check *check, struct input *input)
{
	struct layout_request request = { .device = -1 };
	OWN(buffers_csv) result = { 0 };
	TRY(layout_read_input(&request, input, &result, check->error));
	if (result.buffers.n != check->csv.buffers.n)
		return fail(check->error, INFEASIBLE, "it has %u buffers, the input %u", result.buffers.n, check->csv.buffers.n);
	FOR(i, result.buffers.n)
		TRY(layout_check_take_row(check, &result, i));
	return OK;
}

/* ---- claims ---- */

static enum status layout_check_expect(struct result_check *check, const json_t *object, const char *key, int64_t is)
{
	const json_t *value = json_object_get(object, key);
	if (!json_is_integer(value))
		return refuse(check->error, "not a result of tidemark layout: \"%s\" is not an integer", key);
	return json_integer_value(value) == is ? OK : layout_check_differs(check, key, json_integer_value(value), is);
}

/* The bound: not above what was reached, and what is proved is reached. above: it says more than what is alive does, so
 * a search has to show it. */
static enum status cli_layout_check_bound(struct result_check *check, int64_t reached, bool *above)
{
	const json_t *bound = json_object_get(check->file, "bound_bytes"), *proved = json_object_get(check->file, "proved");
	if (!json_is_integer(bound) || !json_is_boolean(proved))
		return layout_check_bad(check, "a bound is missing");
	if (json_integer_value(bound) < 0 || json_integer_value(bound) > reached ||
		json_is_true(proved) != (json_integer_value(bound) == reached))
		return fail(check->error, INFEASIBLE,
			"bound_bytes %" PRId64 " or \"proved\" contradicts what was reached, %" PRId64,
			(int64_t)json_integer_value(bound), reached);
	*above |= json_integer_value(bound) > check->sums.load;
	return OK;
}

static enum status layout_check_memory(struct result_check *check, bool *above)
{
	const json_t *file = check->file;
	TRY(layout_check_expect(check, file, "arena_bytes", check->sums.arena));
	TRY(layout_check_expect(check, file, "load_bytes", check->sums.load));
	return cli_layout_check_bound(check, check->sums.arena, above);
}

/* ---- once more ---- */

static enum status compare_again(struct result_check *check, json_t *again)
{
	/* As a file has it: reals are rounded there. */
	char *text = again ? json_dumps(again, JSON_REAL_PRECISION(6)) : NULL;
	json_t *read = text ? json_loads(text, 0, NULL) : NULL;
	enum status status = read ? compare_files(check->file, read, FREE, check->error) : fail_memory(check->error);
	free(text);
	json_decref(read);
	json_decref(again);
	return status;
}

static enum status lay_out_again(struct result_check *check)
{
	struct control control = { 0 };
	OWN(layout) layout = { 0 };
	enum status status = layout_solve(&check->csv.buffers, &check->request.options, &control, &layout, check->error);
	if (status == NO_MEMORY)
		fail_memory(check->error);
	else if (status == BAD_INPUT || !layout.offset)
		status = fail(check->error, INFEASIBLE, "what was asked leads to no layout");
	else
		status = compare_again(check, layout_json(&check->request, &check->csv, &layout, status == CANCELLED
			|| status == LIMIT, 0));
	if (status == OK)
		report_passed(check->report,
			"laid out again: what was asked leads to just this result (not independent: this asks the solver)");
	return status;
}

/* What follows from the buffers and the sums alone. */
static enum status check_rest(struct result_check *check)
{
	const struct layout_request *request = &check->request;
	bool limited = json_is_boolean(json_object_get(check->file, "limited"));
	TRY(members_check(check->file, MEMBERS, COUNT_OF(MEMBERS), request->said ? OF_SNAPSHOT : 0,
		check->error));
	if (!limited || !json_is_number(json_object_get(check->file, "seconds")))
		return layout_check_bad(check, "\"limited\" or \"seconds\" is missing");
	int64_t arena = json_integer_in(check->file, "arena_bytes"),
			bound = json_integer_in(check->file, "bound_bytes");
	const json_t *infeasible = json_object_get(check->file, "infeasible");
	if (!json_is_boolean(infeasible) ||
		json_is_true(infeasible) != (request->options.capacity > 0 && bound > request->options.capacity))
		return fail(check->error, INFEASIBLE, "\"infeasible\" contradicts the bound and the capacity");
	json_memory_failed();
	enum status status = OK;
	json_t *snapshot = request->said ? snapshot_json(request->said, arena) : NULL;
	if (request->said && (!snapshot || json_memory_failed()))
		status = fail_memory(check->error);
	else if (snapshot && !json_equal(json_object_get(check->file, "snapshot"), snapshot))
		status = fail(check->error, INFEASIBLE, "\"snapshot\" is not what the snapshot says");
	json_decref(snapshot);
	if (status == OK && request->said)
		report_passed(check->report, "what the snapshot itself says");
	return status;
}

static enum status check_claims(struct result_check *check, bool numbers)
{
	bool above = false;
	TRY(layout_check_memory(check, &above));
	report_passed(check->report, "arena and load, summed anew");
	TRY(check_rest(check));
	if (!above)
		report_passed(check->report, "bounds: so much is alive together");
	if (!numbers && check->request.seconds == 0)
		return lay_out_again(check);
	fprintf(check->report, "--  not looked at: %swhich strategy led to it, in what time, and its certificate\n",
		above ? "bounds above what is alive together, " : "");
	return OK;
}

/* ---- all of it ---- */

static enum status check_places(struct result_check *check)
{
	struct buffers_places places = { check->offset, check->request.options.alignment };
	TRY(buffers_check(&check->csv, &places, &check->sums, check->error));
	report_passed(
		check->report, "every offset is allowed: no two buffers that are live together overlap; pins, alignments");
	int64_t arena = check->sums.arena, capacity = check->wanted->options.capacity;
	if (!check->file)
		fprintf(check->report, "    arena %" PRId64 " bytes\n", arena);
	return capacity > 0 && arena > capacity ? fail(check->error, INFEASIBLE,
		"the arena has %" PRId64 " bytes, but room for only %" PRId64, arena, capacity) : OK;
}

static enum status check_all(struct result_check *check, const char *buffers_path, struct input *result, bool numbers)
{
	TRY(check->file ? layout_check_take_asked(check) : OK);
	TRY(take_wanted(check));
	TRY(layout_read(&check->request, buffers_path, &check->csv, check->error));
	if (check->request.said)
		TRY(snapshot_rows(&check->csv, check->error));
	NEEDED(check->error, ROOM(&check->arena, check->offset, check->csv.buffers.n));
	TRY(check->file ? layout_check_take_places(check) : take_csv(check, result));
	TRY(check_places(check));
	return check->file ? check_claims(check, numbers) : OK;
}

/* Verifies offsets and sums of a result (the object of --json, or the CSV with offsets) by src/check/check.h, bounds
 * by their certificates; then, unless numbers is set or the result was cut short by --time, lays out again what the
 * file says was asked for, and compares every member. A line on report for each part, and *outcome. wanted: what
 * capacity and alignment it must be of; zero: any. OK; INFEASIBLE: something in it is wrong; BAD_INPUT; NO_MEMORY. */
static enum status layout_check_file(const char *buffers_path, const char *result_path,
	const struct layout_request *wanted, bool numbers, FILE *report, struct check_outcome *outcome, struct error *error)
{
	struct result_check check = { .wanted = wanted, .request = { .device = -1 }, .report = report, .error = error };
	struct input *result = input_open(result_path, error);
	if (!result)
		return error->status;
	size_t size, at = 0;
	const char *text = input_peek(result, &size);
	while (at < size && strchr(" \t\r\n", text[at]))
		at++;
	bool object = at < size && text[at] == '{';
	json_t *file = object ? plan_file_take(result, error) : NULL;
	enum status status = object && !file ? error->status : OK;
	check.file = file;
	THEN(status, check_all(&check, buffers_path, result, numbers));
	*outcome = (struct check_outcome){ .partly = check.request.seconds > 0 };
	input_close(result);
	buffers_csv_free(&check.csv);
	json_decref(check.request.said);
	json_decref(file);
	arena_free(&check.arena);
	return status;
}

struct check_request {
	struct command_line line;
	struct check_options options;
	struct layout_request wanted;
};

static int check_command_take_option(void *context, int row, const char *value)
{
	struct check_request *request = context;
	bool fine = true;
	switch (row) {
	case OPTION_planned: request->options.planned = true; break;
	case OPTION_numbers: request->options.numbers = true; break;
	case OPTION_capacity: fine = layout_parse_bytes(value, &request->wanted.options.capacity); break;
	default: fine = layout_parse_bytes(value, &request->wanted.options.alignment);
	}
	return fine ? EXIT_FINE : usage_error("check", "--%s %s: expected bytes, such as 24GiB", option_rows[row].name,
		value);
}

/* The kind of a file; INPUT_UNKNOWN of what can be read only once, or not at all: who reads it says why. False: memory
 * ends. */
static bool check_command_kind_of(const char *path, enum input_kind *kind)
{
	struct stat state;
	struct error error = { 0 };
	size_t size;
	*kind = INPUT_UNKNOWN;
	struct input *input = stat(path, &state) == 0 && S_ISREG(state.st_mode) ? input_open(path, &error) : NULL;
	if (!input)
		return error.status != NO_MEMORY;
	const char *text = input_peek(input, &size);
	*kind = input_detect(text, size);
	input_close(input);
	return true;
}

/* The exit status, after saying why it isn't 0. */
static int check_command_end_of(
	const char *path, enum status status, const struct check_outcome *outcome, const struct error *error)
{
	if (status != OK)
		return complain(path, error, status);
	if (outcome->partly)
		complain_line(
			"%s: nothing in it is wrong as far as it can be looked at; it says that it was cut short, or is another "
			"version's, so not all can",
			path);
	else if (outcome->over > 0)
		complain_line("%s: all of it is true, but the plan needs %" PRId64 " bytes more than the memory limit", path,
			outcome->over);
	return outcome->partly ? EXIT_PARTLY : outcome->over > 0 ? EXIT_ABOVE : EXIT_FINE;
}

static int check_command_check_buffers(const struct check_request *request)
{
	struct error error = { 0 };
	struct check_outcome outcome = { .over = 0 };
	enum status status = layout_check_file(request->line.operand[0], request->line.operand[1], &request->wanted,
		request->options.numbers, stdout, &outcome, &error);
	return check_command_end_of(request->line.operand[1], status, &outcome, &error);
}

static int check_graph(struct check_request *request, enum input_kind second)
{
	struct error error = { 0 };
	struct check_outcome outcome = { .over = 0 };
	int code = EXIT_FINE;
	if (request->wanted.options.capacity || request->wanted.options.alignment)
		return usage_error("check", "--capacity and --alignment are for files of buffers, not for graphs");
	request->options.report = stdout;
	request->options.rules_file = request->line.rules_file;
	struct graph *graph = batch_open(request->line.operand[0], &request->line.reading, &code);
	if (!graph)
		return code;
	json_t *file = second == INPUT_JSON ? plan_file_read(request->line.operand[1], &error) : NULL;
	enum status status = file && fit_is_file(file)
		? fit_check_file(graph, request->line.operand[0], file, request->line.rules_file, request->options.numbers, stdout,
			  &error)
		: plan_check(graph, request->line.operand[1], &request->options, &outcome, &error);
	json_decref(file);
	graph_release(graph);
	return check_command_end_of(request->line.operand[1], status, &outcome, &error);
}

int check_command(int argc, char **argv)
{
	struct check_request request = {
		.line = { .command = SUBCOMMAND_check, .take = check_command_take_option, .context = &request },
		.wanted = { .device = -1 }
	};
	int code = command_line_parse(&request.line, argc, argv);
	if (code != EXIT_FINE || request.line.helped)
		return code;
	enum input_kind kind, second;
	FOR_INT(i, 2)
		if (!check_command_kind_of(request.line.operand[i], i ? &second : &kind))
			return complain(request.line.operand[i], &(struct error){ .status = NO_MEMORY }, NO_MEMORY);
	/* Of a memory snapshot there are plans of its graph and layouts of its buffers. */
	bool events = kind == INPUT_SNAPSHOT || kind == INPUT_TRACE || kind == INPUT_PICKLE;
	if (kind == INPUT_MINIMALLOC || (events && second != INPUT_PLAN))
		return check_command_check_buffers(&request);
	return check_graph(&request, second);
}
