/* hlo_text.c: reads the text of an HLO module: "HloModule name, ...", tables of source locations, then computations. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "hlo.h"

struct location { uint32_t file, function, line; };
struct frame { uint32_t location, parent; };

struct parser {
	const char *at, *end;
	unsigned line;
	struct hlo_module *module;
	struct error *error;
	struct arena *arena;
	/* growing lists */
	size_t computation_room, instruction_room, alias_room;
	struct hlo_instruction *instruction;   /* of the computation being read */
	uint32_t instructions;
	struct names computations, names;      /* names: of that computation's instructions */
	struct reference { uint32_t computation, instruction, slot; const char *name; unsigned line; } *reference;
	uint32_t references;
	size_t reference_room;
	/* tables of source locations, by id */
	const char **file, **function;
	uint32_t files, functions, locations, frames;
	size_t file_room, function_room, location_room, frame_room;
	struct location *location;
	struct frame *frame;
};

static enum status bad(struct parser *parser, const char *format, ...)
{
	va_list arguments;
	char text[300];
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	parser->error->line = parser->line;
	return fail(parser->error, BAD_INPUT, "%s", text);
}

static enum status out_of_memory(struct parser *parser)
{
	return fail_memory(parser->error);
}

/* ---- characters --------------------------------------------------------------------- */

struct span { const char *at, *end; };

static size_t length_of(struct span span)
{
	return (size_t)(span.end - span.at);
}

static bool is(struct span span, const char *text)
{
	return length_of(span) == strlen(text) && memcmp(span.at, text, strlen(text)) == 0;
}

static bool starts(const struct parser *parser, const char *text)
{
	return (size_t)(parser->end - parser->at) >= strlen(text) && memcmp(parser->at, text, strlen(text)) == 0;
}

/* White space and comments. */
static void skip(struct parser *parser)
{
	for (; parser->at < parser->end; parser->at++) {
		if (*parser->at == '\n')
			parser->line++;
		else if (starts(parser, "/*")) {
			while (parser->at < parser->end && !starts(parser, "*/"))
				parser->line += *parser->at++ == '\n';
			parser->at += starts(parser, "*/");
			if (parser->at == parser->end)
				return;
		} else if (starts(parser, "//")) {
			while (parser->at < parser->end && *parser->at != '\n')
				parser->at++;
			parser->at--;
		} else if (*parser->at != ' ' && *parser->at != '\t' && *parser->at != '\r')
			return;
	}
}

static bool take(struct parser *parser, char c)
{
	skip(parser);
	if (parser->at >= parser->end || *parser->at != c)
		return false;
	parser->at++;
	return true;
}

static bool name_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("_.-$%:", c);
}

/* A name without its %. */
static struct span word(struct parser *parser)
{
	skip(parser);
	struct span span = { parser->at, parser->at };
	while (parser->at < parser->end && *parser->at && name_character(*parser->at))
		parser->at++;
	span.end = parser->at;
	if (span.at < span.end && *span.at == '%')
		span.at++;
	return span;
}

/* To the next comma or closing bracket that no bracket or quotes enclose. */
static struct span balanced(struct parser *parser)
{
	struct span span = { parser->at, parser->at };
	int depth = 0;
	for (; parser->at < parser->end; parser->at++) {
		char c = *parser->at;
		if (c == '"') {
			for (parser->at++; parser->at < parser->end && *parser->at != '"'; parser->at++)
				parser->at += *parser->at == '\\' && parser->at + 1 < parser->end;
			if (parser->at >= parser->end)
				break;
		} else if (c == '{' || c == '[' || c == '(')
			depth++;
		else if ((c == '}' || c == ']' || c == ')') && depth-- == 0)
			break;
		else if (c == ',' && depth == 0)
			break;
		else if (c == '\n') {
			if (depth == 0)
				break;
			parser->line++;
		}
	}
	span.end = parser->at;
	return span;
}

static bool number_of(struct span span, int64_t *number)
{
	*number = 0;
	if (span.at == span.end)
		return false;
	for (; span.at < span.end; span.at++)
		if (*span.at < '0' || *span.at > '9' || __builtin_mul_overflow(*number, 10, number) || __builtin_add_overflow(*number, *span.at - '0', number))
			return false;
	return true;
}

static const char *keep(struct parser *parser, struct span span)
{
	return arena_text(parser->arena, span.at, length_of(span));
}

/* The part between the brackets around a value. */
static struct span inside(struct span span)
{
	if (length_of(span) >= 2)
		return (struct span){ span.at + 1, span.end - 1 };
	return (struct span){ span.at, span.at };
}

/* What stands between `before` and the next `until`. */
static struct span find(struct span in, const char *before, char until)
{
	size_t length = strlen(before);
	for (const char *at = in.at; (size_t)(in.end - at) >= length; at++)
		if (memcmp(at, before, length) == 0) {
			const char *end = at + length;
			while (end < in.end && *end != until)
				end += 1 + (*end == '\\' && end + 1 < in.end);
			return (struct span){ at + length, end };
		}
	return (struct span){ in.at, in.at };
}

/* ---- shapes -------------------------------------------------------------------------- */

static enum status read_dims(struct parser *parser, struct hlo_shape *shape)
{
	for (;;) {
		skip(parser);
		if (take(parser, ']'))
			return OK;
		if (take(parser, ','))
			continue;
		take(parser, '<');   /* a bound of a dynamic dim: <=128 */
		take(parser, '=');
		struct span digits = { parser->at, parser->at };
		while (parser->at < parser->end && *parser->at >= '0' && *parser->at <= '9')
			parser->at++;
		digits.end = parser->at;
		if (parser->at < parser->end && *parser->at == '?') {
			parser->at++;
			shape->unsized = true;
			continue;
		}
		if (shape->rank == DIMS_MAX)
			return bad(parser, "a shape of more than %d dims", DIMS_MAX);
		if (!number_of(digits, &shape->dim[shape->rank]))
			return bad(parser, "a shape's dim was expected");
		shape->rank++;
	}
}

static enum status read_shape(struct parser *parser, int depth, struct hlo_shape *shape);

static enum status read_tuple(struct parser *parser, int depth, struct hlo_shape *shape)
{
	struct hlo_shape *part = NULL;
	size_t room = 0;
	enum status status = OK;
	shape->tuple = true;
	while (status == OK && !take(parser, ')')) {
		if (shape->parts && !take(parser, ',')) {
			status = bad(parser, "a comma or ) was expected in a tuple's shape");
			break;
		}
		if (!mem_reserve(&part, &room, shape->parts + 1, sizeof *part)) {
			status = out_of_memory(parser);
			break;
		}
		part[shape->parts] = (struct hlo_shape){ 0 };
		status = read_shape(parser, depth + 1, &part[shape->parts++]);
	}
	if (status == OK && shape->parts && (shape->part = arena_alloc(parser->arena, shape->parts, sizeof *part)))
		memcpy(shape->part, part, shape->parts * sizeof *part);
	else if (status == OK && shape->parts)
		status = out_of_memory(parser);
	mem_free(part);
	return status;
}

static enum status read_shape(struct parser *parser, int depth, struct hlo_shape *shape)
{
	if (depth > HLO_DEPTH)
		return bad(parser, "tuples are nested more than %d deep", HLO_DEPTH);
	enum status status = OK;
	if (take(parser, '(')) {
		status = read_tuple(parser, depth, shape);
	} else {
		struct span type = word(parser);
		int dtype = hlo_dtype(type.at, length_of(type));
		if (dtype < 0)
			return bad(parser, "unknown type \"%.40s\"", keep(parser, type) ? keep(parser, type) : "");
		shape->dtype = dtype == DTYPE_COUNT ? DTYPE_OPAQUE : (uint8_t)dtype;
		shape->tuple = is(type, "token");
		if (take(parser, '['))
			status = read_dims(parser, shape);
		if (status == OK && parser->at < parser->end && *parser->at == '{') {   /* the layout */
			do {
				parser->at++;
				struct span part = balanced(parser);
				shape->layout = hlo_layout(shape->layout, part.at, length_of(part));
			} while (parser->at < parser->end && *parser->at == ',');
			if (!take(parser, '}'))
				return bad(parser, "a layout has no end");
		}
	}
	if (status == OK && !hlo_shape_finish(shape))
		status = bad(parser, "a shape's size overflows");
	return status;
}

/* ---- source locations ------------------------------------------------------------------ */

/* "1 ..." : the id, which must be the next. */
static bool row(struct parser *parser, struct span *rest, uint32_t next)
{
	int64_t id;
	const char *at = parser->at;
	struct span digits = { at, at };
	while (digits.end < parser->end && *digits.end >= '0' && *digits.end <= '9')
		digits.end++;
	if (!number_of(digits, &id) || id != (int64_t)next)
		return false;
	rest->at = digits.end + (digits.end < parser->end && *digits.end == ' ');
	const char *newline = memchr(rest->at, '\n', (size_t)(parser->end - rest->at));
	rest->end = newline ? newline : parser->end;
	parser->at = rest->end;
	skip(parser);
	return true;
}

static uint32_t field(struct span row, const char *key)
{
	struct span digits = find(row, key, ' ');
	if (digits.at < digits.end && digits.end[-1] == '}')
		digits.end--;
	int64_t number;
	return number_of(digits, &number) && number < NONE ? (uint32_t)number : 0;
}

static enum status read_texts(struct parser *parser, const char ***list, uint32_t *count, size_t *room)
{
	struct span rest;
	while (row(parser, &rest, *count + 1)) {
		if (length_of(rest) >= 2 && *rest.at == '"')
			rest = (struct span){ rest.at + 1, rest.end - 1 };
		if (!mem_reserve(list, room, *count + 1, sizeof **list) || !((*list)[*count] = keep(parser, rest)))
			return out_of_memory(parser);
		++*count;
	}
	return OK;
}

static enum status read_locations(struct parser *parser)
{
	struct span rest;
	while (row(parser, &rest, parser->locations + 1)) {
		if (!mem_reserve(&parser->location, &parser->location_room, parser->locations + 1, sizeof *parser->location))
			return out_of_memory(parser);
		parser->location[parser->locations++] = (struct location){ field(rest, "file_name_id="), field(rest, "function_name_id="), field(rest, " line=") };
	}
	return OK;
}

static enum status read_frames(struct parser *parser)
{
	struct span rest;
	while (row(parser, &rest, parser->frames + 1)) {
		if (!mem_reserve(&parser->frame, &parser->frame_room, parser->frames + 1, sizeof *parser->frame))
			return out_of_memory(parser);
		parser->frame[parser->frames++] = (struct frame){ field(rest, "file_location_id="), field(rest, "parent_frame_id=") };
	}
	return OK;
}

/* Frames count from 1; the parent of a frame is one less than what stands there, 0 and itself end the chain. The innermost that is not in an
 * installed package says most. */
static const char *frame_text(struct parser *parser, uint32_t id)
{
	const struct location *best = NULL;
	for (int steps = 0; id >= 1 && id <= parser->frames && steps < 200; steps++) {
		const struct frame *frame = &parser->frame[id - 1];
		if (frame->location < 1 || frame->location > parser->locations)
			break;
		const struct location *location = &parser->location[frame->location - 1];
		const char *file = location->file >= 1 && location->file <= parser->files ? parser->file[location->file - 1] : "";
		if (!best)
			best = location;
		if (!strstr(file, "-packages/")) {
			best = location;
			break;
		}
		if (frame->parent == 0 || frame->parent - 1 >= id)
			break;
		id = frame->parent - 1;
	}
	if (!best || best->file < 1 || best->file > parser->files)
		return NULL;
	char text[1200];
	bool named = best->function >= 1 && best->function <= parser->functions;
	int length = snprintf(text, sizeof text, "%.700s:%u%s%.300s", parser->file[best->file - 1], best->line, named ? " in " : "",
		named ? parser->function[best->function - 1] : "");
	return arena_text(parser->arena, text, (size_t)length);
}

/* ---- attributes ------------------------------------------------------------------------ */

/* A C string's escapes undone. */
static const char *plain(struct parser *parser, struct span span)
{
	char *text = arena_text(parser->arena, span.at, length_of(span));
	char *to = text;
	for (const char *from = text; from && *from; from++) {
		from += *from == '\\' && from[1];
		*to++ = *from;
	}
	if (to)
		*to = '\0';
	return text;
}

static enum status read_metadata(struct parser *parser, struct span value, struct hlo_instruction *instruction)
{
	struct span name = find(value, "op_name=\"", '"'), file = find(value, "source_file=\"", '"');
	if (length_of(name) && !(instruction->op_name = plain(parser, name)))
		return out_of_memory(parser);
	uint32_t frame = field(value, "stack_frame_id=");
	if (frame)
		instruction->src = frame_text(parser, frame);
	else if (length_of(file)) {
		char text[800];
		int length = snprintf(text, sizeof text, "%.*s:%u", (int)(length_of(file) > 700 ? 700 : length_of(file)), file.at, field(value, "source_line="));
		if (!(instruction->src = arena_text(parser->arena, text, (size_t)length)))
			return out_of_memory(parser);
	}
	return OK;
}

static enum status refer(struct parser *parser, struct span name, uint32_t slot)
{
	if (!mem_reserve(&parser->reference, &parser->reference_room, parser->references + 1, sizeof *parser->reference))
		return out_of_memory(parser);
	const char *text = keep(parser, name);
	if (!text)
		return out_of_memory(parser);
	parser->reference[parser->references++] = (struct reference){ parser->module->computations, parser->instructions, slot, text, parser->line };
	return OK;
}

/* One name, or a list of them in braces. */
static enum status read_calls(struct parser *parser, struct span value, struct hlo_instruction *instruction, uint32_t slot)
{
	enum status status = OK;
	if (length_of(value) && *value.at == '{')
		value = inside(value);
	for (const char *at = value.at; at < value.end && status == OK;) {
		while (at < value.end && strchr(" ,%\n", *at))
			at++;
		struct span name = { at, at };
		while (at < value.end && *at && name_character(*at))
			at++;
		name.end = at;
		if (name.at == name.end)
			return bad(parser, "the name of a computation was expected");
		status = refer(parser, name, slot == NONE ? instruction->calls : slot);
		if (slot == NONE || slot >= instruction->calls)
			instruction->calls = (slot == NONE ? instruction->calls : slot) + 1;
	}
	return status;
}

/* "{{0,1,2,3}}" or "[2,4]<=[8]": how many take part. */
static uint32_t group_size(struct span value)
{
	int64_t size = 0;
	if (length_of(value) > 1 && *value.at == '[') {
		struct span second = find(value, ",", ']');
		return number_of(second, &size) && size < NONE ? (uint32_t)size : 0;
	}
	for (const char *at = value.at; at < value.end && !(at > value.at + 1 && *at == '}'); at++)
		size += *at >= '0' && *at <= '9' && (at[1] < '0' || at[1] > '9');
	return size < NONE ? (uint32_t)size : 0;
}

static enum status read_attribute(struct parser *parser, struct span key, struct span value, struct hlo_instruction *instruction)
{
	int64_t number;
	if (is(key, "calls") || is(key, "to_apply") || is(key, "called_computations") || is(key, "branch_computations") || is(key, "true_computation")
		|| is(key, "false_computation"))
		return read_calls(parser, value, instruction, NONE);
	if (is(key, "body"))
		return read_calls(parser, value, instruction, 0);
	if (is(key, "condition"))
		return read_calls(parser, value, instruction, 1);
	if (is(key, "metadata"))
		return read_metadata(parser, value, instruction);
	if (is(key, "index") && number_of(value, &number) && number < NONE)
		instruction->index = (uint32_t)number;
	else if (is(key, "replica_groups"))
		instruction->group = group_size(value);
	else if (is(key, "source_target_pairs"))
		instruction->group = 2;
	else if (is(key, "lhs_contracting_dims"))
		instruction->lhs_contracting = keep(parser, inside(value));
	else if (is(key, "dim_labels"))
		instruction->labels = keep(parser, value);
	else if (is(key, "backend_config")) {
		struct span trips = find(value, "known_trip_count\":{\"n\":\"", '"');
		if (number_of(trips, &number))
			instruction->trips = number;
	}
	return OK;
}

/* ---- instructions ------------------------------------------------------------------------ */

static enum status read_operands(struct parser *parser, struct hlo_instruction *instruction)
{
	uint32_t *operand = NULL;
	size_t room = 0;
	enum status status = OK;
	bool literal = strcmp(instruction->opcode, "constant") == 0 || strcmp(instruction->opcode, "parameter") == 0;
	for (;;) {
		skip(parser);
		struct span span = balanced(parser);
		while (span.end > span.at && strchr(" \r\n\t", span.end[-1]))
			span.end--;
		const char *from = span.end;
		while (from > span.at && from[-1] && name_character(from[-1]))
			from--;
		struct span name = { from + (from < span.end && *from == '%'), span.end };
		if (literal) {
			int64_t number = 0;
			if (*instruction->opcode == 'p' && (!number_of(name, &number) || number >= NONE - 1))
				status = bad(parser, "a parameter's number was expected");
			instruction->index = (uint32_t)number;
		} else if (length_of(name)) {
			const char *text = keep(parser, name);
			uint32_t id = text ? names_find(&parser->names, text) : NONE;
			if (!text || !mem_reserve(&operand, &room, instruction->operands + 1, sizeof *operand))
				status = out_of_memory(parser);
			else if (id == NONE)
				status = bad(parser, "operand \"%.60s\" of \"%.60s\" is not known before it", text, instruction->name);
			else
				operand[instruction->operands++] = id;
		}
		if (status != OK || !take(parser, ','))
			break;
	}
	if (status == OK && !take(parser, ')'))
		status = bad(parser, "a ) was expected after the operands of \"%.60s\"", instruction->name);
	if (status == OK && !(instruction->operand = arena_alloc(parser->arena, instruction->operands, sizeof *operand)))
		status = out_of_memory(parser);
	if (status == OK && instruction->operands)
		memcpy(instruction->operand, operand, instruction->operands * sizeof *operand);
	mem_free(operand);
	return status;
}

static enum status read_attributes(struct parser *parser, struct hlo_instruction *instruction)
{
	enum status status = OK;
	while (status == OK && parser->at < parser->end && *parser->at == ',') {
		parser->at++;
		struct span key = word(parser);
		if (!take(parser, '='))
			continue;
		struct span value = balanced(parser);
		status = read_attribute(parser, key, value, instruction);
		while (parser->at < parser->end && *parser->at == ' ')
			parser->at++;
	}
	return status;
}

static enum status read_instruction(struct parser *parser, struct hlo_computation *computation)
{
	struct hlo_instruction instruction = { .line = parser->line };
	struct span name = word(parser);
	bool root = is(name, "ROOT");
	if (root)
		name = word(parser);
	if (length_of(name) == 0 || !take(parser, '='))
		return bad(parser, "an instruction was expected: NAME = SHAPE OPCODE(...)");
	instruction.name = keep(parser, name);
	instruction.shape = arena_alloc(parser->arena, 1, sizeof *instruction.shape);
	if (!instruction.name || !instruction.shape)
		return out_of_memory(parser);
	enum status status = read_shape(parser, 0, instruction.shape);
	if (status != OK)
		return status;
	struct span opcode = word(parser);
	if (length_of(opcode) == 0 || !take(parser, '('))
		return bad(parser, "the opcode of \"%.60s\" was expected", instruction.name);
	if (!(instruction.opcode = keep(parser, opcode)))
		return out_of_memory(parser);
	status = read_operands(parser, &instruction);
	if (status == OK)
		status = read_attributes(parser, &instruction);
	if (status != OK)
		return status;
	uint32_t id = parser->instructions;
	uint32_t first = names_add(&parser->names, instruction.name, id);
	if (first == NONE || !mem_reserve(&parser->instruction, &parser->instruction_room, id + 1, sizeof instruction))
		return out_of_memory(parser);
	if (first != id)
		return bad(parser, "there are two instructions named \"%.60s\"", instruction.name);
	parser->instruction[parser->instructions++] = instruction;
	if (root)
		computation->root = id;
	return OK;
}

/* "%name (a: f32[]) -> f32[] {", "ENTRY %name {", then instructions and "}". */
static enum status read_computation(struct parser *parser)
{
	struct hlo_computation computation = { .root = NONE };
	struct span name = word(parser);
	bool entry = is(name, "ENTRY");
	if (entry)
		name = word(parser);
	if (length_of(name) == 0)
		return bad(parser, "a computation was expected");
	if (!(computation.name = keep(parser, name)))
		return out_of_memory(parser);
	/* The signature says nothing new; its layouts hold braces, so the one that opens the body stands at the line's end. */
	const char *newline = memchr(parser->at, '\n', (size_t)(parser->end - parser->at));
	const char *end = newline ? newline : parser->end;
	while (end > parser->at && strchr(" \r", end[-1]))
		end--;
	if (end == parser->at || end[-1] != '{')
		return bad(parser, "computation \"%.60s\" has no body", computation.name);
	parser->at = end;
	parser->instructions = 0;
	names_free(&parser->names);
	parser->names = (struct names){ 0 };
	enum status status = OK;
	while (status == OK && !take(parser, '}')) {
		if (parser->at >= parser->end)
			return bad(parser, "the file is truncated in computation \"%.60s\"", computation.name);
		status = read_instruction(parser, &computation);
	}
	if (status != OK)
		return status;
	skip(parser);
	if (parser->at < parser->end && *parser->at == ',') {   /* ", execution_thread=..." */
		const char *next = memchr(parser->at, '\n', (size_t)(parser->end - parser->at));
		parser->at = next ? next : parser->end;
	}
	computation.instructions = parser->instructions;
	if (computation.root == NONE)
		computation.root = computation.instructions - 1;
	if (computation.instructions == 0)
		return bad(parser, "computation \"%.60s\" is empty", computation.name);
	computation.instruction = arena_alloc(parser->arena, computation.instructions, sizeof *computation.instruction);
	uint32_t id = parser->module->computations;
	if (!computation.instruction || !mem_reserve(&parser->module->computation, &parser->computation_room, id + 1, sizeof computation)
		|| names_add(&parser->computations, computation.name, id) == NONE)
		return out_of_memory(parser);
	memcpy(computation.instruction, parser->instruction, computation.instructions * sizeof *computation.instruction);
	parser->module->computation[parser->module->computations++] = computation;
	if (entry)
		parser->module->entry = id;
	return OK;
}

/* ---- the module ---------------------------------------------------------------------------- */

/* The leaf that a path "{1, 0}" leads to comes later, when shapes are known; only the first two levels occur. */
static enum status read_aliases(struct parser *parser, struct span value)
{
	/* { {0}: (0, {}, may-alias), {1}: (1, {}, may-alias) } */
	for (const char *at = value.at; at < value.end;) {
		struct span output = find((struct span){ at + 1, value.end }, "{", '}');
		struct span parameter = find((struct span){ output.end, value.end }, "(", ',');
		struct span leaf = find((struct span){ parameter.end, value.end }, "{", '}');
		int64_t numbers[3] = { 0 };
		if (length_of(parameter) == 0)
			break;
		if ((length_of(output) && !number_of(output, &numbers[0])) || !number_of(parameter, &numbers[1]) || (length_of(leaf) && !number_of(leaf, &numbers[2])))
			return OK;   /* of nested tuples: no alias is told */
		if (numbers[0] >= NONE || numbers[1] >= NONE || numbers[2] >= NONE)
			return bad(parser, "an index in input_output_alias is too large");
		if (!mem_reserve(&parser->module->alias, &parser->alias_room, parser->module->aliases + 1, sizeof *parser->module->alias))
			return out_of_memory(parser);
		parser->module->alias[parser->module->aliases++] = (struct hlo_alias){ (uint32_t)numbers[0], (uint32_t)numbers[1], (uint32_t)numbers[2] };
		const char *close = memchr(leaf.end, ')', (size_t)(value.end - leaf.end));
		if (!close)
			break;
		at = close;
		while (at < value.end && *at != '{')
			at++;
		at -= at < value.end;
		if (at + 1 >= value.end)
			break;
	}
	return OK;
}

static enum status read_header(struct parser *parser)
{
	struct span name;
	word(parser);
	name = word(parser);
	if (length_of(name) == 0)
		return bad(parser, "the module's name was expected");
	if (!(parser->module->name = keep(parser, name)))
		return out_of_memory(parser);
	int64_t partitions = 1, replicas = 1, number;
	enum status status = OK;
	while (status == OK && parser->at < parser->end && *parser->at == ',') {
		parser->at++;
		struct span key = word(parser);
		if (!take(parser, '='))
			continue;
		struct span value = balanced(parser);
		if (is(key, "is_scheduled"))
			parser->module->scheduled = is(value, "true");
		else if (is(key, "input_output_alias"))
			status = read_aliases(parser, value);
		else if (is(key, "num_partitions") && number_of(value, &number) && number < 1 << 20)
			partitions = number;
		else if (is(key, "replica_count") && number_of(value, &number) && number < 1 << 10)
			replicas = number;
	}
	parser->module->devices = (uint32_t)(partitions * replicas > 0 ? partitions * replicas : 1);
	return status;
}

static enum status read_tables(struct parser *parser)
{
	enum status status = OK;
	for (skip(parser); status == OK; skip(parser)) {
		if (starts(parser, "FileNames\n"))
			parser->at += 9, skip(parser), status = read_texts(parser, &parser->file, &parser->files, &parser->file_room);
		else if (starts(parser, "FunctionNames\n"))
			parser->at += 13, skip(parser), status = read_texts(parser, &parser->function, &parser->functions, &parser->function_room);
		else if (starts(parser, "FileLocations\n"))
			parser->at += 13, skip(parser), status = read_locations(parser);
		else if (starts(parser, "StackFrames\n"))
			parser->at += 11, skip(parser), status = read_frames(parser);
		else
			break;
	}
	return status;
}

/* Names of computations become numbers. */
static enum status resolve(struct parser *parser)
{
	struct hlo_module *module = parser->module;
	for (uint32_t c = 0; c < module->computations; c++)
		for (uint32_t i = 0; i < module->computation[c].instructions; i++) {
			struct hlo_instruction *instruction = &module->computation[c].instruction[i];
			if (!(instruction->call = arena_alloc(parser->arena, instruction->calls, sizeof *instruction->call)))
				return out_of_memory(parser);
			for (uint32_t k = 0; k < instruction->calls; k++)
				instruction->call[k] = NONE;
		}
	for (uint32_t r = 0; r < parser->references; r++) {
		const struct reference *reference = &parser->reference[r];
		struct hlo_instruction *instruction = &module->computation[reference->computation].instruction[reference->instruction];
		uint32_t id = names_find(&parser->computations, reference->name);
		parser->line = reference->line;
		if (id == NONE)
			return bad(parser, "there is no computation \"%.60s\"", reference->name);
		instruction->call[reference->slot] = id;
	}
	return OK;
}

static enum status read_module(struct parser *parser)
{
	skip(parser);
	if (!starts(parser, "HloModule"))
		return bad(parser, "\"HloModule\" was expected");
	enum status status = read_header(parser);
	if (status == OK)
		status = read_tables(parser);
	parser->module->entry = NONE;
	for (skip(parser); status == OK && parser->at < parser->end; skip(parser))
		status = read_computation(parser);
	if (status == OK && parser->module->computations == 0)
		return bad(parser, "the module has no computation");
	if (status == OK && parser->module->entry == NONE)
		parser->module->entry = parser->module->computations - 1;
	return status == OK ? resolve(parser) : status;
}

enum status hlo_text_read(const char *text, size_t size, struct hlo_module *module, struct error *error)
{
	*module = (struct hlo_module){ .devices = 1 };
	*error = (struct error){ 0 };
	struct parser parser = { .at = text, .end = text + size, .line = 1, .module = module, .error = error, .arena = &module->arena };
	enum status status = memchr(text, '\0', size) ? bad(&parser, "the text contains a NUL byte") : read_module(&parser);
	mem_free(parser.instruction);
	mem_free(parser.reference);
	mem_free(parser.file);
	mem_free(parser.function);
	mem_free(parser.location);
	mem_free(parser.frame);
	names_free(&parser.computations);
	names_free(&parser.names);
	return error_set(error, status);
}
