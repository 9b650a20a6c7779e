/* words.c: a text put together piece by piece. */
#include <inttypes.h>
#include <stdarg.h>

#include "safe_text.h"
#include "words.h"

enum { LINE_WIDTH = 80 };

char *printed(char *text, size_t size, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	vsnprintf(text, size, format, arguments);
	va_end(arguments);
	return text;
}

void words_add(struct words *words, const char *format, ...)
{
	size_t room = words->size - words->at;
	va_list arguments;
	va_start(arguments, format);
	int length = vsnprintf(words->text + words->at, room, format, arguments);
	va_end(arguments);
	if (length > 0)
		words->at += (size_t)length < room ? (size_t)length : room - 1;
}

static bool has_hidden(const char *word)
{
	for (uint32_t character; (character = text_next(&word)) != 0;)
		if (character == UNREADABLE || text_hidden(character))
			return true;
	return false;
}

/* $'...' of POSIX.1-2024, which bash, zsh and ksh know. */
static void add_visible(struct words *words, const char *word)
{
	words_add(words, "$'");
	for (const char *next = word; *word; word = next) {
		uint32_t character = text_next(&next);
		for (; word < next; word++)
			if (character == UNREADABLE || text_hidden(character))
				words_add(words, "\\%03o", (unsigned)(unsigned char)*word);
			else
				words_add(words, *word == '\'' || *word == '\\' ? "\\%c" : "%c", *word);
	}
	words_add(words, "'");
}

bool words_have(const char *list, const char *word)
{
	size_t length = strlen(word);
	for (const char *at = strstr(list, word); at && length; at = strstr(at + 1, word))
		if ((at == list || at[-1] == ' ') && (!at[length] || at[length] == ','))
			return true;
	return false;
}

void words_add_quoted(struct words *words, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./:=+@%,_-";
	if (*word && word[strspn(word, plain)] == '\0') {
		words_add(words, "%s", word);
		return;
	}
	if (has_hidden(word)) {
		add_visible(words, word);
		return;
	}
	words_add(words, "'");
	for (const char *at = word; *at; at++)
		words_add(words, *at == '\'' ? "'\\''" : "%c", *at);
	words_add(words, "'");
}

void words_print(FILE *stream, const char *head, int column, const char *text)
{
	int at = (int)strlen(head);
	fputs(head, stream);
	if (at >= column && at > 0 && *text) {
		fputc('\n', stream);
		at = 0;
	}
	fprintf(stream, "%*s", at < column ? column - at : 0, "");
	at = column;
	for (const char *word = text; *word; ) {
		int gap = (int)strspn(word, " "), length = (int)strcspn(word + gap, " ");
		if (at > column && at + gap + length > LINE_WIDTH) {
			fprintf(stream, "\n%*s", column, "");
			at = column;
		}
		at += fprintf(stream, "%*s%.*s", at > column ? gap : 0, "", length, word + gap);
		word += gap + length;
	}
	fputc('\n', stream);
}

const char *words_of_place(const char *place)
{
	size_t length = strcspn(place, ":");
	while (length > 0 && place[length - 1] != '/')
		length--;
	return place + length;
}

/* ---- sizes and amounts of work for people ---- */

char *bytes_text(int64_t bytes, char *text, size_t size)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB" };
	double value = (double)bytes;
	int unit = 0;
	while ((value >= 1024 || value <= -1024) && unit < 5) {
		value /= 1024;
		unit++;
	}
	double magnitude = value < 0 ? -value : value;
	if (unit == 0)
		snprintf(text, size, "%" PRId64 " B", bytes);
	else
		snprintf(text, size, "%.*f %s", magnitude < 9.995 ? 2 : magnitude < 99.95 ? 1 : 0, value, units[unit]);
	return text;
}

char *flops_text(double flops, char *text, size_t size)
{
	static const char *const units[] = { "FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP" };
	int unit = 0;
	while (flops >= 999.5 && unit < 6) {
		flops /= 1000;
		unit++;
	}
	return printed(text, size, "%.*f %s", unit == 0 ? 0 : flops < 9.995 ? 2 : flops < 99.95 ? 1 : 0, flops, units[unit]);
}

char *change_text(int64_t bytes, char *text, size_t size)
{
	char amount[32];
	bytes_text(bytes < 0 ? -bytes : bytes, amount, sizeof amount);
	return printed(text, size, "%s%s", bytes > 0 ? "+" : bytes < 0 ? "-" : "", amount);
}

/* ---- the names that come nearest to a misspelt one ---- */

/* Levenshtein distance, two neighbours swapped count as one slip; both texts cut at 63 bytes; stops early above limit.
 * O(length^2). */
static unsigned nearest_distance(const char *a, const char *b, unsigned limit)
{
	unsigned row[64], above[64] = { 0 }; /* above: two rows up */
	size_t width = strnlen(b, 63);
	for (size_t j = 0; j <= width; j++)
		row[j] = (unsigned)j;
	for (size_t i = 0; i < 63 && a[i]; i++) {
		unsigned diagonal = row[0], least = row[0] = (unsigned)i + 1, swapped = 0;
		FOR_SIZE(j, width) {
			unsigned replace = diagonal + (a[i] != b[j]), before = above[j];
			above[j] = diagonal;
			diagonal = row[j + 1];
			unsigned best = row[j] < diagonal ? row[j] + 1 : diagonal + 1;
			row[j + 1] = SMALLER(replace, best);
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
	FOR_INT(known, nearest->count)
		if (text_is(nearest->name[known], name))
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
