/* main.c: the program's entry: a subcommand, or a graph to explore. */
#include <jansson.h>
#include <locale.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "batch.h"
#include "export.h"
#include "subcommands.h"
#include "ui/explore.h"

static int print_help(void)
{
	fputs("usage: tidemark [GRAPH]\n       tidemark COMMAND ...\n\n"
	      "Explores the memory plan of a training step: in what order its operators run, at which\n"
	      "offset every tensor lives, and how far that is from a proven minimum.\n\n"
	      "  tidemark [GRAPH]   explore in the terminal; a report when standard output is none\n", stdout);
	for (int i = 0; i < subcommand_count; i++)
		printf("  tidemark %s %s\n      %s\n", subcommands[i].name, subcommands[i].synopsis, subcommands[i].help);
	fputs("\n  -h, --help      this text\n  -V, --version   version of the program and its libraries\n\n"
	      "GRAPH is a native graph (JSON Lines, gz or not) or - for standard input. See tidemark(1).\n", stdout);
	return EXIT_FINE;
}

static int print_version(void)
{
	printf("tidemark %s\njansson %s\nzlib %s\n", TIDEMARK_VERSION, jansson_version_str(), zlibVersion());
	return EXIT_FINE;
}

/* On a terminal the explorer; where standard output is none, the report. */
static int open_graph(const char *path)
{
	char *arguments[] = { (char[]){ "plan" }, (char *)(uintptr_t)path, NULL };
	if (!isatty(STDOUT_FILENO))
		return plan_command(2, arguments);
	int status;
	struct graph *graph = batch_open(path, &status);
	if (!graph)
		return status;
	struct error error = { 0 };
	struct scenario scenario;
	scenario_init(&scenario);
	struct session *session = session_new(graph, path, &scenario, &(struct session_options){ .interactive = true }, &error);
	scenario_done(&scenario);
	if (!session)
		return complain(NULL, &error, NO_MEMORY);
	status = explore(session, &(struct explore_options){ .ascii = false });
	session_free(session);
	return status;
}

int main(int argc, char **argv)
{
	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C");
	if (argc < 2)
		return print_help();
	if (strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "--help") == 0)
		return print_help();
	if (strcmp(argv[1], "-V") == 0 || strcmp(argv[1], "--version") == 0)
		return print_version();
	for (int i = 0; i < subcommand_count; i++)
		if (strcmp(argv[1], subcommands[i].name) == 0)
			return subcommands[i].run(argc - 1, argv + 1);
	if (argv[1][0] == '-' && argv[1][1])
		return usage_error("", "unknown option %s", argv[1]);
	if (argc > 2)
		return usage_error("", "unknown command %s", argv[1]);
	return open_graph(argv[1]);
}
