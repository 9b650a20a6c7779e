/* dot_text.c: writes texts in DOT strings. */
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
