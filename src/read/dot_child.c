/* dot_child.c: finds and runs tidemark-dot. */
#include <unistd.h>

#include "dot_child.h"
#include "src/base/child.h"
#include "src/base/files.h"
#include "src/base/output.h"

#define PROGRAM "tidemark-dot"
#define PROGRAM_NAMED "TIDEMARK_DOT"

/* The program that the user names in TIDEMARK_DOT, else the one beside the running program. Never another one of this
 * name, which happens to come first on the path. */
static enum status find_program(char *path, size_t size, struct error *error)
{
	const char *named = getenv(PROGRAM_NAMED);
	if (named && *named) {
		snprintf(path, size, "%s", named);
		return OK;
	}
	char folder[PROGRAM_PATH_BYTES];
	if (program_folder(folder)) {
		snprintf(path, size, "%s/" PROGRAM, folder);
		if (access(path, X_OK) == 0)
			return OK;
	}
	return fail(error, LIMIT, PROGRAM " is not beside this program; " PROGRAM_NAMED "=FILE names it");
}

static enum status dot_child_run(const char *format, bool positions, const char *text, size_t size,
	const struct dot_limits *limits, struct child_result *result, struct error *error)
{
	char program[PROGRAM_PATH_BYTES + sizeof PROGRAM], memory[40], seconds[40];
	struct dot_limits all = limits ? *limits : (struct dot_limits){ 0 };
	struct child_limits child = { .milliseconds = all.milliseconds ? all.milliseconds : 60000, .cancel = all.cancel };
	PRINT_TO(memory, "--memory=%lld", (long long)(all.memory ? all.memory : INT64_C(4) << 30));
	PRINT_TO(seconds, "--time=%lld", (long long)(child.milliseconds / 1000 + 1));
	const char *arguments[] = { program, "--with-parent", "--to", format, memory, seconds,
		positions ? "--positions" : NULL, NULL };
	struct error unused = { 0 };
	error = error ? error : &unused;
	TRY(find_program(program, sizeof program, error));
	return child_run(PROGRAM, arguments, text, size, &child, result, error);
}

struct graph *dot_child_read(const char *text, size_t size, const struct read_options *options, struct error *error)
{
	struct child_result result;
	if (error_set(error, dot_child_run("json", false, text, size, NULL, &result, error)) != OK)
		return NULL;
	struct graph *graph = python_child_graph(
		&(struct python_job){ .name = "dot", .data = result.output, .size = result.length, .options = options }, error);
	mem_free(result.output);
	return graph;
}

enum status dot_child_render(const char *text, size_t size, const char *format, bool positions,
	const struct dot_limits *limits, char **picture, size_t *length, struct error *error)
{
	struct child_result result;
	enum status status = dot_child_run(format, positions, text, size, limits, &result, error);
	if (status == BAD_INPUT) /* the text is ours: it is not at fault */
		status = error_set(error, LIMIT);
	if (status == OK && !picture_whole(format, result.output, result.length)) {
		status = fail(error, LIMIT, PROGRAM " answered with something else than a whole picture");
		mem_free(result.output);
	}
	*picture = status == OK ? result.output : NULL;
	*length = status == OK ? result.length : 0;
	return status;
}
