/* python_child.c: finds and runs the readers in Python. */
#include <errno.h>
#include <unistd.h>

#include "dot_child.h"
#include "native.h"
#include "solver/rules/rules.h"
#include "src/base/child.h"
#include "src/base/files.h"
#include "src/base/streams.h"

#define READERS_NAMED "TIDEMARK_READERS"
#define WORD_BYTES 100
/* For one that hangs. One that works has a limit of processor time of its own, which takes long on a busy machine. */
#define WAIT_MILLISECONDS 900000

/* The folder that the user names in TIDEMARK_READERS, else the one beside the running program, or where it was
 * installed. */
static enum status python_child_find(char *path, size_t size, struct error *error)
{
	static const char *const places[] = { "readers", "../share/tidemark/readers" };
	const char *named = getenv(READERS_NAMED);
	char folder[PROGRAM_PATH_BYTES];
	bool known = !(named && *named) && program_folder(folder);
	if (named && *named)
		snprintf(path, size, "%s/read.py", named);
	for (size_t i = 0; known && i < COUNT_OF(places); i++) {
		snprintf(path, size, "%s/%s/read.py", folder, places[i]);
		if (access(path, R_OK) == 0)
			return OK;
	}
	return named && *named && access(path, R_OK) == 0
		? OK
		: fail(error, LIMIT, "this format's reader isn't installed; " READERS_NAMED "=FOLDER names the folder of all");
}

/* What the readers ask of an op's type, "--types=aten.view:v,...": v: of a view, c: a convolution, r: it keeps memory
 * of its operand's size. free() it. NULL when out of memory. */
static char *python_child_types(void)
{
	char *text = NULL;
	size_t length;
	OWN(rules) *rules = rules_new();
	FILE *stream = rules ? text_stream(&text, &length) : NULL;
	if (!stream)
		return NULL;
	fputs("--types=", stream);
	const struct rule *rule;
	for (uint32_t i = 0; (rule = rules_at(rules, i)); i++)
		fprintf(stream, "%s:%s%s%s,", rule->type, rule->cost == COST_NONE ? "v" : "",
			rule->traits & TRAIT_CONVOLUTION ? "c" : "", word_listed(rules_aten_roomy, rule->type) ? "r" : "");
	if (fclose(stream) == 0)
		return text;
	free(text);
	return NULL;
}

static enum status python_child_run(const struct python_job *job, struct child_result *result, struct error *error)
{
	static const struct read_options as_it_is;
	const struct read_options *options = job->options ? job->options : &as_it_is;
	char path[PROGRAM_PATH_BYTES + 64], folder[PROGRAM_PATH_BYTES + 64], file[sizeof folder];
	char graph[WORD_BYTES], device[WORD_BYTES], dim[READ_DIMS_MOST][WORD_BYTES];
	const struct child_limits limits = { .milliseconds = WAIT_MILLISECONDS, .file = job->file };
	const char *arguments[READ_DIMS_MOST + 13] = { "python3", "-I", "-S", "-B", path, job->name };
	size_t count = 6;
	TRY(python_child_find(path, sizeof path, error));
	char *types = python_child_types();
	NEEDED(error, types);
	arguments[count++] = types;
	PRINT_TO(graph, "--graph=%u", options->graph);
	arguments[count++] = graph;
	if (options->device && PRINT_TO(device, "--device=%u", options->device - 1))
		arguments[count++] = device;
	FOR(i, options->dims) {
		PRINT_TO(dim[i], "--dim=%s", options->dim[i]);
		arguments[count++] = dim[i];
	}
	if (options->open_fusions)
		arguments[count++] = "--fusions=open";
	if (job->path && PRINT_TO(file, "--path=%s", job->path))
		arguments[count++] = file;
	if (job->folder && PRINT_TO(folder, "--folder=%s", job->folder))
		arguments[count++] = folder;
	enum status status = child_run("reader", arguments, job->data, job->size, &limits, result, error);
	free(types);
	if (status == LIMIT && text_begins(error->text, "can't run") && strstr(error->text, strerror(ENOENT)))
		status = fail(error, LIMIT, "this format is read by a program in Python, and python3 isn't there: install it");
	return status;
}

/* Of a file with several graphs "#2" comes before the graph, which of them it is, and a line "#..." on each of them.
 * Returns where the graph begins. *list: those lines, in the place of what was read; NULL without any. */
static char *python_child_choice(char *at, uint32_t *graph, char **list)
{
	char *to = at;
	*list = NULL;
	*graph = *at == '#' ? (uint32_t)strtoul(at + 1, &at, 10) : 0;
	for (at += *at == '\n'; *at == '#'; at += *at == '\n') {
		size_t length = strcspn(++at, "\n");
		memmove(to, at, length);
		*list = *list ? *list : to;
		to += length;
		at += length;
		*to++ = '\n';
	}
	if (*list)
		to[-1] = '\0';
	return at;
}

enum status python_child_text(const struct python_job *job, struct python_text *text, struct error *error)
{
	struct child_result result = { 0 };
	*text = (struct python_text){ 0 };
	TRY(error_set(error, python_child_run(job, &result, error)));
	text->memory = result.output;
	text->text = python_child_choice(result.output, &text->number, &text->list);
	text->length = result.length - (size_t)(text->text - result.output);
	return OK;
}

struct graph *graph_of_several(struct graph *graph, uint32_t number, bool asked, const char *list, struct error *error)
{
	struct intake *intake = &graph->about.intake;
	intake->graph = number;
	intake->graph_asked = asked;
	intake->graphs = list && *list ? arena_text(&graph->arena, list, strlen(list)) : NULL;
	if (!list || !*list || intake->graphs)
		return graph;
	fail_memory(error);
	graph_release(graph);
	return NULL;
}

struct graph *python_child_graph(const struct python_job *job, struct error *error)
{
	struct python_text text;
	if (python_child_text(job, &text, error) != OK)
		return NULL;
	struct source source = source_of_text(&(struct text_left){ text.text, text.length });
	bool graph_there = *text.text == '{'; /* else it isn't the file's fault */
	struct graph *graph = graph_there ? native_read(&source, error) : NULL;
	if (!graph_there)
		fail(error, LIMIT, "python3 wrote no graph, but: \"%.*s\"", (int)SMALLER(strcspn(text.text, "\n"), 60), text.text);
	if (!graph)
		error->line = 0; /* a line of what the reader wrote */
	if (graph && text.number)
		graph = graph_of_several(graph, text.number, job->options->graph > 0, text.list, error);
	mem_free(text.memory);
	return graph;
}
