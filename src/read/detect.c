/* detect.c: looks at magic bytes, at the first words of texts, and at the outermost fields of protocol buffers. */
#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <strings.h>

#include "detect.h"

#define X(id, name, what) name,
static const char *const kind_name[INPUT_KIND_COUNT] = { GRAPH_KINDS(X) OTHER_KINDS(X) };
#undef X
#define X(id, name, advice) [INPUT_##id] = advice,
static const char *const kind_advice[INPUT_KIND_COUNT] = { OTHER_KINDS(X) };
#undef X

const char *input_kind_name(enum input_kind kind)
{
	return kind_name[kind];
}

const char *input_kind_advice(enum input_kind kind)
{
	return kind_advice[kind];
}

/* A part of the input; at moves forward. */
struct view { const char *at, *end; };

static bool detect_starts(const struct view *view, const char *text)
{
	size_t length = strlen(text);
	return (size_t)(view->end - view->at) >= length && memcmp(view->at, text, length) == 0;
}

static bool detect_contains(const struct view *view, const char *text)
{
	size_t length = strlen(text);
	for (const char *at = view->at; (size_t)(view->end - at) >= length; at++)
		if (memcmp(at, text, length) == 0)
			return true;
	return false;
}

static struct view first_line(const struct view *view)
{
	const char *end = memchr(view->at, '\n', (size_t)(view->end - view->at));
	return (struct view){ view->at, end ? end : view->end };
}

static void detect_skip_until(struct view *view, const char *text)
{
	while (view->at < view->end && !detect_starts(view, text))
		view->at++;
}

static void detect_skip_space(struct view *view)
{
	while (view->at < view->end && strchr(" \t\r\n\f\v", *view->at) && *view->at)
		view->at++;
}

static void detect_skip_digits(struct view *view)
{
	while (view->at < view->end && *view->at >= '0' && *view->at <= '9')
		view->at++;
}

/* ---- texts ---- */

/* The word at the beginning, ignoring case, and not just the beginning of a word. */
static bool word(const struct view *view, const char *text)
{
	size_t length = strlen(text);
	if ((size_t)(view->end - view->at) < length || strncasecmp(view->at, text, length) != 0)
		return false;
	char next = view->at + length < view->end ? view->at[length] : ' ';
	return strchr(" \t\r\n\f\v{\"</#", next) != NULL && next != '\0';
}

/* White space and comments. */
static void skip_comments(struct view *view)
{
	for (;;) {
		detect_skip_space(view);
		if (detect_starts(view, "//") || detect_starts(view, "#"))
			detect_skip_until(view, "\n");
		else if (detect_starts(view, "/*"))
			detect_skip_until(view, "*/"), view->at += view->at < view->end ? 2 : 0;
		else
			return;
	}
}

static bool is_dot(struct view view)
{
	skip_comments(&view);
	return word(&view, "digraph") || word(&view, "graph") || word(&view, "strict");
}

/* A module, or computations alone: "add {", "ENTRY %main (x: f32[4]) -> f32[4] {", then instructions. */
static bool is_hlo_text(struct view view)
{
	skip_comments(&view);
	return word(&view, "HloModule") ||
		(detect_contains(&view, " parameter(0)") && detect_contains(&view, "ROOT ") && detect_contains(&view, "{\n"));
}

/* ---- what others write ---- */

static enum input_kind magic_kind(const struct view *view)
{
	static const struct { size_t at, size; const char *bytes; enum input_kind kind; } magic[] = {
		{ 0, 15, "SQLite format 3", INPUT_DATABASE },
		{ 0, 8, "\x89HDF\r\n\x1a\n", INPUT_WEIGHTS },
		{ 0, 4, "GGUF", INPUT_WEIGHTS },
		{ 0, 6, "\x93NUMPY", INPUT_WEIGHTS },
		{ 4, 6, "\0\0\0\0{\"", INPUT_WEIGHTS },
		{ 0, 2, "\x1f\x8b", INPUT_PACKED },
		{ 0, 4, "\x28\xb5\x2f\xfd", INPUT_PACKED },
		{ 0, 6, "\xfd" "7zXZ", INPUT_PACKED },
		{ 0, 3, "BZh", INPUT_PACKED },
		{ 0, 4, "7z\xbc\xaf", INPUT_PACKED },
		{ 257, 5, "ustar", INPUT_PACKED },
		{ 0, 2, "\xff\xfe", INPUT_UTF16 },
		{ 0, 2, "\xfe\xff", INPUT_UTF16 },
		{ 0, 4, "\x89PNG", INPUT_DOCUMENT },
		{ 0, 2, "\xff\xd8", INPUT_DOCUMENT },
		{ 0, 5, "%PDF-", INPUT_DOCUMENT },
		{ 0, 4, "\x7f" "ELF", INPUT_DOCUMENT },
		{ 0, 4, "PAR1", INPUT_DOCUMENT },
		{ 0, 5, "ARROW", INPUT_DOCUMENT },
		{ 4, 4, "ET12", INPUT_EXECUTORCH },
		{ 8, 4, "\xa3\x7f\x4b\x22", INPUT_DOCUMENT }, /* TensorBoard: the sum of the first record's length, 24 */
	};
	for (size_t i = 0; i < sizeof magic / sizeof *magic; i++)
		if ((size_t)(view->end - view->at) >= magic[i].at + magic[i].size &&
			memcmp(view->at + magic[i].at, magic[i].bytes, magic[i].size) == 0)
			return magic[i].kind;
	return INPUT_UNKNOWN;
}

/* "key: value", "- key: value", "[section]" or "key = value" in each of the first lines but comments; three at least,
 * or that is all of it. */
static bool is_settings(struct view view)
{
	uint32_t lines = 0;
	for (struct view line; lines < 3 && view.at < view.end; view.at = line.end + (line.end < view.end)) {
		line = first_line(&view);
		struct view rest = line;
		detect_skip_space(&rest);
		if (rest.at >= line.end || *rest.at == '#' || detect_starts(&rest, "---") || detect_starts(&rest, "%YAML"))
			continue;
		rest.at += detect_starts(&rest, "- ") ? 2 : 0;
		bool section = *rest.at == '[' && memchr(rest.at, ']', (size_t)(line.end - rest.at));
		const char *key = rest.at;
		while (rest.at < line.end && (isalnum((unsigned char)*rest.at) || (strchr("_-.", *rest.at) && *rest.at)))
			rest.at++;
		bool colon = rest.at < line.end && *rest.at == ':' && (rest.at + 1 >= line.end || strchr(" \r", rest.at[1]));
		bool equals = line.end - rest.at >= 3 && memcmp(rest.at, " = ", 3) == 0;
		if (!section && (rest.at == key || !(*key >= 'a' && *key <= 'z') || !(colon || equals)))
			return false;
		lines++;
	}
	return lines > 0;
}

static enum input_kind text_kind(const struct view *view)
{
	struct view line = first_line(view);
	if (*view->at == '<')
		return INPUT_DOCUMENT;
	struct view code = *view;
	skip_comments(&code);
	if (word(&code, "import") || word(&code, "from") || word(&code, "def") || word(&code, "class") ||
		detect_starts(&code, "\"\"\"") || (detect_starts(view, "#!") && detect_contains(&line, "python")))
		return INPUT_PYTHON;
	return is_settings(*view) ? INPUT_SETTINGS : INPUT_UNKNOWN;
}

static bool is_message(struct view view)
{
	return detect_contains(&view, "ut of memory") || detect_contains(&view, "OutOfMemoryError") ||
		detect_contains(&view, "RESOURCE_EXHAUSTED") || detect_contains(&view, "OOM when allocating");
}

static enum input_kind json_kind(const struct view *view)
{
	static const struct { const char *mark, *and; enum input_kind kind; } kinds[] = {
		{ "\"buffer_names\"", "\"nodes\"", INPUT_INDUCTOR },
		{ "\"mesh\"", "\"placement\"", INPUT_AUTOPARALLEL },
		{ "\"tidemark\"", NULL, INPUT_PLAN },
		{ "\"device_traces\"", NULL, INPUT_SNAPSHOT },
		{ "\"segments\"", "\"total_size\"", INPUT_SNAPSHOT },
		{ "\"traceEvents\"", NULL, INPUT_TRACE },
		{ "\"arg_nodes\"", "\"nodes\"", INPUT_TVM },
		{ "\"zero_optimization\"", NULL, INPUT_SETTINGS },
		{ "\"train_batch_size\"", NULL, INPUT_SETTINGS },
		{ "\"train_micro_batch_size_per_gpu\"", NULL, INPUT_SETTINGS },
		{ "\"weight_map\"", NULL, INPUT_WEIGHTS },
		{ "[pytorch|profiler|execution_trace", NULL, INPUT_TIMELINE },
	};
	struct view line = first_line(view);
	if (detect_contains(&line, "\"k\""))
		return INPUT_NATIVE;
	for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
		if (detect_contains(view, kinds[i].mark) && (!kinds[i].and || detect_contains(view, kinds[i].and)))
			return kinds[i].kind;
	if (detect_starts(view, "[[-1, 0, ") || detect_starts(view, "[[-1, 1, "))
		return INPUT_TIMELINE;
	if (is_message(*view)) /* "[rank0]: ..." and "[2026-..." begin as lists do */
		return INPUT_MESSAGE;
	return detect_contains(view, "\"model_type\"") || detect_contains(view, "\"_class_name\"") ? INPUT_CONFIG : INPUT_JSON;
}

/* Some column is called lower and some other upper. */
static bool is_minimalloc(struct view view)
{
	struct view line = first_line(&view);
	return detect_contains(&line, ",") && detect_contains(&line, "lower") && detect_contains(&line, "upper");
}

/* The first cell that isn't empty is a stage, an action and a microbatch: 0F0; or a pair of these:
 * (0F4;1B2)OVERLAP_F_B. */
static bool is_schedule(struct view view)
{
	while (view.at < view.end && strchr(", \t\r\n(", *view.at) && *view.at)
		view.at++;
	const char *stage = view.at;
	detect_skip_digits(&view);
	if (view.at == stage || view.at == view.end || !strchr("FBIW", *view.at) || !*view.at++)
		return false;
	const char *batch = view.at;
	detect_skip_digits(&view);
	return view.at > batch && (view.at == view.end || strchr(",; \r\n", *view.at));
}

/* A log of torch.compile: its graphs may begin later than what is seen here. A traceback names its files, too. */
static bool is_fx(struct view view)
{
	static const char *const marks[] = { "===== Joint graph", "===== Forward graph", "[__aot_",
		"class GraphModule(torch.nn.Module)", "class <lambda>(torch.nn.Module)", "torch/_dynamo/", "torch/_logging/",
		"torch/_functorch/" };
	for (size_t i = 0; i < sizeof marks / sizeof *marks; i++)
		if (detect_contains(&view, marks[i]))
			return i < 5 || !is_message(view);
	return false;
}

/* ---- protocol buffers ---- */

static bool varint(struct view *view, uint64_t *value)
{
	*value = 0;
	for (int shift = 0; shift < 64 && view->at < view->end; shift += 7) {
		unsigned char byte = (unsigned char)*view->at++;
		*value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80)
			return true;
	}
	return false;
}

/* The next field's number, its bytes in *body where it has any (they may reach past the end); 0 where there is none. */
static unsigned detect_field(struct view *view, struct view *body)
{
	uint64_t tag, length;
	*body = (struct view){ view->at, view->at };
	if (!varint(view, &tag) || tag >> 3 == 0 || tag >> 3 > 1000)
		return 0;
	if ((tag & 7) == 0)
		return varint(view, &length) ? (unsigned)(tag >> 3) : 0;
	if ((tag & 7) != 2 || !varint(view, &length))
		return 0;
	uint64_t left = (uint64_t)(view->end - view->at);
	*body = (struct view){ view->at, length < left ? view->at + length : view->end };
	view->at = body->end;
	return (unsigned)(tag >> 3);
}

static bool printable(const struct view *view)
{
	for (const char *at = view->at; at < view->end; at++)
		if (*at < ' ' || *at > '~')
			return false;
	return view->at < view->end;
}

/* ModelProto: ir_version, then producer, graph (7), opset_import (8), ... and nothing else. */
static bool is_onnx(struct view view)
{
	struct view body;
	if (!detect_starts(&view, "\x08") || detect_field(&view, &body) != 1)
		return false;
	bool model = false;
	while (view.at < view.end) {
		unsigned number = detect_field(&view, &body);
		if (number == 0)
			break;
		if (number > 26)
			return false;
		model |= number == 7 || number == 8 || (number == 2 && printable(&body));
	}
	return model;
}

/* XSpace, a profile of XProf: planes (1) with a number (1) and a name (2). "/host:metadata" has the modules. */
static bool is_xplane(struct view view)
{
	struct view plane, body;
	if (!detect_starts(&view, "\x0a") || detect_field(&view, &plane) != 1)
		return false;
	unsigned number = detect_field(&plane, &body);
	number = number == 1 ? detect_field(&plane, &body) : number;
	return number == 2 && (detect_starts(&body, "/device:") || detect_starts(&body, "/host:"));
}

/* HloModuleProto: name (1), entry_computation_name (2), computations (3). */
static bool is_hlo_module(struct view view)
{
	struct view name, entry, body;
	return detect_field(&view, &name) == 1 && printable(&name) && detect_field(&view, &entry) == 2 &&
		printable(&entry) && detect_field(&view, &body) == 3;
}

/* HloProto holds the module in field 1; an HloSnapshot holds the HloProto in field 1. */
static bool is_hlo(struct view view)
{
	struct view body;
	for (int level = 0; level < 3 && detect_starts(&view, "\x0a"); level++) {
		if (is_hlo_module(view))
			return true;
		if (detect_field(&view, &body) != 1)
			return false;
		view = body;
	}
	return false;
}

/* The snapshot's first key stands at its beginning. A list of segments, without their events, is one that the reader
 * says so of. */
static bool is_snapshot(struct view view)
{
	if (view.end - view.at > 400)
		view.end = view.at + 400;
	return detect_contains(&view, "segments") || detect_contains(&view, "device_traces") ||
		(detect_contains(&view, "total_size") && detect_contains(&view, "address"));
}

/* An empty dict or list that goes into the memo: "(dp0" and a newline, or "}q" and a byte. Those protocols have no mark
 * of their own at the beginning. */
static bool is_old_pickle(struct view view)
{
	if (detect_starts(&view, "}q") || detect_starts(&view, "]q"))
		return view.end - view.at > 2;
	if (!detect_starts(&view, "(dp") && !detect_starts(&view, "(lp"))
		return false;
	view.at += 3;
	detect_skip_digits(&view);
	return view.at < view.end && view.at[-1] != 'p' && *view.at == '\n';
}

/* The page that torch.cuda._memory_viz makes of one. */
static bool is_snapshot_page(struct view view)
{
	if (view.end - view.at > 4000)
		view.end = view.at + 4000;
	return detect_contains(&view, "MemoryViz.js") && detect_contains(&view, "\"base64\": \"");
}

static bool is_mlir(struct view view)
{
	bool place = detect_starts(&view, "#loc");
	skip_comments(&view);
	return place || word(&view, "module") || word(&view, "builtin.module") || word(&view, "func.func");
}

static bool is_stablehlo(struct view view)
{
	return is_mlir(view) && (detect_contains(&view, "stablehlo.") || detect_contains(&view, "mhlo.num_partitions"));
}

static const struct {
	bool (*is)(struct view view);
	enum input_kind kind;
} texts[] = {
	{ is_dot, INPUT_DOT },
	{ is_hlo_text, INPUT_HLO_TEXT },
	{ is_stablehlo, INPUT_STABLEHLO },
	{ is_mlir, INPUT_MLIR },
	{ is_fx, INPUT_FX },
	{ is_message, INPUT_MESSAGE },
	{ is_schedule, INPUT_SCHEDULE },
	{ is_minimalloc, INPUT_MINIMALLOC },
};

/* By the name of an archive's first file. */
static bool is_exported(struct view view)
{
	view.end = view.end - view.at > 300 ? view.at + 300 : view.end;
	return detect_contains(&view, "/data/weights/") || detect_contains(&view, "/models/") ||
		detect_contains(&view, "serialized_exported_program") || detect_contains(&view, "archive_format");
}

enum input_kind input_detect(const char *data, size_t size)
{
	struct view view = { data, data + size };
	if (detect_starts(&view, "PK\003\004"))
		return is_exported(view) ? INPUT_EXPORTED : INPUT_ZIP;
	if (size > 2 && data[0] == '\x80' && data[1] >= 2 && data[1] <= 5)
		return is_snapshot(view) ? INPUT_SNAPSHOT : INPUT_PICKLE;
	if (is_old_pickle(view))
		return INPUT_OLD_PICKLE;
	if (size > 8 && memcmp(data + 4, "TFL3", 4) == 0)
		return INPUT_TFLITE;
	if (is_onnx(view))
		return INPUT_ONNX;
	if (is_xplane(view) || is_hlo(view))
		return INPUT_HLO;
	enum input_kind magic = magic_kind(&view);
	if (magic != INPUT_UNKNOWN)
		return magic;
	if (detect_starts(&view, "\xef\xbb\xbf"))
		view.at += 3;
	detect_skip_space(&view);
	if (view.at == view.end)
		return INPUT_EMPTY;
	struct view inside = { view.at + 1, view.end };
	detect_skip_space(&inside);
	if (*view.at == '{' ||
		(*view.at == '[' &&
			(inside.at == inside.end || strchr("{[]\"-0123456789", *inside.at))))   /* not a section of TOML */
		return json_kind(&view);
	if (*view.at == '<' && is_snapshot_page(view))
		return INPUT_SNAPSHOT;
	for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
		if (texts[i].is(view))
			return texts[i].kind;
	return text_kind(&view);
}
