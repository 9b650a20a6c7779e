/* source.c: a file as a stream of bytes: plain or gz, "-" for standard input. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "source.h"

/* unpack: the bytes of a descriptor, plain as they are, gzip decompressed; it knows how many came in, from pipes,
 * too. */

struct unpack;

static void unpack_close(struct unpack *unpack);

#define PACKED_BYTES (128u << 10)
#define GZIP_WINDOW (15 + 16) /* zlib's word for gzip, with any window */
#define AT_ONCE (1u << 30)

struct unpack {
	int descriptor;
	bool gzip, open, ended; /* open: zlib has memory; ended: nothing comes any more */
	uint64_t taken;
	z_stream stream; /* next_in, avail_in: what is there of `packed` */
	unsigned char packed[PACKED_BYTES];
};

static ssize_t read_some(int descriptor, void *buffer, size_t size, struct error *error)
{
	ssize_t got;
	do
		got = read(descriptor, buffer, SMALLER(AT_ONCE, size));
	while (got < 0 && errno == EINTR);
	if (got < 0)
		refuse(error, "%s", strerror(errno));
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

/* Takes the descriptor and closes it, where this fails, too. */
static struct unpack *unpack_open(int descriptor, struct error *error)
{
	struct unpack *MAKE(unpack, 1);
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

static void unpack_close(struct unpack *unpack)
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
	size = SMALLER(size, stream->avail_in);
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
		refuse(error, "the compressed file is damaged%s%s", stream->msg ? ": " : "", stream->msg ? stream->msg : "");
	else if (end && stream->avail_out > 0)
		refuse(error, "the compressed file is truncated");
	else
		return true;
	return false;
}

/* Like read(2), but -1 sets *error. Members of gzip that follow each other are one file; what follows them and is none
 * is left out, as gzip does. */
static ssize_t unpack_read(struct unpack *unpack, void *buffer, size_t size, struct error *error)
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

/* Bytes taken of the descriptor, 0 where they are not compressed. */
static uint64_t unpack_packed(const struct unpack *unpack)
{
	return unpack->gzip ? unpack->taken - unpack->stream.avail_in : 0;
}

#define PEEK_BYTES (64u << 10)
/* Real files unpack to 5 to 60 times their size. What unpacks to more than this, beyond the first bytes, was made to
 * fill memory: zlib's own limit is 1,032. */
#define UNPACKS_MOST 250
#define UNPACKS_FREE ((uint64_t)64 << 20)

struct input {
	struct unpack *file;
	size_t have, taken; /* of peek: filled, and given out by the source */
	uint64_t unpacked, look; /* bytes so far, and at how many to look again at what they were packed in */
	char peek[PEEK_BYTES];
};

static atomic_int waits;

void source_wait(bool begins)
{
	atomic_fetch_add(&waits, begins ? 1 : -1);
}

bool source_waits(void)
{
	return atomic_load(&waits) > 0;
}

/* Looked at every few megabytes. */
static bool unpacks_too_much(struct input *input)
{
	if (input->unpacked < input->look + UNPACKS_FREE)
		return false;
	input->look = input->unpacked;
	uint64_t packed = unpack_packed(input->file);
	return packed > 0 && input->unpacked / UNPACKS_MOST > packed;
}

static ssize_t source_read_file(struct input *input, void *buffer, size_t size, struct error *error)
{
	source_wait(true);
	ssize_t got = unpack_read(input->file, buffer, size, error);
	source_wait(false);
	input->unpacked += got > 0 ? (uint64_t)got : 0;
	if (got < 0 || !unpacks_too_much(input))
		return got;
	refuse(error, "the compressed file unpacks to more than %d times its size, as no real one does",
		UNPACKS_MOST);
	return -1;
}

static int source_open_path(const char *path, struct error *error)
{
	bool standard = strcmp(path, "-") == 0;
	source_wait(true);
	int descriptor = standard ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	source_wait(false);
	struct stat state;
	if (descriptor < 0) {
		refuse(error, "%s", errno == ENOENT ? "no such file" : strerror(errno));
	} else if (fstat(descriptor, &state) == 0 && S_ISDIR(state.st_mode)) {
		close(descriptor);
		refuse(error, "is a directory");
		return -1;
	}
	return descriptor;
}

struct input *input_open(const char *path, struct error *error)
{
	*error = (struct error){ 0 };
	int descriptor = source_open_path(path, error);
	if (descriptor < 0)
		return NULL;
	struct input *MAKE(input, 1);
	if (!input) {
		close(descriptor);
		fail_memory(error);
		return NULL;
	}
	source_wait(true);
	input->file = unpack_open(descriptor, error);
	source_wait(false);
	if (!input->file) {
		mem_free(input);
		return NULL;
	}
	while (input->have < PEEK_BYTES) {
		ssize_t got = source_read_file(input, input->peek + input->have, PEEK_BYTES - input->have, error);
		if (got < 0) {
			input_close(input);
			return NULL;
		}
		if (got == 0)
			break;
		input->have += (size_t)got;
	}
	/* A byte order mark says nothing that isn't known: text is UTF-8. */
	if (input->have >= 3 && memcmp(input->peek, "\xef\xbb\xbf", 3) == 0) {
		input->have -= 3;
		memmove(input->peek, input->peek + 3, input->have);
	}
	return input;
}

void input_close(struct input *input)
{
	if (!input)
		return;
	unpack_close(input->file);
	mem_free(input);
}

const char *input_peek(const struct input *input, size_t *size)
{
	*size = input->have;
	return input->peek;
}

bool input_begins_json(const struct input *input)
{
	size_t blank = 0;
	while (blank < input->have && memchr(" \t\r\n", input->peek[blank], 4))
		blank++;
	return blank < input->have && (input->peek[blank] == '{' || input->peek[blank] == '[');
}

static ssize_t source_read_text(void *context, void *buffer, size_t size, struct error *error)
{
	(void)error;
	struct text_left *text = context;
	size_t count = SMALLER(text->left, size);
	memcpy(buffer, text->at, count);
	text->at += count;
	text->left -= count;
	return (ssize_t)count;
}

struct source source_of_text(struct text_left *text)
{
	return (struct source){ source_read_text, text };
}

static ssize_t read_input(void *context, void *buffer, size_t size, struct error *error)
{
	struct input *input = context;
	size_t left = input->have - input->taken;
	if (left == 0)
		return source_read_file(input, buffer, size, error);
	if (size > left)
		size = left;
	memcpy(buffer, input->peek + input->taken, size);
	input->taken += size;
	return (ssize_t)size;
}

struct source input_source(struct input *input)
{
	return (struct source){ read_input, input };
}

char *input_all(struct input *input, size_t limit, size_t *size, struct error *error)
{
	size_t capacity = PEEK_BYTES * 2;
	char *content = mem_alloc(capacity + 1, 1);
	*size = 0;
	while (content) {
		ssize_t got = read_input(input, content + *size, capacity - *size, error);
		if (got < 0)
			break;
		if (got == 0) {
			content[*size] = '\0';
			return content;
		}
		*size += (size_t)got;
		if (*size > limit) {
			refuse(error, "larger than %zu MiB", limit >> 20);
			break;
		}
		if (*size < capacity)
			continue;
		char *moved = mem_resize(content, capacity * 2 + 1, 1);
		if (!moved) {
			fail_memory(error);
			break;
		}
		content = moved;
		capacity *= 2;
	}
	if (!content)
		fail_memory(error);
	mem_free(content);
	return NULL;
}

char *input_text(const char *path, size_t limit, size_t *size, struct error *error)
{
	struct input *input = input_open(path, error);
	char *text = input ? input_all(input, limit, size, error) : NULL;
	input_close(input);
	return text;
}

enum status input_name(const char *file, struct error *error)
{
	char why[300];
	unsigned line = error->line;
	if (error->status != BAD_INPUT)
		return error->status;
	PRINT_TO(why, "%.*s", (int)sizeof why - 1, error->text);
	error->line = 0;
	return line ? refuse(error, "%.190s:%u: %s", file, line, why)
		: refuse(error, "%.190s: %s", file, why);
}
