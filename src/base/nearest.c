/* nearest.c: the names that come nearest to a misspelt one. */
#include "nearest.h"

#include <stdio.h>
#include <string.h>

/* Levenshtein distance, two neighbours swapped count as one slip; both texts cut at 63 bytes; stops early above limit.
 * O(length^2). */
static unsigned nearest_distance(const char *a, const char *b, unsigned limit)
{
	unsigned row[64], above[64] = { 0 };   /* above: two rows up */
	size_t width = strnlen(b, 63);
	for (size_t j = 0; j <= width; j++)
		row[j] = (unsigned)j;
	for (size_t i = 0; i < 63 && a[i]; i++) {
		unsigned diagonal = row[0], least = row[0] = (unsigned)i + 1, swapped = 0;
		for (size_t j = 0; j < width; j++) {
			unsigned replace = diagonal + (a[i] != b[j]), before = above[j];
			above[j] = diagonal;
			diagonal = row[j + 1];
			unsigned best = row[j] < diagonal ? row[j] + 1 : diagonal + 1;
			row[j + 1] = replace < best ? replace : best;
			if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j] && swapped + 1 < row[j + 1])
				row[j + 1] = swapped + 1;
			swapped = before;
			if (row[j + 1] < least)
				least = row[j + 1];
		}
		if (least > limit)
			return least;
	}
	return row[width];
}

void nearest_consider(struct nearest *nearest, const char *name)
{
	unsigned limit = nearest->count == NEAREST_MOST ? nearest->distance[NEAREST_MOST - 1] : 60;
	/* A name that starts as the wanted one does is a likely slip: "mm_12" for "mm_12#345". */
	unsigned d = strncmp(nearest->wanted, name, strlen(nearest->wanted)) == 0
		? 0
		: nearest_distance(nearest->wanted, name, limit);
	if (nearest->count == NEAREST_MOST && d >= limit)
		return;
	for (int known = 0; known < nearest->count; known++)
		if (strcmp(nearest->name[known], name) == 0)
			return;
	int i = nearest->count < NEAREST_MOST ? nearest->count++ : NEAREST_MOST - 1;
	for (; i > 0 && nearest->distance[i - 1] > d; i--) {
		nearest->distance[i] = nearest->distance[i - 1];
		memcpy(nearest->name[i], nearest->name[i - 1], sizeof nearest->name[i]);
	}
	nearest->distance[i] = d;
	snprintf(nearest->name[i], sizeof nearest->name[i], "%s", name);
}

char *nearest_text(const struct nearest *nearest, const char *sign, char *text, size_t size)
{
	size_t length = strlen(nearest->wanted);
	*text = '\0';
	/* More than half of the letters wrong is no slip. */
	if (nearest->count > 0 && length > 0 && nearest->distance[0] <= length / 2)
		snprintf(text, size, "; the nearest is %s%.60s", sign, nearest->name[0]);
	return text;
}
