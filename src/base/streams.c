/* streams.c: streams into memory, and into a compressed file. */
#include <errno.h>
#include <unistd.h>
#include <zlib.h>

#include "streams.h"

/* ---- a stream with a function of ours at its end, which remembers what it could not keep ---- */

struct target {
	char **text;
	size_t *length, capacity;
	bool lost;
};

static ssize_t text_stream_keep(void *context, const char *bytes, size_t size)
{
	struct target *target = context;
	size_t needed = *target->length + size + 1;
	if (!target->lost && needed > target->capacity) {
		size_t capacity = LARGER(needed, target->capacity * 2);
		char *moved = realloc(*target->text, capacity); /* callers use free() */
		if (moved) {
			*target->text = moved;
			target->capacity = capacity;
		}
		target->lost = !moved;
	}
	if (target->lost) {
		mem_note_refused();
		errno = ENOMEM;
		return 0;
	}
	memcpy(*target->text + *target->length, bytes, size);
	*target->length += size;
	(*target->text)[*target->length] = '\0';
	return (ssize_t)size;
}

static int text_stream_finish(void *context)
{
	struct target *target = context;
	bool lost = target->lost;
	mem_free(target);
	errno = lost ? ENOMEM : errno;
	return lost ? -1 : 0;
}

FILE *text_stream(char **text, size_t *length)
{
	struct target *MAKE(target, 1);
	*text = target ? malloc(1) : NULL;
	*length = 0;
	FILE *stream = NULL;
	if (*text) {
		**text = '\0';
		*target = (struct target){ text, length, 1, false };
		stream = fopencookie(target, "w", (cookie_io_functions_t){ .write = text_stream_keep, .close = text_stream_finish });
	}
	if (!stream) {
		mem_note_refused();
		mem_free(target);
		free(*text);
		*text = NULL;
	}
	return stream;
}

/* ---- zlib at the end of a stream ---- */

enum { AT_ONCE = 1 << 30 };

static ssize_t pack(void *context, const char *bytes, size_t size)
{
	errno = 0;
	int taken = gzwrite(context, bytes, size > AT_ONCE ? AT_ONCE : (unsigned)size);
	if (taken <= 0 && errno == 0)
		errno = EIO;
	return LARGER(taken, 0);
}

static int gzip_stream_finish(void *context)
{
	errno = 0;
	int status = gzclose(context);
	if (status != Z_OK && errno == 0)
		errno = status == Z_MEM_ERROR ? ENOMEM : EIO;
	return status == Z_OK ? 0 : -1;
}

FILE *gzip_stream(int descriptor)
{
	gzFile file = gzdopen(descriptor, "wb");
	FILE *stream = file ? fopencookie(file, "w", (cookie_io_functions_t){ .write = pack, .close = gzip_stream_finish })
		: NULL;
	if (stream)
		return stream;
	mem_note_refused();
	if (file)
		gzclose(file);
	else
		close(descriptor);
	return NULL;
}

bool gzip_named(const char *path)
{
	size_t length = strlen(path);
	return length > 3 && strcmp(path + length - 3, ".gz") == 0;
}
