/* layout_command.c: `tidemark layout FILE`: offsets for any set of buffers, of a CSV or a PyTorch memory snapshot. */
#include <errno.h>
#include <inttypes.h>

#include "batch.h"
#include "help.h"
#include "layout_result.h"
#include "options.h"
#include "src/base/clock.h"
#include "src/base/json.h"
#include "src/base/output.h"
#include "src/base/safe_text.h"

struct request {
	struct command_line line;
	const char *path;
	struct layout_request asked;
};

static void layout_command_print_more(void)
{
	putchar('\n');
	words_print(stdout, "", 0,
		"Gives every buffer of a MiniMalloc CSV (\"-\": standard input; gz or not) an offset and writes the CSV back "
		"with an offset column. "
		"The arena is as small as can be, or, with a capacity, the first that is within it.");
	words_print(stdout, "", 0,
		"Of a PyTorch memory snapshot (torch.cuda.memory._dump_snapshot) it plans the buffers of the trace, and says "
		"what they were given and what "
		"they need. With --json, and of snapshots, the CSV is written only with -o. Sizes take units: 24GiB, 24GB.");
	help_print_words("S, for --strategy", layout_strategy_names, layout_strategy_help, LAYOUT_STRATEGY_COUNT);
}

/* ---- arguments ---- */

static int parse_strategy(const char *text)
{
	FOR_INT(i, LAYOUT_STRATEGY_COUNT)
		if (text_is(text, layout_strategy_names[i]))
			return i;
	complain_line("layout: no strategy %s; there are:", text);
	FOR_INT(i, LAYOUT_STRATEGY_COUNT)
		fprintf(stderr, "  %-12s%s\n", layout_strategy_names[i], layout_strategy_help[i]);
	return -1;
}

static int layout_command_take_option(void *context, int row, const char *value)
{
	struct request *request = context;
	bool fine = true;
	int strategy;
	switch (row) {
	case OPTION_capacity: fine = layout_parse_bytes(value, &request->asked.options.capacity); break;
	case OPTION_alignment: fine = layout_parse_bytes(value, &request->asked.options.alignment); break;
	case OPTION_device_number: return option_number(&request->line, row, value, 0, UINT32_MAX - 1, &request->asked.device);
	default:
		strategy = parse_strategy(value);
		request->asked.options.strategy = (enum layout_strategy)strategy;
		return strategy < 0 ? EXIT_USAGE : EXIT_FINE;
	}
	return fine ? EXIT_FINE : usage_error("layout", "--%s %s: expected bytes, such as 24GiB", option_rows[row].name,
		value);
}

static int parse_arguments(struct request *request, int argc, char **argv)
{
	request->line = (struct command_line){ .command = SUBCOMMAND_layout,
		.take = layout_command_take_option,
		.context = request,
		.help = layout_command_print_more };
	int code = command_line_parse(&request->line, argc, argv);
	if (code != EXIT_FINE || request->line.helped)
		return code;
	request->path = *request->line.operand;
	request->asked.seconds = request->line.seconds;
	request->asked.options.effort = request->line.seconds > 0 ? UINT64_MAX : COMMAND_EFFORT;
	return EXIT_FINE;
}

/* ---- running ---- */

/* To standard output; takes the object. */
static bool dump(json_t *object)
{
	/* What was left out for want of memory makes a wrong object, not none. */
	errno = 0;
	bool done = !json_memory_failed() && object && json_dumpf(object, stdout, JSON_REAL_PRECISION(6)) == 0 &&
		putchar('\n') == '\n';
	json_decref(object);
	return done;
}

static bool layout_command_write_csv(
	const struct request *request, const struct buffers_csv *csv, const struct layout *layout)
{
	struct output output;
	struct error error = { 0 };
	if (!request->line.output && (request->line.json || request->asked.said))
		return true;
	enum status status = output_open(&output, request->line.output, true, &error);
	if (status == OK) {
		buffers_csv_write(csv, layout->offset, output.stream);
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
	text_write_clean(context, PRINTED(300, " %.*s", (int)id.length, id.text), "");
}

/* Names buffers in messages as the file does. */
static void say_core(const struct request *request, const struct buffers_csv *csv, const struct layout *layout)
{
	if (!layout->core_count)
		return;
	uint32_t count = 0;
	layout_each_of_core(csv, layout, count_name, &count);
	if (layout->ground == LAYOUT_PROOF_LOAD)
		fprintf(stderr, "tidemark: layout: these %" PRIu32 " are alive together at %" PRId64 " and alone do not fit",
			count, layout->moment);
	else
		fprintf(stderr, "tidemark: layout: these %" PRIu32 " alone need at least %" PRId64, count, layout->proof.bound);
	fprintf(stderr, "%s%s:", layout->irreducible ? ", none of them can be left out" : "",
		layout_core_confirmed(&request->asked, csv, layout) ? " (confirmed independently)" : "");
	layout_each_of_core(csv, layout, say_name, stderr);
	fputc('\n', stderr);
}

/* What contradicts what, with names as the file has them. */
static void say_why(const char *path, const struct buffers_csv *csv, const struct layout *layout,
	const struct error *error)
{
	const struct layout_clash *clash = &layout->clash;
	if (clash->buffer[0] == NONE) {
		complain_line("%s: %s", path, error->text);
		return;
	}
	struct slice a = csv->id[clash->buffer[0]], b = csv->id[clash->buffer[1]];
	complain_line("%s: %.*s and %.*s %s", path, (int)a.length, a.text, (int)b.length, b.text,
		layout_clash_text(clash, TEXT(300)));
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

/* Of a snapshot, unless standard output is for something else. False: it can't be written. */
static bool layout_command_write_card(const struct request *request, const struct layout *layout, bool limited)
{
	if (!request->asked.said || request->line.json ||
		(text_is(request->line.output, "-")))
		return true;
	snapshot_print(request->asked.said, request->asked.options.alignment, layout->offset ? layout : NULL, stdout);
	if (layout->offset && limited)
		printf("  %-22s the time ended: with more, a smaller arena may be found\n", "cut short");
	return flush_json(true);
}

static int layout_command_report(const struct request *request, const struct buffers_csv *csv,
	const struct layout *layout, enum status status, const struct error *error, double time)
{
	int64_t capacity = request->asked.options.capacity;
	bool limited = status == CANCELLED || status == LIMIT;
	if ((layout->offset || status == CANCELLED) && !layout_command_write_card(request, layout, limited))
		return EXIT_LIMIT;
	if (layout->offset && ((request->line.json && !flush_json(dump(layout_json(&request->asked, csv, layout, limited,
		time)))) || !layout_command_write_csv(request, csv, layout)))
		return EXIT_LIMIT;
	if (batch_signal())
		return batch_signal();
	if (status == INFEASIBLE) {
		say_why(request->path, csv, layout, error);
		say_core(request, csv, layout);
		return EXIT_CONSTRAINT;
	}
	if (!layout->offset) {
		complain_line("%s: the time ended before a layout was found: --time gives more", request->path);
		return EXIT_LIMIT;
	}
	if (capacity > 0 && layout->arena > capacity) {
		complain_line("%s: no layout found within %" PRId64 " bytes, the best has %" PRId64, request->path, capacity,
			layout->arena);
		return EXIT_CONSTRAINT;
	}
	return EXIT_FINE;
}

/* What is written is looked at by the checker, which shares no code with the solver. */
static enum status confirm(const struct request *request, const struct buffers_csv *csv, const struct layout *layout)
{
	struct error error = { 0 };
	enum status status = layout_check(&csv->buffers, request->asked.options.alignment, layout, &error);
	return status == OK ? OK : fail_wrong(request, status, &error);
}

/* The time ended before there was a layout: the first that is found, whatever strategy was asked for, so that there is
 * one. CANCELLED where it is found. */
static enum status solve_first(const struct request *request, const struct buffers_csv *csv, struct layout *layout,
	struct error *error)
{
	struct layout_options first = request->asked.options;
	struct control unstoppable = { 0 };
	first.strategy = LAYOUT_BEST;
	first.effort = 0;
	first.first = true;
	layout_free(layout);
	TRY(layout_solve(&csv->buffers, &first, &unstoppable, layout, error));
	return CANCELLED;
}

/* A snapshot's buffers get their rows and ids where those are asked for, which is behind the solver: of millions they
 * take hundreds of megabytes. */
static enum status name_buffers(
	const struct request *request, struct buffers_csv *csv, enum status status, struct error *error)
{
	bool asked = request->line.json || request->line.output || status == INFEASIBLE;
	return request->asked.said && asked && !csv->id ? snapshot_rows(csv, error) : OK;
}

static int layout_command_solve(const struct request *request, struct buffers_csv *csv)
{
	OWN(layout) layout = { 0 };
	struct control control = { .cancel = batch_cancel() };
	struct error error = { 0 };
	double start = clock_seconds(CLOCK_MONOTONIC);
	enum status status = layout_solve(&csv->buffers, &request->asked.options, &control, &layout, &error);
	if (status == CANCELLED && !layout.offset && !batch_signal())
		status = solve_first(request, csv, &layout, &error);
	double time = clock_seconds(CLOCK_MONOTONIC) - start;
	if (layout.offset && confirm(request, csv, &layout) != OK)
		return EXIT_LIMIT;
	bool wrong = status == NO_MEMORY || status == BAD_INPUT;
	if (!wrong && name_buffers(request, csv, status, &error) != OK) {
		wrong = true;
		status = NO_MEMORY;
	}
	return wrong ? fail_input(request->path, status, &error)
		: layout_command_report(request, csv, &layout, status, &error, time);
}

int layout_command(int argc, char **argv)
{
	struct request request = { .asked = { .options = { .strategy = LAYOUT_BEST }, .device = -1 } };
	struct buffers_csv csv = { 0 };
	struct error error = { 0 };
	int exit_status = parse_arguments(&request, argc, argv);
	if (exit_status != EXIT_FINE || request.line.helped)
		return exit_status;
	enum status status = layout_read(&request.asked, request.path, &csv, &error);
	if (status != OK) {
		exit_status = fail_input(request.path, status, &error);
	} else {
		batch_limit(request.line.seconds);
		exit_status = layout_command_solve(&request, &csv);
	}
	buffers_csv_free(&csv);
	json_decref(request.asked.said);
	return exit_status;
}
