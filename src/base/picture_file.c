/* picture_file.c: the beginnings and ends of pictures. */
#include "output.h"

/* But for blanks and line ends behind. */
static const struct { const char *format, *begin, *end; } pictures[] = {
	{ "svg", "<", "</svg>" }, { "pdf", "%PDF-", "%%EOF" }, { "png", "\x89PNG\r\n\x1a\n", "IEND\xae\x42\x60\x82" },
};

bool picture_whole(const char *format, const char *text, size_t length)
{
	while (length > 0 && strchr(" \r\n", text[length - 1]))
		length--;
	FOR_SIZE(i, COUNT_OF(pictures)) {
		size_t begin = strlen(pictures[i].begin), end = strlen(pictures[i].end);
		if (strcmp(format, pictures[i].format) == 0)
			return length >= begin + end && memcmp(text, pictures[i].begin, begin) == 0 &&
				memcmp(text + length - end, pictures[i].end, end) == 0;
	}
	return true;
}
