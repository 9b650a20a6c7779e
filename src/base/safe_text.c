/* safe_text.c: characters by libunistring, and which of them are hidden. */
#include "safe_text.h"

#include <unistr.h>

uint32_t text_next(const char **text)
{
	ucs4_t character = 0;
	int length = u8_strmbtouc(&character, (const uint8_t *)*text);
	*text += length >= 0 ? length : 1;
	return length > 0 ? character : length == 0 ? 0 : UNREADABLE;
}

bool text_hidden(uint32_t character)
{
	static const struct { uint32_t first, last; } hidden[] = {
		{ 0x01, 0x1f },
		{ 0x7f, 0x9f },
		{ 0x61c, 0x61c },
		{ 0x200e, 0x200f },
		{ 0x2028, 0x202e },
		{ 0x2066, 0x2069 },
		{ 0xfeff, 0xfeff },
		{ 0xfffe, 0xffff },
	};
	FOR(i, COUNT_OF(hidden))
		if (character >= hidden[i].first && character <= hidden[i].last)
			return true;
	return false;
}

int text_encode(uint32_t character, char bytes[5])
{
	int length = u8_uctomb((uint8_t *)bytes, character, 4);
	if (length <= 0)
		return text_encode(UNREADABLE, bytes);
	bytes[length] = '\0';
	return length;
}

void text_put(FILE *stream, uint32_t character)
{
	char bytes[5];
	fwrite(bytes, 1, (size_t)text_encode(character, bytes), stream);
}

void text_write_clean(FILE *stream, const char *text, const char *keep)
{
	for (uint32_t character; (character = text_next(&text)) != 0;) {
		bool kept = character < 0x20 && strchr(keep, (int)character);
		text_put(stream, text_hidden(character) && !kept ? UNREADABLE : character);
	}
}

char *text_clean(const char *text, char *buffer, size_t size)
{
	size_t used = 0;
	for (uint32_t character; (character = text_next(&text)) != 0;) {
		char bytes[5];
		size_t length = (size_t)text_encode(text_hidden(character) ? UNREADABLE : character, bytes);
		if (used + length >= size)
			break;
		memcpy(buffer + used, bytes, length);
		used += length;
	}
	buffer[used] = '\0';
	return buffer;
}
