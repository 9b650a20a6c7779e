/* check_command.c: `tidemark check`: a plan of a graph, a layout of buffers, changes that fit. What the first file is
 * decides. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "batch.h"
#include "src/check/check.h"
#include "src/read/detect.h"
#include "src/read/plan_file.h"
#include "fit_check.h"
#include "layout_check.h"
#include "options.h"

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
	case OPTION_check_capacity: fine = layout_parse_bytes(value, &request->wanted.options.capacity); break;
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
			"%s: nothing in it is wrong as far as it can be looked at; it says that it was cut short, so not all can",
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
		? fit_check_file(graph, file, request->line.rules_file, request->options.numbers, stdout, &error)
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
	for (int i = 0; i < 2; i++)
		if (!check_command_kind_of(request.line.operand[i], i ? &second : &kind))
			return complain(request.line.operand[i], &(struct error){ .status = NO_MEMORY }, NO_MEMORY);
	/* Of a memory snapshot there are plans of its graph and layouts of its buffers. */
	if (kind == INPUT_MINIMALLOC || ((kind == INPUT_SNAPSHOT || kind == INPUT_PICKLE) && second != INPUT_PLAN))
		return check_command_check_buffers(&request);
	return check_graph(&request, second);
}
