/* compare_command.c: `tidemark compare FIRST SECOND`: a step as it ran beside another one as planned, of any formats.
 */
#include <unistd.h>

#include "batch.h"
#include "options.h"
#include "src/base/output.h"
#include "src/write/caption.h"
#include "src/write/data.h"

struct request {
	struct command_line line;
	struct scenario scenario;
	struct read_options first; /* how FIRST is read; line.reading is of SECOND */
	struct export_options options;
	enum export_kind_id kind; /* EXPORT_text: the report */
};

static int take_kind(struct request *request, const char *value)
{
	static const char *const words[] = { "text", "json", "csv", "svg", "pdf", "png", "tikz", "html" };
	int word = 0,
		code = option_word(&request->line, OPTION_as, value, words, (int)COUNT_OF(words), &word);
	if (code == EXIT_FINE)
		request->kind = export_find(words[word]);
	return code;
}

/* "graph=2", "dim=batch=4", "fusions=open": options that otherwise are of SECOND. */
static int take_first(struct request *request, const char *text)
{
	static const char *const names[] = { "graph", "dim", "fusions" };
	char name[16];
	size_t length = strcspn(text, "=");
	struct error error = { 0 };
	PRINT_TO(name, "%.*s", (int)length, text);
	if (!text[length] || name_index(names, COUNT_OF(names), name) < 0)
		return usage_error("compare", "--first %s: expected graph=N, dim=NAME=SIZE or fusions=HOW", text);
	return read_options_take(&request->first, name, text + length + 1, &error) == OK
		? EXIT_FINE
		: usage_error("compare", "first file: %s", error.text);
}

static int compare_command_take_option(void *context, int row, const char *value)
{
	struct request *request = context;
	char *end;
	if (row == OPTION_as)
		return take_kind(request, value);
	if (row == OPTION_first)
		return take_first(request, value);
	request->options.width = strtod(value, &end);
	return *value && !*end && request->options.width >= CANVAS_LEAST && request->options.width <= CANVAS_MOST ? EXIT_FINE
		: usage_error("compare", "--width %s: expected points, %.0f to %.0f (8.5 cm are 241)", value,
			CANVAS_LEAST, CANVAS_MOST);
}

static void help(void)
{
	putchar('\n');
	words_print(stdout, "", 0,
		"FIRST is taken as it ran: a memory snapshot, a compiler's plan, or any graph in its own order, at its own "
		"addresses where it has some. SECOND is "
		"planned, with --set and the other knobs; --graph, --dim and --fusions are of it, --first graph=N and so "
		"on of FIRST. The report has both peaks, the highest points of the forward pass, the backward "
		"pass and the update, "
		"and what only one of them holds at its peak: buffers alive at both peaks are paired by size, and by the place "
		"in the source where both name it. "
		"--as csv, svg, pdf, png or tikz writes both timelines, matched by phases; --as html a page with both plans.");
}

static enum status write_it(
	const struct request *request, const struct beside_report *report, FILE *stream, struct error *error)
{
	if (request->kind == EXPORT_json)
		beside_json(report, stream);
	else if (request->kind == EXPORT_text)
		beside_text(report, stream);
	else if (request->kind == EXPORT_html)
		return html_write(report->plan, (const char *[]){ "as it ran", "as planned" }, 2, stream, error);
	else
		return beside_timeline(report, &request->options, request->kind, stream, error);
	return OK;
}

static int compare_command_compare(const struct request *request, const struct plan *first, const struct plan *second)
{
	struct beside beside;
	struct error error = { 0 };
	struct output output;
	struct beside_report report = { .plan = { first, second }, .beside = &beside };
	FOR_INT(side, 2) {
		const char *name = strrchr(request->line.operand[side], '/');
		report.name[side] = name ? name + 1 : request->line.operand[side];
	}
	enum status status = beside_make(first, second, &beside);
	if (status != OK)
		fail_memory(&error);
	THEN(status, output_open(&output, request->line.output, true, &error));
	THEN(status, output_close(&output, write_it(request, &report, output.stream, &error), &error));
	beside_free(&beside);
	return status == OK ? plan_exit(second) : complain(NULL, &error, status);
}

static struct plan *first_plan(const struct request *request, int *code)
{
	const char *path = request->line.operand[0];
	struct error error = { 0 };
	struct graph *graph = batch_open(path, &request->first, code);
	if (!graph)
		return NULL;
	struct plan *plan = plan_as_read(graph, request->line.rules_file, batch_cancel(), &error);
	graph_release(graph);
	if (!plan)
		*code = batch_signal() && error.status == CANCELLED ? batch_signal() : complain(path, &error, error.status);
	return plan;
}

static int compare_command_serve(const struct request *request)
{
	int code = EXIT_FINE;
	bool binary = request->kind == EXPORT_pdf || request->kind == EXPORT_png;
	if (binary && (!request->line.output || text_is(request->line.output, "-")) && isatty(STDOUT_FILENO))
		return usage_error("compare", "this is binary and standard output is a terminal: give -o FILE");
	OWN(plan) *first = first_plan(request, &code);
	OWN(graph) *graph = first ? batch_open(request->line.operand[1], &request->line.reading, &code) : NULL;
	batch_limit(request->line.seconds);
	if (graph)
		batch_doubt(&request->scenario, graph);
	OWN(plan) *second = graph ? batch_plan(graph, request->line.operand[1], &request->scenario,
									request->line.rules_file, PLAN_COMPLETE, &code)
									: NULL;
	if (second) {
		batch_limit_signals_end();
		code = compare_command_compare(request, first, second);
	}
	return code;
}

int compare_command(int argc, char **argv)
{
	struct request request = {
		.line = { .command = SUBCOMMAND_compare, .take = compare_command_take_option, .help = help },
		.kind = EXPORT_text
	};
	scenario_init(&request.scenario);
	request.line.scenario = &request.scenario;
	request.line.context = &request;
	int code = command_line_parse(&request.line, argc, argv);
	if (code == EXIT_FINE && !request.line.helped) {
		request.kind = request.line.json ? EXPORT_json : request.kind;
		code = compare_command_serve(&request);
	}
	scenario_done(&request.scenario);
	return code;
}
