/* inductor.c: from Inductor's memory graph to a graph. */

#include "fx.h"
#include "src/base/json.h"
#include "src/base/words.h"

struct buffer {
	const char *name;
	const json_t *deps;
	int64_t alloc, freed;
	uint32_t op, tensor; /* op NONE: an input */
	uint32_t held;       /* the tensor that its memory is in where another node allocated it, or NONE */
	bool output;
};

struct reading {
	struct error *error;
	struct arena arena;
	struct draft *draft;
	struct buffer *buffer;
	uint32_t buffers, inputs, unowned;
	struct names names; /* of buffers */
	int64_t leaked;     /* bytes that nothing frees */
};

static enum status torch_inductor_wrong(struct reading *reading, const char *what, const char *name)
{
	return refuse(reading->error, "%s: \"%.80s\"", what, name ? name : "");
}

/* ---- the file ---- */

static bool torch_inductor_take_bytes(const json_t *object, const char *key, int64_t *bytes)
{
	const json_t *value = json_object_get(object, key);
	*bytes = json_integer_value(value);
	return json_is_integer(value) && *bytes >= 0 && *bytes <= BYTES_MAX;
}

static enum status torch_inductor_take_buffer(struct reading *reading, const json_t *object, struct buffer *buffer)
{
	*buffer = (struct buffer){ .name = json_string_value(json_object_get(object, "name")),
		.deps = json_object_get(object, "deps"),
		.op = NONE,
		.tensor = NONE,
		.held = NONE,
		.output = json_is_true(json_object_get(object, "is_output")) };
	if (!buffer->name)
		return refuse(reading->error, "a buffer without a name");
	if (!torch_inductor_take_bytes(object, "size_alloc", &buffer->alloc) ||
		!torch_inductor_take_bytes(object, "size_free", &buffer->freed))
		return torch_inductor_wrong(
			reading, "expected size_alloc and size_free, bytes from 0 to 2^60, of buffer", buffer->name);
	if (!json_is_array(buffer->deps))
		return torch_inductor_wrong(reading, "expected a list of deps of buffer", buffer->name);
	reading->inputs += json_is_true(json_object_get(object, "is_input"));
	return OK;
}

static enum status take_buffers(struct reading *reading, const json_t *file)
{
	const json_t *list = json_object_get(file, "buffers");
	uint32_t count = (uint32_t)json_array_size(list);
	ROOM(&reading->arena, reading->buffer, (size_t)count + 1);
	if (!json_is_array(list) || json_array_size(list) >= NONE)
		return refuse(reading->error, "it has no list of buffers");
	enum status status = reading->buffer ? OK : fail_memory(reading->error);
	for (; reading->buffers < count && status == OK; reading->buffers++) {
		struct buffer *buffer = &reading->buffer[reading->buffers];
		status = torch_inductor_take_buffer(reading, json_array_get(list, reading->buffers), buffer);
		uint32_t id = status == OK ? names_add(&reading->names, buffer->name, reading->buffers) : NONE;
		if (status == OK && id != reading->buffers)
			status = id == NONE ? fail_memory(reading->error)
				: torch_inductor_wrong(reading, "two buffers have one name", buffer->name);
	}
	return status;
}

static struct buffer *find_buffer(struct reading *reading, const char *name)
{
	uint32_t id = name ? names_find(&reading->names, name) : NONE;
	return id == NONE ? NULL : &reading->buffer[id];
}

/* Which node makes which buffer. */
static enum status take_owners(struct reading *reading, const json_t *nodes)
{
	FOR_SIZE(n, json_array_size(nodes)) {
		const json_t *node = json_array_get(nodes, n), *names = json_object_get(node, "buffer_names");
		const char *name = json_string_value(json_object_get(node, "name"));
		if (!name || !json_is_array(names))
			return torch_inductor_wrong(reading, "expected a name and a list of buffer_names of node", name);
		FOR_SIZE(i, json_array_size(names)) {
			struct buffer *buffer = find_buffer(reading, json_string_value(json_array_get(names, i)));
			if (buffer && buffer->op != NONE)
				return torch_inductor_wrong(reading, "two nodes make the buffer", buffer->name);
			if (buffer)
				buffer->op = (uint32_t)n;
		}
	}
	FOR(i, reading->buffers)
		FOR_SIZE(k, json_array_size(reading->buffer[i].deps))
			if (!find_buffer(reading, json_string_value(json_array_get(reading->buffer[i].deps, k))))
				return torch_inductor_wrong(
					reading, "a buffer that is not in the file is among the deps of", reading->buffer[i].name);
	return OK;
}

/* ---- tensors ---- */

static uint32_t torch_inductor_add_tensor(
	struct reading *reading, const char *name, int64_t bytes, enum kind kind, uint32_t alias)
{
	struct tensor tensor = { .name = name, .bytes = bytes, .kind = (uint8_t)kind, .alias = alias, .has_bytes = true };
	uint32_t id = name ? draft_tensor(reading->draft, &tensor) : NONE;
	if (id == NONE)
		fail_memory(reading->error);
	return id;
}

/* A name beside a buffer's: names of buffers have no spaces. */
static char *second_name(struct reading *reading, const char *name, const char *word)
{
	size_t length = strlen(name) + strlen(word) + 1;
	char *text = arena_alloc(&reading->arena, length, 1);
	if (text)
		snprintf(text, length, "%s%s", name, word);
	return text;
}

enum { WAY_MOST = 8, LOOKS_MOST = 200 };

/* The buffer that allocated what this one frees: the nearest one among what its node reads that allocates more than it
 * frees. */
static struct buffer *torch_inductor_allocator_of(
	struct reading *reading, const struct buffer *buffer, int depth, int *looks)
{
	for (size_t k = 0; k < json_array_size(buffer->deps) && depth < WAY_MOST && (*looks)++ < LOOKS_MOST; k++) {
		struct buffer *from = find_buffer(reading, json_string_value(json_array_get(buffer->deps, k)));
		if (from->op != NONE && from->alloc >= buffer->freed && from->alloc > from->freed)
			return from;
		struct buffer *further = from->op != NONE && from->alloc == 0 && from->freed == 0
			? torch_inductor_allocator_of(reading, from, depth + 1, looks)
			: NULL;
		if (further)
			return further;
	}
	return NULL;
}

static enum status write_by(struct reading *reading, uint32_t op, uint32_t tensor)
{
	return tensor == NONE || draft_write(reading->draft, op, tensor) != OK ? fail_memory(reading->error) : OK;
}

/* The memory of what one node allocates and another one names. */
static enum status add_held(struct reading *reading)
{
	FOR(i, reading->buffers) {
		struct buffer *buffer = &reading->buffer[i];
		int looks = 0;
		struct buffer *from = buffer->op != NONE && buffer->freed > buffer->alloc
			? torch_inductor_allocator_of(reading, buffer, 0, &looks)
			: NULL;
		reading->unowned += buffer->op != NONE && buffer->freed > buffer->alloc && !from;
		if (!from)
			continue;
		from->alloc -= buffer->freed;
		buffer->held = torch_inductor_add_tensor(reading, second_name(reading, buffer->name, " (memory)"),
			buffer->freed, buffer->output ? KIND_OUTPUT : KIND_ACTIVATION, NONE);
		if (write_by(reading, from->op, buffer->held) != OK)
			return reading->error->status;
	}
	return OK;
}

static enum status inductor_add_buffers(struct reading *reading)
{
	FOR(i, reading->buffers) {
		struct buffer *buffer = &reading->buffer[i];
		enum kind kind = buffer->output ? KIND_OUTPUT : KIND_ACTIVATION;
		buffer->tensor = torch_inductor_add_tensor(reading, buffer->name, buffer->freed, kind, buffer->held);
		if (buffer->tensor == NONE)
			return NO_MEMORY;
		if (buffer->op == NONE)
			continue;
		NEED(write_by(reading, buffer->op, buffer->tensor) == OK);
		if (buffer->held != NONE && draft_read(reading->draft, buffer->op, buffer->held) != OK)
			return fail_memory(reading->error);
		if (buffer->alloc <= buffer->freed)
			continue;
		reading->leaked += buffer->alloc - buffer->freed;
		uint32_t rest = torch_inductor_add_tensor(reading, second_name(reading, buffer->name, " (never freed)"),
			buffer->alloc - buffer->freed, KIND_OUTPUT, NONE);
		NEED(write_by(reading, buffer->op, rest) == OK);
	}
	return OK;
}

/* ---- ops ---- */

static enum status torch_inductor_add_ops(struct reading *reading, const json_t *nodes)
{
	FOR_SIZE(n, json_array_size(nodes)) {
		struct op op = { .name = json_string_value(json_object_get(json_array_get(nodes, n), "name")),
			.type = "inductor.kernel",
			.module = "",
			.flops = -1 };
		if (draft_op(reading->draft, &op) == NONE)
			return fail_memory(reading->error);
	}
	return OK;
}

/* Every buffer of a node lists all that the node reads: each is read once. */
static enum status torch_inductor_add_reads(struct reading *reading, uint32_t ops)
{
	uint32_t *reader;
	if (!ROOM(&reading->arena, reader, (size_t)reading->buffers + 1))
		return fail_memory(reading->error);
	uint32_t *by_op, *next;
	if (!(ROOM(&reading->arena, by_op, (size_t)ops + 1) && ROOM(&reading->arena, next, (size_t)reading->buffers + 1)))
		return fail_memory(reading->error);
	FOR(i, reading->buffers)
		if (reading->buffer[i].op != NONE) {
			next[i] = by_op[reading->buffer[i].op];
			by_op[reading->buffer[i].op] = i + 1;
		}
	FOR(op, ops)
		for (uint32_t at = by_op[op]; at; at = next[at - 1])
			FOR_SIZE(k, json_array_size(reading->buffer[at - 1].deps)) {
				struct buffer *from = find_buffer(reading, json_string_value(json_array_get(reading->buffer[at - 1].deps, k)));
				uint32_t *last = &reader[from - reading->buffer];
				if (from->op == op || *last == op + 1)
					continue;
				*last = op + 1;
				if (draft_read(reading->draft, op, from->tensor) != OK)
					return fail_memory(reading->error);
			}
	return OK;
}

static enum status torch_inductor_describe(struct reading *reading)
{
	char assumed[600];
	struct words words = { assumed, sizeof assumed, 0 };
	words_add(&words, "inputs that can't be freed (parameters) are not in the file; %u that can are", reading->inputs);
	if (reading->unowned)
		words_add(&words, "\n%u buffers that nobody allocates are allocated where they are made", reading->unowned);
	if (reading->leaked)
		words_add(&words, "\n%lld bytes are allocated that no buffer frees: they stay", (long long)reading->leaked);
	struct about about = { .intake = { .said = true, .format = "Inductor memory graph", .assumed = assumed } };
	return draft_describe(reading->draft, "inductor", NULL, NULL, &about) == OK ? OK : fail_memory(reading->error);
}

static enum status torch_inductor_read_graph(struct reading *reading, const json_t *file)
{
	const json_t *nodes = json_object_get(file, "nodes");
	if (!json_is_array(nodes) || json_array_size(nodes) >= NONE)
		return refuse(reading->error, "it has no list of nodes");
	TRY(take_buffers(reading, file));
	TRY(take_owners(reading, nodes));
	TRY(torch_inductor_add_ops(reading, nodes));
	TRY(add_held(reading));
	TRY(inductor_add_buffers(reading));
	TRY(torch_inductor_add_reads(reading, (uint32_t)json_array_size(nodes)));
	return torch_inductor_describe(reading);
}

struct graph *inductor_read(const char *text, size_t size, struct error *error)
{
	struct reading reading = { .error = error, .draft = draft_new() };
	struct graph *graph = NULL;
	*error = (struct error){ 0 };
	json_t *file = json_read_text(text, size, "JSON", error);
	enum status status = !reading.draft ? fail_memory(reading.error)
		: file ? torch_inductor_read_graph(&reading, file)
		: error->status;
	if (status == OK)
		graph = graph_build(reading.draft, error);
	else
		error_set(error, status);
	json_decref(file);
	draft_free(reading.draft);
	names_free(&reading.names);
	arena_free(&reading.arena);
	return graph;
}
