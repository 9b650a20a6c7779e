/* replay.c: `tidemark replay`: runs a session file without a terminal. */
#include "batch.h"
#include "help.h"
#include "src/read/input.h"
#include "src/session/session.h"
#include "options.h"

int replay_command(int argc, char **argv)
{
	struct command_line line = { .command = SUBCOMMAND_replay, .help = help_print_session_words };
	struct error error = { 0 };
	int code = command_line_parse(&line, argc, argv);
	if (code != EXIT_FINE || line.helped)
		return code;
	struct input *input = input_open(*line.operand, &error);
	if (!input)
		return complain(*line.operand, &error, BAD_INPUT);
	struct scenario scenario;
	struct session_options options = { .interactive = false };
	scenario_init(&scenario);
	struct session *session = session_new(NULL, NULL, &scenario, &options, &error);
	enum status status = session ? OK : NO_MEMORY;
	if (session) {
		struct source source = input_source(input);
		status = session_replay(session, &source, true, &error);
	}
	session_free(session);
	input_close(input);
	return status == OK ? EXIT_FINE : complain(*line.operand, &error, status);
}
