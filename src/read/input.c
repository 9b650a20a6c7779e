/* input.c: opens graph files of any format that is known. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "detect.h"
#include "input.h"
#include "native.h"
#include "snapshot.h"

#define TEXT_MOST ((size_t)1 << 30) /* bytes of a format that is not read as a stream */
#define DOT_MOST ((size_t)1 << 27)  /* bytes of DOT: libcgraph takes 8 s and more for each 100 MB */
#define LOG_MOST ((size_t)1 << 24)  /* bytes of a log that are looked through for an error */

/* A file of a kind that is known: its path, and its bytes from the beginning. */
struct opening {
	const char *path;
	struct input *input;
	const struct read_options *options;
	enum input_kind kind;
};

static struct graph *open_native(const struct opening *opening, struct error *error)
{
	struct source source = input_source(opening->input);
	return native_read(&source, error);
}

static struct graph *open_dot(const struct opening *opening, struct error *error)
{
	size_t size;
	HELD char *text = input_all(opening->input, DOT_MOST, &size, error);
	struct graph *graph = text ? dot_child_read(text, size, opening->options, error) : NULL;
	if (graph)
		graph->repaired = 0; /* the order in which a drawing names its nodes breaks nothing */
	return graph;
}

/* A descriptor of a file that lies there as it is, not compressed; 0 for others. A pipe's writer isn't waited for: it
 * may be gone. */
static int plain_file(const char *path)
{
	int file = strcmp(path, "-") == 0 ? -1 : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	struct stat state;
	char begins[2];
	if (file > 0 && fstat(file, &state) == 0 && S_ISREG(state.st_mode) && pread(file, begins, 2, 0) == 2 &&
		memcmp(begins, "\x1f\x8b", 2) != 0)
		return file;
	if (file >= 0)
		close(file);
	return 0;
}

/* What a reader in Python reads: the file itself where that can be, which it may map to leave out weights; else its
 * bytes, which are returned to be freed. Neither: *error. Close the file. */
static char *give_python(const struct opening *opening, struct python_job *job, struct error *error)
{
	job->file = plain_file(opening->path);
	job->options = opening->options;
	job->path = strcmp(opening->path, "-") == 0 ? NULL : opening->path;
	char *text = job->file ? NULL : input_all(opening->input, TEXT_MOST, &job->size, error);
	job->data = text;
	return text;
}

static struct graph *open_python(const struct opening *opening, struct error *error)
{
	static const char *const readers[INPUT_KIND_COUNT] = { [INPUT_INDUCTOR] = "inductor", [INPUT_FX] = "fx",
		[INPUT_AUTOPARALLEL] = "autoparallel", [INPUT_EXPORTED] = "exported", [INPUT_ONNX] = "onnx",
		[INPUT_TFLITE] = "tflite", [INPUT_TVM] = "tvm", [INPUT_HLO] = "hlo", [INPUT_HLO_TEXT] = "hlo_text",
		[INPUT_STABLEHLO] = "stablehlo" };
	struct python_job job = { .name = readers[opening->kind] };
	HELD char *text = give_python(opening, &job, error);
	struct graph *graph = text || job.file ? python_child_graph(&job, error) : NULL;
	if (job.file)
		close(job.file);
	return graph;
}

static struct graph *open_events(const struct opening *opening, struct error *error)
{
	OWN(buffers_csv) csv = { 0 };
	OWN(snapshot) snapshot = { 0 };
	struct python_job job = { .name = opening->kind == INPUT_TRACE ? "kineto" : "snapshot" };
	HELD char *text = give_python(opening, &job, error);
	bool fine = (text || job.file) && snapshot_read(&job, &csv, &snapshot, error) == OK;
	if (job.file)
		close(job.file);
	return fine ? snapshot_graph(&snapshot, &csv, SNAPSHOT_ALLOCS_MOST, opening->options->graph > 0, error) : NULL;
}

/* No graph: says what it is, what it says of memory itself, and what to do with it. */
static struct graph *open_other(const struct opening *opening, struct error *error)
{
	enum input_kind kind = opening->kind;
	bool text = kind == INPUT_MESSAGE || kind == INPUT_JSON || kind == INPUT_SETTINGS || kind == INPUT_UNKNOWN;
	struct python_job job = { .name = "message" };
	struct python_text said = { 0 };
	struct error unused = { 0 };
	HELD char *whole = text ? input_all(opening->input, LOG_MOST, &job.size, NULL) : NULL;
	if ((job.data = whole) && input_detect(whole, job.size) == INPUT_MESSAGE)
		kind = INPUT_MESSAGE;
	if (kind == INPUT_WEIGHTS && (job.file = plain_file(opening->path)))
		job.name = "weights";
	if ((kind == INPUT_MESSAGE && whole) || job.file)
		python_child_text(&job, &said, &unused);
	refuse(error, "not a graph, but: %s; %s%s", input_kind_name(kind), said.text ? said.text : "",
		input_kind_advice(kind));
	mem_free(said.memory);
	if (job.file)
		close(job.file);
	return NULL;
}

#define X(id, name, open) [INPUT_##id] = open,
static struct graph *(*const open_kind[INPUT_KIND_COUNT])(const struct opening *opening, struct error *error) = {
	GRAPH_KINDS(X) X(EMPTY, "", open_native)
};
#undef X

struct graph *graph_open(const char *path, const struct read_options *options, struct error *error)
{
	static const struct read_options as_it_is;
	struct stat state;
	options = options ? options : &as_it_is;
	if (strcmp(path, "-") != 0 && stat(path, &state) == 0 && S_ISDIR(state.st_mode))
		return python_child_graph(
			&(struct python_job){ .name = "hlo_folder", .folder = path, .options = options }, error);
	struct input *input = input_open(path, error);
	if (!input)
		return NULL;
	size_t size;
	const char *beginning = input_peek(input, &size);
	enum input_kind kind = input_detect(beginning, size);
	struct graph *(*opens)(const struct opening *, struct error *) = open_kind[kind] ? open_kind[kind] : open_other;
	struct graph *graph = opens(&(struct opening){ path, input, options, kind }, error);
	input_close(input);
	if (graph && !graph->about.intake.format)
		graph->about.intake.format = input_kind_name(kind);
	return graph;
}
