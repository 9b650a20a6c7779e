/* native.c: reads the native graph format, one JSON record a line. */
#include <inttypes.h>
#include <stdarg.h>

#include "native.h"
#include "record.h"
#include "src/base/words.h"

#define EMPTY_MOST 1000000 /* empty lines: a small compressed file can hold any number of them */

enum role { READ, WRITE, INPLACE_OUT, INPLACE_IN, AFTER, ALIAS };

/* A name in an op record that is not known yet, since tensors may stand after the ops, or one behind such a name: they
 * are resolved in their order when all records are known. */
struct reference {
	const char *name;
	uint32_t op; /* of ALIAS, a tensor */
	unsigned line;
	enum role role;
};

struct reader {
	struct source *source;
	struct error *error;
	struct draft *draft;
	struct arena names;
	struct reference *reference;
	size_t references, reference_room;
	uint32_t out;         /* of the pair in place whose second name comes next */
	struct record record; /* the line at hand */
	char *buffer;         /* read but not parsed: [begin, end) */
	size_t begin, end, capacity;
	bool at_end, described;
	unsigned line;
	uint32_t ops, tensors; /* of the graph that is being read */
	bool ended;
	int64_t captured[LINE_BATCHES], batch; /* the graph's `line`, and its batch */
	struct graph *graph; /* the first graph, where this is the second */
};

__attribute__((format(printf, 2, 3))) static enum status read_native_bad(
	struct reader *reader, const char *format, ...)
{
	va_list arguments;
	char text[400];
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	reader->error->line = reader->line;
	return refuse(reader->error, "%s", text);
}

/* ---- lines ---- */

static enum status read_native_fill(struct reader *reader)
{
	if (reader->begin > 0) {
		memmove(reader->buffer, reader->buffer + reader->begin, reader->end - reader->begin);
		reader->end -= reader->begin;
		reader->begin = 0;
	}
	if (reader->end == reader->capacity) {
		if (reader->capacity >= NATIVE_LINE_MAX) {
			reader->line++;
			return read_native_bad(reader, "a line of more than %u MiB", NATIVE_LINE_MAX >> 20);
		}
		size_t capacity = reader->capacity ? reader->capacity * 2 : 1 << 16;
		char *buffer = mem_resize(reader->buffer, capacity + 1, 1); /* one spare, to end the last line */
		NEEDED(reader->error, buffer);
		reader->buffer = buffer;
		reader->capacity = capacity;
	}
	ssize_t got = reader->source->read(
		reader->source->context, reader->buffer + reader->end, reader->capacity - reader->end, reader->error);
	if (got < 0) {
		reader->error->line = reader->line + 1;
		return reader->error->status == NO_MEMORY ? NO_MEMORY : BAD_INPUT;
	}
	reader->at_end = got == 0;
	reader->end += (size_t)got;
	return OK;
}

/* The next line without its newline; *text is NULL at the end. Valid until the next call. */
static enum status read_native_next_line(struct reader *reader, char **text, size_t *length)
{
	size_t searched = 0;
	for (;;) {
		char *begin = reader->buffer ? reader->buffer + reader->begin : NULL; /* no room was needed yet */
		size_t have = reader->end - reader->begin;
		char *newline = have > searched ? memchr(begin + searched, '\n', have - searched) : NULL;
		if (newline || (reader->at_end && have)) {
			*text = begin;
			*length = newline ? (size_t)(newline - begin) : have;
			reader->begin += *length + (newline ? 1 : 0);
			reader->line++;
			return OK;
		}
		searched = have;
		*text = NULL;
		if (reader->at_end)
			return OK;
		TRY(read_native_fill(reader));
	}
}

/* ---- members of a record ---- */

static bool read_native_listed(const struct keys *keys, const struct value *member)
{
	FOR(i, keys->count)
		if (text_is(keys->key[i], member->key))
			return true;
	return false;
}

/* The members of a record that we don't know, byte for byte, joined by commas; NULL where there are none. */
static enum status unknown_members(
	struct reader *reader, const struct value *record, const struct keys *known, char **extra)
{
	size_t used = 0;
	*extra = NULL;
	for EACH_INSIDE(member, record) {
		if (read_native_listed(known, member))
			continue;
		if (!*extra && !(*extra = arena_alloc(&reader->names, (size_t)(record->end - record->begin) + 1, 1)))
			return fail_memory(reader->error);
		if (used)
			(*extra)[used++] = ',';
		record_raw(member, *extra + used);
		used += (size_t)(member->end - member->begin);
	}
	return OK;
}

/* *text is the member's string, "" and false where there is none. */
static enum status text_member(struct reader *reader, const struct value *record, const char *key, const char **text)
{
	const struct value *value = value_member(record, key);
	if (!value)
		return OK;
	if (!value_is(value, VALUE_TEXT))
		return read_native_bad(reader, "\"%s\" must be a string", key);
	*text = value->text;
	return OK;
}

static enum status number_member(
	struct reader *reader, const struct value *record, const char *key, int64_t *number, bool *there)
{
	const struct value *value = value_member(record, key);
	*there = value != NULL;
	if (!value)
		return OK;
	if (!value_is(value, VALUE_INTEGER))
		return read_native_bad(reader, "\"%s\" must be an integer", key);
	*number = value->integer;
	return OK;
}

static enum status name_member(struct reader *reader, const struct value *record, const char **name)
{
	*name = NULL;
	TRY(text_member(reader, record, "id", name));
	if (!*name || !**name)
		return read_native_bad(reader, "the record has no \"id\"");
	return OK;
}

/* What people write in place of a member that isn't there. */
static enum status slip_member(
	struct reader *reader, const struct value *record, const char *key, const char *const slip[], int slips)
{
	FOR_INT(i, slips)
		if (!value_member(record, key) && value_member(record, slip[i]))
			return read_native_bad(
				reader, "the record has \"%s\", but no \"%s\": the nearest is \"%s\"", slip[i], key, key);
	return OK;
}

/* "f32" for "float32", "torch.float32", "bf16" for "bfloat16", "u8" for "uint8". */
static void short_dtype(const char *word, char *text, size_t size)
{
	const char *name = strrchr(word, '.') ? strrchr(word, '.') + 1 : word;
	const char *middle = strstr(name, "float") ? strstr(name, "float") + 1 : strstr(name, "int");
	if (middle == name && *name == 'i')
		middle++;
	const char *digits = middle ? middle + strcspn(middle, "0123456789") : NULL;
	if (middle)
		snprintf(text, size, "%.*s%.8s", (int)SMALLER(middle - name, 4), name, *digits ? digits : "32");
}

/* unknown dtype "float": expected f64, f32 ...; the nearest is f32 */
static enum status bad_word(
	struct reader *reader, const char *key, const char *word, const char *const *words, int count)
{
	char list[240], brief[16] = "";
	short_dtype(words == dtype_names ? word : "", brief, sizeof brief);
	struct nearest nearest = { .wanted = *brief ? brief : word };
	struct words expected = { list, sizeof list, 0 };
	FOR_INT(i, count) {
		nearest_consider(&nearest, words[i]);
		words_add(&expected, "%s%s", i ? ", " : "", words[i]);
	}
	return read_native_bad(
		reader, "unknown %s \"%.60s\": expected %s%s", key, word, list, nearest_text(&nearest, "", TEXT(120)));
}

static enum status word_member(
	struct reader *reader, const struct value *record, const char *key, const char *const *words, int count, int *index)
{
	const char *word = NULL;
	enum status status = text_member(reader, record, key, &word);
	if (status != OK || !word)
		return status;
	*index = name_index(words, count, word);
	return *index >= 0 ? OK : bad_word(reader, key, word, words, count);
}

/* ---- records ---- */

static uint32_t find_named(const struct reader *reader, enum role role, const char *name)
{
	return !name ? NONE : role == AFTER ? draft_find_op(reader->draft, name) : draft_find_tensor(reader->draft, name);
}

static enum status read_native_connect(struct reader *reader, enum role role, uint32_t op, uint32_t id)
{
	struct draft *draft = reader->draft;
	enum status status = OK;
	switch (role) {
	case READ: status = draft_read(draft, op, id); break;
	case WRITE: status = draft_write(draft, op, id); break;
	case AFTER: status = draft_after(draft, op, id); break;
	case ALIAS: draft_tensor_at(draft, op)->alias = id; break;
	case INPLACE_OUT: reader->out = id; break;
	case INPLACE_IN: status = draft_inplace(draft, op, reader->out, id); break;
	}
	return status == OK ? OK : fail_memory(reader->error);
}

/* An op's reference to a tensor or an op; name NULL: to none. */
static enum status read_native_refer(struct reader *reader, uint32_t op, enum role role, const char *name)
{
	uint32_t id = reader->references ? NONE : find_named(reader, role, name);
	if (!reader->references && (id != NONE || !name))
		return read_native_connect(reader, role, op, id);
	if (!mem_reserve(&reader->reference, &reader->reference_room, reader->references + 1, sizeof *reader->reference))
		return fail_memory(reader->error);
	if (name && !(name = arena_text(&reader->names, name, strlen(name))))
		return fail_memory(reader->error);
	reader->reference[reader->references++] = (struct reference){ name, op, reader->line, role };
	return OK;
}

static enum status read_native_read_shape(
	struct reader *reader, const struct value *record, struct tensor *tensor, int64_t shape[DIMS_MAX])
{
	const struct value *list = value_member(record, "shape");
	if (!list || value_is(list, VALUE_NULL))
		return OK;
	if (!value_is(list, VALUE_LIST) || list->items > DIMS_MAX)
		return read_native_bad(reader, "\"shape\" must be a list of at most %d sizes", DIMS_MAX);
	for EACH_INSIDE(dim, list) {
		if (!value_is(dim, VALUE_INTEGER) || dim->integer < 0)
			return read_native_bad(reader, "\"shape\" must hold sizes of 0 or more");
		shape[tensor->dims++] = dim->integer;
	}
	tensor->shape = shape;
	tensor->has_shape = true;
	return OK;
}

/* Bytes of the shape and dtype, for records that state no bytes. */
static enum status infer_bytes(struct reader *reader, struct tensor *tensor)
{
	if (!tensor->shape || !tensor->has_dtype || dtype_bits[tensor->dtype] == 0)
		return read_native_bad(reader, "tensor \"%.100s\" has neither \"bytes\" nor \"shape\" and \"dtype\"", tensor->name);
	int64_t bits = dtype_bits[tensor->dtype];
	FOR_INT(i, tensor->dims)
		if (__builtin_mul_overflow(bits, tensor->shape[i], &bits) || bits > BYTES_MAX)
			return read_native_bad(reader, "the size of tensor \"%.100s\" overflows", tensor->name);
	tensor->bytes = (bits + 7) / 8;
	return OK;
}

/* ---- records ---- */

static enum status read_tensor(struct reader *reader, const struct value *record)
{
	struct keys known = { .key = { "k", "id", "bytes", "dtype", "shape", "kind", "alias", "address", "gradient_of" },
		.count = 9 };
	const struct value *replaced = value_member(record, "replaced");
	struct tensor tensor = { .kind = KIND_ACTIVATION, .dtype = DTYPE_OPAQUE, .alias = NONE, .line = reader->line };
	int64_t shape[DIMS_MAX], by[DIMS_MAX + 1];
	int kind = -1, dtype = -1;
	const char *alias = NULL;
	char *extra;
	static const char *const sizes[] = { "size", "nbytes" };
	struct axis_places places;
	if (record_places(value_member(record, "placement"), &places)) {
		tensor.places = &places;
		keys_add(&known, "placement");
	}
	TRY(name_member(reader, record, &tensor.name));
	if (!value_member(record, "shape") && !value_member(record, "alias"))
		TRY(slip_member(reader, record, "bytes", sizes, COUNT_OF(sizes)));
	TRY(number_member(reader, record, "bytes", &tensor.bytes, &tensor.has_bytes));
	TRY(word_member(reader, record, "kind", kind_names, KIND_COUNT, &kind));
	TRY(word_member(reader, record, "dtype", dtype_names, DTYPE_COUNT, &dtype));
	TRY(read_native_read_shape(reader, record, &tensor, shape));
	TRY(text_member(reader, record, "alias", &alias));
	TRY(text_member(reader, record, "gradient_of", &tensor.gradient_of));
	TRY(number_member(reader, record, "address", &tensor.address, &tensor.has_address));
	if ((tensor.replaced = value_is(replaced, VALUE_TRUE)))
		keys_add(&known, "replaced");
	const int64_t *grows = NULL;
	if (reader->captured[0] && record_tensor_growth(record, &tensor, by, &grows, &known) != OK)
		return read_native_bad(reader,
			"\"per_sample\" of tensor \"%.100s\" must have \"shape\", a number for each dim, or \"bytes\"",
			tensor.name);
	TRY(unknown_members(reader, record, &known, &extra));
	tensor.extra = extra;
	if (kind >= 0)
		tensor.kind = (uint8_t)kind;
	tensor.has_dtype = dtype >= 0;
	if (dtype >= 0)
		tensor.dtype = (uint8_t)dtype;
	if (!tensor.has_bytes && !alias)
		TRY(infer_bytes(reader, &tensor));
	if (tensor.bytes < 0 || tensor.bytes > BYTES_MAX)
		return read_native_bad(
			reader, "tensor \"%.100s\" has %" PRId64 " bytes: not between 0 and 2^60", tensor.name, tensor.bytes);
	if (tensor.address < 0 || tensor.address > BYTES_MAX)
		return read_native_bad(reader, "tensor \"%.100s\" has the address %" PRId64 ": not between 0 and 2^60",
			tensor.name, tensor.address);
	if (draft_find_tensor(reader->draft, tensor.name) != NONE)
		return read_native_bad(reader, "there are two tensors named \"%.100s\"", tensor.name);
	uint32_t id = draft_tensor(reader->draft, &tensor);
	if (id == NONE || (grows && draft_tensor_grows(reader->draft, id, grows) != OK))
		return fail_memory(reader->error);
	return alias ? read_native_refer(reader, id, ALIAS, alias) : OK;
}

static enum status read_native_read_names(
	struct reader *reader, const struct value *record, const char *key, uint32_t op, int role)
{
	const struct value *list = value_member(record, key);
	if (list && !value_is(list, VALUE_LIST))
		return read_native_bad(reader, "\"%s\" must be a list of names", key);
	for EACH_INSIDE(name, list) {
		if (!value_is(name, VALUE_TEXT))
			return read_native_bad(reader, "\"%s\" must be a list of names", key);
		TRY(read_native_refer(reader, op, role, name->text));
	}
	return OK;
}

static enum status read_inplace(struct reader *reader, const struct value *record, uint32_t op)
{
	const struct value *list = value_member(record, "inplace");
	if (list && !value_is(list, VALUE_LIST))
		return read_native_bad(reader, "\"inplace\" must be a list of [out, in] pairs");
	for EACH_INSIDE(pair, list) {
		const struct value *out = value_item(pair, 0), *in = value_item(pair, 1);
		if (value_items(pair, VALUE_LIST) != 2 || !value_is(in, VALUE_TEXT) ||
			!(value_is(out, VALUE_TEXT) || value_is(out, VALUE_NULL)))
			return read_native_bad(reader, "\"inplace\" must be a list of [out, in] pairs, out a name or null");
		TRY(read_native_refer(reader, op, INPLACE_OUT, value_text(out)));
		TRY(read_native_refer(reader, op, INPLACE_IN, in->text));
	}
	return OK;
}

static enum status read_op_growth(struct reader *reader, const struct value *record, const struct op *op,
	const struct op_growth **grows, struct keys *known)
{
	enum status status = record_op_growth(&reader->names, record, op, reader->batch, grows, known);
	return status == BAD_INPUT
		? read_native_bad(reader,
			"op \"%.100s\": \"per_sample\" must have \"flops\" or \"arguments\", pairs of a place and a number, "
			"and \"workspace_at\" pairs of a batch and bytes, the graph's own among them, both ascending",
			op->name)
		: status == OK ? OK : fail_memory(reader->error);
}

static enum status read_op(struct reader *reader, const struct value *record)
{
	struct keys known = { .key = { "k", "id", "op", "phase", "mod", "in", "out", "flops", "workspace", "inplace",
							  "after", "src", "part" },
		.count = 13 };
	struct op op = { .type = "op", .module = "", .flops = -1, .line = reader->line };
	const char *module = NULL;
	int phase = -1;
	bool has_flops;
	char *extra;
	struct collective said = collective_unsaid();
	static const char *const inputs[] = { "inputs", "input" }, *const outputs[] = { "outputs", "output" };
	const struct op_growth *grows = NULL;
	TRY(name_member(reader, record, &op.name));
	TRY(slip_member(reader, record, "in", inputs, COUNT_OF(inputs)));
	TRY(slip_member(reader, record, "out", outputs, COUNT_OF(outputs)));
	TRY(text_member(reader, record, "op", &op.type));
	TRY(text_member(reader, record, "mod", &module));
	TRY(text_member(reader, record, "src", &op.src));
	TRY(text_member(reader, record, "part", &op.part));
	TRY(word_member(reader, record, "phase", phase_names, PHASE_COUNT, &phase));
	TRY(number_member(reader, record, "flops", &op.flops, &has_flops));
	TRY(number_member(reader, record, "workspace", &op.workspace, &op.has_workspace));
	record_origin(&reader->names, record, &op, &known);
	if (collective_of_type(op.type) != COLLECTIVE_KINDS) {
		record_collective(record, collective_of_type(op.type), &said, &known);
		op.collective = &said;
	}
	if (record_arguments(&reader->names, record, &op.arguments) != OK)
		return fail_memory(reader->error);
	for (uint32_t i = 0; op.arguments && i < op.arguments->values; i += 1 + op.arguments->value[i].within)
		keys_add(&known, op.arguments->value[i].key);
	if (reader->captured[0])
		TRY(read_op_growth(reader, record, &op, &grows, &known));
	TRY(unknown_members(reader, record, &known, &extra));
	op.extra = extra;
	op.has_phase = phase >= 0;
	op.phase = phase >= 0 ? (uint8_t)phase : PHASE_FORWARD;
	op.has_module = module != NULL;
	op.module = module ? module : "";
	if (op.workspace < 0 || op.workspace > BYTES_MAX || (has_flops && op.flops < 0))
		return read_native_bad(reader, "op \"%.100s\" has a negative or absurd \"flops\" or \"workspace\"", op.name);
	if (draft_find_op(reader->draft, op.name) != NONE)
		return read_native_bad(reader, "there are two ops named \"%.100s\"", op.name);
	uint32_t id = draft_op(reader->draft, &op);
	if (id == NONE || (grows && draft_op_grows(reader->draft, id, grows) != OK))
		return fail_memory(reader->error);
	TRY(read_native_read_names(reader, record, "in", id, READ));
	TRY(read_native_read_names(reader, record, "out", id, WRITE));
	TRY(read_inplace(reader, record, id));
	return read_native_read_names(reader, record, "after", id, AFTER);
}

static enum status read_native_read_header(struct reader *reader, const struct value *record)
{
	struct keys known = { .key = { "k", "v", "name", "source" }, .count = 4 };
	struct about about = { 0 };
	const char *name = NULL, *source = NULL;
	int64_t version = 1;
	bool there;
	char *extra;
	TRY(number_member(reader, record, "v", &version, &there));
	if (version != 1)
		return read_native_bad(reader, "format version %" PRId64 ": this program reads version 1", version);
	TRY(text_member(reader, record, "name", &name));
	TRY(text_member(reader, record, "source", &source));
	record_about(&reader->names, record, &about, &known);
	if (record_line(record, about.batch, reader->captured, &known) != OK)
		return read_native_bad(reader, "\"batches\" must be two or three batches, ascending, \"batch\" among them");
	reader->batch = about.batch;
	draft_line(reader->draft, reader->captured);
	TRY(unknown_members(reader, record, &known, &extra));
	return draft_describe(reader->draft, name, source, extra, &about) == OK ? OK : fail_memory(reader->error);
}

static enum status read_end(struct reader *reader, const struct value *record)
{
	int64_t count = 0;
	bool there;
	TRY(number_member(reader, record, "ops", &count, &there));
	if (there && count != reader->ops)
		return read_native_bad(reader, "the end record counts %" PRId64 " ops, but there are %u", count, reader->ops);
	TRY(number_member(reader, record, "tensors", &count, &there));
	if (there && count != reader->tensors)
		return read_native_bad(reader, "the end record counts %" PRId64 " tensors, but there are %u", count, reader->tensors);
	return OK;
}

static enum status read_native_resolve(struct reader *reader)
{
	FOR_SIZE(i, reader->references) {
		const struct reference *reference = &reader->reference[i];
		uint32_t id = find_named(reader, reference->role, reference->name);
		reader->line = reference->line;
		if (reference->name && id == NONE)
			return read_native_bad(
				reader, "there is no %s named \"%.100s\"", reference->role == AFTER ? "op" : "tensor", reference->name);
		TRY(read_native_connect(reader, reference->role, reference->op, id));
	}
	return OK;
}

/* ---- the file ---- */

/* Builds the graph whose records have been read. */
static enum status read_native_build(struct reader *reader, struct graph **graph)
{
	TRY(read_native_resolve(reader));
	*graph = graph_build(reader->draft, reader->error);
	return *graph ? OK : reader->error->status;
}

/* A second graph begins: the same step at another batch. */
static enum status begin_second(struct reader *reader)
{
	unsigned line = reader->line;
	TRY(read_native_build(reader, &reader->graph));
	draft_free(reader->draft);
	arena_free(&reader->names);
	reader->draft = draft_new();
	reader->references = reader->ops = reader->tensors = 0;
	reader->described = reader->ended = false;
	reader->line = line;
	return reader->draft ? OK : fail_memory(reader->error);
}

static enum status read_record(struct reader *reader, char *line, size_t length)
{
	reader->error->line = reader->line;
	TRY(record_read(&reader->record, line, length, reader->error));
	reader->error->line = 0;
	const struct value *record = reader->record.value;
	const char *type = value_text(value_member(record, "k"));
	enum status status = OK;
	if (type && reader->ended && !reader->graph && text_is(type, "graph"))
		status = begin_second(reader);
	bool first = !reader->described;
	if (status != OK)
		;
	else if (!type)
		status = read_native_bad(reader, "not a record of a graph: it has no \"k\"");
	else if (reader->ended)
		status = read_native_bad(reader, "there is a record after the end record");
	else if (first != (text_is(type, "graph")))
		status = read_native_bad(reader, first ? "the first record must be of \"k\":\"graph\"" : "a second graph record");
	else if (first)
		status = read_native_read_header(reader, record);
	else if (text_is(type, "tensor"))
		status = read_tensor(reader, record), reader->tensors++;
	else if (text_is(type, "op"))
		status = read_op(reader, record), reader->ops++;
	else if (text_is(type, "end"))
		status = read_end(reader, record), reader->ended = true;
	else
		status = read_native_bad(reader, "unknown record \"%.40s\"", type);
	reader->described = true;
	return status;
}

static enum status read_records(struct reader *reader)
{
	unsigned empty = 0;
	for (;;) {
		char *line;
		size_t length;
		TRY(read_native_next_line(reader, &line, &length));
		if (!line)
			break;
		if (memchr(line, '\0', length))
			return read_native_bad(reader, "the line contains a NUL byte");
		while (length && strchr(" \t\r", line[length - 1]))
			length--;
		if (length == 0 && ++empty > EMPTY_MOST)
			return read_native_bad(reader, "more than %u empty lines", EMPTY_MOST);
		if (length == 0)
			continue;
		/* The byte after the line is its newline, white space or the buffer's spare one: end it for the scanner. */
		line[length] = '\0';
		TRY(read_record(reader, line, length));
	}
	if (reader->line == 0 || !reader->described)
		return read_native_bad(reader, "the file is empty");
	return reader->ended ? OK : read_native_bad(reader, "the file is truncated: it has no end record");
}

/* The graph of all records. */
static enum status read_native_read_graph(struct reader *reader, struct graph **graph)
{
	TRY(read_records(reader));
	TRY(read_native_build(reader, graph));
	if (!reader->graph)
		return OK;
	if (!(*graph)->line[0] == !reader->graph->line[0] || (*graph)->about.batch == reader->graph->about.batch)
		return read_native_bad(
			reader, "a second graph must be the same step at another \"batch\", and one of the two have \"batches\"");
	reader->graph->fingerprint = hash_join(reader->graph->fingerprint, (*graph)->fingerprint);
	reader->graph->other = *graph;
	*graph = reader->graph;
	reader->graph = NULL;
	return OK;
}

struct graph *native_read(struct source *source, struct error *error)
{
	struct error unused = { 0 };
	struct reader reader = { .source = source, .error = error ? error : &unused };
	*reader.error = (struct error){ 0 };
	struct graph *graph = NULL;
	reader.draft = draft_new();
	enum status status = reader.draft ? read_native_read_graph(&reader, &graph) : fail_memory(reader.error);
	if (status != OK) {
		error_set(error, status);
		graph_release(graph);
		graph = NULL;
	}
	graph_release(reader.graph);
	draft_free(reader.draft);
	mem_free(reader.reference);
	mem_free(reader.buffer);
	record_free(&reader.record);
	arena_free(&reader.names);
	return graph;
}
