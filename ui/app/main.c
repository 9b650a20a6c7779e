/* main.c: the program's entry: a subcommand, or a graph to explore. */
#include <errno.h>
#include <locale.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "explore.h"
#include "solver/base/milp.h"
#include "src/base/files.h"
#include "src/base/json.h"
#include "src/base/output.h"
#include "src/cli/batch.h"
#include "src/cli/help.h"
#include "src/cli/options.h"
#include "src/read/input.h"
#include "src/session/log.h"
#include "ui/screen/terminal.h"

static int print_version(void)
{
	printf("tidemark %s\n%s\nGLPK %s\njansson %s\nzlib %s\n", TIDEMARK_VERSION, curses_version_text(), milp_version(),
		jansson_version_str(), zlibVersion());
	return EXIT_FINE;
}

enum { LARGE_FILE = 8 << 20 };

/* What the command line asks for beside a subcommand. */
struct invocation {
	struct command_line line;
	const char *resume;
	struct explore_options options;
	struct { bool pins; const char *text; } *asked;   /* --set and --pin, in their order */
	int asks;
};

/* Puts what --set and --pin ask for into a scenario: over the configuration file's. */
static int main_take_asked(const struct invocation *invocation, struct scenario *scenario)
{
	int code = EXIT_FINE;
	for (int i = 0; i < invocation->asks && code == EXIT_FINE; i++)
		code = (invocation->asked[i].pins ? batch_pin : batch_set)(scenario, invocation->asked[i].text);
	return code;
}

/* Where no explorer is possible: what `plan` prints, without the configuration file, as there. */
static int main_report(struct invocation *invocation, const char *path)
{
	OWN(scenario) scenario;
	scenario_init(&scenario);
	invocation->line.scenario = &scenario;
	int code = main_take_asked(invocation, &scenario);
	if (code == EXIT_FINE)
		code = plan_report(&invocation->line, path);
	return code;
}

/* Runs the explorer on a session, from a session file or from the graph alone. Takes over graph and config. */
static int explore_graph(
	struct graph *graph, const char *path, struct input *log, struct user_config *config, struct invocation *invocation)
{
	struct error error = { 0 };
	if (!invocation->options.theme && *config->theme)
		invocation->options.theme = config->theme;
	invocation->options.ascii |= text_is(config->glyphs, "ascii");
	invocation->options.no_mouse |= config->no_mouse;
	invocation->options.config = config;
	struct session *session = session_new(graph, path, &config->scenario,
		&(struct session_options){
			.interactive = true, .rules_file = invocation->line.rules_file, .reading = &invocation->line.reading },
		&error);
	int code = session ? EXIT_FINE : complain(NULL, &error, NO_MEMORY);
	if (session && log) {
		struct source source = input_source(log);
		if (session_replay(session, &source, false, NULL, NULL, &error) != OK)
			code = complain(invocation->resume, &error, BAD_INPUT);
	}
	if (code == EXIT_FINE)
		code = explore(session, &invocation->options);
	session_free(session);
	scenario_done(&config->scenario);
	return code;
}

static int resume(struct invocation *invocation)
{
	struct error error = { 0 };
	bool ended;
	if (invocation->asks > 0)
		return usage_error("", "--set and --pin don't go with --resume: the session has its own");
	char *newest = *invocation->resume ? NULL : log_newest(&ended);
	if (newest)
		invocation->resume = newest;
	else if (!*invocation->resume)
		return complain(NULL, &(struct error){ .text = "no session to take up" }, BAD_INPUT);
	struct user_config config;
	struct input *log = input_open(invocation->resume, &error);
	if (log)
		config_load(&config);
	int code = log ? explore_graph(NULL, NULL, log, &config, invocation) : complain(invocation->resume, &error, BAD_INPUT);
	input_close(log);
	mem_free(newest);
	return code;
}

/* The sample that opens if no graph is named: beside the program in its source tree, or where it was installed. */
static const char *sample_path(char *path, size_t size)
{
	static const char *const places[] = { "../samples", "../../samples", "../share/tidemark/samples" };
	char folder[PROGRAM_PATH_BYTES];
	bool known = program_folder(folder);
	for (size_t i = 0; known && i < COUNT_OF(places); i++) {
		snprintf(path, size, "%s/%s/gpt2_b1_s1024_adam.jsonl.gz", folder, places[i]);
		if (access(path, R_OK) == 0)
			return path;
	}
	return NULL;
}

/* A large file takes seconds before there is a screen. */
static void say_reading(const char *path)
{
	struct stat status;
	if (stat(path, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > LARGE_FILE)
		complain_line("reading %s ...", path);
}

/* On a terminal that can show it the explorer, else the report. */
static int main_open_graph(struct invocation *invocation)
{
	const char *path = *invocation->line.operand ? *invocation->line.operand : sample_path(TEXT(PROGRAM_PATH_BYTES + 100));
	if (!path)
		return usage_error("", "which GRAPH? (the samples are not installed)");
	if (!explore_possible())
		return main_report(invocation, path);
	int code;
	bool ended;
	struct user_config config;
	config_load(&config);
	code = main_take_asked(invocation, &config.scenario);
	say_reading(path);
	struct graph *graph = code == EXIT_FINE ? batch_open(path, &invocation->line.reading, &code) : NULL;
	if (!graph) {
		scenario_done(&config.scenario);
		return code;
	}
	HELD char *newest = log_newest(&ended);
	if (newest && !ended)
		fprintf(stderr, "tidemark: the last session broke off: tidemark --resume takes it up\n");
	return explore_graph(graph, path, NULL, &config, invocation);
}

static int main_take_option(void *context, int row, const char *value)
{
	struct invocation *invocation = context;
	int theme;
	switch (row) {
	case OPTION_resume: invocation->resume = value ? value : ""; return EXIT_FINE;
	case OPTION_theme:
		invocation->options.theme = value;
		return option_word(&invocation->line, row, value, theme_names, THEME_COUNT, &theme);
	case OPTION_ascii: invocation->options.ascii = true; return EXIT_FINE;
	case OPTION_no_mouse: invocation->options.no_mouse = true; return EXIT_FINE;
	case OPTION_set: case OPTION_pin:
		invocation->asked[invocation->asks].pins = row == OPTION_pin;
		invocation->asked[invocation->asks++].text = value;
		return EXIT_FINE;
	}
	invocation->line.helped = true;
	if (row == OPTION_version)
		return print_version();
	return tables_write(value, stdout) ? EXIT_FINE : usage_error("", "unknown table");
}

static int main_start(struct invocation *invocation, int argc, char **argv)
{
	int code = command_line_parse(&invocation->line, argc, argv);
	if (code != EXIT_FINE || invocation->line.helped)
		return code;
	char **word = invocation->line.operand;
	if (*word && (word[1] || help_misspelt(*word, false)))
		return help_no_command(*word);
	return invocation->resume ? resume(invocation) : main_open_graph(invocation);
}

static int main_run(int argc, char **argv)
{
	struct invocation invocation = { .line = { .command = SUBCOMMAND_explore,
										 .take = main_take_option,
										 .context = &invocation,
										 .help = help_print } };
	if (argc > 1 && text_is(argv[1], "export") && screenshot_wanted(argc - 1, argv + 1))
		return screenshot_command(argc - 1, argv + 1);
	if (argc > 1 && text_is(argv[1], "help"))
		return help_command(argc - 1, argv + 1);
	for (int i = 0; argc > 1 && i < SUBCOMMAND_COUNT; i++)
		if (text_is(argv[1], subcommands[i].name))
			return subcommands[i].run(argc - 1, argv + 1);
	for (int i = 2; i < argc; i++)
		if ((text_is(argv[i], "--help") || text_is(argv[i], "-h")) && help_misspelt(argv[1], true))
			return help_no_command(argv[1]);
	MAKE(invocation.asked, (size_t)argc);     /* no more options than words */
	int code = invocation.asked ? main_start(&invocation, argc, argv)
		: complain(NULL, &(struct error){ 0 }, NO_MEMORY);
	mem_free(invocation.asked);
	return code;
}

/* What was printed and is not yet written: a full disk must not pass for success. */
static int flush_output(int code)
{
	errno = 0;
	bool lost = fflush(stdout) != 0 || ferror(stdout);
	if (!lost || code == EXIT_LIMIT)
		return code;
	complain_line("can't write standard output: %s", errno ? strerror(errno) : "not all of it was taken");
	return EXIT_LIMIT;
}

/* Where the language that is asked for isn't installed (a login to another machine takes LANG along), or another
 * category than that of characters is wrong, the terminal still speaks its encoding. */
static void choose_locale(void)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	if (setlocale(LC_ALL, "") || setlocale(LC_CTYPE, ""))
		return;
	FOR(i, COUNT_OF(names)) {
		const char *value = getenv(names[i]);
		if (!value || !*value)
			continue;
		const char *encoding = strchr(value, '.');
		if (encoding && (strncasecmp(encoding, ".utf-8", 6) == 0 || strncasecmp(encoding, ".utf8", 5) == 0))
			setlocale(LC_CTYPE, "C.UTF-8");
		return;
	}
}

int main(int argc, char **argv)
{
	output_prepare();
	json_memory_watch();
	choose_locale();
	setlocale(LC_NUMERIC, "C");
	return flush_output(main_run(argc, argv));
}
