/* replay.c: `tidemark replay`: runs a session file without a terminal. */
#include <string.h>

#include "batch.h"
#include "src/read/input.h"
#include "src/session/session.h"
#include "subcommands.h"

int replay_command(int argc, char **argv)
{
	if (argc == 2 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
		return subcommand_usage("replay");
	if (argc != 2)
		return usage_error("replay", "replay takes one SESSION.tide");
	struct error error = { 0 };
	struct input *input = input_open(argv[1], &error);
	if (!input)
		return complain(argv[1], &error, BAD_INPUT);
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
	return status == OK ? EXIT_FINE : complain(argv[1], &error, status);
}
