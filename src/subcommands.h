/* subcommands.h: the table of `tidemark COMMAND ...`. Each takes argv from its own name on and returns an exit status. */
#ifndef TIDEMARK_SUBCOMMANDS_H
#define TIDEMARK_SUBCOMMANDS_H

/* X(name, synopsis, help) */
#define SUBCOMMANDS(X) \
	X(plan, "GRAPH [--set K=V]... [--pin '...']... [--time S] [--json|--csv|--text] [-o F]", "plan once and print the plan") \
	X(export, "GRAPH --as KIND [--view V] [--stage S] [--set K=V]... [-o F]", "write the graph, the plan or a drawing of it") \
	X(check, "GRAPH PLAN.json", "verify a plan file independently of the solvers")

#define X(name, synopsis, help) int name##_command(int argc, char **argv);
SUBCOMMANDS(X)
#undef X

#endif
