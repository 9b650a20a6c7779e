/* input.c: opens graph files: plain or gz, "-" for standard input. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "autoparallel.h"
#include "detect.h"
#include "dot_child.h"
#include "fx.h"
#include "hlo_assignment.h"
#include "inductor.h"
#include "onnx.h"
#include "snapshot.h"
#include "input.h"

#define PEEK_BYTES (64u << 10)

struct input {
	gzFile file;
	size_t have, taken;      /* of peek: filled, and given out by the source */
	char peek[PEEK_BYTES];
};

static ssize_t read_file(struct input *input, void *buffer, size_t size, struct error *error)
{
	int got = gzread(input->file, buffer, size > 1u << 30 ? 1u << 30 : (unsigned)size);
	int number;
	const char *text = gzerror(input->file, &number);
	if (got >= 0 && (number == Z_OK || number == Z_STREAM_END))
		return got;
	if (number == Z_MEM_ERROR)
		fail_memory(error);
	else if (number == Z_BUF_ERROR)
		fail(error, BAD_INPUT, "the compressed file is truncated");
	else
		fail(error, BAD_INPUT, "%s", number == Z_ERRNO ? strerror(errno) : text);
	return -1;
}

static int open_path(const char *path, struct error *error)
{
	bool standard = strcmp(path, "-") == 0;
	int descriptor = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	struct stat state;
	if (descriptor < 0) {
		fail(error, BAD_INPUT, "%s", errno == ENOENT ? "no such file" : strerror(errno));
	} else if (fstat(descriptor, &state) == 0 && S_ISDIR(state.st_mode)) {
		close(descriptor);
		fail(error, BAD_INPUT, "is a directory");
		return -1;
	}
	return descriptor;
}

struct input *input_open(const char *path, struct error *error)
{
	*error = (struct error){ 0 };
	int descriptor = open_path(path, error);
	if (descriptor < 0)
		return NULL;
	struct input *input = mem_alloc(1, sizeof *input);
	if (!input || !(input->file = gzdopen(descriptor, "rb"))) {
		close(descriptor);
		mem_free(input);
		fail_memory(error);
		return NULL;
	}
	gzbuffer(input->file, 128u << 10);
	while (input->have < PEEK_BYTES) {
		ssize_t got = read_file(input, input->peek + input->have, PEEK_BYTES - input->have, error);
		if (got < 0) {
			input_close(input);
			return NULL;
		}
		if (got == 0)
			break;
		input->have += (size_t)got;
	}
	/* A byte order mark says nothing that isn't known: text is UTF-8. */
	if (input->have >= 3 && memcmp(input->peek, "\xef\xbb\xbf", 3) == 0) {
		input->have -= 3;
		memmove(input->peek, input->peek + 3, input->have);
	}
	return input;
}

void input_close(struct input *input)
{
	if (!input)
		return;
	gzclose(input->file);
	mem_free(input);
}

const char *input_peek(const struct input *input, size_t *size)
{
	*size = input->have;
	return input->peek;
}

static ssize_t read_input(void *context, void *buffer, size_t size, struct error *error)
{
	struct input *input = context;
	size_t left = input->have - input->taken;
	if (left == 0)
		return read_file(input, buffer, size, error);
	if (size > left)
		size = left;
	memcpy(buffer, input->peek + input->taken, size);
	input->taken += size;
	return (ssize_t)size;
}

struct source input_source(struct input *input)
{
	return (struct source){ read_input, input };
}

char *input_all(struct input *input, size_t limit, size_t *size, struct error *error)
{
	size_t capacity = PEEK_BYTES * 2;
	char *content = mem_alloc(capacity + 1, 1);
	*size = 0;
	while (content) {
		ssize_t got = read_input(input, content + *size, capacity - *size, error);
		if (got < 0)
			break;
		if (got == 0) {
			content[*size] = '\0';
			return content;
		}
		*size += (size_t)got;
		if (*size > limit) {
			fail(error, BAD_INPUT, "larger than %zu MiB", limit >> 20);
			break;
		}
		if (*size < capacity)
			continue;
		char *moved = mem_resize(content, capacity * 2 + 1, 1);
		if (!moved) {
			fail_memory(error);
			break;
		}
		content = moved;
		capacity *= 2;
	}
	if (!content)
		fail_memory(error);
	mem_free(content);
	return NULL;
}

#define TEXT_MOST ((size_t)1 << 30)   /* bytes of a format that is not read as a stream */

static struct graph *open_dot(struct input *input, struct error *error)
{
	size_t size;
	char *text = input_all(input, TEXT_MOST, &size, error);
	struct graph *graph = text ? dot_child_read(text, size, NULL, error) : NULL;
	mem_free(text);
	return graph;
}

static struct graph *open_whole(struct input *input, struct graph *(*read)(const char *text, size_t size, struct error *error), struct error *error)
{
	size_t size;
	char *text = input_all(input, TEXT_MOST, &size, error);
	struct graph *graph = text ? read(text, size, error) : NULL;
	mem_free(text);
	return graph;
}

/* What XLA writes beside the text of a module: X-buffer-assignment.txt of X.txt. X.buffer-assignment.txt will do, too. */
static enum status read_assignment(const char *path, struct hlo_module *module, struct error *error)
{
	static const char *const endings[] = { "-buffer-assignment.txt", ".buffer-assignment.txt", "-buffer-assignment.txt.gz" };
	char name[4096], why[300];
	struct stat state;
	size_t length = strlen(path), size;
	length -= length > 3 && strcmp(path + length - 3, ".gz") == 0 ? 3 : 0;
	length -= length > 4 && memcmp(path + length - 4, ".txt", 4) == 0 ? 4 : 0;
	enum status status = OK;
	for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
		if (snprintf(name, sizeof name, "%.*s%s", (int)length, path, endings[i]) >= (int)sizeof name || stat(name, &state) != 0 || !S_ISREG(state.st_mode))
			continue;
		struct input *input = input_open(name, error);
		char *text = input ? input_all(input, TEXT_MOST, &size, error) : NULL;
		status = text ? hlo_assignment_text(text, size, module, error) : error->status;
		input_close(input);
		mem_free(text);
		if (status == BAD_INPUT) {
			snprintf(why, sizeof why, "%.*s", (int)sizeof why - 1, error->text);
			status = error->line ? fail(error, BAD_INPUT, "%.300s:%u: %s", name, error->line, why) : fail(error, BAD_INPUT, "%.300s: %s", name, why);
			error->line = 0;
		}
		return error_set(error, status);
	}
	return OK;
}

static struct graph *open_hlo(const char *path, struct input *input, const struct read_options *options, bool proto, struct error *error)
{
	struct hlo_module module;
	struct graph *graph = NULL;
	size_t size;
	char *text = input_all(input, TEXT_MOST, &size, error);
	if (!text)
		return NULL;
	enum status status = proto ? hlo_proto_read(text, size, &module, error) : hlo_text_read(text, size, &module, error);
	if (status == OK && !proto && strcmp(path, "-") != 0)
		status = read_assignment(path, &module, error);
	if (status == OK)
		graph = hlo_graph(&module, options->open_fusions, proto ? "XLA HLO proto" : "XLA HLO text", error);
	hlo_free(&module);
	mem_free(text);
	return graph;
}

/* A file that lies there as it is gets mapped: of a model's weights no page is read. */
static void *map_file(const char *path, size_t *size)
{
	int descriptor = strcmp(path, "-") == 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC);
	struct stat state;
	void *data = MAP_FAILED;
	if (descriptor >= 0 && fstat(descriptor, &state) == 0 && S_ISREG(state.st_mode) && state.st_size > 2)
		data = mmap(NULL, *size = (size_t)state.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
	if (descriptor >= 0)
		close(descriptor);
	if (data != MAP_FAILED && memcmp(data, "\x1f\x8b", 2) == 0) {
		munmap(data, *size);
		data = MAP_FAILED;
	}
	return data == MAP_FAILED ? NULL : data;
}

static struct graph *open_onnx(const char *path, struct input *input, const struct read_options *options, struct error *error)
{
	const char *dim[READ_DIMS_MOST];
	size_t size;
	void *mapped = map_file(path, &size);
	char *text = mapped ? NULL : input_all(input, TEXT_MOST, &size, error);
	struct graph *graph = mapped || text ? onnx_read(mapped ? mapped : text, size, dim, read_options_dims(options, dim), error) : NULL;
	if (mapped)
		munmap(mapped, size);
	mem_free(text);
	return graph;
}

static struct graph *open_fx(struct input *input, const struct read_options *options, struct error *error)
{
	const char *dim[READ_DIMS_MOST];
	struct fx_log log;
	struct graph *graph = NULL;
	size_t size;
	char *text = input_all(input, TEXT_MOST, &size, error);
	if (!text)
		return NULL;
	if (fx_read(text, size, dim, read_options_dims(options, dim), &log, error) == OK)
		graph = fx_step(&log, options->graph, error);
	fx_free(&log);
	mem_free(text);
	return graph;
}

static struct graph *open_snapshot(struct input *input, const struct read_options *options, struct error *error)
{
	struct snapshot snapshot;
	struct graph *graph = NULL;
	if (snapshot_read(input_source(input), &snapshot, error) == OK)
		graph = snapshot_graph(&snapshot, options->graph, error);
	snapshot_free(&snapshot);
	return graph;
}

/* A folder that the compiler left. */
static struct graph *open_folder(const char *path, const struct read_options *options, struct error *error)
{
	const char *dim[READ_DIMS_MOST];
	struct fx_log log;
	struct graph *graph = NULL;
	if (fx_folder_read(path, dim, read_options_dims(options, dim), &log, error) == OK)
		graph = fx_step(&log, options->graph, error);
	fx_free(&log);
	return graph;
}

struct graph *graph_open(const char *path, const struct read_options *options, struct error *error)
{
	static const struct read_options as_it_is;
	struct stat state;
	options = options ? options : &as_it_is;
	if (strcmp(path, "-") != 0 && stat(path, &state) == 0 && S_ISDIR(state.st_mode))
		return open_folder(path, options, error);
	struct input *input = input_open(path, error);
	if (!input)
		return NULL;
	size_t size;
	const char *beginning = input_peek(input, &size);
	enum input_kind kind = input_detect(beginning, size);
	struct source source = input_source(input);
	struct graph *graph = NULL;
	switch (kind) {
	case INPUT_DOT:
		graph = open_dot(input, error);
		break;
	case INPUT_HLO_TEXT: case INPUT_HLO:
		graph = open_hlo(path, input, options, kind == INPUT_HLO, error);
		break;
	case INPUT_ONNX:
		graph = open_onnx(path, input, options, error);
		break;
	case INPUT_INDUCTOR:
		graph = open_whole(input, inductor_read, error);
		break;
	case INPUT_AUTOPARALLEL:
		graph = open_whole(input, autoparallel_read, error);
		break;
	case INPUT_FX:
		graph = open_fx(input, options, error);
		break;
	case INPUT_SNAPSHOT:
		graph = open_snapshot(input, options, error);
		break;
	case INPUT_NATIVE: case INPUT_JSON: case INPUT_EMPTY:
		graph = native_read(&source, error);
		break;
	default:
		fail(error, BAD_INPUT, "not a graph, but: %s; %s", input_kind_name(kind), input_kind_advice(kind));
	}
	input_close(input);
	if (graph && !graph->about.intake.format)
		graph->about.intake.format = input_kind_name(kind);
	return graph;
}
