/* replay.c: `tidemark replay`: runs a session file without a terminal. */

#include "batch.h"
#include "help.h"
#include "options.h"
#include "src/base/files.h"
#include "src/base/output.h"
#include "src/read/input.h"
#include "src/tidemark.h"

struct replay {
	struct command_line line;
	bool table, anywhere;
};

/* Whether a line of a session changes knobs or pins. */
static bool cli_replay_changes(const char *line)
{
	static const char *const words[] = { "set", "pin", "keep", "offload", "unpin", "undo", "redo" };
	line += strspn(line, " \t");
	size_t length = strcspn(line, " \t");
	FOR(i, COUNT_OF(words))
		if (strlen(words[i]) == length && strncmp(words[i], line, length) == 0)
			return true;
	return false;
}

/* A row of --table: what the plan of the knobs takes, and the line that turned them. context: the stream. */
static void write_row(void *context, struct session *session, const char *line)
{
	if (!cli_replay_changes(line))
		return;
	session_wait(session);
	const struct plan *plan = session_plan(session);
	if (*session_problem(session) || !plan)
		fprintf(context, "%10s  %10s  %s: no plan: %s\n", "", "", line, session_problem(session));
	else
		fprintf(context, "%10s  %10s  %s\n", BYTES(plan_peak(plan)),
			BYTES(plan_arena(plan)), line);
}

/* Whether no command is in the file: an empty one, or blanks alone. A session that says nothing plans nothing, which
 * would look like success. */
static bool says_nothing(const struct input *input)
{
	size_t size, blank = 0;
	const char *text = input_peek(input, &size);
	while (blank < size && memchr(" \t\r\n", text[blank], 4))
		blank++;
	return blank == size;
}

static enum status cli_replay_run(
	const struct replay *replay, struct session *session, struct input *input, struct error *error)
{
	struct source source = input_source(input);
	struct output output;
	if (says_nothing(input))
		return refuse(error,
			"nothing is in it: expected a session, such as \"open FILE\" and lines of commands (tidemark replay "
			"--help)");
	if (!replay->table)
		return session_replay(session, &source, true, NULL, NULL, error);
	TRY(output_open(&output, NULL, true, error));
	fprintf(output.stream, "%10s  %10s\n", "peak", "arena");
	enum status status = session_replay(session, &source, true, write_row, output.stream, error);
	return output_close(&output, status, error);
}

static int cli_replay_take_option(void *context, int row, const char *value)
{
	struct replay *replay = context;
	(void)value;
	replay->table |= row == OPTION_table;
	replay->anywhere |= row == OPTION_allow_write;
	return EXIT_FINE;
}

int replay_command(int argc, char **argv)
{
	struct replay replay = { .line = { .command = SUBCOMMAND_replay,
								 .help = help_print_session_words,
								 .take = cli_replay_take_option,
								 .context = &replay } };
	struct error error = { 0 };
	int code = command_line_parse(&replay.line, argc, argv);
	if (code != EXIT_FINE || replay.line.helped)
		return code;
	struct input *input = input_open(*replay.line.operand, &error);
	if (!input)
		return complain(*replay.line.operand, &error, BAD_INPUT);
	char folder[4096];
	named_file_folder(*replay.line.operand, folder);
	struct session_options options = { .interactive = false, .folder = replay.anywhere ? NULL : folder };
	OWN(session) *session = session_new(NULL, NULL, NULL, &options, &error);
	enum status status = session ? cli_replay_run(&replay, session, input, &error) : NO_MEMORY;
	input_close(input);
	return status == OK ? EXIT_FINE : complain(*replay.line.operand, &error, status);
}
