/* scan.c: reads words and shapes out of HLO text. */
#include <stdarg.h>
#include <stdio.h>

#include "hlo.h"

enum status scan_bad(struct scanner *scanner, const char *format, ...)
{
	va_list arguments;
	char text[300];
	va_start(arguments, format);
	vsnprintf(text, sizeof text, format, arguments);
	va_end(arguments);
	scanner->error->line = scanner->line;
	return refuse(scanner->error, "%s", text);
}

enum status scan_no_memory(struct scanner *scanner)
{
	return fail_memory(scanner->error);
}

/* ---- characters ---- */

size_t scan_length(struct span span)
{
	return (size_t)(span.end - span.at);
}

bool scan_is(struct span span, const char *text)
{
	return scan_length(span) == strlen(text) && memcmp(span.at, text, strlen(text)) == 0;
}

bool scan_starts(const struct scanner *scanner, const char *text)
{
	return (size_t)(scanner->end - scanner->at) >= strlen(text) && memcmp(scanner->at, text, strlen(text)) == 0;
}

/* White space and comments. */
void scan_skip(struct scanner *scanner)
{
	for (; scanner->at < scanner->end; scanner->at++) {
		if (*scanner->at == '\n')
			scanner->line++;
		else if (scan_starts(scanner, "/*")) {
			while (scanner->at < scanner->end && !scan_starts(scanner, "*/"))
				scanner->line += *scanner->at++ == '\n';
			scanner->at += scan_starts(scanner, "*/");
			if (scanner->at == scanner->end)
				return;
		} else if (scan_starts(scanner, "//")) {
			while (scanner->at < scanner->end && *scanner->at != '\n')
				scanner->at++;
			scanner->at--;
		} else if (*scanner->at != ' ' && *scanner->at != '\t' && *scanner->at != '\r')
			return;
	}
}

bool scan_take(struct scanner *scanner, char c)
{
	scan_skip(scanner);
	if (scanner->at >= scanner->end || *scanner->at != c)
		return false;
	scanner->at++;
	return true;
}

bool scan_name_character(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || strchr("_.-$%:", c);
}

/* A name without its %. */
struct span scan_word(struct scanner *scanner)
{
	scan_skip(scanner);
	struct span span = { scanner->at, scanner->at };
	while (scanner->at < scanner->end && *scanner->at && scan_name_character(*scanner->at))
		scanner->at++;
	span.end = scanner->at;
	if (span.at < span.end && *span.at == '%')
		span.at++;
	return span;
}

/* To the next comma or closing bracket that no bracket or quotes enclose. */
struct span scan_balanced(struct scanner *scanner)
{
	struct span span = { scanner->at, scanner->at };
	int depth = 0;
	for (; scanner->at < scanner->end; scanner->at++) {
		char c = *scanner->at;
		if (c == '"') {
			for (scanner->at++; scanner->at < scanner->end && *scanner->at != '"'; scanner->at++)
				scanner->at += *scanner->at == '\\' && scanner->at + 1 < scanner->end;
			if (scanner->at >= scanner->end)
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
			scanner->line++;
		}
	}
	span.end = scanner->at;
	return span;
}

bool scan_number(struct span span, int64_t *number)
{
	*number = 0;
	if (span.at == span.end)
		return false;
	for (; span.at < span.end; span.at++)
		if (*span.at < '0' || *span.at > '9' || __builtin_mul_overflow(*number, 10, number) ||
			__builtin_add_overflow(*number, *span.at - '0', number))
			return false;
	return true;
}

const char *scan_keep(struct scanner *scanner, struct span span)
{
	return arena_text(scanner->arena, span.at, scan_length(span));
}

/* The part between the brackets around a value. */
struct span scan_inside(struct span span)
{
	if (scan_length(span) >= 2)
		return (struct span){ span.at + 1, span.end - 1 };
	return (struct span){ span.at, span.at };
}

/* What stands between `before` and the next `until`. */
struct span scan_find(struct span in, const char *before, char until)
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

/* ---- shapes ---- */

static enum status scan_read_dims(struct scanner *scanner, struct hlo_shape *shape)
{
	for (;;) {
		scan_skip(scanner);
		if (scan_take(scanner, ']'))
			return OK;
		if (scan_take(scanner, ','))
			continue;
		scan_take(scanner, '<'); /* a bound of a dynamic dim: <=128 */
		scan_take(scanner, '=');
		struct span digits = { scanner->at, scanner->at };
		while (scanner->at < scanner->end && *scanner->at >= '0' && *scanner->at <= '9')
			scanner->at++;
		digits.end = scanner->at;
		if (scanner->at < scanner->end && *scanner->at == '?') {
			scanner->at++;
			shape->unsized = true;
			continue;
		}
		if (shape->rank == DIMS_MAX)
			return scan_bad(scanner, "a shape of more than %d dims", DIMS_MAX);
		if (!scan_number(digits, &shape->dim[shape->rank]))
			return scan_bad(scanner, "a shape's dim was expected");
		shape->rank++;
	}
}

static enum status read_tuple(struct scanner *scanner, int depth, struct hlo_shape *shape)
{
	HELD struct hlo_shape *part = NULL;
	size_t room = 0;
	enum status status = OK;
	shape->tuple = true;
	while (status == OK && !scan_take(scanner, ')')) {
		if (shape->parts && !scan_take(scanner, ',')) {
			status = scan_bad(scanner, "a comma or ) was expected in a tuple's shape");
			break;
		}
		if (!mem_reserve(&part, &room, shape->parts + 1, sizeof *part)) {
			status = scan_no_memory(scanner);
			break;
		}
		part[shape->parts] = (struct hlo_shape){ 0 };
		status = scan_shape(scanner, depth + 1, &part[shape->parts++]);
	}
	if (status == OK && shape->parts && (shape->part = arena_alloc(scanner->arena, shape->parts, sizeof *part)))
		memcpy(shape->part, part, shape->parts * sizeof *part);
	else if (status == OK && shape->parts)
		status = scan_no_memory(scanner);
	return status;
}

enum status scan_shape(struct scanner *scanner, int depth, struct hlo_shape *shape)
{
	if (depth > HLO_DEPTH)
		return scan_bad(scanner, "tuples are nested more than %d deep", HLO_DEPTH);
	enum status status = OK;
	if (scan_take(scanner, '(')) {
		status = read_tuple(scanner, depth, shape);
	} else {
		struct span type = scan_word(scanner);
		int dtype = hlo_dtype(type.at, scan_length(type));
		if (dtype < 0)
			return scan_bad(scanner, "unknown type \"%.40s\"", scan_keep(scanner, type) ? scan_keep(scanner, type) : "");
		shape->dtype = dtype == DTYPE_COUNT ? DTYPE_OPAQUE : (uint8_t)dtype;
		shape->tuple = scan_is(type, "token");
		if (scan_take(scanner, '['))
			status = scan_read_dims(scanner, shape);
		if (status == OK && scanner->at < scanner->end && *scanner->at == '{') { /* the layout */
			do {
				scanner->at++;
				struct span part = scan_balanced(scanner);
				shape->layout = hlo_layout(shape->layout, part.at, scan_length(part));
			} while (scanner->at < scanner->end && *scanner->at == ',');
			if (!scan_take(scanner, '}'))
				return scan_bad(scanner, "a layout has no end");
		}
	}
	if (status == OK && !hlo_shape_finish(shape))
		status = scan_bad(scanner, "a shape's size overflows");
	return status;
}
