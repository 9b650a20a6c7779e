/* subcommands.c: the table, and plan, export and check. */
#include <langinfo.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "batch.h"
#include "src/draw/canvas.h"
#include "src/write/export.h"
#include "src/check/check.h"
#include "src/scenario/nearest.h"
#include "src/scenario/shard_mesh.h"
#include "subcommands.h"
#include "options.h"

const struct subcommand subcommands[] = {
#define X(name, synopsis, help) { #name, synopsis, help, name##_command },
	SUBCOMMANDS(X)
#undef X
};
const int subcommand_count = sizeof subcommands / sizeof *subcommands;

int subcommand_usage(const char *name)
{
	for (int i = 0; i < subcommand_count; i++)
		if (strcmp(subcommands[i].name, name) == 0)
			printf("usage: tidemark %s %s\n%s\n", name, subcommands[i].synopsis, subcommands[i].help);
	return EXIT_FINE;
}

/* What plan and export share. */
struct request {
	struct scenario scenario;
	struct export_options options;
	const char *command, *graph, *output, *kind;
	double seconds;
	bool helped;
};

static const struct option long_options[] = {
	{ "set", required_argument, NULL, 's' }, { "pin", required_argument, NULL, 'p' }, { "time", required_argument, NULL, 't' },
	{ "json", no_argument, NULL, 'J' }, { "csv", no_argument, NULL, 'C' }, { "text", no_argument, NULL, 'T' },
	{ "output", required_argument, NULL, 'o' }, { "as", required_argument, NULL, 'a' }, { "view", required_argument, NULL, 'v' },
	{ "stage", required_argument, NULL, 'S' }, { "rules", required_argument, NULL, 'r' }, { "factors", no_argument, NULL, 'f' }, { "width", required_argument, NULL, 'w' },
	{ "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 },
};

static int take_width(struct request *request, const char *text)
{
	char *end;
	request->options.width = strtod(text, &end);
	return *text && !*end && request->options.width >= CANVAS_LEAST && request->options.width <= CANVAS_MOST ? EXIT_FINE
		: usage_error(request->command, "--width %s: expected points, %.0f to %.0f", text, CANVAS_LEAST, CANVAS_MOST);
}

static int take_option(struct request *request, int letter)
{
	switch (letter) {
	case 's': return batch_set(&request->scenario, optarg);
	case 'p': return batch_pin(&request->scenario, optarg);
	case 't': return batch_seconds(request->command, optarg, &request->seconds);
	case 'J': request->kind = "json"; return EXIT_FINE;
	case 'C': request->kind = "csv"; return EXIT_FINE;
	case 'T': request->kind = "text"; return EXIT_FINE;
	case 'a': request->kind = optarg; return EXIT_FINE;
	case 'v': request->options.view = optarg; return EXIT_FINE;
	case 'o': request->output = optarg; return EXIT_FINE;
	case 'f': request->options.factors = true; return EXIT_FINE;
	case 'r': request->options.rules_file = optarg; return EXIT_FINE;
	case 'w': return take_width(request, optarg);
	case 'S':
		request->options.stage = optarg;
		return strcmp(optarg, "input") == 0 || strcmp(optarg, "device") == 0 ? EXIT_FINE
			: usage_error(request->command, "--stage %s: expected input or device", optarg);
	case 'h':
		request->helped = true;
		subcommand_usage(request->command);
		export_help(stdout);
		return EXIT_FINE;
	default: return EXIT_USAGE;   /* option_next() has said why */
	}
}

static int parse(struct request *request, int argc, char **argv)
{
	int letter, code = EXIT_FINE;
	scenario_init(&request->scenario);
	request->options.utf8 = strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
	optind = 1;
	while (code == EXIT_FINE && !request->helped && (letter = option_next(request->command, argc, argv, ":o:h", long_options)) != -1)
		code = take_option(request, letter);
	if (code != EXIT_FINE || request->helped)
		return code;
	if (optind + 1 != argc)
		return usage_error(request->command, "%s", optind == argc ? "which GRAPH?" : "more than one GRAPH");
	request->graph = argv[optind];
	return EXIT_FINE;
}

/* Plans and writes; the exit status. */
static int serve(const struct request *request, enum export_kind_id kind)
{
	int code = EXIT_FINE;
	char doubt[160];
	struct error error = { 0 };
	/* While the graph is read, signals end the program at once: there is nothing yet that could be printed. */
	struct graph *graph = batch_open(request->graph, &code);
	batch_limit(request->seconds);
	if (graph && *scenario_doubt(&request->scenario, graph, doubt, sizeof doubt))
		complain_line("%s", doubt);
	struct plan *plan = graph ? batch_plan(graph, request->graph, &request->scenario, request->options.rules_file,
		export_kinds[kind].needs_plan || scenario_searches(&request->scenario) ? PLAN_COMPLETE : PLAN_QUICK, &code) : NULL;
	graph_release(graph);
	if (!plan)
		return code;
	enum status status = export_to(kind, plan, &request->options, request->output, true, &error);
	code = status == OK ? plan_exit(plan) : complain(NULL, &error, status);
	plan_release(plan);
	return code;
}

static int kind_error(const struct request *request)
{
	char names[300] = "", hint[120];
	size_t used = 0;
	struct nearest nearest = { .wanted = request->kind ? request->kind : "" };
	for (int i = 0; i < EXPORT_KIND_COUNT && used < sizeof names; i++) {
		used += (size_t)snprintf(names + used, sizeof names - used, "%s%s", i ? ", " : "", export_kinds[i].name);
		nearest_consider(&nearest, export_kinds[i].name);
	}
	return usage_error(request->command, "%s: expected one of %s%s", request->kind ? request->kind : "--as is missing", names,
		nearest_text(&nearest, "", hint, sizeof hint));
}

/* Options that another one must go with. */
static int check_options(const struct request *request, enum export_kind_id kind)
{
	struct error error = { 0 };
	const struct export_view *view = export_view_find(kind, request->options.view, &error);
	if (!view)
		return usage_error(request->command, "--view: %s", error.text);
	if (request->options.factors && kind != EXPORT_json)
		return usage_error(request->command, "--factors belongs to %s", strcmp(request->command, "plan") == 0 ? "--json" : "--as json");
	bool binary = kind == EXPORT_pdf || kind == EXPORT_png;
	if (binary && (!request->output || strcmp(request->output, "-") == 0) && isatty(STDOUT_FILENO))
		return usage_error(request->command, "%s is binary and standard output is a terminal: give -o FILE", request->kind);
	if (request->options.width > 0 && !view->figure)
		return usage_error(request->command, "--width belongs to figures: timeline, map, pipeline, mesh as svg, pdf or tikz");
	return EXIT_FINE;
}

static int run(struct request *request, int argc, char **argv)
{
	int code = parse(request, argc, argv);
	if (code == EXIT_FINE && !request->helped) {
		enum export_kind_id kind = request->kind ? export_find(request->kind) : EXPORT_KIND_COUNT;
		code = kind == EXPORT_KIND_COUNT ? kind_error(request) : check_options(request, kind);
		if (code == EXIT_FINE)
			code = serve(request, kind);
	}
	scenario_done(&request->scenario);
	return code;
}

int plan_command(int argc, char **argv)
{
	struct request request = { .command = "plan", .kind = "text", .options.with_run = true };
	return run(&request, argc, argv);
}

int export_command(int argc, char **argv)
{
	struct request request = { .command = "export" };
	return run(&request, argc, argv);
}

int check_command(int argc, char **argv)
{
	static const struct option options[] = { { "rules", required_argument, NULL, 'r' }, { "planned", no_argument, NULL, 'p' },
		{ "numbers", no_argument, NULL, 'n' }, { "help", no_argument, NULL, 'h' }, { NULL, 0, NULL, 0 } };
	struct check_options wanted = { .report = stdout };
	int letter, code = EXIT_FINE;
	optind = 1;
	while ((letter = option_next("check", argc, argv, ":h", options)) != -1) {
		if (letter == 'h' || letter == '?')
			return letter == 'h' ? subcommand_usage("check") : EXIT_USAGE;
		wanted.rules_file = letter == 'r' ? optarg : wanted.rules_file;
		wanted.planned |= letter == 'p';
		wanted.numbers |= letter == 'n';
	}
	if (optind + 2 != argc)
		return usage_error("check", "check takes GRAPH and PLAN.json");
	struct error error = { 0 };
	const char *path = argv[optind], *plan = argv[optind + 1];
	struct graph *graph = batch_open(path, &code);
	if (!graph)
		return code;
	enum status status = plan_check(graph, plan, &wanted, &error);
	graph_release(graph);
	return status == OK ? EXIT_FINE : complain(plan, &error, status);
}
