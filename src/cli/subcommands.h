/* subcommands.h: the table of `tidemark COMMAND ...`. Each takes argv from its own name on and returns an exit status.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     subcommands     the table; plan, export
 *     options         the table of options, and the parser of command lines
 *     help            knobs, words and examples as --help prints them
 *     help_command    tidemark help, and a word looked up in every table
 *     batch           planning under signals and a time limit
 *     sweep           scenarios by the thousand
 *     sweep_row       one line of it
 *     sweep_merge     the pieces of one, put together
 *     compare_command  tidemark compare
 *     layout_command  tidemark layout
 *     layout_result   buffers read and laid out, and the object that says so
 *     layout_snapshot  what it says of a memory snapshot
 *     check_command   tidemark check
 *     search_command  tidemark search
 *     model_command   tidemark model
 *     fit_command     tidemark fit
 *     fit_most_command  its --max and --smallest-device
 *     fit_check       what was asked of it, and its files verified
 *     replay          tidemark replay
 *     tables          tables for the manual page */
#pragma once

/* X(name, its operands, help). Their options: options.h. */
#define SUBCOMMANDS(X) \
	X(plan, "GRAPH", "plan once and print the plan") \
	X(sweep, "GRAPH", "plan every combination of values of knobs, and print a line for each: JSON, CSV, or a table") \
	X(export, "GRAPH", "write the graph, its plan or a picture: of the graph, of a plan, of several plan files, of " \
		"what sweep wrote, or of the explorer's screen") \
	X(compare, "FIRST SECOND", "lay a step as it ran, such as a memory snapshot, over another one as planned: peaks, " \
		"timelines, and who holds the difference") \
	X(layout, "BUFFERS.csv|SNAPSHOT.pickle", "find addresses for the buffers of a MiniMalloc CSV or a PyTorch memory " \
		"snapshot") \
	X(check, "GRAPH|BUFFERS.csv PLAN", "verify everything that a plan file says, or a file of tidemark layout or fit") \
	X(search, "MODEL|GRAPH", "rank all ways to train a model on a cluster") \
	X(model, "NAME|CONFIG.json", "write the training step of a built-in model, or of a Hugging Face config.json") \
	X(fit, "GRAPH", "plan the changes that make a step fit into so much memory, and rank them by time") \
	X(replay, "SESSION.tide", "run the lines of a session file without a terminal")

/* Whose options a row of the table of options names: a subcommand's, those of export --screen, of the explorer. */
#define X(name, operands, help) SUBCOMMAND_##name,
enum subcommand_id { SUBCOMMANDS(X) SUBCOMMAND_COUNT, SUBCOMMAND_screen = SUBCOMMAND_COUNT, SUBCOMMAND_explore };
#undef X

#define X(name, operands, help) int name##_command(int argc, char **argv);
SUBCOMMANDS(X)
#undef X

/* The report of plan, of a graph and the scenario of a line that is not plan's own. An exit status. */
struct command_line;
int plan_report(const struct command_line *line, const char *path);

struct subcommand {
	const char *name, *operands, *help;
	int (*run)(int argc, char **argv);
};
extern const struct subcommand subcommands[];
