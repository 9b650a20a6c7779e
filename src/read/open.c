/* open.c: opens a graph for a command. */
#include "open.h"

#include "input.h"
#include "src/base/complain.h"

struct graph *batch_open(const char *path, const struct read_options *options, int *exit_code)
{
	struct error error = { 0 };
	struct graph *graph = graph_open(path, options, &error);
	if (!graph)
		*exit_code = complain(path, &error, error.status);
	else if (graph->repaired)
		fprintf(stderr, "tidemark: %s: warning: %u op%s stood before what %s on; moved to the nearest valid order\n",
			path, graph->repaired, graph->repaired == 1 ? "" : "s",
			graph->repaired == 1 ? "it depends" : "they depend");
	return graph;
}
