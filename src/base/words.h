/* words.h: a text put together piece by piece in the caller's room; what has no room is cut off. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

/* Whether both are there and the same. */
static inline bool text_is(const char *text, const char *other)
{
	return text && other && strcmp(text, other) == 0;
}

/* Begin with { text, size, 0 }, size at least 1. */
struct words {
	char *text;
	size_t size, at;
};

/* Prints a text, and returns it. PRINTED(80, "%d ops", ops) is one that ends with the block around. */
char *printed(char *text, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
#define PRINTED(size, ...) printed(TEXT(size), __VA_ARGS__)
void words_add(struct words *words, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* A line of help: head, then text from a column on, broken at blanks into as many lines as 80 columns take. A head that
 * is longer has its line alone. */
void words_print(FILE *stream, const char *head, int column, const char *text);
/* Whether a word is in a list with ", " between. */
bool words_have(const char *list, const char *word);
/* A word for a shell's command line, in quotes where it has more than letters, digits and ./:=+@%,_- in it; with
 * escapes, as $'...', where it isn't clean (safe_text.h). At most 3 + 4 characters a byte. */
void words_add_quoted(struct words *words, const char *word);
/* Of a place in a program's source, "/home/me/model.py:6 in forward", the part behind the folders: a pointer into it.
 */
const char *words_of_place(const char *place);

/* bytes: sizes and amounts of work for people. */

/* Bytes for people: "1.50 GiB", "12 KiB", "7 B"; always powers of 1024. Returns text. */
char *bytes_text(int64_t bytes, char *text, size_t size);
/* With a sign: "+1.50 GiB", "-12 KiB", "0 B". Returns text. */
char *change_text(int64_t bytes, char *text, size_t size);
/* The same in a text of its own that ends with the block around. */
#define BYTES(bytes) bytes_text(bytes, (char[32]){ 0 }, 32)
#define CHANGE(bytes) change_text(bytes, (char[32]){ 0 }, 32)
/* Floating-point operations for people: "3.35 TFLOP", "12.0 GFLOP", "7 FLOP"; powers of 1000. Returns text. */
char *flops_text(double flops, char *text, size_t size);

/* nearest: the names that come nearest to a misspelt one. */

#define NEAREST_MOST 3

/* Begin with { .wanted = name } and consider every name that there is. */
struct nearest {
	const char *wanted;
	char name[NEAREST_MOST][84]; /* nearest first, cut */
	unsigned distance[NEAREST_MOST];
	int count;
};

/* Levenshtein distance of the first 63 bytes, two letters swapped being one slip; a name that begins with the wanted
 * one has 0. O(length^2). */
void nearest_consider(struct nearest *nearest, const char *name);
/* "; the nearest is --view": where one name is likely meant, with the sign before it, else "". Returns text. */
char *nearest_text(const struct nearest *nearest, const char *sign, char *text, size_t size);
