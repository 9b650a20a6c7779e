/* open.c: opens a graph for a command. */
#include "open.h"

#include <errno.h>
#include <signal.h>
#include <unistd.h>

#include "src/base/complain.h"
#include "src/base/words.h"
#include "src/read/input.h"

#define SAY_SECONDS 5

/* A name that neither a file nor a model has. */
static enum status open_nobody(const char *name, struct error *error)
{
	char word[64], hint[120];
	struct nearest nearest = { .wanted = word };
	PRINT_TO(word, "%.*s", (int)strcspn(name, ":"), name);
	for (const struct model_preset *preset = model_presets; preset->name; preset++)
		nearest_consider(&nearest, preset->name);
	bool near = *nearest_text(&nearest, "", hint, sizeof hint);
	return refuse(error, "no such file%s%s", near ? ", and no model of that name" : "", hint);
}

enum status model_open(const char *name, bool eager_loss, struct named_model *model, struct error *error)
{
	char path[sizeof model->file.path];
	bool there = access(name, F_OK) == 0, strange = !there && errno != ENOENT;
	const struct model_preset *preset = there ? NULL : model_find(name);
	*model = (struct named_model) { 0 };
	PRINT_TO(path, "%.*s", (int)(there ? strlen(name) : strcspn(name, ":")), name);
	if (!preset && !hugging_face_is(path))
		return there || strange || text_is(name, "-") ? OK : open_nobody(name, error);
	if (!preset)
		TRY(hugging_face_open(path, &model->file, error));
	model->name = preset ? preset->name : model->file.name;
	model->preset = preset ? preset->config : model->file.config;
	model->config = model->preset;
	model_config_default(&model->config, eager_loss);
	return model_sizes(&model->config, there ? "" : name, error);
}

bool open_is_model(const char *name)
{
	char path[sizeof((struct hugging_face *)0)->path];
	bool there = access(name, F_OK) == 0;
	PRINT_TO(path, "%.*s", (int)(there ? strlen(name) : strcspn(name, ":")), name);
	return (!there && model_find(name)) || hugging_face_is(path);
}

struct graph *open_graph(const char *path, const struct read_options *options, struct error *error)
{
	struct named_model model;
	struct graph *graph = NULL;
	if (error_set(error, model_open(path, false, &model, error)) == OK)
		graph = model.name ? model_step(model.name, &model.config, &model_training_default, error)
			: graph_open(path, options, error);
	hugging_face_close(&model.file);
	return graph;
}

static void open_say(int number)
{
	static const char text[] = "tidemark: still reading: waits for the end of the file or pipe, or for its reader\n";
	int before = errno;
	ssize_t written = write(STDERR_FILENO, text, sizeof text - 1);
	(void)number, (void)written; /* there is nobody else to tell */
	errno = before;
}

/* On a terminal a long wait says so: a pipe may have no end. */
static void open_watch(bool begins)
{
	struct sigaction now, ours = { .sa_handler = begins ? open_say : SIG_DFL, .sa_flags = SA_RESTART };
	sigemptyset(&ours.sa_mask);
	if (!isatty(STDERR_FILENO) || sigaction(SIGALRM, NULL, &now) != 0 ||
		now.sa_handler != (begins ? SIG_DFL : open_say))
		return;
	if (!begins)
		alarm(0);
	sigaction(SIGALRM, &ours, NULL);
	if (begins)
		alarm(SAY_SECONDS);
}

struct graph *batch_open(const char *path, const struct read_options *options, int *exit_code)
{
	struct error error = { 0 };
	open_watch(true);
	struct graph *graph = open_graph(path, options, &error);
	open_watch(false);
	if (!graph)
		*exit_code = complain(path, &error, error.status);
	else if (graph->repaired)
		fprintf(stderr, "tidemark: %s: warning: %u op%s stood before what %s on; moved to the nearest valid order\n",
			path, graph->repaired, graph->repaired == 1 ? "" : "s",
			graph->repaired == 1 ? "it depends" : "they depend");
	return graph;
}
