/* unpack.c: zlib's inflate over read(2). zlib's own gzread() would do, but it can't tell how much it took from a pipe.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>
#include <zlib.h>

#include "unpack.h"

#define PACKED_BYTES (128u << 10)
#define GZIP_WINDOW (15 + 16)        /* zlib's word for gzip, with any window */
#define AT_ONCE (1u << 30)

struct unpack {
	int descriptor;
	bool gzip, open, ended;      /* open: zlib has memory; ended: nothing comes any more */
	uint64_t taken;
	z_stream stream;             /* next_in, avail_in: what is there of `packed` */
	unsigned char packed[PACKED_BYTES];
};

static ssize_t read_some(int descriptor, void *buffer, size_t size, struct error *error)
{
	ssize_t got;
	do
		got = read(descriptor, buffer, size > AT_ONCE ? AT_ONCE : size);
	while (got < 0 && errno == EINTR);
	if (got < 0)
		fail(error, BAD_INPUT, "%s", strerror(errno));
	return got;
}

/* At least so many bytes in `packed`, fewer at the end of the file. */
static bool unpack_fill(struct unpack *unpack, unsigned wanted, struct error *error)
{
	z_stream *stream = &unpack->stream;
	if (stream->avail_in < wanted && stream->avail_in > 0)
		memmove(unpack->packed, stream->next_in, stream->avail_in);
	if (stream->avail_in < wanted)
		stream->next_in = unpack->packed;
	while (stream->avail_in < wanted) {
		ssize_t got = read_some(
			unpack->descriptor, unpack->packed + stream->avail_in, PACKED_BYTES - stream->avail_in, error);
		if (got <= 0)
			return got == 0;
		unpack->taken += (uint64_t)got;
		stream->avail_in += (unsigned)got;
	}
	return true;
}

static bool begins_gzip(const struct unpack *unpack)
{
	return unpack->stream.avail_in >= 2 && unpack->stream.next_in[0] == 0x1f && unpack->stream.next_in[1] == 0x8b;
}

struct unpack *unpack_open(int descriptor, struct error *error)
{
	struct unpack *unpack = mem_alloc(1, sizeof *unpack);
	if (!unpack) {
		close(descriptor);
		fail_memory(error);
		return NULL;
	}
	unpack->descriptor = descriptor;
	bool read = unpack_fill(unpack, 2, error);
	unpack->gzip = read && begins_gzip(unpack);
	unpack->open = unpack->gzip && inflateInit2(&unpack->stream, GZIP_WINDOW) == Z_OK;
	if (read && unpack->open == unpack->gzip)
		return unpack;
	if (read)
		fail_memory(error);
	unpack_close(unpack);
	return NULL;
}

void unpack_close(struct unpack *unpack)
{
	if (unpack->open)
		inflateEnd(&unpack->stream);
	close(unpack->descriptor);
	mem_free(unpack);
}

static ssize_t read_plain(struct unpack *unpack, void *buffer, size_t size, struct error *error)
{
	z_stream *stream = &unpack->stream;
	if (stream->avail_in == 0)
		return read_some(unpack->descriptor, buffer, size, error);
	size = size < stream->avail_in ? size : stream->avail_in;
	memcpy(buffer, stream->next_in, size);
	stream->next_in += size;
	stream->avail_in -= (unsigned)size;
	return (ssize_t)size;
}

/* Behind a member: whether another one follows. */
static bool next_member(struct unpack *unpack, struct error *error)
{
	if (!unpack_fill(unpack, 2, error))
		return false;
	unpack->ended = !begins_gzip(unpack);
	if (!unpack->ended)
		inflateReset(&unpack->stream);
	return true;
}

static bool inflate_more(struct unpack *unpack, struct error *error)
{
	z_stream *stream = &unpack->stream;
	if (!unpack_fill(unpack, 1, error))
		return false;
	bool end = stream->avail_in == 0;
	int status = inflate(stream, Z_NO_FLUSH);
	if (status == Z_STREAM_END)
		return next_member(unpack, error);
	if (status == Z_MEM_ERROR)
		fail_memory(error);
	else if (status == Z_DATA_ERROR || status == Z_NEED_DICT)
		fail(error, BAD_INPUT, "the compressed file is damaged%s%s", stream->msg ? ": " : "", stream->msg ? stream->msg : "");
	else if (end && stream->avail_out > 0)
		fail(error, BAD_INPUT, "the compressed file is truncated");
	else
		return true;
	return false;
}

ssize_t unpack_read(struct unpack *unpack, void *buffer, size_t size, struct error *error)
{
	z_stream *stream = &unpack->stream;
	if (!unpack->gzip)
		return read_plain(unpack, buffer, size, error);
	unsigned room = size > AT_ONCE ? AT_ONCE : (unsigned)size;
	stream->next_out = buffer;
	stream->avail_out = room;
	while (stream->avail_out > 0 && !unpack->ended)
		if (!inflate_more(unpack, error))
			return -1;
	return (ssize_t)(room - stream->avail_out);
}

uint64_t unpack_packed(const struct unpack *unpack)
{
	return unpack->gzip ? unpack->taken - unpack->stream.avail_in : 0;
}
