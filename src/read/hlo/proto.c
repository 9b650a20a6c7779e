/* proto.c: reads an HloProto (module and buffer assignment) or an HloModuleProto; field numbers are those of
 * xla/service/hlo.proto and xla/xla_data.proto. */
#include <stdio.h>
#include <stdlib.h>

#include "hlo.h"

struct numbered { int64_t id; uint32_t index; };

struct order { int64_t computation; int64_t *instruction; size_t count, room; }; /* of a schedule */

struct reader {
	struct hlo_module *module;
	struct error *error;
	struct arena *arena;
	struct numbered *computation; /* ids of the module's computations, sorted */
	struct order *order;          /* of computations */
	size_t orders, order_room;
	struct table { struct wire *row; size_t rows, room; } table[4]; /* of source locations: rows by number */
	int64_t entry;
};

static enum status proto_bad(struct reader *reader, const char *what)
{
	return refuse(reader->error, "not an HLO proto: %s", what);
}

static const char *proto_text_of(struct reader *reader, struct wire body)
{
	size_t size = wire_size(body);
	const void *nul = memchr(body.at, '\0', size);
	return arena_text(reader->arena, (const char *)body.at, nul ? (size_t)((const unsigned char *)nul - body.at) : size);
}

/* ---- shapes ---- */

static const char *const primitive_types[] = { NULL, "pred", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64",
	"f16", "f32", "f64", NULL, "opaque", "c64", "bf16", "token", "c128", "f8e5m2", "f8e4m3fn", "s4", "u4",
	"f8e4m3b11fnuz", "f8e5m2fnuz", "f8e4m3fnuz", "s2", "u2", "f8e4m3", "f8e3m4", "s1", "u1", "f4e2m1fn", "f8e8m0fnu" };

static enum status proto_read_dims(struct reader *reader, const struct wire_field *field, struct hlo_shape *shape)
{
	HELD int64_t *dim = NULL;
	size_t count = 0, room = 0;
	if (!wire_integers(field, &dim, &count, &room, DIMS_MAX) || count + shape->rank > DIMS_MAX)
		return proto_bad(reader, "a shape has too many dims");
	FOR_SIZE(i, count) {
		shape->unsized |= dim[i] < 0;
		shape->dim[shape->rank++] = LARGER(0, dim[i]);
	}
	return OK;
}

static enum status proto_read_shape(struct reader *reader, struct wire body, int depth, struct hlo_shape *shape)
{
	struct wire_field field;
	struct wire again = body;
	uint32_t parts = 0;
	uint64_t type = 0;
	if (depth > HLO_DEPTH)
		return proto_bad(reader, "tuples are nested too deep");
	while (wire_next(&again, &field))
		parts += field.number == 4 && field.type == 2;
	if (!(shape->part = arena_alloc(reader->arena, parts, sizeof *shape->part)))
		return fail_memory(reader->error);
	while (wire_next(&body, &field)) {
		if (field.number == 2)
			type = field.value;
		else if (field.number == 3)
			TRY(proto_read_dims(reader, &field, shape));
		else if (field.number == 4 && field.type == 2)
			TRY(proto_read_shape(reader, field.body, depth + 1, &shape->part[shape->parts++]));
		else if (field.number == 5 && field.type == 2)
			shape->layout = hlo_layout(0, (const char *)field.body.at, wire_size(field.body));
	}
	shape->tuple = type == 13 || type == 17;
	const char *name = type < COUNT_OF(primitive_types) ? primitive_types[type] : NULL;
	int dtype = name ? hlo_dtype(name, strlen(name)) : DTYPE_COUNT;
	shape->dtype = dtype < 0 || dtype == DTYPE_COUNT ? DTYPE_OPAQUE : (uint8_t)dtype;
	if (!shape->tuple && shape->parts)
		return proto_bad(reader, "a shape that is not a tuple has parts");
	return hlo_shape_finish(shape) ? OK : proto_bad(reader, "a shape's size overflows");
}

/* ---- source locations ---- */

enum { FILES, FUNCTIONS, LOCATIONS, FRAMES };

static enum status proto_read_tables(struct reader *reader, struct wire body)
{
	struct wire_field field;
	while (wire_next(&body, &field)) {
		if (field.number < 1 || field.number > 4 || field.type != 2)
			continue;
		struct table *table = &reader->table[field.number - 1];
		if (!mem_reserve(&table->row, &table->room, table->rows + 1, sizeof *table->row))
			return fail_memory(reader->error);
		table->row[table->rows++] = field.body;
	}
	return OK;
}

/* The integer fields 1, 2, 3 of row id, counted from 1; zeros where there is none. */
static void proto_row_of(const struct reader *reader, int which, uint64_t id, uint64_t number[4])
{
	const struct table *table = &reader->table[which];
	struct wire_field field;
	CLEAR(number, 4);
	if (id < 1 || id > table->rows)
		return;
	struct wire body = table->row[id - 1];
	while (wire_next(&body, &field))
		if (field.number <= 3 && field.type == 0)
			number[field.number] = field.value;
}

static struct wire proto_name_of(const struct reader *reader, int which, uint64_t id)
{
	const struct table *table = &reader->table[which];
	return id >= 1 && id <= table->rows ? table->row[id - 1] : (struct wire){ 0 };
}

static bool installed(struct wire file)
{
	static const char part[] = "-packages/";
	for (const unsigned char *at = file.at; at && (size_t)(file.end - at) >= sizeof part - 1; at++)
		if (memcmp(at, part, sizeof part - 1) == 0)
			return true;
	return false;
}

/* As in text.c: the innermost frame that is not in an installed package. */
static const char *proto_frame_text(struct reader *reader, uint64_t id)
{
	uint64_t frame[4], location[4], best[4] = { 0 };
	FOR_INT(steps, 200) {
		proto_row_of(reader, FRAMES, id, frame);
		proto_row_of(reader, LOCATIONS, frame[1], location);
		struct wire file = proto_name_of(reader, FILES, location[1]);
		if (!file.at)
			break;
		if (best[1] == 0 || !installed(file))
			memcpy(best, location, sizeof best);
		if (!installed(file) || frame[2] == 0 || frame[2] >= id + 1)
			break;
		if (frame[2] - 1 == 0 || frame[2] - 1 >= id)
			break;
		id = frame[2] - 1;
	}
	struct wire file = proto_name_of(reader, FILES, best[1]), function = proto_name_of(reader, FUNCTIONS, best[2]);
	if (!file.at)
		return NULL;
	char text[1200];
	PRINT_TO(text, "%.*s:%llu%s%.*s", (int)SMALLER(700, wire_size(file)),
		(const char *)file.at, (unsigned long long)best[3], function.at ? " in " : "",
		(int)SMALLER(300, wire_size(function)), function.at ? (const char *)function.at : "");
	return arena_text(reader->arena, text, strlen(text));
}

static enum status proto_read_metadata(struct reader *reader, struct wire body, struct hlo_instruction *instruction)
{
	struct wire_field field;
	struct wire file = { 0 };
	uint64_t line = 0, frame = 0;
	while (wire_next(&body, &field)) {
		if (field.number == 2 && field.type == 2 && wire_size(field.body) &&
			!(instruction->op_name = proto_text_of(reader, field.body)))
			return fail_memory(reader->error);
		if (field.number == 3 && field.type == 2)
			file = field.body;
		if (field.number == 4)
			line = field.value;
		if (field.number == 15 && field.type == 0)
			frame = field.value;
	}
	if (frame)
		instruction->src = proto_frame_text(reader, frame);
	else if (wire_size(file)) {
		char text[800];
		PRINT_TO(text, "%.*s:%llu", (int)SMALLER(700, wire_size(file)),
			(const char *)file.at, (unsigned long long)line);
		instruction->src = arena_text(reader->arena, text, strlen(text));
	}
	return OK;
}

/* ---- instructions ---- */

/* How many take part in a collective; the module's devices are as many as one says at least. */
static void proto_read_groups(
	struct reader *reader, const struct wire_field *field, struct hlo_instruction *instruction)
{
	struct hlo_groups groups = hlo_groups_proto(field->number, field->body);
	instruction->group = instruction->group ? instruction->group : groups.size;
	hlo_add_devices(reader->module, groups.devices);
}

/* DeviceAssignmentProto: replica_count 1, computation_count 2. */
static void read_devices(struct reader *reader, struct wire body)
{
	struct wire_field field;
	uint64_t count[3] = { 1, 1, 1 };
	while (wire_next(&body, &field))
		if (field.number < 3 && field.type == 0)
			count[field.number] = field.value;
	if (count[1] > 0 && count[1] <= HLO_DEVICES_MOST && count[2] > 0 && count[2] <= HLO_DEVICES_MOST / count[1])
		hlo_add_devices(reader->module, (uint32_t)(count[1] * count[2]));
}

/* OpSharding: type 1, of which 3 is a cut over devices; tiles along each dim 3; 5 the shardings of a tuple's parts.
 * Into how many. */
static uint32_t shards_of(struct wire body, int depth)
{
	struct wire_field field;
	uint64_t type = 0, product = 1;
	HELD int64_t *tile = NULL;
	size_t tiles = 0, room = 0;
	uint32_t found = 0;
	while (!found && wire_next(&body, &field)) {
		if (field.number == 1 && field.type == 0)
			type = field.value;
		else if (field.number == 3 && !wire_integers(&field, &tile, &tiles, &room, DIMS_MAX + 1))
			return 0;
		else if (field.number == 5 && field.type == 2 && depth < 2)
			found = shards_of(field.body, depth + 1);
	}
	for (size_t i = 0; i < tiles && product <= HLO_DEVICES_MOST; i++)
		product *= tile[i] > 0 && tile[i] <= HLO_DEVICES_MOST ? (uint64_t)tile[i] : HLO_DEVICES_MOST;
	return found ? found : type == 3 && tiles && product <= HLO_DEVICES_MOST ? (uint32_t)product : 0;
}

/* "1,2" of the dims in field 1. */
static const char *contracted(struct reader *reader, struct wire body)
{
	struct wire_field field;
	char text[100] = "";
	size_t used = 0, count = 0, room = 0;
	HELD int64_t *dim = NULL;
	while (wire_next(&body, &field))
		if (field.number == 1 && !wire_integers(&field, &dim, &count, &room, DIMS_MAX))
			break;
	for (size_t i = 0; i < count && used + 24 < sizeof text; i++)
		used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", used ? "," : "", (long long)dim[i]);
	return arena_text(reader->arena, text, used);
}

/* Of a kernel: "_..o..->" with the outputs' dim in its place, which is all that is asked of labels. */
static const char *labels(struct reader *reader, struct wire body)
{
	struct wire_field field;
	char text[DIMS_MAX + 2] = "_";
	uint64_t output = 0;
	while (wire_next(&body, &field))
		if (field.number == 4 && field.type == 0)
			output = field.value;
	memset(text + 1, '.', DIMS_MAX);
	if (output < DIMS_MAX)
		text[1 + output] = 'o';
	return arena_text(reader->arena, text, strlen(text));
}

static int64_t trip_count(struct wire body)
{
	static const char key[] = "known_trip_count\":{\"n\":\"";
	for (const unsigned char *at = body.at; at && (size_t)(body.end - at) > sizeof key; at++)
		if (memcmp(at, key, sizeof key - 1) == 0) {
			int64_t number = 0;
			for (at += sizeof key - 1; at < body.end && *at >= '0' && *at <= '9' && number < INT64_MAX / 20; at++)
				number = number * 10 + (*at - '0');
			return number;
		}
	return 0;
}

static uint32_t count_fields(struct wire body, uint32_t number)
{
	struct wire_field field;
	uint32_t count = 0;
	while (wire_next(&body, &field))
		count += field.number == number && field.type == 2;
	return count;
}

/* AliasEntryProto of a module, OutputOperandAliasing of an instruction: output index 1, parameter or operand 2, index
 * in that 3. Of nested tuples no alias is told. */
static void proto_add_alias(struct wire body, struct hlo_alias *alias, uint32_t *aliases)
{
	struct wire_field field;
	struct hlo_alias one = { 0 };
	HELD int64_t *index = NULL;
	size_t count[2] = { 0 }, room = 0;
	while (wire_next(&body, &field)) {
		if (field.number == 2)
			one.parameter = field.value < NONE ? (uint32_t)field.value : NONE;
		if (field.number != 1 && field.number != 3)
			continue;
		size_t *of = &count[field.number / 2];
		if (!wire_integers(&field, &index, of, &room, 8) || *of > 1)
			return;
		if (*of == 1 && index[0] >= 0 && index[0] < NONE)
			*(field.number == 1 ? &one.output : &one.leaf) = (uint32_t)index[0];
	}
	alias[(*aliases)++] = one;
}

/* What is read of an instruction before ids are known. */
struct raw {
	struct hlo_instruction instruction;
	int64_t id, *operand, *call;
	size_t operands, operand_room, calls, call_room;
	uint32_t placed; /* in the computation's order, NONE: not yet */
	size_t seen;     /* operands that are placed, or next to be */
	bool waiting;
};

/* How it is spread over devices. */
static void proto_read_spread(
	struct reader *reader, const struct wire_field *field, struct hlo_instruction *instruction)
{
	switch (field->number) {
	case 28:
		reader->module->unpartitioned |= hlo_partitioned_away((const char *)field->body.at, wire_size(field->body));
		break;
	case 40: hlo_add_devices(reader->module, instruction->shards = shards_of(field->body, 0)); break;
	case 49: case 87: case 92: case 93: proto_read_groups(reader, field, instruction); break;
	case 52: instruction->group = 2; break; /* source_target_pairs */
	default: break;
	}
}

/* Numbers, and lists of them, which are bytes where they are packed. */
static bool proto_read_numbers(const struct wire_field *field, struct raw *raw)
{
	switch (field->number) {
	case 9: case 13: raw->instruction.index = field->value < NONE ? (uint32_t)field->value : raw->instruction.index; break;
	case 35: raw->id = raw->instruction.id = (int64_t)field->value; break;
	case 36: return wire_integers(field, &raw->operand, &raw->operands, &raw->operand_room, NONE - 1);
	case 38: return wire_integers(field, &raw->call, &raw->calls, &raw->call_room, NONE - 1);
	default: break;
	}
	return true;
}

static enum status proto_read_instruction(struct reader *reader, struct wire body, struct raw *raw)
{
	struct hlo_instruction *instruction = &raw->instruction;
	struct wire_field field;
	instruction->name = instruction->opcode = "";
	if (!(instruction->shape = arena_alloc(reader->arena, 1, sizeof *instruction->shape)))
		return fail_memory(reader->error);
	while (wire_next(&body, &field)) {
		if (!proto_read_numbers(&field, raw))
			return fail_memory(reader->error);
		if (field.type != 2)
			continue;
		switch (field.number) {
		case 1: instruction->name = proto_text_of(reader, field.body); break;
		case 2: instruction->opcode = proto_text_of(reader, field.body); break;
		case 3:
			if (!instruction->shape->parts && !instruction->shape->rank)
				TRY(proto_read_shape(reader, field.body, 0, instruction->shape));
			break;
		case 7: TRY(proto_read_metadata(reader, field.body, instruction)); break;
		case 16: instruction->labels = labels(reader, field.body); break;
		case 30: instruction->lhs_contracting = contracted(reader, field.body); break;
		case 43: instruction->trips = trip_count(field.body); break;
		case 74:
			if (!instruction->alias && !ROOM(reader->arena, instruction->alias, count_fields(body, 74) + 1))
				return fail_memory(reader->error);
			proto_add_alias(field.body, instruction->alias, &instruction->aliases);
			break;
		default: proto_read_spread(reader, &field, instruction);
		}
		if (!instruction->name || !instruction->opcode)
			return fail_memory(reader->error);
	}
	return body.broken || !*instruction->name || !*instruction->opcode
		? proto_bad(reader, "an instruction without a name or opcode") : OK;
}

static int proto_by_id(const void *a, const void *b)
{
	const struct numbered *one = a, *two = b;
	return one->id < two->id ? -1 : one->id > two->id;
}

static uint32_t find_id(const struct numbered *list, size_t count, int64_t id)
{
	const struct numbered *found = count
		? bsearch(&(struct numbered){ .id = id }, list, count, sizeof *list, proto_by_id)
		: NULL;
	return found ? found->index : NONE;
}

/* One computation while it is read. */
struct body {
	struct raw *raw;
	size_t raws, room;
	struct numbered *number;
	uint32_t *order, placed;
	uint32_t *stack;
};

/* Puts an instruction behind all that it reads. */
static enum status proto_place(struct reader *reader, struct body *body, uint32_t first)
{
	uint32_t depth = 0;
	body->stack[depth++] = first;
	while (depth > 0) {
		struct raw *raw = &body->raw[body->stack[depth - 1]];
		uint32_t next = NONE;
		for (; raw->placed == NONE && next == NONE && raw->seen < raw->operands; raw->seen++) {
			uint32_t operand = find_id(body->number, body->raws, raw->operand[raw->seen]);
			if (operand == NONE)
				return proto_bad(reader, "an operand that its computation doesn't have");
			if (body->raw[operand].placed == NONE)
				next = operand;
		}
		if (next == NONE) {
			if (raw->placed == NONE) {
				raw->placed = body->placed;
				body->order[body->placed++] = body->stack[depth - 1];
			}
			raw->waiting = false;
			depth--;
			continue;
		}
		raw->waiting = true;
		if (body->raw[next].waiting)
			return proto_bad(reader, "instructions that wait for each other");
		body->stack[depth++] = next;
	}
	return OK;
}

static enum status proto_finish(
	struct reader *reader, struct body *body, int64_t id, struct hlo_computation *computation, int64_t root)
{
	static const struct order none;
	const struct order *order = &none;
	computation->instructions = (uint32_t)body->raws;
	ROOM(reader->arena, computation->instruction, body->raws);
	MAKE(body->number, body->raws);
	MAKE(body->order, body->raws);
	MAKE(body->stack, body->raws + 1);
	if (!(computation->instruction && body->number && body->order && body->stack))
		return fail_memory(reader->error);
	FOR(i, body->raws) {
		body->number[i] = (struct numbered){ body->raw[i].id, i };
		body->raw[i].placed = NONE;
	}
	qsort(body->number, body->raws, sizeof *body->number, proto_by_id);
	FOR_SIZE(i, reader->orders)
		if (reader->order[i].computation == id)
			order = &reader->order[i];
	FOR_SIZE(i, order->count) {
		uint32_t next = find_id(body->number, body->raws, order->instruction[i]);
		if (next != NONE)
			TRY(proto_place(reader, body, next));
	}
	FOR(i, body->raws)
		TRY(proto_place(reader, body, i));
	computation->root = NONE;
	FOR(i, body->placed) {
		struct raw *raw = &body->raw[body->order[i]];
		struct hlo_instruction *instruction = &raw->instruction;
		instruction->operands = (uint32_t)raw->operands;
		instruction->calls = (uint32_t)raw->calls;
		if (!(ROOM(reader->arena, instruction->operand, raw->operands) &&
			ROOM(reader->arena, instruction->call, raw->calls)))
			return fail_memory(reader->error);
		FOR_SIZE(k, raw->operands)
			instruction->operand[k] = body->raw[find_id(body->number, body->raws, raw->operand[k])].placed;
		FOR_SIZE(k, raw->calls)
			if ((instruction->call[k] = find_id(reader->computation, reader->module->computations, raw->call[k])) == NONE)
				return proto_bad(reader, "a call of a computation that isn't there");
		computation->instruction[i] = *instruction;
		if (raw->id == root)
			computation->root = i;
	}
	if (computation->root == NONE) {
		if (root)
			return proto_bad(reader, "a computation's root is none of its instructions");
		computation->root = computation->instructions - 1;
	}
	return OK;
}

static void body_free(struct body *body)
{
	FOR_SIZE(i, body->raws) {
		mem_free(body->raw[i].operand);
		mem_free(body->raw[i].call);
	}
	mem_free(body->raw);
	mem_free(body->number);
	mem_free(body->order);
	mem_free(body->stack);
}

static enum status proto_read_computation(struct reader *reader, struct wire body, struct hlo_computation *computation)
{
	struct wire_field field;
	struct body inner = { 0 };
	int64_t id = 0, root = 0;
	enum status status = OK;
	computation->name = "";
	while (status == OK && wire_next(&body, &field)) {
		if (field.number == 1 && field.type == 2 && !(computation->name = proto_text_of(reader, field.body)))
			status = fail_memory(reader->error);
		else if (field.number == 5)
			id = (int64_t)field.value;
		else if (field.number == 6)
			root = (int64_t)field.value;
		else if (field.number == 2 && field.type == 2) {
			if (!mem_reserve(&inner.raw, &inner.room, inner.raws + 1, sizeof *inner.raw)) {
				status = fail_memory(reader->error);
				break;
			}
			inner.raw[inner.raws] = (struct raw){ 0 };
			status = proto_read_instruction(reader, field.body, &inner.raw[inner.raws++]);
		}
	}
	if (status == OK && (body.broken || inner.raws == 0))
		status = proto_bad(reader, "an empty or broken computation");
	if (status == OK)
		status = proto_finish(reader, &inner, id, computation, root);
	body_free(&inner);
	return status;
}

/* ---- the module ---- */

/* A map from a computation's id to a sequence of instruction ids. */
static enum status proto_read_schedule(struct reader *reader, struct wire body)
{
	struct wire_field entry, field, id;
	while (wire_next(&body, &entry)) {
		if (entry.number != 1 || entry.type != 2)
			continue;
		if (!mem_reserve(&reader->order, &reader->order_room, reader->orders + 1, sizeof *reader->order))
			return fail_memory(reader->error);
		struct order *order = &reader->order[reader->orders++];
		*order = (struct order){ 0 };
		while (wire_next(&entry.body, &field)) {
			if (field.number == 1)
				order->computation = (int64_t)field.value;
			while (field.number == 2 && field.type == 2 && wire_next(&field.body, &id))
				if (id.number == 1 && !wire_integers(&id, &order->instruction, &order->count, &order->room, NONE - 1))
					return fail_memory(reader->error);
		}
		reader->module->scheduled = true;
	}
	return OK;
}

static enum status proto_read_aliases(struct reader *reader, struct wire body)
{
	struct wire_field entry;
	if (!(reader->module->alias = arena_alloc(reader->arena, count_fields(body, 1), sizeof *reader->module->alias)))
		return fail_memory(reader->error);
	while (wire_next(&body, &entry))
		if (entry.number == 1 && entry.type == 2)
			proto_add_alias(entry.body, reader->module->alias, &reader->module->aliases);
	return OK;
}

/* Ids of computations, which calls name before they come. */
static enum status number_computations(struct reader *reader, struct wire body, uint32_t count)
{
	struct wire_field field, inner;
	uint32_t n = 0;
	MAKE(reader->computation, count);
	MAKE(reader->module->computation, count);
	if (!(reader->computation && reader->module->computation))
		return fail_memory(reader->error);
	while (wire_next(&body, &field)) {
		if (field.number != 3 || field.type != 2)
			continue;
		reader->computation[n] = (struct numbered){ 0, n };
		while (wire_next(&field.body, &inner))
			if (inner.number == 5)
				reader->computation[n].id = (int64_t)inner.value;
		n++;
	}
	reader->module->computations = n;
	qsort(reader->computation, n, sizeof *reader->computation, proto_by_id);
	return OK;
}

static enum status proto_read_module(struct reader *reader, struct wire body)
{
	struct wire_field field;
	struct wire again = body;
	uint32_t count = 0, next = 0;
	reader->module->name = "module";
	while (wire_next(&again, &field)) {
		if (field.number == 6)
			reader->entry = (int64_t)field.value;
		if (field.type != 2)
			continue;
		switch (field.number) {
		case 1:
			if (!(reader->module->name = proto_text_of(reader, field.body)))
				return fail_memory(reader->error);
			break;
		case 3: count++; break;
		case 7: TRY(proto_read_schedule(reader, field.body)); break;
		case 8: TRY(proto_read_aliases(reader, field.body)); break;
		case 15: read_devices(reader, field.body); break;
		case 17: TRY(proto_read_tables(reader, field.body)); break;
		default: break;
		}
	}
	if (again.broken || count == 0)
		return proto_bad(reader, "the module is broken or has no computations");
	TRY(number_computations(reader, body, count));
	while (wire_next(&body, &field))
		if (field.number == 3 && field.type == 2)
			TRY(proto_read_computation(reader, field.body, &reader->module->computation[next++]));
	reader->module->entry = find_id(reader->computation, reader->module->computations, reader->entry);
	return reader->module->entry == NONE ? proto_bad(reader, "the entry computation isn't there") : OK;
}

/* A module's first field is a text, its name; an HloProto's is a message. A snapshot holds an HloProto in field 1. */
static bool proto_is_module(struct wire body)
{
	struct wire_field field;
	bool entry = false, computations = false;
	while (wire_next(&body, &field)) {
		entry |= field.number == 2 && field.type == 2;
		computations |= field.number == 3 && field.type == 2;
		if (field.number == 2 || field.number == 3)
			for (const unsigned char *at = field.body.at; field.number == 2 && at < field.body.end; at++)
				if (*at < ' ' || *at > '~')
					return false;
	}
	return !body.broken && entry && computations;
}

enum status hlo_proto_read(const char *data, size_t size, struct hlo_module *module, struct error *error)
{
	*module = (struct hlo_module){ .devices = 1 };
	*error = (struct error){ 0 };
	struct reader reader = { .module = module, .error = error, .arena = &module->arena };
	struct wire body = wire_of(data, size), assignment = { 0 };
	enum status status = OK;
	bool broken = false; /* behind a whole module: its buffer assignment would be lost without a word */
	for (int level = 0; level < 3 && !proto_is_module(body); level++) {
		struct wire outer = body;
		struct wire_field field;
		bool found = false;
		while (wire_next(&outer, &field)) {
			if (field.number == 1 && field.type == 2 && !found) {
				body = field.body;
				found = true;
			}
			if (field.number == 3 && field.type == 2)
				assignment = field.body;
		}
		broken |= found && outer.broken;
		if (!found || outer.broken)
			break;
	}
	if (broken)
		status = proto_bad(&reader, "what is around the module is truncated or broken");
	else
		status = proto_is_module(body) ? proto_read_module(&reader, body) : proto_bad(&reader, "it has no module");
	if (status == OK && wire_size(assignment))
		status = hlo_assignment_proto(assignment, module, error);
	mem_free(reader.computation);
	FOR_SIZE(i, reader.orders)
		mem_free(reader.order[i].instruction);
	mem_free(reader.order);
	FOR_INT(i, 4)
		mem_free(reader.table[i].row);
	return error_set(error, status);
}
