/* nearest.h: the names that come nearest to a misspelt one. */
#pragma once

#include <stddef.h>

#define NEAREST_MOST 3

/* Begin with { .wanted = name } and consider every name that there is. */
struct nearest {
	const char *wanted;
	char name[NEAREST_MOST][84];        /* nearest first, cut */
	unsigned distance[NEAREST_MOST];
	int count;
};

/* Levenshtein distance of the first 63 bytes, two letters swapped being one slip; a name that begins with the wanted
 * one has 0. O(length^2). */
void nearest_consider(struct nearest *nearest, const char *name);
/* "; the nearest is --view": where one name is likely meant, with the sign before it, else "". Returns text. */
char *nearest_text(const struct nearest *nearest, const char *sign, char *text, size_t size);
