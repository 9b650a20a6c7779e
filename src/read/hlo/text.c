/* text.c: reads the text of an HLO module: "HloModule name, ...", tables of source locations, then computations. */
#include <stdio.h>

#include "hlo.h"

struct location { uint32_t file, function, line; };
struct frame { uint32_t location, parent; };

struct parser {
	struct scanner scan;
	struct hlo_module *module;
	/* growing lists */
	size_t computation_room, instruction_room;
	struct hlo_instruction *instruction; /* of the computation being read */
	uint32_t instructions;
	struct names computations, names; /* names: of that computation's instructions */
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

/* ---- source locations ---- */

/* "1 ..." : the id, which must be the next. */
static bool row(struct parser *parser, struct span *rest, uint32_t next)
{
	int64_t id;
	const char *at = parser->scan.at;
	struct span digits = { at, at };
	while (digits.end < parser->scan.end && *digits.end >= '0' && *digits.end <= '9')
		digits.end++;
	if (!scan_number(digits, &id) || id != (int64_t)next)
		return false;
	rest->at = digits.end + (digits.end < parser->scan.end && *digits.end == ' ');
	const char *newline = memchr(rest->at, '\n', (size_t)(parser->scan.end - rest->at));
	rest->end = newline ? newline : parser->scan.end;
	parser->scan.at = rest->end;
	scan_skip(&parser->scan);
	return true;
}

static uint32_t text_field(struct span row, const char *key)
{
	struct span digits = scan_find(row, key, ' ');
	if (digits.at < digits.end && digits.end[-1] == '}')
		digits.end--;
	int64_t number;
	return scan_number(digits, &number) && number < NONE ? (uint32_t)number : 0;
}

static enum status read_texts(struct parser *parser, const char ***list, uint32_t *count, size_t *room)
{
	struct span rest;
	while (row(parser, &rest, *count + 1)) {
		if (scan_length(rest) >= 2 && *rest.at == '"')
			rest = (struct span){ rest.at + 1, rest.end - 1 };
		if (!mem_reserve(list, room, *count + 1, sizeof **list) || !((*list)[*count] = scan_keep(&parser->scan, rest)))
			return scan_no_memory(&parser->scan);
		++*count;
	}
	return OK;
}

static enum status read_locations(struct parser *parser)
{
	struct span rest;
	while (row(parser, &rest, parser->locations + 1)) {
		if (!mem_reserve(&parser->location, &parser->location_room, parser->locations + 1, sizeof *parser->location))
			return scan_no_memory(&parser->scan);
		parser->location[parser->locations++] = (struct location){ text_field(rest, "file_name_id="),
			text_field(rest, "function_name_id="), text_field(rest, " line=") };
	}
	return OK;
}

static enum status read_frames(struct parser *parser)
{
	struct span rest;
	while (row(parser, &rest, parser->frames + 1)) {
		if (!mem_reserve(&parser->frame, &parser->frame_room, parser->frames + 1, sizeof *parser->frame))
			return scan_no_memory(&parser->scan);
		parser->frame[parser->frames++] = (struct frame){ text_field(rest, "file_location_id="),
			text_field(rest, "parent_frame_id=") };
	}
	return OK;
}

/* Frames count from 1; the parent of a frame is one less than what is there, 0 and itself end the chain. The
 * innermost that is not in an installed package says most. */
static const char *text_frame(struct parser *parser, uint32_t id)
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
	int length = PRINT_TO(text, "%.700s:%u%s%.300s", parser->file[best->file - 1], best->line,
		named ? " in " : "", named ? parser->function[best->function - 1] : "");
	return arena_text(parser->scan.arena, text, (size_t)length);
}

/* ---- attributes ---- */

/* A C string's escapes undone. */
static const char *text_plain(struct parser *parser, struct span span)
{
	char *text = arena_text(parser->scan.arena, span.at, scan_length(span));
	char *to = text;
	for (const char *from = text; from && *from; from++) {
		from += *from == '\\' && from[1];
		*to++ = *from;
	}
	if (to)
		*to = '\0';
	return text;
}

static enum status text_read_metadata(struct parser *parser, struct span value, struct hlo_instruction *instruction)
{
	struct span name = scan_find(value, "op_name=\"", '"'), file = scan_find(value, "source_file=\"", '"');
	if (scan_length(name) && !(instruction->op_name = text_plain(parser, name)))
		return scan_no_memory(&parser->scan);
	uint32_t frame = text_field(value, "stack_frame_id=");
	if (frame)
		instruction->src = text_frame(parser, frame);
	else if (scan_length(file)) {
		char text[800];
		const char *path = text_plain(parser, file);
		int length = PRINT_TO(text, "%.700s:%u", path ? path : "", text_field(value, "source_line="));
		if (!path || !(instruction->src = arena_text(parser->scan.arena, text, (size_t)length)))
			return scan_no_memory(&parser->scan);
	}
	return OK;
}

static enum status text_refer(struct parser *parser, struct span name, uint32_t slot)
{
	if (!mem_reserve(&parser->reference, &parser->reference_room, parser->references + 1, sizeof *parser->reference))
		return scan_no_memory(&parser->scan);
	const char *text = scan_keep(&parser->scan, name);
	if (!text)
		return scan_no_memory(&parser->scan);
	parser->reference[parser->references++] = (struct reference){ parser->module->computations, parser->instructions,
		slot, text, parser->scan.line };
	return OK;
}

/* One name, or a list of them in braces. */
static enum status read_calls(
	struct parser *parser, struct span value, struct hlo_instruction *instruction, uint32_t slot)
{
	enum status status = OK;
	if (scan_length(value) && *value.at == '{')
		value = scan_inside(value);
	for (const char *at = value.at; at < value.end && status == OK;) {
		while (at < value.end && strchr(" ,%\n", *at))
			at++;
		struct span name = { at, at };
		while (at < value.end && *at && scan_name_character(*at))
			at++;
		name.end = at;
		if (name.at == name.end)
			return scan_bad(&parser->scan, "the name of a computation was expected");
		status = text_refer(parser, name, slot == NONE ? instruction->calls : slot);
		if (slot == NONE || slot >= instruction->calls)
			instruction->calls = (slot == NONE ? instruction->calls : slot) + 1;
	}
	return status;
}

/* { {0}: (0, {}, may-alias), {1}: (1, {}) }; of nested tuples, with a path of two numbers, no alias is told. */
static enum status text_read_aliases(
	struct parser *parser, struct span value, struct hlo_alias **alias, uint32_t *aliases)
{
	HELD struct hlo_alias *list = NULL;
	size_t room = 0, count = 0;
	for (const char *at = value.at + (value.at < value.end);;) {
		struct span output = scan_find((struct span){ at, value.end }, "{", '}');
		struct span parameter = scan_find((struct span){ output.end, value.end }, "(", ',');
		struct span leaf = scan_find((struct span){ parameter.end, value.end }, "{", '}');
		int64_t number[3] = { 0 };
		if (scan_length(parameter) == 0)
			break;
		at = leaf.end;
		if ((scan_length(output) && !scan_number(output, &number[0])) || !scan_number(parameter, &number[1]) ||
			(scan_length(leaf) && !scan_number(leaf, &number[2])))
			continue;
		if (number[0] >= NONE || number[1] >= NONE || number[2] >= NONE)
			return scan_bad(&parser->scan, "an index among aliases is too large");
		if (!mem_reserve(&list, &room, count + 1, sizeof *list))
			return scan_no_memory(&parser->scan);
		list[count++] = (struct hlo_alias){ (uint32_t)number[0], (uint32_t)number[1], (uint32_t)number[2] };
	}
	if (!(*alias = arena_alloc(parser->scan.arena, count, sizeof *list)))
		return scan_no_memory(&parser->scan);
	for (*aliases = 0; *aliases < count; ++*aliases)
		(*alias)[*aliases] = list[*aliases];
	return OK;
}

/* The module's devices are as many as one says at least. */
static struct hlo_groups text_read_groups(struct parser *parser, struct span value)
{
	struct hlo_groups groups = hlo_groups_text(value, parser->scan.end);
	hlo_add_devices(parser->module, groups.devices);
	return groups;
}

/* {devices=[4,1]<=[4]}, also as the first of a tuple's. */
static void read_sharding(struct parser *parser, struct span value, struct hlo_instruction *instruction)
{
	struct span tiles = scan_find(value, "devices=[", ']');
	uint64_t devices = scan_length(tiles) > 0, number;
	while (hlo_next_number(&tiles.at, tiles.end, &number))
		devices = number && devices > NONE / number ? 0 : devices * number;
	instruction->shards = devices < NONE ? (uint32_t)devices : 0;
	hlo_add_devices(parser->module, instruction->shards);
}

static enum status read_attribute(
	struct parser *parser, struct span key, struct span value, struct hlo_instruction *instruction)
{
	static const char *const calls[] = { "calls", "to_apply", "called_computations", "branch_computations",
		"true_computation", "false_computation" };
	int64_t number;
	FOR(i, COUNT_OF(calls))
		if (scan_is(key, calls[i]))
			return read_calls(parser, value, instruction, NONE);
	if (scan_is(key, "body"))
		return read_calls(parser, value, instruction, 0);
	if (scan_is(key, "condition"))
		return read_calls(parser, value, instruction, 1);
	if (scan_is(key, "metadata"))
		return text_read_metadata(parser, value, instruction);
	if (scan_is(key, "output_to_operand_aliasing"))
		return text_read_aliases(parser, value, &instruction->alias, &instruction->aliases);
	if (scan_is(key, "index")) {
		if (!scan_number(value, &number) || number >= NONE)
			return scan_bad(&parser->scan, "the index of \"%.60s\" is not the number of a part", instruction->name);
		instruction->index = (uint32_t)number;
	} else if (scan_is(key, "replica_groups"))
		instruction->group = text_read_groups(parser, value).size;
	else if (scan_is(key, "source_target_pairs"))
		instruction->group = text_read_groups(parser, value).devices ? 2 : 0;
	else if (scan_is(key, "sharding"))
		read_sharding(parser, value, instruction);
	else if (scan_is(key, "custom_call_target"))
		parser->module->unpartitioned |= hlo_partitioned_away(
			value.at + 1, scan_length(value) > 2 ? scan_length(value) - 2 : 0);
	else if (scan_is(key, "lhs_contracting_dims"))
		instruction->lhs_contracting = scan_keep(&parser->scan, scan_inside(value));
	else if (scan_is(key, "dim_labels"))
		instruction->labels = scan_keep(&parser->scan, value);
	else if (scan_is(key, "backend_config")) {
		struct span trips = scan_find(value, "known_trip_count\":{\"n\":\"", '"');
		if (scan_number(trips, &number))
			instruction->trips = number;
	}
	return OK;
}

/* ---- instructions ---- */

static enum status text_read_operands(struct parser *parser, struct hlo_instruction *instruction)
{
	HELD uint32_t *operand = NULL;
	size_t room = 0;
	bool literal = strcmp(instruction->opcode, "constant") == 0 || strcmp(instruction->opcode, "parameter") == 0;
	do {
		scan_skip(&parser->scan);
		struct span span = scan_balanced(&parser->scan);
		while (span.end > span.at && strchr(" \r\n\t", span.end[-1]))
			span.end--;
		const char *from = span.end;
		while (from > span.at && from[-1] && scan_name_character(from[-1]))
			from--;
		struct span name = { from + (from < span.end && *from == '%'), span.end };
		if (literal) {
			int64_t number = 0;
			if (*instruction->opcode == 'p' && (!scan_number(name, &number) || number >= NONE - 1))
				return scan_bad(&parser->scan, "a parameter's number was expected");
			instruction->index = (uint32_t)number;
		} else if (scan_length(name)) {
			const char *text = scan_keep(&parser->scan, name);
			uint32_t id = text ? names_find(&parser->names, text) : NONE;
			if (!text || !mem_reserve(&operand, &room, instruction->operands + 1, sizeof *operand))
				return scan_no_memory(&parser->scan);
			if (id == NONE)
				return scan_bad(&parser->scan, "operand \"%.60s\" of \"%.60s\" is not known before it", text, instruction->name);
			operand[instruction->operands++] = id;
		}
	} while (scan_take(&parser->scan, ','));
	if (!scan_take(&parser->scan, ')'))
		return scan_bad(&parser->scan, "a ) was expected after the operands of \"%.60s\"", instruction->name);
	if (!ROOM(parser->scan.arena, instruction->operand, instruction->operands))
		return scan_no_memory(&parser->scan);
	if (instruction->operands)
		COPY(instruction->operand, operand, instruction->operands);
	return OK;
}

/* ", key=value", on the same line or the next; a key without a value is passed over. */
static bool next_attribute(struct parser *parser, struct span *key, struct span *value)
{
	while (scan_take(&parser->scan, ',')) {
		*key = scan_word(&parser->scan);
		if (!scan_take(&parser->scan, '='))
			continue;
		scan_skip(&parser->scan);
		*value = scan_balanced(&parser->scan);
		return true;
	}
	return false;
}

static enum status read_attributes(struct parser *parser, struct hlo_instruction *instruction)
{
	struct span key, value;
	while (next_attribute(parser, &key, &value))
		TRY(read_attribute(parser, key, value, instruction));
	return OK;
}

static enum status text_read_instruction(struct parser *parser, struct hlo_computation *computation)
{
	struct hlo_instruction instruction = { .line = parser->scan.line };
	struct span name = scan_word(&parser->scan);
	bool root = scan_is(name, "ROOT");
	if (root)
		name = scan_word(&parser->scan);
	if (scan_length(name) == 0 || !scan_take(&parser->scan, '='))
		return scan_bad(&parser->scan, "an instruction was expected: NAME = SHAPE OPCODE(...)");
	instruction.name = scan_keep(&parser->scan, name);
	if (!(ROOM(parser->scan.arena, instruction.shape, 1) && instruction.name))
		return scan_no_memory(&parser->scan);
	TRY(scan_shape(&parser->scan, 0, instruction.shape));
	struct span opcode = scan_word(&parser->scan);
	if (scan_length(opcode) == 0 || !scan_take(&parser->scan, '('))
		return scan_bad(&parser->scan, "the opcode of \"%.60s\" was expected", instruction.name);
	if (!(instruction.opcode = scan_keep(&parser->scan, opcode)))
		return scan_no_memory(&parser->scan);
	TRY(text_read_operands(parser, &instruction));
	TRY(read_attributes(parser, &instruction));
	uint32_t id = parser->instructions;
	uint32_t first = names_add(&parser->names, instruction.name, id);
	if (first == NONE || !mem_reserve(&parser->instruction, &parser->instruction_room, id + 1, sizeof instruction))
		return scan_no_memory(&parser->scan);
	if (first != id)
		return scan_bad(&parser->scan, "there are two instructions named \"%.60s\"", instruction.name);
	parser->instruction[parser->instructions++] = instruction;
	if (root)
		computation->root = id;
	return OK;
}

/* "(a: f32[]) -> f32[] {", or just "{": it says nothing new. */
static enum status pass_signature(struct parser *parser, const char *name)
{
	struct hlo_shape result = { 0 };
	if (scan_take(&parser->scan, '(')) {
		do {
			scan_skip(&parser->scan);
			scan_balanced(&parser->scan);
		} while (scan_take(&parser->scan, ','));
		if (!scan_take(&parser->scan, ')'))
			return scan_bad(&parser->scan, "the parameters of computation \"%.60s\" have no end", name);
	}
	scan_skip(&parser->scan);
	if (scan_starts(&parser->scan, "->")) {
		parser->scan.at += 2;
		TRY(scan_shape(&parser->scan, 0, &result));
	}
	return scan_take(&parser->scan, '{') ? OK : scan_bad(&parser->scan, "computation \"%.60s\" has no body", name);
}

/* "%name (a: f32[]) -> f32[] {", "ENTRY %name {", then instructions and "}". */
static enum status text_read_computation(struct parser *parser)
{
	struct hlo_computation computation = { .root = NONE };
	unsigned line = parser->scan.line;
	struct span name = scan_word(&parser->scan);
	bool entry = scan_is(name, "ENTRY");
	if (entry)
		name = scan_word(&parser->scan);
	if (scan_length(name) == 0)
		return scan_bad(&parser->scan, "a computation was expected");
	if (!(computation.name = scan_keep(&parser->scan, name)))
		return scan_no_memory(&parser->scan);
	TRY(pass_signature(parser, computation.name));
	parser->instructions = 0;
	names_free(&parser->names);
	parser->names = (struct names){ 0 };
	enum status status = OK;
	while (status == OK && !scan_take(&parser->scan, '}')) {
		if (parser->scan.at >= parser->scan.end)
			return scan_bad(&parser->scan, "the file is truncated in computation \"%.60s\"", computation.name);
		status = text_read_instruction(parser, &computation);
	}
	TRY(status);
	scan_skip(&parser->scan);
	if (parser->scan.at < parser->scan.end && *parser->scan.at == ',') { /* ", execution_thread=..." */
		const char *next = memchr(parser->scan.at, '\n', (size_t)(parser->scan.end - parser->scan.at));
		parser->scan.at = next ? next : parser->scan.end;
	}
	computation.instructions = parser->instructions;
	if (computation.root == NONE)
		computation.root = computation.instructions - 1;
	if (computation.instructions == 0)
		return scan_bad(&parser->scan, "computation \"%.60s\" is empty", computation.name);
	ROOM(parser->scan.arena, computation.instruction, computation.instructions);
	uint32_t id = parser->module->computations, first = names_add(&parser->computations, computation.name, id);
	if (!computation.instruction ||
		!mem_reserve(&parser->module->computation, &parser->computation_room, id + 1, sizeof computation) ||
		first == NONE)
		return scan_no_memory(&parser->scan);
	if (first != id) {
		parser->scan.line = line;
		return scan_bad(&parser->scan, "there are two computations named \"%.60s\"", computation.name);
	}
	COPY(computation.instruction, parser->instruction, computation.instructions);
	parser->module->computation[parser->module->computations++] = computation;
	if (entry)
		parser->module->entry = id;
	return OK;
}

/* ---- the module ---- */

static enum status text_read_header(struct parser *parser)
{
	struct span name;
	scan_word(&parser->scan);
	name = scan_word(&parser->scan);
	if (scan_length(name) == 0)
		return scan_bad(&parser->scan, "the module's name was expected");
	if (!(parser->module->name = scan_keep(&parser->scan, name)))
		return scan_no_memory(&parser->scan);
	int64_t partitions = 1, replicas = 1, number;
	struct span key, value;
	while (next_attribute(parser, &key, &value)) {
		if (scan_is(key, "is_scheduled"))
			parser->module->scheduled = scan_is(value, "true");
		else if (scan_is(key, "input_output_alias"))
			TRY(text_read_aliases(parser, value, &parser->module->alias, &parser->module->aliases));
		else if (scan_is(key, "num_partitions") && scan_number(value, &number) && number < 1 << 20)
			partitions = number;
		else if (scan_is(key, "replica_count") && scan_number(value, &number) && number < 1 << 10)
			replicas = number;
	}
	parser->module->devices = (uint32_t)(partitions * replicas > 0 ? partitions * replicas : 1);
	return OK;
}

static enum status text_read_tables(struct parser *parser)
{
	enum status status = OK;
	for (scan_skip(&parser->scan); status == OK; scan_skip(&parser->scan)) {
		if (scan_starts(&parser->scan, "FileNames\n"))
			parser->scan.at += 9, scan_skip(&parser->scan),
				status = read_texts(parser, &parser->file, &parser->files, &parser->file_room);
		else if (scan_starts(&parser->scan, "FunctionNames\n"))
			parser->scan.at += 13, scan_skip(&parser->scan),
				status = read_texts(parser, &parser->function, &parser->functions, &parser->function_room);
		else if (scan_starts(&parser->scan, "FileLocations\n"))
			parser->scan.at += 13, scan_skip(&parser->scan), status = read_locations(parser);
		else if (scan_starts(&parser->scan, "StackFrames\n"))
			parser->scan.at += 11, scan_skip(&parser->scan), status = read_frames(parser);
		else
			break;
	}
	return status;
}

/* Names of computations become numbers. */
static enum status text_resolve(struct parser *parser)
{
	struct hlo_module *module = parser->module;
	FOR(c, module->computations)
		FOR(i, module->computation[c].instructions) {
			struct hlo_instruction *instruction = &module->computation[c].instruction[i];
			if (!(instruction->call = arena_alloc(parser->scan.arena, instruction->calls, sizeof *instruction->call)))
				return scan_no_memory(&parser->scan);
			FOR(k, instruction->calls)
				instruction->call[k] = NONE;
		}
	FOR(r, parser->references) {
		const struct reference *reference = &parser->reference[r];
		struct hlo_instruction *instruction = &module->computation[reference->computation]
												   .instruction[reference->instruction];
		uint32_t id = names_find(&parser->computations, reference->name);
		parser->scan.line = reference->line;
		if (id == NONE)
			return scan_bad(&parser->scan, "unknown computation \"%.60s\"", reference->name);
		instruction->call[reference->slot] = id;
	}
	return OK;
}

static enum status text_read_module(struct parser *parser)
{
	scan_skip(&parser->scan);
	parser->module->name = "module"; /* of computations alone */
	enum status status = scan_starts(&parser->scan, "HloModule") ? text_read_header(parser) : OK;
	if (status == OK)
		status = text_read_tables(parser);
	parser->module->entry = NONE;
	for (scan_skip(&parser->scan); status == OK && parser->scan.at < parser->scan.end; scan_skip(&parser->scan))
		status = scan_starts(&parser->scan, "HloModule ")
			? scan_bad(&parser->scan, "a second module begins: split the file, one module in each")
			: text_read_computation(parser);
	if (status == OK && parser->module->computations == 0)
		return scan_bad(&parser->scan, "the module has no computation");
	if (status == OK && parser->module->entry == NONE)
		parser->module->entry = parser->module->computations - 1;
	return status == OK ? text_resolve(parser) : status;
}

enum status hlo_text_read(const char *text, size_t size, struct hlo_module *module, struct error *error)
{
	*module = (struct hlo_module){ .devices = 1 };
	*error = (struct error){ 0 };
	struct parser parser = { .scan = { text, text + size, 1, error, &module->arena }, .module = module };
	enum status status = memchr(text, '\0', size) ? scan_bad(&parser.scan, "the text contains a NUL byte")
		: text_read_module(&parser);
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
