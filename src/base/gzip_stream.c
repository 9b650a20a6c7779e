/* gzip_stream.c: zlib at the end of a stream. */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "gzip_stream.h"

enum { AT_ONCE = 1 << 30 };

static ssize_t pack(void *context, const char *bytes, size_t size)
{
	errno = 0;
	int taken = gzwrite(context, bytes, size > AT_ONCE ? AT_ONCE : (unsigned)size);
	if (taken <= 0 && errno == 0)
		errno = EIO;
	return taken > 0 ? taken : 0;
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
