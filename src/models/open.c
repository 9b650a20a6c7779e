/* open.c: opens a graph for a command. */
#include "open.h"

#include <unistd.h>

#include "models.h"
#include "src/base/complain.h"
#include "src/read/input.h"

struct graph *open_graph(const char *path, const struct read_options *options, struct error *error)
{
	const struct model_preset *preset = access(path, F_OK) != 0 ? model_find(path) : NULL;
	if (!preset)
		return graph_open(path, options, error);
	struct model_config config = preset->config;
	model_config_default(&config);
	if (model_sizes(&config, path, error) != OK)
		return NULL;
	return model_step(preset->name, &config, &model_training_default, error);
}

struct graph *batch_open(const char *path, const struct read_options *options, int *exit_code)
{
	struct error error = { 0 };
	struct graph *graph = open_graph(path, options, &error);
	if (!graph)
		*exit_code = complain(path, &error, error.status);
	else if (graph->repaired)
		fprintf(stderr, "tidemark: %s: warning: %u op%s stood before what %s on; moved to the nearest valid order\n",
			path, graph->repaired, graph->repaired == 1 ? "" : "s",
			graph->repaired == 1 ? "it depends" : "they depend");
	return graph;
}
