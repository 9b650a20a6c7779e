/* json_text.c: a text in JSON. */
#include "json_text.h"

void json_write_text(FILE *stream, const char *text)
{
	putc('"', stream);
	for (; *text; text++) {
		unsigned char byte = (unsigned char)*text;
		switch (byte) {
		case '"': fputs("\\\"", stream); break;
		case '\\': fputs("\\\\", stream); break;
		case '\n': fputs("\\n", stream); break;
		case '\t': fputs("\\t", stream); break;
		case '\r': fputs("\\r", stream); break;
		case '\b': fputs("\\b", stream); break;
		case '\f': fputs("\\f", stream); break;
		default:
			if (byte < 0x20)
				fprintf(stream, "\\u%04x", byte);
			else
				putc(byte, stream);
		}
	}
	putc('"', stream);
}
