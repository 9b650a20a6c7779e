/* open.c: opens a graph for a command. */
#include "open.h"

#include <unistd.h>

#include "hugging_face.h"
#include "src/base/complain.h"
#include "src/read/input.h"

/* The step of a model of that name, with other sizes behind a colon; *is false: it names none. */
static struct graph *open_named(const char *name, bool *is, struct error *error)
{
	char file[sizeof((struct hugging_face *)0)->path];
	struct hugging_face read = { 0 };
	const struct model_preset *preset = access(name, F_OK) != 0 ? model_find(name) : NULL;
	PRINT_TO(file, "%.*s", access(name, F_OK) == 0 ? (int)strlen(name) : (int)strcspn(name, ":"), name);
	*is = preset || hugging_face_is(file);
	if (!*is)
		return NULL;
	enum status status = preset ? OK : hugging_face_open(file, &read, error);
	struct model_config config = preset ? preset->config : read.config;
	struct graph *step = NULL;
	model_config_default(&config);
	if (status == OK)
		status = model_sizes(&config, name + (preset ? 0 : strlen(file)), error);
	if (error_set(error, status) == OK)
		step = model_step(preset ? preset->name : read.name, &config, &model_training_default, error);
	hugging_face_close(&read);
	return step;
}

struct graph *open_graph(const char *path, const struct read_options *options, struct error *error)
{
	bool model;
	struct graph *graph = open_named(path, &model, error);
	return model ? graph : graph_open(path, options, error);
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
