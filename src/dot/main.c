/* main.c: tidemark-dot, a filter: native graphs to DOT, both to pictures, and DOT to what libcgraph reads in it. */
#include <errno.h>
#include <getopt.h>
#include <graphviz/graphviz_version.h>
#include <graphviz/gvc.h>
#include <unistd.h>

#include "guard.h"
#include "parse.h"
#include "src/base/output.h"
#include "src/base/safe_text.h"
#include "src/base/streams.h"
#include "src/draw/draw.h"
#include "src/read/detect.h"
#include "src/read/native.h"
#include "src/write/data.h"

/* render: DOT text to a picture, by libgvc. */

/* Graphviz opens no file that a graph names (image, shapefile, IMG in labels) where it takes itself for a part of a web
 * server. It looks for that, once and for all, with the arguments of a command line. */
static void open_no_files(void)
{
	char *arguments[] = { (char[]){ "dot" }, NULL };
	setenv("SERVER_NAME", "tidemark-dot", 1);
	unsetenv("GV_FILE_PATH");
	GVC_t *context = gvContext();
	if (context) {
		gvParseArgs(context, 1, arguments);
		gvFreeContext(context);
	}
}

/* Lays out (engine "dot", or "nop2" where the nodes have positions) and writes format svg, pdf, png or dot (with
 * positions). BAD_INPUT when Graphviz fails. dot may take minutes on a few hundred nodes: run it under a limit. */
static enum status render(Agraph_t *dot, const char *engine, const char *format, FILE *stream, struct error *error)
{
	char *data = NULL;
	union { unsigned narrow; size_t wide; } written = { .wide = 0 }; /* wide from Graphviz 13 on */
	size_t length = 0;
	open_no_files();
	GVC_t *context = gvContext();
	NEEDED(error, context);
	enum status status = OK;
	if (gvLayout(context, dot, engine) != 0)
		status = fail(error, LIMIT,
			"Graphviz could not lay out the graph with %s: out of memory, or a graph that it can't handle", engine);
	else if (gvRenderData(context, dot, format, &data, (void *)&written) != 0 || !data)
		status = fail(error, LIMIT, "Graphviz could not write %s: out of memory, or a graph that it can't handle", format);
	else
		length = _Generic(&gvRenderData, int (*)(GVC_t *, graph_t *, const char *, char **, unsigned *): written.narrow,
			default: written.wide);
	if (status == OK && strcmp(format, "pdf") == 0)
		pdf_set_date(data, length);
	if (status == OK && fwrite(data, 1, length, stream) != length)
		status = fail(error, LIMIT, "can't write the picture");
	gvFreeRenderData(data);
	gvFreeLayout(context, dot);
	gvFreeContext(context);
	return status;
}

#define OUTPUTS(X) X(DOT, "dot") X(JSON, "json") X(SVG, "svg") X(PDF, "pdf") X(PNG, "png")
#define X(id, name) OUTPUT_##id,
enum format { OUTPUTS(X) OUTPUT_COUNT };
#undef X
#define X(id, name) name,
static const char *const format_names[OUTPUT_COUNT] = { OUTPUTS(X) };
#undef X

struct options {
	const char *input, *output;
	int format;
	const char *view; /* of a native graph: see draw_options_of() */
	bool positions;   /* draw nodes where the text says */
	bool with_parent; /* end when the parent does */
	struct limits limits;
};

static const char help[] =
	"Usage: tidemark-dot [OPTION]... [FILE]\n"
	"Draw DOT and Tidemark's native graphs. FILE may be compressed; without it, or\n"
	"with -, standard input is read.\n"
	"\n"
	"  -t, --to FORMAT     dot (of a native graph; the default), json (of DOT: what\n"
	"                      Graphviz has read), svg, pdf or png\n"
	"  -o, --output FILE   write to FILE instead of standard output\n"
	"  -v, --view VIEW     draw a native graph as graph, ops, layers or\n"
	"                      around:NAME:HOPS; DOT is drawn as it is\n"
	"  -p, --positions     draw nodes at their pos= instead of laying out\n"
	"  -m, --memory BYTES  end when more memory is needed (default 4GiB)\n"
	"  -s, --time SECONDS  end after so much processor time (default 600)\n"
	"  -k, --with-parent   end when the parent process ends\n"
	"  -h, --help          print this and exit\n"
	"  -V, --version       print the versions and exit\n"
	"\n"
	"Exit status: 0 fine, 2 usage, 3 bad input, 4 a limit was hit.\n";

static int usage(const char *text)
{
	fprintf(stderr, "tidemark-dot: %s\nTry 'tidemark-dot --help'.\n", text);
	return EXIT_USAGE;
}

/* "600"; of bytes also "4GiB". */
static bool read_limit(const char *text, bool bytes, int64_t *limit)
{
	static const char *const units[] = { "", "KiB", "MiB", "GiB" };
	char *end;
	*limit = strtoll(text, &end, 10);
	int unit = name_index(units, bytes ? (int)COUNT_OF(units) : 1, end);
	return unit >= 0 && *text >= '0' && *text <= '9' && !__builtin_mul_overflow(*limit, INT64_C(1) << 10 * unit, limit);
}

/* -1: go on; else the exit status. */
static int parse_options(int argc, char **argv, struct options *options)
{
	static const struct option table[] = {
		{ "to", required_argument, NULL, 't' },
		{ "output", required_argument, NULL, 'o' },
		{ "positions", no_argument, NULL, 'p' },
		{ "memory", required_argument, NULL, 'm' },
		{ "time", required_argument, NULL, 's' },
		{ "view", required_argument, NULL, 'v' },
		{ "with-parent", no_argument, NULL, 'k' },
		{ "help", no_argument, NULL, 'h' },
		{ "version", no_argument, NULL, 'V' },
		{ 0 },
	};
	int c;
	while ((c = getopt_long(argc, argv, "t:o:v:pm:s:khV", table, NULL)) != -1) {
		switch (c) {
		case 't':
			options->format = name_index(format_names, OUTPUT_COUNT, optarg);
			if (options->format < 0)
				return usage("--to: dot, json, svg, pdf or png");
			break;
		case 'o': options->output = optarg; break;
		case 'v': options->view = optarg; break;
		case 'p': options->positions = true; break;
		case 'k': options->with_parent = true; break;
		case 'm':
			if (!read_limit(optarg, true, &options->limits.memory))
				return usage("--memory: a size like 4GiB");
			break;
		case 's':
			if (!read_limit(optarg, false, &options->limits.seconds))
				return usage("--time: whole seconds");
			break;
		case 'h': fputs(help, stdout); return EXIT_FINE;
		case 'V': puts("tidemark-dot " TIDEMARK_VERSION "\nGraphviz " PACKAGE_VERSION); return EXIT_FINE;
		default: fputs("Try 'tidemark-dot --help'.\n", stderr); return EXIT_USAGE;
		}
	}
	if (optind + 1 < argc)
		return usage("more than one file");
	options->input = optind < argc ? argv[optind] : "-";
	return -1;
}

/* Draws the DOT in content, or says what is in it, into stream. */
static enum status draw_dot(
	const struct options *options, const char *content, size_t size, FILE *stream, struct error *error)
{
	if (options->format == OUTPUT_DOT)
		return refuse(error, "DOT becomes json, svg, pdf or png: --to says which; tidemark reads it as a graph");
	Agraph_t *dot = parse_dot(content, size, error);
	if (!dot)
		return BAD_INPUT;
	enum status status = OK;
	if (options->format == OUTPUT_JSON)
		parse_dump(dot, content, stream);
	else
		status = render(dot, options->positions ? "nop2" : "dot", format_names[options->format], stream, error);
	if (options->format != OUTPUT_JSON && *parse_messages())
		fprintf(stderr, "tidemark-dot: %s: ", options->input), text_write_clean(stderr, parse_messages(), "\n");
	agclose(dot);
	return status;
}

/* The drawing's DOT, with coordinates of our own where dot would need minutes; free() *text. */
static enum status draw_native(
	const struct graph *graph, struct options *options, char **text, size_t *length, struct error *error)
{
	struct draw_options draw;
	uint32_t nodes = 0;
	enum status status = draw_options_of(options->view, TEXT(1024), &draw, error);
	for (int round = 0; round < 2 && status == OK && !*text; round++) {
		FILE *stream = text_stream(text, length);
		NEEDED(error, stream);
		status = draw_write(graph, NULL, &draw, stream, &nodes, error);
		if (fclose(stream) != 0 && status == OK)
			status = fail_memory(error);
		if (status == OK && nodes > DRAW_LAYOUT_MOST && !draw.positions) {
			draw.positions = options->positions = true;
			free(*text);
			*text = NULL;
		}
	}
	return status;
}

static enum status convert_native(struct options *options, struct input *input, FILE *stream, struct error *error)
{
	struct source source = input_source(input);
	struct graph *graph = native_read(&source, error);
	enum status status = OK;
	if (!graph)
		return error->status;
	if (options->format == OUTPUT_JSON) {
		graph_release(graph);
		return refuse(error, "a native graph becomes dot, svg, pdf or png");
	}
	if (options->format == OUTPUT_DOT && !options->view) {
		if (!dot_write(graph, stream))
			status = fail(error, NO_MEMORY, "can't write: %s", strerror(errno));
		graph_release(graph);
		return status;
	}
	char *text = NULL;
	size_t length = 0;
	status = draw_native(graph, options, &text, &length, error);
	graph_release(graph);
	if (status == OK && options->format == OUTPUT_DOT)
		fwrite(text, 1, length, stream);
	else if (status == OK)
		status = draw_dot(options, text, length, stream, error);
	free(text);
	return status;
}

static enum status dot_main_convert(struct options *options, FILE *stream, struct error *error)
{
	struct input *input = input_open(options->input, error);
	if (!input)
		return BAD_INPUT;
	size_t size;
	const char *peek = input_peek(input, &size);
	enum input_kind kind = input_detect(peek, size);
	enum status status;
	bool figure = figure_is(peek, size);
	HELD char *content = figure || kind == INPUT_DOT ? input_all(input, (size_t)1 << 30, &size, error) : NULL;
	if (figure) {
		status = !content ? BAD_INPUT
			: options->format != OUTPUT_PDF && options->format != OUTPUT_PNG
			? refuse(error, "a figure becomes pdf or png")
			: figure_draw(content, format_names[options->format], stream, error);
	} else if (kind == INPUT_NATIVE) {
		status = convert_native(options, input, stream, error);
	} else if (kind == INPUT_DOT) {
		status = content ? draw_dot(options, content, size, stream, error) : BAD_INPUT;
	} else {
		status = refuse(error, "neither DOT nor a native graph, but a%s %s",
			strchr("aeioAEIOXM", *input_kind_name(kind)) ? "n" : "", input_kind_name(kind));
	}
	input_close(input);
	return status;
}

static int dot_main_report(const struct options *options, enum status status, const struct error *error)
{
	if (status == OK)
		return EXIT_FINE;
	char text[2000];
	/* What seems wrong with a file after an allocation was refused may be its consequence. */
	bool starved = status == BAD_INPUT && (mem_refused() > 0 || error->status == NO_MEMORY);
	struct error memory = { 0 };
	if (starved || !*error->text) {
		status = fail_memory(&memory);
		error = &memory;
	}
	if (error->line)
		PRINT_TO(text, "tidemark-dot: %s:%u: %s", options->input, error->line, error->text);
	else
		PRINT_TO(text, "tidemark-dot: %s: %s", options->input, error->text);
	text_write_clean(stderr, text, "\n");
	putc('\n', stderr);
	return status == BAD_INPUT ? EXIT_INPUT : EXIT_LIMIT;
}

/* The result is written when it is complete: a failure leaves nothing half done. */
static enum status deliver(const struct options *options, const char *data, size_t length, struct error *error)
{
	struct output output;
	TRY(output_open(&output, options->output, true, error));
	fwrite(data, 1, length, output.stream);
	return output_close(&output, OK, error);
}

int main(int argc, char **argv)
{
	struct options options = { .limits = { INT64_C(4) << 30, 600 } };
	output_prepare();
	setenv("TZ", "UTC0", 1); /* Cairo writes the zone behind a PDF's date */
	json_memory_watch();
	int code = parse_options(argc, argv, &options);
	if (code >= 0)
		return code;
	guard_start(&options.limits, options.input);
	if (options.with_parent)
		guard_with_parent();
	struct error error = { 0 };
	char *data = NULL;
	size_t length = 0;
	FILE *stream = text_stream(&data, &length);
	enum status status = stream ? dot_main_convert(&options, stream, &error) : fail_memory(&error);
	if (stream && fclose(stream) != 0 && status == OK)
		status = fail_memory(&error);
	if (status == OK && options.format > OUTPUT_JSON && !picture_whole(format_names[options.format], data, length))
		status = fail(&error, LIMIT, "Graphviz failed: its picture isn't whole, probably because memory ran out (--memory)");
	THEN(status, deliver(&options, data, length, &error));
	free(data);
	guard_expect_end();
	return dot_main_report(&options, status, &error);
}
