/* sort.c: radix sort, the lowest digits first: each pass is stable, and moves items in the order of one digit. */
#include "sort.h"

#include <string.h>

#define FEW  24     /* items that are sorted one by one */
#define DIGIT 12    /* bits */
#define DIGITS (1u << DIGIT)

static void insert_each(struct keyed *list, size_t count)
{
	for (size_t i = 1; i < count; i++) {
		struct keyed item = list[i];
		size_t at = i;
		for (; at > 0 && list[at - 1].key > item.key; at--)
			list[at] = list[at - 1];
		list[at] = item;
	}
}

/* Items by one digit of what their keys are above the least. False where all have the same: nothing is moved. */
static bool by_digit(const struct keyed *from, struct keyed *to, size_t count, uint64_t least, unsigned shift)
{
	size_t start[DIGITS] = { 0 };
	for (size_t i = 0; i < count; i++)
		start[((uint64_t)from[i].key - least) >> shift & (DIGITS - 1)]++;
	if (start[((uint64_t)from[0].key - least) >> shift & (DIGITS - 1)] == count)
		return false;
	for (size_t digit = 0, sum = 0; digit < DIGITS; digit++) {
		size_t here = start[digit];
		start[digit] = sum;
		sum += here;
	}
	for (size_t i = 0; i < count; i++)
		to[start[((uint64_t)from[i].key - least) >> shift & (DIGITS - 1)]++] = from[i];
	return true;
}

bool sort_keyed(struct keyed *list, size_t count)
{
	int64_t least = count ? list[0].key : 0, most = least;
	bool sorted = true;
	for (size_t i = 1; i < count; i++) {
		sorted &= list[i - 1].key <= list[i].key;
		least = list[i].key < least ? list[i].key : least;
		most = list[i].key > most ? list[i].key : most;
	}
	if (sorted)
		return true;
	if (count <= FEW) {
		insert_each(list, count);
		return true;
	}
	struct keyed *other = mem_alloc(count, sizeof *other), *from = list, *to = other;
	uint64_t range = (uint64_t)most - (uint64_t)least;
	for (unsigned shift = 0; other && shift < 64 && range >> shift; shift += DIGIT)
		if (by_digit(from, to, count, (uint64_t)least, shift)) {
			struct keyed *behind = from;
			from = to;
			to = behind;
		}
	if (other && from != list)
		memcpy(list, from, count * sizeof *list);
	mem_free(other);
	return other != NULL;
}
