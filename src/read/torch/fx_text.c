/* fx_text.c: finds FX graphs in logs and reads their statements. */
#include <stdio.h>
#include <stdlib.h>

#include "fx.h"

#define HINTS_MOST 4096

struct span { const char *at, *end; };

/* What a symbol was when its graph was compiled, "s77=6". */
struct hint { const char *id, *text; };

struct reader {
	struct fx_log *log;
	struct error *error;
	const char *const *dim;
	uint32_t dims;
	const char *at, *end;
	unsigned line;
	enum { OUTSIDE, ARGUMENTS, BODY, RESULTS } state;
	int depth;   /* of brackets in what is returned */
	bool listed; /* the list of what is returned has begun */
	struct fx_graph *graph;
	struct names names; /* of the graph's values */
	/* What was said of the next graph. */
	enum fx_kind kind;
	bool kind_said;
	enum {
		NO_EXPORT,
		EXPORT_BEGUN,
		EXPORT
	} export; /* a printed torch.export.ExportedProgram: its module is one in another */
	char id[64];
	const char *src;
	bool gradient; /* src is where torch.func takes a gradient */
	const struct fx_origin *origin;
	struct hint *hint; /* of all compilations */
	uint32_t hints;
	size_t hint_room;
	const char **given; /* of this graph: dim, and behind it the hints of its compilation */
	uint32_t givens;
	size_t given_room;
};

static enum status fx_text_bad(struct reader *reader, const char *what, struct span name)
{
	reader->error->line = reader->line;
	return refuse(reader->error, "%s \"%.*s\"", what, (int)SMALLER(60, name.end - name.at),
		name.at);
}

/* ---- characters ---- */

static size_t fx_text_length_of(struct span span)
{
	return (size_t)(span.end - span.at);
}

static bool fx_text_starts(struct span span, const char *text)
{
	return fx_text_length_of(span) >= strlen(text) && memcmp(span.at, text, strlen(text)) == 0;
}

static const char *fx_text_find(struct span span, const char *text)
{
	size_t length = strlen(text);
	for (const char *at = span.at; (size_t)(span.end - at) >= length; at++)
		if ((at = memchr(at, *text, (size_t)(span.end - at))) == NULL || (size_t)(span.end - at) < length)
			return NULL;
		else if (memcmp(at, text, length) == 0)
			return at;
	return NULL;
}

static struct span fx_text_trim(struct span span)
{
	while (span.at < span.end && (*span.at == ' ' || *span.at == '\t'))
		span.at++;
	while (span.end > span.at && strchr(" \t\r", span.end[-1]))
		span.end--;
	return span;
}

static bool fx_text_letter(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || (c >= '0' && c <= '9');
}

static struct span identifier(struct span *span)
{
	struct span word = { span->at, span->at };
	while (word.end < span->end && fx_text_letter(*word.end))
		word.end++;
	span->at = word.end;
	return word;
}

static const char *fx_text_keep(struct reader *reader, struct span span)
{
	return arena_text(&reader->log->arena, span.at, fx_text_length_of(span));
}

/* ---- lines ---- */

static bool digits(struct span span, size_t count)
{
	FOR_SIZE(i, count)
		if (i >= fx_text_length_of(span) || span.at[i] < '0' || span.at[i] > '9')
			return false;
	return true;
}

/* "V1206 15:18:21.106000 PID torch/...py:232] " off, and "[0/0] [__aot_graphs] " behind it, the first of which names
 * the compilation. */
static struct span without_prefix(struct reader *reader, struct span line)
{
	if (fx_text_starts(line, "[rank") && fx_text_find(line, "]:"))
		line.at = fx_text_find(line, "]:") + 2;
	if (line.at < line.end && *line.at == '\t')
		return (struct span){ line.at + 1, line.end };
	if (fx_text_length_of(line) < 6 || !strchr("VDIWE", *line.at) ||
		!digits((struct span){ line.at + 1, line.end }, 4) || !fx_text_find(line, "] "))
		return line;
	line.at = fx_text_find(line, "] ") + 2;
	while (fx_text_starts(line, "[") && fx_text_find(line, "]")) {
		const char *close = fx_text_find(line, "]");
		if (digits((struct span){ line.at + 1 + (line.at[1] == '!'), close }, 1)) /* "!0/2/0": compiled autograd's */
			PRINT_TO(reader->id, "%.*s", (int)SMALLER(60, close - line.at - 1),
				line.at + 1);
		line.at = close + 1 + (close + 1 < line.end && close[1] == ' ');
	}
	return line;
}

/* The number behind a key of a JSON record, -1 without one. */
static long fx_text_number_behind(struct span line, const char *key)
{
	const char *at = fx_text_find(line, key);
	return at ? strtol(at + strlen(key), NULL, 10) : -1;
}

/* {"create_symbol": {"symbol": "s77", "val": "6", ...} of a trace; "create_symbol s77 = 6 for L['x'].size()[0]" of
 * TORCH_LOGS=dynamic. */
static void note_symbol(struct reader *reader, struct span line)
{
	const char *symbol = fx_text_find(line, "\"create_symbol\": {\"symbol\": \""),
			   *value = fx_text_find(line, "\"val\": \"");
	if (!symbol && fx_text_starts(line, "create_symbol ") && (value = fx_text_find(line, " = ")))
		symbol = line.at + strlen("create_symbol "), value += 3;
	else if (symbol && value)
		symbol += strlen("\"create_symbol\": {\"symbol\": \""), value += strlen("\"val\": \"");
	if (!symbol || !value || reader->hints == HINTS_MOST)
		return;
	struct span rest = { symbol, line.end }, name = identifier(&rest), number = { value, value };
	while (number.end < line.end && *number.end >= '0' && *number.end <= '9')
		number.end++;
	char text[80];
	if (fx_text_length_of(number) == 0 || fx_text_length_of(number) > 18 || fx_text_length_of(name) == 0 ||
		fx_text_length_of(name) > 40)
		return;
	PRINT_TO(text, "%.*s=%.*s", (int)fx_text_length_of(name), name.at, (int)fx_text_length_of(number),
		number.at);
	struct hint hint = { arena_text(&reader->log->arena, reader->id, strlen(reader->id)),
		arena_text(&reader->log->arena, text, strlen(text)) };
	if (hint.id && hint.text && mem_reserve(&reader->hint, &reader->hint_room, reader->hints + 1, sizeof hint))
		reader->hint[reader->hints++] = hint;
	else
		fail_memory(reader->error);
}

/* What a line says of the graph that follows it. */
static void fx_text_note(struct reader *reader, struct span line)
{
	static const struct { const char *mark; enum fx_kind kind; } marks[] = {
		{ "===== Joint graph", FX_JOINT },
		{ "===== Forward graph", FX_FORWARD },
		{ "===== Backward graph", FX_BACKWARD },
		{ "\"aot_joint_graph\"", FX_JOINT },
		{ "\"aot_forward_graph\"", FX_FORWARD },
		{ "\"aot_backward_graph\"", FX_BACKWARD },
		{ "\"aot_inference_graph\"", FX_INFERENCE },
		{ "===== Forward graph with no backward", FX_INFERENCE },
	};
	bool record = fx_text_starts(line, "{\"") && fx_text_length_of(line) < 100000;
	if (record) {
		long frame = fx_text_number_behind(line, "\"frame_id\": "),
			 compile = fx_text_number_behind(line, "\"frame_compile_id\": "),
			 pass = fx_text_number_behind(line, "\"compiled_autograd_id\": ");
		if (frame >= 0 && compile >= 0 && pass >= 0)
			PRINT_TO(reader->id, "!%ld/%ld/%ld", pass, frame, compile);
		else if (frame >= 0 && compile >= 0)
			PRINT_TO(reader->id, "%ld/%ld", frame, compile);
		/* Other artifacts hold graphs too: dynamo's own, Inductor's. They repeat these. */
		reader->kind = FX_OTHER;
		reader->kind_said = true;
		reader->export = NO_EXPORT;
		reader->log->fused |= fx_text_find(line, "\"inductor_output_code\"") != NULL;
	}
	if (fx_text_starts(line, "ExportedProgram:")) {
		reader->kind = FX_INFERENCE;
		reader->kind_said = true;
		reader->export = EXPORT_BEGUN;
	}
	if (fx_text_find(line, "create_symbol"))
		note_symbol(reader, line);
	FOR(i, COUNT_OF(marks))
		if (fx_text_find(line, marks[i].mark)) {
			reader->kind = marks[i].kind;
			reader->kind_said = true;
		}
}

/* ---- values ---- */

static int fx_text_dtype_of(struct span span)
{
	static const struct {
		const char *name;
		int dtype;
	} others[] = { { "b8", DTYPE_BOOL }, { "f8e4m3fn", DTYPE_F8E4M3 }, { "f8e4m3fnuz", DTYPE_F8E4M3 },
		{ "f8e5m2fnuz", DTYPE_F8E5M2 }, { "f8e8m0fnu", DTYPE_U8 }, { "f4e2m1fn_x2", DTYPE_U8 }, { "c32", DTYPE_I32 } };
	char name[16];
	PRINT_TO(name, "%.*s", (int)SMALLER(15, fx_text_length_of(span)), span.at);
	FOR(i, COUNT_OF(others))
		if (strcmp(others[i].name, name) == 0)
			return others[i].dtype;
	return name_index(dtype_names, DTYPE_COUNT, name);
}

/* "f6e3m2", which nobody has yet: letters and a number of bits. */
static bool looks_like_dtype(struct span span)
{
	size_t letters = 0;
	while (letters < fx_text_length_of(span) && span.at[letters] >= 'a' && span.at[letters] <= 'z')
		letters++;
	return letters > 0 && letters <= 5 && letters < fx_text_length_of(span) && span.at[letters] >= '0' &&
		span.at[letters] <= '9' && fx_text_length_of(span) < 20;
}

/* A size: a number, or an expression of symbols that the caller gave numbers. The first symbols without are noted. */
static bool fx_text_size_of(const struct reader *reader, struct span text, int64_t *size)
{
	const struct fx_sizes sizes = { reader->given, reader->givens };
	struct fx_log *log = reader->log;
	const char *symbol;
	size_t length;
	if (digits(text, fx_text_length_of(text)) && fx_text_length_of(text) > 0 && fx_text_length_of(text) < 20) {
		*size = strtoll(text.at, NULL, 10); /* one that is too large is refused later, with its line */
		return true;
	}
	bool known = fx_size(&sizes, text.at, text.end, size, &symbol, &length);
	for (uint32_t i = 0; symbol && i < log->symbols; i++)
		symbol = strlen(log->symbol[i]) == length && memcmp(log->symbol[i], symbol, length) == 0 ? NULL : symbol;
	if (symbol && length < sizeof *log->symbol && log->symbols < FX_SYMBOLS)
		snprintf(log->symbol[log->symbols++], sizeof *log->symbol, "%.*s", (int)length, symbol);
	return known;
}

/* The sizes of one device's piece. */
static bool fx_text_cut(const struct fx_log *log, struct fx_value *value)
{
	FOR(a, value->places.axes) {
		int dim = value->places.on[a].dim;
		if (dim >= value->dims)
			return false;
		if (dim >= 0 && log->mesh[a] > 1)
			value->dim[dim] = value->dim[dim] / log->mesh[a] + (value->dim[dim] % log->mesh[a] != 0);
	}
	return true;
}

/* "f32[4, 12][12, 1]cpu": dtype and shape; false for what is no tensor. */
static bool read_plain_type(const struct reader *reader, struct span type, struct fx_value *value)
{
	struct span dtype = identifier(&type);
	int index = fx_text_dtype_of(dtype);
	if (type.at >= type.end || *type.at != '[' || (index < 0 && !looks_like_dtype(dtype)))
		return false;
	/* A tensor whose size can't be told counts as one without a size, not as nothing. */
	value->dtype = index < 0 ? DTYPE_OPAQUE : (uint8_t)index;
	value->unsized |= index < 0;
	for (type.at++; type.at < type.end && *type.at != ']';) {
		struct span dim = { type.at, type.at };
		for (int open = 0; dim.end < type.end && *dim.end != ']' && (*dim.end != ',' || open > 0); dim.end++)
			open += *dim.end == '(' ? 1 : *dim.end == ')' ? -1 : 0;
		type.at = dim.end + (dim.end < type.end && *dim.end == ',');
		dim = fx_text_trim(dim);
		if (fx_text_length_of(dim) == 0)
			continue;
		if (value->dims == DIMS_MAX)
			return value->unsized = true;
		value->unsized |= !fx_text_size_of(reader, dim, &value->dim[value->dims++]);
	}
	return true;
}

/* The same, and "DTensor(f32[4, 12][12, 1]cpu, S(0)R)" or another class around it. */
static bool fx_text_read_type(const struct reader *reader, struct span type, struct fx_value *value)
{
	struct fx_log *log = reader->log;
	struct span rest = type, name = identifier(&rest);
	if (!fx_text_starts(rest, "(") || fx_text_length_of(name) == 0)
		return read_plain_type(reader, type, value);
	rest.at++;
	bool fine = read_plain_type(reader, rest, value);
	if (!fine || !fx_text_starts(name, "DTensor"))
		return fine;
	/* Behind shape and strides. */
	const char *close = memchr(rest.at, ']', fx_text_length_of(rest));
	if (close && close + 1 < rest.end && close[1] == '[')
		close = memchr(close + 1, ']', (size_t)(rest.end - close - 1));
	const char *places = close ? fx_text_find((struct span){ close, rest.end }, ", ") : NULL;
	if (places && places_read(places + 2, MESH_AXES, &value->places) && !fx_text_cut(log, value))
		value->places.axes = 0;
	return true;
}

static enum status fx_text_add_value(struct reader *reader, struct span name, struct fx_value *value)
{
	struct fx_graph *graph = reader->graph;
	if (!(value->name = fx_text_keep(reader, name)))
		return fail_memory(reader->error);
	uint32_t first = names_add(&reader->names, value->name, graph->values);
	if (first == NONE || !mem_reserve(&graph->value, &graph->value_room, graph->values + 1, sizeof *value))
		return fail_memory(reader->error);
	if (first != graph->values)
		return fx_text_bad(reader, "a second value named", name);
	value->line = reader->line;
	graph->value[graph->values++] = *value;
	return OK;
}

/* From the comment behind an input, or of an exported program from its name: p_weight, b_running_mean,
 * c_lifted_tensor_0. */
static enum fx_role fx_text_role_of(const struct reader *reader, struct span name, struct span comment)
{
	bool lifted = reader->export == EXPORT && (fx_text_starts(name, "b_") || fx_text_starts(name, "c_"));
	if (fx_text_find(comment, "ParamAOTInput") || (reader->export == EXPORT && fx_text_starts(name, "p_")))
		return FX_PARAMETER;
	return fx_text_find(comment, "BufferAOTInput") || lifted ? FX_BUFFER : FX_PLAIN;
}

/* All of: NAME: "TYPE". What follows the last one up to the end is its comment. */
static enum status read_inputs(struct reader *reader, struct span text)
{
	enum status status = OK;
	const char *hash = fx_text_find(text, "#");
	struct span comment = { hash ? hash : text.end, text.end };
	while (status == OK && text.at < text.end && *text.at != '#') {
		while (text.at < text.end && !fx_text_letter(*text.at) && *text.at != '#')
			text.at++;
		struct span name = identifier(&text);
		if (!fx_text_starts(text, ": \"") || fx_text_length_of(name) == 0) {
			text.at += text.at < text.end && *text.at != '#';
			continue;
		}
		struct span type = { text.at + 3, text.at + 3 };
		while (type.end < text.end && *type.end != '"')
			type.end++;
		text.at = type.end + (type.end < text.end);
		struct fx_value value = { .input = true, .node = NONE, .role = (uint8_t)fx_text_role_of(reader, name, comment) };
		value.typed = fx_text_read_type(reader, type, &value);
		status = fx_text_add_value(reader, name, &value);
	}
	return status;
}

/* ---- statements ---- */

static bool fx_text_quoted(struct span *text)
{
	if (*text->at != '\'' && *text->at != '"')
		return false;
	char quote = *text->at++;
	while (text->at < text->end && *text->at != quote)
		text->at += 1 + (*text->at == '\\' && text->at + 1 < text->end);
	text->at += text->at < text->end;
	return true;
}

/* Every value that an expression names, and the first whole number among its arguments. */
static enum status read_arguments(struct reader *reader, struct span text, struct fx_node *node)
{
	struct fx_graph *graph = reader->graph;
	node->read = graph->arguments;
	bool member = false, listed = false;
	int depth = 0; /* of lists */
	while (text.at < text.end) {
		struct span quote = { text.at + 1, text.at };
		if (fx_text_quoted(&text)) {
			quote.end = text.at - (text.at > quote.at);
			if (fx_text_length_of(quote) < 100 && !(node->text = fx_text_keep(reader, quote)))
				return fail_memory(reader->error);
			continue;
		}
		if (!fx_text_letter(*text.at)) {
			member = *text.at == '.';
			depth += (*text.at == '[') - (*text.at == ']' && depth > 0);
			listed |= *text.at == ']';
			text.at++;
			continue;
		}
		node->listed += depth == 1 && !listed && !member;
		struct span word = identifier(&text);
		struct span rest = fx_text_trim(text);
		bool keyword = fx_text_starts(rest, "=") && !fx_text_starts(rest, "==");
		if (!member && digits(word, fx_text_length_of(word)) && node->group == 0 && depth == 0 && fx_text_length_of(word) < 9)
			node->group = strtol(word.at, NULL, 10);
		if (member || keyword || fx_text_length_of(word) > 300)
			continue;
		char name[301];
		PRINT_TO(name, "%.*s", (int)fx_text_length_of(word), word.at);
		uint32_t id = names_find(&reader->names, name);
		if (id == NONE)
			continue;
		if (!mem_reserve(&graph->argument, &graph->argument_room, graph->arguments + 1, sizeof *graph->argument))
			return fail_memory(reader->error);
		graph->argument[graph->arguments++] = id;
		node->reads++;
	}
	return OK;
}

/* "split[2]" and operator.getitem(split, 2): an output of a node that has several. */
static uint32_t taken_of(struct reader *reader, struct span text)
{
	if (fx_text_starts(text, "operator.getitem("))
		text.at += strlen("operator.getitem(");
	else if (fx_text_starts(text, "_operator.getitem("))
		text.at += strlen("_operator.getitem(");
	struct span word = identifier(&text);
	char name[301];
	if (fx_text_length_of(word) == 0 || fx_text_length_of(word) > 300 || text.at >= text.end ||
		(*text.at != '[' && *text.at != ','))
		return NONE;
	PRINT_TO(name, "%.*s", (int)fx_text_length_of(word), word.at);
	return names_find(&reader->names, name);
}

static enum status fx_text_add_node(
	struct reader *reader, struct span name, struct span expression, struct fx_value *value)
{
	struct fx_graph *graph = reader->graph;
	struct fx_node node = { .src = reader->src, .gradient = reader->gradient, .line = reader->line };
	struct span type = expression;
	if (fx_text_starts(type, "torch.ops."))
		type.at += strlen("torch.ops.");
	type.end = type.at;
	while (type.end < expression.end && (fx_text_letter(*type.end) || *type.end == '.'))
		type.end++;
	if (fx_text_length_of(type) == 0)
		type = name;
	if (!((node.type = fx_text_keep(reader, type)) && (node.name = fx_text_keep(reader, name))))
		return fail_memory(reader->error);
	TRY(read_arguments(
		reader, (struct span){ type.end > expression.end ? expression.at : type.end, expression.end }, &node));
	value->node = graph->nodes;
	if (!mem_reserve(&graph->node, &graph->node_room, graph->nodes + 1, sizeof node))
		return fail_memory(reader->error);
	graph->node[graph->nodes++] = node;
	return OK;
}

/* NAME = EXPRESSION, NAME: "TYPE" = EXPRESSION, or NAME: "TYPE" of an input. */
static enum status read_statement(struct reader *reader, struct span text)
{
	struct span whole = text, name = identifier(&text), type = { NULL, NULL };
	struct fx_value value = { .node = NONE };
	if (fx_text_length_of(name) == 0)
		return OK;
	if (fx_text_starts(text, ": \"")) {
		type = (struct span){ text.at + 3, text.at + 3 };
		while (type.end < text.end && *type.end != '"')
			type.end++;
		text.at = type.end + (type.end < text.end);
	}
	text = fx_text_trim(text);
	if (type.at && (text.at == text.end || *text.at == '#'))
		return read_inputs(reader, whole);
	bool frees = fx_text_length_of(text) >= 6 && memcmp(text.end - 6, "= None", 6) == 0 &&
		!memchr(text.at, '(', fx_text_length_of(text));
	if (!fx_text_starts(text, "= ") || frees || fx_text_starts(text, "= fx_pytree"))
		return OK;
	text = fx_text_trim((struct span){ text.at + 2, text.end });
	value.typed = type.at && fx_text_read_type(reader, type, &value);
	uint32_t of = taken_of(reader, text);
	if (of != NONE)
		value.node = reader->graph->value[of].node;
	else if (fx_text_starts(text, "self."))
		value.input = value.typed, value.role = FX_BUFFER;
	else if (fx_text_starts(text, "torch.") || value.typed)
		TRY(fx_text_add_node(reader, name, text, &value));
	return fx_text_add_value(reader, name, &value);
}

/* The statements of a line: those that only let go of values are "a = None". */
static enum status fx_text_read_line(struct reader *reader, struct span line)
{
	enum status status = OK;
	while (status == OK && line.at < line.end) {
		struct span part = { line.at, line.at }, scan = line;
		while (scan.at < scan.end && *scan.at != ';' && !(*scan.at == '#' && scan.at > line.at && scan.at[-1] == ' '))
			if (!fx_text_quoted(&scan))
				scan.at++;
		part.end = scan.at;
		bool comment = scan.at < scan.end && *scan.at == '#';
		status = read_statement(reader, fx_text_trim(comment ? line : part));
		line.at = comment ? line.end : scan.at + (scan.at < scan.end);
		line = fx_text_trim(line);
	}
	return status;
}

/* ---- graphs ---- */

/* Sizes that the caller gives come first; then what the compilation of this graph said last. */
static enum status fx_text_find_given(struct reader *reader)
{
	char list[200] = "";
	size_t used = 0;
	if (!mem_reserve(&reader->given, &reader->given_room, (size_t)reader->dims + reader->hints + 1, sizeof *reader->given))
		return fail_memory(reader->error);
	reader->givens = 0;
	FOR(i, reader->dims)
		reader->given[reader->givens++] = reader->dim[i];
	for (uint32_t i = reader->hints; i-- > 0;) {
		if (strcmp(reader->hint[i].id, reader->id) != 0)
			continue;
		reader->given[reader->givens++] = reader->hint[i].text;
		if (used < sizeof list - 60)
			used += (size_t)snprintf(list + used, sizeof list - used, "%s%.50s", used ? ", " : "", reader->hint[i].text);
	}
	reader->graph->hints = arena_text(&reader->log->arena, list, used);
	return reader->graph->hints ? OK : fail_memory(reader->error);
}

static enum status begin_graph(struct reader *reader)
{
	struct fx_log *log = reader->log;
	if (!mem_reserve(&log->graph, &log->room, log->graphs + 1, sizeof *log->graph))
		return fail_memory(reader->error);
	reader->graph = &log->graph[log->graphs++];
	*reader->graph = (struct fx_graph){
		.kind = reader->kind, .autograd = *reader->id == '!', .line = reader->line
	}; /* "!0/2/0" */
	names_free(&reader->names);
	reader->names = (struct names){ 0 };
	reader->src = NULL;
	reader->gradient = false;
	char id[400];
	PRINT_TO(id, "%.300s%s%s", reader->origin->id, *reader->origin->id && *reader->id ? " " : "", reader->id);
	reader->graph->id = arena_text(&log->arena, id, strlen(id));
	return reader->graph->id ? fx_text_find_given(reader) : fail_memory(reader->error);
}

static bool has_input(const struct fx_graph *graph, const char *prefix)
{
	FOR(i, graph->values)
		if (graph->value[i].input && strncmp(graph->value[i].name, prefix, strlen(prefix)) == 0)
			return true;
	return false;
}

/* A graph without a header says by its inputs what it is. One of another stage goes away. */
static void end_graph(struct reader *reader, bool joint)
{
	struct fx_graph *graph = reader->graph;
	if (!reader->kind_said) {
		bool tangents = has_input(graph, "tangents_");
		graph->kind = tangents ? joint ? FX_JOINT : FX_BACKWARD : has_input(graph, "primals_") ? FX_FORWARD : FX_INFERENCE;
	}
	reader->state = OUTSIDE;
	if (graph->kind == FX_OTHER) {
		mem_free(graph->value);
		mem_free(graph->node);
		mem_free(graph->argument);
		mem_free(graph->result);
		reader->log->graphs--;
	}
	reader->kind_said = false;
}

/* What is returned, over one line or many: names and None in the first list. */
static enum status read_results(struct reader *reader, struct span line)
{
	struct fx_graph *graph = reader->graph;
	while (line.at < line.end && *line.at != '#') {
		if (fx_text_quoted(&line))
			continue;
		char c = *line.at;
		if (!fx_text_letter(c)) {
			reader->depth += (c == '(' || c == '[') - (c == ')' || c == ']');
			reader->listed |= c == '[' || (c == '(' && reader->depth == 1);
			line.at++;
			if (reader->listed && reader->depth == 0)
				break;
			continue;
		}
		struct span word = identifier(&line);
		if (fx_text_starts(word, "pytree") || fx_text_starts(word, "tree_unflatten") || fx_text_starts(word, "self") ||
			fx_text_starts(word, "_out_spec"))
			continue;
		char name[301];
		PRINT_TO(name, "%.*s", (int)SMALLER(300, fx_text_length_of(word)), word.at);
		uint32_t id = names_find(&reader->names, name);
		if (id == NONE && strcmp(name, "None") != 0)
			continue;
		if (!mem_reserve(&graph->result, &graph->result_room, graph->results + 1, sizeof *graph->result))
			return fail_memory(reader->error);
		graph->result[graph->results++] = id;
	}
	if (reader->depth <= 0)
		end_graph(reader, reader->kind == FX_JOINT);
	return OK;
}

/* "File: model.py:6 in forward, code: ...": what follows belongs there. */
static enum status take_place(struct reader *reader, struct span file, struct span code)
{
	reader->gradient = fx_text_find(file, "_functorch/eager_transforms.py:") &&
		(fx_text_find(code, "autograd_grad(") || fx_text_find(code, "autograd.grad("));
	reader->graph->autograd |= fx_text_find(code, "torch__dynamo_compiled_autograd_") != NULL;
	return (reader->src = fx_text_keep(reader, file)) ? OK : fail_memory(reader->error);
}

static enum status read_body(struct reader *reader, struct span line)
{
	/* "# File: model.py:6 in forward, code: ...", from 2.14 on also "# recompute: MUST_SAVE File: ..." and "# Backward
	 * of forward node: File: ...". */
	const char *file = fx_text_starts(line, "#") ? fx_text_find(line, "File: ") : NULL,
			   *code = file ? fx_text_find(line, ", code:") : NULL;
	if (file && (!code || file < code))
		return take_place(reader, (struct span){ file + 6, code ? code : line.end },
			(struct span){ code ? code : line.end, line.end });
	if (fx_text_starts(line, "# No stacktrace")) {
		reader->src = NULL;
		reader->gradient = false;
	}
	if (fx_text_starts(line, "#"))
		return OK;
	if (!fx_text_starts(line, "return"))
		return fx_text_read_line(reader, line);
	reader->state = RESULTS;
	reader->depth = 0;
	reader->listed = false;
	line.at += 6;
	if (!reader->kind_said)
		reader->kind = fx_text_find(line, "tree_unflatten") ? FX_JOINT : FX_BACKWARD;
	return read_results(reader, fx_text_trim(line));
}

static enum status fx_text_take_line(struct reader *reader, struct span line)
{
	line = without_prefix(reader, line);
	/* A record of the trace: the graph before it was given up while it was made. */
	if (reader->state != OUTSIDE && fx_text_starts(line, "{\"") && fx_text_length_of(line) > 2)
		end_graph(reader, false);
	if (reader->state == OUTSIDE)
		fx_text_note(reader, line);
	/* A module in a module: what one of its ops calls. */
	if (reader->state == OUTSIDE && fx_text_starts(line, reader->export == EXPORT ? "        class " : "    class ") &&
		fx_text_find(line, "(torch.nn.Module):")) {
		reader->kind = reader->export == EXPORT_BEGUN ? FX_INFERENCE : FX_OTHER;
		reader->kind_said = true;
		reader->export = reader->export == NO_EXPORT ? NO_EXPORT : EXPORT;
	}
	line = fx_text_trim(line);
	if (fx_text_starts(line, "def forward(")) {
		if (reader->state != OUTSIDE) /* the one before has lost its end */
			end_graph(reader, false);
		enum status status = begin_graph(reader);
		const char *end = fx_text_find(line, "):");
		reader->state = end ? BODY : ARGUMENTS;
		line.at += strlen("def forward(");
		return status == OK ? read_inputs(reader, line) : status;
	}
	switch (reader->state) {
	case ARGUMENTS:
		if (fx_text_starts(line, "):") || fx_text_starts(line, ") ->")) {
			reader->state = BODY;
			return OK;
		}
		return read_inputs(reader, line);
	case BODY:
		return read_body(reader, line);
	case RESULTS:
		return read_results(reader, line);
	default:
		return OK;
	}
}

enum status fx_read(
	const char *text, size_t size, const char *const *dim, uint32_t dims, struct fx_log *log, struct error *error)
{
	static const struct fx_origin nothing = { "", FX_OTHER };
	*log = (struct fx_log){ 0 };
	return fx_add(log, text, size, &nothing, dim, dims, error);
}

enum status fx_add(struct fx_log *log, const char *text, size_t size, const struct fx_origin *origin,
	const char *const *dim, uint32_t dims, struct error *error)
{
	*error = (struct error){ 0 };
	struct reader reader = { .log = log,
		.error = error,
		.dim = dim,
		.dims = dims,
		.at = text,
		.end = text + size,
		.origin = origin,
		.kind = origin->kind,
		.kind_said = origin->kind != FX_OTHER };
	log->dim = dim;
	log->dims = dims;
	FOR(a, MESH_AXES) {
		int64_t devices;
		char name[16];
		int length = PRINT_TO(name, "mesh%u", a);
		const char *symbol;
		size_t letters;
		log->mesh[a] = fx_size(&(struct fx_sizes){ dim, dims }, name, name + length, &devices, &symbol, &letters) &&
				devices < 1 << 20
			? (uint32_t)devices
			: 0;
	}
	enum status status = OK;
	while (reader.at < reader.end && status == OK) {
		const char *newline = memchr(reader.at, '\n', (size_t)(reader.end - reader.at));
		struct span line = { reader.at, newline ? newline : reader.end };
		reader.line++;
		reader.at = newline ? newline + 1 : reader.end;
		status = fx_text_take_line(&reader, line);
	}
	if (status == OK && reader.state != OUTSIDE) {
		error->line = reader.graph->line;
		status = refuse(error, "the text is truncated in a graph: it has no return");
	}
	names_free(&reader.names);
	mem_free(reader.hint);
	mem_free(reader.given);
	return error_set(error, status == OK ? error->status : status);
}

void fx_free(struct fx_log *log)
{
	FOR(i, log->graphs) {
		mem_free(log->graph[i].value);
		mem_free(log->graph[i].node);
		mem_free(log->graph[i].argument);
		mem_free(log->graph[i].result);
	}
	mem_free(log->graph);
	arena_free(&log->arena);
}
