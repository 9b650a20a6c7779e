/* lines.c: a line is a line: none is split where a buffer ends, and no device is read for ever. */
#include "lines.h"

#include <errno.h>
#include <sys/stat.h>

#include "source.h"

#define BYTES_MOST ((size_t)16 << 20)

enum status lines_open(struct lines *lines, const char *path, struct error *error)
{
	struct stat state;
	source_wait(true);
	*lines = (struct lines){ .file = fopen(path, "re") };
	source_wait(false);
	if (!lines->file)
		return fail(error, errno == ENOMEM ? NO_MEMORY : BAD_INPUT, "can't be read: %s",
			errno == ENOMEM ? "out of memory" : strerror(errno));
	if (fstat(fileno(lines->file), &state) == 0 && S_ISDIR(state.st_mode)) {
		lines_close(lines);
		return refuse(error, "is a directory");
	}
	return OK;
}

static int lines_wrong(struct lines *lines, struct error *error, const char *why)
{
	refuse(error, "%s", why);
	if (error)
		error->line = lines->number;
	return -1;
}

int lines_next(struct lines *lines, struct error *error)
{
	size_t length = 0;
	bool too_long = false, zero = false;
	int byte;
	lines->number++;
	source_wait(true);
	while ((byte = getc(lines->file)) != EOF && byte != '\n' && lines->bytes < BYTES_MOST) {
		lines->bytes++;
		zero |= byte == 0;
		too_long |= length == LINE_MOST;
		if (length < LINE_MOST)
			lines->text[length++] = (char)byte;
	}
	source_wait(false);
	lines->text[length] = '\0';
	if (lines->number == 1 && text_begins(lines->text, "\xef\xbb\xbf")) /* a byte order mark */
		memmove(lines->text, lines->text + 3, (length -= 3) + 1);
	if (lines->bytes == BYTES_MOST) {
		lines->bytes++;
		return lines_wrong(lines, error, "the file is longer than 16 MiB");
	}
	if (lines->bytes > BYTES_MOST)
		return 0;
	if (ferror(lines->file)) {
		lines->bytes = BYTES_MOST + 1;
		return lines_wrong(lines, error, strerror(errno));
	}
	if (zero)
		return lines_wrong(lines, error, "a byte 0 is not text");
	if (too_long)
		return lines_wrong(lines, error, "the line is longer than 4096 bytes");
	return byte == EOF && length == 0 ? 0 : 1;
}

void lines_close(struct lines *lines)
{
	if (lines->file)
		fclose(lines->file);
	lines->file = NULL;
}
