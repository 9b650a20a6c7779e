/* main.c: the program's entry: a subcommand, or a graph to explore. */
#include <jansson.h>
#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "src/base/json_memory.h"
#include "src/cli/batch.h"
#include "src/write/export.h"
#include "src/read/input.h"
#include "solver/base/milp.h"
#include "src/scenario/nearest.h"
#include "src/session/log.h"
#include "src/cli/subcommands.h"
#include "src/cli/tables.h"
#include "ui/app/explore.h"
#include "ui/screen/terminal.h"
#include "ui/screen/theme.h"
#include "ui/app/screenshot.h"
#include "src/cli/options.h"

static int print_help(void)
{
	fputs("usage: tidemark [GRAPH]\n       tidemark COMMAND ...\n\n"
	      "Explores the memory plan of a training step: in what order its operators run, at which\n"
	      "offset every tensor lives, and how far that is from a proven minimum.\n\n"
	      "  tidemark [GRAPH]   explore in the terminal; a report when standard output is none\n", stdout);
	for (int i = 0; i < subcommand_count; i++)
		printf("  tidemark %s %s\n      %s\n", subcommands[i].name, subcommands[i].synopsis, subcommands[i].help);
	fputs("\n  help [COMMAND]     how a command is used\n\n  -h, --help         this text\n  -V, --version      version of the program and its libraries\n"
	      "  --resume[=FILE]    take up the last session, or that of a session file, in the explorer\n"
	      "  --rules=FILE       rules of operators of your own\n"
	      "  --theme=NAME       colours: ansi, dark, light or mono\n  --ascii            draw with ASCII\n"
	      "  --no-mouse         leave the mouse to the terminal\n\n"
	      "GRAPH is a graph in the native format or DOT, or XLA HLO as text or proto; gz or not, or - for standard\n"
	      "input; a sample where there is none. --fusions=open makes an op of each instruction in an HLO fusion. See tidemark(1) and tidemark(5).\n", stdout);
	return EXIT_FINE;
}

/* "; the nearest is plan" for "plna". */
static char *nearest_command(const char *word, char *text, size_t size)
{
	struct nearest nearest = { .wanted = word };
	for (int i = 0; i < subcommand_count; i++)
		nearest_consider(&nearest, subcommands[i].name);
	return nearest_text(&nearest, "", text, size);
}

/* "help", and "help COMMAND" for COMMAND --help. */
static int help(int argc, char **argv)
{
	static char option[] = "--help";
	char text[120];
	for (int i = 0; argc == 2 && i < subcommand_count; i++)
		if (strcmp(argv[1], subcommands[i].name) == 0)
			return subcommands[i].run(2, (char *[]){ argv[1], option, NULL });
	return argc == 1 ? print_help() : usage_error("", "there is no command %s%s", argv[argc - 1], nearest_command(argv[argc - 1], text, sizeof text));
}

static int print_version(void)
{
	printf("tidemark %s\n%s\nGLPK %s\njansson %s\nzlib %s\n", TIDEMARK_VERSION, curses_version_text(), milp_version(), jansson_version_str(), zlibVersion());
	return EXIT_FINE;
}

/* What the command line asks for beside a subcommand. */
struct invocation {
	const char *path, *resume, *rules_file;
	struct explore_options options;
	bool done;                  /* --help and the like: nothing left to do */
};

/* Runs the explorer on a session, from a session file or from the graph alone. */
static int explore_graph(struct graph *graph, const char *path, struct input *log, struct invocation *invocation)
{
	struct error error = { 0 };
	struct user_config config;
	config_load(&config);
	if (!invocation->options.theme && *config.theme)
		invocation->options.theme = config.theme;
	invocation->options.ascii |= strcmp(config.glyphs, "ascii") == 0;
	invocation->options.no_mouse |= config.no_mouse;
	invocation->options.config = &config;
	struct session *session = session_new(graph, path, &config.scenario, 
		&(struct session_options){ .interactive = true, .rules_file = invocation->rules_file }, &error);
	int code = session ? EXIT_FINE : complain(NULL, &error, NO_MEMORY);
	if (session && log) {
		struct source source = input_source(log);
		if (session_replay(session, &source, false, &error) != OK)
			code = complain(invocation->resume, &error, BAD_INPUT);
	}
	if (code == EXIT_FINE)
		code = explore(session, &invocation->options);
	session_free(session);
	scenario_done(&config.scenario);
	return code;
}

static int resume(struct invocation *invocation)
{
	struct error error = { 0 };
	bool ended;
	char *newest = *invocation->resume ? NULL : log_newest(&ended);
	if (newest)
		invocation->resume = newest;
	else if (!*invocation->resume)
		return complain(NULL, &(struct error){ .text = "there is no session to take up" }, BAD_INPUT);
	struct input *log = input_open(invocation->resume, &error);
	int code = log ? explore_graph(NULL, NULL, log, invocation) : complain(invocation->resume, &error, BAD_INPUT);
	input_close(log);
	mem_free(newest);
	return code;
}

/* The sample that opens where no graph is named: beside the program in its source tree, or where it was installed. */
static const char *sample_path(char *path, size_t size)
{
	static const char *const places[] = { "../samples", "../../samples", "../share/tidemark/samples" };
	char program[2048];
	ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
	while (length > 0 && program[length - 1] != '/')
		length--;
	for (size_t i = 0; length > 0 && i < sizeof places / sizeof *places; i++) {
		snprintf(path, size, "%.*s%s/gpt2_b1_s1024_adam.jsonl.gz", (int)length, program, places[i]);
		if (access(path, R_OK) == 0)
			return path;
	}
	return NULL;
}

/* On a terminal that can show it the explorer, else the report. */
static int open_graph(struct invocation *invocation)
{
	char sample[4096];
	const char *path = invocation->path ? invocation->path : sample_path(sample, sizeof sample);
	if (!path)
		return usage_error("", "which GRAPH? (the samples are not installed)");
	char *arguments[] = { (char[]){ "plan" }, (char *)(uintptr_t)path, NULL };
	if (!explore_possible())
		return plan_command(2, arguments);
	int code;
	bool ended;
	struct graph *graph = batch_open(path, &code);
	if (!graph)
		return code;
	char *newest = log_newest(&ended);
	if (newest && !ended)
		fprintf(stderr, "tidemark: the last session broke off: tidemark --resume takes it up\n");
	mem_free(newest);
	return explore_graph(graph, path, NULL, invocation);
}

static const struct option long_options[] = {
	{ "help", no_argument, NULL, 'h' }, { "version", no_argument, NULL, 'V' }, { "resume", optional_argument, NULL, 'r' },
	{ "theme", required_argument, NULL, 't' }, { "rules", required_argument, NULL, 'R' }, { "ascii", no_argument, NULL, 'a' }, { "no-mouse", no_argument, NULL, 'm' }, { "tables", required_argument, NULL, 'T' },
	{ NULL, 0, NULL, 0 },
};

static int take_option(struct invocation *invocation, int letter)
{
	switch (letter) {
	case 'r': invocation->resume = optarg ? optarg : ""; return EXIT_FINE;
	case 't':
		invocation->options.theme = optarg;
		return theme_find(optarg) != THEME_COUNT ? EXIT_FINE : usage_error("", "--theme %s: expected ansi, dark, light or mono", optarg);
	case 'R': invocation->rules_file = optarg; return EXIT_FINE;
	case 'a': invocation->options.ascii = true; return EXIT_FINE;
	case 'm': invocation->options.no_mouse = true; return EXIT_FINE;
	}
	invocation->done = true;
	switch (letter) {
	case 'h': return print_help();
	case 'V': return print_version();
	case 'T': return tables_write(optarg, stdout) ? EXIT_FINE : usage_error("", "there is no such table");
	default: return EXIT_USAGE;   /* option_next() has said why */
	}
}

/* The value of "--name VALUE" or "--name=VALUE" at argv[i], NULL where it is another word. */
static const char *reading_option(int argc, char **argv, int i, const char *name, int *words)
{
	size_t length = strlen(name);
	if (strncmp(argv[i], name, length) != 0)
		return NULL;
	*words = argv[i][length] == '=' ? 1 : 2;
	return argv[i][length] == '=' ? argv[i] + length + 1 : argv[i][length] == '\0' && i + 1 < argc ? argv[i + 1] : NULL;
}

/* One of the options that say how a graph is read; *words is how many words it takes, 0: it is none of them. */
static int take_reading(int argc, char **argv, int i, int *words)
{
	const char *value;
	*words = 0;
	if ((value = reading_option(argc, argv, i, "--fusions", words))) {
		read_options.open_fusions = strcmp(value, "open") == 0;
		return read_options.open_fusions || strcmp(value, "closed") == 0 ? EXIT_FINE : usage_error("", "--fusions %.60s: expected open or closed", value);
	}
	if ((value = reading_option(argc, argv, i, "--graph", words))) {
		read_options.graph = (uint32_t)strtoul(value, NULL, 10);
		return read_options.graph > 0 ? EXIT_FINE : usage_error("", "--graph %.60s: expected a number from 1", value);
	}
	if ((value = reading_option(argc, argv, i, "--dim", words))) {
		if (read_options.dims == sizeof read_options.dim / sizeof *read_options.dim || !strchr(value, '=') || strtoll(strchr(value, '=') + 1, NULL, 10) < 1)
			return usage_error("", "--dim %.60s: expected NAME=SIZE, at most %zu times", value, sizeof read_options.dim / sizeof *read_options.dim);
		read_options.dim[read_options.dims++] = value;
		return EXIT_FINE;
	}
	*words = 0;
	return EXIT_FINE;
}

/* Takes them out of the command line, wherever they stand: every command that reads a graph has them. */
static int take_readings(int *argc, char **argv)
{
	int left = 1, words, code;
	for (int i = 1; i < *argc; i += words ? words : 1) {
		if (strcmp(argv[i], "--") == 0 || (code = take_reading(*argc, argv, i, &words)) == EXIT_FINE) {
			if (strcmp(argv[i], "--") == 0)
				words = 0;
			if (words == 0)
				argv[left++] = argv[i];
			continue;
		}
		return code;
	}
	argv[*argc = left] = NULL;
	return EXIT_FINE;
}

/* A single word that is no file and looks like a command. */
static bool is_misspelt_command(const char *word)
{
	char text[120];
	return strcmp(word, "-") != 0 && access(word, F_OK) != 0 && !strpbrk(word, "./") && *nearest_command(word, text, sizeof text);
}

int main(int argc, char **argv)
{
	char text[120];
	struct invocation invocation = { 0 };
	int letter;
	json_memory_watch();
	setlocale(LC_ALL, "");
	setlocale(LC_NUMERIC, "C");
	int reading = take_readings(&argc, argv);
	if (reading != EXIT_FINE)
		return reading;
	if (argc > 1 && strcmp(argv[1], "export") == 0 && screenshot_wanted(argc - 1, argv + 1))
		return screenshot_command(argc - 1, argv + 1);
	if (argc > 1 && strcmp(argv[1], "help") == 0)
		return help(argc - 1, argv + 1);
	for (int i = 0; argc > 1 && i < subcommand_count; i++)
		if (strcmp(argv[1], subcommands[i].name) == 0)
			return subcommands[i].run(argc - 1, argv + 1);
	while ((letter = option_next("", argc, argv, ":hV", long_options)) != -1) {
		int code = take_option(&invocation, letter);
		if (code != EXIT_FINE || invocation.done)
			return code;
	}
	invocation.path = argv[optind];
	if (optind + 1 < argc || (invocation.path && is_misspelt_command(invocation.path)))
		return usage_error("", "there is no command %s%s", argv[optind], nearest_command(argv[optind], text, sizeof text));
	return invocation.resume ? resume(&invocation) : open_graph(&invocation);
}
