/* dot_text.c: writes and reads texts in DOT strings. */
#include "dot_text.h"
#include "safe_text.h"

#define PIECE_MOST 8000 /* bytes of a piece of a string: libcgraph 2.42 takes 16,382 */

/* pieces: in several strings that are joined, "..." + "...". */
static void write_part(FILE *stream, const char *text, const char *more, bool pieces)
{
	if (!*text)
		fputs("&empty;", stream);
	/* libcgraph keeps names that begin with % for nameless things. */
	const char *begin = text, *at = text, *piece = text;
	for (uint32_t character; (character = text_next(&text)) != 0; at = text) {
		bool asked = more && character < 0x80 && strchr(more, (int)character);
		if (pieces && at - piece > PIECE_MOST / 6) { /* a character takes up to six bytes */
			fputs("\"+\"", stream);
			piece = at;
		}
		if (character == '&')
			fputs("&amp;", stream);
		else if (character == '"')
			fputs("\\\"", stream);
		else if (text_hidden(character) || character == '\\' || (character == '%' && at == begin) || asked)
			fprintf(stream, "&#%u;", character);
		else
			text_put(stream, character);
	}
}

void dot_write_part(FILE *stream, const char *text, const char *more)
{
	write_part(stream, text, more, false);
}

void dot_write_text(FILE *stream, const char *text, const char *more)
{
	putc('"', stream);
	write_part(stream, text, more, true);
	putc('"', stream);
}

/* One past the entity at text ("&...;") with its character in *c; NULL where it is none of ours. */
static const char *entity(const char *text, uint32_t *c)
{
	static const struct { const char *name; uint32_t c; } table[] = {
		{ "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' }, { "&quot;", '"' },
	};
	FOR(i, COUNT_OF(table))
		if (strncmp(text, table[i].name, strlen(table[i].name)) == 0) {
			*c = table[i].c;
			return text + strlen(table[i].name);
		}
	if (text[1] != '#')
		return NULL;
	uint32_t value = 0;
	const char *at = text + 2;
	for (; *at >= '0' && *at <= '9' && value < 0x10000; at++)
		value = value * 10 + (uint32_t)(*at - '0');
	/* ASCII, and what dot_write_part() writes so; other characters stay entities, which are shorter in no encoding. */
	if (*at != ';' || value == 0 || (value >= 0x80 && !text_hidden(value)))
		return NULL;
	*c = value;
	return at + 1;
}

void dot_decode(char *text)
{
	if (strcmp(text, "&empty;") == 0)
		*text = '\0';
	char *to = text;
	for (const char *from = text; *from; ) {
		uint32_t c;
		const char *end = *from == '&' ? entity(from, &c) : NULL;
		char bytes[5];
		if (end)
			for (int i = 0, length = text_encode(c, bytes); i < length; i++)
				*to++ = bytes[i];
		else
			*to++ = *from;
		from = end ? end : from + 1;
	}
	*to = '\0';
}
