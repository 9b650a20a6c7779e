/* scan.h: the characters, words and shapes of HLO text. */
#pragma once

#include "hlo.h"

/* A part of the text. */
struct span { const char *at, *end; };

struct scanner {
	const char *at, *end;
	unsigned line;
	struct error *error;
	struct arena *arena;
};

/* BAD_INPUT with the line, NO_MEMORY. */
enum status scan_bad(struct scanner *scanner, const char *format, ...) __attribute__((format(printf, 2, 3)));
enum status scan_no_memory(struct scanner *scanner);

size_t scan_length(struct span span);
bool scan_is(struct span span, const char *text);
bool scan_starts(const struct scanner *scanner, const char *text);
/* White space and comments. */
void scan_skip(struct scanner *scanner);
/* Behind blanks, that character or nothing. */
bool scan_take(struct scanner *scanner, char c);
bool scan_name_character(char c);
/* A name without its %. */
struct span scan_word(struct scanner *scanner);
/* To the next comma or closing bracket that no bracket or quotes enclose. */
struct span scan_balanced(struct scanner *scanner);
/* False for what is no whole number of 63 bits. */
bool scan_number(struct span span, int64_t *number);
/* A copy in the arena, NULL when out of memory. */
const char *scan_keep(struct scanner *scanner, struct span span);
/* The part between the brackets around a value. */
struct span scan_inside(struct span span);
/* What stands between `before` and the next `until`. */
struct span scan_find(struct span in, const char *before, char until);

/* An array's or tuple's shape with its layout; depth 0 for the outermost. */
enum status scan_shape(struct scanner *scanner, int depth, struct hlo_shape *shape);
