/* assignment.c: reads XLA's buffer assignment as it dumps it: allocations, and in each of them values at offsets. */
#include <stdlib.h>

#include "hlo.h"

#define PATH_MOST 8 /* of a value in nested tuples */

/* The order in which they are put one behind another: temporaries last, because nothing needs their end. */
enum purpose { ARGUMENT, CONSTANT, RESULT, TEMPORARY, PURPOSES, OF_A_THREAD };

struct allocation { enum purpose purpose; int64_t bytes, base; };
/* An array that lies in one. */
struct value { const struct hlo_instruction *of; uint32_t allocation, leaf; int64_t offset; };

struct assignment {
	struct hlo_module *module;
	struct error *error;
	const struct hlo_instruction **instruction; /* all, by name */
	size_t instructions;
	struct allocation *allocation;
	struct value *value;
	size_t allocations, values, allocation_room, value_room;
};

/* ---- instructions ---- */

static int assignment_by_name(const void *a, const void *b)
{
	return strcmp((*(const struct hlo_instruction *const *)a)->name, (*(const struct hlo_instruction *const *)b)->name);
}

static enum status list_instructions(struct assignment *assignment)
{
	const struct hlo_module *module = assignment->module;
	size_t count = 0;
	FOR(c, module->computations)
		count += module->computation[c].instructions;
	if (!(MAKE(assignment->instruction, count)))
		return fail_memory(assignment->error);
	FOR(c, module->computations)
		FOR(i, module->computation[c].instructions)
			assignment->instruction[assignment->instructions++] = &module->computation[c].instruction[i];
	qsort(assignment->instruction, count, sizeof *assignment->instruction, assignment_by_name);
	return OK;
}

static const struct hlo_instruction *assignment_find(const struct assignment *assignment, const char *name)
{
	const struct hlo_instruction *like = &(struct hlo_instruction){ .name = name };
	const struct hlo_instruction **found = assignment->instructions
		? bsearch(&like, assignment->instruction, assignment->instructions, sizeof *assignment->instruction,
			  assignment_by_name)
		: NULL;
	return found ? *found : NULL;
}

/* The array at a path into a shape, counted among all of its arrays; NONE where a tuple lies there, or nothing. */
static uint32_t leaf_at(const struct hlo_shape *shape, const int64_t *path, size_t length)
{
	uint32_t leaf = 0;
	FOR_SIZE(i, length) {
		if (path[i] < 0 || path[i] >= shape->parts)
			return NONE;
		for (int64_t k = 0; k < path[i]; k++)
			leaf += shape->part[k].leaves;
		shape = &shape->part[path[i]];
	}
	return shape->tuple ? NONE : leaf;
}

/* ---- what they come to ---- */

static enum status add_allocation(struct assignment *assignment, enum purpose purpose, uint64_t bytes)
{
	if (!mem_reserve(&assignment->allocation, &assignment->allocation_room, assignment->allocations + 1,
			sizeof *assignment->allocation))
		return fail_memory(assignment->error);
	assignment->allocation[assignment->allocations++] = (struct allocation){ purpose,
		bytes > (uint64_t)BYTES_MAX ? BYTES_MAX : (int64_t)bytes, 0 };
	return OK;
}

static enum status assignment_add_value(
	struct assignment *assignment, const struct hlo_instruction *of, uint32_t leaf, uint64_t offset)
{
	if (!of || leaf == NONE || offset > (uint64_t)BYTES_MAX)
		return OK;
	if (!mem_reserve(&assignment->value, &assignment->value_room, assignment->values + 1, sizeof *assignment->value))
		return fail_memory(assignment->error);
	assignment->value[assignment->values++] = (struct value){ of, (uint32_t)assignment->allocations - 1, leaf,
		(int64_t)offset };
	return OK;
}

static int assignment_by_place(const void *a, const void *b)
{
	const struct hlo_place *left = a, *right = b;
	if (left->of != right->of)
		return (uintptr_t)left->of < (uintptr_t)right->of ? -1 : 1;
	return left->leaf < right->leaf ? -1 : left->leaf > right->leaf;
}

static enum status assignment_finish(struct assignment *assignment)
{
	struct hlo_module *module = assignment->module;
	int64_t *sum[PURPOSES] = { &module->arguments, &module->constants, &module->outputs, &module->temporary }, base = 0;
	FOR_INT(purpose, PURPOSES)
		FOR_SIZE(i, assignment->allocations) {
			struct allocation *allocation = &assignment->allocation[i];
			if ((int)allocation->purpose != purpose)
				continue;
			if (allocation->bytes > BYTES_MAX - base)
				return refuse(assignment->error, "the sizes of XLA's buffer assignment add up to more than 2^60 bytes");
			allocation->base = base;
			base += allocation->bytes;
			*sum[purpose] += allocation->bytes;
			module->assigned = true;
		}
	if (!(module->place = arena_alloc(&module->arena, assignment->values, sizeof *module->place)))
		return fail_memory(assignment->error);
	FOR_SIZE(i, assignment->values) {
		const struct value *value = &assignment->value[i];
		const struct allocation *allocation = &assignment->allocation[value->allocation];
		if (allocation->purpose < PURPOSES && value->offset <= allocation->bytes)
			module->place[module->places++] = (struct hlo_place){ value->of, value->leaf, allocation->base + value->offset };
	}
	qsort(module->place, module->places, sizeof *module->place, assignment_by_place);
	return OK;
}

static enum status assignment_done(struct assignment *assignment, enum status status)
{
	if (status == OK)
		status = assignment_finish(assignment);
	mem_free(assignment->instruction);
	mem_free(assignment->allocation);
	mem_free(assignment->value);
	return error_set(assignment->error, status);
}

int64_t hlo_address(const struct hlo_module *module, const struct hlo_instruction *instruction, uint32_t leaf)
{
	struct hlo_place wanted = { instruction, leaf, 0 };
	const struct hlo_place *found = module->places
		? bsearch(&wanted, module->place, module->places, sizeof wanted, assignment_by_place)
		: NULL;
	return found ? found->address : -1;
}

/* ---- the text ---- */

/* The rest of the line behind a word; at NULL: it isn't there. */
static struct span behind(struct span line, const char *word)
{
	struct span rest = scan_find(line, word, '\0');
	return rest.at == line.at ? (struct span){ NULL, NULL } : (struct span){ rest.at, line.end };
}

static bool assignment_has(struct span line, const char *word)
{
	return behind(line, word).at != NULL;
}

/* The digits behind a word: "size=1605632" has 1605632; -1 where there are none. */
static int64_t assignment_number_behind(struct span line, const char *word)
{
	struct span rest = behind(line, word);
	struct span digits = { rest.at, rest.at };
	int64_t number;
	while (rest.at && digits.end < rest.end && *digits.end >= '0' && *digits.end <= '9')
		digits.end++;
	return rest.at && scan_number(digits, &number) ? number : -1;
}

/* "allocation 13: size 4, parameter 1, shape |f32[2]| at ShapeIndex {}, maybe-live-out:" */
static enum status allocation_line(struct assignment *assignment, struct span line)
{
	int64_t bytes = assignment_number_behind(line, ": size ");
	enum purpose purpose = assignment_has(line, ", thread-local") ? OF_A_THREAD
		: assignment_has(line, ", parameter ")                    ? ARGUMENT
		: assignment_has(line, ", constant")                      ? CONSTANT
		: assignment_has(line, ", maybe-live-out")                ? RESULT
		: TEMPORARY;
	return bytes < 0 ? refuse(assignment->error, "an allocation without a size")
		: add_allocation(assignment, purpose, (uint64_t)bytes);
}

/* "{0,1}" or nothing; false where it is longer than any. */
static bool path_of(struct span text, int64_t *path, size_t *length)
{
	*length = 0;
	if (text.at == text.end || *text.at != '{')
		return true;
	for (const char *at = text.at + 1; at < text.end && *at != '}'; at++) {
		if (*at == ',')
			continue;
		if (*at < '0' || *at > '9' || *length == PATH_MOST)
			return false;
		for (path[*length] = 0; at < text.end && *at >= '0' && *at <= '9' && path[*length] < (int64_t)NONE; at++)
			path[*length] = path[*length] * 10 + (*at - '0');
		++*length;
		at--;
	}
	return true;
}

/* " value: <305 while.3{1} (phi) @0> (size=1048576,offset=462288064): f32[4,256,256]{2,1,0}" */
static enum status value_line(struct assignment *assignment, struct span line)
{
	struct span rest = behind(line, "value: <"), name;
	int64_t path[PATH_MOST], offset = assignment_number_behind(line, ",offset=");
	size_t length;
	while (rest.at && rest.at < rest.end && *rest.at != ' ')
		rest.at++;
	if (!rest.at || rest.at == rest.end || offset < 0 || assignment->allocations == 0)
		return OK;
	name = (struct span){ rest.at + 1, rest.at + 1 };
	while (name.end < line.end && *name.end != ' ' && *name.end != '{' && *name.end != '>')
		name.end++;
	char *text = mem_alloc(scan_length(name) + 1, 1);
	if (!text)
		return fail_memory(assignment->error);
	memcpy(text, name.at, scan_length(name));
	const struct hlo_instruction *of = path_of((struct span){ name.end, line.end }, path, &length)
		? assignment_find(assignment, text)
		: NULL;
	mem_free(text);
	return of ? assignment_add_value(assignment, of, leaf_at(of->shape, path, length), (uint64_t)offset) : OK;
}

enum status hlo_assignment_text(const char *text, size_t size, struct hlo_module *module, struct error *error)
{
	struct assignment assignment = { .module = module, .error = error };
	unsigned number = 0;
	*error = (struct error){ 0 };
	enum status status = list_instructions(&assignment);
	for (const char *at = text, *end = text + size; status == OK && at < end; number++) {
		const char *newline = memchr(at, '\n', (size_t)(end - at));
		struct span line = { at, newline ? newline : end };
		if (scan_length(line) > 11 && memcmp(line.at, "allocation ", 11) == 0)
			status = allocation_line(&assignment, line);
		else if (scan_length(line) > 8 && memcmp(line.at, " value: <", 9) == 0)
			status = value_line(&assignment, line);
		else if (number > 0 && scan_length(line) > 0 && *line.at != ' ')
			break; /* what follows says the same in other words */
		error->line = status == BAD_INPUT ? number + 1 : 0;
		at = line.end + 1;
	}
	if (status == OK && assignment.allocations == 0)
		status = refuse(error, "it has no allocations");
	return assignment_done(&assignment, status);
}
