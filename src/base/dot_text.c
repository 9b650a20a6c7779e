/* dot_text.c: writes and reads texts in DOT strings. */
#include "dot_text.h"

void dot_write_part(FILE *stream, const char *text, const char *more)
{
	if (!*text)
		fputs("&empty;", stream);
	/* libcgraph keeps names that begin with % for nameless things. */
	for (const char *at = text; *at; at++) {
		unsigned char byte = (unsigned char)*at;
		if (byte == '&')
			fputs("&amp;", stream);
		else if (byte == '"')
			fputs("\\\"", stream);
		else if (byte < 0x20 || byte == '\\' || (byte == '%' && at == text) || (more && strchr(more, byte)))
			fprintf(stream, "&#%d;", byte);
		else
			putc(byte, stream);
	}
}

void dot_write_text(FILE *stream, const char *text, const char *more)
{
	putc('"', stream);
	dot_write_part(stream, text, more);
	putc('"', stream);
}

/* One past the entity at text ("&...;") with its character, an ASCII one, in *c; NULL where it is none of ours. */
static const char *entity(const char *text, char *c)
{
	static const struct { const char *name; char c; } table[] = {
		{ "&amp;", '&' }, { "&lt;", '<' }, { "&gt;", '>' }, { "&quot;", '"' },
	};
	for (size_t i = 0; i < sizeof table / sizeof *table; i++)
		if (strncmp(text, table[i].name, strlen(table[i].name)) == 0) {
			*c = table[i].c;
			return text + strlen(table[i].name);
		}
	if (text[1] != '#')
		return NULL;
	int value = 0;
	const char *at = text + 2;
	for (; *at >= '0' && *at <= '9' && value < 128; at++)
		value = value * 10 + (*at - '0');
	if (*at != ';' || value == 0 || value >= 128)
		return NULL;
	*c = (char)value;
	return at + 1;
}

void dot_decode(char *text)
{
	if (strcmp(text, "&empty;") == 0)
		*text = '\0';
	char *to = text;
	for (const char *from = text; *from; ) {
		char c;
		const char *end = *from == '&' ? entity(from, &c) : NULL;
		*to++ = end ? c : *from;
		from = end ? end : from + 1;
	}
	*to = '\0';
}
