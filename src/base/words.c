/* words.c: a text put together piece by piece. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "safe_text.h"
#include "words.h"

enum { LINE_WIDTH = 80 };

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
