/* hugging_face.c: a config.json: what its reader in Python says of it, and the graph of it at other sizes. */
#include "hugging_face.h"

#include <stdarg.h>
#include <sys/stat.h>

#include "src/read/detect.h"
#include "src/read/dot_child.h"
#include "src/read/input.h"

#define BYTES_MOST ((size_t)16 << 20)

static char *hugging_face_text(const char *path, size_t *size, struct error *error)
{
	struct error why = { 0 };
	char *text = input_text(path, BYTES_MOST, size, &why);
	if (!text)
		fail(error, why.status, "%s", why.text);
	return text;
}

bool hugging_face_is(const char *path)
{
	struct stat state = { 0 };
	struct error unused = { 0 };
	char inside[4096];
	size_t size;
	if (stat(path, &state) == 0 && S_ISDIR(state.st_mode)) {
		PRINT_TO(inside, "%s/config.json", path);
		path = inside;
	}
	if (stat(path, &state) != 0 || !S_ISREG(state.st_mode))
		return false;
	struct input *input = input_open(path, &unused);
	const char *begins = input ? input_peek(input, &size) : NULL;
	bool is = begins && input_detect(begins, size) == INPUT_CONFIG;
	if (input)
		input_close(input);
	return is;
}

/* Lines: the type; sizes; how many first layers are apart, and whether there is dropout; what had to be assumed. */
static enum status hugging_face_take(struct hugging_face *model, char *text, struct error *error)
{
	char *line = text + strcspn(text, "\n"), *end = line;
	*model = (struct hugging_face) { .config = { .family = FAMILY_COUNT, .flash = true, .from = model } };
	PRINT_TO(model->name, "%.*s", (int)(line - text), text);
	line += *line == '\n';
	end = line + strcspn(line, "\n");
	char *words = end + (*end == '\n');
	*end = '\0';
	TRY(model_sizes(&model->config, line, error));
	model->apart = strtoll(words, &end, 10);
	model->config.dropout = strtol(end, &end, 10) > 0;
	PRINT_TO(model->notes, "%s", *end ? end + 1 : end);
	model->config.assumed = *model->notes ? model->notes : NULL;
	return OK;
}

enum status hugging_face_open(const char *path, struct hugging_face *model, struct error *error)
{
	static const struct read_options sizes = { .dims = 1, .dim = { "sizes=1" } };
	struct stat state;
	struct python_text said;
	char inside[4096];
	size_t size;
	bool folder = stat(path, &state) == 0 && S_ISDIR(state.st_mode);
	if (PRINT_TO(inside, "%s%s", path, folder ? "/config.json" : "") >= (int)sizeof inside)
		return refuse(error, "the path is too long");
	char *text = hugging_face_text(inside, &size, error);
	if (!text)
		return folder && error->status == BAD_INPUT ? refuse(error, "a folder without a config.json that can be read")
			: error->status;
	const struct python_job job = { .name = "families", .data = text, .size = size, .options = &sizes };
	enum status status = python_child_text(&job, &said, error);
	mem_free(text);
	TRY(status);
	status = hugging_face_take(model, said.text, error);
	mem_free(said.memory);
	PRINT_TO(model->path, "%s", inside);
	return status;
}

__attribute__((format(printf, 3, 4)))
static void hugging_face_ask(struct read_options *options, bool differs, const char *format, ...)
{
	va_list arguments;
	if (!differs)
		return;
	va_start(arguments, format);
	if (options->dims < READ_DIMS_MOST)
		vsnprintf(options->dim[options->dims], sizeof *options->dim, format, arguments);
	va_end(arguments);
	options->dims++;
}

struct graph *hugging_face_build(const struct model_config *config, struct error *error)
{
	const struct model_config *own = &config->from->config;
	struct read_options options;
	memset(&options, 0, sizeof options);
	hugging_face_ask(&options, true, "batch=%lld", (long long)config->batch);
#define X(field, least, most, help) \
	hugging_face_ask(&options, strcmp(#field, "batch") != 0 && config->field != own->field, #field "=%lld", \
		(long long)config->field);
	MODEL_SIZES(X)
#undef X
	hugging_face_ask(&options, config->fused, "kernels=fused");
	hugging_face_ask(&options, !config->flash, "attention=math");
	hugging_face_ask(&options, config->dtype, "dtype=%s", config->dtype);
	hugging_face_ask(&options, config->eager_loss, "loss=eager");
	hugging_face_ask(&options, config->dropout != own->dropout, "dropout=%d", config->dropout);
	if (error_set(error, options.dims > READ_DIMS_MOST ? refuse(error, "at most %d sizes can be changed",
		READ_DIMS_MOST) : OK) != OK)
		return NULL;
	struct hugging_face *model = config->from;
	if (model->last && memcmp(&options, &model->asked, sizeof options) == 0)
		return graph_retain(model->last);
	size_t size;
	char *text = hugging_face_text(model->path, &size, error);
	const struct python_job job = { .name = "families", .data = text, .size = size, .options = &options };
	struct graph *graph = text ? python_child_graph(&job, error) : NULL;
	mem_free(text);
	hugging_face_close(model);
	model->asked = options;
	model->last = graph ? graph_retain(graph) : NULL;
	return graph;
}

void hugging_face_close(struct hugging_face *model)
{
	graph_release(model->last);
	model->last = NULL;
}
