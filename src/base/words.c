/* words.c: a text put together piece by piece. */
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "words.h"

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

void words_add_quoted(struct words *words, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789./:=+@%,_-";
	if (*word && word[strspn(word, plain)] == '\0') {
		words_add(words, "%s", word);
		return;
	}
	words_add(words, "'");
	for (const char *at = word; *at; at++)
		words_add(words, *at == '\'' ? "'\\''" : "%c", *at);
	words_add(words, "'");
}
