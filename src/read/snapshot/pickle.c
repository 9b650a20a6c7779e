/* pickle.c: the stack machine of Python's pickles, without objects. */
#include <inttypes.h>

#include "snapshot.h"

#define CHUNK      (256u << 10)
#define STACK_MOST (1u << 20)
#define WORD_MOST  30
#define MEMO_GAP   1024u /* indices that a PUT may leave out */
#define MEMO_MOST  (UINT32_C(1) << 28)
#define MEMO_SHIFT 29 /* an entry is a kind above a word's index, or what is kept */

struct machine {
	struct source source;
	const struct pickle_visitor *visitor;
	struct error *error;
	unsigned char *chunk;
	size_t have, at;
	uint64_t before; /* bytes of chunks that are used up */
	struct pickle_value *stack;
	size_t room, depth;
	uint32_t *mark; /* depths at which marks stand */
	size_t mark_room, marks;
	uint32_t *memo;
	size_t memo_room, memos;
};

static enum status pickle_refuse(struct machine *machine, const char *what)
{
	return refuse(machine->error, "byte %" PRIu64 ": %s", machine->before + machine->at, what);
}

/* ---- bytes ---- */

static enum status pickle_refill(struct machine *machine)
{
	machine->before += machine->have;
	machine->at = machine->have = 0;
	ssize_t got = machine->source.read(machine->source.context, machine->chunk, CHUNK, machine->error);
	if (got < 0)
		return machine->error->status;
	machine->have = (size_t)got;
	return got ? OK : pickle_refuse(machine, "the pickle is truncated");
}

/* Copies bytes to `to`, or skips them where that is NULL. */
static enum status take_long(struct machine *machine, void *to, uint64_t bytes)
{
	unsigned char *out = to;
	while (bytes) {
		if (machine->at == machine->have) {
			TRY(pickle_refill(machine));
		}
		size_t part = machine->have - machine->at;
		if (part > bytes)
			part = (size_t)bytes;
		if (out) {
			memcpy(out, machine->chunk + machine->at, part);
			out += part;
		}
		machine->at += part;
		bytes -= part;
	}
	return OK;
}

/* The same; nearly always they lie in the chunk. */
static inline enum status pickle_take(struct machine *machine, void *to, uint64_t bytes)
{
	if (machine->have - machine->at < bytes)
		return take_long(machine, to, bytes);
	if (to)
		memcpy(to, machine->chunk + machine->at, bytes);
	machine->at += bytes;
	return OK;
}

/* A little-endian number of up to 8 bytes: of eight in the chunk the lowest ones, which takes no loop. */
static inline enum status pickle_take_number(struct machine *machine, unsigned bytes, uint64_t *number)
{
	unsigned char byte[8] = { 0 };
	bool ahead = machine->have - machine->at >= sizeof byte;
	TRY(pickle_take(machine, byte, ahead ? sizeof byte : bytes));
	*number = (uint64_t)byte[0] | (uint64_t)byte[1] << 8 | (uint64_t)byte[2] << 16 | (uint64_t)byte[3] << 24 |
		(uint64_t)byte[4] << 32 | (uint64_t)byte[5] << 40 | (uint64_t)byte[6] << 48 | (uint64_t)byte[7] << 56;
	if (ahead) {
		machine->at -= sizeof byte - bytes;
		*number = bytes ? *number & UINT64_MAX >> (64 - 8 * bytes) : 0;
	}
	return OK;
}

/* ---- stack ---- */

static inline enum status pickle_push(struct machine *machine, struct pickle_value value)
{
	if (machine->depth == STACK_MOST)
		return pickle_refuse(machine, "the pickle needs a stack of more than a million values");
	if (!mem_reserve(&machine->stack, &machine->room, machine->depth + 1, sizeof value))
		return fail_memory(machine->error);
	machine->stack[machine->depth++] = value;
	return OK;
}

static enum status push_kind(struct machine *machine, unsigned kind)
{
	return pickle_push(machine, (struct pickle_value){ .kind = (uint8_t)kind, .memo = NONE });
}

/* Where what belongs to the innermost collection begins: nothing below a mark is taken by accident. */
static size_t floor_of(const struct machine *machine)
{
	return machine->marks ? machine->mark[machine->marks - 1] : 0;
}

static enum status need(struct machine *machine, size_t values)
{
	return machine->depth - floor_of(machine) >= values
		? OK
		: pickle_refuse(machine, "the pickle takes from an empty stack");
}

static enum status push_mark(struct machine *machine)
{
	if (machine->marks == STACK_MOST)
		return pickle_refuse(machine, "the pickle is nested too deeply");
	if (!mem_reserve(&machine->mark, &machine->mark_room, machine->marks + 1, sizeof *machine->mark))
		return fail_memory(machine->error);
	machine->mark[machine->marks++] = (uint32_t)machine->depth;
	return OK;
}

/* Takes the topmost mark away; *from is the first value above it. */
static enum status pop_mark(struct machine *machine, size_t *from)
{
	if (machine->marks == 0)
		return pickle_refuse(machine, "the pickle misses a mark");
	*from = machine->mark[--machine->marks];
	return OK;
}

/* Puts one value in the place of all from there on. */
static enum status pickle_replace(struct machine *machine, size_t from, unsigned kind)
{
	machine->depth = from;
	return push_kind(machine, kind);
}

static enum status replace_marked(struct machine *machine, unsigned kind)
{
	size_t from = 0;
	TRY(pop_mark(machine, &from));
	return pickle_replace(machine, from, kind);
}

static enum status replace_top(struct machine *machine, unsigned values)
{
	TRY(need(machine, values));
	return pickle_replace(machine, machine->depth - values, PICKLE_OTHER);
}

/* ---- dicts and lists ---- */

/* Numbers are not kept. */
static uint32_t memo_entry(const struct pickle_value *value)
{
	enum pickle_kind kind = value->kind == PICKLE_NUMBER ? PICKLE_OTHER : (enum pickle_kind)value->kind;
	return (uint32_t)kind << MEMO_SHIFT | (kind == PICKLE_WORD ? (uint32_t)value->number : value->kept);
}

/* What stands above its collection comes into it. */
static enum status pickle_fill(struct machine *machine, size_t from, unsigned kind)
{
	if (from == 0 || from <= floor_of(machine) || machine->stack[from - 1].kind != kind)
		return pickle_refuse(machine,
			kind == PICKLE_DICT ? "the pickle sets a key in what is not a dict" : "the pickle appends to what is not a list");
	struct pickle_value *whole = &machine->stack[from - 1];
	uint32_t count = (uint32_t)(machine->depth - from);
	if (whole->again)
		return pickle_refuse(machine, "the pickle changes a collection out of its memo, which this reader doesn't follow");
	if (kind == PICKLE_DICT && count % 2)
		return pickle_refuse(machine, "the pickle has a key without a value");
	const struct pickle_visitor *visitor = machine->visitor;
	enum status status = kind == PICKLE_DICT
		? visitor->pairs(visitor->context, whole, whole + 1, count / 2, machine->error)
		: visitor->items(visitor->context, whole, whole + 1, count, machine->error);
	if (kind == PICKLE_LIST && __builtin_add_overflow(whole->count, count, &whole->count))
		return pickle_refuse(machine, "a list is too long");
	/* What the visitor keeps of it is there when it comes out of the memo. */
	if (whole->memo != NONE && whole->kept && whole->memo < machine->memos)
		machine->memo[whole->memo] = memo_entry(whole);
	machine->depth = from;
	return status;
}

static enum status fill_marked(struct machine *machine, unsigned kind)
{
	size_t from = 0;
	TRY(pop_mark(machine, &from));
	return pickle_fill(machine, from, kind);
}

static enum status fill_top(struct machine *machine, unsigned kind)
{
	size_t values = kind == PICKLE_DICT ? 2 : 1;
	TRY(need(machine, values + 1));
	return pickle_fill(machine, machine->depth - values, kind);
}

/* DICT and LIST: the collection comes after what is in it. */
static enum status fill_new(struct machine *machine, unsigned kind)
{
	size_t from = 0;
	TRY(pop_mark(machine, &from));
	TRY(push_kind(machine, kind));
	struct pickle_value whole = machine->stack[machine->depth - 1];
	memmove(machine->stack + from + 1, machine->stack + from, (machine->depth - 1 - from) * sizeof whole);
	machine->stack[from] = whole;
	return pickle_fill(machine, from + 1, kind);
}

/* ---- memo ---- */

static enum status pickle_put(struct machine *machine, uint64_t index)
{
	TRY(need(machine, 1));
	struct pickle_value *value = &machine->stack[machine->depth - 1];
	if (index > machine->memos + MEMO_GAP)
		return pickle_refuse(machine, "the pickle's memo skips indices");
	if (index >= MEMO_MOST)
		return pickle_refuse(machine, "the pickle's memo has more than 2^28 entries");
	if (!mem_reserve(&machine->memo, &machine->memo_room, (size_t)index + 1, sizeof *machine->memo))
		return fail_memory(machine->error);
	while (machine->memos <= index)
		machine->memo[machine->memos++] = 0;
	machine->memo[index] = memo_entry(value);
	value->memo = (uint32_t)index;
	return OK;
}

/* Most of a snapshot is this: frames of stack traces. */
static inline enum status get(struct machine *machine, uint64_t index)
{
	if (index >= machine->memos)
		return pickle_refuse(machine, "the pickle takes from its memo what isn't there");
	uint32_t entry = machine->memo[index], low = entry & ((UINT32_C(1) << MEMO_SHIFT) - 1);
	enum pickle_kind kind = (enum pickle_kind)(entry >> MEMO_SHIFT);
	if (kind == PICKLE_WORD)
		return pickle_push(machine, (struct pickle_value){ .kind = PICKLE_WORD, .number = low, .memo = NONE });
	return pickle_push(machine,
		(struct pickle_value){ .kind = (uint8_t)kind, .again = kind != PICKLE_OTHER, .kept = low, .memo = NONE });
}

static enum status put_of(struct machine *machine, unsigned bytes)
{
	uint64_t index;
	TRY(pickle_take_number(machine, bytes, &index));
	return pickle_put(machine, index);
}

static inline enum status get_of(struct machine *machine, unsigned bytes)
{
	uint64_t index;
	TRY(pickle_take_number(machine, bytes, &index));
	return get(machine, index);
}

/* Frames of a stack trace stand one behind the other. */
static enum status get_row(struct machine *machine, unsigned bytes)
{
	TRY(get_of(machine, bytes));
	while (machine->at < machine->have &&
		(machine->chunk[machine->at] == 'j' || machine->chunk[machine->at] == 'h'))
		TRY(machine->chunk[machine->at++] == 'j' ? get_of(machine, 4) : get_of(machine, 1));
	return OK;
}

/* ---- texts and numbers ---- */

static enum status text(struct machine *machine, unsigned length_bytes)
{
	uint64_t length;
	char text[PICKLE_TEXT_MOST];
	const struct pickle_visitor *visitor = machine->visitor;
	TRY(pickle_take_number(machine, length_bytes, &length));
	bool word = length <= WORD_MOST, kept = visitor->text && length <= PICKLE_TEXT_MOST;
	TRY(pickle_take(machine, word || kept ? text : NULL, length));
	for (unsigned i = 0; word && visitor->words[i]; i++)
		if (strlen(visitor->words[i]) == length && memcmp(visitor->words[i], text, (size_t)length) == 0)
			return pickle_push(machine, (struct pickle_value){ .kind = PICKLE_WORD, .number = i, .memo = NONE });
	return pickle_push(machine,
		(struct pickle_value){ .kind = PICKLE_OTHER,
			.memo = NONE,
			.kept = kept ? visitor->text(visitor->context, text, (size_t)length) : 0 });
}

static enum status skipped(struct machine *machine, unsigned length_bytes)
{
	uint64_t length;
	TRY(pickle_take_number(machine, length_bytes, &length));
	TRY(pickle_take(machine, NULL, length));
	return push_kind(machine, PICKLE_OTHER);
}

static enum status push_number(struct machine *machine, int64_t number)
{
	return pickle_push(machine, (struct pickle_value){ .kind = PICKLE_NUMBER, .number = number, .memo = NONE });
}

/* Those of four bytes have a sign. */
static enum status pickle_whole_number(struct machine *machine, unsigned bytes)
{
	uint64_t number;
	TRY(pickle_take_number(machine, bytes, &number));
	return push_number(machine, bytes == 4 ? (int64_t)(int32_t)(uint32_t)number : (int64_t)number);
}

/* LONG1 and LONG4: two's complement. Addresses may be above 2^63 and take nine bytes, of which the last is 0: they
 * become the 64 bits that they are. What 64 bits don't hold is no number that anybody asks for. */
static enum status long_number(struct machine *machine, unsigned length_bytes)
{
	uint64_t length, number;
	TRY(pickle_take_number(machine, length_bytes, &length));
	if (length > 9) {
		TRY(pickle_take(machine, NULL, length));
		return push_kind(machine, PICKLE_OTHER);
	}
	TRY(pickle_take_number(machine, length > 8 ? 8 : (unsigned)length, &number));
	if (length > 8) {
		uint64_t last;
		TRY(pickle_take_number(machine, 1, &last));
		return last ? push_kind(machine, PICKLE_OTHER) : push_number(machine, (int64_t)number);
	}
	if (length && length < 8 && number >> (8 * length - 1))
		number |= UINT64_MAX << 8 * length;
	return push_number(machine, (int64_t)number);
}

static enum status fixed_size(struct machine *machine, unsigned bytes)
{
	TRY(pickle_take(machine, NULL, bytes));
	return push_kind(machine, PICKLE_OTHER);
}

/* ---- opcodes ---- */

static const struct { unsigned char code; const char *name; } calls[] = {
	{ 'c', "GLOBAL" }, { 0x93, "STACK_GLOBAL" }, { 'R', "REDUCE" }, { 'b', "BUILD" }, { 'i', "INST" }, { 'o', "OBJ" },
	{ 0x81, "NEWOBJ" }, { 0x92, "NEWOBJ_EX" }, { 0x82, "EXT1" }, { 0x83, "EXT2" }, { 0x84, "EXT4" }, { 'P', "PERSID" },
	{ 'Q', "BINPERSID" }, { 0x97, "NEXT_BUFFER" }, { 0x98, "READONLY_BUFFER" },
};

static enum status pickle_unknown(struct machine *machine, unsigned char code)
{
	FOR(i, COUNT_OF(calls))
		if (calls[i].code == code)
			return refuse(machine->error,
				"byte %" PRIu64 ": the pickle wants to import, build or call something (%s): nothing is executed, and "
								"memory snapshots need none",
				machine->before + machine->at, calls[i].name);
	return refuse(machine->error, "byte %" PRIu64 ": 0x%02x is not an opcode of pickle protocols 2 to 5",
		machine->before + machine->at, code);
}

static enum status pickle_pop(struct machine *machine)
{
	if (machine->depth > floor_of(machine))
		machine->depth--;
	else if (machine->marks)
		machine->marks--;
	else
		return pickle_refuse(machine, "the pickle takes from an empty stack");
	return OK;
}

static enum status pop_to_mark(struct machine *machine)
{
	size_t from = 0;
	TRY(pop_mark(machine, &from));
	machine->depth = from;
	return OK;
}

/* ADDITEMS: what comes into a set is of no interest. */
static enum status add_items(struct machine *machine)
{
	TRY(pop_to_mark(machine));
	return need(machine, 1);
}

/* A copy of a collection isn't followed: only one of the two could be noted in. */
static enum status duplicate(struct machine *machine)
{
	TRY(need(machine, 1));
	struct pickle_value copy = machine->stack[machine->depth - 1];
	copy.again = copy.kind == PICKLE_DICT || copy.kind == PICKLE_LIST;
	copy.memo = NONE;
	return pickle_push(machine, copy);
}

static const struct {
	enum status (*run)(struct machine *machine, unsigned of);
	unsigned of; /* a kind, or bytes or values */
} opcodes[256] = {
	['}'] = { push_kind, PICKLE_DICT },
	[']'] = { push_kind, PICKLE_LIST },
	['u'] = { fill_marked, PICKLE_DICT },
	['e'] = { fill_marked, PICKLE_LIST },
	['s'] = { fill_top, PICKLE_DICT },
	['a'] = { fill_top, PICKLE_LIST },
	['d'] = { fill_new, PICKLE_DICT },
	['l'] = { fill_new, PICKLE_LIST },
	['q'] = { put_of, 1 },
	['r'] = { put_of, 4 },
	['h'] = { get_row, 1 },
	['j'] = { get_row, 4 },
	['K'] = { pickle_whole_number, 1 },
	['M'] = { pickle_whole_number, 2 },
	['J'] = { pickle_whole_number, 4 },
	[0x8a] = { long_number, 1 },
	[0x8b] = { long_number, 4 },
	['U'] = { text, 1 },
	[0x8c] = { text, 1 },
	['T'] = { text, 4 },
	['X'] = { text, 4 },
	[0x8d] = { text, 8 },
	['C'] = { skipped, 1 },
	['B'] = { skipped, 4 },
	[0x8e] = { skipped, 8 },
	[0x96] = { skipped, 8 },
	['G'] = { fixed_size, 8 },
	['N'] = { push_kind, PICKLE_OTHER },
	[')'] = { push_kind, PICKLE_OTHER },
	[0x88] = { push_kind, PICKLE_OTHER },
	[0x89] = { push_kind, PICKLE_OTHER },
	[0x8f] = { push_kind, PICKLE_OTHER },
	['t'] = { replace_marked, PICKLE_OTHER },
	[0x91] = { replace_marked, PICKLE_OTHER },
	[0x85] = { replace_top, 1 },
	[0x86] = { replace_top, 2 },
	[0x87] = { replace_top, 3 },
};

static enum status pickle_step(struct machine *machine, unsigned char code)
{
	if (opcodes[code].run)
		return opcodes[code].run(machine, opcodes[code].of);
	switch (code) {
	case 0x95: return pickle_take(machine, NULL, 8); /* FRAME: a hint for reading ahead */
	case '(': return push_mark(machine);
	case '0': return pickle_pop(machine);
	case '1': return pop_to_mark(machine);
	case '2': return duplicate(machine);
	case 0x90: return add_items(machine);
	case 0x94: return pickle_put(machine, machine->memos); /* MEMOIZE */
	default: return pickle_unknown(machine, code);
	}
}

static enum status snapshot_pickle_walk(struct machine *machine, struct pickle_value *root)
{
	unsigned char start[2], code = 0;
	TRY(pickle_take(machine, start, 2));
	if (start[0] != 0x80 || start[1] < 2 || start[1] > 5)
		return pickle_refuse(machine, "this is not a pickle of protocols 2 to 5");
	TRY(pickle_take(machine, &code, 1));
	while (code != '.') {
		TRY(pickle_step(machine, code));
		TRY(pickle_take(machine, &code, 1));
	}
	if (machine->depth != 1 || machine->marks)
		return pickle_refuse(machine, "the pickle ends with more than one value, or none");
	*root = machine->stack[0];
	return OK;
}

enum status pickle_walk(
	struct source source, const struct pickle_visitor *visitor, struct pickle_value *root, struct error *error)
{
	struct machine machine = { .source = source, .visitor = visitor, .error = error, .chunk = mem_alloc(CHUNK, 1) };
	*root = (struct pickle_value){ 0 };
	enum status status = machine.chunk ? snapshot_pickle_walk(&machine, root) : fail_memory(error);
	mem_free(machine.chunk);
	mem_free(machine.stack);
	mem_free(machine.mark);
	mem_free(machine.memo);
	return status;
}
