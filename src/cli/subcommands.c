/* subcommands.c: the table, and plan and export. */
#include <langinfo.h>
#include <unistd.h>

#include "batch.h"
#include "src/write/caption.h"
#include "src/write/data.h"
#include "src/base/output.h"
#include "src/scenario/knobs.h"
#include "src/scenario/shard_mesh.h"
#include "options.h"

const struct subcommand subcommands[] = {
#define X(name, operands, help) { #name, operands, help, name##_command },
	SUBCOMMANDS(X)
#undef X
};

/* What plan and export share. */
struct request {
	struct command_line line;
	struct scenario scenario;
	struct export_options options;
	const char *kind, *caption;
	const char *vary; /* "K=V1,V2", or NULL */
	char **argv; /* the command's name and what follows it */
	int argc;
};

static const char *command_of(const struct request *request)
{
	return subcommands[request->line.command].name;
}

static int take_width(struct request *request, const char *text)
{
	char *end;
	request->options.width = strtod(text, &end);
	return *text && !*end && request->options.width >= CANVAS_LEAST && request->options.width <= CANVAS_MOST ? EXIT_FINE
		: usage_error(command_of(request), "--width %s: expected points, %.0f to %.0f (8.5 cm are 241)", text,
			CANVAS_LEAST, CANVAS_MOST);
}

static int subcommands_take_option(void *context, int row, const char *value)
{
	static const char *const stages[] = { "input", "device" };
	struct request *request = context;
	int stage;
	switch (row) {
	case OPTION_csv: request->kind = "csv"; return EXIT_FINE;
	case OPTION_as: request->kind = value; return EXIT_FINE;
	case OPTION_view: request->options.view = value; return EXIT_FINE;
	case OPTION_factors: request->options.factors = true; return EXIT_FINE;
	case OPTION_width: return take_width(request, value);
	case OPTION_vary:
		if (request->vary)
			return usage_error(command_of(request), "--vary: a page varies one knob");
		request->vary = value;
		return EXIT_FINE;
	case OPTION_caption: request->caption = value; return EXIT_FINE;
	case OPTION_no_title: request->options.no_title = true; return EXIT_FINE;
	case OPTION_no_legend: request->options.no_legend = true; return EXIT_FINE;
	default:
		request->options.stage = value;
		return option_word(&request->line, row, value, stages, 2, &stage);
	}
}

/* Whether the planned graph, or the verdict on it, needs a complete plan: a choice among plans, a memory cap, the rank
 * with the largest arena. */
static bool graph_follows_plan(const struct scenario *scenario)
{
	return scenario_searches(scenario) || scenario_pipelines(scenario) || scenario_budget(scenario) >= 0;
}

static enum status write_files(const struct request *request, const struct export_options *options,
	enum export_kind_id kind, struct error *error)
{
	struct output output;
	TRY(output_open(&output, request->line.output, true, error));
	enum status status = file_figure_write(
		request->line.operand, request->line.operands, options, kind, output.stream, error);
	return output_close(&output, status, error);
}

/* plan NULL: of files. The caption appears if the figure does. */
static enum status write_figure(
	const struct request *request, const struct plan *plan, enum export_kind_id kind, struct error *error)
{
	struct output caption = { 0 };
	struct words said = { TEXT(CAPTION_SAID), 0 };
	struct export_options options = request->options;
	options.said = request->caption ? &said : NULL;
	TRY(request->caption ? output_open(&caption, request->caption, true, error) : OK);
	enum status status = plan ? export_to(kind, plan, &options, request->line.output, true, error)
		: write_files(request, &options, kind, error);
	if (request->caption && status == OK)
		status = plan ? caption_write(plan, &options, request->argv, request->argc, caption.stream, error)
			: caption_write_files(request->line.operand, request->line.operands, &options, request->argv, request->argc,
							caption.stream, error);
	return request->caption ? output_close(&caption, status, error) : status;
}

static int serve_files(const struct request *request, enum export_kind_id kind)
{
	struct error error = { 0 };
	enum status status = write_figure(request, NULL, kind, &error);
	return status == OK ? EXIT_FINE : complain(NULL, &error, status);
}

#define VARIANTS_MOST 24

/* The values of a knob, each planned, as one page, in which a plan that doesn't fit says so. */
struct variants {
	struct plan *plan[VARIANTS_MOST];
	char label[VARIANTS_MOST][130];
	const char *labels[VARIANTS_MOST];
	uint32_t count;
};

static int variants_plan(struct variants *variants, const struct request *request, struct graph *graph)
{
	const char *at = strchr(request->vary, '=');
	int code = at ? EXIT_FINE : usage_error("export", "--vary %s: expected KNOB=V1,V2,...", request->vary);
	int name = at ? (int)(at - request->vary) : 0;
	struct error error = { 0 };
	while (code == EXIT_FINE && at && *at) {
		struct scenario scenario;
		size_t length = strcspn(++at, ",");
		char *label = variants->label[variants->count];
		if (variants->count == VARIANTS_MOST)
			return usage_error("export", "--vary: more than %d values", VARIANTS_MOST);
		snprintf(label, sizeof *variants->label, "%.*s=%.*s", SMALLER(name, 60), request->vary,
			(int)SMALLER(length, 60), at);
		if (scenario_copy(&scenario, &request->scenario) != OK)
			return complain(NULL, &error, fail_memory(&error));
		if (scenario_set(&scenario, label, &error) != OK)
			code = usage_error("export", "--vary: %s", error.text);
		else if ((variants->plan[variants->count] = batch_plan(graph, *request->line.operand, &scenario,
			request->options.rules_file, PLAN_COMPLETE, &code))) {
			if (variants->plan[variants->count]->limited)
				complain_line("%s was cut short: a better plan may exist", label);
			variants->labels[variants->count++] = label;
		}
		scenario_done(&scenario);
		at += length;
	}
	return code;
}

static int variants_serve(const struct request *request, struct graph *graph)
{
	struct output output;
	struct error error = { 0 };
	HELD struct variants *MAKE(variants, 1);
	int code = variants ? variants_plan(variants, request, graph) : complain(NULL, &error, fail_memory(&error));
	if (code == EXIT_FINE) {
		batch_limit_signals_end();
		enum status status = output_open(&output, request->line.output, true, &error);
		THEN(status, output_close(&output, html_write((const struct plan *const *)variants->plan, variants->labels,
			variants->count, output.stream, &error), &error));
		code = status == OK ? batch_signal() : complain(NULL, &error, status);
	}
	for (uint32_t i = 0; variants && i < variants->count; i++)
		plan_release(variants->plan[i]);
	return code;
}

/* What a level more of effort may gain: on several devices order and layout decide little. */
static bool plan_is_open(const struct plan *plan)
{
	enum order_strategy order = (enum order_strategy)plan->scenario.value[K_order];
	return plan->scenario.value[K_devices] == 1 && plan->scenario.value[K_effort] < EFFORT_MAX && !plan_cut_short(plan) &&
		(order == ORDER_AUTO || order == ORDER_BEST) &&
		(!plan_is_proved(plan) || plan_arena(plan) > plan->laid_out->layout.proof.bound);
}

/* With a time limit: the plan of a level more of effort, as long as something is unproved and time is left. */
static struct plan *plan_with_time(const struct request *request, struct graph *graph, struct plan *plan)
{
	while (plan && request->line.seconds > 0 && !atomic_load(batch_cancel()) && plan_is_open(plan)) {
		struct scenario scenario;
		int code = EXIT_FINE;
		if (scenario_copy(&scenario, &plan->scenario) != OK)
			break;
		scenario.value[K_effort]++;
		struct plan *next = batch_plan(
			graph, *request->line.operand, &scenario, request->options.rules_file, PLAN_COMPLETE, &code);
		scenario_done(&scenario);
		bool better = next && (!plan_cut_short(next) || plan_arena(next) < plan_arena(plan));
		plan_release(better ? plan : next);
		if (!better)
			break;
		plan = next;
	}
	return plan;
}

/* Plans and writes; the exit status. */
static int subcommands_serve(const struct request *request, enum export_kind_id kind)
{
	int code = EXIT_FINE;
	struct error error = { 0 };
	/* While the graph is read, signals end the program at once: there is nothing yet that could be printed. */
	struct graph *graph = batch_open(*request->line.operand, &request->line.reading, &code);
	batch_limit(request->line.seconds);
	if (graph)
		batch_doubt(&request->scenario, graph);
	if (graph && request->vary) {
		code = variants_serve(request, graph);
		graph_release(graph);
		return code;
	}
	struct plan *plan = graph ? batch_plan(graph, *request->line.operand, &request->scenario, request->options.rules_file,
		export_kinds[kind].needs_plan || graph_follows_plan(&request->scenario) ? PLAN_COMPLETE : PLAN_QUICK, &code) : NULL;
	plan = plan_with_time(request, graph, plan);
	graph_release(graph);
	if (!plan)
		return code;
	batch_limit_signals_end();
	enum status status = write_figure(request, plan, kind, &error);
	code = status == OK ? plan_exit(plan) : complain(NULL, &error, status);
	plan_release(plan);
	return code;
}

static int kind_error(const struct request *request)
{
	char names[300] = "";
	struct words words = { names, sizeof names, 0 };
	struct nearest nearest = { .wanted = request->kind ? request->kind : "" };
	for (int i = 0; i < EXPORT_KIND_COUNT; i++) {
		words_add(&words, "%s%s", i ? ", " : "", export_kinds[i].name);
		nearest_consider(&nearest, export_kinds[i].name);
	}
	return usage_error(command_of(request), "%s: expected one of %s%s",
		request->kind ? request->kind : "--as is missing", names, nearest_text(&nearest, "", TEXT(120)));
}

static int check_figure_options(
	const struct request *request, const struct export_view *view, enum export_kind_id kind)
{
	char figures[200];
	bool figure = view->figure && export_is_picture(kind);
	export_figure_names(figures, sizeof figures);
	if (request->options.width > 0 && !figure && view->write != export_drawing)
		return usage_error(command_of(request), "--width belongs to drawings and figures: %s", figures);
	const char *paper = request->options.no_title ? "--no-title"
		: request->options.no_legend ? "--no-legend"
		: request->caption ? "--caption"
		: NULL;
	if (paper && !figure)
		return usage_error(command_of(request), "%s belongs to figures: %s", paper, figures);
	if (text_is(request->caption, request->line.output ? request->line.output : "-"))
		return usage_error(command_of(request), "--caption %s: the figure also goes there", request->caption);
	return EXIT_FINE;
}

/* Options that another one must go with. */
static int check_options(const struct request *request, enum export_kind_id kind)
{
	struct error error = { 0 };
	const struct export_view *view = export_view_find(kind, request->options.view, &error);
	if (request->line.operands > 1 && sweep_figure_view(request->options.view))
		return usage_error(command_of(request), "one file of a sweep: `tidemark sweep --merge` puts pieces together");
	if (request->line.operands > 1 && !plan_curves_kind(&request->options, kind))
		return usage_error(
			command_of(request), "of several plan files there are --view timeline, bars and gap, as svg, pdf, png or tikz, "
			"timeline as csv");
	if (request->line.operands > 1)
		view = export_view_find(EXPORT_svg, request->options.view, &error);
	if (!view)
		return usage_error(command_of(request), "--view: %s", error.text);
	if (request->options.factors && kind != EXPORT_json)
		return usage_error(command_of(request), "--factors belongs to %s",
			text_is(command_of(request), "plan") ? "--json" : "--as json");
	if (request->vary && kind != EXPORT_html)
		return usage_error(command_of(request), "--vary belongs to --as html; many scenarios: `tidemark sweep`");
	bool binary = kind == EXPORT_pdf || kind == EXPORT_png;
	if (binary && (!request->line.output || text_is(request->line.output, "-")) && isatty(STDOUT_FILENO))
		return usage_error(
			command_of(request), "%s is binary and standard output is a terminal: give -o FILE", request->kind);
	return check_figure_options(request, view, kind);
}

static void print_kinds(void)
{
	export_help(stdout);
}

/* Of export --screen all options are the explorer's: see ui/app/explore.h. */
static void print_kinds_and_screens(void)
{
	putchar('\n');
	words_print(stdout, "", 0,
		"Plan files in place of GRAPH: --view timeline draws the memory of all, --view bars what they need, --view gap how "
		"long their orders took, --view map the addresses of one, as of what `tidemark layout` wrote. "
		"What `tidemark sweep`, search --json or fit --json wrote: --view pareto and --view bars, of a sweep --view sweep. "
		"--screen draws the explorer's screen after some keys.");
	puts("\nWith --screen:");
	command_line_help(SUBCOMMAND_screen);
	print_kinds();
}

static int subcommands_run(struct request *request, int argc, char **argv)
{
	struct command_line *line = &request->line;
	scenario_init(&request->scenario);
	request->options.utf8 = text_is(nl_langinfo(CODESET), "UTF-8");
	line->scenario = &request->scenario;
	line->take = subcommands_take_option;
	line->context = request;
	request->argc = argc;
	request->argv = argv;
	int code = command_line_parse(line, argc, argv);
	if (code == EXIT_FINE && !line->helped) {
		request->options.rules_file = line->rules_file;
		request->kind = line->json ? "json" : request->kind;
		enum export_kind_id kind = request->kind ? export_find(request->kind) : EXPORT_KIND_COUNT;
		code = kind == EXPORT_KIND_COUNT ? kind_error(request) : check_options(request, kind);
		if (code == EXIT_FINE)
			code = file_figure(line->operand, line->operands, &request->options) ? serve_files(request, kind)
				: subcommands_serve(request, kind);
	}
	scenario_done(&request->scenario);
	return code;
}

int plan_report(const struct command_line *line, const char *path)
{
	char *operand[] = { (char *)(uintptr_t)path, NULL };
	struct request request = { .line = *line, .scenario = *line->scenario, .kind = "text",
		.options = { .with_run = true, .rules_file = line->rules_file, .utf8 = text_is(nl_langinfo(CODESET), "UTF-8") } };
	request.line.command = SUBCOMMAND_plan;
	request.line.operand = operand;
	return subcommands_serve(&request, EXPORT_text);
}

int plan_command(int argc, char **argv)
{
	struct request request = {
		.line = { .command = SUBCOMMAND_plan, .help = print_kinds }, .kind = "text", .options.with_run = true
	};
	return subcommands_run(&request, argc, argv);
}

int export_command(int argc, char **argv)
{
	struct request request = { .line = {
								   .command = SUBCOMMAND_export, .several = true, .help = print_kinds_and_screens } };
	return subcommands_run(&request, argc, argv);
}
