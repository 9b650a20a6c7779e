/* subcommands.h: the table of `tidemark COMMAND ...`. Each takes argv from its own name on and returns an exit status.
 *
 * Files in reading order, NAME for NAME.h and NAME.c:
 *     subcommands     the table; plan, export, check
 *     options         options in one voice
 *     batch           planning under signals and a time limit
 *     sweep           scenarios by the thousand
 *     sweep_row       one line of it
 *     layout_command  tidemark layout
 *     layout_snapshot  what it says of a memory snapshot
 *     shard_command   tidemark shard
 *     search_command  tidemark search
 *     model_command   tidemark model
 *     fit_command     tidemark fit
 *     fit_most_command  its --max and --smallest-device
 *     replay          tidemark replay
 *     tables          tables for the manual page
 */
#ifndef TIDEMARK_CLI_SUBCOMMANDS_H
#define TIDEMARK_CLI_SUBCOMMANDS_H

/* X(name, synopsis, help) */
#define SUBCOMMANDS(X) \
	X(plan, "GRAPH [--set K=V]... [--pin '...']... [--rules F] [--time S] [--json [--factors]|--csv|--text|--as KIND [--view V]] [-o F]", "plan once and print the plan") \
	X(sweep, "GRAPH --vary K=V1,V2,... [--vary ...] [--set K=V]... [--pin '...']... [--rules F] [--jobs N] [--part I/N] [--csv|--table] [--resume] [-o F]", "plan every combination; one line each: JSON, CSV, or a table") \
	X(export, "GRAPH --as KIND [--view V] [--width POINTS] [--stage S] [--factors] [--set K=V]... [--pin '...']... [--rules F] [--time S] [-o F] | " \
		"GRAPH --screen [--as text|ansi|svg] [--size WxH] [--view N] [--keys '...'] [--theme T] [--ascii] [--set K=V]... [--pin '...']... [--rules F] [-o F]", \
		"write the graph, the plan or a drawing of it; --screen: the explorer's screen after some keys") \
	X(layout, "BUFFERS.csv|SNAPSHOT.pickle [--capacity N | --pool NAME[:N]...] [--device N] [--time S] [--json] [-o F]", "offsets for the buffers of a MiniMalloc CSV or a PyTorch memory snapshot") \
	X(shard, "PROBLEM.json[.gz] [--time S] [--json] [-o F] [--verify F]", "solve a sharding problem of the IOPDDL contest's format") \
	X(check, "GRAPH PLAN.json [--rules F] [--planned] [--numbers]", "verify everything that a plan file says; --planned: GRAPH may be the graph as planned; --numbers: don't plan again")  \
	X(search, "MODEL|GRAPH --devices N [--device PRESET] [--batch N] [--set K=V]... [--top N] [--json] [-o F]", "rank all ways to train a model on a cluster") \
	X(model, "NAME|CONFIG.JSON [--layers N] [--hidden N] [--seq N] [--batch N] [--precision P] [--optimizer O] [--recompute R] ... [-o F]", "a built-in model's training step; NAME --help lists all") \
	X(fit, "GRAPH --memory BYTES [--devices N] [--max batch|sequence] [--set K=V]... [--pin '...']... [--rules F] [--json] [-o F] | GRAPH --smallest-device [--set K=V]... [--json] [-o F]", \
		"rank the changes that make a step fit into so much memory, each planned; --max: the largest batch or sequence that fits; --smallest-device: the preset with the least memory on which it does") \
	X(replay, "SESSION.tide", "run a session file without a terminal")

#define X(name, synopsis, help) int name##_command(int argc, char **argv);
SUBCOMMANDS(X)
#undef X

struct subcommand {
	const char *name, *synopsis, *help;
	int (*run)(int argc, char **argv);
};
extern const struct subcommand subcommands[];
extern const int subcommand_count;

/* Prints how a subcommand is used, on standard output; returns EXIT_FINE. */
int subcommand_usage(const char *name);

#endif
